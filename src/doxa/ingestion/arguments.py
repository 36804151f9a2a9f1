"""What callers give to a verb, checked before anything happens: each wrong argument is an
InputError that names its field.

The verbs of app.py take what is natural to write (a path as text, a time as ISO 8601, facts as
triples); the rooms below take exact types. This is the way from one to the other, and the list of
fields that a belief has for its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from doxa.base.clock import TIME_MAX, parse_time
from doxa.base.errors import InputError, StoreError
from doxa.base.ids import ROLES
from doxa.base.values import Value, check_text
from doxa.belief import Fact, Kref, check_name, parse_fact
from doxa.belief.types import ENRICHMENTS
from doxa.language.turns import refuse_seconds
from doxa.logic.sentence import Atom, Sentence, parse_sentence

Time = str | int | datetime
Facts = Iterable[Sequence[object]]


class RevisionFields(TypedDict, total=False):
    """What a new revision may say beside its text. Who says it is the session's, and when is the
    store's."""

    facts: Facts
    sentences: Iterable[object]
    title: str
    topics: Iterable[str]
    keywords: Iterable[str]
    valid_from: Time | None
    valid_until: Time | None
    confidence: float
    trust: str
    metadata: Mapping[str, Value] | None
    embedding_text: str
    events: Iterable[str]
    implications: Iterable[str]
    questions: Iterable[str]
    decisions: Iterable[str]
    entities: Iterable[str]


class ReplacementFields(RevisionFields, total=False):
    """The same for a replacement, which may have an address of its own."""

    project: str
    space: str
    name: str
    kind: str


def revision_fields(fields: Mapping[str, Any], shape: type[RevisionFields]) -> dict[str, Any]:
    """The given fields as a Draft takes them, and no others; `embedding_text` stays a field of its
    own. Raises InputError."""
    known = shape.__annotations__.keys()
    unknown = sorted(set(fields) - known)
    if unknown:
        raise InputError(
            f"Here a belief takes no field {', '.join(unknown)[:200]}.",
            next_step=f"Use one of {', '.join(sorted(known))}.",
            field="fields",
        )
    found: dict[str, Any] = dict(fields)
    for name, value in fields.items():
        if name in ("valid_from", "valid_until"):
            found[name] = time(value, name)
        elif name in ("topics", "keywords", *ENRICHMENTS):
            found[name] = texts(value, name)
        elif name == "facts":
            found[name] = facts(value)
        elif name == "sentences":
            found[name] = sentences(value)
        elif name == "metadata":
            found[name] = mapping(value)
        elif name != "confidence":
            text(value, name)
    return found


def check_kind(kind: object) -> None:
    """A bundle has members and no revisions: `bundle` makes it, and nothing states one. (Kinds of
    conversations are refused by belief.)"""
    if kind == "bundle":
        raise InputError(
            "A belief cannot be of kind 'bundle': a bundle groups beliefs.",
            next_step="Choose another kind, or use bundle.",
            field="kind",
        )


def texts(values: Iterable[str], field: str) -> tuple[str, ...]:
    """Several texts; one text alone is refused, because its characters are not what was meant."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"{field} is a list of texts; this is {type(values).__name__}.",
            next_step=f"Give {field} as a list.",
            field=field,
        )
    found = tuple(values)
    for item in found:
        if not isinstance(item, str):
            raise InputError(
                f"{field} holds texts; this is {type(item).__name__}.",
                next_step="Give each as text.",
                field=field,
            )
        check_text(item, field=field)
    return found


def text(value: object, field: str) -> None:
    if not isinstance(value, str):
        raise InputError(
            f"{field} is text; this is {type(value).__name__}.",
            next_step="Give it as text.",
            field=field,
        )
    check_text(value, field=field)


def whole(value: object, field: str, *, optional: bool = False) -> None:
    if not (value is None and optional) and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TIME_MAX
    ):
        raise InputError(
            f"{field} is a whole number from 0; this is {value!r:.60}.",
            next_step="Give such a number.",
            field=field,
        )


def flags(**values: object) -> None:
    """Yes or no, and nothing that only counts as one: the text "no" would be a yes."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(
                f"{name} is true or false; this is {value!r:.60}.",
                next_step="Give True or False.",
                field=name,
            )


