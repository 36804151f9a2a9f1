"""Which elements of an export were erased in the file that it is to be merged into.

Of what was erased a file keeps no address and no word, but the numbers of the elements. Numbers are
given by each file for itself, so they mean something only in an export of this file, which shows by
one of these:

    the head of the export    the time and last numbers of a change of this file
    its digest                this file was restored from it
    the birth of an element   the time at which this file created the element of that number

An export of another file shows none of them: what it brought in and was erased whole is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from doxa.base.values import decode
from doxa.store import Reader, int64_array
from doxa.transfer.lines import ExportFile

_ERASURES = (
    "SELECT p.payload FROM log l JOIN log_payload p ON p.seq = l.seq WHERE l.op = 'erase'"
    " ORDER BY l.seq"
)
_OF_THIS_FILE = (
    "SELECT 1 FROM receipt WHERE (time = ?1 AND last_node = ?2 AND last_edge = ?3)"
    " OR (op = 'import' AND note = ?4) LIMIT 1"
)
_BORN_HERE = (
    "SELECT l.element, r.time FROM log l JOIN receipt r ON r.tx = l.tx"
    " WHERE l.op = ? AND l.element IN carray(?)"
)
_ADDRESSES = "SELECT kref FROM node WHERE id IN carray(?) AND kref IS NOT NULL"


@dataclass(frozen=True, slots=True)
class ErasedHere:
    """Numbers of nodes and edges in an export that were erased here, and the addresses among
    them."""

    nodes: frozenset[int] = frozenset()
    edges: frozenset[int] = frozenset()
    krefs: frozenset[str] = frozenset()


def restored_note(digest: str) -> str:
    """Return the note of the change that restores an export."""
    return f"sha256 {digest}"


def has_erased(here: Reader) -> bool:
    """Return whether anything was ever erased here."""
    return bool(here.rows(f"{_ERASURES} LIMIT 1"))


def erased_here(here: Reader, elsewhere: Reader, source: ExportFile) -> ErasedHere:
    """Return what of an export, which is loaded in `elsewhere`, was erased here."""
    nodes: set[int] = set()
    edges: set[int] = set()
    for (payload,) in here.rows(_ERASURES):
        erased = decode(payload)
        nodes.update(erased["nodes"])
        edges.update(erased["edges"])
    if not (nodes or edges) or source.header is None:
        return ErasedHere()
    head = source.header
    given = (head.time, head.last_node, head.last_edge, restored_note(source.digest))
    whole = bool(here.rows(_OF_THIS_FILE, given))
    nodes, edges = (
        _met(here, elsewhere, kind, ids, whole) for kind, ids in (("node", nodes), ("edge", edges))
    )
    krefs = elsewhere.rows(_ADDRESSES, (int64_array(sorted(nodes)),))
    return ErasedHere(frozenset(nodes), frozenset(edges), frozenset(row[0] for row in krefs))


def _met(
    here: Reader, elsewhere: Reader, kind: str, erased: Iterable[int], whole: bool
) -> set[int]:
    """Return which of the numbers are in the export and mean the same element there."""
    sql = f"SELECT id, born FROM {kind} WHERE id IN carray(?)"
    found = dict(elsewhere.rows(sql, (int64_array(sorted(erased)),)))
    if whole or not found:
        return set(found)
    born = here.rows(_BORN_HERE, (f"{kind}.create", int64_array(sorted(found))))
    return {element for element, time in born if found[element] == time}
