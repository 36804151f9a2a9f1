"""What of a message of a conversation is stored: one rule for hooks, which see it while it is
said, and for imports, which read it later, so that both derive the same address from it.

    text -> without injected blocks (stripping.py) -> without credentials -> storable -> cut

At module level this needs the standard library alone, for `doxa hook`.
"""

from __future__ import annotations

import json
from typing import Any

from doxa.base.limits import HOOK_TEXT_CHARS_MAX
from doxa.redaction.stripping import stripped

_CUT = " [… cut at the size limit]"
_TOOL_INPUT_CHARS, _TOOL_OUTPUT_CHARS = 300, 700
_OWN_TOOLS = ("memory_", "doxa")


def storable(text: str) -> str:
    """Replace lone surrogates, and remove NULs."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def message_text(text: str) -> tuple[str, int]:
    """Return what is stored of a message, "" if nothing is, and how many secrets were removed."""
    text = stripped(text)
    if not text:
        return "", 0
    from doxa.redaction.redact import redact

    clean = redact(text)
    text = storable(clean.text)
    if len(text) > HOOK_TEXT_CHARS_MAX:
        text = text[: HOOK_TEXT_CHARS_MAX - len(_CUT)] + _CUT
    return text, len(clean.findings)


def tool_text(tool: str, given: Any, made: Any) -> str:
    """Return a use of a tool in short; nothing of doxa's own, since that is what memory holds
    already."""
    if not tool or any(part in tool for part in _OWN_TOOLS):
        return ""
    return f"{tool}({_short(given, _TOOL_INPUT_CHARS)}) -> {_short(made, _TOOL_OUTPUT_CHARS)}"


def _short(value: Any, chars_max: int) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return text if len(text) <= chars_max else f"{text[:chars_max]}…"
