"""CREATE and DROP of indexes and constraints: validate them and write the catalogue.

The store fills indexes and tests constraints in the same transaction, so that a rule which existing
data violates is rejected. `procedures/show.py` reads the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from doxa.base.errors import ConstraintError
from doxa.cypher import tree as t
from doxa.query.core.errors import fail, shown
from doxa.query.schema.options import checked_options
from doxa.store import Transaction

Evaluate = Callable[[t.Expression], Any]
_OWNING = frozenset({"unique", "key", "temporal"})


def run_schema(command: t.Clause, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    """Execute one command; `evaluate` evaluates names and options. Returns counters: indexes_added,
    constraints_removed and so on."""
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
    _refuse_target(command.kind, target)
    options = checked_options(command.kind, _constant(command.options, evaluate))
    held = tx.catalogue_all("index:")
    wanted = {
        "kind": command.kind,
        "edge": target.edge,
        "names": list(target.names),
        "properties": list(target.properties),
    }
    name = _named(command.name, evaluate) or _name(
        "index", command.kind, *target.names, *target.properties
    )
    twin = next(
        (
            other[6:]
            for other, value in held.items()
            if all(value[key] == wanted[key] for key in wanted) and value["owner"] is None
        ),
        None,
    )
    taken = _holder(name, tx)
    if taken or twin:
        if command.if_absent:
            return {}
        _exists(taken if taken and not twin else "index", name, twin)
    tx.set_catalogue(
        f"index:{name}", {**wanted, "id": _next_id(held), "options": options, "owner": None}
    )
    return {"indexes_added": 1}


def _refuse_target(kind: str, target: t.SchemaTarget) -> None:
    """Refuse targets that this kind of index or constraint does not support."""
    if kind in ("range", "text", "point", "vector") and len(target.names) > 1:
        fail(
            "This kind of index is about one label or type.",
            kind="SyntaxError",
            detail="UnexpectedSyntax",
            hint="Create one for each.",
        )
    if kind in ("vector", "type", "values") and len(target.properties) > 1:
        fail(
            "A rule of this kind is about one property.",
            kind="SyntaxError",
            detail="UnexpectedSyntax",
            hint="Create one for each.",
        )
    if kind != "temporal" and (
        len(set(target.properties)) < len(target.properties)
        or len(set(target.names)) < len(target.names)
    ):
        fail(
            "A rule names each label, type and property once.",
            kind="SyntaxError",
            detail="UnexpectedSyntax",
            hint="Leave out the repeated one.",
        )


def _create_constraint(
    command: t.CreateConstraint, tx: Transaction, evaluate: Evaluate
) -> dict[str, int]:
    target = command.target
    _refuse_target(command.kind, target)
    options = _constant(command.options, evaluate)
    if options is not None and command.kind not in ("unique", "key"):
        fail(
            "This kind of constraint takes no OPTIONS.",
            kind="SyntaxError",
            detail="UnexpectedSyntax",
            hint="Leave them out.",
        )
    options = checked_options("range", options)
    held = tx.catalogue_all("constraint:")
    detail = _constraint_detail(command, evaluate)
    wanted = {
        "kind": command.kind,
        "edge": target.edge,
        "name": target.names[0],
        "properties": list(target.properties),
        "detail": detail,
    }
    name = _named(command.name, evaluate) or _name(
        "constraint", command.kind, target.names[0], *target.properties, *map(str, detail)
    )
    twin = next(
        (
            other[11:]
            for other, value in held.items()
            if all(value[key] == wanted[key] for key in wanted)
        ),
        None,
    )
    taken = _holder(name, tx)
    if taken or twin:
        if command.if_absent:
            return {}
        _exists(taken if taken and not twin else "constraint", name, twin)
    try:
        index = None
        if command.kind in _OWNING:
            index = _create_owned_index(name, command, options, tx)
        tx.set_catalogue(f"constraint:{name}", {**wanted, "index": index})
    except ConstraintError as error:
        error.fields["declaring"] = name  # the data was there first: not a write that is refused
        raise
    return {"constraints_added": 1}


def _holder(name: str, tx: Transaction) -> str:
    """Return what has a name: "index", "constraint", which may own an index of its name, or
    nothing. Both sorts of rules share their names."""
    if tx.catalogue(f"constraint:{name}") is not None:
        return "constraint"
    return "" if tx.catalogue(f"index:{name}") is None else "index"


def _constraint_detail(command: t.CreateConstraint, evaluate: Evaluate) -> list[Any]:
    """The type, values or numbers of a constraint."""
    detail = [
        _constant(item, evaluate) if isinstance(item, t.Expression) else item
        for item in command.detail
    ]
    if command.kind != "values":
        return detail
    if not isinstance(detail[0], list):
        fail(
            f"IN takes a list of values, not {shown(detail[0])}.",
            detail="InvalidArgumentValue",
            hint="Write IN ['x', 'y'].",
        )
    values = list(detail[0])
    if any(value is None or isinstance(value, dict) for value in values):
        fail(
            "A property cannot be null or a map.",
            detail="InvalidArgumentValue",
            hint="List the values that it may have.",
        )
    return values


def _create_owned_index(
    name: str, command: t.CreateConstraint, options: dict[str, Any], tx: Transaction
) -> int:
    """Declare the index that a constraint is tested with; returns its number."""
    indexes = tx.catalogue_all("index:")
    number = _next_id(indexes)
    tx.set_catalogue(
        f"index:{name}",
        {
            "kind": "window" if command.kind == "temporal" else "range",
            "edge": command.target.edge,
            "names": [command.target.names[0]],
            "properties": list(command.target.properties),
            "id": number,
            "options": options,
            "owner": name,
        },
    )
    return number


def _drop_index(name: str, tx: Transaction, *, present: bool) -> dict[str, int]:
    rule = tx.catalogue(f"index:{name}")
    if rule is None:
        if present:
            return {}
        _missing("index", name)
    if rule["owner"]:
        fail(
            f"The index {name} belongs to the constraint {rule['owner']}.",
            kind="SchemaError",
            detail="IndexDropFailed",
            hint="It is removed with its constraint.",
        )
    tx.set_catalogue(f"index:{name}", None)
    return {"indexes_removed": 1}


def _drop_constraint(name: str, tx: Transaction, *, present: bool) -> dict[str, int]:
    rule = tx.catalogue(f"constraint:{name}")
    if rule is None:
        if present:
            return {}
        _missing("constraint", name)
    tx.set_catalogue(f"constraint:{name}", None)
    if rule["index"] is not None:
        tx.set_catalogue(f"index:{name}", None)
    return {"constraints_removed": 1}


def _name(*parts: str) -> str:
    """Derive the name of an unnamed rule from its definition."""
    return "_".join("".join(char if char.isalnum() else "_" for char in part) for part in parts)


def _next_id(held: dict[str, Any]) -> int:
    return max((value["id"] for value in held.values()), default=0) + 1


def _exists(what: str, name: str, twin: str | None) -> NoReturn:
    """Refuse a rule because its name is taken, because a `twin` says the same, or both."""
    held = what.capitalize()
    detail = (
        f"{held}WithNameAlreadyExists"
        if twin is None
        else "EquivalentSchemaRuleAlreadyExists"
        if twin == name
        else f"{held}AlreadyExists"
    )
    article = "an" if what == "index" else "a"
    fail(
        f"There is already {article} {what} called {name}."
        if twin is None
        else f"There is already such {article} {what}: {twin}.",
        kind="SchemaError",
        detail=detail,
        hint="Choose another name."
        if twin is None
        else "Add IF NOT EXISTS if that is what you want.",
        name=name if twin is None else twin,
    )


def _missing(what: str, name: str) -> NoReturn:
    shows = "SHOW INDEXES" if what == "index" else "SHOW CONSTRAINTS"
    fail(
        f"Unknown {what} {name!r}.",
        kind="SchemaError",
        detail=f"{what.capitalize()}DropFailed",
        hint=f"{shows} lists them; or add IF EXISTS.",
    )


def _named(name: str | t.ParameterRef | None, evaluate: Evaluate) -> str:
    """Return a name from the text or a parameter; empty without one."""
    found = _constant(name, evaluate) if isinstance(name, t.ParameterRef) else name or ""
    if not isinstance(found, str) or (name and not found):
        fail(f"A rule is named by a text, not by {shown(found)}.", detail="InvalidArgumentValue")
    return found


def _constant(expression: t.Expression | None, evaluate: Evaluate) -> Any:
    """Evaluate an expression without variables."""
    if expression is None:
        return None
    if any(isinstance(part, t.Variable) for part in t.walk(expression)):
        fail(
            "A schema command takes values and parameters, not variables.",
            kind="SyntaxError",
            detail="UnexpectedSyntax",
        )
    return evaluate(expression)
