"""Log entries of many elements, added at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256

from doxa.store.log_writer import RUN_BYTES_MAX, RUN_ENTRIES_MAX, SALT_BYTES, LogWriter


def add_entries(log: LogWriter, op: str, entries: Sequence[tuple[int, bytes]]) -> None:
    """Add entries of one operation: (element, payload) each. The hashes are those of `add`."""
    seq, head, tx, middle = log.seq, log.head, log._tx, f"|{log._tx}|{op}|"
    salts = os.urandom(SALT_BYTES * len(entries))
    for at, (element, payload) in enumerate(entries):
        seq += 1
        salt = salts[at * SALT_BYTES : (at + 1) * SALT_BYTES]
        hashed = sha256(salt + payload).digest()
        head = sha256(head + f"{seq}{middle}{element}".encode() + hashed).digest()
        log._entries.append((seq, tx, op, element, hashed, head))
        log._payloads.append((seq, salt, payload))
        log._bytes += len(payload)
    log.seq, log.head = seq, head
    if len(log._entries) >= RUN_ENTRIES_MAX or log._bytes >= RUN_BYTES_MAX:
        log.flush()
