"""Patterns, conditions, grouping and order pushed down into SQL statements."""
