"""Bolt, the protocol of Neo4j's drivers, so that every program that speaks to Neo4j speaks to doxa. server.py starts it."""

from doxa.servers.bolt.contract import Database, GraphSession, Result
from doxa.servers.bolt.memory import MemoryDatabase
from doxa.servers.bolt.server import PORT, BoltServer, running_server, serve

__all__ = ["PORT", "BoltServer", "Database", "GraphSession", "MemoryDatabase", "Result", "running_server", "serve"]
