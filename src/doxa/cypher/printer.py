"""Print trees as text that parses to the same tree. Compound operands are parenthesised."""

from __future__ import annotations

import re
from typing import Any

from doxa.cypher import tree as t

_PLAIN = re.compile(r"[^\W\d]\w*")
_WORDS = frozenset(
    "all and any as asc ascending by call case collect contains count create delete desc descending"
    " detach distinct else end ends exists false finish foreach from in is limit load match merge"
    " none not null offset on optional or order reduce remove return set shortestpath"
    " allshortestpaths single skip starts then true typed union unwind use using when where with"
    " xor yield".split()
)


def name(text: str) -> str:
    """Return an identifier, quoted if necessary."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return "`" + text.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    out = (
        text.replace("\\", "\\\\")
        .replace("'", "\\'")
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f"'{out}'"


def print_statement(statement: t.Statement) -> str:
    """Print a statement as Cypher."""
    parts: list[str] = [statement.mode] if statement.mode else []
    if statement.system_time is not None:
        parts.append(f"AS OF SYSTEM TIME {expression(statement.system_time)}")
    if statement.valid_time is not None:
        parts.append(f"AS OF VALID TIME {expression(statement.valid_time)}")
    body = statement.body
    return " ".join([*parts, query(body) if isinstance(body, t.Query) else schema_command(body)])


def print_expression(found: t.Expression) -> str:
    """Print an expression as Cypher that `parse_expression` reads."""
    return expression(found)


def query(found: t.Query) -> str:
    joint = " UNION ALL " if found.every else " UNION "
    return joint.join(" ".join(clause(one) for one in branch) for branch in found.branches)


# Clauses


def clause(found: t.Clause) -> str:
    match found:
        case t.Match(patterns, where, optional, hints):
            text = (
                f"{'OPTIONAL ' if optional else ''}MATCH {', '.join(path(one) for one in patterns)}"
            )
            return " ".join([text, *hints]) + _where(where)
        case t.Unwind(source, variable):
            return f"UNWIND {expression(source)} AS {name(variable)}"
        case t.With(inside, where):
            return f"WITH {projection(inside)}{_where(where)}"
        case t.Return(inside):
            return f"RETURN {projection(inside)}"
        case t.LoadCsv(source, variable, headers, separator):
            end = "" if separator is None else f" FIELDTERMINATOR {text_literal(separator)}"
            return (
                f"LOAD CSV {'WITH HEADERS ' if headers else ''}FROM {expression(source)} AS"
                f" {name(variable)}{end}"
            )
        case t.Use(database):
            return f"USE {_dotted(database)}"
        case t.Finish():
            return "FINISH"
        case t.CallProcedure():
            return _call_procedure(found)
        case t.CallSubquery():
            return _call_subquery(found)
        case _:
            return _update(found)


def _update(found: t.Clause) -> str:
    match found:
        case t.Create(patterns):
            return f"CREATE {', '.join(path(one) for one in patterns)}"
        case t.Merge(pattern, on_create, on_match):
            text = f"MERGE {path(pattern)}"
            for word, changes in (("CREATE", on_create), ("MATCH", on_match)):
                if changes:
                    text += f" ON {word} SET {', '.join(change(one) for one in changes)}"
            return text
        case t.Set(changes):
            return f"SET {', '.join(change(one) for one in changes)}"
        case t.Remove(changes):
            return f"REMOVE {', '.join(change(one) for one in changes)}"
        case t.Delete(targets, detach):
            return (
                f"{'DETACH ' if detach else ''}DELETE"
                f" {', '.join(expression(one) for one in targets)}"
            )
        case t.Foreach(variable, source, updates):
            return (
                f"FOREACH ({name(variable)} IN {expression(source)} |"
                f" {' '.join(clause(one) for one in updates)})"
            )
    raise TypeError(f"{type(found).__name__} is not printed")


def change(found: t.UpdateItem) -> str:
    match found:
        case t.SetProperty(target, value):
            return f"{expression(target)} = {expression(value)}"
        case t.SetAll(target, value, merge):
            return f"{expression(target)} {'+=' if merge else '='} {expression(value)}"
        case t.SetLabels(target, labels) | t.RemoveLabels(target, labels):
            return expression(target) + "".join(
                f":{name(label) if isinstance(label, str) else f'$({expression(label)})'}"
                for label in labels
            )
        case t.RemoveProperty(target):
            return expression(target)
    raise TypeError(type(found).__name__)


def projection(found: t.Projection) -> str:
    items = (["*"] if found.star else []) + [_item(one) for one in found.items]
    text = f"{'DISTINCT ' if found.distinct else ''}{', '.join(items)}"
    if found.order:
        text += " ORDER BY " + ", ".join(
            expression(one.expression) + (" DESC" if one.descending else "") for one in found.order
        )
    if found.skip is not None:
        text += f" SKIP {expression(found.skip)}"
    if found.limit is not None:
        text += f" LIMIT {expression(found.limit)}"
    return text


def _item(item: t.Item) -> str:
    """A column without an alias is named by its source text, so that text is printed."""
    return f"{expression(item.expression)} AS {name(item.name)}" if item.named else item.name


def _where(where: t.Expression | None) -> str:
    """After a brace, `where` would be read as a variable with properties."""
    if where is None:
        return ""
    text = expression(where)
    return f" WHERE ({text})" if text.startswith("{") else f" WHERE {text}"


def _call_procedure(found: t.CallProcedure) -> str:
    text = f"{'OPTIONAL ' if found.optional else ''}CALL {_dotted(found.name)}"
    if found.args is not None:
        text += f"({', '.join(expression(arg) for arg in found.args)})"
    if found.yields is not None:
        pairs = [
            "*" if one == "*" else name(one) if one == other else f"{name(one)} AS {name(other)}"
            for one, other in found.yields
        ]
        text += f" YIELD {', '.join(pairs) or '-'}"
    return text + _where(found.where)


def _call_subquery(found: t.CallSubquery) -> str:
    text = f"{'OPTIONAL ' if found.optional else ''}CALL "
    if found.imports is not None:
        text += f"({', '.join('*' if one == '*' else name(one) for one in found.imports)}) "
    text += f"{{ {query(found.query)} }}"
    batch = found.batch
    if batch is not None:
        text += " IN TRANSACTIONS"
        if batch.rows is not None:
            text += f" OF {expression(batch.rows)} ROWS"
        if batch.on_error != "FAIL":
            text += f" ON ERROR {batch.on_error}"
        if batch.report is not None:
            text += f" REPORT STATUS AS {name(batch.report)}"
    return text


def _dotted(text: str) -> str:
    parts = text.split(".")
    return ".".join(name(part) for part in parts) if all(parts) else name(text)


# Schema commands


def schema_command(found: t.Clause) -> str:
    match found:
        case t.CreateIndex(kind, called, target, absent, options):
            properties = ", ".join(
                f"{name(target.variable)}.{name(one)}" for one in target.properties
            )
            about = (
                f"FOR {_target(target)} ON"
                f" {f'EACH [{properties}]' if kind == 'fulltext' else f'({properties})'}"
            )
            return (
                f"CREATE {kind.upper()} INDEX {_called(called, absent)}{about}{_options(options)}"
            )
        case t.CreateConstraint(_, called, target, absent, _, options):
            return (
                f"CREATE CONSTRAINT {_called(called, absent)}FOR"
                f" {_requirement(found)}{_options(options)}"
            )
        case t.DropSchema(what, called, present):
            return f"DROP {what} {_rule(called)}{' IF EXISTS' if present else ''}"
        case t.DropRetention(called, present):
            return f"DROP RETENTION POLICY {_rule(called)}{' IF EXISTS' if present else ''}"
        case t.CreateRetention(called, target, project, spans, replace, absent):
            head = _policy("RETENTION POLICY", called, replace=replace, absent=absent)
            within = "" if project is None else f" IN PROJECT {_rule(project)}"
            kept = ", ".join(f"{_KEPT[part]} {seconds} SECONDS" for part, seconds in spans)
            return f"{head}FOR {_policy_target(target)}{within} KEEP {kept}"
        case t.Show(what, detail, yields, where, returns):
            one = what == "databases" and len(detail) == 1
            text = (
                f"SHOW DATABASE {name(detail[0])}"
                if one
                else _transactions(what, detail)
                if what.endswith("transactions")
                else f"SHOW {' '.join([*detail, what.upper().replace('_', ' ')])}"
            )
            text += "" if yields is None else f" YIELD {projection(yields)}"
            return (
                text + _where(where) + ("" if returns is None else f" RETURN {projection(returns)}")
            )
        case _:
            return _policy_command(found)


def _transactions(what: str, ids: tuple[t.Expression, ...]) -> str:
    verb = "SHOW" if what == "transactions" else "TERMINATE"
    return f"{verb} TRANSACTIONS {', '.join(map(expression, ids))}".rstrip()


def _rule(called: str | t.ParameterRef) -> str:
    return expression(called) if isinstance(called, t.ParameterRef) else name(called)


def _called(called: str | t.ParameterRef | None, absent: bool) -> str:
    return ("" if called is None else f"{_rule(called)} ") + ("IF NOT EXISTS " if absent else "")


def _options(options: t.Expression | None) -> str:
    return "" if options is None else f" OPTIONS {expression(options)}"


def _target(target: t.SchemaTarget, ends: tuple[str, str] = ("", ""), arrow: str = "-") -> str:
    variable = name(target.variable) if target.variable else ""
    inside = f"{variable}:{'|'.join(name(one) for one in target.names)}"
    if not target.edge:
        return f"({inside})"
    first, last = (f"({':' + name(end) if end else ''})" for end in ends)
    return (
        f"{first}{'<-' if arrow == 'in' else '-'}[{inside}]{'->' if arrow == 'out' else '-'}{last}"
    )


def _requirement(found: t.CreateConstraint) -> str:
    target, detail = found.target, found.detail
    properties = ", ".join(f"{name(target.variable)}.{name(one)}" for one in target.properties)
    about = f"{_target(target)} REQUIRE ({properties})"
    match found.kind:
        case "cardinality":
            return f"{_target(target, arrow=detail[0])} REQUIRE MAX COUNT {detail[1]}"
        case "endpoints":
            return (
                f"{_target(target, detail[1:], 'out')} REQUIRE"
                f" {'ALLOWED' if detail[0] else 'DISALLOWED'}"
            )
        case "values":
            return f"{about} IN {expression(detail[0])}"
        case "type":
            return f"{about} IS :: {detail[0]}"
    return f"{about} IS {_REQUIRED[found.kind]}"


_REQUIRED = {
    "unique": "UNIQUE",
    "key": "KEY",
    "exists": "NOT NULL",
    "temporal": "TEMPORAL NO OVERLAP",
}


# Persistence policies


def _policy_command(found: t.Clause) -> str:
    match found:
        case t.PolicyCommands(commands):
            return "\n".join(schema_command(one) for one in commands)
        case t.CreateDecayBundle(called, options, replace, absent):
            return (
                f"{_policy('DECAY PROFILE', called, replace=replace, absent=absent)}OPTIONS"
                f" {_option_map(options)}"
            )
        case t.CreatePromotionProfile(called, options, replace, absent):
            return (
                f"{_policy('PROMOTION PROFILE', called, replace=replace, absent=absent)}OPTIONS"
                f" {_option_map(options)}"
            )
        case t.CreateDecayBinding(called, target, directives, replace, absent):
            inside = ", ".join(_directive(one, target.variable) for one in directives)
            return (
                f"{_policy('DECAY PROFILE', called, replace=replace, absent=absent)}FOR"
                f" {_policy_target(target)} APPLY {{ {inside} }}"
            )
        case t.CreatePromotionPolicy(called, target, accesses, rules, replace, absent):
            parts = (
                [f"ON ACCESS {{ {' '.join(_access(one, target.variable) for one in accesses)} }}"]
                if accesses
                else []
            )
            parts += [
                f"WHEN {expression(one.when)} APPLY PROFILE {_reference(one.profile)}"
                for one in rules
            ]
            head = _policy("PROMOTION POLICY", called, replace=replace, absent=absent)
            return f"{head}FOR {_policy_target(target)} APPLY {{ {' '.join(parts)} }}"
        case t.AlterPolicy(what, called, options):
            return f"ALTER {what} {_rule(called)} SET OPTIONS {_option_map(options)}"
        case t.DropPolicy(what, called, present):
            return f"DROP {what} {_rule(called)}{' IF EXISTS' if present else ''}"
    raise TypeError(f"{type(found).__name__} is not printed")


_KEPT = {"past": "PAST", "log": "LOG PAYLOADS", "accesses": "ACCESSES"}


def _policy(what: str, called: str | t.ParameterRef, *, replace: bool, absent: bool) -> str:
    return (
        f"CREATE {'OR REPLACE ' if replace else ''}{what}"
        f" {'IF NOT EXISTS ' if absent else ''}{_rule(called)} "
    )


def _option_map(options: tuple[t.PolicyOption, ...]) -> str:
    return "{" + ", ".join(f"{one.key}: {expression(one.value)}" for one in options) + "}"


def _policy_target(target: t.PolicyTarget) -> str:
    inside = name(target.variable) if target.variable else ""
    inside += f":{'&'.join(name(one) for one in target.names)}" if target.names else ""
    return f"()-[{inside}]-()" if target.edge else f"({inside})"


def _directive(found: t.DecayDirective, variable: str) -> str:
    about = "" if found.property is None else f"{name(variable)}.{name(found.property)} "
    value = "" if found.value is None else f" {expression(found.value)}"
    return f"{about}{_DIRECTIVES[found.kind]}{value}"


def _access(found: t.AccessSet, variable: str) -> str:
    kalman = (
        ""
        if found.kalman is None
        else f"WITH KALMAN {_option_map(found.kalman)} "
        if found.kalman
        else "WITH KALMAN "
    )
    return f"{kalman}SET {name(variable)}.{name(found.property)} = {expression(found.value)}"


def _reference(profile: str | t.ParameterRef) -> str:
    return expression(profile) if isinstance(profile, t.ParameterRef) else text_literal(profile)


_DIRECTIVES = {
    "profile": "DECAY PROFILE",
    "half_life": "DECAY HALF LIFE",
    "floor": "DECAY FLOOR",
    "threshold": "DECAY VISIBILITY THRESHOLD",
    "none": "NO DECAY",
}


# Patterns


def path(found: t.PathPattern) -> str:
    inside = "".join(_element(one) for one in found.elements)
    if found.shortest:
        inside = f"{'shortestPath' if found.shortest == 'one' else 'allShortestPaths'}({inside})"
    return f"{name(found.variable)} = {inside}" if found.variable else inside


def _element(element: Any) -> str:
    if isinstance(element, t.NodePattern):
        return f"({_inside(element.variable, element.labels, element)})"
    if isinstance(element, t.QuantifiedPattern):
        most = "" if element.most is None else element.most
        return f"({path(element.path)}{_where(element.where)}){{{element.least},{most}}}"
    inside = _inside(element.variable, element.types, element)
    if element.length is not None:
        inside = (
            _inside(element.variable, element.types, None)
            + _length(*element.length)
            + _rest(element)
        )
    middle = f"[{inside}]" if inside else ""
    left, right = (
        ("<" if element.direction == "in" else ""),
        (">" if element.direction == "out" else ""),
    )
    return f"{left}-{middle}-{right}"


def _inside(variable: str | None, names: t.LabelExpression | None, element: Any) -> str:
    text = name(variable) if variable else ""
    if names is not None:
        text += f":{labels(names)}"
    return text + (_rest(element) if element is not None else "")


def _rest(element: t.NodePattern | t.EdgePattern) -> str:
    text = f" {expression(element.properties)}" if element.properties is not None else ""
    return text + _where(element.where)


def _length(least: int | None, most: int | None) -> str:
    if least is not None and least == most:
        return f"*{least}"
    if least is None and most is None:
        return "*"
    return f"*{'' if least is None else least}..{'' if most is None else most}"


def labels(found: t.LabelExpression) -> str:
    match found:
        case t.LabelName(text):
            return name(text)
        case t.LabelAny():
            return "%"
        case t.LabelNot(of):
            return f"!{_bound(of)}"
        case t.LabelAnd(items):
            return "&".join(_bound(item) for item in items)
        case t.LabelOr(items):
            return "|".join(_bound(item) for item in items)
    raise TypeError(type(found).__name__)


def _bound(found: t.LabelExpression) -> str:
    return f"({labels(found)})" if isinstance(found, (t.LabelAnd, t.LabelOr)) else labels(found)


# Expressions


def expression(found: t.Expression) -> str:
    match found:
        case t.Literal(value):
            return _literal(value)
        case t.ParameterRef(text):
            return (
                f"${text}"
                if re.fullmatch(r"\w+", text)
                else f"${'`' + text.replace('`', '``') + '`'}"
            )
        case t.Variable(text):
            return name(text)
        case t.Property(of, text):
            return f"{_base(of)}.{name(text)}"
        case t.Index(of, index):
            return f"{_base(of)}[{expression(index)}]"
        case t.Slice(of, start, end):
            bounds = ["" if bound is None else expression(bound) for bound in (start, end)]
            return f"{_base(of)}[{bounds[0]}..{bounds[1]}]"
        case t.ListOf(items):
            return f"[{', '.join(_atom(item) for item in items)}]"
        case t.MapOf(items):
            return (
                "{" + ", ".join(f"{name(key)}: {expression(value)}" for key, value in items) + "}"
            )
        case t.MapProjection(of, items):
            return (
                f"{name(of.name)}"
                f" {{{', '.join(_projected(of, key, value) for key, value in items)}}}"
            )
        case t.Call():
            return _call(found)
        case _:
            return _operator(found)


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" in text else f"{text}.0"
    return str(value)


def _atom(found: t.Expression) -> str:
    """Parenthesise unless nothing can bind tighter."""
    plain = (
        t.ParameterRef,
        t.Variable,
        t.Property,
        t.Index,
        t.Slice,
        t.ListOf,
        t.MapOf,
        t.Call,
        t.ListComprehension,
        t.Subquery,
        t.Case,
        t.Literal,
    )
    negative = (
        isinstance(found, t.Literal)
        and isinstance(found.value, (int, float))
        and str(found.value).startswith("-")
    )
    return (
        f"({expression(found)})" if negative or not isinstance(found, plain) else expression(found)
    )


def _base(found: t.Expression) -> str:
    """The operand of an access: 1.x would be read as a number."""
    return f"({expression(found)})" if isinstance(found, t.Literal) else _atom(found)


def _projected(of: t.Variable, key: str, value: t.Expression | None) -> str:
    if value is None:
        return ".*"
    if value == t.Property(of, key):
        return f".{name(key)}"
    return name(key) if value == t.Variable(key) else f"{name(key)}: {expression(value)}"


def _call(found: t.Call) -> str:
    if found.star:
        return "count(*)"
    called = ".".join(
        part if _PLAIN.fullmatch(part) and part.upper() != "NOT" else name(part)
        for part in found.name.split(".")
    )
    args = ", ".join(expression(arg) for arg in found.args)
    return f"{called}({'DISTINCT ' if found.distinct else ''}{args})"


def _operator(found: t.Expression) -> str:
    match found:
        case t.Negation(of):
            return f"NOT {_atom(of)}"
        case t.Logic(op, items):
            return f" {op} ".join(_atom(item) for item in items)
        case t.Comparison(operands, ops):
            return _atom(operands[0]) + "".join(
                f" {op} {_atom(one)}" for op, one in zip(ops, operands[1:], strict=True)
            )
        case t.Arithmetic(op, left, right):
            return f"{_atom(left)} {op} {_atom(right)}"
        case t.Sign(op, of):
            return f"{op}({expression(of)})"
        case t.TextTest(op, left, right):
            return f"{_atom(left)} {op} {_atom(right)}"
        case t.In(left, right):
            return f"{_atom(left)} IN {_atom(right)}"
        case t.IsNull(of, negated):
            return f"{_atom(of)} IS {'NOT ' if negated else ''}NULL"
        case t.IsType(of, kind, negated):
            return f"{_atom(of)} IS {'NOT ' if negated else ''}:: {kind}"
        case t.HasLabels(of, names):
            joint = (
                ":"
                if isinstance(of, (t.Variable, t.Property, t.Index, t.Call, t.ParameterRef))
                else " IS "
            )
            tested = _bound(names) if isinstance(names, t.LabelOr) else labels(names)
            return f"{_atom(of)}{joint}{tested}"
        case t.Case():
            return _case(found)
        case _:
            return _scoped(found)


def _case(found: t.Case) -> str:
    text = "CASE" if found.subject is None else f"CASE {expression(found.subject)}"
    for test, result in found.whens:
        text += f" WHEN {expression(test)} THEN {expression(result)}"
    return text + ("" if found.default is None else f" ELSE {expression(found.default)}") + " END"


def _scoped(found: t.Expression) -> str:
    match found:
        case t.ListComprehension(variable, source, where, inner):
            bar = "" if inner is None else f" | {expression(inner)}"
            return (
                f"[{name(variable)} IN"
                f" {_atom(source)}{'' if where is None else f' WHERE {_atom(where)}'}{bar}]"
            )
        case t.Quantifier(kind, variable, source, where):
            return f"{kind}({name(variable)} IN {expression(source)} WHERE {expression(where)})"
        case t.Reduce(accumulator, initial, variable, source, body):
            return (
                f"reduce({name(accumulator)} = {expression(initial)}, {name(variable)} IN"
                f" {_atom(source)} | {expression(body)})"
            )
        case t.PatternComprehension(pattern, where, inner):
            return (
                f"[{path(pattern)}{'' if where is None else f' WHERE {_atom(where)}'} |"
                f" {expression(inner)}]"
            )
        case t.PatternTest(pattern) | t.PathValue(pattern):
            return path(pattern)
        case t.Subquery(kind, inside):
            return f"{kind} {{ {query(inside)} }}"
    raise TypeError(type(found).__name__)
