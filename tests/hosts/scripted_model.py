"""A scripted model on loopback, for real hosts: Anthropic's Messages, OpenAI's Responses and Chat
Completions, Gemini's generateContent. It answers the newest message of the user by rules, and calls
tools where a rule says so: doxa's by names that begin with memory_, others by those of the host."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
Rule = Callable[[str], Call | str | None]


@dataclass
class ScriptedModel:
    """`rule` is given the text of the whole request's newest user message, and returns a call of a
    tool of doxa, a text, or None for a plain answer. `requests` are the bodies received."""

    rule: Rule = lambda _: None
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)

    def system_text(self) -> str:
        """Everything that the last request said with authority: its system and developer parts."""
        body = self.requests[-1]
        parts = [body.get("system"), body.get("instructions")]
        for message in (*body.get("messages", ()), *body.get("input", ())):
            if message.get("role") in ("system", "developer"):
                parts.append(message)
        return json.dumps(parts, ensure_ascii=False)

    def all_text(self) -> str:
        """The whole last request."""
        return json.dumps(self.requests[-1], ensure_ascii=False)


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        def do_GET(self) -> None:
            self._send(b'{"data": [], "object": "list", "models": []}', "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            if "count_tokens" in self.path:
                self._send(b'{"input_tokens": 10}', "application/json")
                return
            model.requests.append(body)
            if self.path.startswith("/v1/messages"):
                self._events(_messages(body, model.rule))
            elif self.path.endswith("/chat/completions"):
                self._lines([*map(json.dumps, _completions(body, model.rule)), "[DONE]"])
            elif "GenerateContent" in self.path:
                self._lines([json.dumps(_generated(body, model.rule))])
            elif "generateContent" in self.path:
                self._send(json.dumps(_generated(body, model.rule)).encode(), "application/json")
            else:
                self._events(_responses(body, model.rule))

        def _lines(self, lines: list[str]) -> None:
            text = "".join(f"data: {line}\n\n" for line in lines)
            self._send(text.encode(), "text/event-stream")

        def _events(self, events: list[tuple[str, dict[str, Any]]]) -> None:
            text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
            self._send(text.encode(), "text/event-stream")

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part, dict) and "text" in part]


def _messages(body: dict[str, Any], rule: Rule) -> list[tuple[str, dict[str, Any]]]:
    messages = [one for one in body.get("messages", ()) if one.get("role") == "user"]
    last = messages[-1]["content"] if messages else ""
    done = isinstance(last, list) and any(part.get("type") == "tool_result" for part in last)
    asked = "\n".join(_texts(last))
    answer = "Done." if done else rule(asked)
    start = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "m"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    if isinstance(answer, tuple):
        name, given = answer
        block = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "input": {}}
        block["name"] = f"mcp__doxa__{name}" if name.startswith("memory_") else name
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        reason = "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": answer or "All right."}
        reason = "end_turn"
    return [
        ("message_start", {"type": "message_start", "message": start}),
        (
            "content_block_start",
            {"type": "content_block_start", "index": 0, "content_block": block},
        ),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": 3},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


def _responses(body: dict[str, Any], rule: Rule) -> list[tuple[str, dict[str, Any]]]:
    items = body.get("input", ())
    users = [n for n, one in enumerate(items) if one.get("role") == "user"]
    asked = "\n".join(_texts(items[users[-1]].get("content"))) if users else ""
    done = any(one.get("type") == "function_call_output" for one in items[users[-1] :])
    answer = "Done." if done else rule(asked)
    if isinstance(answer, tuple):
        name, given = answer
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{len(items)}",
            "call_id": f"call_{len(items)}",
            "name": name,
            "arguments": json.dumps(given),
        }
        if name.startswith("memory_"):
            item["namespace"] = "mcp__doxa"
    else:
        text = {"type": "output_text", "text": answer or "All right.", "annotations": []}
        item = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed"}
        item["content"] = [text]
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 3}
    usage |= {"output_tokens_details": None, "total_tokens": 13}
    made = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    made["usage"] = usage
    return [
        ("response.created", {"type": "response.created", "response": {"id": "resp_1"}}),
        ("response.output_item.done", {"type": "response.output_item.done", "item": item}),
        ("response.completed", {"type": "response.completed", "response": made}),
    ]


def _completions(body: dict[str, Any], rule: Rule) -> list[dict[str, Any]]:
    """The parts of a streamed answer."""
    messages = body["messages"]
    last = messages[-1]
    answer = "Done." if last["role"] == "tool" else rule("\n".join(_texts(last.get("content"))))
    said: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(answer, tuple):
        names = [one["function"]["name"] for one in body.get("tools", ())]
        function = {"name": _called(answer[0], names), "arguments": json.dumps(answer[1])}
        call = {"index": 0, "id": f"call_{len(messages)}", "type": "function"}
        said["tool_calls"] = [call | {"function": function}]
    else:
        said["content"] = answer or "All right."
    reason = "tool_calls" if isinstance(answer, tuple) else "stop"
    part = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return [
        part | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        part | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]


def _generated(body: dict[str, Any], rule: Rule) -> dict[str, Any]:
    last = body["contents"][-1]["parts"]
    done = any("functionResponse" in part for part in last)
    answer = "Done." if done else rule("\n".join(_texts(last)))
    part: dict[str, Any] = {"text": answer or "All right."}
    if isinstance(answer, tuple):
        groups = [group.get("functionDeclarations", ()) for group in body.get("tools", ())]
        names = [one["name"] for group in groups for one in group]
        part = {"functionCall": {"name": _called(answer[0], names), "args": answer[1]}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    found = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [found], "usageMetadata": usage, "modelVersion": "scripted"}


def _called(name: str, names: list[str]) -> str:
    """The name by which a host lists a tool."""
    return next((one for one in names if one.endswith(name)), name)
