"""Files of rows as nodes and edges: in bulk, as if queries had created them, and whole after any
interruption."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.errors import DoxaError, InputError
from doxa.store import check, digest, replayed_digest, verify_log
from doxa.transfer import load as loading
from doxa.transfer.load import Loaded

ROOT = Path(__file__).parents[2]
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


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL here")
def test_a_killed_load_loses_and_doubles_nothing(
    tmp_path: Path, seed: int, tally: Callable[..., None]
) -> None:
    rng, path = random.Random(seed), tmp_path / "killed.db"
    people(tmp_path, 50)
    file = pairs(tmp_path, 3_000, 50)
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        memory.load(tmp_path / "people.csv", label="Person", key="id")
    code = (
        "import sys, doxa; from doxa.transfer import load; load._Edges.at_once = 20\n"
        "with doxa.open(sys.argv[1], role='operator', embedder=None, background=False) as m:\n"
        "    print('ready', flush=True)\n"
        "    m.load(sys.argv[2], edge='KNOWS', start='src:Person.id', end='dst:Person.id')"
    )
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(file)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
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
        numbers = memory.run("MATCH ()-[r:KNOWS]->() RETURN r.w AS w ORDER BY w").records()
        assert [row["w"] for row in numbers] == list(range(3_000))
        whole(memory)
