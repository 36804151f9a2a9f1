"""Cypher as text and tree: tokens, parser and printer. Pure: no database, no SQL, no clock."""
