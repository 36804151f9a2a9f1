"""What is spent on models, by day and purpose, in a SQLite file of its own next to the memory file,
where caps are checked before a call is sent.

    spent(day, purpose, model, calls, tokens_in, tokens_out, tokens_estimated, interrupted)
    reserved(id, day, purpose, model, calls, tokens, until)      calls in progress
    beyond(model, tokens)      by how much a model has exceeded what a call may cost

A call reserves the most that it may cost; what it did cost takes the place of the reservation. All
processes that have the memory open share the file, so they cannot exceed a cap together. A
reservation whose process died expires: since the call may have been sent, it then counts as spent,
and as interrupted. `day` counts days of UTC since 1970, `until` is in ns UTC.

The file is apart from the memory file because a reservation is kept whatever becomes of the
transaction around the call, and because no call waits for a writer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw

from doxa.base.clock import NS, Clock, format_time
from doxa.base.errors import InputError, LimitError, StoreError
from doxa.base.files.write_ahead import use_write_ahead_log
from doxa.base.limits import SPENDING_BUSY_MS, SPENDING_DAYS_MAX, SPENDING_RESERVED_MS

ALL = "all"
PURPOSES = ("embed", "recall", "consolidate", "dream", "enrich", "doctor", "other")
LIMITS = ("tokens", "calls")
_FORMAT = 1
_APPLICATION = 0x646F7873  # "doxs"
_DAY_NS = 86_400 * NS
_SCHEMA = """
CREATE TABLE spent(
  day INTEGER NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, tokens_estimated INTEGER NOT NULL,
  interrupted INTEGER NOT NULL, PRIMARY KEY(day, purpose, model)) WITHOUT ROWID;
CREATE TABLE reserved(
  id INTEGER PRIMARY KEY AUTOINCREMENT, day INTEGER NOT NULL, purpose TEXT NOT NULL,
  model TEXT NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL, until INTEGER NOT NULL);
