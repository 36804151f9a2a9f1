"""Full-text and vector procedures: what is found, in which order, and that only what may be seen
takes a place."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import DoxaError
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.procedures.fulltext_query import parse_fulltext_query
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check

TEXTS = (
    "The database of the shop is PostgreSQL",
    "We moved from MySQL to PostgreSQL in May",
    "MySQL, MySQL and again MySQL",
    "Lunch is at noon",
    "Green tea in the morning, black tea at noon",
    "Databases need backups",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "g.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as made,
    ):
        made.run("CREATE FULLTEXT INDEX notes FOR (n:Note|Memo) ON EACH [n.text, n.title]")
        made.run(
            "UNWIND range(0, size($texts) - 1) AS i CREATE (:Note {i: i, text: $texts[i]})",
            {"texts": TEXTS_LIST},
        )
        yield made
        made.close()
        assert check(store) == []


TEXTS_LIST = list(TEXTS)


def found(session: GraphSession, query: str, options: Any = None) -> list[int]:
    rows = session.run(
        "CALL db.index.fulltext.queryNodes('notes', $q, $o) YIELD node, score RETURN node.i AS i,"
        " score",
        {"q": query, "o": options or {}},
    )
    records = rows.records()
    assert [row["score"] for row in records] == sorted(
        (row["score"] for row in records), reverse=True
    )
    return [row["i"] for row in records]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("postgresql", {0, 1}),
        ("PostgreSQL mysql", {0, 1, 2}),
        ("postgresql AND mysql", {1}),
        ("+postgresql mysql", {0, 1}),
        ("postgresql -mysql", {0}),
        ("postgresql NOT mysql", {0}),
        ('"black tea"', {4}),
        ('"tea black"', set()),
        ("databas*", {0, 5}),
        ("databases*", {5}),  # a term is a stem, but words are compared
        ("m*ing", {4}),
        ("mov?d", {1}),
        ("l?nch*", {3}),
        ("text:lunch", {3}),
        ("title:lunch", set()),
        ("nothing", set()),
        ("", set()),
        ("the and of", set()),
    ],
)
def test_queries(session: GraphSession, query: str, wanted: set[int]) -> None:
    assert set(found(session, query)) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("mysql AND (postgresql)", {1}),
        ("(postgresql OR lunch) AND (shop OR noon)", {0, 3}),
        ("postgresql AND mysql OR lunch", {1, 3}),
        ("lunch OR mysql AND postgresql", {1, 3}),
        ("(postgresql OR tea) AND NOT mysql", {0, 4}),
        ("postgresql AND NOT (mysql OR shop)", set()),
        ("(tea OR lunch) AND (noon AND NOT (green OR black))", {3}),
        ("postgresql AND (NOT mysql)", {0}),
        ("postgresql AND NOT (NOT mysql)", {1}),
        ("postgresql -(mysql AND may)", {0}),
        ("mysql -(postgresql AND lunch)", {1, 2}),
        ("noon AND (lunch OR (tea AND (morning OR evening)))", {3, 4}),
        ('noon AND ("black tea" OR "green lunch")', {4}),
        ("text:(postgresql OR lunch) AND text:shop", {0}),
        ("text:(mysql AND title:may)", set()),
        ("noon AND (le* OR lu*)", {3}),
        ("noon AND (evening)", set()),
        ("+noon +(lunch evening)", {3}),
        ("+noon -lunch OR mysql", {4}),
        ("post*sql", {0, 1}),
        ("*sql", {0, 1, 2}),
        ("m?sql AND post*", {1}),
        ("text:m?sql", {1, 2}),
        ("*lunch* **tea**", {3, 4}),
        ("((((lunch))))", {3}),
        ("(" * 500 + "lunch" + ")" * 500 + " AND noon", {3}),
        ("(lunch AND", {3}),
        ("() AND lunch OR ()", {3}),
    ],
)
def test_groups_and_operators_are_a_tree(
    session: GraphSession, query: str, wanted: set[int]
) -> None:
    assert set(found(session, query)) == wanted


def test_the_filter_of_a_group_by_an_agent_framework(session: GraphSession) -> None:
    session.run("CREATE FULLTEXT INDEX people FOR (n:Person) ON EACH [n.name, n.g]")
    session.run(
        "CREATE (:Person {name: 'Alice', g: 'g1'}), (:Person {name: 'Alice', g: 'g2'}),"
        " (:Person {name: 'Bob', g: 'g1'})"
    )
    text = "CALL db.index.fulltext.queryNodes('people', $q) YIELD node RETURN node.name, node.g"
    for query in ('g:"g1" AND (Alice)', '(g:"g1") AND (Alice)', '(g:"g1" OR g:"g3") AND (Alice)'):
        assert list(session.run(text, {"q": query})) == [("Alice", "g1")], query
    both = list(session.run(text, {"q": '(g:"g1" OR g:"g2") AND (Alice OR Bob)'}))
    assert sorted(both) == [("Alice", "g1"), ("Alice", "g2"), ("Bob", "g1")]


def test_the_best_comes_first_and_limits_hold(session: GraphSession) -> None:
    assert found(session, "mysql")[0] == 2
    assert found(session, "mysql", {"limit": 1}) == [2]
    assert found(session, "mysql", {"skip": 1}) == [1]
    assert found(session, "mysql", {"skip": 1, "limit": 2**63 - 1}) == [1]
    assert found(session, "mysql", {"skip": 2**63 - 1, "limit": 2**63 - 1}) == []


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what's the database?", {0, 5}),
        ("postgresql/lunch", {0, 1, 3}),
        ("lunch~", {3}),
        ("lunch~2 tea^0.5~1", {3, 4}),
        ("lunch^2", {3}),
        ('"black tea"~3^2', {4}),
        ('"black tea', {4}),
        ('""" "black" tea', {4}),
        ("t?a", {4}),
        ("t?a? lunch??", {3, 4}),
        ("lunch? green!", {3, 4}),
        ("(lunch)", {3}),
        ("[lunch TO tea}", {3, 4}),
        ("\\lunch \\", {3}),
        ("body:tea", {4}),
        ('body:"black tea" -body:green', {4}),
        ("http://lunch.tea", {3, 4}),
        ("text:(lunch tea) title:(backups)", {3, 4}),
        ("+(postgresql lunch)", {0, 1, 3}),
        ("postgresql -(mysql lunch)", {0}),
        ("postgresql NOT (mysql OR lunch)", {0}),
        ("postgresql !mysql", {0, 1, 2}),
        ("lunch - tea", {3, 4}),
        ("black-tea", {4}),
        ("databas*!", {0, 5}),
        ("*", set()),
        ("AND OR NOT", set()),
        ("NOT", set()),
        (")lunch( tea", {3, 4}),
        ("-mysql/postgresql postgresql", {0}),
        ("tea AND", {4}),
        ("&& || lunch", {3}),
        ("title: lunch", {3}),
        ("text:)lunch", {3}),
    ],
)
def test_any_text_is_a_query(session: GraphSession, query: str, wanted: set[int]) -> None:
    assert set(found(session, query)) == wanted


