"""Every way in which text reaches the file, tried with a credential: it is redacted where it is a
value and refused where it is a name, and no byte of the folder holds it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.errors import DoxaError, InputError
from tests.fixtures_shared import opened

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
PASSWORD = "hunter2" + "x!"
LOCATION = f"https://ana:{PASSWORD}@files.example/{TOKEN}"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        made.remember("A belief", name="belief")
        made.run("CREATE (:Login {id: 1})")
        yield made
        assert made.check() == []
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    for secret in (TOKEN, TOKEN[6:30], PASSWORD):
        assert secret.encode() not in held


B = "kref://p/belief.fact"
VALUES: dict[str, Callable[[doxa.Memory], object]] = {
    "a property that a query creates": lambda m: m.run("CREATE (:Login {a: $t})", {"t": TOKEN}),
    "a property that a query merges": lambda m: m.run("MERGE (:Login {a: $t})", {"t": TOKEN}),
    "a property that a query sets": lambda m: m.run("MATCH (n:Login) SET n.a = $t", {"t": TOKEN}),
    "a property that was there": lambda m: (
        m.run("MATCH (n:Login) SET n.a = 'x', n.password = 1, n.c = ['x']"),
        m.run("MATCH (n:Login) SET n.a = $t", {"t": TOKEN}),
        m.run("MATCH (n:Login) SET n.password = $p", {"p": PASSWORD}),
        m.run("MATCH (n:Login) SET n.c = n.c + $t", {"t": TOKEN}),
    ),
    "properties from a map": lambda m: m.run("MATCH (n:Login) SET n += {a: $t}", {"t": TOKEN}),
    "an entry of a list": lambda m: m.run("CREATE (:Login {a: ['x', $t]})", {"t": TOKEN}),
    "a literal of a query": lambda m: m.run(f"CREATE (:Login {{a: 'key {TOKEN}'}})"),
    "a part that is put together": lambda m: m.run(
        "UNWIND [$t] AS t CREATE (:Login {a: left(t, 10) + substring(t, 10)})", {"t": TOKEN}
    ),
    "a value under the name password": lambda m: m.run(
        "CREATE (:Login {password: $p, dbPassword: $p})", {"p": PASSWORD}
    ),
    "a property of an edge": lambda m: m.run(
        "MATCH (n:Login) CREATE (n)-[e:SEES {a: $t}]->(n) SET e.b = $t", {"t": TOKEN}
    ),
    "a belief": lambda m: m.remember(
        f"key {TOKEN}", title=TOKEN, topics=[TOKEN], keywords=[TOKEN], facts=[("a", "b", TOKEN)]
    ),
    "metadata": lambda m: m.remember("x", metadata={"a": TOKEN, "password": PASSWORD}),
    "metadata of an edge": lambda m: m.link(B, B + "?r=1", kind="ABOUT", metadata={"a": TOKEN}),
    "a location": lambda m: m.attach(B, "f", location=LOCATION),
    "a turn": lambda m: m.ingest(
        [{"text": f"it is {TOKEN}", "speaker": TOKEN, "id": TOKEN, "caption": TOKEN}],
        thread=TOKEN,
        session=TOKEN,
    ),
    "what a policy notes of an access": lambda m: (
        m.run("CREATE PROMOTION POLICY a FOR (n:Login) APPLY { ON ACCESS { SET n.q = $q } }"),
        m.run("MATCH (n:Login) RETURN n, $q", {"q": TOKEN}).records(),
        m.flush(),
    ),
    "what a session says of itself": lambda m: (
        m.run("CREATE PROMOTION POLICY a FOR (n:Login) APPLY { ON ACCESS { SET n.q = $_agent } }"),
        m.session(context={"agent": TOKEN}).run("MATCH (n:Login) RETURN n").records(),
        m.flush(),
    ),
    "a store's transaction": lambda m: _written(m),
}


def _written(memory: doxa.Memory) -> None:
    with memory.store.write(memory.identity, op="x", note=f"note {TOKEN}") as tx:
        node = tx.create_node(("A",), {"a": TOKEN})
        tx.set_node(node, {"b": TOKEN})
        edge = tx.create_edge("T", node, dst=node, props={"a": TOKEN})
        tx.set_edge(edge, {"b": TOKEN})
        assert set(tx.left_out) == {"github-token"}


@pytest.mark.parametrize("way", VALUES)
def test_a_value_is_redacted(memory: doxa.Memory, way: str) -> None:
    VALUES[way](memory)


def test_a_query_returns_what_is_stored(memory: doxa.Memory) -> None:
    row = memory.run("CREATE (n:Login {a: $t}) RETURN n.a", {"t": TOKEN}).single()
    assert row == "[redacted:github-token]"
    assert memory.run("MATCH (n:Login) WHERE n.a CONTAINS 'ghp' RETURN count(n)").single() == 0


NAMES: dict[str, Callable[[doxa.Memory], object]] = {
    "a label": lambda m: m.run(f"CREATE (:`{TOKEN}`)"),
    "a label that is set": lambda m: m.run(f"MATCH (n:Login) SET n:`{TOKEN}`"),
    "a computed label": lambda m: m.run("MATCH (n:Login) SET n:$($t)", {"t": TOKEN}),
    "a type": lambda m: m.run(f"MATCH (n:Login) CREATE (n)-[:`{TOKEN}`]->(n)"),
    "the name of a property": lambda m: m.run(f"MATCH (n:Login) SET n.`{TOKEN}` = 1"),
    "the name of a property in a map": lambda m: m.run(
        "MATCH (n:Login) SET n += $m", {"m": {TOKEN: 1}}
    ),
    "an index": lambda m: m.run(f"CREATE INDEX `{TOKEN}` FOR (n:A) ON (n.x)"),
    "an index on a name": lambda m: m.run(f"CREATE INDEX i FOR (n:A) ON (n.`{TOKEN}`)"),
    "a constraint": lambda m: m.run(f"CREATE CONSTRAINT `{TOKEN}` FOR (n:A) REQUIRE n.x IS UNIQUE"),
    "a policy": lambda m: m.run(f"CREATE DECAY PROFILE `{TOKEN}` OPTIONS {{halfLifeSeconds: 6}}"),
    "a value in a policy": lambda m: m.run(
        f"CREATE PROMOTION POLICY q FOR (n:A) APPLY {{ ON ACCESS {{ SET n.x = '{TOKEN}' }} }}"
    ),
    "an actor": lambda m: m.session(actor=TOKEN).remember("x"),
    "a project": lambda m: m.remember("x", project=TOKEN),
    "a space": lambda m: m.remember("x", space=TOKEN),
    "an item": lambda m: m.remember("x", name=TOKEN),
    "a kind": lambda m: m.remember("x", kind=TOKEN),
    "a tag": lambda m: m.tag(B, TOKEN),
    "an artifact": lambda m: m.attach(B, TOKEN, location="x"),
    "a bundle": lambda m: m.bundle(f"kref://p/{TOKEN}.bundle", add=[B]),
    "the name of metadata": lambda m: m.remember("x", metadata={TOKEN: 1}),
}


@pytest.mark.parametrize("way", NAMES)
def test_a_name_is_refused(memory: doxa.Memory, way: str) -> None:
    with pytest.raises((InputError, DoxaError)) as refused:
        NAMES[way](memory)
    assert "github-token" in str(refused.value) and TOKEN not in str(refused.value)
