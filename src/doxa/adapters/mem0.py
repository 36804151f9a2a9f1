"""mem0: its Python interface over doxa, for programs that were written for it.

    memory = Mem0Memory(doxa.open("memory.db").session(project="shop"))
    memory.add("I live in Berlin", user_id="ann")
    memory.search("where do I live?", filters={"user_id": "ann"})["results"]

    kref://shop/mem0/<user>/<agent>/<run>/<name>.fact      where a memory is; _ for an id not given

The session and the space are the whole scope; ids choose within it, and an id that was never used
finds nothing. What one user says is never compared with what another says. An update is a revision
and a deletion retires: both stay in `history`, and `doxa forget --erase` destroys.

Without a language model, `infer=True` keeps each message that states something: one that corrects a
memory of the same ids revises it, one that says the same is not kept twice. mem0 itself is not
needed. `mem0_rest.py` has the same over HTTP.

Source: mem0ai 2.2, mem0/memory/main.py (interface and results).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import Any

from doxa.adapters.documents import Run, atomically, is_contested
from doxa.adapters.mem0_filters import IDS, fits, split_filters, trimmed
from doxa.adapters.naming import label
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.base.clock import parse_time
from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import RECALL_HITS_MAX
from doxa.belief import Revision, parse_kref
from doxa.recall import Hit

_NONE = "_"  # the space of an id that is not given
_OWN = ("role", "actor_id", "expiration_date")  # with the ids, what mem0 shows outside of metadata
_JSON = "mem0_json"  # names of metadata that are kept as JSON, since they are nested
_LEAVES = "MATCH (p:Space {kref: $root})-[:HAS_SPACE*0..3]->(l:Space) RETURN l.kref"
_ITEMS = """
MATCH (l:Space)-[:HAS_ITEM]->(i:Item)-[:CURRENT]->(r:Revision)
WHERE l.kref IN $leaves RETURN i.kref ORDER BY r.time DESC
"""
_MATCH = "CALL doxa.match($text, {space: $space}) YIELD kref, verdict RETURN kref, verdict"
_SAYS_NOTHING_NEW = ("nothing", "same")  # verdicts
_BEGIN = "MATCH (s:Space {kref: $root}) RETURN s.kref"
_KEEP = "CALL doxa.remember($text, $options) YIELD kref RETURN kref"
_REVISE = "CALL doxa.revise($kref, $text, $options) YIELD action, conflict RETURN action, conflict"
_PLACES_MAX = 64  # spaces that are searched one by one; more are searched together
_YEAR_MAX = 2261
_UNSET: Any = object()


class Mem0InputError(InputError, ValueError):
    """What mem0 refuses with a ValueError."""


class _TrustedMoreError(Mem0InputError):
    """What is to be revised is trusted more than the text that was to replace it."""


class Mem0Memory:
    """The interface of mem0's `Memory` over a session. Safe to share between threads.

    With `user_id`, `agent_id` or `run_id` every call is confined to these, and one that names
    another is refused."""

    def __init__(
        self,
        session: Session,
        *,
        space: str = "mem0",
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        if not isinstance(session, Session):
            raise Mem0InputError(
                f"A session is needed; this is {type(session).__name__}.",
                next_step="Give doxa.open(path).session(project=...).",
                field="session",
            )
        self._session = session
        self._root = str(parse_kref(f"kref://{session.project}/{space}"))
        self._space = space
        self._fixed = _given(user_id=user_id, agent_id=agent_id, run_id=run_id)

    def __enter__(self) -> Mem0Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: the memory belongs to the caller who opened it."""

    # Writing

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | date | None = None,
        infer: bool = True,
        **unsupported: Any,
    ) -> dict[str, Any]:
        """Keep messages; at least one id is required. Returns `{"results": [{"id", "memory",
        "event", ...}]}` with the events ADD and UPDATE. Raises Mem0InputError."""
        _refuse(unsupported, "add")
        ids = self._ids(_given(user_id=user_id, agent_id=agent_id, run_id=run_id))
        expires = _expiration(expiration_date)
        kept = _metadata(metadata)
        results = []
        for role, text, actor in list(_texts(messages)):
            own = {"role": role} | ({"actor_id": actor} if actor else {})
            held = {**kept, **ids, **own, **({"expiration_date": expires} if expires else {})}
            if infer:
                done = self._infer(text, ids, held)
            else:
                keep = partial(self._keep, text=text, ids=ids, held=held)
                done = atomically(self._session, keep)
            if done is not None:
                results.append({**done, "actor_id": actor or None, "role": role})
        return {"results": results}

    def _keep(
        self, run: Run, text: str, ids: Mapping[str, str], held: Mapping[str, Any]
    ) -> dict[str, Any]:
        options = {
            "space": self._leaf(ids),
            "name": f"m-{uuid.uuid4().hex}",
            "trust": "stated" if held["role"] == "user" else "inferred",
            "metadata": held,
            "valid_until": _until(held.get("expiration_date")),
        }
        [(kref,)] = run(_KEEP, {"text": text, "options": options})
        return {"id": self._id_of(kref), "memory": text, "event": "ADD"}

    def _infer(
        self, text: str, ids: Mapping[str, str], held: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Keep a message where its own ids' memories do not say it; None if nothing was written.
        It is matched before the transaction, and again within it if anybody wrote meanwhile."""
        seen = self._session.token()
        matched = self._matched(self._session.run, text, ids)
        if matched[1] in _SAYS_NOTHING_NEW:
            return None

        def change(run: Run) -> dict[str, Any] | None:
            self._begin(run)
            same = self._session.token() == seen
            found = matched if same else self._matched(run, text, ids)
            return self._put(run, found, text, ids, held)

        try:
            return atomically(self._session, change)
        except _TrustedMoreError:  # it stays, and what was said is kept next to it
            return atomically(self._session, lambda run: self._keep(run, text, ids, held))

    def _begin(self, run: Run) -> None:
        """Begin to read in a transaction: what others write from now on starts it again."""
        list(run(_BEGIN, {"root": self._root}))

    def _matched(self, run: Run, text: str, ids: Mapping[str, str]) -> tuple[str | None, str]:
        rows = list(run(_MATCH, {"text": text, "space": self._leaf(ids)}))
        kref, verdict = rows[0]  # the likeliest; there is one also where nothing is found
        return kref, verdict

    def _put(
        self,
        run: Run,
        matched: tuple[str | None, str],
        text: str,
        ids: Mapping[str, str],
        held: Mapping[str, Any],
    ) -> dict[str, Any] | None:
        kref, verdict = matched
        if verdict in _SAYS_NOTHING_NEW:
            return None
        old = self._session.get(parse_kref(kref).item()) if verdict == "revise" and kref else None
        if not isinstance(old, Revision) or (held["role"] != "user" and old.trust != "inferred"):
            return self._keep(run, text, ids, held)  # an answer does not correct what a user said
        if not self._revise(run, old, text, _merged(old.metadata, held)):
            return None
        changed = {"memory": text, "event": "UPDATE", "previous_memory": old.summary}
        return {"id": self._id_of(old.item), **changed}

    def _revise(
        self, run: Run, old: Revision, text: str, held: Mapping[str, Any], *, again: bool = False
    ) -> bool:
        """Write the next revision; return whether it differs, or was to be written all the same."""
        options = {
            "metadata": held,
            "valid_until": _until(held.get("expiration_date")),
            "again": again,
        }
        [(action, conflict)] = run(_REVISE, {"kref": old.item, "text": text, "options": options})
        if is_contested(action, conflict):
            raise _TrustedMoreError(
                f"Memory with id {self._id_of(old.item)} is trusted more than this text; nothing"
                " was written.",
                next_step="Ask a person to revise it, or add the text as another memory.",
                field="memory_id",
            )
        return bool(action != "unchanged")

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | date | None = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Write the next revision of a memory. Ids in `metadata` are ignored: a memory keeps its
        own. Raises Mem0InputError for an unknown memory."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise Mem0InputError(
                "At least one of text, metadata, or expiration_date must be provided.",
                next_step="Give one.",
                field="text",
            )

        def change(run: Run) -> None:
            self._begin(run)
            old = self._current(memory_id)
            held = _merged(old.metadata, _metadata(metadata))
            if expiration_date is not _UNSET:
                held.pop("expiration_date", None)
                expires = _expiration(expiration_date)
                held |= {"expiration_date": expires} if expires else {}
            self._revise(run, old, old.summary if text is None else text, held, again=True)

        atomically(self._session, change)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Retire a memory. Raises Mem0InputError for an unknown one."""
        self._session.forget(self._current(memory_id).item)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, str]:
        """Retire all memories of at least one id."""
        given = _given(user_id=user_id, agent_id=agent_id, run_id=run_id)
        for item in self._items(self._ids(given)):
            self._session.forget(item)
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Retire all memories of this scope, and of nothing else."""
        for item in self._items(self._fixed):
            self._session.forget(item)

    # Reading

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory, or None."""
        found = self._read(memory_id)
        return None if found is None or found.status == "deprecated" else self._shown(found)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **unsupported: Any,
    ) -> dict[str, Any]:
        """List memories of at least one id, newest first."""
        _refuse(unsupported, "get_all")
        top_k = _count(top_k)
        ids, conditions = split_filters(filters)
        results: list[dict[str, Any]] = []
        for item in self._items(self._ids(ids)):
            if len(results) >= top_k:
                break
            found = self._session.get(item)
            assert isinstance(found, Revision)
            shown = self._shown(found)
            if (show_expired or not _expired(shown)) and fits(shown, conditions):
                results.append(shown)
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        **unsupported: Any,
    ) -> dict[str, Any]:
        """Find memories of at least one id by doxa's recall, best first. `threshold` is the least
        score, 0 to 1; `explain` adds `score_details`, the score of each signal."""
        _refuse(unsupported, "search")
        top_k, least = _count(top_k), _threshold(threshold)
        if not isinstance(query, str) or not query.strip():
            raise Mem0InputError(
                "A query is a text that is not blank.", next_step="Ask something.", field="query"
            )
        ids, conditions = split_filters(filters)
        wanted = RECALL_HITS_MAX if conditions else min(RECALL_HITS_MAX, max(1, 2 * top_k))
        options: dict[str, Any] = {"history": show_expired, "limit": wanted}
        options |= {"rerank": "auto"} if rerank else {}
        results: list[dict[str, Any]] = []
        for hit in self._hits(query.strip(), self._ids(ids), options) if top_k else ():
            found = self._session.get(parse_kref(hit.kref).item())
            if hit.score < least or not isinstance(found, Revision) or len(results) == top_k:
                continue
            shown = {**self._shown(found), "score": hit.score}
            if (show_expired or not _expired(shown)) and fits(shown, conditions):
                results.append(shown | ({"score_details": dict(hit.lanes)} if explain else {}))
        return {"results": results}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first; [] for an unknown one."""
        found = self._read(memory_id)
        if found is None:
            return []
        past = self._session.history(found.item)
        rows, old = [], None
        begun = _iso(past.revisions[0].created)
        for revision in past.revisions:
            event = "ADD" if old is None else "UPDATE"
            rows.append(_event(memory_id, revision, event, old, revision.summary, begun))
            old = revision.summary
        if past.revisions[-1].status == "deprecated":
            ended = max(move.until or 0 for move in past.tags if move.tag == "current")
            row = _event(memory_id, past.revisions[-1], "DELETE", old, None, begun)
            rows.append(row | {"updated_at": _iso(ended), "is_deleted": True})
        return rows

    # Where memories are

    def _ids(self, given: Mapping[str, str]) -> dict[str, str]:
        """The ids of a call with those of the constructor, which it cannot change."""
        for name, value in given.items():
            if self._fixed.get(name, value) != value:
                raise Mem0InputError(
                    f"This memory is confined to {name} {self._fixed[name][:80]!r}.",
                    next_step=f"Leave {name} out, or make another Mem0Memory.",
                    field=name,
                )
        ids = {**self._fixed, **given}
        if not ids:
            raise Mem0InputError(
                "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
                next_step="Give one.",
                field="user_id",
            )
        return ids

    def _leaf(self, ids: Mapping[str, str]) -> str:
        """The space of exactly these ids."""
        parts = (label(ids[name], name) if name in ids else _NONE for name in IDS)
        return "/".join((self._space, *parts))

    def _above(self, ids: Mapping[str, str]) -> str:
        """The narrowest space that holds all memories of these ids, as an address."""
        known = takewhile(ids.__contains__, IDS)
        return "/".join((self._root, *(label(ids[name], name) for name in known)))

    def _leaves(self, ids: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The spaces, as addresses, whose memories have all these ids; and the fewest spaces that
        hold them, and no memories of others."""
        names = [label(ids[name], name) if name in ids else "" for name in IDS]
        root = self._above(ids)
        rows = self._session.read(_LEAVES, {"root": root})
        depth = len(self._root.split("/")) + len(IDS)
        found: list[str] = []
        mixed: set[str] = set()
        for path in (str(row[0]) for row in rows):
            parts = path.split("/")
            if len(parts) != depth:
                continue
            if all(name in ("", own) for name, own in zip(names, parts[-3:], strict=True)):
                found.append(path)
            else:
                mixed.update("/".join(parts[:end]) for end in range(depth - len(IDS), depth))
        return found, list(dict.fromkeys(_top(path, root, mixed) for path in found))

    def _items(self, ids: Mapping[str, str]) -> list[str]:
        leaves, _ = self._leaves(ids)
        rows = self._session.read(_ITEMS, {"leaves": leaves}) if leaves else ()
        return [str(row[0]) for row in rows]

    def _hits(self, query: str, ids: Mapping[str, str], options: dict[str, Any]) -> Iterable[Hit]:
        """What answers a query in the spaces of these ids. Where these are many, those that hold
        nothing of others are searched together. If they still are many, so is all, and they are
        searched one by one only if others took all places."""
        leaves, tops = self._leaves(ids)
        allowed = self._spaces(leaves)
        if len(leaves) <= _PLACES_MAX:
            hits = self._recalled(query, leaves, options)
        else:
            wanted, options = options["limit"], options | {"limit": RECALL_HITS_MAX}
            many = len(tops) > _PLACES_MAX
            hits = self._recalled(query, [self._above(ids)] if many else tops, options)
            own = sum(hit.space in allowed for hit in hits)
            # a recall may leave out some of as many as it found
            if many and own < wanted and len(hits) > RECALL_HITS_MAX // 2:
                hits = self._recalled(query, tops, options)
        found = [hit for hit in hits if hit.space in allowed and hit.type == "revision"]
        found = [hit for hit in found if hit.status not in ("superseded", "deprecated")]
        return sorted(found, key=lambda hit: -hit.score)

    def _recalled(self, query: str, places: Iterable[str], options: dict[str, Any]) -> list[Hit]:
        hits: list[Hit] = []
        for space in self._spaces(places):
            try:
                hits += self._session.recall(query, space=space, **options).hits
            except NotFoundError:  # it was erased meanwhile
                continue
        return hits

    def _spaces(self, places: Iterable[str]) -> dict[str, None]:
        prefix = f"kref://{self._session.project}/"
        return dict.fromkeys(place.removeprefix(prefix) for place in places)

    # Memories

    def _id_of(self, kref: str) -> str:
        """The id of a memory: its address below the root, written with dots."""
        kref = str(parse_kref(kref).item())
        return kref.removeprefix(f"{self._root}/").replace("/", ".")

    def _read(self, memory_id: str) -> Revision | None:
        """A memory of this scope, whether it is retired or not."""
        parts = memory_id.split(".") if isinstance(memory_id, str) else []
        if len(parts) != len(IDS) + 2:
            return None
        try:
            kref = parse_kref(f"{self._root}/{'/'.join(parts[:-1])}.{parts[-1]}")
            found = self._session.get(kref)
        except (InputError, NotFoundError):
            return None
        if not isinstance(found, Revision) or str(kref) != found.item:
            return None
        own = found.metadata
        return found if all(own.get(name) == id for name, id in self._fixed.items()) else None

    def _current(self, memory_id: str) -> Revision:
        found = self._read(memory_id)
        if found is None or found.status == "deprecated":
            raise Mem0InputError(
                f"Memory with id {str(memory_id)[:200]} not found.",
                next_step="Give an id that add, search or get_all returned.",
                field="memory_id",
            )
        return found

    def _begun(self, found: Revision) -> int:
        first = found.number == 1
        return found.created if first else self._session.history(found.item).revisions[0].created

    def _shown(self, found: Revision) -> dict[str, Any]:
        """A memory as mem0 shows it."""
        kept: dict[str, Any] = _decoded(found.metadata)
        own = {name: kept.pop(name) for name in (*IDS, *_OWN) if name in kept}
        data = found.summary.encode("utf-8", "surrogatepass")
        shown = {
            "id": self._id_of(found.item),
            "memory": found.summary,
            "hash": hashlib.md5(data, usedforsecurity=False).hexdigest(),
            "created_at": _iso(self._begun(found)),
            "updated_at": _iso(found.created),
            **own,
        }
        return shown | ({"metadata": kept} if kept else {})