QUERY_PARTS = st.sampled_from(
    [
        "lunch",
        "tea",
        "text:",
        "body:",
        "title",
        ":",
        "AND",
        "OR",
        "NOT",
        "&&",
        "||",
        "!",
        "+",
        "-",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        "*",
        "?",
        "~2",
        "^",
        "^3.5",
        "/",
        "\\",
        "'",
        " ",
        " ",
        "\n",
        "\x00",
        "\u65e5\u672c",
        "\U0001f600",
        "\ud800",
        "a",
        "\u00c4",
        "_",
    ]
)


def test_every_text_is_answered(session: GraphSession) -> None:
    @settings(max_examples=150, deadline=None)
    @given(st.one_of(st.lists(QUERY_PARTS, max_size=14).map("".join), st.text(max_size=30)))
    def answered(query: str) -> None:
        for part in parse_fulltext_query(query, ("text", "title")).parts():
            assert (
                part.terms
                and (all(part.terms) or part.pattern)
                and part.need in ("may", "must", "not")
                and part.field in (None, "text", "title")
            )
        if not any("\ud800" <= char <= "\udfff" for char in query):
            found(session, query)

    answered()


def test_a_question_is_read_as_far_as_a_question_to_recall(session: GraphSession) -> None:
    assert set(found(session, "tea " * 900 + " and lunch " * 10_000)) == {4, 3}
    assert found(session, "-mysql " * 2_000 + "lunch") == []
    session.run("UNWIND range(1, 1100) AS i CREATE (:Note {text: 'word' + i})")
    with pytest.raises(QueryError):
        found(session, "wor*")


