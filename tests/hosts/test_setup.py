"""`doxa setup`: what it writes into the files of hosts, and that it takes all of it back."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from doxa.base.errors import InputError
from doxa.cli import app
from doxa.hosts.setup.changes import Block, JsonEntries
from doxa.hosts.setup.checking import _codex_hash, _own_hooks, check
from doxa.hosts.setup.engine import Setup
from doxa.hosts.setup.json_text import APPEND, add, remove
from doxa.hosts.setup.launch import launch_words
from doxa.hosts.setup.plans import SETUP_HOSTS, Folders, HostPlan, Launch, plan_of
from doxa.hosts.setup.switches import switched_off

WORDS = (sys.executable, "-m", "doxa.cli")
OUR_HOOK = {"type": "mcp_tool", "server": "doxa", "tool": "memory_hook"}
OUR_SERVER = {"command": "doxa", "args": ["mcp"]}
Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def plan(host: str, home: Path, words: tuple[str, ...] = WORDS) -> HostPlan:
    found = plan_of(host, Launch(words, "auto", str(home / "m.db")), Folders(home, {}))
    return HostPlan(host, found.changes, (), found.hooks, found.server, found.notes)


def setup_of(host: str, home: Path, words: tuple[str, ...] = WORDS) -> Setup:
    return Setup(plan(host, home, words), home / ".config" / "doxa", os.environ)


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".config/doxa" not in str(path)
    }


@pytest.mark.parametrize("host", SETUP_HOSTS)
def test_it_is_entered_once_checked_and_taken_out_without_a_trace(host: str, home: Path) -> None:
    setup = setup_of(host, home)
    assert any(step.changes for step in setup.apply())
    once = files(home)
    assert once
    assert not any(step.changes for step in setup_of(host, home).apply())
    assert files(home) == once
    setup_of(host, home).remove()
    assert files(home) == {}
    assert [path.name for path in home.iterdir()] == [".config"]
    assert setup_of(host, home).remove() == []


@pytest.mark.parametrize("host", SETUP_HOSTS)
@pytest.mark.parametrize(
    "text", ['{\r\n    "theme":  "dark",\r\n    "hooks": {}\r\n}', '{"a":1}', "{}"]
)
def test_a_file_of_the_person_keeps_its_bytes(host: str, text: str, home: Path) -> None:
    paths = [one.path for one in plan(host, home).changes if isinstance(one, JsonEntries)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o640)
    before = files(home)
    setup_of(host, home).apply()
    for path in paths:
        held = json.loads(path.read_bytes())
        mine = {key: one for key, one in json.loads(text).items() if key != "hooks"}
        assert {key: held[key] for key in mine} == mine
        assert path.stat().st_mode & 0o777 == 0o640
    setup_of(host, home).remove()
    assert files(home) == before


def test_entries_of_others_and_later_changes_stay(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(
        '{\n  "z": 1,\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command",'
        ' "command": "bell"}]}\n    ]\n  },\n  "a": "\\u00e9"\n}\n'
    )
    setup = setup_of("claude-code", home)
    setup.apply()
    written = path.read_text()
    assert written.index('"z"') < written.index('"hooks"') < written.index('"a": "\\u00e9"')
    later = written.replace('"z": 1', '"z": 2,\n  "new": [true]')
    path.write_text(later)
    setup.remove()
    found = json.loads(path.read_text())
    assert found == {
        "z": 2,
        "new": [True],
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},
        "a": "é",
    }
    assert '"\\u00e9"' in path.read_text()


FOREIGN = [
    {"command": "notify --host laptop"},
    {"command": "audit --host cursor"},
    {"command": "/home/doxa/bin/notify hook open --host me"},
    {"command": "audit hook open --host cursor"},
    {"type": "command", "command": "notify", "args": ["--host", "laptop"]},
    {"type": "mcp_tool", "server": "other", "tool": "memory_hook"},
    {"type": "mcp_tool", "server": "doxa", "tool": "memory_recall"},
]


@pytest.mark.parametrize("hook", FOREIGN)
@pytest.mark.parametrize(
    ("host", "name", "event"),
    [
        ("claude-code", ".claude/settings.json", "Stop"),
        ("codex", ".codex/hooks.json", "Stop"),
        ("gemini", ".gemini/settings.json", "AfterAgent"),
        ("cursor", ".cursor/hooks.json", "afterAgentResponse"),
    ],
)
def test_hooks_of_others_are_neither_replaced_nor_removed(
    hook: dict[str, Any], host: str, name: str, event: str, home: Path
) -> None:
    path = home / name
    path.parent.mkdir()
    entry = hook if host == "cursor" else {"hooks": [hook]}
    path.write_text(json.dumps({"version": 1, "hooks": {event: [entry]}}))
    setup_of(host, home, ("/old/doxa",)).apply()
    setup_of(host, home).apply()
    held = json.loads(path.read_text())["hooks"]
    assert [one for one in held[event] if one == entry] == [entry]
    assert {name: len(own) for name, own in held.items() if name != event} == dict.fromkeys(
        (name for name in held if name != event), 1
    )
    assert len(held[event]) == 2
    assert "/old/doxa" not in path.read_text()
    path.write_text(json.dumps({"later": 1} | json.loads(path.read_text())))
    setup_of(host, home).remove()
    assert json.loads(path.read_text()) == {"later": 1, "version": 1, "hooks": {event: [entry]}}


def test_a_hook_of_another_in_one_group_with_doxas_stays(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    setup_of("claude-code", home).apply()
    held = json.loads(path.read_text())
    bell = {"type": "command", "command": "bell"}
    held["hooks"]["Stop"][0]["hooks"].append(bell)
    path.write_text(json.dumps(held))
    setup_of("claude-code", home).apply()
    groups = json.loads(path.read_text())["hooks"]["Stop"]
    assert [len(one["hooks"]) for one in groups] == [1, 1]
    assert groups[0]["hooks"] == [bell]
    setup_of("claude-code", home).remove()
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": [bell]}]}}


def test_another_version_of_the_format_is_refused_and_stays(home: Path) -> None:
    path = home / ".cursor" / "hooks.json"
    path.parent.mkdir()
    text = '{"version": 2, "hooks": {"stop": [{"command": "audit --host me"}]}}'
    path.write_text(text)
    with pytest.raises(InputError, match="has version 2"):
        setup_of("cursor", home).apply()
    setup_of("cursor", home).remove()
    assert path.read_text() == text
    assert not (home / ".cursor" / "mcp.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("/old/bin/doxa",),
        ("/old/python", "-m", "doxa.cli"),
        ("/usr/bin/uvx", "--from", "doxa-memory[mcp]", "doxa"),
        ("/opt/wrapper",),
    ],
)
@pytest.mark.parametrize("host", ["claude-code", "codex", "cursor", "gemini", "opencode"])
def test_entries_of_an_earlier_version_are_replaced_and_removed(
    words: tuple[str, ...], host: str, home: Path
) -> None:
    setup_of(host, home, words).apply()
    old = [one for one in plan(host, home).changes if isinstance(one, JsonEntries)]
    for change in old:
        written = change.path.read_text()
        assert json.loads(change.removed(written)) in ({}, {"version": 1})
        made = change.applied(written)
        assert change.present(made)
        assert made.count(words[0]) == 0


def test_one_backup_of_what_was_before_however_often_it_runs(home: Path) -> None:
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"mine": true}')
    setup_of("gemini", home, ("/old/python", "-m", "doxa.cli")).apply()
    setup_of("gemini", home).apply()  # of another place, as after a move
    text = path.read_text()
    assert "/old/python" not in text
    assert text.count('"doxa-open"') == 1
    backups = list((home / ".config" / "doxa" / "setup" / "backup").iterdir())
    assert [one.read_text() for one in backups] == ['{"mine": true}']
    setup_of("gemini", home).remove()
    assert path.read_text() == '{"mine": true}'


def test_a_symbolic_link_stays_one(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"model": "x"}\n')
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    setup = setup_of("claude-code", home)
    setup.apply()
    assert link.is_symlink()
    assert "memory_hook" in real.read_text()
    setup.remove()
    assert link.is_symlink()
    assert real.read_text() == '{"model": "x"}\n'


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, // comment\n}',
        '{"a": 1,}',
        '{"a": 1} /* x */',
        "[1]",
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        '{"hooks": []}',
        '{"mcpServers": 3}',
        '{"a": NaN}',
        "{" * 5000,
    ],
)
def test_what_is_not_plain_json_is_refused_and_nothing_is_written(text: str, home: Path) -> None:
    for name in ("hooks.json", "mcp.json"):
        path = home / ".cursor" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}" if name == "hooks.json" and "mcp" in text else text)
    before = files(home)
    with pytest.raises(InputError) as refused:
        setup_of("cursor", home).apply()
    assert ".cursor" in str(refused.value)
    assert files(home) == before


def doxa(*words: str) -> Any:
    return CliRunner().invoke(app, ["setup", *words])


COMMENTED = '{\n  // my theme\n  "theme": "dark"\n}\n'


@pytest.mark.parametrize("host", SETUP_HOSTS)
@pytest.mark.parametrize("text", [COMMENTED, b"\xff\xfe", '{"version": 7, "hooks": 3}'])
def test_print_shows_what_to_enter_whatever_the_files_hold(
    host: str, text: str | bytes, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    words = (host, "--command", sys.executable)
    fresh = json.loads(doxa(*words, "--print", "--json").stdout)
    for change in plan(host, home).changes:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        change.path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = files(home)
    shown = doxa(*words, "--print", "--json")
    assert shown.exit_code == 0
    found = json.loads(shown.stdout)
    assert [one["path"] for one in found["files"]] == [one["path"] for one in fresh["files"]]
    for one, unhindered in zip(found["files"], fresh["files"], strict=True):
        assert one.get("refused") or isinstance(text, str)
        if one.get("refused"):
            assert one["diff"] == unhindered["diff"]
    assert doxa(*words, "--print").exit_code == 0
    if text == COMMENTED:
        assert doxa(*words).exit_code == 2
    assert files(home) == before


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_without_the_hosts_command_all_else_is_set_up(
    host: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left is the host's command, and when that ran elsewhere a second run is complete."""
    monkeypatch.setenv("PATH", str(home))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "DOXA_DB"):
        monkeypatch.delenv(name, raising=False)
    words = (host, "--command", sys.executable)
    made = plan_of(host, Launch((sys.executable,)), Folders(home, {}))
    command = made.commands[0]
    first = doxa(*words)
    assert first.exit_code == 1
    assert shlex.join(command.add) in first.stdout and "ran:" not in first.stdout
    hooks = made.changes[0].path
    assert made.changes[0].present(hooks.read_text())
    assert json.loads(doxa(*words, "--json").stdout)["left"] == [shlex.join(command.add)]
    program, *args = made.server
    server = {"command": program, "args": args}
    if host == "codex":
        text = f"[mcp_servers.doxa]\ncommand = {json.dumps(program)}\nargs = {json.dumps(args)}\n"
    else:
        text = json.dumps({"mcpServers": {"doxa": server}})
    command.file.write_text(text)
    second = doxa(*words)
    assert second.exit_code == 0 and "nothing to change" in second.stdout
    taken = doxa(host, "--command", sys.executable, "--remove")
    assert taken.exit_code == 2 and shlex.join(command.remove) in taken.stderr
    assert not hooks.exists()
    command.file.unlink()
    assert doxa(host, "--command", sys.executable, "--remove").exit_code == 0


