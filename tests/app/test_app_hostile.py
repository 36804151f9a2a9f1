"""Whatever is given to a verb, the answer is a result or one of our errors that can be shown; the
file stays sound."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app import Memory
from doxa.app.verbs import ALL
from tests.fixtures_shared import opened
from tests.runtime_given import STATIC

DB, OTHER = "kref://default/db.fact", "kref://default/other.fact"
HOSTILE: tuple[Any, ...] = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "x" * 1_048_577,
    5,
    -1,
    0,
    10**30,
    1.5,
    float("nan"),
    float("inf"),
    True,
    None,
    b"bytes",
    [],
    ["x"],
    [5],
    ["\ud800"],
    {},
    {"a": 1},
    {"a": {"b": 1}},
    {5: 5},
    object(),
    "kref://",
    "kref://default",
    "kref://nowhere/a.fact",
    f"{DB}?r={10**16}",
    f"{DB}?at=0001-01-01",
    f"{DB}?t=zzz",
    "/nowhere/at/all",
    "kref://default/" + "a/" * 40,
    "\u202e",
    [("a", "b", float("nan"))],
    [[1, 2, 3]],
    [None],
    [DB],
    Path("/nowhere/x"),
)
GIVEN = STATIC | {
    "text": "some text",
    "task": "some task",
    "source": [{"text": "hello"}],
    "kref": DB,
    "what": DB,
    "conflict": DB,
    "decision": "accept",
    "time": "2026-01-01",
    "start": DB,
    "end": OTHER,
    "tag": "draft",
    "change": 1,
    "target": OTHER,
    "kind": "SEES",
    "name": "name",
    "location": "somewhere",
    "head": "00",
    "subject": "Ana",
    "value": "default",
    "through": "a-1",
    "path": "none",
    "folder": "notes",
    "entity": "Ana",
    "into": "Bob",
    "mention": "kref://default/entities/kit.mention",
    "answer": "new",
    "proposals": ["kref://default/proposals/a.proposal"],
    "proposal": "kref://default/proposals/a.proposal",
    "run": "kref://default/runs/a.run",
    "session": "one",
    "token": "1",
    "handoff": "kref://default/agents/ana/handoff/a.record",
}
FIELDS = ("author", "time")
MORE: dict[str, dict[str, Any]] = {
    "link": {"source": DB},
    "unlink": {"source": DB},
    "revise": {"text": "some text"},
    "export_to": {"target": "new.jsonl"},
    "export_subject": {"target": "subject.jsonl"},
    "export_memory_json": {"target": "memory.json"},
    "hold": {"kind": "project"},
    "archive_rebuild": {"target": "rebuilt.db"},
    "erase": {"text": "some text"},
    "purge": {"source": "speaker:Ana"},
    "attachment_add": {"source": "plan.txt"},
    "verifier_declare": {"kind": "stat", "path": __file__},
    "claim_produce": {"session": "one"},
    "identity_import": {"folder": "work"},
    "knowledge_root": {"folder": "work"},
    "knowledge_index": {"folder": "work"},
    "scaffold_propose": {"change": "Say less", "evidence": [DB]},
}
VERBS = {verb.name: verb for verb in ALL if verb.name != "open"}
TOUCHING = sorted(VERBS.keys() - {"close", "wake"})


def given(verb: str) -> dict[str, Any]:
    """What a verb cannot do without."""
    values = {one.name: GIVEN[one.name] for one in VERBS[verb].parameters if one.required}
    return values | MORE.get(verb, {})


def call(memory: Memory, verb: str, **arguments: Any) -> None:
    result = getattr(memory, verb)(**arguments)
    if inspect.isgenerator(result):
        list(result)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)  # a backup to "x" must not land elsewhere
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "SOUL.md").write_text("# SOUL\n\n- I say what I do not know.\n")
    (tmp_path / "plan.txt").write_text("a plan")
    with opened(tmp_path / "m.db") as made:
        made.remember("The shop runs on MySQL", name="db", facts=[("shop", "database", "MySQL")])
        made.remember("The shop is small", name="other")
        made.ingest([{"speaker": "Ana", "text": "hello"}])
        yield made


@pytest.mark.parametrize("verb", TOUCHING)
def test_a_hostile_argument_is_a_result_or_our_error(memory: Memory, verb: str) -> None:
    names = [one.name for one in VERBS[verb].parameters]
    for name in (*names, *(FIELDS if VERBS[verb].options else ())):
        for value in HOSTILE:
            if name == "follow" and value is True:
                continue  # it waits, by design
            if name == "project" and value == "":
                continue  # deprecated, and tested as such
            try:
                call(memory, verb, **given(verb) | {name: value})
            except doxa.DoxaError as error:
                assert error.next_step
                assert str(error).encode()
                assert len(str(error)) < 5_000
            except Exception as error:
                raise AssertionError(
                    f"{verb}({name}={value!r:.40}) raised {error!r:.200}"
                ) from error
    assert memory.check() == []
    memory.verify()


MODELS = [
    "embedder",
    "model",
    "reranker",
    "model_urls",
    "model_prices",
    "model_calls_max",
    "model_tokens_max",
    "model_folder",
]


@pytest.mark.parametrize("name", ["path", "role", "actor", "project", "clock", *MODELS])
def test_a_hostile_option_of_opening_is_our_error_at_once(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    for number, value in enumerate(HOSTILE):
        options = {"path": tmp_path / f"{number}.db", "embedder": None} | {name: value}
        try:
            if name == "path" and value is None:
                continue
            with doxa.open(**options) as made:
                made.remember("x is y")
                made.recall("x")
                made.embed()
        except doxa.DoxaError as error:
            assert error.next_step


@pytest.mark.parametrize("verb", TOUCHING)
def test_a_closed_or_read_only_memory_says_so(memory: Memory, tmp_path: Path, verb: str) -> None:
    arguments = given(verb) | ({"kref": "kref://default/all.bundle"} if verb == "bundle" else {})
    if verb in ("import_", "backup"):
        (tmp_path / "export.jsonl").write_bytes(b"".join(line + b"\n" for line in memory.export()))
        arguments["path"] = "export.jsonl" if verb == "import_" else "new.db"
    memory.close()
    memory.close()
    if (
        verb not in ("session", "spend", "resolve")
        # the first makes a session, whose verbs then say so; the second reads no file; the third
        # refuses an address that is not a conflict's first
    ):
        with pytest.raises(doxa.ClosedError):
            call(memory, verb, **arguments)
    with opened(tmp_path / "m.db", read_only=True) as reading:
        try:
            call(reading, verb, **arguments)
        except doxa.DoxaError as error:
            assert error.next_step
