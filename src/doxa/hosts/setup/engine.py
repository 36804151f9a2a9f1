"""Carry out a plan: show it, write it, take it back, check it.

    next texts of all files (a fault in one of them changes none) -> backups -> writes -> commands
    of the host

The record of a set-up holds for each file what it was (its backup), and a digest of what doxa
left. So a removal restores the bytes of before where nothing else has changed since, and takes out
the entries alone where something has.
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from doxa.base.errors import ConflictError, InputError
from doxa.hosts.files import locked, write_atomically
from doxa.hosts.setup.changes import Change, OwnFile
from doxa.hosts.setup.marks import is_own_server
from doxa.hosts.setup.plans import HostCommand, HostPlan

_COMMAND_S = 60


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: what it holds (None: it is not there), and what it will (None: it is removed).
    `refused`: why doxa does not change it; then it is as if it held nothing, to be entered by
    hand."""

    path: Path
    before: bytes | None
    after: bytes | None
    refused: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """Return the difference as text."""
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = (self.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path), n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Setup:
    """The set-up of one host. `folder` is doxa's configuration folder, for records and backups."""

    def __init__(self, plan: HostPlan, folder: Path, environ: Mapping[str, str]) -> None:
        self.plan = plan
        self._folder = folder / "setup"
        self._record_file = self._folder / f"{plan.host}.json"
        self._environ = environ

    def steps(self) -> list[FileChange]:
        """Return what `apply` would write. Raises InputError for a file that it cannot change."""
        return [_step(change) for change in self.plan.changes]

    def shown(self) -> list[FileChange]:
        """Return the same to be read, with what belongs into files that `apply` cannot change."""
        found = []
        for change in self.plan.changes:
            try:
                found.append(_step(change))
            except InputError as error:
                after = change.applied("").encode()
                found.append(FileChange(change.path, None, after, error.message))
        return found

    def due(self) -> list[HostCommand]:
        """Return the commands of the host that are still to run."""
        return [one for one in self.plan.commands if _server_in(one) != _wanted(one)]

    def out_of_reach(self) -> list[HostCommand]:
        """Return those of them whose program is not on the path."""
        return [one for one in self.due() if not self._has(one)]

    def apply(self) -> list[FileChange]:
        """Write it, and run the commands that can be run. What is there already is left as it is,
        and what is `out_of_reach` is left to the person."""
        with locked(self._folder / "lock"):
            steps = self.steps()
            due = [one for one in self.due() if self._has(one)]
            record = self._record()
            for step in (one for one in steps if one.changes):
                self._back_up(record, step.path, step.before)
                write_atomically(step.path, step.after or b"")
                self._left(record, step.path)
            for command in due:
                self._back_up(record, command.file, _read(command.file))
                for words in words_due(command):
                    self._run(words)
                self._left(record, command.file)
            self._write_record(record)
            return steps

    def remove(self) -> list[Path]:
        """Take doxa out; returns the files that changed. Raises InputError at the end if a command
        of the host is to be run elsewhere."""
        with locked(self._folder / "lock"):
            record = self._record()
            changed = []
            for command in self.plan.commands:
                if is_own_server(_entry_in(command)):
                    changed += [command.file] if self._undo_command(command, record) else []
            for change in self.plan.changes:
                before = _read(change.path)
                if before is None:
                    continue
                after = self._restored(record, change.path, before)
                if after is before:
                    said = _decoded(before, change.path)
                    text = change.removed(said)
                    if text == said:  # nothing of doxa is in it
                        continue
                    after = self._settled(record, change.path, text, isinstance(change, OwnFile))
                if after != before:
                    _write(change.path, after)
                    changed.append(change.path)
            entered = [one for one in self.plan.commands if is_own_server(_entry_in(one))]
            self._forget(record, besides=[one.file for one in entered])
            for command in entered:
                if not self._has(command):
                    raise _not_removed(command)
            return changed

    # Records and backups

    def _record(self) -> dict[str, dict[str, Any]]:
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._record_file.read_text())["files"]
            return found
        except (OSError, ValueError, KeyError):
            return {}

    def _forget(self, record: Mapping[str, dict[str, Any]], *, besides: Sequence[Path]) -> None:
        """Remove backups and records, but of files that doxa is still in."""
        kept = {path: held for path, held in record.items() if Path(path) in besides}
        gone = [held for path, held in record.items() if path not in kept]
        for held in gone:
            if held["backup"]:
                Path(held["backup"]).unlink(missing_ok=True)
        _remove_empty(folder for held in gone for folder in held["made"])
        if kept:
            self._write_record(kept)
        else:
            self._record_file.unlink(missing_ok=True)

    def _write_record(self, record: Mapping[str, Any]) -> None:
        data = json.dumps({"host": self.plan.host, "files": record}, indent=2).encode()
        write_atomically(self._record_file, data)

    def _back_up(self, record: dict[str, Any], path: Path, before: bytes | None) -> None:
        """Keep what a file was before doxa first changed it: one backup, however often set-up runs.

        A file that somebody else has changed since gets a new one."""
        held = record.get(str(path))
        if held is not None and held.get("left") == _digest(before):
            return
        backup = ""
        if before is not None:
            name = f"{self.plan.host}-{_digest(str(path).encode())[:8]}-{path.name}"
            kept = self._folder / "backup" / name
            if held is None or self._clean(path, before):
                write_atomically(kept, before)
            backup = str(kept)
        made = [str(one) for one in path.parents if not one.exists()]
        record[str(path)] = {"existed": before is not None, "backup": backup, "made": made}

    def _clean(self, path: Path, before: bytes) -> bool:
        """Whether a file holds nothing of doxa."""
        change = next((one for one in self.plan.changes if one.path == path), None)
        if change is None:
            return True
        text = _decoded(before, path)
        return change.removed(text) == text

    def _left(self, record: dict[str, Any], path: Path) -> None:
        record[str(path)]["left"] = _digest(_read(path))
        self._write_record(record)

    def _restored(self, record: Mapping[str, Any], path: Path, before: bytes) -> bytes | None:
        """The bytes of before the set-up, if nothing changed since; else what is there."""
        held = record.get(str(path))
        if held is None or held.get("left") != _digest(before):
            return before
        if not held["existed"]:
            return None
        return _read(Path(held["backup"])) or before

    def _settled(self, record: Mapping[str, Any], path: Path, text: str, own: bool) -> bytes | None:
        """What is left of a file without doxa: the bytes of before if it means the same as they do,
        nothing if doxa made it and nothing is left."""
        held = record.get(str(path), {})
        backup = _read(Path(held["backup"])) if held.get("backup") else None
        if backup is not None and _means(path, text.encode()) == _means(path, backup):
            return backup
        is_empty = not text.strip() or _means(path, text.encode()) in ({}, {"version": 1})
        return None if is_empty and (own or held.get("existed") is False) else text.encode()

    # Commands of the host

    def _has(self, command: HostCommand) -> bool:
        return shutil.which(command.add[0], path=self._environ.get("PATH")) is not None

    def _run(self, words: tuple[str, ...]) -> None:
        program = shutil.which(words[0], path=self._environ.get("PATH")) or words[0]
        done = subprocess.run(  # noqa: S603  # the host's own command, named by the plan
            [program, *words[1:]],
            capture_output=True,
            text=True,
            env=dict(self._environ),
            timeout=_COMMAND_S,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise ConflictError(
                f"`{' '.join(words[:3])} …` ended with {done.returncode}: {said}",
                next_step="Run it yourself to see more; files are as the diff shows.",
            )

    def _undo_command(self, command: HostCommand, record: Mapping[str, Any]) -> bool:
        before = _read(command.file)
        if before is not None:
            after = self._restored(record, command.file, before)
            if after is not before:
                _write(command.file, after)
                return True
        if not self._has(command):
            return False
        self._run(command.remove)
        text = (_read(command.file) or b"").decode("utf-8", "replace")
        after = self._settled(record, command.file, text, False)
        _write(command.file, after)
        return True


def words_due(command: HostCommand) -> list[tuple[str, ...]]:
    """Return the words of a command that is still to run; hosts refuse a second server of the same
    name, so one of an earlier set-up goes first."""
    return [*([command.remove] if _server_in(command) is not None else []), command.add]


def _not_removed(command: HostCommand) -> InputError:
    return InputError(
        f"{command.file} still has the server; all else of doxa is taken out. The command"
        f" {command.remove[0]}, by which doxa removes it, is not on your path.",
        next_step=f"Run this where it is: {shlex.join(command.remove)}",
        field="host",
    )


def _step(change: Change) -> FileChange:
    before = _read(change.path)
    return FileChange(change.path, before, change.applied(_decoded(before, change.path)).encode())


def _wanted(command: HostCommand) -> tuple[str, ...]:
    return command.add[command.add.index("--") + 1 :]


def _server_in(command: HostCommand) -> tuple[str, ...] | None:
    """The words of the server in the host's file, doxa's or another."""
    held = _entry_in(command)
    return None if held is None else _words_of(held)


def _entry_in(command: HostCommand) -> Any:
    """The server of that name in the host's file, doxa's or another."""
    held = _means(command.file, _read(command.file) or b"")
    for step in command.member:
        held = held.get(step) if isinstance(held, dict) else None
    return held


def _words_of(server: Any) -> tuple[str, ...]:
    if not isinstance(server, dict):
        return ()
    return (str(server.get("command", "")), *map(str, server.get("args", ())))


def _means(path: Path, data: bytes) -> Any:
    """The value of a JSON or TOML file without empty containers; its text where it is neither."""
    try:
        text = data.decode()
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text or "{}")
    except (ValueError, tomllib.TOMLDecodeError):
        return data
    return _without_empty(found)


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _without_empty(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one not in ({}, [])}


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes | None) -> None:
    """Write a file; with None, remove it."""
    if data is None:
        path.unlink(missing_ok=True)
    elif data != _read(path):
        write_atomically(path, data)


def _remove_empty(folders: Iterable[str]) -> None:
    """Remove the folders that a set-up made, where nobody else has put anything."""
    for folder in sorted(set(folders), key=len, reverse=True):
        with suppress(OSError):
            Path(folder).rmdir()


def _decoded(data: bytes | None, path: Path) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text at byte {error.start}. It is left as it is.",
            next_step="Save it as UTF-8.",
            path=str(path),
        ) from None


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()


def environment() -> dict[str, str]:
    """Return the environment that commands of hosts run in."""
    return dict(os.environ)
