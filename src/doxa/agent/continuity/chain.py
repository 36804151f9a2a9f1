"""The archive of an agent: one file a day, one line for each thing stored, chained by hashes.

    <memory file>-agents/AGENT/archive/YYYY-MM-DD.jsonl      the day, in UTC, on which it was stored
    <memory file>-agents/AGENT/lock

    payload_hash = sha256(salt || payload)                   the payload as canonical JSON
    hash_n       = sha256(hash_{n-1} || "n|seq|element|kind|time" || payload_hash)

The chain runs over the days. Where a source was erased, payload and salt go and the rest stays:
the chain holds, and nobody can guess the words from their hash. A line that a killed writer left
without its end is cut off by the next one. Standard library and base alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from doxa.base.clock import format_time
from doxa.base.errors import CorruptError
from doxa.base.values import canonical

try:
    import fcntl
except ImportError:  # without advisory locks one process at a time writes an archive
    fcntl = None  # type: ignore[assignment]

_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_SALT_BYTES = 16
_TAIL_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ArchiveLine:
    """One line: its number, the entry of the log and the element that it is of, what it is (turn,
    thread, record or mark), and when it was stored. `payload` is None once its source is erased."""

    n: int
    seq: int
    element: int
    kind: str
    time: int
    payload_hash: str
    hash: str
    salt: str | None = None
    payload: dict[str, Any] | None = None

    @property
    def is_erased(self) -> bool:
        return self.payload is None


def agent_folder(folder: Path, agent: str) -> Path:
    """Return the folder of an agent below the folder of a memory file's agents."""
    name = quote(agent, safe="")
    return folder / (f"%2E{name[1:]}" if name.startswith(".") else name)


def genesis(agent: str) -> str:
    """Return what the first line of an agent's archive is chained to."""
    return hashlib.sha256(b"doxa archive|" + agent.encode()).hexdigest()


def make_line(
    before: tuple[int, str], seq: int, element: int, kind: str, time: int, payload: dict[str, Any]
) -> ArchiveLine:
    """Return the line after `before`, the number and hash of the last one."""
    salt = os.urandom(_SALT_BYTES)
    payload_hash = hashlib.sha256(salt + canonical(payload)).hexdigest()
    n = before[0] + 1
    chained = chained_hash(before[1], n, seq, element, kind, time, payload_hash)
    return ArchiveLine(n, seq, element, kind, time, payload_hash, chained, salt.hex(), payload)


def chained_hash(
    before: str, n: int, seq: int, element: int, kind: str, time: int, payload_hash: str
) -> str:
    head = f"{n}|{seq}|{element}|{kind}|{time}".encode()
    return hashlib.sha256(bytes.fromhex(before) + head + bytes.fromhex(payload_hash)).hexdigest()


def problem_of(line: ArchiveLine, before: tuple[int, str]) -> str:
    """Return what is wrong with a line after the one before it; "" if nothing is."""
    if line.n != before[0] + 1:
        return f"line {line.n} follows line {before[0]}"
    try:
        chained = chained_hash(
            before[1], line.n, line.seq, line.element, line.kind, line.time, line.payload_hash
        )
        salt = bytes.fromhex(line.salt or "")
    except (ValueError, TypeError):
        return f"line {line.n} has a hash that is none"
    if chained != line.hash:
        return f"line {line.n} does not follow from the line before it"
    if line.payload is None:
        return ""
    if hashlib.sha256(salt + canonical(line.payload)).hexdigest() != line.payload_hash:
        return f"line {line.n} says something else than was archived"
    return ""


