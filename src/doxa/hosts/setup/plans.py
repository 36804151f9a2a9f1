"""What doxa enters into each host: one function for each, all from the same few words.

A plan is data: the changes to files, the commands of the host, the hooks with a document as the
host would send it, and notes for the person. Command strings hold no version and no path that an
upgrade changes, since Codex trusts a hook by a hash of its definition.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doxa.hosts.events import CHECK_SESSION
from doxa.hosts.formats import FORMATS
from doxa.hosts.setup.changes import Change, JsonEntries, OwnFile
from doxa.hosts.setup.json_text import APPEND
from doxa.hosts.setup.json_text import Path as JsonPath
from doxa.hosts.setup.marks import SERVER
from doxa.hosts.setup.plugins import HERMES, OPENCODE
from doxa.hosts.tool import NAME as HOOK_TOOL

_HOOK_S = 10


@dataclass(frozen=True, slots=True)
class HostCommand:
    """A command of the host that changes a file of its own: `add` and `remove` are its words,
    `file` is what it changes, `member` where in it the server stands."""

    file: Path
    member: tuple[str, ...]
    add: tuple[str, ...]
    remove: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook: how it runs (`command`: words; empty: the tool of the server) and the document, or
    the tool's arguments, that the host would give it."""

    event: str
    command: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HostPlan:
    """All that a set-up does for one host."""

    host: str
    changes: tuple[Change, ...]
    commands: tuple[HostCommand, ...] = ()
    hooks: tuple[Hook, ...] = ()
    server: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """How a host starts doxa: the words before `mcp` or `hook`, the project, and the memory file
    where it is not the user's own."""

    words: tuple[str, ...]
    project: str = "auto"
    db: str = ""

    def _at(self) -> tuple[str, ...]:
        return ("--db", self.db) if self.db else ()

    def server(self, host: str) -> tuple[str, ...]:
        actor = ("--actor", host)
        return (*self.words, "mcp", "--project", self.project, *actor, *self._at())

    def hook(self, event: str, host: str) -> tuple[str, ...]:
        where = ("--project", self.project)
        return (*self.words, "hook", event, "--host", host, *where, *self._at())

    def entry(self, host: str) -> dict[str, Any]:
        command, *args = self.server(host)
        return {"command": command, "args": args}


@dataclass(frozen=True, slots=True)
class Folders:
    """Where hosts keep their files, from the home folder and the environment."""

    home: Path
    environ: Mapping[str, str]

    def of(self, variable: str, default: str) -> Path:
        named = self.environ.get(variable)
        return Path(named) if named else self.home / default


def plan_of(host: str, launch: Launch, folders: Folders) -> HostPlan:
    """Return the plan for a host."""
    return _PLANS[host](launch, folders)


