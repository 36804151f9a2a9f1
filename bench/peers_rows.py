"""The rows of the comparison: what is asked, how often, with which parameters, and what the right
answers are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.peers_data import EDGE, LABEL, Data, answer, city_of, name_of
from bench.peers_graph import PATH_EDGES_MAX, Truth

START = f"MATCH (n:{LABEL} {{key: $key}})"
TEXTS = {
    "lookup": f"{START} RETURN n.name AS name, n.score AS score",
    "one_hop": f"{START}-[:{EDGE}]->(m) RETURN m.key AS key, m.name AS name",
    "two_hops": f"{START}-[:{EDGE}]->()-[:{EDGE}]->(m) RETURN count(DISTINCT m) AS found",
    "two_hops_rows": f"{START}-[:{EDGE}]->()-[:{EDGE}]->(m) RETURN DISTINCT m.key AS key",
    "three_hops": (
        f"{START}-[:{EDGE}]->()-[:{EDGE}]->()-[:{EDGE}]->(m) RETURN count(DISTINCT m) AS found"
    ),
    "lengths": f"{START}-[:{EDGE}*1..4]->(m) RETURN count(DISTINCT m) AS found",
    "shortest": (
        f"MATCH (a:{LABEL} {{key: $key}}), (b:{LABEL} {{key: $other}}) "
        f"MATCH p = shortestPath((a)-[:{EDGE}*..{PATH_EDGES_MAX}]->(b)) RETURN length(p) AS found"
    ),
    "grouped": f"MATCH (n:{LABEL}) RETURN n.city AS city, count(*) AS found, avg(n.score) AS mean",
    "top": (
        f"MATCH (n:{LABEL}) RETURN n.key AS key, n.score AS score ORDER BY n.score DESC, n.key"
        " LIMIT 10"
    ),
    "triangles": (
        f"MATCH (a:{LABEL})-[:{EDGE}]->(b)-[:{EDGE}]->(c)-[:{EDGE}]->(a) RETURN count(*) AS found"
    ),
    "write": (
        f"MATCH (a:{LABEL} {{key: $key}}), (b:{LABEL} {{key: $other}}) CREATE (n:{LABEL} {{key:"
        f" $new, name: $name, city: $city, score: $score}}), (n)-[:{EDGE}]->(a), (n)-[:{EDGE}]->(b)"
    ),
}
WRITTEN = f"{START}-[:{EDGE}]->(m) RETURN m.key AS key"
TITLES = {
    "load": "bulk load, durable and indexed, s",
    "lookup": "lookup by indexed property",
    "one_hop": "one hop, rows of two properties",
    "two_hops": "two hops, distinct ends counted",
    "two_hops_rows": "two hops, distinct ends as rows",
    "three_hops": "three hops, distinct ends counted",
    "lengths": "length 1..4, distinct ends counted",
    "shortest": f"shortest path, at most {PATH_EDGES_MAX} long",
    "grouped": "count and mean by city over the label",
    "top": "ten largest by an unindexed property",
    "triangles": "all directed triangles counted",
    "write": "write: a node with two relationships",
}
_TIMES = {
    "lookup": 500,
    "one_hop": 300,
    "two_hops": 300,
    "two_hops_rows": 300,
    "three_hops": 200,
    "lengths": 50,
    "shortest": 30,
    "grouped": 7,
    "top": 7,
    "triangles": 3,
    "write": 100,
}
_ORDERED = frozenset({"top"})


@dataclass
class Asked:
    """One row: its query, the parameters of each repetition and the right answers. The first
    repetition is not counted."""

    row: str
    text: str
    params: list[dict[str, Any]]
    expected: list[str] = field(default_factory=list)
    check: str = ""  # asked after a write, with the same parameters

    def plan(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "text": self.text,
            "params": self.params,
            "check": self.check,
            "ordered": self.row in _ORDERED,
        }


def asked(data: Data, seed: int, *, share: float = 1.0) -> list[Asked]:
    """All rows, with `share` of the usual repetitions. Writing comes last: it changes what the
    others find."""
    rng = np.random.default_rng(seed)
    truth = Truth(data)
    rows = []
    for row, times in _TIMES.items():
        count = max(2, round(times * share)) + 1
        places = rng.integers(data.nodes, size=(count, 2))
        places[:, 1] = np.where(
            places[:, 0] == places[:, 1], (places[:, 0] + 1) % data.nodes, places[:, 1]
        )
        made = Asked(
            row,
            TEXTS[row],
            [
                _params(data, row, (pair[0], pair[1]), number)
                for number, pair in enumerate(places.tolist())
            ],
        )
        made.check = WRITTEN if row == "write" else ""
        if row in ("grouped", "top", "triangles"):
            found = (
                truth.cities()
                if row == "grouped"
                else truth.top(10)
                if row == "top"
                else str(truth.triangles())
            )
            made.expected = [found] * count
        else:
            made.expected = [_expected(truth, row, *pair) for pair in places.tolist()]
        rows.append(made)
    return rows


def _params(data: Data, row: str, ends: tuple[int, int], number: int) -> dict[str, Any]:
    if row in ("grouped", "top", "triangles"):
        return {}
    key, other = data.key[list(ends)].tolist()
    if row == "shortest":
        return {"key": key, "other": other}
    if row == "write":
        new = data.nodes * 2 + number
        return {
            "key": key,
            "other": other,
            "new": new,
            "name": name_of(new),
            "city": city_of(number % 7),
            "score": number / 8,
        }
    return {"key": key}


def _expected(truth: Truth, row: str, start: int, end: int) -> str:
    match row:
        case "lookup":
            return truth.lookup(start)
        case "one_hop":
            return truth.neighbours(start)
        case "two_hops" | "three_hops":
            return str(len(truth.hops(start, 2 if row == "two_hops" else 3)))
        case "two_hops_rows":
            return truth.two_hops(start)
        case "lengths":
            return str(truth.within(start, 4))
        case "shortest":
            return truth.path(start, end)
    return answer([[int(truth.data.key[place])] for place in (start, end)])
