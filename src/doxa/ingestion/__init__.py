"""Ingestion: turn conversations, single statements and changes into beliefs, after checking and
redacting them."""
