"""What counts as an access: whole values and properties of returned rows, in whatever form; what is
passed through counts apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.clock import FakeClock
from doxa.store import AccessRecord, IdColumns

Counts = tuple[dict[int, int], dict[int, int]]  # of nodes, of relationships
QUERIES: tuple[tuple[str, Counts, Counts], ...] = (  # text, returned, passed through
    ("MATCH (n:P {i: 1}) RETURN n", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN n.t", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN n {.t}", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN properties(n)", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN [n.t, 1] AS x", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN {a: n.t} AS x", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN {a: {b: [n]}} AS x", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN [x IN n.l | x] AS l", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN [(n)-->(m) | m] AS l", ({2: 1}, {}), ({1: 1}, {})),
    ("MATCH (n:P) RETURN n.t ORDER BY n.i DESC LIMIT 2", ({4: 1, 5: 1}, {}), ({}, {})),
    ("MATCH (n:P) RETURN n.t ORDER BY n.i SKIP 3 LIMIT 1", ({4: 1}, {}), ({}, {})),
    ("MATCH (n:P) RETURN DISTINCT n.t AS t ORDER BY t LIMIT 2", ({1: 1, 2: 1}, {}), ({}, {})),
    ("MATCH (n:P) RETURN count(n)", ({}, {}), ({}, {})),
    ("MATCH (n:P) RETURN n.i % 2 AS k, count(*) AS c", ({}, {}), ({}, {})),
    (
        "MATCH (n:P) RETURN n.i % 2 AS k, collect(n.t) AS c",
        (dict.fromkeys(range(1, 6), 1), {}),
        ({}, {}),
    ),
    ("MATCH (n:P) WHERE n.i < 3 RETURN collect(n)", ({1: 1, 2: 1}, {}), ({}, {})),
    ("MATCH (n:P) WHERE n.i < 3 RETURN collect(n.t) AS x", ({1: 1, 2: 1}, {}), ({}, {})),
    ("MATCH (n:P) WHERE n.i < 3 WITH n.t AS t RETURN t", ({1: 1, 2: 1}, {}), ({}, {})),
    ("MATCH (n:P) WHERE n.i < 3 WITH n.t AS t WHERE t = 't2' RETURN t", ({2: 1}, {}), ({}, {})),
    (
        "MATCH (n:P) WHERE n.i < 3 WITH n.t AS t WITH t AS u, 1 AS one RETURN u + one",
        ({1: 1, 2: 1}, {}),
        ({}, {}),
    ),
    ("MATCH (n:P {i: 1}) WITH collect(n.t) AS ts UNWIND ts AS t RETURN t", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) WITH *, n.t AS u RETURN u", ({1: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN *", ({1: 1}, {}), ({}, {})),
    ("MATCH (n)-[r]->(m) WHERE n.i = 1 RETURN m.t", ({2: 1}, {}), ({1: 1}, {1: 1})),
    ("MATCH (n:P)-[:K]->(m) WHERE n.i = 1 RETURN m", ({2: 1}, {}), ({1: 1}, {1: 1})),
    ("MATCH (n:P)-[r:K]->(m) WHERE n.i = 1 RETURN r.w", ({}, {1: 1}), ({1: 1, 2: 1}, {})),
    (
        "MATCH (:P {i: 1})-[:K]->()-[:K]->(m) RETURN m.t",
        ({3: 1}, {}),
        ({1: 1, 2: 1}, {1: 1, 2: 1}),
    ),
    ("MATCH (:P {i: 3})<-[:K]-(m) RETURN m.t", ({2: 1}, {}), ({3: 1}, {2: 1})),
    ("MATCH (:P {i: 2})-[:K]-(m) RETURN m.t", ({1: 1, 3: 1}, {}), ({2: 1}, {1: 1, 2: 1})),
    ("MATCH (n:P {i: 1})-[:K]->(m) RETURN n.t, m.t", ({1: 1, 2: 1}, {}), ({}, {1: 1})),
    (
        "MATCH (n:P)-[r:K]->(m) WHERE n.i < 3 RETURN DISTINCT r.w, m.t",
        ({2: 1, 3: 1}, {1: 1, 2: 1}),
        ({1: 1}, {}),
    ),
    (
        "MATCH (n:P)-[:K]->(m:P)<-[:K]-(o) RETURN n.t, o.t",
        ({}, {}),
        ({}, {}),
    ),
    ("MATCH (n:P {i: 1})-[:K*2]->(m) RETURN m.t", ({3: 1}, {}), ({1: 1}, {1: 1, 2: 1})),
    ("MATCH p = (n:P {i: 1})-[*1..2]->() RETURN p", ({1: 1, 2: 1, 3: 1}, {1: 1, 2: 1}), ({}, {})),
    (
        "MATCH (a:P {i: 1}), (b:P {i: 3}) RETURN shortestPath((a)-[*]-(b)) AS p",
        ({1: 1, 2: 1, 3: 1}, {1: 1, 2: 1}),
        ({}, {}),
    ),
    ("CALL { MATCH (n:P {i: 1}) RETURN n.t AS t } RETURN t", ({1: 1}, {}), ({}, {})),
    (
        "MATCH (n:P {i: 1}) RETURN n.t AS t UNION MATCH (n:P {i: 2}) RETURN n.t AS t",
        ({1: 1, 2: 1}, {}),
        ({}, {}),
    ),
    ("MATCH (n:P {i: 1}) SET n.z = 1 RETURN n.z", ({1: 1}, {}), ({}, {})),
    ("OPTIONAL MATCH (n:P {i: 9}) RETURN n.t", ({}, {}), ({}, {})),
    ("MATCH (a:P {i: 1})-->(b) WITH b, count(*) AS c RETURN b.t, c", ({2: 1}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) RETURN decayScore(n), decay(n), policy(n), id(n)", ({}, {}), ({1: 1}, {})),
    (
        "MATCH (n:P {i: 1}) CALL doxa.policy.explain(n) YIELD visible RETURN visible",
        ({}, {}),
        ({1: 1}, {}),
    ),
    ("UNWIND [3, 4] AS x RETURN x", ({}, {}), ({}, {})),
    ("UNWIND [[3, 4]] AS x RETURN x", ({}, {}), ({}, {})),
    (
        "MATCH (x:P {i: 1}) RETURN x.t UNION UNWIND [3] AS x RETURN x AS `x.t`",
        ({1: 1}, {}),
        ({}, {}),
    ),
    ("UNWIND 5 AS y UNWIND y AS z RETURN z", ({}, {}), ({}, {})),
    ("MATCH (n:P {i: 1}) WITH n, 5 AS five RETURN n.i + five", ({1: 1}, {}), ({}, {})),
    (
        "CALL db.index.fulltext.queryNodes('ft', 't3') YIELD node RETURN node.t",
        ({3: 1}, {}),
        ({}, {}),
    ),
    ("MATCH (n:Other) RETURN n", ({}, {}), ({}, {})),
    ("EXPLAIN MATCH (n:P) RETURN n", ({}, {}), ({}, {})),
    ("AS OF SYSTEM TIME datetime() MATCH (n:P {i: 1}) RETURN n", ({}, {}), ({}, {})),
    ("MATCH (n:H) RETURN reveal(n).t", ({}, {}), ({}, {})),
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=FakeClock(10**18)
    ) as made:
        made.run("CREATE FULLTEXT INDEX ft FOR (n:P) ON EACH [n.t]")
        made.run("UNWIND range(1, 5) AS i CREATE (:P {i: i, t: 't' + i, l: [i]})")
        made.run("MATCH (a:P), (b:P) WHERE b.i = a.i + 1 CREATE (a)-[:K {w: a.i}]->(b)")
        made.run("CREATE (:Other), (:H {t: 'hidden'})")
        made.run("MATCH (h:H) CALL doxa.policy.suppress(h) YIELD id RETURN id")
        made.run(
            "CREATE DECAY PROFILE a FOR (n:P) APPLY { NO DECAY } CREATE DECAY PROFILE b FOR"
            " ()-[r:K]-() APPLY { NO DECAY } CREATE DECAY PROFILE h FOR (n:H) APPLY { NO DECAY }"
        )
        yield made
        assert made.check() == []
        made.verify()


def counted(memory: doxa.Memory) -> tuple[Counts, Counts]:
    """Accesses and traversals so far, without adding any."""
    memory.flush()
    found: tuple[Counts, Counts] = ({}, {}), ({}, {})
    with memory.store.read() as reader:
        for edge, element, data in reader.rows("SELECT edge, element, json(data) FROM access"):
            held = doxa_access(data)
            for kind, count in enumerate((held.count, held.walks)):
                if count:
                    found[kind][edge][element] = count
    return found


def doxa_access(data: str) -> Any:
    from doxa.store.visibility.access import decode_access

    return decode_access(data)


@pytest.mark.parametrize(
    ("text", "returned", "walked"), QUERIES, ids=[text for text, _, _ in QUERIES]
)
def test_what_counts(memory: doxa.Memory, text: str, returned: Counts, walked: Counts) -> None:
    list(memory.run(text))
    assert counted(memory) == (returned, walked)


def test_each_query_counts_once(memory: doxa.Memory) -> None:
    for _ in range(3):
        memory.run("UNWIND [1, 2, 3] AS x MATCH (n:P {i: 1}) RETURN n, n.t, x")
    assert counted(memory) == (({1: 3}, {}), ({}, {}))


def test_only_rows_that_are_taken_count(memory: doxa.Memory) -> None:
    with memory.graph() as graph:
        rows = graph.run("MATCH (n:P) RETURN n.t ORDER BY n.i")
        next(rows)
        next(rows)
        rows.close()
    assert counted(memory) == (({1: 1, 2: 1}, {}), ({}, {}))


def test_reads_in_a_transaction_count_whatever_becomes_of_it(memory: doxa.Memory) -> None:
    with memory.graph() as graph:
        graph.begin()
        list(graph.run("MATCH (n:P {i: 1}) RETURN n"))
        list(graph.run("CREATE (n:P {i: 99}) RETURN n"))
        graph.rollback()
    assert counted(memory) == (({1: 1}, {}), ({}, {}))


def test_the_ends_of_an_edge_count_whatever_becomes_of_the_edge(memory: doxa.Memory) -> None:
    """Their ids are looked up by the edge when the accesses are written."""
    text = "MATCH (:P {i: 1})-[:K]->(m) RETURN m.t"
    list(memory.run(text))
    memory.run("MATCH (:P {i: 1})-[r:K]->() DELETE r")
    assert counted(memory) == (({2: 1}, {}), ({1: 1}, {}))
    memory.run("MATCH (a:P {i: 1}), (b:P {i: 2}) CREATE (a)-[:K]->(b), (a)-[:K]->(a)")
    list(memory.run(text))
    assert counted(memory)[0][0] == {1: 1, 2: 2}  # a loop has the same end twice
    with memory.graph() as graph:
        graph.begin()
        graph.run("MATCH (a:P {i: 1}), (b:P {i: 5}) CREATE (a)-[:K]->(b)")
        assert len(list(graph.run(text))) == 3
        graph.rollback()
    assert counted(memory)[0][0] == {1: 2, 2: 3, 5: 1}


def test_of_many_rows_each_end_counts_once(memory: doxa.Memory) -> None:
    memory.run(
        "MATCH (a:P {i: 1}), (b:P {i: 2}) UNWIND range(1, 400) AS i CREATE (a)-[:K {w: i}]->(b)"
    )
    text = "MATCH (:P {i: 1})-[:K]->(m)<-[:K]-(o) RETURN m.t, o.t"
    assert len(list(memory.run(text))) == 401 * 400
    returned, walked = counted(memory)
    assert returned == ({1: 1, 2: 1}, {})
    assert walked[0] == {} and set(walked[1].values()) == {1}


def test_recall_and_get_count(tmp_path: Path) -> None:
    with doxa.open(
        tmp_path / "b.db", role="operator", embedder=None, background=False, decay_enabled=True
    ) as memory:
        memory.ingest(
            [
                {"speaker": "Ann", "text": "The tea house opens at nine"},
                {"speaker": "Ben", "text": "Coffee only"},
            ],
            thread="t",
        )
        hit = memory.recall("tea house").hits[0]
        memory.get(hit.kref)
        memory.recent(limit=1)
        rows = memory.run(
            "CALL doxa.recall('tea house') YIELD kref, node RETURN kref, node"
        ).records()
        assert rows
        memory.recall("tea house", as_of="2001-01-01")
        memory.flush()
        found = memory.run(
            "MATCH (x:Exchange {kref: $k}) RETURN policy(x).accessCount AS c", {"k": hit.kref}
        ).single()
        assert found == 3 + (memory.recent(limit=1)[0].kref == hit.kref)


def test_the_size_of_a_record_counts_all_groups_and_columns() -> None:
    columns = ((IdColumns((0,), (1,), ()), ((4, 5), (6, 7))),)
    assert AccessRecord(1, {}, ((1, 2),), ((3,), (8, 9)), columns).size == 9
    assert AccessRecord(1, {}).size == 0
