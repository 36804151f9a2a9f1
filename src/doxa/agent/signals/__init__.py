"""What a turn shows: documented components of a score, and the dynamics of a conversation."""
