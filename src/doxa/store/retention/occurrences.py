"""Where a text occurs in a file: in elements and their past, payloads of the log, the catalogue and
receipts. Upper and lower case are not distinguished, because the index folds case too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apsw
import msgspec

from doxa.base.values import decode


class Needle:
    """A text in every form in which the file may hold it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.casefold()
        self._forms = tuple(
            dict.fromkeys(
                (
                    self.folded,
                    json.dumps(text, ensure_ascii=False)[1:-1].casefold(),
                    json.dumps(text)[1:-1].casefold(),
                    json.dumps(text.lower())[1:-1].casefold(),
                    json.dumps(text.upper())[1:-1].casefold(),
                )
            )
        )

    def in_text(self, text: str) -> bool:
        """Return whether JSON, or any other text, holds the text in one of its forms."""
        folded = text.casefold()
        return any(form in folded for form in self._forms)

    def in_value(self, value: Any) -> bool:
        """Return whether a decoded JSON value holds the text, in a string or a key."""
        if isinstance(value, str):
            return self.folded in value.casefold()
        if isinstance(value, dict):
            return any(self.in_value(key) or self.in_value(one) for key, one in value.items())
        if isinstance(value, (list, tuple)):
            return any(map(self.in_value, value))
        return self.folded in json.dumps(value).casefold()

    def forms(self) -> list[bytes]:
        """Return the byte strings to look for in a file: UTF-8 and JSON escapes, each as given and
        in lower, upper and folded case."""
        cased = (self.text, self.text.lower(), self.text.upper(), self.folded, self.text.title())
        found: dict[bytes, None] = {}
        for text in cased:
            found[text.encode("utf-8", "surrogatepass")] = None
            for ascii_only in (False, True):
                found[json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode()] = None
        return list(found)


class Occurrence(msgspec.Struct):
    """What of an element holds the text, over all of its versions. `names`: a label or type does;
    `access`: its access metadata do; `logged`: numbers of log entries whose payload does."""

    properties: set[str] = msgspec.field(default_factory=set)
    names: set[str] = msgspec.field(default_factory=set)
    access: bool = False
    logged: list[int] = msgspec.field(default_factory=list)


class Occurrences(msgspec.Struct):
    """Everything of a file that holds a text."""

    nodes: dict[int, Occurrence] = msgspec.field(default_factory=dict)
    edges: dict[int, Occurrence] = msgspec.field(default_factory=dict)
    catalogue: list[str] = msgspec.field(default_factory=list)
    catalogue_log: list[int] = msgspec.field(default_factory=list)
    receipts: list[int] = msgspec.field(default_factory=list)

    def of(self, edge: bool, identity: int) -> Occurrence:
        return (self.edges if edge else self.nodes).setdefault(identity, Occurrence())

    def key(self) -> list[Any]:
        """Return what a token of confirmation is made of."""
        return [
            sorted((i, sorted(h.properties), sorted(h.names)) for i, h in self.nodes.items()),
            sorted((i, sorted(h.properties), sorted(h.names)) for i, h in self.edges.items()),
            sorted(self.catalogue),
        ]


_ROWS = (
    (False, "SELECT id, labels, json(props) FROM node"),
    (False, "SELECT id, labels, json(props) FROM node_past"),
    (True, "SELECT id, json_array(type), json(props) FROM edge"),
    (True, "SELECT id, json_array(type), json(props) FROM edge_past"),
)


def find(db: apsw.Connection, text: str) -> Occurrences:
    """Find a text in all that a file states. Reads every row: it is as slow as the file is big."""
    needle, found = Needle(text), Occurrences()
    for edge, sql in _ROWS:
        for identity, names, props in db.execute(sql):
            _look(needle, found, (edge, identity), names, props)
    for edge, identity, data in db.execute("SELECT edge, element, json(data) FROM access"):
        if needle.in_text(data):
            found.of(bool(edge), identity).access = True
    for seq, op, element, payload in _payloads(db):
        if needle.in_text(payload):
            if op[:5] in ("node.", "edge."):
                found.of(op[0] == "e", element).logged.append(seq)
            else:
                found.catalogue_log.append(seq)
    for name, value in db.execute("SELECT name, json(value) FROM catalogue"):
        if needle.in_text(name) or needle.in_text(value):
            found.catalogue.append(name)
    for tx, actor, note in db.execute("SELECT tx, actor, note FROM receipt"):
        if needle.in_value([actor, note]):
            found.receipts.append(tx)
    return found


def _payloads(db: apsw.Connection) -> Iterator[tuple[int, str, int, str]]:
    rows = db.execute(
        "SELECT l.seq, l.op, l.element, p.payload FROM log l JOIN log_payload p ON p.seq = l.seq"
    )
    for seq, op, element, payload in rows:
        yield seq, op, element, bytes(payload).decode("utf-8", "replace")


def _look(
    needle: Needle, found: Occurrences, key: tuple[bool, int], names: str, props: str
) -> None:
    in_names, in_props = needle.in_text(names), needle.in_text(props)
    if in_names:
        hit = found.of(*key)
        hit.names |= {name for name in decode(names) if needle.in_value(name)}
    if in_props:
        hit = found.of(*key)
        hit.properties |= {
            name
            for name, value in decode(props).items()
            if needle.in_value(name) or needle.in_value(value)
        }
