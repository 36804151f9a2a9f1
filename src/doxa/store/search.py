"""Search rows derived from nodes, kept in the same transaction, so that text is findable the moment a write is acknowledged.

The catalogue declares what is searchable:
    search:<Label>  {"text": [properties], "live_edge": edge type or "", "off": property, "prev_edge": type or ""}
A node of such a label gets a `doc` row in the scope of its project, numbered densely per scope, with what recall filters by. It is
live when `off` is not set on it, and, if `live_edge` is named, an edge of that type comes in from a node on which `off` is not set.
A posting row holds 5-byte records (doc u32 LE, count u8) of one term. A transaction adds its rows to `posting_new`, which is ordered by doc so
that a small write touches one page, and is short enough to be read whole; `compact` moves them to `posting`, ordered by term. Everything
here is a function of the graph: `check` recomputes it.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from doxa.base.clock import TIME_MAX
from doxa.base.values import decode
from doxa.base.words import term_counts

RECORD = struct.Struct("<IB")
COUNT_MAX = 255
COMPACT_AFTER_ROWS = 4_000
POSTING_BYTES_MAX = 10_240
TRUSTS = ("untrusted", "candidate", "stated", "verified")  # stored by rank; a later one is trusted more
TRUST_DEFAULT = "stated"


class SearchRule(NamedTuple):
    text: tuple[str, ...]
    live_edge: str
    off: str
    prev_edge: str


def rules_of(catalogue: Mapping[str, Any]) -> dict[str, SearchRule]:
    return {
        name[7:]: SearchRule(tuple(r["text"]), r["live_edge"], r["off"], r["prev_edge"])
        for name, r in catalogue.items()
        if name.startswith("search:")
    }


def text_of(rule: SearchRule, props: Mapping[str, Any]) -> str:
    """The text that is indexed and embedded: each declared property, lists joined. Who speaks is a column, not a word of the text."""
    parts: list[str] = []
    for name in rule.text:
        value = props.get(name)
        if value is None or value == "":
            continue
        parts.append(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return "\n".join(parts)


class SearchWriter:
    """Collects the nodes that a transaction touched and brings their search rows up to date before the commit."""

    def __init__(self, db: apsw.Connection, rules: Mapping[str, SearchRule]) -> None:
        self._db = db
        self._rules = rules
        self._live_edges = {rule.live_edge for rule in rules.values() if rule.live_edge}
        self._prev_edges = {rule.prev_edge for rule in rules.values() if rule.prev_edge}
        self._dirty: dict[int, None] = {}
        self._owners: set[int] = set()
        self._gone: set[int] = set()
        self._tokens: dict[str, int] = {}

    def node_touched(self, identity: int, labels: Iterable[str]) -> None:
        if any(label in self._rules for label in labels):
            self._dirty[identity] = None
        self._owners.add(identity)

    def node_made(self, identity: int, labels: Iterable[str]) -> None:
        """As above for a new node: no edge can point from it yet."""
        if any(label in self._rules for label in labels):
            self._dirty[identity] = None

    def node_gone(self, identity: int) -> None:
        self._gone.add(identity)

    def edge_touched(self, kind: str, dst: int) -> None:
        if kind in self._live_edges or kind in self._prev_edges:
            self._dirty[dst] = None

    def flush(self) -> bool:
        """Write what changed. True if any search row did."""
        for kind in self._live_edges:
            for owner in self._owners:
                for (dst,) in self._db.execute("SELECT dst FROM edge WHERE src = ? AND type = ?", (owner, kind)):
                    self._dirty[dst] = None
        if not self._dirty and not self._gone:
            return False
        change = self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'change' RETURNING value").get
        postings: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        numbers: dict[int, int] = {}
        for identity in self._dirty:  # in order of writing: a doc's predecessor has its number first
            if identity in self._gone:
                continue
            self._refresh(identity, change=change, postings=postings, numbers=numbers)
        for identity in self._gone:
            self._remove(identity, change)
        for (scope, term), entries in postings.items():
            entries.sort()
            data = b"".join([RECORD.pack(number, count) for number, count in entries])
            self._db.execute("INSERT INTO posting_new(scope, first, term, data) VALUES(?, ?, ?, ?)", (scope, entries[0][0], term, data))
        self._compact_when_due(len(postings))
        return True

    def _refresh(self, identity: int, *, change: int, postings: dict[tuple[int, str], list[tuple[int, int]]], numbers: dict[int, int]) -> None:
        row: Any = self._db.execute("SELECT labels, json(props), vis_from, vis_until, born FROM node WHERE id = ?", (identity,)).fetchone()
        rule = next((self._rules[label] for label in decode(row[0]) if label in self._rules), None) if row else None
        old: Any = self._db.execute("SELECT scope, doc, live, length FROM doc WHERE node = ?", (identity,)).fetchone()
        if rule is None:
            if old:
                self._remove(identity, change)
            return
        props = decode(row[1])
        live = self._is_live(identity, rule, props)
        if old is not None:
            prev = self._prev(identity, rule)
            self._db.execute(
                "UPDATE doc SET live = ?, prev = ?, vis_from = ?, vis_until = ?, changed = ? WHERE scope = ? AND doc = ?",
                (live, prev, row[2], row[3], change, old[0], old[1]),
            )
            return
        scope = self._token("scope:" + str(props.get("project", "")))
        if scope not in numbers:
            numbers[scope] = self._db.execute("SELECT coalesce(max(doc), -1) + 1 FROM doc WHERE scope = ?", (scope,)).get
        number = numbers[scope]
        numbers[scope] = number + 1
        counts = term_counts(text_of(rule, props))
        for term, count in counts.items():
            postings[scope, term].append((number, min(count, COUNT_MAX)))
        self._insert(identity, scope=scope, number=number, rule=rule, props=props, born=row[4], live=live, length=sum(counts.values()), change=change)

    def _insert(
        self, identity: int, *, scope: int, number: int, rule: SearchRule, props: Mapping[str, Any], born: int, live: bool, length: int, change: int
    ) -> None:
        trust = props.get("trust", TRUST_DEFAULT)
        valid_from = props.get("valid_from")
        valid_until = props.get("valid_until")
        self._db.execute(
            "INSERT INTO doc(scope, doc, node, live, kind, space, speaker, thread, time, valid_from, valid_until, trust, prev, length, "
            "vectors, changed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                scope,
                number,
                identity,
                live,
                self._token("kind:" + str(props.get("kind", ""))),
                self._token("space:" + str(props.get("space", ""))),
                self._token("speaker:" + str(props.get("speaker", ""))),
                self._token("thread:" + str(props.get("thread", ""))),
                props.get("time", born),
                -TIME_MAX if valid_from is None else valid_from,
                TIME_MAX if valid_until is None else valid_until,
                TRUSTS.index(trust) if trust in TRUSTS else 0,
                self._prev(identity, rule),
                length,
                0,
                change,
            ),
        )

    def _is_live(self, identity: int, rule: SearchRule, props: Mapping[str, Any]) -> bool:
        if props.get(rule.off):
            return False
        if not rule.live_edge:
            return True
        found = self._db.execute(
            "SELECT 1 FROM edge e JOIN node n ON n.id = e.src WHERE e.dst = ? AND e.type = ? AND NOT coalesce(n.props ->> ?, 0) LIMIT 1",
            (identity, rule.live_edge, "$." + rule.off),
        ).get
        return found is not None

    def _prev(self, identity: int, rule: SearchRule) -> int:
        """The number of the doc before this one in its conversation, or -1."""
        if not rule.prev_edge:
            return -1
        found = self._db.execute(
            "SELECT d.doc FROM edge e JOIN doc d ON d.node = e.src WHERE e.dst = ? AND e.type = ? ORDER BY e.id LIMIT 1",
            (identity, rule.prev_edge),
        ).get
        return -1 if found is None else int(found)

    def _token(self, text: str) -> int:
        known = self._tokens.get(text)
        if known is None:
            known = self._db.execute("SELECT id FROM token WHERE text = ?", (text,)).get
            if known is None:
                known = self._db.execute("INSERT INTO token(text) VALUES(?) RETURNING id", (text,)).get
            self._tokens[text] = known
        return known

    def _remove(self, identity: int, change: int) -> None:
        """The node is gone or erased: its terms, vectors and attributes go too. The number stays taken, so that no other doc inherits it."""
        row: Any = self._db.execute("SELECT scope, doc FROM doc WHERE node = ?", (identity,)).fetchone()
        if row is None:
            return
        scope, number = row
        for table in ("posting", "posting_new"):
            # instr finds a byte run at any offset; rewrite() keeps only whole records, so a false hit changes nothing
            hits: list[Any] = self._db.execute(
                f"SELECT term, first, data FROM {table} WHERE scope = ? AND instr(data, ?) > 0", (scope, number.to_bytes(4, "little"))
            ).fetchall()
            for term, first, data in hits:
                self._rewrite(table, (scope, term, first), data=data, without=number)
        self._db.execute("DELETE FROM vector WHERE scope = ? AND doc = ?", (scope, number))
        self._db.execute("DELETE FROM vector_code WHERE scope = ? AND doc = ?", (scope, number))
        self._db.execute(
            "UPDATE doc SET live = 0, node = ?, length = 0, kind = 0, space = 0, speaker = 0, thread = 0, time = 0, prev = -1, vectors = 1, "
            "changed = ? WHERE scope = ? AND doc = ?",
            (-identity, change, scope, number),
        )

    def _rewrite(self, table: str, key: tuple[int, str, int], *, data: bytes, without: int) -> None:
        kept = b"".join(data[i : i + 5] for i in range(0, len(data), 5) if RECORD.unpack_from(data, i)[0] != without)
        if kept == data:
            return
        self._db.execute(f"DELETE FROM {table} WHERE scope = ? AND term = ? AND first = ?", key)
        if kept:
            first = RECORD.unpack_from(kept, 0)[0]
            self._db.execute(f"INSERT INTO {table}(scope, term, first, data) VALUES(?, ?, ?, ?)", (key[0], key[1], first, kept))

    def _compact_when_due(self, added: int) -> None:
        rows = self._db.execute(
            "INSERT INTO meta VALUES('posting_new', ?) ON CONFLICT(key) DO UPDATE SET value = value + excluded.value RETURNING value", (added,)
        ).get
        if rows >= COMPACT_AFTER_ROWS:
            compact(self._db)


def compact(db: apsw.Connection) -> None:
    """Append the new posting rows of each term to its last long row. Reads stay the same; they only get shorter."""
    pending: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    for scope, term, data in db.execute("SELECT scope, term, data FROM posting_new ORDER BY scope, term, first"):
        pending[scope, term].append(data)
    for (scope, term), parts in pending.items():
        data = b"".join(parts)
        last: Any = db.execute("SELECT first, data FROM posting WHERE scope = ? AND term = ? ORDER BY first DESC LIMIT 1", (scope, term)).fetchone()
        if last and len(last[1]) + len(data) <= POSTING_BYTES_MAX:
            db.execute("UPDATE posting SET data = ? WHERE scope = ? AND term = ? AND first = ?", (last[1] + data, scope, term, last[0]))
        else:
            db.execute("INSERT INTO posting(scope, term, first, data) VALUES(?, ?, ?, ?)", (scope, term, RECORD.unpack_from(data, 0)[0], data))
    db.execute("DELETE FROM posting_new")
    db.execute("UPDATE meta SET value = 0 WHERE key = 'posting_new'")
