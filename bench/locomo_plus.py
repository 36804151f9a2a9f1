"""LoCoMo-Plus by retrieval alone: does a later remark bring back the cue it depends on, though they
share no words?

P1: one conversation and one cue. P2: all conversations and all cues in one store; other cues may
answer a remark as well, so P2 is a lower bound. A cue stands in its own session at its place in
time, and nothing marks it. P1 can still be gamed, because a cue comes from elsewhere and is unlike
the rest: the control `unusual` ranks the least typical message first without reading the question.
A system must be read against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.comparison import Answered, Measure, against_best, key_of, measure_all, systems_of
from bench.corpora import (
    Corpus,
    Cue,
    Question,
    gold_of,
    load_cues,
    load_locomo,
    numbered,
    prefixed,
    with_cues,
)
from bench.metrics import any_at, best_rank, mean
from bench.report import Report, begin, percent
from bench.systems import DOXA, opened
from doxa.language.turns import Turn
from doxa.models import Embedder

DEPTHS = (1, 5, 10, 20)
LIMIT_MAX = 1_000
PLAIN = "minilm"


def run(path: Path, locomo: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("locomo-plus", seed=seed, embedder=embedder)
    bases = numbered(load_locomo(locomo))
    cues = [cue for cue in load_cues(path) if cue.base in bases]
    single = _ask_single(bases, cues, embedder, seed=seed)
    _tables(report, "p1", single)
    against_best(report, single, "p1.hit_at_10", partial(_hit, k=10))
    pooled = _ask_pooled(bases, cues, embedder, seed=seed)
    _tables(report, "p2", pooled)
    against_best(report, pooled, "p2.hit_at_10", partial(_hit, k=10))
    _multiple_of_plain(report, pooled)
    return report.end()


def _ask_single(
    bases: Mapping[int, Corpus], cues: Iterable[Cue], embedder: Embedder | None, *, seed: int
) -> list[Answered]:
    answered = []
    for cue in cues:
        base = bases[cue.base]
        turns = with_cues(base, [cue])
        question = Question(cue.question, gold_of(cue), cue.relation)
        answered += _ask(turns, [(question, base.name)], embedder, seed=seed)
    return answered


def _ask_pooled(
    bases: Mapping[int, Corpus], cues: Sequence[Cue], embedder: Embedder | None, *, seed: int
) -> list[Answered]:
    turns: list[Turn] = []
    questions = []
    for number, base in bases.items():
        own = [cue for cue in cues if cue.base == number]
        turns += prefixed(with_cues(base, own))
        questions += [
            (Question(cue.question, gold_of(cue, f"{base.name}/"), cue.relation), base.name)
            for cue in own
        ]
    return _ask(turns, questions, embedder, seed=seed)


def _ask(
    turns: Sequence[Turn],
    questions: Iterable[tuple[Question, str]],
    embedder: Embedder | None,
    *,
    seed: int,
) -> list[Answered]:
    with opened(turns, embedder, seed=seed, unusual=True) as systems:
        limit = min(LIMIT_MAX, len(turns))
        return [
            Answered(question, group, len(turns), systems.rankings(question.text, limit=limit))
            for question, group in questions
        ]


def _multiple_of_plain(report: Report, pooled: list[Answered]) -> None:
    """P2 as a multiple of cosine search with the same model over the same turns."""
    if not pooled or PLAIN not in pooled[0].rankings:
        return
    rows = []
    for k in DEPTHS:
        own, plain = (
            mean([_hit(item, system, k=k) for item in pooled]) for system in (DOXA, PLAIN)
        )
        times = own / plain if plain else float("nan")
        report.put(f"p2.times_plain.hit_at_{k}", times)
        rows.append([f"hit@{k}", percent(own), percent(plain), f"{times:.2f}" if plain else "–"])
    report.table("LoCoMo-Plus P2 as a multiple of plain MiniLM", ["", DOXA, PLAIN, "times"], rows)


def _hit(item: Answered, system: str, *, k: int) -> float:
    return any_at(item.rankings[system], item.question.gold, k)


def _place(item: Answered, system: str) -> int:
    return best_rank(item.rankings[system], item.question.gold, units=item.units)


def _tables(report: Report, part: str, answered: list[Answered]) -> None:
    relations = sorted({item.question.category for item in answered})
    measures: dict[str, Measure] = {f"{part}.hit_at_{k}": partial(_hit, k=k) for k in DEPTHS}
    measures[f"{part}.mrr"] = lambda item, system: (
        1 / _place(item, system) if _place(item, system) <= item.units else 0.0
    )
    report.put(f"{part}.n", len(answered))
    found = measure_all(report, answered, measures)
    rows = []
    for system in systems_of(answered):
        middle = median(_place(item, system) for item in answered)
        report.put(key_of(system, f"{part}.median_rank"), middle)
        by_relation = []
        for relation in relations:
            value = mean(
                [
                    _hit(item, system, k=10)
                    for item in answered
                    if item.question.category == relation
                ]
            )
            report.put(key_of(system, f"{part}.relation.{relation}.hit_at_10"), value)
            by_relation.append(percent(value))
        hits = [percent(found[system][f"{part}.hit_at_{k}"]) for k in DEPTHS]
        rows.append(
            [system, *hits, f"{found[system][f'{part}.mrr']:.3f}", f"{middle:g}", *by_relation]
        )
    report.table(
        f"LoCoMo-Plus {part.upper()}, cue hit rate (n = {len(answered)};"
        f" {median(item.units for item in answered):,.0f} turns in a store, median)",
        [
            "system",
            *(f"@{k}" for k in DEPTHS),
            "MRR",
            "median rank",
            *(f"{relation} @10" for relation in relations),
        ],
        rows,
    )
