"""Entities as data. Times are integer nanoseconds UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decision = Literal["exact", "new", "assume", "defer", "ask"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a mention was taken for: the address of an entity, or of the pending mention where the
    decision is `defer` or `ask`. `score` is the probability of the entity."""

    decision: Decision
    kref: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity: the address of the name, why it is one, and what said so."""

    name: str
    kref: str
    why: str
    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class Mention:
    """Where an entity is mentioned: the address of the turn or revision, the name as it is written
    there, why it is this entity, by which rule or model, and how probably."""

    kref: str
    name: str
    why: str
    rule: str
    confidence: float
    time: int


@dataclass(frozen=True, slots=True)
class RelatedEntity:
    """An entity that is mentioned together with another, and in how many sources."""

    kref: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact that a current belief states about an entity. `kref` is the belief, `source` what it
    was derived from."""

    subject: str
    predicate: str
    value: str
    confidence: float
    trust: str
    kref: str
    source: str


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """An entity in a list. `mentions` counts the sources; first and last are the times of the
    earliest and latest, None without any."""

    kref: str
    name: str
    kind: str
    trust: str
    aliases: tuple[str, ...]
    mentions: int
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class EntityPage:
    """One entity: its names, its latest mentions, what is mentioned with it, and what is believed
    about it. `asked` is the address that was asked for, where it leads here."""

    kref: str
    asked: str
    name: str
    kind: str
    trust: str
    aliases: tuple[Alias, ...]
    count: int
    first: int | None
    last: int | None
    mentions: tuple[Mention, ...]
    related: tuple[RelatedEntity, ...]
    facts: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class CandidateEntity:
    """An entity that a pending mention may mean, how probably, and why."""

    kref: str
    name: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class PendingMention:
    """A name of which memory does not know whom or what it means. `state` is `defer` while more
    sources may tell, `ask` when a person is needed, then `answered`."""

    kref: str
    name: str
    kind: str
    state: str
    reason: str
    sources: tuple[str, ...]
    candidates: tuple[CandidateEntity, ...]
    answer: str
