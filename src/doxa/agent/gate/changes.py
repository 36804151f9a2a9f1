"""Changes of protected files by an operator: the plan, its application and its reversal.

    plan      what a file would say, as a diff; its id binds path, hash before and hash after
    apply     only the plan with this id: backup (mode 600), read back and compared; the receipt
              `begun` in the log; the file again compared with the hash before; a temporary file,
              fsync, rename, fsync of the folder; the receipt `applied`
    rollback  the same with the backup, only if the file still is what the change left

A crash leaves a change `begun` or `rolling_back`: `settle` compares the file with both hashes and
says which it is.
The compare-and-swap holds against writers that use this gate, which takes a lock; another program
that writes between the last comparison and the rename is overwritten, and its text is lost.
"""

from __future__ import annotations

import difflib
import fcntl
import glob
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from doxa.agent.gate.types import CHANGE
from doxa.agent.records.records import find_record, move_record, read_record, write_record
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError
from doxa.base.limits import PROTECTED_FILE_BYTES_MAX
from doxa.redaction.redact import redact
from doxa.store import Identity, Reader, Store

# state -> what it becomes if the file says what the change wrote, and what it said before
_UNFINISHED = {"begun": ("applied", "abandoned"), "rolling_back": ("applied", "rolled_back")}
_IN_FORCE = ("begun", "applied", "rolling_back")
_TEMPORARY = ".doxa-"
_BROUGHT = ("import", "merge", "ingest")
_RECEIPT_FROM = "SELECT tx, time, role, op FROM receipt WHERE tx >= ? ORDER BY tx LIMIT 1"
ABSENT = "absent"  # the hash of a file that is not there
Check = Callable[[bytes], None]  # raises what the new text is refused with


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What a file says and would say. Hashes are SHA-256 in hexadecimal, or "absent"."""

    id: str
    surface: str
    path: str
    before: str
    after: str
    diff: str
    is_noop: bool


def hash_of(text: bytes | None) -> str:
    """Return the hash of a file's bytes; None: there is no file."""
    return ABSENT if text is None else hashlib.sha256(text).hexdigest()


def read_file(path: Path) -> bytes | None:
    """Return what a file says, None if there is none. Raises InputError for a link or what is not
    a file, LimitError for a long one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_a_file(path, error.strerror or str(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_a_file(path, "it is not a file")
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > PROTECTED_FILE_BYTES_MAX:
            raise LimitError(
                f"{path} is longer than {PROTECTED_FILE_BYTES_MAX:,} bytes.",
                next_step="Name a file of configuration or identity.",
                path=str(path),
            )
        return file.read()


def make_plan(surface: str, path: Path, text: bytes) -> ChangePlan:
    """Return the plan to let a file say `text`. Nothing is written."""
    path = _absolute(path)
    held = read_file(path)
    before, after = hash_of(held), hash_of(text)
    said = "\0".join((surface, str(path), before, after))
    old, new = (
        one.decode("utf-8", "replace").splitlines(keepends=True) for one in (held or b"", text)
    )
    diff = "".join(
        one if one.endswith("\n") else one + "\n"
        for one in difflib.unified_diff(old, new, "before", "after", n=2)
    )
    return ChangePlan(
        hashlib.sha256(said.encode()).hexdigest()[:16],
        surface,
        str(path),
        before,
        after,
        redact(diff).text,
        before == after,
    )


def apply_plan(
    store: Store,
    identity: Identity,
    *,
    project: str,
    surface: str,
    path: Path,
    text: bytes,
    plan: str,
    check: Check | None = None,
) -> Record:
    """Apply the plan with this id, and return its receipt. Raises ConflictError if the file or the
    change is another than the plan's."""
    path = _absolute(path)
    if check is not None:
        check(text)
    with _locked(path):
        made = make_plan(surface, path, text)
        if made.id != plan:
            raise ConflictError(
                f"The plan {plan[:40]} is another: {path}, or what was asked, differs.",
                next_step="Plan it again, and read the diff.",
                path=str(path),
            )
        if made.is_noop:
            raise InputError(
                f"{path} says that already.", next_step="There is nothing to apply.", path=str(path)
            )
        held = read_file(path)
        backup = _backup(path, held, store.clock.now_ns())
        data = {
            "after": made.after,
            "backup": str(backup) if backup else "",
            "before": made.before,
            "path": str(path),
            "plan": plan,
            "surface": surface,
        }
        name = f"{store.clock.now_ns():020d}-{plan}"
        with store.write(identity, op="operator.apply") as tx:
            begun = write_record(
                tx,
                project=project,
                agent=identity.actor,
                kind=CHANGE,
                name=name,
                state="begun",
                text=made.diff,
                data=data,
            )
        _replace(path, text, expected=made.before)
        with store.write(identity, op="operator.applied") as tx:
            return move_record(tx, begun.kref, "applied", expected=("begun",))


