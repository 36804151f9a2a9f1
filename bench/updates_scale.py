"""Matching among many beliefs: people with ten properties each, one of which is stated again in
other words. How long it takes, whether the right belief is retired and no other. The sentences are
generated, so the rates say only that a crowd of like beliefs does not change what is found."""

from __future__ import annotations

import random
from collections.abc import Iterator

import doxa
from bench.persistence_parts import fresh
from bench.report import Report, percent
from bench.timing import seconds_of, spread
from doxa.belief import Draft, Kref, Ledger, check_draft
from doxa.ingestion.match import REVISE_AT, MatchResult, match
from doxa.language.agreement import RETIRING

_BATCH = 2_000
_PROJECT = "crowd"
_FIRST = (
    "Ada Bo Cleo Dirk Edda Finn Gwen Hugo Isa Jarl Kira Lars Mona Nils Olga Pia Quin Rolf Sara Tove"
).split()
_MIDDLE = "al ber cor dal el fal gor hal in jor kal lor mal nor or pal ral sor tal ul".split()
_LAST = "berg dahl feld grund holm kamp lund mark nass quist rup sted torp veld wik".split()
_PLACES = (
    "Oslo Porto Lyon Turin Gdansk Cork Basel Ghent Kiel Graz Brno Riga Split Bilbao Malmo".split()
)
_FIRMS = "Acme Globex Initech Umbrella Hooli Vandelay Stark Wayne Tyrell Cyberdyne".split()
_SAYINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("{} lives in {}.", "{} moved to {}.", tuple(_PLACES)),
    ("{} works at {}.", "{} is employed by {} now.", tuple(_FIRMS)),
    ("{}'s manager is {}.", "{} now reports to {}.", tuple(_FIRST)),
    (
        "{}'s phone number is 555-{}.",
        "The phone number of {} is 555-{} now.",
        tuple(str(n) for n in range(1000, 9999, 7)),
    ),
    ("{} is {} years old.", "{} is {} years old now.", tuple(str(n) for n in range(18, 90))),
    (
        "{}'s favourite color is {}.",
        "{}'s favorite colour is {}.",
        tuple("blue red green yellow black white brown pink".split()),
    ),
    ("{} weighs {} kg.", "{} weighs {} kg now.", tuple(str(n) for n in range(48, 120))),
    (
        "{}'s deadline is {} June 2026.",
        "{}'s deadline was moved to {} June 2026.",
        tuple(str(n) for n in range(1, 30)),
    ),
    (
        "{}'s office is room {}.",
        "{}'s new office is room {}.",
        tuple(str(n) for n in range(100, 700)),
    ),
    (
        "{}'s doctor is Dr {}.",
        "{}'s doctor is Dr {} now.",
        tuple(f"{one.capitalize()}{last}" for one in _MIDDLE for last in _LAST),
    ),
)


def measure(report: Report, *, sizes: tuple[int, ...], questions: int) -> None:
    """A row for each size."""
    rows = []
    for size in sizes:
        with fresh() as memory:
            people = list(_people(size // len(_SAYINGS)))
            values = _fill(memory, people, seed=report.seed)
            times, right, wrong = _ask(
                memory, people, values, questions=questions, seed=report.seed
            )
        taken = spread(times[5:])
        for key, figure in (
            ("p50_ms", taken.p50_ms),
            ("p95_ms", taken.p95_ms),
            ("right", right / questions),
            ("wrong", wrong / questions),
        ):
            report.put(f"scale.{size}.{key}", figure)
        rows.append(
            [
                f"{size:,}",
                f"{taken.p50_ms:.1f}",
                f"{taken.p95_ms:.1f}",
                percent(right / questions),
                percent(wrong / questions),
            ]
        )
    report.table(
        "Among many beliefs",
        ["beliefs", "match p50 ms", "p95 ms", "right belief retired, %", "another retired, %"],
        rows,
    )


def _people(count: int) -> Iterator[str]:
    """Names, many of which share a part."""
    for number in range(count):
        first, rest = _FIRST[number % len(_FIRST)], number // len(_FIRST)
        middle, rest = _MIDDLE[rest % len(_MIDDLE)], rest // len(_MIDDLE)
        last, rest = _LAST[rest % len(_LAST)], rest // len(_LAST)
        yield f"{first} {middle.capitalize()}{last}{_LAST[rest % len(_LAST)] if rest else ''}"


def _fill(memory: doxa.Memory, people: list[str], *, seed: int) -> dict[tuple[int, int], str]:
    """One belief for each person and saying, in large transactions."""
    chance = random.Random(seed)
    ledger = Ledger(memory.store, memory.identity)
    values = {
        (i, j): chance.choice(saying[2])
        for i in range(len(people))
        for j, saying in enumerate(_SAYINGS)
    }
    keys = list(values)
    for start in range(0, len(keys), _BATCH):
        with memory.store.write(memory.identity, op="fill") as tx:
            for i, j in keys[start : start + _BATCH]:
                text = _SAYINGS[j][0].format(people[i], values[i, j])
                ledger.upsert(
                    tx,
                    Kref(_PROJECT, (), f"p{i}-{j}", "fact"),
                    check_draft(Draft(text, project=_PROJECT, name=f"p{i}-{j}")),
                )
    return values


def _ask(
    memory: doxa.Memory,
    people: list[str],
    values: dict[tuple[int, int], str],
    *,
    questions: int,
    seed: int,
) -> tuple[list[float], int, int]:
    chance = random.Random(seed + 1)
    times: list[float] = []
    right = wrong = 0
    for number in range(questions + 5):
        i, j = chance.randrange(len(people)), chance.randrange(len(_SAYINGS))
        value = chance.choice([one for one in _SAYINGS[j][2] if one != values[i, j]])
        text = _SAYINGS[j][1].format(people[i], value)
        found: list[MatchResult] = []
        times.append(
            seconds_of(
                lambda text=text, into=found: into.append(  # type: ignore[misc]
                    match(memory.store, memory.recaller, text, project=_PROJECT)
                )
            )
        )
        retired = {
            one.item
            for one in found[0].proposals
            if one.relation in RETIRING and one.score >= REVISE_AT
        }
        if number >= 5:
            right += f"kref://{_PROJECT}/p{i}-{j}.fact" in retired
            wrong += bool(retired - {f"kref://{_PROJECT}/p{i}-{j}.fact"})
    return times, right, wrong
