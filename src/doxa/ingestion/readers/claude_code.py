"""Read Claude Code's session files: the messages of the user and the assistant, without tool
traffic.

The product keeps one file per session in a folder per project, one JSON object per line, appended
while the session runs:

    projects/-home-ana-atlas/<session>.jsonl
    {"type": "user", "uuid": "...", "sessionId": "...", "cwd": "...",
     "timestamp": "2026-03-02T14:00:00.000Z", "isSidechain": false, "isMeta": false,
     "message": {"role": "user", "content": "text" | [ block, ... ]}}
    block: {"type": "text", "text": ...} | {"type": "thinking", ...}
           | {"type": "tool_use", "id": ..., "name": ..., "input": {...}}
           | {"type": "tool_result", "tool_use_id": ..., "is_error": true, "content": ...}

Tool traffic is left out, except where the tool is the way in which the user answers: the answer to
a question of AskUserQuestion, the words with which a tool was rejected, and a plan of ExitPlanMode
that was approved. They are what the user decided.

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


# How the host reports to the model what a person said at a prompt of its own.
_ANSWERED = re.compile(r"\s*User has answered your questions?:")
_ANSWER = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')
_APPROVED = re.compile(r"\s*User has approved your plan\b")
_REJECTED = re.compile(
    r"\s*The user doesn't want to (?:proceed with this tool use|take this action)\b.*?"
    r"(?:the user said|following reason for the rejection):\s*(?P<words>.+?)"
    r"(?:\n\nNote: The user's next message\b.*)?",
    re.DOTALL,
)


class _ClaudeCodeKind(msgspec.Struct):
    type: str = ""
    cwd: str | None = None


class _ClaudeCodeBlock(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")
    tool_use_id: str = ""
    is_error: bool | None = None
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
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")


class _ClaudeCodePlan(msgspec.Struct):
    plan: str = ""


class _ClaudeCodeAnswers(msgspec.Struct):
    answers: dict[str, str | list[str]] = msgspec.field(default_factory=dict)


_kind = msgspec.json.Decoder(_ClaudeCodeKind)
_line = msgspec.json.Decoder(_ClaudeCodeLine)
_plan = msgspec.json.Decoder(_ClaudeCodePlan)
_answers = msgspec.json.Decoder(_ClaudeCodeAnswers)
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
    plans: dict[str, str] = {}
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
            spoken = [*_spoken(record, include), *_decided(record, plans)]
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


def _decided(record: _ClaudeCodeLine, plans: dict[str, str]) -> Iterator[tuple[TurnRole, str]]:
    """Yield what the user decided at a prompt of the host. `plans` holds the proposed ones of this
    session by the id of their call."""
    blocks = record.message.content
    if isinstance(blocks, str):
        return
    for block in blocks:
        if block.type == "tool_use" and block.name == "ExitPlanMode" and bytes(block.input):
            plans[block.id] = clean(decode(_plan, bytes(block.input)).plan).strip()
        elif block.type == "tool_result" and record.type == "user":
            text = _result_text(block)
            if _ANSWERED.match(text):
                yield from (("user", said) for said in _answered(record, text))
            elif _APPROVED.match(text):
                if plan := plans.pop(block.tool_use_id, ""):
                    yield "assistant", plan
                yield "user", "I approve this plan."
            elif block.is_error and (found := _REJECTED.fullmatch(text)):
                yield "user", found["words"].strip()


def _answered(record: _ClaudeCodeLine, text: str) -> Iterator[str]:
    """Yield each question with the answer. The line holds both; its text is what older versions
    wrote."""
    try:
        pairs = list(decode(_answers, bytes(record.toolUseResult)).answers.items())
    except ValueError:
        pairs = []
    for question, answer in pairs or _ANSWER.findall(text):
        chosen = answer if isinstance(answer, str) else ", ".join(answer)
        if said := clean(chosen).strip():
            yield f"{clean(question).strip()} {said}"


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
