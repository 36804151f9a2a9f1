"""HTTP, so that whatever can post JSON can query the graph, in the shapes of Neo4j's Query API.
server.py listens."""

from doxa.servers.http.server import PORT, HttpServer, running_server

__all__ = ["PORT", "HttpServer", "running_server"]
