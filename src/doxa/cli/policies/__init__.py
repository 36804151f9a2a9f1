"""The commands about policies, and their curves drawn in characters."""