class AsyncMem0Memory:
    """The same for asynchronous programs, as mem0's `AsyncMemory`. A write that has begun is
    awaited when its caller is cancelled."""

    def __init__(self, session: Session, **scope: Any) -> None:
        self._memory = Mem0Memory(session, **scope)

    async def add(self, messages: Any, **options: Any) -> dict[str, Any]:
        """See `Mem0Memory.add`."""
        return await writing(self._memory.add, messages, **options)

    async def update(self, memory_id: str, *args: Any, **options: Any) -> dict[str, str]:
        """See `Mem0Memory.update`."""
        return await writing(self._memory.update, memory_id, *args, **options)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """See `Mem0Memory.delete`."""
        return await writing(self._memory.delete, memory_id)

    async def delete_all(self, *args: Any, **ids: Any) -> dict[str, str]:
        """See `Mem0Memory.delete_all`."""
        return await writing(self._memory.delete_all, *args, **ids)

    async def reset(self) -> None:
        """See `Mem0Memory.reset`."""
        await writing(self._memory.reset)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """See `Mem0Memory.get`."""
        return await reading(self._memory.get, memory_id)

    async def get_all(self, **options: Any) -> dict[str, Any]:
        """See `Mem0Memory.get_all`."""
        return await reading(self._memory.get_all, **options)

    async def search(self, query: str, **options: Any) -> dict[str, Any]:
        """See `Mem0Memory.search`."""
        return await reading(self._memory.search, query, **options)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """See `Mem0Memory.history`."""
        return await reading(self._memory.history, memory_id)


