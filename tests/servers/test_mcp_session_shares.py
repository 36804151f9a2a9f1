"""How sessions over HTTP are counted by login, against an application that only answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from doxa.servers.credentials import Principal
from doxa.servers.mcp import session_shares
from doxa.servers.mcp.session_shares import SessionShares

ANA, BEN = Principal("ana", "agent"), Principal("ben", "agent")


class Sessions:
    """Fake: opens a session for each POST without one, when its body has come."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.ended: list[str] = []
        self.shares = SessionShares(self, 4, lambda _: {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        named = headers.get("mcp-session-id", "")
        if scope["method"] == "DELETE":
            self.open.remove(named)
            self.ended.append(named)
        await receive()
        found = []
        if not named:
            self.open.append(f"s{len(self.open) + len(self.ended)}")
            found = [(b"mcp-session-id", self.open[-1].encode())]
        await send({"type": "http.response.start", "status": 200, "headers": found})

    async def begin(self, who: Principal, *, body: asyncio.Event | None = None) -> None:
        async def receive() -> Message:
            if body is not None:
                await body.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            return None

        scope: dict[str, Any] = {"type": "http", "method": "POST", "headers": []}
        await self.shares.serve(who, scope, receive, send)


def test_bodies_that_do_not_come_count_for_who_sends_them() -> None:
    async def run() -> None:
        sessions, body = Sessions(), asyncio.Event()
        for _ in range(3):
            await sessions.begin(ANA)
        waiting = [asyncio.create_task(sessions.begin(BEN, body=body)) for _ in range(20)]
        await asyncio.sleep(0.01)
        # as many as leave both the same, and no more
        assert len(sessions.open) >= 2
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not sessions.shares._opening

    asyncio.run(run())


def test_sessions_that_ended_by_themselves_end_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        sessions = Sessions()
        for _ in range(4):
            await sessions.begin(ANA)
        sessions.open.clear()  # idle for too long
        monkeypatch.setattr(session_shares, "_IDLE_S", 0.0)
        await sessions.begin(BEN)
        monkeypatch.setattr(session_shares, "_IDLE_S", 60.0)
        for _ in range(3):
            await sessions.begin(BEN)
        assert not sessions.ended and len(sessions.open) == 4
        await sessions.begin(ANA)
        assert sessions.ended == ["s0"]

    asyncio.run(run())
