"""What switches doxa off in a host although it is entered: settings of the person, of an
administrator, and of the environment.

Each host is a row of functions from its files to findings. Files that are not there, or not to be
read, switch nothing off. The settings of a folder are not read: they hold there alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from doxa.hosts.setup.marks import SERVER
from doxa.hosts.setup.plans import HostPlan

_SYSTEM = Path("/etc")  # where administrators set what holds for all users
_PROVIDER = re.compile(
    r"^memory:[^\S\n]*\n(?:[ \t].*\n|\r?\n)*?[ \t]+provider:[ \t]*([\w.-]*)", re.M
)
_TRUE = frozenset(("1", "true", "yes", "on", "y"))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was checked: `fine` or not, what it is, and what to do about it."""

    fine: bool
    what: str
    step: str = ""


def switched_off(plan: HostPlan, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield what switches doxa off in the host of a plan."""
    find = _SWITCHES.get(plan.host)
    if find is not None:
        for what, step in find(plan, environ):
            yield CheckResult(False, what, step)


Found = Iterator[tuple[str, str]]


def _claude_code(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    own = plan.changes[0].path
    for path in (own, _SYSTEM / "claude-code" / "managed-settings.json"):
        settings = read_json(path)
        for name in ("disableAllHooks", "allowManagedHooksOnly"):
            if settings.get(name):
                yield f"{name} switches all hooks off", f"Set {name} to false in {path}."
        denied = _list(settings, "permissions.deny")
        if any(rule in ("mcp__doxa", "mcp__doxa__*") for rule in denied):
            yield f"permissions.deny of {path} has the whole server", "Remove that rule."
        refused = _list(settings, "deniedMcpServers")
        if {"serverName": SERVER} in refused:
            yield f"deniedMcpServers of {path} has doxa", "Remove it there."


def _codex(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    config = read_toml(plan.commands[0].file)
    if _at(config, "features.hooks") is False:
        yield "features.hooks is off", "Set it to true in config.toml."
    if _at(config, f"mcp_servers.{SERVER}.enabled") is False:
        yield "the server is switched off in config.toml", "Set its enabled to true."


def _gemini(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    system = environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or _SYSTEM / "gemini-cli/settings.json"
    hooks = {f"{SERVER}-{hook.event}" for hook in plan.hooks}
    for path in (plan.changes[0].path, Path(system)):
        settings = read_json(path)
        if _at(settings, "hooksConfig.enabled") is False:
            yield "hooksConfig.enabled switches all hooks off", f"Set it to true in {path}."
        for name in sorted(hooks.intersection(map(str, _list(settings, "hooksConfig.disabled")))):
            yield (
                f"hooksConfig.disabled has {name}",
                f"Remove it in {path}, or /hooks enable {name}.",
            )
        allowed = _at(settings, "mcp.allowed")
        if SERVER in _list(settings, "mcp.excluded") or (
            isinstance(allowed, list) and SERVER not in allowed
        ):
            yield f"mcp.allowed or mcp.excluded of {path} leaves doxa out", "Let it in there."
        if _at(settings, "admin.mcp.enabled") is False:
            yield f"admin.mcp.enabled of {path} switches all servers off", "Ask who set it."


def _opencode(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    config = read_json(plan.changes[0].path)
    if _at(config, f"mcp.{SERVER}.enabled") is False:
        yield "the server is switched off in opencode.json", "Set its enabled to true."
    tools = config.get("tools")
    for rule, on in tools.items() if isinstance(tools, dict) else ():
        if on is False and fnmatchcase(f"{SERVER}_memory_recall", str(rule)):
            yield f"tools has {rule!r}: false, which hides the server's tools", "Remove that rule."
    if environ.get("OPENCODE_PURE", "").lower() in _TRUE:
        yield "OPENCODE_PURE switches all plugins off", "Unset it."


def _copilot(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    hooks = plan.changes[0].path
    for path in (hooks.parent.parent / "settings.json", hooks.parent.parent / "config.json"):
        settings = read_json(path)
        if settings.get("disableAllHooks"):
            yield "disableAllHooks switches all hooks off", f"Set it to false in {path}."
        if SERVER in _list(settings, "disabledMcpServers"):
            yield f"disabledMcpServers of {path} has doxa", "Remove it there."


def _openclaw(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    config = read_json(plan.changes[0].path)
    if _at(config, f"mcp.servers.{SERVER}.enabled") is False:
        yield "the server is switched off in openclaw.json", "Set its enabled to true."
    for rule in _list(config, "tools.deny"):
        if rule == "bundle-mcp" or fnmatchcase(f"{SERVER}__memory_recall", str(rule)):
            yield f"tools.deny has {rule!r}, which hides the server's tools", "Remove that rule."


def _hermes(plan: HostPlan, environ: Mapping[str, str]) -> Found:
    path = plan.changes[0].path.parents[2] / "config.yaml"
    try:
        found = _PROVIDER.search(path.read_text())
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None or found[1] != SERVER:
        chosen = f"another memory provider, {found[1]}" if found and found[1] else "none"
        yield (
            f"{path} chooses {chosen}",
            "Choose doxa: `hermes config set memory.provider doxa`.",
        )


_SWITCHES: dict[str, Callable[[HostPlan, Mapping[str, str]], Found]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "copilot": _copilot,
    "openclaw": _openclaw,
    "hermes": _hermes,
}


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if there is none."""
    try:
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file; none if it cannot be read."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def _at(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _list(value: Any, name: str) -> list[Any]:
    found = _at(value, name)
    return found if isinstance(found, list) else []
