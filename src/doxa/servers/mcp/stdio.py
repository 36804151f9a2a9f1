"""Serve one agent over standard input and output."""

from __future__ import annotations

import asyncio

from mcp.server.stdio import stdio_server

from doxa.app import Memory, Session
from doxa.hosts.tool import HookTool
from doxa.servers.mcp.serving import build_server


def serve_stdio(
    memory: Memory,
    session: Session,
    *,
    version: str,
    profile: str = "core",
    hooks: HookTool | None = None,
) -> None:
    """Serve until the client closes its end."""

    async def run() -> None:
        server = build_server(session, version=version, profile=profile, hooks=hooks).sdk
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        if hooks is not None:
            hooks.start()
        asyncio.run(run())
    finally:
        if hooks is not None:
            hooks.close()
        memory.close()
