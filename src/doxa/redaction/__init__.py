"""Removes credentials from text before anything is stored."""
