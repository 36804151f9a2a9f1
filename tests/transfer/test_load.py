"""Files of rows as nodes and edges: in bulk, as if queries had created them, and whole after any
interruption."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.errors import DoxaError, InputError
from doxa.store import check, digest, replayed_digest, verify_log
from doxa.transfer import load as loading
from doxa.transfer.load import Loaded
from tests.fixtures_shared import this_tree

ENDS = {"start": "src:Person.id", "end": "dst:Person.id"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as opened:
        yield opened


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def people(folder: Path, count: int) -> Path:
    lines = [f"{n},person {n},{n % 7 == 0}".lower() for n in range(count)]
    return written(folder / "people.csv", "\n".join(["id:int,name,tall:bool", *lines, ""]))


def pairs(folder: Path, count: int, people: int) -> Path:
    rng = random.Random(3)
    rows = [
        {"src": rng.randrange(people), "dst": rng.randrange(people), "w": n} for n in range(count)
    ]
    return written(folder / "knows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def statements(path: Path, count: int) -> Path:
    """Each item is stated three times and revised twice."""
    rows = [
        {
            "kref": f"kref://shop/stock/part{n // 3}.fact",
            "text": f"Part has {n}",
            "facts": [[f"part{n // 3}", "count", n]],
            "topics": ["stock"],
            "source": "count",
        }
        for n in range(count)
    ]
    return written(path, "".join(json.dumps(row) + "\n" for row in rows))


def whole(memory: doxa.Memory) -> None:
    verify_log(memory.store)
    assert check(memory.store) == []
    assert digest(memory.store) == replayed_digest(memory.store)


def test_rows_become_nodes_and_edges(memory: doxa.Memory, tmp_path: Path) -> None:
    done = memory.load(people(tmp_path, 50), label="Person", key="id")
    assert done == Loaded(rows=50, nodes=50, changes=done.changes)
    file = pairs(tmp_path, 300, 50)
    done = memory.load(file, edge="KNOWS", **ENDS)
    assert (done.rows, done.edges, len(done.changes)) == (300, 300, 1)
    found = memory.run("MATCH (a)-[r:KNOWS]->(b) RETURN a.id AS src, b.id AS dst, r.w AS w")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    key = lambda row: row["w"]  # noqa: E731
    assert sorted((dict(row) for row in found.records()), key=key) == rows
    node = memory.run("MATCH (n:Person {id: 7}) RETURN n.name AS name, n.tall AS tall").records()
    assert [dict(row) for row in node] == [{"name": "person 7", "tall": True}]
    whole(memory)


def test_a_load_is_as_if_queries_had_created_it(tmp_path: Path) -> None:
    """The entries of the log are the same except their salts."""
    logs = []
    for way in ("load", "cypher", "one by one"):
        with doxa.open(tmp_path / f"{way}.db", role="operator", embedder=None) as memory:
            memory.load(people(tmp_path, 20), label="Person", key="id")
            rows = sorted(
                (json.loads(line) for line in pairs(tmp_path, 40, 20).read_text().splitlines()),
                key=lambda row: (row["src"], row["dst"]),
            )
            create = (
                "MATCH (a:Person {id: x.src}), (b:Person {id: x.dst})"
                " CREATE (a)-[:KNOWS {w: x.w}]->(b)"
            )
            if way == "load":
                memory.load(pairs(tmp_path, 40, 20), edge="KNOWS", **ENDS)
            elif way == "cypher":
                memory.run(f"UNWIND $rows AS x {create}", {"rows": rows})
            else:
                for row in rows:
                    memory.run(f"WITH $x AS x {create}", {"x": row})
            with memory.store.read() as snapshot:
                logs.append(
                    [
                        (entry.op, entry.element, entry.payload)
                        for entry in snapshot.log(after=0, limit=10_000)
                        if entry.op == "edge.create"
                    ]
                )
            whole(memory)
    assert len(logs[0]) == 40
    assert logs[0] == logs[1] == logs[2]


def test_nodes_of_a_load_are_as_if_queries_had_created_them(tmp_path: Path) -> None:
    logs = []
    for way in ("load", "cypher", "one by one"):
        with doxa.open(tmp_path / f"{way}.db", role="operator", embedder=None) as memory:
            memory.run("CREATE INDEX FOR (p:Person) ON (p.name)")
            memory.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE")
            rows = [{"id": n, "name": f"person {n}", "tall": n % 7 == 0} for n in range(600)]
            if way == "load":
                memory.load(people(tmp_path, 600), label="Person", key="id")
            elif way == "cypher":
                memory.run("UNWIND $rows AS x CREATE (n:Person) SET n = x", {"rows": rows[:0]})
                memory.run(
                    "UNWIND $rows AS x CREATE (:Person {id: x.id, name: x.name, tall: x.tall})",
                    {"rows": rows},
                )
            else:
                with memory.store.write(memory.identity, op="test") as tx:
                    for row in rows:
                        tx.create_node(["Person"], row)
            with memory.store.read() as snapshot:
                logs.append(
                    [
                        (entry.op, entry.element, entry.payload)
                        for entry in snapshot.log(after=0, limit=10_000)
                        if entry.op == "node.create"
                    ]
                )
            whole(memory)
    assert len(logs[0]) == 600
    assert logs[0] == logs[1] == logs[2]


def test_rows_become_revisions(memory: doxa.Memory, tmp_path: Path) -> None:
    file = statements(tmp_path / "said.jsonl", 30)
    done = memory.load(file, item="kref")
    assert (done.rows, done.items, done.revisions, done.known) == (30, 10, 30, 0)
    belief = memory.get("kref://shop/stock/part2.fact")
    assert (belief.summary, belief.number) == ("Part has 8", 3)
    assert belief.metadata["source"] == "count"
    assert memory.load(file, item="kref") == Loaded(continued=30)
    again = memory.load(file, item="kref", again=True)
    assert (again.items, again.revisions, again.known) == (0, 30, 0)  # part 0 again, then 1, 2
    last = statements(tmp_path / "last.jsonl", 30).read_text().splitlines()[29]
    done = memory.load(written(tmp_path / "same.jsonl", last + "\n"), item="kref")
    assert (done.items, done.revisions, done.known) == (0, 0, 1)
    whole(memory)


def test_items_go_the_way_of_every_statement(tmp_path: Path) -> None:
    """What contradicts is retracted and secrets are redacted, as when it is remembered; CSV has
    lists."""
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    lines = [
        "at,text,topics,facts,confidence:float",
        f'kref://shop/plan.decision,Yearly now: {key},billing; plans,"[[""billing"",""period"",'
        '""yearly""]]",0.5',
        "",
    ]
    found = []
    for way in ("load", "remember"):
        with doxa.open(tmp_path / f"{way}.db", embedder=None, background=False) as memory:
            given: dict[str, Any] = {"project": "shop", "facts": [("billing", "period", "monthly")]}
            memory.remember("Billing is monthly", name="old", **given)
            if way == "load":
                done = memory.load(written(tmp_path / "b.csv", "\n".join(lines)), item="at")
                assert (done.items, done.redacted) == (1, 1)
            else:
                memory.remember(
                    f"Yearly now: {key}",
                    name="plan",
                    kind="decision",
                    topics=["billing", "plans"],
                    confidence=0.5,
                    **given | {"facts": [("billing", "period", "yearly")]},
                )
            asked = (
                "MATCH (i:Item) OPTIONAL MATCH (i)-[e]->(r:Revision) RETURN i.kref, type(e),"
                " r.summary, r.facts, r.topics, r.confidence, r.status ORDER BY i.kref, type(e)"
            )
            found.append([tuple(row.values()) for row in memory.run(asked).records()])
            assert key not in repr(found)
            whole(memory)
    assert found[0] == found[1]
    assert len(found[0]) >= 4


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "x"}, "its kref or its text is absent"),
        ({"kref": "kref://a/b.fact"}, "its kref or its text is absent"),
        ({"kref": "b.fact", "text": "x"}, "cannot be stated"),
        ({"kref": "kref://a/b.fact?r=1", "text": "x"}, "cannot be stated"),
        ({"kref": "kref://a", "text": "x"}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": ""}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "trust": "verified"}, "does not verify"),
        ({"kref": "kref://a/b.fact", "text": "x", "trust": "Verified"}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "facts": [["a", 1, 2]]}, "not a fact"),
        ({"kref": "kref://a/b.fact", "text": "x", "facts": "["}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "confidence": "much"}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "confidence": 10**400}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "valid_from": "soon"}, "cannot be stated"),
        ({"kref": "kref://a/b.fact", "text": "x", "facts": 5}, "not a fact: '5'"),
        ({"kref": "kref://a/b.fact", "text": "x", "facts": {"a": 1}}, "not a fact"),
        ({"kref": "kref://a/b.fact", "text": "x", "facts": '{"a": 1}'}, "not a fact"),
        ({"kref": "kref://a/b.fact", "text": "x", "topics": [1]}, "topics must be texts, not 1"),
        ({"kref": "kref://a/b.fact", "text": "x", "topics": ["a", {}]}, "topics must be texts"),
        ({"kref": "kref://a/b.fact", "text": "x", "keywords": 1.5}, "keywords must be texts"),
    ],
)
def test_what_no_item_can_be_is_refused(
    memory: doxa.Memory, tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    good = {"kref": "kref://a/good.fact", "text": "fine"}
    text = json.dumps(good) + "\n" + json.dumps(row) + "\n"
    with pytest.raises(InputError) as caught:
        memory.load(written(tmp_path / "a.jsonl", text), item="kref")
    assert said in str(caught.value) and "Row 2 of a.jsonl" in str(caught.value)
    assert memory.run("MATCH (n:Item) RETURN count(n)").single() == 0


def test_an_agent_states_no_more_than_it_may(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        memory.remember(
            "Keys are rotated monthly",
            project="a",
            name="keys",
            trust="verified",
            facts=[("keys", "rotated", "monthly")],
        )
        agent = memory.session(role="agent", actor="x") if hasattr(memory, "session") else memory
        row = {"kref": "kref://a/keys.fact", "text": "never", "facts": [["keys", "rotated", "no"]]}
        file = written(tmp_path / "a.jsonl", json.dumps(row) + "\n")
        try:
            done = agent.load(file, item="kref")
        except DoxaError:
            done = Loaded()
        belief = memory.get("kref://a/keys.fact")
        assert belief.summary == "Keys are rotated monthly" and belief.trust == "verified", done
        whole(memory)


def test_what_rules_ask_of_edges_holds_in_a_load(memory: doxa.Memory, tmp_path: Path) -> None:
    memory.run("CREATE CONSTRAINT w FOR ()-[r:KNOWS]-() REQUIRE r.w IS NOT NULL")
    memory.run("CREATE INDEX by_w FOR ()-[r:LIKES]-() ON (r.w)")
    memory.load(people(tmp_path, 20), label="Person", key="id")
    memory.load(pairs(tmp_path, 30, 20), edge="LIKES", **ENDS)
    assert memory.run("MATCH ()-[r:LIKES {w: 7}]->() RETURN count(r)").single() == 1
    bare = written(tmp_path / "bare.csv", "src:int,dst:int\n" + "1,2\n" * 20)
    with pytest.raises(DoxaError, match="w"):
        memory.load(bare, edge="KNOWS", **ENDS)
    assert memory.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single() == 0
    whole(memory)


def test_edges_that_rules_are_about_are_not_plain(memory: doxa.Memory) -> None:
    memory.run("CREATE CONSTRAINT w FOR ()-[r:WEIGHED]-() REQUIRE r.w IS NOT NULL")
    memory.run("CREATE INDEX by_w FOR ()-[r:INDEXED]-() ON (r.w)")
    with memory.store.write(memory.identity, op="test") as tx:
        guards = tx._guards
        ruled = {"WEIGHED", "INDEXED", *guards.edges, *guards.held_by, *guards.shown_by}
        ruled |= {*tx._declared.support, *tx._live_edges, *tx._search.followed}
        assert len(ruled) > 8
        assert [kind for kind in sorted(ruled) if tx.is_plain(kind)] == []
        assert tx.is_plain("KNOWS")
    memory.run(
        "CREATE DECAY PROFILE d OPTIONS {decayEnabled: true, halfLifeSeconds: 60, function:"
        " 'exponential'}"
    )
    memory.run("CREATE DECAY PROFILE b FOR ()-[r:FADING]-() APPLY { DECAY PROFILE 'd' }")
    with memory.store.write(memory.identity, op="test") as tx:
        assert not tx.is_plain("FADING")


def test_nodes_that_are_known_are_not_created_again(memory: doxa.Memory, tmp_path: Path) -> None:
    memory.run("CREATE (:Person {id: 3, name: 'kept'})")
    done = memory.load(people(tmp_path, 10), label="Person", key="id")
    assert (done.nodes, done.known) == (9, 1)
    assert memory.run("MATCH (n:Person {id: 3}) RETURN n.name").single() == "kept"
    again = memory.load(people(tmp_path, 10), label="Person", key="id", again=True)
    assert (again.nodes, again.known, again.changes) == (0, 10, ())
    text = written(tmp_path / "text.csv", "id,name\n3,another\n3,twice\n")
    assert memory.load(text, label="Person", key="id").nodes == 1  # a text is not an integer


def test_secrets_are_redacted(memory: doxa.Memory, tmp_path: Path) -> None:
    memory.load(people(tmp_path, 10), label="Person", key="id")
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    lines = ["src:int,dst:int,note", *[f"{n},{n + 1},the key is {key}" for n in range(9)], ""]
    done = memory.load(written(tmp_path / "e.csv", "\n".join(lines)), edge="KNOWS", **ENDS)
    assert done.redacted == 9
    notes = memory.run("MATCH ()-[r:KNOWS]->() RETURN r.note AS note").records()
    assert not any(key in str(row) for row in notes)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "id:int\n1\nx\n", "Row 2 of a.csv: 'x' is not the type of id"),
        ("a.csv", "id:int,name\n1\n", "Row 1 of a.csv: it has 1 values and the header 2"),
        ("a.csv", "id:whole\n1\n", "column 'id:whole' that cannot be used"),
        ("a.csv", "id:int,id\n1,2\n", "column 'id' that cannot be used"),
        ("a.csv", 'id,name\n"a"b,c\n', "it is not CSV"),
        ("a.csv", "id:int,name\n,c\n", "its id is absent"),
        ("a.jsonl", '{"id": 1}\n[1]\n', "Row 2 of a.jsonl: it is not a JSON object"),
        ("a.jsonl", '{"id": true}\n', "its id is absent, or not an integer or a text"),
        ("a.jsonl", '{"id": 1, "kref": "kref://a/b.fact"}\n', "address"),
        ("a.txt", "x", "not a file of rows"),
    ],
)
def test_what_cannot_be_used_is_refused(
    memory: doxa.Memory, tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(DoxaError) as caught:
        memory.load(written(tmp_path / name, text), label="Person", key="id")
    assert said in str(caught.value)
    assert memory.run("MATCH (n:Person) RETURN count(n)").single() == 0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"label": "A", "edge": "B"},
        {"label": "A", "start": "a:A.id"},
        {"edge": "A", "key": "id"},
        {"edge": "A", "start": "a", "end": "b:A.id"},
        {"edge": "A", "start": "a:A.id"},
        {"item": "kref", "label": "A"},
        {"item": "kref", "key": "id"},
    ],
)
def test_a_file_is_nodes_or_edges(memory: doxa.Memory, tmp_path: Path, given: Any) -> None:
    with pytest.raises(InputError):
        memory.load(people(tmp_path, 3), **given)


def test_an_edge_without_its_node_is_refused(memory: doxa.Memory, tmp_path: Path) -> None:
    memory.load(people(tmp_path, 5), label="Person", key="id")
    file = written(tmp_path / "e.csv", "src:int,dst:int\n1,2\n1,99\n")
    with pytest.raises(InputError, match="no node with the key 99"):
        memory.load(file, edge="KNOWS", **ENDS)
    assert memory.run("MATCH ()-[r]->() RETURN count(r)").single() == 0
    memory.run("CREATE (:Person {id: 99}), (:Person {id: 2})")
    with pytest.raises(InputError, match="Two nodes Person have the id 2"):
        memory.load(file, edge="KNOWS", **ENDS)


def test_a_load_goes_on_after_its_last_batch(
    memory: doxa.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading._Edges, "at_once", 10)
    memory.load(people(tmp_path, 20), label="Person", key="id")
    file = pairs(tmp_path, 95, 20)
    real, calls = loading.note_progress, [0]

    def interrupted(*given: Any) -> None:
        real(*given)
        calls[0] += 1
        if calls[0] % 3 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(loading, "note_progress", interrupted)
    stops = 0
    while True:
        try:
            done = memory.load(file, edge="KNOWS", **ENDS)
            break
        except KeyboardInterrupt:
            stops += 1
            edges = memory.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single()
            assert edges == 20 * stops
    assert stops == 4
    assert (done.continued, done.rows) == (80, 15)
    assert memory.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single() == 95
    assert memory.run("MATCH ()-[r:KNOWS]->() RETURN count(DISTINCT r.w)").single() == 95
    whole(memory)


def test_a_file_that_changed_meanwhile_is_refused(
    memory: doxa.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading._Nodes, "at_once", 5)
    file = written(tmp_path / "a.csv", "id:int\n" + "".join(f"{n}\n" for n in range(12)) + "x\n")
    with pytest.raises(InputError, match="Row 13"):
        memory.load(file, label="N")
    assert memory.run("MATCH (n:N) RETURN count(n)").single() == 10
    kept = file.read_text()
    file.write_text(kept.replace("\n3\n", "\n4\n"))
    with pytest.raises(InputError, match="no longer begins with these"):
        memory.load(file, label="N")
    file.write_text(kept.replace("x", "12"))
    done = memory.load(file, label="N")
    assert (done.continued, done.nodes) == (10, 3)
    assert memory.run("MATCH (n:N) RETURN count(n)").single() == 13
    assert memory.load(file, label="N") == Loaded(continued=13)
    with file.open("a") as grown:
        grown.write("13\n")
    done = memory.load(file, label="N")
    assert (done.continued, done.nodes) == (13, 1)
    assert memory.load(file, label="N", again=True).nodes == 14


def test_others_may_write_between_two_batches(
    memory: doxa.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading._Nodes, "at_once", 5)

    def written_by_another(count: int) -> None:
        if count == 5:
            memory.run("CREATE (:Person {id: 8})")

    done = loading.load_rows(
        memory.store,
        memory.identity,
        people(tmp_path, 20),
        label="Person",
        key="id",
        progress=written_by_another,
    )
    assert (done.nodes, done.known) == (19, 1)


def test_a_batch_can_be_undone(memory: doxa.Memory, tmp_path: Path) -> None:
    memory.load(people(tmp_path, 20), label="Person", key="id")
    done = memory.load(pairs(tmp_path, 30, 20), edge="KNOWS", **ENDS)
    memory.undo(done.changes[0])
    assert memory.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single() == 0
    whole(memory)


def test_a_bound_session_loads_into_its_project(memory: doxa.Memory, tmp_path: Path) -> None:
    shop, garden = (memory.session(projects=[name]) for name in ("shop", "garden"))
    shop.load(people(tmp_path, 10), label="Person", key="id")
    shop.load(pairs(tmp_path, 20, 10), edge="KNOWS", **ENDS)
    assert shop.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single() == 20
    assert garden.run("MATCH ()-[r:KNOWS]->() RETURN count(r)").single() == 0
    with pytest.raises(InputError, match="no node with the key"):
        garden.load(pairs(tmp_path, 20, 10), edge="KNOWS", **ENDS)
    whole(memory)


def test_edges_lie_where_their_ends_lie(tmp_path: Path) -> None:
    """Also those between two labels, and those of a node with itself."""
    rows = [(n, m, n % 2) for n in range(12) for m in (n, n + 1, n + 3) if m < 12]
    (tmp_path / "rows.csv").write_text(
        "src:int,dst:int,home:int\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    )
    kinds = {"KNOWS": ("src", "dst", "Person"), "HAS": ("src", "src", "Person")}
    kinds["LIVES"] = ("dst", "home", "Town")
    states = []
    for way in ("load", "one by one"):
        with doxa.open(tmp_path / f"{way}.db", role="operator", embedder=None) as memory:
            for n in range(12):
                shop, garden = (memory.session(projects=[name]) for name in ("shop", "garden"))
                (shop, garden, memory)[n % 3].run(
                    "CREATE (:Person {id: $id}), (:Town {id: $id})", {"id": n}
                )
            for kind, (start, end, label) in kinds.items():
                if way == "load":
                    ends = {"start": f"{start}:Person.id", "end": f"{end}:{label}.id"}
                    memory.load(tmp_path / "rows.csv", edge=kind, **ends)
                    continue
                for row in rows:
                    given = dict(zip(("src", "dst", "home"), row, strict=True))
                    memory.run(
                        f"MATCH (a:Person {{id: $start}}), (b:{label} {{id: $end}})"
                        f" CREATE (a)-[:{kind}]->(b)",
                        {"start": given[start], "end": given[end]},
                    )
            with memory.store.read() as snapshot:
                lying = "SELECT type, src, dst, project FROM main.edge"
                states.append(Counter(snapshot._db.execute(lying)))
            whole(memory)
    assert states[0] == states[1]
    assert {project for *_, project in states[0]} == {"shop", "garden", None}


LABELLED = "label='Person', key='id'"
JOINED = "edge='KNOWS', start='src:Person.id', end='dst:Person.id'"
STATED = "item='kref'"
IDS = "MATCH (n:Person) RETURN n.id AS w ORDER BY w"
WEIGHTS = "MATCH ()-[r:KNOWS]->() RETURN r.w AS w ORDER BY w"
NUMBERS = "MATCH (r:Revision) RETURN toInteger(split(r.summary, ' ')[2]) AS w ORDER BY w"


def many_people(folder: Path) -> Path:
    return people(folder, 3_000)


def many_pairs(folder: Path) -> Path:
    people(folder, 50)
    return pairs(folder, 3_000, 50)


def many_statements(folder: Path) -> Path:
    return statements(folder / "said.jsonl", 400)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL here")
@pytest.mark.parametrize(
    ("made", "at_once", "given", "asked", "count"),
    [
        (many_people, "load._Nodes.at_once = 20", LABELLED, IDS, 3_000),
        (many_pairs, "load._Edges.at_once = 20", JOINED, WEIGHTS, 3_000),
        (many_statements, "load.ItemRows.at_once = 10", STATED, NUMBERS, 400),
    ],
)
def test_a_killed_load_loses_and_doubles_nothing(
    tmp_path: Path,
    seed: int,
    tally: Callable[..., None],
    made: Callable[[Path], Path],
    at_once: str,
    given: str,
    asked: str,
    count: int,
) -> None:
    rng, path = random.Random(seed), tmp_path / "killed.db"
    file = made(tmp_path)
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        memory.run("CREATE INDEX FOR (p:Person) ON (p.id)")
        memory.run("CREATE INDEX FOR (p:Person) ON (p.name)")
        if made is many_pairs:
            memory.load(tmp_path / "people.csv", label="Person", key="id")
    code = (
        f"import sys, doxa; from doxa.transfer import load; {at_once}\n"
        "with doxa.open(sys.argv[1], role='operator', embedder=None, background=False) as m:\n"
        "    print('ready', flush=True)\n"
        f"    m.load(sys.argv[2], {given})"
    )
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(file)],
            stdout=subprocess.PIPE,
            env=os.environ | this_tree(),
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))
        if kills < 8:
            process.kill()
            process.communicate()
        else:
            process.communicate()
            assert process.returncode == 0
            break
        kills += 1
    tally(kills=kills)
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        assert [row["w"] for row in memory.run(asked).records()] == list(range(count))
        whole(memory)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("bad", "reason"), [(b"\xff\xfe", "not UTF-8"), (b"x" * 101, "longer than 100 bytes")]
)
def test_a_line_that_cannot_be_read_is_named_by_its_row(
    memory: doxa.Memory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    bad: bytes,
    reason: str,
) -> None:
    monkeypatch.setattr("doxa.transfer.row_files.IMPORT_LINE_BYTES_MAX", 100)
    header, row = (b"id\n", b"%d\n") if ending == "csv" else (b"", b'{"id": %d}\n')
    lines = [row % number for number in range(2_500)]
    lines[2_344] = bad + b"\n"
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(header + b"".join(lines))
    with pytest.raises(InputError, match=f"Row 2,345 of rows.{ending}: it is .*{reason}"):
        memory.load(path, label="Thing")


@pytest.mark.parametrize(
    ("ending", "header", "row"), [("csv", "id\n", "{}\n"), ("jsonl", "", '{{"id": {}}}\n')]
)
def test_empty_lines_at_the_end_do_not_keep_a_file_from_being_loaded_again(
    memory: doxa.Memory, tmp_path: Path, ending: str, header: str, row: str
) -> None:
    path = tmp_path / f"rows.{ending}"
    two = header + row.format(1) + "\n" + row.format(2) + "\n\n\n"
    path.write_text(two)
    assert memory.load(path, label="Thing").nodes == 2
    assert memory.load(path, label="Thing").continued == 2
    path.write_text(two + row.format(3))
    assert memory.load(path, label="Thing").nodes == 1
