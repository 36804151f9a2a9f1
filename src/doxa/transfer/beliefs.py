"""Beliefs and conversations as lines: format 1 of the export, and what a merge takes from an export
of any format.

    {"type": "doxa-export", "format": 1, "time": ...}
    {"type": "exchange", "kref", "project", "space", "thread", "session", "speaker", "role",
     "text", "time", "id", "caption", ...}                         one turn
    {"type": "revision", "kref", "status", "number", "tags", "project", "space", "name", "kind",
     "summary", ...}                                               item by item, oldest first
    {"type": "artifact", "kref", "location", "sha256", "size_bytes"}
                                                                   directly after its revision
    {"type": "bundle", "kref", "members", "deprecated"}            members in order of joining
    {"type": "edge", "edge", "source", "target", "metadata"}       between revisions and exchanges

Times are ISO 8601 UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import msgspec

from doxa.base.clock import format_time
from doxa.base.ids import NodeId
from doxa.base.values import encode_properties
from doxa.belief import parse_kref, read_exchange, read_revision, revisions_of
from doxa.belief.graph import RETIRED_REVISION, UNSUPPORTED
from doxa.ingestion.ingest import IMPORTED
from doxa.language.turns import TurnRole
from doxa.store import Reader
from doxa.transfer.lines import AnyHeader, ExportFile

_BUNDLES = (
    "SELECT i.id, i.kref, coalesce(i.props ->> '$.deprecated', 0) FROM node_label l JOIN node i ON"
    " i.id = l.node WHERE l.label = 'Item' AND i.kref IS NOT NULL AND (i.id IN (SELECT node FROM"
    " node_label WHERE label = 'Bundle') OR i.id IN (SELECT src FROM edge WHERE type = 'MEMBER'))"
    " ORDER BY i.kref"
)
_MEMBERS = (
    "SELECT m.kref FROM edge e JOIN node m ON m.id = e.dst WHERE e.src = ? AND e.type = 'MEMBER'"
    " AND (EXISTS (SELECT 1 FROM edge r WHERE r.src = m.id AND r.type = 'HAS_REVISION') OR m.id IN"
    " (SELECT node FROM node_label WHERE label = 'Bundle')) ORDER BY e.id"
)

_NOTHING = msgspec.Raw(b"{}")
_Number = Annotated[int, msgspec.Meta(ge=1, le=10**15)]


class ExchangeLine(msgspec.Struct, tag="exchange"):
    kref: str
    project: str
    space: str
    thread: str
    session: str
    speaker: str
    role: TurnRole
    text: str
    time: str
    id: str = ""
    caption: str = ""
    deprecated: bool = False
    entities: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    trust: str = ""
    imported: bool = False


class RevisionLine(msgspec.Struct, tag="revision"):
    kref: str
    item: str
    number: _Number
    status: str
    project: str
    space: str
    name: str
    kind: str
    summary: str
    time: str
    title: str = ""
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str | bool | int | float], ...] = ()
    sentences: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: float = 1.0
    trust: str = "stated"
    author: str = ""
    tags: tuple[str, ...] = ()
    metadata: msgspec.Raw = _NOTHING
    events: tuple[str, ...] = ()
    implications: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


class LinkLine(msgspec.Struct, tag="edge"):
    edge: str
    source: str | None  # None of a node without an address, which format 1 could not name
    target: str | None
    metadata: msgspec.Raw = _NOTHING


class ArtifactLine(msgspec.Struct, tag="artifact"):
    kref: str
    location: str
    sha256: str = ""
    size_bytes: Annotated[int, msgspec.Meta(ge=0)] = 0


class BundleLine(msgspec.Struct, tag="bundle"):
    kref: str
    members: tuple[str, ...] = ()
    deprecated: bool = False


BeliefLine = ExchangeLine | RevisionLine | ArtifactLine | BundleLine | LinkLine
_decoder = msgspec.json.Decoder(BeliefLine | AnyHeader)
_lines_decoder = msgspec.json.Decoder(BeliefLine)


def lines_of_file(source: ExportFile) -> Iterator[tuple[int, BeliefLine]]:
    """Yield (number, line) of a file of format 1. Raises InputError naming the line."""
    first = True
    for number, line in source.lines():
        try:
            value = _decoder.decode(line)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise source.invalid(number, str(error)) from None
        if isinstance(value, AnyHeader) != first:
            raise source.invalid(number, "an export has one header, in its first line")
        first = False
        if not isinstance(value, AnyHeader):
            yield number, value


def lines_of_state(snapshot: Reader) -> Iterator[BeliefLine]:
    """Yield the turns, the items and the bundles of a snapshot; without other edges."""
    for line in _found(snapshot):
        yield _lines_decoder.decode(msgspec.json.encode(line))


def _found(snapshot: Reader) -> Iterator[dict[str, object]]:
    names = {
        node.props.get("kref"): str(node.props.get("name", ""))
        for node in snapshot.labelled("Thread")
    }
    for node in snapshot.labelled("Exchange"):
        said = read_exchange(node)
        yield {
            "type": "exchange",
            "kref": said.kref,
            "project": said.project,
            "space": said.space,
            "thread": names.get(said.thread, ""),
            "session": said.session,
            "speaker": said.speaker,
            "role": said.role,
            "text": said.text,
            "time": format_time(said.time),
            "id": said.source_id,
            "caption": str(node.props.get("caption", "")),
            "deprecated": said.deprecated,
            "entities": said.entities,
            "dates": said.dates,
            "trust": str(node.props.get("trust", "")),
            "imported": IMPORTED in node.labels,
        }
    for item in snapshot.labelled("Item"):
        if item.props.get("kref") is not None:
            yield from _item_lines(snapshot, item.id)
    for bundle, kref, deprecated in snapshot.rows(_BUNDLES):
        members = [row[0] for row in snapshot.rows(_MEMBERS, (bundle,))]
        yield {"type": "bundle", "kref": kref, "members": members, "deprecated": bool(deprecated)}


def _item_lines(reader: Reader, item: NodeId) -> Iterator[dict[str, object]]:
    owner = reader.node(item)
    for node in revisions_of(reader, item):
        held = read_revision(reader, node)
        tags = [tag for tag in held.tags if tag != UNSUPPORTED]  # derived from the edges
        if owner is not None and owner.props.get(RETIRED_REVISION) == held.number:
            tags.append("current")  # it was current when the item was retired
        line = asdict(held) | {
            "type": "revision",
            "name": parse_kref(held.item).name,
            "time": format_time(held.time),
        }
        line["tags"] = sorted(tags)
        del line["created"], line["unsupported"]
        line["metadata"] = msgspec.Raw(encode_properties(dict(held.metadata), owner="Revision"))
        yield line | {
            name: format_time(line[name])
            for name in ("valid_from", "valid_until")
            if line[name] is not None
        }
        for artifact in reader.nodes(
            [edge.dst for edge in reader.edges_out(node.id, "HAS_ARTIFACT")]
        ):
            props = artifact.props
            yield {
                "type": "artifact",
                "kref": props["kref"],
                "location": props["location"],
                "sha256": props.get("sha256", ""),
                "size_bytes": props.get("size_bytes", 0),
            }
