"""Expressions compiled to Python functions of a row and a run."""
