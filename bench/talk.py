"""Updates among the turns of dialogues: the cases of tests/cases/updates_in_talk.txt, which were
written while the rule was, and of updates_in_talk_unseen.txt, which it was never fitted to.

**Claims true** is the share of the claims ("may update") that the case states, **updates first**
the share of questions about something replaced whose first hit is the turn that replaces it,
**non-updates harmed** the share of the other questions that have the right first hit without the
rule and a wrong one with it. Each dialogue is asked twice: in a project of its own, and in one
project with all others. `history` switches the rule off: turns have no history of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import doxa
from bench.metrics import paired_bootstrap
from bench.persistence_parts import fresh
from bench.report import Report, begin, points
from doxa.base.clock import FakeClock, parse_time
from doxa.models import Embedder
from doxa.recall import Hit

FOLDER = Path(__file__).parents[1] / "tests" / "cases"
SETS = {"fitted": "updates_in_talk.txt", "unseen": "updates_in_talk_unseen.txt"}
UPDATE = "update"
ALONE, TOGETHER = "alone", "together"
_START = parse_time("2026-01-05T09:00:00Z")
_NOW = parse_time("2026-06-01T09:00:00Z")
_MINUTE_NS, _WEEK_NS = 60 * 10**9, 7 * 86_400 * 10**9
_SIDES = frozenset(("user", "assistant"))
_TURN = re.compile(r"\[(?P<who>[^\]]+)\] (?P<text>.+)")
_CLAIM = re.compile(r"\b(?:may update|updates) (\S+?)[,;]?(?:\s|$)")
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the turns that may answer it first, by their number from 1."""

    text: str
    first: frozenset[int]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One case: its turns as (thread, speaker, minutes, text), what is asked, and which turn
    replaces which, chains included."""

    kind: str
    name: str
    turns: tuple[tuple[int, str, int, str], ...]
    asked: tuple[Asked, ...]
    replaced: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question gave: whether the first hit was right with the rule and without it, and the
    claims made, each as (later, earlier, whether it is true)."""

    dialogue: Dialogue
    question: Asked
    scope: str
    right: bool
    right_without: bool
    claims: tuple[tuple[str, str, bool], ...]
    first: int


def load(path: Path) -> list[Dialogue]:
    """Read the dialogues of a file. Raises ValueError for a block that is not one."""
    blocks = [
        [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))
    ]
    return [_dialogue(lines) for lines in blocks if lines]


def _dialogue(lines: Sequence[str]) -> Dialogue:
    kind, _, name = lines[0].partition(": ")
    turns: list[tuple[int, str, int, str]] = []
    asked: list[Asked] = []
    pairs: list[tuple[int, int]] = []
    question, thread = "", 0
    for line in lines[1:]:
        if match := _TURN.fullmatch(line):
            turns.append((thread, match["who"], len(turns), match["text"]))
        elif line.strip() == "...":
            thread += 1
        elif line.startswith("? "):
            question = line[2:]
        elif line.startswith("first: "):
            asked.append(Asked(question, frozenset(map(int, line[7:].split(",")))))
        elif line.startswith("replaces: "):
            pairs += [_pair(part) for part in line[10:].split(",")]
        else:
            raise ValueError(f"{name}: {line!r} is not a line of a dialogue.")
    if not turns or not asked or (kind == UPDATE) != bool(pairs):
        raise ValueError(f"{name}: turns, a question with `first`, and of an update `replaces`.")
    return Dialogue(kind, name, tuple(turns), tuple(asked), _chained(pairs))


def _pair(text: str) -> tuple[int, int]:
    later, _, earlier = text.partition(">")
    return int(later), int(earlier)


