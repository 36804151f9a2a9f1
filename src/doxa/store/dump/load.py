"""Write a whole state, version by version, into a file that holds nothing yet, inside one
transaction.

Elements keep their ids, versions and system times, so that the state is the same as the one that
was read. Every version is a log entry of its own (`node.import`, `edge.import`), by which a replay
makes the same state and an erasure finds what it has to destroy. What is derived follows at the
end: windows, search rows, the entries of indexes; then constraints and guards are tested on all of
it.

Lines come in the order of versions.py: rules by name, nodes by id, edges by id, versions oldest
first. So nothing has to be kept in memory to find a duplicate or an overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConstraintError, InputError
from doxa.base.limits import (
    IMPORT_DEPTH_MAX,
    LABEL_CHARS_MAX,
)
from doxa.base.values import Properties, canonical, check_text, decode, encode_properties
from doxa.store import apply
from doxa.store.constraint import ConstraintChecker, Constraints
from doxa.store.dump.derive import index_all, sweep_all
from doxa.store.dump.rules import check_rules
from doxa.store.guard import End, misfits
from doxa.store.index import Indexes, build
from doxa.store.proof.addresses import address_problems
from doxa.store.transaction import Transaction
from doxa.store.visibility.access import Access, encode_access

# What the program declares by itself: an import never replaces it.
_PROGRAM = ("guard:", "search:", "support")
_END = "SELECT labels, kref IS NOT NULL, project FROM node WHERE id = ?"
_KNOWN = "SELECT 1 FROM node WHERE id = ?1 UNION ALL SELECT 1 FROM node_past WHERE id = ?1 LIMIT 1"
_SCALARS = (str, int, float, bool, type(None))
_OVERLAP = "it begins before the version above it ends"


class Times(NamedTuple):
    """When an element was made, and from when to when this version was it; ns, None while live."""

    born: int
    since: int
    until: int | None


class Loader:
    """Create with a transaction on an empty file; call `rule`, `node`, `edge`, `access` in the
    order of an export, then `finish`. Every method raises InputError for what cannot be."""

    def __init__(self, tx: Transaction, *, last_node: int, last_edge: int, time: int) -> None:
        self._tx, self._db = tx, tx._db
        self._last_node, self._last_edge, self._time = last_node, last_edge, time
        self._catalogue = tx.catalogue_all()
        self._program = {
            name: value for name, value in self._catalogue.items() if name.startswith(_PROGRAM)
        }
        self._guards = tx._guards
        self._rules: dict[str, object] = {}
        self.kept_rules: list[str] = []  # rules of the program that the export has otherwise
        self._at: tuple[str, int, int] = ("", 0, 0)  # kind, id and end of the version above
        self._accessed = (False, 0)
        self._closed = True  # whether that one was a past version

    # One line each

    def rule(self, name: str, value: object) -> None:
        if self._rules and name <= next(reversed(self._rules)):
            raise _invalid(f"the rule {name[:100]!r} comes twice, or rules are not sorted")
        if _is_deeper(value, IMPORT_DEPTH_MAX):
            raise _invalid(f"its value is nested more than {IMPORT_DEPTH_MAX} levels deep")
        self._rules[name] = value
        if name.startswith(_PROGRAM):
            if self._program.get(name) != value:
                self.kept_rules.append(name)
        elif self._catalogue.get(name) != value:
            self._set_rule(name, value)

    def _set_rule(self, name: str, value: object) -> None:
        self._tx.entries.add("catalogue.set", 0, canonical({"name": name, "value": value}))
        apply.set_catalogue(self._db, name, value)
        self._tx.catalogue_changed = True

    def node(
        self,
        identity: int,
        labels: list[str],
        props: Properties,
        times: Times,
        project: str | None = None,
    ) -> None:
        self._follow("node", identity, times, last=self._last_node)
        names = _names(labels)
        if times.until is None:
            self._guards.node_write("system", names, props)
        data = encode_properties(props, owner=":".join(names) or "node")
        place = _project(project, props)
        try:
            apply.import_node(self._db, identity, names, props=data, times=times, project=place)
        except apsw.ConstraintError:
            raise _invalid(f"the address {props.get('kref')!s:.200} is taken") from None
        body = b'{"born":%d,"id":%d,"labels":%b,"project":%b,"props":%b,"since":%d,"until":%b}'
        self._tx.entries.add(
            "node.import",
            identity,
            body
            % (
                times.born,
                identity,
                canonical(names),
                canonical(place),
                data,
                times.since,
                canonical(times.until),
            ),
        )

    def edge(
        self,
        identity: int,
        kind: str,
        *,
        src: int,
        dst: int,
        props: Properties,
        times: Times,
        project: str | None = None,
    ) -> None:
        self._follow("edge", identity, times, last=self._last_edge)
        _name(kind, "edge type")
        if times.until is None:
            held = self._place(kind, src, dst)
            if project not in (None, held):
                raise _invalid(f"its project is {project[:100]!r}, but not that of both its ends")
            project = held
        else:
            for end in (src, dst):
                if self._db.execute(_KNOWN, (end,)).get is None:
                    raise _invalid(f"there is no node {end}, and never was")
        data = encode_properties(props, owner=kind)
        if project is not None:
            _name(project, "project")
        apply.import_edge(
            self._db, identity, kind, src=src, dst=dst, props=data, times=times, project=project
        )
        body = (
            b'{"born":%d,"dst":%d,"id":%d,"project":%b,"props":%b,"since":%d,"src":%d,"type":%b'
            b',"until":%b}'
        )
        self._tx.entries.add(
            "edge.import",
            identity,
            body
            % (
                times.born,
                dst,
                identity,
                canonical(project),
                data,
                times.since,
                src,
                canonical(kind),
                canonical(times.until),
            ),
        )

    def access(self, edge: bool, identity: int, access: Access) -> None:
        if (edge, identity) <= self._accessed:
            raise _invalid("the element comes twice, or accesses are not sorted")
        self._accessed = (edge, identity)
        table = "edge" if edge else "node"
        if edge:  # one that was deleted keeps its metadata, for an undo
            if identity > self._last_edge:
                raise _invalid(f"there is no edge {identity}")
        elif self._db.execute("SELECT 1 FROM node WHERE id = ?", (identity,)).get is None:
            raise _invalid(f"there is no node {identity}")
        data, support = encode_access(access, support=False), canonical(access.support)
        self._tx.entries.add(
            f"{table}.access",
            identity,
            b'{"data":%b,"id":%d,"support":%b}' % (data, identity, support),
        )
        apply.set_access(self._db, identity, edge=edge, data=encode_access(access))

    def _follow(self, kind: str, identity: int, times: Times, *, last: int) -> None:
        """Check that a version comes after the one above it."""
        if identity > last:
            raise _invalid(f"its id {identity} is greater than the last id in the header, {last}")
        end = times.since if times.until is None else times.until
        if not (times.born <= times.since and (times.until is None or times.since < times.until)):
            raise _invalid("its times are not in order: born <= since < until")
        if max(times.since, end) > self._time:
            raise _invalid("it is later than the time in the header")
        before, held, until = self._at
        if before == kind and identity <= held:
            if identity < held:
                raise _invalid(f"{kind}s are not in the order of their ids")
            if not self._closed:
                raise _invalid(f"the {kind} {identity} comes twice")
            if times.since < until:
                raise _invalid(_OVERLAP)
        self._at, self._closed = (kind, identity, end), times.until is not None

    def _place(self, kind: str, src: int, dst: int) -> str | None:
        """Check that both ends of a live edge are live, and are what a guard wants. Return the
        project in which both lie, which is that of the edge."""
        ends = []
        for end in (src, dst):
            row: Any = self._db.execute(_END, (end,)).fetchone()
            if row is None:
                raise _invalid(f"there is no node {end}")
            ends.append(row)
        if kind in self._guards.edges:
            wrong = self._guards.misplaced(
                kind,
                tuple(End(tuple(decode(row[0])), bool(row[1])) for row in ends),  # type: ignore[arg-type]
            )
            if wrong:
                raise _invalid(wrong.rstrip("."))
        return ends[0][2] if ends[0][2] == ends[1][2] else None

    # The end

    def finish(self, *, derived: bool = True) -> None:
        """Replace the rules of the file, make what is derived, and test guards and constraints.
        Without `derived` nothing is made: the file is only to be read through once, for a merge,
        which makes the places of what it takes."""
        for name in self._catalogue.keys() - self._program.keys() - self._rules.keys():
            self._set_rule(name, None)
        catalogue = self._tx.catalogue_all()
        known = check_rules(catalogue, self._tx._expressions)
        for problem in chain(
            self._misfits(), address_problems(self._db, catalogue) if derived else ()
        ):
            raise ConstraintError(
                f"In this export {problem}.", next_step="Export again, or correct it."
            )
        self._tx._node = max(self._tx._node, self._last_node)
        self._tx._edge = max(self._tx._edge, self._last_edge)
        if derived:
            sweep_all(self._db, known)
            for rule in Indexes(catalogue).rules:
                build(self._db, rule)
            constraints = Constraints(catalogue)
            for constraint in constraints.rules:
                ConstraintChecker(self._db, constraints).verify_all(constraint)
            index_all(self._db, known, self._tx.now)

    def _misfits(self) -> Iterator[str]:
        """What only the whole can show: two edges where a guard allows one."""
        for kind in sorted(self._guards.judged_last):
            rule = self._guards.edges[kind]
            rows = self._db.execute("SELECT id, src, dst FROM edge WHERE type = ?", (kind,))
            for identity, src, dst in rows:
                if self._guards.has_ends(kind):
                    ends: Any = [self._db.execute(_END, (end,)).fetchone() for end in (src, dst)]
                    placed = tuple(End(tuple(decode(row[0])), bool(row[1])) for row in ends)
                    if self._guards.misplaced(kind, placed) is not None:  # type: ignore[arg-type]
                        continue
                for problem in misfits(self._db, rule, kind=kind, src=src, dst=dst):
                    yield f"{problem} (edge {identity})"


def _is_deeper(value: Any, levels: int) -> bool:
    found = [value]
    for _ in range(levels + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in found)
        found = [each for one in inner if not isinstance(one, _SCALARS) for each in one]
        if not found:
            return False
    return True


def _names(labels: list[str]) -> tuple[str, ...]:
    if labels != sorted(set(labels)):
        raise _invalid("its labels are not sorted, or one comes twice")
    for label in labels:
        _name(label, "label")
    return tuple(labels)


def _name(text: str, what: str) -> None:
    if not text or len(text) > LABEL_CHARS_MAX:
        raise _invalid(f"{text[:40]!r} is not a usable {what}")
    check_text(text, field=what)


def _project(stated: str | None, props: Properties) -> str | None:
    """Return the project of a node: that of its address, or the one stated for it."""
    named = apply.project_of(props.get("kref"))
    if stated is not None and named not in (None, stated):
        raise _invalid(f"its project is {stated[:100]!r}, but its address names {named!r:.100}")
    if stated is not None:
        _name(stated, "project")
    return named or stated


def _invalid(reason: str) -> InputError:
    return InputError(reason, next_step="Export again, or correct that line.")
