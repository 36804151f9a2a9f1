"""Copies, shipped logs and rebuilt files: one past, and no second future in silence."""

from __future__ import annotations

import random
import shutil
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

import doxa
from doxa.app import Memory
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from doxa.store.chain.chain_file import ChainFile, is_chain
from doxa.store.chain.epochs import copy_mark, epochs_in, logged_epochs
from doxa.store.chain.rebuild import change_at, rebuild
from tests.fixtures_shared import opened

SECRET = "xylophone"


def filled(path: Path, *, seed: int = 1, steps: int = 30) -> Memory:
    """A memory with a random past: remembered, revised, retired, linked, by Cypher, undone."""
    memory = opened(path, decay_enabled=True)
    random_ = random.Random(seed)
    krefs = [memory.remember("Ana likes tea.", name="ana", kind="fact").kref]
    for at in range(steps):
        what = random_.randrange(6)
        if what == 0:
            krefs.append(memory.remember(f"Thing {at} is {random_.random()}.").kref)
        elif what == 1:
            memory.revise(krefs[0].partition("?")[0], f"Ana likes drink number {at}.")
        elif what == 2:
            memory.run("CREATE (:T {n: $n})-[:R]->(:U {n: $n})", {"n": at})
        elif what == 3:
            memory.run("MATCH (t:T) WITH t ORDER BY t.n LIMIT 1 DETACH DELETE t")
        elif what == 4:
            done = memory.remember(f"Wrong {at}.")
            assert done.change is not None
            memory.undo(done.change)
        else:
            memory.recall("Ana")
            memory.flush()
    memory.run("CREATE INDEX of_u FOR (u:U) ON (u.n)")
    return memory


def same(one: Store, other: Store) -> bool:
    return digest(one) == digest(other)


# Epochs


def test_a_copy_that_is_written_to_begins_an_epoch(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=3) as memory:
        memory.backup(tmp_path / "copy.db")
        shared = memory.store.last_transaction()
        assert epochs_in(memory.store.connection()) == []
        with opened(tmp_path / "copy.db", read_only=True) as copy:
            assert same(memory.store, copy.store)  # reading changes nothing
            assert copy_mark(copy.store.connection()) == "backup"
        with opened(tmp_path / "copy.db") as copy:
            copy.remember("Bob likes coffee.")
            copy.remember("Bob likes cake.")
            db = copy.store.connection()
            (epoch,) = epochs_in(db)
            assert (epoch.number, epoch.why, epoch.change) == (1, "backup", shared + 1)
            assert logged_epochs(db) == [epoch] and copy_mark(db) == ""
            copy.verify()
            assert copy.check() == []
            copy.backup(tmp_path / "second.db")
        with opened(tmp_path / "second.db") as second:
            second.remember("Eve likes milk.")
            found = epochs_in(second.store.connection())
            assert [one.number for one in found] == [1, 2] and found[0] == epoch
        memory.remember("Bob likes coffee.")
        assert epochs_in(memory.store.connection()) == []


def test_a_refused_change_leaves_the_mark(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=1) as memory:
        memory.backup(tmp_path / "copy.db")
    with opened(tmp_path / "copy.db") as copy:
        with pytest.raises(RuntimeError), copy.store.write(Identity("a", "operator"), op="x") as tx:
            tx.create_node(("A",), {})
            raise RuntimeError
        assert copy_mark(copy.store.connection()) == "backup"
        done = copy.remember("Bob likes coffee.")
        assert len(epochs_in(copy.store.connection())) == 1
        assert done.change is not None
        copy.undo(done.change)  # the entry of the epoch is of no belief
        assert len(epochs_in(copy.store.connection())) == 1
        copy.verify()


def test_epochs_that_are_not_logged_are_found(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=1) as memory:
        memory.store.connection().execute(
            "INSERT INTO meta VALUES('epochs', '[[1, \"x\", \"backup\", 1]]')"
        )
        assert any("epochs" in problem for problem in check(memory.store))


# Shipping


