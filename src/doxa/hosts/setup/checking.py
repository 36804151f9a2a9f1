"""`doxa setup HOST --check`: run every hook as the host would, and name what is switched off,
untrusted, missing or failing."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from doxa.base.errors import DoxaError
from doxa.base.files.places import hooks_folder
from doxa.hosts.setup.engine import Setup
from doxa.hosts.setup.marks import is_own_hook
from doxa.hosts.setup.plans import Hook, HostPlan
from doxa.hosts.setup.running import run, server
from doxa.hosts.setup.switches import CheckResult, read_json, read_toml, switched_off
from doxa.hosts.tool import NAME as HOOK_TOOL

_HOOK_S = 30
_ANSWER_S = 20
_ERRORS_SHOWN = 3


def check(setup: Setup, environ: Mapping[str, str], db: Path) -> list[CheckResult]:
    """Check one host. The conversation that the hooks are run in leaves no state."""
    plan = setup.plan
    found = [*_entered(setup), *_switches(plan, environ)]
    found += [_run_command(hook, environ) for hook in plan.hooks if hook.command]
    tools = [hook for hook in plan.hooks if not hook.command]
    if plan.server:
        found += _run_server(plan, tools, environ)
    errors = hooks_folder(db) / "errors.log"
    if errors.exists():
        last = errors.read_text(errors="replace").splitlines()[-_ERRORS_SHOWN:]
        found.append(CheckResult(True, f"what hooks reported last, in {errors}: {'; '.join(last)}"))
    return found


def _entered(setup: Setup) -> Iterator[CheckResult]:
    again = f"Run `doxa setup {setup.plan.host}`."
    for change in setup.plan.changes:
        try:
            text = change.path.read_text() if change.path.exists() else ""
            fine = bool(text) and change.present(text)
            yield CheckResult(fine, f"{change.path} has the entries of doxa", "" if fine else again)
        except (DoxaError, UnicodeDecodeError, OSError) as error:
            yield CheckResult(False, f"{change.path} cannot be read: {error}", "Correct the file.")
    missing = setup.due()
    for command in setup.plan.commands:
        fine = command not in missing
        yield CheckResult(fine, f"{command.file} has the server", "" if fine else again)


def _switches(plan: HostPlan, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """What switches hooks or the server off although they are entered."""
    yield from switched_off(plan, environ)
    if plan.host == "codex":
        config = read_toml(plan.commands[0].file)
        yield _trust(plan.changes[0].path, config, len(plan.hooks))


def _trust(path: Path, config: Mapping[str, Any], wanted: int) -> CheckResult:
    """How many of doxa's hooks Codex trusts: those whose key has the hash of the hook as it is.
    Another hash is of an earlier definition, and Codex does not run the hook."""
    hooks, state = read_json(path).get("hooks"), config.get("hooks", {}).get("state", {})
    places = {path, path.resolve()}
    trusted = changed = 0
    for name, hash_now in _own_hooks(hooks if isinstance(hooks, dict) else {}):
        said = [_trusted_hash(state.get(f"{place}:{name}")) for place in places]
        trusted += hash_now in said
        changed += hash_now not in said and any(said)
    what = f"{trusted} of {wanted} hooks are trusted"
    what += f", {changed} in an earlier form" if changed else ""
    fine = trusted >= wanted
    step = "" if fine else "Start codex, enter /hooks, and trust those of doxa."
    return CheckResult(fine, what, step)


def _own_hooks(hooks: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Doxa's hooks: where each stands, as Codex's keys say it, and its hash."""
    for event, groups in hooks.items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for number, hook in enumerate(inner if isinstance(inner, list) else ()):
                if is_own_hook(hook):
                    yield f"{name}:{at}:{number}", _codex_hash(name, group, hook)


def _codex_hash(event: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    """The hash by which Codex 0.169.0 trusts a hook: of its event, its matcher and itself."""
    matcher = {"matcher": group["matcher"]} if group.get("matcher") is not None else {}
    default = {"async": False} if hook.get("type") == "command" else {}
    definition = {"event_name": event, **matcher, "hooks": [default | dict(hook)]}
    data = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(data.encode()).hexdigest()}"


def _trusted_hash(entry: Any) -> str:
    if not isinstance(entry, dict) or entry.get("enabled", True) is False:
        return ""
    return str(entry.get("trusted_hash", ""))


def _run_command(hook: Hook, environ: Mapping[str, str]) -> CheckResult:
    began = time.perf_counter()
    try:
        code, printed, errors = run(hook.command, json.dumps(hook.document), environ, _HOOK_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckResult(False, f"the hook {hook.event} does not run: {error}", "Set up again.")
    took = f"{(time.perf_counter() - began) * 1000:.0f} ms"
    if code or errors.strip() or not _is_object(printed):
        said = (errors or printed).strip()[:200]
        return CheckResult(False, f"the hook {hook.event} fails: {said!r}", "Set up again.")
    return CheckResult(True, f"the hook {hook.event} runs ({took})")


def _run_server(
    plan: HostPlan, tools: list[Hook], environ: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Start the server as the host does, and call what its hooks call."""
    try:
        with server(plan.server, environ, _ANSWER_S) as call:
            began = time.perf_counter()
            call("initialize", _CLIENT)
            took = f"{(time.perf_counter() - began) * 1000:.0f} ms"
            yield CheckResult(True, f"the server starts ({took})")
            for hook in tools:
                began = time.perf_counter()
                made = call("tools/call", {"name": HOOK_TOOL, "arguments": dict(hook.document)})
                took = f"{(time.perf_counter() - began) * 1000:.0f} ms"
                text = made["content"][0]["text"]
                fine = not made.get("isError") and _is_object(text)
                what = f"the hook {hook.event} runs" if fine else f"the hook {hook.event} fails"
                yield CheckResult(
                    fine, f"{what} ({took})", "" if fine else f"It said {text[:200]!r}."
                )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        words = " ".join(plan.server)
        yield CheckResult(False, f"the server does not start: {error}", f"Run it yourself: {words}")


_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "doxa-setup", "version": "1"},
}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
