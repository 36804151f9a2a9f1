"""One log on a shared engine, and a local replica of it for each server: the log, its engines, the
replica that applies it, and the way from a file to the engine and back."""

from doxa.replication.protocol import AppendHold, Head, SharedLog, SharedTransaction

__all__ = ["AppendHold", "Head", "SharedLog", "SharedTransaction"]
