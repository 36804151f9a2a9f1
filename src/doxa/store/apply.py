"""The one place where a logged operation becomes rows, used by transactions and by replay alike, so
that they cannot differ.

Operations and their bodies (canonical JSON, as they lie in the log):

    node.create {id, labels, props[, project]}   node.set {id, labels, props}      node.delete {id}
    edge.create {id, type, src, dst, props}      edge.set {id, props}      edge.delete {id}
    node.access, edge.access {id, data, support}      node.suppress, node.restore, edge.suppress,
    edge.restore {id}
    node.import {id, labels, props, born, since, until}      edge.import {id, type, src, dst, props,
    born, since, until}                  a version of an imported file; until null is the live one
    catalogue.set {name, value}          value null removes the entry
    erase {nodes, edges}                 destroys content and past; the log payloads go in the same
    transaction
    epoch {number, id, why}     the file is a copy, and continues by itself (chain/epochs.py)
    node.rewrite, edge.rewrite, node.usage, edge.usage, past.drop      see retention/state.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from doxa.base.values import canonical
from doxa.store.retention.state import replay_retention
from doxa.store.visibility.access import decode_access, encode_access


def project_of(kref: object) -> str | None:
    """Return the project that an address names, or None if it is not an address."""
    if not isinstance(kref, str) or not kref.startswith("kref://"):
        return None
    return kref[7:].replace("?", "/").partition("/")[0]


def create_node(
    db: apsw.Connection,
    identity: int,
    labels: Sequence[str],
    *,
    props: bytes,
    now: int,
    project: str | None,
) -> None:
    text = canonical(labels).decode()
    db.execute(
        "INSERT INTO main.node(id, labels, props, since, born, project) VALUES(?, ?, jsonb(?),"
        " ?, ?, ?)",
        (identity, text, props.decode(), now, now, project),
    )
    for label in labels:
        db.execute("INSERT INTO main.node_label VALUES(?, ?)", (label, identity))


def set_node(
    db: apsw.Connection,
    identity: int,
    labels: Sequence[str],
    *,
    props: bytes,
    now: int,
    project: str | None,
    before: Sequence[str] | None = None,
) -> None:
    """Replace a node. `project` is that of its address; without one the node stays in its own.
    `before`: its labels, where they are known."""
    text = canonical(labels).decode()
    if before is None or project is not None:
        changed, held = close_node(db, identity, now)
        if project is not None and project != held:
            _move_node(db, identity, project)
    else:
        changed = canonical(before).decode()
        _keep_version(db, identity, now)
    db.execute(
        "UPDATE main.node SET labels = ?, props = jsonb(?), since = ? WHERE id = ?",
        (text, props.decode(), now, identity),
    )
    if changed != text:
        db.execute(
            "DELETE FROM main.node_label WHERE node = ? AND label IN (SELECT value FROM"
            " json_each(?))",
            (identity, changed),
        )
        db.executemany(
            "INSERT INTO main.node_label VALUES(?, ?)", [(label, identity) for label in labels]
        )


def _move_node(db: apsw.Connection, identity: int, project: str) -> None:
    """Put a node that was given an address into the project of it, and its edges."""
    db.execute("UPDATE main.node SET project = ? WHERE id = ?", (project, identity))
    for end, other in (("src", "dst"), ("dst", "src")):
        db.execute(
            f"UPDATE main.edge SET project = (SELECT n.project FROM main.node n WHERE n.id ="
            f" edge.{other} AND n.project = ?) WHERE {end} = ?",
            (project, identity),
        )


def close_node(db: apsw.Connection, identity: int, now: int) -> tuple[str, str | None]:
    """Keep the live version as past and return its labels and project. A version made in the same
    instant is replaced: nobody could see it."""
    row = db.execute("SELECT labels, project FROM main.node WHERE id = ?", (identity,)).get
    _keep_version(db, identity, now)
    return str(row[0]), row[1]


def _keep_version(db: apsw.Connection, identity: int, now: int) -> None:
    db.execute(
        "INSERT INTO main.node_past(id, since, until, labels, props, born, project) SELECT id,"
        " since, ?1, labels, props, born, project FROM main.node WHERE id = ?2 AND since < ?1",
        (now, identity),
    )


def delete_node(db: apsw.Connection, identity: int, now: int) -> None:
    labels, _ = close_node(db, identity, now)
    db.execute(
        "DELETE FROM main.node_label WHERE node = ? AND label IN (SELECT value FROM json_each(?))",
        (identity, labels),
    )
    db.execute("DELETE FROM main.node WHERE id = ?", (identity,))
    db.execute("DELETE FROM main.access WHERE edge = 0 AND element = ?", (identity,))


def create_edge(
    db: apsw.Connection, identity: int, kind: str, *, src: int, dst: int, props: bytes, now: int
) -> None:
    db.execute(
        "INSERT INTO main.edge(id, type, src, dst, props, since, born, project) VALUES(?1, ?2, ?3,"
        " ?4, jsonb(?5), ?6, ?6, (SELECT s.project FROM main.node s JOIN main.node d ON d.project ="
        " s.project WHERE s.id = ?3 AND d.id = ?4))",
        (identity, kind, src, dst, props.decode(), now),
    )


def close_edge(db: apsw.Connection, identity: int, now: int) -> None:
    db.execute(
        "INSERT INTO main.edge_past(id, since, until, type, src, dst, props, born, project) SELECT"
        " id, since, ?, type, src, dst, props, born, project FROM main.edge WHERE id = ? AND"
        " since < ?",
        (now, identity, now),
    )


def set_edge(db: apsw.Connection, identity: int, *, props: bytes, now: int) -> None:
    close_edge(db, identity, now)
    db.execute(
        "UPDATE main.edge SET props = jsonb(?), since = ? WHERE id = ?",
        (props.decode(), now, identity),
    )


def delete_edge(db: apsw.Connection, identity: int, now: int) -> None:
    close_edge(db, identity, now)
    db.execute("DELETE FROM main.edge WHERE id = ?", (identity,))


def import_node(
    db: apsw.Connection,
    identity: int,
    labels: Sequence[str],
    *,
    props: bytes,
    times: tuple[int, int, int | None],
    project: str | None,
) -> None:
    """Insert one version as it was elsewhere; `times` are born, since and until, which is None for
    the live version."""
    born, since, until = times
    text = canonical(labels).decode()
    if until is not None:
        db.execute(
            "INSERT INTO main.node_past(id, since, until, labels, props, born, project) VALUES(?,"
            " ?, ?, ?, jsonb(?), ?, ?)",
            (identity, since, until, text, props.decode(), born, project),
        )
        return
    db.execute(
        "INSERT INTO main.node(id, labels, props, since, born, project) VALUES(?, ?, jsonb(?), ?,"
        " ?, ?)",
        (identity, text, props.decode(), since, born, project),
    )
    for label in labels:
        db.execute("INSERT INTO main.node_label VALUES(?, ?)", (label, identity))


def import_edge(
    db: apsw.Connection,
    identity: int,
    kind: str,
    *,
    src: int,
    dst: int,
    props: bytes,
    times: tuple[int, int, int | None],
    project: str | None,
) -> None:
    """Insert one version of an edge, as of a node."""
    born, since, until = times
    if until is None:
        db.execute(
            "INSERT INTO main.edge(id, type, src, dst, props, since, born, project) VALUES(?, ?, ?,"
            " ?, jsonb(?), ?, ?, ?)",
            (identity, kind, src, dst, props.decode(), since, born, project),
        )
    else:
        db.execute(
            "INSERT INTO main.edge_past(id, since, until, type, src, dst, props, born, project)"
            " VALUES(?, ?, ?, ?, ?, ?, jsonb(?), ?, ?)",
            (identity, since, until, kind, src, dst, props.decode(), born, project),
        )


def set_catalogue(db: apsw.Connection, name: str, value: object) -> None:
    if value is None:
        db.execute("DELETE FROM main.catalogue WHERE name = ?", (name,))
    else:
        db.execute(
            "INSERT OR REPLACE INTO main.catalogue VALUES(?, jsonb(?))",
            (name, canonical(value).decode()),
        )


def set_access(db: apsw.Connection, identity: int, *, edge: bool, data: bytes) -> None:
    """Keep the access metadata of an element; an empty map is none."""
    if data == b"{}":
        db.execute("DELETE FROM main.access WHERE edge = ? AND element = ?", (edge, identity))
    else:
        db.execute(
            "INSERT OR REPLACE INTO main.access VALUES(?, ?, jsonb(?))",
            (edge, identity, data.decode()),
        )


def note_access(
    db: apsw.Connection,
    identity: int,
    *,
    edge: bool,
    data: dict[str, Any],
    added: dict[str, list[str]],
) -> None:
    """Apply the metadata that a flush left, with those who supported the element for the first
    time."""
    before = decode_access(
        db.execute(
            "SELECT json(data) FROM main.access WHERE edge = ? AND element = ?", (edge, identity)
        ).get
    )
    support = {
        name: [*before.support.get(name, ()), *added.get(name, ())]
        for name in sorted({*before.support, *added})
    }
    set_access(
        db,
        identity,
        edge=edge,
        data=canonical({**data, **({"support": support} if support else {})}),
    )


def suppress(db: apsw.Connection, identity: int, *, edge: bool, hidden: bool) -> None:
    access = decode_access(
        db.execute(
            "SELECT json(data) FROM main.access WHERE edge = ? AND element = ?", (edge, identity)
        ).get
    )
    access.suppressed = hidden
    set_access(db, identity, edge=edge, data=encode_access(access))


def erase(db: apsw.Connection, *, nodes: Sequence[int], edges: Sequence[int]) -> None:
    """Remove live and past versions. Labels go by the row's own list, so that no scan is needed."""
    for identity in nodes:
        labels = db.execute("SELECT labels FROM main.node WHERE id = ?", (identity,)).get
        if labels is not None:
            db.execute(
                "DELETE FROM main.node_label WHERE node = ? AND label IN (SELECT value FROM"
                " json_each(?))",
                (identity, labels),
            )
        db.execute("DELETE FROM main.node WHERE id = ?", (identity,))
        db.execute("DELETE FROM main.node_past WHERE id = ?", (identity,))
        db.execute("DELETE FROM main.access WHERE edge = 0 AND element = ?", (identity,))
    for identity in edges:
        db.execute("DELETE FROM main.edge WHERE id = ?", (identity,))
        db.execute("DELETE FROM main.edge_past WHERE id = ?", (identity,))
        db.execute("DELETE FROM main.access WHERE edge = 1 AND element = ?", (identity,))


