"""The graph that every system is given, and how answers are compared. The workers of all systems
read this, so it imports numpy alone.

FOLDER/graph.npz     key, city, score_eighths of each node; src, dst of each edge (places of nodes)
FOLDER/nodes.csv     key,name,city,score          for systems that load files
FOLDER/edges.csv     key of the source, key of the destination
FOLDER/plan.json     the rows: name, query, parameters, how often
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
LABEL, EDGE = "Thing", "TOUCHES"
GIVEN = frozenset(("graph.npz", "nodes.csv", "edges.csv", "plan.json"))
# the same rows under other headers, which some systems want and write for themselves
TYPED = ("typed_nodes.csv", "typed_edges.csv")
NAMED = (f"{LABEL}.csv", f"{EDGE}.csv")
CITIES = 100


@dataclass
class Data:
    """Nodes are numbered by place; `key` is what queries name them by. Scores are eighths, so that
    sums are exact in any order."""

    key: Ints
    city: Ints
    score_eighths: Ints
    src: Ints
    dst: Ints

    @property
    def nodes(self) -> int:
        return len(self.key)

    @property
    def edges(self) -> int:
        return len(self.src)

    def node_rows(self) -> list[dict[str, Any]]:
        columns = zip(
            self.key.tolist(), self.city.tolist(), self.score_eighths.tolist(), strict=True
        )
        return [
            {"key": key, "name": name_of(key), "city": city_of(city), "score": eighths / 8}
            for key, city, eighths in columns
        ]

    def edge_rows(self) -> list[tuple[int, int]]:
        """The keys of both ends."""
        return list(zip(self.key[self.src].tolist(), self.key[self.dst].tolist(), strict=True))

    def save(self, folder: Path) -> None:
        np.savez(
            folder / "graph.npz",
            key=self.key,
            city=self.city,
            score_eighths=self.score_eighths,
            src=self.src,
            dst=self.dst,
        )
        with (folder / "nodes.csv").open("w") as file:
            file.write("key,name,city,score\n")
            file.writelines(
                f"{row['key']},{row['name']},{row['city']},{row['score']}\n"
                for row in self.node_rows()
            )
        with (folder / "edges.csv").open("w") as file:
            file.write("source,target\n")
            file.writelines(f"{source},{target}\n" for source, target in self.edge_rows())


def load(folder: Path) -> Data:
    with np.load(folder / "graph.npz") as held:
        return Data(held["key"], held["city"], held["score_eighths"], held["src"], held["dst"])


def name_of(key: int) -> str:
    return f"thing {key}"


def city_of(number: int) -> str:
    return f"city {number}"


def answer(rows: Iterable[Sequence[Any]], *, ordered: bool = False) -> str:
    """Rows in a form that is equal exactly where the rows are: one number as itself, anything else
    as a count and a digest."""
    found = [[_plain(value) for value in row] for row in rows]
    if len(found) == 1 and len(found[0]) == 1:
        return str(found[0][0])
    if not ordered:
        found.sort(key=json.dumps)
    return f"{len(found)} rows {hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12]}"


def _plain(value: Any) -> Any:
    """A float with nine digits, which every way of dividing agrees on; whole numbers of either type
    are one."""
    if isinstance(value, float):
        value = float(f"{value:.9g}")
        return int(value) if value.is_integer() else value
    return value
