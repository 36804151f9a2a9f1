"""Floor 0: what every room needs and none owns (errors, limits, time, ids, values, words). No I/O,
no import of ours."""
