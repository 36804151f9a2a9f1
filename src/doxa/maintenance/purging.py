"""Erase everything that came from one source, and everything that depends on it alone.

    kref://…        a thread, turn, belief, space or project
    change:17       what a change, such as an import, made
    speaker:Ana     what a speaker said, and beliefs that name the speaker as such
    file:PATH       beliefs with an artifact at this location

A belief that is derived from, or depends on, what goes is taken too if nothing else is left that it
is derived from or depends on. Beliefs with another source stay, and are counted; what a run of a
background job concluded goes with any of its sources.
"""

from __future__ import annotations

from collections.abc import Iterable

from doxa.base.errors import InputError, NotFoundError
from doxa.base.ids import TxId
from doxa.base.values import canonical
from doxa.belief import HAS_REVISION, parse_kref, require
from doxa.belief.removal.conclusions import conclusions_from
from doxa.maintenance.erasing import ErasurePlan, carry_out, is_belief, outermost, token_of
from doxa.maintenance.forget import Forgotten, quoting
from doxa.store import Identity, Reader, Store, int64_array

_RESTS = "('DERIVED_FROM', 'DEPENDS_ON')"
_WAYS = ("change", "speaker", "file")


def purge(
    store: Store, identity: Identity, source: str, *, confirm: str = "", preview: bool = False
) -> Forgotten:
    """Erase what came from a source and what depends on it alone. Needs the token of a preview, and
    the operator role. Raises NotFoundError if nothing came from it."""
    with store.read() as snapshot:
        seeds = came_from(snapshot, source)
        if not seeds:
            raise NotFoundError(
                f"Nothing in this memory came from {source[:200]}.",
                next_step="Check the source: an address, change:NUMBER, speaker:NAME or file:PATH.",
                source=source[:200],
            )
        taken, shared = _closure(snapshot, seeds)
        plan = _plan(snapshot, taken)
        kept = _kept(snapshot, shared, plan.krefs)
        note = f"{kept} beliefs have other sources too and stay." if kept else ""
        token = token_of(snapshot, plan)
    return carry_out(
        store, identity, plan, token, confirm=confirm, preview=preview, note=note, op="purge"
    )


def is_source(text: str) -> bool:
    """Return whether a text names a source, and not a person."""
    return text.startswith("kref://") or text.partition(":")[0] in _WAYS


def came_from(reader: Reader, source: str) -> set[int]:
    """Return the nodes that came from a source."""
    if source.startswith("kref://"):
        return _at_address(reader, source)
    way, _, name = source.partition(":")
    if way not in _WAYS or not name.strip():
        raise InputError(
            f"{source!r:.100} names no source.",
            next_step="Give an address, change:NUMBER, speaker:NAME or file:PATH.",
            field="source",
        )
    if way == "change":
        return _made_by(reader, name)
    if way == "speaker":
        sql = (
            "SELECT id, props ->> '$.speaker', props ->> '$.speaker_name' FROM node WHERE kref IS"
            " NOT NULL"
        )
        folded = name.strip().casefold()
        return {
            row[0]
            for row in reader.rows(sql)
            if any(isinstance(one, str) and one.casefold() == folded for one in row[1:])
        }
    rows = reader.rows(
        "SELECT e.src FROM node_label l JOIN node a ON a.id = l.node JOIN edge e ON e.dst = a.id"
        " AND e.type = 'HAS_ARTIFACT' WHERE l.label = 'Artifact' AND a.props ->> '$.location' = ?",
        (name,),
    )
    return {row[0] for row in rows}


def _at_address(reader: Reader, source: str) -> set[int]:
    kref = parse_kref(source)
    node = require(reader, kref)
    if kref.kind == "thread":
        return {node.id, *(edge.dst for edge in reader.edges_out(node.id, "HAS_EXCHANGE"))}
    if kref.is_item:
        return {node.id}
    prefix = f"{kref}/"
    rows = reader.rows(
        "SELECT id FROM node WHERE kref >= ?1 AND kref < ?2", (prefix, prefix[:-1] + "0")
    )
    return {node.id, *(row[0] for row in rows)}


def _made_by(reader: Reader, name: str) -> set[int]:
    if not name.isdecimal() or len(name) > 18 or reader.receipt(TxId(int(name))) is None:
        raise NotFoundError(
            f"There is no change {name[:40]}.",
            next_step="List changes with `doxa log`.",
            change=name[:40],
        )
    rows = reader.rows(
        "SELECT l.element FROM log l JOIN node n ON n.id = l.element WHERE l.tx = ? AND l.op ="
        " 'node.create' AND NOT EXISTS (SELECT 1 FROM json_each(n.labels) WHERE value IN"
        " ('Project', 'Space'))",
        (int(name),),
    )
    return {row[0] for row in rows}


def _closure(reader: Reader, seeds: set[int]) -> tuple[set[int], set[int]]:
    """Return what goes, and what depends on it but on something else too."""
    taken, shared = set(seeds), set[int]()
    while True:
        taken |= _revisions(reader, taken)
        resting = {
            row[0]
            for row in reader.rows(
                f"SELECT src FROM edge WHERE type IN {_RESTS} AND dst IN carray(?)",
                (int64_array(sorted(taken)),),
            )
        } - taken
        alone = {node for node in resting if _grounds(reader, node) <= taken}
        shared = resting - alone
        if not alone:
            return taken, shared
        taken |= alone


def _revisions(reader: Reader, nodes: Iterable[int]) -> set[int]:
    """Return the revisions of the items among these nodes."""
    rows = reader.rows(
        "SELECT dst FROM edge WHERE type = ? AND src IN (SELECT value FROM json_each(?))",
        (HAS_REVISION, canonical(sorted(nodes)).decode()),
    )
    return {row[0] for row in rows}


def _grounds(reader: Reader, node: int) -> set[int]:
    """Return what a node depends on, other than earlier revisions of its own item."""
    rows = reader.rows(f"SELECT dst FROM edge WHERE type IN {_RESTS} AND src = ?", (node,))
    return {row[0] for row in rows}


def _kept(reader: Reader, shared: set[int], krefs: Iterable[str]) -> int:
    """Count what has other sources too and is not among these addresses, as what runs concluded
    is."""
    gone = set(krefs)
    addresses = [str(node.props.get("kref")) for node in reader.nodes(sorted(shared))]
    return sum(gone.isdisjoint((one, one.partition("?")[0])) for one in addresses)


def _plan(reader: Reader, taken: set[int]) -> ErasurePlan:
    plan, krefs = ErasurePlan(), set[str]()
    for node in reader.nodes(sorted(taken)):
        address = node.props.get("kref")
        if isinstance(address, str) and is_belief(node.labels):
            krefs.add(address)
        elif not isinstance(address, str):
            plan.nodes.add(node.id)
    krefs |= {*quoting(reader, sorted(krefs)), *conclusions_from(reader, taken)}
    plan.krefs = outermost(reader, krefs)
    return plan
