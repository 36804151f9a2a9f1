"""The kinds of change that a set-up makes, each as a pure function from the text of a file to its
next text, and back.

    JsonEntries  members and list elements of a JSON file
    OwnFile      a file that is doxa's alone
    Block        lines between two markers, in a file of another format

An entry is doxa's own if it equals what doxa would write, or contains the word by which doxa marks
it. So adding twice changes nothing, and removal finds what an earlier version wrote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doxa.base.errors import InputError
from doxa.hosts.setup.json_text import APPEND, add, parsed, remove
from doxa.hosts.setup.json_text import Path as JsonPath


@dataclass(frozen=True, slots=True)
class JsonEntries:
    """Entries of a JSON file: a path whose last step is APPEND adds to a list. `marks` are texts
    one of which every entry of doxa contains as JSON."""

    path: Path
    entries: tuple[tuple[JsonPath, Any], ...]
    marks: tuple[str, ...]

    def applied(self, text: str) -> str:
        """Return the text with the entries in it, each once."""
        what = str(self.path)
        for path, value in self.entries:
            held = _at(parsed(text, what), path[:-1] if path[-1] == APPEND else path)
            if held == value or (isinstance(held, list) and value in held):
                continue
            if path[-1] == APPEND and isinstance(held, list):
                old = [n for n, one in enumerate(held) if self._is_own(one)]
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
                text = self._without(text, path) if self._holds_own(text, path) else text
                continue
            while True:
                held = _at(parsed(text, what), path[:-1])
                own = [n for n, one in enumerate(held or ()) if self._is_own(one)]
                if not isinstance(held, list) or not own:
                    break
                text = self._without(text, (*path[:-1], own[-1]))
        return text

    def _holds_own(self, text: str, path: JsonPath) -> bool:
        held = _at(parsed(text, str(self.path)), path)
        return held is not None and self._is_own(held)

    def _without(self, text: str, path: JsonPath) -> str:
        text = remove(text, path, what=str(self.path))
        while len(path) > 1:
            path = path[:-1]
            if _at(parsed(text, str(self.path)), path) not in ({}, []):
                break
            text = remove(text, path, what=str(self.path))
        return text

    def _is_own(self, value: Any) -> bool:
        said = json.dumps(value, ensure_ascii=False)
        return any(mark in said for mark in self.marks)

    def present(self, text: str) -> bool:
        """Return whether every entry is there as it should be."""
        document = parsed(text, str(self.path))
        for path, value in self.entries:
            held = _at(document, path[:-1] if path[-1] == APPEND else path)
            if not (held == value or (isinstance(held, list) and value in held)):
                return False
        return True


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
