"""Floor 6: doors that know a protocol. Each calls inward on the one Session; none holds rules of
its own."""
