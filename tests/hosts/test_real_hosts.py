"""A new user's first minutes in real hosts (Claude Code, Codex, Gemini CLI, OpenCode, Copilot CLI):
set-up, three sessions with a scripted model, removal. Needs the hosts that `scripts/hosts.sh`
installs, and neither key nor network; skipped where they are not. DOXA_TEST_COMMAND names the
`doxa` of an installation, such as that of a wheel; without it, this checkout runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import open_memory
from doxa.hosts.spool import Spool
from tests.hosts.scripted_model import Call, ScriptedModel, scripted_model

ROOT = Path(__file__).parents[2]
HOSTS = Path(os.environ.get("DOXA_TEST_HOSTS", ROOT / ".venv" / "hosts"))
INSTALLED = os.environ.get("DOXA_TEST_COMMAND", "")
_LIMIT_S = 120
_UNTRUSTED = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")
_YOLO = ("--approval-mode", "yolo", "--skip-trust")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as made:
        yield made


class Machine:
    """A user's home folder with a repository in it, and commands that run there."""

    def __init__(self, home: Path, host: str, model: ScriptedModel) -> None:
        program = {"claude-code": "claude"}.get(host, host)
        if not (HOSTS / "bin" / program).exists():
            pytest.skip(f"there is no {program}: run scripts/hosts.sh")
        pytest.importorskip("mcp")
        self.home, self.host, self.model = home, host, model
        self.work = home / "work" / "shop"
        (self.work / "src").mkdir(parents=True)
        self.environ = {
            "HOME": str(home),
            "PATH": f"{HOSTS / 'bin'}:{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}",
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "STUB_KEY": "x",
            "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.port}",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
            "COPILOT_MODEL": "scripted",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
            "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "4000",
        }
        self.run("git", "init", "-q")
        # the `doxa` of an installation; Codex starts servers without most of the environment
        self.command = home / "bin" / "doxa"
        self.command.parent.mkdir()
        self.command.write_text(
            "#!/bin/sh\nexport DOXA_EMBEDDER=none\n"
            + (
                f"exec '{INSTALLED}' \"$@\"\n"
                if INSTALLED
                else f"export PYTHONPATH='{os.pathsep.join(sys.path)}'\n"
                f"exec '{sys.executable}' -m doxa.cli \"$@\"\n"
            )
        )
        self.command.chmod(0o755)

    def run(self, *words: str, code: int = 0, cwd: Path | None = None, given: str = "") -> str:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            env=self.environ,
            cwd=cwd or self.work,
            timeout=_LIMIT_S,
            input=given,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def doxa(self, *words: str, code: int = 0) -> str:
        return self.run(str(self.command), *words, code=code)

    def setup(self, *words: str, code: int = 0) -> str:
        return self.doxa("setup", self.host, "--command", str(self.command), *words, code=code)

    def ask(self, text: str, rule: Callable[[str], Call | str | None] | None = None) -> str:
        """One session of the host with one prompt; returns what it printed."""
        self.model.requests.clear()
        self.model.rule = rule or (lambda _: None)
        allowed = "mcp__doxa__memory_remember,mcp__doxa__memory_update,mcp__doxa__memory_recall"
        words = {
            "claude-code": ("claude", "-p", text, "--allowedTools", f"{allowed},Bash"),
            "codex": ("codex", "exec", *_UNTRUSTED, text),
            "gemini": ("gemini", "-m", "gemini-2.5-flash", *_YOLO, "-p", text),
            "opencode": ("opencode", "run", *text.split()),
            "copilot": ("copilot", "--allow-all-tools", "-p", text),
        }
        printed = self.run(*words[self.host], cwd=self.work / "src")
        self._store()
        return printed

    def _store(self) -> None:
        """Hosts do not wait for their servers, which may be storing; or kill them meanwhile."""
        spool = Spool(self.home / ".local" / "share" / "doxa" / "memory.db-hooks")
        for _ in range(100):
            with spool.draining() as mine:
                if mine and not spool.waiting():
                    return
            if mine:
                words = ("hook", "close", "--host", "gemini", "--project", "auto")
                document = json.dumps({"session_id": "after", "cwd": str(self.work)})
                self.run(str(self.command), *words, given=document)
            time.sleep(0.05)


