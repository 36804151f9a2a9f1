"""The log of one transaction: entries are chained as they come and written in runs, since a
statement for each row costs more than the row.

    payload_hash = sha256(salt || payload)
    hash_i       = sha256(hash_{i-1} || "seq|tx|op|element" || payload_hash_i)
    receipt      = sha256(previous receipt ||
    "tx|time|actor|role|op|note|first|last|last_node|last_edge" || hash of the last entry)

What waits is written before anything reads the log (`Reader` asks for it), before the receipt, and
whenever a run is full.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from doxa.base.values import canonical
from doxa.store.batches import insert_rows

GENESIS = bytes(32)
RUN_ENTRIES_MAX = 500
RUN_BYTES_MAX = 1_048_576
SALT_BYTES = 16


def entry_hash(
    before: bytes, *, seq: int, tx: int, op: str, element: int, payload_hash: bytes
) -> bytes:
    return hashlib.sha256(before + f"{seq}|{tx}|{op}|{element}".encode() + payload_hash).digest()


def receipt_hash(before: bytes, fields: Sequence[object], head: bytes) -> bytes:
    return hashlib.sha256(before + canonical(list(fields)) + head).digest()


class Tail(NamedTuple):
    """The end of the log as the last receipt states it: where the next transaction continues."""

    tx: int
    time: int
    seq: int
    node: int
    edge: int
    head: bytes
    hash: bytes


def read_start(db: apsw.Connection) -> tuple[int, Tail]:
    """Return what a transaction starts from: the catalogue's version and the end of the log."""
    row: Any = db.execute(_START).fetchone()
    return row[0], Tail(*row[1:]) if row[1] is not None else Tail(0, 0, 0, 0, 0, GENESIS, GENESIS)


_START = (
    "SELECT m.value, r.tx, r.time, r.last_seq, r.last_node, r.last_edge, r.head, r.hash"
    " FROM meta m LEFT JOIN main.receipt r ON r.tx = (SELECT max(tx) FROM main.receipt)"
    " WHERE m.key = 'catalogue'"
)


class LogWriter:
    """`seq` and `head` are those of the last entry, written or not."""

    def __init__(self, db: apsw.Connection, *, tx: int, seq: int, head: bytes) -> None:
        self.seq, self.head = seq, head
        self._db = db
        self._tx = tx
        self._entries: list[tuple[int, int, str, int, bytes, bytes]] = []
        self._payloads: list[tuple[int, bytes, bytes]] = []
        self._bytes = 0
        self._salts = b""
        self._asked = 8

    def add(self, op: str, element: int, payload: bytes) -> None:
        seq = self.seq = self.seq + 1
        salt = self._salt()
        payload_hash = hashlib.sha256(salt + payload).digest()
        self.head = entry_hash(
            self.head, seq=seq, tx=self._tx, op=op, element=element, payload_hash=payload_hash
        )
        self._entries.append((seq, self._tx, op, element, payload_hash, self.head))
        self._payloads.append((seq, salt, payload))
        self._bytes += len(payload)
        if len(self._entries) >= RUN_ENTRIES_MAX or self._bytes >= RUN_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        if self._entries:
            insert_rows(self._db, "INSERT INTO main.log", self._entries)
            insert_rows(self._db, "INSERT INTO main.log_payload", self._payloads)
            self._entries, self._payloads, self._bytes = [], [], 0

    def discard(self) -> None:
        """Forget what is not written yet: its transaction was undone."""
        self._entries, self._payloads, self._bytes = [], [], 0

    def _salt(self) -> bytes:
        """From the system, which is asked for more at once as a transaction grows."""
        if not self._salts:
            self._salts = os.urandom(SALT_BYTES * self._asked)
            self._asked = min(self._asked * 8, RUN_ENTRIES_MAX)
        salt, self._salts = self._salts[:SALT_BYTES], self._salts[SALT_BYTES:]
        return salt
