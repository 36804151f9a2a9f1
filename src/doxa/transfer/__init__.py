"""Moves memory between files: export and import as JSON lines."""
