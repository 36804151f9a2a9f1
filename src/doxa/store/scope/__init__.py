"""Sessions that are bound to projects: what they see of a file, and where they may write."""
