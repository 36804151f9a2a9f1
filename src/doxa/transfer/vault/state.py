"""The beliefs of a snapshot as notes say them: what is current, its tags, edges, files and
members."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from doxa.base.values import Value, encode_properties
from doxa.belief import Kref, parse_fact, parse_kref, read_revision
from doxa.belief.graph import RESERVED_EDGES, current_of
from doxa.belief.reading.bundles import BUNDLE_KIND, MEMBER
from doxa.belief.types import ENRICHMENTS, Revision
from doxa.redaction.redact import redact
from doxa.store import Node, Reader
from doxa.transfer.beliefs import ArtifactLine
from doxa.transfer.vault.notes import NoteLink


@dataclass(frozen=True, slots=True)
class HeldNote:
    """What is believed at an item now. `held` None: a bundle that states nothing by itself."""

    item: Kref
    held: Revision | None
    links: tuple[NoteLink, ...]
    artifacts: tuple[ArtifactLine, ...]
    members: tuple[str, ...] | None


def exported_items(reader: Reader, projects: Collection[str] = ()) -> Iterator[Node]:
    """Yield the items that are believed, and the bundles, in the order of their addresses within a
    label's order. `projects`: only of these."""
    for item in reader.labelled("Item"):
        kref = item.props.get("kref")
        if not isinstance(kref, str) or item.props.get("deprecated"):
            continue
        if projects and item.props.get("project") not in projects:
            continue
        if _is_bundle(item, kref) or current_of(reader, item.id) is not None:
            yield item


def held_note(reader: Reader, item: Node) -> HeldNote:
    """Return what is believed at an item, without secrets that rules of today would remove."""
    kref = parse_kref(str(item.props["kref"]))
    current = current_of(reader, item.id)
    members = None
    if _is_bundle(item, str(kref)):
        ends = reader.nodes([edge.dst for edge in reader.edges_out(item.id, MEMBER)])
        members = tuple(str(node.props["kref"]) for node in ends if node.props.get("kref"))
    if current is None:
        return HeldNote(kref, None, (), (), members)
    return HeldNote(
        kref,
        cleaned(read_revision(reader, current)),
        _links(reader, current),
        _artifacts(reader, current),
        members,
    )


def _is_bundle(item: Node, kref: str) -> bool:
    return "Bundle" in item.labels or kref.endswith(f".{BUNDLE_KIND}")


def _links(reader: Reader, current: Node) -> tuple[NoteLink, ...]:
    found = []
    for edge in reader.edges_out(current.id):
        if edge.type in RESERVED_EDGES or not _is_type(edge.type):
            continue
        end = reader.node(edge.dst)
        if end is None or not {"Revision", "Exchange"} & set(end.labels):
            continue
        target = present(reader, str(end.props["kref"]))
        props = encode_properties(edge.props, owner=edge.type)
        found.append(NoteLink(edge.type, target, props))
    return tuple(found)


def present(reader: Reader, target: str) -> str:
    """Return the address of an item for that of its current revision, and any other as it is."""
    kref = parse_kref(target)
    if kref.revision is None or kref.artifact is not None:
        return target
    item = reader.node_by_kref(str(kref.item()))
    current = None if item is None else current_of(reader, item.id)
    return str(kref.item()) if current and current.props["kref"] == target else target


def _is_type(kind: str) -> bool:
    return kind.isascii() and kind.isupper() and kind.replace("_", "").isalnum()


def _artifacts(reader: Reader, current: Node) -> tuple[ArtifactLine, ...]:
    ends = [edge.dst for edge in reader.edges_out(current.id, "HAS_ARTIFACT")]
    found = []
    for node in reader.nodes(ends):
        props = node.props
        size = props.get("size_bytes")
        found.append(
            ArtifactLine(
                str(props["kref"]),
                redact(str(props["location"])).text,
                str(props.get("sha256") or ""),
                size if isinstance(size, int) else 0,
            )
        )
    return tuple(found)


def cleaned(held: Revision) -> Revision:
    """Return a revision without secrets. What was stored has none by the rules of its time."""

    def clean(text: str) -> str:
        return redact(text).text if text else text

    facts = tuple(
        parse_fact([clean(value) if isinstance(value, str) else value for value in fact])
        for fact in held.facts
    )
    lists: dict[str, Any] = {
        name: tuple(map(clean, getattr(held, name)))
        for name in ("topics", "keywords", *ENRICHMENTS)
    }
    return replace(
        held,
        summary=clean(held.summary),
        title=clean(held.title),
        facts=facts,
        metadata=_clean_values(held.metadata, clean),
        sentences=tuple(map(clean, held.sentences)),
        **lists,
    )


def _clean_values(values: Mapping[str, Value], clean: Callable[[str], str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in values.items():
        if isinstance(value, str):
            value = clean(value)
        elif isinstance(value, list):
            value = [clean(one) if isinstance(one, str) else one for one in value]
        found[name] = value
    return found
