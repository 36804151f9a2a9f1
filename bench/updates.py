"""Which belief a new sentence retires: the cases of tests/cases/updates.txt, half of them for
fitting constants, the other half held out.

Each case is played through: what is held is remembered, each sentence is matched, and what the
match proposes from REVISE_AT on is retired, as an agent would do it. **Wrong** is the share of
retirements that the case does not ask for, **missed** the share of those it asks for that did not
happen; a missed one is *silent* where no conflict was opened about it either. The reliability table
holds the scores to what they say.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import doxa
from bench import updates_scale
from bench.embedders import local_embedder
from bench.persistence_parts import fresh
from bench.report import Report, begin, percent
from bench.updates_cases import CASES, HALVES, PLAIN_LANGUAGE, Line, UpdateCase, load, shown_fact
from doxa.base.clock import FakeClock, parse_time
from doxa.belief import Draft, Fact
from doxa.ingestion.match import (
    CONFLICT_AT,
    REVISE_AT,
    MatchResult,
    ScoredProposal,
    match,
    score_proposals,
)
from doxa.ingestion.nearest import nearest
from doxa.language.agreement import FEATURES, RETIRING
from doxa.language.comparison.likeness import LIKENESS
from doxa.models import Embedder
from doxa.models.cache import CachedEmbedder

WRONG_MAX, MISSED_MAX = 0.01, 0.15
_SAID_AT = "2026-03-05T12:00:00Z"
_BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0001)
_SHOWN = 12
_STEPS = 200
_QUICK_STEP = 10  # one of so many cases of plain language
_UNJUDGED = ("restates", "refines", "names")  # nothing could take the place of what is said again
# What each weight is expected to be before a case is read, and how far the cases may move it: one
# standard deviation.
_SPREAD = 1.5
_EXPECTED_BIAS = 3.0
_EXPECTED = {
    "part_or_relative": -6.5,
    "part_of_name": -3.5,
    "says_less_of_subject": -4.0,
    "other_subject": -7.0,
    "owner_open": -2.0,
    "unnamed": -4.0,
    "near_predicate": -1.0,
    "other_predicate": -5.0,
    "other_kind_of_value": -3.0,
    "may_be_several": -5.0,
    "may_replace": -4.5,
    "unspecific": -2.5,
    "gives_up_held": 2.0,
    "gives_up_another": -4.0,
    "takes_back": 1.0,
    "takes_back_another": -3.0,
    "scope_open": -2.0,
    "other_scope": -5.0,
    "says_more_besides": -4.0,
    "change": 1.0,
    "past": -5.0,
    "other_speaker": -3.0,
    "shared_words": 1.0,
    "unknown_predicate": -3.5,
    "misspelt": -3.0,
    "by_words": -0.5,
    "unsure_words": -3.2,
}


@dataclass
class Played:
    """What became of one case: lines and facts that were retired, those about which a conflict was
    opened, and the scores on the way."""

    case: UpdateCase
    retired: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    weighed: list[tuple[ScoredProposal, bool]] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    stored: bool = False


@dataclass
class Count:
    """Retirements of one group of cases, by lines and facts."""

    due: int = 0
    right: int = 0
    wrong: int = 0
    silent: int = 0
    doubted_due: int = 0
    doubted: int = 0
    stays: int = 0

    def take(self, played: Played) -> None:
        due = played.case.retired
        self.due += len(due)
        self.right += len(due & played.retired)
        self.wrong += len(played.retired - due)
        self.silent += len(due - played.retired - played.doubted)
        self.doubted_due += len((due & played.doubted) - played.retired)
        self.doubted += len(played.doubted - played.retired)
        held = (*played.case.held, *played.case.said)
        self.stays += sum(max(1, len(line.facts)) for line in held) - len(due)

    @property
    def wrong_rate(self) -> float:
        """Of what was retired."""
        return self.wrong / max(1, self.right + self.wrong)

    @property
    def missed_rate(self) -> float:
        """Of those that were wanted, conflicts counted as missed."""
        return 1 - self.right / self.due if self.due else 0.0

    @property
    def row(self) -> list[str]:
        """due, wrong, missed, silent, conflicts; precision and recall at both thresholds."""
        retired, proposed = self.right + self.wrong, self.right + self.wrong + self.doubted
        found = self.right + self.doubted_due
        told = [
            f"{self.wrong} ({percent(self.wrong_rate)})",
            f"{self.due - self.right} ({percent(self.missed_rate)})",
        ]
        rates = [
            _share(self.right, retired),
            _share(self.right, self.due),
            _share(found, proposed),
            _share(found, self.due),
        ]
        return [
            str(self.due),
            *told,
            str(self.silent),
            f"{self.doubted} ({self.doubted_due} due)",
            *rates,
        ]


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


_HEAD = [
    "due",
    "wrong (%)",
    "missed (%)",
    "of them silent",
    "conflicts",
    "precision",
    "recall",
    "precision from conflict",
    "recall from conflict",
]


def options(command: argparse.ArgumentParser, *, seed: int) -> None:
    command.add_argument("--seed", type=int, default=seed)
    command.add_argument(
        "--quick",
        action="store_true",
        help="all cases with a reader's verdict, but few of plain language, and fewer beliefs and"
        " sentences where time is measured",
    )
    command.add_argument(
        "--fit",
        action="store_true",
        help="print the weights that the fitted half asks for, and judge nothing",
    )
    command.add_argument("--json", type=Path, help="write figures and tables here")


def weights() -> str:
    """What --fit prints: the weights that the fitted halves ask for, as lines of Python."""
    bias, found, pairs = fitted()
    asked_bias, asked = fitted_questions()
    return "\n".join(
        (
            f"BIAS = {bias}",
            *(f"{name}: {weight}  ({pairs[name]} pairs)" for name, weight in found.items()),
            f"ASKED_BIAS = {asked_bias}",
            *(f"{name}: {weight}" for name, weight in asked.items()),
        )
    )


def run(*, seed: int, quick: bool = False) -> tuple[Report, bool]:
    """Both halves; whether the rates are met in both."""
    report = begin("updates", seed=seed, embedder=_embedder())
    played = play(load())
    halves = {name: _count(one for one in played if one.case.half == name) for name in HALVES}
    for name, count in halves.items():
        figures = {
            "wrong": count.wrong_rate,
            "missed": count.missed_rate,
            "silent": count.silent / max(1, count.due),
            "wrong_of_staying": count.wrong / max(1, count.stays),
            "due": float(count.due),
            "conflicts": float(count.doubted),
        }
        for figure, value in figures.items():
            report.put(f"{name.replace(' ', '_')}.{figure}", value)
    report.tables.append(
        f"A proposal from {REVISE_AT:.2f} on revises, from {CONFLICT_AT:.2f} on it opens a"
        f" conflict. Asked for: at most {percent(WRONG_MAX)} % of retirements wrong, at most"
        f" {percent(MISSED_MAX)} % of those due missed."
    )
    report.table(
        "Halves",
        ["half", "cases", *_HEAD],
        [[name, str(_of(played, name)), *count.row] for name, count in halves.items()],
    )
    for name in HALVES:
        groups = dict.fromkeys(one.case.category for one in played)
        rows = [
            [
                group,
                *_count(
                    one for one in played if (one.case.category, one.case.half) == (group, name)
                ).row,
            ]
            for group in groups
        ]
        report.table(f"By category, {name}", ["category", *_HEAD], rows)
        report.table(
            f"Reliability, {name}",
            ["score", "pairs", "mean score", "came true"],
            _reliability(one for one in played if one.case.half == name),
        )
    step = _QUICK_STEP if quick else 1
    _plain_language(report, step)
    _near(report, step)
    updates_scale.measure(
        report, sizes=(2_000,) if quick else (10_000, 100_000), questions=50 if quick else 200
    )
    failures = [
        _failure(one)
        for one in played
        if one.case.half == "fitted" and one.retired != one.case.retired
    ]
    if failures:
        report.table(
            "Not as the reader said, fitted half",
            ["case", "retired wrongly", "missed", "conflict about"],
            failures[:_SHOWN],
        )
    passed = all(
        count.wrong_rate <= WRONG_MAX and count.missed_rate <= MISSED_MAX
        for count in halves.values()
    )
    return report.end(), passed


def _plain_language(report: Report, step: int) -> None:
    """What people say in plain words: what is retired, and what is believed that nobody stated. The
    ordinary and the indirect cases were written by others when the rules were done; failures of the
    seen half of the ordinary ones were read afterwards."""
    for name, path in PLAIN_LANGUAGE.items():
        half = {"seen half": "fitted", "unseen half": "held out"}.get(name.partition(", ")[2])
        asked = [case for case in load(path) if half in (None, case.half)]
        played = play(asked[::step])
        rows = []
        for code in dict.fromkeys(one.case.language for one in played):
            own = [one for one in played if one.case.language == code]
            kinds = dict.fromkeys(one.case.kind for one in own)
            for kind in (*kinds, "all"):
                chosen = [one for one in own if kind in (one.case.kind, "all")]
                unstated = [one for one in chosen if not one.case.stored]
                believed = sum(one.stored for one in unstated)
                count = _count(chosen)
                rows.append([code, kind, str(len(chosen)), f"{believed} of {len(unstated)}"])
                rows[-1] += count.row
                if kind == "all":
                    key = f"plain_language.{name.replace(',', '').replace(' ', '_')}.{code}"
                    silent = count.silent / max(1, count.due)
                    harmed = sum(bool(one.retired - one.case.retired) for one in chosen)
                    report.put(f"{key}.missed", count.missed_rate)
                    report.put(f"{key}.silent", silent)
                    report.put(f"{key}.harmed", harmed / len(chosen))
                    report.put(f"{key}.believed_unstated", believed / max(1, len(unstated)))
        head = ["language", "kind", "cases", "believed unstated", *_HEAD]
        title = f"Plain language, {name}"
        report.table(f"{title}, one case in {step}" if step > 1 else title, head, rows)


def _near(report: Report, step: int) -> None:
    """What an agent is shown where rules find nothing: of the beliefs that a reader would retire,
    how many are among the nearest, in a memory that holds what all cases of the language hold."""
    rows = []
    for name in ("unseen, messages", "unseen, messages in other languages"):
        cases = load(PLAIN_LANGUAGE[name])[::step]
        for code in dict.fromkeys(case.language for case in cases):
            own = [case for case in cases if case.language == code]
            held = dict.fromkeys(line for case in own for line in case.held)
            with fresh(clock=FakeClock(parse_time(_SAID_AT)), embedder=_embedder()) as memory:
                lines: dict[str, Line] = {}
                for line in held:
                    _hold(memory, line, lines, project=code)
                memory.embed()
                shown = {line.shown(): kref for kref, line in lines.items()}
                due = [(case, shown[one]) for case in own for one in case.retired]
                found = Counter(
                    _place(memory, case.said[0].text, kref, project=code) for case, kref in due
                )
            if not due:  # of few cases
                continue
            share = sum(found[place] for place in range(_NEAR)) / len(due)
            report.put(f"plain_language.near.{code}", share)
            rows.append([code, str(len(held)), str(len(due)), percent(found[0] / len(due))])
            rows[-1].append(percent(share))
    report.table(
        "Beliefs to retire among the nearest",
        ["language", "beliefs", "due", "nearest (%)", f"among {_NEAR} (%)"],
        rows,
    )


_NEAR = 3  # as memory_remember shows


def _place(memory: doxa.Memory, text: str, kref: str, *, project: str) -> int:
    """The place of a belief among the nearest to a text; _NEAR if it is not there."""
    near = nearest(memory.store, memory.recaller, Draft(text, project), _NEAR, besides="")
    krefs = [one.kref.partition("?")[0] for one in near]
    return krefs.index(kref) if kref in krefs else _NEAR


def play(cases: Iterable[UpdateCase]) -> list[Played]:
    """Every case in a project of its own."""
    with fresh(clock=FakeClock(parse_time(_SAID_AT)), embedder=_embedder()) as memory:
        return [_play(memory, case, project=f"case{number}") for number, case in enumerate(cases)]


@cache
def _embedder() -> Embedder | None:
    """The local model, which finds beliefs that share no word with a sentence; None without it."""
    inner = local_embedder()
    return CachedEmbedder(inner, bytes_max=2**28) if inner else None


def _play(memory: doxa.Memory, case: UpdateCase, *, project: str) -> Played:
    played = Played(case)
    lines: dict[str, Line] = {}
    for line in case.held:
        _hold(memory, line, lines, project=project)
    for line in case.said:
        memory.embed()
        given = {"project": project, "speaker": line.speaker}
        if len(case.said) == 1:
            _, found = score_proposals(
                memory.store, memory.recaller, line.text, project=project, speaker=line.speaker
            )
            played.weighed += [(one, _is_due(case, one, lines)) for one in _surest(found)]
        verdict = match(memory.store, memory.recaller, line.text, limit=100, **given)
        played.verdicts.append(verdict.verdict)
        played.stored = played.stored or verdict.verdict not in ("same", "nothing")
        _carry_out(memory, verdict, lines, played)
        if verdict.verdict not in ("same", "nothing"):
            _hold(memory, line, lines, project=project)
    return played


def _hold(memory: doxa.Memory, line: Line, lines: dict[str, Line], *, project: str) -> None:
    said = {"speaker_name": line.speaker} if line.speaker else None
    made = memory.remember(
        line.text, project=project, name=f"line{len(lines)}", metadata=said, facts=line.facts
    )
    lines[made.kref.partition("?")[0]] = line


def _shown(line: Line, fact: Fact | None) -> str:
    return (
        shown_fact((fact.subject, fact.predicate, str(fact.value)))
        if fact is not None and line.facts
        else line.shown()
    )


def _is_due(case: UpdateCase, one: ScoredProposal, lines: dict[str, Line]) -> bool:
    return _shown(lines[one.proposal.item], one.proposal.held) in case.retired


def _surest(found: list[ScoredProposal]) -> list[ScoredProposal]:
    """One reading of each belief: the surest."""
    best: dict[tuple[str, Fact | None], ScoredProposal] = {}
    for one in found:
        at = (one.proposal.kref, one.proposal.held)
        if at not in best or one.proposal.score > best[at].proposal.score:
            best[at] = one
    return list(best.values())


def _carry_out(
    memory: doxa.Memory, verdict: MatchResult, lines: dict[str, Line], played: Played
) -> None:
    for proposal in verdict.proposals:
        if proposal.relation not in RETIRING or proposal.score < CONFLICT_AT:
            continue
        line = lines[proposal.item]
        if proposal.score < REVISE_AT:
            played.doubted.add(_shown(line, proposal.held))
            continue
        played.retired.add(_shown(line, proposal.held))
        if proposal.held is not None and len(line.facts) > 1:
            memory.contract(proposal.item, fact=proposal.held)
        else:
            memory.deprecate(proposal.item)


def _count(played: Iterable[Played]) -> Count:
    count = Count()
    for one in played:
        count.take(one)
    return count


def _of(played: list[Played], half: str) -> int:
    return sum(one.case.half == half for one in played)


def _reliability(played: Iterable[Played]) -> list[list[str]]:
    """Scores and what came true, over pairs of a text and a belief that it does not merely
    repeat."""
    pairs = [
        (one.proposal.score, due)
        for each in played
        for one, due in each.weighed
        if one.proposal.relation not in _UNJUDGED
    ]
    rows = []
    for low, high in pairwise(_BINS):
        inside = [(score, due) for score, due in pairs if low <= score < high]
        if inside:
            mean, true = (sum(pair[i] for pair in inside) / len(inside) for i in (0, 1))
            rows.append(
                [f"{low:.2f}–{min(high, 1):.2f}", str(len(inside)), f"{mean:.3f}", f"{true:.3f}"]
            )
    return rows


def _failure(one: Played) -> list[str]:
    due = one.case.retired
    shown = [sorted(one.retired - due), sorted(due - one.retired), sorted(one.doubted)]
    return [
        f"{one.case.category}: {one.case.name}",
        *("; ".join(texts).replace("|", "\\|") or "–" for texts in shown),
    ]


def fitted() -> tuple[float, dict[str, float], Counter[str]]:
    """The weights that the fitted half asks for, and how many pairs speak about each: logistic
    regression about what is expected of each weight beforehand, since most are met in a few pairs
    only."""
    played = play(case for case in load() if case.half == "fitted")
    pairs = [
        (one.features, due)
        for each in played
        for one, due in each.weighed
        if not (one.unasserted or one.asked) and one.proposal.relation not in _UNJUDGED
    ]
    rows: NDArray[np.float64] = np.array([(1.0, *features) for features, _ in pairs])
    wanted: NDArray[np.float64] = np.array([float(due) for _, due in pairs])
    expected = np.array([_EXPECTED_BIAS, *(_EXPECTED[name] for name in FEATURES)])
    weights = _regress(rows, wanted, expected)
    counts = Counter(
        name
        for features, _ in pairs
        for name, value in zip(FEATURES, features, strict=True)
        if value
    )
    return (
        round(float(weights[0]), 2),
        dict(zip(FEATURES, (round(float(w), 2) for w in weights[1:]), strict=True)),
        counts,
    )


def fitted_questions() -> tuple[float, dict[str, float]]:
    """The weights of a question, which all fitted cases of one sentence ask for: logistic
    regression over the beliefs that grammar finds no relation to, about nothing expected."""
    rows, wanted = [], []
    with fresh(clock=FakeClock(parse_time(_SAID_AT)), embedder=None) as memory:
        for number, case in enumerate(_fitted_cases()):
            lines: dict[str, Line] = {}
            project = f"case{number}"
            for line in case.held:
                _hold(memory, line, lines, project=project)
            (said,) = case.said
            _, found = score_proposals(
                memory.store,
                memory.recaller,
                said.text,
                project=project,
                speaker=said.speaker,
                ask_at=0,
            )
            for one in found:
                if one.asked:
                    rows.append((1.0, *one.features))
                    wanted.append(float(_is_due(case, one, lines)))
    weights = _regress(np.array(rows), np.array(wanted), np.zeros(1 + len(LIKENESS)))
    bias, *others = (round(float(weight), 2) for weight in weights)
    return bias, dict(zip(LIKENESS, others, strict=True))


def _fitted_cases() -> Iterable[UpdateCase]:
    paths = {"": CASES} | PLAIN_LANGUAGE
    for name, path in paths.items():
        if "unseen" in name:
            continue
        for case in load(path):
            whole = name.startswith("fitted")
            if len(case.said) == 1 and case.stored and (whole or case.half == "fitted"):
                yield case


def _regress(
    rows: NDArray[np.float64], wanted: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression about what is expected of each weight."""
    weights = expected.copy()
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(rows @ weights, -40, 40)))
        slope = rows.T @ (wanted - guess) - (weights - expected) / _SPREAD**2
        bend = (rows * (guess * (1 - guess))[:, None]).T @ rows + np.eye(len(weights)) / _SPREAD**2
        weights = weights + 0.5 * np.linalg.solve(bend, slope)
    return weights
