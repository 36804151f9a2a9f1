"""A log shipped over a pipe: to a program that this one starts, such as `ssh` to another machine,
at whose other end `doxa follow --receive` runs. Nothing listens; who may do it is what the program
asks for.

    sender                              receiver
    Hello(name)                  ─►
                                 ◄─     Known: what it has
    what store/chain/shipment.py
    yields, the last of it
    ShipmentEnd                  ─►
                                 ◄─     Done, or Refused at any time

Each direction begins with a line that names the protocol, so that a shell which prints something is
noticed. A message is msgpack in frames: four bytes say its length, the highest bit that more of the
message follows. Lengths are bounded, types are checked, and silence ends a shipment. What came
whole is kept, and the next shipment goes on after it.
"""

from __future__ import annotations

import os
import platform
import select
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from doxa.base.errors import (
    BusyError,
    ConflictError,
    CorruptError,
    DiskFullError,
    DoxaError,
    InputError,
    LimitError,
    ReadOnlyError,
    StoreError,
    UnreachableError,
)
from doxa.base.limits import (
    FOLLOW_FRAME_BYTES_MAX,
    FOLLOW_MESSAGE_BYTES_MAX,
    FOLLOW_SILENCE_S,
)
from doxa.base.stopping import release
from doxa.store.chain.chain_file import ChainFile, Intake, Shipped
from doxa.store.chain.shipment import ErasedRanges, Known, ShipmentEnd, ShippedPart, shipment
from doxa.store.store import Store

_PREAMBLE = b"doxa-follow 1\n"
_MORE = 1 << 31
_END_S = 10  # for the program to end by itself
_SAID_CHARS = 1_000
_NAME_CHARS = 200
_ENCODER = msgspec.msgpack.Encoder()
_REFUSALS: dict[str, type[DoxaError]] = {
    one.code: one
    for one in (
        BusyError,
        ConflictError,
        CorruptError,
        DiskFullError,
        InputError,
        LimitError,
        ReadOnlyError,
        StoreError,
    )
}


class Hello(msgspec.Struct, tag="hello", array_like=True):
    """Whose log it is: the name of the file, without its ending."""

    name: str


class Done(msgspec.Struct, tag="done", array_like=True):
    """What was taken, as in Shipped."""

    changes: int
    entries: int
    erased: int
    change: int
    head: bytes


class Refused(msgspec.Struct, tag="refused", array_like=True):
    """Why the receiver ended: an error."""

    code: str
    message: str
    next_step: str


class Sent(NamedTuple):
    """What a shipment did, and where the log lies: the machine and the path."""

    shipped: Shipped
    place: str


class Pipe:
    """One end of two pipes. `who` is the other end, in errors."""

    def __init__(self, reading: int, writing: int, *, who: str) -> None:
        self._reading, self._writing, self._who = reading, writing, who
        self._begun = self._heard = False

    def send(self, message: msgspec.Struct) -> None:
        """Raise UnreachableError if the other end is gone or silent, LimitError for an entry that
        is too long."""
        data = _ENCODER.encode(message)
        if len(data) > FOLLOW_MESSAGE_BYTES_MAX:
            raise LimitError(
                f"A log entry has more than {FOLLOW_MESSAGE_BYTES_MAX:,} bytes.",
                next_step="Follow the memory into a folder instead.",
                field="log",
            )
        if not self._begun:
            self._write(_PREAMBLE)
            self._begun = True
        view = memoryview(data)
        while True:
            piece, view = view[:FOLLOW_FRAME_BYTES_MAX], view[FOLLOW_FRAME_BYTES_MAX:]
            self._write((len(piece) | (_MORE if view else 0)).to_bytes(4, "big"))
            self._write(piece)
            if not view:
                return

    def receive(self, kind: Any) -> Any:
        """Return the next message, one of a kind. Raises CorruptError for anything else, and
        UnreachableError at the end."""
        if not self._heard:
            self._require_preamble()
            self._heard = True
        data = bytearray()
        while True:
            header = int.from_bytes(self._read(4), "big")
            length = header & ~_MORE
            total = len(data) + length
            if length > FOLLOW_FRAME_BYTES_MAX or total > FOLLOW_MESSAGE_BYTES_MAX:
                raise self._unreadable(f"a frame that claims {length:,} bytes")
            data += self._read(length)
            if not header & _MORE:
                break
            if not length:
                raise self._unreadable("an empty frame")
        try:
            return msgspec.msgpack.decode(data, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise self._unreadable(
                f"{len(data):,} bytes that cannot be read as a message"
            ) from None

    def refuse(self, error: DoxaError) -> bool:
        """Tell the other end why this one ends; return whether that was sent."""
        try:
            self.send(Refused(error.code, _encodable(error.message), _encodable(error.next_step)))
        except DoxaError:
            return False
        return True

    def _require_preamble(self) -> None:
        said = b""
        while len(said) < len(_PREAMBLE):
            try:
                said += self._read(1)
            except UnreachableError:
                if not said:
                    raise
                break
            if not _PREAMBLE.startswith(said):
                said += self._at_hand()
                break
        if said != _PREAMBLE:
            quoted = _plain(said.decode("utf-8", "replace"))[:80]
            raise self._unreadable(f"{quoted!r}")

    def _at_hand(self) -> bytes:
        """Return a little of what can be read at once, to be quoted."""
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        return os.read(self._reading, 200) if poll.poll(100) else b""

    def _read(self, count: int) -> bytearray:
        found = bytearray()
        while len(found) < count:
            self._wait(self._reading, select.POLLIN)
            chunk = os.read(self._reading, min(count - len(found), 1 << 16))
            if not chunk:
                raise self._gone()
            found += chunk
        return found

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._writing, select.POLLOUT)
            try:
                view = view[os.write(self._writing, view[: select.PIPE_BUF]) :]
            except OSError:
                raise self._gone() from None

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(FOLLOW_SILENCE_S * 1_000):
            raise UnreachableError(
                f"{self._who} was silent for {FOLLOW_SILENCE_S} s.",
                next_step="Look at the connection, then ship again; what came whole is kept.",
            )

    def _gone(self) -> UnreachableError:
        return UnreachableError(
            f"{self._who} ended before the shipment did.",
            next_step="What came whole is kept, and the next shipment goes on after it.",
        )

    def _unreadable(self, what: str) -> CorruptError:
        return CorruptError(
            f"{self._who} sent {what}, which is not a shipment of doxa's.",
            next_step="Both ends need this version of doxa, and a shell on the way that prints"
            " nothing.",
        )


