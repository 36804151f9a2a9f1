"""Complete units in one call: a belief with its files, edges, bundles and tags; an execution; a
response; the edges that a belief lacks."""
