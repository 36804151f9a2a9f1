"""Files as receipts by content hash, verified again at each use."""
