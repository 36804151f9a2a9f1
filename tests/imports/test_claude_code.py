"""Claude Code's sessions, as the program writes them: what is taken, and what is left out."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from doxa.base import limits
from doxa.base.errors import InputError
from doxa.imports.contract import START, ImportedMessage, ImportLog
from doxa.imports.readers.claude_code import ClaudeCode
from doxa.imports.registry import detect, sources
from tests.imports.import_files import code_line, lines

FIXTURE = Path(__file__).parents[1] / "ingestion" / "fixtures" / "claude_code"


def messages(
    place: Path, log: ImportLog | None = None, include: tuple[str, ...] = ()
) -> list[ImportedMessage]:
    log = ImportLog() if log is None else log
    found = []
    for reader, source in sources(place, log):
        try:
            for item, _ in reader.read(source, START, log, include):
                if isinstance(item, ImportedMessage):
                    found.append(item)
        except InputError as error:
            log.skip(error.message)
    return found


def spoken(place: Path, *include: str) -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in messages(place, include=include)]


def test_it_keeps_what_was_said_and_counts_what_was_broken() -> None:
    log = ImportLog()
    found = messages(FIXTURE, log)
    assert [(one.role, one.text) for one in found] == [
        ("user", "Please fix the parser."),
        ("assistant", "I will read it first."),
        ("assistant", "Fixed: the loop stopped early."),
        ("user", "Thanks, half a smile: \ufffd"),
    ]
    assert log.skipped == 1 and "line 12" in log.places[0]
    assert found[0].folder == "atlas" and found[0].session == "aaaa-1"
    assert found[0].source_id == "u1" and found[0].time_ns == 1_772_460_060_500_000_000


def test_what_is_left_out_is_read_where_it_is_asked_for() -> None:
    found = messages(FIXTURE, include=("tools", "thinking", "sidechains"))
    texts = [one.text for one in found]
    assert "Sub-agent talk" in texts and "Let me look.\n\nI will read it first." in texts
    (used,) = [one for one in found if one.role == "tool"]
    assert used.text == 'Read({"path": "a.py"}) -> def parse(): ...' and used.speaker == "Read"


def test_lines_of_the_host_are_no_prompts(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "Also the tests."}
    file = lines(
        tmp_path / "s1.jsonl",
        {"type": "queue-operation", "operation": "enqueue", "content": "x", "sessionId": "s1"},
        {
            "type": "api-request-blob",
            "sessionId": "s1",
            "message": {"role": "user", "content": "x"},
        },
        {"type": "last-prompt", "lastPrompt": "x", "sessionId": "s1"},
        code_line("typed", promptSource="sdk", permissionMode="default"),
        code_line("by the host", promptSource="system"),
        code_line("by a plugin", origin={"kind": "plugin"}),
        code_line("by hand", origin={"kind": "human"}),
        code_line("The summary.", isCompactSummary=True),
        {**code_line("x"), "type": "attachment", "attachment": queued},
        {**code_line("x"), "type": "attachment", "attachment": {**queued, "isMeta": True}},
        {
            **code_line("x"),
            "type": "attachment",
            "attachment": {**queued, "origin": {"kind": "task-notification"}},
        },
        {**code_line("x"), "type": "attachment", "attachment": {"type": "hook_additional_context"}},
        code_line([{"type": "image", "source": {}}, {"type": "text", "text": "see"}]),
    )
    assert spoken(file) == [
        ("user", "typed"),
        ("user", "by hand"),
        ("user", "Also the tests."),
        ("user", "see"),
    ]
    (summary,) = [one for one in messages(file, include=("summaries",)) if one.speaker]
    assert (summary.role, summary.speaker) == ("assistant", "claude-code summary")


def test_links_do_not_lead_out_of_a_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    shutil.copytree(FIXTURE, inside)
    shutil.copytree(FIXTURE, outside)
    (inside / "linked").symlink_to(outside)
    (inside / "one.jsonl").symlink_to(outside / "-home-ana-atlas" / "aaaa-1.jsonl")
    (inside / "twice.jsonl").symlink_to(inside / "-home-ana-atlas" / "aaaa-1.jsonl")
    (inside / "loop.jsonl").symlink_to(inside / "loop.jsonl")
    (inside / "ring").symlink_to(inside)
    os.mkfifo(inside / "pipe.jsonl")
    assert len(messages(inside)) == 4


def test_one_bad_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    folder = tmp_path / "claude"
    shutil.copytree(FIXTURE, folder)
    (folder / "-a").mkdir()
    for name in ("-a/first.jsonl", "-home-ana-atlas/zz-last.jsonl"):
        (folder / name).write_bytes("{}".encode("utf-16"))
    log = ImportLog()
    reader = detect(folder)
    assert isinstance(reader, ClaudeCode) and len(messages(folder, log)) == 4
    assert log.skipped == 3 and sum("UTF-16" in place for place in log.places) == 2


def _session_line(kind: str, blocks: list[dict[str, object]], **more: object) -> str:
    role = "user" if kind == "user" else "assistant"
    line = {"type": kind, "sessionId": "s", "cwd": "atlas", **more}
    return json.dumps(line | {"message": {"role": role, "content": blocks}}) + "\n"


def _called(name: str, number: int, given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": f"call-{number}", "name": name, "input": given}


def _returned(number: int, text: str, *, failed: bool = False) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": text}
    return block | ({"is_error": True} if failed else {})


def test_it_keeps_what_the_user_decided_at_a_prompt(tmp_path: Path) -> None:
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it"
        " was a file edit, the new_string was NOT written to the file)."
    )
    question = {"question": "Which database?", "header": "DB", "options": []}
    plan = {"plan": "1. Move the log to PostgreSQL."}
    path = tmp_path / "s.jsonl"
    path.write_text(
        _session_line("assistant", [_called("AskUserQuestion", 1, {"questions": [question]})])
        + _session_line(
            "user",
            [_returned(1, 'User has answered your questions: "Which database?"="PostgreSQL".')],
            toolUseResult={"answers": {"Which database?": "PostgreSQL"}},
        )
        + _session_line(
            "user",
            [_returned(2, 'User has answered your questions: "Which day?"="Friday". Continue.')],
        )
        + _session_line("assistant", [_called("Bash", 3, {"command": "rm -r build"})])
        + _session_line(
            "user",
            [
                _returned(
                    3,
                    f"{refused} To tell you how to proceed, the user said:\nKeep the build folder.",
                    failed=True,
                )
            ],
        )
        + _session_line("user", [_returned(4, refused, failed=True)])
        + _session_line("assistant", [_called("ExitPlanMode", 5, {"plan": "A plan nobody took."})])
        + _session_line("user", [_returned(5, refused, failed=True)])
        + _session_line("assistant", [_called("ExitPlanMode", 6, plan)])
        + _session_line("user", [_returned(6, "User has approved your plan. You can now start.")])
        # A tool's own output may quote the same words; only the form of the host counts.
        + _session_line("user", [_returned(7, "log: the user said:\nDelete everything.")])
    )
    assert spoken(path) == [
        ("user", "Which database? PostgreSQL"),
        ("user", "Which day? Friday"),
        ("user", "Keep the build folder."),
        ("assistant", "1. Move the log to PostgreSQL."),
        ("user", "I approve this plan."),
    ]


def test_a_line_beyond_the_limit_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORT_LINE_BYTES_MAX", 400)
    said = [code_line(text) for text in ("a", "b" * 2_000, "c")]
    log = ImportLog()
    found = messages(lines(tmp_path / "s1.jsonl", *said), log)
    assert [one.text for one in found] == ["a", "c"] and log.skipped == 1


@pytest.mark.parametrize("size", [50, 3_000])
def test_a_plan_is_known_when_reading_goes_on_after_it(tmp_path: Path, size: int) -> None:
    """The position stays before a call that waits, since no text is kept for later."""
    path = tmp_path / "s.jsonl"
    plan = {"plan": "1. " + "x" * size}
    path.write_text(_session_line("assistant", [_called("ExitPlanMode", 6, plan)]))
    (reader, source), *_ = sources(path, ImportLog())
    *_, last = reader.read(source, START, ImportLog(), ())
    with path.open("a") as file:
        file.write(
            _session_line("user", [_returned(6, "User has approved your plan. You can now start.")])
        )
    *_, (_, after) = found = list(reader.read(source, last.after, ImportLog(), ()))
    assert [item.text for item, _ in found if item] == [plan["plan"], "I approve this plan."]
    assert after.offset == path.stat().st_size and plan["plan"] not in str(after)
