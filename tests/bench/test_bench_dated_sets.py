"""The sets that are asked at a moment: RealMem and StateBench under configurations of recall."""

from __future__ import annotations

import json
from pathlib import Path

from bench import ablation
from bench.sets import opened_sets


def _written(folder: Path) -> Path:
    query = {
        "type": "query",
        "ts": "2026-01-02T10:00:00",
        "prompt": "What is the budget limit?",
        "ground_truth": {"must_mention": ["$60"], "must_not_mention": ["$50"]},
    }
    write = {"id": "W1", "key": "budget_limit", "value": "$60", "supersedes": "F1"}
    timeline = {
        "id": "S1",
        "track": "supersession",
        "initial_state": {
            "environment": {"now": "2026-01-01T10:00:00"},
            "persistent_facts": [{"id": "F1", "key": "budget_limit", "value": "$50"}],
        },
        "events": [
            {
                "type": "conversation_turn",
                "ts": "2026-01-01T11:00:00",
                "speaker": "user",
                "text": "The budget limit is $60",
            },
            {"type": "supersession", "ts": "2026-01-01T11:00:00", "writes": [write]},
            query,
        ],
    }
    (folder / "statebench").mkdir()
    (folder / "statebench" / "train.jsonl").write_text(json.dumps(timeline) + "\n")
    said = {"is_query": False, "speaker": "User", "category_name": "x"}
    reply = {**said, "speaker": "Assistant", "content": "Fine.", "memory_session_uuids": ["s1"]}
    asked = {**said, "is_query": True, "content": "Which choir does Ana sing in?"}
    sessions = [
        {
            "session_uuid": name,
            "current_time": f"2026-01-0{day} (Thu)",
            "dialogue_turns": turns,
        }
        for day, name, turns in (
            (1, "s1", [{**said, "content": "Ana sings in the harbour choir on Tuesdays."}]),
            (2, "s2", [asked, reply]),
        )
    ]
    (folder / "realmem").mkdir()
    path = folder / "realmem" / "Ana_dialogues_256.json"
    path.write_text(json.dumps({"dialogues": sessions}))
    return folder


def test_a_query_sees_what_came_before_it(tmp_path: Path) -> None:
    with opened_sets(_written(tmp_path), None, names=("realmem", "statebench")) as sets:
        assert {"realmem", "statebench", "statebench_linked", "statebench_clean"} <= set(sets.asked)
        means = sets.ask().means()
        assert means["statebench"] == means["statebench_clean"] == means["realmem"] == 1.0
        (one,) = sets.asked["statebench_linked"]
        found = {hit.type: hit for hit in one.recall({}).hits}
        assert found["revision"].text == "budget limit: $60"  # and not what it superseded
        assert found.keys() == {"revision", "exchange"}


def test_lanes_and_fields_are_measured_one_by_one(tmp_path: Path) -> None:
    report = ablation.run(_written(tmp_path), None, seed=7, names=("statebench", "realmem"))
    assert report.figures["default.statebench.at_3"] == 1.0
    assert {"without_graph.statebench_linked.at_3", "with_mentions.realmem.at_10"} <= set(
        report.figures
    )
    assert "without_fields.statebench.gain.by_question.mean" in report.figures
    assert not any(key.startswith("mode_") for key in report.figures)
