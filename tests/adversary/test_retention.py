"""Retention drops what its policies do not keep and nothing else: whatever is asked within the
horizon is answered as before, what lies before it is refused, and the log still gives the state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory, open_memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from doxa.store.retention.dropping import retain

ANA = Identity("ana", "operator")
DAY = 86_400_000_000_000


def policy(store: Store, name: str = "p", **given: Any) -> None:
    """Declare a policy; spans in days."""
    value: dict[str, Any] = {"edge": False, "names": [], "project": None}
    for part in ("past", "log", "accesses"):
        value[part] = None
    value |= {
        key: one * DAY if isinstance(one, int) and key in ("past", "log", "accesses") else one
        for key, one in given.items()
    }
    with store.write(ANA, op="policy") as tx:
        tx.set_catalogue(f"retention:{name}", value)


def require_sound(store: Store) -> None:
    assert check(store) == []
    assert replayed_digest(store) == digest(store)
    verify_log(store)


def write_at_random(store: Store, clock: FakeClock, rng: random.Random, steps: int) -> None:
    for step in range(steps):
        clock.advance(seconds=rng.choice((1, 3_600, 86_400)))
        with store.write(ANA, op=f"s{step}") as tx:
            nodes = [row[0] for row in tx.rows("SELECT id FROM node ORDER BY id")]
            edges = [row[0] for row in tx.rows("SELECT id FROM edge ORDER BY id")]
            for _ in range(rng.randint(1, 3)):
                kind = rng.randrange(6)
                if kind == 0 or len(nodes) < 2:
                    nodes.append(
                        tx.create_node(rng.sample(("A", "B"), rng.randint(0, 2)), {"v": step})
                    )
                elif kind <= 2:
                    tx.set_node(
                        rng.choice(nodes),
                        {"v": rng.random()},
                        labels=rng.choice((None, ("A",), ("B",))),
                    )
                elif kind == 3 or not edges:
                    src, dst = rng.choice(nodes), rng.choice(nodes)
                    edges.append(tx.create_edge(rng.choice("EF"), src, dst=dst, props={"w": step}))
                elif kind == 4:
                    tx.set_edge(rng.choice(edges), {"w": rng.random()})
                else:
                    gone = rng.choice(edges)
                    edges.remove(gone)
                    tx.delete_edge(gone)


def as_of(store: Store, time: int) -> list[Any]:
    """Return the whole graph of a time, from the rows."""
    with store.read() as snapshot:
        nodes = snapshot.rows(
            "SELECT id, labels, json(props) FROM node WHERE since <= ?1 UNION ALL SELECT id,"
            " labels, json(props) FROM node_past WHERE since <= ?1 AND until > ?1 ORDER BY 1",
            (time,),
        )
        edges = snapshot.rows(
            "SELECT id, type, src, dst, json(props) FROM edge WHERE since <= ?1 UNION ALL SELECT"
            " id, type, src, dst, json(props) FROM edge_past WHERE since <= ?1 AND until > ?1"
            " ORDER BY 1",
            (time,),
        )
    return [*nodes, *edges]


def test_what_lies_within_the_horizon_is_answered_as_before(
    tmp_path: Path, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    times = 0
    for turn in range(6 * campaign):
        clock = FakeClock()
        with Store(tmp_path / f"{turn}.db", clock=clock) as store:
            times += drop_and_compare(store, clock, random.Random(f"{seed} {turn}"))
    tally(retained_files=6 * campaign, times_compared=times)


def drop_and_compare(store: Store, clock: FakeClock, rng: random.Random) -> int:
    """Write and drop at random; return how many answers of the past were compared."""
    compared = 0
    for name, edge, names in (("n", False, []), ("e", True, ["E"])):
        policy(
            store,
            name,
            edge=edge,
            names=names,
            past=rng.choice((1, 2)),
            log=rng.choice((1, 4)),
            accesses=1,
        )
    with store.write(ANA, op="index") as tx:
        tx.set_catalogue(
            "index:v",
            {
                "id": 1,
                "kind": "range",
                "edge": False,
                "names": ["A"],
                "properties": ["v"],
                "options": {},
                "owner": None,
            },
        )
    known: dict[int, list[Any]] = {}
    for _ in range(4):
        write_at_random(store, clock, rng, 12)
        with store.read() as snapshot:
            known |= {
                receipt.time: as_of(store, receipt.time)
                for receipt in snapshot.receipts(limit=30)
                if receipt.time not in known
            }
        done = retain(store, ANA)
        require_sound(store)
        again = retain(store, ANA)
        assert (again.versions, again.payloads, again.accesses) == (0, 0, 0), done
        horizon = clock.now_ns() - DAY
        for time, answer in known.items():
            if time >= horizon:
                assert as_of(store, time) == answer, time
                compared += 1
    assert verify_log(store).erased > 0, done
    return compared


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with open_memory(
        tmp_path / "m.db", role="operator", embedder=None, clock=clock, background=False
    ) as opened:
        yield opened


def first(memory: Memory, query: str) -> Any:
    return next(iter(memory.run(query)))[0]


def test_before_the_horizon_there_is_no_wrong_answer(memory: Memory, clock: FakeClock) -> None:
    memory.run("CREATE (:Log {v: 1})-[:NEXT]->(:Log {v: 1}), (:Note {v: 1})")
    memory.remember("Ana likes tea", project="p", kind="note")
    clock.advance(seconds=3_600)
    then = clock.now_ns()
    clock.advance(seconds=3_600)
    memory.run("MATCH (n) WHERE n:Log OR n:Note SET n.v = 2")
    clock.advance(seconds=86_400 * 3)
    policy(memory.store, names=["Log"], past=1)
    assert retain(memory.store, ANA, preview=True).versions == 2
    assert retain(memory.store, ANA).versions == 2
    asked = f"AS OF SYSTEM TIME {then}"
    for query in (
        "MATCH (n:Log) RETURN n.v",
        "MATCH (n) RETURN n.v",
        "MATCH (:Note) MATCH (n) RETURN n.v",
        "MATCH (n:Note|Log) RETURN n.v",
        "MATCH (n:!Note) RETURN n.v",
        "MATCH (n:Note) RETURN EXISTS { (n)-->(:Log) }",
        "MATCH (n:Note) RETURN COUNT { MATCH (m) }",
    ):
        with pytest.raises(Exception, match="retention policy"):
            list(memory.run(f"{asked} {query}"))
    assert [tuple(row) for row in memory.run(f"{asked} MATCH (n:Note) RETURN n.v")] == [(1,)]
    assert memory.recall("tea", project="p", as_of=then).hits
    policy(memory.store, "tags", edge=True, past=1)
    memory.run("MATCH (:Log)-[r:NEXT]->() SET r.x = 1")
    require_sound(memory.store)


def test_undo_of_a_dropped_change_is_refused(memory: Memory, clock: FakeClock) -> None:
    memory.run("CREATE (a:Log {v: 1})-[:NEXT {w: 1}]->(b:Log {v: 1})")
    clock.advance(seconds=60)
    memory.run("MATCH (n:Log) SET n.v = 2")
    edited = memory.log(limit=1)[0].tx
    clock.advance(seconds=60)
    memory.run("MATCH ()-[r:NEXT]->() DELETE r")
    removed = memory.log(limit=1)[0].tx
    clock.advance(seconds=86_400 * 3)
    policy(memory.store, past=1)
    policy(memory.store, "e", edge=True, names=["NEXT"], past=1)
    retain(memory.store, ANA)
    for change in (edited, removed):
        with pytest.raises(ConflictError, match="retention policy"):
            memory.undo(change)
    policy(memory.store, "l", log=1)
    clock.advance(seconds=86_400 * 3)
    assert retain(memory.store, ANA).payloads > 0
    with pytest.raises(ConflictError, match="cannot be undone"):
        memory.undo(memory.log(limit=1)[0].tx)
    with pytest.raises(ConflictError, match="retention policy"):
        memory.undo(edited)
    require_sound(memory.store)


def test_a_project_and_a_hold_bound_what_goes(memory: Memory, clock: FakeClock) -> None:
    for project in ("one", "two"):
        made = memory.remember("Ana likes tea", project=project, kind="note")
        memory.forget(made.change.kref.partition("?")[0])
        clock.advance(seconds=60)
    clock.advance(seconds=86_400 * 9)
    policy(memory.store, project="one", past=1, log=1)
    with memory.store.write(ANA, op="hold") as tx:
        tx.set_catalogue("hold:suit", {"kind": "project", "value": "one", "reason": "r", "time": 1})
    held = retain(memory.store, ANA)
    assert held.versions == held.payloads == 0 and held.held > 0
    with memory.store.write(ANA, op="release") as tx:
        tx.set_catalogue("hold:suit", None)
    done = retain(memory.store, ANA)
    assert done.versions > 0 and done.payloads > 0
    with memory.store.read() as snapshot:
        left = snapshot.rows("SELECT DISTINCT kref FROM node_past WHERE kref IS NOT NULL")
    assert left and all("/two" in row[0] or "//two" in row[0] for row in left)
    require_sound(memory.store)


def test_dropped_values_leave_the_file(memory: Memory, clock: FakeClock) -> None:
    memory.run("CREATE (:Log {v: 'zqxcanary'})")
    memory.run("MATCH (n:Log) SET n.v = 'x'")
    clock.advance(seconds=86_400 * 9)
    policy(memory.store, names=["Log"], past=1, log=1)
    retain(memory.store, ANA)
    assert memory.store.scrub() == ""
    memory.close()
    for name in Path(memory.store.path).parent.glob("m.db*"):
        assert b"zqxcanary" not in name.read_bytes()


def test_policies_are_declared_listed_and_dropped_in_cypher(memory: Memory) -> None:
    made = (
        "CREATE RETENTION POLICY logs FOR (n:Log) IN PROJECT 'p' KEEP PAST 30 DAYS, LOG PAYLOADS"
        " 12 weeks, ACCESSES 1 HOUR"
    )
    memory.run(made)
    shown = [tuple(row) for row in memory.run("SHOW RETENTION POLICIES")]
    assert shown == [
        ("logs", "NODE", "(:Log)", "p", 30 * 86_400, 12 * 7 * 86_400, 3_600),
    ]
    with pytest.raises(Exception, match="already"):
        memory.run(made)
    memory.run("CREATE OR REPLACE RETENTION POLICY logs FOR ()-[r:R]-() KEEP PAST 2 SECONDS")
    rows = memory.run("SHOW RETENTION POLICIES YIELD name, target, pastSeconds WHERE true")
    assert [tuple(row) for row in rows] == [("logs", "()-[:R]-()", 2)]
    memory.run("DROP RETENTION POLICY logs")
    memory.run("DROP RETENTION POLICY logs IF EXISTS")
    with pytest.raises(Exception, match="Unknown retention policy"):
        memory.run("DROP RETENTION POLICY logs")
    for wrong in ("KEEP", "KEEP PAST", "KEEP PAST 3", "KEEP PAST 1 DAY, PAST 2 DAYS", ""):
        with pytest.raises(Exception, match=r"Expected|twice"):
            memory.run(f"CREATE RETENTION POLICY x FOR (n:A) {wrong}")
    agent = memory.session(role="agent")
    with pytest.raises(Exception, match="operator"):
        agent.run("CREATE RETENTION POLICY x FOR (n:A) KEEP PAST 1 DAY")
