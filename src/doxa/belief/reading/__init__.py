"""Reading beliefs: as data, over their edges, one on a page; nothing here writes."""
