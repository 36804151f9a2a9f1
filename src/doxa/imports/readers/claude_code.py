"""Read Claude Code's session files: what the person and the assistant said.

One file per session in a folder per project, one JSON object per line, appended while the session
runs; those of sub-agents in a folder of the session:

    projects/-home-ana-atlas/<session>.jsonl
    projects/-home-ana-atlas/<session>/subagents/agent-<id>.jsonl
    {"type": "user", "uuid": "...", "sessionId": "...", "cwd": "...", "timestamp": "2026-03-02T…Z",
     "isSidechain": false, "isMeta": false, "isCompactSummary": false, "promptSource": "typed",
     "message": {"role": "user", "content": "text" | [block, ...]}, "toolUseResult": …}
    block: {"type": "text", "text": …} | {"type": "thinking", "thinking": …}
           | {"type": "tool_use", "id": …, "name": …, "input": {…}}
           | {"type": "tool_result", "tool_use_id": …, "is_error": true, "content": …}
    {"type": "attachment", "attachment": {"type": "queued_command", "prompt": …}}

Tool traffic is left out, except where a tool is the way in which the person answers: a question of
AskUserQuestion, the words with which a tool was rejected, a plan of ExitPlanMode that was approved.
A queued prompt is what the person typed while the agent worked. All other types of lines hold no
conversation; `api-request-blob` repeats it, with what was injected. As run: Claude Code 2.1.330.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import DETECT_LINES_READ
from doxa.imports.contract import ImportedMessage, ImportLog, ImportSource, Position, Read
from doxa.imports.lines import lines_after
from doxa.ingestion.readers.sources import clean, decode
from doxa.redaction.messages import tool_text

_KEYS = frozenset(("sessionId", "leafUuid", "isSidechain"))
_KEY = re.compile(rb'(?<!\\)"(?:sessionId|leafUuid|isSidechain)"\s*:')
_HUMAN = frozenset(("human", "person", "composer"))
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
_CALLS_MAX = 100  # that wait for their answer at a time


class _Kind(msgspec.Struct):
    type: str = ""
    cwd: str | None = None


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")
    tool_use_id: str = ""
    is_error: bool | None = None
    content: msgspec.Raw = msgspec.Raw(b"")


class _SaidContent(msgspec.Struct):
    content: str | list[_Block] = ""


class _Origin(msgspec.Struct):
    kind: str = ""


class _Line(msgspec.Struct):
    type: str
    message: _SaidContent
    timestamp: object = None
    sessionId: str = ""
    uuid: str = ""
    isSidechain: bool = False
    isMeta: bool = False
    isCompactSummary: bool = False
    promptSource: str | None = None
    origin: _Origin | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")


class _Queued(msgspec.Struct):
    type: str = ""
    prompt: str | list[_Block] = ""
    isMeta: bool | None = None
    origin: _Origin | None = None


class _QueuedLine(msgspec.Struct):
    attachment: _Queued
    timestamp: object = None
    sessionId: str = ""
    uuid: str = ""
    isSidechain: bool = False


class _Plan(msgspec.Struct):
    plan: str = ""


class _Answers(msgspec.Struct):
    answers: dict[str, str | list[str]] = msgspec.field(default_factory=dict)


_kind = msgspec.json.Decoder(_Kind)
_line = msgspec.json.Decoder(_Line)
_queued = msgspec.json.Decoder(_QueuedLine)
_plan = msgspec.json.Decoder(_Plan)
_answers = msgspec.json.Decoder(_Answers)
_result = msgspec.json.Decoder(str | list[_Block])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()


@dataclass(slots=True)
class _Call:
    """A call of a tool that waits for its answer, and the position before it."""

    before: Position
    name: str
    given: bytes


@dataclass(slots=True)
class _Session:
    """What is known of a session while it is read. `before` is the position before the line."""

    name: str
    folder: str
    before: Position
    calls: dict[str, _Call] = field(default_factory=dict)

    def resume(self, after: Position) -> Position:
        """Where reading goes on: before the first call that waits, whose words are not kept."""
        waiting = min((call.before for call in self.calls.values()), key=_offset, default=after)
        return min(waiting, after, key=_offset)


def _offset(position: Position) -> int:
    return position.offset


class ClaudeCode:
    """Sessions of Claude Code."""

    name = "claude-code"
    title = "Claude Code sessions (a .jsonl file, or a folder of them)"
    own = True
    documents = False
    suffixes = (".jsonl",)

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether a line has a type and one of the keys that no other host writes."""
        found = start.split(b"\n", DETECT_LINES_READ)[:DETECT_LINES_READ]
        for line in found:
            try:
                keys = decode(_object, line).keys()
            except ValueError:
                continue
            if "type" in keys and keys & _KEYS:
                return True
        # the first line may be longer than what was read
        return len(found) == 1 and _KEY.search(start) is not None

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the messages of a session. The position stays before a call that waits for its
        answer, and before a last line without its end."""
        session = _Session(source.path.stem, str(start.carry.get("folder", "")), start)
        for line in lines_after(source.path, start):
            messages: list[ImportedMessage] = []
            try:
                if line.data is None:
                    raise ValueError("it is longer than the limit")
                messages = _read_line(line.data, session, log, include)
            except (ValueError, InputError) as error:
                if line.ended:
                    log.skip(f"{source.name}, line {line.number}: {error}")
                else:
                    log.left_out["unfinished lines"] += 1
            for message in messages:
                yield Read(message, session.resume(session.before))
            if line.ended:
                session.before = Position(line.end, line.number, {"folder": session.folder})
            yield Read(None, session.resume(session.before))


def _read_line(
    data: bytes, session: _Session, log: ImportLog, include: Collection[str]
) -> list[ImportedMessage]:
    kind = decode(_kind, data)
    session.folder = clean(kind.cwd or "") or session.folder
    if kind.type == "attachment" and b'"queued_command"' in data:
        return _typed_meanwhile(decode(_queued, data), session, log, include)
    if kind.type not in ("user", "assistant"):
        log.left_out["lines without conversation"] += 1
        return []
    line = decode(_line, data)
    if line.isSidechain and "sidechains" not in include:
        log.left_out["lines of sub-agents"] += 1
        return []
    if line.isCompactSummary:
        log.left_out["summaries"] += "summaries" not in include
        text = "\n\n".join(_texts(line.message.content))
        asked = "summaries" in include and text
        return (
            [_message(line, session, log, "assistant", text, "claude-code summary")]
            if asked
            else []
        )
    if line.isMeta or (line.type == "user" and not _is_typed(line.promptSource, line.origin)):
        log.left_out["lines that the host wrote"] += 1
        return []
    return [
        *_spoken(line, session, log, include),
        *_decided(line, session, log),
        *_used(line, session, log, include),
    ]


def _is_typed(source: str | None, origin: _Origin | None) -> bool:
    return source != "system" and (origin is None or origin.kind in _HUMAN)


def _message(
    line: _Line | _QueuedLine, session: _Session, log: ImportLog, role: str, text: str, by: str = ""
) -> ImportedMessage:
    return ImportedMessage(
        clean(line.sessionId) or session.name,
        role,  # type: ignore[arg-type]
        text,
        log.time(line.timestamp),
        by,
        session.folder,
        clean(line.uuid),
    )


def _texts(content: str | list[_Block]) -> list[str]:
    blocks = [_Block(type="text", text=content)] if isinstance(content, str) else content
    found = (clean(block.text).strip() for block in blocks if block.type == "text")
    return [text for text in found if text]


def _spoken(
    line: _Line, session: _Session, log: ImportLog, include: Collection[str]
) -> Iterator[ImportedMessage]:
    content, is_user = line.message.content, line.type == "user"
    said = [text for text in _texts(content) if not (is_user and _INJECTED.match(text))]
    if "thinking" in include and not isinstance(content, str):
        thoughts = (clean(block.thinking).strip() for block in content if block.type == "thinking")
        said = [text for text in thoughts if text] + said
    if said:
        # a prompt ends what waited: its calls were interrupted
        session.calls = {} if is_user else session.calls
        yield _message(line, session, log, "user" if is_user else "assistant", "\n\n".join(said))


def _typed_meanwhile(
    line: _QueuedLine, session: _Session, log: ImportLog, include: Collection[str]
) -> list[ImportedMessage]:
    queued = line.attachment
    typed = queued.type == "queued_command" and _is_typed(None, queued.origin)
    if not typed or queued.isMeta or (line.isSidechain and "sidechains" not in include):
        log.left_out["lines without conversation"] += 1
        return []
    said = [text for text in _texts(queued.prompt) if not _INJECTED.match(text)]
    return [_message(line, session, log, "user", "\n\n".join(said))] if said else []


def _decided(line: _Line, session: _Session, log: ImportLog) -> Iterator[ImportedMessage]:
    """Yield what the person decided at a prompt of the host."""
    blocks = line.message.content
    if isinstance(blocks, str) or line.type != "user":
        return
    for block in blocks:
        if block.type != "tool_result":
            continue
        text, call = _result_text(block), session.calls.get(block.tool_use_id)
        if _ANSWERED.match(text):
            for said in _answered(line, text):
                yield _message(line, session, log, "user", said)
        elif _APPROVED.match(text):
            plan = _plan_of(call)
            if plan:
                yield _message(line, session, log, "assistant", plan)
            yield _message(line, session, log, "user", "I approve this plan.")
        elif block.is_error and (found := _REJECTED.fullmatch(text)):
            yield _message(line, session, log, "user", found["words"].strip())


def _plan_of(call: _Call | None) -> str:
    if call is None or call.name != "ExitPlanMode":
        return ""
    return clean(decode(_plan, call.given).plan).strip()


def _used(
    line: _Line, session: _Session, log: ImportLog, include: Collection[str]
) -> Iterator[ImportedMessage]:
    """Note the calls that wait, and yield the uses of tools, in short, where they are asked for."""
    blocks = line.message.content
    if isinstance(blocks, str):
        return
    with_tools = "tools" in include
    for block in blocks:
        if block.type == "tool_use" and line.type == "assistant":
            wanted = with_tools or block.name == "ExitPlanMode"
            if wanted and len(session.calls) < _CALLS_MAX and bytes(block.input):
                session.calls[block.id] = _Call(session.before, block.name, bytes(block.input))
        elif block.type == "tool_result" and line.type == "user":
            log.left_out["results of tools"] += not with_tools
            call = session.calls.pop(block.tool_use_id, None)
            if call is None or not with_tools:
                continue
            made = bytes(line.toolUseResult)
            result = decode(_any, made) if made and made != b"null" else _result_text(block)
            text = tool_text(clean(call.name), decode(_any, call.given), result)
            if text:
                yield _message(line, session, log, "tool", clean(text), clean(call.name))


def _answered(line: _Line, text: str) -> Iterator[str]:
    """Yield each question with the answer. The line holds both; its text is what older versions
    wrote."""
    try:
        pairs = list(decode(_answers, bytes(line.toolUseResult)).answers.items())
    except ValueError:
        pairs = []
    for question, answer in pairs or _ANSWER.findall(text):
        chosen = answer if isinstance(answer, str) else ", ".join(answer)
        if said := clean(chosen).strip():
            yield f"{clean(question).strip()} {said}"


def _result_text(block: _Block) -> str:
    data = bytes(block.content)
    content = decode(_result, data) if data and data != b"null" else ""
    return clean(content).strip() if isinstance(content, str) else "\n".join(_texts(content))
