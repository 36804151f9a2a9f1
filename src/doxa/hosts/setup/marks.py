"""Which entries of a host's file are doxa's, of this version or an earlier one.

    hook      a call of the tool `memory_hook` of the server `doxa`, or a command with the words
              `hook EVENT --host HOST` after one that is doxa, or before `--project`
    server    the entry `doxa` of a list of servers whose words are doxa's `mcp`

A word such as `--host` alone proves nothing: other programs have it too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from doxa.hosts.events import EVENTS
from doxa.hosts.formats import FORMATS
from doxa.hosts.tool import NAME as HOOK_TOOL

SERVER = "doxa"
_PROGRAM = re.compile(r"doxa(\.|-memory|$)", re.IGNORECASE)  # doxa, doxa.exe, doxa.cli, doxa-memory


def is_own_hook(entry: Any) -> bool:
    """Return whether one hook is doxa's."""
    if not isinstance(entry, dict):
        return False
    if entry.get("type") == "mcp_tool":
        return bool(entry.get("server") == SERVER and entry.get("tool") == HOOK_TOOL)
    words = words_of(entry)
    return any(_is_call(words, at) for at, word in enumerate(words) if word == "hook")


def is_own_server(entry: Any) -> bool:
    """Return whether an entry that has the name of doxa's server starts doxa."""
    words = words_of(entry) if isinstance(entry, dict) else []
    at = words.index("mcp") if "mcp" in words else 0
    return at > 0 and (_names_doxa(words[:at]) or words[at + 1 : at + 2] == ["--project"])


def words_of(entry: dict[str, Any]) -> list[str]:
    """Return the command of a hook or a server as words."""
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str):
        command = [command] if isinstance(args, list) else _split(command)
    parts = [*(command if isinstance(command, list) else ())]
    return [str(one) for one in (*parts, *(args if isinstance(args, list) else ()))]


def _is_call(words: Sequence[str], at: int) -> bool:
    event, option, host = (*words[at + 1 : at + 4], "", "", "")[:3]
    if event not in EVENTS or option != "--host" or host not in FORMATS:
        return False
    return _names_doxa(words[:at]) or words[at + 4 : at + 5] == ["--project"]


def _names_doxa(words: Sequence[str]) -> bool:
    return any(_PROGRAM.match(PurePosixPath(word.replace("\\", "/")).name) for word in words)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
