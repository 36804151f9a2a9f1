"""Counts calls to endpoints and their tokens, and refuses a call that might exceed a cap before it
is sent.

A call reserves the most that it may cost before anything is sent, so that concurrent calls cannot
exceed a cap together; what it did cost takes the place of the reservation. The most is a token for
each byte of the input, and the largest answer that is asked for. A meter may have a parent: the
meter of an opened memory has that of the process, and a call must fit under both caps; and it may
have a ledger (spending.py), which all processes share.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from doxa.base.errors import LimitError, StoreError
from doxa.models.contract import Usage
from doxa.models.spending import Reservation, SpendLedger

TOKENS_PRICED = 1_000_000

_PURPOSE: ContextVar[str] = ContextVar("doxa_model_purpose", default="other")


@contextmanager
def used_for(purpose: str) -> Iterator[None]:
    """Count the calls of this thread as made for a purpose in the block (spending.PURPOSES)."""
    token = _PURPOSE.set(purpose)
    try:
        yield
    finally:
        _PURPOSE.reset(token)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in any currency."""

    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class ModelSpend:
    """The usage of one model. `money` is None if no price is configured for it."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    tokens_estimated: int
    money: float | None


@dataclass(frozen=True, slots=True)
class Spend:
    """The usage of endpoints. `calls` includes repeated attempts; `tokens_estimated` is how many of
    the tokens are estimates, because the endpoint did not report them or its answer was lost.
    `money` covers the models with a price (None if none has one); `unpriced` names the others."""

    calls: int
    tokens_in: int
    tokens_out: int
    tokens_estimated: int
    money: float | None
    unpriced: tuple[str, ...]
    models: tuple[ModelSpend, ...]
    calls_max: int | None
    tokens_max: int | None


class Watch(Protocol):
    """What an endpoint reports about the attempts of one call."""

    def attempt(self) -> None:
        """Report the next attempt. Raises LimitError if a cap allows none. Unless `free` follows,
        the attempt counts as charged."""
        ...

    def free(self) -> None:
        """Report that the last attempt was not sent, or was refused, and is not charged."""
        ...


@dataclass(slots=True)
class _Count:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: int = 0


@dataclass(slots=True)
class _Totals:
    models: dict[str, _Count] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    reserved: int = 0


class Meter:
    """The usage of one opened memory, or of the process. Safe to share between threads."""

    def __init__(
        self,
        *,
        calls_max: int | None = None,
        tokens_max: int | None = None,
        prices: Mapping[str, Price] | None = None,
        parent: Meter | None = None,
        ledger: SpendLedger | None = None,
    ) -> None:
        self.calls_max = calls_max
        self.tokens_max = tokens_max
        self._prices = dict(prices or {})
        self._parent = parent
        self.ledger = ledger
        self._beyond: dict[str, int] = {}  # by how much a model exceeded what a call may cost
        self._totals = _Totals()
        self._lock = threading.Lock()

    @property
    def prices(self) -> Mapping[str, Price]:
        """The prices by model."""
        with self._lock:
            return dict(self._prices)

    def add_prices(self, prices: Mapping[str, Price]) -> None:
        """Add prices, for past and future usage."""
        with self._lock:
            self._prices.update(prices)

    def call(
        self,
        model: str,
        *,
        tokens_in: int,
        tokens_in_max: int | None = None,
        tokens_out_max: int = 0,
    ) -> MeteredCall:
        """Return a call as a context manager. `tokens_in` is an estimate, and `tokens_in_max` the
        most that the input may be (None: the estimate). The call reserves the most on entry, and
        raises LimitError if that exceeds a cap."""
        most = tokens_in if tokens_in_max is None else tokens_in_max
        return MeteredCall(self, model, tokens=(tokens_in, most, tokens_out_max))

    def spend(self) -> Spend:
        """Return the usage so far."""
        with self._lock:
            models = tuple(
                self._spent(name, count) for name, count in sorted(self._totals.models.items())
            )
        priced = [spent.money for spent in models if spent.money is not None]
        return Spend(
            calls=sum(spent.calls for spent in models),
            tokens_in=sum(spent.tokens_in for spent in models),
            tokens_out=sum(spent.tokens_out for spent in models),
            tokens_estimated=sum(spent.tokens_estimated for spent in models),
            money=sum(priced) if priced else None,
            unpriced=tuple(spent.model for spent in models if spent.money is None),
            models=models,
            calls_max=self.calls_max,
            tokens_max=self.tokens_max,
        )

    def _spent(self, model: str, count: _Count) -> ModelSpend:
        price = self._prices.get(model)
        money = (
            None
            if price is None
            else (count.tokens_in * price.tokens_in + count.tokens_out * price.tokens_out)
            / TOKENS_PRICED
        )
        return ModelSpend(
            model, count.calls, count.tokens_in, count.tokens_out, count.tokens_estimated, money
        )

    def _chain(self) -> list[Meter]:
        return [self] if self._parent is None else [self, *self._parent._chain()]

    def _reserve(self, tokens: int) -> None:
        with self._lock:
            left = (
                None
                if self.tokens_max is None
                else self.tokens_max - self._totals.tokens - self._totals.reserved
            )
            if left is not None and tokens > left:
                raise LimitError(
                    f"The cap of {self.tokens_max:,} model tokens leaves {max(left, 0):,}, and this"
                    f" call may take {tokens:,}; nothing was sent.",
                    next_step=(
                        "Ask for less, raise model_tokens_max or DOXA_MODEL_TOKENS_MAX, or go on"
                        " without the model."
                    ),
                    tokens_max=self.tokens_max,
                    tokens=tokens,
                )
            self._totals.reserved += tokens

    def _release(self, tokens: int) -> None:
        with self._lock:
            self._totals.reserved -= tokens

    def _attempt(self, model: str) -> None:
        with self._lock:
            if self.calls_max is not None and self._totals.calls >= self.calls_max:
                raise LimitError(
                    f"The cap of {self.calls_max:,} model calls is reached; nothing was sent.",
                    next_step=(
                        "Raise model_calls_max or DOXA_MODEL_CALLS_MAX, or go on without the model."
                    ),
                    calls_max=self.calls_max,
                )
            if (
                self.tokens_max is not None
                and self._totals.tokens + self._totals.reserved > self.tokens_max
            ):
                raise LimitError(  # lost answers have used up the reservation
                    f"The cap of {self.tokens_max:,} model tokens leaves no room to send this call"
                    " again.",
                    next_step=(
                        "Raise model_tokens_max or DOXA_MODEL_TOKENS_MAX, or go on without the"
                        " model."
                    ),
                    tokens_max=self.tokens_max,
                )
            self._count(model, 1)

    def _count(self, model: str, calls: int) -> None:
        self._totals.calls += calls
        self._totals.models.setdefault(model, _Count()).calls += calls

    def _exceeded(self, model: str, tokens: int) -> None:
        with self._lock:
            self._beyond[model] = self._beyond.get(model, 0) + tokens

    def _uncount(self, model: str) -> None:
        with self._lock:
            self._count(model, -1)

    def _take(self, model: str, *, tokens_in: int, tokens_out: int, tokens_estimated: int) -> None:
        with self._lock:
            count = self._totals.models.setdefault(model, _Count())
            count.tokens_in += tokens_in
            count.tokens_out += tokens_out
            count.tokens_estimated += tokens_estimated
            self._totals.tokens += tokens_in + tokens_out


class MeteredCall:
    """One call under a meter: its reservation, its attempts and its usage. Made by `Meter.call`."""

    def __init__(self, meter: Meter, model: str, *, tokens: tuple[int, int, int]) -> None:
        """`tokens`: those of the input as estimated and at most, and those of the answer at
        most."""
        self._meters = meter._chain()
        self._model = model
        self._tokens_in, self._in_max, self._out_max = tokens
        extra = max(one._beyond.get(model, 0) for one in self._meters)
        self._reservation = self._in_max + self._out_max + extra
        self._open = False  # an attempt was sent, and its usage is not known yet
        self._counted = _Count()
        self._ledger = next((one.ledger for one in self._meters if one.ledger is not None), None)
        self._held: Reservation | None = None

    def __enter__(self) -> MeteredCall:
        reserved: list[Meter] = []
        try:
            for meter in self._meters:
                meter._reserve(self._reservation)
                reserved.append(meter)
            if self._ledger is not None:
                self._held = self._ledger.reserve(
                    _PURPOSE.get(), self._model, self._in_max + self._out_max
                )
        except LimitError:
            for meter in reserved:
                meter._release(self._reservation)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._count_lost()
        for meter in self._meters:
            meter._release(self._reservation)
        if self._ledger is not None and self._held is not None:
            found = self._counted
            self._ledger.settle(
                self._held,
                calls=found.calls,
                tokens_in=found.tokens_in,
                tokens_out=found.tokens_out,
                tokens_estimated=found.tokens_estimated,
            )

    def attempt(self) -> None:
        """Implement `Watch.attempt`."""
        lost = self._open
        self._count_lost()
        counted: list[Meter] = []
        try:
            for meter in self._meters:
                meter._attempt(self._model)
                counted.append(meter)
            self._reserve_again(lost)
        except LimitError:
            for meter in counted:
                meter._uncount(self._model)
            raise
        self._open = True
        self._counted.calls += 1

    def _reserve_again(self, lost: bool) -> None:
        """A repeated attempt is reserved in addition to those before it whose answers were lost."""
        if self._ledger is None or self._held is None or not self._counted.calls:
            return
        more = self._in_max + self._out_max if lost else 0
        with suppress(StoreError):  # what is reserved already stays so
            self._held = self._ledger.again(self._held, more)

    def free(self) -> None:
        """Implement `Watch.free`."""
        self._open = False

    def _count_lost(self) -> None:
        """Count the last attempt by the most that it may have cost if its answer was lost."""
        if self._open:
            most = self._in_max + self._out_max
            self._take(self._in_max, self._out_max, estimated=most)

    def used(
        self,
        tokens_in: int | None,
        tokens_out: int | None,
        *,
        answer_tokens: int = 0,
        estimated: bool = False,
    ) -> Usage:
        """Count the usage that the endpoint reported (None or a negative number if it did not) and
        return it; `answer_tokens` is the estimate of the answer. `estimated`: what is given was
        estimated by who calls."""
        reported_in, reported_out = (
            tokens_in if _is_reported(tokens_in) else None,
            tokens_out if _is_reported(tokens_out) else None,
        )
        found_in = self._tokens_in if reported_in is None else reported_in
        found_out = answer_tokens if reported_out is None else reported_out
        guessed = (found_in if estimated or reported_in is None else 0) + (
            found_out if estimated or reported_out is None else 0
        )
        self._take(found_in, found_out, estimated=guessed)
        over = found_in + found_out - self._reservation
        if over > 0:
            for meter in self._meters:
                meter._exceeded(self._model, over)
        return Usage(found_in, found_out, estimated=guessed > 0)

    def _take(self, tokens_in: int, tokens_out: int, *, estimated: int) -> None:
        self._open = False
        self._counted.tokens_in += tokens_in
        self._counted.tokens_out += tokens_out
        self._counted.tokens_estimated += estimated
        for meter in self._meters:
            meter._take(
                self._model, tokens_in=tokens_in, tokens_out=tokens_out, tokens_estimated=estimated
            )


def _is_reported(tokens: int | None) -> bool:
    return tokens is not None and 0 <= tokens < 1 << 53
