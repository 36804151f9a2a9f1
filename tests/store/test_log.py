"""The log is written in runs: nobody who reads it can tell, and no node is taken for live that is
not."""

from __future__ import annotations

import hashlib

import pytest

from doxa.base.errors import NotFoundError
from doxa.base.ids import NodeId
from doxa.store import Identity, Store, Transaction, check, digest, replayed_digest, verify_log
from doxa.store import elements as module
from doxa.store.log_writer import RUN_BYTES_MAX, RUN_ENTRIES_MAX, entry_hash

ANA = Identity("ana", "operator")
COUNT = "SELECT count(*) FROM log l JOIN log_payload p ON p.seq = l.seq"


def _written(tx: Transaction) -> int:
    return int(tx._db.execute(COUNT).get)


def test_whoever_reads_the_log_in_a_transaction_finds_what_it_wrote(store: Store) -> None:
    with store.write(ANA, op="a") as tx, store.read() as nested:
        for made, read in enumerate(
            (
                lambda: len(tx.log()),
                lambda: len(nested.log()),
                lambda: tx.rows(COUNT)[0][0],
                lambda: next(iter(tx.stream(COUNT)))[0],
                lambda: nested.rows(COUNT)[0][0],
                lambda: next(iter(nested.stream(COUNT)))[0],
            ),
            start=1,
        ):
            tx.create_node(("A",), {"n": made})
            assert _written(tx) == made - 1
            assert read() == made
    with store.read() as snapshot:
        assert len(snapshot.log()) == made
    assert digest(store) == replayed_digest(store)


def test_runs_are_bounded_in_entries_and_bytes(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        for _ in range(RUN_ENTRIES_MAX + 3):
            tx.create_node(("A",), {})
        assert _written(tx) == RUN_ENTRIES_MAX
        for _ in range(3):
            tx.create_node(("A",), {"text": "x" * (RUN_BYTES_MAX // 3)})
        assert _written(tx) == RUN_ENTRIES_MAX + 6
    assert verify_log(store).entries == RUN_ENTRIES_MAX + 6


def test_the_chain_knows_no_runs(store: Store) -> None:
    for size in (1, RUN_ENTRIES_MAX + 1):
        with store.write(ANA, op="a") as tx:
            for number in range(size):
                tx.create_node(("A",), {"n": number})
    with store.read() as snapshot:
        rows = snapshot.rows(
            "SELECT seq, tx, op, element, payload_hash, hash, salt, payload FROM log JOIN"
            " log_payload USING (seq) ORDER BY seq"
        )
    before = bytes(32)
    for seq, number, op, element, payload_hash, found, salt, payload in rows:
        assert payload_hash == hashlib.sha256(salt + payload).digest()
        before = entry_hash(
            before, seq=seq, tx=number, op=op, element=element, payload_hash=payload_hash
        )
        assert found == before
    assert len({row[6] for row in rows}) == len(rows) == RUN_ENTRIES_MAX + 2
    assert {len(row[6]) for row in rows} == {16}


def test_what_is_made_and_erased_in_one_transaction_leaves_no_payload(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        kept, gone = tx.create_node(("A",), {}), tx.create_node(("A",), {"text": "secret"})
        assert tx.erase([gone]) == 1
    with store.read() as snapshot:
        assert [(entry.op, entry.payload is None) for entry in snapshot.log()] == [
            ("node.create", False),
            ("node.create", True),
            ("erase", False),
        ]
    assert (kept, verify_log(store).erased, check(store)) == (1, 1, [])


@pytest.mark.parametrize("live_max", [1, 200_000])
def test_an_edge_reaches_no_node_that_went_in_its_transaction(
    store: Store, monkeypatch: pytest.MonkeyPatch, live_max: int
) -> None:
    monkeypatch.setattr(module, "_LIVE_MAX", live_max)
    with store.write(ANA, op="a") as tx:
        first, second, third = (tx.create_node(("A",), {}) for _ in range(3))
    with store.write(ANA, op="b") as tx:
        tx.delete_edge(tx.create_edge("E", first, dst=second))
        tx.delete_node(second)
        tx.erase([third])
        for one, other in ((first, second), (second, first), (third, first), (first, NodeId(99))):
            with pytest.raises(NotFoundError):
                tx.create_edge("E", one, dst=other)
        tx.restore_node(second, ("A",), props={})
        tx.create_edge("E", first, dst=second)
    assert digest(store) == replayed_digest(store)
    assert check(store) == []


def test_what_a_failed_transaction_knew_is_forgotten(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write(ANA, op="a") as tx:
        node = tx.create_node(("A",), {})
        raise ZeroDivisionError
    with store.write(ANA, op="b") as tx, pytest.raises(NotFoundError):
        tx.create_edge("E", node, dst=node)
    with store.read() as snapshot:
        assert snapshot.log() == []
