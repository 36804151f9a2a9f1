"""Structure by a language model, or by a program that is one: a few calls at once, each tried again
after a pause.

Every call is reserved at the meter before it is sent, so that all calls together stay within the
caps of the run; what the model's own meter caps holds besides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from doxa.base.errors import ModelError
from doxa.base.limits import (
    CONSOLIDATED_ATTEMPTS_MAX,
    CONSOLIDATED_CALLS_ITEMS_MAX,
    CONSOLIDATED_TOKENS_MAX,
)
from doxa.consolidation.producers.contract import Produced, SessionCost
from doxa.consolidation.producers.prompt import ask, joined, read, windows
from doxa.consolidation.structure import Structure
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.models.chat import estimate_tokens
from doxa.models.contract import Completer
from doxa.models.meter import Meter, Price

_PAUSE_S = 0.5  # before the second attempt; twice as long before each further one


class ModelProducer:
    """Implements Producer over a completer. `name` is model, or command for a program."""

    def __init__(
        self,
        completer: Completer,
        *,
        name: str = "model",
        meter: Meter | None = None,
        prices: Mapping[str, Price] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.model = completer.name
        self._completer = completer
        self._meter = meter or Meter()
        self._prices = prices
        self._pause = pause

    def produce(self, transcript: Transcript) -> Produced:
        """Implement `Producer.produce`. If one of the calls fails for good, all fail: half a
        session would pass for a whole one."""
        parts = tuple(windows(transcript.turns))
        if not parts:
            return Produced(Structure())
        meter = Meter(parent=self._meter, prices=self._prices)  # of this session
        with ThreadPoolExecutor(min(len(parts), CONSOLIDATED_CALLS_ITEMS_MAX)) as pool:
            made = list(pool.map(partial(self._part, meter), parts))
        spent = meter.spend()
        cost = SessionCost(
            spent.calls,
            spent.tokens_in,
            spent.tokens_out,
            spent.tokens_estimated,
            money=spent.money,
        )
        return Produced(joined(made), cost)

    def _part(self, meter: Meter, turns: Sequence[SourceTurn]) -> Structure:
        for attempt in range(1, CONSOLIDATED_ATTEMPTS_MAX + 1):
            try:
                return self._call(meter, turns)
            except ModelError as error:
                if attempt == CONSOLIDATED_ATTEMPTS_MAX or "refused" in error.fields:
                    raise
            self._pause(_PAUSE_S * 2 ** (attempt - 1))
        raise AssertionError("the last attempt returns or raises")

    def _call(self, meter: Meter, turns: Sequence[SourceTurn]) -> Structure:
        messages = ask(turns)
        with meter.call(
            self.model,
            tokens_in=estimate_tokens(messages),
            tokens_out_max=CONSOLIDATED_TOKENS_MAX,
        ) as call:
            call.attempt()
            answer = self._completer.complete(messages, tokens_max=CONSOLIDATED_TOKENS_MAX)
            used = answer.usage
            call.used(used.tokens_in, used.tokens_out, estimated=used.estimated)
        return read(answer.text, turns, model=self.model)
