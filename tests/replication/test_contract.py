"""What every engine of a shared log must do; see doxa/replication/protocol.py."""

from __future__ import annotations

import threading
import time

import pytest

from doxa.base.errors import BusyError, ClosedError, ConflictError, CorruptError, InputError
from doxa.replication.protocol import START, FleetLog, Head, Snapshot, chained
from doxa.store.log_writer import GENESIS
from tests.replication.conftest import OpenLog
from tests.replication.logs import Chain

PLENTY = 1 << 20


def test_a_new_tenant_is_empty(open_log: OpenLog) -> None:
    log = open_log()
    assert log.head("acme") == START
    assert log.read("acme", 0, limit_bytes=PLENTY) == []
    assert log.hash_at("acme", 1) is None
    assert log.newest_snapshot("acme") is None


def test_what_is_appended_is_read_by_others_byte_for_byte(open_log: OpenLog) -> None:
    log, chain = open_log(), Chain()
    first = chain.next(b"one", b"two", answers=((b"k", 5, b"s", b"r", b"{}"),), retained="{}")
    second = chain.next(b"\x00\xff three")
    for one in (first, second):
        with log.hold("acme", wait_ms=1_000) as hold:
            hold.append([one])
    other = open_log()
    assert other.read("acme", 0, limit_bytes=PLENTY) == [first, second]
    assert other.read("acme", 1, limit_bytes=PLENTY) == [second]
    assert other.read("acme", 2, limit_bytes=PLENTY) == []
    assert other.head("acme") == second.head == Head(2, second.receipt[11])
    assert other.hash_at("acme", 1) == first.receipt[11]
    assert chained(first, GENESIS)[-1][5] == first.receipt[10]


def test_an_append_that_does_not_continue_the_head_is_refused(open_log: OpenLog) -> None:
    log, chain, other = open_log(), Chain(), Chain()
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"one")])
    other.next(b"another one")
    forged = other.next(b"two")
    with (
        pytest.raises(ConflictError, match="does not continue"),
        log.hold("acme", wait_ms=1_000) as hold,
    ):
        hold.append([forged])
    chain.next(b"left out")
    with pytest.raises(ConflictError), log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"three")])
    assert log.head("acme").tx == 1


def test_several_transactions_are_appended_as_one(open_log: OpenLog) -> None:
    log, chain = open_log(), Chain()
    good = [chain.next(b"%d" % number) for number in range(30)]
    with pytest.raises(ConflictError), log.hold("acme", wait_ms=1_000) as hold:
        hold.append([*good[:20], *good[21:]])
    assert log.head("acme") == START
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append(good)
    found = log.read("acme", 0, limit_bytes=1)
    assert found == good[:1]
    assert log.read("acme", 25, limit_bytes=PLENTY) == good[25:]


def test_one_writer_holds_a_tenant_at_a_time(open_log: OpenLog) -> None:
    log, other = open_log(), open_log()
    with log.hold("acme", wait_ms=1_000):
        with pytest.raises(BusyError):
            other.hold("acme", wait_ms=50)
        with pytest.raises(BusyError):
            other.hold("acme", wait_ms=60_000, stopped=lambda: True)
        other.hold("zoo", wait_ms=1_000).release()
    other.hold("acme", wait_ms=1_000).release()


def test_a_hold_is_given_back_from_another_thread_and_leaves_nothing(open_log: OpenLog) -> None:
    log = open_log()
    hold = log.hold("acme", wait_ms=1_000)
    thread = threading.Thread(target=hold.release)
    thread.start()
    thread.join()
    hold.release()
    log.hold("acme", wait_ms=1_000).release()
    assert log.head("acme") == START


def test_writers_at_once_make_one_chain(open_log: OpenLog) -> None:
    chain, lock, written = Chain(), threading.Lock(), []

    def write() -> None:
        log = open_log()
        for _ in range(15):
            with log.hold("acme", wait_ms=60_000) as hold:
                with lock:
                    assert hold.head == chain.head
                    one = chain.next(b"x")
                hold.append([one])
                written.append(one.tx)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == list(range(1, 61))
    assert open_log().head("acme") == chain.head


def test_wait_returns_when_something_was_appended(open_log: OpenLog) -> None:
    log, other, chain = open_log(), open_log(), Chain()
    assert log.wait("acme", 0, timeout_s=0.05) == 0
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(log.wait("acme", 0, timeout_s=60)))
    thread.start()
    time.sleep(0.05)
    with other.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"one")])
    thread.join(30)
    assert seen == [1]


def test_erased_payloads_are_gone_and_the_chain_holds(open_log: OpenLog) -> None:
    log, chain = open_log(), Chain()
    kept = ((b"key", 9, b"salt", b"request", b"the answer quotes it"),)
    first = chain.next(b"secret", b"harmless", answers=kept)
    second = chain.next(b"eraser", erased=(1,))
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([first])
    log.put_snapshot("acme", Snapshot(first.head, b"a file"))
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([second])
    found = open_log().read("acme", 0, limit_bytes=PLENTY)
    assert found[0].entries[0].payload is None and found[0].entries[0].salt is None
    assert found[0].entries[1] == first.entries[1]
    assert found[0].answers == ()
    assert chained(found[0], GENESIS) == chained(first, GENESIS)
    assert log.newest_snapshot("acme") is None
    with pytest.raises(ConflictError, match="erased since"):
        log.put_snapshot("acme", Snapshot(first.head, b"a file"))


