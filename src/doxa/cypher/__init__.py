"""Cypher as text and tree: tokens, parser, printer, semantic checks. Pure: it has never heard of a
database."""
