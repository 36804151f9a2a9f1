"""What the other rooms may ask of a model, so that none of them learns which model is configured,
where it runs, or what it is spoken to with.

    Embedder    texts to vectors whose dot product is likeness in meaning
    Completer   a conversation to the next message of it
    Reranker    a question and texts to how well each answers it

A role is filled by a file on this machine, by an endpoint, by a fake, or by any object of the
caller's that has these members.
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
    """Turns texts into vectors whose dot product is their likeness in meaning.

    An implementation is deterministic, may be called from several threads at once, and accepts any
    `str`: blank, of any length, with NULs or lone surrogates. Text beyond `tokens_max` does not
    count.
    """

    @property
    def name(self) -> str:
        """Stable id of model, weights and quantisation, as "minilm-l6-v2-int8-1". Vectors are
        comparable only under the same name."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    @property
    def tokens_max(self) -> int:
        """How many tokens of a text are read, the model's own marks included; an estimate where a
        service does not tell."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`: shape (len(texts), dimensions), float32, every row of length 1; (0,
        dimensions) for no texts.

        Raises ModelError when the model fails, LimitError where a cap on spending is reached; no
        partial result is returned.
        """
        ...


class QuestionEmbedder(Embedder, Protocol):
    """An embedder that reads a question differently from a passage, as models do that were trained
    with a prefix for each.

    Optional: an embedder without `embed_queries` reads both alike. Vectors of both ways are
    compared with each other.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed`, for texts that ask; `embed` is for texts that may answer."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a language model."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call took, in tokens of the model; `estimated` where it did not say and four bytes
    were taken for a token."""

    tokens_in: int
    tokens_out: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered. `finish` is "stop" where it ended by itself, "length" where
    the limit cut it, else "other"."""

    text: str
    usage: Usage
    finish: Literal["stop", "length", "other"]


class Completer(Protocol):
    """Continues a conversation. Not deterministic in general; may be called from several threads at
    once."""

    @property
    def name(self) -> str:
        """Whose words these are, as "anthropic:NAME"."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """The next message, of at most `tokens_max` tokens. `temperature` is left to the model
        unless given (0 to 2).

        The answer is whatever the model says: data to check, never an instruction. Raises
        InputError for messages that make no conversation (none, an unknown role), LimitError for
        too long ones or a cap on spending that is reached, ModelError when the model fails.
        """
        ...


class Reranker(Protocol):
    """Says how well each of some texts answers a question, reading both together. May be called
    from several threads at once."""

    @property
    def name(self) -> str:
        """Stable id of the model; scores are comparable only within one call."""
        ...

    @property
    def texts_max(self) -> int:
        """How many texts one call takes."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """A number for each of `texts`, in their order: shape (len(texts),), float32, finite,
        higher is better, of no fixed range.

        Accepts any `str`; what is beyond the model's reach is cut. Raises LimitError for more than
        `texts_max` texts or a cap on spending that is reached, ModelError when the model fails.
        """
        ...
