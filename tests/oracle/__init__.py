"""The comparison with a real Neo4j: `python -m tests.oracle --oracle bolt://host:port`, or `make
oracle ORACLE=bolt://host:port`. Nothing else of the project needs that server."""