def test_the_backup_of_a_file_that_doxa_is_still_in_is_kept(home: Path) -> None:
    """Where the host's command is away its file stays as it is, and a later removal restores it."""
    made = plan_of("codex", Launch((sys.executable,)), Folders(home, {}))
    setup = Setup(made, home / ".config" / "doxa", {})
    command = made.commands[0]
    before = b"# mine\n"
    command.file.parent.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {}
    command.file.write_bytes(before)
    setup._back_up(record, command.file, before)
    setup._write_record(record)
    program, *args = setup.plan.server
    command.file.write_text(
        f"# mine\n[mcp_servers.doxa]\ncommand = {json.dumps(program)}\nargs = {json.dumps(args)}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "_has", lambda _: False)
        with pytest.raises(InputError, match="still"):
            setup.remove()
    held = setup._record()[str(command.file)]
    assert Path(held["backup"]).read_bytes() == before
    command.file.write_bytes(before)
    setup.remove()
    assert setup._record() == {} and not Path(held["backup"]).exists()


def test_a_file_of_somebody_else_in_the_place_of_doxas_own_is_refused(home: Path) -> None:
    path = home / ".copilot" / "hooks" / "doxa.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(InputError, match="not doxa's"):
        setup_of("copilot", home).apply()
    setup_of("copilot", home).remove()
    assert path.read_text() == "{}"


@given(
    Json.filter(lambda value: isinstance(value, dict)),
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
)
def test_adding_and_removing_gives_the_same_text(value: Any, indent: Any, crlf: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if crlf else text
    entries = JsonEntries(
        Path("x.json"),
        ((("OURS", "deep", "list", APPEND), OUR_HOOK), (("OURS", "member"), OUR_SERVER)),
    )
    if "OURS" in value:
        return
    made = entries.applied(text)
    assert json.loads(made) == value | {
        "OURS": {"deep": {"list": [OUR_HOOK]}, "member": OUR_SERVER}
    }
    assert list(json.loads(made))[: len(value)] == list(value)
    assert entries.applied(made) == made
    assert entries.present(made)
    back = entries.removed(made)
    assert json.loads(back) == value


@given(st.lists(st.integers(), max_size=4), st.data())
def test_an_element_is_added_at_the_end_and_removed_wherever_it_is(
    values: list[int], data: st.DataObject
) -> None:
    text = json.dumps({"l": values}, indent=2)
    made = add(text, ("l", APPEND), "new", what="x")
    assert json.loads(made) == {"l": [*values, "new"]}
    at = data.draw(st.integers(0, len(values)))
    assert json.loads(remove(made, ("l", at), what="x"))["l"] == [
        one for n, one in enumerate([*values, "new"]) if n != at
    ]


def test_a_block_between_markers_goes_as_it_came() -> None:
    for text in ("", "a = 1\n", "a = 1"):
        block = Block(Path("x.toml"), "[b]\nc = 2")
        made = block.applied(text)
        assert tomllib.loads(made)["b"] == {"c": 2}
        assert block.applied(made) == made
        assert block.removed(made).rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize("host", ["cursor", "gemini", "copilot", "opencode"])
def test_every_hook_runs_as_the_host_would_run_it(host: str, home: Path) -> None:
    setup = setup_of(host, home)
    setup.apply()
    environ = os.environ | {"DOXA_EMBEDDER": "none", "XDG_CONFIG_HOME": str(home / "c")}
    findings = check(setup, environ, home / "m.db")
    assert all(one.fine for one in findings), findings
    hooks = plan(host, home).hooks
    assert sum(one.what.startswith("the hook ") for one in findings) == len(hooks)
    assert {"open", "prompt", "tool", "answer", "close"} <= {hook.event for hook in hooks}
    written = "".join(
        path.read_text() for path in home.rglob("*") if path.suffix in (".json", ".js")
    )
    for hook in plan(host, home).hooks:  # what was checked is what was entered
        if host != "opencode":
            assert json.dumps(shlex.join(hook.command))[1:-1] in written
    assert not (home / "m.db-hooks" / "spool.jsonl").exists()


def claude_settings(home: Path, **values: Any) -> None:
    path = home / ".claude" / "settings.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | values))


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda home: claude_settings(home, disableAllHooks=True), "disableAllHooks"),
        (lambda home: claude_settings(home, allowManagedHooksOnly=True), "allowManagedHooksOnly"),
        (lambda home: claude_settings(home, permissions={"deny": ["mcp__doxa"]}), "whole server"),
        (lambda home: (home / ".claude" / "settings.json").unlink(), "has the entries"),
    ],
)
def test_the_check_names_what_switches_hooks_off(
    change: Callable[[Path], None], finding: str, home: Path
) -> None:
    setup = setup_of("claude-code", home, ("/nowhere/doxa",))
    setup.apply()
    change(home)
    wrong = [one for one in check(setup, os.environ, home / "m.db") if not one.fine]
    assert any(finding in one.what and one.step for one in wrong), wrong
    assert any("does not run" in one.what for one in wrong)
    assert any("does not start" in one.what for one in wrong)


