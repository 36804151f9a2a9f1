"""The words by which hosts start this doxa, the same before and after an upgrade."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from doxa.base.errors import InputError

_PASSING = (".cache/uv", "uv/archive-v0", "pipx/.cache", "archive-v0")  # removed by an upgrade


def launch_words(command: str = "") -> tuple[str, ...]:
    """Return them: the command that is given, `doxa` of the path, the environment's Python, or uvx
    where doxa runs from an environment that does not last. Raises InputError if there is none."""
    if command:
        return _given(command)
    interpreter = Path(sys.executable)
    if not _passes(interpreter):
        script = interpreter.with_name("doxa")
        found = shutil.which("doxa")
        if found and not _passes(Path(found)) and Path(found).resolve() == script.resolve():
            return (str(Path(found).absolute()),)
        return (str(interpreter.absolute()), "-m", "doxa.cli")
    uvx = shutil.which("uvx")
    if uvx:
        extras = "mcp,minilm" if find_spec("doxa_memory_minilm") else "mcp"
        return (str(Path(uvx).absolute()), "--from", f"doxa-memory[{extras}]", "doxa")
    raise InputError(
        f"doxa runs from {interpreter.parent}, which an upgrade removes.",
        next_step="Install it (`uv tool install`, `pipx install` or a virtual environment), or name"
        " the command with --command.",
        field="command",
    )


def _given(command: str) -> tuple[str, ...]:
    words = command.split() if not Path(command).exists() else [command]
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise InputError(
            f"{command[:80]!r} is not a command here.",
            next_step="Give the path of the doxa command.",
            field="command",
        )
    return (str(Path(found).absolute()), *words[1:])


def _passes(path: Path) -> bool:
    text = path.absolute().as_posix()
    return any(part in text for part in _PASSING)
