"""What makes a belief a belief is written by the operations alone: no link, draft or transaction
brings a retired statement back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import doxa
from doxa.base.errors import ConstraintError, InputError, NotFoundError, RoleError
from doxa.base.ids import NodeId
from doxa.belief import Draft, Ledger, parse_kref, read_any, require, resolve
from doxa.belief.graph import RESERVED_EDGES
from doxa.store import Identity, Node, Store, Transaction, check, digest, replayed_digest
from doxa.store.log_writer import read_start

A, D = "kref://shop/a.fact", "kref://shop/d.fact"
BOT, ANA = Identity("bot", "agent"), Identity("ana", "operator")
TURN = "kref://shop/talk/t1.exchange"


@pytest.fixture
def shop(believing: Store, agent: Ledger) -> Store:
    """Two beliefs, one of them revised, a turn and a bundle."""
    for name, summary in (
        ("a", "tea"),
        ("d", "we deploy on Mondays"),
        ("d", "we deploy on Fridays"),
    ):
        agent.put(Draft(summary, project="shop", name=name))
    with believing.write(ANA, op="said") as tx:
        place = require(tx, parse_kref("kref://shop"))
        space = tx.create_node(
            ("Space",), {"kref": "kref://shop/talk", "name": "talk", "project": "shop"}
        )
        tx.create_edge("HAS_SPACE", place.id, dst=space)
        thread = tx.create_node(
            ("Thread",),
            {"kref": "kref://shop/talk/t.thread", "name": "t", "project": "shop", "kind": "thread"},
        )
        tx.create_edge("HAS_THREAD", space, dst=thread)
        tx.create_edge("HAS_EXCHANGE", thread, dst=tx.create_node(("Exchange",), turn()))
    agent.bundle("kref://shop/all.bundle", add=[A])
    return believing


def turn(**more: Any) -> dict[str, Any]:
    said = {
        "thread": "kref://shop/talk/t.thread",
        "session": "",
        "speaker": "Ana",
        "role": "user",
        "text": "hello",
        "time": 1,
    }
    return {"kref": TURN, "project": "shop", "space": "talk", "kind": "exchange", **said, **more}


def believed(store: Store, kref: str) -> list[tuple[str, str]]:
    with store.read() as snapshot:
        found = [read_any(snapshot, resolve(snapshot, parse_kref(f"{kref}?r={n}"))) for n in (1, 2)]
    return [(revision.status, revision.summary) for revision in found]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", sorted(RESERVED_EDGES))
def test_structural_edges_are_neither_linked_nor_unlinked_nor_stated_with_a_draft(
    shop: Store, agent: Ledger, kind: str
) -> None:
    before = digest(shop)
    for call in (
        lambda: agent.link(A, D + "?r=1", kind=kind),
        lambda: agent.unlink(D, D + "?r=1", kind=kind),
        lambda: agent.put(Draft("new", project="shop", name="new"), links=[(kind, D)]),
    ):
        with pytest.raises(InputError, match="written by doxa itself"):
            call()
    assert digest(shop) == before
    assert believed(shop, D) == [
        ("superseded", "we deploy on Mondays"),
        ("current", "we deploy on Fridays"),
    ]


@pytest.mark.parametrize("end", ["kref://shop", "kref://shop/talk", "kref://shop/talk/t.thread"])
def test_places_and_threads_are_not_linked(shop: Store, agent: Ledger, end: str) -> None:
    for call in (
        lambda: agent.link(end, A, kind="ABOUT"),
        lambda: agent.link(A, end, kind="ABOUT"),
        lambda: agent.unlink(A, end, kind="ABOUT"),
    ):
        with pytest.raises(InputError, match="cannot be linked"):
            call()


def test_beliefs_turns_and_bundles_are_linked(shop: Store, agent: Ledger) -> None:
    for source, target in ((A, TURN), (A, D), (A, "kref://shop/all.bundle"), (TURN, A)):
        assert agent.link(source, target, kind="ABOUT").action == "linked"
        assert agent.unlink(source, target, kind="ABOUT").action == "unlinked"


def node_of(tx: Transaction, kref: str) -> Node:
    return resolve(tx, parse_kref(kref)) if "?" in kref else require(tx, parse_kref(kref))


def joined(kind: str, source: str, target: str, **props: Any) -> Callable[[Transaction], object]:
    return lambda tx: tx.create_edge(
        kind, node_of(tx, source).id, dst=node_of(tx, target).id, props=props
    )


def removed(kind: str, source: str) -> Callable[[Transaction], object]:
    return lambda tx: tx.delete_edge(tx.edges_out(node_of(tx, source).id, kind)[0].id)


def relabelled(kref: str, *labels: str) -> Callable[[Transaction], object]:
    def change(tx: Transaction) -> None:
        node = node_of(tx, kref)
        tx.set_node(node.id, node.props, labels=labels)

    return change


def other_node(tx: Transaction, *labels: str) -> NodeId:
    return tx.create_node(labels, {"n": 1})


FORGERIES: dict[str, Callable[[Transaction], object]] = {
    "current from another item": joined("CURRENT", A, D + "?r=1"),
    "a second current": joined("CURRENT", D, D + "?r=1"),
    "current twice": joined("CURRENT", D, D + "?r=2"),
    "current from a revision": joined("CURRENT", A + "?r=1", D + "?r=1"),
    "current from a project": joined("CURRENT", "kref://shop", D + "?r=1"),
    "current to an item": joined("CURRENT", A, D),
    "current from a node of another kind": lambda tx: tx.create_edge(
        "CURRENT", other_node(tx, "FactKey"), dst=node_of(tx, D + "?r=1").id
    ),
    "current to a node of another kind": lambda tx: tx.create_edge(
        "CURRENT", node_of(tx, D).id, dst=other_node(tx, "FactVersion")
    ),
    "another item's revision": joined("HAS_REVISION", A, D + "?r=1"),
    "a tag of another item": joined("TAG", A, D + "?r=1", name="x"),
    "an artifact of a turn": joined("HAS_ARTIFACT", TURN, A),
    "a turn in a space": joined("HAS_EXCHANGE", "kref://shop/talk", TURN),
    "a belief beside a turn": joined("NEXT", TURN, A + "?r=1"),
    "an item that supersedes": joined("SUPERSEDES", A, D + "?r=2"),
    "an item in a revision": joined("HAS_ITEM", A + "?r=1", A),
    "a revision as member": joined("MEMBER", "kref://shop/all.bundle", D + "?r=1"),
    "an item without its revision": removed("HAS_REVISION", D),
    "a thread without its turn": removed("HAS_EXCHANGE", "kref://shop/talk/t.thread"),
    "a place without its item": removed("HAS_ITEM", "kref://shop"),
    "a revision of no label": relabelled(D + "?r=1"),
    "an item of no label": relabelled(D, "Thing"),
    "an item that becomes a thread": relabelled(D, "Item", "Thread"),
    "an item of another address": lambda tx: tx.set_node(
        node_of(tx, D).id, node_of(tx, D).props | {"kref": "kref://shop/e.fact"}
    ),
    "an item without an address": lambda tx: tx.set_node(
        node_of(tx, D).id, {k: v for k, v in node_of(tx, D).props.items() if k != "kref"}
    ),
    "a node that becomes an item": lambda tx: tx.set_node(
        other_node(tx, "Thing"),
        {"kref": "kref://shop/e.fact", "project": "shop", "space": "", "kind": "fact"},
        labels=("Item",),
    ),
    "a revision that says nothing": lambda tx: tx.create_node(("Revision",), {"n": 1}),
    "a turn of nobody": lambda tx: tx.create_node(("Exchange",), {"text": "hello"}),
    "a turn at no time": lambda tx: tx.create_node(
        ("Exchange",), turn(kref="kref://shop/talk/t2.exchange", time="yesterday")
    ),
    "an item of a number": lambda tx: tx.create_node(
        ("Item",), {"kref": "kref://shop/5.fact", "project": "shop", "space": "", "kind": 5}
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("identity", [BOT, ANA])
def test_no_transaction_forges_the_structure_of_beliefs(
    shop: Store, identity: Identity, forgery: str
) -> None:
    before = digest(shop)
    with pytest.raises(ConstraintError) as caught, shop.write(identity, op="query") as tx:
        FORGERIES[forgery](tx)
    assert caught.value.next_step
    assert digest(shop) == before == replayed_digest(shop)
    assert check(shop) == []
    assert believed(shop, D) == [
        ("superseded", "we deploy on Mondays"),
        ("current", "we deploy on Fridays"),
    ]


def test_two_tags_of_one_name_do_not_stand(shop: Store, agent: Ledger) -> None:
    agent.tag(D + "?r=1", "mine")
    with (
        pytest.raises(ConstraintError, match="two TAG edges named 'mine'"),
        shop.write(BOT, op="query") as tx,
    ):
        joined("TAG", D, D + "?r=2", name="mine")(tx)
    with shop.write(BOT, op="query") as tx:
        joined("TAG", D, D + "?r=2", name="other")(tx)
    with pytest.raises(RoleError), shop.write(BOT, op="query") as tx:
        joined("TAG", D, D + "?r=2", name="approved")(tx)


def test_graphs_of_other_things_use_the_same_names_freely(shop: Store) -> None:
    with shop.write(BOT, op="query") as tx:
        key, old, new = (
            other_node(tx, "FactKey"),
            other_node(tx, "FactVersion"),
            other_node(tx, "FactVersion"),
        )
        for kind in sorted(RESERVED_EDGES):
            for end in (old, new):
                tx.create_edge(kind, key, dst=end, props={"name": "approved"})
        item, project = (
            other_node(tx, "Item"),
            other_node(tx, "Project", "Thread"),
        )  # without an address they are anybody's
        tx.create_edge("CURRENT", item, dst=project)
        tx.create_edge("HAS_REVISION", project, dst=key)
        tx.set_node(item, {"n": 2}, labels=("Thing",))
        tx.create_edge("ABOUT", key, dst=node_of(tx, D + "?r=1").id)
    with shop.write(BOT, op="query") as tx:
        for edge in tx.edges_out(key):
            tx.delete_edge(edge.id)
    assert check(shop) == []


def test_check_names_what_older_rules_let_through(shop: Store) -> None:
    with shop.read() as snapshot:
        item, other, first = (node_of(snapshot, kref).id for kref in (A, D, D + "?r=1"))  # type: ignore[arg-type]
    db = shop._engine.connection()
    number = read_start(db)[1].edge + 1
    for kind, src in (
        ("CURRENT", item),
        ("HAS_REVISION", item),
        ("CURRENT", other),
        ("TAG", first),
    ):
        db.execute(
            "INSERT INTO edge(id, type, src, dst, props, since, born) VALUES(?, ?, ?, ?,"
            " jsonb('{}'), 1, 1)",
            (number, kind, src, first),
        )
        number += 1
    said = " | ".join(check(shop))
    for problem in (
        f"two CURRENT edges leave node {item}",
        f"two CURRENT edges leave node {other}",
        f"two CURRENT edges reach node {first}",
        f"two HAS_REVISION edges reach node {first}",
        "An edge TAG at a belief goes from Item to Revision",
    ):
        assert problem in said
    db.execute("DELETE FROM edge WHERE id BETWEEN ? AND ?", (number - 4, number - 1))


def believing_as_before(store: Store, node: NodeId, kref: str) -> None:
    """Give a node an address as older versions let anybody do."""
    props = f'{{"kref": "{kref}"}}'
    store._engine.connection().execute(
        "UPDATE node SET props = jsonb(?) WHERE id = ?", (props, node)
    )


def test_what_is_at_an_address_is_what_the_address_says(shop: Store, agent: Ledger) -> None:
    with shop.write(BOT, op="query") as tx:
        item = tx.create_node(
            ("Item",),
            {"kref": "kref://shop/w.thread", "project": "shop", "space": "", "kind": "thread"},
        )
        shop_node = tx.node_by_kref("kref://shop")
        assert shop_node
        tx.create_edge("HAS_ITEM", shop_node.id, dst=item)
        things = [other_node(tx, "Thing") for _ in range(2)]
        for thing, kref in zip(things, ("kref://shop/x.fact", "kref://shop/place"), strict=True):
            with pytest.raises(ConstraintError, match="is the address of a belief"):
                tx.set_node(thing, {"kref": kref})
    for thing, kref in zip(things, ("kref://shop/x.fact", "kref://shop/place"), strict=True):
        believing_as_before(shop, thing, kref)
    with shop.read() as snapshot:
        with pytest.raises(NotFoundError, match="is labelled"):
            resolve(snapshot, parse_kref("kref://shop/w.thread"))
        assert (
            read_any(snapshot, resolve(snapshot, parse_kref("kref://shop/place"))).kref
            == "kref://shop/place"
        )
    for call in (
        lambda: agent.put(Draft("x", project="shop", name="x")),
        lambda: agent.put(Draft("x", project="shop", space="place", name="y")),
        lambda: agent.bundle("kref://shop/all.bundle", add=["kref://shop/x.fact"]),
        lambda: agent.deprecate("kref://shop/x.fact"),
    ):
        with pytest.raises((NotFoundError, InputError, ConstraintError)):
            call()


@pytest.mark.parametrize("label", ["Project", "Space", "Thread", "Item", "Conflict"])
def test_nodes_of_others_with_such_a_label_are_theirs(memory: doxa.Memory, label: str) -> None:
    """Only what has an address is guarded: a graph may have items or projects of its own."""
    memory.run(f"CREATE (n:{label} {{name: 5, space: [1], opened: 'x', project: true}})")
    memory.run(f"MATCH (n:{label}) SET n.name = 'six', n.kind = 7, n.other = 1 REMOVE n.space")
    memory.run(f"MATCH (n:{label}) WHERE n.kref IS NULL CREATE (n)-[:OF]->(:{label} {{name: 1}})")
    (row,) = memory.run(
        f"MATCH (n:{label})-[:OF]->(m) RETURN n.name AS name, n.kind AS kind, m.name AS other"
    ).records()
    assert dict(row) == {"name": "six", "kind": 7, "other": 1}
    memory.run(f"MATCH (n:{label}) WHERE n.kref IS NULL DETACH DELETE n")
    assert memory.run(f"MATCH (n:{label}) WHERE n.name = 'six' RETURN n").records() == []
