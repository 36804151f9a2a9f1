"""A completer that runs a program of the person's, such as `claude -p --output-format json`,
`codex exec -` or `gemini -p`: their own subscription, without a key.

    command:claude -p --output-format json      the conversation as text, an answer as text or JSON
    command-json:/opt/models/my-model             one JSON object each way (`ProgramAnswer`)

The words are split as a shell would split them, but no shell runs: nothing of a conversation is
ever part of a command line. The conversation is the program's standard input, its standard output
the answer. The program is named by an absolute path, or is found in an absolute folder of PATH, so
that the current folder, which may be anybody's repository, chooses none. It runs in an empty folder
of its own, so that it takes no instructions from the files of a project, with the variables of
`reduced`, and with DOXA_COMPLETING=1, by which a hook can tell that it was started by doxa itself.
It is a process group of its own, which is killed as a whole when time or bytes run out. What it
prints when it fails is quoted without credentials.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from doxa.base.completing import COMPLETING
from doxa.base.errors import InputError, ModelError
from doxa.base.limits import (
    COMPLETE_TOKENS_DEFAULT,
    MODEL_COMMAND_BYTES_MAX,
    MODEL_COMMAND_MS,
)
from doxa.base.run_slot import use_any_processor
from doxa.base.stopping import release
from doxa.models.chat import check_messages, completion, metered
from doxa.models.contract import Completion, Message
from doxa.models.meter import Meter
from doxa.models.texts import well_formed
from doxa.redaction.redact import redact

PASSED = "DOXA_MODEL_COMMAND_ENV"
_KEPT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR SSL_CERT_FILE SSL_CERT_DIR".split()
)
_KEPT_PREFIXES = ("LC_", "XDG_")
_SECRET_CHARS_MIN = 6  # a shorter value is not looked for in what a program prints
_CHUNK_BYTES = 65_536
_SAID_CHARS = 300
_LOOK_S = 0.2
_ENVELOPES = ("result", "response", "text", "content", "output", "message", "item")


class _Output(NamedTuple):
    code: int
    out: bytes
    err: bytes


class _ProgramUsage(msgspec.Struct):
    tokens_in: int | None = None
    tokens_out: int | None = None


class ProgramAnswer(msgspec.Struct):
    """What a program prints that speaks JSON. It reads {"messages": [{"role", "text"}],
    "tokens_max", "temperature"}; the temperature may be null."""

    text: str
    usage: _ProgramUsage = msgspec.field(default_factory=_ProgramUsage)
    finish: Literal["stop", "length", "other"] = "stop"


class CommandCompleter:
    """A completer over a program. `environment` is that of doxa, of which it gets a part
    (`reduced`); with `speaks_json` it gets and prints JSON. Safe to share between threads: each
    call is a process."""

    def __init__(
        self,
        command: str,
        meter: Meter,
        *,
        environment: Mapping[str, str],
        timeout_ms: int = MODEL_COMMAND_MS,
        bytes_max: int = MODEL_COMMAND_BYTES_MAX,
        speaks_json: bool = False,
    ) -> None:
        self._argv = parse_command(command)
        # Arguments may hold what is nobody else's business, so the name leaves them out.
        self.name = f"command:{Path(self._argv[0]).name}"
        self._meter = meter
        self._speaks_json = speaks_json
        self._environment = reduced(environment)
        self._secrets = [
            value
            for name, value in self._environment.items()
            if not _is_usual(name) and len(value) >= _SECRET_CHARS_MIN
        ]
        self._timeout_ms = timeout_ms
        self._bytes_max = bytes_max

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`. The program decides how long its answer is and which
        temperature it uses (one that speaks JSON gets both); the bytes that are read have a
        limit."""
        valid = check_messages(messages, tokens_max=tokens_max, temperature=temperature)
        asked = _prompt(valid).encode()
        if self._speaks_json:
            asked = _request(valid, tokens_max=tokens_max, temperature=temperature)
        with metered(self._meter, self.name, valid, tokens_max=tokens_max) as call:
            call.attempt()
            try:
                done = self._run(asked)
            except ModelError as error:
                if "outage" in error.fields:
                    call.free()  # it was not started
                raise
            if done.code:
                raise self._failed(f"ended with {done.code}{self._quoted(done.err or done.out)}")
            answer = self._answer(done.out)
            return completion(
                call,
                answer.text.strip(),
                tokens_in=answer.usage.tokens_in,
                tokens_out=answer.usage.tokens_out,
                finish=answer.finish,
                model=self.name,
            )

    def _answer(self, printed: bytes) -> ProgramAnswer:
        if not self._speaks_json:
            text, used = read_answer(printed.decode("utf-8", "replace"))
            return ProgramAnswer(text, _ProgramUsage(*used))
        try:
            return msgspec.json.decode(printed, type=ProgramAnswer)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise self._failed(
                f"printed {len(printed):,} bytes that are not the JSON object of an answer"
            ) from None

    def _quoted(self, data: bytes) -> str:
        """Return the beginning of what a program printed, in one line and without credentials."""
        said = well_formed(data.decode("utf-8", "replace"))
        for secret in self._secrets:
            said = said.replace(secret, "[removed]")
        text = " ".join(redact(said).text.split())[:_SAID_CHARS]
        return f": {text}" if text else ""

    def _run(self, data: bytes) -> _Output:
        program = shutil.which(self._argv[0], path=_absolute(self._environment.get("PATH", "")))
        if program is None:
            raise self._failed("is not there, or may not be run", outage=True)
        with tempfile.TemporaryDirectory(prefix="doxa-command-") as folder:
            try:
                use_any_processor()
                process = subprocess.Popen(  # noqa: S603 - the person's own command, and no shell
                    [program, *self._argv[1:]],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    env=self._environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise self._failed(f"cannot be run: {error.strerror}", outage=True) from error
            try:
                return self._talk(process, data)
            finally:
                _end(process)

    def _talk(self, process: subprocess.Popen[bytes], data: bytes) -> _Output:
        """Write the conversation and read the answer, within time and bytes."""
        deadline = time.monotonic() + self._timeout_ms / 1_000
        assert process.stdin and process.stdout and process.stderr
        read: dict[IO[bytes], bytearray] = {
            process.stdout: bytearray(),
            process.stderr: bytearray(),
        }
        view = memoryview(data)
        with selectors.DefaultSelector() as ready:
            for pipe, event in (
                (process.stdin, selectors.EVENT_WRITE),
                (process.stdout, selectors.EVENT_READ),
                (process.stderr, selectors.EVENT_READ),
            ):
                os.set_blocking(pipe.fileno(), False)
                ready.register(pipe, event)
            while len(ready.get_map()) > (1 if process.stdin in _pipes(ready) else 0):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._late()
                found = ready.select(min(left, _LOOK_S))
                if not found and process.poll() is not None:
                    break  # it has ended; what it left behind holds the pipes
                for key, _ in found:
                    pipe = key.fileobj  # type: ignore[assignment]  # the pipes registered above
                    if pipe is process.stdin:
                        view = view[_write(pipe, view) :]
                        if not view:
                            ready.unregister(pipe)
                            with contextlib.suppress(OSError):
                                pipe.close()
                        continue
                    chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
                    if not chunk:
                        ready.unregister(pipe)
                        continue
                    read[pipe] += chunk
                    if sum(map(len, read.values())) > self._bytes_max:
                        raise self._failed(f"printed more than {self._bytes_max:,} bytes")
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._late() from None
        return _Output(code, bytes(read[process.stdout]), bytes(read[process.stderr]))

    def _late(self) -> ModelError:
        return self._failed(f"did not end within {self._timeout_ms // 1_000} s")

    def _failed(self, reason: str, *, outage: bool = False) -> ModelError:
        said = {"outage": True} if outage else {}
        return ModelError(
            f"The command {self._argv[0]} {reason}.",
            next_step="Run it by hand with a text on its standard input, and see what it says.",
            model=self.name,
            **said,
        )


def parse_command(command: str) -> list[str]:
    """Return the words of a command line. Raises InputError for one that cannot be split."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise InputError(
            f"The command cannot be split into words: {error}.",
            next_step="Close its quotation marks.",
            field="model",
        ) from None
    if not argv or "\0" in command:
        raise InputError(
            "The command names no program.",
            next_step='Give it as "command:claude -p --output-format json".',
            field="model",
        )
    if os.sep in argv[0] and not Path(argv[0]).is_absolute():
        raise InputError(
            f"The program {argv[0][:80]!r} depends on the current folder.",
            next_step="Give its absolute path, or put its folder on PATH and give its name.",
            field="model",
        )
    return argv


def reduced(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a program gets: those of the language, the folders and the path,
    and those that DOXA_MODEL_COMMAND_ENV names. Keys of other providers are not among them."""
    named = set(environment.get(PASSED, "").replace(",", " ").split())
    return {
        name: value
        for name, value in environment.items()
        if _is_usual(name) or (name in named and not name.startswith("DOXA_"))
    } | {COMPLETING: "1"}


def _is_usual(name: str) -> bool:
    return name in _KEPT or name == COMPLETING or name.startswith(_KEPT_PREFIXES)


def _absolute(path: str) -> str:
    """Return the absolute folders of a search path: the others depend on the current one."""
    return os.pathsep.join(one for one in path.split(os.pathsep) if Path(one).is_absolute())


def read_answer(printed: str) -> tuple[str, tuple[int | None, int | None]]:
    """Return the answer in what a program printed, and the tokens that it reports: the text itself,
    or that of a JSON envelope, or of the last line of JSON that has one."""
    for text in (printed, *reversed(printed.strip().splitlines())):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        found = _answer_in(value, 4)
        if found:
            return found, _tokens(value)
        if isinstance(value, dict) and text is printed:
            break  # an object that is the answer itself
    return printed.strip(), (None, None)


def _answer_in(value: object, depth: int) -> str:
    if isinstance(value, list):
        return next(filter(None, (_answer_in(one, depth - 1) for one in reversed(value))), "")
    if not isinstance(value, dict) or not depth:
        return ""
    for name in _ENVELOPES:
        held = value.get(name)
        if isinstance(held, str) and held.strip():
            return held
        if isinstance(held, (dict, list)) and (found := _answer_in(held, depth - 1)):
            return found
    return ""


def _tokens(value: object) -> tuple[int | None, int | None]:
    usage = value.get("usage") if isinstance(value, dict) else None
    if not isinstance(usage, dict):
        return None, None
    counts = (usage.get("input_tokens"), usage.get("output_tokens"))
    return tuple(one if type(one) is int else None for one in counts)  # type: ignore[return-value]  # two


def _prompt(messages: Sequence[Message]) -> str:
    """Return a conversation as one text; who speaks is said only where it is not plain."""
    if all(message.role != "assistant" for message in messages):
        return "\n\n".join(message.text for message in messages) + "\n"
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages) + "\n"


def _request(messages: Sequence[Message], *, tokens_max: int, temperature: float | None) -> bytes:
    said = [{"role": message.role, "text": message.text} for message in messages]
    return msgspec.json.encode(
        {"messages": said, "tokens_max": tokens_max, "temperature": temperature}
    )


def _pipes(ready: selectors.BaseSelector) -> set[object]:
    return {key.fileobj for key in ready.get_map().values()}


def _write(pipe: IO[bytes], view: memoryview) -> int:
    """Write what the pipe takes; all of it where nobody reads any more."""
    try:
        return os.write(pipe.fileno(), view[:_CHUNK_BYTES]) if view else 0
    except BlockingIOError:
        return 0
    except OSError:
        return len(view)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the program and of all that it started, and release its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    release(process)
