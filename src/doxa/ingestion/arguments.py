"""Check and convert the arguments of operations. Each invalid argument raises an InputError that
names its field.

The public methods accept convenient types (a path as text, a time as ISO 8601, facts as triples);
the packages below them need exact types. This module converts one to the other, and lists the
fields of a belief that a caller can set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from doxa.base.clock import TIME_MAX, parse_time
from doxa.base.errors import InputError, StoreError
from doxa.base.ids import SESSION_ROLES
from doxa.base.values import Value, check_text
from doxa.belief import Fact, Kref, check_name, parse_fact
from doxa.language.turns import refuse_seconds
from doxa.logic.sentence import Atom, Sentence, parse_sentence

Time = str | int | date  # a datetime is a date
Facts = Iterable[Sequence[object]]


def check_kind(kind: object) -> None:
    """Reject the kind `bundle`: a bundle has members and no revisions, and only `bundle` creates
    one. (The belief package rejects the kinds of conversations.)"""
    if kind == "bundle":
        raise InputError(
            "A belief cannot be of kind 'bundle': a bundle groups beliefs.",
            next_step="Choose another kind, or use bundle.",
            field="kind",
        )


def texts(values: Iterable[str], field: str) -> tuple[str, ...]:
    """Check a list of texts. A single text is rejected, since iterating it would give its
    characters."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"{field} must be a list of texts, not {type(values).__name__}.",
            next_step=f"Give {field} as a list.",
            field=field,
        )
    found = tuple(values)
    for item in found:
        if not isinstance(item, str):
            raise InputError(
                f"{field} must contain texts, not {type(item).__name__}.",
                next_step="Give each item as text.",
                field=field,
            )
        check_text(item, field=field)
    return found


def text(value: object, field: str) -> None:
    """Check that a value is storable text."""
    if not isinstance(value, str):
        raise InputError(
            f"{field} must be text, not {type(value).__name__}.",
            next_step="Give it as text.",
            field=field,
        )
    check_text(value, field=field)


def whole(value: object, field: str, *, optional: bool = False) -> None:
    """Check that a value is a non-negative integer, or None if it is optional."""
    if not (value is None and optional) and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TIME_MAX
    ):
        raise InputError(
            f"{field} must be a non-negative integer, not {value!r:.60}.",
            next_step="Give an integer from 0.",
            field=field,
        )


def number(value: object, field: str, *, optional: bool = False) -> None:
    """Check that a value is a finite number from 0, or None if it is optional."""
    if not (value is None and optional) and (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= TIME_MAX  # false of NaN too
    ):
        raise InputError(
            f"{field} must be a number from 0, not {value!r:.60}.",
            next_step="Give a number from 0.",
            field=field,
        )


def flags(**values: object) -> None:
    """Check that values are booleans. Truthiness is not enough: the text "no" is truthy."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(
                f"{name} must be true or false, not {value!r:.60}.",
                next_step="Give True or False.",
                field=name,
            )


def function(value: object, field: str) -> None:
    """Check that a value is a function, or None."""
    if value is not None and not callable(value):
        raise InputError(
            f"{field} is not a function.",
            next_step="Give a function of one number, or leave it out.",
            field=field,
        )


def context(value: object) -> dict[str, Any]:
    """Check the context of a conversation: a mapping with text keys, or None."""
    if value is None:
        return {}
    if not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise InputError(
            f"context must be a mapping with text keys, not {value!r:.40}.",
            next_step='Give it as {"session": "s1"}.',
            field="context",
        )
    return dict(value)


def project(value: object) -> None:
    """Check the name of a project, or an empty text."""
    text(value, "project")
    if value:
        check_name(str(value), what="project")


def facts(values: Facts) -> tuple[Fact, ...]:
    """Parse a list of triples."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"facts must be a list of triples, not {type(values).__name__}.",
            next_step="Give [[s, p, v], ...].",
            field="facts",
        )
    return tuple(parse_fact(fact) for fact in values)


def sentences(values: Iterable[object]) -> tuple[Sentence, ...]:
    """Parse a list of sentences, each in a form that parse_sentence accepts."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(
            f"sentences must be a list, not {type(values).__name__}.",
            next_step="Give [sentence, ...].",
            field="sentences",
        )
    return tuple(map(parse_sentence, values))


def stated(value: object) -> tuple[Sentence, ...]:
    """Parse one sentence, or a list of them."""
    if (
        isinstance(value, (list, tuple))
        and value
        and not isinstance(value[0], str)
        and not isinstance(value, Atom)
    ):
        return sentences(value)
    return (parse_sentence(value),)


def is_address(value: object) -> bool:
    """Return whether a caller names a belief by its address and not by a sentence."""
    return isinstance(value, Kref) or (isinstance(value, str) and value[:1] not in ("[", "{"))


def mapping(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check metadata: a mapping with text keys, or None."""
    if value is not None and not isinstance(value, Mapping):
        raise InputError(
            f"metadata must be a mapping, not {type(value).__name__}.",
            next_step="Give {'name': value}.",
            field="metadata",
        )
    for name in value or ():
        text(name, "metadata")
    return dict(value or {})


def metadata(value: Mapping[str, Value] | None, embedding_text: str) -> dict[str, Value]:
    """Add the caller's embedding text, if there is one, to the metadata."""
    from doxa.belief.writes import EMBEDDING_TEXT

    if not isinstance(embedding_text, str):
        kind = type(embedding_text).__name__
        raise InputError(
            f"embedding_text must be text, not {kind}.",
            next_step="Give it as text, or omit it.",
            field="embedding_text",
        )
    return mapping(value) | ({EMBEDDING_TEXT: embedding_text} if embedding_text.strip() else {})


def time(value: Time | None, field: str) -> int | None:
    """Convert a time to nanoseconds, or None to None. Raises InputError, also for an integer that
    is probably in seconds, milliseconds or microseconds."""
    if isinstance(value, int) and not isinstance(value, bool):
        refuse_seconds(value, field)
    return None if value is None else parse_time(value, field=field)


def path(value: str | Path, field: str) -> Path:
    """Convert a path that the operating system accepts, whether or not a file exists there."""
    try:
        found = Path(value)
        if str(value).strip():
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                found.lstat()
            return found
        reason = "it is empty"
    except (TypeError, ValueError, OSError) as error:
        # not a path; a NUL or a surrogate in it; too long
        reason = getattr(error, "strerror", None) or (
            "it cannot be encoded" if isinstance(error, UnicodeError) else str(error)
        )
    raise InputError(
        f"{value!r:.80} is not a valid path: {reason}.",
        next_step="Give the path of a file.",
        field=field,
    )


def unusable(place: Path, error: OSError) -> StoreError:
    """Build the error for a path that the operating system refuses."""
    return StoreError(
        f"{place} cannot be used: {error.strerror or error}.",
        next_step="Check the path, its folder and permissions.",
        path=str(place),
    )


def check_role(role: object) -> None:
    """Check the name of a role."""
    if role not in SESSION_ROLES:
        raise InputError(
            f"{str(role)[:40]!r} is not a role.",
            next_step=f"Use one of {', '.join(SESSION_ROLES)}.",
            field="role",
        )
