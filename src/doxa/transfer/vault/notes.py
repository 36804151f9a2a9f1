"""A belief as a Markdown note, and back.

    ---
    doxa: 1                                   the format
    kref: "kref://shop/deploy.decision"       the item; the name of the file says nothing
    revision: 3
    hash: "3f0c..."                           of the note without this line: was it edited?
    title: "Deploys"                          from here on, what differs from the default
    tags: ["reviewed"]
    trust: "verified"
    valid_from: "2026-03-02T00:00:00Z"
    facts: [["deploys", "run on", "Thursday"]]
    DEPENDS_ON: ["[[shop/ci.fact]]"]          an edge: its type, and notes or addresses
    links: [["DEPENDS_ON", "[[shop/x.fact]]", {"weight": 1}]]              edges with properties
    ---

    We deploy on Thursdays.

The text is the belief's, verbatim: nothing in it is read as anything else. A link to a note means
its current revision; another revision, or a turn, is named by its address. A bundle has `members`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from doxa.base.clock import format_time
from doxa.base.errors import DoxaError
from doxa.base.values import canonical, encode_properties
from doxa.belief import Kref, parse_kref
from doxa.belief.types import ENRICHMENTS, Revision
from doxa.ingestion.readers.front_matter import parse, split, written
from doxa.transfer.beliefs import ArtifactLine, RevisionLine
from doxa.transfer.lines import read_properties

FORMAT = 1
NOT_TAGS = frozenset(("current", "initial", "unsupported"))  # they follow from something else
_EDGE_TYPE = re.compile(r"[A-Z][A-Z0-9_]*")
_HASH = re.compile(r'^hash: "[0-9a-f]{32}"\n', re.MULTILINE)
_LINK = re.compile(r"\[\[([^\]\r\n]+)\]\]")
_LISTS = ("topics", "keywords", *ENRICHMENTS)
_NO_TIME = "1970-01-01T00:00:00Z"  # of a note that was edited: the import gives it its time
_line = msgspec.json.Decoder(RevisionLine)


@dataclass(frozen=True, slots=True)
class NoteLink:
    """An edge of a note's revision. `target` is the address of an item, for its current revision,
    or of anything else."""

    kind: str
    target: str
    properties: bytes = b"{}"


@dataclass(frozen=True, slots=True)
class Note:
    """What a note says. `line` None: it is a bundle that states nothing by itself; `members` None:
    it is not a bundle. `edited`: it is not as doxa wrote it."""

    item: str
    line: RevisionLine | None
    links: tuple[NoteLink, ...] = ()
    artifacts: tuple[ArtifactLine, ...] = ()
    members: tuple[str, ...] | None = None
    edited: bool = False


class NotANote(ValueError):
    """The file is not a note of doxa's, or not one that can be read. The text says why."""


class ForeignNote(NotANote):
    """The file does not look like a note of doxa's."""


def render(
    item: Kref,
    held: Revision | None,
    links: tuple[NoteLink, ...],
    artifacts: tuple[ArtifactLine, ...],
    members: tuple[str, ...] | None,
    *,
    path_of: Callable[[str], str],
) -> str:
    """Return the text of a note. `path_of` gives the path of an item's note, "" if it has none."""

    def named(target: str) -> str:
        path = path_of(target)
        return f"[[{path}]]" if path else target

    fields: list[tuple[str, Any]] = [("doxa", FORMAT), ("kref", str(item))]
    if held is not None:
        fields += [("revision", held.number), *_said(held)]
    plain: dict[str, list[str]] = {}
    for link in links:
        if link.properties == b"{}":
            plain.setdefault(link.kind, []).append(named(link.target))
    fields += [(kind, sorted(plain[kind])) for kind in sorted(plain)]
    rich = [
        [link.kind, named(link.target), msgspec.json.decode(link.properties)]
        for link in links
        if link.properties != b"{}"
    ]
    if rich:
        fields.append(("links", sorted(rich, key=canonical)))
    if artifacts:
        fields.append(("artifacts", [_artifact(one) for one in artifacts]))
    if members is not None:
        fields.append(("members", [named(member) for member in members]))
    body = f"\n{held.summary}\n" if held is not None else ""
    text = written(fields) + body
    place = text.index("\n", text.index("\nkref: ") + 1) + 1
    return f'{text[:place]}hash: "{_digest(text)}"\n{text[place:]}'


