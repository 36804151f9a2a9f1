"""The language models of `python -m bench qa`: opened by doxa from the same words as everywhere,
and counted here, call by call.

A reader and a judge are specs as `doxa.open(model=...)` takes them. Each call is counted by what
the model reports, so that a fake in a test and an endpoint are counted alike; money is known where
a price is given.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import doxa
from doxa.base.errors import ModelError
from doxa.models import Completer, Message

TOKENS_PRICED = 1_000_000
_CONFIGURE = (
    "Name a model as --reader and --judge, as openai:NAME, ollama:NAME or anthropic:NAME, with its"
    " key or URL in the environment; docs/benchmarks/method.md, section Question answering,"
    " says which."
)


@dataclass(slots=True)
class Counted:
    """A model with what it was asked and what that cost. `price` is money for a million tokens,
    read and written."""

    model: Completer
    price: tuple[float, float] | None = None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0

    def ask(self, system: str, user: str, *, tokens_max: int) -> str:
        """One answer at temperature 0, as text."""
        completion = self.model.complete(
            (Message("system", system), Message("user", user)),
            tokens_max=tokens_max,
            temperature=0.0,
        )
        self.calls += 1
        self.tokens_in += completion.usage.tokens_in
        self.tokens_out += completion.usage.tokens_out
        self.estimated += bool(completion.usage.estimated)
        return completion.text

    @property
    def money(self) -> float | None:
        if self.price is None:
            return None
        return (self.tokens_in * self.price[0] + self.tokens_out * self.price[1]) / TOKENS_PRICED


@contextmanager
def opened_models(reader: str, judge: str) -> Iterator[tuple[Completer, Completer]]:
    """Both models, made by doxa from their specs. Raises ModelError where one cannot be had, which
    says what to do."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield (
            _opened(stack, folder / "reader.db", reader, "reader"),
            _opened(stack, folder / "judge.db", judge, "judge"),
        )


def _opened(stack: ExitStack, path: Path, spec: str, role: str) -> Completer:
    memory = stack.enter_context(doxa.open(path, embedder=None, model=spec, background=False))
    model = memory.model
    if model is None:
        why = f": {memory.model_error.message}" if memory.model_error else ""
        raise ModelError(
            f"The {role} {spec[:80]!r} is not a model that can be asked{why}", next_step=_CONFIGURE
        )
    return model
