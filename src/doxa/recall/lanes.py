"""The lanes beside words and meaning: who, when, what is linked, how new, what policies leave. Each
gives every candidate a value.

A lane that is switched off, or has nothing to say, is zero (policy: one) for all and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.dates import find_dates
from doxa.base.words import terms
from doxa.recall.fusion import RECENCY_DAYS, SIDE
from doxa.recall.shelf import Shelf
from doxa.store import Reader, int64_array

GRAPH_SEEDS = 5
GRAPH_HOPS = 2
_GRAPH_EDGES_MAX = 200  # of each seed and direction
_DAY_NS = 86_400 * 10**9
_DATED_TEXTS = 60  # candidates whose text is searched for dates, the best first
_STRUCTURE = (
    "HAS_SPACE",
    "HAS_ITEM",
    "HAS_REVISION",
    "CURRENT",
    "TAG",
    "HAS_ARTIFACT",
    "MEMBER",
    "HAS_THREAD",
    "HAS_EXCHANGE",
    "CHALLENGER",
    "HELD",
    "SUPERSEDES",
    "NEXT",
)
# Who is linked with whom, in both directions; what a superseded revision is linked with counts for
# the one that is current. What is not believed, or hidden by a policy, links nothing.
_LINKED = """WITH near(seed, other) AS (
  SELECT f.value, e.dst FROM carray(?) f JOIN {edges} e ON e.src = f.value WHERE e.type NOT IN ({structure})
  UNION ALL SELECT f.value, e.src FROM carray(?) f JOIN {edges} e ON e.dst = f.value WHERE e.type NOT IN ({structure})),
current(seed, other) AS (
  SELECT n.seed, coalesce((SELECT c.dst FROM edge h JOIN edge c ON c.src = h.src AND c.type = 'CURRENT'
    WHERE h.dst = n.other AND h.type = 'HAS_REVISION'), n.other) FROM near n LIMIT ?)
SELECT c.seed, c.other FROM current c JOIN {nodes} x ON x.id = c.other LEFT JOIN doc d ON d.node = c.other WHERE coalesce(d.live, 1)
"""
# The other revisions of the items that revisions belong to: what is linked with one of them is
# linked with what is believed now.
_FORMER = """
SELECT f.value, o.dst FROM carray(?) f JOIN edge h ON h.dst = f.value AND h.type = 'HAS_REVISION' JOIN edge o ON o.src = h.src AND o.type = h.type
"""

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


class Span(NamedTuple):
    """A time that a question names, half-open, in ns UTC."""

    start: int
    end: int


def spans_of(text: str, now: int) -> tuple[Span, ...]:
    """The times that a question names: "in May 2023", "last week" as of now."""
    return tuple(
        Span(date.start_ns, date.end_ns) for date in find_dates(text.replace("’", "'"), now)
    )


def entities(shelf: Shelf, rows: Rows, *, named: frozenset[int], side: frozenset[int]) -> Floats:
    """1 where the question names the speaker, SIDE where it asks for that side of a chat."""
    found = np.zeros(len(rows), dtype=np.float32)
    for tokens, value in ((side, SIDE), (named, 1.0)):
        if tokens:
            found[np.isin(shelf["speaker"][rows], list(tokens))] = value
    return found


def mentions(
    reader: Reader, shelf: Shelf, rows: Rows, *, named: frozenset[str], nobody: frozenset[int]
) -> Floats:
    """1 where an entity that was given with a belief is named: all its terms are among `named`,
    those of the question and of the speakers that it names. `nobody` are the tokens of no speaker:
    what has one is a turn, and is asked above who said it."""
    found = np.zeros(len(rows), dtype=np.float32)
    places = {
        int(shelf["node"][rows[place]]): place
        for place in np.flatnonzero(np.isin(shelf["speaker"][rows], list(nobody))).tolist()
    }
    if not named or not places:
        return found
    sql = (
        f"SELECT n.id, e.value FROM carray(?) f JOIN {reader.sight().table(edge=False)} n ON n.id ="
        " f.value JOIN json_each(n.props, '$.entities') e"
    )
    for node, entity in reader.rows(sql, (int64_array(list(places)),)):
        if isinstance(entity, str) and (wanted := terms(entity)) and named.issuperset(wanted):
            found[places[node]] = 1
    return found


def recency(shelf: Shelf, rows: Rows, now: int) -> Floats:
    """By whole days, so that the same question has the same answer an hour later."""
    days = np.maximum(now - shelf["time"][rows], 0) // _DAY_NS
    return np.asarray(np.exp2(-days / RECENCY_DAYS), dtype=np.float32)


def in_spans(times: NDArray[np.int64], spans: Iterable[Span]) -> Floats:
    """1 inside a span; outside e^(-distance / length of the span), at least a day's."""
    found = np.zeros(len(times), dtype=np.float32)
    for start, end in spans:
        away = np.maximum(np.maximum(start - times, times - (end - 1)), 0) / max(
            end - start, _DAY_NS
        )
        found = np.maximum(found, np.exp(-away))
    return found.astype(np.float32)


