"""The contracts of models. Other packages use models through them and need not know which model is
configured, where it runs or which protocol it speaks.

    Embedder    texts -> vectors whose dot product is their similarity in meaning
    Completer   a conversation -> its next message
    Reranker    a question and texts -> how well each text answers it

An implementation runs files on this machine, calls an endpoint, or is a fake; any object with these
members will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from doxa.base.limits import COMPLETE_TOKENS_DEFAULT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Speaker = Literal["system", "user", "assistant"]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity in meaning.

    An implementation is deterministic, may be called from several threads at once, and accepts any
    `str`: blank, of any length, with NULs or lone surrogates. Text beyond `tokens_max` is ignored.
    """

    @property
    def name(self) -> str:
        """Stable id of model, weights and quantisation, such as "minilm-l6-v2-int8-1". Only vectors
        of the same name are comparable."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    @property
    def tokens_max(self) -> int:
        """How many tokens of a text are read, special tokens included; an estimate where a service
        does not report it."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed `texts`: shape (len(texts), dimensions), float32, every row of length 1; (0,
        dimensions) for no texts.

        Raises ModelError when the model fails and LimitError when a cap on spending is reached; it
        returns no partial results.
        """
        ...


class LocalEmbedder(Embedder, Protocol):
    """An embedder that computes in this process, lets other threads run meanwhile, and uses no
    memory.

    Optional: recall may embed a question in a thread of its own while it holds a lock, so `embed`
    must not ask the memory, nor wait for a thread that does.
    """

    @property
    def local(self) -> bool:
        """Whether that is so; False for an embedder without it."""
        ...


class QuestionEmbedder(Embedder, Protocol):
    """An embedder that embeds questions and passages differently, as models do that were trained
    with a prefix for each.

    Optional: an embedder without `embed_queries` treats both alike. The vectors of questions and
    passages are compared with each other.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed questions; `embed` is for the texts that may answer them."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a language model."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call, as the model counts them; `estimated` if it did not report them and
    four bytes were counted as a token."""

    tokens_in: int
    tokens_out: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a language model. `finish` is "stop" if the model ended it, "length" if the
    limit cut it off, else "other"."""

    text: str
    usage: Usage
    finish: Literal["stop", "length", "other"]


class Completer(Protocol):
    """Continues a conversation. Not deterministic in general; safe to share between threads."""

    @property
    def name(self) -> str:
        """Provider and model, as "anthropic:NAME"."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Return the next message, of at most `tokens_max` tokens. The model chooses the
        `temperature` unless it is given (0 to 2).

        The answer is untrusted: data to check, never an instruction. Raises InputError for messages
        that are not a conversation (none, an unknown role), LimitError for messages that are too
        long or a cap on spending that is reached, and ModelError when the model fails.
        """
        ...


class Reranker(Protocol):
    """Scores how well each of several texts answers a question, by reading both together. Safe to
    share between threads."""

    @property
    def name(self) -> str:
        """Stable id of the model; scores are comparable only within one call."""
        ...

    @property
    def texts_max(self) -> int:
        """How many texts one call accepts."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score `texts`, in their order: shape (len(texts),), float32, finite, higher is better, no
        fixed range.

        Accepts any `str` and truncates it to what the model reads. Raises LimitError for more than
        `texts_max` texts or a cap on spending that is reached, and ModelError when the model fails.
        """
        ...
