"""The syntax tree: one frozen class per construct. `at` is the character offset in the text; it does not count in comparison.

Expressions derive from Expression, pattern parts from PatternPart, clauses from Clause. A Query is a union of branches, each a tuple
of clauses. Shapes follow the openCypher 9 grammar; what Neo4j 5 adds is marked (5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal as OneOf

_tree = dataclass(frozen=True, slots=True, kw_only=False)


@dataclass(frozen=True, slots=True)
class Tree:
    at: int = field(default=0, kw_only=True, compare=False, repr=False)


class Expression(Tree):
    __slots__ = ()


class Clause(Tree):
    __slots__ = ()


# Expressions


@_tree
class Literal(Expression):
    value: None | bool | int | float | str


@_tree
class Parameter(Expression):
    name: str


@_tree
class Variable(Expression):
    name: str


@_tree
class Property(Expression):
    of: Expression
    name: str


@_tree
class Index(Expression):
    of: Expression
    index: Expression


@_tree
class Slice(Expression):
    of: Expression
    start: Expression | None
    end: Expression | None


@_tree
class ListOf(Expression):
    items: tuple[Expression, ...]


@_tree
class MapOf(Expression):
    items: tuple[tuple[str, Expression], ...]


@_tree
class MapProjection(Expression):
    """of { .name, .*, key: expression, variable }: each item is (key, expression); key "*" with None is `.*`."""

    of: Variable
    items: tuple[tuple[str, Expression | None], ...]


@_tree
class Call(Expression):
    """A function call. `name` is as written; count(*) has the name "count" and `star`."""

    name: str
    args: tuple[Expression, ...]
    distinct: bool = False
    star: bool = False


@_tree
class Not(Expression):
    of: Expression


@_tree
class Logic(Expression):
    """A run of one connective: a AND b AND c has three items."""

    op: OneOf["AND", "OR", "XOR"]
    items: tuple[Expression, ...]


@_tree
class Comparison(Expression):
    """a < b <= c: the operators between the operands."""

    operands: tuple[Expression, ...]
    ops: tuple[str, ...]


@_tree
class Arithmetic(Expression):
    """+ - * / % ^ and || (5)."""

    op: str
    left: Expression
    right: Expression


@_tree
class Sign(Expression):
    op: OneOf["+", "-"]
    of: Expression


@_tree
class TextTest(Expression):
    op: OneOf["STARTS WITH", "ENDS WITH", "CONTAINS", "=~"]
    left: Expression
    right: Expression


@_tree
class In(Expression):
    left: Expression
    right: Expression


@_tree
class IsNull(Expression):
    of: Expression
    negated: bool = False


@_tree
class IsType(Expression):
    """x IS :: INTEGER (5). `type` is normalised upper-case text."""

    of: Expression
    type: str
    negated: bool = False


@_tree
class HasLabels(Expression):
    of: Expression
    labels: LabelExpression


@_tree
class Case(Expression):
    subject: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    default: Expression | None


@_tree
class ListComprehension(Expression):
    variable: str
    source: Expression
    where: Expression | None
    projection: Expression | None


@_tree
class Quantifier(Expression):
    kind: OneOf["all", "any", "none", "single"]
    variable: str
    source: Expression
    where: Expression


@_tree
class Reduce(Expression):
    accumulator: str
    initial: Expression
    variable: str
    source: Expression
    body: Expression


@_tree
class PatternComprehension(Expression):
    pattern: PathPattern
    where: Expression | None
    projection: Expression


@_tree
class PatternTest(Expression):
    """A path pattern as a predicate: whether it has a match."""

    pattern: PathPattern


@_tree
class PathValue(Expression):
    """shortestPath(…) or allShortestPaths(…) used as an expression."""

    pattern: PathPattern


@_tree
class Subquery(Expression):
    """EXISTS { }, COUNT { } or COLLECT { }."""

    kind: OneOf["EXISTS", "COUNT", "COLLECT"]
    query: Query


# Label expressions (5): A|B&!C, %


class LabelExpression(Tree):
    __slots__ = ()


@_tree
class LabelName(LabelExpression):
    name: str


@_tree
class LabelAny(LabelExpression):
    pass


@_tree
class LabelNot(LabelExpression):
    of: LabelExpression


@_tree
class LabelAnd(LabelExpression):
    items: tuple[LabelExpression, ...]


@_tree
class LabelOr(LabelExpression):
    items: tuple[LabelExpression, ...]


# Patterns


@_tree
class NodePattern(Tree):
    variable: str | None = None
    labels: LabelExpression | None = None
    properties: Expression | None = None
    where: Expression | None = None


@_tree
class EdgePattern(Tree):
    """`length` is None for one edge, else (least, most) with None for open ends: -[*2..]->."""

    variable: str | None = None
    types: LabelExpression | None = None
    direction: OneOf["out", "in", "both"] = "both"
    length: tuple[int | None, int | None] | None = None
    properties: Expression | None = None
    where: Expression | None = None


@_tree
class QuantifiedPattern(Tree):
    """((a)-[r]->(b) WHERE …){2,5} (5): a path repeated; its variables become lists."""

    path: PathPattern
    where: Expression | None
    least: int
    most: int | None


@_tree
class PathPattern(Tree):
    """Nodes and edges in turn; quantified parts stand where an edge would, or alone. `shortest`: "one", "all", or (5) (count, groups)."""

    elements: tuple[NodePattern | EdgePattern | QuantifiedPattern, ...]
    variable: str | None = None
    shortest: OneOf["one", "all"] | None = None


# Projection and clauses


@_tree
class Item(Tree):
    """An expression and its column name; `named` tells an alias from the text of the expression."""

    expression: Expression
    name: str
    named: bool


@_tree
class SortItem(Tree):
    expression: Expression
    descending: bool = False


@_tree
class Projection(Tree):
    items: tuple[Item, ...]
    star: bool = False
    distinct: bool = False
    order: tuple[SortItem, ...] = ()
    skip: Expression | None = None
    limit: Expression | None = None


@_tree
class Match(Clause):
    patterns: tuple[PathPattern, ...]
    where: Expression | None = None
    optional: bool = False
    hints: tuple[str, ...] = ()


@_tree
class Unwind(Clause):
    source: Expression
    variable: str


@_tree
class With(Clause):
    projection: Projection
    where: Expression | None = None


@_tree
class Return(Clause):
    projection: Projection


@_tree
class Create(Clause):
    patterns: tuple[PathPattern, ...]


@_tree
class Merge(Clause):
    pattern: PathPattern
    on_create: tuple[Change, ...] = ()
    on_match: tuple[Change, ...] = ()


class Change(Tree):
    """One item of SET or REMOVE."""

    __slots__ = ()


@_tree
class SetProperty(Change):
    target: Property | Index
    value: Expression


@_tree
class SetAll(Change):
    """n = map, or n += map when `merge`."""

    target: Variable
    value: Expression
    merge: bool


@_tree
class SetLabels(Change):
    target: Expression
    labels: tuple[str, ...]


@_tree
class RemoveProperty(Change):
    target: Property | Index


@_tree
class RemoveLabels(Change):
    target: Expression
    labels: tuple[str, ...]


@_tree
class Set(Clause):
    changes: tuple[Change, ...]


@_tree
class Remove(Clause):
    changes: tuple[Change, ...]


@_tree
class Delete(Clause):
    targets: tuple[Expression, ...]
    detach: bool = False


@_tree
class Foreach(Clause):
    variable: str
    source: Expression
    updates: tuple[Clause, ...]


@_tree
class CallProcedure(Clause):
    """`args` None: the arguments come from parameters of their names. `yields` None: none written; "*" as a single pair is YIELD *."""

    name: str
    args: tuple[Expression, ...] | None
    yields: tuple[tuple[str, str], ...] | None = None
    where: Expression | None = None
    optional: bool = False


@_tree
class CallSubquery(Clause):
    """CALL { … } or CALL (a, b) { … } (5). `imports` None: by an importing WITH inside. `batch` not None: IN TRANSACTIONS."""

    query: Query
    imports: tuple[str, ...] | None = None
    batch: Batch | None = None
    optional: bool = False


@_tree
class Batch(Tree):
    rows: Expression | None = None
    on_error: OneOf["FAIL", "CONTINUE", "BREAK"] = "FAIL"
    report: str | None = None


@_tree
class LoadCsv(Clause):
    source: Expression
    variable: str
    headers: bool
    separator: str | None = None


@_tree
class Use(Clause):
    name: str


@_tree
class Finish(Clause):
    pass


@_tree
class Query(Tree):
    """Branches joined by UNION; `every` keeps duplicates (UNION ALL). One branch: no union."""

    branches: tuple[tuple[Clause, ...], ...]
    every: bool = False


# Schema commands


@_tree
class SchemaTarget(Tree):
    """FOR (n:Label) or FOR ()-[r:TYPE]-() ON/REQUIRE (properties)."""

    edge: bool
    variable: str
    names: tuple[str, ...]
    properties: tuple[str, ...]


@_tree
class CreateIndex(Clause):
    kind: str
    name: str | None
    target: SchemaTarget
    if_absent: bool
    options: Expression | None = None


@_tree
class CreateConstraint(Clause):
    """`kind`: unique, key, exists, type, temporal, cardinality, endpoints. `detail` holds what the kind needs."""

    kind: str
    name: str | None
    target: SchemaTarget
    if_absent: bool
    detail: tuple[Any, ...] = ()
    options: Expression | None = None


@_tree
class DropSchema(Clause):
    what: OneOf["INDEX", "CONSTRAINT"]
    name: str
    if_present: bool


@_tree
class Show(Clause):
    """SHOW INDEXES and its like, as a source of rows with YIELD, WHERE and RETURN."""

    what: str
    detail: tuple[Any, ...] = ()
    yields: Projection | None = None
    where: Expression | None = None
    returns: Projection | None = None


@_tree
class Statement(Tree):
    """What a text holds. `mode`: EXPLAIN or PROFILE; `system_time`, `valid_time`: AS OF."""

    body: Query | Clause
    mode: OneOf["EXPLAIN", "PROFILE"] | None = None
    system_time: Expression | None = None
    valid_time: Expression | None = None


def children(tree: Tree) -> list[Tree]:
    """The direct parts of a tree, in order."""
    found: list[Tree] = []
    for part in _FIELDS(type(tree)):
        _collect(getattr(tree, part), found)
    return found


def _collect(value: object, found: list[Tree]) -> None:
    if isinstance(value, Tree):
        found.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, found)


_names: dict[type, tuple[str, ...]] = {}


def _FIELDS(kind: type[Tree]) -> tuple[str, ...]:
    if kind not in _names:
        _names[kind] = tuple(item.name for item in fields(kind) if item.name != "at")
    return _names[kind]


def walk(tree: Tree, into: Callable[[Tree], bool] = lambda _: True) -> list[Tree]:
    """The tree and all below it, depth first; `into` may keep it from descending into a part."""
    found = [tree]
    for part in children(tree):
        if into(part):
            found.extend(walk(part, into))
        else:
            found.append(part)
    return found
