"""Named databases: a folder with a file for each, and the statements that concern them."""
