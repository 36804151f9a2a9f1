"""The bench of updates: its cases are read and split as written, what is retired is counted as it
should be, and the rates are held."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import updates
from bench.__main__ import main
from bench.updates import (
    MISSED_MAX,
    WRONG_MAX,
    Count,
    Played,
    fitted,
    fitted_questions,
    play,
    run,
)
from bench.updates_cases import HALVES, PLAIN_LANGUAGE, Line, UpdateCase, load
from doxa.ingestion.match import BIAS, WEIGHTS
from doxa.ingestion.questions import ASKED_BIAS, ASKED_WEIGHTS
from doxa.language.agreement import FEATURES


def test_the_cases_are_many_and_split_in_halves() -> None:
    cases = load()
    assert len(cases) >= 150
    assert len({(case.category, case.name) for case in cases}) == len(cases)
    for half in HALVES:
        assert sum(case.half == half for case in cases) >= 100
        assert sum(len(case.retired) for case in cases if case.half == half) >= 50


def test_a_case_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    first = (
        "numbers: one\n[Ana] Settings.\n+ port | is | 80\n> [Bo] The port is 90.\n----\n+ port | is"
        " | 80"
    )
    path.write_text(f"# note\n\n{first}\n\nunrelated: two\nA.\n> B.\n----\nnothing\n")
    one, two = load(path)
    assert (one.category, one.name, one.retired) == (
        "numbers",
        "one",
        frozenset(("+ port | is | 80",)),
    )
    assert (one.held, one.said) == (
        (Line("Settings.", "Ana", (("port", "is", "80"),)),),
        (Line("The port is 90.", "Bo"),),
    )
    assert two.retired == frozenset()
    path.write_text("numbers: one\nA.\n> B.\n----\nC.\n")
    with pytest.raises(AssertionError):
        load(path)


def test_what_is_retired_is_counted() -> None:
    case = UpdateCase(
        "c", "n", (Line("A."), Line("B."), Line("C.")), (Line("D."),), frozenset(("A.", "B."))
    )
    count = Count()
    count.take(Played(case, retired={"A.", "C."}, doubted={"B.", "D."}))
    assert (
        count.due,
        count.right,
        count.wrong,
        count.silent,
        count.doubted,
        count.doubted_due,
        count.stays,
    ) == (2, 1, 1, 0, 2, 1, 2)
    assert (count.wrong_rate, count.missed_rate) == (0.5, 0.5)


def test_a_case_is_played_as_an_agent_would() -> None:
    said = tuple(Line(f"The port is {number}.") for number in (9090, 9090, 7070))
    case = UpdateCase("c", "n", (Line("The port is 8080."),), said, frozenset())
    (played,) = play([case])
    assert played.verdicts == ["revise", "same", "revise"]
    assert played.retired == {"The port is 8080.", "The port is 9090."}


def test_the_rates_are_held(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report, passed = run(seed=7, quick=True)
    assert passed
    for half in ("fitted", "held_out"):
        assert report.figures[f"{half}.wrong"] <= WRONG_MAX
        assert report.figures[f"{half}.missed"] <= MISSED_MAX
    assert report.figures["scale.2000.wrong"] == 0
    monkeypatch.setattr(updates, "run", lambda **_: (report, False))
    assert main(["updates", "--quick", "--json", str(tmp_path / "out.json")]) == 1
    assert "Reliability, held out" in capsys.readouterr().out
    assert (tmp_path / "out.json").exists()


def test_the_weights_are_what_the_fitted_half_asks_for() -> None:
    bias, weights, pairs = fitted()
    assert (bias, weights) == (BIAS, WEIGHTS)
    assert set(pairs) <= set(FEATURES)


def test_the_weights_of_questions_are_what_the_fitted_cases_ask_for() -> None:
    assert fitted_questions() == (ASKED_BIAS, ASKED_WEIGHTS)


def test_questions_are_asked_where_there_is_something_to_ask() -> None:
    played = play(load(PLAIN_LANGUAGE["fitted, everyday"]))
    due = [one for one in played if one.case.retired]
    silent = [one for one in due if not one.case.retired & (one.retired | one.doubted)]
    other = [one for one in played if not one.case.retired]
    assert len(silent) <= 0.15 * len(due)
    assert sum(bool(one.doubted) for one in other) <= 0.15 * len(other)
    assert not [one for one in played if one.retired - one.case.retired]
