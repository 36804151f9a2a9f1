"""Two sentences compared by their words: what they share, and the one quantity that differs."""
