"""The same elements in three memories: without policies, with decay over all of them, and with
decay that hides a tenth.

Half of the elements are nodes, half are edges. A tenth of the nodes are hubs: ten edges leave each,
to other hubs, so that one hop gives ten rows and two hops give a hundred. Every tenth node and
every tenth edge is old, but only where half-lives are short is it hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import doxa
from bench.persistence_parts import DAY_NS, START_NS
from doxa.base.clock import FakeClock

VECTORS_MAX = 20_000
DIMENSIONS = 16
LONG_S, SHORT_S = 365 * 86_400, 7 * 86_400
_FAN, _OLD = 10, 10
_OLD_NS, _YOUNG_NS = (
    100 * DAY_NS,
    10 * DAY_NS,
)  # with a week's half-life the first are hidden, the second are not
_WORDS, _DOCUMENTS = 6, 20
_BATCH = 20_000
_INDEXES = (
    "CREATE INDEX memory_key FOR (n:Memory) ON (n.key)",
    "CREATE INDEX memory_rank FOR (n:Memory) ON (n.rank)",
    "CREATE FULLTEXT INDEX memory_text FOR (n:Memory) ON EACH [n.text]",
    (
        "CREATE VECTOR INDEX memory_vector FOR (n:Embedded) ON (n.vector) OPTIONS {indexConfig:"
        f" {{`vector.dimensions`: {DIMENSIONS}}}}}"
    ),
)
_NODES = (
    "UNWIND $rows AS row CREATE (:Memory {key: row[0], rank: row[1], text: row[2], at: row[3]})"
)
_EMBEDDED = (
    "UNWIND $rows AS row CREATE (:Memory:Embedded {key: row[0], rank: row[1], text: row[2], at:"
    " row[3], vector: row[4]})"
)
_EDGES = (
    "UNWIND $rows AS row MATCH (a:Memory {key: row[0]}), (b:Memory {key: row[1]}) CREATE"
    " (a)-[:ABOUT {at: row[2]}]->(b)"
)
Ints = NDArray[np.int64]


class Elements(NamedTuple):
    """All of them as arrays. The hubs have the first keys."""

    rank: Ints
    words: Ints
    node_at: Ints
    src: Ints
    dst: Ints
    edge_at: Ints
    seed: int

    @property
    def nodes(self) -> int:
        return len(self.rank)

    @property
    def hubs(self) -> int:
        return self.nodes // _FAN

    @property
    def vocabulary(self) -> int:
        return vocabulary(self.nodes)

    def node_seen(self) -> NDArray[np.bool_]:
        """Which nodes a week's half-life leaves visible."""
        return self.node_at > START_NS - _OLD_NS

    def edge_seen(self) -> NDArray[np.bool_]:
        """Which edges it leaves, with both their ends."""
        seen: NDArray[np.bool_] = (
            (self.edge_at > START_NS - _OLD_NS)
            & self.node_seen()[self.src]
            & self.node_seen()[self.dst]
        )
        return seen

    def rows(self) -> Iterator[list[list[Any]]]:
        """What nodes are made of, in batches; the first VECTORS_MAX with a vector."""
        rng = np.random.default_rng(self.seed + 1)
        limits = [
            *range(0, min(self.nodes, VECTORS_MAX), _BATCH),
            *range(min(self.nodes, VECTORS_MAX), self.nodes, _BATCH),
            self.nodes,
        ]
        for first, last in pairwise(limits):
            texts = [
                " ".join(f"word{word}" for word in words)
                for words in self.words[first:last].tolist()
            ]
            rows: list[list[Any]] = [
                list(row)
                for row in zip(
                    range(first, last),
                    self.rank[first:last].tolist(),
                    texts,
                    self.node_at[first:last].tolist(),
                    strict=True,
                )
            ]
            if first < VECTORS_MAX:
                vectors = (
                    rng.standard_normal((last - first, DIMENSIONS))
                    .astype(np.float32)
                    .astype(float)
                    .tolist()
                )
                rows = [[*row, vector] for row, vector in zip(rows, vectors, strict=True)]
            yield rows


def vocabulary(nodes: int) -> int:
    return max(100, nodes // _DOCUMENTS)


def elements(count: int, seed: int) -> Elements:
    """About `count` nodes and edges together."""
    rng = np.random.default_rng(seed)
    nodes = count // 2 // _FAN * _FAN
    hubs = nodes // _FAN
    node_at = START_NS - rng.integers(_YOUNG_NS, size=nodes)
    edge_at = START_NS - rng.integers(_YOUNG_NS, size=nodes)
    node_at[::_OLD] = START_NS - _OLD_NS
    edge_at[rng.permutation(nodes)[::_OLD]] = START_NS - _OLD_NS
    src = np.repeat(np.arange(hubs), _FAN)
    dst = (
        src
        + 1
        + np.concatenate([rng.choice(hubs - 1, size=_FAN, replace=False) for _ in range(hubs)])
    ) % hubs
    return Elements(
        rng.permutation(nodes),
        rng.integers(vocabulary(nodes), size=(nodes, _WORDS)),
        node_at,
        src,
        dst,
        edge_at,
        seed,
    )


def build(path: Path, held: Elements, *, half_life_s: int | None) -> doxa.Memory:
    """A memory filled in batches; with policies, they are there first."""
    memory = doxa.open(
        path, role="operator", embedder=None, background=False, clock=FakeClock(START_NS)
    )
    for command in _INDEXES:
        memory.run(command)
    if half_life_s is not None:
        declare(memory, half_life_s)
    for rows in held.rows():
        memory.run(_EMBEDDED if len(rows[0]) > 4 else _NODES, {"rows": rows})
    for first in range(0, held.nodes, _BATCH):
        last = first + _BATCH
        ends = zip(
            held.src[first:last].tolist(),
            held.dst[first:last].tolist(),
            held.edge_at[first:last].tolist(),
            strict=True,
        )
        memory.run(_EDGES, {"rows": [list(row) for row in ends]})
    return memory


def declare(memory: doxa.Memory, half_life_s: int) -> None:
    """Decay over all nodes and edges."""
    memory.run(
        f"CREATE DECAY PROFILE fading OPTIONS {{halfLifeSeconds: {half_life_s}, function:"
        " 'exponential', visibilityThreshold: 0.10, scoreFrom: 'CUSTOM', scoreFromProperty:"
        " 'at'}\nCREATE DECAY PROFILE memories FOR (n:Memory) APPLY { DECAY PROFILE 'fading'"
        " }\nCREATE DECAY PROFILE abouts FOR ()-[r:ABOUT]-() APPLY { DECAY PROFILE 'fading' }"
    )


def reopened(path: Path, *, read_only: bool = False, now: int = START_NS) -> doxa.Memory:
    """The memory of a file, at the same time."""
    return doxa.open(
        path,
        role="operator",
        embedder=None,
        background=False,
        read_only=read_only,
        clock=FakeClock(now),
    )
