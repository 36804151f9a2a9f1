"""Where a shared log lies: a folder, or PostgreSQL. Each engine keeps the same contract."""
