"""Prepares texts for models: valid Unicode, no longer than a model reads; and estimates their
tokens."""

from __future__ import annotations

from collections.abc import Sequence

from doxa.base.errors import LimitError
from doxa.base.limits import MODEL_TEXT_CHARS_MAX

BYTES_PER_TOKEN = 4


def well_formed(text: str) -> str:
    """Return `text` as valid Unicode: surrogate pairs are joined, lone surrogates become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def readable(text: str) -> str:
    """Return the part of `text` that an embedding model reads, as valid Unicode."""
    # 256 tokens of prose are about 1,300 characters; the rest of a long text would be tokenised
    # only to be dropped.
    return well_formed(text.lstrip()[:MODEL_TEXT_CHARS_MAX])


def sendable(text: str) -> str:
    """Return the same for an endpoint: without NUL, which some do not accept, and empty if the rest
    is blank."""
    return readable(text).replace("\0", " ").strip()


def tokens_estimate(*texts: str) -> int:
    """Estimate the tokens of `texts` at four bytes of UTF-8 each: within a third of the true number
    for English prose, too low for text that a model reads byte by byte."""
    return sum(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN) for text in texts)


def tokens_at_most(estimated: int) -> int:
    """Return the most that texts of so many estimated tokens can be: a token for each byte, as
    tokenizers that fall back on bytes have it."""
    return estimated * BYTES_PER_TOKEN


def check_count(texts: Sequence[str], texts_max: int) -> None:
    """Raise LimitError for more texts than a reranker accepts at once."""
    assert not isinstance(texts, str), "a single text is passed as [text]"
    if len(texts) > texts_max:
        raise LimitError(
            f"{len(texts):,} texts exceed the {texts_max} that this reranker accepts at once.",
            next_step="Give the best of them.",
            texts_max=texts_max,
            texts=len(texts),
        )
