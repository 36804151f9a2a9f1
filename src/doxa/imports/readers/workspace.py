"""Read the memory that agents keep as Markdown: OpenClaw's and Hermes' workspaces, and Claude
Code's auto memory. Each paragraph or item of a list is an entry.

    claude-memory   projects/<folder>/memory/*.md      front matter: type, modified
    openclaw        MEMORY.md, USER.md, memory/2026-03-02.md, memory/2026-03-02-topic.md
    hermes          memories/MEMORY.md, memories/USER.md   entries between lines that hold "§"

An entry of USER.md is a preference. A date and a status before or behind it say when it holds:

    - [2026-03-02] [active] Answer in German.              valid from that day
    - 2026-01-05 (superseded 2026-03-02): Answer in French.    valid until the second day
    ## Superseded                                          a status for what is below
    - ~~Answer in Latin.~~                                 no longer held, since an unknown time

The agent wrote these files, from whatever it had read: so what is in them is untrusted until an
operator vouches for it. Files about the agent itself (SOUL.md, IDENTITY.md) and its diaries are not
read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import (
    DETECT_BYTES_READ,
    DETECT_LINES_READ,
    IMPORT_DOCUMENT_BYTES_MAX,
    IMPORT_ENTRIES_ITEMS_MAX,
)
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.ingestion.readers.sources import clean, decode, head, whole_file

_DAY = r"\d{4}-\d{2}-\d{2}"
_DAILY = re.compile(rf"(?P<day>{_DAY})(?:[-_.].*)?\.md")
_HEADING = re.compile(r"#{1,6}\s+(?P<text>.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FENCE = re.compile(r"\s*(```|~~~)")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FIELD = re.compile(r"\s*(?P<name>[\w-]{1,40})\s*:(?P<value>.*)")
_ENDED = "superseded|retired|replaced|expired|inactive"
_STATUS = re.compile(rf"\b(?P<status>active|{_ENDED})\b", re.IGNORECASE)
_MARK = r"""[\s\[\](){}*_`:;,|·–—-]"""  # what separates a date and a status from the words
# at the beginning of an entry, or in brackets at its end
_MARKED = rf"(?:{_MARK}|\b(?:active|{_ENDED}|since|from|until|on|by|status|date)\b|{_DAY})"
_BEFORE = re.compile(rf"(?=[^\w]*(?:{_DAY}|\[?(?:active|{_ENDED})\b)){_MARKED}+", re.IGNORECASE)
_BEHIND = re.compile(
    rf"(?<!\s)\s*[\[(](?=[^\])]*(?:{_DAY}|\b(?:active|{_ENDED})\b)){_MARKED}+[\])]?\s*$",
    re.IGNORECASE,
)
_BRACKETS_CHARS_READ = 400  # of the end of an entry
_STRUCK = re.compile(r"~~(?P<text>.+)~~\s*$", re.DOTALL)
_KINDS = {"user": "preference", "feedback": "rule", "reference": "reference"}
_NS_PER_DAY = 86_400 * 10**9


class _WorkspaceLine(msgspec.Struct):
    cwd: str = ""


_line = msgspec.json.Decoder(_WorkspaceLine)


class ParagraphBlock(NamedTuple):
    """A paragraph or an item of a list, the headings above it, and its first and last line."""

    text: str
    heading: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Workspace:
    """The memory files of one program."""

    name: str
    title: str
    own: bool = False
    documents: bool = True
    suffixes: tuple[str, ...] = (".md",)

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether the names of a file and its folder say so."""
        return b"\0" not in start and _program(path) == self.name

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the entries of one file."""
        path = source.path
        text = whole_file(path, IMPORT_DOCUMENT_BYTES_MAX).decode("utf-8", "replace")
        fields, body, line = _front(without_comments(clean(text)))
        daily = _DAILY.fullmatch(path.name)
        day = log.time(daily["day"]) if daily else log.time(fields.get("modified"))
        about_user = path.name == "USER.md"
        kind = "preference" if about_user else _KINDS.get(fields.get("type", ""), "note")
        above = "memory/" if daily else ""
        folder = _folder(path) if self.name == "claude-memory" else ""
        count = 0
        for block in blocks(body, line, between="§" if self.name == "hermes" else ""):
            count += 1
            if count > IMPORT_ENTRIES_ITEMS_MAX:
                raise InputError(
                    f"{source.name} has more than {IMPORT_ENTRIES_ITEMS_MAX:,} paragraphs.",
                    next_step="Split it into several files.",
                    path=source.name,
                )
            dated = _dated(block, log) if about_user or not daily else _Dated(block.text)
            if not any(char.isalnum() for char in dated.text):
                continue
            yield Read(
                ImportedEntry(
                    f"{self.name}/{above}{path.name}",
                    dated.text,
                    kind=kind,
                    title=block.heading,
                    role="assistant",
                    speaker=self.name,
                    folder=folder,
                    time_ns=dated.since if dated.since is not None else day,
                    valid_from=dated.since,
                    valid_until=dated.until,
                    retired=dated.ended and dated.until is None,
                    metadata={"lines": f"{block.first}-{block.last}"},
                )
            )


CLAUDE_MEMORY = Workspace(
    "claude-memory", "Claude Code's auto memory (projects/<folder>/memory/*.md)"
)
OPENCLAW = Workspace("openclaw", "OpenClaw's memory (MEMORY.md, USER.md, memory/<day>.md)")
HERMES = Workspace("hermes", "Hermes' memory (memories/MEMORY.md, memories/USER.md)")


def _program(path: Path) -> str:
    """Which program keeps a file, by its name and place."""
    names = [part.name for part in path.parents][:3]
    if path.suffix == ".md" and len(names) > 2 and (names[0], names[2]) == ("memory", "projects"):
        return "claude-memory"
    if path.name in ("MEMORY.md", "USER.md"):
        return "hermes" if names and names[0] == "memories" else "openclaw"
    if path.name == "memory.md":
        return "openclaw"
    return "openclaw" if _DAILY.fullmatch(path.name) and names[:1] == ["memory"] else ""


def without_comments(text: str) -> str:
    """Return Markdown without its comments; lines keep their numbers."""
    return _COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)


def _front(text: str) -> tuple[dict[str, str], str, int]:
    """Split the front matter off: its plain fields, the rest, and the number of its first line."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text, 1
    for number, line in enumerate(lines[1:200], 1):
        if line.strip() in ("---", "..."):
            fields = (_FIELD.fullmatch(one) for one in lines[1:number])
            found = {one["name"]: one["value"].strip().strip("\"'") for one in fields if one}
            return found, "\n".join(lines[number + 1 :]), number + 2
    return {}, text, 1


def blocks(text: str, first: int, *, between: str = "") -> Iterator[ParagraphBlock]:
    """Split Markdown into paragraphs and items of lists. What is indented belongs to the item above
    it, a fenced block to the paragraph above it. With `between`, only lines of that text split."""
    held: list[str] = []
    heading, began, fenced, number = "", first, False, first - 1
    for number, line in enumerate(text.splitlines(), first):
        if _FENCE.match(line):
            fenced = not fenced
        title = _HEADING.match(line)
        ends = (
            line.strip() == between
            if between
            else not fenced
            and (not line.strip() or title or _RULE.match(line) or _is_item(line) or _ends(held))
        )
        if ends and held:
            yield _block(held, heading, began, number - 1)
            held = []
        if between:
            held += [] if ends else [line]
        elif title and not fenced:
            heading = title["text"].rstrip().rstrip("#").rstrip()
        elif fenced or (line.strip() and not _RULE.match(line)):
            held.append(line)
        if len(held) == 1:
            began = number
    if held:
        yield _block(held, heading, began, number)


def _is_item(line: str) -> bool:
    return _ITEM.match(line) is not None and not line.startswith(("  ", "\t"))


def _ends(held: list[str]) -> bool:
    """Whether a fenced block has just ended: what follows is a paragraph of its own."""
    return len(held) > 1 and _FENCE.match(held[-1]) is not None


def _block(held: list[str], heading: str, first: int, last: int) -> ParagraphBlock:
    mark = _ITEM.match(held[0])
    lines = [held[0][mark.end() if mark else 0 :], *held[1:]]
    return ParagraphBlock("\n".join(line.rstrip() for line in lines).strip(), heading, first, last)


class _Dated(NamedTuple):
    text: str
    since: int | None = None
    until: int | None = None
    ended: bool = False


def _dated(block: ParagraphBlock, log: ImportLog) -> _Dated:
    """Read the date and the status of an entry, and return its words without them."""
    text, marks = block.text, []
    for pattern in (_BEFORE, _BEHIND):
        end = max(0, len(text) - _BRACKETS_CHARS_READ)
        found = pattern.match(text) if pattern is _BEFORE else pattern.search(text, end)
        if found and found.group().strip() and found.end() - found.start() < len(text):
            marks.append(found.group())
            text = text[found.end() :] if pattern is _BEFORE else text[: found.start()]
    struck = _STRUCK.match(text.strip())
    text = struck["text"] if struck else text
    said = " ".join(marks)
    status = _STATUS.search(said) or _STATUS.fullmatch(block.heading.strip())
    ended = struck is not None or (status is not None and status["status"].lower() != "active")
    days = [day for one in re.findall(_DAY, said) if (day := log.time(one)) is not None]
    if status and ended and len(days) == 1 and re.search(rf"(?:{_ENDED})\W*{_DAY}", said, re.I):
        return _Dated(text.strip(), None, days[0], True)
    since = days[0] if days else None
    until = days[1] if len(days) > 1 else None
    if since is not None and until is not None and until < since:
        since, until = until, since
    if since is not None and since == until:
        until = since + _NS_PER_DAY
    return _Dated(text.strip(), since, until, ended)


def _folder(path: Path) -> str:
    """The folder of a project of Claude Code: the name of its folder does not say it exactly, but
    its sessions do."""
    for session in sorted(path.parents[1].glob("*.jsonl"))[:DETECT_LINES_READ]:
        try:
            start = head(session, DETECT_BYTES_READ)
        except InputError:
            continue
        for line in start.split(b"\n")[:DETECT_LINES_READ]:
            try:
                found = clean(decode(_line, line).cwd)
            except ValueError:
                continue
            if found:
                return found
    return ""
