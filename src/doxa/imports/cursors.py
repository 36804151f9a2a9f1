"""How far each file was imported, so that the next import, or `doxa watch`, goes on from there.

    <memory file>-imports/<digest of path and options>.json

A cursor is a convenience and no part of memory: without it a file is read again from its beginning,
which changes nothing, since what is known is skipped. It goes on only in the same file: the bytes
that it has read must begin and end as they did. It goes on only in the same memory: the receipt of
the last change must be in its log, which a backup that was restored does not hold, and what was
stored last must not be undone. A cursor holds paths, positions and digests, and no text of a
message.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from doxa.base.limits import IMPORT_FINGERPRINT_BYTES_READ
from doxa.imports.contract import START, Position


class FileCursor(msgspec.Struct):
    """How far one file was imported. `head` and `tail` are digests of the first and the last bytes
    before `offset`; `done`: it was read to its end, at this size, time and file number; `stored` is
    the address of what was stored last, `change` and `receipt` the last change of the memory
    then."""

    path: str
    offset: int = 0
    line: int = 0
    carry: dict[str, Any] = msgspec.field(default_factory=dict)
    head: str = ""
    tail: str = ""
    size: int = -1
    mtime_ns: int = 0
    inode: int = 0
    done: bool = False
    stored: str = ""
    change: int = 0
    receipt: str = ""

    @property
    def position(self) -> Position:
        return Position(self.offset, self.line, self.carry)


_cursor = msgspec.json.Decoder(FileCursor)


class Cursors:
    """The cursors of one memory file. `scope` is what a read depends on besides the file: another
    project, trust or choice of what is included reads it from the beginning."""

    def __init__(self, folder: Path, scope: Mapping[str, object]) -> None:
        self.folder = folder
        self._scope = repr(sorted(scope.items()))
        self._done: dict[Path, tuple[int, int, int]] = {}  # read to their ends by this process

    def load(self, path: Path) -> FileCursor | None:
        """Return the cursor of a file, if there is one for what is in it now."""
        try:
            found = _cursor.decode(self._file(path).read_bytes())
            return found if found.path == str(path) and self._goes_on(path, found) else None
        except (OSError, ValueError, RecursionError):
            return None

    def is_done(self, path: Path, cursor: FileCursor) -> bool:
        """Return whether a file has not changed since it was read to its end."""
        with suppress(OSError):
            now = path.stat()
            marks = (now.st_size, now.st_mtime_ns, now.st_ino)
            return cursor.done and marks == (cursor.size, cursor.mtime_ns, cursor.inode)
        return False

    def was_done(self, path: Path) -> bool:
        """Return whether this process has read a file to its end and it is still the same."""
        with suppress(OSError):
            now = path.stat()
            return self._done.get(path) == (now.st_size, now.st_mtime_ns, now.st_ino)
        return False

    def pass_over(self, path: Path) -> None:
        """Take a file that no reader recognises as done, until it changes."""
        with suppress(OSError):
            now = path.stat()
            self._done[path] = (now.st_size, now.st_mtime_ns, now.st_ino)

    def save(
        self,
        path: Path,
        position: Position,
        *,
        state: os.stat_result,
        done: bool,
        stored: str,
        memory: tuple[int, str],
    ) -> None:
        """Note how far a file was imported. `state` is of before it was read, so that what was
        appended meanwhile is seen the next time. A cursor that cannot be written is left out."""
        marks = (state.st_size, state.st_mtime_ns, state.st_ino)
        if done:
            self._done[path] = marks
        with suppress(OSError):
            head, tail = _marks(path, position.offset)
            cursor = FileCursor(
                str(path),
                position.offset,
                position.line,
                dict(position.carry),
                head,
                tail,
                *marks,
                done,
                stored,
                *memory,
            )
            _replace(self._file(path), msgspec.json.encode(cursor))

    def _goes_on(self, path: Path, cursor: FileCursor) -> bool:
        offset = cursor.offset
        if cursor.carry and not offset and path.stat().st_ino != cursor.inode:
            return False  # a position that is not one in bytes holds in this file alone
        return 0 <= offset <= path.stat().st_size and _marks(path, offset) == (
            cursor.head,
            cursor.tail,
        )

    def _file(self, path: Path) -> Path:
        name = f"{path}\0{self._scope}".encode("utf-8", "surrogateescape")
        return self.folder / f"{blake2b(name, digest_size=12).hexdigest()}.json"


def start_of(cursor: FileCursor | None) -> Position:
    return START if cursor is None else cursor.position


def _marks(path: Path, offset: int) -> tuple[str, str]:
    """Return digests of the first and of the last bytes before an offset."""
    size = min(offset, IMPORT_FINGERPRINT_BYTES_READ)
    with path.open("rb") as file:
        head = file.read(size)
        file.seek(offset - size)
        return _digest(head), _digest(file.read(size))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def _replace(target: Path, data: bytes) -> None:
    """Replace a file in one step. It need not survive a loss of power: what is lost is read
    again."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=".", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
