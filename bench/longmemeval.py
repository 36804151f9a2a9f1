"""LongMemEval's retrieval protocol: each question has a haystack of sessions of its own, and some
of them hold the answer.

    unit      a session (its user turns joined by blanks), or a single user turn
    gold      sessions named as answers of which a user turn is labelled `has_answer`; those turns
    figures   recall_any@k, recall_all@k and NDCG@k; turns are also mapped to sessions, k stretched
    until k sessions are seen
    left out  the abstention questions (`_abs` in their id) and questions without a labelled user
    turn, as in the official code

The official printout shows recall_all. Others publish recall_any@5 over all 500 questions, which is
easier twice over: it stands in a table of its own. The file is longmemeval_s_cleaned.json, or
another in that form; it is not part of this repository and is read by its path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bench.comparison import Answered, Measure, against_best, by_group, measure_all
from bench.corpora import SECOND_NS, Question, files_of
from bench.metrics import all_at, any_at, ndcg_at
from bench.report import Report, begin, percent
from bench.systems import opened
from bench.watched import watched
from doxa.base.errors import InputError
from doxa.base.limits import RECALL_HITS_MAX
from doxa.language.turns import Turn
from doxa.models import Embedder

DEPTHS = (1, 3, 5, 10, 30, 50)
_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)[^\d]*(\d\d):(\d\d)")
_NEEDED = (
    "question_id",
    "question",
    "question_type",
    "haystack_sessions",
    "haystack_session_ids",
    "answer_session_ids",
)
Level = Literal["session", "turn"]


@dataclass(frozen=True, slots=True)
class Haystack:
    """One question with its sessions. `sessions` holds the user turns of each: time and (place in
    the session, text, labelled)."""

    name: str
    kind: str
    question: str
    dates: Mapping[str, int | None]
    sessions: Mapping[str, tuple[tuple[int, str, bool], ...]]
    answers: frozenset[str]

    @property
    def abstains(self) -> bool:
        return self.name.endswith("_abs")

    def gold(self, level: Level) -> frozenset[str]:
        """The units that hold the answer."""
        turns = {
            _turn_id(name, place)
            for name in self.answers
            for place, _, labelled in self.sessions.get(name, ())
            if labelled
        }
        return frozenset(turns if level == "turn" else map(session_of, turns))

    def units(self, level: Level) -> list[Turn]:
        """What is searched. Units without text cannot be found, so they are not put in."""
        return [one for one in self._units(level) if one.text.strip()]

    def _units(self, level: Level) -> Iterator[Turn]:
        for name, turns in self.sessions.items():
            if level == "session":
                yield Turn(
                    "haystack",
                    name,
                    "user",
                    "user",
                    " ".join(text for _, text, _ in turns),
                    self.dates[name],
                    name,
                )
                continue
            for place, text, _ in turns:
                yield Turn(
                    "haystack", name, "user", "user", text, self.dates[name], _turn_id(name, place)
                )


def _turn_id(session: str, place: int) -> str:
    return f"{session}_{place}"


def session_of(turn: str) -> str:
    """The session of a turn's id."""
    return turn.rpartition("_")[0]


def load(path: Path) -> list[Haystack]:
    """Every question of the file, or of the files of a folder. Raises InputError for what is not in
    the official form."""
    found = []
    for file in files_of(path):
        samples = json.loads(file.read_text())
        for number, sample in enumerate(samples if isinstance(samples, list) else [samples]):
            missing = (
                [key for key in _NEEDED if key not in sample]
                if isinstance(sample, dict)
                else list(_NEEDED)
            )
            if missing:
                raise InputError(
                    f"{file.name}, entry {number}, is not in LongMemEval's form: it lacks"
                    f" {', '.join(missing)}.",
                    next_step="Give the file longmemeval_s_cleaned.json as its authors publish it.",
                    field="data",
                )
            found.append(_haystack(sample))
    return found


def _haystack(sample: dict[str, Any]) -> Haystack:
    names = sample["haystack_session_ids"]
    dates = sample.get("haystack_dates") or [""] * len(names)
    sessions = {
        name: tuple(
            (place, str(turn["content"]), bool(turn.get("has_answer")))
            for place, turn in enumerate(turns, 1)
            if turn["role"] == "user"
        )
        for name, turns in zip(names, sample["haystack_sessions"], strict=True)
    }
    times = {name: time_ns(date) for name, date in zip(names, dates, strict=True)}
    return Haystack(
        str(sample["question_id"]),
        sample["question_type"],
        str(sample["question"]),
        times,
        sessions,
        frozenset(sample["answer_session_ids"]),
    )


def time_ns(text: str) -> int | None:
    """ "2023/05/20 (Sat) 02:21" as nanoseconds UTC; None for anything else."""
    match = _DATE.match(text)
    if not match:
        return None
    year, month, day, hour, minute = map(int, match.groups())
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()) * SECOND_NS


