"""Commands that show something in a browser: the page, and the demonstration of it."""
