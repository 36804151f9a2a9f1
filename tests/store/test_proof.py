"""The store proves itself: no altered byte of the log passes, replay equals the state, erased bytes
are gone, planted damage is named."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import CorruptError
from doxa.base.ids import EdgeId, NodeId
from doxa.store import (
    Identity,
    Reader,
    Store,
    check,
    codes_of,
    digest,
    replayed_digest,
    unpack_vectors,
    verify_log,
)
from doxa.store.indexing.search_rows import COUNT_MAX, RECORD

ANA = Identity("ana", "operator")
CANARY = "zqxcanary"
RULE = {"text": ["title", "text"], "live_edge": "CURRENT", "off": "deprecated", "prev_edge": "NEXT"}


def plant(path: str | Path, *statements: str) -> None:
    """Write behind doxa's back, as an attacker with the file would."""
    raw = apsw.Connection(str(path))
    raw.execute("DROP TRIGGER IF EXISTS log_is_append_only; DROP TRIGGER IF EXISTS log_is_kept")
    for statement in statements:
        raw.execute(statement)
    raw.close()


def wander(store: Store, clock: FakeClock, *, seed: int, steps: int = 120) -> None:
    """Random writes of every kind, among them refused and empty ones."""
    rng = random.Random(seed)
    nodes: list[NodeId] = []
    edges: dict[EdgeId, tuple[NodeId, NodeId]] = {}
    for step in range(steps):
        clock.advance(seconds=rng.choice((0, 0, 1, -1)))
        with store.write(ANA, op=f"s{step}") as tx:
            for _ in range(rng.randint(0, 4)):
                kind = rng.randrange(8)
                if kind <= 1 or len(nodes) < 2:
                    nodes.append(
                        tx.create_node(
                            rng.sample(("A", "B", "C"), rng.randint(0, 3)),
                            {"n": rng.random(), "t": "é\u2028" * rng.randint(0, 2)},
                        )
                    )
                elif kind == 2:
                    tx.set_node(
                        rng.choice(nodes),
                        {"n": rng.choice((1, 1.0, True, -0.0, 1e300))},
                        labels=rng.choice((None, ("A",), ("B", "C"))),
                    )
                elif kind == 3 or not edges:
                    ends = rng.choice(nodes), rng.choice(nodes)
                    edges[
                        tx.create_edge(
                            rng.choice(("E", "F")), ends[0], dst=ends[1], props={"w": step}
                        )
                    ] = ends
                elif kind == 4:
                    tx.set_edge(rng.choice(list(edges)), {"w": [step, "x"]})
                elif kind == 5:
                    gone = rng.choice(list(edges))
                    del edges[gone]
                    tx.delete_edge(gone)
                elif kind == 6:
                    tx.set_catalogue(
                        f"note:{rng.randrange(3)}", rng.choice((None, {"b": 1, "a": [1.5]}))
                    )
                else:
                    node = rng.choice(nodes)
                    touching = [edge for edge, ends in edges.items() if node in ends]
                    if rng.random() < 0.3:
                        tx.erase([node])
                    else:
                        for edge in touching:
                            tx.delete_edge(edge)
                        tx.delete_node(node)
                    nodes.remove(node)
                    for edge in touching:
                        del edges[edge]


@pytest.mark.parametrize("seed", range(6))
def test_replay_of_the_log_gives_the_state(store: Store, clock: FakeClock, seed: int) -> None:
    wander(store, clock, seed=seed)
    assert replayed_digest(store) == digest(store)
    assert check(store) == []
    with store.read() as snapshot:
        assert verify_log(store).receipts == len(snapshot.receipts(limit=1_000))


@pytest.fixture
def written(tmp_path: Path, clock: FakeClock) -> Path:
    path = tmp_path / "w.db"
    with Store(path, clock=clock) as store:
        wander(store, clock, seed=99, steps=40)
        with store.write(ANA, op="last", note="a note") as tx:
            tx.create_node(("A",), {"n": 1})
        assert verify_log(store).entries > 20
    return path


