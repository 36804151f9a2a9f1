"""Consumers of the log: iterators over events, from a position, with or without a durable cursor.

    position --> entries after it, a batch at a time, each on a snapshot of its own
             --> derive --> filter --> the consumer --> acknowledged --> the cursor is saved

Delivery is at least once. A cursor is saved when a batch was consumed, before waiting, and at the
close; what was delivered after the last save is delivered again to the consumer that resumes. A
consumer that follows is woken by commits of its own process at once, and looks for those of others
every EVENT_POLL_MS.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from doxa.base.errors import InputError
from doxa.base.limits import EVENT_BATCH_ITEMS_MAX, EVENT_POLL_MS
from doxa.base.values import decode
from doxa.events.context import Context
from doxa.events.derive import derive
from doxa.events.event import Event
from doxa.events.filters import EventFilter
from doxa.store import LogEntry, Reader, Receipt, Store

_END = "SELECT tx, last_seq FROM main.receipt ORDER BY tx DESC LIMIT 1"
_ENTRIES = (
    "SELECT l.seq, l.tx, l.op, l.element, p.payload FROM log l LEFT JOIN log_payload p ON p.seq ="
    " l.seq WHERE l.seq > ? AND l.seq <= ? ORDER BY l.seq LIMIT ?"
)
_RECEIPTS = (
    "SELECT tx, time, actor, role, op, note, first_seq, last_seq, head, hash FROM receipt WHERE tx"
    " BETWEEN ? AND ?"
)


class EventBatch(NamedTuple):
    """The events among some entries, and the number of the last entry that was looked at."""

    events: list[Event]
    seq: int


def read_batch(
    reader: Reader, after: int, wanted: EventFilter, context: Context, *, limit: int
) -> EventBatch:
    """Read the events of the next entries after a position, as far as they are committed."""
    last = reader.rows(_END)
    end = last[0][1] if last else 0
    if end <= after:
        return EventBatch([], after)
    entries = [
        LogEntry(seq, tx, op, element, None if payload is None else decode(payload))
        for seq, tx, op, element, payload in reader.rows(_ENTRIES, (after, end, limit))
    ]
    if not entries:
        return EventBatch([], end)
    rows = reader.rows(_RECEIPTS, (entries[0].tx, entries[-1].tx))
    receipts = {row[0]: Receipt(*row) for row in rows}
    context.begin(reader, entries)
    events = []
    for entry in entries:
        receipt = receipts[entry.tx]
        context.enter(receipt, entry)
        event = derive(entry, receipt, context)
        if event is not None and wanted.matches(event):
            events.append(event)
    return EventBatch(events, entries[-1].seq if len(entries) == limit else end)


def position_after(reader: Reader, after: int | str, *, checked: bool) -> int:
    """Return the log entry that an event's id or number names. With `checked`, raise InputError if
    the log has no such entry: the file may be an older copy of the one that the id is of."""
    text = str(after)
    change, colon, number = text.rpartition(":")
    if not number.isdecimal() or (colon and not change.isdecimal()) or len(text) > 40:
        raise InputError(
            f"{text[:60]!r} is not the id of an event.",
            next_step="Give an id such as 12:340, or its second number; 0 is the beginning.",
            field="after",
        )
    seq = int(number)
    if checked and seq:
        found = reader.rows("SELECT tx FROM main.log WHERE seq = ?", (seq,)) if seq < 2**63 else []
        if not found or (colon and found[0][0] != int(change)):
            raise InputError(
                f"This log has no event {text}; the file may be an earlier state of another.",
                next_step="Begin at a time, or at 0 for the whole log.",
                field="after",
            )
    return seq


def position_since(reader: Reader, time: int) -> int:
    """Return the position before the first transaction at or after a time, in ns UTC."""
    low, high = 1, int(reader.rows("SELECT coalesce(max(tx), 0) FROM main.receipt")[0][0]) + 1
    found = "SELECT time, first_seq, last_seq FROM main.receipt WHERE tx = ?"
    while low < high:  # numbers have no gaps, and times rise with them
        middle = (low + high) // 2
        if reader.rows(found, (middle,))[0][0] < time:
            low = middle + 1
        else:
            high = middle
    row = reader.rows(found, (low - 1,))
    return int(row[0][2]) if row else 0


class EventStream(Iterator[Event]):
    """The events of a log, in order. Close it, or use it as a context manager, so that its cursor
    is saved. One thread at a time may use it; `close` may come from any.

    Without `manual`, an event counts as acknowledged when the next one is asked for; with it, when
    `ack` is called.
    """

    def __init__(
        self,
        store: Store,
        wanted: EventFilter,
        *,
        seq: int,
        cursor: str = "",
        follow: bool = False,
        limit: int | None = None,
        manual: bool = False,
    ) -> None:
        """`cursor` is the stored name of one that is at `seq`."""
        self._store, self._wanted, self._cursor = store, wanted, cursor
        self._follow, self._left, self._manual = follow, limit, manual
        self._context = Context()
        self._ready: deque[Event] = deque()
        self._read = seq  # what was read from the log
        self._given = seq  # the event delivered last
        self._acked = self._saved = seq
        self._delivered = False  # since the cursor was saved
        self._closed = False
        self._news = threading.Event()
        self._unlisten = store.commits.listen(self._news.set) if follow else _nothing

    @property
    def seq(self) -> int:
        """The position up to which events are acknowledged."""
        return self._acked

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        while not self._closed:
            if not self._ready:
                self._news.clear()
                if not self.advance():
                    raise StopIteration
            event = self.pop()
            if event is not None:
                return event
            if not self._follow:
                continue
            self._news.wait(EVENT_POLL_MS / 1000)
        raise StopIteration

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ack(self, event: Event | None = None) -> None:
        """Acknowledge an event and all before it, and save the cursor: they are not delivered
        again. Without an event, the one delivered last."""
        seq = self._given if event is None else event.seq
        if seq > self._given:
            raise InputError(
                f"The event {seq} was not delivered by this stream.",
                next_step="Acknowledge events that it gave.",
                field="event",
            )
        self._acked = max(self._acked, seq)
        self._save()

    def close(self) -> None:
        """End the stream, and save its cursor. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self._unlisten()
            self._news.set()
            self._save()

    # The steps of an iterator, for those that wait otherwise

    def pop(self) -> Event | None:
        """Return the next event that was read; None if there is none."""
        if self._closed or not self._ready:
            return None
        if not self._manual:
            self._acked = self._given
        event = self._ready.popleft()
        self._given, self._delivered = event.seq, True
        if self._left is not None:
            self._left -= 1
        return event

    def advance(self) -> bool:
        """Acknowledge what was consumed, save the cursor, and read on as far as there is anything.
        False at the end of the stream."""
        if self._closed:
            return False
        if not self._manual:
            self._acked = self._given
        if self._left is not None and self._left <= 0:
            self._save()
            return False
        if self._delivered:  # entries that no consumer asked for are not worth a write
            self._pass()
            self._save()
        while not self._ready:
            with self._store.read() as reader:
                found = read_batch(
                    reader,
                    self._read,
                    self._wanted,
                    self._context,
                    limit=EVENT_BATCH_ITEMS_MAX,
                )
            at_end = found.seq == self._read
            self._read = found.seq
            self._ready.extend(found.events[: self._left])
            if at_end:
                self._pass()
                if not self._follow:
                    self._save()
                return self._follow
            if self._closed:
                return False
        return True

    def _pass(self) -> None:
        """Count what was read as acknowledged if nothing of it is left to do."""
        if not self._ready and self._acked == self._given:
            self._acked = self._given = self._read

    def take(self) -> list[Event] | None:
        """Return the next events as far as there are any; None at the end of the stream."""
        if not self._ready and not self.advance():
            return None
        found = []
        while (event := self.pop()) is not None:
            found.append(event)
        return found

    def on_news(self, call: Callable[[], None]) -> None:
        """Call `call` after each commit of this process, in place of the stream's own waiting."""
        self._unlisten()
        self._unlisten = self._store.commits.listen(call)

    def _save(self) -> None:
        if self._cursor and self._acked > self._saved:
            self._store.save_cursor(self._cursor, self._acked)
            self._saved = self._acked
        self._delivered = False


