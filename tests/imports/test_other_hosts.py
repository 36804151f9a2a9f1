"""Codex, Gemini CLI and Cursor: lines and files in the forms that they write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from doxa.base.errors import InputError
from doxa.imports.contract import (
    START,
    FormatReader,
    ImportedMessage,
    ImportLog,
    ImportSource,
    Position,
)
from doxa.imports.registry import sources
from tests.imports.import_files import lines


def found_at(
    place: Path, *include: str, log: ImportLog | None = None, start: Position = START
) -> tuple[list[ImportedMessage], Position]:
    """The messages of a place, and the last position."""
    log = ImportLog() if log is None else log
    read = [
        one
        for reader, source in sources(place, log)
        for one in reader.read(source, start, log, include)
    ]
    made = [item for item, _ in read if isinstance(item, ImportedMessage)]
    return made, read[-1].after if read else start


def words(found: list[ImportedMessage]) -> list[tuple[str, str, str]]:
    return [(one.role, one.speaker, one.text) for one in found]


# Codex: as Codex 0.169.0 wrote them, with other texts


def rollout(kind: str, at: int = 0, **payload: object) -> dict[str, Any]:
    return {
        "timestamp": f"2026-11-23T03:07:{at:02}.228Z",
        "ordinal": at,
        "type": kind,
        "payload": payload,
    }


def item(role: str, text: str, at: int = 0) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return rollout("response_item", at, type="message", id=f"m{at}", role=role, content=content)


HEAD = rollout(
    "session_meta",
    session_id="01a2",
    id="01a2",
    cwd="/srv/shop",
    originator="codex_exec",
    thread_source="user",
    base_instructions={"text": "You are a coding agent."},
)


def test_codex(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "2026" / "11" / "rollout-x.jsonl",
        HEAD,
        rollout("event_msg", 1, type="task_started", turn_id="t"),
        item("developer", "<doxa-memory>what was injected</doxa-memory>", 2),
        item("user", "<environment_context>\n  <cwd>/srv/shop</cwd>", 3),
        item("user", "# AGENTS.md instructions for /srv/shop\n\nx", 3),
        rollout("world_state", 4, full=True, state={}),
        rollout("turn_context", 5, cwd="/srv/shop/web"),
        item("user", "Which port?", 6),
        rollout("event_msg", 7, type="item_completed", item={"type": "UserMessage"}),
        rollout(
            "response_item", 8, type="function_call", name="exec", arguments='{"a": 1}', call_id="c"
        ),
        rollout("response_item", 9, type="function_call_output", call_id="c", output="8080"),
        rollout("response_item", 10, type="reasoning", summary=[], encrypted_content="x"),
        item("assistant", "8080.", 11),
        rollout("compacted", 12, message="They asked for the port."),
        rollout("event_msg", 13, type="task_complete", last_agent_message="8080."),
    )
    found, last = found_at(tmp_path)
    assert words(found) == [("user", "", "Which port?"), ("assistant", "", "8080.")]
    assert {(one.session, one.folder) for one in found} == {("01a2", "/srv/shop/web")}
    assert last.offset == file.stat().st_size
    found, _ = found_at(tmp_path, "tools", "summaries")
    assert words(found)[1] == ("tool", "exec", 'exec({"a": 1}) -> 8080')
    assert words(found)[3] == ("assistant", "codex summary", "They asked for the port.")


def test_codex_goes_on_in_the_middle_and_leaves_sub_agents_out(tmp_path: Path) -> None:
    file = lines(tmp_path / "rollout-x.jsonl", HEAD, item("user", "One.", 1))
    _, last = found_at(file)
    with file.open("a") as more:
        more.write(json.dumps(item("user", "Two.", 2)) + "\n")
    found, _ = found_at(file, start=last)
    assert [(one.session, one.folder, one.text) for one in found] == [("01a2", "/srv/shop", "Two.")]
    sub = rollout("session_meta", id="02", cwd="/x", thread_source="subagent")
    file = lines(tmp_path / "sub" / "rollout-y.jsonl", sub, item("user", "Look.", 1))
    assert found_at(file)[0] == [] and len(found_at(file, "sidechains")[0]) == 1


# Gemini CLI: the records of its chatRecordingService


GEMINI = {"sessionId": "g1", "projectHash": "ab" * 32, "startTime": "2026-03-02T14:00:00Z"}


def gemini(number: int, kind: str, content: object, **more: object) -> dict[str, Any]:
    return {
        "id": f"i{number}",
        "timestamp": f"2026-03-02T14:00:{number:02}.000Z",
        "type": kind,
        "content": content,
        **more,
    }


CALL = {"id": "c", "name": "read_file", "args": {"p": "a"}, "result": [{"text": "b"}]}


def test_gemini_takes_what_was_not_taken_back(tmp_path: Path) -> None:
    lines(
        tmp_path / "tmp" / "shop" / "chats" / "session-x.jsonl",
        {**GEMINI, "kind": "main"},
        gemini(1, "user", [{"text": "Which "}, {"text": "port?"}]),
        gemini(2, "gemini", "80", thoughts=[{"subject": "S", "description": "D"}]),
        gemini(2, "gemini", "8080.", thoughts=[{"subject": "S", "description": "D"}]),
        gemini(3, "info", "Update available"),
        gemini(4, "user", "Wrong turn."),
        gemini(5, "gemini", "Yes.", toolCalls=[CALL]),
        {"$rewindTo": "i4"},
        {"$set": {"summary": "x"}},
        gemini(6, "user", "Thanks."),
        gemini(7, "gemini", "", toolCalls=[CALL]),
        "{broken",
    )
    (tmp_path / "tmp" / "shop" / ".project_root").write_text("/srv/shop\n")
    log = ImportLog()
    found, _ = found_at(tmp_path, log=log)
    assert words(found) == [
        ("user", "", "Which port?"),
        ("assistant", "", "8080."),
        ("user", "", "Thanks."),
    ]
    assert {(one.session, one.folder) for one in found} == {("g1", "/srv/shop")}
    assert log.skipped == 1
    found, _ = found_at(tmp_path, "tools", "thinking")
    assert words(found)[1][2] == "S\nD\n\n8080." and words(found)[3][:2] == ("tool", "read_file")


def test_gemini_in_one_object(tmp_path: Path) -> None:
    said = [gemini(1, "user", "Which port?"), gemini(2, "gemini", "8080."), 5]
    record = {**GEMINI, "lastUpdated": "x", "messages": said, "directories": ["/srv/web"]}
    (tmp_path / "session-x.json").write_text(json.dumps(record, indent=2))
    log = ImportLog()
    found, _ = found_at(tmp_path, log=log)
    assert words(found) == [("user", "", "Which port?"), ("assistant", "", "8080.")]
    assert found[0].folder == "/srv/web" and log.skipped == 1
    record["kind"] = "subagent"
    (tmp_path / "session-x.json").write_text(json.dumps(record))
    assert found_at(tmp_path)[0] == []


# Cursor: the keys and values that others found out


def editor(path: Path, rows: Mapping[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.execute(
        "CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
    )
    for key, value in rows.items():
        made = value if isinstance(value, (str, bytes)) else json.dumps(value)
        db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, made))
    db.close()
    return path


def bubble(kind: int, text: str, **more: object) -> dict[str, object]:
    return {"_v": 3, "type": kind, "bubbleId": f"b-{text}", "text": text, **more}


ROWS: dict[str, object] = {
    "composerData:c1": {
        "composerId": "c1",
        "createdAt": 1_772_460_000_000,
        "lastUpdatedAt": 1_772_460_100_000,
        "fullConversationHeadersOnly": [{"bubbleId": str(n), "type": 1} for n in range(5)],
    },
    "bubbleId:c1:0": bubble(1, "Which port?", workspaceUris=["file:///srv/my%20shop"]),
    "bubbleId:c1:1": bubble(
        2, "", toolFormerData={"name": "grep", "rawArgs": "{}", "result": "8080"}
    ),
    "bubbleId:c1:2": bubble(2, "8080.", createdAt="2026-03-02T15:00:00Z", thinking={"text": "T"}),
    "bubbleId:c1:3": "{broken",
    "composerData:c2": {"composerId": "c2", "conversation": [bubble(1, "An older one.")]},
    "composerData:c3": b"\xff\x00",
    "composerData:c4": [],
    "other:c1": {"text": "no"},
}


def test_cursor(tmp_path: Path) -> None:
    file = editor(tmp_path / "globalStorage" / "state.vscdb", ROWS)
    before = file.read_bytes()
    log = ImportLog()
    found, last = found_at(tmp_path, log=log)
    assert words(found) == [
        ("user", "", "Which port?"),
        ("assistant", "", "8080."),
        ("user", "", "An older one."),
    ]
    assert found[1].folder == "/srv/my shop" and found[0].time_ns == 1_772_460_000 * 10**9
    assert log.skipped == 3 and file.read_bytes() == before
    assert words(found_at(tmp_path, "tools", "thinking")[0])[1:3] == [
        ("tool", "grep", "grep({}) -> 8080"),
        ("assistant", "", "T\n\n8080."),
    ]
    # only what was updated, and what does not say so, is read again
    assert [one.session for one in found_at(file, start=last)[0]] == ["c2"]
    editor(file, {"composerData:c1": {**ROWS["composerData:c1"], "lastUpdatedAt": 2e12}})  # type: ignore[dict-item]
    assert [one.session for one in found_at(file, start=last)[0]] == ["c1", "c1", "c2"]


def test_a_file_that_only_looks_like_cursors_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / "state.vscdb"
    db = apsw.Connection(str(file))
    db.execute(
        "CREATE TABLE t (x); CREATE VIEW cursorDiskKV AS SELECT 'composerData:x' AS key,"
        " zeroblob(500000000) AS value"
    )
    db.close()
    assert found_at(file)[0] == []
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises(InputError, match="cannot be read as SQLite"):
        found_at(file)


def test_every_format_has_a_name_of_its_own() -> None:
    from doxa.imports.registry import READERS

    named: list[FormatReader] = list(READERS)
    assert len({one.name for one in named}) == len(named)
    assert all(one.title and one.suffixes for one in named)
    assert ImportSource(Path("a"), Path("a")).name == "a"