def _said(held: Revision) -> list[tuple[str, Any]]:
    fields: list[tuple[str, Any]] = []
    tags = sorted(set(held.tags) - NOT_TAGS)
    fields += [("title", held.title)] if held.title else []
    fields += [("tags", tags)] if tags else []
    fields.append(("trust", held.trust))
    if held.confidence != 1.0:
        fields.append(("confidence", held.confidence))
    if held.author:
        fields.append(("author", held.author))
    fields.append(("time", format_time(held.time)))
    for name in ("valid_from", "valid_until"):
        time = getattr(held, name)
        if time is not None:
            fields.append((name, format_time(time)))
    fields += [(name, list(getattr(held, name))) for name in _LISTS if getattr(held, name)]
    if held.facts:
        fields.append(("facts", [list(fact) for fact in held.facts]))
    if held.sentences:
        fields.append(("sentences", [msgspec.json.decode(one) for one in held.sentences]))
    if held.metadata:
        stored = encode_properties(dict(held.metadata), owner="Revision")
        fields.append(("metadata", msgspec.json.decode(stored)))
    return fields


def _artifact(line: ArtifactLine) -> dict[str, Any]:
    found: dict[str, Any] = {"name": parse_kref(line.kref).artifact, "location": line.location}
    if line.sha256:
        found["sha256"] = line.sha256
    if line.size_bytes:
        found["size_bytes"] = line.size_bytes
    return found


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def is_edited(text: str) -> bool:
    """Return whether a note is not as doxa wrote it."""
    found = _HASH.search(text)
    if found is None:
        return True
    return found.group()[7:39] != _digest(text[: found.start()] + text[found.end() :])


def address(text: str) -> str:
    """Return the address of the item that a note is of. Raises NotANote."""
    return _address(_fields(text)[0])


def read_note(text: str, *, kref_of: Callable[[str], str]) -> Note:
    """Read a note. `kref_of` gives the address of the note that a link names, "" if there is none;
    such a link is left out. Raises NotANote, or DoxaError for a field that says what no belief can
    say."""
    fields, body = _fields(text)
    item = _address(fields)
    edited = is_edited(text)
    links = _links(fields, kref_of)
    members = _texts(fields, "members") if "members" in fields else None
    if members is not None:
        members = tuple(found for member in members if (found := _target(member, kref_of)))
    number = fields.get("revision")
    line: RevisionLine | None = None
    artifacts: tuple[ArtifactLine, ...] = ()
    if number is not None:
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 10**15:
            raise NotANote("its revision is not a number")
        summary = body
        if edited:
            summary = body.replace("\r\n", "\n").strip()
        else:
            summary = body.removeprefix("\n").removesuffix("\n")
        line = _revision(fields, parse_kref(item), number, summary)
        artifacts = _artifacts(fields, f"{item}?r={number}")
    return Note(item, line, links, artifacts, members, edited)


def _fields(text: str) -> tuple[dict[str, Any], str]:
    fields, body = split(text)
    found = {} if fields is None else parse(fields)
    if "doxa" not in found or "kref" not in found:
        raise ForeignNote(
            "doxa did not write it, and it has no kref: `doxa import FILE --format notes` reads it"
        )
    if found["doxa"] != FORMAT:
        raise NotANote(f"it is of format {str(found['doxa'])[:20]}; this doxa reads {FORMAT}")
    return found, body


