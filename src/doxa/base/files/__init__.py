"""Files: where those of a user are, and what SQLite files have in common."""
