"""The memory as tools, resources and prompts of a server: what connects `tools.py`, which knows
sessions, with `server.py`, which knows the protocol."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolRequestParams, CallToolResult, TextContent, Tool

from doxa.app import Session
from doxa.base.limits import MCP_PROGRESS_MS
from doxa.hosts.tool import NAME as HOOK
from doxa.hosts.tool import HookTool
from doxa.servers.mcp.calls import CallContext, CallMeter, CallQuestion, Reply
from doxa.servers.mcp.prompts import memory_prompts
from doxa.servers.mcp.questions import Questions, ask_now, can_ask, is_modern
from doxa.servers.mcp.resources import KrefResources
from doxa.servers.mcp.server import Context, MemoryServer, ServedTool, SessionOf, ToolAnswer
from doxa.servers.mcp.tools import CallOutcome, MemoryTool, ToolProfile, profile_of, unknown_tool
from doxa.servers.telemetry.calls import CallRecord, Outcome
from doxa.servers.telemetry.trace_context import PARENT, STATE

# in the `_meta` of a request: who sends it again is the host, so that no model makes up keys
_LOG = logging.getLogger("doxa.mcp")
IDEMPOTENCY_KEY = "doxa/idempotencyKey"


class SessionTool:
    """A tool of a profile, called on the session of the caller."""

    def __init__(
        self, tool: MemoryTool, sessions: SessionOf, questions: Questions, *, local: bool
    ) -> None:
        self.listed = Tool.model_validate(dict(tool.listed))
        self._tool, self._sessions, self._questions = tool, sessions, questions
        self._local = local

    async def call(self, context: Context, params: CallToolRequestParams) -> ToolAnswer:
        session = self._sessions(context)
        reply = self._questions.reply(params)
        while True:
            try:
                outcome = await self._run(context, session, params, reply)
            except CallQuestion as question:
                if is_modern(context):
                    return self._questions.ask(question)
                reply = await ask_now(context, question)
                continue
            return CallToolResult(
                content=[TextContent(type="text", text=outcome.text)],
                structured_content=outcome.data,
                is_error=outcome.failed,
            )

    async def _run(
        self,
        context: Context,
        session: Session,
        params: CallToolRequestParams,
        reply: Reply | None,
    ) -> CallOutcome:
        """Carry out the call on a thread; report its progress, and let it end if it is
        cancelled."""
        progress = _Progress(context)
        meter = CallMeter(progress.note)
        given = CallContext(_key(context), reply, can_ask(context), self._local, meter)
        arguments: Mapping[str, Any] = params.arguments or {}
        record = _record(context, self._tool.name, session)

        def work() -> CallOutcome:
            with record.on_thread():
                return self._tool.carry_out(session, arguments, given)

        outcome: Outcome = "failed"
        code = ""
        try:
            async with progress:
                found = await asyncio.to_thread(work)
            code = str(found.data.get("error", {}).get("code", "")) if found.failed else ""
            outcome = ("failed" if code == "error" else "refused") if found.failed else "ok"
            return found
        except CallQuestion:  # answered later, by another call
            outcome = "ok"
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            meter.cancel()
            raise
        finally:
            record.end(outcome, code=code)


class UnlistedHooks:
    """The hooks of a host, by a tool that is in no list: no model sees it."""

    listed = Tool(name=HOOK, input_schema={"type": "object"})

    def __init__(self, hooks: HookTool) -> None:
        self._hooks = hooks

    async def call(self, context: Context, params: CallToolRequestParams) -> ToolAnswer:
        text = await asyncio.to_thread(self._hooks.call, params.arguments or {})
        return CallToolResult(content=[TextContent(type="text", text=text)])


def _record(context: Context, name: str, session: Session) -> CallRecord:
    """The record of a call; its trace context is in `_meta`."""
    meta: Mapping[str, Any] = context.meta or {}
    found = CallRecord("mcp", name, parent=meta.get(PARENT), state=meta.get(STATE))
    found.login, found.role = session.identity.actor, session.identity.role
    return found


def _key(context: Context) -> str:
    meta: Mapping[str, Any] = context.meta or {}
    key: str = meta.get(IDEMPOTENCY_KEY, "")  # of any type: the verb says what is wrong with it
    return key


class _Progress:
    """Notes of progress from a thread to the client, no more often than it can read."""

    def __init__(self, context: Context) -> None:
        self._context, self._loop = context, asyncio.get_running_loop()
        self._news, self._lock = asyncio.Event(), threading.Lock()
        self._sending = asyncio.Lock()
        self._done, self._told = 0, 0
        self._task: asyncio.Task[None] | None = None

    def note(self, done: int) -> None:
        """Called on the thread of the verb."""
        with self._lock:
            self._done = done
        self._loop.call_soon_threadsafe(self._news.set)

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._tell())

    async def __aexit__(self, kind: object, *_: object) -> None:
        assert self._task is not None
        if kind is not None:
            self._task.cancel()
            return
        try:
            async with self._sending:  # a note on its way arrives: it is not cut off
                pass
        finally:
            self._task.cancel()
        await self._send()

    async def _tell(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self._send()
            await asyncio.sleep(MCP_PROGRESS_MS / 1000)

    async def _send(self) -> None:
        async with self._sending:
            if self._done > self._told:
                self._told = self._done
                try:
                    await self._context.session.report_progress(
                        self._told, None, f"{self._told} done"
                    )
                except Exception as error:  # the call is done, heard of or not
                    _LOG.warning("mcp: a note of progress was not sent: %s", type(error).__name__)


def memory_server(
    sessions: SessionOf,
    profile: ToolProfile,
    *,
    version: str,
    local: bool = True,
    more: tuple[ServedTool, ...] = (),
    hooks: HookTool | None = None,
    **options: Any,
) -> MemoryServer:
    """Build the server of a profile. `more` are tools that belong to no profile; `local` says
    that its clients run on this machine under the same user; `hooks` carries out a host's hooks."""
    unlisted = None if hooks is None else UnlistedHooks(hooks)
    questions = Questions()
    by_tool = {
        tool.name: SessionTool(tool, sessions, questions, local=local) for tool in profile.tools
    }

    def aliased(name: str) -> ServedTool | None:
        if name == HOOK and unlisted is not None:
            return unlisted
        found = profile.by_name.get(name)
        return None if found is None else by_tool[found.name]

    return MemoryServer(
        (*by_tool.values(), *more),
        version=version,
        resources=(KrefResources(sessions),),
        prompts=memory_prompts(sessions),
        aliases=aliased,
        unknown=lambda name: unknown_tool(profile, name),
        listed=None if hooks is None else hooks.begin,
        **options,
    )


def build_server(
    session: Session, *, version: str, profile: str = "core", hooks: HookTool | None = None
) -> MemoryServer:
    """Build a server of one session, for a client on this machine."""
    found = profile_of(profile, role=session.identity.role)
    return memory_server(lambda _: session, found, version=version, hooks=hooks)
