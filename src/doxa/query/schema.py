"""Schema commands: what CREATE and DROP declare in the catalogue, and what SHOW reads from it.

The store fills indexes and tests constraints in the transaction that declares them, so a rule that the data breaks is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from doxa.base import limits
from doxa.cypher import tree as t
from doxa.cypher.signatures import ProcedureSignature
from doxa.query.errors import fail, shown
from doxa.query.procedures import Procedure, Registry
from doxa.store import Transaction

Evaluate = Callable[[t.Expression], Any]
_OWNING = frozenset({"unique", "key", "temporal"})


def run_schema(command: t.Clause, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    """Carry out one command; `evaluate` gives what names and options are worth. Returns counters: indexes_added, constraints_removed and so on."""
    match command:
        case t.CreateIndex():
            return _create_index(command, tx, evaluate)
        case t.CreateConstraint():
            return _create_constraint(command, tx, evaluate)
        case t.DropSchema("INDEX", name, present):
            return _drop_index(_named(name, evaluate), tx, present=present)
        case t.DropSchema(_, name, present):
            return _drop_constraint(_named(name, evaluate), tx, present=present)
    raise AssertionError(type(command))


def _create_index(command: t.CreateIndex, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    target = command.target
    if command.kind in ("range", "text", "point") and len(target.names) > 1:
        fail("This kind of index is about one label or type.", kind="SyntaxError", detail="UnexpectedSyntax", hint="Create one for each.")
    options = _constant(command.options, evaluate) or {}
    held = tx.catalogue_all("index:")
    wanted = {"kind": command.kind, "edge": target.edge, "names": list(target.names), "properties": list(target.properties)}
    name = _named(command.name, evaluate) or _name("index", command.kind, *target.names, *target.properties)
    twin = next((other[6:] for other, value in held.items() if all(value[key] == wanted[key] for key in wanted) and value["owner"] is None), None)
    if f"index:{name}" in held or twin:
        if command.if_absent:
            return {}
        _exists("index", twin or name)
    tx.set_catalogue(f"index:{name}", {**wanted, "id": _next_id(held), "options": options, "owner": None})
    return {"indexes_added": 1}


def _create_constraint(command: t.CreateConstraint, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    target = command.target
    held = tx.catalogue_all("constraint:")
    detail = [_constant(item, evaluate) if isinstance(item, t.Expression) else item for item in command.detail]
    if command.kind == "values":
        detail = list(detail[0] or [])
    wanted = {"kind": command.kind, "edge": target.edge, "name": target.names[0], "properties": list(target.properties), "detail": detail}
    name = _named(command.name, evaluate) or _name("constraint", command.kind, target.names[0], *target.properties, *map(str, detail))
    twin = next((other[11:] for other, value in held.items() if all(value[key] == wanted[key] for key in wanted)), None)
    if f"constraint:{name}" in held or twin:
        if command.if_absent:
            return {}
        _exists("constraint", twin or name)
    index = None
    if command.kind in _OWNING:
        indexes = tx.catalogue_all("index:")
        if f"index:{name}" in indexes:
            _exists("index", name)
        index = _next_id(indexes)
        kind, properties = "window" if command.kind == "temporal" else "range", list(target.properties)
        rule = {"kind": kind, "edge": target.edge, "names": [target.names[0]], "properties": properties, "id": index, "options": {}, "owner": name}
        tx.set_catalogue(f"index:{name}", rule)
    tx.set_catalogue(f"constraint:{name}", {**wanted, "index": index})
    return {"constraints_added": 1}


def _drop_index(name: str, tx: Transaction, *, present: bool) -> dict[str, int]:
    rule = tx.catalogue(f"index:{name}")
    if rule is None:
        return {} if present else _missing("index", name)
    if rule["owner"]:
        fail(
            f"The index {name} belongs to the constraint {rule['owner']}.",
            kind="SchemaError",
            detail="ForbiddenOnConstraintIndex",
            hint="It goes with its constraint.",
        )
    tx.set_catalogue(f"index:{name}", None)
    return {"indexes_removed": 1}


def _drop_constraint(name: str, tx: Transaction, *, present: bool) -> dict[str, int]:
    rule = tx.catalogue(f"constraint:{name}")
    if rule is None:
        return {} if present else _missing("constraint", name)
    tx.set_catalogue(f"constraint:{name}", None)
    if rule["index"] is not None:
        tx.set_catalogue(f"index:{name}", None)
    return {"constraints_removed": 1}


def _name(*parts: str) -> str:
    """The name of a rule that was given none: the same for the same rule."""
    return "_".join("".join(char if char.isalnum() else "_" for char in part) for part in parts)


def _next_id(held: dict[str, Any]) -> int:
    return max((value["id"] for value in held.values()), default=0) + 1


def _exists(what: str, name: str) -> None:
    fail(
        f"There is already such a {what}: {name}.",
        kind="SchemaError",
        detail="EquivalentSchemaRuleAlreadyExists",
        hint="Add IF NOT EXISTS if that is what you want.",
        name=name,
    )


def _missing(what: str, name: str) -> dict[str, int]:
    fail(f"There is no {what} {name}.", kind="SchemaError", detail="SchemaRuleNotFound", hint=f"SHOW {what.upper()}S lists them; or add IF EXISTS.")


def _named(name: str | t.Parameter | None, evaluate: Evaluate) -> str:
    """A name as it is written or given; nothing if there is none."""
    found = _constant(name, evaluate) if isinstance(name, t.Parameter) else name or ""
    if not isinstance(found, str) or (name and not found):
        fail(f"A rule is named by a text, not by {shown(found)}.", detail="InvalidArgumentValue")
    return found


def _constant(expression: t.Expression | None, evaluate: Evaluate) -> Any:
    """What an expression without variables is worth."""
    if expression is None:
        return None
    if any(isinstance(part, t.Variable) for part in t.walk(expression)):
        fail("A schema command takes values and parameters, not variables.", kind="SyntaxError", detail="UnexpectedSyntax")
    return evaluate(expression)


# SHOW


def shown_as_query(command: t.Show) -> t.Query:
    """SHOW as a call with a projection: YIELD becomes WITH."""
    name = f"doxa.show.{command.what}"
    columns = _COLUMNS[command.what]
    plain = t.Projection(tuple(t.Item(t.Variable(column), column, True) for column in columns))
    call = t.CallProcedure(name, (t.Literal(" ".join(str(word) for word in command.detail)),), tuple((column, column) for column in columns))
    clauses: list[t.Clause] = [call]
    last = plain
    if command.yields is not None or command.where is not None:
        wanted = command.yields if command.yields is not None and not (command.yields.star and not command.yields.items) else plain
        clauses.append(t.With(wanted, command.where))
        last = t.Projection(tuple(t.Item(t.Variable(item.name), item.name, True) for item in wanted.items))
    clauses.append(t.Return(command.returns or last))
    return t.Query((tuple(clauses),))


_COLUMNS: dict[str, tuple[str, ...]] = {
    "indexes": (
        "id", "name", "state", "populationPercent", "type", "entityType", "labelsOrTypes", "properties", "indexProvider", "owningConstraint",
        "lastRead", "readCount", "options",
    ),
    "constraints": ("id", "name", "type", "entityType", "labelsOrTypes", "properties", "ownedIndex", "propertyType"),
    "functions": ("name", "category", "aggregating", "isBuiltIn"),
    "procedures": ("name", "description", "mode", "worksOnSystem"),
    "databases": (
        "name", "type", "aliases", "access", "address", "role", "writer", "requestedStatus", "currentStatus", "statusMessage", "default", "home",
        "constituents",
    ),
    "settings": ("name", "value", "isDynamic", "description"),
}  # fmt: skip
_TYPES = {
    ("unique", False): "UNIQUENESS", ("unique", True): "RELATIONSHIP_UNIQUENESS", ("key", False): "NODE_KEY", ("key", True): "RELATIONSHIP_KEY",
    ("exists", False): "NODE_PROPERTY_EXISTENCE", ("exists", True): "RELATIONSHIP_PROPERTY_EXISTENCE", ("type", False): "NODE_PROPERTY_TYPE",
    ("type", True): "RELATIONSHIP_PROPERTY_TYPE",
}  # fmt: skip


def _indexes(run: Any, detail: str) -> Iterable[tuple[Any, ...]]:
    wanted = detail.split()[0] if detail else ""
    for rule in run.graph.reader.declared().indexes.rules:
        kind = rule.kind.upper()
        if wanted in ("", kind):
            entity = "RELATIONSHIP" if rule.edge else "NODE"
            provider = f"doxa-{rule.kind}"
            yield (
                rule.id, rule.name, "ONLINE", 100.0, kind, entity, list(rule.names), list(rule.properties), provider, rule.owner, None, 0,
                rule.options,
            )  # fmt: skip


def _constraints(run: Any, detail: str) -> Iterable[tuple[Any, ...]]:
    wanted = detail.replace("NODE ", "").replace("RELATIONSHIP ", "").split()[0] if detail else ""
    for number, rule in enumerate(run.graph.reader.declared().constraints.rules, start=1):
        kind = _TYPES.get((rule.kind, rule.edge), f"{rule.kind.upper()}{'_NO_OVERLAP' if rule.kind == 'temporal' else ''}")
        if not wanted or wanted[:5] in kind:
            entity = "RELATIONSHIP" if rule.edge else "NODE"
            of_type = rule.detail[0] if rule.kind == "type" else None
            owned = rule.name if rule.entries is not None else None
            yield number, rule.name, kind, entity, [rule.about], list(rule.properties) or None, owned, of_type


def _databases(run: Any, detail: str) -> Iterable[tuple[Any, ...]]:
    if detail.lower() in ("", "default", "home", "doxa", "neo4j"):
        yield "doxa", "standard", ["neo4j"], "read-write", "localhost", "primary", True, "online", "online", "", True, True, []


def _settings(run: Any, detail: str) -> Iterable[tuple[Any, ...]]:
    for name, value in sorted(vars(limits).items()):
        if name.isupper():
            yield name, str(value), False, "A limit; the guide to settings describes it."


def register_shows(registry: Registry) -> None:
    for what, call in (("indexes", _indexes), ("constraints", _constraints), ("databases", _databases), ("settings", _settings)):
        results = tuple((column, "ANY") for column in _COLUMNS[what])
        registry.add(Procedure(ProcedureSignature(f"doxa.show.{what}", (("detail", "STRING"),), results, description=f"SHOW {what.upper()}."), call))
