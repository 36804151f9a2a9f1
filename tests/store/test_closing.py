"""A store that is closed while other threads use it: their calls end, each is done or refused."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.base.errors import BusyError, ClosedError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Interrupted, Store, check
from doxa.store.file import engine
from doxa.store.visibility.access import AccessRecord

ROUNDS, WRITERS, READERS = 12, 3, 2
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def write(store: Store) -> None:
    with store.write(Identity("tester", "operator"), op="test", shares=True) as tx:
        tx.create_node(["N"], {})


def read(store: Store) -> None:
    with store.read() as snapshot:
        sum(1 for _ in snapshot.labelled("N"))


def in_threads(works: list[Callable[[], None]]) -> tuple[list[threading.Thread], list[Exception]]:
    """Repeat each in a thread until it raises; what it raised."""
    raised: list[Exception] = []

    def repeat(work: Callable[[], None]) -> None:
        try:
            while True:
                work()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    return threads, raised


def test_threads_that_read_and_write_are_refused_and_nothing_is_lost(
    tmp_path: Path, tally: Callable[..., None]
) -> None:
    ends: Counter[str] = Counter()
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.db"
        store = Store(path)
        written: list[int] = []
        begun = threading.Event()

        def note(
            store: Store = store,
            written: list[int] = written,
            begun: threading.Event = begun,
        ) -> None:
            write(store)
            written.append(1)
            if len(written) > 20:
                begun.set()

        works: list[Callable[[], None]] = [note] * WRITERS
        works += [lambda store=store: read(store)] * READERS  # type: ignore[misc]
        threads, raised = in_threads(works)
        assert begun.wait(30)
        store.close()
        for thread in threads:
            thread.join(30)
        assert len(raised) == len(works)
        ends.update(type(one).__name__ for one in raised)
        # those of a shared commit that was undone are to run again, and would be refused then
        assert all(isinstance(one, (ClosedError, BusyError)) for one in raised), raised
        with Store(path) as again, again.read() as snapshot:
            assert sum(1 for _ in snapshot.labelled("N")) >= len(written)
            assert check(again) == []
    tally(**ends)


def test_a_statement_that_takes_its_time_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_CLOSE_KINDLY_S", 0.05)
    store = Store(tmp_path / "a.db")
    begun = threading.Event()

    def endless() -> None:
        with store.read() as snapshot:
            begun.set()
            snapshot._db.execute(ENDLESS).fetchall()

    threads, raised = in_threads([endless])
    assert begun.wait(30)
    store.close()
    threads[0].join(30)
    assert not threads[0].is_alive()
    assert isinstance(raised[0], (Interrupted, ClosedError)), raised


def test_a_thread_that_does_not_let_go_is_left_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of Python inside a statement is not interrupted."""
    monkeypatch.setattr(engine, "_CLOSE_KINDLY_S", 0.0)
    monkeypatch.setattr(engine, "_CLOSE_S", 0.1)
    store = Store(tmp_path / "a.db")
    begun, ended = threading.Event(), threading.Event()

    def wait() -> int:
        begun.set()
        ended.wait(30)
        return 1

    def slow() -> None:
        with store.read() as snapshot:
            snapshot._db.create_scalar_function("wait", wait, 0)
            snapshot._db.execute("SELECT wait()").fetchall()

    threads, raised = in_threads([slow])
    assert begun.wait(30)
    store.close()
    ended.set()
    threads[0].join(30)
    assert isinstance(raised[0], (Interrupted, ClosedError)), raised
    with Store(tmp_path / "a.db") as again:
        assert check(again) == []


def test_a_query_that_is_interrupted_says_that_the_store_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_CLOSE_KINDLY_S", 0.0)
    store = Store(tmp_path / "a.db")
    session = GraphSession(store, QueryEngine(), Identity("tester", "operator"))
    session.run("UNWIND range(1, 500) AS i CREATE (:N {i: i})")
    text = "MATCH (a:N), (b:N), (c:N) WHERE a.i < b.i AND b.i < c.i AND c.i < a.i RETURN count(*)"
    threads, raised = in_threads([lambda: session.run(text).buffer()])
    time.sleep(0.2)
    store.close()
    threads[0].join(30)
    assert isinstance(raised[0], ClosedError), raised


def test_a_connection_that_is_opened_meanwhile_is_closed(tmp_path: Path) -> None:
    opening, ended = threading.Event(), threading.Event()

    def prepared(_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            opening.set()
            ended.wait(30)

    made = engine.Engine(str(tmp_path / "a.db"), prepared=prepared)
    made.connection()
    threads, raised = in_threads([made.connection])  # type: ignore[list-item]
    assert opening.wait(30)
    made.close()
    ended.set()
    threads[0].join(30)
    assert isinstance(raised[0], ClosedError)
    assert not made._all


def test_what_a_thread_writes_after_the_close_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that was left its connection cannot commit on it."""
    monkeypatch.setattr(engine, "_CLOSE_S", 0.0)
    store = Store(tmp_path / "a.db")
    begun, ended = threading.Event(), threading.Event()

    def wait() -> int:
        begun.set()
        ended.wait(30)
        return 1

    def slow() -> None:
        with store.write(Identity("tester", "operator"), op="test") as tx:
            tx._db.create_scalar_function("wait", wait, 0)
            tx._db.execute("SELECT wait()").fetchall()
            tx.create_node(["N"], {})

    threads, raised = in_threads([slow])
    assert begun.wait(30)
    store.close()
    ended.set()
    threads[0].join(30)
    assert isinstance(raised[0], ClosedError), raised
    with Store(tmp_path / "a.db") as again, again.read() as snapshot:
        assert not list(snapshot.labelled("N"))


def test_notes_of_accesses_do_not_keep_a_store_open(tmp_path: Path) -> None:
    """Another thread writes for as long as it likes."""
    store = Store(tmp_path / "a.db")
    store.note(AccessRecord(store.clock.now_ns(), {}, returned=((1,),)))
    assert store.accesses.size
    begun, ended = threading.Event(), threading.Event()

    def slow() -> None:
        with store.write(Identity("tester", "operator"), op="test"):
            begun.set()
            ended.wait(30)

    threads, raised = in_threads([slow])
    assert begun.wait(30)
    store.close()
    ended.set()
    threads[0].join(30)
    assert isinstance(raised[0], ClosedError), raised
