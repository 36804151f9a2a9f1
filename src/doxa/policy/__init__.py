"""Persistence policies: decay, promotion, visibility over time, and smoothing of noisy evidence.
Pure functions without I/O."""
