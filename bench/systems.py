"""One store of doxa and the plain baselines over the same turns, asked the same questions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import doxa
from bench.baselines import Plain
from bench.extractive import TURNS_READ, read_answer
from bench.metrics import tokens_of, within_budget
from doxa.language.turns import Turn
from doxa.models import Embedder
from doxa.recall import Ask, Recall

DOXA = "doxa"
LANES: dict[str, tuple[str, ...]] = {
    DOXA: tuple(Ask("").lanes),
    "doxa_words": ("words",),
    "doxa_meaning": ("meaning",),
}
CONTROLS = frozenset({"unusual"})
ANSWERABLE = "answerable"
# the extractive reader over doxa's recall, whatever recall says of whether there is an answer
ALWAYS = "doxa_always_answering"
Rankings = dict[str, list[str]]


# of a hit, on average: so many hits are asked for as a budget has room for; where that was too few,
# a thousand
_TOKENS_LEAST = 10
_DEEP, _DEEPEST = 200, 1_000


class Systems:
    """Doxa by all lanes and by each alone, and every baseline. Made by `opened`."""

    def __init__(
        self, memory: doxa.Memory, turns: Sequence[Turn], *, plain: Plain, embedded: bool
    ) -> None:
        self._memory = memory
        self._plain = plain
        self._turns = {turn.source_id: turn for turn in turns}
        self._texts = {turn.source_id: turn.text for turn in turns}
        self._lanes = (
            LANES if embedded else {DOXA: tuple(lane for lane in LANES[DOXA] if lane != "meaning")}
        )
        self._asked: tuple[str, dict[object, Recall]] = (
            "",
            {},
        )  # the answers to the last question: several measures look at the same one

    @property
    def tokens(self) -> int:
        """Of all turns together."""
        return sum(map(tokens_of, self._texts.values()))

    def rankings(
        self,
        question: str,
        *,
        limit: int,
        plain_limit: int | None = None,
        until_ns: int | None = None,
    ) -> Rankings:
        """The first `limit` source ids by every system; of the baselines the first `plain_limit`,
        if given. With `until_ns`, only of turns that were said before it."""
        found = {
            name: _names(self._recall(question, limit=limit, lanes=lanes, until_ns=until_ns))
            for name, lanes in self._lanes.items()
        }
        for name, ranking in self._plain.rankings(question).items():
            if until_ns is not None:
                ranking = [one for one in ranking if (self._turns[one].time_ns or 0) < until_ns]
            found[name] = ranking[: plain_limit or limit]
        return found

    def ask(self, question: str, *, limit: int = 10) -> Recall:
        """Doxa's answer by its default lanes."""
        return self._recall(question, limit=limit, lanes=self._lanes[DOXA])

    def within(self, question: str, *, tokens_max: int) -> Recall:
        """Doxa's answer within a token budget, which it keeps itself."""
        deep = min(_DEEPEST, max(_TOKENS_LEAST, tokens_max // _TOKENS_LEAST))
        answer = self._recall(question, limit=deep, lanes=self._lanes[DOXA], tokens_max=tokens_max)
        return (
            answer
            if len(answer.hits) < deep
            else self._recall(
                question, limit=_DEEPEST, lanes=self._lanes[DOXA], tokens_max=tokens_max
            )
        )

    def budgeted(
        self, question: str, plain: Rankings, budgets: Sequence[int]
    ) -> dict[int, Rankings]:
        """What fits each token budget whole: doxa keeps its own; its single lanes and the baselines
        are cut by the same count over the same texts, which for a lane is what its own budget would
        leave."""
        found: dict[int, Rankings] = {}
        lanes = {
            name: _names(self._recall(question, limit=_DEEP, lanes=lanes))
            for name, lanes in self._lanes.items()
            if name != DOXA
        }
        for tokens_max in budgets:
            whole = {
                DOXA: [
                    hit.source_id
                    for hit in self.within(question, tokens_max=tokens_max).hits
                    if not hit.truncated
                ]
            }
            rankings = {
                name: lanes.get(name, ranking) for name, ranking in plain.items() if name != DOXA
            }
            found[tokens_max] = whole | {
                name: within_budget(ranking, self._texts, tokens_max)
                for name, ranking in rankings.items()
            }
        return found

    def signals(self, question: str) -> dict[str, float]:
        """What each says of whether memory holds an answer, higher for rather yes: doxa's own
        estimate, and plain signs of it."""
        answer = self.ask(question)
        found = {ANSWERABLE: answer.answerable_score}
        found["best score"] = max((hit.score for hit in answer.hits), default=0.0)
        found["best words coverage"] = max(
            (hit.lanes.get("words", 0.0) for hit in answer.hits), default=0.0
        )
        if len(self._lanes) > 1:
            found["best meaning"] = max(
                (hit.lanes.get("meaning", -1.0) for hit in answer.hits), default=-1.0
            )
        return found | {
            f"baseline.{name}": value for name, value in self._plain.signals(question).items()
        }

    def answers(self, question: str, rankings: Rankings) -> dict[str, str]:
        """What the extractive reader makes of the first turns of each system. Only doxa can say
        that memory holds no answer."""
        sure = {DOXA: self.ask(question).answerable_score}
        rankings = {**rankings, ALWAYS: rankings[DOXA]}
        turns = {
            name: [self._turns[one] for one in ranking[:TURNS_READ]]
            for name, ranking in rankings.items()
        }
        return {
            name: read_answer(question, found, answerable=sure.get(name))
            for name, found in turns.items()
        }

    def _recall(
        self,
        question: str,
        *,
        limit: int,
        lanes: Sequence[str],
        tokens_max: int | None = None,
        until_ns: int | None = None,
    ) -> Recall:
        if self._asked[0] != question:
            self._asked = (question, {})
        held, key = self._asked[1], (limit, tuple(lanes), tokens_max, until_ns)
        if key not in held:
            held[key] = self._memory.recall(
                question,
                limit=limit,
                kinds=("exchange",),
                lanes=lanes,
                tokens_max=tokens_max,
                until=until_ns,
            )
        return held[key]


def _names(answer: Recall) -> list[str]:
    return [hit.source_id for hit in answer.hits if not hit.truncated]


@contextmanager
def opened(
    turns: Sequence[Turn], embedder: Embedder | None, *, seed: int, unusual: bool = False
) -> Iterator[Systems]:
    """A fresh store in a temporary folder, filled with the turns in their order and embedded,
    next to the baselines."""
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "memory.db", embedder=embedder, background=False) as memory,
    ):
        taken = memory.ingest(turns, extract=False)
        assert taken.added == len(turns), "every turn of a data set becomes one exchange"
        memory.embed()
        assert embedder is None or memory.pending() == 0
        yield Systems(
            memory,
            turns,
            plain=Plain(turns, embedder, seed=seed, unusual=unusual),
            embedded=embedder is not None,
        )
