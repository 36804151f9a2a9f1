"""Maintenance of a memory: pending vectors, forgetting, and the checks of `doxa doctor`."""
