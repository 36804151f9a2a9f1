"""Models as the features of doxa use them: each call counts for a purpose (spending.PURPOSES)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doxa.base.limits import COMPLETE_TOKENS_DEFAULT
from doxa.models.chat import check_messages, metered
from doxa.models.contract import Completer, Completion, Message, Reranker
from doxa.models.meter import Meter, used_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PurposeCompleter:
    """A completer whose calls count for a purpose."""

    def __init__(self, inner: Completer, purpose: str) -> None:
        self._inner, self._purpose = inner, purpose
        self.name = inner.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`."""
        with used_for(self._purpose):
            return self._inner.complete(messages, tokens_max=tokens_max, temperature=temperature)


class MeteredCompleter:
    """A completer of the caller's, which counts nothing itself, under the meter of an opening. The
    usage is what its answers report."""

    def __init__(self, inner: Completer, meter: Meter) -> None:
        self._inner, self._meter = inner, meter
        self.name = inner.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`. Raises LimitError if a cap does not leave the most that
        the call may cost."""
        valid = check_messages(messages, tokens_max=tokens_max, temperature=temperature)
        with metered(self._meter, self.name, valid, tokens_max=tokens_max) as call:
            call.attempt()
            answer = self._inner.complete(valid, tokens_max=tokens_max, temperature=temperature)
            call.used(answer.usage.tokens_in, answer.usage.tokens_out)
        return answer


class PurposeReranker:
    """A reranker whose calls count for a purpose."""

    def __init__(self, inner: Reranker, purpose: str) -> None:
        self._inner, self._purpose = inner, purpose
        self.name, self.texts_max = inner.name, inner.texts_max

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Reranker.score`."""
        with used_for(self._purpose):
            return self._inner.score(query, texts)