class AsyncEventStream(AsyncIterator[Event]):
    """The same, awaited. `opened` makes the stream; it is called on a thread, as all that reads and
    writes is."""

    def __init__(self, opened: Callable[[], EventStream]) -> None:
        self._open = opened
        self._stream: EventStream | None = None

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __anext__(self) -> Event:
        import asyncio  # a synchronous user does not pay for it

        if self._stream is None:
            self._stream = await asyncio.to_thread(self._open)
            self._news = asyncio.Event()
            self._stream.on_news(self._waker(asyncio.get_running_loop()))
        stream = self._stream
        while True:
            event = stream.pop()
            if event is not None:
                return event
            self._news.clear()
            if not await asyncio.to_thread(stream.advance):
                raise StopAsyncIteration
            event = stream.pop()
            if event is not None:
                return event
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), EVENT_POLL_MS / 1000)

    def _waker(self, loop: Any) -> Callable[[], None]:
        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._news.set)

        return wake

    async def ack(self, event: Event | None = None) -> None:
        """Acknowledge an event and all before it, as `EventStream.ack`."""
        import asyncio

        if self._stream is not None:
            await asyncio.to_thread(self._stream.ack, event)

    async def close(self) -> None:
        """End the stream, and save its cursor."""
        import asyncio

        if self._stream is not None:
            await asyncio.to_thread(self._stream.close)


def _nothing() -> None:
    """What a stream that does not listen has to end."""
