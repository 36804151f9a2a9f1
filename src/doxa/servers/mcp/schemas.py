"""Schemas from the verb table: what a tool takes, as JSON Schema for hosts and as a type that
validates a call, and what a verb returns.

    Tool, Parameter           →  input schema, msgspec.Struct
    the type a verb returns   →  output schema; `encoded` makes a value of it that validates
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from doxa.app.verbs import UNSET, VERBS, Kind, Parameter, Tool, ToolArgument, Verb
from doxa.app.verbs.result_types import result_types
from doxa.base.clock import format_time
from doxa.belief import Fact

_DEPTH_MAX = 0  # below it, a schema says that there is an object, and no more
_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_BELIEF = "kref://project/space/name.kind[?r=N]"
_FACT = {"type": "array", "minItems": 3, "maxItems": 3}
SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "time": {"type": "string"},
    "kref": {"type": "string", "description": _BELIEF},
    "belief": {"type": "string", "description": _BELIEF},
    "krefs": {"type": "array", "items": {"type": "string"}},
    "texts": {"type": "array", "items": {"type": "string"}},
    "path": {"type": "string"},
    "object": {"type": "string"},
    "fact": _FACT,
    "facts": {
        "type": "array",
        "items": _FACT,
        "description": "[subject, predicate, value] triples",
    },
    "sentences": {"type": "array"},
    "mapping": {"type": "object"},
    "source": {"type": "array", "items": {"type": "object"}},
    "change": {"type": "integer"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
}
_TRIPLE = tuple[str, str, str | bool | int | float]
_TYPES: dict[Kind, Any] = {
    "text": str,
    "time": str,
    "kref": str,
    "belief": str,
    "krefs": tuple[str, ...],
    "texts": tuple[str, ...],
    "path": str,
    "object": str,
    "fact": _TRIPLE,
    "facts": tuple[_TRIPLE, ...],
    "sentences": tuple[Any, ...],
    "mapping": dict[str, Any],
    "source": tuple[dict[str, Any], ...],
    "change": int,
    "integer": int,
    "number": float,
    "flag": bool,
}
_KINDS: dict[str, Kind] = {
    "boolean": "flag",
    "integer": "integer",
    "string": "text",
    "array": "texts",
}
# fields that hold a time in nanoseconds
TIMES = frozenset(
    "time created since until valid_from valid_until recorded opened decided at".split()
)
_TEXTS = tuple[str, ...] | None
ERROR = {"type": "object"}


# Arguments


def schema_of(tool: Tool, *, described: bool = False) -> dict[str, Any]:
    """Build the description of a tool that a host receives, from its entry in the verb table.
    `described`: arguments have the descriptions of their parameters."""
    properties, required = {}, []
    for argument in tool.arguments:
        parameter = parameter_of(tool, argument)
        extra = dict(argument.schema)
        needed = extra.pop("required", parameter is not None and parameter.required)
        if needed and argument.default is UNSET:
            required.append(argument.name)
        base = {} if parameter is None else SCHEMAS[parameter.kind]
        if described and parameter is not None:
            base = base | {"description": _short(parameter.doc)}
            if parameter.choices:
                base = base | {"enum": list(parameter.choices)}
        properties[argument.name] = base | extra
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    hints = _WRITES if any(VERBS[name].writes for name in tool.verbs) else _READS
    hints = hints | ({"idempotentHint": True} if tool.idempotent else {})
    hints = hints | ({"destructiveHint": True} if tool.destructive else {})
    hints = hints | ({"openWorldHint": True} if tool.open_world else {})
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": hints,
    }


def _short(doc: str) -> str:
    """A parameter's description without what every schema says already."""
    return doc.removesuffix(".").split(": kref://")[0]


def parameter_of(tool: Tool, argument: ToolArgument) -> Parameter | None:
    """Return the parameter that an argument sets; None if it sets several, or chooses a verb."""
    name = argument.of or argument.name
    found = [one for verb in tool.verbs for one in VERBS[verb].parameters if one.name == name]
    return found[0] if found else None


def arguments_of(tool: Tool, *, unset: bool = False) -> type[msgspec.Struct]:
    """Build the struct that validates a call's arguments, from the tool's entry in the verb
    table. `unset`: what is not given is None, so that the verb's own default holds."""
    made: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for argument in tool.arguments:
        parameter = parameter_of(tool, argument)
        required = argument.schema.get("required", parameter is not None and parameter.required)
        if " " in argument.of:
            inner = _struct(argument.name, [(one, _TEXTS, None) for one in argument.of.split()])
            made.append((argument.name, inner, inner()))
            continue
        kind: Kind = parameter.kind if parameter else _KINDS[str(argument.schema["type"])]
        default = argument.default
        if default is UNSET and parameter is not None and not unset:
            default = parameter.default
        if required and argument.default is UNSET:
            made.append((argument.name, _TYPES[kind]))
        elif default in (None, UNSET):
            made.append((argument.name, _TYPES[kind] | None, None))
        else:
            made.append((argument.name, _TYPES[kind], default))
    return _struct(tool.name, made)


