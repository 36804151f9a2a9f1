"""Check a parsed query before it runs: scopes, kinds of variables, what may be created and deleted,
aggregation and unions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from doxa.cypher import tree as t
from doxa.cypher.errors import Problem, explained, fail, too_deep
from doxa.cypher.semantics.infer import Checks, condition, has_aggregate, infer
from doxa.cypher.semantics.policy_check import check_policy
from doxa.cypher.semantics.projection import in_columns, resolve
from doxa.cypher.semantics.signatures import Argument, ProcedureSignature, accepted
from doxa.cypher.tokens import Tick, no_tick

UPDATES = (t.Create, t.Merge, t.Set, t.Remove, t.Delete, t.Foreach)
Scope = dict[str, str]
FindProcedure = Callable[[str], ProcedureSignature | None]


@dataclass(frozen=True, slots=True)
class Checked:
    columns: tuple[str, ...]
    writes: bool


def check(
    statement: t.Statement,
    text: str,
    *,
    procedure: FindProcedure = lambda _: None,
    tick: Tick = no_tick,
) -> Checked:
    """Return the columns of the result and whether anything is written, with a tick for each
    expression. Raises QueryError."""
    try:
        checker = Checker(procedure, tick)
        if isinstance(statement.body, t.Query):
            columns = checker.query(statement.body, {}, {}, top=True)
            for time in (statement.system_time, statement.valid_time):
                if time is not None:
                    infer(time, {}, checker)
                    if checker.writes:
                        fail(
                            "AS OF is for reading: this query writes.",
                            time.at,
                            detail="InvalidClauseComposition",
                        )
            return Checked(tuple(columns), checker.writes)
        for time in (statement.system_time, statement.valid_time):
            if time is not None and not isinstance(statement.body, t.Show):
                fail(
                    "AS OF is for reading: this command changes the schema.",
                    time.at,
                    detail="InvalidClauseComposition",
                )
        check_policy(statement.body, checker)
        return Checked((), not isinstance(statement.body, t.Show))
    except Problem as problem:
        raise explained(problem, text) from None
    except RecursionError:
        raise too_deep(text) from None


class Checker(Checks):
    def __init__(self, procedure: FindProcedure, tick: Tick) -> None:
        super().__init__(tick)
        self.procedure = procedure
        self.writes = False

    # Queries

    def query(
        self,
        query: t.Query,
        scope: Mapping[str, str],
        outer: Mapping[str, str],
        *,
        top: bool = False,
        kind: str = "",
    ) -> Scope:
        """Return the columns with their types. `outer` stays visible throughout; the first clause
        also sees `scope`."""
        results = [
            self._single(branch, dict(scope), dict(outer), top=top, kind=kind)
            for branch in query.branches
        ]
        for result, branch in zip(results, query.branches, strict=True):
            if set(result) != set(results[0]):
                fail(
                    "The branches of a UNION must return the same columns.",
                    branch[-1].at,
                    detail="DifferentColumnsInUnion",
                )
        return results[0]

    def _single(
        self, clauses: tuple[t.Clause, ...], scope: Scope, outer: Scope, *, top: bool, kind: str
    ) -> Scope:
        columns: Scope = {}
        seen = {**outer, **scope}
        for index, clause in enumerate(clauses):
            last = index == len(clauses) - 1
            if isinstance(clause, (t.Return, t.Finish)) and not last:
                fail(
                    "RETURN ends a query; nothing can follow it.",
                    clauses[index + 1].at,
                    detail="InvalidClauseComposition",
                )
            if isinstance(clause, UPDATES):
                self.writes = True
                if kind:
                    fail(f"{kind} {{ }} only reads.", clause.at, detail="InvalidClauseComposition")
            if isinstance(clause, t.Return):
                columns = self._project(clause.projection, seen, outer, returning=True)
                seen = columns
            elif isinstance(clause, t.CallProcedure):
                alone = top and len(clauses) == 1
                seen, columns = self._procedure(clause, seen, alone=alone)
            else:
                seen = self.clause(clause, seen, outer)
        final = clauses[-1]
        if isinstance(final, (t.With, t.Unwind, t.Match, t.LoadCsv, t.Use)) and kind not in (
            "EXISTS",
            "COUNT",
        ):
            fail(
                "A query ends with RETURN or an updating clause.",
                final.at,
                detail="InvalidClauseComposition",
                hint="Add RETURN.",
            )
        return columns

    def clause(self, clause: t.Clause, scope: Scope, outer: Scope) -> Scope:
        """Check one clause and return the scope after it."""
        match clause:
            case t.Match(patterns, where):
                after = self._match(patterns, scope)
                self._where(where, after)
                return after
            case t.Unwind(source, variable):
                self._new(variable, scope, clause.at)
                kind = self._plain(source, scope)
                return {**scope, variable: kind[5:-1] if kind.startswith("list<") else "any"}
            case t.With(projection, where):
                after = self._project(projection, scope, outer, returning=False)
                resolved = resolve(projection, {k: v for k, v in scope.items() if k not in outer})
                if where is not None:
                    self._where(
                        in_columns(where, resolved.columns),
                        after if resolved.narrow else {**scope, **after},
                    )
                return after
            case t.LoadCsv(source, variable, headers):
                self._new(variable, scope, clause.at)
                self._plain(source, scope)
                return {**scope, variable: "map" if headers else "list<string>"}
            case t.CallSubquery():
                return self._call_subquery(clause, scope)
            case t.Use():
                return scope
            case _:
                return self._update(clause, scope, outer)

    def _plain(self, expression: t.Expression, scope: Scope) -> str:
        """Check an expression outside of projections, where aggregation is impossible."""
        if has_aggregate(expression):
            fail(
                "An aggregation can stand only in WITH or RETURN.",
                expression.at,
                detail="InvalidAggregation",
                hint="Aggregate in WITH first.",
            )
        return infer(expression, scope, self)

    def _where(self, where: t.Expression | None, scope: Scope) -> None:
        if where is not None:
            if has_aggregate(where):
                fail(
                    "WHERE cannot aggregate.",
                    where.at,
                    detail="InvalidAggregation",
                    hint="Aggregate in WITH, then filter with WHERE.",
                )
            condition(where, scope, self)

    def _new(self, name: str, scope: Mapping[str, str], at: int) -> None:
        if name in scope:
            fail(
                f"The variable {name} is already in use.",
                at,
                detail="VariableAlreadyBound",
                hint="Choose another name.",
            )

    # Projections

    def _project(
        self, projection: t.Projection, scope: Scope, outer: Scope, *, returning: bool
    ) -> Scope:
        visible = (
            {name: kind for name, kind in scope.items() if name not in outer}
            if not returning
            else scope
        )
        if projection.star and returning and not scope:
            fail(
                "RETURN * needs at least one variable.", projection.at, detail="NoVariablesInScope"
            )
        resolved = resolve(projection, visible)
        after: Scope = {}
        for item in resolved.columns:
            if not returning and not item.named:
                fail(
                    "WITH needs a name for this expression.",
                    item.at,
                    detail="NoExpressionAlias",
                    hint="Add AS and a name.",
                )
            if item.name in after:
                fail(
                    f"The column {item.name} appears twice.",
                    item.at,
                    detail="ColumnNameConflict",
                    hint="Rename one with AS.",
                )
            after[item.name] = infer(item.expression, scope, self)
        names = dict(after) if resolved.narrow else {**scope, **after}
        for sort in resolved.order:
            infer(sort.expression, {**outer, **names}, self)
        for bound, what in ((projection.skip, "SKIP"), (projection.limit, "LIMIT")):
            if bound is not None:
                self._bound(bound, what)
        return after if returning else {**outer, **after}

    def _bound(self, bound: t.Expression, what: str) -> None:
        if any(isinstance(part, t.Variable) for part in t.walk(bound)) or has_aggregate(bound):
            fail(
                f"{what} must not depend on the rows.",
                bound.at,
                detail="NonConstantExpression",
                hint="Use a number or a parameter.",
            )
        kind = infer(bound, {}, self)
        if kind not in ("integer", "any", "number"):
            fail(f"{what} takes a whole number.", bound.at, detail="InvalidArgumentType")
        if isinstance(bound, t.Literal) and isinstance(bound.value, int) and bound.value < 0:
            fail(f"{what} cannot be negative.", bound.at, detail="NegativeIntegerArgument")

    # Patterns

    def pattern(self, pattern: t.PathPattern, scope: Mapping[str, str]) -> Scope:
        return self._match((pattern,), dict(scope))

    def subquery(self, query: t.Query, scope: Mapping[str, str], kind: str) -> None:
        columns = self.query(query, {}, scope, kind=kind)
        if kind == "COLLECT" and len(columns) != 1:
            fail(
                "COLLECT { } returns exactly one column.",
                query.at,
                detail="InvalidClauseComposition",
            )

    def _match(self, patterns: tuple[t.PathPattern, ...], before: Scope) -> Scope:
        after = dict(before)
        edges: set[str] = set()
        for pattern in patterns:
            if pattern.variable:
                self._new(pattern.variable, after, pattern.at)
            for element in pattern.elements:
                self._bind(element, after, edges)
            if pattern.variable:
                self._new(pattern.variable, after, pattern.at)
                after[pattern.variable] = "path"
        for pattern in patterns:
            for element in pattern.elements:
                self._inside(element, after, matching=True)
        return after

    def _bind(self, element: t.Tree, scope: Scope, edges: set[str]) -> None:
        if isinstance(element, t.NodePattern):
            _bind_as(element.variable, "node", scope, element.at)
        elif isinstance(element, t.EdgePattern) and element.variable:
            if element.length is None:
                if element.variable in edges:
                    fail(
                        f"The relationship {element.variable} cannot be used twice in one MATCH.",
                        element.at,
                        detail="RelationshipUniquenessViolation",
                    )
                _bind_as(element.variable, "edge", scope, element.at)
                edges.add(element.variable)
            else:
                _bind_as(element.variable, "list<edge>", scope, element.at)
        elif isinstance(element, t.QuantifiedPattern):
            self._bind_quantified(element, scope)

    def _bind_quantified(self, element: t.QuantifiedPattern, scope: Scope) -> None:
        inner: Scope = {}
        edges: set[str] = set()
        for part in element.path.elements:
            if isinstance(part, t.QuantifiedPattern) or (
                isinstance(part, t.EdgePattern) and part.length is not None
            ):
                fail(
                    "A quantified pattern cannot hold another length.",
                    part.at,
                    detail="InvalidQuantifier",
                )
            self._bind(part, inner, edges)
        if not any(isinstance(part, t.EdgePattern) for part in element.path.elements):
            fail(
                "A quantified pattern needs at least one relationship.",
                element.at,
                detail="InvalidQuantifier",
            )
        for part in element.path.elements:
            self._inside(part, {**scope, **inner}, matching=True)
        self._where(element.where, {**scope, **inner})
        for name, kind in inner.items():
            self._new(name, scope, element.at)
            scope[name] = f"list<{kind}>"

    def _inside(self, element: t.Tree, scope: Scope, *, matching: bool) -> None:
        if isinstance(element, (t.NodePattern, t.EdgePattern)):
            if isinstance(element.properties, t.ParameterRef) and matching:
                fail(
                    "A whole map of properties cannot be matched from a parameter.",
                    element.at,
                    detail="InvalidParameterUse",
                    hint="Write the properties one by one: {name: $name}.",
                )
            if element.properties is not None:
                self._plain(element.properties, scope)
            self._where(element.where, scope)

    # CALL

    def _procedure(
        self, clause: t.CallProcedure, scope: Scope, *, alone: bool
    ) -> tuple[Scope, Scope]:
        signature = self.procedure(clause.name)
        if signature is None:
            fail(
                f"Unknown procedure {clause.name!r}.",
                clause.at,
                kind="ProcedureError",
                detail="ProcedureNotFound",
                hint="SHOW PROCEDURES lists them.",
            )
        self.writes = self.writes or signature.writes
        if clause.args is None and not alone:
            fail(
                "A call inside a query states its arguments.",
                clause.at,
                detail="InvalidArgumentPassingMode",
                hint="Add them in parentheses.",
            )
        if clause.args is not None:
            self._arguments(clause, signature, scope)
        results = dict(signature.results)
        yields = clause.yields
        if yields == (("*", "*"),):
            if not alone:
                fail(
                    "YIELD * is for a call that stands alone.", clause.at, hint="Name the columns."
                )
            yields = None
        if yields is None:
            if not alone and results:
                if clause.yields is None and not scope:
                    pass
                return scope, {}
            columns = {name: _kind_of(kind) for name, kind in signature.results}
            return {**scope, **columns}, columns if alone else {}
        after = dict(scope)
        columns = {}
        for name, alias in yields:
            if name not in results:
                fail(
                    f"{signature.name} yields no column {name}.",
                    clause.at,
                    detail="UndefinedVariable",
                    hint=f"It yields {', '.join(results)}.",
                )
            self._new(alias, after, clause.at)
            after[alias] = columns[alias] = _kind_of(results[name])
        self._where(clause.where, after)
        return after, columns if alone else {}

    def _arguments(
        self, clause: t.CallProcedure, signature: ProcedureSignature, scope: Scope
    ) -> None:
        assert clause.args is not None
        if not len(signature.args) - signature.optional <= len(clause.args) <= len(signature.args):
            fail(
                f"{signature.name} takes {len(signature.args)} arguments, not {len(clause.args)}.",
                clause.at,
                detail="InvalidNumberOfArguments",
            )
        for given, (name, kind) in zip(clause.args, signature.args, strict=False):
            found = self._plain(given, scope)
            wanted = _kind_of(kind)
            fits = accepted(
                found,
                Argument(
                    frozenset()
                    if wanted == "any"
                    else frozenset({wanted.partition("<")[0]}) | _TOLERATED.get(wanted, frozenset())
                ),
            )
            if not fits:
                fail(
                    f"The argument {name} of {signature.name} takes {kind}, not {found}.",
                    given.at,
                    detail="InvalidArgumentType",
                )

    def _call_subquery(self, clause: t.CallSubquery, scope: Scope) -> Scope:
        if clause.imports is None:
            columns = self._importing(clause.query, scope)
        else:
            names = tuple(scope) if clause.imports == ("*",) else clause.imports
            for name in names:
                if name not in scope:
                    fail(
                        f"The variable {name} is not defined.",
                        clause.at,
                        detail="UndefinedVariable",
                    )
            columns = self.query(clause.query, {}, {name: scope[name] for name in names})
        for name in columns:
            self._new(name, scope, clause.at)
        after = {**scope, **columns}
        if clause.batch is not None:
            if clause.batch.rows is not None:
                self._bound(clause.batch.rows, "OF … ROWS")
            if clause.batch.report:
                self._new(clause.batch.report, after, clause.at)
                after[clause.batch.report] = "map"
        return after

    def _importing(self, query: t.Query, scope: Scope) -> Scope:
        """Check CALL { WITH a, b … }: a first WITH of plain variables imports them."""
        results = []
        for branch in query.branches:
            first = branch[0]
            imports = isinstance(first, t.With)
            if imports and isinstance(first, t.With):
                plain = all(
                    isinstance(item.expression, t.Variable) and item.expression.name == item.name
                    for item in first.projection.items
                )
                touched = any(
                    isinstance(part, t.Variable) and part.name in scope
                    for item in first.projection.items
                    for part in t.walk(item.expression)
                )
                if not plain and touched:
                    fail(
                        "The importing WITH of CALL { } names plain variables only.",
                        first.at,
                        detail="InvalidClauseComposition",
                        hint="Write CALL (a, b) { … }.",
                    )
            results.append(
                self._single(branch, dict(scope) if imports else {}, {}, top=False, kind="")
            )
        for result in results:
            if set(result) != set(results[0]):
                fail(
                    "The branches of a UNION must return the same columns.",
                    query.at,
                    detail="DifferentColumnsInUnion",
                )
        return results[0]

    # Updates

    def _update(self, clause: t.Clause, scope: Scope, outer: Scope) -> Scope:
        match clause:
            case t.Create(patterns):
                after = scope
                for pattern in patterns:
                    after = self._create(pattern, after, merging=False)
                return after
            case t.Merge(pattern, on_create, on_match):
                after = self._create(pattern, scope, merging=True)
                for change in (*on_create, *on_match):
                    self._change(change, after)
                return after
            case t.Set(changes) | t.Remove(changes):
                for change in changes:
                    self._change(change, scope)
                return scope
            case t.Delete(targets):
                for target in targets:
                    self._deleted(target, scope)
                return scope
            case t.Foreach(variable, source, updates):
                self._new(variable, scope, clause.at)
                kind = self._plain(source, scope)
                inner = {**scope, variable: kind[5:-1] if kind.startswith("list<") else "any"}
                for update in updates:
                    inner = self._update(update, inner, outer)
                return scope
            case t.Finish():
                return scope
        raise AssertionError(type(clause))

    def _deleted(self, target: t.Expression, scope: Scope) -> None:
        if isinstance(target, t.HasLabels):
            fail(
                "DELETE removes nodes and relationships, not labels.",
                target.at,
                detail="InvalidDelete",
                hint="Use REMOVE for labels.",
            )
        kind = self._plain(target, scope).partition("<")[0]
        if kind not in ("node", "edge", "path", "any", "null"):
            fail(
                f"DELETE takes a node, a relationship or a path, not a value of type {kind}.",
                target.at,
                detail="InvalidArgumentType",
            )

    def _change(self, change: t.UpdateItem, scope: Scope) -> None:
        match change:
            case t.SetProperty(target, value):
                self._plain(target, scope)
                self._plain(value, scope)
            case t.SetAll(target, value):
                self._plain(target, scope)
                kind = self._plain(value, scope).partition("<")[0]
                if kind in ("integer", "float", "string", "boolean", "list", "path"):
                    fail(
                        f"Properties are set from a map, not from a value of type {kind}.",
                        value.at,
                        detail="InvalidArgumentType",
                    )
            case t.SetLabels(target, labels) | t.RemoveLabels(target, labels):
                self._plain(target, scope)
                for label in labels:
                    if isinstance(label, t.Expression):
                        self._plain(label, scope)
            case t.RemoveProperty(target):
                self._plain(target, scope)

    def _create(self, pattern: t.PathPattern, scope: Scope, *, merging: bool) -> Scope:
        after = dict(scope)
        verb = "MERGE" if merging else "CREATE"
        if pattern.shortest:
            fail(f"{verb} cannot make a shortest path.", pattern.at)
        if pattern.variable:
            self._new(pattern.variable, after, pattern.at)
        connected = len(pattern.elements) > 1
        fresh: set[str] = set()
        for element in pattern.elements:
            if isinstance(element, t.NodePattern):
                self._create_node(element, after, connected=connected, matched=merging, fresh=fresh)
            elif isinstance(element, t.EdgePattern):
                self._create_edge(element, after, verb)
            else:
                fail(
                    f"{verb} cannot make a quantified pattern.",
                    element.at,
                    detail="CreatingVarLength",
                )
        if pattern.variable:
            self._new(pattern.variable, after, pattern.at)
            after[pattern.variable] = "path"
        return after

    def _create_node(
        self, node: t.NodePattern, scope: Scope, *, connected: bool, matched: bool, fresh: set[str]
    ) -> None:
        if node.where is not None:
            fail("WHERE is for matching.", node.at)
        if node.labels is not None:
            _plain_only(node.labels, "label")
        name = node.variable
        self._inside(node, scope, matching=matched)
        if name and name in scope:
            if scope[name] not in ("node", "any", "null"):
                fail(f"The variable {name} is not a node.", node.at, detail="VariableTypeConflict")
            if not connected or node.labels is not None or node.properties is not None:
                fail(
                    f"The variable {name} is already bound.",
                    node.at,
                    detail="VariableAlreadyBound",
                    hint="Leave out labels and properties, or the name.",
                )
        elif name:
            scope[name] = "node"

    def _create_edge(self, edge: t.EdgePattern, scope: Scope, verb: str) -> None:
        if edge.variable:
            self._new(edge.variable, scope, edge.at)
        if edge.length is not None:
            fail(
                f"{verb} makes one relationship at a time, not a length.",
                edge.at,
                detail="CreatingVarLength",
            )
        if not isinstance(edge.types, t.LabelName):
            fail(
                f"{verb} needs exactly one relationship type.",
                edge.at,
                detail="NoSingleRelationshipType",
                hint="Write -[:TYPE]->.",
            )
        if edge.direction == "both" and verb == "CREATE":
            fail(
                "CREATE needs a direction.",
                edge.at,
                detail="RequiresDirectedRelationship",
                hint="Write -[:TYPE]->.",
            )
        if edge.where is not None:
            fail("WHERE is for matching.", edge.at)
        self._inside(edge, scope, matching=verb == "MERGE")
        if edge.variable:
            scope[edge.variable] = "edge"


_TOLERATED = {
    "float": frozenset({"integer"}),
    "number": frozenset({"integer", "float"}),
    "map": frozenset({"node", "edge"}),
}


def _kind_of(kind: str) -> str:
    """A Cypher type name of a procedure signature as a static type."""
    base = kind.rstrip("?").strip().upper().partition(" ")[0].partition("<")[0]
    return {
        "INTEGER": "integer",
        "FLOAT": "float",
        "NUMBER": "number",
        "STRING": "string",
        "BOOLEAN": "boolean",
        "MAP": "map",
        "NODE": "node",
        "RELATIONSHIP": "edge",
        "PATH": "path",
        "LIST": "list",
    }.get(base, "any")


def _bind_as(name: str | None, kind: str, scope: Scope, at: int) -> None:
    if name is None:
        return
    held = scope.get(name)
    if held is None:
        scope[name] = kind
    elif held not in (kind, "any", "null") and not (
        kind == "list<edge>" and held in ("list", "list<any>")
    ):
        fail(
            f"The variable {name} is of type {held} and cannot stand here.",
            at,
            detail="VariableTypeConflict",
        )


def _plain_only(labels: t.LabelExpression, what: str) -> None:
    if isinstance(labels, t.LabelAnd):
        for item in labels.items:
            _plain_only(item, what)
    elif not isinstance(labels, t.LabelName):
        fail(f"What is created has plain {what}s, written as :A:B.", labels.at)
