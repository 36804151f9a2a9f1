"""The one schema of what a session becomes, for every producer: rules, models, hosts and commands.

    title, summary      whole sentences that say what the session was about
    events              what happened, when, who took part, what followed
    facts               what holds, with certainty; as subject, predicate and value where it is one
    decisions           what was decided, why and by whom
    actions             what somebody is to do, by when
    commitments         what somebody said they would do, by when
    open_questions      what was asked and not answered
    topics, entities    what and whom it is about
    implications        what it may matter for later, in other words; search texts and no beliefs

Every entry names the turns that it is drawn from in `sources`. What a producer gives is untrusted:
`read_structure` takes what has the right form and counts the rest, `validate` compares each entry
with its turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import CONSOLIDATED_TEXT_CHARS_MAX

# Of what a turn only plans, supposes or reports. It is no more likely than not.
CERTAINTY_RESERVED_MAX = 0.5
Sources = Annotated[tuple[str, ...], Meta(description="Ids of the turns it is drawn from.")]
Day = Annotated[str, Meta(description="ISO 8601 date, as 2026-03-02, 2026-03 or 2026; else empty.")]
Status = Literal["open", "done", "cancelled"]
Modality = Annotated[
    Literal["", "planned", "hedged", "hypothetical", "reported"],
    Meta(description="Leave it empty: it is read from the words of the entry."),
]


class TextEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence of the title, the summary, a topic or an implication."""

    text: str
    sources: Sources = ()


class EventEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened."""

    event: Annotated[str, Meta(description="One sentence with its subject's name.")]
    when: Annotated[str, Meta(description="The time in the words of the turn.")] = ""
    date: Day = ""
    participants: tuple[str, ...] = ()
    consequence: Annotated[str, Meta(description="What followed from it, if a turn says so.")] = ""
    modality: Modality = ""
    sources: Sources = ()


class FactEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds. Subject, predicate and value are given together or not at all."""

    claim: Annotated[str, Meta(description="One sentence with its subject's name.")]
    subject: str = ""
    predicate: str = ""
    value: str = ""
    certainty: Annotated[float, Meta(description="From 0 to 1.")] = 0.7
    modality: Modality = ""
    sources: Sources = ()


class DecisionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was decided."""

    decision: Annotated[str, Meta(description="One sentence.")]
    reason: Annotated[str, Meta(description="Why, if a turn says so.")] = ""
    by: Annotated[str, Meta(description="Who decided.")] = ""
    sources: Sources = ()


class ActionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do: asked of somebody (an action), or promised (a commitment)."""

    task: Annotated[str, Meta(description="One sentence.")]
    who: Annotated[str, Meta(description="Who is to do it.")] = ""
    by_when: Annotated[str, Meta(description="The time in the words of the turn.")] = ""
    date: Day = ""
    status: Status = "open"
    modality: Modality = ""
    sources: Sources = ()


class QuestionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was asked and not answered."""

    question: str
    by: Annotated[str, Meta(description="Who asked.")] = ""
    sources: Sources = ()


class EntityEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A person, place, organisation or thing that is named."""

    name: str
    kind: Annotated[str, Meta(description="person, place, organisation, product, or empty.")] = ""
    aliases: Annotated[tuple[str, ...], Meta(description="Other names in the turns.")] = ()
    sources: Sources = ()


class Structure(msgspec.Struct, frozen=True, kw_only=True):
    """What a session became."""

    title: TextEntry | None = None
    summary: Annotated[
        tuple[TextEntry, ...], Meta(description="5 to 10 sentences, one entry each.")
    ] = ()
    events: tuple[EventEntry, ...] = ()
    facts: tuple[FactEntry, ...] = ()
    decisions: tuple[DecisionEntry, ...] = ()
    actions: Annotated[tuple[ActionEntry, ...], Meta(description="What is asked of somebody.")] = ()
    commitments: Annotated[
        tuple[ActionEntry, ...], Meta(description="What somebody said they would do.")
    ] = ()
    open_questions: tuple[QuestionEntry, ...] = ()
    topics: tuple[TextEntry, ...] = ()
    entities: tuple[EntityEntry, ...] = ()
    implications: Annotated[
        tuple[TextEntry, ...],
        Meta(
            description="3 to 5 sentences of at most 20 words: situations months later in which"
            " this session would matter, in other words than those of the turns."
        ),
    ] = ()


# The sections with several entries, the type of an entry, the field that says what it is, and the
# most that are kept of a session.
SECTIONS: Mapping[str, tuple[type[Any], str, int]] = {
    "summary": (TextEntry, "text", 12),
    "events": (EventEntry, "event", 40),
    "facts": (FactEntry, "claim", 40),
    "decisions": (DecisionEntry, "decision", 20),
    "actions": (ActionEntry, "task", 20),
    "commitments": (ActionEntry, "task", 20),
    "open_questions": (QuestionEntry, "question", 20),
    "topics": (TextEntry, "text", 12),
    "entities": (EntityEntry, "name", 40),
    "implications": (TextEntry, "text", 5),
}


def schema() -> dict[str, Any]:
    """Return the JSON schema of a structure, as models, hosts and commands are given it."""
    return msgspec.json.schema(Structure)


def entries(structure: Structure) -> Iterator[tuple[str, Any]]:
    """Yield every entry with its section, the title first."""
    if structure.title is not None:
        yield "title", structure.title
    for section in SECTIONS:
        for entry in getattr(structure, section):
            yield section, entry


def says(section: str, entry: Any) -> str:
    """Return what an entry says in one text."""
    name = "text" if section == "title" else SECTIONS[section][1]
    return str(getattr(entry, name))


def read_structure(value: object) -> tuple[Structure, Counter[str]]:
    """Read what a producer gave: a mapping or JSON text. Entries that have another form are left
    out and counted. Raises InputError for what is not a structure at all, and LimitError."""
    if isinstance(value, Structure):
        return value, Counter()
    if isinstance(value, (str, bytes)):
        value = _decoded(value)
    if not isinstance(value, Mapping):
        raise _refusal(f"it is {type(value).__name__}")
    if not value.keys() & Structure.__struct_fields__:
        raise _refusal("it has none of the sections")
    lost: Counter[str] = Counter()
    given: dict[str, Any] = {}
    title = value.get("title")
    if title:
        said = {"text": title} if isinstance(title, str) else title
        given["title"] = _entry(said, TextEntry, lost)
    for section, (kind, _, _) in SECTIONS.items():
        listed = value.get(section)
        if listed is None:
            continue
        if not isinstance(listed, (list, tuple)):
            lost["malformed"] += 1
            continue
        found = (_entry(entry, kind, lost) for entry in listed)
        given[section] = tuple(entry for entry in found if entry is not None)
    return Structure(**given), lost


def _entry(value: object, kind: type[Any], lost: Counter[str]) -> Any:
    if isinstance(value, kind):
        return value
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        lost["malformed"] += 1
        return None


def _decoded(text: str | bytes) -> object:
    if len(text) > CONSOLIDATED_TEXT_CHARS_MAX:
        raise LimitError(
            f"The structure has {len(text):,} characters; the limit is"
            f" {CONSOLIDATED_TEXT_CHARS_MAX:,}.",
            next_step="Consolidate fewer turns at a time.",
            limit_chars=CONSOLIDATED_TEXT_CHARS_MAX,
        )
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise _refusal("it is not JSON") from None


def _refusal(reason: str) -> InputError:
    return InputError(
        f"This is not the structure of a session: {reason}.",
        next_step="Give one object with the sections of the schema.",
        field="structure",
    )
