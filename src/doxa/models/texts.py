"""What a model is given of a text: valid Unicode, no more than it reads; and what that is in tokens
where nobody counts."""

from __future__ import annotations

from collections.abc import Sequence

from doxa.base.errors import LimitError
from doxa.base.limits import MODEL_TEXT_CHARS_MAX

BYTES_PER_TOKEN = 4


def well_formed(text: str) -> str:
    """`text` as valid Unicode: halves of a surrogate pair are joined, lone ones become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def readable(text: str) -> str:
    """The part of `text` that an embedding model reads, as valid Unicode."""
    # 256 tokens of prose are about 1,300 characters; the rest of a long text would be tokenised
    # only to be dropped.
    return well_formed(text.lstrip()[:MODEL_TEXT_CHARS_MAX])


def sendable(text: str) -> str:
    """The same for an endpoint: without NUL, which some cannot take. Empty where nothing but blanks
    is left."""
    return readable(text).replace("\0", " ").strip()


def tokens_estimate(*texts: str) -> int:
    """About as many tokens, at four bytes of UTF-8 each: right for English prose within a third,
    more for what a model reads by bytes."""
    return sum(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN) for text in texts)


def check_count(texts: Sequence[str], texts_max: int) -> None:
    """Raises LimitError for more texts than a reranker takes at once."""
    assert not isinstance(texts, str), "a single text is passed as [text]"
    if len(texts) > texts_max:
        raise LimitError(
            f"{len(texts):,} texts are more than the {texts_max} that this reranker takes at once.",
            next_step="Give the best of them.",
            texts_max=texts_max,
            texts=len(texts),
        )
