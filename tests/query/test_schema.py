"""Indexes and constraints in Cypher: declared, obeyed, shown, dropped, checked, replayed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import ConstraintError, RoleError
from doxa.cypher.errors import QueryError
from doxa.query.core.comparison import order_key
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check
from doxa.store.indexing.keys import key_of
from tests.query.test_sql_agrees import VALUES


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "graph.db") as made:
        yield made
        assert check(made) == []


@pytest.fixture
def session(store: Store) -> Iterator[GraphSession]:
    with GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made:
        yield made


def refused(session: GraphSession, text: str, **params: Any) -> ConstraintError:
    """The statement breaks a constraint and leaves nothing."""
    before = session.run("MATCH (n) RETURN count(n)").single()
    with pytest.raises(ConstraintError) as caught:
        session.run(text, params)
    assert session.run("MATCH (n) RETURN count(n)").single() == before
    return caught.value


def test_unique(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT one FOR (a:A) REQUIRE a.x IS UNIQUE")
    session.run("CREATE (:A {x: 1}), (:A {x: 'a'}), (:A), (:A), (:B {x: 1})")
    assert refused(session, "CREATE (:A {x: 1.0})").fields["constraint"] == "one"
    refused(session, "MATCH (b:B) SET b:A")
    refused(session, "MATCH (a:A {x: 'a'}) SET a.x = 1")
    session.run(
        "MATCH (a:A) WHERE a.x IN [1, 'a'] SET a.x = CASE a.x WHEN 1 THEN 'a' ELSE 1 END"
    )  # exchanged within one statement
    session.run("MATCH (a:A {x: 1}) DETACH DELETE a CREATE (:A {x: 1})")


def test_unique_over_several_properties(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT FOR (a:A) REQUIRE (a.x, a.y) IS UNIQUE")
    session.run("CREATE (:A {x: 1, y: 1}), (:A {x: 1, y: 2}), (:A {x: 1}), (:A {x: 1})")
    refused(session, "CREATE (:A {x: 1, y: 2})")


def test_node_key_and_not_null(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT k FOR (a:A) REQUIRE (a.x, a.y) IS NODE KEY")
    session.run("CREATE CONSTRAINT n FOR ()-[r:R]-() REQUIRE r.w IS NOT NULL")
    refused(session, "CREATE (:A {x: 1})")
    session.run("CREATE (a:A {x: 1}) SET a.y = 2")  # whole at the end of the statement
    refused(session, "MATCH (a:A) REMOVE a.y")
    refused(session, "CREATE (:B)-[:R]->(:B)")
    session.run("CREATE (:B)-[:R {w: 0}]->(:B)")
    refused(session, "MATCH ()-[r:R]->() SET r.w = null")


def test_types_and_values(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT FOR (a:A) REQUIRE a.x IS :: INTEGER | STRING")
    session.run("CREATE CONSTRAINT FOR (a:A) REQUIRE a.y IS TYPED LIST<INTEGER NOT NULL>")
    session.run("CREATE CONSTRAINT FOR (a:A) REQUIRE a.z IN ['red', 'green', 3]")
    session.run("CREATE (:A {x: 1, y: [1, 2], z: 'red'}), (:A {x: 'a', z: 3}), (:A)")
    refused(session, "CREATE (:A {x: 1.5})")
    refused(session, "CREATE (:A {y: ['a']})")
    refused(session, "CREATE (:A {z: 'blue'})")
    refused(session, "CREATE (:A {z: '3'})")


def test_cardinality_and_endpoints(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT FOR ()-[r:OWNS]->() REQUIRE MAX COUNT 2")
    session.run("CREATE CONSTRAINT FOR ()<-[r:BOSS]-() REQUIRE MAX COUNT 1")
    session.run("CREATE CONSTRAINT FOR (:A)-[r:OWNS]->(:B) REQUIRE ALLOWED")
    session.run("CREATE CONSTRAINT FOR (:A)-[r:LIKES]->(:A) REQUIRE DISALLOWED")
    session.run("CREATE (a:A {n: 1}), (:B)<-[:OWNS]-(a)-[:OWNS]->(:B)")
    refused(session, "MATCH (a:A) CREATE (a)-[:OWNS]->(:B)")
    refused(session, "CREATE (:A)-[:OWNS]->(:C)")
    refused(session, "MATCH (b:B) REMOVE b:B")
    refused(session, "CREATE (:A)-[:LIKES]->(:A)")
    session.run("CREATE (:A)-[:LIKES]->(:B)")
    refused(session, "CREATE (a)-[:BOSS]->(b)<-[:BOSS]-(c)")


def test_temporal(session: GraphSession) -> None:
    session.run(
        "CREATE CONSTRAINT t FOR (v:V) REQUIRE (v.key, v.from, v.to) IS TEMPORAL NO OVERLAP"
    )
    session.run(
        "CREATE (:V {key: 'a', from: date('2024-01-01'), to: date('2024-02-01')}), (:V {key: 'a',"
        " from: date('2024-02-01')})"
    )
    session.run("CREATE (:V {key: 'b', from: date('2024-01-15')})")
    refused(session, "CREATE (:V {key: 'a', from: date('2024-01-15'), to: date('2024-01-16')})")
    refused(session, "CREATE (:V {key: 'a', from: date('2023-01-15'), to: date('2024-01-02')})")
    refused(session, "CREATE (:V {key: 'a', from: date('2025-01-15')})")
    refused(session, "CREATE (:V {key: 'a', from: date('2020-01-02'), to: date('2020-01-01')})")
    refused(session, "CREATE (:V {key: 'a', from: date('2020-01-02'), to: date('2020-01-02')})")
    refused(session, "CREATE (:V {key: 'a'})")
    session.run("CREATE (:V {key: 'a', from: date('2023-01-15'), to: date('2024-01-01')})")
    refused(
        session,
        "MATCH (v:V {key: 'a'}) WHERE v.from = date('2023-01-15') SET v.to = date('2024-01-02')",
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 12), st.none() | st.integers(0, 12)),
        max_size=12,
    )
)
def test_windows_never_overlap_whatever_the_order(
    tmp_path_factory: pytest.TempPathFactory, windows: list[tuple[int, int, int | None]]
) -> None:
    """Against a model that compares every pair."""
    kept: list[tuple[int, int, int | None]] = []
    with (
        Store(tmp_path_factory.mktemp("windows") / "g.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as session,
    ):
        session.run(
            "CREATE CONSTRAINT t FOR (v:V) REQUIRE (v.key, v.from, v.to) IS TEMPORAL NO OVERLAP"
        )
        for key, start, end in windows:
            fits = (end is None or start < end) and not any(
                key == k and (end is None or s < end) and (e is None or start < e)
                for k, s, e in kept
            )
            try:
                session.run(
                    "CREATE (:V {key: $k, from: $s, to: $e})", {"k": key, "s": start, "e": end}
                )
                assert fits
                kept.append((key, start, end))
            except ConstraintError:
                assert not fits
        assert check(store) == []


def test_a_rule_that_the_data_breaks_is_not_made(session: GraphSession) -> None:
    session.run("CREATE (:A {x: 1}), (:A {x: 1})")
    for text in (
        "a.x IS UNIQUE",
        "a.y IS NOT NULL",
        "a.x IS :: STRING",
        "(a.x, a.x, a.y) IS TEMPORAL NO OVERLAP",
    ):
        with pytest.raises(ConstraintError):
            session.run(f"CREATE CONSTRAINT FOR (a:A) REQUIRE {text}")
    assert session.run("SHOW CONSTRAINTS").records() == []
    assert session.run("SHOW INDEXES").records() == []


def test_declared_shown_and_dropped(session: GraphSession) -> None:
    assert (
        session.run("CREATE INDEX byx IF NOT EXISTS FOR (a:A) ON (a.x)").counters["indexes_added"]
        == 1
    )
    session.run("CREATE INDEX byx IF NOT EXISTS FOR (a:A) ON (a.x)")
    session.run("CREATE INDEX other IF NOT EXISTS FOR (a:A) ON (a.x)")
    session.run("CREATE CONSTRAINT u FOR (a:A) REQUIRE a.y IS UNIQUE")
    for text, detail in (
        ("CREATE INDEX byx FOR (a:A) ON (a.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE INDEX byx FOR (b:B) ON (b.x)", "IndexWithNameAlreadyExists"),
        ("CREATE INDEX FOR (a:A) ON (a.x)", "IndexAlreadyExists"),
        ("CREATE CONSTRAINT u FOR (b:B) REQUIRE b.x IS UNIQUE", "ConstraintWithNameAlreadyExists"),
    ):
        with pytest.raises(QueryError) as caught:
            session.run(text)
        assert caught.value.detail == detail
    assert [row["name"] for row in session.run("SHOW INDEXES").records()] == ["byx", "u"]
    assert session.run(
        "SHOW INDEXES YIELD name, owningConstraint WHERE owningConstraint IS NOT NULL"
    ).records() == [{"name": "u", "owningConstraint": "u"}]
    assert session.run(
        "SHOW CONSTRAINTS YIELD name, type RETURN name + type AS both"
    ).records() == [{"both": "uUNIQUENESS"}]
    with pytest.raises(QueryError):
        session.run("DROP INDEX u")
    with pytest.raises(QueryError):
        session.run("DROP INDEX nothing")
    session.run("DROP INDEX nothing IF EXISTS")
    session.run("DROP CONSTRAINT u")
    session.run("DROP INDEX byx")
    assert session.run("SHOW INDEXES").records() == []


@pytest.mark.parametrize("what", ["FUNCTIONS", "PROCEDURES", "DATABASES", "SETTINGS"])
def test_shows(session: GraphSession, what: str) -> None:
    assert session.run(f"SHOW {what}").records()
    assert session.run(f"SHOW {what} YIELD name ORDER BY name LIMIT 1").records()[0].keys() == {
        "name"
    }


def test_agents_do_not_change_the_schema(store: Store) -> None:
    with (
        GraphSession(store, QueryEngine(), Identity("agent", "agent")) as session,
        pytest.raises(RoleError),
    ):
        session.run("CREATE INDEX FOR (a:A) ON (a.x)")


def test_entries_follow_every_write(session: GraphSession, store: Store) -> None:
    session.run("CREATE INDEX FOR (a:A) ON (a.x)")
    session.run("CREATE INDEX FOR (a:A) ON (a.x, a.y)")
    session.run("CREATE INDEX FOR ()-[r:R]-() ON (r.w)")
    session.run("UNWIND range(1, 20) AS i CREATE (:A {x: i, y: -i})-[:R {w: i}]->(:B {x: i})")
    session.run("MATCH (a:A) WHERE a.x < 5 SET a.x = a.x + 0.5")
    session.run("MATCH (b:B) WHERE b.x > 15 SET b:A, b.y = 'text'")
    session.run("MATCH (a:A) WHERE a.x = 7 REMOVE a:A")
    session.run("MATCH ()-[r:R]->() WHERE r.w = 3 SET r.w = [1, 2]")
    session.run("MATCH ()-[r:R]->() WHERE r.w = 4 DELETE r")
    session.run("MATCH (a:A) WHERE a.x = 9 DETACH DELETE a")
    assert check(store) == []


@given(st.sampled_from(VALUES), st.sampled_from(VALUES))
def test_keys_order_as_values_do(one: Any, other: Any) -> None:
    keys = [key_of([one]), key_of([other])]
    assert keys[0] is not None
    assert keys[1] is not None
    assert (keys[0] < keys[1]) == (order_key(one) < order_key(other))
    assert (keys[0] == keys[1]) == (order_key(one) == order_key(other))


def test_names_and_options_may_be_parameters(session: GraphSession) -> None:
    options = (
        "OPTIONS {indexConfig: {`vector.dimensions`: toInteger($size),"
        " `vector.similarity_function`: $way}}"
    )
    given = {"name": "by meaning", "size": 3.0, "way": "cosine"}
    for _ in range(2):
        session.run(
            f"CREATE VECTOR INDEX $name IF NOT EXISTS FOR (n:Doc) ON n.vector {options}", given
        )
    session.run("CREATE CONSTRAINT $name FOR (n:Doc) REQUIRE n.x IS UNIQUE", {"name": "one x"})
    assert {row["name"] for row in session.run("SHOW INDEXES").records()} >= {"by meaning", "one x"}
    for text, params in (
        ("DROP INDEX $name", {}),
        ("DROP INDEX $name", {"name": 1}),
        ("CREATE INDEX $name FOR (n:Doc) ON (n.y)", {"name": ""}),
        (
            (
                "CREATE VECTOR INDEX other FOR (n:Doc) ON n.other OPTIONS {indexConfig:"
                " {`vector.dimensions`: n.x}}"
            ),
            {},
        ),
    ):
        with pytest.raises(QueryError):
            session.run(text, params)
    session.run("DROP INDEX $name", {"name": "by meaning"})
    session.run("DROP CONSTRAINT $name IF EXISTS", {"name": "one x"})
    assert not {row["name"] for row in session.run("SHOW INDEXES").records()} & {
        "by meaning",
        "one x",
    }


def test_vectors_are_set_by_procedures(session: GraphSession) -> None:
    session.run("CREATE (:Doc {x: 1})-[:NEXT]->(:Doc {x: 2})")
    session.run(
        "MATCH (n:Doc) CALL db.create.setNodeVectorProperty(n, 'vector', [n.x, 0]) RETURN n"
    ).records()
    session.run(
        "MATCH ()-[r:NEXT]->() CALL db.create.setRelationshipVectorProperty(r, 'vector', $v)",
        {"v": [1.5, 2]},
    )
    rows = session.run(
        "MATCH (n:Doc)-[r:NEXT]->(m) RETURN n.vector AS n, r.vector AS r, m.vector AS m"
    ).records()
    assert rows == [{"n": [1.0, 0.0], "r": [1.5, 2.0], "m": [2.0, 0.0]}]
    for vector in ([], ["a"], [float("nan")], [None]):
        with pytest.raises(QueryError):
            session.run(
                "MATCH (n:Doc) CALL db.create.setNodeVectorProperty(n, 'vector', $v)", {"v": vector}
            )
    with pytest.raises(QueryError):
        session.run("CALL db.create.setNodeVectorProperty(1, 'vector', [1])")
    assert session.run(
        "OPTIONAL MATCH (n:None) CALL db.create.setNodeVectorProperty(n, 'vector', [1]) RETURN n"
    ).records() == [{"n": None}]


def test_labels_may_be_known_only_when_it_runs(session: GraphSession) -> None:
    session.run("CREATE (:A {kind: 'B'})")
    session.run("MATCH (n:A) SET n:$(n.kind):C:$($more)", {"more": ["D", "E"]})
    assert session.run("MATCH (n) RETURN labels(n)").single() == ["A", "B", "C", "D", "E"]
    session.run("MATCH (n:A) REMOVE n:$($gone), n:C", {"gone": ["A", "E"]})
    assert session.run("MATCH (n) RETURN labels(n)").single() == ["B", "D"]
    for bad in (1, None, [""], ["A", 2]):
        with pytest.raises(QueryError):
            session.run("MATCH (n) SET n:$($labels)", {"labels": bad})
    for change in (
        "SET n:$(missing)",
        "SET n:$()",
        "SET n:A|$('B')",
        "SET n[n:$('B')] = 1",
        "WITH n WHERE n:$('A') RETURN n",
    ):
        with pytest.raises(QueryError):
            session.run(f"MATCH (n) {change}")


def _with_a_past(session: GraphSession) -> int:
    session.run("CREATE INDEX FOR (n:A) ON (n.x)")
    session.run("CREATE INDEX FOR ()-[r:R]-() ON (r.y)")
    session.run("CREATE (a:A {x: 1})-[:R {y: 1}]->(b:A {x: 2}), (:B {x: 1})")
    moment = time.time_ns()
    session.run("MATCH (a:A {x: 1})-[r:R]->() SET a.x = 3, r.y = 2")
    session.run("MATCH (a:A {x: 2}) REMOVE a:A")
    session.run("MATCH (b:B) SET b:A SET b.x = 7 SET b.x = 8")
    session.run("MATCH (a:A {x: 3}) DETACH DELETE a")
    return moment


def _then(session: GraphSession, moment: int) -> list[Any]:
    reads = (
        "MATCH (a:A {x: 1}) RETURN count(*)",
        "MATCH (a:A) WHERE a.x > 1 RETURN count(*)",
        "MATCH ()-[r:R {y: 1}]->() RETURN count(*)",
        "MATCH (a:A {x: 3}) RETURN count(*)",
        "MATCH (a:A {x: 7}) RETURN count(*)",
    )
    return [session.run(f"AS OF SYSTEM TIME {moment} {read}").single() for read in reads]


def test_indexes_lead_to_what_was(store: Store, session: GraphSession) -> None:
    moment = _with_a_past(session)
    assert _then(session, moment) == [1, 1, 1, 0, 0]
    described = session.run(
        f"EXPLAIN AS OF SYSTEM TIME {moment} MATCH (a:A {{x: 1}}) RETURN a.x"
    ).description()
    assert described is not None and "entry_past" in "\n".join(described.lines())
    assert check(store) == []


def test_an_index_made_later_leads_there_too(store: Store, session: GraphSession) -> None:
    moment = _with_a_past(session)
    for record in session.run("SHOW INDEXES YIELD name RETURN name").records():
        session.run("DROP INDEX $name", record)
    assert _then(session, moment) == [1, 1, 1, 0, 0]
    session.run("CREATE INDEX FOR (n:A) ON (n.x)")
    assert _then(session, moment) == [1, 1, 1, 0, 0]
    assert check(store) == []


def test_an_older_file_learns_of_its_past(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "old.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as session,
    ):
        moment = _with_a_past(session)
    with closing(apsw.Connection(str(tmp_path / "old.db"))) as db:  # as the version before left it
        db.execute(
            "DROP TABLE entry_past; DROP INDEX node_past_until; DROP INDEX edge_past_until; PRAGMA"
            " user_version = 2"
        )
        db.execute("DELETE FROM migration WHERE name = '0003-past-entries'")
    with (
        Store(tmp_path / "old.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as session,
    ):
        assert check(store) == []
        assert _then(session, moment) == [1, 1, 1, 0, 0]


def test_erasing_reaches_the_keys_of_the_past(store: Store, session: GraphSession) -> None:
    moment = _with_a_past(session)
    with store.write(Identity("tester", "operator"), op="erase") as tx:
        tx.erase([row[0] for row in tx.rows("SELECT id FROM node UNION SELECT id FROM node_past")])
    with store.read() as snapshot:
        assert snapshot.rows("SELECT count(*) FROM entry_past") == [(0,)]
    assert _then(session, moment) == [0, 0, 0, 0, 0]
    assert check(store) == []


def test_check_finds_keys_of_the_past_that_are_wrong(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "broken.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as session,
    ):
        _with_a_past(session)
        with closing(apsw.Connection(str(tmp_path / "broken.db"))) as db:
            db.execute("DELETE FROM entry_past WHERE element = 1")
        assert any("does not say what" in str(problem) for problem in check(store))


BAD_OPTIONS = (
    ("INDEX", "{indexconfig: {}}"),
    ("INDEX", "{indexConfig: {`vector.dimensions`: 3}}"),
    ("INDEX", "{indexProvider: 'vector-2.0'}"),
    ("INDEX", "{indexProvider: 1}"),
    ("INDEX", "[1]"),
    ("INDEX", "{indexConfig: 'x'}"),
    ("TEXT INDEX", "{indexConfig: {x: 1}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimension`: 3}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimensions`: 0}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimensions`: 4097}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimensions`: 3.5}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimensions`: '3'}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.dimensions`: true}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.similarity_function`: 'dot'}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.similarity_function`: 1}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.quantization.enabled`: 'yes'}}"),
    ("VECTOR INDEX", "{indexConfig: {`vector.hnsw.m`: 0}}"),
    ("FULLTEXT INDEX", "{indexConfig: {`fulltext.analyzer`: 'german'}}"),
    ("FULLTEXT INDEX", "{indexConfig: {`fulltext.analyzer`: null}}"),
    ("POINT INDEX", "{indexConfig: {`spatial.cartesian.min`: 1}}"),
)


@pytest.mark.parametrize(("kind", "options"), BAD_OPTIONS)
def test_options_are_obeyed_or_refused(session: GraphSession, kind: str, options: str) -> None:
    on = "ON EACH [n.x]" if kind.startswith("FULLTEXT") else "ON (n.x)"
    with pytest.raises(QueryError) as caught:
        session.run(f"CREATE {kind} i FOR (n:A) {on} OPTIONS {options}")
    assert caught.value.next_step
    assert session.run("SHOW INDEXES").records() == []


def test_options_that_are_known(session: GraphSession) -> None:
    config = (
        "{`vector.dimensions`: 4096, `vector.similarity_function`: 'COSINE',"
        " `vector.quantization.enabled`: true, `vector.hnsw.m`: 16, `vector.hnsw.ef_construction`:"
        " 100}"
    )
    session.run(
        "CREATE VECTOR INDEX a FOR (n:A) ON (n.v) OPTIONS {indexProvider: 'vector-2.0',"
        f" indexConfig: {config}}}"
    )
    session.run("CREATE VECTOR INDEX b FOR (n:B) ON (n.v)")
    analyser = "{`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}"
    session.run(
        "CREATE FULLTEXT INDEX c FOR (n:A|B) ON EACH [n.x, n.y] OPTIONS {indexConfig:"
        f" {analyser}}}"
    )
    session.run(
        "CREATE POINT INDEX d FOR (n:A) ON (n.p) OPTIONS {indexConfig: {`spatial.cartesian.min`:"
        " [-1.0, -1]}}"
    )
    session.run(
        "CREATE CONSTRAINT e FOR (n:A) REQUIRE n.k IS UNIQUE OPTIONS {indexProvider: 'range-1.0'}"
    )
    assert [row["name"] for row in session.run("SHOW INDEXES").records()] == [
        "a",
        "b",
        "c",
        "d",
        "e",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VECTOR INDEX FOR (n:A|B) ON (n.v)",
        "CREATE VECTOR INDEX FOR (n:A) ON (n.v, n.w)",
        "CREATE INDEX FOR (n:A) ON (n.x, n.x)",
        "CREATE FULLTEXT INDEX FOR (n:A|A) ON EACH [n.x]",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x, n.y) IS :: STRING",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x, n.y) IN [1]",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IN 5",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IN [{a: 1}]",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS NOT NULL OPTIONS {}",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE OPTIONS {indexProvider: 'text-1.0'}",
        "SHOW BIG INDEXES",
        "SHOW NODE BIG CONSTRAINTS",
        "SHOW BIG FUNCTIONS",
        "SHOW BIG PROCEDURES",
        "SHOW BIG SETTINGS",
    ],
)
def test_what_would_be_passed_over_is_refused(session: GraphSession, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(text).records()
    assert caught.value.next_step


DECLARED = (
    "CREATE RANGE INDEX `a b` FOR (n:A) ON (n.x, n.`y z`)",
    "CREATE TEXT INDEX t FOR ()-[r:R]-() ON (r.x)",
    (
        "CREATE FULLTEXT INDEX f FOR (n:A|B) ON EACH [n.x, n.y] OPTIONS {indexConfig:"
        " {`fulltext.analyzer`: 'english'}}"
    ),
    "CREATE VECTOR INDEX v FOR (n:A) ON (n.v) OPTIONS {indexConfig: {`vector.dimensions`: 3}}",
    "CREATE CONSTRAINT c1 FOR (n:A) REQUIRE (n.x) IS UNIQUE",
    "CREATE CONSTRAINT c2 FOR (n:A) REQUIRE (n.x, n.y) IS KEY",
    "CREATE CONSTRAINT c3 FOR ()-[r:R]-() REQUIRE (r.x) IS KEY",
    "CREATE CONSTRAINT c4 FOR ()-[r:R]-() REQUIRE (r.x) IS NOT NULL",
    "CREATE CONSTRAINT c5 FOR (n:A) REQUIRE (n.z) IS :: INTEGER | STRING",
    (
        "CREATE CONSTRAINT c6 FOR (n:A) REQUIRE (n.d) IN [date('2024-01-02'), 'x', 1, 1.5, true,"
        " [1], duration('P1D')]"
    ),
    "CREATE CONSTRAINT c7 FOR ()<-[r:R]-() REQUIRE MAX COUNT 2",
    "CREATE CONSTRAINT c8 FOR (:A)-[r:S]->(:B) REQUIRE DISALLOWED",
    "CREATE CONSTRAINT c9 FOR (n:W) REQUIRE (n.k, n.a, n.b) IS TEMPORAL NO OVERLAP",
)


def test_what_is_shown_can_be_declared_again(session: GraphSession) -> None:
    """Each rule shows the command that makes it, with all that it says."""
    for text in DECLARED:
        session.run(text)
    indexes = session.run("SHOW INDEXES").records()
    rules = session.run("SHOW CONSTRAINTS").records()
    shown = [
        row["createStatement"]
        for row in (*[row for row in indexes if row["owningConstraint"] is None], *rules)
    ]
    assert sorted(shown) == sorted(DECLARED)
    assert {row["createStatement"] for row in indexes if row["owningConstraint"]} <= {
        row["createStatement"] for row in rules
    }
    for row in rules:
        session.run("DROP CONSTRAINT $name", row)
    for row in indexes:
        session.run("DROP INDEX $name IF EXISTS", row)
    for text in shown:
        session.run(text)
    assert [row["createStatement"] for row in session.run("SHOW CONSTRAINTS").records()] == [
        row["createStatement"] for row in rules
    ]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("", "c1 c2 c3 c4 c5 c6 c7 c8 c9"),
        ("NODE", "c1 c2 c5 c6 c9"),
        ("UNIQUENESS", "c1"),
        ("NODE KEY", "c2"),
        ("RELATIONSHIP KEY", "c3"),
        ("REL KEY", "c3"),
        ("KEY", "c2 c3"),
        ("RELATIONSHIP PROPERTY EXISTENCE", "c4"),
        ("EXIST", "c4"),
        ("PROPERTY TYPE", "c5"),
        ("NODE EXISTENCE", ""),
        ("CARDINALITY", "c7"),
        ("ALL", "c1 c2 c3 c4 c5 c6 c7 c8 c9"),
    ],
)
def test_constraints_of_a_kind(session: GraphSession, kind: str, names: str) -> None:
    for text in DECLARED[4:]:
        session.run(text)
    assert (
        " ".join(row["name"] for row in session.run(f"SHOW {kind} CONSTRAINTS").records()) == names
    )


def test_signatures_are_shown(session: GraphSession) -> None:
    functions = {row["name"]: row["signature"] for row in session.run("SHOW FUNCTIONS").records()}
    assert functions["size"] == "size(input :: LIST | STRING) :: INTEGER"
    assert functions["startNode"] == "startNode(input :: RELATIONSHIP) :: NODE"
    procedures = {row["name"]: row["signature"] for row in session.run("SHOW PROCEDURES").records()}
    assert procedures["db.labels"] == "db.labels() :: (label :: STRING)"
    assert (
        procedures["db.awaitIndexes"] == "db.awaitIndexes(timeOutSeconds = null :: INTEGER) :: VOID"
    )
    assert session.run("SHOW USER DEFINED FUNCTIONS").records() == []
    assert session.run("SHOW BUILT IN FUNCTIONS YIELD name, signature, description").records()


def test_explain_shows_a_command_and_does_nothing(session: GraphSession) -> None:
    for text in (DECLARED[0], DECLARED[5], "DROP INDEX x IF EXISTS"):
        found = session.run(f"EXPLAIN {text}")
        assert found.records() == []
        described = found.description()
        assert described is not None and described.detail == text
    assert session.run("SHOW INDEXES").records() == []


def test_messages_name_what_is_meant(session: GraphSession) -> None:
    session.run("CREATE INDEX i FOR (n:A) ON (n.x)")
    with pytest.raises(QueryError, match="There is already such an index: i"):
        session.run("CREATE INDEX i FOR (n:A) ON (n.x)")
    with pytest.raises(QueryError, match="SHOW INDEXES lists them"):
        session.run("DROP INDEX none")
    with pytest.raises(QueryError, match="SHOW CONSTRAINTS lists them"):
        session.run("DROP CONSTRAINT none")
