"""How words of a command line become the arguments of a verb."""
