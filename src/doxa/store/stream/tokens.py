"""Tokens: how far somebody has seen, `change@receipt`, as a write returns both. Any server that has
the same log can be asked to wait until it has come so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from doxa.base.errors import BusyError, InputError
from doxa.store.log_writer import GENESIS

if TYPE_CHECKING:
    from doxa.store.store import Store

_POLL_S = 0.05
_DIGITS_MAX = 18


def token_of(store: Store) -> str:
    """Return the token of the last change that a store sees; `0@...` before the first."""
    with store.read() as snapshot:
        rows = snapshot.rows("SELECT tx, hash FROM receipt ORDER BY tx DESC LIMIT 1")
    tx, seal = rows[0] if rows else (0, GENESIS)
    return f"{tx}@{seal.hex()}"


def parse_token(token: object) -> tuple[int, bytes]:
    """Return the number and the hash of a token. Raises InputError if it is none."""
    tx, _, seal = token.partition("@") if isinstance(token, str) else ("", "", "")
    try:
        if tx.isascii() and tx.isdecimal() and len(tx) <= _DIGITS_MAX:
            return int(tx), bytes.fromhex(seal)
    except ValueError:
        pass
    raise InputError(
        f"{token!r:.60} is not a token: a change and its receipt, as in 41@9f86d0....",
        next_step="Give what `token` said after a write.",
        field="token",
    )


def wait_for(store: Store, token: str, *, timeout_s: float) -> str:
    """Wait until a store sees the change of a token, and return the token of its last one. Raises
    BusyError after the time, InputError for a token of another log, UnreachableError if the engine
    of a shared log does not answer."""
    tx, wanted = parse_token(token)
    until = time.monotonic() + timeout_s
    while True:
        with store.read() as snapshot:
            rows = snapshot.rows("SELECT hash FROM receipt WHERE tx = ?", (tx,))
            last = snapshot.rows("SELECT max(tx) FROM receipt", ())[0][0] or 0
        if not tx or (rows and rows[0][0] == wanted):
            return token_of(store)
        if rows or last > tx:
            raise InputError(
                f"The token {token[:80]} is not of this log: its change {tx} has another receipt.",
                next_step="Give a token of this memory.",
                field="token",
            )
        left = until - time.monotonic()
        if left <= 0:
            last = token_of(store).partition("@")[0]
            raise BusyError(
                f"This memory has not reached change {tx} after {timeout_s:g} s; it is at {last}.",
                next_step="Try again, or ask another server.",
                change=int(last),
            )
        if store.shared is None or not store.shared.reach(tx, left):
            time.sleep(min(_POLL_S, left))
