"""Names made from the identifiers of a framework, which may hold anything."""

from __future__ import annotations

from hashlib import blake2b

from doxa.base.errors import InputError
from doxa.base.limits import ADAPTER_ID_CHARS_MAX
from doxa.belief import name_from
from doxa.redaction.redact import unless_secret

_SLUG_CHARS = 24


def label(identifier: str, what: str) -> str:
    """Return a name for an identifier: readable, valid in an address, and different for different
    identifiers; the digest alone where words before it would make it look like a secret. Raises
    InputError for one that is empty, too long or not text."""
    if not isinstance(identifier, str) or not identifier:
        raise InputError(
            f"{what} must be a text that is not empty; this is {type(identifier).__name__}.",
            next_step=f"Give the {what}.",
            field=what,
        )
    if len(identifier) > ADAPTER_ID_CHARS_MAX:
        raise InputError(
            f"{what} has {len(identifier)} characters; at most {ADAPTER_ID_CHARS_MAX} are allowed.",
            next_step="Give a shorter one.",
            field=what,
        )
    return label_of(identifier)


def label_of(text: str) -> str:
    """Return the same for a text of any length. Only its beginning is readable in the name; texts
    that begin alike have different names."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    words = name_from(text[:ADAPTER_ID_CHARS_MAX], chars_max=_SLUG_CHARS)
    return unless_secret(f"{words}-{digest}".lstrip("-"), digest)
