"""Measures the validator of consolidation on claims whose sources are known.

    python -m bench.consolidation DATA

DATA is the folder with the sets `locomo` and `realmem`. LoCoMo's observations are facts that a
language model drew from its conversations, each with the turns that it is from. They are validated
as published, and made false in five ways. Nothing in the validator was chosen by them. The
structures in bench/structures were written by hand; what the validator left out of them was read,
so that their share is not a test of it. The claims in bench/claims were written after the rules.
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

from bench.corpora import load_locomo
from bench.realmem import read_dialogues
from doxa.consolidation.claims import why_unsupported
from doxa.consolidation.evidence import ClaimEvidence
from doxa.consolidation.structure import SECTIONS, entries, read_structure
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.consolidation.validate import validate
from doxa.language.turns import Turn

_STRUCTURES = Path(__file__).parent / "structures"
_CLAIMS = Path(__file__).parent / "claims" / "fresh.json"
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
        evidence = ClaimEvidence([self.turns[name] for name in sources], answered=frozenset())
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
    first, _space, rest = text.partition(" ")
    return f"{first} never {rest}"


_FALSE: dict[str, Callable[[str, Talk, random.Random], str]] = {
    "speakers exchanged": _swapped,
    "another clause added": _spliced,
    "denied": _denied,
    "a place added": lambda text, _, __: f"{text.rstrip('.')} in Boston.",
}


def recorded(data: Path, structures: Path = _STRUCTURES) -> dict[str, Counter[str]]:
    """Return by set how many entries of the structures that people wrote are kept (""), and how
    many are left out, by reason; of those kept, how many fields were emptied ("*_of_field")."""
    talks = {corpus.name: corpus.turns for corpus in load_locomo(data / "locomo")}
    for file in sorted((data / "realmem").glob("*_dialogues_*.json")):
        turns, _ = read_dialogues(json.loads(file.read_text())["dialogues"])
        talks[file.name.partition("_dialogues_")[0]] = tuple(turns)
    found: dict[str, Counter[str]] = {}
    for path in sorted(structures.glob("*.json")):
        held = json.loads(path.read_text())
        for session, given in held["sessions"].items():
            turns = [turn for turn in talks[held["conversation"]] if turn.session == session]
            structure, _ = read_structure(given)
            validated = validate(structure, _transcript(held["conversation"], session, turns))
            counts = found.setdefault(path.stem, Counter())
            counts[""] += sum(1 for _ in entries(validated.structure))
            counts.update(validated.dropped)
    return found


def claims(path: Path = _CLAIMS) -> Iterator[tuple[str, bool, str]]:
    """Yield of each claim written for its turns what it tries, whether it is true, and why it is
    left out, or nothing."""
    held = json.loads(path.read_text())
    time_ns = int(datetime.fromisoformat(held["day"] + "T12:00+00:00").timestamp()) * 10**9
    for pair in held["pairs"]:
        turns = []
        for number, line in enumerate(pair["turns"], start=1):
            said_by, text = line.split(": ", 1)
            role = said_by if said_by == "user" else "person"
            turns.append(SourceTurn(f"t{number}", said_by, role, text, time_ns + number))
        everybody = "Rosa Karl Hanna Emil user assistant".split()
        turns += [
            SourceTurn(f"other{number}", name, "person", "Hello there.", time_ns + 100 + number)
            for number, name in enumerate(everybody)
        ]
        named = SECTIONS[pair["section"]][1]
        ids = [turn.id for turn in turns if turn.id.startswith("t")]
        given = {pair["section"]: [{named: pair["claim"], "sources": ids}]}
        talk = Transcript("bench", "kref://bench/conversations/x.thread", "x", tuple(turns))
        found = validate(given, talk)
        yield f"{pair['what']}: {pair['claim']}", pair["true"], next(iter(found.dropped), "")


def _transcript(name: str, session: str, turns: list[Turn]) -> Transcript:
    said = tuple(
        SourceTurn(one.source_id, one.speaker, one.role, one.text, one.time_ns or 0)
        for one in turns
    )
    return Transcript("bench", f"kref://bench/conversations/{name}.thread", session, said)


def main() -> None:
    data = Path(sys.argv[1])
    talks = list(load(data / "locomo" / "locomo_dev.json"))
    for kind, (kept, tried) in measure(talks, seed=1).items():
        print(f"{kind:24} {kept:4} of {tried:4} kept  {100 * kept / max(1, tried):5.1f} %")
    for name, counts in recorded(data).items():
        entered = sum(count for reason, count in counts.items() if not reason.endswith("_of_field"))
        kept = counts.pop("")
        print(f"{name:24} {kept:4} of {entered:4} kept  {100 * kept / entered:5.1f} %  {counts}")
    judged = list(claims())
    for truth in (True, False):
        kept = sum(1 for _, true, reason in judged if true is truth and not reason)
        tried = sum(1 for _, true, _ in judged if true is truth)
        print(f"{'fresh, true' if truth else 'fresh, false':24} {kept:4} of {tried:4} kept")
    for what, truth, reason in judged:
        if truth is bool(reason):
            print(f"    {'left out' if truth else 'kept'}  {what}  {reason}")


if __name__ == "__main__":
    main()
