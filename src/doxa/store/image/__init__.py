"""The image: columns and adjacency of the present, resident as arrays, exact at a snapshot's
position in the log, bounded in bytes, and never needed."""
