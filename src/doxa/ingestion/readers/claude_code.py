"""Read Claude Code's session files: the messages of the user and the assistant, without tool
traffic.

The product keeps one file per session in a folder per project, one JSON object per line, appended
while the session runs:

    projects/-home-ana-atlas/<session>.jsonl
    {"type": "user", "uuid": "...", "sessionId": "...", "cwd": "...",
     "timestamp": "2026-03-02T14:00:00.000Z", "isSidechain": false, "isMeta": false,
     "message": {"role": "user", "content": "text" | [ block, ... ]}}
    block: {"type": "text", "text": ...} | {"type": "thinking", ...} | {"type": "tool_use", ...}
           | {"type": "tool_result", "content": ...}

Other line types (summary, system, snapshots) contain no conversation. The thread is the last part
of the first working directory, or the name of the project folder if no line has one; the session is
`sessionId`. A line that cannot be parsed is skipped and counted: a process killed while writing
leaves one, and the rest of the history must remain readable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.ingestion.readers.sources import ReadReport, clean, decode, files_below, lines
from doxa.language.turns import Turn, TurnRole

EXTRAS = frozenset({"tools", "thinking", "sidechains"})

# The host inserts these into the user's messages; no person typed them.
_INJECTED = re.compile(
    r"\s*<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout"
    r"|stderr)|system-reminder|task-notification|ide_(?:opened_file|selection|diagnostics))>"
    r"|\s*\[Request interrupted by user"
)


class _ClaudeCodeKind(msgspec.Struct):
    type: str = ""
    cwd: str | None = None


class _ClaudeCodeBlock(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    content: msgspec.Raw = msgspec.Raw(b"")


class _ClaudeCodeMessage(msgspec.Struct):
    content: str | list[_ClaudeCodeBlock] = ""


class _ClaudeCodeLine(msgspec.Struct):
    type: str
    message: _ClaudeCodeMessage
    timestamp: str | None = None
    sessionId: str = ""
    uuid: str = ""
    isSidechain: bool = False
    isMeta: bool = False
    isCompactSummary: bool = False


_kind = msgspec.json.Decoder(_ClaudeCodeKind)
_line = msgspec.json.Decoder(_ClaudeCodeLine)
_result = msgspec.json.Decoder(str | list[_ClaudeCodeBlock])


def read_claude_code(
    path: Path, *, report: ReadReport, include: Collection[str] = ()
) -> Iterator[Turn]:
    """Yield the turns of one session file, or of every *.jsonl below a folder, ordered by path.

    `include` adds content that is skipped by default: "tools" (results, role tool), "thinking",
    "sidechains" (sub-agents).
    """
    if not path.is_dir():
        yield from _read_session(path, report=report, include=include)
        return
    for file in files_below(path, ".jsonl"):
        try:
            yield from _read_session(file, report=report, include=include)
        except InputError as error:  # one unreadable file must not block the others
            report.skip(error.message)


def _read_session(path: Path, *, report: ReadReport, include: Collection[str]) -> Iterator[Turn]:
    thread = ""
    for number, line in lines(path):
        place = f"{path}, line {number}"
        try:
            if line is None:
                raise ValueError("it is longer than the limit")
            kind = decode(_kind, line)
            if not thread and kind.cwd:
                thread = clean(re.split(r"[/\\]", kind.cwd.rstrip("/\\"))[-1])
            if kind.type not in ("user", "assistant"):
                continue
            record = decode(_line, line)
            time_ns = None if record.timestamp is None else parse_time(record.timestamp)
            if (
                record.isMeta
                or record.isCompactSummary
                or (record.isSidechain and "sidechains" not in include)
            ):
                continue
            spoken = list(_spoken(record, include))
        except (ValueError, InputError) as error:
            report.skip(f"{place}: {error}")
            continue
        for role, text in spoken:
            yield Turn(
                thread=thread or path.resolve().parent.name,
                session=clean(record.sessionId) or path.stem,
                speaker=role,
                role=role,
                text=text,
                time_ns=time_ns,
                source_id=clean(record.uuid),
            )


def _spoken(record: _ClaudeCodeLine, include: Collection[str]) -> Iterator[tuple[TurnRole, str]]:
    role: TurnRole = "user" if record.type == "user" else "assistant"
    content = record.message.content
    blocks = [_ClaudeCodeBlock(type="text", text=content)] if isinstance(content, str) else content
    said = [
        text
        for block in blocks
        if block.type == "text"
        and (text := clean(block.text).strip())
        and not _injected(role, text)
    ]
    if "thinking" in include:
        said = [
            text
            for block in blocks
            if block.type == "thinking" and (text := clean(block.thinking).strip())
        ] + said
    if said:
        yield role, "\n\n".join(said)
    if "tools" in include:
        for block in blocks:
            if block.type == "tool_result" and (text := _result_text(block)):
                yield "tool", text


def _injected(role: TurnRole, text: str) -> bool:
    return role == "user" and _INJECTED.match(text) is not None


def _result_text(block: _ClaudeCodeBlock) -> str:
    data = bytes(block.content)
    content = decode(_result, data) if data and data != b"null" else ""
    if isinstance(content, str):
        return clean(content).strip()
    return "\n".join(
        text for inner in content if inner.type == "text" and (text := clean(inner.text).strip())
    )
