"""The persistence bench at a tiny size: it runs, what it counts is right, and it notices what is
wrong. Nothing is timed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench import pages, persistence
from bench.__main__ import main
from bench.persistence_evidence import evidence
from bench.persistence_facts import Ledger, _ask_current, _ask_valid, supersession
from bench.persistence_load import build, elements, reopened
from bench.persistence_parts import START_NS, Part, Scale, Tally, ask, fresh
from bench.persistence_replay import replay
from bench.persistence_schema import schema
from bench.persistence_sight import sight
from bench.persistence_speed import _sweep, in_turn, overhead
from bench.persistence_windows import Window, no_overlap
from doxa.base.clock import FakeClock

TINY = Scale(
    keys=(6,),
    versions=(1, 3),
    beliefs=2,
    windows=40,
    operations=(40,),
    elements=(400,),
    exchanges=400,
    repetitions=4,
    baselines=(1, 4, 9),
)


@pytest.mark.parametrize(
    "part", [supersession, no_overlap, replay, evidence, schema], ids=lambda part: part.__name__
)
def test_a_part_passes(part: persistence.Measure) -> None:
    found = part(TINY, 7)
    assert found.wrong == []
    assert found.figures["right"] == found.figures["answers"] > 20
    assert all(len(row) == len(head) for _, head, rows in found.tables for row in rows)


def test_what_is_hidden_or_erased_is_in_no_answer() -> None:
    found = sight(TINY, 7)
    assert found.wrong == []


def test_overheads_are_told_beside_right_answers() -> None:
    found = overhead(TINY, 7)
    assert found.figures["right"] == found.figures["answers"] > 0
    assert {
        f"400.{name}.policy.p50_ratio"
        for name in ("lookup", "two_hops", "fulltext", "vector", "recall")
    } <= set(found.figures)
    assert all(len(row) == len(head) for _, head, rows in found.tables for row in rows)


def test_reads_are_right_while_policies_are_swept(tmp_path: Path) -> None:
    held, part, tally = (
        elements(22_000, 7),
        Part(),
        Tally(),
    )  # more of each kind than are swept at once
    with (
        build(tmp_path / "a.db", held, half_life_s=None) as plain,
        reopened(plain.backup(tmp_path / "b.db")) as memory,
    ):
        _sweep(part, tally, memory, held)
    assert tally.wrong == []
    assert tally.asked["reads during the sweep"] > 1


def test_the_elements_are_what_the_truth_says() -> None:
    held = elements(1_000, 7)
    assert held.nodes == 500 and held.hubs == 50
    assert int((~held.node_seen()).sum()) == 50
    pairs = set(zip(held.src.tolist(), held.dst.tolist(), strict=True))
    assert len(pairs) == 500 and all(src != dst for src, dst in pairs)


def test_a_wrong_ledger_is_noticed() -> None:
    with fresh(clock=(clock := FakeClock(START_NS))) as memory:
        ledger = Ledger(memory, clock, keys=4, versions=3)
        ledger.write()
        right, wrong = Tally(), Tally()
        _ask_current(ledger, right)
        memory.run(
            "MATCH (k:FactKey {id:"
            " 'method:1:quality'})-[:CURRENT]->(:FactVersion)-[:SUPERSEDES]->(old) CREATE"
            " (k)-[:CURRENT]->(old)"
        )
        memory.run(
            "MATCH (v:FactVersion {key: 'method:2:quality', number: 2}) SET v.validUntil ="
            " v.validFrom + duration('P1D')"
        )
        _ask_current(ledger, wrong)
        _ask_valid(ledger, wrong)
    assert right.wrong == [] and right.rate == 1
    assert any("CURRENT: method:1:quality: more than once" in one for one in wrong.wrong)
    assert any(
        "VALID TIME" in one and "method:2:quality: None instead of 2" in one for one in wrong.wrong
    )
    assert wrong.cell("CURRENT") == "**7 of 8**"


def test_a_tally_counts_each_key_once() -> None:
    tally = Tally()
    tally.see_each("a", [("x", 1), ("x", 1), ("y", 2)], {"x": 1, "y": 2, "z": None})
    assert tally.cell("a") == "**2 of 3**"
    tally.see_each("b", [], {"x": None})
    assert tally.cell("b") == "1" and tally.cell("c") == "–"


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ((1, 3), (3, 5), False),
        ((1, 4), (3, 5), True),
        ((1, None), (5, 6), True),
        ((5, None), (1, 5), False),
        ((2, 3), (1, 9), True),
    ],
)
def test_the_definition_of_overlap_is_symmetric(
    one: tuple[int, int | None], other: tuple[int, int | None], overlap: bool
) -> None:
    left, right = Window("k", *one), Window("k", *other)
    assert left.overlaps(right) is right.overlaps(left) is overlap
    assert not left.overlaps(right._replace(key="other"))


def test_systems_are_asked_in_turn_and_settled_outside_of_the_clock() -> None:
    asked: list[str] = []
    asks = {
        name: lambda question, name=name: asked.append(name) or [(question,)]
        for name in ("one", "two")
    }
    spreads, rows, samples = in_turn(asks, range(30), settle=[lambda: asked.append("settle")])  # type: ignore[arg-type]  # what a lambda infers
    assert asked[-1] == "settle" and all(
        set(asked[n : n + 2]) == {"one", "two"} for n in range(0, 60, 2)
    )
    assert set(spreads) == {"one", "two"} and rows == {"one": 1.0, "two": 1.0}
    assert samples[0] == {"one": [(0,)], "two": [(0,)]}


def test_the_status_says_whether_all_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {
        name: (title, lambda scale, seed: Part(summary="fine"))
        for name, (title, _) in persistence.PARTS.items()
    }
    monkeypatch.setattr(persistence, "PARTS", parts)
    given = [
        "persistence",
        "--quick",
        "--results",
        str(tmp_path / "results"),
        "--json",
        str(tmp_path / "out.json"),
    ]
    assert main([*given, "--record"]) == 0
    parts["sight"] = (parts["sight"][0], lambda scale, seed: Part(summary="bad", wrong=["a | b"]))
    assert main([*given, "--parts", "no_overlap,sight"]) == 1
    assert "| 4. suppression and reveal | a \\| b |" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["figures"]["sight.passed"] == 0.0
    pages.render(tmp_path / "results", tmp_path / "benchmarks.md")
    page = (tmp_path / "benchmarks" / "persistence.md").read_text()
    assert "**The seven parts**" in page
    for wrong in (["--parts", "nothing"], ["--parts", "sight", "--record"]):
        with pytest.raises(SystemExit):
            main([*given, *wrong])


def test_a_memory_of_the_bench_has_all_elements(tmp_path: Path) -> None:
    held = elements(400, 3)
    with build(tmp_path / "a.db", held, half_life_s=None) as memory:
        counts = ask(memory, "MATCH (n:Memory) RETURN count(n)") + ask(
            memory, "MATCH ()-[r:ABOUT]->() RETURN count(r)"
        )
        ranks = ask(memory, "MATCH (n:Memory) RETURN n.rank ORDER BY n.key")
    assert counts == [(200,), (200,)]
    assert np.array_equal([rank for (rank,) in ranks], held.rank)
