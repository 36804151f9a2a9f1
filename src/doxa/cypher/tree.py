"""The syntax tree: one frozen class per construct. `at` is the character offset in the text; it
does not count in comparison.

Expressions derive from Expression, pattern parts from PatternPart, clauses from Clause. A Query is
a union of branches, each a tuple of clauses. Shapes follow the openCypher 9 grammar; what Neo4j 5
adds is marked (5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Tree:
    at: int = field(default=0, kw_only=True, compare=False, repr=False)


class Expression(Tree):
    __slots__ = ()


class Clause(Tree):
    __slots__ = ()


# Expressions


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """Its type counts: 1, 1.0 and true are three literals."""

    value: bool | int | float | str | None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class ParameterRef(Expression):
    name: str


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    name: str


@dataclass(frozen=True, slots=True)
class Property(Expression):
    of: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Index(Expression):
    of: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Expression):
    of: Expression
    start: Expression | None
    end: Expression | None


@dataclass(frozen=True, slots=True)
class ListOf(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Expression):
    items: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class MapProjection(Expression):
    """of { .name, .*, key: expression, variable }: each item is (key, expression); key "*" with
    None is `.*`."""

    of: Variable
    items: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function call. `name` is as written; count(*) has the name "count" and `star`."""

    name: str
    args: tuple[Expression, ...]
    distinct: bool = False
    star: bool = False


@dataclass(frozen=True, slots=True)
class Negation(Expression):
    of: Expression


