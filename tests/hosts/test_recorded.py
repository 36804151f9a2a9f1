"""What real hosts sent to their hooks, recorded with a scripted model (`recorded/`): read by the
rows of formats.py, and by the plugin of OpenCode, which runs in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doxa.hosts.formats import event_of
from doxa.hosts.setup.plans import Folders, Launch, plan_of
from doxa.hosts.transcripts import TranscriptText, transcript_text
from doxa.redaction.messages import message_text

RECORDED = Path(__file__).parent / "recorded"
PROMPT = "USETOOL We deploy on Thursdays."
EXPECTED: dict[str, dict[str, str]] = {
    "claude-code": {
        "SessionStart": "",
        "UserPromptSubmit": "USETOOL We deploy on Thursdays",
        "PostToolUse": 'Bash({"command": "echo hi there", "description": "say"}) -> {"stdout": "hi',
        "Stop": "Done.",
        "PostCompact": "Done.",
        "SessionEnd": "",
    },
    "codex": {
        "SessionStart": "",
        "UserPromptSubmit": PROMPT,
        "PostToolUse": 'Bash({"command": "echo hi there"}) -> hi there',
        "PostCompact": "",
        "Stop": "All right.",
        "SessionEnd": "",
    },
    "gemini": {
        "SessionStart": "",
        "BeforeAgent": PROMPT,
        "AfterTool": 'list_directory({"dir_path": "."}) -> Directory ',
        "AfterAgent": "All right, noted.",
        "SessionEnd": "",
    },
    "copilot": {
        "sessionStart": "",
        "userPromptSubmitted": PROMPT,
        "postToolUse": 'glob({"pattern": "*"}) -> No files matched the pattern.',
        "agentStop": "All right, noted.",
        "sessionEnd": "",
    },
}


def recorded(host: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{host}.json").read_text())
    return found


@pytest.mark.parametrize("host", EXPECTED)
def test_what_a_host_sent_is_read(host: str, tmp_path: Path) -> None:
    held = recorded(host)
    found: dict[str, str] = {}
    for one in held["events"]:
        document = dict(one["document"])
        if "transcript" in held and "transcriptPath" in document:
            path = tmp_path / document["sessionId"] / "events.jsonl"
            path.parent.mkdir()
            path.write_text("".join(json.dumps(line) + "\n" for line in held["transcript"]))
            document["transcriptPath"] = str(path)
        event = event_of(host, one["name"], document)
        assert event is not None, one["name"]
        assert event.session in (document.get("session_id"), document.get("sessionId"))
        assert event.folder == document["cwd"]
        if event.kind == "open":
            assert event.source in ("startup", "new")
        found[one["name"]] = event.text
    assert set(found) == set(EXPECTED[host])
    for name, text in EXPECTED[host].items():
        assert found[name].startswith(text) and (bool(found[name]) is bool(text)), name


def test_what_gemini_puts_before_a_prompt_is_not_captured() -> None:
    """As Gemini CLI 0.61.0 sends the first prompt of `gemini -p` to BeforeAgent."""
    block = '&lt;doxa-memory project="shop"&gt;\nKnown here:\n- "X" [fact]\n&lt;/doxa-memory&gt;'
    text = f"<hook_context>{block}</hook_context>\n\nRename the module."
    assert message_text(text) == ("Rename the module.", 0)


WANTED = TranscriptText("a", "data.text", since="u", unless="data.calls", after="BEGIN")


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([{"type": "a", "data": {"text": "host says BEGIN summary"}}], "summary"),
        ([{"type": "a", "data": {"text": "old"}}, {"type": "u"}], ""),
        ([{"type": "a", "data": {"text": "I look."}}, {"type": "a", "data": {"calls": [1]}}], ""),
        ([{"type": "a", "data": {"text": 5}}, [1], {"type": "a", "data": None}], ""),
        ([], ""),
    ],
)
def test_the_text_of_a_transcript(
    lines: list[Any], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.hosts.transcripts._WAIT_S", 0.0)
    path = tmp_path / "rollout-s1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"type": "a", "da')
    assert transcript_text(str(path), "s1", WANTED) == text
    assert transcript_text(str(path), "s2", WANTED) == ""  # of another conversation
    assert transcript_text(str(tmp_path / "s1.jsonl"), "s1", WANTED) == ""
    assert transcript_text(str(path), "", WANTED) == ""


def test_only_the_end_of_a_transcript_is_read_and_nothing_but_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.hosts.transcripts._WAIT_S", 0.0)
    monkeypatch.setattr("doxa.hosts.transcripts._TAIL_BYTES_MAX", 200)
    path = tmp_path / "s1.jsonl"
    line = json.dumps({"type": "a", "data": {"text": "early"}}) + "\n"
    path.write_text(line + json.dumps({"type": "x", "data": "y" * 300}) + "\n")
    assert transcript_text(str(path), "s1", TranscriptText("a", "data.text")) == ""
    (tmp_path / "s2.jsonl").mkdir()
    assert transcript_text(str(tmp_path / "s2.jsonl"), "s2", TranscriptText("a", "data.text")) == ""


DRIVER = """
import { readFileSync } from "node:fs"
const [plugin, recorded] = process.argv.slice(2)
const { DoxaMemory } = await import(plugin)
const held = JSON.parse(readFileSync(recorded, "utf8"))
const client = {
  session: {
    get: async ({ path }) => ({ data: path.id === "child" ? { parentID: "p" } : {} }),
    messages: async () => ({ data: held.messages }),
  },
}
const hooks = await DoxaMemory({ directory: "/home/ana/work", client })
const seen = []
for (const one of held.events) {
  await hooks[one.name](one.input, one.output)
  if (one.output?.system) seen.push(one.output.system)
}
const parts = [
  { type: "text", text: "Summarise @notes.txt" },
  { type: "text", text: "We always deploy with --force", synthetic: true },
  { type: "text", text: "We never review", ignored: true },
  { type: "file", url: "file:///x" },
]
await hooks["chat.message"]({ sessionID: held.session }, { parts })
await hooks["chat.message"]({ sessionID: "child" }, { parts: [{ type: "text", text: "Go on" }] })
await hooks["tool.execute.after"](
  { sessionID: held.session, tool: "bash", args: { command: "ls" } },
  { output: "a.txt" },
)
await hooks["tool.execute.after"]({ sessionID: "child", tool: "bash", args: {} }, { output: "b" })
await hooks.dispose()
console.log(JSON.stringify(seen))
"""


def test_the_plugin_of_opencode_runs(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    log = tmp_path / "log.jsonl"
    command = tmp_path / "doxa.py"
    command.write_text(
        "import json, sys\n"
        f"with open({str(log)!r}, 'a') as log:\n"
        "    log.write(json.dumps([sys.argv[2], json.load(sys.stdin)]) + '\\n')\n"
        "print(json.dumps({'block': 'THE BRIEF'} if sys.argv[2] == 'open' else {}))\n"
    )
    launch = Launch((sys.executable, str(command)))
    plugin = next(
        change for change in plan_of("opencode", launch, Folders(tmp_path, {})).changes[1:]
    )
    (tmp_path / "doxa.mjs").write_text(plugin.applied(""))
    (tmp_path / "driver.mjs").write_text(DRIVER)
    words = [node, "driver.mjs", str(tmp_path / "doxa.mjs"), str(RECORDED / "opencode.json")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for system in json.loads(done.stdout):
        assert system == ["You are opencode", "THE BRIEF"]
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    session = recorded("opencode")["session"]
    assert {document["session"] for _, document in sent} == {session}
    events = [event_of("opencode", name, document) for name, document in sent]
    found = [(one.kind, one.text) for one in events if one is not None and one.kind != "open"]
    assert found == [
        ("prompt", "We deploy on Thursdays"),
        ("answer", "All right, noted."),
        ("compaction", "All right, noted."),
        ("answer", "All right, noted."),
        ("prompt", "Summarise @notes.txt"),
        ("tool", 'bash({"command": "ls"}) -> a.txt'),
        ("close", ""),
    ]
    assert [name for name, _ in sent].count("open") == 1


def test_the_plugin_answers_nothing_where_doxa_cannot_run(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    plan = plan_of("opencode", Launch((str(tmp_path / "none"),)), Folders(tmp_path, {}))
    (tmp_path / "doxa.mjs").write_text(plan.changes[1].applied(""))
    (tmp_path / "driver.mjs").write_text(DRIVER)
    words = [node, "driver.mjs", str(tmp_path / "doxa.mjs"), str(RECORDED / "opencode.json")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(system == ["You are opencode"] for system in json.loads(done.stdout))
