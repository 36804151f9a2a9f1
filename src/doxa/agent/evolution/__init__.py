"""Proposals of better ways of working, and the archive for research."""
