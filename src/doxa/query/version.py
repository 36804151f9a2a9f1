"""The Neo4j version whose language and drivers this engine is compatible with: drivers and tools
ask for it and choose their commands by it."""

COMPATIBLE_VERSION = "5.26.0"
