"""The hooks of a host the way that hosts go: to a server of its own process, by its tool over input
and output, or by the command `doxa hook` and the socket of the server.

The server asks the embedder that it would use for a person's questions: the file's vectors bear its
name, although they are made (bench/embedders.py), so that a question is embedded as always.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.timing import Spread, spread
from doxa.base.files.places import hooks_folder
from doxa.hosts.relay import ask
from doxa.hosts.setup.running import Call, server
from doxa.hosts.tool import NAME

_STARTS, _SESSIONS, _PROMPTS, _COMMANDS = 5, 10, 10, 20
_LIMIT_S = 120
_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def measure(path: Path, asked: Sequence[str], project: str) -> list[tuple[str, Spread]]:
    """Measure a file whose vectors have the name of the local embedder."""
    found = {"first_prompt_after_the_server_started": _first(path, asked, project, wait_s=0.0)}
    found["first_prompt_5_s_after_it_started"] = _first(path, asked, project, wait_s=5.0)
    found |= _sessions(path, asked, project)
    return [(key, spread(values)) for key, values in found.items()]


def _words(path: Path, project: str) -> list[str]:
    return [sys.executable, "-m", "doxa.cli", "mcp", "--project", project, "--db", str(path)]


def _hook(call: Call, event: str, session: str, text: str = "") -> float:
    given = {"host": "codex", "event": event, "session": session, "folder": "/", "text": text}
    began = time.perf_counter()
    made = call("tools/call", {"name": NAME, "arguments": given})
    took = time.perf_counter() - began
    json.loads(made["content"][0]["text"])
    return took


def _first(path: Path, asked: Sequence[str], project: str, *, wait_s: float) -> list[float]:
    times = []
    for number in range(_STARTS):
        with server(_words(path, project), os.environ, _LIMIT_S) as call:
            call("initialize", _CLIENT)
            time.sleep(wait_s)
            times.append(_hook(call, "prompt", f"f{wait_s}-{number}", asked[number]))
    return times


def _sessions(path: Path, asked: Sequence[str], project: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    with server(_words(path, project), os.environ, _LIMIT_S) as call:
        call("initialize", _CLIENT)
        _hook(call, "prompt", "warm", asked[0])
        for number in range(_SESSIONS):
            session = f"t{number}"
            times.setdefault("tool_brief", []).append(_hook(call, "open", session))
            for text in asked[number * _PROMPTS :][:_PROMPTS]:
                times.setdefault("tool_prompt", []).append(_hook(call, "prompt", session, text))
                answer = f"It is so: {text}"
                times.setdefault("tool_answer", []).append(_hook(call, "answer", session, answer))
        for number, text in enumerate(asked[: _SESSIONS * _PROMPTS]):
            times.setdefault("socket_prompt", []).append(_relayed(path, number, text, project))
        for number, text in enumerate(asked[:_COMMANDS]):
            times.setdefault("command_prompt", []).append(_command(path, number, text, project))
    return times


def _relayed(path: Path, number: int, text: str, project: str) -> float:
    document = {"session_id": f"r{number}", "cwd": "/", "prompt": text}
    request = {"host": "gemini", "event": "prompt", "project": project, "document": document}
    began = time.perf_counter()
    answer = ask(hooks_folder(path), request)
    took = time.perf_counter() - began
    assert answer is not None, "no server answered"
    return took


def _command(path: Path, number: int, text: str, project: str) -> float:
    words = [sys.executable, "-m", "doxa.cli", "hook", "prompt", "--host", "gemini"]
    words += ["--db", str(path), "--project", project]
    document = json.dumps({"session_id": f"c{number}", "cwd": "/", "prompt": text})
    began = time.perf_counter()
    subprocess.run(words, input=document, text=True, capture_output=True, check=True)
    return time.perf_counter() - began
