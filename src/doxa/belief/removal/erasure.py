"""What an erasure takes: the nodes that an address stands for, and the places that are left without
content, since their names are content too."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from doxa.base.clock import format_time
from doxa.base.errors import ConflictError
from doxa.base.ids import EdgeId, NodeId
from doxa.belief.graph import (
    CANDIDATE,
    CHALLENGER,
    ENTITY,
    MENTIONS,
    PENDING_ENTITY,
    SAME_AS,
    item_of,
    require,
    resolve,
    revisions_of,
)
from doxa.belief.kref import Kref, parse_kref
from doxa.belief.removal.conclusions import conclusions_from
from doxa.belief.writes import require_item
from doxa.store import RUN_KREF, Edge, Node, Reader, Transaction, int64_array
from doxa.store.retention.rewriting import erase_parts

THREAD_KIND = "thread"
CONSOLIDATION_TASK = "ConsolidationTask"  # a session that awaits consolidation
_PLACES = frozenset(("Project", "Space", "Thread"))


def is_place(kref: Kref) -> bool:
    """Return whether an address names a project, space or thread."""
    return not kref.is_item or kref.kind == THREAD_KIND


def erasable(tx: Transaction, kref: Kref) -> list[Node]:
    """Return the nodes an address stands for: one artifact, one revision however it is pinned, or
    an item with all it holds."""
    if kref.artifact is not None:
        return [require(tx, parse_kref(f"{resolve(tx, kref).props['kref']}&a={kref.artifact}"))]
    if kref != kref.item():
        node = resolve(tx, kref)
        item = item_of(tx, node.id)
        number = node.props["number"]
        assert isinstance(number, int)
        floor = item.props.get("next_number", 1)
        assert isinstance(floor, int)
        tx.set_node(item.id, item.props | {"next_number": max(floor, number + 1)})
        return [node, *_artifacts(tx, node)]
    item = require_item(tx, kref)
    found = [item]
    for revision in revisions_of(tx, item.id):
        found += [revision, *_artifacts(tx, revision)]
    return found


def _artifacts(tx: Transaction, node: Node) -> list[Node]:
    return tx.nodes([edge.dst for edge in tx.edges_out(node.id, "HAS_ARTIFACT")])


def emptied_places(tx: Transaction, kref: Kref, taken: Collection[int]) -> list[Node]:
    """Return the place at an address and all below it, which must hold nothing but what is
    taken."""
    place = require(tx, kref)
    if kref.kind == THREAD_KIND:
        held = [edge.dst for edge in tx.edges_out(place.id, "HAS_EXCHANGE")]
        below: list[Node] = []
    else:
        prefix = f"{kref}/"
        rows = tx.rows(
            "SELECT id FROM node WHERE kref >= ?1 AND kref < ?2 ORDER BY id",
            (prefix, prefix[:-1] + "0"),
        )
        found = tx.nodes([row[0] for row in rows])
        below = [node for node in found if _PLACES & set(node.labels)]
        held = [node.id for node in found if {"Item", "Exchange"} & set(node.labels)]
    others = [identity for identity in held if identity not in taken]
    if others:
        raise ConflictError(
            f"{kref} holds {len(others)} things that are not among what is to be erased.",
            next_step="Look at a new preview of forgetting it, then decide again.",
            kref=str(kref),
            count=len(others),
        )
    return [place, *below]


def emptied_threads(tx: Transaction, taken: Iterable[Node]) -> list[Node]:
    """Return the threads that lose the last of their exchanges."""
    exchanges = {node.id for node in taken if "Exchange" in node.labels}
    threads = {edge.src for identity in exchanges for edge in tx.edges_in(identity, "HAS_EXCHANGE")}
    return tx.nodes(
        [
            thread
            for thread in sorted(threads)
            if all(e.dst in exchanges for e in tx.edges_out(thread, "HAS_EXCHANGE"))
        ]
    )


def nodes_at(tx: Transaction, krefs: Iterable[Kref]) -> list[Node]:
    """Return all nodes that go with these addresses, each once, among them what runs concluded from
    them; a place only if all it holds is among them (ConflictError otherwise)."""
    given = list(krefs)
    nodes: dict[int, Node] = {}
    places = [kref for kref in given if is_place(kref)]
    for kref in given:
        if not is_place(kref):
            nodes |= {node.id: node for node in erasable(tx, kref)}
    for address in conclusions_from(tx, nodes.keys()):
        nodes |= {node.id: node for node in erasable(tx, parse_kref(address))}
    for kref in places:
        nodes |= {node.id: node for node in emptied_places(tx, kref, nodes.keys())}
    nodes |= {node.id: node for node in emptied_threads(tx, nodes.values())}
    nodes |= {node.id: node for node in orphaned_conflicts(tx, nodes)}
    nodes |= {node.id: node for node in unnamed_entities(tx, nodes)}
    nodes |= {node.id: node for node in proposals_about(tx, nodes)}
    nodes |= {node.id: node for node in tasks_of(tx, nodes)}
    return list(nodes.values())


def proposals_about(tx: Transaction, taken: Collection[int]) -> list[Node]:
    """Return the proposals of jobs and the records of the runtime that concern what is taken, and
    those that concern these: they may say what it said."""
    known = set(taken)
    found: list[Node] = []
    while (
        new := {row[0] for sql in _PROPOSING for row in tx.rows(sql, (int64_array(sorted(known)),))}
        - known
    ):
        known |= new
        found += [node for node in tx.nodes(sorted(new)) if not _SAYING.isdisjoint(node.labels)]
    return found


def tasks_of(tx: Transaction, taken: Collection[int]) -> list[Node]:
    """Return the sessions in the queue of consolidation whose turns are taken: a task names the
    thread and the session, and its error may quote a turn. What is left of such a session is
    consolidated without it: an erasure has all threads looked at."""
    rows = tx.rows(_SESSIONS, (int64_array(sorted(taken)),))
    held = {(thread, name or format_time(time)[:10]) for thread, name, time in rows}
    threads = {
        str(node.props.get("kref")) for node in tx.nodes(sorted(taken)) if "Thread" in node.labels
    }
    return [
        node
        for node in (tx.labelled(CONSOLIDATION_TASK) if held or threads else ())
        if node.props["thread"] in threads or (node.props["thread"], node.props["session"]) in held
    ]


_SESSIONS = (
    "SELECT DISTINCT t.kref, n.props ->> '$.session', n.props ->> '$.time' FROM edge e JOIN node n"
    " ON n.id = e.dst JOIN node t ON t.id = e.src WHERE e.dst IN carray(?) AND e.type ="
    " 'HAS_EXCHANGE'"
)


def clear_reports(tx: Transaction, taken: Iterable[Node]) -> None:
    """Erase what the runs that made what is taken, or proposed anything about it, reported."""
    named = {
        node.props.get(name)
        for node in taken
        for name in (("run", "decided_in") if "Proposal" in node.labels else (RUN_KREF,))
    }
    krefs = sorted(one for one in named if isinstance(one, str))
    for run in tx.nodes_by_kref(krefs) if krefs else ():
        if "Run" in run.labels and not _REPORTED.isdisjoint(run.props):
            erase_parts(tx, run.id, edge=False, properties=sorted(_REPORTED))


_REPORTED = frozenset(("report", "error"))
_SAYING = frozenset(("Proposal", "Record"))
_PROPOSING = tuple(
    f"SELECT src FROM {table} WHERE dst IN carray(?) AND type = 'CONCERNS'"
    for table in ("edge", "edge_past")
)


_NAMED = "SELECT dst FROM {table} WHERE src IN carray(?) AND type = 'MENTIONS'"
_ATTESTED = (
    "SELECT 1 FROM {table} WHERE dst = ? AND type = 'MENTIONS' AND props ->> '$.folded' = ?"
    " AND src NOT IN (SELECT value FROM carray(?)) LIMIT 1"
)


def unnamed_entities(tx: Transaction, taken: Collection[int]) -> list[Node]:
    """Return the entities, and questions about one, present or past, whose name only what is taken
    gives: no other source writes it so, and nobody stated it."""
    sources = int64_array(sorted(taken))
    tables = ("edge", "edge_past")
    named = {row[0] for table in tables for row in tx.rows(_NAMED.format(table=table), (sources,))}
    found = []
    for identity in sorted(named - set(taken)):
        node = tx.node(NodeId(identity)) or _last_version(tx, identity)
        if node is None or not {ENTITY, PENDING_ENTITY} & set(node.labels):
            continue
        live = tx.node(NodeId(identity)) is not None
        args = (identity, node.props.get("folded"), sources)
        held = any(tx.rows(_ATTESTED.format(table=table), args) for table in tables[: 2 - live])
        if not node.props.get("stated_by") and not held:
            found.append(node)
    return found


def _last_version(tx: Transaction, identity: int) -> Node | None:
    past = tx.node_history(NodeId(identity))
    return past[-1] if past else None


def edges_drawn_from(tx: Transaction, taken: Iterable[Node]) -> list[EdgeId]:
    """Return the edges between entities that say that one of these nodes is their source."""
    found: set[EdgeId] = set()
    for node in taken:
        kref = node.props.get("kref")
        for mention in tx.edges_out(node.id, MENTIONS):
            for kind in (SAME_AS, CANDIDATE):
                edges = (*tx.edges_out(mention.dst, kind), *tx.edges_in(mention.dst, kind))
                found |= {edge.id for edge in edges if edge.props.get("source") == kref}
    return sorted(found)


def structural_edge(reader: Reader, edge: Edge) -> bool:
    """Return whether a guard of the ledger is about an edge: one that makes a belief."""
    rule = reader.catalogue(f"guard:edge:{edge.type}")
    if rule is None:
        return False
    ends = reader.nodes([edge.src, edge.dst])
    return any(end.props.get("kref") is not None for end in ends)


def orphaned_conflicts(tx: Transaction, taken: Iterable[int]) -> list[Node]:
    """Return the conflicts whose challenger goes: there is nothing left to decide."""
    found = {edge.src for identity in taken for edge in tx.edges_in(NodeId(identity), CHALLENGER)}
    return tx.nodes(sorted(found))