def _given(**ids: Any) -> dict[str, str]:
    """The ids that are given, trimmed."""
    return {name: trimmed(value, name) for name, value in ids.items() if value is not None}


def _refuse(unsupported: Mapping[str, Any], method: str) -> None:
    """Raise for arguments that are not supported and have a value: ignored, they would mislead."""
    named = sorted(name for name, value in unsupported.items() if value is not None)
    if named:
        entity = any(name in IDS for name in named)
        step = "Use filters={'user_id': '...'}." if entity else "Leave it out."
        raise Mem0InputError(
            f"{method} takes no {', '.join(named)[:200]}.", next_step=step, field=named[0]
        )


def _texts(messages: Any) -> Iterable[tuple[str, str, str]]:
    """Role, text and name of each message; those of the system and those without text are passed
    over."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list | tuple):
        raise Mem0InputError(
            f"messages must be str, dict, or list[dict], not {type(messages).__name__}.",
            next_step="Give a text or messages with role and content.",
            field="messages",
        )
    for one in messages:
        if not isinstance(one, Mapping):
            continue
        role, content = one.get("role"), one.get("content")
        if isinstance(content, list | tuple):  # parts: pictures are passed over
            texts = [part.get("text") for part in content if isinstance(part, Mapping)]
            content = "\n".join(text for text in texts if isinstance(text, str))
        if not isinstance(role, str) or role == "system" or not isinstance(content, str):
            continue
        if content.strip():
            yield role, content, str(one.get("name") or "")


def _metadata(given: Any) -> dict[str, Any]:
    """Metadata as doxa keeps it: flat, what is nested as JSON. Ids in it are dropped, as mem0
    does, so that it cannot move a memory to others, and so is what mem0 shows outside of it."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise Mem0InputError(
            f"metadata is a mapping, not {type(given).__name__}.",
            next_step="Give a dict.",
            field="metadata",
        )
    kept: dict[str, Any] = {}
    nested = []
    for name, value in given.items():
        if name in (*IDS, *_OWN, _JSON):
            continue
        if not isinstance(name, str):
            raise Mem0InputError(
                f"A name in metadata is a text, not {type(name).__name__}.",
                next_step="Give names as text.",
                field="metadata",
            )
        if isinstance(value, bool | int | float | str):
            kept[name] = value
            continue
        try:
            kept[name] = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise Mem0InputError(
                f"{str(name)[:80]!r} in metadata is not JSON: {error}.",
                next_step="Give text, numbers, booleans, lists and dicts.",
                field="metadata",
            ) from None
        nested.append(name)
    return kept | ({_JSON: nested} if nested else {})


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with changes: what was nested and is not given stays nested."""
    nested = [name for name in _nested(old) if name not in new] + _nested(new)
    merged = {**old, **new}
    merged.pop(_JSON, None)
    return merged | ({_JSON: nested} if nested else {})


def _nested(metadata: Mapping[str, Any]) -> list[str]:
    """Names of what is kept as JSON. Anybody may have revised the memory by other means."""
    names = metadata.get(_JSON)
    names = names if isinstance(names, list | tuple) else ()
    return [name for name in names if name in metadata and name not in _OWN]


def _decoded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as it was given; a text that is not JSON stays as it is."""
    kept = {name: value for name, value in metadata.items() if name != _JSON}
    for name in _nested(metadata):
        with suppress(TypeError, ValueError, RecursionError):
            kept[name] = json.loads(kept[name])
    return kept


