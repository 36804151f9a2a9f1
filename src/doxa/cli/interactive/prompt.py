"""Lines from a person at a terminal: a prompt, editing and completion where the system has
readline, and a history.

The history is a text file in the user's state folder, one entry a line, readable by its owner
alone. What begins with a blank is not kept. It is written here rather than by readline, whose
variants write different formats; entries are appended, so two shells lose nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from doxa.base.limits import SHELL_HISTORY_LINES_MAX

_DELIMITERS = " \t\n\"'`()[]{}<>=+-*/%^,;:|&!?\\~"


def history_path() -> Path | None:
    """Return doxa/cypher_history in the state folder (XDG_STATE_HOME, or ~/.local/state); None for
    a user without a home."""
    base = os.environ.get("XDG_STATE_HOME")
    try:
        return (
            (Path(base) if base else Path.home() / ".local" / "state") / "doxa" / "cypher_history"
        )
    except RuntimeError:
        return None


class Prompt:
    """Asks for lines. `complete(before, word)` gives what a word may become; `before` is the line
    up to it."""

    def __init__(self, complete: Callable[[str, str], list[str]], history: Path | None) -> None:
        self._complete = complete
        self._found: list[str] = []
        self._path = history
        self._readline = _readline()
        if self._readline is not None:
            self._readline.set_auto_history(False)
            self._readline.set_completer_delims(_DELIMITERS)
            self._readline.set_completer(self._candidate)
            editline = "libedit" in (self._readline.__doc__ or "")
            self._readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
            for entry in self._kept():
                self._readline.add_history(entry)

    def ask(self, prompt: str) -> str | None:
        """Read one line; None at the end of input. Raises KeyboardInterrupt."""
        try:
            return input(prompt)
        except EOFError:
            return None

    def keep(self, entry: str) -> None:
        """Remember what was typed, unless it begins with a blank."""
        if not entry.strip() or entry[0].isspace() or "\n" in entry:
            return
        if self._readline is not None:
            self._readline.add_history(entry)
        if self._path is not None:
            with suppress(
                OSError, UnicodeEncodeError
            ):  # a history that cannot be written must not stop it
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _write(self._path, [entry], os.O_APPEND)

    def close(self) -> None:
        if self._readline is not None:
            self._readline.set_completer(None)

    def _candidate(self, word: str, number: int) -> str | None:
        if number == 0:
            before = self._readline.get_line_buffer()[: self._readline.get_begidx()]
            self._found = self._complete(before, word)
        return self._found[number] if number < len(self._found) else None

    def _kept(self) -> list[str]:
        """The entries of earlier shells; a file that has grown to twice the limit is cut to it."""
        try:
            lines = (
                self._path.read_text(encoding="utf-8", errors="replace").splitlines()
                if self._path is not None
                else []
            )
            if self._path is not None and len(lines) > 2 * SHELL_HISTORY_LINES_MAX:
                part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
                _write(part, lines[-SHELL_HISTORY_LINES_MAX:], os.O_TRUNC)
                os.replace(part, self._path)
        except OSError:
            return []
        return lines[-SHELL_HISTORY_LINES_MAX:]


def _write(path: Path, entries: list[str], flag: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.chmod(path, 0o600)  # also of a file that was there
        file.write("".join(f"{entry}\n" for entry in entries))


def _readline() -> Any:
    """The module, which edits lines once it is imported; None where the system has none."""
    try:
        import readline
    except ImportError:
        return None
    return readline
