"""Belief logic: sentences, a solver, constraints, entrenchment, and revision of belief bases.
Pure functions without I/O."""
