"""Transactions that wait together become durable together: one commit of the engine, a receipt and
an answer each, and nothing of them is seen before."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from doxa.base.errors import BusyError, DiskFullError, InputError, StoreError
from doxa.store import Identity, Store, Transaction, check, digest, replayed_digest, verify_log
from doxa.store.locking.group import MEMBERS_MAX
from doxa.store.locking.writer_queue import queue_of

ANA = Identity("ana", "operator")
MANY = 12


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("doxa.store.locking.group.WAIT_MAX_S", 60)  # on a loaded machine too
    with Store(tmp_path / "a.db") as opened:
        yield opened


class Crew:
    """Writers on threads that come one after the other while the first of them still writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = 0
        self.answers: list[int] = []
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def add(self, write: Callable[[Transaction], object], *, shares: bool = True) -> None:
        """Start one, and wait until it waits for its turn."""
        queue = queue_of(self.store.path)
        before = queue.length
        self._threads.append(threading.Thread(target=self._write, args=(write, shares)))
        self._threads[-1].start()
        while queue.length == before:
            threading.Event().wait(0.001)

    def _write(self, write: Callable[[Transaction], object], shares: bool) -> None:
        self.counted()
        try:
            with self.store.write(ANA, op="test", shares=shares) as tx:
                write(tx)
            assert tx.receipt_made is not None
            self.answers.append(tx.receipt_made.tx)
        except BaseException as error:
            self.errors.append(error)

    def counted(self) -> None:
        """Count the commits of this thread's connection."""
        self.store.connection().set_commit_hook(self._commit)

    def _commit(self) -> bool:
        self.commits += 1
        return False

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


def node(name: str) -> Callable[[Transaction], object]:
    return lambda tx: tx.create_node(["N"], {"name": name})


