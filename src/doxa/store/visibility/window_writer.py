"""The visibility windows stored with nodes and edges, kept by the transaction that changes what
they depend on.

    vis_from <= now < vis_until      the element is visible; vis_from -1: it is judged when it is
    read
    fades                            null, or the windows of single properties (evaluator.py)

A window is a function of the element, its access metadata and the catalogue's policies, so it is
derived: `check` recomputes it, and a replay makes it again. When policies change, all windows
follow: at once in a small file, else batch by batch (`sweep`), in order of ids. Until a sweep is
done, elements beyond where it has come to are judged when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import apsw

from doxa.base.limits import SWEEP_AT_ONCE_ITEMS_MAX
from doxa.base.values import decode, decode_properties
from doxa.store.change_counter import next_change
from doxa.store.indexing.search_rows import rule_of
from doxa.store.indexing.search_texts import SearchRule
from doxa.store.sql_values import int64_array
from doxa.store.visibility.access import Access, decode_access
from doxa.store.visibility.evaluator import (
    SEEN,
    PolicyEvaluator,
    Subject,
    VisibilityDecision,
    common_window,
)

# the key in meta: {"node": swept up to this id, "edge": ...}; a kind that is not there is done
SWEEP = "sweep"
_NODES = (
    "SELECT n.id, n.labels, json(n.props), n.since, n.born, 0, 0, n.vis_from, n.vis_until,"
    " json(n.fades), json(a.data) FROM node n LEFT JOIN access a ON a.edge = 0 AND a.element = n.id"
)
_EDGES = (
    "SELECT n.id, json_array(n.type), json(n.props), n.since, n.born, n.src, n.dst, n.vis_from,"
    " n.vis_until, json(n.fades), json(a.data) FROM edge n LEFT JOIN access a ON a.edge = 1 AND"
    " a.element = n.id"
)
Seen = tuple[Subject, Access, VisibilityDecision]


def load(db: apsw.Connection, identity: int, *, edge: bool) -> Seen | None:
    """Read an element with its metadata and the decision stored with it."""
    row: Any = db.execute(f"{_EDGES if edge else _NODES} WHERE n.id = ?", (identity,)).fetchone()
    return None if row is None else _seen(row, edge)


def load_nodes(db: apsw.Connection, identities: Sequence[int]) -> Iterator[Seen]:
    """Read those of the nodes that are there, by one statement."""
    if not identities:
        return iter(())
    rows: list[Any] = db.execute(
        f"{_NODES} WHERE n.id IN (SELECT value FROM carray(?))", (int64_array(identities),)
    ).fetchall()
    return (_seen(row, False) for row in rows)


def ends_of(db: apsw.Connection, edges: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return the ids of the nodes that edges lead from and to, of deleted edges too. Edges that
    were erased are left out."""
    found: dict[int, tuple[int, int]] = {}
    for table in ("edge", "edge_past"):
        missing = [edge for edge in edges if edge not in found]
        if missing:
            rows: Any = db.execute(
                f"SELECT id, src, dst FROM {table} WHERE id IN (SELECT value FROM carray(?))",
                (int64_array(missing),),
            )
            found.update((identity, (src, dst)) for identity, src, dst in rows)
    return found


def _seen(row: Any, edge: bool) -> Seen:
    subject = Subject(edge, row[0], tuple(decode(row[1])), decode_properties(row[2]), *row[3:7])
    return subject, decode_access(row[10]), VisibilityDecision(*row[7:10])


def after(db: apsw.Connection, identity: int, limit: int, *, edge: bool) -> Iterator[Seen]:
    """Return elements with greater ids, in order."""
    rows: list[Any] = db.execute(
        f"{_EDGES if edge else _NODES} WHERE n.id > ? ORDER BY n.id LIMIT ?", (identity, limit)
    ).fetchall()
    return (_seen(row, edge) for row in rows)


