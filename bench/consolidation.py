"""Measures the validator of consolidation on claims whose sources are known.

    python -m bench.consolidation PATH/locomo_dev.json

LoCoMo's observations are facts that a language model drew from its conversations, each with the
turns that it is from. They are validated as published, and made false in five ways. Nothing in the
validator was chosen by them.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from doxa.consolidation.claims import why_unsupported
from doxa.consolidation.evidence import Evidence
from doxa.consolidation.transcript import SourceTurn

_ID = re.compile(r"D\d+:\d+")


class Observation(NamedTuple):
    speaker: str
    text: str
    sources: tuple[str, ...]


class Talk(NamedTuple):
    turns: dict[str, SourceTurn]
    observations: list[Observation]

    @property
    def speakers(self) -> list[str]:
        return sorted({turn.speaker for turn in self.turns.values()})

    def judge(self, text: str, sources: tuple[str, ...]) -> str:
        """Return why turns do not support a claim; empty if they do."""
        evidence = Evidence([self.turns[name] for name in sources], answered=frozenset())
        return why_unsupported(text, evidence, section="facts", participants=self.speakers)


def load(path: Path) -> Iterator[Talk]:
    for sample in json.loads(path.read_text()):
        held = sample["conversation"]
        turns: dict[str, SourceTurn] = {}
        for name in held:
            if re.fullmatch(r"session_\d+", name):
                said = datetime.strptime(held[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
                time_ns = int(said.replace(tzinfo=UTC).timestamp()) * 10**9
                turns |= {turn["dia_id"]: _turn(turn, time_ns) for turn in held[name]}
        yield Talk(turns, [one for one in _observations(sample) if set(one.sources) <= set(turns)])


def _turn(turn: dict[str, Any], time_ns: int) -> SourceTurn:
    text = f"{turn['text']} {turn.get('blip_caption') or ''}".strip()
    return SourceTurn(turn["dia_id"], turn["speaker"], "person", text, time_ns)


def _observations(sample: dict[str, Any]) -> Iterator[Observation]:
    for session in sample["observation"].values():
        for speaker, listed in session.items():
            for text, ids in listed:
                sources = tuple(_ID.findall(str(ids)))
                if sources:
                    yield Observation(speaker, text, sources)


def measure(talks: list[Talk], *, seed: int) -> dict[str, tuple[int, int]]:
    """Return by kind of claim how many were kept, of how many."""
    chance = random.Random(seed)
    kept: Counter[str] = Counter()
    tried: Counter[str] = Counter()

    def note(kind: str, talk: Talk, text: str, sources: tuple[str, ...]) -> bool:
        tried[kind] += 1
        kept[kind] += (right := not talk.judge(text, sources))
        return right

    for talk in talks:
        for one in talk.observations:
            own = [t.id for t in talk.turns.values() if t.speaker == one.speaker]
            others = [name for name in own if name not in one.sources]
            elsewhere = tuple(chance.sample(others, min(len(others), len(one.sources))))
            note("from another turn", talk, one.text, elsewhere)
            if note("as published", talk, one.text, one.sources):
                for kind, change in _FALSE.items():
                    note(kind, talk, change(one.text, talk, chance), one.sources)
    return {kind: (kept[kind], tried[kind]) for kind in tried}


def _swapped(text: str, talk: Talk, _: random.Random) -> str:
    one, other = talk.speakers[:2]
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def _spliced(text: str, talk: Talk, chance: random.Random) -> str:
    tail = chance.choice(talk.observations).text.partition(" ")[2]
    return f"{text.rstrip('.')}, and {tail}"


def _denied(text: str, _: Talk, __: random.Random) -> str:
    first, rest = text.split(" ", 1)
    return f"{first} never {rest}"


_FALSE: dict[str, Callable[[str, Talk, random.Random], str]] = {
    "speakers exchanged": _swapped,
    "another clause added": _spliced,
    "denied": _denied,
    "a place added": lambda text, _, __: f"{text.rstrip('.')} in Boston.",
}


def main() -> None:
    for kind, (kept, tried) in measure(list(load(Path(sys.argv[1]))), seed=1).items():
        print(f"{kind:24} {kept:4} of {tried:4} kept  {100 * kept / max(1, tried):5.1f} %")


if __name__ == "__main__":
    main()
