"""Cypher to rows: plans, their execution, and the functions that expressions call."""
