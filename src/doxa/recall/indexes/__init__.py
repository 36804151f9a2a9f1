"""What is kept in memory of a project: its rows and its vectors."""
