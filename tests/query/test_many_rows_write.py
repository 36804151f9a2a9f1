"""Statements that write for many rows do what they do row by row: the same rows, counters and
notifications, the same log, receipts and tables, the same error for the same row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import doxa
from doxa.base.errors import DoxaError
from doxa.query.core.comparison import group_key
from doxa.query.core.elements import LOADED_BYTES_MAX, Node
from doxa.query.core.graph import Graph
from doxa.query.exec import merging, setting, update_steps
from doxa.store import digest, replayed_digest, verify_log
from doxa.store.bulk import edges as bulk_edges

WORLDS, STATEMENTS = 12, 12
SECRET = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
KEYS = (0, 1, 2, 3, 4, 5, True, False, "1", "a", "b", 2**53 + 1)
ODD_KEYS = (None, 1.0, 2.5, "a\x00", [1], float("nan"), {"x": 1}, -0.0)
VALUES = (
    *(None, 1, 1, 2, 2.5, "a", "b", "ä", True, [1, 2], [1, 2.5], ["x"], -0.0),
    *(SECRET, f"the key {SECRET}"),
)
BAD_VALUES = ([1, "x"], {"x": 1}, [[1]], 2**63 - 1)
SCHEMA = (
    "CREATE INDEX FOR (n:A) ON (n.id)",
    "CREATE INDEX FOR (n:A) ON (n.id, n.x)",
    "CREATE INDEX FOR (n:B) ON (n.x)",
    "CREATE TEXT INDEX FOR (n:A) ON (n.y)",
    "CREATE FULLTEXT INDEX f FOR (n:A|B) ON EACH [n.x, n.y]",
    "CREATE CONSTRAINT FOR (n:A) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT FOR (n:B) REQUIRE n.x IS NOT NULL",
    "CREATE CONSTRAINT FOR (n:A) REQUIRE n.y IS :: STRING",
    "CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.w IS NOT NULL",
    "CREATE INDEX FOR ()-[r:S]-() ON (r.w)",
    "CREATE DECAY PROFILE d OPTIONS {decayEnabled: true, halfLifeSeconds: 60, function:"
    " 'exponential'}",
)
FADING = "CREATE DECAY PROFILE b FOR (n:B) APPLY { DECAY PROFILE 'd' }"
STATEMENTS_OF_ROWS = (
    "CREATE (n:A {id: r.id, x: r.x, y: r.y})",
    "CREATE (n:A:B) SET n = r",
    "CREATE (:B {x: r.x, project: r.y}) RETURN count(*) AS c",
    "CREATE (n:A {id: r.id}) RETURN n.id AS id, n AS n, labels(n) AS l",
    "CREATE (n {x: r.x + 1})",
    "CREATE (n:A $map)",
    "CREATE (n:A {id: r.id})-[:R {w: r.x}]->(:B {x: r.x})",
    "CREATE (:Fact {x: r.x})",
    "CREATE (:A {kref: r.y, id: r.id})",
    "MERGE (n:A {id: r.id})",
    "MERGE (n:A {id: r.id}) RETURN n.id AS id, n.x AS x",
    "MERGE (n:A {id: r.id, x: r.x}) RETURN id(n) AS i",
    "MERGE (:A {x: r.x})",
    "MERGE (n:A:B {id: r.id}) SET n.x = r.x, n.y = r.y RETURN n AS n",
    "MERGE (n:A {id: r.id}) SET n += r",
    "MERGE (n:A {id: r.id}) ON CREATE SET n.x = r.x, n.made = true ON MATCH SET n.x = 1",
    "MERGE (n:A {id: r.id}) ON MATCH SET n.c = coalesce(n.c, 0) + 1 ON CREATE SET n.c = 0",
    "MERGE (n:A {id: r.id}) ON MATCH SET n.id = r.x",
    "MERGE (n:A {id: r.id}) ON CREATE SET n.c = count { (m:A) }",
    "MERGE (n:A {id: r.id}) ON CREATE SET n:B ON MATCH SET n += r",
    "MERGE (n:B {x: toString(r.x)})",
    "MATCH (n:A {id: r.id}) SET n.x = r.x",
    "MATCH (n:A {id: r.id}) SET n.x = r.x, n.y = n.x, n.z = r.y RETURN n AS n",
    "MATCH (n:A) SET n.c = coalesce(n.c, 0) + 1",
    "MATCH (n:A), (m:B) SET n.x = m.x",
    "MATCH (n:A), (m:A) SET n.x = m.x, n.y = r.y",
    "MATCH (n:A) SET n = {id: n.id, x: r.x}",
    "OPTIONAL MATCH (n:B {x: r.x}) SET n.y = r.y, n.x = null",
    "MATCH (n) SET n.x = r.x",
    "MATCH (n:A)-[e:R]->(m) SET e.w = r.x, m.x = r.y",
    "WITH {n: r.x, o: [r.y]} AS m MATCH (n:A) SET n.x = m.n, n.y = m.o",
    "MATCH (k:B) WITH r, {k: k} AS m MATCH (n:B) SET n.x = m.k.x",
    "MATCH (n:A {id: r.id}) DETACH DELETE n",
    "MATCH (n:A {id: r.id}), (m:A {id: r.x}) CREATE (n)-[:R {w: r.y}]->(m)",
    "MATCH (n:A {id: r.id}), (m:A) CREATE (n)-[:S {w: r.y}]->(m) RETURN count(*) AS c",
    "OPTIONAL MATCH (n:A {id: r.id}) CREATE (n)-[e:T {w: r.x}]->(n) RETURN e AS e",
    "MATCH (n:A {id: r.id}) MERGE (n)-[:T]->(n)",
    "CALL { WITH r MERGE (n:A {id: r.id}) SET n.x = r.x RETURN n.x AS x } RETURN x",
    "FOREACH (i IN [r.id, r.x] | MERGE (:B {x: i}))",
    "MERGE (n:Missing {id: r.id}) RETURN n.id AS id",
)
TABLES = (
    "SELECT id, labels, json(props), project, since = born FROM node ORDER BY id",
    "SELECT label, node FROM node_label ORDER BY label, node",
    "SELECT id, labels, json(props), project FROM node_past ORDER BY id, since",
    "SELECT id, type, src, dst, json(props), project FROM edge ORDER BY id",
    "SELECT id, type, src, dst, json(props) FROM edge_past ORDER BY id, since",
    "SELECT idx, key, element FROM entry ORDER BY idx, key, element",
    "SELECT idx, key, element FROM entry_past EXCEPT SELECT idx, key, element FROM entry"
    " ORDER BY 1, 2, 3",
    "SELECT l.seq, l.tx, l.op, l.element, p.payload FROM log l JOIN log_payload p ON"
    " p.seq = l.seq WHERE l.op <> 'catalogue.set' ORDER BY l.seq",
    "SELECT tx, actor, role, op, note, first_seq, last_seq, last_node, last_edge FROM receipt",
)


def singly(self: Any, rows: Any, run: Any, *, returned: bool = True) -> Iterator[Any]:
    return (self.make(row, run) for row in rows)


@contextmanager
def row_by_row() -> Iterator[None]:
    """Without the ways for many rows."""
    never = 10**9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update_steps.PatternMaker, "make_nodes", singly)
        patch.setattr(update_steps.PatternMaker, "make_edges", singly)
        patch.setattr(merging, "_LEAST", never)
        patch.setattr(setting, "_LEAST", never)
        patch.setattr(bulk_edges, "_LEAST", never)
        yield


def rows_of(rng: Random) -> list[dict[str, Any]]:
    keys = KEYS if rng.random() < 0.6 else (*KEYS, *rng.sample(ODD_KEYS, 2))
    values = VALUES if rng.random() < 0.85 else (*VALUES, rng.choice(BAD_VALUES))
    few = rng.random() < 0.2
    return [
        {"id": rng.choice(keys), "x": rng.choice(values), "y": rng.choice(("a", "b", None, "c"))}
        for _ in range(rng.randrange(7) if few else rng.randrange(8, 60))
    ]


def plain(value: Any) -> Any:
    """A value with its type, and of an element all that it has."""
    if type(value).__name__ in ("Node", "Edge"):
        return repr(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return type(value).__name__, repr(value) if isinstance(value, float) else group_key(value)


def told(session: Any, text: str, params: dict[str, Any]) -> Any:
    """What a statement answers, or its error."""
    try:
        with session.run(text, params) as result:
            rows = [[plain(value) for value in row] for row in result]
            return rows, result.counters, [note.code for note in result.notices()]
    except DoxaError as error:
        return type(error).__name__, str(error), getattr(error, "detail", None)


def tables(memory: doxa.Memory) -> list[Any]:
    with memory.store.read() as reader:
        return [list(reader.rows(sql)) for sql in TABLES]


def world(rng: Random, memories: list[doxa.Memory]) -> list[tuple[str, list[dict[str, Any]]]]:
    schema = [text for text in SCHEMA if rng.random() < 0.35]
    if SCHEMA[-1] in schema:
        schema.append(FADING)
    for memory in memories:
        for text in schema:
            memory.run(text)
    return [(text, []) for text in schema]


def _compare(
    rng: Random, memories: list[doxa.Memory], history: list[tuple[str, list[dict[str, Any]]]]
) -> Counter[str]:
    """Run random statements in both files, one by one or in a transaction; what was tried."""
    bound = ["p"] if rng.random() < 0.15 else None
    tried: Counter[str] = Counter()
    with ExitStack() as stack:
        sessions = [
            stack.enter_context((memory.session(projects=bound) if bound else memory).graph())
            for memory in memories
        ]
        together = rng.random() < 0.3
        for session in sessions if together else ():
            session.begin()
        for _ in range(rng.randint(1, 4)):
            rows = rows_of(rng)
            text = rng.choice(STATEMENTS_OF_ROWS)
            history.append((text, rows))
            params = {"rows": rows, "map": {"x": rng.choice(VALUES)}}
            asked = f"UNWIND $rows AS r {text}"
            at_once = told(sessions[0], asked, params)
            with row_by_row():
                one_by_one = told(sessions[1], asked, params)
            assert at_once == one_by_one, (history[-1], bound, [text for text, _ in history])
            failed = isinstance(at_once[0], str)
            tried.update(statements=1, rows=len(rows), errors=failed)
            if failed and together:
                break  # the transaction has failed
        if together:
            assert _ended(sessions[0]) == _ended(sessions[1]), history
    return tried


def _ended(session: Any) -> str:
    """How a transaction ends."""
    try:
        session.commit()
    except DoxaError as error:
        return str(error)
    return ""


def test_many_rows_write_what_single_rows_write(
    tmp_path: Path,
    seed: int,
    campaign: int,
    tally: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, tried = Random(seed), Counter[str]()
    for number in range(WORLDS * campaign):
        monkeypatch.setattr(setting, "LOADED_BYTES_MAX", rng.choice((40, 4_000_000)))
        with ExitStack() as stack:
            memories = [
                stack.enter_context(
                    doxa.open(
                        tmp_path / f"{number}{name}.db",
                        role="operator",
                        embedder=None,
                        background=False,
                    )
                )
                for name in "ab"
            ]
            history = world(rng, memories)
            for _ in range(STATEMENTS // 3):
                tried += _compare(rng, memories, history)
                one, other = map(tables, memories)
                assert one == other, history
            for memory in memories:
                verify_log(memory.store)
                assert memory.check() == [], history
                assert digest(memory.store) == replayed_digest(memory.store)
        for path in tmp_path.iterdir():
            path.unlink()
    tally(worlds=WORLDS * campaign, **tried)
    assert tried["errors"] < tried["statements"] / 2


def test_nodes_that_hold_much_are_set_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []
    load_nodes = Graph.load_nodes

    def loading(graph: Graph, nodes: Iterable[Node], *, bytes_max: int) -> Node | None:
        given = [node for node in nodes if node.epoch != graph.epoch]
        stopped = load_nodes(graph, given, bytes_max=bytes_max)
        loaded.append(
            sum([len(node._props["text"]) for node in given if node.epoch == graph.epoch])
        )
        return stopped

    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        rows = [{"id": number, "text": f"{number} " * 300_000} for number in range(20)]
        memory.run("UNWIND $rows AS r CREATE (:A {id: r.id, text: r.text})", {"rows": rows})
        monkeypatch.setattr(Graph, "load_nodes", loading)
        memory.run("MATCH (n:A) UNWIND [1, 2] AS i SET n.old = i SET n.sum = i")
        assert len(loaded) > 2
        assert max(loaded) < LOADED_BYTES_MAX + 2 * max(len(row["text"]) for row in rows)
        found = memory.run("MATCH (n:A) RETURN n.id, n.sum, n.text ORDER BY n.id")
        assert [tuple(row) for row in found] == [(row["id"], 2, row["text"]) for row in rows]


def test_a_redacted_text_is_not_found_again(tmp_path: Path) -> None:
    """A text with a secret is stored without it, so the next row does not find what it creates."""
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        rows = [{"id": f"the key {SECRET}"}] * 5 + [{"id": "plain"}] * 5
        memory.run("UNWIND $rows AS r MERGE (:A {id: r.id})", {"rows": rows})
        assert memory.run("MATCH (n:A) RETURN count(n)").single() == 6
