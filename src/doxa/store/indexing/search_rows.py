"""Search rows derived from nodes, kept in the same transaction, so that text is findable the moment
a write is acknowledged.

The catalogue declares what is searchable:
    search:<Label>  {"text": [properties], "live_edge": edge type or "", "off": property,
    "prev_edge": type or "", "said": [properties],
                     "fields": [properties]}
A node of such a label gets a `doc` row in the scope of its project, numbered densely per scope,
with what recall filters by. It is live when `off` is not set on it, and, if `live_edge` is named,
an edge of that type comes in from a node on which `off` is not set. Each entry of a list in its
`fields` is a text of its own in addition to its `text`: the row holds its words too. While it is
live, each atom of the sentences in its `said` properties has a row in `atom`, so that what speaks
of the same thing is found by key. A posting row holds 5-byte records (doc u32 LE, count u8) of one
term. A transaction adds its rows to `posting_new`, which is ordered by doc so that a small write
touches one page, and is short enough to be read whole; `compact` moves them to `posting`, ordered
by term. Everything here is a function of the graph: `check` recomputes it.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, Protocol, cast

import apsw

from doxa.base.clock import TIME_MAX
from doxa.base.errors import DoxaError, InputError
from doxa.base.ids import NodeId
from doxa.base.values import decode, decode_properties
from doxa.base.words import ANALYSER
from doxa.logic.sentence import Sentence, atoms, parse_sentence
from doxa.store.batches import insert_rows
from doxa.store.change_counter import next_change
from doxa.store.indexing.search_texts import (
    SearchRule,
    SearchRules,
    repeats_itself,
    texts_of,
    words_of,
)
from doxa.store.indexing.trust import TRUSTS, trust_of
from doxa.store.indexing.vector_tables import DUE_NEXT, forget_vectors
from doxa.store.rows import Edge, Node
from doxa.store.visibility.evaluator import SEEN, VisibilityDecision, common_window

RECORD = struct.Struct("<IB")
COUNT_MAX = 255
COMPACT_AFTER_ROWS = 1_000  # an unnamed belief is compared with each of them
POSTING_BYTES_MAX = 2_048 * RECORD.size

# records in memory before they are written, so that a declaration over a large file stays small: of
# ordinary text 100 MB
_POSTINGS_HELD = 1_000_000
_PAGE_DOCS = 1_000
_FIRST_ANALYSER = "snowball-english-1"
_NEXT_CHANGE = (
    "UPDATE meta SET value = value + 1 WHERE key = 'change'"
    " RETURNING value, EXISTS (SELECT 1 FROM meta WHERE key = 'embedder_next')"
)
_INSERT = (
    "INSERT INTO main.doc(scope, doc, node, live, prev, length, vis_from, vis_until, vectors,"
    " changed,"
    " kind, space, speaker, thread, time, valid_from, valid_until, trust) VALUES(?, ?, ?, ?, ?, ?,"
    " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_DUE = "UPDATE doc SET vectors = 0, attempts = 0 WHERE scope = ? AND doc = ?"
_SET_ATTRIBUTES = (
    "UPDATE main.doc SET kind = ?, space = ?, speaker = ?, thread = ?, time = ?, valid_from = ?,"
    " valid_until = ?, trust = ? WHERE scope = ? AND doc = ?"
)
_RELIVE = (
    "UPDATE main.doc SET live = ?, prev = ?, vis_from = coalesce(?, vis_from), vis_until ="
    " coalesce(?,"
    " vis_until), changed = ? WHERE node = ?"
)
_DOCS_AFTER = (
    "SELECT d.scope, d.doc, n.labels, json(n.props) FROM main.doc d JOIN main.node n ON n.id ="
    " d.node WHERE"
    " (d.scope, d.doc) > (?, ?) ORDER BY d.scope, d.doc LIMIT ?"
)
# The number stays, since what lies in other processes' memory under it must not become another
# name.
_FORGET_NAMES = (
    "UPDATE main.token SET text = 'erased:' || id WHERE substr(text, 1, 7) <> 'erased:' AND id"
    " NOT IN"
    " (SELECT scope FROM main.doc WHERE node > 0 UNION SELECT kind FROM main.doc UNION SELECT"
    " space FROM main.doc"
    " UNION SELECT speaker FROM main.doc UNION SELECT thread FROM main.doc)"
)


def rules_of(catalogue: Mapping[str, Any]) -> SearchRules:
    return SearchRules(
        {
            name[7:]: SearchRule(
                tuple(r["text"]),
                r["live_edge"],
                r["off"],
                r["prev_edge"],
                tuple(r.get("said", ())),
                tuple(r.get("fields", ())),
            )
            for name, r in catalogue.items()
            if name.startswith("search:")
        }
    )


def parse_rule(name: str, value: object) -> SearchRule:
    """Read a declaration as the catalogue takes it. Raises InputError: what recall cannot follow
    must not get into a file."""
    if isinstance(value, dict) and value.keys() | {"said", "fields"} == set(SearchRule._fields):
        lists, rest = (
            (value["text"], value.get("said", ()), value.get("fields", ())),
            (value["live_edge"], value["off"], value["prev_edge"]),
        )
        if all(isinstance(part, (list, tuple)) for part in lists) and all(
            isinstance(part, str) for part in (*chain(*lists), *rest)
        ):
            texts, said, fields = map(tuple, lists)
            return SearchRule(texts, *rest, said, fields)
    raise InputError(
        f"{name} is not a search declaration: {str(value)[:80]!r}.",
        next_step=(
            'Give {"text": [properties], "live_edge": type or "", "off": property, "prev_edge":'
            ' type or ""}, and "said", "fields" if any.'
        ),
        name=name,
    )


def said_of(rule: SearchRule, props: Mapping[str, Any]) -> Iterator[Sentence]:
    """Return the sentences that a node states. What an older file or a hand has put there and is no
    sentence says nothing."""
    for name in rule.said:
        value = props.get(name)
        for text in value if isinstance(value, list) else ():
            with suppress(DoxaError):
                yield parse_sentence(text)


def keys_of(rule: SearchRule, props: Mapping[str, Any]) -> set[str]:
    """Return the atoms that a node speaks of, as `atom` holds them."""
    return {atom.key for sentence in said_of(rule, props) for atom in atoms(sentence)}


def rule_of(labels: Iterable[str], rules: Mapping[str, SearchRule]) -> SearchRule | None:
    return next((rules[label] for label in labels if label in rules), None)


class Attributes(NamedTuple):
    """What recall filters by, as a search row holds it; the texts lie in the table of tokens."""

    scope: str
    kind: str
    space: str
    speaker: str
    thread: str
    time: int
    valid_from: int
    valid_until: int
    trust: int


def attributes_of(props: Mapping[str, Any], *, born: int) -> Attributes:
    """Return what recall filters by. Times that are not integers count as not given, an unknown
    trust as the least; without a label, the role and the speaker tell."""
    time, valid_from, valid_until = (
        props.get(name) for name in ("time", "valid_from", "valid_until")
    )
    return Attributes(
        "scope:" + str(props.get("project", "")),
        "kind:" + str(props.get("kind", "")),
        "space:" + str(props.get("space", "")),
        "speaker:" + str(props.get("speaker", "")),
        "thread:" + str(props.get("thread", "")),
        time if type(time) is int else born,
        valid_from if type(valid_from) is int else -TIME_MAX,
        valid_until if type(valid_until) is int else TIME_MAX,
        TRUSTS.index(trust_of(props)),
    )


class NodeSource(Protocol):
    """Where the writer reads the graph: the transaction that it belongs to."""

    def node(self, identity: NodeId) -> Node | None: ...

    def edges_in(self, node: NodeId, kind: str | None = None) -> list[Edge]: ...

    def edges_out(self, node: NodeId, kind: str | None = None) -> list[Edge]: ...

    def is_made(self, identity: int) -> bool: ...

    @property
    def has_windows(self) -> bool: ...


class SearchWriter:
    """Collects the nodes that a transaction touched and brings their search rows up to date before
    the commit.

    A node whose text, project or rule changed gets a new row under a new number, so that no reader
    mistakes old words, vectors or codes for its own; a change of anything else is written to the
    row it has.
    """

    def __init__(self, db: apsw.Connection, rules: SearchRules, source: NodeSource) -> None:
        self._db = db
        self._source = source
        self._rules = self._rules_before = rules
        self._live_edges, self._prev_edges = rules.live_edges, rules.prev_edges
        self._offs = rules.offs
        self._dirty: dict[int, None] = {}
        self._speaking: dict[int, None] = {}  # nodes whose atoms may have changed
        self._spoken: set[int] = set()  # nodes whose atoms this transaction wrote
        self._before: dict[int, tuple[tuple[str, ...], Mapping[str, Any]]] = {}
        self._owners: set[int] = set()
        self._gone: set[int] = set()
        self._tokens: dict[str, int] = {}
        self._change = 0
        self._embeds_twice = False  # a second set of vectors is being made
        self._postings: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        self._held = 0  # records in it
        self._numbers: dict[int, int] = {}
        self._numbered: set[int] = set()  # nodes whose row this transaction made
        self._rule_changed = False
        self._followers: dict[int, None] = {}
        self._forget_names = False

    def let_go(self) -> None:
        """Drop the transaction, which has ended."""
        del self._source

    def node_touched(
        self,
        identity: int,
        after: tuple[tuple[str, ...], Mapping[str, Any]],
        *,
        before: tuple[tuple[str, ...], Mapping[str, Any]],
    ) -> None:
        """Note a changed node: its labels and properties after the change and before it, of which
        the first noted in a transaction counts."""
        labels = (*after[0], *before[0])
        if not (
            self._rules.keys().isdisjoint(labels) and self._rules_before.keys().isdisjoint(labels)
        ):
            self._dirty[identity] = self._speaking[identity] = None
            self._before.setdefault(identity, before)
        for off in self._offs:
            if bool(before[1].get(off)) is not bool(after[1].get(off)):
                self._owners.add(identity)

    def node_made(self, identity: int, labels: Iterable[str]) -> None:
        """Note a new node: no edge can point from it yet."""
        if any(label in self._rules for label in labels):
            self._dirty[identity] = self._speaking[identity] = None

    def node_gone(self, identity: int) -> None:
        self._gone.add(identity)
        self._speaking[identity] = None

    @property
    def followed(self) -> frozenset[str]:
        """The types of the edges that search rows depend on."""
        return self._live_edges | self._prev_edges

    def edge_touched(self, kind: str, dst: int) -> None:
        if kind in self._live_edges or kind in self._prev_edges:
            self._dirty[dst] = self._speaking[dst] = None

    def rule_set(self, label: str, rule: SearchRule | None) -> None:
        """Reindex all nodes of a label in this transaction, since its search rule was added,
        changed or removed."""
        if self._rules.get(label) == rule:
            return
        self._rule_changed = True
        others = {name: known for name, known in self._rules.items() if name != label}
        self._rules = SearchRules(others if rule is None else others | {label: rule})
        self._live_edges |= self._rules.live_edges  # what depended on the rule before does so still
        self._prev_edges |= self._rules.prev_edges
        self._offs |= self._rules.offs
        labelled = dict.fromkeys(
            row[0]
            for row in self._db.execute(
                "SELECT node FROM main.node_label WHERE label = ? ORDER BY node", (label,)
            )
        )
        self._dirty |= labelled
        self._speaking |= labelled

    @property
    def rules(self) -> Mapping[str, SearchRule]:
        """The declarations in force, those of this transaction too."""
        return self._rules

    def erased(self) -> None:
        """Erase names that no search row uses any more together with the content."""
        self._forget_names = True

    def flush(self) -> bool:
        """Write what changed. True if any search row did."""
        self.flush_atoms()
        if self._dirty or self._gone:
            self._change, self._embeds_twice = self._db.execute(_NEXT_CHANGE).get
            for (
                identity
            ) in self._dirty:  # in order of writing: a doc's predecessor has its number first
                if identity not in self._gone:
                    self._refresh(identity)
            for identity in self._gone:
                self._remove(identity)
            self._write_postings()
            self._relink()
        if self._forget_names:
            self._db.execute(_FORGET_NAMES)
        return bool(self._change)

    def flush_atoms(self) -> None:
        """Update `atom` with what was written so far, so that it can be queried within the
        transaction."""
        for kind in self._live_edges:
            for owner in self._owners:
                for edge in self._source.edges_out(NodeId(owner), kind):
                    self._dirty[edge.dst] = self._speaking[edge.dst] = None
        self._owners.clear()
        for identity in self._speaking:
            self._speak(identity)
        self._speaking.clear()

    def _speak(self, identity: int) -> None:
        node = self._source.node(NodeId(identity))
        rule = rule_of(node.labels, self._rules) if node else None
        keys = keys_of(rule, node.props) if node and rule is not None and rule.said else set()
        first = identity not in self._spoken
        made = first and self._source.is_made(identity)
        same = first and identity not in self._before and not self._rule_changed
        if not keys and (made or (same and node is not None)):
            return  # it stated nothing before either
        wanted: set[tuple[int, str]] = set()
        if keys and node is not None and rule is not None and self._is_live(node, rule):
            scope = self._token("scope:" + str(node.props.get("project", "")))
            wanted = {(scope, key) for key in keys}
        held: set[tuple[int, str]] = set()
        if not made:
            held = set(
                self._db.execute("SELECT scope, key FROM main.atom WHERE node = ?", (identity,))
            )
        self._spoken.add(identity)
        if held and not wanted:
            self._db.execute("DELETE FROM main.atom WHERE node = ?", (identity,))
        else:
            for scope, key in held - wanted:
                self._db.execute(
                    "DELETE FROM main.atom WHERE scope = ? AND key = ? AND node = ?",
                    (scope, key, identity),
                )
        rows = [(scope, key, identity) for scope, key in sorted(wanted - held)]
        insert_rows(self._db, "INSERT INTO main.atom", rows)

    def rebuild(self) -> None:
        """Cut the text of every search row into words again, for another analyser. Numbers and
        attributes stay, and vectors but of texts that held their statements twice."""
        self._change = next_change(self._db)
        for table in ("main.posting", "main.posting_new"):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("UPDATE meta SET value = 0 WHERE key = 'posting_new'")
        at = (-1, -1)
        while rows := _fetched(self._db, _DOCS_AFTER, (*at, _PAGE_DOCS)):
            for scope, number, labels, props in rows:
                rule, held = rule_of(decode(labels), self._rules), decode_properties(props)
                length = self._index(scope, number, texts_of(rule, held))
                if rule and repeats_itself(rule, held):
                    forget_vectors(self._db, scope, number)
                    self._db.execute(_DUE, (scope, number))
                    self._db.execute(DUE_NEXT, (scope, number))
                self._db.execute(
                    "UPDATE main.doc SET length = ?, changed = ? WHERE scope = ? AND doc = ?",
                    (length, self._change, scope, number),
                )
            at = rows[-1][:2]
        self._write_postings()
        compact(self._db)

    def _refresh(self, identity: int) -> None:
        node = self._source.node(NodeId(identity))
        rule = rule_of(node.labels, self._rules) if node else None
        if self._source.is_made(identity) and identity not in self._numbered:
            if node is not None and rule is not None:
                self._insert(node, rule)
            return
        if identity not in self._before and not self._rule_changed:
            if node is not None and rule is not None:
                self._relive(node, rule)
            return
        old: Any = self._db.execute(
            "SELECT scope, doc FROM main.doc WHERE node = ?", (identity,)
        ).fetchone()
        if old is not None:
            labels, props = (node.labels, node.props) if node else ((), {})
            labels_before, props_before = self._before.get(identity, (labels, props))
            rule_before = rule_of(labels_before, self._rules_before)
            before = texts_of(rule_before, props_before)
            if (
                rule is None
                or texts_of(rule, props) != before
                or props.get("project") != props_before.get("project")
            ):
                self._note_followers(identity)
                self._remove(identity, texts=before if rule_before else None)
                old = None
        if node is None or rule is None:
            return
        if old is None:
            self._insert(node, rule)
            return
        self._relive(node, rule)
        if identity in self._before:
            here = attributes_of(node.props, born=node.born)
            self._db.execute(_SET_ATTRIBUTES, (*self._attributes(here), *old))

    def _insert(self, node: Node, rule: SearchRule) -> None:
        """A row for a node that has none."""
        here = attributes_of(node.props, born=node.born)
        self._load_tokens(here[:5])
        scope = self._token(here.scope)
        number = self._next_number(scope)
        length = self._index(scope, number, texts_of(rule, node.props))
        fixed = (
            scope,
            number,
            node.id,
            self._is_live(node, rule),
            self._prev(node.id, rule, scope),
            length,
            *self._window(node.id, rule),
            0,
            self._change,
        )
        self._db.execute(_INSERT, (*fixed, *self._attributes(here)))
        if self._embeds_twice:
            self._db.execute(DUE_NEXT, (scope, number))
        self._numbered.add(node.id)
        self._note_followers(node.id)

    def _relive(self, node: Node, rule: SearchRule) -> None:
        """Update the row of a node whose text stayed the same; insert it if there is none."""
        window = self._window(node.id, rule) if self._source.has_windows else (None, None)
        live = self._is_live(node, rule)
        if rule.prev_edge:
            row: Any = self._db.execute(
                "SELECT scope FROM main.doc WHERE node = ?", (node.id,)
            ).fetchone()
            prev = self._prev(node.id, rule, row[0]) if row else -1
        else:
            prev = -1
        self._db.execute(_RELIVE, (live, prev, *window, self._change, node.id))
        if not self._db.changes():
            self._insert(node, rule)

    def _window(self, identity: int, rule: SearchRule) -> tuple[int, int]:
        if not self._source.has_windows and self._source.is_made(identity):
            return common_window(SEEN, rule.read)
        row: Any = self._db.execute(
            "SELECT vis_from, vis_until, json(fades) FROM main.node WHERE id = ?", (identity,)
        ).fetchone()
        return common_window(VisibilityDecision(*row), rule.read)

    def _attributes(self, here: Attributes) -> tuple[int, ...]:
        """As the columns of a row from `kind` on."""
        return (*map(self._token, here[1:5]), *here[5:])

    def _next_number(self, scope: int) -> int:
        if scope not in self._numbers:
            self._numbers[scope] = self._db.execute(
                "SELECT coalesce(max(doc), -1) + 1 FROM main.doc WHERE scope = ?", (scope,)
            ).get
        self._numbers[scope] += 1
        return self._numbers[scope] - 1

    def _index(self, scope: int, number: int, texts: tuple[str, ...]) -> int:
        """Note the words of a row to be written; returns its length in words."""
        counts, length = words_of(texts)
        for term, count in counts.items():
            self._postings[scope, term].append((number, count if count < COUNT_MAX else COUNT_MAX))
        self._held += len(counts)
        if self._held > _POSTINGS_HELD:
            self._write_postings()
        return length

    def _write_postings(self) -> None:
        rows: list[tuple[int, int, str, bytes]] = []
        for (scope, term), entries in self._postings.items():
            entries.sort()
            data = b"".join([RECORD.pack(number, count) for number, count in entries])
            rows.append((scope, entries[0][0], term, data))
        insert_rows(self._db, "INSERT INTO main.posting_new(scope, first, term, data)", rows)
        added = len(self._postings)
        self._postings.clear()
        self._held = 0
        self._compact_when_due(added)

    def _note_followers(self, identity: int) -> None:
        """Rows whose predecessor gets or loses its number after they were written."""
        for kind in self._prev_edges:
            if not self._source.edges_out(NodeId(identity), kind):
                continue
            for (dst,) in self._db.execute(
                "SELECT d.node FROM main.edge e JOIN main.doc d ON d.node = e.dst WHERE e.src"
                " = ? AND"
                " e.type = ?",
                (identity, kind),
            ):
                self._followers[dst] = None

    def _relink(self) -> None:
        for identity in self._followers:
            row: Any = self._db.execute(
                "SELECT d.scope, d.doc, n.labels FROM main.doc d JOIN main.node n ON n.id ="
                " d.node WHERE"
                " d.node = ?",
                (identity,),
            ).fetchone()
            rule = rule_of(decode(row[2]), self._rules) if row else None
            if rule:
                prev = self._prev(identity, rule, row[0])
                self._db.execute(
                    "UPDATE main.doc SET prev = ?, changed = ? WHERE scope = ? AND doc = ?",
                    (prev, self._change, *row[:2]),
                )

    def _is_live(self, node: Node, rule: SearchRule) -> bool:
        if node.props.get(rule.off):
            return False
        if not rule.live_edge:
            return True
        for edge in self._source.edges_in(node.id, rule.live_edge):
            owner = self._source.node(edge.src)
            if owner is not None and not owner.props.get(rule.off):
                return True
        return False

    def _prev(self, identity: int, rule: SearchRule, scope: int) -> int:
        """The number of the doc before this one in its conversation, or -1."""
        if not rule.prev_edge or not self._source.edges_in(NodeId(identity), rule.prev_edge):
            return -1
        found = self._db.execute(
            "SELECT d.doc FROM main.edge e JOIN main.doc d ON d.node = e.src WHERE e.dst = ?"
            " AND e.type = ?"
            " AND d.scope = ? ORDER BY e.id LIMIT 1",
            (identity, rule.prev_edge, scope),
        ).get
        return -1 if found is None else int(found)

    def _token(self, text: str) -> int:
        known = self._tokens.get(text)
        if known is None:
            known = self._db.execute("SELECT id FROM main.token WHERE text = ?", (text,)).get
            if known is None:
                known = self._db.execute(
                    "INSERT INTO main.token(text) VALUES(?) RETURNING id", (text,)
                ).get
            self._tokens[text] = known
        return known

    def _load_tokens(self, texts: Sequence[str]) -> None:
        """Look up the numbers of several texts in one statement. An array cannot hold a text with a
        NUL: `_token` looks it up by itself."""
        unknown = tuple(
            text for text in dict.fromkeys(texts) if text not in self._tokens and "\0" not in text
        )
        if unknown:
            self._tokens |= dict(self._db.execute(_TOKENS, (apsw.carray(unknown),)))

    def _remove(self, identity: int, *, texts: tuple[str, ...] | None = None) -> None:
        """The row's terms, vectors and attributes go. The number stays taken, so that no other doc
        inherits it; a row without content keeps it.

        `texts` are what the row was made of, if that is known: then only their words are looked up,
        else every posting of the scope is read.
        """
        row: Any = self._db.execute(
            "SELECT scope, doc FROM main.doc WHERE node = ?", (identity,)
        ).fetchone()
        if row is None:
            return
        scope, number = row
        words = None if texts is None else tuple(words_of(texts)[0])
        for table in ("main.posting", "main.posting_new"):
            # instr finds a byte run at any offset; rewrite() keeps only whole records, so a false
            # hit changes nothing
            sql = f"SELECT term, first, data FROM {table} WHERE scope = ? AND instr(data, ?) > 0"
            record = number.to_bytes(4, "little")
            if words is None:
                hits: list[Any] = self._db.execute(sql, (scope, record)).fetchall()
            else:
                bound = apsw.carray(words) if words else None
                hits = (
                    self._db.execute(
                        sql + " AND term IN (SELECT value FROM carray(?))", (scope, record, bound)
                    ).fetchall()
                    if bound
                    else []
                )
            for term, first, data in hits:
                self._rewrite(table, (scope, term, first), data=data, without=number)
        forget_vectors(self._db, scope, number)
        self._db.execute(
            "UPDATE main.doc SET live = 0, node = ?, length = 0, kind = 0, space = 0, speaker = 0,"
            " thread = 0, time = 0, prev = -1, vectors = 1, changed = ? WHERE scope = ? AND"
            " doc = ?",
            (-(scope << 32 | number) - 1, self._change, scope, number),
        )

    def _rewrite(self, table: str, key: tuple[int, str, int], *, data: bytes, without: int) -> None:
        kept = b"".join(
            data[i : i + 5]
            for i in range(0, len(data), 5)
            if RECORD.unpack_from(data, i)[0] != without
        )
        if kept == data:
            return
        self._db.execute(f"DELETE FROM {table} WHERE scope = ? AND term = ? AND first = ?", key)
        if kept:
            first = RECORD.unpack_from(kept, 0)[0]
            self._db.execute(
                f"INSERT INTO {table}(scope, term, first, data) VALUES(?, ?, ?, ?)",
                (key[0], key[1], first, kept),
            )

    def _compact_when_due(self, added: int) -> None:
        rows = self._db.execute(
            "INSERT INTO meta VALUES('posting_new', ?) ON CONFLICT(key) DO UPDATE SET value = value"
            " + excluded.value RETURNING value",
            (added,),
        ).get
        if rows >= COMPACT_AFTER_ROWS:
            compact(self._db)


def nodes_with(
    db: apsw.Connection,
    terms: Sequence[str],
    *,
    scope: str,
    kind: str | None,
    space: str | None,
    now: int,
    limit: int,
    live: bool = True,
) -> list[int]:
    """Return the live nodes of a scope, kind and space (None: of any) that are valid now and whose
    rows hold all of these terms, those of the fewest words first. Without `live`: those that are
    not live."""
    names = {name for name in (scope, kind, space) if name is not None}
    found = dict(db.execute(_TOKENS, (apsw.carray(tuple(names)),)))
    if len(found) < len(names) or not terms:
        return []
    wanted = tuple(dict.fromkeys(terms))
    docs = {doc for sql in _WITH_TERMS for doc in _docs_with(db, sql, found[scope], wanted)}
    if not docs:
        return []
    numbers = apsw.carray(array("q", sorted(docs)))
    args = (found[scope], numbers, found.get(kind), found.get(space))
    return [row[0] for row in db.execute(_LIVE_AMONG, (*args, now, now, limit, live))]


def _docs_with(db: apsw.Connection, sql: str, scope: int, terms: tuple[str, ...]) -> list[int]:
    """Return the docs that have all of these terms in one of the two tables of postings. All rows
    of a doc are in one of them: it is written by one transaction and moved as a whole."""
    held: dict[str, list[Any]] = {}
    for term, data in db.execute(sql, (scope, apsw.carray(terms), len(terms))):
        held.setdefault(term, []).append(data)
    if len(held) < len(terms):
        return []
    import numpy as np  # not needed to open a file

    numbers: Any = None
    for parts in sorted(held.values(), key=lambda parts: sum(map(len, parts))):
        rows = np.frombuffer(b"".join(parts), dtype=[("doc", "<u4"), ("count", "u1")])["doc"]
        numbers = rows if numbers is None else np.intersect1d(numbers, rows)
        if not len(numbers):
            break
    return cast("list[int]", numbers.tolist())


_TOKENS = "SELECT t.text, t.id FROM carray(?) v CROSS JOIN main.token t ON t.text = v.value"
# The terms are counted first: of a table that lacks one, no row is read.
_WITH_TERMS = tuple(
    f"SELECT p.term, p.data FROM (SELECT count(DISTINCT term) AS n FROM {table} WHERE scope = ?1"
    f" AND term IN (SELECT value FROM carray(?2))) c CROSS JOIN {table} p WHERE c.n = ?3 AND"
    " p.scope = ?1 AND p.term IN (SELECT value FROM carray(?2))"
    for table in ("main.posting", "main.posting_new")
)
_LIVE_AMONG = (
    "SELECT d.node FROM carray(?2) v CROSS JOIN doc d ON d.scope = ?1 AND d.doc = v.value WHERE"
    " d.live = ?8 AND (?3 IS NULL OR d.kind = ?3) AND (?4 IS NULL OR d.space = ?4) AND"
    " d.valid_from <= ?5 AND ?6 < d.valid_until ORDER BY d.length, d.doc LIMIT ?7"
)


def label_rows(db: apsw.Connection) -> None:
    """Label the rows of turns that were stored without a label of trust, by role and speaker."""
    found = db.execute(
        "SELECT d.scope, d.doc, d.trust, json(n.props) FROM main.doc d JOIN main.node n ON n.id ="
        " d.node WHERE n.props ->> '$.trust' IS NULL AND n.props ->> '$.role' IS NOT NULL"
    )
    db.executemany(
        "UPDATE main.doc SET trust = ? WHERE scope = ? AND doc = ?",
        [
            (rank, scope, doc)
            for scope, doc, held, props in found
            if (rank := TRUSTS.index(trust_of(decode_properties(props)))) != held
        ],
    )


def analyser_of(db: apsw.Connection) -> str:
    """Return the rules by which the words of this index were cut. A file that does not say is of
    the first ones."""
    found = db.execute("SELECT value FROM meta WHERE key = 'analyser'").get
    return _FIRST_ANALYSER if found is None else str(found)


def note_analyser(db: apsw.Connection) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES('analyser', ?)", (ANALYSER,))


def _fetched(db: apsw.Connection, sql: str, args: tuple[int, ...]) -> list[Any]:
    return db.execute(sql, args).fetchall()


def compact(db: apsw.Connection) -> None:
    """Append the new posting rows of each term to its last long row, or make others of at most
    POSTING_BYTES_MAX. Reads stay the same; they only get shorter, and so does what an erasure
    writes."""
    pending: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    for scope, term, data in db.execute(
        "SELECT scope, term, data FROM main.posting_new ORDER BY scope, term, first"
    ):
        pending[scope, term].append(data)
    for (scope, term), parts in pending.items():
        data = b"".join(parts)
        last: Any = db.execute(
            "SELECT first, data FROM main.posting WHERE scope = ? AND term = ? ORDER BY first DESC"
            " LIMIT 1",
            (scope, term),
        ).fetchone()
        if last and len(last[1]) + len(data) <= POSTING_BYTES_MAX:
            db.execute(
                "UPDATE main.posting SET data = ? WHERE scope = ? AND term = ? AND first = ?",
                (last[1] + data, scope, term, last[0]),
            )
        else:
            for start in range(0, len(data), POSTING_BYTES_MAX):
                row = (
                    scope,
                    term,
                    RECORD.unpack_from(data, start)[0],
                    data[start : start + POSTING_BYTES_MAX],
                )
                db.execute(
                    "INSERT INTO main.posting(scope, term, first, data) VALUES(?, ?, ?, ?)", row
                )
    db.execute("DELETE FROM main.posting_new")
    db.execute("UPDATE meta SET value = 0 WHERE key = 'posting_new'")
