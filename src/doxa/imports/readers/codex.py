"""Read Codex's rollouts: what the person and the agent said.

One file per session, one JSON object per line, appended while the session runs:

    sessions/2026/03/02/rollout-2026-03-02T14-00-00-<id>.jsonl
    {"timestamp": "…Z", "ordinal": 0, "type": "session_meta", "payload": {"id": …, "cwd": …}}
    {"type": "turn_context", "payload": {"cwd": …}}
    {"type": "response_item", "payload": {"type": "message", "id": …, "role": "user", "content":
        [{"type": "input_text", "text": …}]}}                   developer: what the host injected
    {"type": "response_item", "payload": {"type": "function_call", "name": …, "arguments": …,
        "call_id": …}}                                          then function_call_output, "output"
    {"type": "compacted", "payload": {"message": …}}            a summary

Other lines (event_msg, world_state, token_usage_record) repeat the conversation or hold none. Texts
of the user that the host wrote, such as the content of AGENTS.md, are left out. As run: Codex
0.169.0. Sessions of a sub-agent say so in `thread_source`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.imports.contract import ImportedMessage, ImportLog, ImportSource, Position, Read
from doxa.imports.lines import lines_after
from doxa.ingestion.readers.sources import clean, decode
from doxa.redaction.messages import tool_text

_FIRST = re.compile(
    rb'\s*\{(?:"timestamp"\s*:\s*"[^"]{0,64}"\s*,\s*)?(?:"ordinal"\s*:\s*\d+\s*,\s*)?"type"\s*:\s*'
    rb'"(?:session_meta|response_item|turn_context|event_msg)"\s*,\s*"payload"\s*:'
)
# The host writes these in the name of the user; no person typed them.
_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions\b|<(?:environment_context|user_instructions|turn_aborted"
    r"|subagent_notification|skill|user_shell_command|hook_prompt|INSTRUCTIONS)\b)"
)
_CALLS_MAX = 100


class _CodexText(msgspec.Struct):
    type: str = ""
    text: str = ""


class _CodexPayload(msgspec.Struct):
    type: str = ""
    id: str = ""
    role: str = ""
    cwd: str = ""
    thread_source: object = None
    content: list[_CodexText] | None = None
    message: object = None
    name: str = ""
    namespace: str | None = None
    arguments: object = None
    input: object = None
    call_id: str = ""
    output: object = None


class _CodexLine(msgspec.Struct):
    type: str = ""
    timestamp: object = None
    payload: msgspec.Raw = msgspec.Raw(b"")


_line = msgspec.json.Decoder(_CodexLine)
_payload = msgspec.json.Decoder(_CodexPayload)
_any = msgspec.json.Decoder()
_READ = frozenset(("session_meta", "turn_context", "response_item", "compacted"))
_PERSONS = (None, "user", "cli", "exec", "vscode")


@dataclass(slots=True)
class _CodexSession:
    """What is known of a rollout while it is read."""

    name: str
    folder: str
    nested: bool
    before: Position
    calls: dict[str, tuple[Position, str, object]] = field(default_factory=dict)

    def resume(self) -> Position:
        """Where reading goes on: before the first call that waits for its output."""
        waiting = [before for before, _, _ in self.calls.values()]
        return min([*waiting, self.before], key=lambda one: one.offset)

    def carry(self) -> dict[str, object]:
        return {"session": self.name, "folder": self.folder, "nested": self.nested}


class Codex:
    """Sessions of Codex."""

    name = "codex"
    title = "Codex sessions (a rollout .jsonl, or a folder of them)"
    own = True
    documents = False
    suffixes = (".jsonl",)

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether the first line has a type and a payload."""
        return _FIRST.match(start) is not None

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the messages of a rollout."""
        carry = start.carry
        session = _CodexSession(
            str(carry.get("session") or source.path.stem),
            str(carry.get("folder") or ""),
            carry.get("nested") is True,
            start,
        )
        for line in lines_after(source.path, start):
            messages: list[ImportedMessage] = []
            try:
                if line.data is None:
                    raise ValueError("it is longer than the limit")
                messages = _read_line(decode(_line, line.data), session, log, include)
            except (ValueError, InputError) as error:
                if line.ended:
                    log.skip(f"{source.name}, line {line.number}: {error}")
                else:
                    log.left_out["unfinished lines"] += 1
            for message in messages:
                yield Read(message, session.resume())
            if line.ended:
                session.before = Position(line.end, line.number, session.carry())
            yield Read(None, session.resume())


def _read_line(
    line: _CodexLine, session: _CodexSession, log: ImportLog, include: Collection[str]
) -> list[ImportedMessage]:
    if line.type not in _READ:
        log.left_out["lines without conversation"] += 1
        return []
    payload = decode(_payload, bytes(line.payload))
    if line.type in ("session_meta", "turn_context"):
        session.folder = clean(payload.cwd) or session.folder
        if line.type == "session_meta":
            session.name = clean(payload.id) or session.name
            session.nested = payload.thread_source not in _PERSONS
        return []
    if session.nested and "sidechains" not in include:
        log.left_out["lines of sub-agents"] += 1
        return []
    role, text, by = "", "", ""
    if line.type == "compacted":
        log.left_out["summaries"] += "summaries" not in include
        if "summaries" in include and isinstance(payload.message, str):
            role, text, by = "assistant", clean(payload.message), "codex summary"
    elif payload.type == "message":
        role, text = _spoken(payload, session, log)
    elif payload.type.endswith("_call") or payload.type.endswith("_call_output"):
        role, text, by = _used(payload, session, log, include)
    if not text:
        return []
    when = log.time(line.timestamp)
    return [
        ImportedMessage(
            session.name,
            role,  # type: ignore[arg-type]
            text,
            when,
            by,
            session.folder,
            clean(payload.id),
        )
    ]


def _spoken(payload: _CodexPayload, session: _CodexSession, log: ImportLog) -> tuple[str, str]:
    if payload.role not in ("user", "assistant"):
        log.left_out["lines that the host wrote"] += 1
        return "", ""
    texts = [clean(part.text).strip() for part in payload.content or ()]
    if payload.role == "user":
        typed = [text for text in texts if not _INJECTED.match(text)]
        log.left_out["lines that the host wrote"] += bool(texts) and not typed
        session.calls = {} if typed else session.calls  # what waited was interrupted
        texts = typed
    return payload.role, "\n\n".join(text for text in texts if text)


def _used(
    payload: _CodexPayload, session: _CodexSession, log: ImportLog, include: Collection[str]
) -> tuple[str, str, str]:
    if "tools" not in include:
        log.left_out["results of tools"] += payload.type.endswith("_output")
        return "", "", ""
    if not payload.type.endswith("_output"):
        if len(session.calls) < _CALLS_MAX:
            name = f"{payload.namespace or ''}{payload.name or payload.type}"
            given = payload.arguments if payload.arguments is not None else payload.input
            session.calls[payload.call_id] = (session.before, name, given)
        return "", "", ""
    found = session.calls.pop(payload.call_id, None)
    if found is None:
        return "", "", ""
    _, name, given = found
    with suppress(ValueError):  # it is a text
        given = decode(_any, given.encode()) if isinstance(given, str) else given
    return "tool", clean(tool_text(clean(name), given, payload.output)), clean(name)
