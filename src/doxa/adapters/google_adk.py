"""Google's Agent Development Kit: its memory service.

    runner = Runner(agent=agent, app_name="shop", session_service=...,
                    memory_service=DoxaMemoryService(memory.session(project="shop")))

    kref://shop/adk/<app>/<user>/<session>.thread        where events are

Application and user of a call choose within the session's project; one that was never used finds
nothing. Events are turns, known by their id: a session may be added as often as it grows, and an
event that was deleted does not come back. `search_memory` answers ADK's `load_memory`, whose
results are those of a tool. For `preload_memory`, which puts them into the prompt unasked, give
`preloading=True`: then only what the user said, and what a person stands for, is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from doxa.adapters.conversation import check_session
from doxa.adapters.framework import require
from doxa.adapters.naming import label, label_of
from doxa.adapters.threads import reading, writing
from doxa.agent.context.vouching import vouched
from doxa.app import Session
from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import RECALL_HITS_MAX
from doxa.belief import parse_kref
from doxa.recall import Hit
from doxa.redaction.stripping import stripped

require("google-adk", extra="google-adk", oldest="2.13", below="3")

from google.adk.memory.base_memory_service import (  # noqa: E402
    BaseMemoryService,
    SearchMemoryResponse,
)
from google.adk.memory.memory_entry import MemoryEntry  # noqa: E402
from google.genai import types  # noqa: E402

_SECONDS_MAX = 2**63 // 1_000_000_000  # of a time that can be stored, from 1970
_UNKNOWN = "__unknown_session_id__"
_KNOWN = """
MATCH (s:Space {kref: $place})-[:HAS_THREAD]->(t:Thread)-[:HAS_EXCHANGE]->(e:Exchange)
WHERE e.source_id IN $ids RETURN e.source_id, e.kref, e.session, e.deprecated
"""


class DoxaMemoryService(BaseMemoryService):
    """The memory of the agents of a runner. `session` is the whole scope, `space` where in its
    project; a search returns at most `limit` memories, and `tokens_max` tokens of them."""

    def __init__(
        self,
        session: Session,
        *,
        space: str = "adk",
        limit: int = 10,
        tokens_max: int | None = None,
        preloading: bool = False,
    ) -> None:
        self._session = check_session(session)
        if not isinstance(limit, int) or not 0 < limit <= RECALL_HITS_MAX:
            raise InputError(
                f"limit must be from 1 to {RECALL_HITS_MAX}, not {str(limit)[:40]}.",
                next_step="Give a whole number in that range.",
                field="limit",
            )
        self._root = str(parse_kref(f"kref://{session.project}/{space}"))
        self._space, self._limit, self._tokens_max = space, limit, tokens_max
        self._preloading = preloading

    async def add_session_to_memory(self, session: Any) -> None:
        """Store the events of a session that are not known yet."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that are not known yet. Their text is stored, and nothing else of them."""
        await writing(self._add, app_name, user_id, list(events), session_id or _UNKNOWN)

    def _add(self, app: str, user: str, events: list[Any], conversation: str) -> None:
        place = self._place(app, user)
        messages = [message for event in events if (message := _message(event))]
        known = self._events(place, [str(one["id"]) for one in messages])
        gone = {id for id, _, session, deprecated in known if session == conversation or deprecated}
        new = {str(one["id"]): one for one in messages if one["id"] not in gone}
        if new:
            self._session.ingest(
                list(new.values()),
                thread=conversation,
                session=conversation,
                space=place,
                extract=False,
            )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """State memories as beliefs; one that is known in these words is not stored twice."""
        for one in memories:
            await writing(self._state, app_name, user_id, one)

    def _state(self, app: str, user: str, memory: Any) -> None:
        text = stripped(_text_of(memory.content))
        if text:
            trust = "stated" if memory.author in (None, "user") else "inferred"
            self._session.remember(
                text, space=self._place(app, user), name=label_of(text), trust=trust
            )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Find what a user's conversations and memories hold about a question, best first."""
        found = await reading(self._search, app_name, user_id, query)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in found])

    def _search(self, app: str, user: str, query: str) -> list[Hit]:
        if not isinstance(query, str) or not query.strip():
            return []
        wanted = min(RECALL_HITS_MAX, 4 * self._limit) if self._preloading else self._limit
        try:
            found = self._session.recall(
                query, space=self._place(app, user), limit=wanted, tokens_max=self._tokens_max
            ).hits
        except NotFoundError:  # nothing was stored yet
            return []
        if self._preloading:
            with self._session.memory.store.read() as reader:
                vouching = {hit.kref for hit in vouched(reader, found)}
            found = tuple(
                hit
                for hit in found
                if hit.kref in vouching or (hit.type == "exchange" and hit.speaker == "user")
            )
        return list(found[: self._limit])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Retire a memory by the id that a search gave; one that is unknown is passed over."""
        if memory_id:
            await writing(self._delete, app_name, user_id, memory_id)

    def _delete(self, app: str, user: str, memory_id: str) -> None:
        place = self._place(app, user)
        folder = f"kref://{self._session.project}/{place}/"
        krefs = [
            kref for _, kref, _, deprecated in self._events(place, [memory_id]) if not deprecated
        ]
        if memory_id.startswith(folder):
            krefs.append(memory_id)
        for kref in krefs:
            try:
                self._session.deprecate(kref)
            except (InputError, NotFoundError):
                continue

    def _place(self, app: str, user: str) -> str:
        return f"{self._space}/{label(app, 'app_name')}/{label(user, 'user_id')}"

    def _events(self, place: str, ids: list[str]) -> list[tuple[str, str, str, bool]]:
        rows = self._session.read(
            _KNOWN, {"place": f"kref://{self._session.project}/{place}", "ids": ids}
        )
        return [(str(id), str(kref), str(own), bool(gone)) for id, kref, own, gone in rows]


def _message(event: Any) -> dict[str, Any] | None:
    text = stripped(_text_of(event.content))
    if not text.strip():
        return None
    author = str(event.author or "model")
    identity = str(event.id or "") or _digest(f"{author}:{event.timestamp}:{text}").hex()
    # ADK's times have microseconds. Two events of one moment with the same words differ by their
    # ids alone, which the rest of the nanoseconds stands for.
    micros = round(_seconds(event.timestamp) * 1_000_000)
    rest = int.from_bytes(_digest(identity), "little") % 1_000
    return {
        "text": text,
        "role": "user" if author == "user" else "assistant",
        "speaker": author,
        "id": identity,
        "time": _time(micros * 1_000 + rest),
    }


def _seconds(timestamp: Any) -> float:
    """When an event was; 0 without a time, or with one that no calendar has."""
    seconds = float(timestamp or 0.0)
    return seconds if abs(seconds) < _SECONDS_MAX else 0.0


def _time(time_ns: int) -> str:
    """A time as text, which also says that it is not in seconds."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _text_of(content: Any) -> str:
    parts = getattr(content, "parts", None) or ()
    return "\n".join(part.text for part in parts if part.text)


def _entry(hit: Hit) -> MemoryEntry:
    said = hit.type == "exchange"
    role = "user" if hit.speaker in ("user", "") else "model"
    seconds, rest = divmod(hit.time, 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1_000)
    return MemoryEntry(
        content=types.Content(role=role, parts=[types.Part(text=hit.text)]),
        id=hit.source_id if said and hit.source_id else str(parse_kref(hit.kref).item()),
        author=hit.speaker or None,
        timestamp=when.isoformat(),
        custom_metadata={}
        if said
        else {"kref": hit.kref, "trust": hit.trust, "source": hit.source},
    )
