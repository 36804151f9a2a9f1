"""RealMem: over months of sessions with one assistant, does a request find the sessions that it
builds on?

Requests are asked as they come (`until` the moment of the request), so nothing that was said later
can be found. The evidence is the sessions whose memories the published reply used; the session of
the request itself is left out of gold and of every ranking, since an agent has it before its eyes.
The unit is the session: a ranking of turns is read as the order in which sessions appear first.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.comparison import Answered, Measure, against_best, by_group, measure_all
from bench.corpora import SECOND_NS, Question
from bench.metrics import all_at, recall_at, to_sessions
from bench.report import Report, begin, percent
from bench.systems import opened
from doxa.language.turns import Turn
from doxa.models import Embedder

_KEYS = ("recall_at_5", "recall_at_10", "all_at_10")
_SESSION_SECONDS = 1_800  # sessions of one day follow each other at this distance
_LIMIT = 400


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("realmem", seed=seed, embedder=embedder)
    answered = [
        item
        for file in sorted(path.glob("*_dialogues_*.json"))
        for item in _ask(file, embedder, seed=seed)
    ]
    report.put("session.n", len(answered))
    measures: dict[str, Measure] = {
        "session.recall_at_5": partial(_recall, k=5),
        "session.recall_at_10": partial(_recall, k=10),
        "session.all_at_10": lambda item, system: all_at(
            item.rankings[system], item.question.gold, 10
        ),
    }
    found = measure_all(report, answered, measures)
    report.table(
        f"RealMem, sessions that a request builds on (n = {len(answered)})",
        ["system", "@5", "@10", "all@10"],
        [
            [system, *(percent(row[f"session.{key}"]) for key in _KEYS)]
            for system, row in found.items()
        ],
    )
    kinds = sorted({item.question.category for item in answered})
    groups = [
        (
            kind,
            f"session.type.{kind.lower().replace(' ', '_')}.recall_at_10",
            [item for item in answered if item.question.category == kind],
        )
        for kind in kinds
    ]
    report.table(
        "RealMem, session recall@10 by kind of request",
        *by_group(report, groups, partial(_recall, k=10)),
    )
    against_best(report, answered, "session.recall_at_10", partial(_recall, k=10))
    return report.end()


def _recall(item: Answered, system: str, *, k: int) -> float:
    return recall_at(item.rankings[system], item.question.gold, k)


def _ask(file: Path, embedder: Embedder | None, *, seed: int) -> list[Answered]:
    sessions = json.loads(file.read_text())["dialogues"]
    turns, asked = read_dialogues(sessions)
    session_of = {turn.source_id: turn.session for turn in turns}
    answered = []
    with opened(turns, embedder, seed=seed) as systems:
        for question, time_ns, own in asked:
            rankings = systems.rankings(question.text, limit=_LIMIT, until_ns=time_ns)
            answered.append(
                Answered(
                    question,
                    file.stem,
                    len(sessions),
                    {
                        name: [one for one in to_sessions(ranking, session_of) if one != own]
                        for name, ranking in rankings.items()
                    },
                )
            )
    return answered


def read_dialogues(
    sessions: list[dict[str, object]],
) -> tuple[list[Turn], list[tuple[Question, int, str]]]:
    """The turns of all sessions, and each request with its time and its session. Turns of a day get
    times in the order of the file."""
    turns: list[Turn] = []
    asked: list[tuple[Question, int, str]] = []
    earlier: set[str] = set()
    last = 0
    for session in sessions:
        name = str(session["session_uuid"])
        day = datetime.strptime(str(session["current_time"])[:10], "%Y-%m-%d").replace(tzinfo=UTC)
        start = max(int(day.timestamp()) * SECOND_NS, last + _SESSION_SECONDS * SECOND_NS)
        dialogue = session["dialogue_turns"]
        assert isinstance(dialogue, list)
        for number, turn in enumerate(dialogue):
            last = start + number * SECOND_NS
            reply = dialogue[number + 1] if number + 1 < len(dialogue) else {}
            gold = frozenset(reply.get("memory_session_uuids") or ()) & earlier
            if turn["is_query"] and gold:
                question = Question(turn["content"], gold, str(turn["category_name"]))
                asked.append((question, last, name))
            user = turn["speaker"] == "User"
            turns.append(
                Turn(
                    thread=f"session-{name}",
                    session=name,
                    speaker="user" if user else "assistant",
                    role="user" if user else "assistant",
                    text=turn["content"],
                    time_ns=last,
                    source_id=f"{name}:{number}",
                )
            )
        earlier.add(name)
    return turns, asked
