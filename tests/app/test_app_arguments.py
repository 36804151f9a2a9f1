"""Arguments that would do something else than was meant are refused, and name their field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.language.turns import Turn
from tests.fixtures_shared import opened

X = "kref://default/x.fact"
WRONG: dict[str, tuple[str, Callable[[doxa.Memory], Any]]] = {
    "an erasure by the text no": ("erase", lambda m: m.forget(X, erase="no")),  # type: ignore[arg-type]
    "a preview by a number": ("preview", lambda m: m.forget(X, preview=1)),  # type: ignore[arg-type]
    "history by a text": ("history", lambda m: m.recall("x", history="no")),  # type: ignore[arg-type]
    "rules by a number": ("extract", lambda m: m.ingest([{"text": "a"}], extract=1)),  # type: ignore[arg-type]
    "an order by a number": ("newest_first", lambda m: m.log(newest_first=5)),  # type: ignore[arg-type]
    "vectors anew by a text": ("anew", lambda m: m.embed(anew="yes")),  # type: ignore[arg-type]
    "a project with a space": ("project", lambda m: m.session(project="a/b")),
    "an actor that is none": ("actor", lambda m: m.session(actor=None)),  # type: ignore[arg-type]
    "a misspelt key": ("message", lambda m: m.ingest([{"text": "hi", "tme": "2026-01-01"}])),
    "seconds": ("time", lambda m: m.ingest([{"text": "hi", "time": 1_772_460_000}])),
    "milliseconds": ("time", lambda m: m.ingest([{"text": "hi", "timestamp": 1_772_460_000_000}])),
    "a validity in seconds": ("valid_from", lambda m: m.remember("y", valid_from=1_772_460_000)),
    "a filter in seconds": ("since", lambda m: m.recall("x", since=1_772_460_000)),
    "a turn without text": (
        "text",
        lambda m: m.ingest([Turn("t", "s", "a", "person", 5, None, "")]),
    ),  # type: ignore[arg-type]
    "a turn with no time": (
        "time_ns",
        lambda m: m.ingest([Turn("t", "s", "a", "person", "x", "now", "")]),
    ),  # type: ignore[arg-type]
    "a turn of no role": ("role", lambda m: m.ingest([Turn("t", "s", "a", "king", "x", None, "")])),  # type: ignore[arg-type]
    "a source that is a number": ("source", lambda m: m.ingest(5)),  # type: ignore[arg-type]
    "metadata that is a number": ("metadata", lambda m: m.link(X, X, kind="SEES", metadata=5)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_what_was_not_meant_is_refused(tmp_path: Path, name: str) -> None:
    field, call = WRONG[name]
    with opened(tmp_path / "m.db") as memory:
        memory.remember("x is y", name="x")
        before = memory.stats()["changes"]
        with pytest.raises(doxa.InputError) as caught:
            call(memory)
        assert caught.value.fields["field"] == field
        assert memory.stats()["changes"] == before
        assert memory.get(X).status == "current"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("project", "a/b"),
        ("background", "x"),
        ("read_only", 1),
        ("actor", None),
        ("path", 5),
        ("path", "a\0b"),
    ],
)
def test_what_opening_cannot_mean_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(doxa.InputError) as caught:
        opened(**{"path": tmp_path / "m.db", field: value})
    assert caught.value.fields["field"] == field
    assert list(tmp_path.iterdir()) == []


def test_nanoseconds_and_the_beginning_of_time_are_times(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        times = {"now": 1_772_460_000_000_000_000, "then": 0, "\ud800": "1970-01-02"}
        made = memory.ingest(
            [{"text": text, "time": time, "speaker": "Ana"} for text, time in times.items()]
        )
        assert made.added == 3
        assert {hit.text for hit in memory.recent(kinds=("exchange",))} == {"now", "then", "?"}
