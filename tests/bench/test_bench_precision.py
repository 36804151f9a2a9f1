"""The bench of precision: its cases are read as written, and counted as they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import main
from bench.precision import Asked, ask_block
from bench.precision_cases import KINDS, Case, Line, load

TEXT = """# note
= one
- The port is 80.
> The port is 90.
[Ana] @ferry The mast is broken.
- @ferry The sail is red.
? superseded: Which port?
must: 90
must not: 80
? scope: @ferry What is broken?
must: mast
must not: *
? unanswerable: @* Who paints?
must not: *
"""


def test_the_cases_are_many_and_of_every_kind() -> None:
    cases = [case for block in load() for case in block.cases]
    assert len(cases) >= 150
    assert len({case.name for case in cases}) == len(cases)
    assert {case.kind for case in cases} == set(KINDS)
    assert min(sum(case.kind == kind for case in cases) for kind in KINDS) >= 7
    assert all(3 <= len(block.lines) <= 42 or block.name == "one belief" for block in load())


def test_a_case_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(TEXT)
    (block,) = load(path)
    assert block.lines == (
        Line("The port is 90.", former=("The port is 80.",)),
        Line("The mast is broken.", "ferry", "Ana"),
        Line("The sail is red.", "ferry"),
    )
    first, second, third = block.cases
    assert first == Case(
        "superseded",
        "one",
        "main",
        "Which port?",
        frozenset({0}),
        frozenset(),
        frozenset({"The port is 80."}),
    )
    assert (second.project, second.must, second.must_not) == ("ferry", {1}, {0, 2})
    assert (third.project, third.must, third.must_not) == ("", frozenset(), {0, 1, 2})
    for wrong in (TEXT.replace("must: 90", "must: 91"), TEXT.replace("scope:", "range:")):
        path.write_text(wrong)
        with pytest.raises(AssertionError):
            load(path)


def test_a_case_passes_if_all_that_must_is_there_and_nothing_that_must_not() -> None:
    case = Case("scope", "m", "", "q", frozenset(), frozenset(), frozenset())
    asked = Asked(
        case,
        frozenset(("a", "b")),
        frozenset(("c",)),
        {"both": ["b", "a"], "more": ["a", "b", "d"], "less": ["a"], "bad": ["a", "b", "c"]},
    )
    assert {name: asked.passes(name) for name in asked.found} == {
        "both": True,
        "more": True,
        "less": False,
        "bad": False,
    }
    assert [name for name in asked.found if asked.exact(name)] == ["both"]


def test_a_memory_is_asked_in_its_projects_and_keeps_what_it_replaced_away(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(TEXT)
    first, second, third = ask_block(load(path)[0], None)
    assert first.found["doxa"] == first.found["bm25_10"] == ["The port is 90."]
    assert (second.found["doxa"], second.found["bm25_10"]) == (["The mast is broken."],) * 2
    assert second.passes("doxa_words_strict") and first.exact("doxa_strict")
    assert third.found["doxa"] == [] and third.passes("doxa")


def test_the_bench_reports_every_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(TEXT)
    main(["precision", "--cases", str(path), "--words-only", "--quick"])
    shown = capsys.readouterr().out
    assert "Precision cases passed (n = 3)" in shown
    for system in ("doxa", "doxa_strict", "doxa_words", "doxa_words_strict", "bm25_1", "bm25_10"):
        assert f"| {system} | 100.0" in shown
