"""Which project a folder belongs to: the rule of `--project auto`, for the command line, the MCP
server, hooks, and imports of histories.

    the nearest folder that the table names, unless a repository begins below it
    the repository: its remote, or where it has none its folder
    the folder itself, outside of a repository
    `default` for the home folder and the root of the file system

Worktrees of a repository and all folders below it share its project, since a worktree names the
repository that it belongs to. What is met for the first time gets a row in the table, a small TOML
file that the person may edit:

    [projects]
    "github.com/acme/shop" = "shop"
    "/srv/notes" = "notes"

A second repository of the name `shop` becomes `acme-shop`. Git itself is not run: `.git` and its
`config` are read. Standard library alone, for `doxa hook`.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePath

from doxa.base.completing import is_completing
from doxa.base.errors import InputError
from doxa.hosts.files import locked, write_atomically

AUTO = "auto"
DEFAULT = "default"
_HEAD = """\
# Which repository or folder belongs to which project of doxa. Written when a folder is met for the
# first time; edit it freely, or use `doxa projects`. A key is a remote or a folder.

[projects]
"""
_REMOTE = re.compile(r'^\s*\[\s*remote\s+"(?P<name>[^"]*)"\s*\]')
_SECTION = re.compile(r"^\s*\[")
_URL = re.compile(r"^\s*url\s*=\s*(?P<url>.+?)\s*$")
_SCP = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[\w.-]+):(?P<path>[^/\s].*|/[^/\s].*)$")
_FULL = re.compile(r"^[a-z+]+://(?:[^@/]*@)?(?P<host>[\w.-]+|\[[^\]]+\])(?::\d+)?/(?P<path>.+)$")
_GIT_FILE_CHARS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """The project of a folder: by which key of the table, by which rule (`table`, `remote`,
    `repository`, `folder` or `home`), and whether the table had it already."""

    project: str
    key: str
    rule: str
    known: bool


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository: its main folder, the folder of this worktree, and its remote or ""."""

    folder: Path
    worktree: Path
    remote: str


class ProjectTable:
    """The table in its file. Every method reads the file again: a person may have edited it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> dict[str, str]:
        """Return project by key. Raises InputError for a file that is not such a table."""
        import tomllib

        try:
            text = self.path.read_text(encoding="utf-8")
            found = tomllib.loads(text).get("projects", {})
        except FileNotFoundError:
            return {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self._unreadable(str(error)) from None
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise self._unreadable('a row is "key" = "project"')
        return found

    def _unreadable(self, why: str) -> InputError:
        return InputError(
            f"{self.path} is not a table of projects: {why}.",
            next_step="Correct the file in an editor.",
            path=str(self.path),
        )

    def set(self, key: str, project: str) -> None:
        """Add or change one row; the rest of the file stays as it is."""
        if clean_name(project) != project or not project:
            raise InputError(
                f"{project[:60]!r} cannot be the name of a project.",
                next_step="Use letters, digits and hyphens.",
                field="project",
            )
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            self.rows()  # refuse to write into what cannot be read
            self._write(key, project)

    def remove(self, key: str) -> bool:
        """Remove a row; returns whether there was one."""
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            if key not in self.rows():
                return False
            self._write(key, None)
            return True

    def add(self, key: str, names: tuple[str, ...]) -> str:
        """Return the project of a key. A new key gets the first of these names that no other key
        has, or else the last with a digest of the key."""
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            rows = self.rows()
            if key in rows:
                return rows[key]
            taken = set(rows.values())
            digest = blake2b(key.encode("utf-8", "replace"), digest_size=3).hexdigest()
            free = [name for name in names if name not in taken]
            project = free[0] if free else f"{names[-1]}-{digest}"
            self._write(key, project)
            return project

    def _write(self, key: str, project: str | None) -> None:
        """Write one row, or remove it, as text: comments and order stay."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else _HEAD
        lines = text.splitlines(keepends=True)
        quoted = json.dumps(key, ensure_ascii=False)
        at = next((n for n, line in enumerate(lines) if _key_of(line) == key), None)
        row = [] if project is None else [f"{quoted} = {json.dumps(project)}\n"]
        if at is not None:
            lines[at : at + 1] = row
        else:
            start = next((n for n, line in enumerate(lines) if line.strip() == "[projects]"), None)
            if start is None:
                lines += ["\n" if lines else "", "[projects]\n"]
                start = len(lines) - 1
            end = next((n for n in range(start + 1, len(lines)) if _SECTION.match(lines[n])), None)
            at = len(lines) if end is None else end
            if at and not lines[at - 1].endswith("\n"):
                lines[at - 1] += "\n"
            lines[at:at] = row
        write_atomically(self.path, "".join(lines).encode())


def _key_of(line: str) -> str | None:
    """The key of a row of the table, as written by hand or by doxa."""
    import tomllib

    try:
        rows = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys = [key for key, value in rows.items() if isinstance(value, str)]
    return keys[0] if len(keys) == 1 else None


