"""Setting keys of a `doxa.toml` without touching its other lines: comments and order stay."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doxa.base.errors import InputError
from doxa.settings.file import parsed
from doxa.settings.table import IN_FILE


def edited(path: Path, text: str, given: Mapping[str, str]) -> str:
    """Return the text of a configuration with these keys set; an empty value takes a key out.
    Raises InputError for an unknown key, a value of another kind, or a text in which a key cannot
    be replaced as one line."""
    wanted = parsed(path, text)
    for key, value in given.items():
        setting = IN_FILE.get(key)
        if setting is None:
            raise InputError(
                f"{key[:80]} is not a setting.",
                next_step="See `doxa config --template`.",
                field=key[:80],
            )
        if value == "":
            wanted.pop(key, None)
        elif setting.kind == "integer" and value.isdecimal():
            wanted[key] = int(value)
        else:
            wanted[key] = value
        line = None if value == "" else _literal(wanted[key])
        text = _set_line(text, key, line)
    if parsed(path, text) != wanted:
        raise InputError(
            f"{path} cannot be changed line by line.",
            next_step="Write the whole file, and apply it with --from.",
            path=str(path),
        )
    return text


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _set_line(text: str, key: str, value: str | None) -> str:
    table, _, name = key.rpartition(".")
    lines = text.splitlines()
    start, end = _extent(lines, table)
    pattern = re.compile(rf"\s*{re.escape(name)}\s*=")
    at = next((n for n in range(start, end) if pattern.match(lines[n])), None)
    if at is not None:
        lines[at : at + 1] = [] if value is None else [f"{name} = {value}"]
    elif value is not None:
        if table and start == len(lines) and f"[{table}]" not in text:
            lines += [f"[{table}]"]
            start = len(lines)
        lines.insert(start, f"{name} = {value}")
    return "\n".join(lines) + "\n" if lines else ""


def _extent(lines: list[str], table: str) -> tuple[int, int]:
    """Return the lines of a table, its heading left out; of no table those before the first."""
    heads = [n for n, line in enumerate(lines) if re.match(r"\s*\[", line)]
    if not table:
        return 0, heads[0] if heads else len(lines)
    for head in heads:
        if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]", lines[head]):
            return head + 1, next((n for n in heads if n > head), len(lines))
    return len(lines), len(lines)