def said(home: Path) -> list[tuple[str, str]]:
    path = home / ".local" / "share" / "doxa" / "memory.db"
    with open_memory(path, embedder=None, background=False, read_only=True) as memory:
        rows = memory.run("MATCH (n:Exchange) RETURN n.role, n.text ORDER BY n.time")
        return [(str(role), str(text)) for role, text in rows]


def tree(home: Path) -> dict[str, bytes]:
    """The files of a home folder that a person or host may have; without the host's own state."""
    own = (
        ".codex/config.toml",
        ".codex/hooks.json",
        ".claude/settings.json",
        ".gemini/settings.json",
        ".config/opencode/opencode.json",
        ".config/opencode/plugins/doxa.js",
        ".copilot/hooks/doxa.json",
        ".copilot/mcp-config.json",
        ".gitconfig",
    )
    return {name: (home / name).read_bytes() for name in own if (home / name).exists()}


def three_sessions(machine: Machine, *, with_authority: bool = True) -> None:
    """A decision, its correction, and what a third session knows."""
    kref: list[str] = []

    def decide(text: str) -> Call | None:
        if "PostgreSQL" not in text:
            return None
        return "memory_remember", {"text": "Billing uses PostgreSQL 16", "kind": "decision"}

    machine.ask("We decided that billing uses PostgreSQL 16. Please note it.", decide)
    found = json.loads(machine.doxa("recall", "billing", "-p", "auto", "--json"))
    kref += [hit["kref"] for hit in found["hits"] if hit["text"] == "Billing uses PostgreSQL 16"]
    assert len(kref) == 1, found

    def correct(text: str) -> Call | None:
        if "MySQL" not in text:
            return None
        item = kref[0].partition("?")[0]
        return "memory_update", {"kref": item, "text": "Billing uses MySQL 8, not PostgreSQL 16"}

    machine.ask("Correction: billing uses MySQL 8, not PostgreSQL 16.", correct)
    first = json.dumps(machine.model.requests, ensure_ascii=False)
    assert "doxa-memory" in first and "Billing uses PostgreSQL 16" in first
    machine.ask("Which database does billing use now?")
    third = machine.model.all_text()
    assert "Billing uses MySQL 8, not PostgreSQL 16" in third
    assert "Billing uses PostgreSQL 16" not in third
    if with_authority:
        assert "Billing uses MySQL 8" in machine.model.system_text()
    assert "memory_hook" not in third


def check_capture(machine: Machine, *before: str) -> None:
    turns = said(machine.home)
    users = [text for role, text in turns if role == "user"]
    assert users == [
        *before,
        "We decided that billing uses PostgreSQL 16. Please note it.",
        "Correction: billing uses MySQL 8, not PostgreSQL 16.",
        "Which database does billing use now?",
    ]
    assert [text for role, text in turns if role == "assistant"][:1] == ["Done."]
    assert not any("doxa-memory" in text for _, text in turns)


def check_import(machine: Machine, history: Path, *before: str) -> None:
    """The host's own history holds what was captured: importing it stores no message again."""
    words = ("import", str(history), "-p", "auto", "--no-embed", "--json")
    done = json.loads(machine.doxa(*words))
    assert (done["known"], done["added"], done["skipped"]) == (6, 0, 0), done
    check_capture(machine, *before)


def test_the_first_minutes_in_claude_code(tmp_path: Path, model: ScriptedModel) -> None:
    machine = Machine(tmp_path, "claude-code", model)
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n\t"env": {"A": "\\u00e9"},\n\t"permissions": {"deny": []}\n}\n')
    settings.chmod(0o644)
    before = tree(tmp_path)
    assert "+" in machine.setup()
    assert "nothing to change" in machine.setup()
    assert "NOT" not in machine.setup("--check")
    old = "We decided to use Redis 7 for the queue."
    line = {"type": "user", "sessionId": "old", "cwd": str(machine.work), "uuid": "u1"}
    line |= {"timestamp": "2026-03-02T14:00:00Z", "message": {"role": "user", "content": old}}
    (tmp_path / "history.jsonl").write_text(json.dumps(line) + "\n")
    machine.doxa("import", str(tmp_path / "history.jsonl"), "-p", "auto")
    three_sessions(machine)
    assert "Redis 7" in machine.model.system_text()
    check_capture(machine, old)
    check_import(machine, tmp_path / ".claude" / "projects", old)
    assert "MySQL" in machine.doxa("brief", "-p", "auto")
    machine.setup("--remove")
    assert tree(tmp_path) == before
    assert settings.stat().st_mode & 0o777 == 0o644
    state: dict[str, Any] = json.loads((tmp_path / ".claude.json").read_text())
    assert not state.get("mcpServers")
    machine.ask("Does anything still run?")
    assert "doxa" not in machine.model.all_text()


