"""Files of any age become files of this format when they are opened."""
