"""The kinds of change that a set-up makes, each as a pure function from the text of a file to its
next text, and back.

    JsonEntries  members and list elements of a JSON file
    OwnFile      a file that is doxa's alone
    Block        lines between two markers, in a file of another format

An entry is doxa's own if it is a hook or a server that starts doxa (`marks.py`). So adding twice
changes nothing, and removal finds what an earlier version wrote, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doxa.base.errors import InputError
from doxa.hosts.setup.json_text import APPEND, add, parsed, remove
from doxa.hosts.setup.json_text import Path as JsonPath
from doxa.hosts.setup.marks import is_own_hook, is_own_server


@dataclass(frozen=True, slots=True)
class JsonEntries:
    """Entries of a JSON file: a path whose last step is APPEND adds to a list of hooks or of groups
    of hooks; another names a server. `required` are members of the file's format: each is added
    where it is missing, stays, and is refused with another value."""

    path: Path
    entries: tuple[tuple[JsonPath, Any], ...]
    required: tuple[tuple[JsonPath, Any], ...] = ()

    def applied(self, text: str) -> str:
        """Return the text with the entries in it, each once."""
        what = str(self.path)
        for path, value in self.required:
            held = _at(parsed(text, what), path)
            if held is None:
                text = add(text, path, value, what=what)
            elif held != value:
                name = ".".join(map(str, path))
                raise InputError(
                    f"{what} has {name} {held!r}, and doxa knows the format of {value!r}.",
                    next_step="Enter the server alone, as `doxa mcp --config` prints it.",
                    path=what,
                )
        for path, value in self.entries:
            held = _at(parsed(text, what), path[:-1] if path[-1] == APPEND else path)
            if held == value or (isinstance(held, list) and value in held):
                continue
            if path[-1] == APPEND and isinstance(held, list):
                text = self._without_shared(text, path[:-1])
                old = [n for n, one in enumerate(held) if _is_own(one)]
                if old:  # an earlier version's: replaced where it stands
                    text = add(text, (*path[:-1], old[0]), value, what=what)
                    continue
            text = add(text, path, value, what=what)
        return text

    def removed(self, text: str) -> str:
        """Return the text without entries of doxa, and without the containers that this empties."""
        what = str(self.path)
        if not text.strip():
            return text
        for path, _ in self.entries:
            if path[-1] != APPEND:
                if is_own_server(_at(parsed(text, what), path)):
                    text = self._without(text, path)
                continue
            text = self._without_shared(text, path[:-1])
            while True:
                held = _at(parsed(text, what), path[:-1])
                own = [n for n, one in enumerate(held or ()) if _is_own(one)]
                if not isinstance(held, list) or not own:
                    break
                text = self._without(text, (*path[:-1], own[-1]))
        return text

    def _without_shared(self, text: str, path: JsonPath) -> str:
        """The text without hooks of doxa in groups that hold hooks of others too."""
        found = list(_shared(_at(parsed(text, str(self.path)), path)))
        for group, hook in reversed(found):
            text = remove(text, (*path, group, "hooks", hook), what=str(self.path))
        return text

    def _without(self, text: str, path: JsonPath) -> str:
        text = remove(text, path, what=str(self.path))
        while len(path) > 1:
            path = path[:-1]
            if _at(parsed(text, str(self.path)), path) not in ({}, []):
                break
            text = remove(text, path, what=str(self.path))
        return text

    def present(self, text: str) -> bool:
        """Return whether every entry is there as it should be."""
        document = parsed(text, str(self.path))
        for path, value in (*self.required, *self.entries):
            held = _at(document, path[:-1] if path[-1] == APPEND else path)
            if not (held == value or (isinstance(held, list) and value in held)):
                return False
        return True


def _is_own(entry: Any) -> bool:
    """Whether a hook is doxa's, or every hook of a group."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if isinstance(hooks, list):
        return bool(hooks) and all(map(is_own_hook, hooks))
    return is_own_hook(entry)


def _shared(groups: Any) -> Iterator[tuple[int, int]]:
    """The positions of doxa's hooks in groups that hold hooks of others too."""
    for group, entry in enumerate(groups if isinstance(groups, list) else ()):
        hooks = entry.get("hooks") if isinstance(entry, dict) else None
        if isinstance(hooks, list) and not _is_own(entry):
            yield from ((group, n) for n, one in enumerate(hooks) if is_own_hook(one))


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is doxa's alone. `mark` is in each version of it."""

    path: Path
    content: str
    mark: str

    def applied(self, text: str) -> str:
        if text and self.mark not in text:
            raise InputError(
                f"{self.path} exists and is not doxa's.",
                next_step="Move it away, then set up again.",
                path=str(self.path),
            )
        return self.content

    def removed(self, text: str) -> str:
        return "" if self.mark in text else text

    def present(self, text: str) -> bool:
        return text == self.content


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between two markers, at the end of a file in which # begins a comment."""

    path: Path
    lines: str
    name: str = "doxa"

    @property
    def _block(self) -> str:
        return f"# >>> {self.name} >>>\n{self.lines.rstrip()}\n# <<< {self.name} <<<\n"

    def applied(self, text: str) -> str:
        rest = self.removed(text)
        gap = "" if not rest or rest.endswith("\n") else "\n"
        return f"{rest}{gap}{self._block}"

    def removed(self, text: str) -> str:
        start = text.find(f"# >>> {self.name} >>>")
        ended = f"# <<< {self.name} <<<"
        end = text.find(ended, start)
        if start < 0 or end < 0:
            return text
        end += len(ended)
        return text[:start] + text[end + (text[end : end + 1] == "\n") :]

    def present(self, text: str) -> bool:
        return self._block in text


Change = JsonEntries | OwnFile | Block


def _at(document: Any, path: JsonPath) -> Any:
    for step in path:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            return None
    return document
