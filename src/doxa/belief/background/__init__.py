"""What background jobs may read, and what they may write: laws checked at commit."""
