"""Cuts a document that is one JSON list into its conversations, so that only one of them is decoded at a time."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doxa.base.errors import InputError
from doxa.curation.readers.sources import decode

_list = msgspec.json.Decoder(list[msgspec.Raw])


def conversations(name: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    """(position from 1, JSON of one conversation). Raises InputError when the document is not a list."""
    try:
        raws = decode(_list, data)
    except ValueError as error:
        raise InputError(
            f"{name} is not a JSON list of conversations: {error}.",
            next_step="Give conversations.json as the product exported it.",
            path=name,
        ) from None
    for position, raw in enumerate(raws, 1):
        yield position, bytes(raw)
