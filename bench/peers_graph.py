"""Two graphs of the same size, one without any structure and one of a social shape, and the right
answers, computed from the arrays alone.

No two nodes are related twice, in either direction: then walks that Cypher forbids (an edge taken
twice) and systems that allow them give the same answers in every row, so that a different answer is
a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peers_data import CITIES, Data, Ints, answer, city_of, name_of

PATH_EDGES_MAX = 10
_COMMUNITIES = 400
_INSIDE = 0.6  # the share of edges that stay in their community
_IN_SKEW, _OUT_SKEW = 0.65, 0.45


def random_graph(nodes: int, edges: int, seed: int) -> Data:
    """Both ends of each edge drawn evenly."""
    rng = np.random.default_rng(seed)
    return _made(
        rng,
        nodes,
        edges,
        lambda count: (rng.integers(nodes, size=count), rng.integers(nodes, size=count)),
    )


def social_graph(nodes: int, edges: int, seed: int) -> Data:
    """Power-law degrees with hubs (who is followed much also follows much) and communities that
    hold most of the edges."""
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(nodes) + 1.0
    bounds = np.sort(rng.choice(nodes, size=min(_COMMUNITIES, nodes // 10), replace=False))
    community = np.searchsorted(bounds, np.arange(nodes), side="right")
    first = np.searchsorted(community, np.arange(community[-1] + 2))
    into = np.concatenate([[0.0], np.cumsum(ranks**-_IN_SKEW)])
    out = np.concatenate([[0.0], np.cumsum(ranks**-_OUT_SKEW)])

    def draw(count: int) -> tuple[Ints, Ints]:
        src = _weighted(rng, out, np.zeros(count), np.full(count, out[-1]))
        inside = rng.random(count) < _INSIDE
        home = community[src]
        low = np.where(inside, into[first[home]], 0.0)
        high = np.where(inside, into[first[home + 1]], into[-1])
        return src, _weighted(rng, into, low, high)

    return _made(rng, nodes, edges, draw)


def _weighted(rng: np.random.Generator, cumulative: Any, low: Any, high: Any) -> Ints:
    found = np.searchsorted(cumulative, low + rng.random(len(low)) * (high - low), side="right") - 1
    ends: Ints = np.clip(found, 0, len(cumulative) - 2).astype(np.int64)
    return ends


def _made(
    rng: np.random.Generator, nodes: int, edges: int, draw: Callable[[int], tuple[Ints, Ints]]
) -> Data:
    src, dst = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while len(src) < edges:
        more = draw(edges)
        src, dst = np.concatenate([src, more[0]]), np.concatenate([dst, more[1]])
        pair = np.minimum(src, dst) * nodes + np.maximum(src, dst)
        _, kept = np.unique(pair, return_index=True)
        kept = kept[src[kept] != dst[kept]]
        src, dst = src[kept], dst[kept]
    chosen = rng.permutation(len(src))[:edges]
    key = rng.permutation(nodes * 2)[:nodes]
    return Data(
        key.astype(np.int64),
        rng.integers(CITIES, size=nodes),
        rng.integers(8_000_000, size=nodes),
        src[chosen],
        dst[chosen],
    )


class Truth:
    """The right answers, from sorted arrays. Starts are places of nodes."""

    def __init__(self, data: Data) -> None:
        self.data = data
        order = np.argsort(data.src, kind="stable")
        self.ends = data.dst[order]
        self.first = np.searchsorted(data.src[order], np.arange(data.nodes + 1))

    def after(self, nodes: Ints) -> Ints:
        """Where one edge leads from any of these nodes, each once."""
        begin, size = self.first[nodes], self.first[nodes + 1] - self.first[nodes]
        places = np.repeat(begin - np.cumsum(size) + size, size) + np.arange(size.sum())
        return np.unique(self.ends[places])

    def hops(self, start: int, count: int) -> Ints:
        reached = np.array([start])
        for _ in range(count):
            reached = self.after(reached)
        return reached

    def within(self, start: int, most: int) -> int:
        """How many nodes are the end of a walk of 1 to `most` edges."""
        level, seen = np.array([start]), np.zeros(0, np.int64)
        for _ in range(most):
            level = self.after(level)
            seen = np.union1d(seen, level)
        return len(seen)

    def distance(self, start: int, end: int) -> int | None:
        seen = np.zeros(self.data.nodes, bool)
        level = np.array([start])
        for depth in range(1, PATH_EDGES_MAX + 1):
            level = self.after(level)
            level = level[~seen[level]]
            seen[level] = True
            if seen[end]:
                return depth
        return None

    def triangles(self) -> int:
        """Directed ones, each found from its three corners."""
        out: list[set[int]] = [set() for _ in range(self.data.nodes)]
        into: list[set[int]] = [set() for _ in range(self.data.nodes)]
        pairs = list(zip(self.data.src.tolist(), self.data.dst.tolist(), strict=True))
        for src, dst in pairs:
            out[src].add(dst)
            into[dst].add(src)
        return sum(len(out[dst] & into[src]) for src, dst in pairs)

    # As answers to the queries

    def lookup(self, at: int) -> str:
        return answer([[name_of(int(self.data.key[at])), int(self.data.score_eighths[at]) / 8]])

    def neighbours(self, at: int) -> str:
        return answer([[key, name_of(key)] for key in self.data.key[self.hops(at, 1)].tolist()])

    def two_hops(self, at: int) -> str:
        return answer([[key] for key in self.data.key[self.hops(at, 2)].tolist()])

    def path(self, start: int, end: int) -> str:
        found = self.distance(start, end)
        return answer([] if found is None else [[found]])

    def cities(self) -> str:
        count = np.bincount(self.data.city, minlength=CITIES)
        total = np.bincount(self.data.city, weights=self.data.score_eighths, minlength=CITIES) / 8
        return answer(
            [
                [city_of(city), int(count[city]), float(total[city] / count[city])]
                for city in range(CITIES)
                if count[city]
            ]
        )

    def top(self, most: int) -> str:
        order = np.lexsort((self.data.key, -self.data.score_eighths))[:most]
        return answer(
            [[int(self.data.key[at]), int(self.data.score_eighths[at]) / 8] for at in order],
            ordered=True,
        )
