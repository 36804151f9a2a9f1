"""Reading files and objects of git inside of declared folders, and nothing else.

A path is opened part by part, that of the folder too, no part followed if it is a link, so that
neither `..`, a link, nor a link that is made meanwhile leads out of it. Read are regular files of
text, up to a size. Git runs without a shell, hooks, filters, replacement objects, other
configuration than the repository's, and without fetching what is not there; what it prints is the
object as stored.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

from doxa.base.limits import CLAIM_GIT_FILES_MAX, CLAIM_GIT_MS, CLAIM_SOURCE_BYTES_MAX

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_GIT = (
    *("git", "--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"),
)
_GIT_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class Unreadable(Exception):
    """Why a source cannot be read, in words."""


def read_below(folder: str, path: str) -> str:
    """Return the text of a file below a folder. Raises Unreadable."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path or "\\" in path:
        raise Unreadable("the path leads out of the declared folder, or has an empty part")
    opened = []
    try:
        opened.append(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
        for part in (*Path(folder).parts[1:], *parts[:-1]):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            opened.append(os.open(part, flags, dir_fd=opened[-1]))
        held = os.stat(parts[-1], dir_fd=opened[-1], follow_symlinks=False)
        if not stat.S_ISREG(held.st_mode):  # opening a device can do something
            raise Unreadable("it is not a file")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        opened.append(os.open(parts[-1], flags, dir_fd=opened[-1]))
        found = os.fstat(opened[-1])
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("it is not a file")
        if found.st_size > CLAIM_SOURCE_BYTES_MAX:
            raise Unreadable(f"it is longer than {CLAIM_SOURCE_BYTES_MAX:,} bytes")
        data = os.read(opened[-1], CLAIM_SOURCE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or "it cannot be opened") from None
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return _text(data)


def read_object(folder: str, commit: str, path: str) -> str:
    """Return the text of a file as a commit of a repository has it. Raises Unreadable."""
    if not _COMMIT.fullmatch(commit):
        raise Unreadable("a commit is given by 7 to 64 hexadecimal digits")
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise Unreadable("the path leads out of the repository, or has an empty part")
    held = (Path(folder) / ".git").lstat() if (Path(folder) / ".git").exists() else None
    if held is None or not stat.S_ISDIR(held.st_mode):
        raise Unreadable("the declared folder holds no repository of its own")
    _check_repository(Path(folder) / ".git")
    name = f"{commit}:{path}"
    size = _git(folder, "cat-file", "-s", name).decode("ascii", "replace").strip()
    if not size.isdecimal() or int(size) > CLAIM_SOURCE_BYTES_MAX:
        raise Unreadable(f"it is longer than {CLAIM_SOURCE_BYTES_MAX:,} bytes")
    return _text(_git(folder, "cat-file", "blob", name))


def _check_repository(git: Path) -> None:
    """Refuse a repository whose objects lie outside of its folder, or may."""
    elsewhere = (git / "commondir", git / "objects" / "info" / "alternates")
    if any(os.path.lexists(one) for one in elsewhere):
        raise Unreadable("the repository has objects outside of the declared folder")
    left, seen = [git / "objects"], 0
    while left:
        folder = left.pop()
        if folder.is_symlink() or not folder.is_dir():
            raise Unreadable("the repository has objects outside of the declared folder")
        with os.scandir(folder) as found:
            for one in found:
                seen += 1
                if one.is_symlink() or seen > CLAIM_GIT_FILES_MAX:
                    raise Unreadable("the repository has objects behind links, or too many")
                if one.is_dir(follow_symlinks=False):
                    left.append(Path(one.path))


def _git(folder: str, *arguments: str) -> bytes:
    environment = _GIT_ENVIRONMENT | {
        "GIT_CEILING_DIRECTORIES": str(Path(folder).parent),
        "PATH": os.defpath,
    }
    try:
        done = subprocess.run(  # noqa: S603  # no shell; arguments are checked
            [*_GIT, f"--git-dir={folder}/.git", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=CLAIM_GIT_MS / 1_000,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise Unreadable("git does not answer") from None
    if done.returncode != 0:
        raise Unreadable("the repository has no such file at that commit")
    return done.stdout


def _text(data: bytes) -> str:
    if len(data) > CLAIM_SOURCE_BYTES_MAX:
        raise Unreadable(f"it is longer than {CLAIM_SOURCE_BYTES_MAX:,} bytes")
    if b"\0" in data:
        raise Unreadable("it is not text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("it is not text in UTF-8") from None
