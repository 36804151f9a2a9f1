"""Idempotency keys: a call that is sent again under its key gets the first answer and writes
nothing. A key is one row of the table `idempotency_key`:

    key      BLAKE2b of who calls (role, projects, actor) and the key, so that no caller meets the
             answers of another, and no key is readable in the file
    tx       the change that the call made; 0 if it changed nothing
    expires  ns UTC; a row that has expired counts as absent
    salt, request, answer   the salted hash of the call, and the answer as JSON

The row is read and written in the transaction of the call, which is the only one that writes: of
two processes that send the same call at once, the second waits, and finds the row. A row is
bookkeeping: it is not logged, and not part of an export.

An answer quotes beliefs. An erasure therefore clears `salt`, `request` and `answer` of every row
(file/scrub.py); the row stays, so that a retry writes nothing twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from doxa.base.errors import ConflictError, InputError, LimitError
from doxa.base.limits import (
    IDEMPOTENCY_ANSWER_BYTES_MAX,
    IDEMPOTENCY_EXPIRED_ITEMS_READ,
    IDEMPOTENCY_KEY_CHARS_MAX,
    IDEMPOTENCY_KEY_TTL_S,
    IDEMPOTENCY_KEYS_ITEMS_MAX,
)
from doxa.base.values import canonical
from doxa.store.rows import Identity
from doxa.store.transaction import Transaction

_FIND = "SELECT tx, salt, request, answer FROM main.idempotency_key WHERE key = ? AND expires > ?"
_EXPIRED = (
    "DELETE FROM main.idempotency_key WHERE key IN (SELECT key FROM main.idempotency_key WHERE"
    " expires <= ? LIMIT ?)"
)
_KEEP = (
    "INSERT INTO main.idempotency_key(key, tx, expires, salt, request, answer)"
    " VALUES(?, ?, ?, ?, ?, ?)"
)


class KnownAnswer(NamedTuple):
    """The answer of an earlier call: the number of its change (0: it changed nothing), its receipt
    in hexadecimal, and the answer as JSON."""

    change: int
    receipt: str
    answer: bytes


class Repeated(Exception):
    """Ends a call that was carried out before."""

    def __init__(self, known: KnownAnswer) -> None:
        super().__init__("the call was carried out before")
        self.known = known


class KeyedCall:
    """One call under a key. `open` begins its transaction; the first write of the call does so."""

    def __init__(
        self, identity: Identity, projects: Sequence[str], key: str, *, request: bytes
    ) -> None:
        """`request` is the call in a canonical form. Raises InputError for a key that is not
        one."""
        self._key = _digest(identity, projects, key)
        self._request = request
        self.tx: Transaction | None = None
        self._begun = 0
        self.open: Callable[[Identity, str, str], Transaction] = _not_open

    def begin(self, tx: Transaction) -> None:
        """Look for the key in the transaction of the call. Raises Repeated with the answer that is
        kept, ConflictError for another call under the same key."""
        self.tx, self._begun, tx.call_key = tx, tx.entries.seq, self._key
        found = tx._db.execute(_FIND, (self._key, tx.now)).fetchone()
        if found is None:
            return
        change, salt, request, answer = found
        if answer is None:
            raise ConflictError(
                f"The call with this idempotency key was carried out as change {change}. Content"
                " was erased since, and its answer with it.",
                next_step="Read what it wrote, or use a new key for a new call.",
                change=change,
            )
        if _hashed(salt, self._request) != request:
            raise ConflictError(
                "This idempotency key was used for a call with other arguments.",
                next_step="Use a new key for a new call; repeat a call with the same arguments.",
                change=change,
            )
        seal = "SELECT hash FROM main.receipt WHERE tx = ?"
        receipt = tx._db.execute(seal, (change,)).get
        raise Repeated(KnownAnswer(change, receipt.hex() if receipt else "", answer))

    def keep(self, tx: Transaction, answer: bytes) -> None:
        """Keep the answer under the key, in the transaction of the call. Removes some keys that
        have expired. Raises LimitError."""
        if len(answer) > IDEMPOTENCY_ANSWER_BYTES_MAX:
            raise LimitError(
                f"The answer of this call has {len(answer):,} bytes; under an idempotency key"
                f" {IDEMPOTENCY_ANSWER_BYTES_MAX:,} are kept.",
                next_step="Split the call, or send it without a key.",
                limit_bytes=IDEMPOTENCY_ANSWER_BYTES_MAX,
            )
        db = tx._db
        db.execute(_EXPIRED, (tx.now, IDEMPOTENCY_EXPIRED_ITEMS_READ))
        held = db.execute("SELECT count(*) FROM main.idempotency_key").get
        if held >= IDEMPOTENCY_KEYS_ITEMS_MAX:
            raise LimitError(
                f"A file holds up to {IDEMPOTENCY_KEYS_ITEMS_MAX:,} idempotency keys.",
                next_step="Send the call without a key, or wait until some have expired.",
                items_max=IDEMPOTENCY_KEYS_ITEMS_MAX,
            )
        change = tx.tx if tx.entries.seq > self._begun else 0
        salt, expires = os.urandom(16), tx.now + IDEMPOTENCY_KEY_TTL_S * 1_000_000_000
        db.execute("DELETE FROM main.idempotency_key WHERE key = ?", (self._key,))  # it has expired
        db.execute(_KEEP, (self._key, change, expires, salt, _hashed(salt, self._request), answer))


def _not_open(identity: Identity, op: str, note: str) -> Transaction:
    raise AssertionError("a keyed call writes within Store.keyed")


def _digest(identity: Identity, projects: Sequence[str], key: str) -> bytes:
    if not isinstance(key, str) or not key.strip() or not key.isprintable():
        raise InputError(
            f"An idempotency key is printable text; this is {key!r:.60}.",
            next_step="Give a new UUID for each call, and the same one for its retries.",
            field="idempotency_key",
        )
    if len(key) > IDEMPOTENCY_KEY_CHARS_MAX:
        raise LimitError(
            f"An idempotency key has up to {IDEMPOTENCY_KEY_CHARS_MAX} characters; this has"
            f" {len(key)}.",
            next_step="Give a UUID.",
            field="idempotency_key",
            limit_chars=IDEMPOTENCY_KEY_CHARS_MAX,
        )
    scope = [identity.role, sorted(projects), identity.actor, key]
    return hashlib.blake2b(canonical(scope), digest_size=16).digest()


def _hashed(salt: bytes, request: bytes) -> bytes:
    return hashlib.blake2b(request, digest_size=32, salt=salt).digest()
