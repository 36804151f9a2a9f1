"""What consumers of the log need of the store: news of commits, and named positions."""
