"""One file for each format; registry.py lists them."""
