"""What a shipment of a log consists of, and how the file that it comes from makes one.

    ShippedPart     log entries, and the receipts whose last entry is among them: a large change
                    takes several parts, and its receipt is in the last one
    ErasedRanges    places of the log whose payloads the source has no more
    ShipmentEnd     the last change, and what a memory file keeps in addition to its log

There is one shipment, whichever way it goes: a folder takes it in the same process, another machine
over a pipe. So what a part holds is bounded, and the types are those that are checked when a part
comes from elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any

import apsw
import msgspec

from doxa.base.errors import ConflictError

RECEIPT = "tx, time, actor, role, op, note, first_seq, last_seq, last_node, last_edge, head, hash"
_ENTRY = "l.seq, l.tx, l.op, l.element, l.payload_hash, l.hash, p.salt, p.payload"
_CHANGES_PER_PART = 500
_BYTES_PER_PART = 1_048_576  # or one entry
_ENTRY_BYTES = 200  # about what an entry takes besides its payload
_RANGES_PER_PART = 10_000

Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Receipt = tuple[
    Number, Number, str, str, str, str, Number, Number, Number, Number, bytes, bytes
]  # as RECEIPT
Entry = tuple[Number, Number, str, Number, bytes, bytes, bytes | None, bytes | None]  # as _ENTRY


class Known(msgspec.Struct, tag="known", array_like=True):
    """What a log that was shipped has: its last receipt, the number of its payloads, and up to
    which change it was compared with the source for what was erased there."""

    place: str
    change: Number
    head: bytes
    payloads: Number
    compared: Number


class ShippedPart(msgspec.Struct, tag="part", array_like=True):
    """Entries that continue the log, and the receipts that end among them."""

    entries: list[Entry]
    receipts: list[Receipt]


class ErasedRanges(msgspec.Struct, tag="gone", array_like=True):
    """First and last places of the log that have no payload any more."""

    ranges: list[tuple[Number, Number]]


class ShipmentEnd(msgspec.Struct, tag="end", array_like=True):
    """The last change of the source, and its horizons of retention."""

    change: Number
    retained: str | None


def shipment(
    source: apsw.Connection, known: Known, *, path: str
) -> Iterator[ShippedPart | ErasedRanges | ShipmentEnd]:
    """Yield what a log lacks, from a snapshot of the file at a path. Raises ConflictError if the
    file does not continue that log."""
    _require_continued(source, known, path)
    payloads = known.payloads
    for part in _parts(source, known.change):
        payloads += sum(entry[7] is not None for entry in part.entries)
        yield part
    last = source.execute("SELECT max(tx) FROM receipt").get or 0
    if known.compared < last:
        kept = "SELECT count(*) FROM log_payload WHERE seq <= (SELECT max(seq) FROM log)"
        if source.execute(kept).get != payloads:
            yield from _gone(source)
    retained = source.execute("SELECT value FROM meta WHERE key = 'retained'").get
    yield ShipmentEnd(last, retained)


def _require_continued(source: apsw.Connection, known: Known, path: str) -> None:
    if not known.change:
        return
    found = source.execute("SELECT hash FROM receipt WHERE tx = ?", (known.change,)).get
    if found == known.head:
        return
    has = "another receipt" if found else "no receipt"
    raise ConflictError(
        f"{path} does not continue the log in {known.place}: it has {has} of change"
        f" {known.change}.",
        next_step="It is a copy of an earlier state that was written to. Follow it into another"
        " folder, and compare the two.",
        path=known.place,
        change=known.change,
    )


def _parts(source: apsw.Connection, after: int) -> Iterator[ShippedPart]:
    """Yield receipts after a change with their entries, some at a time."""
    while True:
        rows: list[Any] = source.execute(
            f"SELECT {RECEIPT} FROM receipt WHERE tx > ? ORDER BY tx LIMIT ?",
            (after, _CHANGES_PER_PART),
        ).fetchall()
        if not rows:
            return
        waiting, part, size = deque(rows), ShippedPart([], []), 0
        entries: Any = source.execute(
            f"SELECT {_ENTRY} FROM log l LEFT JOIN log_payload p ON p.seq = l.seq"
            " WHERE l.seq BETWEEN ? AND ? ORDER BY l.seq",
            (rows[0][6], rows[-1][7]),
        )
        for entry in entries:
            part.entries.append(entry)
            size += _ENTRY_BYTES + len(entry[7] or b"")
            while waiting and waiting[0][7] <= entry[0]:
                part.receipts.append(waiting.popleft())
            if size >= _BYTES_PER_PART:
                yield part
                part, size = ShippedPart([], []), 0
        part.receipts.extend(waiting)
        yield part
        after = rows[-1][0]


def _gone(source: apsw.Connection) -> Iterator[ErasedRanges]:
    """Yield where the log has no payload, in ranges."""
    ranges: list[tuple[int, int]] = []
    rows: Any = source.execute(
        "SELECT l.seq FROM log l LEFT JOIN log_payload p ON p.seq = l.seq WHERE p.seq IS NULL"
        " ORDER BY l.seq"
    )
    for (seq,) in rows:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
            continue
        if len(ranges) == _RANGES_PER_PART:
            yield ErasedRanges(ranges)
            ranges = []
        ranges.append((seq, seq))
    if ranges:
        yield ErasedRanges(ranges)
