"""The text that an agent gets before a turn: one ordered pipeline, one budget."""
