"""Backups on a schedule: each is restored once before it counts, and a rule says which are kept.

    <folder>/<name>-20260601T120000Z.db      a backup
    <folder>/backups.jsonl                   a line for each that was made: what it holds, its test
    <folder>/<name>-....db.making            locked by who makes it, so that no other takes the name

A backup counts when it was restored to a file next to it, its log was verified and replayed, and
every invariant checked; that file is removed then. Nothing is removed before a newer backup passed.
Only files that the list names are removed, and never the newest that passed. Several memories may
share a folder, under one name too: the rule holds for each by itself. What a backup that was killed
had begun goes with the next one.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from doxa.base.clock import NS
from doxa.base.errors import DoxaError, InputError
from doxa.base.patterns import lazy_re
from doxa.maintenance.doctor import prove
from doxa.store import Store, check
from doxa.store.file.file_copy import discard, file_errors
from doxa.store.stages import Stages, no_stages
from doxa.store.visibility.evaluator import Expressions

try:
    import fcntl
except ImportError:  # Windows: the list is not held
    fcntl = None  # type: ignore[assignment]

LIST = "backups.jsonl"
_MAKING = ".making"
_NAME = lazy_re(r"(.+)-\d{8}T\d{6}Z(?:-\d+)?\.db")
_MODE = 0o600


def file_bytes(store: Store) -> int:
    """Return how large a copy of a file is."""
    db = store.connection()
    return int(db.pragma("page_count")) * int(db.pragma("page_size"))


class KeepRule(NamedTuple):
    """Which backups are kept: the newest `last`, the newest of each of so many days, and of each of
    so many weeks that have any (UTC)."""

    last: int = 7
    days: int = 14
    weeks: int = 8


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a folder: when it was made (ns), the number and receipt of its last change, what
    its restore test found (empty: it passed), and the first receipt of its memory (empty in lists
    of former versions)."""

    path: str
    time: int
    change: int
    receipt: str
    size_bytes: int
    problem: str = ""
    origin: str = ""

    @property
    def passed(self) -> bool:
        return not self.problem

    def is_of(self, other: Backup) -> bool:
        """Return whether it is of the same memory: of a file of that name with that first receipt,
        since copies of a memory may go different ways."""
        return _stem(self.path) == _stem(other.path) and self.origin in ("", other.origin)


def backups_in(folder: Path) -> list[Backup]:
    """Return the backups of a folder that are still there, the oldest first."""
    try:
        lines = (folder / LIST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError):  # a line that was cut short
            found.append(Backup(**json.loads(line)))
    return [one for one in found if (folder / one.path).is_file()]


