"""The procedures of the graph itself, and the registry that other packages add theirs to."""
