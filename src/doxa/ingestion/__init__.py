"""Takes input in: conversations, single statements and changes, checked and redacted, become beliefs."""
