"""Two sentences compared by their words: what they share, the one quantity that differs, and how
their values compare."""
