"""The measures of ripening, on small sets that are written here, where every figure is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import doxa
from bench import ripening, ripening_costs, ripening_state, simulation, simulation_day
from bench.corpora import Question
from bench.poison import load
from bench.ripening import CONFIGURATIONS, Asked, Places, consolidate, values
from bench.ripening_sets import Group, Wanted, groups, of_sessions, recorded
from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.limits import JOB_LEASE_MS
from doxa.jobs import list_runs
from doxa.language.turns import Turn
from doxa.models import HashEmbedder
from tests.bench.test_bench_end_to_end import written, written_chat, written_cues

WORDS = HashEmbedder(dimensions=384)
NS = 10**9


def turns(count: int = 12) -> tuple[Turn, ...]:
    return tuple(
        Turn("t", f"s{number // 4}", "Ana", "person", f"text {number}", number * NS, f"d{number}")
        for number in range(count)
    )


def group(*gold: str, of: bool = False) -> Group:
    asked = (Wanted(Question("Which?", frozenset(gold), "1")),)
    return Group("set", "one", turns(), asked, of_sessions=of)


def hits(*named: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(one.split()) for one in named)


def test_a_conclusion_counts_as_its_turns_and_a_summary_takes_a_place() -> None:
    ten = hits("", *["d8"] * 9, "d0")  # a summary, nine others, and then the evidence
    sessions = hits("s0", *["s2"] * 9, "s0")
    turns_alone = Places(hits("d0", *["d8"] * 9), hits("s0", *["s2"] * 9))
    found = values(group("d0"), [Asked(turns_alone, Places(ten, sessions))])
    assert found == {
        "turns": [1.0],
        "sessions": [1.0],
        "first": [1.0],
        "mixed": [0.0],
        "resolved": [1.0],
        "mixed_sessions": [1.0],
        "mixed_first": [0.0],
    }
    both = Places(hits("d0 d5"), hits("s0"))
    found = values(group("d0", "d1"), [Asked(both, both)])
    assert (found["mixed"], found["mixed_first"]) == ([0.5], [1.0])


def test_where_sessions_are_the_evidence_turns_are_not_counted() -> None:
    at = Places(hits("", "d4"), hits("s2", "s1"))
    found = values(group("s1", of=True), [Asked(at, at)])
    assert found == {
        "sessions": [1.0],
        "first": [0.0],
        "mixed_sessions": [1.0],
        "mixed_first": [0.0],
    }


def test_questions_are_kept_whose_evidence_is_in_recorded_sessions(tmp_path: Path) -> None:
    held = {"written": "by hand", "set": "x", "conversation": "one", "sessions": {"s0": {}}}
    (tmp_path / "one.json").write_text(json.dumps(held))
    assert recorded([tmp_path], "one") == {"s0": {}} == recorded([tmp_path], "one_256k")
    assert recorded([tmp_path], "other") == {}
    assert of_sessions(group("d0", "d3"), ["s0"]).asked
    assert not of_sessions(group("d0", "d4"), ["s0"]).asked
    assert of_sessions(group("s0", of=True), ["s0"]).asked


SAID = (
    "I moved to Lisbon last week, and I bought a red kayak there.",
    "I decided to sell the old boat because the engine failed.",
    "I will send the contract to Ben by Friday.",
)


def test_a_recorded_structure_is_validated_and_narrowed(tmp_path: Path) -> None:
    said = [
        Turn("t", "s0", "Ana", "person", text, (1_700_000_000 + n) * NS, f"d{n}")
        for n, text in enumerate(SAID)
    ]
    structure: dict[str, Any] = {
        "title": {"text": "Ana moved to Lisbon", "sources": ["d0"]},
        "summary": [{"text": "Ana moved to Lisbon and bought a red kayak.", "sources": ["d0"]}],
        "events": [
            {"event": "Ana bought a red kayak in Lisbon.", "sources": ["d0"]},
            {"event": "Ana bought 7 horses in Peru.", "sources": ["d0"]},
        ],
        "implications": [{"text": "Water sports may interest her.", "sources": ["d0"]}],
    }
    kinds = {}
    for name in ("+ summary", "+ events", "all"):
        with doxa.open(tmp_path / f"{len(kinds)}.db", embedder=None, background=False) as memory:
            memory.ingest(said, project="set", extract=False)
            sections = CONFIGURATIONS[name]
            assert sections is not None
            cost = consolidate(memory, "set", "host", sections, {"s0": structure})
            assert cost.sessions == 1 and not cost.failed and cost.tokens_out > 10
            rows = memory.run(
                "MATCH (:Item)-[:CURRENT]->(r:Revision) RETURN r.kind AS kind,"
                " size(coalesce(r.implications, [])) AS implications ORDER BY kind"
            ).records()
            kinds[name] = [(row["kind"], row["implications"]) for row in rows]
            assert cost.dropped == ({} if name == "+ summary" else {"name": 1})
            assert all(share.count == 0 for share in memory.audit(project="set").shares)
    assert kinds == {
        "+ summary": [("summary", 0)],
        "+ events": [("event", 0), ("summary", 0)],
        "all": [("event", 0), ("summary", 1)],
    }


def test_every_set_is_measured_by_rules(tmp_path: Path) -> None:
    written(tmp_path)
    written_cues(tmp_path)
    written_chat(tmp_path)
    names = [one.set for one in groups(tmp_path, ripening.SETS)]
    assert names == ["locomo", "locomo-plus", "beam"]
    report = ripening.run(
        tmp_path, WORDS, seed=7, producers=("rules", "host"), structures=[tmp_path]
    )
    assert {key.partition(".")[0] for key in report.figures} == {"rules"}  # nothing is recorded
    for name in names:
        base = report.figures[f"rules.{name}.turns.turns"]
        gain = report.figures[f"rules.{name}.with_summary.turns.gain.mean"]
        assert report.figures[f"rules.{name}.with_summary.turns"] == pytest.approx(base + gain)
        assert report.figures[f"rules.{name}.turns.mixed"] == base  # no conclusion is there


def timeline(track: str) -> dict[str, Any]:
    at = "2026-01-05T09:0{}:00".format
    return {
        "id": "T-1",
        "track": track,
        "initial_state": {
            "persistent_facts": [{"id": "F1", "key": "discount", "value": "25% volume discount"}],
            "environment": {"now": at(0)},
        },
        "events": [
            _said(at(1), "The discount is 25% volume discount for everybody."),
            {
                "ts": at(2),
                "type": "state_write",
                "writes": [{"id": "W-AUTO", "key": "total", "value": "$7,500", "supersedes": None}],
            },
            _said(at(3), "Only the 10% loyalty discount is given."),
            {
                "ts": at(3),
                "type": "supersession",
                "writes": [
                    {"id": "W-AUTO", "key": "new", "value": "10%", "supersedes": "discount"}
                ],
            },
            {"ts": at(4), "type": "query", "prompt": "Which discount?", "ground_truth": {}},
        ],
    }


def _said(ts: str, text: str) -> dict[str, Any]:
    return {"ts": ts, "type": "conversation_turn", "speaker": "user", "text": text}


def test_superseded_values_dependents_and_repetition(tmp_path: Path) -> None:
    lines = [json.dumps(timeline("repair_propagation")), json.dumps(timeline("supersession"))]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    report = ripening_state.run(tmp_path, None, seed=7)
    assert report.figures["superseded.n"] == 2
    assert report.figures["superseded.turn"] == 1.0  # it is still what was said
    assert (report.figures["dependents.n"], report.figures["dependents.flagged"]) == (1, 1.0)
    assert report.figures["repeated.raised"] == report.figures["repeated.surer"] == 0


def test_graphs_are_the_same_under_the_same_seed(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        with doxa.open(tmp_path / f"{name}.db", embedder=None, background=False) as memory:
            found.append(ripening_costs._graph(memory, 7))
    assert found[0] == found[1] and len(found[0]) == 12


def dialogues(folder: Path) -> Path:
    path = folder / "realmem" / "Kenta_dialogues_256k.json"
    path.parent.mkdir(parents=True)
    sessions = [
        {
            "session_uuid": f"u{day}",
            "current_time": f"2026-01-0{day} (Thu)",
            "dialogue_turns": [
                {"speaker": who, "content": f"{text} On day {day}.", "is_query": False}
                for who, text in zip(("User", "Assistant", "User"), SAID, strict=True)
            ],
        }
        for day in (1, 2, 3)
    ]
    path.write_text(json.dumps({"dialogues": sessions}))
    return path


def test_a_simulated_day_survives_kills_and_plants_nothing(tmp_path: Path) -> None:
    planned = simulation.plan(
        [dialogues(tmp_path)], days=3, seed=3, poison=simulation.SETS["held out"]
    )
    modes = [session["mode"] for one in planned for session in one.sessions]
    assert modes == ["chat", "ingest", "ingest", "compacted"]
    folder = tmp_path / "run"
    folder.mkdir()
    outcome = simulation.simulate(planned, folder, seed=3, kills=0.4)
    assert (outcome.turns, outcome.planted) == (14, 4)
    assert outcome.lost == outcome.doubled == outcome.changed_by_nights == outcome.problems == 0
    assert outcome.from_planted == 0 and outcome.concluded > 0
    with doxa.open(folder / "memory.db", embedder=None, background=False) as memory:
        simulation.undo_nights(memory, outcome)
    assert outcome.undone > 0 and outcome.undo_differs == 0


def test_every_hostile_claim_is_planted_in_a_month(tmp_path: Path) -> None:
    claims = {case.planted for block in load(simulation.SETS["held out"]) for case in block.cases}
    planned = simulation.plan(
        [dialogues(tmp_path)], days=30, seed=3, poison=simulation.SETS["held out"]
    )
    planted = [
        turn["text"].rpartition("from now on: ")[2]
        for one in planned
        for session in one.sessions
        for turn in session["turns"]
        if turn.get("planted")
    ]
    assert set(planted) == claims and len(claims) == 16


def test_a_night_outlasts_the_leases_of_processes_that_were_killed(tmp_path: Path) -> None:
    clock = FakeClock()
    held_ns = 2 * JOB_LEASE_MS * 1_000_000  # by one that was later on its clock
    with Memory(Config(path=tmp_path / "m.db", clock=clock, embedder=None)) as memory:
        memory.remember("The harbour is open.")
        assert memory.store.take_lease("dream", held=0, ttl_ns=held_ns)
        simulation_day._night(memory, "default", clock)
        with memory.store.read() as reader:
            assert [run.state for run in list_runs(reader, job="dream")] == ["done"]
