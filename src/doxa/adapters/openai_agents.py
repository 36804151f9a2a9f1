"""The OpenAI Agents SDK's Session on a doxa session.

    conversation = DoxaSession("customer-7", memory.session(actor="support", project="shop"))
    await Runner.run(agent, "Hello", session=conversation)

Each item of a conversation is kept as it is, in order. What user and assistant say in it is also
ingested as turns, so that recall and consolidation know it. An item that is popped is retired, with
its turn; clearing a conversation retires its items, and leaves its turns and what was concluded
from them: `forget` with the address of the thread retires those.
"""

from __future__ import annotations

from typing import Any

from doxa.adapters.documents import RECORD_TRUST, Documents, segment
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.base.clock import format_time

VERSION = require("openai-agents", extra="openai-agents", oldest="0.24", below="0.26")

from agents.memory import SessionABC, SessionSettings  # noqa: E402

Item = dict[str, Any]
_CAPTURED = ("user", "assistant")
_TURN = "MATCH (e:Exchange {source_id: $id}) WHERE e.kref STARTS WITH $project RETURN e.kref"


class DoxaSession(SessionABC):  # type: ignore[misc, unused-ignore]
    """One conversation of the SDK, in the session's project below `space`.

    With `capture`, what user and assistant say is ingested as turns of a thread; with `extract`
    too, rules look for candidate beliefs in them; `trust` is that of the turns, as `ingest` takes
    it. `session_settings` bounds what `get_items`
    returns. Any text is a `session_id`.
    """

    def __init__(
        self,
        session_id: str,
        session: Session,
        *,
        space: str = "openai-agents",
        capture: bool = True,
        extract: bool = True,
        trust: str = "",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._session = session
        self._documents = Documents(
            session, space=space, kind="item", channel="openai-agents", trust=RECORD_TRUST
        )
        self._trust = trust
        self._labels = (session_id,)
        self._capture = capture
        self._extract = extract
        self._thread = segment(session_id)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the conversation, oldest first; with a limit, its last items."""
        if limit is None:
            limit = self.session_settings.limit
        bound = None if limit is None or limit < 0 else limit
        found = await reading(self._documents.listed, self._labels, limit=bound)
        return [one.value for one in found]

    async def add_items(self, items: list[Item]) -> None:
        """Add items at the end, all or none."""
        if items:
            await writing(self._add, list(items))

    async def pop_item(self) -> Item | None:
        """Take the last item out of the conversation, and return it."""
        return await writing(self._pop)

    async def clear_session(self) -> None:
        """Take all items out of the conversation."""
        await writing(self._clear)

    def _add(self, items: list[Item]) -> None:
        def change(documents: Documents) -> int:
            first = documents.next_number(self._labels)
            documents.write(
                [
                    documents.record(self._labels, number, item)
                    for number, item in enumerate(items, first)
                ]
            )
            return first

        first = self._documents.atomically(change)
        if self._capture:
            self._ingest(first, items)

    def _ingest(self, first: int, items: list[Item]) -> None:
        [at] = self._documents.read([self._documents.numbered(self._labels, first)]).values()
        turns = [
            {
                "text": text,
                "role": item["role"],
                "speaker": item["role"],
                "id": self._turn(number),
                "time": format_time(at.updated),
            }
            for number, item in enumerate(items, first)
            if (text := said(item))
        ]
        if turns:
            self._session.ingest(
                turns, thread=self._thread, extract=self._extract, trust=self._trust
            )

    def _turn(self, number: int) -> str:
        return self._documents.numbered(self._labels, number)

    def _pop(self) -> Item | None:
        def change(documents: Documents) -> tuple[str, Item] | None:
            last = documents.listed(self._labels, limit=1)
            if not last:
                return None
            documents.write(drops=[last[0].kref])
            return last[0].kref, last[0].value

        popped = self._documents.atomically(change)
        if popped is None:
            return None
        params = {"id": popped[0], "project": f"kref://{self._session.project}/"}
        for (kref,) in self._session.read(_TURN, params):
            self._session.deprecate(kref)
        return popped[1]

    def _clear(self) -> None:
        self._documents.atomically(
            lambda documents: documents.write(drops=[*documents.paths(self._labels).values()])
        )


def said(item: Item) -> str:
    """Return what user or assistant say in an item; "" for calls, results and instructions."""
    if not isinstance(item, dict) or item.get("role") not in _CAPTURED:
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
