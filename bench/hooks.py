"""What the hooks of an agent host cost in a store of n exchanges: the brief, a prompt, the context
of a turn, what follows an answer, and the command for hosts that start one; and how much they
inject into a session.

Each exchange of the store is synthetic; one in fifty (2,000 at most) has a belief that an operator
stated, so that there is something to inject. Vectors are those of the speed benchmark. A session is
one brief and ten prompts. The command is a process of its own, with the interpreter's start. With a
model, a server of its own is asked too, as hosts do (bench/hooks_server.py).

The context of a turn has every stage to do: an agent with an identity of ten lines, a handoff, six
attached files that are hashed again, six beliefs with verifiers, and a window; with a question, for
which both beliefs and exchanges are searched, in the pool of 2,000 tokens.

Of what runs in this process the time of the processor is given next to that of the clock, which
counts what else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import doxa
from bench.embedders import CloudEmbedder
from bench.hooks_server import measure as measure_server
from bench.report import Report
from bench.texts import questions_of, turns_of
from bench.timing import Spread, spread
from doxa.base.files.places import hooks_folder
from doxa.hosts.events import HookEvent
from doxa.hosts.pipeline import Pipeline
from doxa.hosts.spool import Spool
from doxa.models import Embedder

SIZES = (500, 25_000)
_PROJECT = "default"
_SESSIONS, _PROMPTS, _COMMANDS = 20, 10, 10
_BELIEF_EVERY, _BELIEFS_MAX = 50, 2_000
_LINES, _FILES = 10, 6
_PROCESSOR = ", processor time"


def run(embedder: Embedder | None, *, seed: int, sizes: Sequence[int]) -> Report:
    report = Report("hooks", seed, "none" if embedder is None else embedder.name)
    for size in sizes:
        _measure(report, embedder, size)
    return report.end()


def _measure(report: Report, model: Embedder | None, size: int) -> None:
    turns = list(turns_of(size, seed=report.seed))
    asked = questions_of(turns, _SESSIONS * _PROMPTS, seed=report.seed + 1)
    embedder = CloudEmbedder(model)
    if model is not None:  # so that a server takes the vectors for those of its own model
        embedder.name, embedder.tokens_max = model.name, model.tokens_max
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with doxa.open(path, role="operator", embedder=embedder, background=False) as memory:
            memory.ingest(turns, extract=False)
            for number in range(min(size // _BELIEF_EVERY, _BELIEFS_MAX)):
                turn = turns[number * _BELIEF_EVERY]
                memory.remember(turn.text, name=f"b{number}", kind="decision")
            memory.embed()
            _furnish(memory, Path(folder))
        rows, injected = _events(path, embedder, asked)
        rows += _commands(path, asked)
        if model is not None:
            rows += measure_server(path, asked, _PROJECT)
    place = f"size.{size}"
    for key, result in rows:
        report.put(f"{place}.{key}.p50_ms", result.p50_ms)
        report.put(f"{place}.{key}.p95_ms", result.p95_ms)
    report.put(f"{place}.injected.chars_per_session", injected)
    report.table(
        f"{size:,} exchanges: hooks ({injected:,.0f} characters injected into a session of"
        f" {_PROMPTS} prompts)",
        ["event", "p50 ms", "p95 ms"],
        [[key.replace("_", " "), f"{r.p50_ms:.1f}", f"{r.p95_ms:.1f}"] for key, r in rows],
    )


def _furnish(memory: doxa.Memory, folder: Path) -> None:
    """Give the agent everything that a context may hold."""
    for number in range(_LINES):
        made = memory.growth_propose(
            f"I check figure {number} before I say it.", file="SOUL", agent="bench"
        )
        nonce = memory.crystallise_approve(made.kref, made.content_hash).nonce
        memory.crystallise_apply(made.kref, nonce)
    agent = memory.session(actor="bench", role="agent")
    agent.ingest(
        [{"text": "The cellar is dry, please note it.", "role": "user", "speaker": "user"}],
        thread="before",
        session="before",
        extract=False,
    )
    agent.handoff_write("before", reason="end")
    for number in range(_FILES):
        place = folder / f"file{number}.txt"
        place.write_text(f"Page {number}. " * 5_000)
        agent.attachment_add(place)
        memory.remember(f"The service {number} listens on port 80{number}", name=f"v{number}")
        memory.verifier_declare(f"kref://{_PROJECT}/v{number}.fact", "hash", path=str(place))
    memory.window_declare("2020-01-01", "2020-02-01", "a broken clock")


def _events(
    path: Path, embedder: Embedder, asked: Sequence[str]
) -> tuple[list[tuple[str, Spread]], float]:
    times: dict[str, list[float]] = {}
    chars = 0

    def timed(key: str, act: Callable[[], Any]) -> Any:
        began, used = time.perf_counter(), time.process_time()
        made = act()
        used, took = time.process_time() - used, time.perf_counter() - began
        times.setdefault(key, []).append(took)
        times.setdefault(f"{key}{_PROCESSOR}", []).append(used)
        return made

    with doxa.open(path, embedder=embedder, background=False, actor="bench") as memory:
        hooks = Pipeline(memory.session(), Spool(hooks_folder(path)))

        def send(kind: str, session: str, text: str = "", *, key: str = "") -> int:
            event = HookEvent(kind, "claude-code", session, folder="/", text=text)
            return len(timed(key or kind, lambda: hooks.handle(event, _PROJECT)).block)

        send("prompt", "warm", asked[0], key="first prompt after opening")
        for number in range(_SESSIONS):
            session = f"s{number}"
            chars += send("open", session)
            for text in asked[number * _PROMPTS :][:_PROMPTS]:
                chars += send("prompt", session, text)
                turn = partial(hooks.session.context_assemble, f"{text}?", session=session)
                timed("context", turn)
                send("answer", session, f"It is so: {text}")
                timed("store a turn, after the answer", hooks.settle)
    return [(key, spread(values)) for key, values in times.items()], chars / _SESSIONS


def _commands(path: Path, asked: Sequence[str]) -> list[tuple[str, Spread]]:
    """The command, for hosts that call none of our tools."""
    environ = os.environ | {"DOXA_EMBEDDER": "none"}
    found = []
    for key, host, event in (
        ("command_that_injects", "gemini", "prompt"),
        ("command_that_captures", "copilot", "prompt"),
    ):
        words = [sys.executable, "-m", "doxa.cli", "hook", event, "--host", host]
        words += ["--db", str(path), "--project", _PROJECT]
        times = []
        for number in range(_COMMANDS):
            document = (
                f'{{"session_id": "c{number}", "cwd": "/", "prompt": "{asked[number][:80]}"}}'
            )
            began = time.perf_counter()
            subprocess.run(words, input=document, text=True, env=environ, capture_output=True)
            times.append(time.perf_counter() - began)
        found.append((key, spread(times)))
    return found
