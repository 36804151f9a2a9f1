"""How a transaction lies at an engine: one compressed body, and the kept answers apart from it,
since an erasure clears all of them at once.

    body     = zlib(msgpack [receipt, [[op, element, salt, payload, payload_hash], ...], erased,
               retained, progress of loads if there is some])
    answers  = zlib(msgpack [[key, expires, salt, request, answer], ...]), or nothing

Hashes of entries are not stored: they follow from the chain, and the reader recomputes them.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection
from typing import Any

import msgspec

from doxa.base.errors import CorruptError
from doxa.replication.protocol import SharedEntry, SharedTransaction

_LEVEL = 1  # a transaction is small, and the write waits for it
_VERSION = b"\x01"


def encode_body(one: SharedTransaction) -> bytes:
    told = [one.receipt, one.entries, one.erased, one.retained]
    if one.progress:
        told.append(one.progress)
    return _VERSION + zlib.compress(msgspec.msgpack.encode(told), _LEVEL)


def encode_answers(one: SharedTransaction) -> bytes | None:
    if not one.answers:
        return None
    return _VERSION + zlib.compress(msgspec.msgpack.encode(one.answers), _LEVEL)


def decode_transaction(body: bytes, answers: bytes | None) -> SharedTransaction:
    """Return the transaction of a body. Raises CorruptError if it is not one."""
    try:
        receipt, entries, erased, retained, *more = _decoded(body)
        progress = more[0] if more else ()
        kept = _decoded(answers) if answers else []
        return SharedTransaction(
            tuple(receipt),
            tuple(SharedEntry(*entry) for entry in entries),
            tuple(erased),
            retained,
            tuple(tuple(row) for row in kept),
            tuple(tuple(row) for row in progress),
        )
    except (zlib.error, msgspec.MsgspecError, ValueError, TypeError) as error:
        raise CorruptError(
            f"A transaction of the shared log cannot be read: {error}.",
            next_step="Restore the engine from its latest backup, or upgrade doxa.",
        ) from error


def without_payloads(body: bytes, gone: Collection[int]) -> bytes:
    """Return a body in which the payloads of these entries are replaced by their hashes."""
    one = decode_transaction(body, None)
    entries = []
    for seq, entry in enumerate(one.entries, one.first_seq):
        if seq in gone and entry.payload is not None and entry.salt is not None:
            payload_hash = hashlib.sha256(entry.salt + entry.payload).digest()
            entries.append(SharedEntry(entry.op, entry.element, None, None, payload_hash))
        else:
            entries.append(entry)
    return encode_body(one._replace(entries=tuple(entries)))


def _decoded(data: bytes) -> Any:
    if data[:1] != _VERSION:
        raise ValueError(f"its format is {data[:1]!r}, this version reads {_VERSION!r}")
    return msgspec.msgpack.decode(zlib.decompress(data[1:]))
