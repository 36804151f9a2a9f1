"""Snapshots: a doxa file with all of the log up to a transaction, from which a new replica begins.

    snapshot = version, SHA-256 of the file, zlib(file)

The file is a copy without free pages and without what belongs to a server: cursors, leases, the
list of its copies. A new replica takes it only if its hash and its whole chain verify, and if the
engine has the receipt that it ends with; else it reads the log from the beginning. An erasure
removes the snapshots of before it, at the engine and in its transaction.
"""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from doxa.base.errors import ConflictError, CorruptError, DoxaError
from doxa.base.limits import SNAPSHOT_CHANGES_ITEMS_MIN
from doxa.replication.following import local_head
from doxa.replication.protocol import Head, SharedLog, Snapshot
from doxa.store import Store, verify_log
from doxa.store.file.engine import make_private
from doxa.store.file.file_copy import discard, file_errors
from doxa.store.migration.schema import FORMAT

_VERSION = b"\x01"
_LEVEL = 1
_OF_A_SERVER = (
    "DELETE FROM cursor WHERE name NOT GLOB 'load/*'",  # how far loads are is of the log
    "DELETE FROM meta WHERE key IN ('copies', 'copy', 'scrub')",
)
_LEFT_S = 3_600  # after which an unfinished file is somebody's who died
_SHARE = 10


def is_due(head_tx: int, snapshot_tx: int) -> bool:
    """Return whether so much follows the newest snapshot that a new one is worth its bytes: a
    tenth of the log, so that all snapshots of a log have some ten times its size."""
    return head_tx - snapshot_tx >= max(SNAPSHOT_CHANGES_ITEMS_MIN, head_tx // _SHARE)


def take_snapshot(store: Store) -> Snapshot:
    """Return a snapshot of a file as it is."""
    with _part(Path(store.path)) as part:
        with file_errors(part):
            store.connection().execute("VACUUM main INTO ?", (str(part),))
            head = _strip(part)
        data = part.read_bytes()
    seal = hashlib.sha256(data).digest()
    return Snapshot(head, _VERSION + seal + zlib.compress(data, _LEVEL))


def _strip(path: Path) -> Head:
    """Take out what belongs to a server, and return how far the file is."""
    db = apsw.Connection(str(path))
    try:
        db.execute("PRAGMA secure_delete = 1; PRAGMA journal_mode = OFF")
        for statement in _OF_A_SERVER:
            db.execute(statement)
        return _head(db)
    finally:
        db.close()


def _head(db: apsw.Connection) -> Head:
    row = db.execute("SELECT tx, hash FROM receipt ORDER BY tx DESC LIMIT 1").fetchone()
    return Head(*row) if row else Head(0, b"")


def begin_from_snapshot(log: SharedLog, tenant: str, path: Path) -> Head | None:
    """Make the file of a new replica from the newest snapshot of its tenant. None if there is a
    file already, or no snapshot that verifies: then the log is read. The file appears whole or not
    at all, and several processes may try at once."""
    if path.exists():
        return None
    remove_left(path)
    snapshot = log.newest_snapshot(tenant)
    if snapshot is None or log.hash_at(tenant, snapshot.head.tx) != snapshot.head.hash:
        return None
    with _part(path) as part:
        try:
            _write(part, snapshot)
        except DoxaError:
            return None
        with suppress(FileExistsError):  # another process was first
            os.link(part, path)
    return snapshot.head


@contextmanager
def opened_snapshot(store: Store, snapshot: Snapshot) -> Iterator[Path | None]:
    """Give the file of a snapshot, in the block; None if it does not verify."""
    with _part(Path(store.path)) as part:
        try:
            _write(part, snapshot)
        except DoxaError:
            yield None
            return
        yield part


def _write(part: Path, snapshot: Snapshot) -> None:
    """Write the file of a snapshot, and verify it. Raises CorruptError if it is not one of this
    format, or not whole."""
    seal, packed = snapshot.data[1:33], snapshot.data[33:]
    try:
        data = zlib.decompress(packed) if snapshot.data[:1] == _VERSION else b""
    except zlib.error:
        data = b""
    if hashlib.sha256(data).digest() != seal:
        raise _unusable(snapshot, "its content is not what its hash says")
    with file_errors(part):
        make_private(str(part))
        with part.open("r+b") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        db = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            found = db.pragma("user_version")
        finally:
            db.close()
    if found != FORMAT:
        raise _unusable(snapshot, f"its format is {found}, this version has {FORMAT}")
    with Store(part, read_only=True) as store:
        verify_log(store)
        if local_head(store) != snapshot.head:
            raise _unusable(snapshot, "it ends with another receipt")


def _unusable(snapshot: Snapshot, why: str) -> CorruptError:
    return CorruptError(
        f"The snapshot at transaction {snapshot.head.tx} cannot be used: {why}.",
        next_step="The log is read instead; the next snapshot takes its place.",
        change=snapshot.head.tx,
    )


def put_snapshot(store: Store, log: SharedLog, tenant: str) -> Head | None:
    """Put a snapshot of a file at the engine. None if the engine refuses it, since content was
    erased meanwhile. Raises LimitError for one that is too large."""
    snapshot = take_snapshot(store)
    try:
        log.put_snapshot(tenant, snapshot)
    except ConflictError:
        return None
    return snapshot.head


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    """Give the name of an unfinished file next to a path, and remove it afterwards."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{time.monotonic_ns():x}.part")
    try:
        yield part
    finally:
        discard(part)


def remove_left(path: Path, older_s: float = _LEFT_S) -> None:
    """Remove unfinished files next to a path, which hold content."""
    for one in path.parent.glob(f"{path.name}.*.part"):
        with suppress(OSError):
            if time.time() - one.stat().st_mtime > older_s:
                discard(one)
