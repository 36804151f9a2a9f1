"""The log of an agent's turns: `<file>-signals/<project>/<agent>.jsonl`, a line for each turn, with
its signals, its 25 features and what the dynamics showed. Diagnostic: no text, and nobody reads it
into a prompt.

The log is the record. Signals of the next turn need its last lines. The learner of the dynamics is
saved every SIGNALS_SAVED_TURNS turns; a process reads it, and learns the lines that came since, of
whichever process. Processes and threads take turns at it. A line that a crash cut is left out.

A line keeps 16-bit digests of words, from which words can be guessed: an erasure blanks those of
all lines (`blank_traces`), in place, so that every line stays where it is.
"""

from __future__ import annotations

import math
import os
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from doxa.agent.signals.measure import SignalValues, TurnTrace, digest_of, measure
from doxa.agent.signals.observation import FEATURES, Observation
from doxa.agent.signals.patterns import phrases
from doxa.base.files.places import signals_folder
from doxa.base.limits import (
    SIGNALS_KEPT_TURNS,
    SIGNALS_LOG_BYTES_MAX,
    SIGNALS_PAUSE_S,
    SIGNALS_SAVED_TURNS,
    SIGNALS_SUSTAINED_S,
    SIGNALS_TEXT_CHARS_READ,
)
from doxa.base.words import terms

if TYPE_CHECKING:
    from doxa.agent.signals.dynamics import Dynamics

try:
    import fcntl
except ImportError:  # a system without advisory locks: processes do not wait for each other
    fcntl = None  # type: ignore[assignment]

NS = 10**9
_TAIL_BYTES = 65_536
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
_TRACE = b'"trace":{'  # the last field of a line
SUSTAINED = 0.8  # the composite above which a turn counts as agitated


@dataclass(frozen=True, slots=True)
class TurnSignals:
    """A turn of the log: when (ns UTC), its session's digest, its signals, since when the composite
    is above 0.8 without a break of half an hour, whether for 45 minutes, and what the dynamics
    showed."""

    time: int
    session: str
    signals: SignalValues
    above_since: int | None
    sustained: bool
    surprise: float | None
    percentile: float | None


class TurnLog:
    """The log of one agent. A process keeps one for each agent that it observes."""

    def __init__(self, path: Path, seed: int = 0) -> None:
        from doxa.agent.signals.dynamics import Dynamics

        self.path, self._seed = path, seed
        self._lines: list[dict[str, Any]] = []
        self._learner: Dynamics = Dynamics(seed)
        self._saved = path.with_name(f"{path.stem}.npz")
        self._former = _former(path)
        self._turn = threading.Lock()
        self._read = 0
        self._begun = False

    def observe(
        self,
        user: str,
        reply: str,
        *,
        now: int,
        session: str = "",
        principles: tuple[str, ...] = (),
    ) -> TurnSignals:
        """Measure a turn, and append it. Raises OSError where the log cannot be written."""
        with self._turn, _locked(self.path):
            return self._observe(user, reply, now, session, principles)

    def _observe(
        self, user: str, reply: str, now: int, session: str, principles: tuple[str, ...]
    ) -> TurnSignals:
        self._catch_up()
        before = [TurnTrace.read(one["trace"]) for one in self._lines]
        signals, trace = measure(user, reply, before, principles)
        last = self._lines[-1] if self._lines else None
        name = f"{zlib.crc32(session.encode()):08x}"
        began = last["began"] if last is not None and last["session"] == name else now
        above = _above(last, signals.composite, now)
        index = sum(one["session"] == name for one in self._lines)
        features = _features(
            user[:SIGNALS_TEXT_CHARS_READ],
            reply[:SIGNALS_TEXT_CHARS_READ],
            signals,
            trace,
            before,
            minutes=(
                (now - last["time"]) / (60 * NS) if last is not None else 0.0,
                (now - began) / (60 * NS),
                float(index),
            ),
        )
        shown = self._learner.observe(features)
        line = {
            "time": now,
            "session": name,
            "began": began,
            "above": above,
            "signals": {key: round(value, 4) for key, value in asdict(signals).items()},
            "features": features,
            "shown": asdict(shown),
            "trace": trace.stored(),
        }
        self._append(line)
        return _turn(line)

    def recent(self, limit: int = SIGNALS_KEPT_TURNS) -> list[TurnSignals]:
        """Return the last turns, the newest first."""
        lines = _tail(self.path, max(limit, 1))
        if len(lines) < limit:
            lines = [*_tail(self._former, limit - len(lines)), *lines]
        return [_turn(one) for one in reversed(lines)][:limit]

    def _append(self, line: dict[str, Any]) -> None:
        data = msgspec.json.encode(line) + b"\n"
        number = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
        try:
            size = os.fstat(number).st_size
            if size and not _ends_line(self.path, size):
                data = b"\n" + data  # a crash cut the line before
            os.write(number, data)
        finally:
            os.close(number)
        self._read = size + len(data)
        self._lines = [*self._lines, line][-SIGNALS_KEPT_TURNS:]
        if self._learner.updates % SIGNALS_SAVED_TURNS == 0:
            self._learner.save(self._saved, self._read)

    def _begin(self) -> None:
        """Read the learner that was saved, and the lines before it which the next turn needs."""
        from doxa.agent.signals.dynamics import Dynamics

        try:
            self._learner, self._read = Dynamics.load(self._saved)
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            self._learner, self._read = Dynamics(self._seed), 0
            self._learn(self._former, 0)
        before = _parsed(_bytes(self._former, max(0, _size(self._former) - _TAIL_BYTES)))
        if self._read <= _size(self.path):
            before += _parsed(_bytes(self.path, max(0, self._read - _TAIL_BYTES), self._read))
        self._lines = before[-SIGNALS_KEPT_TURNS:]
        self._begun = True

    def _catch_up(self) -> None:
        """Learn what the log holds beyond what this process has read; begin another log where this
        one is full."""
        if not self._begun:
            self._begin()
        if _size(self.path) < self._read:  # it became the former one
            self._learn(self._former, self._read)
            self._read = 0
        self._read += self._learn(self.path, self._read)
        if self._read >= SIGNALS_LOG_BYTES_MAX:
            self._learner.save(self._saved, self._read)
            self.path.replace(self._former)
            self._read = 0

    def _learn(self, path: Path, start: int) -> int:
        """Learn the lines of a log from an offset, and return how many bytes they are."""
        data = _bytes(path, start)
        for line in _parsed(data):
            self._learner.observe(line["features"])
            self._lines = [*self._lines, line][-SIGNALS_KEPT_TURNS:]
        return len(data)


