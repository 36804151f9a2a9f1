"""What hosts send to their hooks and expect back: one row for each host, one way to read all.

    event_of(host, name, document) -> HookEvent        what a hook was given
    answer_of(host, name, injection) -> str            what it prints, or returns as a tool

A field is looked for under several names, the first that is there counts; a name with dots leads
into objects. Where a host sends no text, the row says where its file of the conversation has it
(`transcripts.py`). Where the formats are from is in docs/internals/hosts.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from doxa.hosts.events import EVENTS, HookEvent, Injection
from doxa.hosts.transcripts import TranscriptText, transcript_text
from doxa.redaction.messages import tool_text


@dataclass(frozen=True, slots=True)
class HostFormat:
    """One host: its names of the events, where its fields are, and how a block is injected:
    `nested` in hookSpecificOutput, under a key, or not at all."""

    names: Mapping[str, str]  # neutral event -> the host's
    inject: str = ""  # nested, or the key of a flat one
    injects_at: frozenset[str] = frozenset()
    notice: str = ""  # the key of a line for the person
    session: tuple[str, ...] = ("session_id",)
    folder: tuple[str, ...] = ("cwd",)
    text: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: tuple[str, ...] = ("source",)
    transcript: Mapping[str, TranscriptText] = field(default_factory=dict)


_CLAUDE_TEXT = {
    "prompt": ("prompt",),
    "answer": ("last_assistant_message",),
    "compaction": ("compact_summary",),
}
_CLAUDE = HostFormat(
    names={
        "open": "SessionStart",
        "prompt": "UserPromptSubmit",
        "tool": "PostToolUse",
        "compaction": "PostCompact",
        "answer": "Stop",
        "close": "SessionEnd",
    },
    inject="nested",
    injects_at=frozenset(("open", "prompt")),
    notice="systemMessage",
    text=_CLAUDE_TEXT,
)
_CODEX_SUMMARY = TranscriptText(
    "compacted", "payload.message", after="to assist with your own analysis:\n"
)
FORMATS: dict[str, HostFormat] = {
    "claude-code": _CLAUDE,
    "codex": replace(_CLAUDE, transcript={"compaction": _CODEX_SUMMARY}),
    "cursor": HostFormat(
        names={
            "open": "sessionStart",
            "prompt": "beforeSubmitPrompt",
            "tool": "postToolUse",
            "answer": "afterAgentResponse",
            "close": "sessionEnd",
        },
        inject="additional_context",
        injects_at=frozenset(("open",)),
        session=("conversation_id", "session_id"),
        folder=("cwd", "workspace_roots.0"),
        text={"prompt": ("prompt",), "answer": ("text", "response")},
    ),
    "gemini": HostFormat(
        names={
            "open": "SessionStart",
            "prompt": "BeforeAgent",
            "tool": "AfterTool",
            "answer": "AfterAgent",
            "close": "SessionEnd",
        },
        inject="nested",
        injects_at=frozenset(("open", "prompt")),
        notice="systemMessage",
        text={"prompt": ("prompt",), "answer": ("prompt_response",)},
    ),
    "copilot": HostFormat(
        names={
            "open": "sessionStart",
            "prompt": "userPromptSubmitted",
            "tool": "postToolUse",
            "answer": "agentStop",
            "close": "sessionEnd",
        },
        inject="additionalContext",
        injects_at=frozenset(("open",)),
        session=("sessionId", "session_id"),
        text={"prompt": ("prompt",)},
        transcript={
            "answer": TranscriptText(
                "assistant.message",
                "data.content",
                since="user.message",
                unless="data.toolRequests",
            )
        },
    ),
    "opencode": HostFormat(
        names={name: name for name in EVENTS},
        inject="block",
        injects_at=frozenset(("open",)),
        session=("session",),
        folder=("folder",),
        text={name: ("text",) for name in ("prompt", "compaction", "answer")},
    ),
}
HOSTS = (*FORMATS, "openclaw", "hermes")
_GIVEN = ("tool_input", "toolArgs")
_MADE = (
    "tool_response.llmContent",
    "tool_response",
    "tool_output",
    "toolResult.textResultForLlm",
    "toolResult",
)


def event_of(host: str, name: str, document: Mapping[str, Any]) -> HookEvent | None:
    """Read what a hook was given. `name` is neutral or the host's; None for one that is unknown, or
    of a conversation without an id."""
    form = FORMATS.get(host)
    if form is None:
        return None
    kind = next((one for one, its in form.names.items() if name in (one, its)), None)
    session = _text(document, form.session) or _text(document, ("session",))
    if kind is None or not session:
        return None
    tool = _text(document, ("tool_name", "toolName", "tool"))
    text = _text(document, (*form.text.get(kind, ()), "text"))
    if kind == "tool":
        text = tool_text(tool, _value(document, _GIVEN), _value(document, _MADE))
    elif not text and kind in form.transcript:
        path = _text(document, ("transcript_path", "transcriptPath"))
        text = transcript_text(path, session, form.transcript[kind])
    folder = _text(document, (*form.folder, "folder"))
    return HookEvent(kind, host, session, folder, text, tool, _text(document, form.source))


def answer_of(host: str, kind: str, injection: Injection) -> str:
    """Return JSON for the host; `{}` where there is nothing to say. Only keys that the host knows:
    some refuse others."""
    form = FORMATS[host]
    found: dict[str, Any] = {}
    if injection.notice and form.notice:
        found[form.notice] = injection.notice
    if injection.block and kind in form.injects_at:
        if form.inject == "nested":
            found["hookSpecificOutput"] = {
                "hookEventName": form.names[kind],
                "additionalContext": injection.block,
            }
        else:
            found[form.inject] = injection.block
    if host == "cursor" and kind == "prompt":
        found["continue"] = True
    return json.dumps(found, ensure_ascii=False)


def _text(document: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = _at(document, name)
        if isinstance(value, str) and value:
            return value
    return ""


def _value(document: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first value that is there. One that came as the text of JSON, as from hooks that call a
    tool, is what the text says."""
    value = next(filter(None, (_at(document, name) for name in names)), None)
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _at(document: Any, name: str) -> Any:
    for part in name.split("."):
        if isinstance(document, Mapping):
            document = document.get(part)
        elif isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return None
    return document
