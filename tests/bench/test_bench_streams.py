"""The three sets that are played as they were said: what is read, what counts as evidence, and that
nothing of the future is found. The files are ours, in the sets' published form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import realmem, statebench, statebench_brief, vehicle
from bench.__main__ import main

SEED = 7


def _timeline(**changes: object) -> dict[str, object]:
    source = {"type": "user", "identity": None, "authority": "peer"}
    write = {"layer": "persistent_facts", "source": source, "scope": "global", "depends_on": []}
    said = {"type": "conversation_turn", "speaker": "user"}
    return {
        "id": "T-1",
        "track": "supersession",
        "initial_state": {
            "persistent_facts": [
                {"id": "F-1", "key": "meeting_place", "value": "Hall Ash", "supersedes": None}
            ],
            "environment": {"now": "2026-03-02T08:00:00"},
        },
        "events": [
            {**said, "ts": "2026-03-02T09:00:00", "text": "The meeting is in Hall Ash."},
            {**said, "ts": "2026-03-02T10:00:00", "text": "Actually the meeting is in Hall Birch."},
            {
                "type": "supersession",
                "ts": "2026-03-02T10:01:00",
                "writes": [
                    {
                        **write,
                        "id": "F-2",
                        "key": "meeting_place_v2",
                        "value": "Hall Birch",
                        "supersedes": "F-1",
                    }
                ],
            },
            {
                "type": "query",
                "ts": "2026-03-02T11:00:00",
                "prompt": "Which hall is the meeting in?",
                "ground_truth": {"must_mention": ["Hall BIRCH"], "must_not_mention": ["Ash"]},
            },
            {**said, "ts": "2026-03-02T12:00:00", "text": "The meeting is in Hall Cedar."},
        ],
        **changes,
    }


def test_statebench_counts_what_comes_back_and_what_should_not(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps(_timeline()) + "\n")
    figures = statebench.run(tmp_path, None, seed=SEED).figures
    # the write of the new place is the next revision of the old one, which stays away
    assert figures["writes.recall.must"] == 1
    assert figures["writes.recall.must_not"] == figures["writes.recall.superseded"] == 0
    # plain search ranks both texts
    assert figures["baseline.writes.bm25.must_not"] == 1
    assert figures["baseline.writes.bm25.superseded"] == 1
    # talk alone: both turns are there, what is said after the query is not
    assert figures["talk.recall.must"] == 1
    assert figures["talk.n"] == 1


def test_statebench_unmarked_talk_lacks_the_words_of_correction() -> None:
    strip = statebench._MARKERS.sub
    assert strip(" ", "Actually, the hall is Birch.").strip() == "the hall is Birch."
    assert strip(" ", "No wait, make it Tuesday instead.").strip() == "make it Tuesday ."
    assert strip(" ", "The actual hall is Birch.") == "The actual hall is Birch."


def _session(name: str, day: str, *turns: dict[str, object]) -> dict[str, object]:
    return {"session_uuid": name, "current_time": f"{day} (Monday)", "dialogue_turns": list(turns)}


def _user(text: str, *, kind: str = "") -> dict[str, object]:
    return {"speaker": "User", "is_query": bool(kind), "content": text, "category_name": kind}


def _reply(text: str, *gold: str) -> dict[str, object]:
    used = list(gold)
    return {
        "speaker": "Assistant",
        "is_query": False,
        "content": text,
        "memory_session_uuids": used,
    }


SESSIONS = [
    _session("a", "2026-03-02", _user("I want to learn about cheese."), _reply("Start with brie.")),
    _session("b", "2026-03-02", _user("My back hurts."), _reply("Try to stretch.")),
    _session(
        "c",
        "2026-03-03",
        _user("Which cheese comes next?", kind="Static"),
        _reply("Gouda.", "a", "c", "d"),
        _user("And what about nothing before?", kind="Static"),
        _reply("Nothing."),
    ),
    _session("d", "2026-03-04", _user("Cheese, cheese, which cheese comes next?"), _reply("Feta.")),
]


def test_realmem_asks_as_of_the_moment_for_earlier_sessions(tmp_path: Path) -> None:
    turns, asked = realmem.read_dialogues(SESSIONS)
    times = [turn.time_ns or 0 for turn in turns]
    assert times == sorted(set(times))
    [(question, time_ns, own)] = asked  # a request without earlier evidence is not asked
    assert (question.gold, own) == (frozenset("a"), "c")
    assert time_ns == next(turn.time_ns for turn in turns if turn.source_id == "c:0")
    (tmp_path / "X_dialogues_1k.json").write_text(json.dumps({"dialogues": SESSIONS}))
    [item] = realmem._ask(tmp_path / "X_dialogues_1k.json", None, seed=SEED)
    for name, ranking in item.rankings.items():
        # neither the session of the request nor a later one, however much it shares
        assert set(ranking) <= {"a", "b"}, name
    assert item.rankings["doxa"][0] == "a"
    assert realmem.run(tmp_path, None, seed=SEED).figures["session.recall_at_5"] == 1


HISTORY = """\
[2026-03-02 08:00] Ana Ruiz: Let us set the panel to green.
[2026-03-02 08:00] Bo Lind: The road is wet today.
no line of talk
[2026-03-09 09:01] Bo Lind: Green is too dark: I set the panel to white.
[2026-03-09 18:00] Bo Lind: I like a green and white panel in the evening.
"""
GOLD = (
    "[March 9, 2026] At 9:00 AM, Bo set the panel color to white.\n"
    "[March 2, 2026] At 8:00 AM, Ana set the panel to green.\n"
    "[March 3, 2026] At 8:00 AM, Ana set the panel to blue."
)


def test_vehicle_gold_is_the_line_that_was_said_then(tmp_path: Path) -> None:
    turns = vehicle.read_history(HISTORY, thread="car")
    assert [turn.speaker for turn in turns] == ["Ana Ruiz", "Bo Lind", "Bo Lind", "Bo Lind"]
    assert vehicle.gold_lines(GOLD, turns) == ["car:0", "car:3"]  # of the third nothing was said
    item = {"gold_memory": GOLD, "query": "Set the panel.", "reasoning_type": "state_shift"}
    lost = {**item, "gold_memory": "[May 1, 2026] At 1:00 PM, Bo sang."}
    (tmp_path / "history_1.txt").write_text(HISTORY)
    (tmp_path / "qa_1.json").write_text(json.dumps({"related_to_vehicle_preference": [item, lost]}))
    report = tmp_path / "report.json"
    assert main(["vehicle", "--data", str(tmp_path), "--words-only", "--json", str(report)]) == 0
    figures = json.loads(report.read_text())["figures"]
    assert (figures["n"], figures["latest.n"]) == (1, 1)
    assert figures["gold_at_10"] == 1 and 0 <= figures["latest_first"] <= 1


def test_statebench_brief_tells_what_holds_from_what_does_not(tmp_path: Path) -> None:
    timeline: Any = _timeline(track="commitment_durability")
    timeline["events"][3]["ground_truth"]["must_mention"].append("escalate")
    (tmp_path / "train.jsonl").write_text(json.dumps(timeline) + "\n")
    figures = statebench_brief.run(tmp_path, None, seed=SEED).figures
    for surface in ("writes.brief", "writes.context", "talk.handoff", "both.brief"):
        assert figures[f"commitments.{surface}.holds"] == 1.0, surface
    assert figures["commitments.writes.brief.stated"] == 0.5  # "escalate" is nowhere
    assert figures["commitments.writes.brief.absent"] == 1.0
    assert figures["commitments.writes.brief.state"] == 1.0
    assert figures["commitments.writes.brief.replaced"] == 1.0
    assert figures["commitments.talk.handoff.absent"] == 0.0  # it quotes what was said first
    assert "commitments.writes.handoff.holds" not in figures
