"""Whether a note says what is believed: its text, fields, tags, links and files, and not who stated
it when."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from doxa.base.values import canonical, encode_properties
from doxa.belief import Draft, parse_kref
from doxa.belief.types import ENRICHMENTS
from doxa.logic.sentence import parse_sentence
from doxa.redaction.redact import redact
from doxa.store import Reader
from doxa.transfer.beliefs import ArtifactLine
from doxa.transfer.merge import draft_of
from doxa.transfer.vault.notes import NOT_TAGS, Note, NoteLink
from doxa.transfer.vault.state import HeldNote


def said_by(reader: Reader, note: Note, coming: Collection[str]) -> tuple[object, ...]:
    """Return what a note says, to be compared with what is believed. A link that leads nowhere
    says nothing."""
    assert note.line is not None
    draft, _ = draft_of(note.line)
    links = [
        link
        for link in note.links
        if link.target in coming or reader.node_by_kref(link.target) is not None
    ]
    return _compared(draft, note.line.tags, links, note.artifacts)


def said_here(held: HeldNote) -> tuple[object, ...]:
    said = held.held
    assert said is not None
    draft = Draft(
        summary=said.summary,
        title=said.title,
        topics=said.topics,
        keywords=said.keywords,
        facts=said.facts,
        sentences=tuple(map(parse_sentence, said.sentences)),
        valid_from=said.valid_from,
        valid_until=said.valid_until,
        confidence=said.confidence,
        trust=said.trust,
        metadata=said.metadata,
        **{name: getattr(said, name) for name in ENRICHMENTS},
    )
    return _compared(draft, said.tags, held.links, held.artifacts)


def _compared(
    draft: Draft,
    tags: Iterable[str],
    links: Iterable[NoteLink],
    artifacts: Iterable[ArtifactLine],
) -> tuple[object, ...]:
    content = draft.content() | {"summary": draft.summary.strip()}
    return (
        encode_properties(content, owner="Revision"),
        frozenset(tags) - NOT_TAGS,
        {
            (link.kind, str(parse_kref(link.target).item()), _sorted(link.properties))
            for link in links
        },
        {
            (parse_kref(one.kref).artifact, redact(one.location).text, one.sha256, one.size_bytes)
            for one in artifacts
        },
    )


def _sorted(properties: bytes) -> bytes:
    return canonical(msgspec.json.decode(properties))
