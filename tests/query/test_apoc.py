"""The procedures and functions of APOC that integrations call. What they should answer was compared
with APOC 5.26 on Neo4j."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import ConstraintError
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check

GRAPH = """CREATE (a:Person:Actor {id: 1, name: 'A', tags: ['x'], at: date('2020-01-01'), f: 1.5})
    -[:ACTED {roles: ['a']}]->(:Movie {title: 't'}), (a)-[:ACTED]->(:Movie),
    (a)-[:KNOWS]->(:Person {id: 7})"""
MERGED = """CREATE (a:A {id: 1, n: 'x', k: [1], s: 5}),
    (b:B {id: 2, n: 'y', k: [1, 2], s: 5, o: 'only'}), (c:C {id: 'z', n: 'x'}), (d:D),
    (a)-[:R {w: 1}]->(d), (b)-[:R {w: 2, v: 1}]->(d),
    (d)-[:R {w: 3}]->(b), (a)-[:S]->(b), (b)-[:T]->(b), (c)-[:S {q: 1}]->(a)"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "graph.db") as made:
        yield made
        assert check(made) == []


@pytest.fixture
def session(store: Store) -> Iterator[GraphSession]:
    with GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made:
        yield made


def one(session: GraphSession, text: str, **params: Any) -> Any:
    return session.run(text, params).single()


