"""Many elements at once."""