CREATE TABLE beyond(model TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
"""
_ADD = (
    "INSERT INTO spent VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET calls ="
    " calls + ?4, tokens_in = tokens_in + ?5, tokens_out = tokens_out + ?6, tokens_estimated ="
    " tokens_estimated + ?7, interrupted = interrupted + ?8"
)
_EXPIRED = "DELETE FROM reserved WHERE until <= ? RETURNING day, purpose, model, calls, tokens"
_HELD = (
    "SELECT (SELECT coalesce(sum(calls), 0) FROM spent WHERE day = ?1 AND ?2 IN (purpose, 'all')),"
    " (SELECT coalesce(sum(tokens_in + tokens_out), 0) FROM spent WHERE day = ?1 AND ?2 IN"
    " (purpose, 'all')), coalesce(sum(calls), 0), coalesce(sum(tokens), 0) FROM reserved WHERE day"
    " = ?1 AND ?2 IN (purpose, 'all')"
)


@dataclass(frozen=True, slots=True)
class SpendCap:
    """How much may be used in a day (UTC); None: no limit."""

    tokens: int | None = None
    calls: int | None = None


Caps = Mapping[str, SpendCap]


@dataclass(frozen=True, slots=True)
class DaySpend:
    """What one purpose used of one model on one day, such as 2026-11-23 (UTC). `tokens_estimated`
    is how many of the tokens are estimates. `tokens_reserved` belong to calls in progress.
    `interrupted` calls were not ended by their process; they count by the most that they may have
    cost."""

    day: str
    purpose: str
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: int = 0
    tokens_reserved: int = 0
    interrupted: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent by day, purpose and model, the latest day first, and the caps of a day by
    purpose; `all` is that of all purposes together. `left` is what the caps leave today, with
    what is reserved taken off."""

    days: tuple[DaySpend, ...]
    caps: Mapping[str, SpendCap]
    left: Mapping[str, SpendCap]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call has reserved. Made by `SpendLedger.reserve`."""

    id: int
    day: int
    purpose: str
    model: str
    calls: int
    tokens: int


def parse_caps(value: object) -> dict[str, SpendCap]:
    """Read caps as the catalogue holds them: {purpose: {"tokens": n, "calls": n}}. Raises
    InputError."""
    found: dict[str, SpendCap] = {}
    held: Mapping[Any, Any] = value if isinstance(value, Mapping) else {}
    for purpose, limits in held.items():
        check_purpose(purpose)
        if not isinstance(limits, Mapping) or not set(limits) <= set(LIMITS):
            raise InputError(
                f"A cap of {purpose} has {' and '.join(LIMITS)}.",
                next_step="Set caps with spend_cap.",
                field="caps",
            )
        for name, limit in limits.items():
            if type(limit) is not int or not 0 < limit < 1 << 53:
                raise InputError(
                    f"A cap of {name} is a whole number from 1, not {limit!r:.40}.",
                    next_step="Leave it out for no cap.",
                    field=name,
                )
        found[purpose] = SpendCap(**limits)
    return found


def said_spending(found: Spending) -> str:
    """Describe what was spent today in words."""
    if not found.days:
        return "no model was called today"
    calls = sum(one.calls for one in found.days)
    tokens = sum(one.tokens_in + one.tokens_out for one in found.days)
    named = dict.fromkeys(one.purpose for one in found.days)
    return f"{tokens:,} tokens in {calls:,} calls today (UTC), for {', '.join(named)}"


def check_purpose(purpose: object) -> None:
    """Raise InputError for what models are not used for."""
    if purpose not in (ALL, *PURPOSES):
        raise InputError(
            f"{purpose!r:.40} is not a purpose of model calls.",
            next_step=f"Use one of {', '.join((ALL, *PURPOSES))}.",
            field="purpose",
        )


class SpendLedger:
    """The record of one memory file. `caps` returns what holds now. Safe to share between threads
    and processes. The file is made when a call is recorded first."""

    def __init__(self, path: Path, *, clock: Clock, caps: Callable[[], Caps]) -> None:
        self._path = path
        self._clock = clock
        self._caps = caps
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._process = 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    # Calls

    def reserve(self, purpose: str, model: str, tokens: int) -> Reservation | None:
        """Reserve a call of so many tokens at most. Raises LimitError if a cap does not leave them,
        or if there are caps and the file cannot be written; None: it cannot be, without caps."""
        caps = self._caps()
        try:
            with self._writing() as (db, now):
                extra = db.execute("SELECT tokens FROM beyond WHERE model = ?", (model,)).get
                wanted = Reservation(0, now // _DAY_NS, purpose, model, 1, tokens + (extra or 0))
                return self._inserted(db, wanted, caps, now)
        except StoreError as error:
            if not caps:
                return None
            raise LimitError(
                f"The caps on model calls cannot be checked: {error.message} Nothing was sent.",
                next_step=error.next_step,
                path=str(self._path),
            ) from error

    def again(self, held: Reservation, tokens: int) -> Reservation:
        """Reserve another attempt of a call, of so many more tokens. Raises LimitError."""
        caps = self._caps()
        with self._writing() as (db, now):
            self._take_back(db, held)
            wanted = replace(held, calls=held.calls + 1, tokens=held.tokens + tokens)
            return self._inserted(db, wanted, caps, now)

    def settle(
        self,
        held: Reservation,
        *,
        calls: int,
        tokens_in: int,
        tokens_out: int,
        tokens_estimated: int,
    ) -> None:
        """Replace a reservation by what the call used. If that cannot be written, the reservation
        expires."""
        with suppress(StoreError), self._writing() as (db, _):
            self._take_back(db, held)
            counts = (calls, tokens_in, tokens_out, tokens_estimated, 0)
            if any(counts):
                db.execute(_ADD, (held.day, held.purpose, held.model, *counts))
            over = tokens_in + tokens_out - held.tokens
            if over > 0:  # what the model adds is unknown; later calls reserve it as well
                db.execute(
                    "INSERT INTO beyond VALUES(?1, ?2) ON CONFLICT DO UPDATE SET tokens = tokens"
                    " + ?2",
                    (held.model, over),
                )

    def _inserted(
        self, db: apsw.Connection, wanted: Reservation, caps: Caps, now: int
    ) -> Reservation:
        for scope in (wanted.purpose, ALL):
            if scope in caps:
                _check(db, scope, caps[scope], wanted)
        until = now + SPENDING_RESERVED_MS * 1_000_000
        row = (wanted.day, wanted.purpose, wanted.model, wanted.calls, wanted.tokens, until)
        db.execute(
            "INSERT INTO reserved(day, purpose, model, calls, tokens, until)"
            " VALUES(?, ?, ?, ?, ?, ?)",
            row,
        )
        return replace(wanted, id=db.last_insert_rowid())

    def _take_back(self, db: apsw.Connection, held: Reservation) -> None:
        """Remove a reservation; if it has expired, what was counted for it."""
        db.execute("DELETE FROM reserved WHERE id = ?", (held.id,))
        if not db.changes():
            counts = (-held.calls, -held.tokens, 0, -held.tokens, -held.calls)
            db.execute(_ADD, (held.day, held.purpose, held.model, *counts))

    # The record

    def spending(self, days: int) -> Spending:
        """Return what was spent on the last so many days, today included."""
        caps = self._caps()
        today = self._clock.now_ns() // _DAY_NS
        if not self._path.exists():
            return Spending((), caps, dict(caps))
        with self._writing() as (db, _):
            rows: list[Any] = db.execute(
                "SELECT day, purpose, model, sum(calls), sum(tokens_in), sum(tokens_out),"
                " sum(tokens_estimated), sum(reserved), sum(interrupted) FROM (SELECT day, purpose,"
                " model, calls, tokens_in, tokens_out, tokens_estimated, 0 AS reserved, interrupted"
                " FROM spent UNION ALL SELECT day, purpose, model, calls, 0, 0, 0, tokens, 0 FROM"
                " reserved) WHERE day > ? GROUP BY day, purpose, model ORDER BY day DESC, purpose,"
                " model",
                (today - days,),
            ).fetchall()
            left = {scope: _left(db, scope, cap, today) for scope, cap in caps.items()}
        found = tuple(DaySpend(format_time(row[0] * _DAY_NS)[:10], *row[1:]) for row in rows)
        return Spending(found, caps, left)

    # The file

    @contextmanager
    def _writing(self) -> Iterator[tuple[apsw.Connection, int]]:
        """Yield the connection in a transaction, and the time. What has expired counts as spent.
        Raises StoreError."""
        with self._lock:
            try:
                db = self._opened()
                db.execute("BEGIN IMMEDIATE")
                try:
                    now = self._clock.now_ns()
                    for day, purpose, model, calls, tokens in db.execute(
                        _EXPIRED, (now,)
                    ).fetchall():
                        counts = (calls, tokens, 0, tokens, calls)
                        db.execute(_ADD, (day, purpose, model, *counts))
                    oldest = now // _DAY_NS - SPENDING_DAYS_MAX
                    db.execute("DELETE FROM spent WHERE day <= ?", (oldest,))
                    yield db, now
                    db.execute("COMMIT")
                except BaseException:
                    with suppress(apsw.Error):
                        if db.in_transaction:
                            db.execute("ROLLBACK")
                    raise
            except apsw.Error as error:
                raise StoreError(
                    f"The record of spending {self._path.name} cannot be used: {error}.",
                    next_step="Check that the file can be written, or restore it from a copy.",
                    path=str(self._path),
                ) from error

    def _opened(self) -> apsw.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        db = apsw.Connection(str(self._path))
        try:
            db.set_busy_timeout(SPENDING_BUSY_MS)
            use_write_ahead_log(db, SPENDING_BUSY_MS)
            db.pragma("synchronous", "normal")
            db.execute("BEGIN IMMEDIATE")
            held = db.pragma("application_id"), db.pragma("user_version")
            empty = not db.execute("SELECT count(*) FROM sqlite_master").get
            if empty and held == (0, 0):
                db.execute(_SCHEMA)
                db.pragma("application_id", _APPLICATION)
                db.pragma("user_version", _FORMAT)
            elif held != (_APPLICATION, _FORMAT):
                raise apsw.NotADBError("it is not a record of spending that this version reads")
            db.execute("COMMIT")
            self._path.chmod(0o600)
        except BaseException as error:
            db.close()
            if isinstance(error, OSError):
                raise apsw.PermissionsError(str(error)) from error
            raise
        self._connection, self._process = db, os.getpid()
        return db


def _check(db: apsw.Connection, scope: str, cap: SpendCap, wanted: Reservation) -> None:
    calls, tokens, calls_reserved, reserved = _held(db, scope, wanted.day)
    purpose = "all purposes" if scope == ALL else scope
    until = f"Wait until {format_time((wanted.day + 1) * _DAY_NS)[:10]} (UTC)"
    step = f"{until}, or let an operator raise the cap with `doxa spend-cap {scope}`."
    if cap.tokens is not None and tokens + reserved + wanted.tokens > cap.tokens:
        left = max(0, cap.tokens - tokens - reserved)
        raise LimitError(
            f"The cap of {cap.tokens:,} model tokens a day for {purpose} leaves {left:,}, and this"
            f" call may take {wanted.tokens:,}; nothing was sent.",
            next_step=step,
            tokens_max=cap.tokens,
            tokens=wanted.tokens,
            purpose=scope,
        )
    if cap.calls is not None and calls + calls_reserved + wanted.calls > cap.calls:
        raise LimitError(
            f"The cap of {cap.calls:,} model calls a day for {purpose} is reached; nothing was"
            " sent.",
            next_step=step,
            calls_max=cap.calls,
            purpose=scope,
        )


def _left(db: apsw.Connection, scope: str, cap: SpendCap, day: int) -> SpendCap:
    calls, tokens, calls_reserved, reserved = _held(db, scope, day)
    return SpendCap(
        None if cap.tokens is None else max(0, cap.tokens - tokens - reserved),
        None if cap.calls is None else max(0, cap.calls - calls - calls_reserved),
    )


def _held(db: apsw.Connection, scope: str, day: int) -> Any:
    return db.execute(_HELD, (day, scope)).fetchone()
