"""Serves HTTP in the format of Neo4j's Query API, so that any program that can post JSON can query
the graph. `server.py` listens."""

from doxa.servers.http.server import PORT, HttpServer, running_server

__all__ = ["PORT", "HttpServer", "running_server"]