def put(name: str, **values: Any) -> Callable[[Path], None]:
    """Add members to a JSON file of the home folder."""

    def change(home: Path) -> None:
        path = home / name
        found = json.loads(path.read_text()) if path.exists() else {}
        for key, value in values.items():
            held = found.get(key)
            found[key] = held | value if isinstance(held, dict) else value
        path.write_text(json.dumps(found))

    return change


@pytest.mark.parametrize(
    ("host", "change", "finding"),
    [
        ("gemini", put(".gemini/settings.json", hooksConfig={"enabled": False}), "hooksConfig.en"),
        (
            "gemini",
            put(".gemini/settings.json", hooksConfig={"disabled": ["doxa-prompt", "other"]}),
            "hooksConfig.disabled has doxa-prompt",
        ),
        ("gemini", put(".gemini/settings.json", mcp={"excluded": ["doxa"]}), "leaves doxa out"),
        ("gemini", put(".gemini/settings.json", mcp={"allowed": ["other"]}), "leaves doxa out"),
        ("gemini", put("system.json", admin={"mcp": {"enabled": False}}), "admin.mcp.enabled"),
        ("copilot", put(".copilot/settings.json", disableAllHooks=True), "disableAllHooks"),
        ("copilot", put(".copilot/settings.json", disabledMcpServers=["doxa"]), "disabledMcp"),
        ("copilot", put(".copilot/config.json", disabledMcpServers=["doxa"]), "disabledMcp"),
        ("opencode", put(".config/opencode/opencode.json", tools={"doxa_*": False}), "hides"),
        ("opencode", put("environ", OPENCODE_PURE="1"), "OPENCODE_PURE"),
        ("openclaw", put(".openclaw/openclaw.json", tools={"deny": ["bundle-mcp"]}), "tools.deny"),
        (
            "openclaw",
            put(".openclaw/openclaw.json", mcp={"servers": {"doxa": {"enabled": False}}}),
            "switched off",
        ),
        (
            "claude-code",
            put(".claude/settings.json", deniedMcpServers=[{"serverName": "doxa"}]),
            "denied",
        ),
        ("hermes", put("environ"), "chooses none"),
        (
            "hermes",
            lambda home: (home / ".hermes/config.yaml").write_text("memory:\n  provider: mem0\n"),
            "another memory provider, mem0",
        ),
    ],
)
def test_switches_of_each_host_are_found_and_nothing_before(
    host: str, change: Callable[[Path], None], finding: str, home: Path
) -> None:
    made = plan(host, home)
    Setup(made, home / ".config" / "doxa", os.environ).apply()
    environ = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / "system.json")}
    (home / ".hermes").mkdir(exist_ok=True)
    (home / ".hermes" / "config.yaml").write_text("model: x\nmemory:\n  provider: doxa\n")
    assert list(switched_off(made, environ)) == []
    if finding == "chooses none":
        (home / ".hermes" / "config.yaml").unlink()
    change(home)
    if (home / "environ").exists():
        environ |= json.loads((home / "environ").read_text())
    found = list(switched_off(made, environ))
    assert [finding in one.what and bool(one.step) for one in found] == [True], found


