"""What wide questions cost from resident arrays, and without them in the same run on the same file.
Answers are compared, and so are times after a write, which the arrays are brought forward by."""

from __future__ import annotations

import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench.report import Report
from bench.timing import Spread, seconds_of, spread
from doxa.base.limits import IMAGE_BYTES_MAX
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from doxa.store.bulk.edges import create_edges

_OPERATOR = Identity("bench", "operator")
_BATCH = 50_000
_CITIES = 200
ROWS = {
    "grouped": "MATCH (p:Person) RETURN p.city AS city, avg(p.age) AS a",
    "top_ten": "MATCH (p:Person) RETURN p.id AS id ORDER BY p.age DESC, p.id LIMIT 10",
    "one_to_three": "MATCH (p:Person {id: $id})-[:KNOWS*1..3]->(q) RETURN count(DISTINCT q) AS n",
    "one_to_four": "MATCH (p:Person {id: $id})-[:KNOWS*1..4]->(q) RETURN count(DISTINCT q) AS n",
    "shortest": "MATCH (a:Person {id: $id}), (b:Person {id: $other}), p = shortestPath((a)-"
    "[:KNOWS*..6]->(b)) RETURN length(p) AS n",
    "triangles": "MATCH (p)-[:KNOWS]->(q)-[:KNOWS]->(r)-[:KNOWS]->(p) RETURN count(*) AS n",
    "degrees": "MATCH (p:Person) RETURN p.id AS id, count { (p)-[:KNOWS]-() } AS n"
    " ORDER BY n DESC, id LIMIT 10",
    "lookup": "MATCH (p:Person {id: $id}) RETURN p.name AS n",
}
# A question over the whole graph takes as long each time.
_TIMES_MAX = {"triangles": 3, "degrees": 5}
_WRITE = (
    "MATCH (p:Person {id: $id}), (q:Person {id: $other}) SET p.age = 50 CREATE (p)-[:KNOWS]->(q)"
)


def measure_image(report: Report, *, nodes: int, edges: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        load_people(path, random.Random(report.seed), nodes=nodes, edges=edges)
        with (
            Store(path, image_bytes_max=IMAGE_BYTES_MAX) as held,
            Store(path) as plain,
            GraphSession(held, QueryEngine(), _OPERATOR) as on,
            GraphSession(plain, QueryEngine(), _OPERATOR) as off,
        ):
            assert held.images is not None
            held.images.patience = 0.0  # derived by the first question, which is not measured
            rng = random.Random(report.seed)
            rows = [
                _row(
                    report,
                    name,
                    (on, off),
                    [
                        _given(rng, nodes)
                        for _ in range(min(times, _TIMES_MAX.get(name, times)) + 1)
                    ],
                )
                for name in ROWS
            ]
            report.put("image.nodes", nodes)
            report.put("image.edges", edges)
            report.put("image.resident_bytes", held.images.size_bytes)
    report.table(
        f"Wide questions on {nodes:,} nodes and {edges:,} edges, p50 ms",
        ["question", "with the image", "after a write", "without", "times faster"],
        rows,
    )


def _given(rng: random.Random, nodes: int) -> dict[str, Any]:
    return {"id": rng.randrange(nodes), "other": rng.randrange(nodes)}


def _row(
    report: Report,
    name: str,
    sessions: tuple[GraphSession, GraphSession],
    given: list[dict[str, Any]],
) -> list[str]:
    on, off = sessions
    answers: dict[bool, list[Any]] = {True: [], False: []}

    def ask(with_image: bool, params: dict[str, Any]) -> None:
        session = on if with_image else off
        answers[with_image].append(sorted(map(tuple, session.run(ROWS[name], params))))

    def measured(with_image: bool) -> Spread:
        ask(with_image, given[0])
        return spread([seconds_of(partial(ask, with_image, params)) for params in given[1:]])

    plain, own, after = measured(False), measured(True), []
    right = answers[True] == answers[False]
    for params in given[1:]:
        list(off.run(_WRITE, params))
        after.append(seconds_of(partial(ask, True, params)))
    moved = spread(after)
    report.put(f"image.with.{name}.p50_ms", own.p50_ms)
    report.put(f"image.after_a_write.{name}.p50_ms", moved.p50_ms)
    report.put(f"image.without.{name}.p50_ms", plain.p50_ms)
    report.put(f"image.{name}.right", float(right))
    return [
        name,
        f"{own.p50_ms:.2f}",
        f"{moved.p50_ms:.2f}",
        f"{plain.p50_ms:.2f}",
        f"{plain.p50_ms / own.p50_ms:.1f}" if right else "wrong",
    ]


def load_people(path: Path, rng: random.Random, *, nodes: int, edges: int) -> None:
    with Store(path) as store:
        with GraphSession(store, QueryEngine(), _OPERATOR) as session:
            session.run("CREATE INDEX FOR (p:Person) ON (p.id)")
        with store.write(_OPERATOR, op="load") as tx:
            made = [
                tx.create_node(
                    ("Person",),
                    {
                        "id": number,
                        "name": f"person {number}",
                        "age": rng.randrange(18, 90),
                        "city": f"city {rng.randrange(_CITIES)}",
                    },
                )
                for number in range(nodes)
            ]
        for first in range(0, edges, _BATCH):
            with store.write(_OPERATOR, op="load") as tx:
                pairs = (rng.sample(range(nodes), 2) for _ in range(min(_BATCH, edges - first)))
                create_edges(tx, "KNOWS", [(made[a], made[b], {}) for a, b in pairs])
