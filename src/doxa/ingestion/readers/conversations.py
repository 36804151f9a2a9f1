"""Cuts documents that are one JSON list into their conversations, so that only one of them is
decoded at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.ingestion.readers.sources import ReadReport, decode, documents, is_zip, skip_or_raise

_list = msgspec.json.Decoder(list[msgspec.Raw])


def conversations(path: Path, report: ReadReport) -> Iterator[tuple[str, int, bytes]]:
    """(document, position from 1, JSON of one conversation). A document that is no list is skipped
    in a folder or zip, which may hold others; a single one raises InputError."""
    several = report if path.is_dir() or is_zip(path) else None
    for name, data in documents(path, several):
        try:
            raws = decode(_list, data)
        except ValueError as error:
            said = InputError(
                f"{name} is not a JSON list of conversations: {error}.",
                next_step="Give conversations.json as the product exported it.",
                path=name,
            )
            skip_or_raise(several, said)
            continue
        for position, raw in enumerate(raws, 1):
            yield name, position, bytes(raw)
