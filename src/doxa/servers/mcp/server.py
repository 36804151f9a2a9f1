"""The MCP server: tools, resources and prompts of doxa on the official SDK, for both protocol eras
and every transport. Imported only when a server starts: the SDK is an extra and takes time to load.

    MemoryServer(sessions, tools, ...).sdk     →  stdio.py, http.py, or a test's client

A request gets the session of its caller from `sessions`, runs on a thread, and is cancelled with
its client: a long verb then stops after its current batch. `questions.py` asks a person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)

from doxa.app import Session
from doxa.base.limits import MCP_LIST_TTL_MS, MCP_QUESTION_MS
from doxa.servers.mcp.handshake import INSTRUCTIONS, NAME, TITLE

Context = ServerRequestContext[Any, Any]
SessionOf = Callable[[Context], Session]
ToolAnswer = CallToolResult | InputRequiredResult
PromptAnswer = GetPromptResult | InputRequiredResult

_RESOURCE_NOT_FOUND = -32002  # of the versions before 2026-07-28, which has INVALID_PARAMS
_LISTS = CacheHint(ttl_ms=MCP_LIST_TTL_MS, scope="private")
_NOW = CacheHint(ttl_ms=0, scope="private")
_LISTED_S = 0.05  # by then the list of tools has left


class ServedTool(Protocol):
    """A tool that a server offers. `listed` is its entry of tools/list, the same for everybody."""

    @property
    def listed(self) -> Tool: ...

    async def call(self, context: Context, params: CallToolRequestParams) -> ToolAnswer: ...


class ServedPrompt(Protocol):
    """A prompt that a server offers."""

    @property
    def listed(self) -> Prompt: ...

    async def get(self, context: Context, params: GetPromptRequestParams) -> PromptAnswer: ...


class ServedResources(Protocol):
    """Resources of one kind of URI."""

    @property
    def templates(self) -> Sequence[ResourceTemplate]: ...

    async def page(self, context: Context, cursor: str) -> tuple[Sequence[Resource], str]:
        """Return a page of the resources to list, and the cursor of the next one, or ""."""

    async def read(self, context: Context, uri: str) -> ReadResourceResult | None:
        """Return what a URI has; None if there is nothing."""


class MemoryServer:
    """What a server offers, and the SDK's server that offers it. Tools are listed in the order in
    which they are given; `aliases` are other names under which they can be called. `listed` is
    called once, when the tools were listed for the first time."""

    def __init__(
        self,
        tools: Sequence[ServedTool],
        *,
        version: str,
        resources: Sequence[ServedResources] = (),
        prompts: Sequence[ServedPrompt] = (),
        aliases: Callable[[str], ServedTool | None] = lambda _: None,
        unknown: Callable[[str], str] = "Unknown tool {!r:.80}.".format,
        instructions: str = INSTRUCTIONS,
        principal: Callable[[Context], str | None] = lambda _: None,
        state_keys: Sequence[bytes] | None = None,
        listed: Callable[[], None] | None = None,
    ) -> None:
        self._listed = listed
        self._tools = {tool.listed.name: tool for tool in tools}
        self._aliases, self._unknown = aliases, unknown
        self._resources, self._prompts = tuple(resources), {one.listed.name: one for one in prompts}
        self.sdk: Server[Any] = Server(
            NAME,
            version=version,
            title=TITLE,
            instructions=instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            get_tool_input_schema=self._input_schema,
            cache_hints={
                "tools/list": _LISTS,
                "prompts/list": _LISTS,
                "resources/templates/list": _LISTS,
                "server/discover": _LISTS,
                "resources/list": _NOW,
                "resources/read": _NOW,
            },
        )
        ttl = MCP_QUESTION_MS / 1000
        security = (
            RequestStateSecurity(keys=state_keys, ttl=ttl, bind_principal=principal)
            if state_keys
            else RequestStateSecurity.ephemeral(ttl=ttl)
        )
        security.bind_principal = principal
        self.sdk.middleware.append(RequestStateBoundary(security, default_audience="doxa"))

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tools.get(name)
        return None if tool is None else tool.listed.input_schema

    # Tools

    async def _list_tools(self, _: Context, params: PaginatedRequestParams | None) -> Any:
        _one_page(params)
        if self._listed is not None:  # when the answer has left
            asyncio.get_running_loop().call_later(_LISTED_S, self._listed)
            self._listed = None
        return ListToolsResult(tools=[tool.listed for tool in self._tools.values()])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> ToolAnswer:
        tool = self._tools.get(params.name) or self._aliases(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=self._unknown(params.name))
        return await tool.call(context, params)

    # Resources

    async def _list_resources(self, context: Context, params: PaginatedRequestParams | None) -> Any:
        """One kind of URI after the other; a cursor is the number of the kind and its own."""
        given = params.cursor if params is not None and params.cursor else "0:"
        number, colon, cursor = given.partition(":")
        if not colon or number not in map(str, range(max(len(self._resources), 1))):
            raise _bad_cursor()
        at = int(number)
        if not self._resources:
            return ListResourcesResult(resources=[])
        found, following = await self._resources[at].page(context, cursor)
        if following:
            after = f"{at}:{following}"
        else:
            after = f"{at + 1}:" if at + 1 < len(self._resources) else ""
        return ListResourcesResult(resources=list(found), next_cursor=after or None)

    async def _list_templates(self, _: Context, params: PaginatedRequestParams | None) -> Any:
        _one_page(params)
        return ListResourceTemplatesResult(
            resource_templates=[one for kind in self._resources for one in kind.templates]
        )

    async def _read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        for kind in self._resources:
            found = await kind.read(context, uri)
            if found is not None:
                return found
        modern = context.protocol_version >= "2026"
        raise MCPError(
            code=INVALID_PARAMS if modern else _RESOURCE_NOT_FOUND,
            message="Resource not found.",
            data={"uri": uri[:2_000]},
        )

    # Prompts

    async def _list_prompts(self, _: Context, params: PaginatedRequestParams | None) -> Any:
        _one_page(params)
        return ListPromptsResult(prompts=[one.listed for one in self._prompts.values()])

    async def _get_prompt(self, context: Context, params: GetPromptRequestParams) -> PromptAnswer:
        found = self._prompts.get(params.name)
        if found is None:
            raise MCPError(
                code=INVALID_PARAMS,
                message=f"Unknown prompt {params.name[:80]!r}. Use {', '.join(self._prompts)}.",
            )
        return await found.get(context, params)


def _one_page(params: PaginatedRequestParams | None) -> None:
    """Lists that never change have one page, so that no cursor is ever given."""
    if params is not None and params.cursor:
        raise _bad_cursor()


def _bad_cursor() -> MCPError:
    return MCPError(code=INVALID_PARAMS, message="Unknown cursor. Begin without one.")