def context(value: object) -> dict[str, Any]:
    """What a conversation is known by: a map of names."""
    if value is None:
        return {}
    if not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise InputError(
            f"A context is a map of names, not {value!r:.40}.",
            next_step='Give it as {"session": "s1"}.',
            field="context",
        )
    return dict(value)


def project(value: object) -> None:
    """The name of a project, or nothing."""
    text(value, "project")
    if value:
        check_name(str(value), what="project")


def facts(values: Facts) -> tuple[Fact, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"facts is a list of triples; this is {type(values).__name__}.",
            next_step="Give [[s, p, v], ...].",
            field="facts",
        )
    return tuple(parse_fact(fact) for fact in values)


def sentences(values: Iterable[object]) -> tuple[Sentence, ...]:
    """Several sentences, each as parse_sentence takes it."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(
            f"sentences is a list; this is {type(values).__name__}.",
            next_step="Give [sentence, ...].",
            field="sentences",
        )
    return tuple(map(parse_sentence, values))


def stated(value: object) -> tuple[Sentence, ...]:
    """What a caller states or gives up by its content: one sentence, or a list of them."""
    if (
        isinstance(value, (list, tuple))
        and value
        and not isinstance(value[0], str)
        and not isinstance(value, Atom)
    ):
        return sentences(value)
    return (parse_sentence(value),)


def is_address(value: object) -> bool:
    """Whether a caller names a belief by its address; else by what it says."""
    return isinstance(value, Kref) or (isinstance(value, str) and value[:1] not in ("[", "{"))


def mapping(value: Mapping[str, Any] | None) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise InputError(
            f"metadata is a mapping; this is {type(value).__name__}.",
            next_step="Give {'name': value}.",
            field="metadata",
        )
    for name in value or ():
        text(name, "metadata")
    return dict(value or {})


def metadata(value: Mapping[str, Value] | None, embedding_text: str) -> dict[str, Value]:
    """Metadata with the caller's own text for the vector, where there is one."""
    from doxa.belief.writes import EMBEDDING_TEXT

    if not isinstance(embedding_text, str):
        kind = type(embedding_text).__name__
        raise InputError(
            f"embedding_text is text; this is {kind}.",
            next_step="Give it as text, or leave it out.",
            field="embedding_text",
        )
    return mapping(value) | ({EMBEDDING_TEXT: embedding_text} if embedding_text.strip() else {})


def time(value: Time | None, field: str) -> int | None:
    """A time, or None. Raises InputError; also for an integer that means 1970 as nanoseconds and
    today in a coarser unit."""
    if isinstance(value, int) and not isinstance(value, bool):
        refuse_seconds(value, field)
    return None if value is None else parse_time(value, field=field)


def path(value: str | Path, field: str) -> Path:
    """A path that the system can be asked about, whether or not something is there."""
    try:
        found = Path(value)
        if str(value).strip():
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                found.lstat()
            return found
        reason = "it is empty"
    except (
        TypeError,
        ValueError,
        OSError,
    ) as error:  # no path at all; a NUL or a surrogate in it; too long
        reason = getattr(error, "strerror", None) or (
            "it cannot be encoded" if isinstance(error, UnicodeError) else str(error)
        )
    raise InputError(
        f"{value!r:.80} cannot be a path: {reason}.",
        next_step="Give the path of a file.",
        field=field,
    )


def unusable(place: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{place} cannot be used: {error.strerror or error}.",
        next_step="Check the path, its folder and permissions.",
        path=str(place),
    )


def check_role(role: object) -> None:
    if role not in ROLES:
        raise InputError(
            f"{str(role)[:40]!r} is no role.",
            next_step=f"Use one of {', '.join(ROLES)}.",
            field="role",
        )
