"""Are dream's proposals right? Runs it over conversations and lists what it proposes.

    python -m bench.dream DATA --half looked            what it proposes, to look at while working
    python -m bench.dream DATA --half held --unlabelled  what awaits a label
    python -m bench.dream DATA                           precision of the held-out half, by kind
    python -m bench.dream --worlds                       precision on the memories of bench/worlds

DATA holds locomo/, realmem/ and statebench/. The worlds are LoCoMo's conversations with their
published observations as beliefs, RealMem's dialogues with each sentence of a user as a belief, as
an agent stores it that remembers everything, and the writes of StateBench's timelines as separate
beliefs. Half of the worlds, by a hash of their names, are for looking; rules may be
changed by them. The others are held out: a sample of their proposals is labelled by hand
(bench/labels/dream.jsonl), and nothing is chosen by them.

The memories of bench/worlds/dream.txt are of another kind: small, and written by an author who had
read no rule. Each proposal for them is labelled by itself (bench/labels/dream_worlds.jsonl), in an
order drawn by lot and without its reason.

A proposal is right if a careful person who reads what it concerns would do as it says. Labels
name proposals by a digest and repeat nothing of the data.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import statebench
from bench.corpora import load_locomo
from bench.dream_worlds import build, read_worlds
from bench.metrics import wilson
from bench.persistence_parts import fresh
from bench.realmem import read_dialogues
from doxa import Memory
from doxa.base.clock import FakeClock, parse_time
from doxa.language.assertion import why_unasserted
from doxa.language.lint.complete import statement_problem
from doxa.language.sentences import sentence_spans
from doxa.language.turns import Turn

LABELS = Path(__file__).parent / "labels" / "dream.jsonl"
WORLD_LABELS = LABELS.with_name("dream_worlds.jsonl")
_TURN_ID = re.compile(r"D\d+:\d+")


class Proposed(NamedTuple):
    """A proposal of a world: its kind, its reason, and the texts that it concerns."""

    world: str
    kind: str
    reason: str
    texts: tuple[str, ...]

    @property
    def digest(self) -> str:
        texts = () if self.kind == "gap" else sorted(self.texts)  # a gap's reason names it
        said = json.dumps([self.world, self.kind, self.reason, *texts])
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


def is_held_out(world: str) -> bool:
    return hashlib.blake2b(world.encode(), digest_size=1).digest()[0] % 2 == 1


def worlds(data: Path) -> Iterator[tuple[str, list[Turn], list[tuple[str, str]]]]:
    """Yield each world: its name, its turns, and its beliefs with the times of their writing."""
    file = next((data / "locomo").glob("*.json"))
    samples = json.loads(file.read_text())
    for number, corpus in enumerate(load_locomo(file)):
        yield f"locomo-{number}", list(corpus.turns), list(_observations(samples[number]))
    for path in sorted((data / "realmem").glob("*.json")):
        turns, _ = read_dialogues(json.loads(path.read_text())["dialogues"])
        by_session: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            by_session[turn.session].append(turn)
        names = list(by_session)
        for first in range(0, len(names), 10):
            part = [turn for name in names[first : first + 10] for turn in by_session[name]]
            yield f"realmem-{path.stem}-{first}", part, list(_sentences(part))
    for timeline in statebench.load(data / "statebench"):
        yield f"statebench-{timeline['id']}", [], list(_writes(timeline))


def _sentences(turns: list[Turn]) -> Iterator[tuple[str, str]]:
    for turn in turns:
        if turn.role == "user":
            for start, end in sentence_spans(turn.text):
                text = turn.text[start:end].strip()
                if not statement_problem(text) and not why_unasserted(text):
                    yield text, ""


def _observations(sample: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, speakers in sample["observation"].items():
        session = name.removesuffix("_observation")
        for told in speakers.values():
            for text, _ in told:
                yield str(text), session


def _writes(timeline: dict[str, Any]) -> Iterator[tuple[str, str]]:
    start = timeline["initial_state"]["environment"]["now"]
    for fact in timeline["initial_state"]["persistent_facts"]:
        yield _text(fact), start
    for event in timeline["events"]:
        for write in event.get("writes", ()):
            yield _text(write), event["ts"]


def _text(write: dict[str, Any]) -> str:
    value = write.get("value", write.get("content", ""))
    return value if isinstance(value, str) else json.dumps(value)


def dreamt(world: str, turns: list[Turn], beliefs: list[tuple[str, str]]) -> list[Proposed]:
    """Return what a dream proposes of a world."""
    clock = FakeClock()
    with fresh(clock=clock, embedder=None) as memory:
        if turns:
            memory.ingest(turns)
        for number, (text, at) in enumerate(beliefs):
            if at[:4].isdigit():
                clock.set(parse_time(at))
            memory.expand(text, name=f"b{number}")
        clock.advance(days=30)
        return _dreamt(memory, world)


def _dreamt(memory: Memory, world: str) -> list[Proposed]:
    memory.dream(all_kinds=True)
    return [
        Proposed(world, one.kind, one.reason, tuple(_said(memory, kref) for kref in one.about))
        for one in memory.proposals(state="", limit=10_000)
    ]


def _said(memory: Memory, kref: str) -> str:
    with memory.store.read() as reader:
        node = reader.node_by_kref(kref)
        assert node is not None
        return str(node.props.get("summary") or node.props.get("name") or kref)


def proposed_of_worlds() -> Iterator[Proposed]:
    """Yield what dreams propose for the memories of bench/worlds/dream.txt."""
    for world in read_worlds():
        clock = FakeClock()
        with fresh(clock=clock, embedder=None) as memory:
            build(memory, clock, world)
            yield from _dreamt(memory, world.title)


def labels(path: Path = LABELS) -> dict[str, bool]:
    """Return whether each labelled proposal is right, by digest."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["digest"]: row["right"] for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--half", choices=("looked", "held"))
    parser.add_argument("--unlabelled", action="store_true")
    parser.add_argument("--worlds", action="store_true", help="the memories of bench/worlds")
    given = parser.parse_args()
    if given.worlds:
        known, found = labels(WORLD_LABELS), proposed_of_worlds()
    elif given.data is None:
        parser.error("name the folder of the data, or --worlds")
    else:
        known, found = labels(), _of_data(given.data, held=given.half != "looked")
    counted: dict[str, list[bool | None]] = defaultdict(list)
    for one in found:
        counted[one.kind].append(known.get(one.digest))
        if (given.half or given.unlabelled) and not (given.unlabelled and one.digest in known):
            print(json.dumps([one.digest, *one]), flush=True)
    for kind, verdicts in sorted(counted.items()):
        print(f"{kind}: {len(verdicts)} proposed, {precision(verdicts)}")


def _of_data(data: Path, *, held: bool) -> Iterator[Proposed]:
    for world, turns, beliefs in worlds(data):
        if is_held_out(world) == held:
            yield from dreamt(world, turns, beliefs)


def precision(verdicts: Sequence[bool | None]) -> str:
    """Say how many of the labelled ones are right, with an interval of 95 %."""
    labelled = [one for one in verdicts if one is not None]
    if not labelled:
        return "none labelled"
    right = sum(labelled)
    low, high = wilson(right, len(labelled))
    return (
        f"{len(labelled)} labelled, {right} right: {right / len(labelled):.1%}"
        f" [{low:.1%}, {high:.1%}]"
    )


if __name__ == "__main__":
    main()
