"""The Model Context Protocol interface: `tools.py` carries out the tools, `server.py` serves them
over stdio."""