def roll_back(store: Store, identity: Identity, kref: str) -> Record:
    """Give a file back what it said before a change, and return the receipt. Raises ConflictError
    if the file was changed since, or the backup is not what it was."""
    change = require_change(store, kref)
    if change.state != "applied":
        raise ConflictError(
            f"{kref} is {change.state}, not applied.",
            next_step="List the changes: doxa operator status",
            kref=kref,
        )
    path = Path(str(change.data["path"]))
    with _locked(path):
        held = read_file(path)
        if hash_of(held) != change.data["after"]:
            raise ConflictError(
                f"{path} was changed since {kref} was applied.",
                next_step="Plan a change of its own from what the file says now.",
                kref=kref,
            )
        former = restored(change)
        with store.write(identity, op="operator.rollback") as tx:
            move_record(tx, kref, "rolling_back", expected=("applied",))
        _replace(path, former, expected=str(change.data["after"]))
        with store.write(identity, op="operator.rolled_back") as tx:
            return move_record(tx, kref, "rolled_back", expected=("rolling_back",))


def restored(change: Record) -> bytes | None:
    """Return what the backup of a change says: the restore test. Raises ConflictError if it is not
    there, open to others, or not what the file said."""
    if change.data["before"] == ABSENT:
        return None
    backup = Path(str(change.data["backup"]))
    text = read_file(backup)
    why = ""
    if text is None:
        why = "is not there"
    elif hash_of(text) != change.data["before"]:
        why = "does not say what the file said"
    elif stat.S_IMODE(backup.stat().st_mode) & 0o077:
        why = "can be read by others"
    if why:
        raise ConflictError(
            f"The backup {backup} {why}.",
            next_step="Restore the file from another copy, by a plan.",
            kref=change.kref,
        )
    return text


def settle(store: Store, identity: Identity, *, project: str) -> list[Record]:
    """End the changes that a crash left begun or rolling back, by what their files say; return
    those that are so still, since the file says neither."""
    left = []
    for change in changes(store, project=project, states=tuple(_UNFINISHED)):
        path = Path(str(change.data["path"]))
        with _locked(path):
            found = hash_of(read_file(path))
            at_after, at_before = _UNFINISHED[change.state]
            state = {change.data["after"]: at_after, change.data["before"]: at_before}.get(found)
            for one in path.parent.glob(f".{glob.escape(path.name)}{_TEMPORARY}*"):
                one.unlink()
            if state is None:
                left.append(change)
                continue
            with store.write(identity, op="operator.settle") as tx:
                move_record(tx, change.kref, state, expected=(change.state,))
    return left


def changes(
    store: Store, *, project: str, states: Sequence[str] = (), limit: int = 100
) -> list[Record]:
    """Return the changes of all operators, the newest first; with `states` those in one of them."""
    test = f" AND n.props ->> '$.state' IN ({', '.join('?' * len(states))})" if states else ""
    sql = (
        "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Record' WHERE"
        f" n.project = ? AND n.props ->> '$.type' = ?{test}"
        " ORDER BY n.props ->> '$.made_ns' DESC, n.kref DESC LIMIT ?"
    )
    with store.read() as snapshot:
        rows = snapshot.rows(sql, (project, CHANGE, *states, limit))
        found = {node.id: node for node in snapshot.nodes([row[0] for row in rows])}
        return [read_record(found[row[0]]) for row in rows]


