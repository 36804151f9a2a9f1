"""The number of the last transaction, as a thread's last statement could see it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.store import Identity, Store

WHO = Identity("tester", "operator")
ROUNDS = 40
ELSEWHERE = """
import sys
from doxa.store import Identity, Store
with Store(sys.argv[1]) as store, store.write(Identity("other", "operator"), op="x") as tx:
    tx.create_node(["Elsewhere"], {})
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "graph.db") as made:
        yield made


def write(store: Store) -> None:
    with store.write(WHO, op="x") as tx:
        tx.create_node(["A"], {})


def read(store: Store) -> int:
    """Read, and return the number of the last transaction in the snapshot."""
    with store.read() as snapshot:
        last = snapshot.last_receipt()
        return last.tx if last else 0


def elsewhere(store: Store) -> None:
    other = threading.Thread(target=write, args=(store,))
    other.start()
    other.join()


def test_it_is_that_of_the_last_statement_whoever_wrote(store: Store) -> None:
    rng = random.Random(7)
    assert store.last_transaction_read() == store.last_transaction() == 0
    for _ in range(ROUNDS):
        rng.choice((write, elsewhere, read))(store)
        seen = read(store)
        assert store.last_transaction_read() == seen == store.last_transaction()


def test_writers_of_other_processes_are_seen(store: Store) -> None:
    write(store)
    before = read(store)
    assert store.last_transaction_read() == before
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(store.path)], check=True, timeout=60)
    assert read(store) == before + 1
    assert store.last_transaction_read() == before + 1


def test_it_is_looked_up_once_for_a_state(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    lookup = Store.last_transaction

    def counted(self: Store) -> int:
        asked.append(lookup(self))
        return asked[-1]

    monkeypatch.setattr(Store, "last_transaction", counted)
    write(store)
    for _ in range(3):
        read(store)
        store.last_transaction_read()
    assert len(asked) == 1
    elsewhere(store)
    for _ in range(3):
        read(store)
        store.last_transaction_read()
    assert len(asked) == 2 and asked[1] == asked[0] + 1


def test_a_writer_sees_its_own_transaction_also_if_others_share_its_commit(store: Store) -> None:
    start, behind = threading.Barrier(6), list[tuple[int, int]]()

    def work(number: int) -> None:
        last = 0
        start.wait()
        for turn in range(ROUNDS):
            with store.write(WHO, op="x", shares=True) as tx:
                if (turn + number) % 3:  # else it finds nothing to do
                    tx.create_node(["A"], {})
            made = 0 if tx.receipt_made is None else tx.receipt_made.tx
            told = store.last_transaction_read()
            if told < max(last, made):
                behind.append((told, made))
            last = told

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not behind
    assert store.last_transaction() == read(store) == store.last_transaction_read()
