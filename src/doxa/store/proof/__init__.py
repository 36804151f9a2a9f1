"""What must hold of a whole file, checked at a commit or where the file is examined."""
