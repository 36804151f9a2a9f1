"""Read the file of the MCP reference server for memory: entities with observations, and relations.

    {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea"]}
    {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"}

One object a line, or one object with `entities` and `relations`. An entity is an entry named after
it, linked to those that its relations lead to; each observation is an entry of its own, with the
name of its entity before it; each relation is a fact. The agent wrote the file, so it is untrusted
until an operator vouches for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from doxa.base.limits import IMPORT_DOCUMENT_BYTES_MAX, IMPORT_ENTRIES_ITEMS_MAX
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.imports.places import inside
from doxa.ingestion.readers.sources import clean, decode, whole_file

_START = re.compile(
    rb'\s*\{\s*"(?:type"\s*:\s*"(?:entity|relation)"|entities"\s*:\s*\[|relations"\s*:\s*\[)'
)

_SPEAKER = "memory-json"


class _MemoryLine(msgspec.Struct):
    type: str = ""
    name: str = ""
    entityType: str = ""
    observations: list[object] = msgspec.field(default_factory=list)
    from_: str = msgspec.field(default="", name="from")
    to: str = ""
    relationType: str = ""


class _MemoryDocument(msgspec.Struct):
    entities: list[msgspec.Raw] = msgspec.field(default_factory=list)
    relations: list[msgspec.Raw] = msgspec.field(default_factory=list)


_line = msgspec.json.Decoder(_MemoryLine)
_document = msgspec.json.Decoder(_MemoryDocument)


@dataclass(slots=True)
class _Graph:
    entities: dict[str, _MemoryLine] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], None] = field(default_factory=dict)


class MemoryJson:
    """The format; see the module."""

    name = "memory-json"
    title = "memory.json of the MCP memory server (entities and relations)"
    own = False
    documents = True
    suffixes = (".json", ".jsonl")

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by the first object of the file."""
        if _START.match(start) is not None:
            return True
        try:
            first = decode(_line, start.lstrip().partition(b"\n")[0])
        except ValueError:
            return False
        return first.type in ("entity", "relation") and bool(first.name or first.relationType)

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the entities with their observations, then the relations."""
        graph = _Graph()
        for place, type, raw in _records(source, log):
            try:
                _add(graph, decode(_line, raw), type)
            except ValueError as error:
                log.skip(f"{source.name}, {place}: {error}")
        links: dict[str, list[tuple[str, str]]] = {}
        for one, kind, other in graph.relations:
            links.setdefault(one, []).append((kind, other))
        for count, entry in enumerate(_entries(source, graph, links), 1):
            if count > IMPORT_ENTRIES_ITEMS_MAX:
                log.skip(f"{source.name}: more than {IMPORT_ENTRIES_ITEMS_MAX:,} entries")
                return
            yield Read(entry)


def _records(source: ImportSource, log: ImportLog) -> Iterator[tuple[str, str, bytes]]:
    """Yield (place, type, JSON) of each record."""
    data = whole_file(source.path, IMPORT_DOCUMENT_BYTES_MAX)
    try:
        document = decode(_document, data)
    except ValueError:
        document = _MemoryDocument()
    if document.entities or document.relations:
        for type, raws in (("entity", document.entities), ("relation", document.relations)):
            for number, raw in enumerate(raws, 1):
                yield f"{type} {number}", type, bytes(raw)
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield f"line {number}", "", line


def _add(graph: _Graph, record: _MemoryLine, type: str) -> None:
    type = record.type or type
    if type == "entity":
        name = clean(record.name).strip()
        if not name:
            raise ValueError("the entity has no name")
        held = graph.entities.setdefault(
            name, _MemoryLine(name=name, entityType=clean(record.entityType).strip())
        )
        for one in record.observations:
            if not isinstance(one, str):
                raise ValueError("an observation is not text")
            held.observations.append(clean(one).strip())
    elif type == "relation":
        ends = tuple(clean(one).strip() for one in (record.from_, record.relationType, record.to))
        if not all(ends):
            raise ValueError("the relation lacks an end or its type")
        graph.relations[ends] = None  # type: ignore[index]
    else:
        raise ValueError(f"{type[:40]!r} is not a type of this format")


def _entries(
    source: ImportSource, graph: _Graph, links: dict[str, list[tuple[str, str]]]
) -> Iterator[ImportedEntry]:
    document = f"memory-json/{inside(source)}"
    for name, held in graph.entities.items():
        kind = held.entityType
        yield ImportedEntry(
            document,
            f"{name} ({kind})" if kind else name,
            name=name,
            title=name,
            role="assistant",
            speaker=_SPEAKER,
            links=tuple(links.get(name, ())),
            metadata={"entity_type": kind} if kind else {},
        )
        for text in dict.fromkeys(map(str, held.observations)):
            if text:
                yield ImportedEntry(
                    document,
                    text if text.startswith(name) else f"{name}: {text}",
                    title=name,
                    role="assistant",
                    speaker=_SPEAKER,
                )
    for one, kind, other in graph.relations:
        yield ImportedEntry(
            document,
            f"{one} {kind.replace('_', ' ')} {other}",
            kind="fact",
            title=one,
            role="assistant",
            speaker=_SPEAKER,
            facts=((one, kind, other),),
        )
