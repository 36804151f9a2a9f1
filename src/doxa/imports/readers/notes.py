"""Read folders of linked Markdown notes: Obsidian vaults and the notes of basic-memory.

    ---
    title: Coffee
    tags: [brewing]
    permalink: coffee
    ---
    - [decision] Use a burr grinder #gear (since March)     an observation: [category] text
    - requires [[Grinding]]                                 a relation: its type and a note
    Any paragraph that mentions [[Water]].                  a link, of type "links to"

A note is an entry named after its path, linked to the notes that it names; each observation and
each paragraph is an entry of its own. A link finds a note by its path, its file name, its title or
its permalink; one that finds none says nothing. Notes that doxa wrote are imported by the verb for
them, with their addresses and revisions, and not read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doxa.base.errors import InputError
from doxa.base.limits import (
    DETECT_BYTES_READ,
    IMPORT_DOCUMENT_BYTES_MAX,
    IMPORT_ENTRIES_ITEMS_MAX,
)
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.imports.places import inside
from doxa.imports.readers.workspace import blocks, without_comments
from doxa.ingestion.readers.front_matter import parse, split
from doxa.ingestion.readers.sources import clean, head, whole_file

_START = re.compile(rb"---[ \t]*\r?\n")
_OWN = re.compile(rb"^doxa[ \t]*:", re.MULTILINE)
_LINK = re.compile(
    r"!?\[\[([^\[\]\r\n|#]{1,400})(?:#[^\[\]\r\n|]{0,400})?(?:\|[^\[\]\r\n]{0,400})?\]\]"
)
_OBSERVATION = re.compile(
    r"\[(?P<category>[^\[\]\r\n(]{2,60})\](?!\()[ \t]+(?P<text>\S.*)", re.DOTALL
)
_RELATION = re.compile(r"(?P<type>[^\[\]\r\n]{0,80}?)[ \t]*\[\[(?P<to>[^\[\]\r\n]{1,400})\]\]")
_TAG = re.compile(r"(?<![\w#])#([^\W\d_][\w/-]{0,99})")
_KINDS = {"requirement": "constraint", "rule": "rule", "todo": "task", "issue": "task"}
_KNOWN = frozenset(
    "decision preference fact correction commitment task goal rule constraint question event"
    " reference".split()
)
_INDEX_FILES_MAX = 200_000
_NOT_FIELDS = frozenset(("title", "tags", "permalink", "type", "aliases"))


class _NoteIndex(NamedTuple):
    """The notes of a folder by what a link may call them."""

    root: Path
    log: ImportLog
    names: dict[str, str]


class Notes:
    """The format; see the module."""

    name = "notes"
    title = "Markdown notes (an Obsidian vault, or the notes of basic-memory)"
    own = False
    documents = True
    suffixes = (".md",)

    def __init__(self) -> None:
        self._index: _NoteIndex | None = None

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by its vault or its front matter. Hidden folders hold none."""
        if b"\0" in start or any(part.startswith(".") for part in path.parts[-3:-1]):
            return False
        if _START.match(start):
            fields = start.partition(b"\n---")[0]
            return _OWN.search(fields) is None
        return any((folder / ".obsidian").is_dir() for folder in list(path.parents)[:30])

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield a note, then its observations and paragraphs."""
        document = inside(source)
        name = document.removesuffix(".md")
        data = whole_file(source.path, IMPORT_DOCUMENT_BYTES_MAX)
        text = clean(data.decode("utf-8", "replace"))
        fields, body, first = _front(text)
        title = _text(fields.get("title")) or source.path.stem
        index = self._notes(source, log)
        links: dict[tuple[str, str], None] = {}
        made: list[ImportedEntry] = []
        tags = _texts(fields.get("tags"))
        when = log.time(fields.get("modified") or fields.get("created") or fields.get("date"))
        for block in blocks(without_comments(body), first):
            if len(made) >= IMPORT_ENTRIES_ITEMS_MAX:
                raise InputError(
                    f"{source.name} has more than {IMPORT_ENTRIES_ITEMS_MAX:,} paragraphs.",
                    next_step="Split it into several files.",
                    path=source.name,
                )
            relation = _RELATION.fullmatch(block.text.partition(" (")[0].strip())
            if relation is not None:
                to = index.get(_key(relation["to"].partition("|")[0]), "")
                links[(relation["type"].strip() or "links to", to)] = None
                continue
            for found in _LINK.finditer(block.text):
                links.setdefault(("links to", index.get(_key(found[1]), "")))
            if any(char.isalnum() for char in block.text):
                made.append(
                    _entry(document, title, block.text, tags, when, f"{block.first}-{block.last}")
                )
        yield Read(
            ImportedEntry(
                document,
                _card(title, fields),
                name=name,
                title=title,
                topics=tags,
                time_ns=when,
                speaker=self.name,
                links=tuple((kind, to) for kind, to in links if to and to != name),
                metadata=_metadata(fields),
            )
        )
        for entry in made:
            yield Read(entry)

    def _notes(self, source: ImportSource, log: ImportLog) -> dict[str, str]:
        """Return what links may call the notes of the folder, read once for each import."""
        root = source.root if source.root.is_dir() else source.path.parent
        if self._index is None or self._index.root != root or self._index.log is not log:
            self._index = _NoteIndex(root, log, _names(root))
        return self._index.names


def _names(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    unsure: set[str] = set()
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for file in sorted(files):
            path = Path(folder, file)
            if not file.endswith(".md") or path.is_symlink():
                continue
            count += 1
            if count > _INDEX_FILES_MAX:
                return found
            name = clean(path.relative_to(root).as_posix().removesuffix(".md"))
            found[_key(name)] = name
            for other in {_key(one) for one in (path.stem, *_called(path))} - {_key(name)}:
                if found.setdefault(other, name) != name:
                    unsure.add(other)
    for other in unsure:  # a name that two notes have names neither
        found.pop(other, None)
    return found


def _called(path: Path) -> Iterator[str]:
    try:
        start = head(path, DETECT_BYTES_READ).decode("utf-8", "replace")
    except InputError:
        return
    fields, _, _ = _front(start)
    for name in ("title", "permalink"):
        yield _text(fields.get(name))
    yield from _texts(fields.get("aliases"))


def _key(text: str) -> str:
    return " ".join(text.removesuffix(".md").casefold().split())


def _front(text: str) -> tuple[dict[str, Any], str, int]:
    fields, body = split(text)
    if fields is None:
        return {}, text, 1
    try:
        found = parse(fields)
    except ValueError:
        found = {}
    return found, body, text[: len(text) - len(body)].count("\n") + 1


def _entry(
    document: str,
    title: str,
    text: str,
    tags: tuple[str, ...],
    when: int | None,
    lines: str,
) -> ImportedEntry:
    observation = _OBSERVATION.fullmatch(text)
    category = observation["category"].strip().casefold() if observation else ""
    said = observation["text"].strip() if observation else text
    kind = category if category in _KNOWN else _KINDS.get(category, "note")
    return ImportedEntry(
        document,
        said,
        kind=kind,
        title=title,
        topics=tuple(dict.fromkeys((*tags, *_TAG.findall(said)))),
        time_ns=when,
        speaker=Notes.name,
        metadata={"lines": lines} | ({"category": category} if category else {}),
    )


def _card(title: str, fields: dict[str, Any]) -> str:
    about = _text(fields.get("description"))
    return f"{title}: {about}" if about else title


def _metadata(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        clean(name): clean(value) if isinstance(value, str) else value
        for name, value in fields.items()
        if name not in _NOT_FIELDS and isinstance(value, (str, int, float, bool))
    }


def _text(value: object) -> str:
    return clean(str(value)).strip() if isinstance(value, (str, int, float)) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[,\s]+" if "," not in value else r"\s*,\s*", value)
    if not isinstance(value, list):
        return ()
    return tuple(text.lstrip("#") for one in value if (text := _text(one)))
