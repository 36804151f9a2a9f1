"""The operator's key: a file that proves who asks is the operator.

    doxa operator key      makes the file (mode 600) and registers its SHA-256 in the memory file
    a memory with a key    gives the commands of doxa the rights of an operator only to who can read
                           the file; without it they have those of an agent

The memory file holds the hash alone. Who can read the key, and who can write the memory
file past doxa, is the operator: docs/guides/operator.md says what follows from that.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from doxa.base.errors import InputError, RoleError
from doxa.base.limits import OPERATOR_KEY_BYTES_MIN
from doxa.store import Reader, Transaction

OPERATOR_KEY = "operator:key"  # the catalogue's name of the hash
# What the shells of agent hosts say of themselves. A courtesy, and no barrier: a variable can be
# removed by who starts a program.
_HOSTS = ("CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "DOXA_AGENT")


def create_key(path: Path) -> str:
    """Write a new key, and return its SHA-256. Raises InputError if there is a file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_hex(OPERATOR_KEY_BYTES_MIN)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise InputError(
            f"{path} exists already.",
            next_step="Name another file with DOXA_OPERATOR_KEY, or register this one.",
            path=str(path),
        ) from None
    with os.fdopen(descriptor, "w") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    return _hash(key)


def read_key(path: Path) -> str:
    """Return the SHA-256 of the key in a file. Raises RoleError for a file that is not there, that
    is a link, that is not the user's or root's, or that others may read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _unusable(path, "it is not a file")
        if found.st_uid not in (os.geteuid(), 0):
            raise _unusable(path, "it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise _unusable(path, "others may read or write it; its mode is to be 600")
        text = os.read(descriptor, 4 * OPERATOR_KEY_BYTES_MIN)
    finally:
        os.close(descriptor)
    key = text.decode("ascii", "replace").strip()
    if len(key) < 2 * OPERATOR_KEY_BYTES_MIN:
        raise _unusable(path, "it holds no key")
    return _hash(key)


def register_key(tx: Transaction, digest: str) -> None:
    """Register the hash of a key, in place of the one before. The store asks for an operator."""
    tx.set_catalogue(OPERATOR_KEY, {"sha256": digest})


def registered_key(reader: Reader) -> str | None:
    """Return the hash of the key that a memory asks for, or None."""
    held = reader.catalogue(OPERATOR_KEY)
    return str(held["sha256"]) if held else None


def fits(registered: str, path: Path) -> bool:
    """Return whether a file holds the registered key, and may be used."""
    try:
        return hmac.compare_digest(registered, read_key(path))
    except RoleError:
        return False


def host_of(environ: Mapping[str, str]) -> str | None:
    """Return the variable by which an agent host marks the shell of its agent, or None."""
    return next((name for name in _HOSTS if environ.get(name)), None)


def require_person(environ: Mapping[str, str]) -> None:
    """Raise RoleError in the shell of an agent."""
    host = host_of(environ)
    if host is not None:
        raise RoleError(
            f"This shell belongs to an agent: {host} is set.",
            next_step="Run the command in a terminal of your own.",
        )


def require_operator(registered: str | None, path: Path, environ: Mapping[str, str]) -> None:
    """Raise RoleError unless the key is presented, by a process that is not an agent's."""
    require_person(environ)
    if registered is None:
        raise RoleError(
            "This memory has no operator key.",
            next_step="Make one as the operator, in a terminal of your own: doxa operator key",
        )
    if not hmac.compare_digest(registered, read_key(path)):
        raise RoleError(
            f"{path} is not the key of this memory.",
            next_step="Name the file with DOXA_OPERATOR_KEY.",
        )


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _unusable(path: Path, why: str) -> RoleError:
    return RoleError(
        f"The operator key {path} cannot be used: {why}.",
        next_step="Run this as the user who owns the key, with its mode 600.",
        path=str(path),
    )