def _chained(pairs: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return frozenset(found)
        found |= more


def run(embedder: Embedder | None, *, seed: int) -> Report:
    """Ask every set that is there."""
    report = begin("talk", seed=seed, embedder=embedder)
    for name, file in SETS.items():
        if (FOLDER / file).exists():
            _measure(report, name, play(load(FOLDER / file), embedder))
    return report.end()


def play(dialogues: Sequence[Dialogue], embedder: Embedder | None) -> list[Outcome]:
    """Ask all questions, each dialogue alone and together with all others."""
    found = []
    with fresh(clock=FakeClock(_NOW), embedder=embedder) as memory:
        for number, dialogue in enumerate(dialogues):
            for project in (f"case{number}", TOGETHER):
                _tell(memory, dialogue, number, project=project)
        memory.embed()
        true = frozenset(
            (f"{number}:{later}", f"{number}:{earlier}")
            for number, dialogue in enumerate(dialogues)
            for later, earlier in dialogue.replaced
        )
        for number, dialogue in enumerate(dialogues):
            for question in dialogue.asked:
                for scope, project in ((ALONE, f"case{number}"), (TOGETHER, TOGETHER)):
                    found.append(_ask(memory, dialogue, question, number, scope, project, true))
    return found


def _tell(memory: doxa.Memory, dialogue: Dialogue, number: int, *, project: str) -> None:
    said = [
        {
            ("role" if who in _SIDES else "speaker"): who,
            "text": text,
            "id": f"{number}:{place}",
            "thread": f"{number}-{thread}",
            "time": _START + thread * _WEEK_NS + minute * _MINUTE_NS,
        }
        for place, (thread, who, minute, text) in enumerate(dialogue.turns, 1)
    ]
    memory.ingest(said, project=project, extract=False)


def _ask(
    memory: doxa.Memory,
    dialogue: Dialogue,
    question: Asked,
    number: int,
    scope: str,
    project: str,
    true: frozenset[tuple[str, str]],
) -> Outcome:
    hits = memory.recall(question.text, project=project).hits
    without = memory.recall(question.text, project=project, history=True).hits
    sources = {hit.kref: hit.source_id for hit in hits}
    claims = [
        (hit.source_id, sources.get(kref, kref)) for hit in hits for kref in _CLAIM.findall(hit.why)
    ]
    return Outcome(
        dialogue,
        question,
        scope,
        _first(hits, number) in question.first,
        _first(without, number) in question.first,
        tuple((later, earlier, (later, earlier) in true) for later, earlier in claims),
        _first(hits, number),
    )


def _first(hits: Sequence[Hit], number: int) -> int:
    return _place(hits[0].source_id, number) if hits else 0


def _place(source: str, number: int) -> int:
    """The number of a turn; 0 for one of another dialogue."""
    dialogue, _, place = source.partition(":")
    return int(place) if dialogue == str(number) else 0


def _measure(report: Report, name: str, outcomes: list[Outcome]) -> None:
    rows = []
    for scope in (ALONE, TOGETHER):
        own = [one for one in outcomes if one.scope == scope]
        updates = [one for one in own if one.dialogue.kind == UPDATE]
        others = [one for one in own if one.dialogue.kind != UPDATE]
        claims = [claim for one in own for claim in one.claims]
        harmed = [one.right_without and not one.right for one in others]
        figures = {
            "claims_true": [float(true) for *_, true in claims],
            "updates_claimed": [float(any(true for *_, true in one.claims)) for one in updates],
            "updates_first": [float(one.right) for one in updates],
            "updates_first_without": [float(one.right_without) for one in updates],
            "others_first": [float(one.right) for one in others],
            "others_harmed": [float(one) for one in harmed],
        }
        cells = [scope, str(len(claims))]
        for figure, values in figures.items():
            if not values:
                cells.append("–")
                continue
            groups = [str(place) for place in range(len(values))]
            interval = paired_bootstrap(values, groups, seed=report.seed)
            report.put_interval(f"{name}.{scope}.{figure}", interval)
            cells.append(points(interval).removeprefix("+"))
        report.put(f"{name}.{scope}.claims", len(claims))
        rows.append(cells)
    asked = sum(one.scope == ALONE for one in outcomes)
    report.table(
        f"Updates in talk, {name} (n = {asked} questions), percent with 95 % interval",
        [
            "dialogues",
            "claims",
            "claims true",
            "updates claimed",
            "updates first",
            "without the rule",
            "non-updates first",
            "non-updates harmed",
        ],
        rows,
    )
    if wrong := [_failure(one) for one in outcomes if name == "fitted" and _failed(one)]:
        report.table(
            "What goes wrong, fitted", ["dialogue", "how", "first hit", "claims"], wrong[:_SHOWN]
        )


def _failed(one: Outcome) -> bool:
    return not one.right or not all(true for *_, true in one.claims)


def _failure(one: Outcome) -> list[str]:
    claims = [
        f"{later} > {earlier}{'' if true else ' (false)'}" for later, earlier, true in one.claims
    ]
    wanted = " or ".join(map(str, sorted(one.question.first)))
    return [
        f"{one.dialogue.kind}: {one.dialogue.name}",
        one.scope,
        f"{one.first}, wanted {wanted}",
        "; ".join(claims) or "–",
    ]
