"""The injection gate: which messages bring in what was said before, and at what price.

    needed      a question with evidence in the conversation: LoCoMo, BEAM, and the requests of
                RealMem, asked as of their moment
    not needed  ordinary messages of the same conversations, asked as of their moment; questions
                about another conversation with this one's names, and those that BEAM wants declined

By gate: how many needed questions it opens for, in how many of them the evidence is among the first
three, how many of the others it opens for, and the tokens that it brings into each of those. The
published gate compares a raw distance with 1.0, or 1.3 in a memory of fewer than 2,000 exchanges.
Levels of answerability were fitted on the developers' parts of LoCoMo and BEAM: figures on those
flatter what uses them; RealMem had no part in it.

Noise: how many of the first three hits the noise filter takes away, with evidence and without.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from bench.corpora import ADVERSARIAL, Corpus, load_beam, load_locomo
from bench.metrics import mean, tokens_of
from bench.persistence_parts import fresh
from bench.precision import renamed
from bench.realmem import read_dialogues
from bench.report import Report, begin, percent
from doxa.agent.context.gate import (
    asks_for_the_past,
    denies_memory,
    is_noise,
    proper_nouns,
    question_of,
    requests,
)
from doxa.app import Memory
from doxa.language.turns import Turn
from doxa.models import Embedder

_T = TypeVar("_T")
_SHOWN, _READ, _NAMED = 3, 12, 10
_NEAR, _NEAR_IN_SMALL, _SMALL = 1.0, 1.3, 2_000
_ORDINARY = 60  # messages drawn from each conversation
_ASKED = 60  # questions drawn from each conversation
GATES = (
    "always",
    "asks",
    "names",
    "distance",
    "published",
    "strict",
    "stands out",
    "stands out or asks",
    "stands out or names",
    "stands out and requests",
    "stands out, high",
)
_STRICT = frozenset(one for one in GATES if one.startswith(("strict", "stands")))


class Tried(NamedTuple):
    """One message: the gates that open, whether evidence is among the first hits, what these hits
    cost, and which of them the noise filter takes away."""

    needed: bool
    opened: frozenset[str]
    found: bool
    found_strict: bool
    tokens: int
    hits: int
    noise: int
    noise_gold: int


def run(data: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("injection", seed=seed, embedder=embedder)
    for name, tried in _sets(data, embedder, seed).items():
        needed = [one for one in tried if one.needed]
        others = [one for one in tried if not one.needed]
        if not needed or not others:
            continue
        rows = []
        for gate in GATES:
            strict = gate in _STRICT
            figures = {
                "needed": mean([float(gate in one.opened) for one in needed]),
                "evidence": mean(
                    [
                        float(gate in one.opened and (one.found_strict if strict else one.found))
                        for one in needed
                    ]
                ),
                "not_needed": mean([float(gate in one.opened) for one in others]),
                "tokens": mean([one.tokens * float(gate in one.opened) for one in others]),
            }
            for key, value in figures.items():
                report.put(f"{name}.{gate.replace(' ', '_')}.{key}", value)
            shares = [percent(figures[key]) for key in ("needed", "evidence", "not_needed")]
            rows.append([gate, *shares, f"{figures['tokens']:.0f}"])
        report.table(
            f"{name}: {len(needed)} messages that need memory, {len(others)} that do not",
            ["gate", "opens, needed", "evidence @3", "opens, not needed", "tokens per message"],
            rows,
        )
        hits = sum(one.hits for one in tried)
        report.put(f"{name}.noise.hits", sum(one.noise for one in tried) / max(1, hits))
        report.put(f"{name}.noise.evidence_n", sum(one.noise_gold for one in tried))
        report.table(
            f"{name}: noise filter",
            ["hits", "taken away", "of them evidence"],
            [
                [
                    str(hits),
                    str(sum(one.noise for one in tried)),
                    str(sum(one.noise_gold for one in tried)),
                ]
            ],
        )
    return report.end()


def _sets(data: Path, embedder: Embedder | None, seed: int) -> dict[str, list[Tried]]:
    found: dict[str, list[Tried]] = {"locomo": [], "beam": [], "realmem": []}
    rng = random.Random(seed)
    corpora = load_locomo(data / "locomo") if (data / "locomo").exists() else []
    for place, corpus in enumerate(corpora):
        other = corpora[(place + 1) % len(corpora)]
        foreign = [
            renamed(one.text, other.speakers, corpus.speakers)
            for one in other.questions
            if one.category != ADVERSARIAL
        ]
        found["locomo"] += _conversation(corpus, foreign, embedder, rng)
    for corpus in load_beam(data / "beam") if (data / "beam").exists() else []:
        declined = [one.text for one in corpus.unlabelled]
        found["beam"] += _conversation(corpus, declined, embedder, rng)
    for file in sorted((data / "realmem").glob("*_dialogues_*.json")):
        found["realmem"] += _months(file, embedder, rng)
    return found


def _conversation(
    corpus: Corpus, foreign: Sequence[str], embedder: Embedder | None, rng: random.Random
) -> Iterator[Tried]:
    with fresh(embedder=embedder) as memory:
        memory.ingest(corpus.turns, extract=False)
        memory.embed()
        asked = [one for one in corpus.questions if one.gold and one.category != ADVERSARIAL]
        for one in _drawn(asked, _ASKED, rng):
            yield _tried(memory, one.text, len(corpus.turns), gold=one.gold)
        for text in _drawn(foreign, _ASKED, rng):
            yield _tried(memory, text, len(corpus.turns))
        said = [turn for turn in corpus.turns if turn.role != "assistant"]
        for turn in _drawn(said, _ORDINARY, rng):
            yield _tried(memory, turn.text, len(corpus.turns), before=turn)


def _months(file: Path, embedder: Embedder | None, rng: random.Random) -> Iterator[Tried]:
    turns, asked = read_dialogues(json.loads(file.read_text())["dialogues"])
    requests = {(question.text, time_ns) for question, time_ns, _ in asked}
    with fresh(embedder=embedder) as memory:
        memory.ingest(turns, extract=False)
        memory.embed()
        for question, time_ns, own in _drawn(asked, 2 * _ASKED, rng):
            yield _tried(
                memory, question.text, len(turns), gold=question.gold, until=time_ns - 1, own=own
            )
        ordinary = [
            one for one in turns if one.role == "user" and (one.text, one.time_ns) not in requests
        ]
        for turn in _drawn(ordinary, 2 * _ORDINARY, rng):
            yield _tried(memory, turn.text, len(turns), before=turn, own=turn.session)


def _drawn(items: Sequence[_T], count: int, rng: random.Random) -> list[_T]:
    return rng.sample(list(items), min(count, len(items)))


def _tried(
    memory: Memory,
    text: str,
    size: int,
    *,
    gold: frozenset[str] = frozenset(),
    until: int | None = None,
    before: Turn | None = None,
    own: str = "",
) -> Tried:
    """Ask one message. `own`: the session that an agent has before its eyes; gold then names
    sessions."""
    if before is not None and before.time_ns is not None:
        until = before.time_ns - 1
    question = question_of(text)
    if not question:
        return Tried(bool(gold), frozenset(), False, False, 0, 0, 0, 0)
    strict = memory.recall(question, kinds=("exchange",), limit=_READ, strict=True, until=until)
    loose = memory.recall(question, kinds=("exchange",), limit=_READ, until=until)

    def kept(found: object) -> list[tuple[str, str]]:
        return [
            (hit.source_id.partition(":")[0] if own else hit.source_id, hit.text)
            for hit in found.hits  # type: ignore[attr-defined]
            if not own or hit.source_id.partition(":")[0] != own
        ]

    near, far = kept(strict)[:_SHOWN], kept(loose)[:_SHOWN]
    cosine = max((hit.lanes.get("meaning", -1.0) for hit in loose.hits), default=-1.0)
    distance = math.sqrt(max(0.0, 2 - 2 * cosine))
    names = [name.casefold() for name in proper_nouns(text)]
    held = [said.casefold() for _, said in kept(loose)[:_NAMED]]
    opened = {"always"} if far else set()
    opened |= {"asks"} if far and asks_for_the_past(text) else set()
    opened |= {"names"} if any(name in said for name in names for said in held) else set()
    limit = _NEAR_IN_SMALL if size < _SMALL else _NEAR
    opened |= {"distance"} if far and distance < limit else set()
    opened |= {"published"} if opened & {"asks", "names", "distance"} else set()
    opened |= {"strict"} if near else set()
    opened |= {"stands out"} if near and strict.answerable_level != "low" else set()
    opened |= {"stands out or asks"} if near and opened & {"stands out", "asks"} else set()
    opened |= {"stands out or names"} if near and opened & {"stands out", "names"} else set()
    opened |= {"stands out and requests"} if "stands out" in opened and requests(text) else set()
    opened |= {"stands out, high"} if near and strict.answerable_level == "high" else set()
    noisy = [(one, said) for one, said in near if is_noise(said) or denies_memory(said)]
    return Tried(
        bool(gold),
        frozenset(opened),
        any(one in gold for one, _ in far),
        any(one in gold for one, _ in near),
        sum(tokens_of(said) for _, said in near),
        len(near),
        len(noisy),
        sum(one in gold for one, _ in noisy),
    )
