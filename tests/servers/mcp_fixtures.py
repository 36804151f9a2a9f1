"""Clients of both protocol eras on every transport, shared by the tests of the MCP server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from doxa.app import Memory
from doxa.servers.credentials import Credentials
from doxa.servers.mcp.http import McpServer, running_mcp_server
from doxa.servers.memory import MemoryDatabase
from tests.fixtures_shared import own_code

ERAS = ("legacy", "auto")  # auto: the server says which it speaks, and it is the newer
Work = Callable[[Client], Awaitable[None]]


def run(make: Callable[[], Client], work: Work) -> None:
    """Run the work on a client, for at most a minute."""

    async def go() -> None:
        async with make() as client:
            await work(client)

    asyncio.run(asyncio.wait_for(go(), 60))


def over_stdio(path: Path, era: str, work: Work, *, profile: str = "core", **options: Any) -> None:
    """Run the work on a real server process."""
    args = ["-W", "error", "-m", "doxa.cli", "mcp", "--db", str(path), "--project", "p"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[*args, "--profile", profile],
        env={"DOXA_MODELS": str(path.parent / "models"), **own_code()},
    )
    run(lambda: Client(stdio_client(server), mode=era, **options), work)


@contextmanager
def serving(
    memory: Memory, users: Credentials | None = None, **options: Any
) -> Iterator[McpServer]:
    """Serve a memory over HTTP, to the logins in a file of users."""
    database = MemoryDatabase(memory, project="p")
    with running_mcp_server(
        lambda principal, names: database.session_of(principal, context=names),
        users,
        database=database.name,
        **options,
    ) as server:
        yield server


def over_http(url: str, era: str, work: Work, *, token: str = "", **options: Any) -> None:
    """Run the work on a server that listens."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def go() -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=era, **options) as client,
        ):
            await work(client)

    asyncio.run(asyncio.wait_for(go(), 60))