def newest_change(reader: Reader, path: str, *, since: int = 0) -> Record | None:
    """Return the last change of a file that was made after a time, in ns, and is in force: it is
    applied, or a crash left it begun or rolling back. None if an operator did not make it in this
    memory: what an import brings is somebody else's word."""
    marks = ", ".join("?" * len(_IN_FORCE))
    sql = (
        "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Record' WHERE"
        f" n.props ->> '$.type' = ? AND n.props ->> '$.state' IN ({marks}) AND n.props ->>"
        " '$.made_ns' > ? AND n.props ->> '$.data' ->> '$.path' = ? ORDER BY n.props ->>"
        " '$.made_ns' DESC, n.kref DESC LIMIT 1"
    )
    rows = reader.rows(sql, (CHANGE, *_IN_FORCE, since, path))
    for node in reader.nodes([row[0] for row in rows]):
        if _by_operator(reader, node.since):
            return read_record(node)
    return None


def _by_operator(reader: Reader, time: int) -> bool:
    """Whether an operator made the change of this memory that was made at a time. Times of receipts
    rise with their numbers."""
    low, high = 1, reader.last_change()
    while low <= high:
        middle = (low + high) // 2
        rows = reader.rows(_RECEIPT_FROM, (middle,))
        if not rows or rows[0][1] > time:
            high = middle - 1
        elif rows[0][1] < time:
            low = rows[0][0] + 1
        else:
            return rows[0][2] == "operator" and rows[0][3] not in _BROUGHT
    return False


def drift(change: Record) -> str:
    """Return how a file differs from what the newest change of it left, "" if it does not."""
    expected = change.data["after" if change.state == "applied" else "before"]
    try:
        found = hash_of(read_file(Path(str(change.data["path"]))))
    except (InputError, LimitError) as error:
        return error.message
    return "" if found == expected else "the file was changed since, past the gate"


def require_change(store: Store, kref: str) -> Record:
    """Return a change. Raises NotFoundError."""
    with store.read() as snapshot:
        found = find_record(snapshot, kref)
    if found is None or found.type != CHANGE:
        raise NotFoundError(
            f"{kref[:200]} is not a change.",
            next_step="List them: doxa operator status",
            kref=kref[:200],
        )
    return found


def _backup(path: Path, text: bytes | None, now_ns: int) -> Path | None:
    if text is None:
        return None
    backup = path.with_name(f"{path.name}.{now_ns}.bak")
    descriptor = os.open(backup, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync(path.parent)
    if read_file(backup) != text:
        raise ConflictError(
            f"The backup {backup} does not say what {path} says.",
            next_step="Check the disk; nothing was changed.",
            path=str(backup),
        )
    return backup


def _replace(path: Path, text: bytes | None, *, expected: str) -> None:
    """Let a file say `text`, None: take it away, if it says what is expected."""
    held = path.stat() if path.exists() else None
    temporary = None
    if text is not None:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}{_TEMPORARY}")
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), stat.S_IMODE(held.st_mode) & 0o755 if held else 0o600)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    try:
        if hash_of(read_file(path)) != expected:
            raise ConflictError(
                f"{path} was changed while the change was made.",
                next_step="Plan it again, and read the diff.",
                path=str(path),
            )
        if temporary is None:
            path.unlink()
        else:
            temporary.replace(path)
            temporary = None
    finally:
        if temporary is not None:
            temporary.unlink()
    _sync(path.parent)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of the folder of a file: two operators take turns."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _absolute(path: Path) -> Path:
    """The path without links in its folders; the last part stays, so that a link is seen."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(
            f"There is no folder {folder}.", next_step="Create it first.", path=str(path)
        )
    return folder.resolve() / path.name


def _not_a_file(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is not a file that may be changed: {why}.",
        next_step="Name the file itself, not a link.",
        path=str(path),
    )