def test_hooks_of_codex_are_untrusted_until_the_person_trusts_them(home: Path) -> None:
    full = plan_of("codex", Launch(("/nowhere/doxa",)), Folders(home, {}))
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    hooks = home / ".codex" / "hooks.json"

    def findings() -> list[str]:
        setup = Setup(full, home / ".config" / "doxa", os.environ)
        return [one.what for one in check(setup, os.environ, home / "m.db") if not one.fine]

    assert "0 of 6 hooks are trusted" in findings()

    def trust(hashes: dict[str, str]) -> None:
        tables = (f'[hooks.state."{hooks}:{k}"]\ntrusted_hash = "{h}"\n' for k, h in hashes.items())
        config.write_text("".join(tables))

    bell = {"hooks": [{"type": "command", "command": "bell"}]}
    groups = {"Stop": [bell], "SessionStart": [bell], "UserPromptSubmit": [bell, bell]}
    hooks.write_text(json.dumps({"hooks": groups}))
    text = full.changes[0].applied(hooks.read_text())
    hooks.write_text(text)
    others = ["stop:0:0", "session_start:0:0", "user_prompt_submit:0:0", "user_prompt_submit:1:0"]
    trust(dict.fromkeys(others, "sha256:x"))
    assert "0 of 6 hooks are trusted" in findings()
    own = ["stop:1:0", "session_start:1:0", "user_prompt_submit:2:0"]
    new = ["post_tool_use:0:0", "post_compact:0:0", "session_end:0:0"]
    trust(dict.fromkeys(own, "sha256:x"))
    assert "0 of 6 hooks are trusted, 3 in an earlier form" in findings()
    hashes = dict(_own_hooks(json.loads(text)["hooks"]))
    assert sorted(hashes) == sorted([*own, *new])
    trust(hashes)
    assert not any("trusted" in one for one in findings())
    config.write_text("[features]\nhooks = false\n" + config.read_text())
    assert "features.hooks is off" in findings()


