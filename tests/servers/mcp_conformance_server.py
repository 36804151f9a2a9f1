"""The fixtures that the official conformance suite asks for, on the server class of doxa: what then
passes is our transport, framing, caching, questions and errors, not the fixtures.

    python -m tests.servers.mcp_conformance_server PORT

The names, arguments and texts of the fixtures are those of the suite's scenario descriptions.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from doxa.servers.listening import serve
from doxa.servers.mcp.http import McpServer
from doxa.servers.mcp.server import Context, MemoryServer, PromptAnswer, ToolAnswer

PNG = (  # one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg"
    "=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[ToolAnswer]]


@dataclass
class Fixture:
    """A tool of the suite."""

    name: str
    run: Run
    schema: dict[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)

    @property
    def listed(self) -> types.Tool:
        return types.Tool(
            name=self.name, description=f"Fixture {self.name}", input_schema=self.schema
        )

    async def call(self, context: Context, params: types.CallToolRequestParams) -> ToolAnswer:
        return await self.run(context, params)


def text(words: str, *, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=words)], is_error=failed
    )


def content(*parts: Any) -> Run:
    async def run(_: Context, __: types.CallToolRequestParams) -> ToolAnswer:
        return types.CallToolResult(content=list(parts))

    return run


def embedded(uri: str, kind: str, words: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource",
        resource=types.TextResourceContents(uri=uri, mime_type=kind, text=words),
    )


IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")


# During a call


async def failing(_: Context, __: types.CallToolRequestParams) -> ToolAnswer:
    return text("This tool intentionally returns an error for testing", failed=True)


async def with_progress(context: Context, _: types.CallToolRequestParams) -> ToolAnswer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return text("done")


async def with_logging(context: Context, _: types.CallToolRequestParams) -> ToolAnswer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(context, words)
        await asyncio.sleep(0.05)
    return text("done")


async def log(context: Context, words: str) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await context.session.send_log_message("info", words, related_request_id=context.request_id)


async def sampling(context: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    import warnings

    prompt = (params.arguments or {}).get("prompt", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = await context.session.create_message(
            [
                types.SamplingMessage(
                    role="user", content=types.TextContent(type="text", text=prompt)
                )
            ],
            max_tokens=100,
            related_request_id=context.request_id,
        )
    return text(f"LLM response: {getattr(found.content, 'text', '')}")


def elicitation(words: str, message: str, properties: Mapping[str, Any], needed: list[str]) -> Run:
    async def run(context: Context, params: types.CallToolRequestParams) -> ToolAnswer:
        shown = (params.arguments or {}).get("message", message)
        schema = {"type": "object", "properties": dict(properties), "required": needed}
        found = await context.session.elicit_form(
            shown, schema, related_request_id=context.request_id
        )
        return text(f"{words}: action={found.action}, content={json.dumps(found.content or {})}")

    return run


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {
        "type": "string",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "default": True},
}


def options(*names: str) -> list[dict[str, str]]:
    return [{"const": name.lower(), "title": name} for name in names]


ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": options("First", "Second", "Third")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {"type": "array", "items": {"anyOf": options("First", "Second", "Third")}},
}


# Results that need input


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sample(words: str, tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens)
    )


def field_of(params: Any, key: str, name: str) -> Any:
    found = (params.input_responses or {}).get(key)
    held = getattr(found, "content", None)
    return held.get(name) if isinstance(held, dict) else None


async def name_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    name = field_of(params, "user_name", "name")
    if isinstance(name, str):
        return text(f"Hello, {name}!")
    return types.InputRequiredResult(
        input_requests={"user_name": form("What is your name?", "name")}
    )


async def sample_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    found = (params.input_responses or {}).get("capital_question")
    if found is not None:
        return text(f"The capital: {getattr(getattr(found, 'content', None), 'text', '')}")
    return types.InputRequiredResult(
        input_requests={"capital_question": sample("What is the capital of France?", 100)}
    )


async def roots_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    found = (params.input_responses or {}).get("client_roots")
    if found is not None:
        return text(f"{len(getattr(found, 'roots', []))} roots")
    return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})


async def state_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if params.request_state == "the state" and field_of(params, "confirm", "ok") is not None:
        return text("state-ok: the state came back")
    return types.InputRequiredResult(
        input_requests={"confirm": form("Please confirm", "ok", "boolean")},
        request_state="the state",
    )


async def several_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    asked: Any = {
        "user_name": form("What is your name?", "name"),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    given = params.input_responses or {}
    if params.request_state and asked.keys() <= given.keys():
        return text("all three came back")
    return types.InputRequiredResult(input_requests=asked, request_state="several")


async def rounds_asked(_: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    name, color = field_of(params, "step1", "name"), field_of(params, "step2", "color")
    state = params.request_state or ""
    if state.startswith("two ") and color:
        return text(f"{state.removeprefix('two ')} likes {color}")
    if state == "one" and name:
        return types.InputRequiredResult(
            input_requests={"step2": form("Step 2: What is your favorite color?", "color")},
            request_state=f"two {name}",
        )
    return types.InputRequiredResult(
        input_requests={"step1": form("Step 1: What is your name?", "name")}, request_state="one"
    )


async def capable_asked(context: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    """Ask only for what the client has."""
    if params.input_responses:
        return text("answered")
    known = context.session.client_capabilities
    asked: Any = {}
    if known is not None and known.sampling is not None:
        asked["sampled"] = sample("Say hello", 50)
    if known is not None and known.elicitation is not None:
        asked["elicited"] = form("What is your name?", "name")
    if known is not None and known.roots is not None:
        asked["roots"] = types.ListRootsRequest()
    return types.InputRequiredResult(input_requests=asked) if asked else text("nothing to ask")


async def missing_capability(context: Context, _: types.CallToolRequestParams) -> ToolAnswer:
    known = context.session.client_capabilities
    if known is None or known.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return text("sampling is there")


BUS = InMemorySubscriptionBus()


def publishing(event: Any) -> Run:
    async def run(_: Context, __: types.CallToolRequestParams) -> ToolAnswer:
        await BUS.publish(event)
        return text("published")

    return run


PROMPT_ARGUMENT = {"type": "object", "properties": {"prompt": {"type": "string"}}}
MESSAGE_ARGUMENT = {"type": "object", "properties": {"message": {"type": "string"}}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_ARGUMENT = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
RESULT = "test_input_required_result_"
TOOLS: Sequence[Fixture] = (
    Fixture(
        "test_simple_text",
        content(types.TextContent(type="text", text="This is a simple text response for testing.")),
    ),
    Fixture("test_image_content", content(IMAGE)),
    Fixture(
        "test_audio_content",
        content(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")),
    ),
    Fixture(
        "test_embedded_resource",
        content(
            embedded(
                "test://embedded-resource", "text/plain", "This is an embedded resource content."
            )
        ),
    ),
    Fixture(
        "test_multiple_content_types",
        content(
            types.TextContent(type="text", text="Multiple content types test:"),
            IMAGE,
            embedded(
                "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
            ),
        ),
    ),
    Fixture("test_error_handling", failing),
    Fixture("test_tool_with_progress", with_progress),
    Fixture("test_tool_with_logging", with_logging),
    Fixture("test_logging_tool", with_logging),
    Fixture("test_sampling", sampling, PROMPT_ARGUMENT),
    Fixture(
        "test_elicitation",
        elicitation(
            "User response",
            "What?",
            {"username": {"type": "string"}, "email": {"type": "string"}},
            ["username", "email"],
        ),
        MESSAGE_ARGUMENT,
    ),
    Fixture(
        "test_elicitation_sep1034_defaults",
        elicitation("Elicitation completed", "Please review", DEFAULTS, []),
    ),
    Fixture(
        "test_elicitation_sep1330_enums",
        elicitation("Elicitation completed", "Please select", ENUMS, []),
    ),
    Fixture("test_custom_headers", content(IMAGE), HEADER_ARGUMENT),
    Fixture("json_schema_2020_12_tool", content(IMAGE), SCHEMA_2020),
    Fixture(f"{RESULT}elicitation", name_asked),
    Fixture(f"{RESULT}sampling", sample_asked),
    Fixture(f"{RESULT}list_roots", roots_asked),
    Fixture(f"{RESULT}request_state", state_asked),
    Fixture(f"{RESULT}tampered_state", state_asked),
    Fixture(f"{RESULT}multiple_inputs", several_asked),
    Fixture(f"{RESULT}multi_round", rounds_asked),
    Fixture(f"{RESULT}capabilities", capable_asked),
    Fixture("test_missing_capability", missing_capability),
    Fixture("test_streaming_elicitation", name_asked),
    Fixture("test_trigger_tool_change", publishing(ToolsListChanged())),
    Fixture("test_trigger_prompt_change", publishing(PromptsListChanged())),
)


# Resources and prompts


class Resources:
    """The resources of the suite."""

    templates = (
        types.ResourceTemplate(
            uri_template="test://template/{id}/data",
            name="template",
            mime_type="application/json",
        ),
    )
    held: Mapping[str, Any] = {
        "test://static-text": types.TextResourceContents(
            uri="test://static-text",
            mime_type="text/plain",
            text="This is the content of the static text resource.",
        ),
        "test://static-binary": types.BlobResourceContents(
            uri="test://static-binary", mime_type="image/png", blob=PNG
        ),
        "test://watched-resource": types.TextResourceContents(
            uri="test://watched-resource", mime_type="text/plain", text="watched"
        ),
    }

    async def page(self, _: Context, __: str) -> tuple[Sequence[types.Resource], str]:
        return [types.Resource(uri=uri, name=uri, description=uri) for uri in self.held], ""

    async def read(self, _: Context, uri: str) -> types.ReadResourceResult | None:
        found = self.held.get(uri)
        if uri.startswith("test://template/") and uri.endswith("/data"):
            number = uri.removeprefix("test://template/").removesuffix("/data")
            data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
            found = types.TextResourceContents(
                uri=uri, mime_type="application/json", text=json.dumps(data)
            )
        return None if found is None else types.ReadResourceResult(contents=[found])


def said(part: Any) -> types.PromptMessage:
    part = types.TextContent(type="text", text=part) if isinstance(part, str) else part
    return types.PromptMessage(role="user", content=part)


@dataclass
class FixturePrompt:
    name: str
    arguments: tuple[str, ...]
    make: Callable[[Mapping[str, str], Any], PromptAnswer]

    @property
    def listed(self) -> types.Prompt:
        return types.Prompt(
            name=self.name,
            description=f"Fixture {self.name}",
            arguments=[
                types.PromptArgument(name=one, description=one, required=True)
                for one in self.arguments
            ],
        )

    async def get(self, _: Context, params: types.GetPromptRequestParams) -> PromptAnswer:
        return self.make(params.arguments or {}, params)


def prompt(*parts: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[said(part) for part in parts])


def prompt_asked(_: Mapping[str, str], params: Any) -> PromptAnswer:
    found = field_of(params, "user_context", "context")
    if isinstance(found, str):
        return prompt(f"Prompt with context: {found}")
    return types.InputRequiredResult(
        input_requests={"user_context": form("What context should be used?", "context")}
    )


PROMPTS: Sequence[FixturePrompt] = (
    FixturePrompt(
        "test_simple_prompt", (), lambda _, __: prompt("This is a simple prompt for testing.")
    ),
    FixturePrompt(
        "test_prompt_with_arguments",
        ("arg1", "arg2"),
        lambda given, _: prompt(
            f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
        ),
    ),
    FixturePrompt(
        "test_prompt_with_embedded_resource",
        ("resourceUri",),
        lambda given, _: prompt(
            embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
            "Please process the embedded resource above.",
        ),
    ),
    FixturePrompt(
        "test_prompt_with_image", (), lambda _, __: prompt(IMAGE, "Please analyze the image above.")
    ),
    FixturePrompt(f"{RESULT}prompt", (), prompt_asked),
)


def conformance_server() -> MemoryServer:
    """doxa's server with the fixtures, and the methods that the suite needs and doxa does not
    offer: levels of logging, subscriptions and completion."""
    made = MemoryServer(TOOLS, version="1", resources=(Resources(),), prompts=PROMPTS)

    async def empty(_: Context, __: Any) -> types.EmptyResult:
        return types.EmptyResult()

    async def completed(_: Context, __: Any) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))

    server = made.sdk
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, empty)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, empty)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, empty)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, completed)
    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(BUS)
    )
    return made


def main() -> None:
    server = McpServer(conformance_server(), None, port=int(sys.argv[1]))
    serve(server, ready=lambda: print(server.uri, flush=True))


if __name__ == "__main__":
    main()
