"""One store of doxa and the plain baselines over the same turns, asked the same questions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import doxa
from bench.baselines import Plain
from bench.metrics import within_budget
from doxa.curation.turns import Turn
from doxa.models import Embedder

DOXA = "doxa"
LANES: dict[str, tuple[str, ...]] = {DOXA: ("words", "meaning"), "doxa_words": ("words",), "doxa_meaning": ("meaning",)}
CONTROLS = frozenset({"unusual"})
Rankings = dict[str, list[str]]


class Systems:
    """Doxa by both lanes and by each alone, and every baseline. Made by `opened`."""

    def __init__(self, memory: doxa.Memory, turns: Sequence[Turn], *, plain: Plain, embedded: bool) -> None:
        self._memory = memory
        self._plain = plain
        self._texts = {turn.source_id: turn.text for turn in turns}
        self._lanes = LANES if embedded else {"doxa": ("words",)}

    def rankings(self, question: str, *, limit: int, plain_limit: int | None = None) -> Rankings:
        """The first `limit` source ids by every system; of the baselines the first `plain_limit`, if given."""
        found = {name: self._recall(question, limit=limit, lanes=lanes) for name, lanes in self._lanes.items()}
        found.update({name: ranking[: plain_limit or limit] for name, ranking in self._plain.rankings(question).items()})
        return found

    def budgeted(self, question: str, rankings: Rankings, *, tokens_max: int) -> Rankings:
        """What fits a token budget: doxa keeps its own, a baseline is cut by the same count over the same texts. Cut texts do not count."""
        found = {}
        for name, ranking in rankings.items():
            if name in self._lanes:
                found[name] = self._recall(question, limit=1_000, lanes=self._lanes[name], tokens_max=tokens_max)
            else:
                found[name] = within_budget(ranking, self._texts, tokens_max)
        return found

    def _recall(self, question: str, *, limit: int, lanes: Sequence[str], tokens_max: int | None = None) -> list[str]:
        answer = self._memory.recall(question, limit=limit, kinds=("exchange",), lanes=lanes, tokens_max=tokens_max)
        return [hit.source_id for hit in answer.hits if not hit.truncated]


@contextmanager
def opened(turns: Sequence[Turn], embedder: Embedder | None, *, seed: int, unusual: bool = False) -> Iterator[Systems]:
    """A fresh store in a temporary folder, filled with the turns in their order and embedded, beside the baselines."""
    with tempfile.TemporaryDirectory() as folder, doxa.open(Path(folder) / "memory.db", embedder=embedder, background=False) as memory:
        taken = memory.ingest(turns, extract=False)
        assert taken.added == len(turns), "every turn of a data set becomes one exchange"
        memory.embed()
        assert embedder is None or memory.pending() == 0
        yield Systems(memory, turns, plain=Plain(turns, embedder, seed=seed, unusual=unusual), embedded=embedder is not None)
