"""The transactions that are open in this process on one file: who runs what since when.

Sessions open and close them; SHOW TRANSACTIONS and TERMINATE TRANSACTIONS read and end them. An
agent sees its own, an operator all. Where several processes are one server, `others` asks those,
and each numbers its transactions in steps, so that no number is given twice; transactions of other
processes on the file are not known here.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from doxa.base.ids import Role
from doxa.store import Identity


@dataclass(slots=True, eq=False)
class OpenTransaction:
    """One transaction: an explicit one, or a statement by itself."""

    number: int
    identity: Identity
    connection: str  # of the client; empty for a session in Python
    cancel: Callable[[], None]  # cancels its running statement; called from any thread
    started_ns: int
    statement: str = ""  # the last one, as it was sent
    statement_number: int = 0
    terminated: bool = False
    _started: float = field(default_factory=time.monotonic)

    @property
    def elapsed_ns(self) -> int:
        return int((time.monotonic() - self._started) * 1_000_000_000)


class ListedTransaction(NamedTuple):
    """What SHOW TRANSACTIONS says about a transaction, of this process or another."""

    number: int
    actor: str
    connection: str
    started_ns: int
    elapsed_ns: int
    statement: str
    statement_number: int
    terminated: bool


class OtherTransactions(Protocol):
    """The transactions of the other processes of a server, for somebody's name and role."""

    def listed(self, actor: str, role: Role) -> Iterable[Sequence[Any]]:
        """Return the fields of each as `ListedTransaction` has them."""
        ...

    def terminate(self, number: int, actor: str, role: Role) -> str | None:
        """End a transaction. Returns whose it was, None if it was not found."""
        ...


class OpenTransactions:
    """Open transactions by number. Safe to use from any thread: each change of the dictionary, and
    the copy that a reader takes, is one step of the interpreter."""

    def __init__(self) -> None:
        self._open: dict[int, OpenTransaction] = {}
        self._numbers = itertools.count(1)
        self.others: OtherTransactions | None = None
        self._statements = itertools.count(1)

    def open(
        self, identity: Identity, connection: str, cancel: Callable[[], None]
    ) -> OpenTransaction:
        """Note a transaction that begins."""
        made = OpenTransaction(next(self._numbers), identity, connection, cancel, time.time_ns())
        self._open[made.number] = made
        return made

    def runs(self, transaction: OpenTransaction, text: str) -> None:
        """Note the statement that a transaction runs now."""
        transaction.statement_number = next(self._statements)
        transaction.statement = text

    def close(self, transaction: OpenTransaction) -> None:
        """Forget a transaction that has ended."""
        self._open.pop(transaction.number, None)

    def seen_by(self, identity: Identity) -> list[OpenTransaction]:
        """List what an identity may see: its own, and for an operator all, the oldest first."""
        every = list(self._open.values())
        return [
            one for one in every if identity.role != "agent" or one.identity.actor == identity.actor
        ]

    def number_in_steps(self, first: int, step: int) -> None:
        """Number transactions first, first + step and so on, before there are any."""
        self._numbers = itertools.count(first, step)

    def listed(self, identity: Identity) -> list[ListedTransaction]:
        """List the transactions of this process that an identity may see, the oldest first."""
        return [
            ListedTransaction(
                one.number,
                one.identity.actor,
                one.connection,
                one.started_ns,
                one.elapsed_ns,
                one.statement,
                one.statement_number,
                one.terminated,
            )
            for one in self.seen_by(identity)
        ]

    def listed_for(self, actor: str, role: Role) -> list[list[Any]]:
        """List, for another process, what somebody may see."""
        return [list(one) for one in self.listed(Identity(actor, role))]

    def terminate_for(self, number: int, actor: str, role: Role) -> str | None:
        """End, for another process, a transaction that somebody may see."""
        return self.terminate(number, Identity(actor, role))

    def listed_everywhere(self, identity: Identity) -> list[ListedTransaction]:
        """List those of all processes of the server."""
        found = self.listed(identity)
        if self.others is not None:
            more = (ListedTransaction(*one) for one in self.others.listed(*identity))
            found = sorted((*found, *more), key=lambda one: one.started_ns)
        return found

    def terminate(self, number: int, identity: Identity) -> str | None:
        """End a transaction of this process: its running statement fails, or the next one does.
        Returns whose it was, None if the identity sees no such transaction."""
        found = next((one for one in self.seen_by(identity) if one.number == number), None)
        if found is None:
            return None
        found.terminated = True
        found.cancel()
        return found.identity.actor

    def terminate_anywhere(self, number: int, identity: Identity) -> str | None:
        """End a transaction of any process of the server."""
        actor = self.terminate(number, identity)
        if actor is None and self.others is not None:
            actor = self.others.terminate(number, *identity)
        return actor
