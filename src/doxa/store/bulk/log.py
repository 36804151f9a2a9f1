"""Log entries of many elements, added at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from itertools import repeat

from doxa.store.log_writer import RUN_BYTES_MAX, RUN_ENTRIES_MAX, SALT_BYTES, LogWriter


def add_entries(
    log: LogWriter, op: str, elements: Sequence[int], payloads: Sequence[bytes]
) -> None:
    """Add entries of one operation. The hashes are those of `add`."""
    if not payloads:
        return
    head, middle = log.head, f"|{log._tx}|{op}|".encode()
    seqs = range(log.seq + 1, log.seq + 1 + len(payloads))
    drawn = os.urandom(SALT_BYTES * len(payloads))
    salts = [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]
    hashed = [
        sha256(salt + payload).digest() for salt, payload in zip(salts, payloads, strict=True)
    ]
    heads = [
        head := sha256(b"%b%d%b%d%b" % (head, seq, middle, element, one)).digest()
        for seq, element, one in zip(seqs, elements, hashed, strict=True)
    ]
    log._entries += zip(seqs, repeat(log._tx), repeat(op), elements, hashed, heads)
    log._payloads += zip(seqs, salts, payloads, strict=True)
    log._bytes += sum(map(len, payloads))
    log.seq, log.head = seqs[-1], head
    if len(log._entries) >= RUN_ENTRIES_MAX or log._bytes >= RUN_BYTES_MAX:
        log.flush()
