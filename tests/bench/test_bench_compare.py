"""A run that got slower, or finds something else, is reported; counts of statements do not grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import counts
from bench.__main__ import main
from bench.compare import WORSE_MAX, compare, figures_of, newest
from bench.counts import CALLS_WORSE_MAX, Count
from bench.results import FOLDER

RECORDED = {
    "speed.revise.per_s": 1_000.0,
    "speed.revise.sqlite_row_per_s": 4_000.0,
    "speed.scale.500.recall.words_only.p50_ms": 2.0,
    "speed.scale.500.plain_fts5.p50_ms": 0.5,
    "speed.graph.two_hops.p50_ms": 0.2,
    "speed.graph.plain_sqlite_two_hops.p50_ms": 0.1,
    "speed.graph.nodes": 100,
    "speed.graph.edges": 500,
    "locomo.doxa.recall_at_10": 0.85,
}


def failed(**changed: float) -> list[str]:
    keys = {"revise": 0, "row": 1, "words": 2, "fts": 3, "hops": 4, "nodes": 6, "found": 8}
    names = list(RECORDED)
    now = RECORDED | {names[keys[key]]: value for key, value in changed.items()}
    return [row.figure for row in compare(RECORDED, now).failed]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"revise": 500.0, "row": 2_000.0}, []),  # half the machine, the same ratio
        ({"revise": 1_000 / (1.01 + WORSE_MAX)}, ["speed.revise.per_s"]),
        ({"revise": 1_000 / (0.99 + WORSE_MAX)}, []),
        ({"revise": 9_000.0}, []),
        ({"words": 2 * (1.01 + WORSE_MAX)}, ["speed.scale.500.recall.words_only.p50_ms"]),
        ({"words": 2 * (0.99 + WORSE_MAX)}, []),
        ({"fts": 0.4}, ["speed.scale.500.recall.words_only.p50_ms"]),
        ({"words": 0.1}, []),
        ({"hops": 0.3}, ["speed.graph.two_hops.p50_ms"]),
        ({"hops": 0.3, "nodes": 99}, []),  # another graph: no comparison
        ({"found": 0.850001}, ["locomo.doxa.recall_at_10"]),
    ],
)
def test_what_fails(changed: dict[str, float], expected: list[str]) -> None:
    assert failed(**changed) == expected


def test_what_only_one_run_has_is_passed_over() -> None:
    found = compare(RECORDED, {"speed.revise.per_s": 1.0, "locomo.doxa.new": 1.0})
    assert (found.ratios, found.quality) == ([], [])


def test_every_rule_meets_a_recorded_figure() -> None:
    """A renamed figure would leave its comparison out without a word."""
    path = newest(FOLDER)
    assert path is not None
    figures = figures_of(path)
    found = compare(figures, figures)
    assert not found.failed and not found.left_out
    kinds = {row.figure.split(".")[0] for row in found.ratios}
    assert kinds == {"speed", "graph", "clients", "libraries", "persistence"}
    held = {row.figure.split(".")[0] for row in found.quality}
    assert held >= {"locomo", "beam", "agm", "graph", "clients"}
    assert len(found.ratios) > 60 and len(found.quality) > 400


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(name: str, value: dict[str, Any]) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(value))
        return str(path)

    recorded = run("2026-01-01.json", {"figures": RECORDED})
    same = {
        "command": "speed",
        "figures": {key[6:]: value for key, value in RECORDED.items() if key.startswith("speed.")},
    }
    assert main(["compare", run("same.json", same), "--against", recorded]) == 0
    assert "Held." in capsys.readouterr().out
    same["figures"]["revise.per_s"] = 500.0  # type: ignore[index]
    assert main(["compare", run("slow.json", same), "--results", str(tmp_path)]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert main(["compare", "--results", str(tmp_path / "none")]) == 2


def test_counts_do_not_grow() -> None:
    """`python -m bench compare --short --record` keeps new ones; say why they changed."""
    text, held = counts.compare(counts.measure())
    assert held, f"\n{text}"


def test_a_growth_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    counts.record({"revise": Count(40, 1_000)}, path)
    limit = int(1_000 * (1 + CALLS_WORSE_MAX))
    for count, held in (
        (Count(40, 1_000), True),
        (Count(39, limit), True),
        (Count(41, 1_000), False),
        (Count(40, limit + 1), False),
    ):
        assert counts.compare({"revise": count}, path)[1] is held
    assert not counts.compare({"other": Count(99, 99)}, path)[1]  # nothing to hold it against


def test_statements_are_counted() -> None:
    """The meter sees what it says: a read costs some, a write more, a query of its own few."""
    found = counts.measure()
    assert 0 < found["get"].statements < found["remember"].statements < found["tell"].statements
    assert min(one.calls for one in found.values()) > 50
