"""What is written has no secrets in it, whichever interface wrote it."""
