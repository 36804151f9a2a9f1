"""Infer the static type of an expression, and report the errors that are certain before it runs.

Only certain mistakes are refused: a property, a parameter or a list item may be anything. Types are
words as in `signatures`.
"""

from __future__ import annotations

from collections.abc import Mapping

from doxa.cypher import tree as t
from doxa.cypher.errors import fail
from doxa.cypher.semantics.signatures import FUNCTIONS, TEMPORAL, accepted
from doxa.cypher.tokens import Tick, no_tick

Scope = Mapping[str, str]
_LITERALS = {bool: "boolean", int: "integer", float: "float", str: "string", type(None): "null"}
_NUMBERS = ("integer", "float", "number")
_NOT_JOINED = ("integer", "float", "boolean", "map", "node", "edge", "path", "point", *TEMPORAL)
_NO_TEXT = (*_NOT_JOINED, "list")
_NOT_BOOLEAN = frozenset(
    {"integer", "float", "number", "string", "map", "node", "edge", "path", "point", *TEMPORAL}
)


def is_aggregate(expression: t.Tree) -> bool:
    return isinstance(expression, t.Call) and (expression.name.lower() in _AGGREGATES)


_AGGREGATES = frozenset(name for name, item in FUNCTIONS.items() if item.aggregate)


def has_aggregate(expression: t.Tree) -> bool:
    """Return whether it aggregates over the rows of its own clause; a subquery aggregates over its
    own."""
    if isinstance(expression, t.Variable):
        return False  # at once, since WITH * has one for each name
    if is_aggregate(expression):
        return True
    return any(
        has_aggregate(part)
        for part in t.children(expression)
        if not isinstance(part, (t.Query, t.PathPattern))
    )


def infer(expression: t.Expression, scope: Scope, check: Checks) -> str:
    """Check an expression and return its type."""
    check.tick()
    match expression:
        case t.Literal(value):
            return _LITERALS[type(value)]
        case t.ParameterRef():
            return "any"
        case t.Variable(name):
            if name not in scope:
                fail(
                    f"The variable {name} is not defined.",
                    expression.at,
                    detail="UndefinedVariable",
                    hint="Bind it in MATCH, UNWIND or WITH first.",
                )
            return scope[name]
        case t.Property(of, name):
            return _property(infer(of, scope, check), expression)
        case t.Index(of, index):
            return _index(infer(of, scope, check), infer(index, scope, check), expression)
        case t.Slice(of, start, end):
            kind = infer(of, scope, check)
            for bound in (start, end):
                if bound is not None:
                    _refuse(
                        infer(bound, scope, check),
                        ("string", "float", "boolean", "map", "node", "edge", "path"),
                        bound,
                        "a list bound",
                    )
            return kind if kind.startswith("list") else "any"
        case t.ListOf(items):
            kinds = {infer(item, scope, check) for item in items}
            return f"list<{kinds.pop()}>" if len(kinds) == 1 else "list"
        case t.MapOf(items):
            for _, item in items:
                infer(item, scope, check)
            return "map"
        case t.MapProjection(of, items):
            _refuse(
                infer(of, scope, check),
                ("integer", "float", "string", "boolean", "list", "path"),
                of,
                "a map projection",
            )
            for _, part in items:
                if part is not None:
                    infer(part, scope, check)
            return "map"
        case t.Call():
            return _call(expression, scope, check)
        case _:
            return _composed(expression, scope, check)


class Checks:
    """Checks of queries inside expressions; `check` implements it, since it walks clauses."""

    def __init__(self, tick: Tick = no_tick) -> None:
        self.tick = tick

    def pattern(self, pattern: t.PathPattern, scope: Scope) -> Scope:
        raise NotImplementedError

    def subquery(self, query: t.Query, scope: Scope, kind: str) -> None:
        raise NotImplementedError


