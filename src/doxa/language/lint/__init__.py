"""Checks of texts that anybody may have written."""
