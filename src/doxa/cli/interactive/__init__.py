"""The interactive shell of `doxa cypher`."""