def run(path: Path, embedder: Embedder | None, *, seed: int, limit: int | None = None) -> Report:
    """`limit` takes the first so many questions."""
    report = begin("longmemeval", seed=seed, embedder=embedder)
    haystacks = load(path)[:limit]
    counted = [one for one in haystacks if not one.abstains and one.gold("turn")]
    report.put("questions", len(haystacks))
    report.put("abstention_left_out", sum(one.abstains for one in haystacks))
    report.put(
        "unlabelled_left_out",
        len(haystacks) - len(counted) - sum(one.abstains for one in haystacks),
    )
    report.put("counted", len(counted))
    if not counted:
        report.tables.append(
            "No question of this file has a labelled user turn, so nothing can be counted."
        )
        return report.end()
    sessions = [
        item
        for one in watched(haystacks, "sessions of questions")
        if (item := _ask(one, embedder, "session", seed=seed, all_questions=True))
    ]
    official = [item for item, one in _paired(sessions, haystacks) if one in counted]
    turns = [
        item
        for one in watched(counted, "turns of questions")
        if (item := _ask(one, embedder, "turn", seed=seed))
    ]
    _table(report, "session", "sessions, the user turns of each", official, {"": ""})
    _table(
        report, "turn", "single user turns", turns, {"": "", "session_of_": ", mapped to sessions"}
    )
    _by_type(report, official)
    against_best(report, official, "session.recall_all_at_5", partial(_at, measure=all_at, k=5))
    against_best(report, turns, "turn.recall_all_at_10", partial(_at, measure=all_at, k=10))
    report.table(
        "As others count: recall_any@5 of sessions over all questions, abstention included (n ="
        f" {len(sessions)})",
        ["system", "recall_any@5"],
        [
            [system, percent(row["session.all_questions.recall_any_at_5"])]
            for system, row in measure_all(
                report, sessions, {"session.all_questions.recall_any_at_5": _named_any}
            ).items()
        ],
    )
    return report.end()


def _paired(
    items: list[Answered], haystacks: list[Haystack]
) -> Iterator[tuple[Answered, Haystack]]:
    by_name = {one.name: one for one in haystacks}
    return ((item, by_name[item.group]) for item in items)


def _ask(
    one: Haystack,
    embedder: Embedder | None,
    level: Level,
    *,
    seed: int,
    all_questions: bool = False,
) -> Answered | None:
    """None where there is nothing to search. Questions of this set are independent: each is a group
    of its own."""
    units = one.units(level)
    if not units:
        return None
    with opened(units, embedder, seed=seed) as systems:
        limit = min(RECALL_HITS_MAX, len(units))
        rankings = systems.rankings(one.question, limit=limit)
    sides = (
        (one.answers, frozenset[str]()) if all_questions else None
    )  # sessions named as answers, labelled or not
    return Answered(
        Question(one.question, one.gold(level), one.kind, sides),
        one.name,
        len(units),
        rankings,
        sessions=_sessions(units),
    )


def _sessions(units: Sequence[Turn]) -> dict[str, str]:
    return {unit.source_id: unit.session for unit in units}


def _named_any(item: Answered, system: str) -> float:
    assert item.question.sides is not None
    return any_at(item.rankings[system], item.question.sides[0], 5)


def _at(item: Answered, system: str, *, measure: Any, k: int) -> float:
    return float(measure(item.rankings[system], item.question.gold, k))


def _ndcg(item: Answered, system: str, *, k: int) -> float:
    gold = item.question.gold
    return ndcg_at([float(name in gold) for name in item.rankings[system]], [1.0] * len(gold), k)


def mapped(ranking: Sequence[str], gold: frozenset[str]) -> list[str]:
    """The sessions of turns, one for each turn. A turn without the label stands for another session
    than the labelled ones next to it: only the turn that holds the answer finds its session."""
    answers = {session_of(name) for name in gold}
    return [
        session_of(name)
        + ("" if name in gold or session_of(name) not in answers else " unlabelled")
        for name in ranking
    ]


def stretched(sessions: Sequence[str], k: int) -> int:
    """How many turns it takes until k sessions are seen, or all of them."""
    seen: set[str] = set()
    for number, name in enumerate(sessions, 1):
        seen.add(name)
        if number >= k and len(seen) >= k:
            return number
    return len(sessions)


def _mapped(item: Answered, system: str, *, measure: Any, k: int) -> float:
    gold = item.question.gold
    sessions = mapped(item.rankings[system], gold)
    return float(measure(sessions, {session_of(name) for name in gold}, stretched(sessions, k)))


def _mapped_ndcg(item: Answered, system: str, *, k: int) -> float:
    """Over turns by what their session is worth, as the official code has it: a session counts as
    often as it has labelled turns."""
    ranking, gold = item.rankings[system], item.question.gold
    return ndcg_at(
        [float(name in gold) for name in ranking],
        [1.0] * len(gold),
        stretched(mapped(ranking, gold), k),
    )


def _table(
    report: Report, level: Level, what: str, answered: list[Answered], parts: Mapping[str, str]
) -> None:
    for part, note in parts.items():
        measures: dict[str, Measure] = {}
        for k in DEPTHS:
            recall, gain = (_mapped, _mapped_ndcg) if part else (_at, _ndcg)
            measures[f"{level}.{part}recall_any_at_{k}"] = partial(recall, measure=any_at, k=k)
            measures[f"{level}.{part}recall_all_at_{k}"] = partial(recall, measure=all_at, k=k)
            measures[f"{level}.{part}ndcg_at_{k}"] = partial(gain, k=k)
        found = measure_all(report, answered, measures)
        report.table(
            f"LongMemEval, {what}{note}: recall_any / recall_all / NDCG × 100 (n ="
            f" {len(answered)})",
            ["system", *(f"@{k}" for k in DEPTHS)],
            [
                [
                    system,
                    *(
                        " / ".join(
                            percent(row[f"{level}.{part}{name}_at_{k}"])
                            for name in ("recall_any", "recall_all", "ndcg")
                        )
                        for k in DEPTHS
                    ),
                ]
                for system, row in found.items()
            ],
        )


def _by_type(report: Report, answered: list[Answered]) -> None:
    kinds = sorted({item.question.category for item in answered})
    groups = [
        (
            kind,
            f"session.type.{kind}.recall_all_at_5",
            [item for item in answered if item.question.category == kind],
        )
        for kind in kinds
    ]
    report.table(
        "LongMemEval, sessions by question type: recall_all@5",
        *by_group(report, groups, partial(_at, measure=all_at, k=5)),
    )