ALTERATIONS = {
    "log op": "UPDATE log SET op = 'node.delete' WHERE seq = 5",
    "log element": "UPDATE log SET element = element + 1 WHERE seq = 5",
    "log tx": "UPDATE log SET tx = tx + 1 WHERE seq = 5",
    "log payload hash": "UPDATE log SET payload_hash = randomblob(32) WHERE seq = 5",
    "log hash": "UPDATE log SET hash = randomblob(32) WHERE seq = 5",
    "log row removed": "DELETE FROM log WHERE seq = 5",
    "log row renumbered": "UPDATE log SET seq = 10000 WHERE seq = (SELECT max(seq) FROM log)",
    "log row added": (
        "INSERT INTO log SELECT seq + 1, tx, op, element, payload_hash, hash FROM log ORDER BY seq"
        " DESC LIMIT 1"
    ),
    "last log row removed": "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
    "payload": (
        "UPDATE log_payload SET payload = replace(payload, '1', '2') WHERE seq = (SELECT max(seq)"
        " FROM log_payload)"
    ),
    "payload byte": (
        "UPDATE log_payload SET payload = CAST(replace(payload, '1', '2') AS BLOB) WHERE seq ="
        " (SELECT max(seq) FROM log_payload)"
    ),
    "receipt head as text": "UPDATE receipt SET head = hex(head) WHERE tx = 2",
    "log hash as text": "UPDATE log SET hash = hex(hash) WHERE seq = 5",
    "log payload hash as text": "UPDATE log SET payload_hash = hex(payload_hash) WHERE seq = 5",
    "salt": (
        "UPDATE log_payload SET salt = randomblob(16) WHERE seq = (SELECT max(seq) FROM"
        " log_payload)"
    ),
    "payloads swapped": (
        "UPDATE log_payload SET (salt, payload) = (SELECT salt, payload FROM log_payload ORDER BY"
        " seq DESC LIMIT 1)"
    ),
    "receipt actor": "UPDATE receipt SET actor = 'eve' WHERE tx = 2",
    "receipt role": "UPDATE receipt SET role = 'system' WHERE tx = 2",
    "receipt op": "UPDATE receipt SET op = 'other' WHERE tx = 2",
    "receipt time": "UPDATE receipt SET time = time + 1 WHERE tx = (SELECT max(tx) FROM receipt)",
    "receipt note": "UPDATE receipt SET note = '' WHERE op = 'last'",
    "receipt first": "UPDATE receipt SET first_seq = first_seq + 1 WHERE tx = 2",
    "receipt last": (
        "UPDATE receipt SET last_seq = last_seq - 1 WHERE tx = (SELECT max(tx) FROM receipt)"
    ),
    "receipt last node": "UPDATE receipt SET last_node = last_node + 1 WHERE tx = 2",
    "receipt last edge": "UPDATE receipt SET last_edge = last_edge + 1 WHERE tx = 2",
    "receipt head": "UPDATE receipt SET head = randomblob(32) WHERE tx = 2",
    "receipt hash": "UPDATE receipt SET hash = randomblob(32) WHERE tx = 2",
    "last receipt hash": (
        "UPDATE receipt SET hash = randomblob(32) WHERE tx = (SELECT max(tx) FROM receipt)"
    ),
    "last receipt removed": "DELETE FROM receipt WHERE tx = (SELECT max(tx) FROM receipt)",
    "a receipt removed": "DELETE FROM receipt WHERE tx = 2",
    "all receipts removed": "DELETE FROM receipt",
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_no_alteration_of_the_log_passes(written: Path, what: str) -> None:
    plant(written, ALTERATIONS[what])
    with Store(written) as store, pytest.raises(CorruptError, match="does not verify") as caught:
        verify_log(store)
    assert "Keep the file" in caught.value.next_step


def test_every_byte_of_a_payload_counts(written: Path) -> None:
    raw = apsw.Connection(str(written))
    seq, payload = raw.execute(
        "SELECT seq, payload FROM log_payload ORDER BY seq DESC LIMIT 1"
    ).fetchone()  # type: ignore[misc]
    for position in range(len(payload)):
        changed = bytearray(payload)
        changed[position] ^= 1
        raw.execute("UPDATE log_payload SET payload = ? WHERE seq = ?", (bytes(changed), seq))
        with Store(written) as store, pytest.raises(CorruptError, match=f"Log entry {seq}"):
            verify_log(store)
    raw.execute("UPDATE log_payload SET payload = ? WHERE seq = ?", (payload, seq))
    raw.close()
    with Store(written) as store:
        assert verify_log(store).receipts > 1


def test_a_missing_payload_is_erased_not_broken(written: Path) -> None:
    with Store(written) as store:
        before = verify_log(store)
    plant(written, "DELETE FROM log_payload WHERE seq = (SELECT min(seq) FROM log_payload)")
    with Store(written) as store:
        assert verify_log(store) == before._replace(erased=before.erased + 1)


def test_the_log_resists_plain_sql(written: Path) -> None:
    raw = apsw.Connection(str(written))
    for statement in ("UPDATE log SET op = 'x'", "DELETE FROM log"):
        with pytest.raises(apsw.ConstraintError, match="append-only"):
            raw.execute(statement)
    raw.close()


def test_a_changed_state_differs_from_the_replay(written: Path) -> None:
    plant(
        written, "UPDATE node SET props = jsonb('{\"n\":42}') WHERE id = (SELECT max(id) FROM node)"
    )
    with Store(written) as store:
        verify_log(store)
        assert digest(store) != replayed_digest(store)


# Erasure


def test_erased_content_is_gone_from_every_byte(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "e.db"
    with Store(path, clock=clock) as store:
        with store.write(ANA, op="rules") as tx:
            tx.set_catalogue("search:Doc", RULE | {"live_edge": "", "prev_edge": ""})
        with store.write(ANA, op="a") as tx:
            kept = tx.create_node(("Doc",), {"text": "green tea stays", "project": "p"})
            node = tx.create_node(
                ("Doc", "Other"), {"text": f"{CANARY} secret tea", "project": "p"}
            )
            edge = tx.create_edge("E", kept, dst=node, props={"why": CANARY})
        with store.write(ANA, op="vectors") as tx:
            tx.put_vectors(scope_of(tx), 1, model="fake", vectors={0: both(CANARY.encode() * 10)})
            tx.begin_vectors("coming")
            assert tx.put_vectors(
                scope_of(tx),
                1,
                model="coming",
                vectors={0: both(CANARY.encode() * 20)},
                coming=True,
            )
        with store.write(ANA, op="b") as tx:
            tx.set_node(
                node,
                {"text": f"{CANARY} secret tea", "project": "p", "deprecated": True, "n": CANARY},
            )
            tx.set_edge(edge, {"why": CANARY + "2"})
        assert CANARY.encode() in everything(path)
        with store.write(ANA, op="erase") as tx:
            assert tx.erase([node]) == 4
        store.scrub()
        assert CANARY.encode() not in everything(path)
        assert b"green tea stays" in everything(path)
        with store.read() as snapshot:
            assert snapshot.node(node) is None
            assert snapshot.node_history(node) == []
            assert snapshot.edges_out(kept) == [] == snapshot.edges_as_of(kept, tx.now - 1)
            for table in ("vector", "vector_code", "vector_next", "vector_code_next"):
                assert snapshot.rows(f"SELECT count(*) FROM {table}") == [(0,)]
            assert snapshot.rows("SELECT scope, doc FROM vector_next_due") == [
                (scope_of(snapshot), 0)
            ]
            assert [entry.op for entry in snapshot.log() if entry.payload is None] == [
                "node.create",
                "edge.create",
                "node.set",
                "edge.set",
            ]
        assert verify_log(store).erased == 4
        assert replayed_digest(store) == digest(store)
        assert check(store) == []
        with store.write(ANA, op="after") as tx:
            assert tx.create_node(("Doc",), {"text": "new", "project": "p"}) == node + 1
        assert check(store) == []


def test_a_set_that_is_not_wanted_any_more_keeps_no_erased_text(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "e.db"
    with Store(path, clock=clock) as store:
        with store.write(ANA, op="rules") as tx:
            tx.set_catalogue("search:Doc", RULE | {"live_edge": "", "prev_edge": ""})
        with store.write(ANA, op="a") as tx:
            node = tx.create_node(("Doc",), {"text": "secret tea", "project": "p"})
        with store.write(ANA, op="vectors") as tx:
            tx.put_vectors(scope_of(tx), 0, model="fake", vectors={0: both(CANARY.encode() * 10)})
            tx.begin_vectors("coming")
            tx.put_vectors(
                scope_of(tx), 0, model="coming", vectors={0: both(b"y" * 768)}, coming=True
            )
        with store.write(ANA, op="vectors") as tx:
            assert tx.switch_vectors("coming")
        assert check(store) == [] and CANARY.encode() in everything(path)
        with store.read() as snapshot:
            assert (
                snapshot.embedder_name(),
                snapshot.embedder_next(),
                snapshot.has_former_vectors(),
            ) == ("coming", None, True)
            assert snapshot.rows("SELECT data FROM vector") == [(b"y" * 768,)]
        with store.write(ANA, op="erase") as tx:
            tx.erase([node])
        store.scrub()
        with store.write(ANA, op="vectors") as tx:
            assert not tx.put_vectors(
                scope_of(tx), 0, model="coming", vectors={0: (CANARY.encode(), b"y" * 48)}
            )
        assert CANARY.encode() not in everything(path) and check(store) == []


def both(data: bytes) -> tuple[bytes, bytes]:
    """Bytes that are taken for the halves of a vector, and its code."""
    return data, codes_of(unpack_vectors([data])).tobytes()


def scope_of(reader: Reader) -> int:
    """The number of the only scope."""
    scope: int = reader.rows("SELECT DISTINCT scope FROM doc")[0][0]
    return scope


def everything(path: Path) -> bytes:
    return b"".join(
        found.read_bytes()
        for found in sorted(path.parent.glob(path.name + "*"))
        if not found.name.endswith("-shm")
    )


# check() names planted damage

DAMAGE = {
    "a label row without its node's label": "INSERT INTO node_label VALUES('Ghost', 1)",
    "a node label without its row": "DELETE FROM node_label WHERE node = 1",
    "an edge that leaves nothing": "UPDATE edge SET src = 999 WHERE type = 'PLAIN'",
    "an edge that reaches nothing": "UPDATE edge SET dst = 999 WHERE type = 'PLAIN'",
    "a past version of no length": "UPDATE node_past SET until = since",
    "a past edge of no length": "UPDATE edge_past SET until = since",
    "past versions that overlap": (
        "INSERT INTO node_past(id, since, until, labels, props, born) "
        "SELECT id, since + 1, until, labels, props, born FROM node_past"
    ),
    "a past that overlaps the present": (
        "UPDATE node SET since = since - 1 WHERE id IN (SELECT id FROM node_past)"
    ),
    "a past edge that overlaps the present": (
        "UPDATE edge SET since = since - 1 WHERE id IN (SELECT id FROM edge_past)"
    ),
    "a receipt out of time": "UPDATE receipt SET time = 5 WHERE tx = 2",
    "a visibility window that is reversed": (
        "UPDATE node SET vis_from = 5, vis_until = 4 WHERE id = 1"
    ),
    "a search row of no node": "UPDATE doc SET node = 999 WHERE doc = 0",
    "a vector of no search row": (
        "UPDATE vector SET id = id + 77 * 128; UPDATE vector_code SET id = id + 77 * 128"
    ),
    "a vector without its code": "DELETE FROM vector_code",
    "a vector of a text that is gone": "UPDATE doc SET node = -7 WHERE doc = 0",
    "a memory that counts as embedded and has no vector": (
        "UPDATE doc SET vectors = 1 WHERE doc = 1"
    ),
    "a coming vector of no search row": (
        "UPDATE vector_next SET id = id + 77 * 128; UPDATE vector_code_next SET id = id + 77 * 128"
    ),
    "a coming vector of a text that is gone": "UPDATE doc SET node = -7 WHERE doc = 0",
    "a coming vector without its code": "DELETE FROM vector_code_next",
    "a coming code without its vector": "DELETE FROM vector_next",
    "a memory that the coming vectors will lack": "DELETE FROM vector_next_due",
    "a pending coming vector of no memory": "UPDATE vector_next_due SET doc = 77",
    "coming vectors of no model": "DELETE FROM meta WHERE key = 'embedder_next'",
    "two CURRENT edges leave node": (
        "INSERT INTO edge(id, type, src, dst, props, since, born) "
        "SELECT 999, type, src, dst, props, since, born FROM edge WHERE type = 'CURRENT'"
    ),
    "is not searchable": "DELETE FROM doc WHERE doc = 1",
    "are not those of its text": "DELETE FROM posting_new WHERE term = 'black'",
    "words of search row": "INSERT INTO posting_new VALUES(1, 'ghost', 50, x'3200000001')",
    "in recall against the graph": "UPDATE doc SET live = 1 - live WHERE doc = 0",
}


def shop(path: Path, clock: FakeClock) -> None:
    with Store(path, clock=clock) as store:
        with store.write(ANA, op="rules") as tx:
            tx.set_catalogue("guard:edge:CURRENT", {"single": True})
            tx.set_catalogue("search:Doc", RULE)
        with store.write(ANA, op="a") as tx:
            owner = tx.create_node(("Owner",), {"n": 1})
            first = tx.create_node(("Doc",), {"text": "black tea", "project": "p"})
            second = tx.create_node(("Doc",), {"text": "green tea", "project": "p"})
            tx.create_edge("CURRENT", owner, dst=first)
            plain = tx.create_edge("PLAIN", first, dst=second)
        with store.write(ANA, op="vectors") as tx:
            tx.put_vectors(scope_of(tx), 0, model="fake", vectors={0: both(b"x" * 768)})
            tx.begin_vectors("coming")
            tx.put_vectors(
                scope_of(tx), 0, model="coming", vectors={0: both(b"x" * 768)}, coming=True
            )
        clock.advance(seconds=1)
        with store.write(ANA, op="b") as tx:
            tx.set_node(owner, {"n": 2})
            tx.set_edge(plain, {"n": 2})
        assert check(store) == []


@pytest.mark.parametrize("named", DAMAGE)
def test_planted_damage_is_named(tmp_path: Path, clock: FakeClock, named: str) -> None:
    path = tmp_path / "d.db"
    shop(path, clock)
    plant(path, DAMAGE[named])
    with Store(path) as store:
        problems = check(store)
    assert any(named in problem for problem in problems), problems


def test_a_lost_index_entry_is_named(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "d.db"
    shop(path, clock)
    raw = apsw.Connection(str(path))
    raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    root = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'edge_out'").get
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = raw.pragma("page_size")
    raw.close()
    data = bytearray(path.read_bytes())
    start = (root - 1) * size
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    data[start + 3 : start + 5] = (cells - 1).to_bytes(2, "big")
    path.write_bytes(data)
    with Store(path) as store:
        assert any(
            problem.startswith("engine: ") and "edge_out" in problem for problem in check(store)
        )


# Search rows


def postings(store: Store) -> dict[tuple[int, str], list[tuple[int, int]]]:
    found: dict[tuple[int, str], list[tuple[int, int]]] = {}
    with store.read() as snapshot:
        for table in ("posting", "posting_new"):
            for scope, term, data in snapshot.rows(
                f"SELECT scope, term, data FROM {table} ORDER BY scope, term, first"
            ):
                found.setdefault((scope, term), []).extend(RECORD.iter_unpack(data))
    return found


def test_compaction_changes_no_posting(store: Store) -> None:
    with store.write(ANA, op="rules") as tx:
        tx.set_catalogue("search:Doc", RULE)
    rng = random.Random(3)
    words = [f"word{i}" for i in range(12)]
    for n in range(90):
        with store.write(ANA, op="w") as tx:
            for _ in range(3):
                tx.create_node(
                    ("Doc",), {"text": " ".join(rng.choices(words, k=30)), "project": f"p{n % 2}"}
                )
        if n % 25 == 24:
            before = postings(store)
            store.compact()
            assert postings(store) == before
            with store.read() as snapshot:
                assert snapshot.rows("SELECT count(*) FROM posting_new") == [(0,)]
    for numbers in postings(store).values():
        assert numbers == sorted(numbers)
    assert check(store) == []
    with store.read() as snapshot:
        gone = [node.id for node in snapshot.labelled("Doc")][::7]
    with store.write(ANA, op="erase") as tx:
        tx.erase(gone)
    store.compact()
    assert check(store) == []


def test_a_count_is_capped(store: Store) -> None:
    with store.write(ANA, op="rules") as tx:
        tx.set_catalogue("search:Doc", RULE)
        assert tx.catalogue_changed
    with store.write(ANA, op="w") as tx:
        tx.create_node(("Doc",), {"title": "tea", "text": "tea " * 400, "project": "p"})
    assert list(postings(store).values()) == [[(0, COUNT_MAX)]]
    with store.read() as snapshot:
        assert snapshot.rows("SELECT length FROM doc") == [(401,)]
    assert check(store) == []


def test_live_follows_current_and_deprecated(store: Store) -> None:
    with store.write(ANA, op="rules") as tx:
        tx.set_catalogue("search:Doc", RULE)
    with store.write(ANA, op="w") as tx:
        owner = tx.create_node(("Owner",), {})
        first, second = (
            tx.create_node(("Doc",), {"text": text, "project": "p"}) for text in ("one", "two")
        )
        edge = tx.create_edge("CURRENT", owner, dst=first)
        tx.create_edge("NEXT", first, dst=second)

    def live() -> list[int]:
        assert check(store) == []
        with store.read() as snapshot:
            return [row[0] for row in snapshot.rows("SELECT live FROM doc ORDER BY doc")]

    assert live() == [1, 0]
    with store.read() as snapshot:
        assert snapshot.rows("SELECT doc, prev FROM doc ORDER BY doc") == [(0, -1), (1, 0)]
    with store.write(ANA, op="w") as tx:
        tx.delete_edge(edge)
        edge = tx.create_edge("CURRENT", owner, dst=second)
    assert live() == [0, 1]
    for props, wanted in (({"deprecated": True}, [0, 0]), ({}, [0, 1])):
        with store.write(ANA, op="w") as tx:
            tx.set_node(owner, props)
        assert live() == wanted
    with store.write(ANA, op="w") as tx:
        tx.set_node(second, {"text": "two", "project": "p", "deprecated": True})
    assert live() == [0, 0]
    with store.write(ANA, op="w") as tx:
        tx.set_node(second, {"text": "two", "project": "p"})
        tx.erase([owner])
    assert live() == [0, 0]
