"""Exports of chat products: the branch that was seen, the others on request, and what is broken."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import DoxaError, InputError
from doxa.store import check
from tests.fixtures_shared import opened
from tests.imports.import_files import imported, said


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert check(made.store) == []


def node(parent: str | None, text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    message = {
        "id": f"m-{text}",
        "author": {"role": role},
        "create_time": 1772460000.25,
        "content": {"content_type": "text", "parts": [text]},
        **more,
    }
    return {"parent": parent, "message": message}


def conversation(**more: Any) -> dict[str, Any]:
    """root - a question - (first answer | second answer - thanks)."""
    mapping = {
        "root": {"parent": None, "message": None},
        "q": node("root", "I live in Berlin."),
        "a1": node("q", "First answer.", "assistant"),
        "x1": node("a1", "Dead end."),
        "a2": node("q", "Second answer.", "assistant"),
        "t": node("a2", "Thanks."),
        "tool": node("t", "hidden", "tool"),
    }
    return {
        "conversation_id": "c1",
        "title": "T",
        "current_node": "tool",
        "mapping": mapping,
    } | more


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("kind", ["file", "folder", "zip"])
def test_chatgpt(memory: Memory, tmp_path: Path, kind: str) -> None:
    place = write(tmp_path / "export" / "conversations.json", [conversation()])
    if kind == "folder":
        place = place.parent
    elif kind == "zip":
        place, inner = tmp_path / "export.zip", place
        with zipfile.ZipFile(place, "w") as archive:
            archive.write(inner, "../../conversations.json")
    dry = imported(memory, place, dry_run=True)
    assert (dry.added, said(memory)) == (3, [])
    done = imported(memory, place)
    assert (done.added, done.candidates, done.untrusted) == (3, 1, 0)
    seen = {("c1", "I live in Berlin."), ("c1", "Second answer."), ("c1", "Thanks.")}
    assert {(session, text) for session, _, text in said(memory)} == seen
    assert imported(memory, place).changes == ()
    assert memory.ingest(place).added == 0  # one path, whichever verb
    done = imported(memory, place, include=["branches"])
    assert {(s, t) for s, _, t in said(memory)} - seen == {
        ("c1/x1", "First answer."),
        ("c1/x1", "Dead end."),
    }
    assert imported(memory, place, include=["branches"]).changes == ()
    assert not list(tmp_path.rglob("../conversations.json"))


@pytest.mark.parametrize("branches", [(), ("branches",)])
def test_cycles_and_wrong_types_end(
    memory: Memory, tmp_path: Path, branches: tuple[str, ...]
) -> None:
    ring = {"a": node("b", "A ring."), "b": node("c", "of"), "c": node("a", "three.")}
    self_made = {"s": node("s", "Its own parent.")}
    deep = {f"n{i}": node(f"n{i - 1}", f"Deep {i}.") for i in range(3_000)}
    values = [
        conversation(mapping=ring, current_node="a", conversation_id="ring"),
        conversation(mapping=ring, current_node="nowhere", conversation_id="ring2"),
        conversation(mapping=self_made, current_node="s", conversation_id="self"),
        conversation(mapping=deep, current_node="n2999", conversation_id="deep"),
        conversation(mapping=[], conversation_id="list"),
        conversation(mapping={"x": {"parent": 5}}, conversation_id="types"),
        {"mapping": {"y": node(None, "x") | {"message": {"author": "me"}}}},
        7,
        None,
    ]
    place = write(tmp_path / "conversations.json", values)
    done = imported(memory, place, include=branches)
    texts = [text for _, _, text in said(memory)]
    assert done.skipped == 5 and texts.count("Its own parent.") == 1
    assert {"A ring.", "of", "three.", "Deep 2999."} <= set(texts)
    assert imported(memory, place, include=branches).changes == ()


def test_claude_ai(memory: Memory, tmp_path: Path) -> None:
    messages = [
        {"uuid": "1", "sender": "human", "text": "I live in Rome.", "created_at": "2026-03-02"},
        {
            "uuid": "2",
            "sender": "assistant",
            "content": [{"type": "text", "text": "Noted."}, {"type": "tool_use"}],
            "created_at": "when",
        },
        {"sender": "ghost", "text": "x"},
    ]
    place = write(tmp_path / "conversations.json", [{"uuid": "c", "chat_messages": messages}])
    done = imported(memory, place)
    assert (done.added, done.candidates, done.skipped) == (1, 1, 2)
    assert done.formats == {"claude-ai": 1}
    assert imported(memory, place).changes == ()


def test_bombs_and_broken_archives_are_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.base import limits

    monkeypatch.setattr(limits, "ARCHIVE_BYTES_MAX", 100_000)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b'[{"mapping": {}}' + b" " * 10_000_000 + b"]")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(bomb.read_bytes()[:200])
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("readme.txt", "x")
    for place in (bomb, cut, empty):
        for format in (None, "chatgpt", "claude-ai"):
            with pytest.raises(DoxaError):
                imported(memory, place, format)
    with pytest.raises(InputError):
        imported(memory, write(tmp_path / "conversations.json", "[{"), "chatgpt")
    assert said(memory) == []
