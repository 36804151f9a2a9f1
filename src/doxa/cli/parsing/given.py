"""What a command line gives, as the verbs take it: facts, statements and values by name out of
their texts, and a text from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from doxa.app.verbs import UNSET, Kind, Parameter, Verb

_FACT = 'Write a fact as ["Ana", "lives in", "Berlin"].'
_OBJECT = 'Give a JSON object, such as {"name": "value"}.'


def converted(verb: Verb, parameter: Parameter, value: Any) -> Any:
    """Return the value of a parameter of a verb, as its method takes it."""
    if parameter.name == "project" and value == "":  # its meaning before all projects had a name
        return None if verb.writes or verb.name == "rules" else "*"
    if parameter.kind == "time" and value == "" and parameter.default is UNSET:
        return None  # an empty time removes a bound
    if value == "-" and parameter.positional and parameter.name == "text":
        return standard_input()
    if parameter.kind == "mapping":
        return mapping(value, parameter.name)
    convert = _CONVERT.get(parameter.kind)
    return value if convert is None else convert(value)


def standard_input() -> str:
    """Read a text from standard input, up to one byte more than the store accepts."""
    from doxa.base.errors import InputError
    from doxa.base.limits import TEXT_BYTES_MAX

    data = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
    try:
        return data.decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(
            f"Standard input is not UTF-8 text at byte {error.start}.",
            next_step="Convert it to UTF-8.",
            field="text",
        ) from None


def _fact_of(text: str) -> tuple[str, str, str]:
    """Split the text of a fact into its three parts."""
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3 or not all(parts):
        from doxa.base.errors import InputError

        raise InputError(
            f"A fact is 'subject|predicate|value'; this is {text[:80]!r}.",
            next_step="Give three parts with | between them.",
            field="fact",
        )
    return parts[0], parts[1], parts[2]


def _belief(text: str) -> Any:
    """An address as it is; a statement as JSON."""
    return _parsed(text) if text[:1] in ("[", "{") else text


def mapping(text: str, field: str, *, of: str = "") -> dict[str, Any]:
    """Read values by name; `of` says which names there are. Raises InputError if the text is not a
    JSON object."""
    from doxa.base.errors import InputError

    step = f"Give a JSON object of {of}." if of else _OBJECT
    found = _json(text, field, step)
    if not isinstance(found, dict):
        raise InputError(f"This is not a JSON object: {text[:80]!r}.", next_step=step, field=field)
    return found


def _json(text: str, field: str, next_step: str) -> Any:
    from doxa.base.errors import InputError

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"This is not JSON: {text[:80]!r}.", next_step=next_step, field=field
        ) from None


def _parsed(text: str) -> Any:
    from doxa.base.errors import InputError

    found = _json(text, "sentence", _FACT)
    if not isinstance(found, (list, dict)):
        raise InputError(
            f"This is not a sentence: {text[:80]!r}.", next_step=_FACT, field="sentence"
        )
    return found


_CONVERT: dict[Kind, Callable[[Any], Any]] = {
    "fact": _fact_of,
    "facts": lambda texts: [_fact_of(text) for text in texts],
    "sentences": lambda texts: [_parsed(text) for text in texts],
    "belief": _belief,
}
