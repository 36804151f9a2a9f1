"""The state of one element as a log entry holds it, and the operations of retention on rows.

`node.rewrite` and `edge.rewrite` state all that is kept of an element: its live version, its past
versions and its access metadata. A replay skips every earlier entry of the element, so that their
payloads may be destroyed.

    node.rewrite   {id, live: [labels, props, since, born, project] | null,
                    past: [[since, until, labels, props, born, project], ...], access: {...}}
    edge.rewrite   {id, live: [type, src, dst, props, since, born, project] | null,
                    past: [[since, until, type, src, dst, props, born, project], ...],
                    access: {...}}
    node.usage, edge.usage   {id, data}      sets access metadata, whatever it was before
    past.drop                {edge, versions: [[id, since], ...]}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from doxa.base.values import canonical, decode

REWRITES = ("node.rewrite", "edge.rewrite")
_LIVE = (
    "SELECT labels, json(props), since, born, project FROM node WHERE id = ?",
    "SELECT type, src, dst, json(props), since, born, project FROM edge WHERE id = ?",
)
_PAST = (
    "SELECT since, until, labels, json(props), born, project FROM node_past WHERE id = ?"
    " ORDER BY since",
    "SELECT since, until, type, src, dst, json(props), born, project FROM edge_past WHERE id = ?"
    " ORDER BY since",
)
_EDGES_PROJECT = (
    "UPDATE edge SET project = (SELECT s.project FROM node s JOIN node d ON d.project = s.project"
    " WHERE s.id = edge.src AND d.id = edge.dst) WHERE src = ?1 OR dst = ?1"
)


def state_of(db: apsw.Connection, identity: int, *, edge: bool) -> dict[str, Any]:
    """Return the body of a rewrite: everything that is kept of an element."""
    live: Any = db.execute(_LIVE[edge], (identity,)).fetchone()
    past: list[Any] = db.execute(_PAST[edge], (identity,)).fetchall()
    access = db.execute(
        "SELECT json(data) FROM access WHERE edge = ? AND element = ?", (edge, identity)
    ).get
    return {
        "id": identity,
        "live": None if live is None else _decoded(live, 0, edge),
        "past": [_decoded(row, 2, edge) for row in past],
        "access": {} if access is None else decode(access),
    }


def _decoded(row: Sequence[Any], first: int, edge: bool) -> list[Any]:
    """Decode the columns of a row that hold JSON; they begin at `first`."""
    values = list(row)
    for at in (first + 3,) if edge else (first, first + 1):
        values[at] = decode(values[at])
    return values


def put_state(db: apsw.Connection, body: dict[str, Any], *, edge: bool) -> None:
    """Write what a rewrite states, in place of what is there."""
    identity, kind = body["id"], "edge" if edge else "node"
    if not edge:
        db.execute("DELETE FROM node_label WHERE node = ?", (identity,))
    db.execute(f"DELETE FROM {kind} WHERE id = ?", (identity,))
    db.execute(f"DELETE FROM {kind}_past WHERE id = ?", (identity,))
    put_usage(db, identity, edge=edge, data=body["access"])
    if edge:
        _put_edge(db, identity, body)
    else:
        _put_node(db, identity, body)


def _put_node(db: apsw.Connection, identity: int, body: dict[str, Any]) -> None:
    if body["live"] is not None:
        labels, props, since, born, project = body["live"]
        db.execute(
            "INSERT INTO node(id, labels, props, since, born, project) VALUES(?, ?, jsonb(?), ?, ?,"
            " ?)",
            (identity, canonical(labels).decode(), canonical(props).decode(), since, born, project),
        )
        db.executemany(
            "INSERT INTO node_label VALUES(?, ?)", [(label, identity) for label in labels]
        )
        # in a replay its edges may have been made before it
        db.execute(_EDGES_PROJECT, (identity,))
    for since, until, labels, props, born, project in body["past"]:
        stated = canonical(labels).decode(), canonical(props).decode()
        db.execute(
            "INSERT INTO node_past(id, since, until, labels, props, born, project) VALUES(?, ?, ?,"
            " ?, jsonb(?), ?, ?)",
            (identity, since, until, *stated, born, project),
        )


def _put_edge(db: apsw.Connection, identity: int, body: dict[str, Any]) -> None:
    if body["live"] is not None:
        kind, src, dst, props, since, born, project = body["live"]
        db.execute(
            "INSERT INTO edge(id, type, src, dst, props, since, born, project) VALUES(?, ?, ?, ?,"
            " jsonb(?), ?, ?, ?)",
            (identity, kind, src, dst, canonical(props).decode(), since, born, project),
        )
    for since, until, kind, src, dst, props, born, project in body["past"]:
        db.execute(
            "INSERT INTO edge_past(id, since, until, type, src, dst, props, born, project)"
            " VALUES(?, ?, ?, ?, ?, ?, jsonb(?), ?, ?)",
            (identity, since, until, kind, src, dst, canonical(props).decode(), born, project),
        )


def put_usage(db: apsw.Connection, identity: int, *, edge: bool, data: dict[str, Any]) -> None:
    """Set the access metadata of an element; an empty map removes it."""
    if data:
        db.execute(
            "INSERT OR REPLACE INTO access VALUES(?, ?, jsonb(?))",
            (edge, identity, canonical(data).decode()),
        )
    else:
        db.execute("DELETE FROM access WHERE edge = ? AND element = ?", (edge, identity))


def drop_versions(db: apsw.Connection, versions: Iterable[Sequence[int]], *, edge: bool) -> None:
    """Delete past versions, given as (id, since)."""
    kind = "edge" if edge else "node"
    db.executemany(
        f"DELETE FROM {kind}_past WHERE id = ? AND since = ?",
        [(identity, since) for identity, since in versions],
    )


def rewritten(db: apsw.Connection) -> dict[tuple[bool, int], int]:
    """Return the last rewrite of each element that has one: (edge, id) -> number of the entry."""
    rows = db.execute(
        "SELECT l.op = 'edge.rewrite', l.element, max(l.seq) FROM log l JOIN log_payload p ON"
        " p.seq = l.seq WHERE l.op IN (?, ?) GROUP BY 1, 2",
        REWRITES,
    )
    return {(bool(edge), element): seq for edge, element, seq in rows}


def is_superseded(found: dict[tuple[bool, int], int], op: str, element: int, seq: int) -> bool:
    """Return whether a later rewrite of its element makes an entry void."""
    if op[:5] not in ("node.", "edge."):
        return False
    last = found.get((op[0] == "e", element))
    return last is not None and seq < last


def replay_retention(db: apsw.Connection, op: str, body: dict[str, Any]) -> bool:
    """Apply an operation of this module as it was applied; False if it is another one."""
    match op:
        case "node.rewrite" | "edge.rewrite":
            put_state(db, body, edge=op[0] == "e")
        case "node.usage" | "edge.usage":
            put_usage(db, body["id"], edge=op[0] == "e", data=body["data"])
        case "past.drop":
            drop_versions(db, body["versions"], edge=body["edge"])
        case _:
            return False
    return True
