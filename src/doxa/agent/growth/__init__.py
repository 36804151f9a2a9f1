"""Candidates of identity: metabolism, contemplation, crystallisation, and the identity files."""
