"""What Cypher wrote can be erased: no byte of it stays in the file, and the log still proves the
state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.app import Memory, open_memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConfirmationError, ConflictError, RoleError
from doxa.maintenance.erasing import erase_elements, erase_text
from doxa.store import Identity, check, digest, replayed_digest, verify_log

CANARY = "Zqxcanary \u00fc\"O'Brien"
OPERATOR = Identity("op", "operator")
AGENT = Identity("a", "agent")


def require_sound(memory: Memory) -> None:
    assert check(memory.store) == []
    assert replayed_digest(memory.store) == digest(memory.store)
    verify_log(memory.store)


def require_gone(memory: Memory, text: str = "zqxcanary") -> None:
    """Close the file and look at every byte of it and of what lies next to it."""
    require_sound(memory)
    path = memory.config.path
    memory.close()
    for name in path.parent.glob(f"{path.name}*"):
        assert text.encode() not in name.read_bytes().lower(), name


def one(memory: Memory, query: str) -> str:
    """Return the first column of the first row."""
    return str(next(iter(memory.run(query)))[0])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db", role="operator", embedder=None) as opened:
        opened.run("CREATE INDEX people FOR (p:Person) ON (p.ssn)")
        opened.run(
            "CREATE (p:Person {name: 'Ana', ssn: $s, n: 1})-[:KNOWS {how: $s}]->(:Person)",
            {"s": CANARY},
        )
        opened.run("MATCH (p:Person {name: 'Ana'}) SET p.ssn = 'other'")
        opened.run("MATCH (:Person)-[r:KNOWS]->() SET r.how = 'work'")
        yield opened


def test_a_property_is_erased_from_every_version(memory: Memory) -> None:
    memory.run("MATCH (p:Person {name: 'Ana'}) SET p.ssn = $s", {"s": CANARY})
    node = one(memory, "MATCH (p:Person {name: 'Ana'}) RETURN elementId(p) AS id")
    edge = one(memory, "MATCH ()-[r:KNOWS]->() RETURN elementId(r) AS id")
    for element, name in ((node, "ssn"), (edge, "how")):
        shown = erase_elements(memory.store, OPERATOR, [element], properties=[name], preview=True)
        assert not shown.done and shown.krefs == (f"{element}.{name}",)
        done = erase_elements(
            memory.store, OPERATOR, [element], properties=[name], confirm=shown.token
        )
        assert done.done and done.note == ""
    assert next(iter(memory.run("MATCH (p:Person {n: 1}) RETURN properties(p)")))[0] == {
        "name": "Ana",
        "n": 1,
    }
    require_gone(memory)


def test_a_node_without_an_address_is_erased_with_its_past(memory: Memory) -> None:
    node = one(memory, "MATCH (p:Person {name: 'Ana'}) RETURN elementId(p) AS id")
    memory.run("MATCH (p:Person {name: 'Ana'}) DETACH DELETE p")
    shown = erase_elements(memory.store, OPERATOR, [node], preview=True)
    erase_elements(memory.store, OPERATOR, [node], confirm=shown.token)
    require_gone(memory)


def test_every_occurrence_of_a_text_is_erased(memory: Memory) -> None:
    memory.run(f"CREATE (:`{CANARY}` {{a: 1}}), (:Plain {{`{CANARY}`: 1, kept: 2}})")
    memory.run(f"MATCH (p:Person {{name: 'Ana'}}) CREATE (p)-[:`R {CANARY}`]->(p)")
    memory.run(f"CREATE INDEX `{CANARY}` FOR (p:Plain) ON (p.kept)")
    memory.run("CREATE (:Shout {text: toUpper($s)})", {"s": CANARY})
    memory.remember(f"{CANARY} lives in Graz", project="p", kind="note")
    memory.remember("The bridge is closed", project="p", kind="note")
    with pytest.raises(ConflictError, match="schema"):
        erase_text(memory.store, OPERATOR, CANARY, preview=True)
    memory.run(f"DROP INDEX `{CANARY}`")
    shown = erase_text(memory.store, OPERATOR, CANARY, preview=True)
    with pytest.raises(ConfirmationError):
        erase_text(memory.store, OPERATOR, CANARY)
    with pytest.raises(RoleError):
        erase_text(memory.store, AGENT, CANARY, confirm=shown.token)
    erase_text(memory.store, OPERATOR, CANARY, confirm=shown.token)
    assert memory.recall("bridge", project="p").hits
    assert next(iter(memory.run("MATCH (n:Plain) RETURN properties(n)")))[0] == {"kept": 2}
    require_gone(memory)


def test_what_only_the_log_still_holds_is_erased(memory: Memory) -> None:
    """A value written and overwritten in one transaction leaves no version, but a payload."""
    with memory.store.write(OPERATOR, op="x") as tx:
        node = tx.create_node(("Brief",), {"t": CANARY})
        tx.set_node(node, {"t": "short"})
        edge = tx.create_edge("E", node, dst=node, props={"t": CANARY})
        tx.delete_edge(edge)
    shown = erase_text(memory.store, OPERATOR, CANARY, preview=True)
    erase_text(memory.store, OPERATOR, CANARY, confirm=shown.token)
    require_gone(memory)


def test_a_belief_is_not_taken_apart_by_ids(memory: Memory) -> None:
    memory.remember("Ana likes tea", project="p", kind="note")
    query = "MATCH (i:Item)-[r:HAS_REVISION]->() RETURN elementId(i), elementId(r)"
    for element in next(iter(memory.run(query))):
        with pytest.raises(ConflictError, match="address"):
            erase_elements(memory.store, OPERATOR, [element], preview=True)


def test_a_hold_stops_an_erasure(memory: Memory) -> None:
    with memory.store.write(OPERATOR, op="hold") as tx:
        tx.set_catalogue(
            "hold:case 7", {"kind": "text", "value": "other", "reason": "suit", "time": 1}
        )
    node = one(memory, "MATCH (p:Person {name: 'Ana'}) RETURN elementId(p) AS id")
    before = digest(memory.store)
    for given in ([], ["ssn"]):
        shown = erase_elements(memory.store, OPERATOR, [node], properties=given, preview=True)
        with pytest.raises(ConflictError, match="case 7"):
            erase_elements(memory.store, OPERATOR, [node], properties=given, confirm=shown.token)
    assert digest(memory.store) == before


def test_the_name_of_a_label_that_retention_noted_is_erased(
    tmp_path: Path, clock: FakeClock
) -> None:
    with open_memory(
        tmp_path / "m.db", role="operator", embedder=None, clock=clock, background=False
    ) as memory:
        memory.run("CREATE (:Zqxcanary {v: 1}), (:Other {v: 1})")
        then = clock.now_ns()
        clock.advance(days=1)
        memory.run("MATCH (n:Zqxcanary) SET n.v = 2")
        clock.advance(days=9)
        memory.run("CREATE RETENTION POLICY all FOR (n) KEEP PAST 1 DAY")
        assert memory.retain().versions == 1
        shown = memory.erase(text="zqxcanary", preview=True)
        memory.erase(text="zqxcanary", confirm=shown.token)
        with pytest.raises(ConflictError, match="retention policy"):
            memory.run(f"AS OF SYSTEM TIME {then} MATCH (n:Other) RETURN n")
        require_gone(memory)


PLACES = (
    "CREATE (:Card {v: $s, n: $n})",
    "CREATE (:Card {v: [$s, 'kept'], n: $n})",
    "CREATE (:Card {v: $long, n: $n})",
    "CREATE (:Card {v: toUpper($s), n: $n})",
    "CREATE (:Card {`$raw`: 1, n: $n})",
    "CREATE (:`$raw` {n: $n})",
    "MATCH (c:Card) WITH c LIMIT 1 CREATE (c)-[:`$raw`]->(:Card {n: $n})",
    "MATCH (c:Card) WITH c LIMIT 1 CREATE (c)-[:TO {w: $s}]->(:Card {n: $n})",
    "CREATE (c:Card {v: $s, n: $n}) SET c.v = 'short'",
    "CREATE (c:Card {v: $s, n: $n}) DETACH DELETE c",
    "MATCH (c:Card) WITH c LIMIT 2 SET c.w = $s",
    "MATCH (c:Card) WITH c LIMIT 2 SET c:`$raw`",
    "MATCH (c:Card) WITH c LIMIT 2 REMOVE c.w, c:`$raw`",
    "MATCH (c:Card {n: $n - 2}) DETACH DELETE c",
    "MATCH ()-[r:TO]->() WITH r LIMIT 1 SET r.w = 'other'",
    "MERGE (c:Card {v: $s}) ON MATCH SET c.n = $n",
)


def test_a_text_is_erased_wherever_cypher_put_it(
    tmp_path: Path, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    """Random graphs that hold a text in every place that Cypher has, now, before or only in the
    log: after the erasure no byte is left, and what does not hold it stays."""
    rng, statements = random.Random(seed), 0
    for turn in range(2 * campaign):
        with open_memory(
            tmp_path / f"{turn}.db", role="operator", embedder=None, background=False
        ) as memory:
            memory.run("CREATE (:Plain {n: 0}), (:Card {n: -1})")
            for number in range(rng.randint(10, 25)):
                text = rng.choice(PLACES).replace("$raw", CANARY)
                long = "x" * rng.choice((0, 100, 3_000, 9_000)) + CANARY + "y" * rng.randint(0, 99)
                memory.run(text, {"s": CANARY, "long": long, "n": number})
                statements += 1
            memory.run("CREATE (:Brief {v: $s})", {"s": CANARY.lower()})
            shown = erase_text(memory.store, OPERATOR, CANARY, preview=True)
            assert erase_text(memory.store, OPERATOR, CANARY, confirm=shown.token).done
            assert one(memory, "MATCH (p:Plain) RETURN p.n") == "0"
            require_gone(memory)
    tally(graphs_erased_from=2 * campaign, statements_with_the_text=statements)