def test_a_shipped_log_is_whole_and_goes_on(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory, ChainFile(tmp_path / "c.chain") as chain:
        first = chain.ship(memory.store)
        assert first.changes == first.change == memory.store.last_transaction()
        assert chain.ship(memory.store)[:3] == (0, 0, 0)
        memory.remember("Bob likes coffee.")
        then = chain.ship(memory.store)
        proof = verify_log(memory.store)
        assert then.changes == 1 and then.head == proof.head
        assert is_chain(tmp_path / "c.chain") and not is_chain(tmp_path / "m.db")
        for table in ("receipt", "log", "log_payload"):
            sql = f"SELECT * FROM {table} ORDER BY 1"
            ours = memory.store.connection().execute(sql).fetchall()
            assert ours == chain.db.execute(sql).fetchall()


def test_a_fork_is_refused_and_named(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=2) as memory:
        memory.backup(tmp_path / "copy.db")
        number = memory.store.last_transaction()
        with opened(tmp_path / "copy.db") as copy, ChainFile(tmp_path / "c.chain") as chain:
            chain.ship(memory.store)
            chain.ship(copy.store)  # the same past
            memory.remember("Bob likes coffee.")
            chain.ship(memory.store)
            with pytest.raises(doxa.ConflictError, match=f"no receipt of change {number + 1}"):
                chain.ship(copy.store)
            copy.remember("Bob likes coffee.")
            with pytest.raises(doxa.ConflictError, match="another receipt"):
                chain.ship(copy.store)
            assert chain.ship(memory.store).changes == 0


def test_what_was_erased_is_erased_in_the_shipped_log_too(tmp_path: Path) -> None:
    path = tmp_path / "c.chain"
    with filled(tmp_path / "m.db", steps=2) as memory, ChainFile(path) as chain:
        kref = memory.remember(f"Ana plays the {SECRET}.", name="music").kref
        chain.ship(memory.store)
        assert SECRET.encode() in path.read_bytes()
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
        assert chain.ship(memory.store).erased
        assert SECRET.encode() not in path.read_bytes()
        before = memory.store.last_transaction() - 1
        rebuilt = rebuild(
            chain.db, tmp_path / "r.db", change=before, expressions=memory.store._expressions
        )
    with Store(rebuilt, read_only=True) as store:
        assert SECRET.encode() not in rebuilt.read_bytes()
        assert verify_log(store).erased


@pytest.mark.parametrize("table", ["log", "log_payload", "receipt"])
def test_a_damaged_source_is_not_shipped(tmp_path: Path, table: str) -> None:
    with filled(tmp_path / "m.db", steps=3) as memory, ChainFile(tmp_path / "c.chain") as chain:
        db = memory.store.connection()
        change = {
            "log": "UPDATE log SET element = element + 1 WHERE seq = (SELECT max(seq) FROM log)",
            "log_payload": "UPDATE log_payload SET payload = payload || ' '"
            " WHERE seq = (SELECT max(seq) FROM log_payload)",
            "receipt": "UPDATE receipt SET actor = 'eve' WHERE tx = (SELECT max(tx) FROM receipt)",
        }[table]
        for (name,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(change)
        with pytest.raises(doxa.CorruptError, match="does not verify"):
            chain.ship(memory.store)
        assert chain.last[0] == 0


def test_another_file_is_not_taken_for_a_shipped_log(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=1):
        pass
    with pytest.raises(doxa.CorruptError, match="is not a log"):
        ChainFile(tmp_path / "m.db")
    (tmp_path / "text").write_text("x" * 5_000)
    with pytest.raises(doxa.CorruptError):
        ChainFile(tmp_path / "text")
    assert not is_chain(tmp_path / "absent")


# Rebuilding


@pytest.mark.parametrize("seed", range(4))
def test_a_rebuilt_file_is_the_file(tmp_path: Path, seed: int) -> None:
    with filled(tmp_path / "m.db", seed=seed) as memory:
        expressions = memory.store._expressions
        with ChainFile(tmp_path / "c.chain") as chain:
            chain.ship(memory.store)
            made = rebuild(chain.db, tmp_path / "r.db", expressions=expressions)
        with opened(made, read_only=True, decay_enabled=True) as other:
            assert same(memory.store, other.store)
            assert other.verify().head == memory.verify().head
            assert other.check() == []
            asked = [hit.kref for hit in memory.recall("Ana drink", lanes=["words"]).hits]
            assert asked == [hit.kref for hit in other.recall("Ana drink", lanes=["words"]).hits]
            rows = "MATCH (u:U) WHERE u.n >= 0 RETURN u.n AS n ORDER BY n"
            assert memory.run(rows).records() == other.run(rows).records()
        with opened(made) as other:
            other.remember("Bob likes coffee.")
            assert [one.why for one in epochs_in(other.store.connection())] == ["restore"]
            assert other.check() == []


def test_every_change_can_be_gone_back_to(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    states: dict[int, str] = {}
    memory = opened(path)
    kref = memory.remember("Ana likes tea.", name="ana", kind="fact").kref.partition("?")[0]
    for at in range(4):
        states[memory.store.last_transaction()] = digest(memory.store)
        memory.revise(kref, f"Ana likes drink number {at}.")
    for number, state in states.items():
        made = rebuild(memory.store.connection(), tmp_path / f"{number}.db", change=number)
        with Store(made, read_only=True) as store:
            assert store.last_transaction() == number
            assert digest(store) == replayed_digest(store) == state
    memory.close()


def test_a_time_between_two_changes_is_the_earlier_one(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=4) as memory:
        db = memory.store.connection()
        receipts = memory.log(limit=1_000, newest_first=False)
        for before, after in pairwise(receipts):
            assert change_at(db, before.time) == before.tx
            assert change_at(db, after.time - 1) == before.tx
        with pytest.raises(doxa.NotFoundError):
            change_at(db, receipts[0].time - 1)
        with pytest.raises(doxa.NotFoundError, match="There is no change"):
            rebuild(db, tmp_path / "r.db", change=receipts[-1].tx + 1)
        (tmp_path / "r.db").write_bytes(b"mine")
        with pytest.raises(doxa.StoreError, match="exists already"):
            rebuild(db, tmp_path / "r.db")
        assert (tmp_path / "r.db").read_bytes() == b"mine"


def test_a_log_that_does_not_verify_gives_no_file(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", steps=3) as memory, ChainFile(tmp_path / "c.chain") as chain:
        chain.ship(memory.store)
        expressions = memory.store._expressions
    shutil.copyfile(tmp_path / "c.chain", tmp_path / "bad.chain")
    db = apsw.Connection(str(tmp_path / "bad.chain"))
    db.execute("UPDATE receipt SET actor = 'eve' WHERE tx = 2")
    with pytest.raises(doxa.CorruptError):
        rebuild(db, tmp_path / "r.db", expressions=expressions)
    db.close()
    assert not list(tmp_path.glob("r.db*"))
