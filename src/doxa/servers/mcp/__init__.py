"""The Model Context Protocol interface: `tools.py` carries out seven tools, `server.py` serves them
over stdio."""