def test_the_hash_of_a_hook_is_that_of_codex() -> None:
    """The expected hashes are what `hooks/list` of the server of Codex 0.169.0 answers."""
    tool = {
        "type": "mcp_tool",
        "server": "doxa",
        "tool": "memory_hook",
        "input": {"host": "codex", "event": "open"},
        "timeout": 10,
    }
    assert _codex_hash("session_start", {}, tool) == (
        "sha256:5dd8f0c6cf5e71b9c3b54eb76c0871e816ecae306f76a5b0e55e3afcd3293048"
    )
    command = {"type": "command", "command": "notify --host laptop", "timeout": 600}
    assert _codex_hash("stop", {}, command) == (
        "sha256:fe4c830856db389c6e2ae67bc764bed1fe61a91a29cc1abf69da98553ca74f68"
    )


@pytest.mark.parametrize("words", ["sleep 100", "sleep 100 & wait", "sleep 100 & echo {}; wait"])
def test_the_check_ends_where_nothing_answers(
    words: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.hosts.setup.checking._ANSWER_S", 0.5)
    monkeypatch.setattr("doxa.hosts.setup.checking._HOOK_S", 0.5)
    monkeypatch.setattr("doxa.hosts.setup.running._ENDING_S", 0.5)
    script = tmp_path / "doxa"
    script.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/started\n{words}\n")
    script.chmod(0o755)
    setup = setup_of("gemini", home, (str(script),))
    setup.apply()
    wrong = [one.what for one in check(setup, os.environ, home / "m.db") if not one.fine]
    assert sum("does not run" in one for one in wrong) == 5
    assert "the server does not start: it gave no answer within 0.5 s" in wrong
    for process in map(int, (tmp_path / "started").read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_command_strings_hold_no_version_and_no_passing_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = launch_words()
    assert Path(words[0]).is_absolute()
    assert not any("0.1" in word for word in words[1:])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0" / "x" / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="which an upgrade removes"):
        launch_words()
    (tmp_path / "uvx").write_text("#!/bin/sh\n")
    (tmp_path / "uvx").chmod(0o755)
    assert launch_words()[0] == str(tmp_path / "uvx")
    with pytest.raises(InputError, match="is not a command here"):
        launch_words("no-such-doxa")
    assert launch_words(str(tmp_path / "uvx")) == (str(tmp_path / "uvx"),)


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_server_of_another_with_the_name_of_doxas_is_not_removed(host: str, home: Path) -> None:
    """Nothing of the host is run: there is no such command here."""
    made = plan_of(host, Launch(WORDS), Folders(home, {}))
    path = made.commands[0].file
    path.parent.mkdir(exist_ok=True)
    args = ["notes", "mcp", "--actor", "me"]
    if host == "codex":
        path.write_text(f'[mcp_servers.doxa]\ncommand = "/opt/other"\nargs = {json.dumps(args)}\n')
    else:
        path.write_text(json.dumps({"mcpServers": {"doxa": {"command": "/opt/x", "args": args}}}))
    before = path.read_bytes()
    setup = Setup(made, home / ".config" / "doxa", {"PATH": str(home)})
    assert setup.remove() == []
    assert path.read_bytes() == before