def send_log(
    store: Store, command: str, *, progress: Callable[[int], None] = lambda _: None
) -> Sent:
    """Ship the log of a memory file to `doxa follow --receive`, which a command starts, without a
    shell. Raises ConflictError if the file does not continue what is there, UnreachableError if
    the command ends early."""
    argv = _words(command)
    who = f"The command `{_plain(argv[0])[:80]}`"
    with _started(argv, who) as process:
        assert process.stdin and process.stdout
        pipe = Pipe(process.stdout.fileno(), process.stdin.fileno(), who=who)
        try:
            sent = _sent(pipe, store, progress)
        except UnreachableError as error:
            code = _code(process)
            told = "" if code is None else f" Its exit code was {code}."
            raise UnreachableError(error.message + told, next_step=error.next_step) from None
        process.stdin.close()
        _code(process)
        return sent


def receive_log(pipe: Pipe, path_of: Callable[[str], Path]) -> Shipped:
    """Take a shipment into the file that `path_of` gives for its name. Raises UnreachableError if
    the sender ends early; what came whole is kept."""
    hello: Hello = pipe.receive(Hello)
    _check_name(hello.name)
    with ChainFile(path_of(hello.name)) as chain, chain.intake(hello.name) as intake:
        known = intake.known()
        known.place = _encodable(f"{platform.node()}:{Path(known.place).absolute()}")
        pipe.send(known)
        _take(pipe, intake)
        done = intake.shipped()
        pipe.send(Done(*done[:4], bytes.fromhex(done.head)))
        return done


def _take(pipe: Pipe, intake: Intake) -> None:
    while True:
        one = pipe.receive(ShippedPart | ErasedRanges | ShipmentEnd)
        intake.take(one)
        if isinstance(one, ShipmentEnd):
            return


def _sent(pipe: Pipe, store: Store, progress: Callable[[int], None]) -> Sent:
    try:
        pipe.send(Hello(_encodable(Path(store.path).stem)))
        known = _answer(pipe, Known)
        known.place = _plain(known.place)
        with store.read() as snapshot:
            for one in shipment(snapshot._db, known, path=store.path):
                pipe.send(one)
                if isinstance(one, ShippedPart):
                    progress(len(one.receipts))
    except UnreachableError:
        with suppress(UnreachableError):  # it may have said why before it ended
            _answer(pipe, Known | Done)
        raise
    done = _answer(pipe, Done)
    shipped = Shipped(done.changes, done.entries, done.erased, done.change, done.head.hex())
    return Sent(shipped, known.place)


def _answer(pipe: Pipe, kind: Any) -> Any:
    found = pipe.receive(kind | Refused)
    if isinstance(found, Refused):
        raise _REFUSALS.get(found.code, StoreError)(
            f"The other end refused: {_plain(found.message)}", next_step=_plain(found.next_step)
        )
    return found


def _words(command: str) -> list[str]:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise InputError(
            f"The command cannot be split into words: {error}.",
            next_step="Close its quotation marks.",
            field="to",
        ) from None
    if not argv or not argv[0] or "\0" in command:
        raise InputError(
            "The command names no program.",
            next_step='Give it as "ssh HOST doxa follow --receive FOLDER".',
            field="to",
        )
    return argv


@contextmanager
def _started(argv: list[str], who: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program between two pipes. It stays in this session, so that `ssh` can ask for a
    password; it is ended if it does not end."""
    program = shutil.which(argv[0])
    if program is None:
        raise InputError(
            f"{who} is not there, or may not be run.",
            next_step="Name a program of the PATH, or its absolute path.",
            field="to",
        )
    try:
        process = subprocess.Popen(  # noqa: S603 - the person's own command, and no shell
            [program, *argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
    except OSError as error:
        raise InputError(
            f"{who} cannot be run: {error.strerror}.",
            next_step="Run it by hand, and see what it says.",
            field="to",
        ) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            if _code(process) is None:
                process.kill()
        release(process)


def _code(process: subprocess.Popen[bytes]) -> int | None:
    """Return with what a program ended, None if it does not end by itself."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(_END_S)
    return None


def _check_name(name: str) -> None:
    """Refuse a name that would leave the folder."""
    plain = name == Path(name).name and name not in ("", ".", "..") and name.isprintable()
    if not plain or len(name.encode()) > _NAME_CHARS:
        raise InputError(
            f"The name {name[:80]!r} of the log is not the name of a file.",
            next_step="Rename the memory file to letters, digits and hyphens.",
            field="name",
        )


def _encodable(text: str) -> str:
    """Return a text without what a name of the system may hold and UTF-8 may not."""
    return text.encode("utf-8", "replace").decode()


def _plain(text: str) -> str:
    """Return what the other end said in one line, with nothing that moves a terminal's cursor."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(shown.split())[:_SAID_CHARS]
