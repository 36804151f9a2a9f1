"""Transactions of an invented log, for tests of engines without a store."""

from __future__ import annotations

import hashlib
import os

from doxa.replication.protocol import START, Head, SharedEntry, SharedTransaction, chained
from doxa.store.log_writer import GENESIS, entry_hash, receipt_hash


class Chain:
    """Makes transactions that continue one another."""

    def __init__(self) -> None:
        self.head: Head = START
        self.last_seq, self.entry_hash = 0, GENESIS

    def next(self, *payloads: bytes, **more: object) -> SharedTransaction:
        tx, first, head = self.head.tx + 1, self.last_seq + 1, self.entry_hash
        entries = tuple(SharedEntry("node.create", 7, os.urandom(16), one) for one in payloads)
        for seq, entry in enumerate(entries, first):
            digest = hashlib.sha256((entry.salt or b"") + (entry.payload or b"")).digest()
            head = entry_hash(
                head, seq=seq, tx=tx, op=entry.op, element=entry.element, payload_hash=digest
            )
        last = first + len(entries) - 1
        fields = (tx, 1_000 + tx, "ana", "agent", "remember", "", first, last, tx, 0)
        seal = receipt_hash(self.head.hash, fields, head)
        made = SharedTransaction((*fields, head, seal), entries, **more)  # type: ignore[arg-type]
        chained(made, self.entry_hash)
        self.head, self.last_seq, self.entry_hash = made.head, last, head
        return made