def _composed(expression: t.Expression, scope: Scope, check: Checks) -> str:
    match expression:
        case t.Negation(of):
            _boolean(of, scope, check)
            return "boolean"
        case t.Logic(_, items):
            for item in items:
                _boolean(item, scope, check)
            return "boolean"
        case t.Comparison(operands, _):
            for item in operands:
                infer(item, scope, check)
            return "boolean"
        case t.Arithmetic():
            return _arithmetic(expression, scope, check)
        case t.Sign(_, of):
            kind = infer(of, scope, check)
            _refuse(
                kind, ("string", "boolean", "map", "node", "edge", "path", "list"), of, "a sign"
            )
            return kind
        case t.TextTest(op, left, right):
            for side in (left, right):
                kind = infer(side, scope, check)
                if op == "=~":
                    _refuse(kind, _NO_TEXT, side, "an operand of =~")
            return "boolean"
        case t.In(left, right):
            infer(left, scope, check)
            kind = infer(right, scope, check)
            _refuse(
                kind,
                ("integer", "float", "string", "boolean", "map", "node", "edge", "path"),
                right,
                "the right side of IN",
            )
            return "boolean"
        case t.IsNull(of) | t.IsType(of):
            infer(of, scope, check)
            return "boolean"
        case t.HasLabels(of, _):
            _refuse(
                infer(of, scope, check),
                ("integer", "float", "string", "boolean", "map", "list", "path"),
                of,
                "a label test",
            )
            return "boolean"
        case t.Case(subject, whens, default):
            return _case(subject, whens, default=default, scope=scope, check=check)
        case _:
            return _scoped(expression, scope, check)


def _scoped(expression: t.Expression, scope: Scope, check: Checks) -> str:
    """Infer constructs with variables of their own."""
    refuse_aggregate_inside(expression)
    match expression:
        case t.ListComprehension(variable, source, where, projection):
            item = _item(infer(source, scope, check), source)
            inner = {**scope, variable: item}
            if where is not None:
                _boolean(where, inner, check)
            return f"list<{infer(projection, inner, check) if projection is not None else item}>"
        case t.Quantifier(_, variable, source, where):
            _boolean(where, {**scope, variable: _item(infer(source, scope, check), source)}, check)
            return "boolean"
        case t.Reduce(accumulator, initial, variable, source, body):
            item = _item(infer(source, scope, check), source)
            infer(initial, scope, check)
            infer(body, {**scope, accumulator: "any", variable: item}, check)
            return "any"
        case t.PatternComprehension(pattern, where, projection):
            bound = check.pattern(pattern, scope)
            if where is not None:
                _boolean(where, bound, check)
            return f"list<{infer(projection, bound, check)}>"
        case t.PatternTest(pattern):
            fail(
                "A pattern can be tested only where a condition stands.",
                pattern.at,
                hint="Use it in WHERE, or write EXISTS { … } for a boolean value.",
            )
        case t.PathValue(pattern):
            check.pattern(pattern, scope)
            return "path" if pattern.shortest == "one" else "list<path>"
        case t.Subquery(kind, query):
            check.subquery(query, scope, kind)
            return {"EXISTS": "boolean", "COUNT": "integer", "COLLECT": "list"}[kind]
    raise AssertionError(type(expression))


def refuse_aggregate_inside(expression: t.Expression) -> None:
    """Refuse an aggregation in what a comprehension, a quantifier or reduce() evaluates for each
    item: these items are not rows."""
    bodies: tuple[t.Expression | None, ...] = ()
    match expression:
        case t.ListComprehension(_, _, where, projection):
            bodies = (where, projection)
        case t.PatternComprehension(_, where, projection):
            bodies = (where, projection)
        case t.Quantifier(_, _, _, where):
            bodies = (where,)
        case t.Reduce(_, _, _, _, body):
            bodies = (body,)
    for each in bodies:
        if each is not None and has_aggregate(each):
            fail(
                "An aggregation cannot stand inside a comprehension.",
                each.at,
                detail="InvalidAggregation",
                hint="Aggregate in WITH first.",
            )