@dataclass(frozen=True, slots=True)
class Logic(Expression):
    """A run of one connective: a AND b AND c has three items."""

    op: OneOf["AND", "OR", "XOR"]
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """a < b <= c: the operators between the operands."""

    operands: tuple[Expression, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """+ - * / % ^ and || (5)."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Sign(Expression):
    op: OneOf["+", "-"]
    of: Expression


@dataclass(frozen=True, slots=True)
class TextTest(Expression):
    op: OneOf["STARTS WITH", "ENDS WITH", "CONTAINS", "=~"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class In(Expression):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    of: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsType(Expression):
    """x IS :: INTEGER (5). `type` is normalised upper-case text."""

    of: Expression
    type: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class HasLabels(Expression):
    of: Expression
    labels: LabelExpression


@dataclass(frozen=True, slots=True)
class Case(Expression):
    subject: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    default: Expression | None


@dataclass(frozen=True, slots=True)
class ListComprehension(Expression):
    variable: str
    source: Expression
    where: Expression | None
    projection: Expression | None


@dataclass(frozen=True, slots=True)
class Quantifier(Expression):
    kind: OneOf["all", "any", "none", "single"]
    variable: str
    source: Expression
    where: Expression


@dataclass(frozen=True, slots=True)
class Reduce(Expression):
    accumulator: str
    initial: Expression
    variable: str
    source: Expression
    body: Expression


@dataclass(frozen=True, slots=True)
class PatternComprehension(Expression):
    pattern: PathPattern
    where: Expression | None
    projection: Expression


@dataclass(frozen=True, slots=True)
class PatternTest(Expression):
    """A path pattern as a predicate: whether it has a match."""

    pattern: PathPattern


@dataclass(frozen=True, slots=True)
class PathValue(Expression):
    """shortestPath(…) or allShortestPaths(…) used as an expression."""

    pattern: PathPattern


@dataclass(frozen=True, slots=True)
class Subquery(Expression):
    """EXISTS { }, COUNT { } or COLLECT { }."""

    kind: OneOf["EXISTS", "COUNT", "COLLECT"]
    query: Query


# Label expressions (5): A|B&!C, %


class LabelExpression(Tree):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LabelName(LabelExpression):
    name: str


@dataclass(frozen=True, slots=True)
class LabelOf(LabelExpression):
    """$(expression): labels that are computed when the query runs; only in SET and REMOVE."""

    of: Expression


@dataclass(frozen=True, slots=True)
class LabelAny(LabelExpression):
    pass


@dataclass(frozen=True, slots=True)
class LabelNot(LabelExpression):
    of: LabelExpression


@dataclass(frozen=True, slots=True)
class LabelAnd(LabelExpression):
    items: tuple[LabelExpression, ...]


@dataclass(frozen=True, slots=True)
class LabelOr(LabelExpression):
    items: tuple[LabelExpression, ...]


# Patterns


@dataclass(frozen=True, slots=True)
class NodePattern(Tree):
    variable: str | None = None
    labels: LabelExpression | None = None
    properties: Expression | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class EdgePattern(Tree):
    """`length` is None for one edge, else (least, most) with None for open ends: -[*2..]->."""

    variable: str | None = None
    types: LabelExpression | None = None
    direction: OneOf["out", "in", "both"] = "both"
    length: tuple[int | None, int | None] | None = None
    properties: Expression | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class QuantifiedPattern(Tree):
    """((a)-[r]->(b) WHERE …){2,5} (5): a path repeated; its variables become lists."""

    path: PathPattern
    where: Expression | None
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class PathPattern(Tree):
    """Alternating nodes and edges; a quantified pattern takes the place of an edge, or stands
    alone. `shortest`: "one", "all", or (5) (count, groups)."""

    elements: tuple[NodePattern | EdgePattern | QuantifiedPattern, ...]
    variable: str | None = None
    shortest: OneOf["one", "all"] | None = None


# Projection and clauses


@dataclass(frozen=True, slots=True)
class Item(Tree):
    """An expression and its column name; `named`: it has an alias, not the text of the
    expression."""

    expression: Expression
    name: str
    named: bool


@dataclass(frozen=True, slots=True)
class SortItem(Tree):
    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Projection(Tree):
    items: tuple[Item, ...]
    star: bool = False
    distinct: bool = False
    order: tuple[SortItem, ...] = ()
    skip: Expression | None = None
    limit: Expression | None = None


@dataclass(frozen=True, slots=True)
class Match(Clause):
    patterns: tuple[PathPattern, ...]
    where: Expression | None = None
    optional: bool = False
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unwind(Clause):
    source: Expression
    variable: str


@dataclass(frozen=True, slots=True)
class With(Clause):
    projection: Projection
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class Return(Clause):
    projection: Projection


@dataclass(frozen=True, slots=True)
class Create(Clause):
    patterns: tuple[PathPattern, ...]


@dataclass(frozen=True, slots=True)
class Merge(Clause):
    pattern: PathPattern
    on_create: tuple[UpdateItem, ...] = ()
    on_match: tuple[UpdateItem, ...] = ()


class UpdateItem(Tree):
    """One item of SET or REMOVE."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SetProperty(UpdateItem):
    target: Property | Index
    value: Expression


@dataclass(frozen=True, slots=True)
class SetAll(UpdateItem):
    """n = map, or n += map when `merge`."""

    target: Variable
    value: Expression
    merge: bool


@dataclass(frozen=True, slots=True)
class SetLabels(UpdateItem):
    target: Expression
    labels: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class RemoveProperty(UpdateItem):
    target: Property | Index


@dataclass(frozen=True, slots=True)
class RemoveLabels(UpdateItem):
    target: Expression
    labels: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Set(Clause):
    changes: tuple[UpdateItem, ...]


@dataclass(frozen=True, slots=True)
class Remove(Clause):
    changes: tuple[UpdateItem, ...]


@dataclass(frozen=True, slots=True)
class Delete(Clause):
    targets: tuple[Expression, ...]
    detach: bool = False


@dataclass(frozen=True, slots=True)
class Foreach(Clause):
    variable: str
    source: Expression
    updates: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class CallProcedure(Clause):
    """`args` None: the arguments come from parameters of their names. `yields` None: none written;
    "*" as a single pair is YIELD *."""

    name: str
    args: tuple[Expression, ...] | None
    yields: tuple[tuple[str, str], ...] | None = None
    where: Expression | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CallSubquery(Clause):
    """CALL { … } or CALL (a, b) { … } (5). `imports` None: by an importing WITH inside. `batch` not
    None: IN TRANSACTIONS."""

    query: Query
    imports: tuple[str, ...] | None = None
    batch: Batch | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Batch(Tree):
    rows: Expression | None = None
    on_error: OneOf["FAIL", "CONTINUE", "BREAK"] = "FAIL"
    report: str | None = None


@dataclass(frozen=True, slots=True)
class LoadCsv(Clause):
    source: Expression
    variable: str
    headers: bool
    separator: str | None = None


@dataclass(frozen=True, slots=True)
class Use(Clause):
    name: str


@dataclass(frozen=True, slots=True)
class Finish(Clause):
    pass


@dataclass(frozen=True, slots=True)
class Query(Tree):
    """Branches joined by UNION; `every` keeps duplicates (UNION ALL). One branch: no union."""

    branches: tuple[tuple[Clause, ...], ...]
    every: bool = False


# Schema commands


@dataclass(frozen=True, slots=True)
class SchemaTarget(Tree):
    """FOR (n:Label) or FOR ()-[r:TYPE]-() ON/REQUIRE (properties)."""

    edge: bool
    variable: str
    names: tuple[str, ...]
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateIndex(Clause):
    kind: str
    name: str | ParameterRef | None
    target: SchemaTarget
    if_absent: bool
    options: Expression | None = None


@dataclass(frozen=True, slots=True)
class CreateConstraint(Clause):
    """`kind`: unique, key, exists, type, temporal, cardinality, endpoints. `detail` holds what the
    kind needs."""

    kind: str
    name: str | ParameterRef | None
    target: SchemaTarget
    if_absent: bool
    detail: tuple[Any, ...] = ()
    options: Expression | None = None


@dataclass(frozen=True, slots=True)
class DropSchema(Clause):
    what: OneOf["INDEX", "CONSTRAINT"]
    name: str | ParameterRef
    if_present: bool


@dataclass(frozen=True, slots=True)
class Show(Clause):
    """SHOW INDEXES and its like, as a source of rows with YIELD, WHERE and RETURN."""

    what: str
    detail: tuple[Any, ...] = ()
    yields: Projection | None = None
    where: Expression | None = None
    returns: Projection | None = None


# Persistence policies: decay and promotion


@dataclass(frozen=True, slots=True)
class PolicyTarget(Tree):
    """FOR (v:A&B) or FOR ()-[v:TYPE]-(). No names: every node, or every edge. `variable` may be
    empty."""

    edge: bool
    variable: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyOption(Tree):
    """`key` in its canonical spelling, and so are literal values."""

    key: str
    value: Expression


@dataclass(frozen=True, slots=True)
class DecayDirective(Tree):
    """One line of a binding, about the whole element or one property. The value of "profile" is a
    text or a parameter; "none" has none."""

    property: str | None
    kind: OneOf["profile", "half_life", "floor", "threshold", "none"]
    value: Expression | None


@dataclass(frozen=True, slots=True)
class CreateDecayBundle(Clause):
    name: str | ParameterRef
    options: tuple[PolicyOption, ...]
    replace: bool
    if_absent: bool


@dataclass(frozen=True, slots=True)
class CreateDecayBinding(Clause):
    name: str | ParameterRef
    target: PolicyTarget
    directives: tuple[DecayDirective, ...]
    replace: bool
    if_absent: bool


@dataclass(frozen=True, slots=True)
class CreatePromotionProfile(Clause):
    name: str | ParameterRef
    options: tuple[PolicyOption, ...]
    replace: bool
    if_absent: bool


@dataclass(frozen=True, slots=True)
class AccessSet(Tree):
    """[WITH KALMAN] SET v.property = value. `kalman`: None without it, empty for no options."""

    property: str
    value: Expression
    kalman: tuple[PolicyOption, ...] | None


@dataclass(frozen=True, slots=True)
class PromotionRule(Tree):
    """WHEN condition APPLY PROFILE name."""

    when: Expression
    profile: str | ParameterRef


@dataclass(frozen=True, slots=True)
class CreatePromotionPolicy(Clause):
    name: str | ParameterRef
    target: PolicyTarget
    accesses: tuple[AccessSet, ...]
    rules: tuple[PromotionRule, ...]
    replace: bool
    if_absent: bool


PolicyKind = OneOf["DECAY PROFILE", "PROMOTION PROFILE", "PROMOTION POLICY"]


@dataclass(frozen=True, slots=True)
class AlterPolicy(Clause):
    """SET OPTIONS; ENABLE and DISABLE are the option enabled."""

    what: PolicyKind
    name: str | ParameterRef
    options: tuple[PolicyOption, ...]


@dataclass(frozen=True, slots=True)
class DropPolicy(Clause):
    what: PolicyKind
    name: str | ParameterRef
    if_present: bool


@dataclass(frozen=True, slots=True)
class CreateRetention(Clause):
    """`spans`: (past, log or accesses, seconds)."""

    name: str | ParameterRef
    target: PolicyTarget
    project: str | ParameterRef | None
    spans: tuple[tuple[str, int], ...]
    replace: bool
    if_absent: bool


@dataclass(frozen=True, slots=True)
class DropRetention(Clause):
    name: str | ParameterRef
    if_present: bool


@dataclass(frozen=True, slots=True)
class PolicyCommands(Clause):
    """Several commands of one text, executed together."""

    commands: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Statement(Tree):
    """A parsed text. `mode`: EXPLAIN or PROFILE; `system_time`, `valid_time`: AS OF."""

    body: Query | Clause
    mode: OneOf["EXPLAIN", "PROFILE"] | None = None
    system_time: Expression | None = None
    valid_time: Expression | None = None


def children(tree: Tree) -> list[Tree]:
    """Return the direct parts of a tree, in order."""
    found: list[Tree] = []
    for part in _parts(type(tree)):
        _collect(getattr(tree, part), found)
    return found


def _collect(value: object, found: list[Tree]) -> None:
    if isinstance(value, Tree):
        found.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, found)


_names: dict[type, tuple[str, ...]] = {}


def _parts(kind: type[Tree]) -> tuple[str, ...]:
    if kind not in _names:
        _names[kind] = tuple(item.name for item in fields(kind) if item.name != "at")
    return _names[kind]


def walk(tree: Tree, into: Callable[[Tree], bool] = lambda _: True) -> list[Tree]:
    """Return the tree and all parts below it, depth first; `into` may prevent descending into a
    part."""
    found = [tree]
    for part in children(tree):
        if into(part):
            found.extend(walk(part, into))
        else:
            found.append(part)
    return found
