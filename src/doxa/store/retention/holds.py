"""Legal holds: what an operator has put on hold is neither erased nor dropped by retention.

Catalogue entry   hold:<name>  {"kind": "address"|"project"|"text"|"speaker", "value": text,
                                "reason": text, "time": ns}

A hold covers an element if any version of it, present or past, fits. An edge is covered with
either of its ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import apsw

from doxa.base.errors import ConflictError
from doxa.base.values import decode
from doxa.store.retention.occurrences import Needle
from doxa.store.sql_values import int64_array

PREFIX = "hold:"
KINDS = ("address", "project", "text", "speaker")
_VERSIONS = (
    "SELECT id, labels, json(props) FROM node WHERE id IN carray(?1) UNION ALL SELECT id, labels,"
    " json(props) FROM node_past WHERE id IN carray(?1)"
)
_EDGES = (
    "SELECT id, src, dst, json_array(type), json(props) FROM edge WHERE id IN carray(?1) UNION ALL"
    " SELECT id, src, dst, json_array(type), json(props) FROM edge_past WHERE id IN carray(?1)"
)
_LOGGED = (
    "SELECT l.element, l.seq, p.payload FROM log l JOIN log_payload p ON p.seq = l.seq WHERE"
    " l.element IN carray(?1) AND substr(l.op, 1, 5) = ?2"
)


class Hold:
    """One hold, ready to be asked about versions of elements."""

    def __init__(self, name: str, value: Mapping[str, Any]) -> None:
        self.name, self.kind, self.value = name, str(value["kind"]), str(value["value"])
        self._needle = Needle(self.value) if self.kind == "text" else None

    def covers(self, names: str, text: str) -> bool:
        """Return whether a version with these labels and properties, both JSON, is on hold."""
        if self._needle is not None:
            return self._needle.in_text(names) or self._needle.in_text(text)
        props = decode(text)
        if self.kind == "speaker":
            return any(
                isinstance(given := props.get(key), str)
                and given.casefold() == self.value.casefold()
                for key in ("speaker", "author")
            )
        kref = props.get("kref")
        if not isinstance(kref, str):
            return False
        base = f"kref://{self.value}" if self.kind == "project" else self.value
        return kref == base or kref.startswith((base + "/", base + "?"))


def holds_of(catalogue: Mapping[str, Any]) -> list[Hold]:
    """Return the holds of a catalogue."""
    return [
        Hold(name.removeprefix(PREFIX), value)
        for name, value in sorted(catalogue.items())
        if name.startswith(PREFIX)
    ]


def held_elements(
    db: apsw.Connection, holds: Collection[Hold], *, nodes: Collection[int], edges: Collection[int]
) -> dict[tuple[bool, int], str]:
    """Return which of these elements are on hold: (edge, id) -> name of the hold."""
    found: dict[tuple[bool, int], str] = {}
    if not holds:
        return found
    ends: dict[int, set[int]] = {}
    for identity, src, dst, names, text in db.execute(_EDGES, (_ids(edges),)) if edges else ():
        for end in (src, dst):
            ends.setdefault(end, set()).add(identity)
        _note(found, holds, (True, identity), names, text)
    asked = {*nodes, *ends}
    for identity, names, text in _node_versions(db, asked):
        name = next((hold.name for hold in holds if hold.covers(names, text)), None)
        if name is not None:
            if identity in nodes:
                found.setdefault((False, identity), name)
            for edge in ends.get(identity, ()):
                found.setdefault((True, edge), name)
    texts = [hold for hold in holds if hold.kind == "text"]
    for edge, asked_ids in ((False, set(nodes)), (True, set(edges))) if texts else ():
        if asked_ids:
            op = "edge." if edge else "node."
            for identity, _, payload in db.execute(_LOGGED, (_ids(asked_ids), op)):
                _note(found, texts, (edge, identity), "[]", payload.decode("utf-8", "replace"))
    return found


def _node_versions(db: apsw.Connection, asked: Collection[int]) -> Iterator[tuple[int, str, str]]:
    if asked:
        yield from db.execute(_VERSIONS, (_ids(asked),))


def _note(
    found: dict[tuple[bool, int], str],
    holds: Collection[Hold],
    key: tuple[bool, int],
    names: str,
    text: str,
) -> None:
    for hold in holds:
        if key not in found and hold.covers(names, text):
            found[key] = hold.name


def _ids(identities: Collection[int]) -> Any:
    return int64_array(sorted(identities))


def require_free(
    db: apsw.Connection,
    catalogue: Mapping[str, Any],
    *,
    nodes: Collection[int],
    edges: Collection[int],
) -> None:
    """Raise ConflictError if any of these elements is on hold."""
    held = held_elements(db, holds_of(catalogue), nodes=nodes, edges=edges)
    if held:
        names = sorted(set(held.values()))
        raise ConflictError(
            f"{len(held)} of these elements are on legal hold: {', '.join(names[:5])}.",
            next_step="List the holds with `doxa holds`; an operator releases one when the"
            " duty to keep has ended.",
            holds=names[:20],
            count=len(held),
        )