def _boolean(expression: t.Expression, scope: Scope, check: Checks) -> None:
    condition(expression, scope, check)


def condition(expression: t.Expression, scope: Scope, check: Checks) -> None:
    """Check a condition: patterns are allowed, expressions that are certainly not boolean are
    refused."""
    if isinstance(expression, t.PatternTest):
        for element in expression.pattern.elements:
            name = getattr(element, "variable", None)
            if name and name not in scope:
                fail(
                    f"The variable {name} is not defined; a pattern in a condition brings no new"
                    " ones.",
                    element.at,
                    detail="UndefinedVariable",
                    hint="Use EXISTS { … } to name elements inside.",
                )
        check.pattern(expression.pattern, scope)
        return
    if isinstance(expression, t.Negation):
        condition(expression.of, scope, check)
        return
    if isinstance(expression, t.Logic):
        for item in expression.items:
            condition(item, scope, check)
        return
    kind = infer(expression, scope, check)
    if kind in _NOT_BOOLEAN or kind.startswith("list"):
        fail(
            f"A condition must be true, false or null; this is of type {kind}.",
            expression.at,
            detail="InvalidArgumentType",
        )


def _refuse(
    kind: str,
    wrong: tuple[str, ...],
    expression: t.Expression,
    what: str,
    *,
    error: str = "SyntaxError",
) -> None:
    base = kind.partition("<")[0]
    if base in wrong or (base == "number" and "integer" in wrong):
        fail(
            f"{what.capitalize()} cannot be of type {kind}.",
            expression.at,
            kind=error,
            detail="InvalidArgumentType",
        )


def _item(kind: str, source: t.Expression) -> str:
    _refuse(
        kind,
        ("integer", "float", "string", "boolean", "node", "edge", "path", "map"),
        source,
        "what is iterated",
    )
    return kind[5:-1] if kind.startswith("list<") else "any"


def _property(kind: str, expression: t.Property) -> str:
    base = kind.partition("<")[0]
    if base in ("integer", "float", "number", "string", "boolean", "list", "path"):
        error = (
            "SyntaxError" if base == "path" else "TypeError"
        )  # the TCK distinguishes misuse of a path pattern from that of a value
        fail(
            f"A value of type {kind} has no properties.",
            expression.at,
            kind=error,
            detail="InvalidArgumentType",
        )
    return "any"


def _index(kind: str, index: str, expression: t.Index) -> str:
    base = kind.partition("<")[0]
    if base in ("integer", "float", "number", "string", "boolean", "path"):
        fail(
            f"A value of type {kind} cannot be indexed.",
            expression.at,
            kind="TypeError",
            detail="InvalidArgumentType",
        )
    if base == "list":
        _refuse(
            index,
            ("string", "float", "boolean", "map", "node", "edge", "path", "list"),
            expression.index,
            "a list index",
            error="TypeError",
        )
    elif base in ("map", "node", "edge"):
        _refuse(
            index,
            ("integer", "float", "boolean", "map", "node", "edge", "path", "list"),
            expression.index,
            "a key",
            error="TypeError",
        )
    return kind[5:-1] if kind.startswith("list<") else "any"


