"""Several worker processes behind one server: one memory file, the same listening sockets, limits
that are counted over all of them."""