def event_times(
    reader: Reader, shelf: Shelf, rows: Rows, order: NDArray[np.intp], spans: tuple[Span, ...]
) -> Floats:
    """As in_spans, for the dates that the texts of the best candidates tell of, resolved against
    when each was said."""
    found = np.zeros(len(rows), dtype=np.float32)
    places = {int(shelf["node"][rows[place]]): place for place in order[:_DATED_TEXTS].tolist()}
    seen = reader.sight().table(edge=False)
    sql = (
        "SELECT n.id, coalesce(n.props ->> '$.text', n.props ->> '$.summary') FROM carray(?) f"
        f" JOIN {seen} n ON n.id = f.value"
    )
    for node, text in reader.rows(sql, (int64_array(list(places)),)):
        place = places[node]
        dates = (
            find_dates(text.replace("’", "'"), int(shelf["time"][rows[place]]))
            if isinstance(text, str)
            else ()
        )
        if dates:
            middles = np.array(
                [(date.start_ns + date.end_ns) // 2 for date in dates], dtype=np.int64
            )
            found[place] = in_spans(middles, spans).max()
    return found


def spread(reader: Reader, seeds: dict[int, float]) -> dict[int, float]:
    """What of the seeds' values reaches other nodes along edges, seeds being nodes with a value in
    [0, 1]: half with each hop, shared by the square root of how many a node is linked with, so that
    one that is linked with everything says little about each."""
    reached: dict[int, float] = {}
    front = seeds | {
        other: seeds[seed]
        for seed, other in reader.rows(_FORMER, (int64_array(list(seeds)),))
        if other not in seeds
    }
    within = front.keys()
    seen = reader.sight()
    sql = _LINKED.format(
        edges=seen.table(edge=True),
        nodes=seen.table(edge=False),
        structure=", ".join(f"'{name}'" for name in _STRUCTURE),
    )
    for _ in range(GRAPH_HOPS):
        rows = (
            reader.rows(
                sql,
                (int64_array(list(front)), int64_array(list(front)), _GRAPH_EDGES_MAX * len(front)),
            )
            if front
            else []
        )
        degree: dict[int, int] = {}
        for seed, _other in rows:
            degree[seed] = degree.get(seed, 0) + 1
        following: dict[int, float] = {}
        for seed, other in rows:
            value = front[seed] / 2 / degree[seed] ** 0.5
            if other not in within and value > following.get(other, 0.0):
                following[other] = value
        front = {node: value for node, value in following.items() if value > reached.get(node, 0.0)}
        reached |= front
    return reached


def rows_of(reader: Reader, shelf: Shelf, nodes: Iterable[int]) -> dict[int, int]:
    """The search rows of nodes in one project, by node."""
    sql = "SELECT d.node, d.doc FROM carray(?) f JOIN doc d ON d.node = f.value WHERE d.scope = ?"
    return {node: row for node, row in reader.rows(sql, (int64_array(list(nodes)), shelf.scope))}