def project_of(
    folder: str | PurePath, table: ProjectTable, *, record: bool = True, exists: bool = True
) -> Found:
    """Return the project of a folder. With `record`, a key that the table lacks gets a row, except
    in a program that doxa runs as a model: its folder is gone when it ends.

    With `exists` False the folder is only a name from another time or machine, as in an imported
    history: the disk is read as far as it still has it.
    """
    place = Path(folder).expanduser()
    place = place.resolve() if exists else Path(place.as_posix())
    rows = table.rows()
    repository = repository_of(place)
    named = _named(place, rows, repository)
    if named is not None:
        return Found(rows[named], named, "table", True)
    if repository is not None:
        key = repository.remote or str(repository.folder)
        rule = "remote" if repository.remote else "repository"
        if key not in rows and str(repository.folder) in rows:  # it had no remote then
            key = str(repository.folder)
    elif place == place.parent or place == Path.home().resolve():
        return Found(DEFAULT, str(place), "home", True)
    else:
        key, rule = str(place), "folder"
    if key in rows:
        return Found(rows[key], key, rule, True)
    names = _names(key)
    if record and not is_completing(os.environ):
        return Found(table.add(key, names), key, rule, False)
    taken = set(rows.values())
    return Found(next((name for name in names if name not in taken), names[-1]), key, rule, False)


def _named(place: Path, rows: Mapping[str, str], repository: Repository | None) -> str | None:
    """The key of the nearest folder in the table, unless a repository begins below it. A folder
    of a worktree also counts as the same folder of the repository."""
    ways = [place]
    if repository is not None and repository.worktree != repository.folder:
        ways.append(repository.folder / place.relative_to(repository.worktree))
    best = None
    for way in ways:
        for one in (way, *way.parents):
            if str(one) in rows:
                best = one if best is None or len(one.parts) > len(best.parts) else best
                break
    if best is None or repository is None:
        return None if best is None else str(best)
    begins = (repository.folder, repository.worktree)
    return str(best) if any(best == one or one in best.parents for one in begins) else None


def _names(key: str) -> tuple[str, ...]:
    """Names for the project of a key, the plainest first: shop, acme-shop."""
    parts = [clean_name(part) for part in re.split(r"[/\\:]", key)]
    parts = [part for part in parts if part] or [DEFAULT]
    last = parts[-1] if parts[-1] not in (AUTO, DEFAULT) else f"{parts[-1]}-folder"
    return (last, f"{parts[-2]}-{last}") if len(parts) > 1 else (last,)


def clean_name(text: str) -> str:
    """Return a name of a project from free text: letters and digits, one hyphen for the rest."""
    parts = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).casefold())
    return "-".join(parts)[:48].strip("-")


def repository_of(folder: Path) -> Repository | None:
    """Return the git repository that a folder lies in; None outside of one. The home folder does
    not count as one: what lies in it is not one project."""
    home = Path.home().resolve()
    for place in (folder, *folder.parents):
        mark = place / ".git"
        if place == home or not mark.exists():
            continue
        common = _common_folder(mark)
        if common is None:
            continue
        main = common.parent if common.name == ".git" else place
        if common.name != ".git" and "modules" not in common.parts:
            main = common  # a bare repository with worktrees
        return Repository(main, place, _remote(common))
    return None


def _common_folder(mark: Path) -> Path | None:
    """The folder with the config of a repository: `.git` itself, or what a worktree's file
    names."""
    if mark.is_dir():
        return mark if (mark / "HEAD").exists() else None
    text = _read(mark)
    if not text.startswith("gitdir:"):
        return None
    own = (mark.parent / text.removeprefix("gitdir:").strip()).resolve()
    named = _read(own / "commondir").strip()
    if named:
        return (own / named).resolve()
    if own.parent.name == "worktrees":  # its folder is gone; where it lay says enough
        return own.parent.parent
    return own if own.exists() else None


def _remote(common: Path) -> str:
    """The remote of a repository as host/owner/name: `origin`, or else the first."""
    urls: dict[str, str] = {}
    current = ""
    for line in _read(common / "config").splitlines():
        if _SECTION.match(line):
            found = _REMOTE.match(line)
            current = found["name"] if found else ""
        elif current and (named := _URL.match(line)):
            urls.setdefault(current, named["url"])
    url = urls.get("origin") or next(iter(urls.values()), "")
    return remote_key(url)


def remote_key(url: str) -> str:
    """Return host/owner/name of a remote's URL, without user, password and port; "" for a path."""
    url = url.strip().strip('"')
    found = _FULL.match(url) or (None if "://" in url else _SCP.match(url))
    if found is None or len(found["host"]) < 2:  # C:/path is a folder
        return ""
    path = re.sub(r"\.git/?$", "", found["path"].strip("/"))
    return f"{found['host'].lower()}/{path}" if path else ""


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_GIT_FILE_CHARS_MAX)
    except OSError:
        return ""