# nobody is there to ask; and the scripted model does not look again for a tool that is late
_PROMPT_SERVER = (
    'default_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60\n'
)


def codex_settings(home: Path, model: ScriptedModel) -> Path:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        "# my settings\n"
        'model = "stub"  # scripted\n'
        'model_provider = "stub"\n\n'
        "[model_providers.stub]\n"
        'name = "stub"\n'
        f'base_url = "http://127.0.0.1:{model.port}/v1"\n'
        'wire_api = "responses"\n'
        'env_key = "STUB_KEY"\n'
    )
    return config


def test_the_first_minutes_in_codex(tmp_path: Path, model: ScriptedModel) -> None:
    machine = Machine(tmp_path, "codex", model)
    config = codex_settings(tmp_path, model)
    before = tree(tmp_path)
    assert "/hooks" in machine.setup()
    assert "nothing to change" in machine.setup()
    report = machine.setup("--check", code=1)
    assert "0 of 6 hooks are trusted" in report
    assert report.count("NOT") == 1
    own = config.read_text()
    config.write_text(own + _PROMPT_SERVER)
    three_sessions(machine)
    check_capture(machine)
    check_import(machine, tmp_path / ".codex" / "sessions")
    config.write_text(own)
    machine.setup("--remove")
    assert tree(tmp_path) == before


SETTINGS = {
    "gemini": (
        ".gemini/settings.json",
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        '{"$schema": "https://opencode.ai/config.json",'
        ' "model": "stub/m", "small_model": "stub/m", "autoupdate": false, "permission": "allow",'
        ' "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}},'
        ' "options": {"baseURL": "http://127.0.0.1:PORT/v1", "apiKey": "x"}}}}',
    ),
    "copilot": (".copilot/mcp-config.json", '{"mcpServers": {}}'),
}


@pytest.mark.parametrize("host", SETTINGS)
def test_the_first_minutes_in_other_hosts(host: str, tmp_path: Path, model: ScriptedModel) -> None:
    machine = Machine(tmp_path, host, model)
    name, text = SETTINGS[host]
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text.replace("PORT", str(model.port)))
    (machine.work / "src" / "a.txt").write_text("x")
    before = tree(tmp_path)
    machine.setup()
    assert "nothing to change" in machine.setup()
    assert "NOT" not in machine.setup("--check")
    three_sessions(machine, with_authority=host == "opencode")
    machine.ask("Show the current folder.", lambda text: _listing(host) if "Show" in text else None)
    turns = said(tmp_path)
    assert [text for role, text in turns if role == "user"] == [
        "We decided that billing uses PostgreSQL 16. Please note it.",
        "Correction: billing uses MySQL 8, not PostgreSQL 16.",
        "Which database does billing use now?",
        "Show the current folder.",
    ]
    answers = [text for role, text in turns if role == "assistant"]
    assert answers == ["Done.", "Done.", "All right.", "Done."]
    used = [text for role, text in turns if role == "tool"]
    assert len(used) == 1 and "a.txt" in used[0]
    machine.setup("--remove")
    assert tree(tmp_path) == before


def _listing(host: str) -> Call:
    if host == "gemini":
        return "list_directory", {"dir_path": "."}
    return "bash", {"command": "ls", "description": "List the folder"}


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_uses_of_tools_are_captured(host: str, tmp_path: Path, model: ScriptedModel) -> None:
    machine = Machine(tmp_path, host, model)
    config = codex_settings(tmp_path, model) if host == "codex" else None
    machine.setup()
    if config:
        config.write_text(config.read_text() + _PROMPT_SERVER)
    (machine.work / "src" / "a.txt").write_text("x")

    def rule(text: str) -> Call | None:
        if "Show" not in text:
            return None
        if host == "codex":
            return "exec_command", {"cmd": "ls"}
        return "Bash", {"command": "ls", "description": "List the folder"}

    machine.ask("Show the current folder.", rule)
    turns = said(tmp_path)
    assert [role for role, _ in turns] == ["user", "tool", "assistant"], turns
    assert turns[1][1].startswith("Bash(") and "a.txt" in turns[1][1]
