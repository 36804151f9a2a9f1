"""The three sets of quality held open, so that many configurations of recall can be asked the same
questions: texts are embedded once.

    locomo    turn evidence recall@10, categories 1-4       p1, p2    LoCoMo-Plus cue hit@10
    beam    message evidence recall@10

P1 wants a store for each cue; here each is a project of one file, which has statistics of its own
just the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import doxa
from bench import sets_realmem, sets_statebench
from bench.corpora import (
    ADVERSARIAL,
    Corpus,
    Question,
    gold_of,
    load_beam,
    load_cues,
    load_locomo,
    numbered,
    prefixed,
    with_cues,
)
from bench.metrics import any_at, mean, recall_at
from bench.sets_asked import Asked
from doxa.language.turns import Turn
from doxa.models import Embedder
from doxa.recall import Hit

FIRST = 10
QUALITY = ("locomo", "locomo-plus", "beam")
SETS = (*QUALITY, "realmem", "statebench")
TITLES = {
    "locomo": "LoCoMo, turn recall@10",
    "p1": "LoCoMo-Plus P1, hit@10",
    "p2": "LoCoMo-Plus P2, hit@10",
    "beam": "BEAM, message recall@10",
    **sets_realmem.TITLES,
    **sets_statebench.TITLES,
}
DEPTHS = dict.fromkeys(sets_statebench.TITLES, sets_statebench.FIRST)  # where it is not FIRST
_OF_TURNS: dict[str, Any] = {"kinds": ("exchange",), "limit": FIRST}


@dataclass(frozen=True, slots=True)
class Found:
    """What one configuration gave: by set, a value for each question; and the scores of its first
    hits, to see what changes them."""

    values: dict[str, list[float]]
    scores: dict[str, list[tuple[float, ...]]]

    def means(self) -> dict[str, float]:
        return {name: mean(values) for name, values in self.values.items()}

    def changed(self, other: Found) -> int:
        """How many questions have other scores."""
        return sum(
            a != b
            for name, scores in self.scores.items()
            for a, b in zip(scores, other.scores[name], strict=True)
        )


class Sets:
    """Questions by set, over stores that are open. Made by `opened_sets`."""

    def __init__(self, asked: dict[str, list[Asked]]) -> None:
        self.asked = asked

    def ask(self, **options: Any) -> Found:
        """Every question with these options of `Memory.recall`."""
        found = Found({}, {})
        for name, questions in self.asked.items():
            answers = [one.recall(options).hits for one in questions]
            found.values[name] = [
                one.value(hits) for one, hits in zip(questions, answers, strict=True)
            ]
            found.scores[name] = [tuple(hit.score for hit in hits) for hits in answers]
        return found

    def groups(self, name: str) -> list[str]:
        return [one.group for one in self.asked[name]]


@contextmanager
def opened_sets(
    data: Path,
    embedder: Embedder | None,
    *,
    names: Sequence[str] = QUALITY,
    mentions: bool = False,
    fields: bool = True,
) -> Iterator[Sets]:
    """What of the named sets is below a folder; one that is not there is left out. `mentions`
    records the names in turns and beliefs; without `fields`, notes and states have none."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def store(name: str, projects: dict[str, Sequence[Turn]]) -> doxa.Memory:
            memory = stack.enter_context(
                doxa.open(folder / f"{name}.db", embedder=embedder, background=False)
            )
            for project, turns in projects.items():
                taken = memory.ingest(turns, project=project, extract=False)
                assert taken.added == len(turns), (
                    "every turn of a data set becomes one exchange, in every project again"
                )
                if mentions:
                    memory.record_mentions(project=project)
            memory.embed()
            return memory

        asked: dict[str, list[Asked]] = {}
        present = [name for name in names if (data / name).exists()]
        talks = load_locomo(data / "locomo") if (data / "locomo").exists() else []
        if "locomo" in present:
            asked["locomo"] = [
                one
                for talk in talks
                for one in _of(store(f"locomo-{talk.name}", {talk.name: talk.turns}), talk)
            ]
        if talks and "locomo-plus" in present:
            asked |= _cues(data / "locomo-plus", numbered(talks), store)
        if "beam" in present:
            asked["beam"] = [
                one
                for chat in load_beam(data / "beam")
                for one in _of(store(chat.name, {chat.name: chat.turns}), chat)
            ]
        if "realmem" in present:
            asked |= sets_realmem.opened(stack, data / "realmem", embedder, fields=fields)
        if "statebench" in present:
            asked |= sets_statebench.opened(stack, data / "statebench", embedder, fields=fields)
        yield Sets({name: questions for name, questions in asked.items() if questions})


def _asked(
    memory: doxa.Memory,
    project: str,
    question: Question,
    group: str,
    measure: Callable[[Sequence[str], frozenset[str], int], float] = recall_at,
) -> Asked:
    def value(hits: Sequence[Hit]) -> float:
        return measure([hit.source_id for hit in hits], question.gold, FIRST)

    return Asked(memory, project, question.text, group, value, _OF_TURNS)


def _of(memory: doxa.Memory, corpus: Corpus) -> Iterator[Asked]:
    return (
        _asked(memory, corpus.name, question, corpus.name)
        for question in corpus.questions
        if question.category != ADVERSARIAL
    )


def _cues(
    path: Path,
    bases: dict[int, Corpus],
    store: Callable[[str, dict[str, Sequence[Turn]]], doxa.Memory],
) -> dict[str, list[Asked]]:
    cues = [cue for cue in load_cues(path) if cue.base in bases]
    single, pooled = [], []
    turns: list[Turn] = []
    for number, base in bases.items():
        own = [cue for cue in cues if cue.base == number]
        memory = store(f"p1-{number}", {f"cue-{cue.index}": with_cues(base, [cue]) for cue in own})
        single += [
            _asked(
                memory,
                f"cue-{cue.index}",
                Question(cue.question, gold_of(cue), cue.relation),
                base.name,
                any_at,
            )
            for cue in own
        ]
        turns += prefixed(with_cues(base, own))
        pooled += [
            (Question(cue.question, gold_of(cue, f"{base.name}/"), cue.relation), base.name)
            for cue in own
        ]
    memory = store("p2", {"all": turns})
    return {
        "p1": single,
        "p2": [_asked(memory, "all", question, group, any_at) for question, group in pooled],
    }