@pytest.mark.parametrize(
    "options",
    [{"limits": 1}, {"limit": -1}, {"skip": 1.5}, {"limit": "1"}, {"analyzer": "english"}],
)
def test_options_that_are_not_understood_are_told(
    session: GraphSession, options: dict[str, Any]
) -> None:
    with pytest.raises(QueryError):
        found(session, "tea", options)


def test_the_index_follows_every_write(session: GraphSession) -> None:
    session.run("MATCH (n:Note {i: 3}) SET n.title = 'postgresql'")
    session.run("MATCH (n:Note {i: 0}) REMOVE n:Note")
    session.run("MATCH (n:Note {i: 1}) DELETE n")
    session.run("CREATE (:Memo {i: 9, text: ['one', 'PostgreSQL again']})")
    assert set(found(session, "postgresql")) == {3, 9}
    session.run("DROP INDEX notes")
    with pytest.raises(QueryError) as caught:
        found(session, "tea")
    assert caught.value.detail == "IndexNotFound"


def test_relationships(session: GraphSession) -> None:
    session.run("CREATE FULLTEXT INDEX said FOR ()-[r:SAID]-() ON EACH [r.text]")
    session.run(
        "CREATE (:P)-[:SAID {text: 'green tea'}]->(:P)-[:SAID {text: 'black coffee'}]->(:P)"
    )
    rows = session.run(
        "CALL db.index.fulltext.queryRelationships('said', 'tea') YIELD relationship RETURN"
        " relationship.text AS t"
    ).records()
    assert rows == [{"t": "green tea"}]


@pytest.mark.parametrize("function", ["cosine", "euclidean"])
def test_vectors_agree_with_a_full_comparison(session: GraphSession, function: str) -> None:
    rng = random.Random(3)
    session.run(
        "CREATE VECTOR INDEX near FOR (v:V) ON (v.e) OPTIONS {indexConfig: {`vector.dimensions`: 8,"
        " `vector.similarity_function`: '" + function + "'}}"
    )
    vectors = [[rng.uniform(-1, 1) for _ in range(8)] for _ in range(200)]
    session.run("UNWIND range(0, 199) AS i CREATE (:V {i: i, e: $v[i]})", {"v": vectors})
    session.run("CREATE (:V {i: 999, e: [1.0, 2.0]}), (:V {i: 998}), (:V {i: 997, e: 'text'})")
    query = [rng.uniform(-1, 1) for _ in range(8)]
    rows = session.run(
        "CALL db.index.vector.queryNodes('near', 10, $q) YIELD node, score RETURN node.i AS i,"
        " score",
        {"q": query},
    ).records()
    exact = session.run(
        "MATCH (v:V) WHERE size(v.e) = 8 AND v.i < 997 RETURN v.i AS i,"
        f" vector.similarity.{function}(v.e, $q) AS s ORDER BY s DESC LIMIT 10",
        {"q": query},
    ).records()
    assert [row["i"] for row in rows] == [row["i"] for row in exact]
    for row, other in zip(rows, exact, strict=True):
        assert row["score"] == pytest.approx(other["s"], abs=1e-6)


def test_filtered_before_the_top_k(session: GraphSession) -> None:
    """What is not valid at the time asked for takes no place among the nearest."""
    session.run("CREATE CONSTRAINT FOR (v:V) REQUIRE (v.k, v.from, v.to) IS TEMPORAL NO OVERLAP")
    session.run("CREATE VECTOR INDEX near FOR (v:V) ON (v.e)")
    session.run(
        "UNWIND range(0, 9) AS i CREATE (:V {k: i, e: [1.0, i * 0.1], from: date('2020-01-01'), to:"
        " date('2021-01-01')})"
    )
    session.run(
        "UNWIND range(10, 12) AS i CREATE (:V {k: i, e: [0.0, 1.0], from: date('2022-01-01')})"
    )
    rows = session.run(
        "AS OF VALID TIME date('2023-01-01') CALL db.index.vector.queryNodes('near', 3, [1.0, 0.0])"
        " YIELD node RETURN node.k AS k"
    ).records()
    assert [row["k"] for row in rows] == [10, 11, 12]


