"""Commands that change the catalogue: indexes, constraints and persistence policies."""
