"""Generate the SQL statement of a connected pattern: scans, joins over the adjacency indexes,
labels, and the conditions that SQL can test exactly.

Conditions move into SQL only with guards that keep Cypher's meaning. The kinds of the compared
values are known when the statement runs, so there is one statement per combination of kinds, which
is kept. Conditions on other values are tested on the rows found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.base.values import canonical
from doxa.cypher import tree as t
from doxa.query.core.graph import Graph
from doxa.query.core.pattern import EdgeVar, plain_types
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.sql.condition_sql import test_sql
from doxa.query.sql.index_selection import IndexScan, KeyCondition, choose_index, key_condition
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.row_batches import Template
from doxa.query.sql.value_kinds import UNDECIDED_KINDS
from doxa.store import Transaction
from doxa.store.sql_values import json_path

_EXACT_KINDS = frozenset(("text", "number", "boolean"))  # whose keys are equal as values are
# Estimated selectivity of an access path: an id, whole keys of an index, an address, a part of an
# index, a whole index, an equality, a label
_ID, _KEYS, _ADDRESS, _PART, _ALL, _EQUAL, _LABEL = range(8, 1, -1)


class Prepared(NamedTuple):
    """SQL and its arguments: constants, ("node", slot), ("test", number), and those of the index,
    such as `KEY`."""

    sql: str
    args: list[Any]
    index_scan: IndexScan | None
    access_path: str
    columns: list[Any]  # the arguments that differ from row to row, each once
    template: Template
    leftover: list[Evaluate]  # the conditions that SQL leaves out


class StatementBuilder:
    def __init__(
        self,
        pushed: PushedDownPattern,
        run: Run | None,
        kinds: tuple[str, ...],
        *,
        read: frozenset[str] = frozenset(),
        selects: bool = True,
    ) -> None:
        """`read`: whose properties are read besides. `selects`: whether the elements of the pattern
        are returned; where they are only counted, a node at the end of an edge is there."""
        self.pushed = pushed
        self.selects = selects
        self.conditions = pushed.conditions
        self.kinds = kinds
        self.read = read | {key for key, _ in pushed.columns}  # elements whose properties are read
        graph = self.graph = run.graph if run is not None else None
        self.node_table = graph.node_table() if graph else "node"
        self.label_table = graph.label_table(hidden=True) if graph else "node_label"
        self.tests_nodes = graph.tests_nodes if graph else False
        self.valid = graph.valid if graph else None
        self.past = graph is not None and graph.as_of is not None
        self.sources: list[str] = []
        self.source_args: list[Any] = []
        self.where: list[str] = []
        self.where_args: list[Any] = []
        self.late: list[str] = []
        self.ids: dict[str, str] = {}
        self.tables: dict[str, str] = {}
        self.scanned: dict[
            str, t.LabelExpression
        ] = {}  # labels whose first name the scan already tests
        self.indexes = graph.indexes() if graph and self.conditions.indexable() else None
        self.index_scan: IndexScan | None = None
        self.seeks = False  # it begins with few elements, found by an index, an address or an id
        self.apart = False  # a table within FROM needs an argument that differs between rows
        self.access_path = ""
        self.decided: frozenset[int] = frozenset()  # tests that the keys of the index decide
        self.edge_alias = {edge.key: f"e{index}" for index, edge in enumerate(pushed.edges)}
        self.node_alias = {key: f"n{index}" for index, key in enumerate(pushed.nodes)}

    def body(self) -> tuple[str, list[Any]]:
        """Build FROM and WHERE, with their parameters."""
        pushed = self.pushed
        for key in pushed.bound:
            self.ids[key] = "?"
        pending = list(pushed.edges)
        if not any(edge.left in self.ids or edge.right in self.ids for edge in pending):
            self._start(pending)
        self._attach_found()
        while pending:
            edge = next((e for e in pending if e.left in self.ids or e.right in self.ids), None)
            assert edge is not None
            pending.remove(edge)
            self._join(edge)
            self._attach_found()
        for key in pushed.nodes:
            if key not in pushed.bound and self._needs_table(key):
                self._attach(key)
        self._conditions()
        self._unique()
        self._visible()
        self.where += self.late
        sql = f"FROM {' CROSS JOIN '.join(self.sources)}"
        if self.where:
            sql += f" WHERE {' AND '.join(self.where)}"
        return sql, [*self.source_args, *self.where_args]

    def _id(self, key: str) -> str:
        """The SQL of a node's id. A bound node is a parameter, so its argument is appended where it
        is used."""
        if key in self.pushed.bound:
            self.where_args.append(("node", self.pushed.bound[key]))
            return "?"
        return self.ids[key]

    def _start(self, pending: list[EdgeVar]) -> None:
        """Begin with the most selective node, or with an edge if no node has conditions."""
        pushed = self.pushed
        best = max(pushed.nodes, key=self._selectivity)
        edge = max(pending, key=self._edge_selectivity, default=None)
        if edge is None or 0 < self._selectivity(best) >= self._edge_selectivity(edge):
            self._scan(best)
            return
        pending.remove(edge)
        alias = self.edge_alias[edge.key]
        index_scan = self._edge_access(edge)
        if self._by_id(edge.key):
            self._seek("relationship by id")
        elif index_scan is not None:
            self._use_index(index_scan, alias)
        self._from(edge.key, alias, edge=True)
        self._typed(edge)
        assert isinstance(edge.pattern, t.EdgePattern)
        if edge.pattern.direction == "both":
            self._both_ends(edge, alias)
        else:
            out = edge.pattern.direction == "out"
            self._found(edge.left, f"{alias}.{'src' if out else 'dst'}")
            self._found(edge.right, f"{alias}.{'dst' if out else 'src'}")

    def _both_ends(self, edge: EdgeVar, alias: str) -> None:
        """Read an undirected edge without a start in both directions, a loop once."""
        self.sources.append(f"json_each('[0,1]') {alias}_way")
        self.where.append(f"({alias}_way.value = 0 OR {alias}.src <> {alias}.dst)")
        for key, ends in ((edge.left, "src dst"), (edge.right, "dst src")):
            first, second = ends.split()
            self._found(
                key, f"CASE {alias}_way.value WHEN 0 THEN {alias}.{first} ELSE {alias}.{second} END"
            )

    def _found(self, key: str, sql: str) -> None:
        if key in self.ids:
            self.where.append(f"{sql} = {self._id(key)}")
        else:
            self.ids[key] = sql

    def _selectivity(self, key: str) -> int:
        if self._by_id(key):
            return _ID
        index_scan = self._node_access(key)
        worth = self._scan_selectivity(index_scan)
        if worth == _KEYS:
            return worth
        single = [
            numbers[0]
            for name, numbers in self.conditions.alternatives(key)
            if name is not None and len(numbers) == 1
        ]
        equal = [
            (self.conditions.tests[number].name, self.kinds[number])
            for number in single
            if self.conditions.tests[number].op == "="
        ]
        if ("kref", "text") in equal:
            return _ADDRESS
        if index_scan is not None:
            return worth
        if equal:
            return _EQUAL
        return _LABEL if any(held == key for held, _ in self.conditions.labels()) else 0

    def _edge_selectivity(self, edge: EdgeVar) -> int:
        return _ID if self._by_id(edge.key) else self._scan_selectivity(self._edge_access(edge))

    @staticmethod
    def _scan_selectivity(index_scan: IndexScan | None) -> int:
        if index_scan is None:
            return 0
        return _KEYS if index_scan.exact else _PART if index_scan.narrow else _ALL

    def _by_id(self, key: str) -> bool:
        """Whether the conditions give the ids."""
        return any(
            name is None and all(self.kinds[n] not in UNDECIDED_KINDS for n in numbers)
            for name, numbers in self.conditions.alternatives(key)
        )

    def _promised(self, names: list[str], *, edge: bool) -> list[str]:
        """The properties that constraints guarantee for these labels, or this type."""
        if self.graph is None or not is_settled(self.graph):
            return []
        constraints = self.graph.reader.declared().constraints
        held = constraints.types if edge else constraints.labels
        return [
            each
            for name in names
            for rule in held.get(name, ())
            if rule.kind in ("exists", "key")
            for each in rule.properties
        ]

    def _key_conditions(
        self, key: str, promised: list[str]
    ) -> tuple[list[KeyCondition], frozenset[str]]:
        """The conditions an index may answer, and the properties that the element must have."""
        there = self.conditions.present(key)
        conditions, present = [KeyCondition(name, (), False) for name in there], set(there)
        for name, numbers in self.conditions.alternatives(key):
            asked = [
                (number, self.conditions.tests[number].op, self.kinds[number]) for number in numbers
            ]
            if name is None or any(
                op == "IN" and kind == "other" for _, op, kind in asked
            ):  # a value that is not a list is an error, not a lookup
                continue
            present.add(name)
            condition = key_condition(name, asked)
            if condition is not None:
                conditions.append(condition)
        return conditions, frozenset((*present, *promised)) if conditions else frozenset()

    def _node_access(self, key: str) -> IndexScan | None:
        if self.indexes is None or not self.indexes.rules:
            return None
        labels = [
            name
            for held, names in self.conditions.labels()
            if held == key
            for name in _names(names)
        ]
        return choose_index(
            labels, *self._key_conditions(key, self._promised(labels, edge=False)), self.indexes
        )

    def _edge_access(self, edge: EdgeVar) -> IndexScan | None:
        if self.indexes is None or not self.indexes.rules or len(_types(edge)) != 1:
            return None
        types = list(_types(edge))
        return choose_index(
            types,
            *self._key_conditions(edge.key, self._promised(types, edge=True)),
            self.indexes,
            edge=True,
        )

    def _seek(self, how: str) -> None:
        self.seeks, self.access_path = True, how

    def _use_index(self, index_scan: IndexScan, alias: str) -> None:
        """Begin with the entries of an index. Entries of all times lead to elements whose version
        is then tested."""
        self.index_scan = index_scan
        self.decided = self._decided_by(index_scan)
        self._seek(index_scan.describe())
        (source, source_args), (test, args) = index_scan.source(), index_scan.test()
        if self.past:
            tables = [
                f"SELECT x.element FROM {source}{table} x WHERE {test}"
                for table in ("entry", "entry_past")
            ]
            self.where.append(f"{alias}.id IN ({' UNION '.join(tables)})")
            self.where_args += [*source_args, *args] * 2
            self.apart = True
            return
        self.sources.append(f"{source}entry x")
        self.source_args += source_args
        self.where.append(test)
        self.where_args += args
        if index_scan.rule.edge:
            self.where.append(f"{alias}.id = x.element")

    def _decided_by(self, index_scan: IndexScan) -> frozenset[int]:
        """Return the tests that need no look at the element: a whole key is looked up, and equal
        keys are equal values. In the past, whose entries may be of other versions, all are made."""
        if self.graph is None or self.graph.as_of is not None or not index_scan.is_single:
            return frozenset()
        alone = {
            condition.tree[1]
            for condition in self.conditions.accepted
            if condition.tree[0] == "test"
        }
        return frozenset(
            bound.test
            for condition in index_scan.points
            for bound in condition.bounds
            if bound.op == "=" and bound.test in alone and self.kinds[bound.test] in _EXACT_KINDS
        )

    def _scan(self, key: str) -> None:
        alias = self.node_alias[key]
        selectivity = self._selectivity(key)
        direct = selectivity in (_ID, _ADDRESS)
        index_scan = None if direct else self._node_access(key)
        if direct:
            self._seek("node by id" if selectivity == _ID else "node by address")
        if index_scan is not None:
            self._use_index(index_scan, alias)
        if index_scan is not None and not self.past:
            self.ids[key] = "x.element"
            held = next(
                names
                for one, names in self.conditions.labels()
                if one == key and index_scan.label in _names(names)
            )
            if _first_name(held) == index_scan.label:
                self.scanned[key] = held
            return
        first = next(
            (
                names
                for held, names in self.conditions.labels()
                if held == key and isinstance(names, (t.LabelName, t.LabelAnd))
            ),
            None,
        )
        name = _first_name(first)
        if name is not None and not direct and index_scan is None:
            self.sources.append(f"{self.label_table} l{alias}")
            self.where.append(f"l{alias}.label = ?")
            self.where_args.append(name)
            self.ids[key] = f"l{alias}.node"
            assert first is not None
            self.scanned[key] = first
        else:
            self._from(key, alias, edge=False)
            self.ids[key] = f"{alias}.id"
            self.tables[key] = alias

    def _join(self, edge: EdgeVar) -> None:
        assert isinstance(edge.pattern, t.EdgePattern)
        alias = self.edge_alias[edge.key]
        self._from(edge.key, alias, edge=True)
        from_left = edge.left in self.ids
        here, there = (edge.left, edge.right) if from_left else (edge.right, edge.left)
        direction = edge.pattern.direction
        if direction == "both":
            if there in self.ids:
                ends = [
                    f"{alias}.src = {self._id(one)} AND {alias}.dst = {self._id(other)}"
                    for one, other in ((here, there), (there, here))
                ]
                self.where.append(f"({ends[0]} OR {ends[1]})")
                self._typed(edge)
                return
            self.where.append(f"({alias}.src = {self._id(here)} OR {alias}.dst = {self._id(here)})")
            if here in self.pushed.bound:
                self.ids[there] = f"({alias}.src + {alias}.dst - {self._hold(here)})"
            else:
                self.ids[there] = f"({alias}.src + {alias}.dst - {self.ids[here]})"
        else:
            forward = (direction == "out") == from_left
            near, far = ("src", "dst") if forward else ("dst", "src")
            self.where.append(f"{alias}.{near} = {self._id(here)}")
            self._found(there, f"{alias}.{far}")
        self._typed(edge)

    def _hold(self, key: str) -> str:
        """Make a bound node's id a column, for use in more than one place."""
        alias = f"k{self.pushed.bound[key]}"
        source = f"(SELECT ? AS id) {alias}"
        if source not in self.sources:
            self.sources.insert(0, source)
            self.source_args.insert(0, ("node", self.pushed.bound[key]))
            self.apart = True
        return f"{alias}.id"

    def _typed(self, edge: EdgeVar) -> None:
        assert isinstance(edge.pattern, t.EdgePattern)
        names = plain_types(edge.pattern.types)
        if names:
            alias = self.edge_alias[edge.key]
            self.where.append(
                f"{alias}.type = ?"
                if len(names) == 1
                else f"{alias}.type IN ({', '.join('?' * len(names))})"
            )
            self.where_args.extend(names)

    def _from(self, key: str, alias: str, *, edge: bool) -> None:
        """Read an element from its table, if it is visible or revealed."""
        if self.graph is None:
            self.sources.append(f"{'edge' if edge else 'node'} {alias}")
        elif key in self.pushed.revealed:
            self.sources.append(f"{self.graph.raw_table(edge=edge)} {alias}")
        else:
            table, test = self.graph.source(alias, edge=edge)
            self.sources.append(f"{table} {alias}")
            if test:  # a test that calls Python comes after all plain SQL tests
                (
                    self.late
                    if self.graph.sight is not None and self.graph.sight.unsure(edge=edge)
                    else self.where
                ).append(test)

    def _needs_table(self, key: str) -> bool:
        pushed = self.pushed
        loaded = self.selects and any(held == key and loads for held, _, loads in pushed.outputs)
        return key not in self.tables and (
            loaded
            or key not in self.ids
            or key in self.read
            or self.tests_nodes
            or key in self.conditions.read(but=self.decided)
            or (self.past and any(held == key for held, _ in self.conditions.labels()))
        )

    def _attach_found(self) -> None:
        """Join each node as soon as it is found, so that a node that does not match leads no
        further."""
        for key in self.pushed.nodes:
            if key in self.ids and key not in self.pushed.bound and self._needs_table(key):
                self._attach(key)

    def _attach(self, key: str) -> None:
        alias = self.node_alias[key]
        if key not in self.ids:  # a node without edges
            self._scan(key)
            if key in self.tables or not self._needs_table(key):
                return
        self._from(key, alias, edge=False)
        self.where.append(f"{alias}.id = {self.ids[key]}")
        self.tables[key] = alias

    # Conditions

    def _conditions(self) -> None:
        for condition, left in zip(
            self.conditions.accepted, self.conditions.leftover(self.kinds), strict=True
        ):
            tree = condition.tree
            if not left and not (tree[0] == "test" and tree[1] in self.decided):
                sql = self._condition(tree)
                if sql:
                    self.where.append(sql)

    def _condition(self, tree: tuple[Any, ...]) -> str:
        """Return the SQL of a condition and append its arguments in order; empty if the scan
        already tests it."""
        match tree[0]:
            case "labels":
                left = _without_first(tree[2]) if tree[2] is self.scanned.get(tree[1]) else tree[2]
                return "" if left is None else self._labelled(left, tree[1])
            case "null":
                self.where_args.append(json_path(tree[2]))
                return f"{self.table(tree[1])}.props -> ? IS {'NOT ' if tree[3] else ''}NULL"
            case "test":
                test, kind = self.conditions.tests[tree[1]], self.kinds[tree[1]]
                if test.name is None:
                    return self._identified(test.key, kind, tree[1])
                kref = (
                    kind == "text"
                    and test.name == "kref"
                    and test.op == "="
                    and test.key in self.tables
                )
                if kref:
                    self.where_args.append(("test", tree[1]))
                sql, args = test_sql(
                    test, kind, props=f"{self.table(test.key)}.props", argument=("test", tree[1])
                )
                self.where_args += args
                return f"({self.table(test.key)}.kref = ? AND {sql})" if kref else sql
        parts = [self._condition(part) for part in tree[1:]]
        return f"({f' {tree[0].upper()} '.join(parts)})"

    def _identified(self, key: str, kind: str, number: int) -> str:
        """Return the SQL of a test of an id."""
        if kind not in ("id", "ids"):
            return "0" if kind == "null" else "1"
        self.where_args.append(("test", number))
        identity = f"{self.edge_alias[key]}.id" if key in self.edge_alias else self.ids[key]
        return (
            f"{identity} = ?" if kind == "id" else f"{identity} IN (SELECT value FROM json_each(?))"
        )

    def table(self, key: str) -> str:
        return self.edge_alias.get(key) or self.tables[key]

    def _labelled(self, labels: t.LabelExpression, key: str) -> str:
        match labels:
            case t.LabelName(name) if (
                self.past
            ):  # read the version of that time: the label table would be scanned
                table = self.tables.get(key)
                at = (
                    ""
                    if table
                    else (
                        f"EXISTS (SELECT 1 FROM {self.node_table} x WHERE x.id = {self._id(key)}"
                        " AND "
                    )
                )
                self.where_args.append(canonical(name).decode())
                return f"instr({table}.labels, ?) > 0" if table else f"{at}instr(x.labels, ?) > 0)"
            case t.LabelName(name):
                sql = f"EXISTS (SELECT 1 FROM {self.label_table} x WHERE x.label = ? AND x.node = "
                self.where_args.append(name)
                return f"{sql}{self._id(key)})"
            case t.LabelAny():
                return (
                    f"EXISTS (SELECT 1 FROM {self.node_table} x WHERE x.id = {self._id(key)} AND"
                    " x.labels <> '[]')"
                )
            case t.LabelNot(of):
                return f"NOT {self._labelled(of, key)}"
            case t.LabelAnd(items):
                return f"({' AND '.join(self._labelled(item, key) for item in items)})"
            case t.LabelOr(items):
                return f"({' OR '.join(self._labelled(item, key) for item in items)})"
        raise AssertionError(labels)

    def _visible(self) -> None:
        """Add the tests of valid time."""
        if self.valid is not None:
            nodes = (
                [key for key in self.pushed.nodes if key not in self.pushed.bound]
                if self.valid.tests_nodes
                else []
            )
            tests = [self.valid.node(self.tables[key]) for key in nodes]
            tests += [self.valid.edge(alias) for alias in self.edge_alias.values()]
            self.where += [test for test in tests if test]

    def _unique(self) -> None:
        """Exclude rows that use an edge twice in one MATCH."""
        edges = self.pushed.edges
        for index, one in enumerate(edges):
            for other in edges[index + 1 :]:
                first, second = _types(one), _types(other)
                if not first or not second or set(first) & set(second):
                    self.where.append(
                        f"{self.edge_alias[one.key]}.id <> {self.edge_alias[other.key]}.id"
                    )

    def select(self) -> tuple[list[str], list[Any]]:
        columns: list[str] = []
        for key, kind, loaded in self.pushed.outputs:
            if key in self.pushed.ends:
                continue
            if kind == "edge id":
                columns.append(f"-{self.edge_alias[key]}.id")
            elif kind == "edge":
                alias = self.edge_alias[key]
                columns.extend((f"{alias}.id", f"{alias}.type", f"{alias}.src", f"{alias}.dst"))
                if loaded:
                    columns.append(f"json({alias}.props)")
            else:
                columns.append(self.ids[key])
                if loaded:
                    columns.extend(
                        (f"{self.tables[key]}.labels", f"json({self.tables[key]}.props)")
                    )
        columns.extend(
            f"-{self.edge_alias[key]}.id" if edge else self.ids[key]
            for key, edge in self.pushed.traversed
            if key not in self.pushed.ends
        )
        columns.extend(f"{self.table(key)}.props -> ?" for key, _ in self.pushed.columns)
        return columns, [json_path(name) for _, name in self.pushed.columns]


