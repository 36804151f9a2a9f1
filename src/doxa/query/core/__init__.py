"""What every part of a query shares: rows, values, the run, its graph and its limits."""
