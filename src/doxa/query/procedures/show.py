"""SHOW: catalogue, functions, procedures, databases and settings as rows.

SHOW runs as a call with a projection:

    SHOW INDEXES YIELD name WHERE name = 'a'
    CALL doxa.show.indexes('') YIELD ... WITH name WHERE name = 'a' RETURN name"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from doxa.base import limits, spatial, temporal
from doxa.cypher import tree as t
from doxa.cypher.printer import schema_command
from doxa.cypher.semantics.signatures import FUNCTIONS, Argument, ProcedureSignature, Signature
from doxa.query.core.errors import fail
from doxa.query.core.operators import text_of
from doxa.query.procedures.policy_catalogue import (
    decay_profiles,
    promotion_policies,
    promotion_profiles,
    retention_policies,
)
from doxa.query.procedures.registry import RegisteredProcedure, Registry, Rows
from doxa.query.procedures.show_transactions import current_user, terminate, transactions
from doxa.store import IndexRule
from doxa.store.constraint import ConstraintRule


def show_as_query(command: t.Show) -> t.Query:
    """Rewrite SHOW as a call with a projection: YIELD becomes WITH."""
    name = f"doxa.show.{command.what}"
    about: t.Expression = t.Literal(" ".join(str(word) for word in command.detail))
    if command.what in _BY_ID:
        about = t.ListOf(command.detail) if command.detail else t.Literal(None)
    columns = _COLUMNS[command.what]
    plain = t.Projection(tuple(t.Item(t.Variable(column), column, True) for column in columns))
    call = t.CallProcedure(
        name,
        (about,),
        tuple((column, column) for column in columns),
    )
    clauses: list[t.Clause] = [call]
    last = plain
    if command.yields is not None or command.where is not None:
        wanted = (
            command.yields
            if command.yields is not None and not (command.yields.star and not command.yields.items)
            else plain
        )
        clauses.append(t.With(wanted, command.where))
        last = t.Projection(
            tuple(t.Item(t.Variable(item.name), item.name, True) for item in wanted.items)
        )
    clauses.append(t.Return(command.returns or last))
    return t.Query((tuple(clauses),))


_BY_ID = ("transactions", "terminated_transactions")  # their detail is ids, as expressions
_COLUMNS: dict[str, tuple[str, ...]] = {
    "transactions": (
        "database",
        "transactionId",
        "currentQueryId",
        "connectionId",
        "clientAddress",
        "username",
        "currentQuery",
        "startTime",
        "status",
        "elapsedTime",
    ),
    "terminated_transactions": ("transactionId", "username", "message"),
    "current_user": ("user", "roles", "passwordChangeRequired", "suspended", "home"),
    "indexes": (
        "id",
        "name",
        "state",
        "populationPercent",
        "type",
        "entityType",
        "labelsOrTypes",
        "properties",
        "indexProvider",
        "owningConstraint",
        "lastRead",
        "readCount",
        "options",
        "createStatement",
    ),
    "constraints": (
        "id",
        "name",
        "type",
        "entityType",
        "labelsOrTypes",
        "properties",
        "ownedIndex",
        "propertyType",
        "options",
        "createStatement",
    ),
    "functions": ("name", "category", "description", "signature", "aggregating", "isBuiltIn"),
    "procedures": ("name", "description", "mode", "worksOnSystem", "signature"),
    "databases": (
        "name",
        "type",
        "aliases",
        "access",
        "address",
        "role",
        "writer",
        "requestedStatus",
        "currentStatus",
        "statusMessage",
        "default",
        "home",
        "constituents",
    ),
    "settings": ("name", "value", "isDynamic", "description"),
    "decay_profiles": ("kind", "name", "scope", "target", "profileRef", "enabled"),
    "promotion_profiles": ("name", "scope", "multiplier", "scoreFloor", "scoreCap", "enabled"),
    "promotion_policies": (
        "name",
        "scope",
        "target",
        "enabled",
        "whenClauses",
        "onAccessMutations",
    ),
    "retention_policies": (
        "name",
        "scope",
        "target",
        "project",
        "pastSeconds",
        "logPayloadSeconds",
        "accessSeconds",
    ),
}


def _unknown(detail: str, what: str, known: Iterable[str]) -> NoReturn:
    hint = f"SHOW {what} accepts {', '.join(known)}." if known else f"Write SHOW {what}."
    fail(
        f"There is no {detail[:100]} among {what}.",
        kind="ArgumentError",
        detail="InvalidArgumentValue",
        hint=hint,
    )


# Indexes and constraints

_INDEX_KINDS = ("RANGE", "TEXT", "POINT", "FULLTEXT", "VECTOR", "LOOKUP", "BTREE")
_TYPES = {
    "unique": "UNIQUENESS",
    "key": "KEY",
    "exists": "PROPERTY_EXISTENCE",
    "type": "PROPERTY_TYPE",
    "temporal": "TEMPORAL_NO_OVERLAP",
}
_KINDS = {
    "UNIQUE": "unique",
    "UNIQUENESS": "unique",
    "KEY": "key",
    "EXIST": "exists",
    "EXISTS": "exists",
    "EXISTENCE": "exists",
    "TYPE": "type",
    "VALUES": "values",
    "TEMPORAL": "temporal",
    "CARDINALITY": "cardinality",
    "ENDPOINTS": "endpoints",
}


def _indexes(run: Any, detail: str) -> Rows:
    if detail and detail not in _INDEX_KINDS:
        _unknown(detail, "INDEXES", _INDEX_KINDS)
    declared = run.graph.reader.declared()
    for rule in declared.indexes.rules:
        kind = rule.kind.upper()
        if detail in ("", kind):
            entity = "RELATIONSHIP" if rule.edge else "NODE"
            owner = declared.constraints.by_name.get(rule.owner)
            creates = _index_command(rule) if owner is None else _constraint_command(owner)
            yield (
                rule.id,
                rule.name,
                "ONLINE",
                100.0,
                kind,
                entity,
                list(rule.names),
                list(rule.properties),
                f"doxa-{rule.kind}",
                rule.owner,
                None,
                0,
                rule.options,
                creates,
            )


def _constraints(run: Any, detail: str) -> Rows:
    words = [word for word in detail.split() if word != "PROPERTY"]
    entities = {"NODE": "NODE", "RELATIONSHIP": "RELATIONSHIP", "REL": "RELATIONSHIP"}
    about = entities[words.pop(0)] if words and words[0] in entities else ""
    wanted = _KINDS.get(words[0], "") if len(words) == 1 else ""
    if words and not wanted:
        _unknown(detail, "CONSTRAINTS", ("NODE", "RELATIONSHIP", *_KINDS))
    for number, rule in enumerate(run.graph.reader.declared().constraints.rules, start=1):
        entity = "RELATIONSHIP" if rule.edge else "NODE"
        if wanted in ("", rule.kind) and about in ("", entity):
            of_type = rule.detail[0] if rule.kind == "type" else None
            owned = rule.name if rule.entries is not None else None
            properties = list(rule.properties) or None
            yield (
                number,
                rule.name,
                _type(rule),
                entity,
                [rule.about],
                properties,
                owned,
                of_type,
                {},
                _constraint_command(rule),
            )


def _type(rule: ConstraintRule) -> str:
    """The name of the type in Neo4j."""
    kind = _TYPES.get(rule.kind, rule.kind.upper())
    if rule.kind in ("exists", "type", "key"):
        return f"{'RELATIONSHIP' if rule.edge else 'NODE'}_{kind}"
    return f"RELATIONSHIP_{kind}" if rule.kind == "unique" and rule.edge else kind


def _target(names: tuple[str, ...], properties: tuple[str, ...], *, edge: bool) -> t.SchemaTarget:
    return t.SchemaTarget(edge, "r" if edge else "n", names, properties)


def _index_command(rule: IndexRule) -> str:
    options = written(rule.options) if rule.options else None
    return schema_command(
        t.CreateIndex(
            rule.kind,
            rule.name,
            _target(rule.names, rule.properties, edge=rule.edge),
            False,
            options,
        )
    )


def _constraint_command(rule: ConstraintRule) -> str:
    detail = (
        (written([_revived(value) for value in rule.detail]),)
        if rule.kind == "values"
        else rule.detail
    )
    return schema_command(
        t.CreateConstraint(
            rule.kind,
            rule.name,
            _target((rule.about,), rule.properties, edge=rule.edge),
            False,
            detail,
        )
    )


_WRITTEN: dict[Any, str] = {
    temporal.Date: "date",
    temporal.DateTime: "datetime",
    temporal.LocalDateTime: "localdatetime",
    temporal.Time: "time",
    temporal.LocalTime: "localtime",
    temporal.Duration: "duration",
}
_STRUCTS: dict[frozenset[str], Any] = {
    frozenset(kind.__struct_fields__): kind for kind in (*_WRITTEN, spatial.Point)
}


def _revived(value: Any) -> Any:
    """Restore a value of a constraint's list: the catalogue stores a date, say, as a map of its
    fields. No property is a map."""
    kind = _STRUCTS.get(frozenset(value)) if isinstance(value, dict) else None
    return value if kind is None else kind(**value)


def written(value: Any) -> t.Expression:
    """Return the expression that evaluates to a value."""
    if isinstance(value, dict):
        return t.MapOf(tuple((key, written(item)) for key, item in value.items()))
    if isinstance(value, list):
        return t.ListOf(tuple(written(item) for item in value))
    if isinstance(value, spatial.Point):
        axes = {"srid": value.srid, "x": value.x, "y": value.y} | (
            {} if value.z is None else {"z": value.z}
        )
        return t.Call("point", (written(axes),))
    name = _WRITTEN.get(type(value))
    return t.Literal(value) if name is None else t.Call(name, (t.Literal(text_of(value)),))


# Functions and procedures


def _functions(run: Any, detail: str) -> Rows:
    if detail not in ("", "BUILT IN", "USER DEFINED"):
        _unknown(detail, "FUNCTIONS", ("BUILT IN", "USER DEFINED"))
    for _, item in sorted(FUNCTIONS.items()) if detail != "USER DEFINED" else ():
        kind, about = (
            ("Aggregating", "Over the rows of a group.") if item.aggregate else ("Scalar", "")
        )
        yield item.name, kind, about, function_signature(item), item.aggregate, True


def function_signature(item: Signature) -> str:
    """Format a signature: size(input :: LIST | STRING) :: INTEGER"""
    several = len(item.args) > 1
    args = [
        f"input{number if several else ''} :: {_accepted(arg)}"
        for number, arg in enumerate(item.args, start=1)
    ]
    return f"{item.name}({', '.join(args)}) :: {_typed(item.result)}"


def _typed(name: str) -> str:
    return name.replace("edge", "relationship").upper()


def _accepted(arg: Argument) -> str:
    names = " | ".join(sorted(map(_typed, arg.accepts))) or "ANY"
    return f"{names} ..." if arg.repeats else f"{names}?" if arg.optional else names


def procedure_signature(item: ProcedureSignature) -> str:
    """Format a signature: db.labels() :: (label :: STRING)"""
    least = len(item.args) - item.optional
    args = [
        f"{name}{' = null' if number >= least else ''} :: {kind}"
        for number, (name, kind) in enumerate(item.args)
    ]
    results = (
        f"({', '.join(f'{name} :: {kind}' for name, kind in item.results)})"
        if item.results
        else "VOID"
    )
    return f"{item.name}({', '.join(args)}) :: {results}"


def _procedures(registry: Registry) -> Callable[..., Rows]:
    def show(run: Any, detail: str) -> Rows:
        if detail:
            _unknown(detail, "PROCEDURES", ())
        listed = [
            item.signature
            for item in registry.all()
            if not item.signature.name.startswith("doxa.show.")
        ]
        return [
            (
                item.name,
                item.description,
                "WRITE" if item.writes else "READ",
                False,
                procedure_signature(item),
            )
            for item in listed
        ]

    return show


# Databases and settings


def _databases(run: Any, detail: str) -> Rows:
    known = getattr(run.session, "databases", ()) or ("doxa",)
    for name in known:
        home = name == known[0]
        named = ("", name.upper(), *(("DEFAULT", "HOME", "NEO4J") if home else ()))
        if detail not in named:
            continue
        yield (
            name,
            "standard",
            ["neo4j"] if home else [],
            "read-write",
            "localhost",
            "primary",
            True,
            "online",
            "online",
            "",
            home,
            home,
            [],
        )


def _settings(run: Any, detail: str) -> Rows:
    if detail:
        _unknown(detail, "SETTINGS", ())
    for name, value in sorted(vars(limits).items()):
        if name.isupper():
            yield name, str(value), False, "A limit; the guide to settings describes it."


def register_shows(registry: Registry) -> None:
    shows: tuple[tuple[str, Callable[..., Rows]], ...] = (
        ("indexes", _indexes),
        ("constraints", _constraints),
        ("functions", _functions),
        ("procedures", _procedures(registry)),
        ("databases", _databases),
        ("settings", _settings),
        ("decay_profiles", decay_profiles),
        ("promotion_profiles", promotion_profiles),
        ("promotion_policies", promotion_policies),
        ("current_user", current_user),
        ("retention_policies", retention_policies),
    )
    by_id: tuple[tuple[str, Callable[..., Rows]], ...] = (
        ("transactions", transactions),
        ("terminated_transactions", terminate),
    )
    for what, call in (*((what, _upper(call)) for what, call in shows), *by_id):
        results = tuple((column, _COLUMN_TYPES.get(column, "ANY")) for column in _COLUMNS[what])
        signature = ProcedureSignature(
            f"doxa.show.{what}",
            (("detail", "ANY" if what in _BY_ID else "STRING"),),
            results,
            optional=1,
            description=f"SHOW {what.upper()}.",
        )
        registry.add(RegisteredProcedure(signature, call))


def _upper(call: Callable[..., Rows]) -> Callable[..., Rows]:
    return lambda run, detail=None: call(run, (detail or "").upper())


_COLUMN_TYPES = dict.fromkeys(
    ("name", "category", "description", "signature", "mode", "createStatement"), "STRING"
) | dict.fromkeys(("aggregating", "isBuiltIn", "worksOnSystem"), "BOOLEAN")