def prepare_statement(
    pushed: PushedDownPattern, run: Run | None, kinds: tuple[str, ...]
) -> Prepared:
    """Generate the statement of a pattern for values of these kinds."""
    builder = StatementBuilder(pushed, run, kinds)
    body, args = builder.body()
    select, select_args = builder.select()
    picked = ", ".join(select) or "1"
    columns = list(dict.fromkeys([arg for arg in (*select_args, *args) if type(arg) is tuple]))
    template = Template((picked, select_args), (body, args), columns=columns, apart=builder.apart)
    return Prepared(
        f"SELECT {picked} {body}",
        [*select_args, *args],
        builder.index_scan,
        builder.access_path,
        columns,
        template,
        [],
    )


def is_settled(graph: Graph) -> bool:
    """Return whether all elements satisfy the constraints: these are tested at the end of a
    statement and hold for the present only."""
    return graph.as_of is None and not isinstance(graph.reader, Transaction)


def _types(edge: EdgeVar) -> tuple[str, ...]:
    assert isinstance(edge.pattern, t.EdgePattern)
    return plain_types(edge.pattern.types) or ()


def _names(labels: t.LabelExpression) -> list[str]:
    """The labels that an element must have to satisfy this expression."""
    if isinstance(labels, t.LabelName):
        return [labels.name]
    return (
        [name for item in labels.items for name in _names(item)]
        if isinstance(labels, t.LabelAnd)
        else []
    )


def _first_name(labels: t.LabelExpression | None) -> str | None:
    if isinstance(labels, t.LabelName):
        return labels.name
    if isinstance(labels, t.LabelAnd) and isinstance(labels.items[0], t.LabelName):
        return labels.items[0].name
    return None


def _without_first(labels: t.LabelExpression | None) -> t.LabelExpression | None:
    if labels is None or isinstance(labels, t.LabelName):
        return None
    assert isinstance(labels, t.LabelAnd)
    rest = labels.items[1:]
    return rest[0] if len(rest) == 1 else t.LabelAnd(rest, at=labels.at)
