"""The Model Context Protocol door: seven tools over stdio. tools.py is what they do, server.py is
the SDK's binding."""
