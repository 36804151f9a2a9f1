"""What the runtime keeps: records with a type, a state and a law of how it changes."""