def _tool_hook(event: str, host: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """A hook that calls the tool of the running server."""
    given = {"host": host, "event": event, "session": "${session_id}", "folder": "${cwd}"}
    return {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": HOOK_TOOL,
        "input": {**given, **fields},
        "timeout": _HOOK_S,
    }


def _checked(event: str, host: str) -> Hook:
    """A hook by the tool, with what the host would fill in; without a text, nothing is stored."""
    return Hook(event, (), {"host": host, "event": event, "session": CHECK_SESSION, "text": ""})


_USED = {
    "tool": "${tool_name}",
    "tool_input": "${tool_input}",
    "tool_response": "${tool_response}",
}


def _claude_code(launch: Launch, folders: Folders) -> HostPlan:
    host = "claude-code"
    folder = folders.of("CLAUDE_CONFIG_DIR", ".claude")
    state = folder if folders.environ.get("CLAUDE_CONFIG_DIR") else folders.home
    names = FORMATS[host].names
    commands = {event: launch.hook(event, host) for event in ("open", "close")}  # without a server
    tools = {
        "prompt": {"text": "${prompt}"},
        "tool": _USED,
        "answer": {"text": "${last_assistant_message}"},
        "compaction": {"text": "${compact_summary}"},
    }
    hooks = {
        event: {"type": "command", "command": words[0], "args": [*words[1:]], "timeout": _HOOK_S}
        for event, words in commands.items()
    }
    hooks |= {event: _tool_hook(event, host, fields) for event, fields in tools.items()}
    entries: list[tuple[JsonPath, Any]] = [
        (("hooks", names[event], APPEND), {"hooks": [hook]}) for event, hook in hooks.items()
    ]
    own = ("claude", "mcp")
    return HostPlan(
        host,
        (JsonEntries(folder / "settings.json", tuple(entries)),),
        commands=(
            HostCommand(
                state / ".claude.json",
                ("mcpServers", SERVER),
                (*own, "add", "--scope", "user", SERVER, "--", *launch.server(host)),
                (*own, "remove", "--scope", "user", SERVER),
            ),
        ),
        hooks=(
            *(Hook(event, words, _document(host, event)) for event, words in commands.items()),
            *(_checked(event, host) for event in tools),
        ),
        server=launch.server(host),
        notes=("Sessions that are open already begin to use memory when they are started again.",),
    )


def _codex(launch: Launch, folders: Folders) -> HostPlan:
    host = "codex"
    folder = folders.of("CODEX_HOME", ".codex")
    names = FORMATS[host].names
    tools = {
        "open": {"source": "${source}"},
        "prompt": {"text": "${prompt}"},
        "tool": _USED,
        "answer": {"text": "${last_assistant_message}"},
        "compaction": {"transcript_path": "${transcript_path}"},
        "close": {},
    }
    entries = tuple(
        (("hooks", names[event], APPEND), {"hooks": [_tool_hook(event, host, fields)]})
        for event, fields in tools.items()
    )
    own = ("codex", "mcp")
    return HostPlan(
        host,
        (JsonEntries(folder / "hooks.json", entries),),
        commands=(
            HostCommand(
                folder / "config.toml",
                ("mcp_servers", SERVER),
                (*own, "add", SERVER, "--", *launch.server(host)),
                (*own, "remove", SERVER),
            ),
        ),
        hooks=tuple(_checked(event, host) for event in tools),
        server=launch.server(host),
        notes=(
            "Codex runs no hook before you trust it, and `codex exec` says nothing about that:"
            " start codex, enter /hooks, and trust those of doxa.",
        ),
    )


def _cursor(launch: Launch, folders: Folders) -> HostPlan:
    host, folder = "cursor", folders.home / ".cursor"
    names = FORMATS[host].names
    hooks = tuple(
        (("hooks", names[event], APPEND), {"command": shlex.join(launch.hook(event, host))})
        for event in names
    )
    return HostPlan(
        host,
        (
            JsonEntries(folder / "hooks.json", hooks, required=((("version",), 1),)),
            JsonEntries(folder / "mcp.json", ((("mcpServers", SERVER), launch.entry(host)),)),
        ),
        hooks=_commands(launch, host),
        server=launch.server(host),
        notes=(
            "Cursor 3 does not inject what a hook returns: the agent finds memory by the server's"
            " instructions and tools. For a brief in every conversation, add a rule that is always"
            " applied: 'The tool memory_context of the server doxa lists what is known here.'",
        ),
    )


def _gemini(launch: Launch, folders: Folders) -> HostPlan:
    host, folder = "gemini", folders.of("GEMINI_CLI_HOME", "") / ".gemini"
    names = FORMATS[host].names
    entries: list[tuple[JsonPath, Any]] = [(("mcpServers", SERVER), launch.entry(host))]
    for event in names:
        hook = {
            "name": f"{SERVER}-{event}",
            "type": "command",
            "command": shlex.join(launch.hook(event, host)),
            "timeout": _HOOK_S * 1_000,  # this host counts milliseconds
        }
        entries.append((("hooks", names[event], APPEND), {"hooks": [hook]}))
    return HostPlan(
        host,
        (JsonEntries(folder / "settings.json", tuple(entries)),),
        hooks=_commands(launch, host),
        server=launch.server(host),
    )


def _opencode(launch: Launch, folders: Folders) -> HostPlan:
    host = "opencode"
    folder = folders.of("XDG_CONFIG_HOME", ".config") / "opencode"
    server = {"type": "local", "command": list(launch.server(host)), "enabled": True}
    words = json.dumps(list(launch.hook("EVENT", host)))
    return HostPlan(
        host,
        (
            JsonEntries(folder / "opencode.json", ((("mcp", SERVER), server),)),
            OwnFile(folder / "plugins" / "doxa.js", OPENCODE % words, "doxa setup opencode"),
        ),
        hooks=_commands(launch, host),
        server=launch.server(host),
        notes=("The plugin uses experimental hooks of OpenCode, which may change.",),
    )


def _copilot(launch: Launch, folders: Folders) -> HostPlan:
    host, folder = "copilot", folders.of("COPILOT_HOME", ".copilot")
    names = FORMATS[host].names
    hooks = {
        names[event]: [
            {
                "type": "command",
                "bash": shlex.join(launch.hook(event, host)),
                "timeoutSec": _HOOK_S,
            }
        ]
        for event in names
    }
    content = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    server = {"type": "local", **launch.entry(host), "tools": ["*"]}
    return HostPlan(
        host,
        (
            OwnFile(folder / "hooks" / "doxa.json", content, "hook open --host copilot"),
            JsonEntries(folder / "mcp-config.json", ((("mcpServers", SERVER), server),)),
        ),
        hooks=_commands(launch, host),
        server=launch.server(host),
        notes=("Copilot's prompts are captured and never rewritten; only the brief is injected.",),
    )


def _openclaw(launch: Launch, folders: Folders) -> HostPlan:
    host, folder = "openclaw", folders.home / ".openclaw"
    return HostPlan(
        host,
        (
            JsonEntries(
                folder / "openclaw.json", ((("mcp", "servers", SERVER), launch.entry(host)),)
            ),
        ),
        server=launch.server(host),
        notes=(
            "doxa is one of OpenClaw's MCP servers; its memory slot stays as it is, and nothing is"
            " captured or injected.",
        ),
    )


def _hermes(launch: Launch, folders: Folders) -> HostPlan:
    host = "hermes"
    folder = folders.of("HERMES_HOME", ".hermes") / "plugins" / "doxa"
    where = f"project={launch.project!r}" + (f", path={launch.db!r}" if launch.db else "")
    content = HERMES % where
    return HostPlan(
        host,
        (OwnFile(folder / "__init__.py", content, "doxa setup hermes"),),
        server=launch.server(host),
        notes=(
            "doxa has to be installed in the Python of Hermes. Hermes uses one provider: choose it"
            " by `hermes config set memory.provider doxa`.",
        ),
    )


def _commands(launch: Launch, host: str) -> tuple[Hook, ...]:
    """The hooks of a host that starts a command for each event."""
    return tuple(Hook(e, launch.hook(e, host), _document(host, e)) for e in FORMATS[host].names)


def _document(host: str, event: str) -> dict[str, Any]:
    """What a host would send to a hook of doxa, without a text: nothing of it is stored."""
    form = FORMATS[host]
    document: dict[str, Any] = {
        form.session[0]: CHECK_SESSION,
        "hook_event_name": form.names[event],
    }
    for field in form.text.get(event, ())[:1]:
        document[field] = ""
    return document | ({"source": "startup"} if event == "open" else {})


_PLANS: dict[str, Callable[[Launch, Folders], HostPlan]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "gemini": _gemini,
    "opencode": _opencode,
    "openclaw": _openclaw,
    "copilot": _copilot,
    "hermes": _hermes,
}
SETUP_HOSTS = tuple(_PLANS)