def _call(call: t.Call, scope: Scope, check: Checks) -> str:
    signature = FUNCTIONS.get(call.name.lower())
    if signature is None:
        fail(
            f"Unknown function {call.name!r}.",
            call.at,
            detail="UnknownFunction",
            hint="SHOW FUNCTIONS lists them.",
        )
    if call.star:
        return "integer"
    if len(call.args) < signature.least or (
        signature.most is not None and len(call.args) > signature.most
    ):
        wanted = (
            f"{signature.least}"
            if signature.least == signature.most
            else f"{signature.least} to {signature.most or 'any number of'}"
        )
        fail(
            f"{signature.name}() takes {wanted} arguments, not {len(call.args)}.",
            call.at,
            detail="InvalidNumberOfArguments",
        )
    if signature.aggregate:
        for arg in call.args:
            _aggregated(arg)
    elif call.distinct:
        fail(f"{signature.name}() is not an aggregation: DISTINCT does not apply to it.", call.at)
    if signature.name == "exists" and isinstance(call.args[0], t.PatternTest):
        condition(call.args[0], scope, check)
        return "boolean"
    if signature.name == "size" and isinstance(call.args[0], t.PatternTest):
        fail("size() takes a list or a text, not a pattern.", call.at, hint="Write COUNT { … }.")
    kinds = []
    for index, arg in enumerate(call.args):
        kind = infer(arg, scope, check)
        kinds.append(kind)
        if not accepted(kind, signature.argument(index)):
            wanted = " or ".join(sorted(signature.argument(index).accepts))
            fail(
                f"{signature.name}() takes {wanted}, not a value of type {kind}.",
                arg.at,
                detail="InvalidArgumentType",
            )
    if signature.name in ("min", "max", "head", "last", "coalesce") and len(set(kinds)) == 1:
        inner = kinds[0][5:-1] if kinds[0].startswith("list<") else "any"
        return inner if signature.name in ("head", "last") else kinds[0]
    if signature.name == "collect":
        return f"list<{kinds[0]}>"
    return signature.result


def _aggregated(arg: t.Expression) -> None:
    if has_aggregate(arg):
        fail(
            "An aggregation cannot stand inside another.",
            arg.at,
            detail="NestedAggregation",
            hint="Aggregate in WITH first.",
        )
    for part in t.walk(arg):
        if isinstance(part, t.Call) and part.name.lower() == "rand":
            fail(
                "An aggregation needs an argument that is the same at each evaluation.",
                part.at,
                detail="NonConstantExpression",
            )


def _arithmetic(expression: t.Arithmetic, scope: Scope, check: Checks) -> str:
    left, right = infer(expression.left, scope, check), infer(expression.right, scope, check)
    if expression.op == "+":
        if left.startswith("list") or right.startswith("list"):
            return "list"
        if "null" in (left, right):
            return "null"
        for kind, side in ((left, expression.left), (right, expression.right)):
            if "any" not in (left, right):  # which may be a list, and takes any item
                _refuse(kind, ("boolean", "map", "node", "edge", "path"), side, "an operand of +")
        if "string" in (left, right) and "any" not in (left, right):
            return "string"
    elif expression.op == "||":
        for kind, side in ((left, expression.left), (right, expression.right)):
            _refuse(kind, _NOT_JOINED, side, "an operand of ||")
        return "any"
    else:
        for kind, side in ((left, expression.left), (right, expression.right)):
            _refuse(
                kind,
                ("boolean", "string", "map", "node", "edge", "path", "list"),
                side,
                f"an operand of {expression.op}",
            )
    if left in _NUMBERS and right in _NUMBERS:
        if expression.op == "^":
            return "float"
        return (
            "integer"
            if left == right == "integer"
            else "float"
            if "float" in (left, right)
            else "number"
        )
    if left in TEMPORAL:
        return left if left != "duration" or right not in TEMPORAL else right
    return right if right in TEMPORAL and right != "duration" else "any"


def _case(
    subject: t.Expression | None,
    whens: tuple[tuple[t.Expression, t.Expression], ...],
    *,
    default: t.Expression | None,
    scope: Scope,
    check: Checks,
) -> str:
    if subject is not None:
        infer(subject, scope, check)
    kinds = set()
    for test, result in whens:
        if subject is None:
            condition(test, scope, check)
        else:
            infer(test, scope, check)
        kinds.add(infer(result, scope, check))
    if default is not None:
        kinds.add(infer(default, scope, check))
    kinds.discard("null")
    return kinds.pop() if len(kinds) == 1 else "any"
