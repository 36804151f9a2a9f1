"""Writing, moving and reading records. Each has the address

    kref://PROJECT/agents/AGENT/TYPE/NAME.record

and is a node of its own, no item: recall, consolidation and dream do not read it. The law at commit
(law.py) judges every change, whatever made it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError
from doxa.base.limits import (
    NOTE_CHARS_MAX,
    RECORD_ABOUT_ITEMS_MAX,
    RECORD_CHARS_MAX,
)
from doxa.base.values import canonical, decode
from doxa.belief.graph import parse_target, resolve
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.types import RECORD_KIND
from doxa.redaction.redact import redact
from doxa.store import Node, Reader, Transaction

CONCERNS = "CONCERNS"
_SPACE = "agents"


def record_kref(project: str, agent: str, kind: str, name: str) -> str:
    """Return the address of a record. Raises InputError for a name that an address cannot hold."""
    for value, what in ((agent, "agent"), (kind, "type of record"), (name, "record")):
        check_name(value, what=what)
    return str(Kref(project, (_SPACE, agent, kind), name, RECORD_KIND))


def content_hash(agent: str, kind: str, text: str, data: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal, of what a record says."""
    content = {"agent": agent, "data": dict(data), "text": text, "type": kind}
    return hashlib.sha256(canonical(content)).hexdigest()


def write_record(
    tx: Transaction,
    *,
    project: str,
    agent: str,
    kind: str,
    name: str,
    state: str,
    text: str = "",
    data: Mapping[str, Any] | None = None,
    about: Sequence[str] = (),
    notes: Mapping[str, Any] | None = None,
) -> Record:
    """Write a record, and return it. `about` are addresses of what it concerns: what quotes a turn
    concerns it, so that erasing the turn erases the record. Secrets are replaced in `text` and in
    the texts of `data`. One of the same address and content is found again; of other content it is
    a ConflictError.
    """
    kref = record_kref(project, agent, kind, name)
    text = redact(text).text
    held = _redacted(dict(data or {}))
    body = _body(held)
    if len(text) + len(body) > RECORD_CHARS_MAX:
        raise LimitError(
            f"A record holds at most {RECORD_CHARS_MAX:,} characters, not {len(text) + len(body)}.",
            next_step="Keep the text as turns, and give their addresses.",
            limit_chars=RECORD_CHARS_MAX,
        )
    if len(about) > RECORD_ABOUT_ITEMS_MAX:
        raise LimitError(
            f"A record concerns at most {RECORD_ABOUT_ITEMS_MAX:,} addresses, not {len(about):,}.",
            next_step="Make several records.",
            limit_items=RECORD_ABOUT_ITEMS_MAX,
        )
    digest = content_hash(agent, kind, text, held)
    known = tx.node_by_kref(kref)
    if known is not None:
        if known.props["content_hash"] == digest:
            return read_record(known)
        raise ConflictError(
            f"There is a record at {kref}, which says something else.",
            next_step="Give the new one another name.",
            kref=kref,
        )
    props = {
        "kref": kref,
        "project": project,
        "space": f"{_SPACE}/{agent}/{kind}",
        "kind": RECORD_KIND,
        "agent": agent,
        "type": kind,
        "state": state,
        "text": text,
        "data": body,
        "content_hash": digest,
        "made_ns": tx.now,
        "made_by": tx.identity.actor,
    }
    node = tx.create_node(("Record",), props | ({"notes": _body(dict(notes))} if notes else {}))
    for address in dict.fromkeys(about):
        tx.create_edge(CONCERNS, node, dst=resolve(tx, parse_target(address)).id)
    made = tx.node(node)
    assert made is not None
    return read_record(made)