def _struct(name: str, made: list[Any]) -> type[msgspec.Struct]:
    return msgspec.defstruct(name, made, frozen=True, forbid_unknown_fields=True)


# Results


def output_of(verb: Verb) -> dict[str, Any]:
    """Return the schema of what a tool of this verb returns."""
    found = result_types(verb.result)
    if not found:
        return answer_schema({}, ())
    schemas = [type_schema(one) for one in found]
    if len(schemas) == 1 and schemas[0].get("type") == "object":
        return answer_schema(schemas[0].get("properties", {}), schemas[0].get("required", ()))
    if len(schemas) == 1:
        name = "items" if schemas[0].get("type") == "array" else "value"
        return answer_schema({name: schemas[0]}, (name,))
    return answer_schema({"found": _union([{"type": "object"}, {"type": "null"}])}, ("found",))


def answer_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a structured result: these properties, or an error."""
    schema: dict[str, Any] = {"type": "object", "properties": {**properties, "error": ERROR}}
    if required:
        schema["anyOf"] = [{"required": list(required)}, {"required": ["error"]}]
    return schema


def wrapped(value: Any, verb: Verb) -> dict[str, Any]:
    """Return a verb's result as the object that `output_of` describes."""
    data = encoded(value)
    found = result_types(verb.result)
    if len(found) > 1:
        return {"found": data}
    if isinstance(data, dict):
        return data
    return {"items": data} if isinstance(data, list) else {"value": data}


def encoded(value: Any, name: str = "") -> Any:
    """Return a value as JSON has it: data classes and named tuples by field name, times as
    ISO 8601, bytes in hexadecimal."""
    if isinstance(value, int) and name in TIMES and not isinstance(value, bool):
        return format_time(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Fact):
        return list(value)
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encoded(one, str(key)) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encoded(one) for one in value]
    return value.hex() if isinstance(value, bytes) else str(value)


@cache
def type_schema(kind: Any, depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema of a type as `encoded` writes its values."""
    origin, inner = get_origin(kind), get_args(kind)
    simple = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    if kind in simple:
        return {"type": simple[kind]}
    if kind is Fact:
        return _FACT
    if kind in (bytes, Path):
        return {"type": "string"}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return _union([type_schema(one, depth) for one in inner])
    if hasattr(kind, "__supertype__"):
        return type_schema(kind.__supertype__, depth)
    if origin in (tuple, list, set, frozenset) or kind in (tuple, list):
        of = {one for one in inner if one is not Ellipsis}
        schema: dict[str, Any] = {"type": "array"}
        if len(of) == 1 and (item := type_schema(of.pop(), depth)):
            schema["items"] = item
        return schema
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "__annotations__")):
        return _object(kind, depth)
    if (origin is not None and issubclass(origin, Mapping)) or kind is dict:
        return {"type": "object"}
    return {}


def _union(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """A branch for each type: some clients cannot read a list of types."""
    return {"anyOf": schemas} if all(schemas) else {}


def _object(kind: type, depth: int) -> dict[str, Any]:
    """The schema of a class with annotated fields."""
    if depth > _DEPTH_MAX:
        return {"type": "object"}
    try:
        hints = get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers alone
        return {"type": "object"}
    names = [name for name in hints if not name.startswith("_")]
    properties = {}
    for name in names:
        schema = type_schema(hints[name], depth + 1)
        if name in TIMES:
            schema = _with_text(schema)
        properties[name] = schema
    always = [name for name in names if name not in _optional(kind)]
    return {"type": "object", "properties": properties, "required": always}


def _optional(kind: Any) -> set[str]:
    """Return the fields of a class that have a default: a schema does not list them again."""
    if is_dataclass(kind):
        return {
            one.name
            for one in fields(kind)
            if one.default is not MISSING or one.default_factory is not MISSING
        }
    return set(getattr(kind, "_field_defaults", ()))


def _with_text(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a time, which is written as text."""
    if "anyOf" in schema:
        return {"anyOf": [_with_text(one) for one in schema["anyOf"]]}
    return {"type": "string"} if schema.get("type") == "integer" else schema
