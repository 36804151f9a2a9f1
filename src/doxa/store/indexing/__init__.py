"""The derived rows that search reads: postings, vectors and their codes."""