def import_version(db: apsw.Connection, op: str, body: dict[str, Any]) -> None:
    times, props = (body["born"], body["since"], body["until"]), canonical(body["props"])
    if op == "node.import":
        import_node(
            db, body["id"], body["labels"], props=props, times=times, project=body["project"]
        )
    else:
        import_edge(
            db,
            body["id"],
            body["type"],
            src=body["src"],
            dst=body["dst"],
            props=props,
            times=times,
            project=body["project"],
        )


def replay_entry(db: apsw.Connection, op: str, *, body: dict[str, Any], now: int) -> None:
    """Apply one logged operation as the transaction did."""
    match op:
        case "node.create":
            project = body.get("project") or project_of(body["props"].get("kref"))
            create_node(
                db,
                body["id"],
                body["labels"],
                props=canonical(body["props"]),
                now=now,
                project=project,
            )
        case "node.set":
            set_node(
                db,
                body["id"],
                body["labels"],
                props=canonical(body["props"]),
                now=now,
                project=project_of(body["props"].get("kref")),
            )
        case "node.delete":
            delete_node(db, body["id"], now)
        case "edge.create":
            create_edge(
                db,
                body["id"],
                body["type"],
                src=body["src"],
                dst=body["dst"],
                props=canonical(body["props"]),
                now=now,
            )
        case "edge.set":
            set_edge(db, body["id"], props=canonical(body["props"]), now=now)
        case "edge.delete":
            delete_edge(db, body["id"], now)
        case "node.access" | "edge.access":
            note_access(db, body["id"], edge=op[0] == "e", data=body["data"], added=body["support"])
        case "node.suppress" | "edge.suppress" | "node.restore" | "edge.restore":
            suppress(db, body["id"], edge=op[0] == "e", hidden=op.endswith("suppress"))
        case "node.import" | "edge.import":
            import_version(db, op, body)
        case "catalogue.set":
            set_catalogue(db, body["name"], body["value"])
        case "erase":
            erase(db, nodes=body["nodes"], edges=body["edges"])
        case "epoch":
            pass  # of the log, not of the state
        case _:
            if not replay_retention(db, op, body):
                raise AssertionError(f"unknown operation {op}")