def test_a_snapshot_is_of_a_transaction_of_the_log(open_log: OpenLog) -> None:
    log, chain = open_log(), Chain()
    first, second = chain.next(b"one"), chain.next(b"two")
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([first, second])
    for one in (first, second):
        log.put_snapshot("acme", Snapshot(one.head, b"file %d" % one.tx))
    assert open_log().newest_snapshot("acme") == Snapshot(second.head, b"file 2")
    with pytest.raises(ConflictError):
        log.put_snapshot("acme", Snapshot(Head(2, first.receipt[11]), b"wrong"))


def test_vectors_are_kept_until_content_is_erased(open_log: OpenLog) -> None:
    log, other, chain = open_log(), open_log(), Chain()
    if not isinstance(log, FleetLog) or not isinstance(other, FleetLog):
        pytest.skip("this engine keeps no vectors")
    assert log.vectors("acme", [b"a"]) == {}
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"a secret")])
    assert log.put_vectors("acme", {b"a": b"\x00\xff", b"b": b"'%s"}, read_at=1)
    assert other.put_vectors("acme", {b"b": b"another", b"c": b""}, read_at=1)
    known = {b"a": b"\x00\xff", b"b": b"'%s", b"c": b""}
    assert other.vectors("acme", [b"c", b"a", b"b", b"d"]) == known
    assert other.vectors("zoo", [b"a"]) == other.vectors("acme", []) == {}
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"eraser", erased=(1,))])
    assert other.vectors("acme", [b"a", b"b"]) == {}
    assert not other.put_vectors("acme", {b"a": b"late"}, read_at=1)
    assert other.put_vectors("acme", {b"d": b"new"}, read_at=2)
    log.configure("acme", moved_to="folder:/elsewhere")
    assert not other.put_vectors("acme", {b"a": b"late"}, read_at=2)
    log.drop("acme")
    assert other.vectors("acme", [b"d"]) == {}
    assert other.vectors("acme", [b"a"]) == {}


def test_a_lease_has_one_holder(open_log: OpenLog) -> None:
    log, other = open_log(), open_log()
    token = log.take_lease("acme", "dream", held=0, now=100, ttl_ns=50)
    assert token == 150
    assert other.take_lease("acme", "dream", held=0, now=120, ttl_ns=50) == 0
    assert other.take_lease("zoo", "dream", held=0, now=120, ttl_ns=50) == 170
    assert other.lease_until("acme", "dream") == 150
    assert other.lease_until("acme", "other") == other.lease_until("nobody", "dream") == 0
    renewed = log.take_lease("acme", "dream", held=token, now=140, ttl_ns=50)
    assert renewed == 190
    assert other.take_lease("acme", "dream", held=0, now=191, ttl_ns=50) == 241
    assert log.take_lease("acme", "dream", held=renewed, now=192, ttl_ns=50) == 0
    assert other.take_lease("acme", "dream", held=241, now=195, ttl_ns=0) == 0
    assert log.lease_until("acme", "dream") == 0
    assert log.take_lease("acme", "dream", held=0, now=196, ttl_ns=50) == 246


@pytest.mark.parametrize("name", ["acme", "a'; DROP TABLE x; --", "ünï/../code", "%s %(x)s", "A"])
def test_tenants_never_meet(open_log: OpenLog, name: str) -> None:
    log, mine, others = open_log(), Chain(), Chain()
    first, second = mine.next(b"mine"), others.next(b"theirs")
    with log.hold(name, wait_ms=1_000) as hold:
        hold.append([first])
    with log.hold("neighbour", wait_ms=1_000) as hold:
        hold.append([second])
    assert log.read(name, 0, limit_bytes=PLENTY) == [first]
    assert log.read("neighbour", 0, limit_bytes=PLENTY) == [second]
    assert log.read(name.swapcase() + "?", 0, limit_bytes=PLENTY) == []
    told = {one.tenant: one.head for one in log.tenants()}
    assert told[name] == first.head and told["neighbour"] == second.head


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "a\nb", "x" * 201, 5])
def test_names_that_are_none_are_refused(open_log: OpenLog, name: str) -> None:
    with pytest.raises(InputError):
        open_log().head(name)


def test_a_closed_log_says_so(open_log: OpenLog) -> None:
    log = open_log()
    log.head("acme")
    log.close()
    with pytest.raises(ClosedError):
        log.head("acme")


def test_a_body_that_is_none_is_reported(open_log: OpenLog) -> None:
    from doxa.replication.codec import decode_transaction

    for body in (b"", b"\x02abc", b"\x01abc"):
        with pytest.raises(CorruptError):
            decode_transaction(body, None)