class ArchiveFiles:
    """The files of one agent's archive. Writers hold `locked`."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.agent = agent
        self._own = agent_folder(folder, agent)
        self.folder = self._own / "archive"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the archive, across processes."""
        for folder in (self._own.parent, self._own, self.folder):  # each private
            folder.mkdir(exist_ok=True, mode=_PRIVATE_FOLDER)
        handle = os.open(self._own / "lock", os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def days(self) -> list[Path]:
        """Return the files, oldest day first."""
        return sorted(self.folder.glob("[0-9]*-[0-9][0-9]-[0-9][0-9].jsonl"))

    def lines(self) -> Iterator[ArchiveLine]:
        """Yield every whole line. Raises CorruptError for one that cannot be read."""
        for path in self.days():
            yield from read_lines(path)

    def end(self) -> tuple[int, str, int]:
        """Return the number, hash and log entry of the last line, without what a killed writer left
        unfinished; (0, the beginning of the chain, 0) if there is none. The caller holds the
        lock."""
        for path in reversed(self.days()):
            line = _whole_end(path)
            if line is not None:
                return line.n, line.hash, line.seq
        return 0, genesis(self.agent), 0

    def append(self, lines: Sequence[ArchiveLine]) -> None:
        """Append lines, durably, each to the file of its day. The caller holds the lock."""
        by_day: dict[str, list[bytes]] = {}
        for line in lines:
            by_day.setdefault(format_time(line.time)[:10], []).append(_encoded(line))
        for day, rows in by_day.items():
            path = self.folder / f"{day}.jsonl"
            is_new = not path.exists()
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK, _PRIVATE)
            try:
                view = memoryview(b"".join(rows))
                while view:
                    view = view[os.write(handle, view) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            if is_new:
                _sync_folder(self.folder)

    def erase(self, numbers: set[int]) -> int:
        """Take payload and salt out of lines, by their numbers, and return how many had one. The
        bytes of the files before are overwritten. The caller holds the lock."""
        count = 0
        for path in self.days():
            rows = list(read_lines(path))
            if not any(row.n in numbers and not row.is_erased for row in rows):
                continue
            kept = []
            for row in rows:
                if row.n in numbers and not row.is_erased:
                    count += 1
                    row = ArchiveLine(
                        row.n, row.seq, row.element, row.kind, row.time, row.payload_hash, row.hash
                    )
                kept.append(_encoded(row))
            _replace(path, b"".join(kept))
        return count


def read_lines(path: Path) -> Iterator[ArchiveLine]:
    """Yield the lines of a file. What has no line ending is passed over: its writer never
    returned."""
    with path.open("rb") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            yield _decoded(raw, path)


def _encoded(line: ArchiveLine) -> bytes:
    return json.dumps(asdict(line), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _decoded(raw: bytes, path: Path) -> ArchiveLine:
    try:
        found = ArchiveLine(**json.loads(raw))
        numbers = (found.n, found.seq, found.element, found.time)
        if not all(isinstance(one, int) for one in numbers):
            raise TypeError
        return found
    except (ValueError, TypeError) as error:
        raise CorruptError(
            f"{path} holds a line that is not one of an archive.",
            next_step="Move the archive elsewhere; archive_write makes it again from the memory.",
            path=str(path),
        ) from error


def _whole_end(path: Path) -> ArchiveLine | None:
    """Cut off a line without its end, and return the last one; None, and the file goes, if there
    is none."""
    with os.fdopen(os.open(path, os.O_RDWR | _NO_LINK), "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        tail, start = b"", size
        while start > 0:
            step = min(_TAIL_BYTES, start)
            start -= step
            file.seek(start)
            tail = file.read(step) + tail
            if tail[:-1].count(b"\n") >= (1 if tail.endswith(b"\n") else 2):
                break
        whole = tail[: tail.rfind(b"\n") + 1]
        if len(whole) < len(tail):
            file.truncate(size - len(tail) + len(whole))
            file.flush()
            os.fsync(file.fileno())
    rows = whole.splitlines(keepends=True)
    if rows:
        return _decoded(rows[-1], path)
    path.unlink()
    return None


def _replace(path: Path, data: bytes) -> None:
    """Replace a file in one step and overwrite what it held."""
    new = path.with_name(f".{path.name}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    with path.open("r+b") as old:
        size = old.seek(0, os.SEEK_END)
        new.replace(path)
        _sync_folder(path.parent)
        old.seek(0)
        old.write(bytes(size))
        old.flush()
        os.fsync(old.fileno())


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
