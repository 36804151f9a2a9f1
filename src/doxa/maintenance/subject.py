"""Export what is about one person, or came from one source, as JSON Lines: nodes with all their
versions, and the edges between them.

    {"type": "subject", "subject": …, "time": …}
    {"type": "node", "id": "n:7", "labels": […], "properties": {…}, "since": …, "past": […]}
    {"type": "relationship", "id": "r:3", "name": …, "start": "n:7", "end": "n:9", …}
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doxa.base.clock import format_time
from doxa.base.errors import InputError, NotFoundError
from doxa.base.values import canonical, decode
from doxa.maintenance.purging import came_from, is_source
from doxa.store import Reader, Store, int64_array
from doxa.store.file.file_copy import file_errors
from doxa.store.retention.state import state_of

_KEYS = ("kref", "vector", "embedding")  # no words of a person: addresses and numbers


def export_subject(store: Store, subject: str, target: str | os.PathLike[str]) -> int:
    """Write everything about a subject to a new file of its owner, and return the number of lines.
    A subject is a name, or a source as `purge` takes it. Raises NotFoundError if there is
    nothing."""
    path = Path(target)
    with store.read() as snapshot:
        found = _about(snapshot, subject)
        if not found:
            raise NotFoundError(
                f"Nothing in this memory is about {subject[:200]}.",
                next_step="Check the name, or give an address, change:NUMBER or speaker:NAME.",
                subject=subject[:200],
            )
        lines = list(_lines(snapshot, subject, found))
    with file_errors(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines(canonical(line) + b"\n" for line in lines)
    store.note_copy(path, kind="export")
    return len(lines)


def _about(reader: Reader, subject: str) -> set[int]:
    name = subject.strip()
    if not name:
        raise InputError("A subject is empty.", next_step="Give a name.", field="subject")
    if is_source(name):
        return came_from(reader, name)
    word = re.compile(rf"(?<!\w){re.escape(name.casefold())}(?!\w)")
    found = set()
    for table in ("node", "node_past"):
        for identity, props in reader.rows(f"SELECT id, json(props) FROM {table}"):
            if identity not in found and any(
                word.search(text)
                for key, value in decode(props).items()
                if key not in _KEYS
                for text in _texts(value)
            ):
                found.add(identity)
    return found | _items(reader, found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.casefold()
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key.casefold()
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _items(reader: Reader, revisions: set[int]) -> set[int]:
    rows = reader.rows(
        "SELECT src FROM edge WHERE type = 'HAS_REVISION' AND dst IN carray(?)",
        (int64_array(sorted(revisions)),),
    )
    return {row[0] for row in rows}


def _lines(reader: Reader, subject: str, found: set[int]) -> Iterator[dict[str, Any]]:
    yield {"type": "subject", "subject": subject, "time": format_time(reader.now)}
    for identity in sorted(found):
        state = state_of(reader._db, identity, edge=False)
        line: dict[str, Any] = {"type": "node", "id": f"n:{identity}"}
        if state["live"] is not None:
            labels, props, since, _, _ = state["live"]
            line |= {"labels": labels, "properties": props, "since": format_time(since)}
        line["past"] = [
            {
                "since": format_time(since),
                "until": format_time(until),
                "labels": labels,
                "properties": props,
            }
            for since, until, labels, props, _, _ in state["past"]
        ]
        yield line
    rows = reader.rows(
        "SELECT id, type, src, dst, json(props), since FROM edge WHERE src IN carray(?1) AND dst"
        " IN carray(?1) ORDER BY id",
        (int64_array(sorted(found)),),
    )
    for identity, kind, src, dst, props, since in rows:
        yield {
            "type": "relationship",
            "id": f"r:{identity}",
            "name": kind,
            "start": f"n:{src}",
            "end": f"n:{dst}",
            "properties": decode(props),
            "since": format_time(since),
        }