def _top(leaf: str, root: str, mixed: Collection[str]) -> str:
    """The highest space from a root down to a leaf that holds nothing of others."""
    while leaf != root and (above := leaf.rpartition("/")[0]) not in mixed:
        leaf = above
    return leaf


def _expiration(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise Mem0InputError(
            "expiration_date must be a valid date in YYYY-MM-DD format.",
            next_step="Write it as 2026-03-02.",
            field="expiration_date",
        ) from None


def _until(expires: object) -> int | None:
    """When a memory that expires on a day no longer holds: at the end of that day, UTC."""
    if not expires:
        return None
    last = date.fromisoformat(str(expires))
    if last.year > _YEAR_MAX:  # beyond what can be stored: it holds
        return None
    return parse_time((last + timedelta(days=1)).isoformat(), field="expiration_date")


def _expired(shown: Mapping[str, Any]) -> bool:
    expires = shown.get("expiration_date")
    return bool(expires) and date.fromisoformat(str(expires)) < datetime.now(UTC).date()


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Mem0InputError(
            f"Invalid top_k: {str(value)[:40]}.",
            next_step="Give a whole number, 0 or more.",
            field="top_k",
        )
    return value


def _threshold(value: Any) -> float:
    value = 0.0 if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise Mem0InputError(
            f"Invalid threshold: {str(value)[:40]}.",
            next_step="Give a number from 0 to 1.",
            field="threshold",
        )
    return float(value)


def _event(
    memory_id: str, revision: Revision, event: str, old: str | None, new: str | None, begun: str
) -> dict[str, Any]:
    return {
        "id": revision.kref,
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": begun,
        "updated_at": _iso(revision.created),
        "is_deleted": False,
        "actor_id": revision.metadata.get("actor_id"),
        "role": revision.metadata.get("role"),
    }


def _iso(time_ns: int) -> str:
    seconds, rest = divmod(time_ns, 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=rest // 1_000)
    return when.isoformat()
