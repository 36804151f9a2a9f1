"""Split documents that are one JSON list into conversations, so that only one is decoded at a
time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.ingestion.readers.sources import ReadReport, decode, documents, is_zip, skip_or_raise

_list = msgspec.json.Decoder(list[msgspec.Raw])


def conversations(path: Path, report: ReadReport) -> Iterator[tuple[str, int, bytes]]:
    """Yield (document, position from 1, JSON of one conversation). In a folder or zip, a document
    that is not a list is skipped; a single one raises InputError."""
    several = report if path.is_dir() or is_zip(path) else None
    for name, data in documents(path, several):
        try:
            raws = decode(_list, data)
        except ValueError as error:
            problem = InputError(
                f"{name} is not a JSON list of conversations: {error}.",
                next_step="Give conversations.json as exported by the product.",
                path=name,
            )
            skip_or_raise(several, problem)
            continue
        for position, raw in enumerate(raws, 1):
            yield name, position, bytes(raw)