def _address(fields: Mapping[str, Any]) -> str:
    try:
        kref = parse_kref(str(fields["kref"]))
    except DoxaError as error:
        raise NotANote(error.message.rstrip(".")) from None
    if not kref.is_item or kref != kref.item():
        raise NotANote("its kref is not the address of an item")
    return str(kref)


def _revision(fields: Mapping[str, Any], item: Kref, number: int, summary: str) -> RevisionLine:
    tags = tuple(tag for tag in _texts(fields, "tags") if tag not in NOT_TAGS)
    given: dict[str, Any] = {
        "type": "revision",
        "kref": str(item.pinned(number)),
        "item": str(item),
        "number": number,
        "status": "current",
        "project": item.project,
        "space": "/".join(item.spaces),
        "name": item.name,
        "kind": item.kind,
        "summary": summary,
        "tags": ("current", *tags),
        "time": fields.get("time") or _NO_TIME,
        "metadata": msgspec.Raw(_properties(fields.get("metadata"), "metadata")),
        "facts": fields.get("facts") or (),
        "sentences": tuple(
            canonical(one).decode() for one in _list(fields.get("sentences"), "sentences")
        ),
        **{name: _texts(fields, name) for name in _LISTS},
    }
    for name in ("title", "trust", "confidence", "author", "valid_from", "valid_until"):
        if fields.get(name) is not None:
            given[name] = fields[name]
    try:
        return _line.decode(msgspec.json.encode(given))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotANote(str(error)[:200]) from None


def _links(fields: Mapping[str, Any], kref_of: Callable[[str], str]) -> tuple[NoteLink, ...]:
    found = []
    for kind in fields:
        if _EDGE_TYPE.fullmatch(kind):
            for text in _texts(fields, kind):
                if target := _target(text, kref_of):
                    found.append(NoteLink(kind, target))
    for one in _list(fields.get("links"), "links"):
        if (
            not isinstance(one, list)
            or len(one) != 3
            or not all(isinstance(part, str) for part in one[:2])
        ):
            raise NotANote("a link has an edge type, a target and properties")
        if target := _target(one[1], kref_of):
            found.append(NoteLink(one[0], target, _properties(one[2], "links")))
    return tuple(found)


def _target(text: str, kref_of: Callable[[str], str]) -> str:
    """Return the address that a link names: of a note, or as it is; "" if there is none."""
    link = _LINK.fullmatch(text.strip())
    if link is None:
        try:
            return str(parse_kref(text))
        except DoxaError:
            return ""
    path = re.split(r"[|#]", link[1], maxsplit=1)[0].strip()
    return kref_of(path)


def _artifacts(fields: Mapping[str, Any], revision: str) -> tuple[ArtifactLine, ...]:
    found = []
    for one in _list(fields.get("artifacts"), "artifacts"):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise NotANote("an artifact has a name and a location")
        given = {
            "type": "artifact",
            "kref": f"{revision}&a={one['name']}",
            "location": one.get("location"),
            "sha256": one.get("sha256") or "",
            "size_bytes": one.get("size_bytes") or 0,
        }
        try:
            found.append(msgspec.convert(given, ArtifactLine))
        except (ValueError, TypeError) as error:
            raise NotANote(str(error)[:200]) from None
    return tuple(found)


def _properties(value: object, owner: str) -> bytes:
    if value is None:
        return b"{}"
    if not isinstance(value, dict):
        raise NotANote(f"{owner} is not a mapping")
    raw = canonical(value)
    read_properties(raw, owner=owner)
    return raw


def _list(value: object, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise NotANote(f"{name} is not a list")
    return value


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts; a single one, as editors write it, is such a list."""
    value = fields.get(name)
    value = [value] if isinstance(value, (str, int, float)) else value
    found = _list(value, name)
    if any(isinstance(one, (list, dict)) for one in found):
        raise NotANote(f"{name} is not a list of texts")
    return tuple(str(one) for one in found if one is not None)
