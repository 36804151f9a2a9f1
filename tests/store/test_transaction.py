"""The one way to write: whole or not at all, one receipt, one time, and the gates in it."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import (
    ConstraintError,
    InputError,
    LimitError,
    NotFoundError,
    RoleError,
    StoreError,
)
from doxa.base.ids import EdgeId, NodeId
from doxa.base.limits import ACTOR_CHARS_MAX, NOTE_CHARS_MAX
from doxa.base.values import canonical
from doxa.store import Edge, Identity, Node, Store, check, digest, replayed_digest, verify_log
from doxa.store.log_writer import GENESIS, receipt_hash

ANA, BOT, SYSTEM = Identity("ana", "operator"), Identity("bot", "agent"), Identity("doxa", "system")


def test_an_exception_leaves_nothing(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        kept = tx.create_node(("A",), {"n": 1})
    before = digest(store)
    with pytest.raises(ZeroDivisionError), store.write(ANA, op="b") as tx:
        other = tx.create_node(("A",), {"n": 2})
        tx.create_edge("E", kept, dst=other)
        tx.set_node(kept, {"n": 3})
        raise ZeroDivisionError
    assert digest(store) == before
    with store.write(ANA, op="c") as tx:
        assert tx.create_node(("A",), {}) == kept + 1  # the id was not used up
    with store.read() as snapshot:
        assert [receipt.op for receipt in snapshot.receipts()] == ["a", "c"]
        assert snapshot.count("A") == 2
        assert snapshot.edges_out(kept) == []


def test_a_caught_refusal_leaves_the_transaction_usable(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        tx.create_node(("A",), {"kref": "k1"})
        other = tx.create_node(("A",), {"kref": "k2"})
        with pytest.raises(ConstraintError, match="k1 is taken"):
            tx.create_node(("A",), {"kref": "k1"})
        with pytest.raises(ConstraintError, match="k1 is taken"):
            tx.set_node(other, {"kref": "k1"})
        with pytest.raises(NotFoundError):
            tx.create_edge("E", other, dst=NodeId(99))
        with pytest.raises(NotFoundError):
            tx.set_node(NodeId(99), {})
        with pytest.raises(NotFoundError):
            tx.delete_edge(EdgeId(99))
        tx.create_node(("A",), {"kref": "k3"})
    with store.read() as snapshot:
        assert [node.props["kref"] for node in snapshot.labelled("A")] == ["k1", "k2", "k3"]
        assert [entry.op for entry in snapshot.log()] == ["node.create"] * 3
    assert digest(store) == replayed_digest(store)
    assert check(store) == []


def test_transactions_do_not_nest(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        tx.create_node(("A",), {})
        with pytest.raises(StoreError, match="do not nest"), store.write(ANA, op="b"):
            pass
    with store.read() as snapshot:
        assert snapshot.count("A") == 1
        with pytest.raises(StoreError), store.write(ANA, op="b"):
            pass


def test_a_snapshot_does_not_move(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        node = tx.create_node(("A",), {"n": 1})
    with store.read() as snapshot:
        assert snapshot.count("A") == 1

        def write() -> None:
            with store.write(ANA, op="b") as other:
                other.set_node(node, {"n": 2})

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert snapshot.node(node).props == {"n": 1}  # type: ignore[union-attr]
    with store.read() as snapshot:
        assert snapshot.node(node).props == {"n": 2}  # type: ignore[union-attr]


def test_receipts_chain_and_cover_the_log(store: Store, clock: FakeClock) -> None:
    for n in range(3):
        clock.advance(seconds=1)
        with store.write(Identity(f"who-{n}", "operator"), op=f"op-{n}", note=f"note {n}") as tx:
            for _ in range(n + 1):
                tx.create_node(("A",), {"n": n})
    with store.read() as snapshot:
        receipts = snapshot.receipts()
        assert [(r.tx, r.actor, r.op, r.note, r.first_seq, r.last_seq) for r in receipts] == [
            (1, "who-0", "op-0", "note 0", 1, 1),
            (2, "who-1", "op-1", "note 1", 2, 3),
            (3, "who-2", "op-2", "note 2", 4, 6),
        ]
        before = GENESIS
        for receipt, last_node in zip(receipts, (1, 3, 6), strict=True):
            assert receipt_hash(before, (*receipt[:8], last_node, 0), receipt.head) == receipt.hash
            assert (
                hashlib.sha256(
                    before + canonical([*receipt[:8], last_node, 0]) + receipt.head
                ).digest()
                == receipt.hash
            )
            before = receipt.hash
        assert snapshot.last_receipt() == receipts[-1] == snapshot.receipt(receipts[-1].tx)
        assert [r.tx for r in snapshot.receipts(newest_first=True, limit=2)] == [3, 2]
        assert [e.seq for e in snapshot.log_of(receipts[1].tx)] == [2, 3]
    assert verify_log(store)[:3] == (3, 6, 0)
    assert verify_log(store).head == receipts[-1].hash.hex()


def test_time_goes_on_when_the_clock_steps_back(store: Store, clock: FakeClock) -> None:
    times = []
    for step in (0, 10, -1_000, 0, 5, -10_000_000):
        clock.set(clock.now_ns() + step)
        with store.write(ANA, op="a") as tx:
            tx.create_node(("A",), {})
        times.append(tx.now)
        assert tx.receipt_made is not None
        assert tx.receipt_made.time == tx.now
    assert times == sorted(set(times))
    assert times[2] == times[1] + 1
    assert check(store) == []


def test_nothing_changed_means_nothing_written(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        node = tx.create_node(("B", "A"), {"n": 1, "list": [1, 2]})
        edge = tx.create_edge("E", node, dst=node, props={"w": 1.5})
    before = digest(store)
    with store.write(ANA, op="b") as tx:
        tx.set_node(node, {"list": (1, 2), "n": 1, "gone": None})
        tx.set_node(node, {"n": 1, "list": [1, 2]}, labels=("A", "B", "A"))
        tx.set_edge(edge, {"w": 1.5})
    assert tx.receipt_made is None
    assert digest(store) == before
    assert verify_log(store).receipts == 1


@pytest.mark.parametrize(("old", "new"), [(1, True), (True, 1), (1, 1.0), (0.0, -0.0)])
def test_a_change_of_type_is_a_change(store: Store, old: Any, new: Any) -> None:
    with store.write(ANA, op="a") as tx:
        node = tx.create_node(("A",), {"v": old})
        edge = tx.create_edge("E", node, dst=node, props={"v": old})
    with store.write(ANA, op="b") as tx:
        tx.set_node(node, {"v": new})
        tx.set_edge(edge, {"v": new})
    with store.read() as snapshot:
        assert repr(snapshot.node(node).props["v"]) == repr(new)  # type: ignore[union-attr]
        assert repr(snapshot.edge(edge).props["v"]) == repr(new)  # type: ignore[union-attr]
        assert [repr(past.props["v"]) for past in snapshot.node_history(node)] == [
            repr(old),
            repr(new),
        ]


def test_every_past_time_reads_as_it_was(store: Store, clock: FakeClock) -> None:
    """Versions at each time equal a kept history, for nodes, and for edges seen from both ends."""
    kept: list[tuple[int, Node | None, list[Edge]]] = []
    with store.write(ANA, op="0") as tx:
        a, b = tx.create_node(("A",), {"n": 0}), tx.create_node(("B",), {})
    edge = EdgeId(0)
    for n in range(1, 30):
        clock.advance(seconds=n % 3)
        with store.write(ANA, op=str(n)) as tx:
            match n % 5:
                case 0:
                    tx.delete_edge(edge)
                case 1:
                    edge = tx.create_edge("E", a, dst=b, props={"n": n})
                case 2:
                    tx.set_edge(edge, {"n": n})
                case 3:
                    tx.set_node(a, {"n": n}, labels=("A", f"L{n}"))
                case _:
                    tx.set_node(a, {"n": n})
                    tx.set_node(a, {"n": -n})  # only the last version of an instant can be seen
        with store.read() as snapshot:
            kept.append((tx.now, snapshot.node(a), snapshot.edges_out(a)))
    with store.read() as snapshot:
        for (time, node, edges), later in zip(
            kept, [*[row[0] for row in kept[1:]], kept[-1][0] + 5], strict=True
        ):
            for moment in (time, later - 1):
                was = snapshot.node_as_of(a, moment)
                assert was is not None
                assert was._replace(until=None) == node
                assert [e._replace(until=None) for e in snapshot.edges_as_of(a, moment)] == edges
                assert [
                    e._replace(until=None)
                    for e in snapshot.edges_as_of(b, moment, kind="E", incoming=True)
                ] == edges
                assert snapshot.edges_as_of(a, moment, kind="OTHER") == []
        assert snapshot.node_as_of(a, kept[0][0] - 10**12) is None
        history = snapshot.node_history(a)
        assert [v.until for v in history] == [*[v.since for v in history[1:]], None]
        assert len(snapshot.edge_history(a, "E")) == len(
            {(e.id, e.since) for _, _, edges in kept for e in edges}
        )
    assert check(store) == []
    assert digest(store) == replayed_digest(store)


def test_a_deleted_node_stays_in_the_past(store: Store, clock: FakeClock) -> None:
    with store.write(ANA, op="a") as tx:
        node, other = tx.create_node(("A",), {"kref": "k"}), tx.create_node(("A",), {})
        edge = tx.create_edge("E", node, dst=other)
    then = tx.now
    with pytest.raises(ConstraintError, match="still has edges"), store.write(ANA, op="b") as tx:
        tx.delete_node(other)
    clock.advance(seconds=1)
    with store.write(ANA, op="c") as tx:
        tx.delete_edge(edge)
        tx.delete_node(node)
    with store.read() as snapshot:
        assert snapshot.node(node) is None
        assert snapshot.node_by_kref("k") is None
        assert snapshot.nodes([node, other, 77]) == [snapshot.node(other)]
        assert snapshot.node_as_of(node, then).props == {"kref": "k"}  # type: ignore[union-attr]
        assert snapshot.node_as_of(node, tx.now) is None
        assert [e.id for e in snapshot.edges_as_of(node, then)] == [edge]
    assert digest(store) == replayed_digest(store)
    assert check(store) == []


# Guards


@pytest.fixture
def guarded(store: Store) -> Store:
    with store.write(ANA, op="rules") as tx:
        tx.set_catalogue("guard:label:Rule", {"role": "operator"})
        tx.set_catalogue("guard:label:Stone", {"immutable": True, "mutable": ["worn"]})
        tx.set_catalogue("guard:edge:TAG", {"role": "operator", "names": ["approved"]})
        tx.set_catalogue("guard:edge:NOW", {"single": True})
        tx.set_catalogue("guard:edge:LAW", {"role": "system"})
    return store


def test_a_label_may_need_a_role(guarded: Store) -> None:
    with guarded.write(ANA, op="a") as tx:
        rule = tx.create_node(("Rule",), {"n": 1})
        plain = tx.create_node(("A",), {})
    tries = (
        lambda tx: tx.create_node(("A", "Rule"), {}),
        lambda tx: tx.set_node(rule, {"n": 2}),
        lambda tx: tx.set_node(rule, {"n": 1}, labels=("A",)),
        lambda tx: tx.set_node(plain, {}, labels=("Rule",)),
        lambda tx: tx.delete_node(rule),
    )
    for attempt in tries:
        with pytest.raises(RoleError) as caught, guarded.write(BOT, op="b") as tx:
            attempt(tx)
        assert caught.value.fields == {"role": "agent", "needed": "operator"}
    with guarded.read() as snapshot:
        assert snapshot.node(rule).props == {"n": 1}  # type: ignore[union-attr]
        assert snapshot.count("Rule") == 1


def test_protected_tags_and_edge_types_need_a_role(guarded: Store) -> None:
    with guarded.write(ANA, op="a") as tx:
        node = tx.create_node(("A",), {})
        approved = tx.create_edge("TAG", node, dst=node, props={"name": "approved"})
        with pytest.raises(RoleError, match="edges of type LAW"):
            tx.create_edge("LAW", node, dst=node)
    with guarded.write(BOT, op="b") as tx:
        mine = tx.create_edge("TAG", node, dst=node, props={"name": "mine"})
        for attempt in (
            lambda: tx.create_edge("TAG", node, dst=node, props={"name": "approved"}),
            lambda: tx.set_edge(mine, {"name": "approved"}),
            lambda: tx.set_edge(approved, {"name": "mine"}),
            lambda: tx.delete_edge(approved),
            lambda: tx.restore_edge(
                EdgeId(9), "TAG", src=node, dst=node, props={"name": "approved"}
            ),
        ):
            with pytest.raises(RoleError, match="the tag"):
                attempt()
        tx.set_edge(mine, {"name": "other"})
    with guarded.read() as snapshot:
        assert [edge.props["name"] for edge in snapshot.edges_out(node, "TAG")] == [
            "approved",
            "other",
        ]


def test_immutable_labels_keep_all_but_what_they_name(guarded: Store) -> None:
    with guarded.write(ANA, op="a") as tx:
        stone = tx.create_node(("Stone",), {"text": "x", "n": 1})
    for attempt in (
        lambda tx: tx.set_node(stone, {"text": "y", "n": 1}),
        lambda tx: tx.set_node(stone, {"n": 1}),
        lambda tx: tx.set_node(stone, {"text": "x", "n": 1, "z": 1}),
        lambda tx: tx.set_node(stone, {"text": "x", "n": True}),
        lambda tx: tx.delete_node(stone),
    ):
        with (
            pytest.raises(ConstraintError, match="does not change once written"),
            guarded.write(ANA, op="b") as tx,
        ):
            attempt(tx)
    with guarded.write(BOT, op="c") as tx:
        tx.set_node(stone, {"text": "x", "n": 1, "worn": True})
    with guarded.read() as snapshot:
        assert snapshot.node(stone).props == {"text": "x", "n": 1, "worn": True}  # type: ignore[union-attr]


def test_a_single_edge_stays_single_over_the_whole_transaction(guarded: Store) -> None:
    with guarded.write(ANA, op="a") as tx:
        a, b = tx.create_node(("A",), {}), tx.create_node(("A",), {})
        first = tx.create_edge("NOW", a, dst=b)
    with pytest.raises(ConstraintError, match="two NOW edges"), guarded.write(ANA, op="b") as tx:
        tx.create_edge("NOW", a, dst=a)
    with guarded.write(ANA, op="c") as tx:
        tx.create_edge("NOW", a, dst=a)  # two for a moment
        tx.delete_edge(first)
    with guarded.read() as snapshot:
        assert [edge.dst for edge in snapshot.edges_out(a, "NOW")] == [a]


def test_only_operators_set_rules_or_erase(store: Store) -> None:
    with pytest.raises(RoleError, match="catalogue"), store.write(BOT, op="a") as tx:
        tx.set_catalogue("guard:label:X", {})
    with pytest.raises(RoleError, match="erase"), store.write(BOT, op="a") as tx:
        tx.erase([])
    with (
        pytest.raises(InputError, match="'root' is not a role"),
        store.write(Identity("x", "root"), op="a"),
    ):  # type: ignore[arg-type]
        pass


def test_removing_a_rule_lifts_it_for_every_store_on_the_file(guarded: Store) -> None:
    with Store(guarded.path) as other:
        with pytest.raises(RoleError), other.write(BOT, op="a") as tx:
            tx.create_node(("Rule",), {})
        with guarded.write(ANA, op="b") as tx:
            tx.set_catalogue("guard:label:Rule", None)
        with other.write(BOT, op="c") as tx:
            tx.create_node(("Rule",), {})
        with other.read() as snapshot:
            assert snapshot.catalogue("guard:label:Rule") is None
            assert snapshot.count("Rule") == 1


def test_names_and_limits(store: Store) -> None:
    for bad in ("", "x" * 201, 5, "a\ud800"):
        with pytest.raises(InputError), store.write(ANA, op="a") as tx:
            tx.create_node((bad,), {})  # type: ignore[arg-type]
    with (
        pytest.raises(LimitError),
        store.write(Identity("x" * (ACTOR_CHARS_MAX * 4 + 1), "agent"), op="a"),
    ):
        pass
    with pytest.raises(LimitError), store.write(ANA, op="a", note="x" * (NOTE_CHARS_MAX * 4 + 1)):
        pass
    assert verify_log(store).receipts == 0


# Threads and forks


def test_eight_threads_write_and_all_is_there(store: Store) -> None:
    failures: list[BaseException] = []

    def write(worker: int) -> None:
        try:
            for n in range(25):
                with store.write(Identity(f"t{worker}", "agent"), op="w") as tx:
                    tx.create_node(("W",), {"worker": worker, "n": n})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with store.read() as snapshot:
        assert {(n.props["worker"], n.props["n"]) for n in snapshot.labelled("W")} == {
            (w, n) for w in range(8) for n in range(25)
        }
    assert verify_log(store)[:2] == (200, 200)
    assert digest(store) == replayed_digest(store)


def in_child(work: Any) -> int:
    """Run in a forked child that leaves without the parent's clean-up; its exit code, 0 when the
    work raised nothing."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_its_own_connection_and_loses_nothing(tmp_path: Path) -> None:
    """The child goes on writing after the parent has closed: what was acknowledged must be
    there."""
    store = Store(tmp_path / "a.db")
    with store.write(ANA, op="a") as tx:
        tx.create_node(("A",), {"n": 0})
    inherited = store._engine.connection()
    ready_r, ready_w = os.pipe()
    go_r, go_w = os.pipe()

    def work() -> None:
        with store.write(ANA, op="child") as tx:
            tx.create_node(("A",), {"n": 1})
        assert store._engine.connection() is not inherited
        os.write(ready_w, b"x")
        os.read(go_r, 1)
        with store.write(ANA, op="child") as tx:
            tx.create_node(("A",), {"n": 2})

    child = in_child(work)
    os.read(ready_r, 1)
    store.close()
    with Store(tmp_path / "a.db") as again:
        os.write(go_w, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with again.write(ANA, op="parent") as tx:
            tx.create_node(("A",), {"n": 3})
    for end in (ready_r, ready_w, go_r, go_w):
        os.close(end)
    with Store(tmp_path / "a.db") as again, again.read() as snapshot:
        assert sorted(node.props["n"] for node in snapshot.labelled("A")) == [0, 1, 2, 3]  # type: ignore[type-var]
        assert check(again) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_inside_a_transaction_leaves_the_parents_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        with store.write(ANA, op="a") as tx:
            tx.create_node(("A",), {"n": 0})

            def work() -> None:
                with store.read() as snapshot:
                    assert snapshot.count("A") == 0

            assert os.waitstatus_to_exitcode(os.waitpid(in_child(work), 0)[1]) == 0
            tx.create_node(("A",), {"n": 1})
        with store.read() as snapshot:
            assert snapshot.count("A") == 2
        assert check(store) == []
        assert digest(store) == replayed_digest(store)
