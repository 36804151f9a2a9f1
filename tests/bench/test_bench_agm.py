"""The bench of belief revision: its parts run, say what they claim, and can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import agm
from bench.__main__ import main
from bench.agm_postulates import Findings
from bench.agm_scenarios import find, scenarios

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "agm"
CASE = {
    "id": "one",
    "postulate": "K*2",
    "category": "simple",
    "beliefs": [{"key": "color", "value": "blue"}],
    "operations": [{"type": "revise", "key": "color", "new_value": "red"}],
    "assertions": [
        {"type": "published_value", "key": "color", "expected": "red"},
        {"type": "revision_count", "key": "color", "expected": 2},
    ],
}


def test_scenarios_are_asserted_by_every_door_and_can_fail(tmp_path: Path) -> None:
    (tmp_path / "agm_scenarios_49.json").write_text(json.dumps([CASE]))
    path = find(tmp_path)
    assert path is not None and find(tmp_path / "nowhere") is None
    found = scenarios(path)
    assert found.passed and found.figures["scenarios.answers"] == 5
    path.write_text(
        json.dumps(
            [
                CASE
                | {"assertions": [{"type": "published_value", "key": "color", "expected": "blue"}]}
            ]
        )
    )
    assert len(scenarios(path).wrong) == 3
    assert "not run" in scenarios(None).summary


@pytest.mark.skipif(find(SHARED) is None, reason="the scenarios are not beside the project")
def test_all_scenarios() -> None:
    found = scenarios(find(SHARED))
    assert found.wrong == [] and found.figures["scenarios.all"] == 49


def test_the_report_and_its_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bench.agm.refinement", lambda sequences, seed: agm.Part(summary=f"{sequences}")
    )
    assert (
        main(
            [
                "agm",
                "--quick",
                "--parts",
                "postulates,refinement",
                "--json",
                str(tmp_path / "a.json"),
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    for part in (
        "K*8 subexpansion",
        "holds (",
        "fails (",
        "{a}, most entrenched first, by a∨b",
        "revisions [{a, b}], contracted by a",
    ):
        assert part in printed
    monkeypatch.setattr(
        "bench.agm.enumerate_all",
        lambda quick: (Findings(), {"atom-level": 0, "linear, compound": 0, "whole-revision": 0}),
    )
    assert main(["agm", "--quick", "--parts", "postulates"]) == 1
    assert "it was not checked" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["agm", "--parts", "nothing"])
