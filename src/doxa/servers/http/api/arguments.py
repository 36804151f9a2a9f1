"""The arguments of a request: their schemas, and how a query string and a JSON body become the
arguments of a verb. Both are made from the parameters of the table.

What does not follow its schema is refused here, with status 400; what follows it, and the verb
cannot use, is refused by the verb.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from doxa.app.verbs import Kind, Parameter
from doxa.app.verbs.resources import NARROWED, Resource
from doxa.base.errors import InputError

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_KREF = "An address: kref://project/space/name.kind[?r=N]"
_SCALAR = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
_FACT = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "string"}, _SCALAR],
    "minItems": 3,
    "maxItems": 3,
    "description": "[subject, predicate, value]",
}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_INTEGER = {"type": "integer", "format": "int64", "minimum": _INT_MIN, "maximum": _INT_MAX}
SCHEMAS: Mapping[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "time": {"type": "string"},
    "kref": {"type": "string"},
    "belief": {"type": "string"},
    "object": {"type": "string"},
    "texts": _TEXTS,
    "krefs": _TEXTS,
    "fact": _FACT,
    "facts": {"type": "array", "items": _FACT},
    "sentences": {"type": "array", "items": {}},
    "mapping": {"type": "object", "additionalProperties": {}},
    "source": {"type": "array", "items": {"type": "object", "additionalProperties": {}}},
    "change": _INTEGER,
    "integer": _INTEGER,
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
}
# JSON has one kind of number: 3.0 is a whole number too.
_int = Annotated[int, msgspec.Meta(ge=_INT_MIN, le=_INT_MAX)] | float
_triple = tuple[str, str, str | bool | int | float]
_TYPES: Mapping[Kind, Any] = {
    "text": str,
    "time": str,
    "kref": str,
    "belief": str,
    "object": str,
    "texts": tuple[str, ...],
    "krefs": tuple[str, ...],
    "fact": _triple,
    "facts": tuple[_triple, ...],
    "sentences": tuple[Any, ...],
    "mapping": dict[str, Any],
    "source": tuple[dict[str, Any], ...],
    "change": _int,
    "integer": _int,
    "number": float,
    "flag": bool,
}
_MANY: tuple[Kind, ...] = ("texts", "krefs")
_INTEGERS: tuple[Kind, ...] = ("integer", "change")
_WHOLE = re.compile(r"-?[0-9]{1,19}")


def choices_of(resource: Resource, parameter: Parameter) -> tuple[str, ...]:
    """Return the values that a parameter may have; none: any."""
    return NARROWED.get((resource.verb.name, parameter.name), parameter.choices)


def argument_schema(resource: Resource, parameter: Parameter) -> dict[str, Any]:
    """Return the JSON Schema of an argument."""
    schema = dict(SCHEMAS[parameter.kind])
    choices = choices_of(resource, parameter)
    if choices:
        schema["enum"] = list(choices)
    if parameter.doc:
        schema["description"] = parameter.doc
    default = _default(parameter.default)
    if default is not None:
        schema["default"] = default
    return schema


def _default(value: object) -> object:
    """Return a default that JSON has; None where there is none to tell."""
    if isinstance(value, tuple) and value:
        return list(value)
    return value if isinstance(value, (str, bool, int, float)) and value != "" else None


def body_schema(resource: Resource) -> dict[str, Any]:
    """Return the JSON Schema of the body of a POST."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: argument_schema(resource, one) for one in resource.arguments},
        "additionalProperties": False,
    }
    required = [one.name for one in resource.arguments if one.required]
    if required:
        schema["required"] = required
    return schema


class ArgumentReader:
    """Reads the arguments of one resource. What is not given is left out, so that the verb's own
    default holds."""

    def __init__(self, resource: Resource) -> None:
        self._name = resource.verb.name
        self._known = {one.name: one for one in resource.arguments}
        made: list[tuple[str, Any, Any] | tuple[str, Any]] = []
        for one in resource.arguments:
            choices = choices_of(resource, one)
            kind = Literal[choices] if choices else _TYPES[one.kind]
            if one.required:
                made.append((one.name, kind))
            else:
                made.append((one.name, kind | msgspec.UnsetType, msgspec.UNSET))
        made.sort(key=len)
        shape = msgspec.defstruct(
            resource.verb.name, made, frozen=True, forbid_unknown_fields=True, kw_only=True
        )
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(shape).decode
        self._shape = shape
        self._names = tuple(self._known)
        self._integers = [one.name for one in resource.arguments if one.kind in _INTEGERS]

    def body(self, data: bytes) -> dict[str, Any]:
        """Read a JSON body. Raises InputError."""
        try:
            found = self._decode(data or b"{}")
        except RecursionError:
            raise _unfit(self._name, "it is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeError) as error:
            raise _unfit(self._name, str(error)) from None
        return self._given(found)

    def query(self, items: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Read a query string. Raises InputError."""
        found: dict[str, Any] = {}
        for name, value in items:
            parameter = self._known.get(name)
            if parameter is None:
                raise InputError(
                    f"{self._name} has no argument {name[:40]!r}.",
                    next_step=f"Use {', '.join(self._known) or 'none'}.",
                    field=name[:80],
                )
            if parameter.kind in _MANY:
                found.setdefault(name, []).append(value)
            elif name in found:
                raise _unfit(self._name, f"{name} is given twice", field=name)
            else:
                found[name] = _parsed(parameter, value, self._name)
        try:
            return self._given(msgspec.convert(found, self._shape))
        except msgspec.ValidationError as error:
            raise _unfit(self._name, str(error)) from None

    def _given(self, found: Any) -> dict[str, Any]:
        values = ((name, getattr(found, name)) for name in self._names)
        given = {name: value for name, value in values if value is not msgspec.UNSET}
        for name in self._integers:
            value = given.get(name)
            if type(value) is float:
                if not value.is_integer() or not _INT_MIN <= value <= _INT_MAX:
                    raise _unfit(self._name, f"{name} is not a whole number", field=name)
                given[name] = int(value)
        return given


def _parsed(parameter: Parameter, value: str, verb: str) -> Any:
    if parameter.kind in _INTEGERS:
        if not _WHOLE.fullmatch(value) or not value.isascii():
            raise _unfit(verb, f"{parameter.name} is not a whole number", field=parameter.name)
        return int(value)
    if parameter.kind == "flag":
        if value not in ("true", "false"):
            raise _unfit(verb, f"{parameter.name} is not true or false", field=parameter.name)
        return value == "true"
    if parameter.kind == "number":
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or "_" in value or value != value.strip():
            raise _unfit(verb, f"{parameter.name} is not a number", field=parameter.name)
        return found
    return value


def _unfit(verb: str, reason: str, **fields: object) -> InputError:
    return InputError(
        f"{verb} cannot take these arguments: {reason[:500]}.",
        next_step="Follow the schema of /v1/openapi.json.",
        **fields,
    )
