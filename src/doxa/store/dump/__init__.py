"""The whole state of a file, read version by version, and written into an empty file."""
