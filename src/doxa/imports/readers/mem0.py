"""Read memories of mem0, as `get_all`, its REST interface and its exports give them.

    {"results": [{"id": "...", "memory": "Ana likes tea", "user_id": "ana", "agent_id": null,
                  "created_at": "2026-03-02T14:00:00-08:00", "updated_at": null,
                  "categories": ["food"], "metadata": {"source": "chat"},
                  "expiration_date": "2026-06-01"}],
     "relations": [{"source": "ana", "relationship": "likes", "target": "tea"}]}

A list of memories, `{"memories": [...]}` and one memory a line are read too. A memory is an entry
named after its id, so that a changed text revises it. A model wrote these texts, so they are
untrusted until an operator vouches for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_DOCUMENT_BYTES_MAX, IMPORT_ENTRIES_ITEMS_MAX
from doxa.base.values import Value
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.ingestion.readers.sources import clean, decode, whole_file

_KEY = re.compile(rb'(?<!\\)"memory"\s*:\s*"')
_ID = re.compile(rb'(?<!\\)"(?:id|user_id|agent_id|run_id)"\s*:')
_NOT_MEM0 = re.compile(rb'(?<!\\)"(?:mapping|chat_messages|sessionId)"\s*:')
_SCOPES = ("user_id", "agent_id", "run_id", "app_id")
_SPEAKER = "mem0"
_any = msgspec.json.Decoder()


class Mem0:
    """The format; see the module."""

    name = "mem0"
    title = "memories of mem0 (JSON of get_all or of an export)"
    own = False
    documents = True
    suffixes = (".json", ".jsonl")

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by the keys of a memory."""
        return (
            start.lstrip()[:1] in (b"{", b"[")
            and _KEY.search(start) is not None
            and _ID.search(start) is not None
            and _NOT_MEM0.search(start) is None
        )

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the memories, then the relations."""
        data = whole_file(source.path, IMPORT_DOCUMENT_BYTES_MAX)
        memories, relations = _found(data, source, log)
        for number, one in enumerate((*memories, *relations), 1):
            if number > IMPORT_ENTRIES_ITEMS_MAX:
                log.skip(f"{source.name}: more than {IMPORT_ENTRIES_ITEMS_MAX:,} memories")
                return
            try:
                entry = _entry(one, log) if number <= len(memories) else _relation(one, source.name)
            except ValueError as error:
                log.skip(f"{source.name}, memory {number}: {error}")
                continue
            if entry is not None:
                yield Read(entry)


def _found(data: bytes, source: ImportSource, log: ImportLog) -> tuple[list[Any], list[Any]]:
    """Return the memories and the relations of a file."""
    try:
        value = decode(_any, data)
    except ValueError as error:
        lines = [line for line in data.split(b"\n") if line.strip()]
        value = []
        for number, line in enumerate(lines, 1):
            try:
                value.append(decode(_any, line))
            except ValueError:
                log.skip(f"{source.name}, line {number}: {error}")
    if isinstance(value, list):
        return value, []
    if isinstance(value, dict):
        relations = value.get("relations")
        for name in ("results", "memories", "data"):
            if isinstance(value.get(name), list):
                return value[name], relations if isinstance(relations, list) else []
        return [value], []
    raise InputError(
        f"{source.name} holds no memories.",
        next_step="Give the JSON of get_all.",
        path=source.name,
    )


def _entry(one: object, log: ImportLog) -> ImportedEntry | None:
    if not isinstance(one, dict):
        raise ValueError("it is not an object")
    text = next((one[k] for k in ("memory", "text", "data") if isinstance(one.get(k), str)), None)
    if text is None:
        raise ValueError("it has no text")
    text = clean(text).strip()
    if not text:
        return None
    scopes = {name: clean(one[name]) for name in _SCOPES if isinstance(one.get(name), str)}
    owner = next((value for value in scopes.values() if value), "memory")
    identity = one.get("id")
    since = log.time(one.get("created_at"))
    until = log.time(one.get("expiration_date"))
    if since is not None and until is not None and until <= since:
        until = None
    return ImportedEntry(
        f"mem0/{owner}",
        text,
        name=clean(str(identity)) if isinstance(identity, (str, int)) else "",
        topics=_topics(one.get("categories")),
        role="assistant",
        speaker=_SPEAKER,
        time_ns=log.time(one.get("updated_at") or one.get("created_at")),
        valid_until=until,
        metadata={**_metadata(one.get("metadata")), **scopes},
    )


def _relation(one: object, name: str) -> ImportedEntry:
    if not isinstance(one, dict):
        raise ValueError("it is not an object")
    ends = [
        next((clean(one[k]).strip() for k in keys if isinstance(one.get(k), str)), "")
        for keys in (("source",), ("relationship", "relation"), ("target", "destination"))
    ]
    if not all(ends):
        raise ValueError("the relation lacks an end or its type")
    subject, relation, other = ends
    return ImportedEntry(
        "mem0/relations",
        f"{subject} {relation.replace('_', ' ')} {other}",
        kind="fact",
        role="assistant",
        speaker=_SPEAKER,
        facts=((subject, relation, other),),
    )


def _topics(value: object) -> tuple[str, ...]:
    return (
        tuple(clean(one) for one in value if isinstance(one, str))
        if isinstance(value, list)
        else ()
    )


def _metadata(value: object) -> Mapping[str, Value]:
    if not isinstance(value, dict):
        return {}
    return {
        clean(str(name)): clean(one) if isinstance(one, str) else one
        for name, one in value.items()
        if isinstance(one, (str, int, float, bool))
        and (not isinstance(one, int) or abs(one) < 2**63)
    }
