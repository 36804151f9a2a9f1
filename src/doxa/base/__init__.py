"""Values, times, points, index terms, errors and limits: the lowest layer, without I/O and without
imports from other packages of doxa."""