def kept(backups: Sequence[Backup], rule: KeepRule) -> set[str]:
    """Return the paths of the backups that a rule keeps. What failed its test is kept among the
    newest only, so that it can be looked at."""
    newest = sorted(backups, key=lambda one: one.time, reverse=True)
    good = [one for one in newest if one.passed]
    found = {one.path for one in newest[: rule.last]} | {one.path for one in good[:1]}
    for count, form in ((rule.days, "%Y-%j"), (rule.weeks, "%G-%V")):
        seen: set[str] = set()
        for one in good:
            name = datetime.fromtimestamp(one.time // NS, UTC).strftime(form)
            if name not in seen and len(seen) < count:
                seen.add(name)
                found.add(one.path)
    return found


def make_backup(
    store: Store,
    folder: Path,
    *,
    rule: KeepRule | None = None,
    note: Callable[[Path], None] = lambda _: None,
    progress: Stages = no_stages,
) -> tuple[Backup, list[str]]:
    """Make a backup in a folder, restore it as a test, and remove what the rule does not keep.

    Returns it and the paths that were removed: none if its test failed. `note` is called with its
    path, `progress` with each step that begins and how much it has to do, for a function that takes
    what was done since its last call. Raises StoreError for a folder that cannot be
    written to, InputError for a rule that keeps nothing.
    """
    rule = rule or KeepRule()
    if rule.last < 1 or rule.days < 0 or rule.weeks < 0:
        raise InputError(
            "A rule keeps one backup at least, and no negative number of days or weeks.",
            next_step="Give --last 1 or more.",
            field="last",
        )
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = store.clock.now_ns()
    stamp = datetime.fromtimestamp(now // NS, UTC).strftime("%Y%m%dT%H%M%SZ")
    _clear_unfinished(folder)
    with _reserved(folder, f"{Path(store.path).stem}-{stamp}") as target:
        try:
            store.backup(target, progress=progress("bytes copied", file_bytes(store)))
            note(target)
            made = _tested(target, now, store._expressions, progress)
            with _holding_list(folder):
                _append(folder / LIST, made)
                removed = _remove_old(folder, made, rule) if made.passed else []
        except BaseException:
            _discard_unlisted(folder, target.name)
            raise
    return made, removed


def _remove_old(folder: Path, made: Backup, rule: KeepRule) -> list[str]:
    of_it = [one for one in backups_in(folder) if one.is_of(made)]
    keep = kept(of_it, rule)
    removed = [one.path for one in of_it if one.path not in keep]
    for path in removed:
        discard(folder / path)
    _rewrite(folder / LIST, backups_in(folder))
    return removed


def _tested(path: Path, now: int, expressions: Expressions | None, progress: Stages) -> Backup:
    """Restore a backup to a file next to it, and check that."""
    trial = path.with_name(path.name + ".restored")
    discard(trial)
    problem, receipt, change, origin = "", "", 0, ""
    try:
        with Store(path, read_only=True, expressions=expressions) as source:
            source.backup(trial, progress=progress("bytes restored", file_bytes(source)))
        with Store(trial, read_only=True, expressions=expressions) as store:
            with store.read() as snapshot:
                last = snapshot.last_receipt()
                origin = next((one.hash.hex() for one in snapshot.receipts(limit=1)), "")
            entries = last.last_seq if last else 0
            proof = prove(store, progress("log entries verified and replayed", 2 * entries))
            receipt, change = proof.head, proof.receipts
            found = check(store, progress)
            problem = found[0] if found else ""
    except (DoxaError, OSError) as error:
        problem = str(error)
    finally:
        discard(trial)
    return Backup(path.name, now, change, receipt, path.stat().st_size, problem, origin)


def _stem(path: str) -> str:
    """Return the name of the file that a backup of this name was made of."""
    found = _NAME.fullmatch(path)
    return found[1] if found else path


@contextmanager
def _reserved(folder: Path, name: str) -> Iterator[Path]:
    """Take a name that no backup has and nobody makes one under: memories of one name may share the
    folder, and a second."""
    for number in itertools.count(1):
        found = folder / (f"{name}.db" if number == 1 else f"{name}-{number}.db")
        mark = found.with_name(found.name + _MAKING)
        with _locked(mark) as mine:
            if mine and not found.exists():
                try:
                    yield found
                finally:
                    mark.unlink(missing_ok=True)
                return
            if mine:
                mark.unlink(missing_ok=True)


def _clear_unfinished(folder: Path) -> None:
    """Remove what backups that were killed had begun and did not come to list. What somebody makes
    now is locked; where nothing can be locked, nothing is removed."""
    if fcntl is None:
        return
    for mark in folder.glob(f"*.db{_MAKING}"):
        name = mark.name.removesuffix(_MAKING)
        with _locked(mark) as mine:
            if mine and _NAME.fullmatch(name):
                _discard_unlisted(folder, name)
                mark.unlink(missing_ok=True)


def _discard_unlisted(folder: Path, name: str) -> None:
    """Remove what a backup has begun, and itself if the list lacks it: no rule would ever remove
    it."""
    is_listed = any(one.path == name for one in backups_in(folder))
    for end in (".part", ".restored.part", ".restored", *(() if is_listed else ("",))):
        discard(folder / (name + end))


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Open a file, made if need be, and say whether it could be locked; it is until the block
    ends."""
    with file_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, _MODE)
    try:
        yield _lock(handle) and _is_at(handle, path)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    with suppress(FileNotFoundError):
        return os.fstat(handle).st_ino == path.stat().st_ino
    return False


@contextmanager
def _holding_list(folder: Path) -> Iterator[None]:
    """Hold the list of a folder, which backups of several memories may change at the same time."""
    path = folder / LIST
    while True:
        with file_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, _MODE)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_at(handle, path):  # as long as nobody replaced it meanwhile
                yield
                return
        finally:
            os.close(handle)


def _line(one: Backup) -> str:
    return json.dumps(asdict(one), ensure_ascii=False) + "\n"


def _append(path: Path, one: Backup) -> None:
    """Add a line, on a line of its own also after one that was cut short; whole or not at all."""
    with file_errors(path), path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        cut = file.read() not in (b"", b"\n")
        try:
            file.write(b"\n" * cut + _line(one).encode())
            file.flush()
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise


def _rewrite(path: Path, backups: Iterable[Backup]) -> None:
    part = path.with_name(path.name + ".part")
    with file_errors(part):
        try:
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "w", encoding="utf-8"
            ) as file:
                file.writelines(map(_line, backups))
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
