"""Commands of shared logs."""