def move_record(
    tx: Transaction, kref: str, state: str, *, expected: Iterable[str] = (), said: str = ""
) -> Record:
    """Move a record to another state, and return it. With `expected`, raises ConflictError if it is
    in none of these states: of two who move it at once, one succeeds."""
    node = require_record(tx, kref)
    wanted = tuple(expected)
    if wanted and node.props["state"] not in wanted:
        raise ConflictError(
            f"{kref} is {node.props['state']}, not {' or '.join(wanted)}.",
            next_step="Read it again.",
            kref=kref,
        )
    props = {name: value for name, value in node.props.items() if name != "said"}
    props |= {"state": state, "moved_ns": tx.now, "moved_by": tx.identity.actor}
    if said:
        props["said"] = redact(said).text[:NOTE_CHARS_MAX]
    tx.set_node(node.id, props)
    return read_record(require_record(tx, kref))


def note_record(tx: Transaction, kref: str, notes: Mapping[str, Any]) -> Record:
    """Set notes of a record, by name, and return it: what changes without a change of state."""
    node = require_record(tx, kref)
    held = decode(str(node.props.get("notes", "{}")))
    body = _body({**held, **_redacted(dict(notes))})
    if len(body) > RECORD_CHARS_MAX:
        raise LimitError(
            f"Notes have at most {RECORD_CHARS_MAX:,} characters, not {len(body):,}.",
            next_step="Keep less in them.",
            limit_chars=RECORD_CHARS_MAX,
        )
    tx.set_node(node.id, dict(node.props) | {"notes": body})
    return read_record(require_record(tx, kref))


def read_record(node: Node) -> Record:
    """Return a record as it stands on its node."""
    held: dict[str, Any] = dict(node.props)
    return Record(
        held["kref"],
        held["project"],
        held["agent"],
        held["type"],
        held["state"],
        held["text"],
        decode(held["data"]),
        held["content_hash"],
        held["made_ns"],
        held["made_by"],
        held.get("moved_ns"),
        held.get("moved_by", ""),
        held.get("said", ""),
        decode(held.get("notes", "{}")),
    )


def find_record(reader: Reader, kref: str) -> Record | None:
    """Return the record at an address, or None."""
    node = reader.node_by_kref(kref)
    return read_record(node) if node is not None and "Record" in node.labels else None


def require_record(reader: Reader, kref: str) -> Node:
    """Return the node of a record, or raise NotFoundError."""
    address = parse_kref(kref)
    node = reader.node_by_kref(str(address))
    if node is None or "Record" not in node.labels:
        raise NotFoundError(
            f"There is no record at {address}.", next_step="List them.", kref=str(address)
        )
    return node


def list_records(
    reader: Reader,
    *,
    project: str,
    agent: str,
    kind: str,
    states: Iterable[str] = (),
    newest: bool = False,
    limit: int = 100,
) -> list[Record]:
    """Return records of one agent and type in the order of their names, or the reverse of it;
    without `states` those of any."""
    prefix = f"{Kref(project, (_SPACE, agent, kind))}/"
    wanted = tuple(states)
    test = f" AND n.props ->> '$.state' IN ({', '.join('?' * len(wanted))})" if wanted else ""
    sql = (
        "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Record' WHERE"
        f" n.kref >= ? AND n.kref < ?{test} ORDER BY n.kref {'DESC' if newest else 'ASC'} LIMIT ?"
    )
    if limit < 0:
        raise InputError("limit is negative.", next_step="Give 0 or more.", field="limit")
    rows = reader.rows(sql, (prefix, prefix + "\U0010ffff", *wanted, limit))
    found = {node.id: node for node in reader.nodes([row[0] for row in rows])}
    return [read_record(found[row[0]]) for row in rows if row[0] in found]


def _body(data: Mapping[str, Any]) -> str:
    """Return data as JSON, as the store keeps it. Its texts were redacted one by one. In one line,
    the store could take a digest behind a file's name, such as secret.md, for that secret."""
    line = canonical(dict(data))
    found = line.decode()
    return found if redact(found).text == found else msgspec.json.format(line, indent=1).decode()


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, Mapping):
        return {str(name): _redacted(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(one) for one in value]
    return value