@pytest.mark.parametrize(
    "call",
    [
        "queryNodes('near', 0, [1.0])",
        "queryNodes('near', 1, 'x')",
        "queryNodes('gone', 1, [1.0])",
        "queryNodes('notes', 1, [1.0])",
        "queryNodes('near', 1, [0.0, 0])",
        "queryNodes('near', 1, [1e300])",
        "queryNodes('near', 1, [0.0/0.0])",
        "queryNodes('near', 1, null)",
    ],
)
def test_bad_calls(session: GraphSession, call: str) -> None:
    session.run("CREATE VECTOR INDEX near FOR (v:V) ON (v.e)")
    with pytest.raises(QueryError):
        session.run(f"CALL db.index.vector.{call}").records()


@pytest.mark.parametrize(
    "config",
    [
        {"vector.dimensions": "x"},
        {"vector.dimensions": 0},
        {"vector.dimensions": 2.0},
        {"vector.similarity_function": "dot"},
    ],
)
def test_a_vector_index_of_other_options_is_not_made(
    session: GraphSession, config: dict[str, Any]
) -> None:
    """Nor directly: the store refuses what it cannot keep."""
    value = {
        "id": 77,
        "kind": "vector",
        "edge": False,
        "names": ["V"],
        "properties": ["e"],
        "options": {"indexConfig": config},
        "owner": None,
    }
    with pytest.raises(DoxaError), session.store.write(Identity("t", "operator"), op="test") as tx:
        tx.set_catalogue("index:odd", value)


def test_vectors_that_32_bits_cannot_hold_are_not_indexed(session: GraphSession) -> None:
    session.run("CREATE VECTOR INDEX near FOR (v:V) ON (v.e)")
    session.run(
        "CREATE (:V {e: [1e300, 1.0]}), (:V {e: [0.0/0.0, 1.0]}), (:V {e: [1.0/0.0, 1.0]}), (:V {i:"
        " 1, e: [1.0, 1.0]})"
    )
    assert session.run(
        "CALL db.index.vector.queryNodes('near', 9, [1.0, 0.0]) YIELD node RETURN collect(node.i)"
    ).single() == [1]


def test_search_as_of_a_time_is_what_it_was_then(session: GraphSession) -> None:
    rng = random.Random(3)
    session.run("CREATE FULLTEXT INDEX words FOR (n:Doc|Note) ON EACH [n.title, n.text]")
    session.run("CREATE FULLTEXT INDEX said FOR ()-[r:SAYS]-() ON EACH [r.text]")
    session.run(
        "CREATE VECTOR INDEX near FOR (n:Doc) ON n.v OPTIONS {indexConfig:"
        " {`vector.dimensions`: 2}}"
    )
    questions = [
        *(
            f"CALL db.index.fulltext.queryNodes('words', '{words}') YIELD node, score RETURN"
            " id(node) AS id, score"
            for words in ("red", "red -apple", '"green pear"', "re*", "title:red", "red pear apple")
        ),
        (
            "CALL db.index.fulltext.queryRelationships('said', 'red pear') YIELD relationship AS r,"
            " score RETURN id(r) AS id, r.text AS text, score"
        ),
        (
            "CALL db.index.vector.queryNodes('near', 3, [1.0, 0.2]) YIELD node, score RETURN"
            " id(node) AS id, score"
        ),
    ]
    kept = []
    for step in range(25):
        words = " ".join(
            rng.choices(["red", "green", "apple", "pear", "rose"], k=rng.randint(1, 5))
        )
        change = rng.choice(
            [
                (
                    f"CREATE (:{rng.choice(['Doc', 'Note', 'Doc:Note', 'Other'])} {{i: {step},"
                    " title: $words, text: 'pear', v: $v})"
                ),
                "MATCH (n) WITH n ORDER BY rand() LIMIT 1 SET n.text = $words, n.v = $v",
                "MATCH (n) WITH n ORDER BY rand() LIMIT 1 DETACH DELETE n",
                "MATCH (n) WITH n ORDER BY rand() LIMIT 1 SET n:Doc REMOVE n:Note",
                "MATCH (a), (b) WITH a, b LIMIT 1 CREATE (a)-[:SAYS {text: $words}]->(b)",
            ]
        )
        session.run(change, {"words": words, "v": [rng.random(), rng.random()]})
        time.sleep(0.001)
        kept.append((time.time_ns(), [session.run(question).records() for question in questions]))
        time.sleep(0.001)
    assert any(rows for _, answers in kept for rows in answers)
    for moment, answers in kept:
        for question, rows in zip(questions, answers, strict=True):
            assert session.run(f"AS OF SYSTEM TIME {moment} {question}").records() == rows
