"""Bolt, the protocol of Neo4j's drivers, so that every program that speaks to Neo4j speaks to doxa.
server.py listens."""

from doxa.servers.bolt.server import PORT, BoltServer, running_server
from doxa.servers.contract import Database, GraphSession, Result
from doxa.servers.listening import serve
from doxa.servers.memory import MemoryDatabase

__all__ = [
    "PORT",
    "BoltServer",
    "Database",
    "GraphSession",
    "MemoryDatabase",
    "Result",
    "running_server",
    "serve",
]