def log_path(store_path: str, project: str, agent: str) -> Path:
    """Return where the log of an agent lies."""
    return signals_folder(Path(store_path)) / project / f"{agent}.jsonl"


def blank_traces(store_path: str) -> int:
    """Blank the digests of words in all logs of a memory, and return in how many lines. The lines
    keep their length, and their numbers. Raises OSError where a log cannot be written."""
    folder = signals_folder(Path(store_path))
    found = 0
    for path in sorted(folder.glob("*/*.jsonl")):
        with _locked(path):
            found += sum(_blank(one) for one in (_former(path), path) if one.exists())
    return found


def _blank(path: Path) -> int:
    found = start = 0
    with path.open("r+b") as file:
        for line in file.read().splitlines(keepends=True):
            begins, ends = line.rfind(_TRACE), line.rfind(b"}}")
            held = line[begins + len(_TRACE) : ends]
            if begins >= 0 and ends > begins and held.strip():
                file.seek(start + begins + len(_TRACE))
                file.write(b" " * len(held))
                found += 1
            start += len(line)
        file.flush()
        os.fsync(file.fileno())
    return found


def _former(log: Path) -> Path:
    return log.with_name(f"{log.name}.former")


@contextmanager
def _locked(log: Path) -> Iterator[None]:
    """Hold the lock of a log, and make its folders."""
    for folder in (log.parent.parent, log.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    handle = os.open(log.with_name(f"{log.stem}.lock"), os.O_RDWR | os.O_CREAT, _PRIVATE)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _bytes(path: Path, start: int, end: int | None = None) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(end - start)
    except FileNotFoundError:
        return b""


def _above(last: dict[str, Any] | None, composite: float, now: int) -> int | None:
    """Return since when the composite is above SUSTAINED without a break. A pause is a break: two
    bad turns with a night between them are not an agitated night."""
    if composite <= SUSTAINED:
        return None
    held = None if last is None or now - last["time"] > SIGNALS_PAUSE_S * NS else last["above"]
    return now if held is None else int(held)


def _features(
    user: str,
    reply: str,
    signals: SignalValues,
    trace: TurnTrace,
    before: list[TurnTrace],
    *,
    minutes: tuple[float, float, float],
) -> list[float]:
    own, other = terms(user), terms(reply)
    said = {word for held, _ in trace.sentences for word in held}
    last = before[-1] if before else TurnTrace()
    last_said = {word for held, _ in last.sentences for word in held}
    pause, session, index = minutes
    values = (
        *(signals.composite, signals.correction, signals.novelty, signals.contradiction),
        *(signals.loop, signals.confabulation, signals.tension, signals.coherence),
        *(math.log1p(len(user)), math.log1p(len(reply))),
        math.log1p(len(user)) - math.log1p(len(reply)),
        *(_marks(user, "?？"), _marks(reply, "?？"), _marks(user, "!！")),
        *(_share("self", user), _share("self", reply)),
        *(_entropy(own), _entropy(other)),
        _overlap({digest_of(word) for word in own}, {digest_of(word) for word in other}),
        _overlap({*trace.words}, {*last.words}),
        _overlap(said, last_said),
        sum(char.isdigit() for char in user) / max(1, len(user)),
        *(math.log1p(max(0.0, pause)), math.log1p(max(0.0, session)), math.log1p(index)),
    )
    assert len(values) == len(FEATURES)
    return [round(value, 5) for value in values]


def _marks(text: str, signs: str) -> float:
    return math.log1p(sum(text.count(sign) for sign in signs))


def _share(name: str, text: str) -> float:
    return sum(1 for _ in phrases(name).finditer(text)) / max(1, len(text.split()))


def _entropy(words: list[str]) -> float:
    total = len(words)
    return -sum(n / total * math.log2(n / total) for n in Counter(words).values())


def _overlap(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _turn(line: dict[str, Any]) -> TurnSignals:
    above, shown = line["above"], Observation(**line["shown"])
    sustained = above is not None and line["time"] - above >= SIGNALS_SUSTAINED_S * NS
    return TurnSignals(
        line["time"],
        line["session"],
        SignalValues(**line["signals"]),
        above,
        sustained,
        shown.surprise,
        shown.percentile,
    )


def _parsed(data: bytes) -> list[dict[str, Any]]:
    found = []
    for raw in data.splitlines():
        try:
            line = msgspec.json.decode(raw)
            if len(line["features"]) == len(FEATURES):
                found.append(line)
        except (msgspec.DecodeError, KeyError, TypeError):
            continue  # cut by a crash
    return found


def _tail(path: Path, lines: int) -> list[dict[str, Any]]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - max(_TAIL_BYTES, 4_096 * lines)))
            data = file.read()
    except FileNotFoundError:
        return []
    return _parsed(data)[-lines:]


def _ends_line(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"
