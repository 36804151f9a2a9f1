"""The log of an agent's turns: `<file>.signals/<project>/<agent>.jsonl`, a line for each turn, with
its signals, its 25 features and what the dynamics showed. Diagnostic: no text, and nobody reads it
into a prompt.

The log is the record. Signals of the next turn need its last lines. The learner of the dynamics is
saved every SIGNALS_SAVED_TURNS turns; a process reads it, and learns the lines that came since, of
whichever process. A line that a crash cut is left out.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from doxa.agent.signals.dynamics import FEATURES, Dynamics, Observation
from doxa.agent.signals.measure import Signals, TurnTrace, digest_of, measure
from doxa.agent.signals.patterns import phrases
from doxa.base.limits import (
    SIGNALS_KEPT_TURNS,
    SIGNALS_LOG_BYTES_MAX,
    SIGNALS_SAVED_TURNS,
    SIGNALS_SUSTAINED_S,
    SIGNALS_TEXT_CHARS_READ,
)
from doxa.base.words import terms

NS = 10**9
_TAIL_BYTES = 65_536
SUSTAINED = 0.8  # the composite above which a turn counts as agitated


@dataclass(frozen=True, slots=True)
class TurnSignals:
    """A turn of the log: when (ns UTC), its session's digest, its signals, since when the composite
    is above 0.8 without a break, whether for 45 minutes, and what the dynamics showed."""

    time: int
    session: str
    signals: Signals
    above_since: int | None
    sustained: bool
    surprise: float | None
    percentile: float | None


class TurnLog:
    """The log of one agent. A process keeps one for each agent that it observes."""

    def __init__(self, path: Path, seed: int = 0) -> None:
        self.path, self._seed = path, seed
        self._lines: list[dict[str, Any]] = []
        self._learner = Dynamics(seed)
        self._saved = path.with_suffix(".npz")
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
        self._catch_up()
        before = [TurnTrace.read(one["trace"]) for one in self._lines]
        signals, trace = measure(user, reply, before, principles)
        last = self._lines[-1] if self._lines else None
        name = f"{zlib.crc32(session.encode()):08x}"
        began = last["began"] if last is not None and last["session"] == name else now
        above = (last or {}).get("above") if signals.composite > SUSTAINED else None
        if signals.composite > SUSTAINED and above is None:
            above = now
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
        return [_turn(one) for one in reversed(lines)][:limit]

    def _append(self, line: dict[str, Any]) -> None:
        data = msgspec.json.encode(line) + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._read + len(data) > SIGNALS_LOG_BYTES_MAX and self.path.exists():
            self.path.replace(self.path.with_suffix(".former.jsonl"))
            self._read = 0
        number = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(number).st_size
            if size and not _ends_line(self.path, size):
                data = b"\n" + data  # a crash cut the line before
            os.write(number, data)
        finally:
            os.close(number)
        self._read += len(data) if size == self._read else 0
        self._lines = [*self._lines, line][-SIGNALS_KEPT_TURNS:]
        if self._learner.updates % SIGNALS_SAVED_TURNS == 0:
            self._learner.save(self._saved, self._read)

    def _begin(self) -> None:
        """Read the learner that was saved, and the lines before it which the next turn needs."""
        try:
            self._learner, self._read = Dynamics.load(self._saved)
            if self._read > self.path.stat().st_size:
                raise ValueError("the log was begun again")
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            self._learner, self._read = Dynamics(self._seed), 0
        if self._read:
            with self.path.open("rb") as file:
                file.seek(max(0, self._read - _TAIL_BYTES))
                data = file.read(min(self._read, _TAIL_BYTES))
            self._lines = _parsed(data)[-SIGNALS_KEPT_TURNS:]
        self._begun = True

    def _catch_up(self) -> None:
        """Learn what the log holds beyond what this process has read."""
        if not self._begun:
            self._begin()
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            size = 0
        if size < self._read:  # it was begun again
            self._read, self._lines = 0, []
        if size == self._read:
            return
        with self.path.open("rb") as file:
            file.seek(self._read)
            data = file.read(size - self._read)
        for line in _parsed(data):
            self._learner.observe(line["features"])
            self._lines = [*self._lines, line][-SIGNALS_KEPT_TURNS:]
        self._read = size


def log_path(store_path: str, project: str, agent: str) -> Path:
    """Return where the log of an agent lies."""
    return Path(f"{store_path}.signals") / project / f"{agent}.jsonl"


def _features(
    user: str,
    reply: str,
    signals: Signals,
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
        Signals(**line["signals"]),
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
