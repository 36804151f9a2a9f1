"""The functions of Cypher expressions, a file per family, each a plain Python function behind an
entry of the registry."""
