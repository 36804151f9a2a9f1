"""The profiles: which tools a server lists, and how a call of one is carried out.

minimal   recall and remember
core      the seven of the default profile
full      a tool for every verb, and the names of the published taxonomy
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from doxa.app import Session
from doxa.app.verbs import FULL, LOCAL, MINIMAL, TAXONOMY, VERBS, Tool
from doxa.app.verbs import TOOLS as TABLE
from doxa.base.errors import DoxaError, InputError
from doxa.base.ids import Role
from doxa.servers.mcp.calls import CallCancelled, CallContext, CallQuestion
from doxa.servers.mcp.core import CORE, NOT_INSTRUCTIONS, OUTPUTS, sendable
from doxa.servers.mcp.schemas import arguments_of, parameter_of, schema_of
from doxa.servers.mcp.verb_tools import Call, call_of, output_schema

PROFILES = ("core", "minimal", "full")
_LOG = logging.getLogger("doxa.mcp")


class CallOutcome(NamedTuple):
    """The result of a call: the text for a model, the structured result, whether it failed."""

    text: str
    data: dict[str, Any]
    failed: bool


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool of a profile: how it is listed, what it takes, and what it does."""

    name: str
    listed: Mapping[str, Any]
    shape: type[msgspec.Struct]
    call: Call

    def carry_out(
        self, session: Session, arguments: Mapping[str, Any], context: CallContext
    ) -> CallOutcome:
        """Carry out one call. Errors are outcomes and not raised, except for CallQuestion and
        CallCancelled."""
        try:
            args = self._checked(arguments)
            text, result = self.call(session, args, context)
            data = msgspec.to_builtins(result)
            msgspec.json.encode(data)
            return CallOutcome(sendable(text), data, False)
        except (CallQuestion, CallCancelled):
            raise
        except DoxaError as error:
            return failure(error)
        except Exception as error:  # its text may quote what somebody said
            places = "".join(traceback.format_tb(error.__traceback__))
            _LOG.error("mcp: %s failed: %s\n%s", self.name, type(error).__name__, places)
            return failure(
                DoxaError(
                    f"{self.name} failed for a reason that doxa did not expect.",
                    next_step="Try other arguments; the server's log has the details.",
                    tool=self.name,
                )
            )

    def _checked(self, arguments: Mapping[str, Any]) -> Any:
        try:
            return msgspec.convert(dict(arguments), self.shape)
        except (msgspec.ValidationError, UnicodeError) as error:
            raise InputError(
                f"{self.name} cannot take these arguments: {str(error)[:500]}.",
                next_step="Follow the tool's schema.",
                tool=self.name,
            ) from None


def failure(error: DoxaError) -> CallOutcome:
    """Return an error as the outcome of a call."""
    data = {"error": sendable(msgspec.to_builtins(error.as_dict(), enc_hook=str))}
    return CallOutcome(sendable(str(error)), data, True)


def _core(tool: Tool) -> MemoryTool:
    listed = schema_of(tool) | {"outputSchema": OUTPUTS[tool.name]}
    return MemoryTool(tool.name, listed, arguments_of(tool), CORE[tool.name])


def _full(tool: Tool) -> MemoryTool:
    listed = schema_of(tool, described=True) | {"outputSchema": output_schema(tool)}
    return MemoryTool(tool.name, listed, arguments_of(tool, unset=True), call_of(tool))


_CORE = {tool.name: _core(tool) for tool in TABLE}
_DEFAULT = tuple(_CORE[tool.name] for tool in TABLE if tool.profile == "default")
TOOLS: tuple[Mapping[str, Any], ...] = tuple(tool.listed for tool in _DEFAULT)
ALL_TOOLS: tuple[Mapping[str, Any], ...] = tuple(tool.listed for tool in _CORE.values())
ARGUMENTS = {name: tool.shape for name, tool in _CORE.items()}


class ToolProfile(NamedTuple):
    """The tools that are listed, in order, and by every name under which they can be called."""

    name: str
    tools: tuple[MemoryTool, ...]
    by_name: Mapping[str, MemoryTool]


def profile_of(name: str = "core", *, role: Role = "agent", local: bool = True) -> ToolProfile:
    """Return a profile for sessions of at most this role. `local`: with the tools that use files
    of this machine. Raises InputError for an unknown name."""
    check_profile(name)
    if name == "minimal":
        return _profile(name, [_CORE[one] for one in MINIMAL])
    if name == "core":
        return _profile(name, list(_DEFAULT))
    listed = [tool for tool in FULL if _served(tool, role, local)]
    made = [_CORE.get(tool.name) or _full(tool) for tool in listed]
    found = _profile(name, made)
    aliases = {alias: found.by_name[tool.name] for tool in listed for alias in tool.aliases}
    return found._replace(by_name={**aliases, **found.by_name})


def check_profile(name: str) -> None:
    """Raise InputError for an unknown profile."""
    if name not in PROFILES:
        raise InputError(
            f"There is no profile {name[:80]!r}.",
            next_step=f"Use {', '.join(PROFILES)}.",
            field="profile",
        )


def _profile(name: str, tools: list[MemoryTool]) -> ToolProfile:
    return ToolProfile(name, tuple(tools), {tool.name: tool for tool in tools})


def _served(tool: Tool, role: Role, local: bool) -> bool:
    verbs = [VERBS[name] for name in tool.verbs]
    if not local and any(verb.name in LOCAL for verb in verbs):
        return False
    return role != "agent" or all(verb.role == "agent" for verb in verbs)


def unknown_tool(profile: ToolProfile, name: str) -> str:
    """Return what to tell a client that calls a tool which is not there."""
    instead = next(
        (one.note for one in TAXONOMY if one.name == name and one.tool is None and one.note), ""
    )
    if instead and profile.name == "full":
        return f"There is no tool {name}: {instead}."
    return f"Unknown tool {name[:80]!r}. The profile {profile.name} has {len(profile.tools)}."


def call(
    session: Session,
    name: str,
    arguments: Mapping[str, Any],
    *,
    key: str = "",
    profile: str = "default",
) -> tuple[str, dict[str, Any], bool]:
    """Carry out one call of the default profile: (text for the model, structured result, whether
    it is an error). Doxa's own errors are never raised. `key` is the idempotency key of the
    request, for tools that write."""
    known = {tool.name: tool for tool in (_CORE.values() if profile == "full" else _DEFAULT)}
    tool = known.get(name)
    if tool is None:
        return failure(
            InputError(
                f"Unknown tool {name[:80]!r}.",
                next_step=f"Use one of {', '.join(known)}.",
                tool=name,
            )
        )
    return tool.carry_out(session, arguments, CallContext(key=key))


__all__ = [
    "ALL_TOOLS",
    "ARGUMENTS",
    "NOT_INSTRUCTIONS",
    "PROFILES",
    "TOOLS",
    "CallOutcome",
    "MemoryTool",
    "ToolProfile",
    "call",
    "check_profile",
    "failure",
    "parameter_of",
    "profile_of",
    "unknown_tool",
]
