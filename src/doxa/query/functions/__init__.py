"""The functions of Cypher: one file per family, each function plain Python in a table."""
