"""The answer to a question: hits, how they were found, and what was missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from doxa.base.errors import InputError
from doxa.recall.answerability import Level, Signals, score_of
from doxa.recall.framing import framed
from doxa.recall.rerank import in_chosen_order
from doxa.recall.types import Hit, check_budget


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer. `mode` names the lanes that ran (fulltext, vector, hybrid); `searched` is how
    many memories pass the filters; `warnings` report what failed or is not ready; `pending` is how
    many memories have no vectors yet; `faded` is how many pass the filters but are hidden by a
    persistence policy (`as_of="now"` includes them); `answerable_level` estimates whether memory
    holds the answer: low, medium or high."""

    query: str
    hits: tuple[Hit, ...]
    mode: Literal["fulltext", "vector", "hybrid"]
    searched: int
    pending: int
    tokens: int
    warnings: tuple[str, ...] = ()
    filters: Mapping[str, object] = field(default_factory=dict)
    answerable_level: Level = "low"
    _signals: Signals | None = field(default=None, repr=False)
    faded: int = 0

    @property
    def answerable_signals(self) -> Signals | None:
        """What `answerable_score` is made of; None if nothing was found."""
        return self._signals

    @property
    def answerable_score(self) -> float:
        """What `answerable_level` is read from. It orders questions of one memory; it is not a
        probability."""
        return score_of(self._signals)

    @property
    def answerable(self) -> float:
        """Deprecated: the former name of `answerable_score`."""
        warnings.warn(
            "Recall.answerable is deprecated, since it is not a probability; use answerable_level"
            " or answerable_score",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.answerable_score

    def framed(self, tokens_max: int | None = None) -> str:
        """Return the hits as one text for a reader: the level of answerability, and each hit with
        address, status, trust, time and source, its text quoted as data. Never more than
        `tokens_max` tokens of four characters."""
        check_budget(tokens_max)
        return framed(self.hits, tokens_max, level=self.answerable_level)

    def chosen(self, krefs: Sequence[str]) -> Recall:
        """Return the answer with the chosen hits only, in that order: the choice of the agent's own
        model after `rerank="client"`. An address that no hit has is ignored. Raises InputError for
        anything but a list of texts, a single address included."""
        named = (
            list(krefs) if isinstance(krefs, Iterable) and not isinstance(krefs, str) else [None]
        )
        if not all(isinstance(kref, str) for kref in named):
            raise InputError(
                f"krefs is a list of addresses; this is {krefs!r:.60}.",
                next_step="Give the krefs of hits as texts, in a list.",
                field="krefs",
            )
        hits = tuple(in_chosen_order(self.hits, cast("list[str]", named)))
        return replace(self, hits=hits, tokens=sum(hit.tokens for hit in hits))
