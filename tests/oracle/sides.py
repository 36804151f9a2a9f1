"""The two sides of the comparison: doxa on a file of its own, and Neo4j behind a Bolt address. Each
answers a statement with rows of comparable tuples, or with an error."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import neo4j
import neo4j.spatial
import neo4j.time
from neo4j.exceptions import DriverError, Neo4jError

from doxa.base import temporal
from doxa.base.errors import DoxaError
from doxa.base.spatial import Point
from doxa.query.core.elements import Edge, Node
from doxa.query.core.elements import Path as GraphPath
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from tests.oracle.statements import Statement

TIMEOUT_S = 10
_NODES = "MATCH (n) RETURN labels(n), properties(n)"
_EDGES = (
    "MATCH (a)-[r]->(b) RETURN type(r), properties(r), labels(a), properties(a), labels(b),"
    " properties(b)"
)
_EPOCH_DAYS = 719_163


class Answer(NamedTuple):
    """`rows` is None for an error, whose code is `error`. `graph` is what an update left."""

    rows: list[Any] | None
    error: str = ""
    message: str = ""
    graph: Any = None


class Doxa:
    def __init__(self, folder: Path) -> None:
        self._store = Store(folder / "graph.db")
        self._session = GraphSession(
            self._store, QueryEngine(), Identity("oracle", "operator"), timeout_ms=TIMEOUT_S * 1000
        )

    def reset(self, *texts: str) -> None:
        for text in ("MATCH (n) DETACH DELETE n", *texts):
            list(self._session.run(text))

    def ask(self, asked: Statement) -> Answer:
        if asked.writes:
            self._session.begin()
        try:
            rows = [tuple(map(plain, row)) for row in self._session.run(asked.text, asked.params)]
            graph = self._graph() if asked.writes else None
        except DoxaError as error:
            kind, detail = getattr(error, "kind", error.code), getattr(error, "detail", "")
            return Answer(None, f"{kind}.{detail}", str(error))
        except Exception as error:  # an internal error is an answer too: the worst one
            return Answer(None, f"INTERNAL.{type(error).__name__}", str(error))
        finally:
            if asked.writes:
                with suppress(DoxaError):  # an error has ended it
                    self._session.rollback()
        return Answer(rows, graph=graph)

    def _graph(self) -> Any:
        return [
            [tuple(map(_sorted, map(plain, row))) for row in self._session.run(text)]
            for text in (_NODES, _EDGES)
        ]

    def close(self) -> None:
        self._session.close()
        self._store.close()


class Neo4j:
    def __init__(self, address: str, user: str, password: str) -> None:
        self._driver = neo4j.GraphDatabase.driver(
            address, auth=(user, password), notifications_min_severity="OFF"
        )
        self._session = self._driver.session()

    def reset(self, *texts: str) -> None:
        for text in ("MATCH (n) DETACH DELETE n", *texts):
            self._session.run(text).consume()

    def ask(self, asked: Statement) -> Answer:
        try:
            return self._changed(asked) if asked.writes else Answer(self._rows(asked))
        except Neo4jError as error:
            return Answer(None, str(error.code), str(error.message))
        except (DriverError, ValueError, OverflowError) as error:  # a value that Python cannot hold
            return Answer(None, "UNREADABLE", str(error))

    def _rows(self, asked: Statement) -> list[Any]:
        query = neo4j.Query(asked.text, timeout=TIMEOUT_S)  # type: ignore[arg-type]
        found = self._session.run(query, dict(asked.params))
        return [tuple(map(plain, one.values())) for one in found]

    def _changed(self, asked: Statement) -> Answer:
        with self._session.begin_transaction(timeout=TIMEOUT_S) as tx:
            found = tx.run(asked.text, dict(asked.params))
            rows = [tuple(map(plain, one.values())) for one in found]
            graph = self._graph(tx)
            tx.rollback()
        return Answer(rows, graph=graph)

    def _graph(self, tx: neo4j.Transaction) -> Any:
        return [
            [tuple(map(_sorted, map(plain, one.values()))) for one in tx.run(text)]
            for text in (_NODES, _EDGES)
        ]

    def close(self) -> None:
        self._session.close()
        self._driver.close()


def _sorted(value: Any) -> Any:
    """Labels in any order."""
    if isinstance(value, tuple) and value[:1] == ("list",):
        return ("list", *sorted(value[1:], key=repr))
    return value


def plain(value: Any) -> Any:
    """A value of either side as tuples whose equality is exact, except for the last digits of a
    float."""
    if value is None or isinstance(value, (bool, str, bytes)):
        return (type(value).__name__, value)
    if isinstance(value, int):
        return ("int", value)
    if isinstance(value, float):
        return ("float", float_text(value))
    if isinstance(value, (Point, neo4j.spatial.Point)):
        return _point(value)
    if isinstance(value, (Node, neo4j.graph.Node)):
        props = value.properties if isinstance(value, Node) else dict(value.items())
        return ("node", tuple(sorted(value.labels)), plain(props))
    if isinstance(value, (Edge, neo4j.graph.Relationship)):
        props = value.properties if isinstance(value, Edge) else dict(value.items())
        return ("edge", value.type, plain(props))
    if isinstance(value, GraphPath):
        return ("path", tuple(map(plain, value.nodes)), tuple(map(plain, value.edges)))
    if isinstance(value, neo4j.graph.Path):
        return ("path", tuple(map(plain, value.nodes)), tuple(map(plain, value.relationships)))
    if isinstance(value, dict):
        return ("map", tuple(sorted((name, plain(item)) for name, item in value.items())))
    if isinstance(value, (list, tuple)) and not isinstance(value, neo4j.time.Duration):
        return ("list", *map(plain, value))
    return _temporal(value)


def float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(float(f"{value:.12g}"))


def _point(value: Any) -> Any:
    if isinstance(value, neo4j.spatial.Point):
        return ("point", value.srid, *map(float_text, value))
    found = [value.x, value.y] + ([] if value.z is None else [value.z])
    return ("point", value.srid, *map(float_text, found))


def _temporal(value: Any) -> Any:
    match value:
        case temporal.Date(days):
            return ("date", days)
        case neo4j.time.Date():
            return ("date", value.to_ordinal() - _EPOCH_DAYS)
        case temporal.LocalTime(nanos):
            return ("localtime", nanos)
        case temporal.Time(nanos, offset):
            return ("time", nanos, offset)
        case neo4j.time.Time():
            offset = value.utcoffset()
            return (
                ("localtime", value.ticks) if offset is None else ("time", value.ticks, _s(offset))
            )
        case temporal.LocalDateTime(seconds, nanos):
            return ("localdatetime", seconds, nanos)
        case temporal.DateTime(seconds, nanos, offset, zone):
            return ("datetime", seconds, nanos, offset, zone)
        case temporal.Duration(months, days, seconds, nanos):
            return ("duration", months, days, seconds * 10**9 + nanos)
        case neo4j.time.Duration():
            nanos = value.seconds * 10**9 + value.nanoseconds
            return ("duration", value.months, value.days, nanos)
        case neo4j.time.DateTime():
            days = value.date().to_ordinal() - _EPOCH_DAYS
            seconds, nanos = divmod(value.time().ticks, 10**9)
            seconds += days * 86_400
            if value.tzinfo is None:
                return ("localdatetime", seconds, nanos)
            offset = value.utcoffset()
            assert offset is not None
            zone = getattr(value.tzinfo, "zone", None) or getattr(value.tzinfo, "key", None)
            zone = None if zone == "UTC" else zone  # what the driver makes of an offset of 0
            return ("datetime", seconds - _s(offset), nanos, _s(offset), zone)
    return ("other", type(value).__name__, str(value))


def _s(offset: timedelta) -> int:
    return int(offset.total_seconds())
