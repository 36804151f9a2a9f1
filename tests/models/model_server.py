"""A real HTTP server on this machine that answers like the three APIs, and misbehaves on
request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from doxa.models import HashEmbedder

KEY = "sk-test-0123456789abcdef"


@dataclass
class Reply:
    """One answer, or `act`, which gets the connection instead."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    act: Callable[[socket.socket], None] | None = None


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any


def openai_vectors(texts: list[str], embedder: HashEmbedder) -> dict[str, Any]:
    # Reversed, since the index and not the order assigns a vector to its text.
    rows = [
        {"object": "embedding", "index": i, "embedding": [float(x) * 3 for x in v]}
        for i, v in enumerate(embedder.embed(texts))
    ]
    return {
        "object": "list",
        "data": rows[::-1],
        "model": "m",
        "usage": {"prompt_tokens": 7 * len(texts), "total_tokens": 7 * len(texts)},
    }


def openai_chat(text: str | None, finish: str = "stop") -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": 19,
            "completion_tokens": 5,
            "total_tokens": 24,
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "service_tier": "default",
    }


def rerank_answer(query: str, documents: list[str]) -> dict[str, Any]:
    words = set(query.lower().split())
    scored = [
        {"index": i, "relevance_score": len(words & set(text.lower().split())) / 10}
        for i, text in enumerate(documents)
    ]
    return {
        "id": "rerank-1",
        "model": "m",
        "usage": {"total_tokens": 31},
        "results": sorted(scored, key=lambda r: -r["relevance_score"]),
    }


def ollama_vectors(texts: list[str], embedder: HashEmbedder) -> dict[str, Any]:
    vectors = [[float(x) for x in v] for v in embedder.embed(texts)]
    return {
        "model": "m",
        "embeddings": vectors,
        "total_duration": 14_143_917,
        "load_duration": 1_019_500,
        "prompt_eval_count": 8,
    }


def ollama_chat(text: str) -> dict[str, Any]:
    return {
        "model": "m",
        "created_at": "2026-01-01T00:00:00.5Z",
        "message": {"role": "assistant", "content": text},
        "done_reason": "stop",
        "done": True,
        "total_duration": 5_191_566_416,
        "load_duration": 2_154_458,
        "prompt_eval_count": 26,
        "prompt_eval_duration": 383_809_000,
        "eval_count": 12,
        "eval_duration": 4_799_921_000,
    }


def anthropic_message(text: str, stop: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 12,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 30,
            "output_tokens": 6,
        },
    }


class ModelServer:
    """Serves from entry to exit. `replies` are returned first, one per request; then every
    request gets its regular answer."""

    def __init__(self, *, dimensions: int = 32, says: str = "yes") -> None:
        self.embedder = HashEmbedder(dimensions=dimensions)
        self.says = says
        self.replies: list[Reply] = []
        self.always: Callable[[Request], Reply | None] = lambda request: None
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: Request) -> Reply:
        if self.replies:
            return self.replies.pop(0)
        fixed = self.always(request)
        if fixed is not None:
            return fixed
        body = request.body
        if request.path.endswith("/embeddings"):
            return Reply(body=openai_vectors(body["input"], self.embedder))
        if request.path.endswith("/chat/completions"):
            return Reply(body=openai_chat(self.says))
        if request.path.endswith("/rerank"):
            return Reply(body=rerank_answer(body["query"], body["documents"]))
        if request.path == "/api/embed":
            return Reply(body=ollama_vectors(body["input"], self.embedder))
        if request.path == "/api/chat":
            return Reply(body=ollama_chat(self.says))
        if request.path.endswith("/v1/messages"):
            return Reply(body=anthropic_message(self.says))
        return Reply(404, {"error": {"message": "no such path"}})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(content),
                )
                server.requests.append(request)
                reply = server.answer(request)
                self.close_connection = True
                try:
                    if reply.act is not None:
                        reply.act(self.connection)
                        return
                    body = (
                        reply.body
                        if isinstance(reply.body, bytes)
                        else json.dumps(reply.body).encode()
                    )
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # the client closed the connection

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
