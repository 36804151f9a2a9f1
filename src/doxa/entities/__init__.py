"""Whom and what memory is about: entities, their names, who mentions them, and which are one."""

from doxa.entities.mentioning import Mentioner, mention
from doxa.entities.merging import merge, split, verify
from doxa.entities.patterns import PathYield, path_yields
from doxa.entities.pending import list_pending, resolve_pending
from doxa.entities.reading import class_of, list_entities, read_entity, root_at
from doxa.entities.recording import Recorded, record
from doxa.entities.types import (
    Alias,
    CandidateEntity,
    EntityInfo,
    EntityPage,
    Mention,
    PendingMention,
    RelatedEntity,
    Resolution,
    Triple,
)

__all__ = [
    "Alias",
    "CandidateEntity",
    "EntityInfo",
    "EntityPage",
    "Mention",
    "Mentioner",
    "PathYield",
    "PendingMention",
    "Recorded",
    "RelatedEntity",
    "Resolution",
    "Triple",
    "class_of",
    "list_entities",
    "list_pending",
    "mention",
    "merge",
    "path_yields",
    "read_entity",
    "record",
    "resolve_pending",
    "root_at",
    "split",
    "verify",
]
