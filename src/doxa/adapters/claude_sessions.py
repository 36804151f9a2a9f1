"""The Claude Agent SDK's SessionStore on a doxa session.

    options = ClaudeAgentOptions(session_store=DoxaSessionStore(memory.session(project="shop")))

A transcript is mirrored as it grows: each batch of entries is one document in one transaction, and
entries whose uuid is there already are left out, so that a batch that is sent again changes
nothing. The summaries that the SDK lists are folded in the same transaction. Entries come back as
they were, except credentials, which are left out. A transcript is data: `ingest` of the folder of
Claude Code makes turns of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doxa.adapters.documents import RECORD_TRUST, Document, Documents, Put
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.base.errors import InputError

VERSION = require("claude-agent-sdk", extra="claude-sessions", oldest="0.2.187", below="0.3")

from claude_agent_sdk import SessionStore, fold_session_summary  # noqa: E402

Key = dict[str, str]
Entry = dict[str, Any]

_NS_PER_MS = 1_000_000
_BATCH_ENTRIES = 200  # of one document
_BATCH_CHARS = 1_000_000  # of their JSON; an entry that is longer is a batch of its own


class DoxaSessionStore(SessionStore):  # type: ignore[misc, unused-ignore]
    """Transcripts below one space of the session's project. The keys of the SDK, its project key
    among them, choose within that space."""

    def __init__(self, session: Session, *, space: str = "claude-sessions") -> None:
        self._documents = Documents(
            session, space=space, kind="transcript", channel="claude-sessions", trust=RECORD_TRUST
        )

    async def append(self, key: Key, entries: list[Entry]) -> None:
        """Add entries at the end of a transcript; those with a known uuid are left out."""
        labels = _labels(key)
        if entries:
            await writing(self._append, key, labels, list(entries))

    async def load(self, key: Key) -> list[Entry] | None:
        """Return a whole transcript; None if there is none."""
        found = await reading(self._documents.listed, _labels(key))
        return [entry for one in found for entry in one.value] if found else None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """Return the id and the last write, in ms since 1970, of each session of a project."""
        found = await reading(self._documents.below, ("summaries", project_key))
        return [{"session_id": one.path[-1], "mtime": _ms(one)} for one in found]

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """Return the folded summary of each session of a project."""
        found = await reading(self._documents.below, ("summaries", project_key))
        return [one.value | {"mtime": _ms(one)} for one in found]

    async def delete(self, key: Key) -> None:
        """Retire a session with its subagents' transcripts, or the transcript of one subagent."""
        await writing(self._delete, key, _labels(key))

    async def list_subkeys(self, key: Key) -> list[str]:
        """Return the subpaths of a session's other transcripts."""
        found = await reading(self._documents.paths, (*_session(key), "sub"))
        return sorted({path[-2] for path in found})

    def _append(self, key: Key, labels: tuple[str, ...], entries: list[Entry]) -> None:
        def change(documents: Documents) -> None:
            new = _unknown(documents, labels, entries)
            if not new:
                return
            first = documents.next_number(labels)
            puts = [
                documents.record(labels, number, batch, filter(None, map(_uuid, batch)))
                for number, batch in enumerate(_batches(new), first)
            ]
            if "subpath" not in key:
                puts.append(_summary(documents, key, new))
            documents.write(puts)

        self._documents.atomically(change)

    def _delete(self, key: Key, labels: tuple[str, ...]) -> None:
        def change(documents: Documents) -> None:
            if "subpath" in key:
                drops = [*documents.paths(labels).values()]
            else:
                drops = [*documents.paths(_session(key)).values(), _summary_kref(documents, key)]
            documents.write(drops=drops)

        self._documents.atomically(change)


def _session(key: Key) -> tuple[str, ...]:
    return ("sessions", key["project_key"], key["session_id"])


def _labels(key: Key) -> tuple[str, ...]:
    """The path of a transcript. Raises InputError for an empty subpath."""
    if "subpath" not in key:
        return (*_session(key), "main")
    if not key["subpath"]:
        raise InputError(
            "The subpath of a transcript is empty.",
            next_step="Leave it out for the main transcript.",
            field="subpath",
        )
    return (*_session(key), "sub", key["subpath"])


def _unknown(documents: Documents, labels: tuple[str, ...], entries: list[Entry]) -> list[Entry]:
    """The entries that the transcript lacks. One without a uuid is always new."""
    seen = documents.known(labels, [uuid for entry in entries if (uuid := _uuid(entry))])
    new = []
    for entry in entries:
        uuid = _uuid(entry)
        if uuid and uuid in seen:
            continue
        seen.add(uuid)
        new.append(entry)
    return new


def _batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Entries in their order, as many together as one document holds."""
    batch: list[Entry] = []
    chars = 0
    for entry in entries:
        own = _chars(entry)
        if batch and (len(batch) == _BATCH_ENTRIES or chars + own > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(entry)
        chars += own
    if batch:
        yield batch


def _chars(entry: Entry) -> int:
    """The length of an entry's JSON, in which all characters are ASCII; 0 for what is not JSON,
    which is refused when it is written."""
    try:
        return len(json.dumps(entry))
    except (TypeError, ValueError, RecursionError):
        return 0


def _uuid(entry: Entry) -> str:
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) else ""


def _summary_kref(documents: Documents, key: Key) -> str:
    return documents.address(("summaries", key["project_key"]), key["session_id"])


def _summary(documents: Documents, key: Key, entries: list[Entry]) -> Put:
    kref = _summary_kref(documents, key)
    before = documents.read([kref]).get(kref)
    previous = None if before is None else before.value | {"mtime": _ms(before)}
    folded = fold_session_summary(previous, key, entries)
    path = ("summaries", key["project_key"], key["session_id"])
    # `data` may be what it was: the number of the write makes it a revision with a time of its own
    value = dict(folded) | {"mtime": 0 if before is None else before.number}
    return Put(kref, path, value, key["session_id"], searched=False)


def _ms(document: Document) -> int:
    return document.updated // _NS_PER_MS
