"""A store that is closed while other threads use it: their calls end, each is done or refused."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.base.errors import BusyError, ClosedError
from doxa.store import Identity, Interrupted, Store, check
from doxa.store.file import engine

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
