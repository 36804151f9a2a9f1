"""Checks of a parsed query: scopes, types, projections, and the functions there are."""
