"""Evidence of how a person stands, visible and optional."""