def names(path: str) -> list[str]:
    """What others see."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return [name for (name,) in db.execute("SELECT props ->> 'name' FROM node ORDER BY id")]
    finally:
        db.close()


def whole(store: Store) -> None:
    verify_log(store)
    assert check(store) == []
    assert digest(store) == replayed_digest(store)


def test_those_who_wait_together_share_one_commit(store: Store) -> None:
    crew = Crew(store)
    crew.counted()
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        for number in range(MANY):
            crew.add(node(f"n{number}"))
    crew.join()
    assert crew.errors == []
    assert crew.commits == 1
    assert sorted(crew.answers) == list(range(2, MANY + 2))
    assert names(store.path) == ["first", *(f"n{number}" for number in range(MANY))]
    assert store.connection().pragma("synchronous") == 2
    with store.read() as snapshot:
        found = snapshot.receipts(limit=100)
    assert sorted(receipt.tx for receipt in found) == list(range(1, MANY + 2))
    whole(store)


def test_nothing_is_seen_or_answered_before_the_commit(store: Store) -> None:
    crew, seen = Crew(store), list[object]()

    def last(tx: Transaction) -> None:
        seen.append((names(store.path), list(crew.answers), tx.count("N")))

    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        crew.add(node("third"))
        crew.add(last)
    crew.join()
    assert seen == [([], [], 3)]
    assert names(store.path) == ["first", "second", "third"]


def test_one_that_fails_undoes_itself_alone(store: Store) -> None:
    crew = Crew(store)

    def refused(tx: Transaction) -> None:
        tx.create_node(["N"], {"name": "refused"})
        raise InputError("no", next_step="none", field="x")

    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(refused)
        crew.add(node("third"))
        crew.add(refused)
    crew.join()
    assert [type(error) for error in crew.errors] == [InputError] * 2
    assert names(store.path) == ["first", "third"]
    whole(store)


def test_a_first_that_fails_leaves_the_turn_to_the_next(store: Store) -> None:
    crew = Crew(store)
    with suppress(ZeroDivisionError), store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        raise ZeroDivisionError
    crew.join()
    assert crew.errors == []
    assert names(store.path) == ["second"]
    whole(store)


def test_a_commit_that_fails_is_the_error_of_all(store: Store) -> None:
    crew = Crew(store)

    def full() -> bool:
        raise apsw.FullError("database or disk is full")

    with (
        pytest.raises(DiskFullError),
        store.write(ANA, op="test", shares=True) as tx,
    ):
        store.connection().set_commit_hook(full)
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        crew.add(node("third"))
    crew.join()
    store.connection().set_commit_hook(None)
    assert [type(error) for error in crew.errors] == [DiskFullError] * 2
    assert names(store.path) == []
    with store.write(ANA, op="test") as tx:
        tx.create_node(["N"], {"name": "later"})
    assert names(store.path) == ["later"]
    whole(store)


def test_a_file_that_is_moved_meanwhile_is_the_error_of_all(store: Store, tmp_path: Path) -> None:
    crew, place = Crew(store), Path(store.path)
    with (
        pytest.raises(StoreError, match="moved, removed or replaced"),
        store.write(ANA, op="test", shares=True) as tx,
    ):
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        crew.add(lambda tx: place.rename(tmp_path / "b.db"))
        crew.add(node("fourth"))
    crew.join()
    assert [type(error) for error in crew.errors] == [StoreError] * 3
    assert len({id(error) for error in crew.errors}) == 3
    assert all("moved, removed or replaced" in str(error) for error in crew.errors)
    (tmp_path / "b.db").rename(place)
    assert names(store.path) == []
    with store.write(ANA, op="test") as tx:
        tx.create_node(["N"], {"name": "later"})
    assert names(store.path) == ["later"]
    whole(store)


def test_a_member_that_fails_after_the_move_keeps_its_own_error(
    store: Store, tmp_path: Path
) -> None:
    crew, place = Crew(store), Path(store.path)

    def refused(tx: Transaction) -> None:
        place.rename(tmp_path / "b.db")
        raise ZeroDivisionError

    with (
        pytest.raises(StoreError, match="moved, removed or replaced"),
        store.write(ANA, op="test", shares=True) as tx,
    ):
        tx.create_node(["N"], {"name": "first"})
        crew.add(refused)
    crew.join()
    assert [type(error) for error in crew.errors] == [ZeroDivisionError]
    (tmp_path / "b.db").rename(place)
    with store.write(ANA, op="test") as tx:
        tx.create_node(["N"], {"name": "later"})
    assert names(store.path) == ["later"]


def test_where_the_file_is_back_by_then_the_others_are_to_run_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, answers = Crew(store), list[bool]()  # of the check: whether the file is in its place

    def moved_for_a_moment(_: object) -> None:
        if answers and not answers.pop():
            raise StoreError("a.db was moved", next_step="Put it back.")

    monkeypatch.setattr("doxa.store.file.engine.Engine.require_in_place", moved_for_a_moment)
    with (
        pytest.raises(BusyError, match="shared with others was undone"),
        store.write(ANA, op="test", shares=True) as tx,
    ):
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        answers += [True, False]  # the last is given first: at the commit
    crew.join()
    assert answers == []
    assert [type(error) for error in crew.errors] == [StoreError]
    assert names(store.path) == []


def test_those_whose_transaction_the_engine_gave_up_are_told_so(store: Store) -> None:
    """As it does where a statement that writes is interrupted."""
    crew = Crew(store)

    def lost(tx: Transaction) -> None:
        store.connection().execute("ROLLBACK")
        raise ZeroDivisionError

    with (
        pytest.raises(BusyError, match="shared with others was undone"),
        store.write(ANA, op="test", shares=True) as tx,
    ):
        tx.create_node(["N"], {"name": "first"})
        crew.add(lost)
        crew.add(node("third"))
    crew.join()
    assert [type(error) for error in crew.errors] == [ZeroDivisionError]
    assert names(store.path) == ["third"]
    whole(store)


def test_one_that_does_not_share_comes_after_the_commit(store: Store) -> None:
    crew, seen = Crew(store), list[list[str]]()
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
        crew.add(lambda tx: seen.append(names(store.path)) or node("third")(tx), shares=False)
        crew.add(lambda tx: seen.append(names(store.path)) or node("fourth")(tx))
    crew.join()
    assert crew.errors == []
    assert seen == [["first", "second"], ["first", "second", "third"]]


def test_a_change_of_the_catalogue_ends_the_group(store: Store) -> None:
    crew, seen = Crew(store), list[list[str]]()
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(lambda tx: tx.set_catalogue("note", {"a": 1}))
        crew.add(lambda tx: seen.append(names(store.path)) or node("third")(tx))
    crew.join()
    assert crew.errors == []
    assert seen == [["first"]]


def test_stores_of_other_connections_do_not_share(store: Store, tmp_path: Path) -> None:
    """Sessions bound to projects read through views that others do not have."""
    with Store(store.path) as other:
        crew, seen = Crew(other), list[list[str]]()
        with store.write(ANA, op="test", shares=True) as tx:
            tx.create_node(["N"], {"name": "first"})
            crew.add(lambda tx: seen.append(names(store.path)))
        crew.join()
    assert seen == [["first"]]


def test_an_idle_one_is_undone_and_those_who_wait_are_answered(store: Store) -> None:
    crew, ready, end = Crew(store), threading.Event(), threading.Event()
    held: list[Transaction] = []

    def idle(tx: Transaction) -> None:
        tx.create_node(["N"], {"name": "idle"})
        held.append(tx)
        ready.set()
        end.wait(30)
        # what this thread reads now is not what others write on the connection that it shared
        assert store.connection().in_transaction is False

    first = threading.Thread(target=lambda: crew.add(idle))
    answered = threading.Event()

    def write() -> None:
        with store.write(ANA, op="test", shares=True) as tx:
            tx.create_node(["N"], {"name": "first"})
            first.start()
            first.join()
        answered.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert ready.wait(30)
    assert held[0].is_shared and not answered.is_set()
    held[0].expire()
    assert answered.wait(30)
    with store.write(ANA, op="test") as tx:
        tx.create_node(["N"], {"name": "next"})
    end.set()
    writer.join()
    crew.join()
    assert ["was rolled back" in str(error) for error in crew.errors] == [True]
    assert names(store.path) == ["first", "next"]
    whole(store)


def test_a_group_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.store.locking.group.MEMBERS_MAX", 4)
    crew = Crew(store)
    crew.counted()
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        for number in range(7):
            crew.add(node(f"n{number}"))
    crew.join()
    assert crew.errors == []
    assert crew.commits == 2
    assert MEMBERS_MAX > 4


def test_a_group_ends_when_the_first_has_waited_long_enough(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.store.locking.group.WAIT_MAX_S", 0)
    crew = Crew(store)
    crew.counted()
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["N"], {"name": "first"})
        crew.add(node("second"))
    crew.join()
    assert (crew.errors, crew.commits) == ([], 2)


def test_random_groups_lose_nothing(store: Store, seed: int) -> None:
    """Threads that write, fail and share as they like: what was answered is there, in order."""
    told: list[list[str]] = [[] for _ in range(8)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        rng = random.Random(seed + number)
        try:
            for count in range(60):
                name = f"{number}-{count}"
                with suppress(ZeroDivisionError):
                    with store.write(ANA, op="test", shares=rng.random() < 0.9) as tx:
                        tx.create_node(["N"], {"name": name})
                        if rng.random() < 0.2:
                            raise ZeroDivisionError
                    told[number].append(name)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert errors == []
    there = names(store.path)
    for number in range(8):
        assert [name for name in there if name.startswith(f"{number}-")] == told[number]
    whole(store)