def test_a_row_for_each_property_and_each_type_between_labels(session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE")
    session.run(GRAPH)
    rows = {
        (row["elementType"], row["label"], row["property"]): row
        for row in session.run("CALL apoc.meta.data()").records()
    }
    properties = {key: row["type"] for key, row in rows.items() if row["type"] != "RELATIONSHIP"}
    assert properties == {
        ("relationship", "ACTED", "roles"): "LIST",
        ("node", "Movie", "title"): "STRING",
        **{
            ("node", label, name): kind
            for label in ("Person", "Actor")
            for name, kind in (
                ("id", "INTEGER"),
                ("name", "STRING"),
                ("tags", "LIST"),
                ("at", "DATE"),
                ("f", "FLOAT"),
            )
        },
    }
    identity = rows["node", "Person", "id"]
    assert (identity["unique"], identity["index"], identity["array"]) == (True, True, False)
    assert not rows["node", "Actor", "id"]["unique"]
    acted = rows["node", "Person", "ACTED"]
    assert (acted["other"], acted["left"], acted["right"], acted["array"]) == (
        ["Movie"],
        2,
        0,
        True,
    )
    assert rows["relationship", "ACTED", "Actor"]["type"] == "RELATIONSHIP"
    some = session.run("CALL apoc.meta.data({includeLabels: ['Movie'], sample: 10})").records()
    assert {row["label"] for row in some if row["elementType"] == "node"} == {"Movie"}


def test_the_schema_as_one_map(session: GraphSession) -> None:
    session.run(GRAPH)
    schema = one(session, "CALL apoc.meta.schema() YIELD value")
    assert set(schema) == {"Person", "Actor", "Movie", "ACTED", "KNOWS"}
    assert schema["Person"]["count"] == 2
    assert schema["Person"]["properties"]["id"]["type"] == "INTEGER"
    acted = schema["Movie"]["relationships"]["ACTED"]
    assert (acted["direction"], acted["count"]) == ("in", 4)  # from each label of its start
    assert sorted(acted["labels"]) == ["Actor", "Person"]
    assert schema["ACTED"]["properties"]["roles"]["array"]


def test_the_schema_as_a_graph(session: GraphSession) -> None:
    session.run("CREATE INDEX titles FOR (m:Movie) ON (m.title)")
    session.run(GRAPH)
    (row,) = session.run("CALL db.schema.visualization()").records()
    assert {node["name"]: node["indexes"] for node in row["nodes"]} == {
        "Actor": [],
        "Movie": ["title"],
        "Person": [],
    }
    names = {node.id: node["name"] for node in row["nodes"]}
    assert {(names[edge.start], edge.type, names[edge.end]) for edge in row["relationships"]} == {
        ("Actor", "ACTED", "Movie"),
        ("Person", "ACTED", "Movie"),
        ("Actor", "KNOWS", "Person"),
        ("Person", "KNOWS", "Person"),
    }
    counts = session.run(
        "CALL apoc.meta.graph() YIELD nodes RETURN [n IN nodes | [labels(n)[0], n.count]] AS counts"
    ).single()
    assert sorted(counts) == [["Actor", 1], ["Movie", 2], ["Person", 2]]


def test_indexes_and_their_values(session: GraphSession) -> None:
    session.run("CREATE INDEX FOR (m:Movie) ON (m.title)")
    session.run("UNWIND ['a', 'a', 'b', 'c'] AS title CREATE (:Movie {title: title})")
    (row,) = session.run("CALL apoc.schema.nodes()").records()
    assert (row["label"], row["properties"], row["size"]) == ("Movie", ["title"], 4)
    assert row["valuesSelectivity"] == 0.75
    found = one(session, "CALL apoc.schema.properties.distinct('Movie', 'title') YIELD value")
    assert sorted(found) == ["a", "b", "c"]


def test_what_is_gone_is_not_counted_except_as_of_its_time(session: GraphSession) -> None:
    session.run("CREATE (:Old {x: 1})")
    before = one(session, "RETURN datetime()")
    session.run("MATCH (o:Old) DELETE o")
    assert session.run("CALL apoc.meta.data()").records() == []
    then = session.run("AS OF SYSTEM TIME $t CALL apoc.meta.data()", {"t": before})
    assert [row["label"] for row in then.records()] == ["Old"]


def test_merge_of_a_node_with_labels_that_are_data(session: GraphSession) -> None:
    call = "CALL apoc.merge.node($labels, $ident, {made: 1}, {met: 1}) YIELD node RETURN node"
    made = one(session, call, labels=["Person", "odd `one`"], ident={"id": 1, "a b": 2})
    assert (set(made.labels), made.properties) == (
        {"Person", "odd `one`"},
        {"id": 1, "a b": 2, "made": 1},
    )
    again = one(session, call, labels=["Person", "odd `one`"], ident={"id": 1, "a b": 2})
    assert (again.id, again["met"]) == (made.id, 1)
    for labels, ident in (([""], {"a": 1}), (["A"], {}), ([None], {"a": 1}), (["A"], {"a": None})):
        with pytest.raises(QueryError):
            session.run(call, {"labels": labels, "ident": ident})
    assert one(session, "MATCH (n) RETURN count(n)") == 1


def test_labels_and_types_are_names_and_not_cypher(session: GraphSession) -> None:
    session.run("CREATE (:Safe)")
    name = "A`) DETACH DELETE n //"
    session.run("CALL apoc.merge.node([$name], {`x` : 1})", {"name": name})
    session.run(
        "MATCH (s:Safe) CALL apoc.merge.relationship(s, $name, {}, {}, s) YIELD rel RETURN rel",
        {"name": name},
    )
    assert one(session, "MATCH (:Safe)-[r]->() RETURN type(r)") == name
    assert one(session, "MATCH (n) WHERE $name IN labels(n) RETURN count(n)", name=name) == 1


def test_merge_of_a_node_uses_the_index(session: GraphSession) -> None:
    """A merge by an indexed property reads no more statements with 500 nodes than with 5."""
    session.run("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")

    def ticks(count: int) -> int:
        session.run("UNWIND range(1, $count) AS i MERGE (:P {id: i})", {"count": count})
        result = session.run("CALL apoc.merge.node(['P'], {id: 3}, {}, {}) YIELD node RETURN node")
        return int(result.run.deadline._ticks)

    ticks(5)  # the inner statement is planned
    assert ticks(5) == ticks(500)


def test_merge_of_a_relationship_with_a_type_that_is_data(session: GraphSession) -> None:
    session.run("CREATE (:A), (:B)")
    call = """MATCH (a:A), (b:B)
        CALL apoc.merge.relationship(a, $type, {k: 1}, {made: 1}, b, {met: 1})
        YIELD rel RETURN rel"""
    made = one(session, call, type="LIKES A LOT")
    assert (made.type, made.properties) == ("LIKES A LOT", {"k": 1, "made": 1})
    assert one(session, call, type="LIKES A LOT")["met"] == 1
    with pytest.raises(QueryError):
        session.run(call, {"type": ""})
    assert one(session, "MATCH ()-[r]->() RETURN count(r)") == 1


def test_functions(session: GraphSession) -> None:
    for text, wanted in (
        ("apoc.map.clean({a: 1, b: null, c: '', d: 'x', e: 5, f: [1]}, ['a'], ['x', '5'])", "c f"),
        ("apoc.map.clean({a: 1, c: ''}, [], [''])", "a"),
    ):
        assert sorted(one(session, f"RETURN {text}")) == wanted.split()
    for text, value in (
        ("apoc.coll.flatten([1, [2, [3]], null])", [1, 2, [3], None]),
        ("apoc.coll.flatten([1, [2, [3]]], true)", [1, 2, 3]),
        ("apoc.coll.flatten(null)", None),
        ("apoc.coll.toSet([2, 1, 2, 'a', 'a', null, null, [1], [1]])", [2, 1, "a", None, [1]]),
        ("apoc.meta.cypher.types({a: 1, b: [1], c: date(), d: [1, 'x']}).b", "LIST OF INTEGER"),
        ("apoc.meta.cypher.types({a: 1, b: [1], c: date(), d: [1, 'x']}).d", "LIST OF ANY"),
        ("apoc.util.validatePredicate(false, 'x', [0])", True),
    ):
        assert one(session, f"RETURN {text}") == value


@pytest.mark.parametrize(
    ("text", "wanted", "result"),
    [
        ("2024-07-01T01:02:03.5+02:00[Europe/Berlin]", "iso_offset", "2024-07-01T01:02:03.5+02:00"),
        ("2024-07-01T01:02:00Z", "iso_offset", "2024-07-01T01:02:00Z"),
        (
            "2024-07-01T01:02:03+02:00[Europe/Berlin]",
            "iso_zoned",
            "2024-07-01T01:02:03+02:00[Europe/Berlin]",
        ),
    ],
)
def test_a_time_is_written_in_another_form(
    session: GraphSession, text: str, wanted: str, result: str
) -> None:
    call = "RETURN apoc.date.convertFormat($text, 'iso_zoned_date_time', $wanted + '_date_time')"
    assert session.run(call, {"text": text, "wanted": wanted}).single() == result
    plain = "RETURN apoc.date.convertFormat($text, 'iso_zoned_date_time')"
    assert session.run(plain, {"text": text}).single() == "2024-07-01"
    assert one(session, "RETURN apoc.date.convertFormat(null, 'iso_zoned_date_time')") is None


@pytest.mark.parametrize(
    "arguments",
    [
        "'x', 'iso_zoned_date_time'",
        "'2024-07-01', 'dd/MM'",
        "'2024-07-01', 'iso_zoned_date_time', 'E'",
    ],
)
def test_a_form_that_is_not_known_is_refused(session: GraphSession, arguments: str) -> None:
    with pytest.raises(QueryError):
        one(session, f"RETURN apoc.date.convertFormat({arguments})")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (:X) WITH 1 AS x WHERE apoc.util.validatePredicate(true, $message, [0]) RETURN x",
        "CREATE (:X) WITH 1 AS x CALL apoc.util.validate(true, $message, [0]) RETURN x",
    ],
)
def test_a_predicate_that_is_true_forbids_the_statement(session: GraphSession, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(text, {"message": "@neo4j/graphql/FORBIDDEN"})
    assert "Caused by: java.lang.RuntimeException: @neo4j/graphql/FORBIDDEN" in str(caught.value)
    assert caught.value.kind == "ProcedureError"
    assert one(session, "MATCH (x:X) RETURN count(x)") == 0


def test_a_predicate_that_is_unknown_does_not_pass(session: GraphSession) -> None:
    with pytest.raises(QueryError):
        one(session, "RETURN apoc.util.validatePredicate(null, 'x', [0])")


def test_a_message_has_places(session: GraphSession) -> None:
    with pytest.raises(QueryError, match=r"x of 3 and 100% of x %s"):
        session.run("CALL apoc.util.validate(true, '%s of %d and 100%% of %1$s %s', ['x', 3])")


def merged(session: GraphSession, config: str) -> tuple[dict[str, Any], list[Any]]:
    session.run("MATCH (n) DETACH DELETE n")
    session.run(MERGED)
    node = one(
        session,
        "MATCH (a:A), (b:B), (c:C) CALL apoc.refactor.mergeNodes([a, b, c], "
        f"{config}) YIELD node RETURN node",
    )
    assert set(node.labels) == {"A", "B", "C"}
    rows = session.run("MATCH ()-[r]->() RETURN type(r) AS t, properties(r) AS p").records()
    assert one(session, "MATCH (n) RETURN count(n)") == 2
    return node.properties, sorted((row["t"], sorted(row["p"].items())) for row in rows)


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("{}", {"id": "z", "n": "x", "k": [1, 2], "s": 5, "o": "only"}),
        ("{properties: 'overwrite'}", {"id": "z", "n": "x", "k": [1, 2], "s": 5, "o": "only"}),
        ("{properties: 'discard'}", {"id": 1, "n": "x", "k": [1], "s": 5, "o": "only"}),
        (
            "{properties: 'combine'}",
            {"id": ["1", "2", "z"], "n": ["x", "y"], "k": [1, 2], "s": 5, "o": "only"},
        ),
        (
            "{properties: {id: 'discard', `.*`: 'combine'}}",
            {"id": 1, "n": ["x", "y"], "k": [1, 2], "s": 5, "o": "only"},
        ),
        (
            "{properties: 'combine', singleElementAsArray: true}",
            {"id": ["1", "2", "z"], "n": ["x", "y"], "k": [1, 2], "s": [5], "o": "only"},
        ),
    ],
)
def test_merged_nodes_have_the_properties_that_the_rules_say(
    session: GraphSession, config: str, wanted: dict[str, Any]
) -> None:
    assert merged(session, config)[0] == wanted