class WindowWriter:
    """Keeps the windows of what one transaction writes."""

    def __init__(
        self,
        db: apsw.Connection,
        evaluator: PolicyEvaluator,
        search: Callable[[], Mapping[str, SearchRule]],
        *,
        suppressing: bool,
    ) -> None:
        self._db = db
        self._search = search
        self._evaluator = evaluator
        self.renew: Callable[[PolicyEvaluator], PolicyEvaluator] | None = (
            None  # set when rules changed: makes the evaluator when one is needed
        )
        self.idle = (
            not evaluator.rules.any and not suppressing
        )  # no element has anything but the window that it is made with

    @property
    def evaluator(self) -> PolicyEvaluator:
        """By the rules as they are now."""
        if self.renew is not None:
            renew, self.renew = self.renew, None
            self._evaluator = renew(self._evaluator)
        return self._evaluator

    def changed(self, subject: Subject, *, made: bool = False) -> None:
        """Update the window of an element that was written. `made`: it is new, so that it has no
        accesses."""
        if self.idle:
            return
        rule = self.evaluator.rule(subject)
        if made:
            self.write(subject, self.evaluator.decide(subject, Access(), rule), before=SEEN)
            return
        found = load(self._db, subject.id, edge=subject.edge)
        assert found is not None
        self.write(subject, self.evaluator.decide(subject, found[1], rule), before=found[2])

    def write(
        self,
        subject: Subject,
        decision: VisibilityDecision,
        *,
        before: VisibilityDecision,
        docs: bool = False,
    ) -> bool:
        """Store a decision with its element. `docs`: also in its search row, which no search writer
        will update. Return whether it differs from the one before."""
        if decision == before:
            return False
        table = "edge" if subject.edge else "node"
        self._db.execute(
            f"UPDATE main.{table} SET vis_from = ?, vis_until = ?, fades = jsonb(?) WHERE id = ?",
            (decision.start, decision.end, decision.fades, subject.id),
        )
        if docs and not subject.edge:
            rule = rule_of(subject.names, self._search())
            if rule is not None:
                start, end = common_window(decision, rule.read)
                self._db.execute(
                    "UPDATE main.doc SET vis_from = ?, vis_until = ?, changed = ? WHERE node = ?",
                    (start, end, next_change(self._db), subject.id),
                )
        return True

    # After a change of policies

    def policies_changed(self, *, nodes: bool, edges: bool) -> bool:
        """Update all windows of these kinds after a change of policies: at once if they are few.
        True if some are left."""
        held = swept(self._db) or {}
        kinds = {
            kind for kind, asked in (("node", nodes), ("edge", edges)) if asked or kind in held
        }
        for kind in sorted(kinds):
            count = self._db.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {kind} LIMIT ?)",
                (SWEEP_AT_ONCE_ITEMS_MAX + 1,),
            ).get
            if count <= SWEEP_AT_ONCE_ITEMS_MAX:
                self.sweep(kind, 0, SWEEP_AT_ONCE_ITEMS_MAX + 1)
                held.pop(kind, None)
            else:
                held[kind] = 0
        note_swept(self._db, held)
        return bool(held)

    def sweep(self, kind: str, identity: int, limit: int) -> int | None:
        """Update the windows of the next elements after an id. Returns the last id, or None at the
        end."""
        last, count = identity, 0
        for subject, access, before in after(self._db, identity, limit, edge=kind == "edge"):
            self.write(
                subject,
                self.evaluator.decide(subject, access, self.evaluator.rule(subject)),
                before=before,
                docs=True,
            )
            last, count = subject.id, count + 1
        return last if count == limit else None


def swept(db: apsw.Connection) -> dict[str, int] | None:
    """Return how far a sweep that is not done has come, by kind; None if there is none."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (SWEEP,)).get
    return None if found is None else dict(json.loads(found))


def note_swept(db: apsw.Connection, held: dict[str, int]) -> None:
    if held:
        db.execute(
            "INSERT OR REPLACE INTO meta VALUES(?, ?)", (SWEEP, json.dumps(held, sort_keys=True))
        )
    else:
        db.execute("DELETE FROM meta WHERE key = ?", (SWEEP,))


def problems(
    db: apsw.Connection, evaluator: PolicyEvaluator, search: Mapping[str, SearchRule]
) -> Iterator[str]:
    """Return where windows are not what the element, its use and the policies say. What a sweep has
    not come to is passed over."""
    pending = swept(db) or {}
    for kind, table in (("node", _NODES), ("edge", _EDGES)):
        for row in db.execute(
            f"{table} WHERE n.id <= ? ORDER BY n.id", (pending.get(kind, 2**63 - 1),)
        ):
            subject, access, held = _seen(row, kind == "edge")
            wanted = evaluator.decide(subject, access, evaluator.rule(subject))
            if wanted != held:
                yield f"{kind} {subject.id} has the window {held}, not {wanted}"
            rule = None if subject.edge else rule_of(subject.names, search)
            if rule is not None:
                doc: Any = db.execute(
                    "SELECT vis_from, vis_until FROM main.doc WHERE node = ?", (subject.id,)
                ).fetchone()
                if doc is not None and tuple(doc) != common_window(wanted, rule.read):
                    yield f"the search row of node {subject.id} has another window than the node"
