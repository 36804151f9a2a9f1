"""Reads plain language: a sentence becomes a claim, and two claims are compared. Pure, no I/O."""
