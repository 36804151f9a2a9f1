"""Keeps a memory healthy: pending vectors, forgetting, and what `doxa doctor` examines."""
