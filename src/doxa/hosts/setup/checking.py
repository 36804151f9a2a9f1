"""`doxa setup HOST --check`: run every hook as the host would, and name what is switched off,
untrusted, missing or failing."""

from __future__ import annotations

import json
import subprocess
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doxa.base.errors import DoxaError
from doxa.base.places import hooks_folder
from doxa.hosts.setup.engine import Setup
from doxa.hosts.setup.plans import Hook, HostPlan
from doxa.hosts.tool import NAME as HOOK_TOOL

_HOOK_S = 30
_ERRORS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was checked: `fine` or not, what it is, and what to do about it."""

    fine: bool
    what: str
    step: str = ""


def check(setup: Setup, environ: Mapping[str, str], db: Path) -> list[CheckResult]:
    """Check one host; nothing is written but the state of a conversation of its own."""
    plan = setup.plan
    found = [*_entered(setup), *_switches(plan)]
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


def _switches(plan: HostPlan) -> Iterator[CheckResult]:
    """What switches hooks off although they are entered."""
    if plan.host == "claude-code":
        settings = _json(plan.changes[0].path)
        for name in ("disableAllHooks", "allowManagedHooksOnly"):
            if settings.get(name):
                step = f"Set {name} to false in {plan.changes[0].path}."
                yield CheckResult(False, f"{name} switches all hooks off", step)
        denied = settings.get("permissions", {}).get("deny", [])
        if any(str(rule) in ("mcp__doxa", "mcp__doxa__*") for rule in denied):
            yield CheckResult(False, "permissions.deny has the whole server", "Remove that rule.")
    if plan.host == "codex":
        config = _toml(plan.commands[0].file)
        if config.get("features", {}).get("hooks") is False:
            yield CheckResult(False, "features.hooks is off", "Set it to true in config.toml.")
        state = config.get("hooks", {}).get("state", {})
        hooks = str(plan.changes[0].path)
        trusted = [key for key, one in state.items() if hooks in key and _is_trusted(one)]
        fine = len(trusted) >= len(plan.hooks)
        what = f"{len(trusted)} of {len(plan.hooks)} hooks are trusted"
        yield CheckResult(
            fine, what, "" if fine else "Start codex, enter /hooks, and trust those of doxa."
        )


def _is_trusted(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and bool(entry.get("trusted_hash")) and entry.get("enabled", True)
    )


def _run_command(hook: Hook, environ: Mapping[str, str]) -> CheckResult:
    began = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603  # the words that were entered for the host
            hook.command,
            input=json.dumps(hook.document),
            capture_output=True,
            text=True,
            env=dict(environ),
            timeout=_HOOK_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckResult(False, f"the hook {hook.event} does not run: {error}", "Set up again.")
    took = f"{(time.perf_counter() - began) * 1000:.0f} ms"
    if done.returncode or done.stderr.strip() or not _is_object(done.stdout):
        said = (done.stderr or done.stdout).strip()[:200]
        return CheckResult(False, f"the hook {hook.event} fails: {said!r}", "Set up again.")
    return CheckResult(True, f"the hook {hook.event} runs ({took})")


def _run_server(
    plan: HostPlan, tools: list[Hook], environ: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Start the server as the host does, and call what its hooks call."""
    try:
        with _server(plan.server, environ) as call:
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
    except (OSError, ValueError, KeyError, IndexError) as error:
        words = " ".join(plan.server)
        yield CheckResult(False, f"the server does not start: {error}", f"Run it yourself: {words}")


_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "doxa-setup", "version": "1"},
}


@contextmanager
def _server(words: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[Any]:
    with subprocess.Popen(  # noqa: S603  # the words that were entered for the host
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(environ),
    ) as process:
        writing, reading = process.stdin, process.stdout
        assert writing is not None and reading is not None
        number = 0

        def call(method: str, params: Mapping[str, Any]) -> Any:
            nonlocal number
            number += 1
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            writing.write(json.dumps(message) + "\n")
            writing.flush()
            while True:
                line = reading.readline()
                if not line:
                    raise ValueError("it ended without an answer")
                found = json.loads(line)
                if found.get("id") == number:
                    break
            if method == "initialize":
                writing.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            return found["result"]

        try:
            yield call
        finally:
            writing.close()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return {}
