"""What every reader gives to the importer, whatever program wrote the file.

    path -> ImportSource -> FormatReader.read -> ImportedMessage | ImportedEntry, Position
                       importing.py: batches -> turns and beliefs -> cursors

A *message* is one turn of a conversation. An *entry* is one paragraph, directive or record of a
document, and becomes a belief with its paragraph as source. A reader never writes, opens nothing
but its source, and holds one line or one document at a time.

To add a format: write `readers/<name>.py` with a class that has these attributes and methods, and
add it to `registry.READERS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.base.values import Value
from doxa.ingestion.readers.sources import ReadReport
from doxa.language.turns import TurnRole

# What is left out of a history unless it is asked for.
INCLUDED = ("tools", "thinking", "sidechains", "summaries", "branches")


@dataclass(frozen=True, slots=True)
class ImportSource:
    """One file to read. `name` says in texts for people where it is, `root` is the folder or file
    that the import was given."""

    path: Path
    root: Path

    @property
    def name(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading goes on: `offset` bytes and `line` lines are read, and `carry` is what the
    reader has to know of them, as JSON. A reader that cannot go on in the middle yields START with
    everything: then the source is read again from its beginning, which changes nothing."""

    offset: int = 0
    line: int = 0
    carry: Mapping[str, Any] = field(default_factory=dict)


START = Position()


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One turn of a conversation. `session` is the program's own id of the conversation; `folder`
    where it took place, which gives the project; `speaker` is the role if it is empty."""

    session: str
    role: TurnRole
    text: str
    time_ns: int | None = None
    speaker: str = ""
    folder: str = ""
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """One paragraph of a document, or one record of another memory.

    `document` names the document within its project, without a path of this machine. `name` is the
    record's own name: with one, a changed text revises the belief; without one, it is derived from
    the text, and a changed paragraph is another belief. `retired`: it is no longer held, by what
    the document says. `links` are (edge type, name of another entry of the same document). Times
    are ns UTC.
    """

    document: str
    text: str
    name: str = ""
    kind: str = "note"
    title: str = ""
    topics: tuple[str, ...] = ()
    role: TurnRole = "person"
    speaker: str = ""
    folder: str = ""
    time_ns: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    retired: bool = False
    facts: tuple[tuple[str, str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)


class Read(NamedTuple):
    """What a reader yields: something, or None, and from where on everything was yielded not later
    than with it. Of several messages in one line only the None that follows them may have the
    position after the line."""

    item: ImportedMessage | ImportedEntry | None
    after: Position = START


@dataclass(slots=True)
class ImportLog(ReadReport):
    """The report of a read, with what was left out on purpose, by reason."""

    left_out: Counter[str] = field(default_factory=Counter)

    def time(self, value: object) -> int | None:
        """Return a time of the source in ns UTC. One that cannot be read is unknown, and noted: a
        message is not lost for its time."""
        if value is None or value == "":
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise _unreadable_time(value)
            return parse_time(value if isinstance(value, str) else _seconds(value))
        except InputError:
            self.left_out["unreadable times"] += 1
            return None


def _unreadable_time(value: object) -> InputError:
    return InputError(
        f"This is not a time: {str(value)[:40]!r}.",
        next_step="It is noted as unknown.",
        field="time",
    )


def _seconds(value: float) -> int:
    """Read a number of a source as seconds, milliseconds, microseconds or nanoseconds since 1970,
    by its size."""
    size = abs(value)
    if not size < 1e19:  # also NaN and infinity
        raise _unreadable_time(value)
    scale = 10**9 if size < 1e11 else 10**6 if size < 1e14 else 10**3 if size < 1e17 else 1
    return round(value * min(scale, 10**6)) * max(scale // 10**6, 1)


class FormatReader(Protocol):
    """A format."""

    @property
    def name(self) -> str:
        """What `--format` takes."""
        ...

    @property
    def title(self) -> str:
        """What it reads, in words for people."""
        ...

    @property
    def own(self) -> bool:
        """Whether it is the history that a program keeps of its own user, so that it is known who
        `user` is. Anything else is untrusted until an operator vouches for it."""
        ...

    @property
    def documents(self) -> bool:
        """Whether a source is one or several whole documents, so that a paragraph that is not in
        them any more was deleted there."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How the names of the files end that are looked at below a folder."""
        ...

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether a file is in this format, by its first DETECT_BYTES_READ bytes without a
        byte order mark, and by its path where the format is one of names."""
        ...

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield what a source holds from a position on. What cannot be read is skipped and noted in
        the log; InputError is for a source that is unreadable as a whole."""
        ...