def test_merged_nodes_keep_every_relationship(session: GraphSession) -> None:
    every = [
        ("R", [("v", 1), ("w", 2)]),
        ("R", [("w", 1)]),
        ("R", [("w", 3)]),
        ("S", []),
        ("S", [("q", 1)]),
        ("T", []),
    ]
    assert merged(session, "{}")[1] == every
    without = [one for one in every if one[0] != "S"]  # a loop that is new; T was one before
    assert merged(session, "{produceSelfRel: false}")[1] == without


def test_relationships_of_merged_nodes_are_merged(session: GraphSession) -> None:
    assert merged(session, "{mergeRels: true}")[1] == [
        ("R", [("v", 1), ("w", [1, 2])]),
        ("R", [("w", 3)]),
        ("S", [("q", 1)]),
        ("T", []),
    ]
    assert merged(session, "{mergeRels: true, properties: 'discard'}")[1][0] == (
        "R",
        [("v", 1), ("w", 1)],
    )


def test_merging_obeys_the_rules_of_the_store(store: Store, session: GraphSession) -> None:
    session.run("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
    session.run("CREATE (:P {id: 1}), (:P {id: 2}), (:Q {id: 1})")
    with pytest.raises(ConstraintError):
        session.run("MATCH (q:Q) CALL apoc.create.addLabels(q, ['P']) YIELD node RETURN node")
    # two nodes with what is unique become one
    session.run(
        "MATCH (p:P) WITH p ORDER BY p.id WITH collect(p) AS all"
        " CALL apoc.refactor.mergeNodes(all, {properties: 'overwrite'}) YIELD node RETURN node"
    )
    assert one(session, "MATCH (p:P) RETURN p.id") == 2


def test_a_reader_cannot_write_with_them(session: GraphSession) -> None:
    session.begin(read_only=True)
    with pytest.raises(QueryError):
        session.run("CALL apoc.merge.node(['A'], {x: 1})")


def test_sleeping_obeys_the_timeout(session: GraphSession) -> None:
    with pytest.raises(QueryError) as caught:
        session.run("CALL apoc.util.sleep(20000)", timeout_ms=1)
    assert caught.value.detail == "TimedOut"
