"""The steps of a plan that run in Python."""
