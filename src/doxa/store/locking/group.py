"""Transactions that become durable together.

    BEGIN IMMEDIATE ─ first ─ SAVEPOINT ─ second ─ RELEASE ─ SAVEPOINT ─ third ─ RELEASE ─ COMMIT
                                                                                    one sync ┘

A writer that has finished, and finds another of its kind waiting in the queue of this process,
hands on the transaction of the engine instead of committing it: the next one writes in a savepoint
of the same connection. The last commits for all, and only then does any of them go on. So nothing
is seen before it is durable, by nobody and in no process, and one sync covers what many have
written. One that fails undoes its savepoint and nothing else. If the engine gives up the whole
transaction (a full disk), or the commit fails, all of them fail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import apsw

from doxa.base.errors import BusyError, StoreError
from doxa.base.run_slot import leave_run_slot
from doxa.store.file.disk_space import is_out_of_space

MEMBERS_MAX = 64
WAIT_MAX_S = 0.02  # after the first has finished
_SAVEPOINT = "doxa_member"


def _undone() -> BusyError:
    return BusyError(
        "The commit that this transaction shared with others was undone; nothing was written.",
        next_step="Run it again.",
    )


class WaitingLine(Protocol):
    """Those who wait for the turn; see writer_queue.py."""

    def has_next(self, group: CommitGroup) -> bool: ...
    def pass_on(self, group: CommitGroup) -> bool: ...
    def leave(self) -> None: ...


class CommitGroup:
    """A transaction of the engine, and those who wait for its commit."""

    def __init__(
        self,
        db: apsw.Connection,
        kind: object,
        check: Callable[[], None],
        after: Callable[[], None],
    ) -> None:
        """`check` raises if nothing may be committed; `after` is called when it is, by the thread
        that committed, and raises nothing; also where a writer that commits by itself has not."""
        self.db, self.kind, self.after = db, kind, after
        self._check = check
        self.finished = 0  # members whose changes wait for the commit
        self._error: Callable[[], Exception] | None = None
        self._first = 0.0  # when the first of them finished
        self._waiting: list[threading.Lock] = []

    @property
    def is_open(self) -> bool:
        """Whether another transaction may become a part of it."""
        return (
            self.kind is not None
            and self.finished < MEMBERS_MAX
            and (not self.finished or time.monotonic() - self._first < WAIT_MAX_S)
        )

    def finish(self) -> None:
        """Count one whose changes are complete."""
        if not self.finished:
            self._first = time.monotonic()
        self.finished += 1

    def ticket(self) -> threading.Lock:
        """Return what one who has finished waits for. Taken before the next one goes on."""
        made = threading.Lock()
        made.acquire()
        self._waiting.append(made)
        return made

    def wait(self, ticket: threading.Lock) -> None:
        """Wait until the commit. Raises the error of a commit that failed. Others use the
        connection meanwhile, so an interrupt is raised after the wait."""
        interrupted: BaseException | None = None
        leave_run_slot()
        while True:
            try:
                ticket.acquire()
                break
            except BaseException as error:
                interrupted = error
        if self._error is not None:
            raise self._error()
        if interrupted is not None:
            raise interrupted

    def commit(self, *, checked: bool = False) -> None:
        """Commit what all members have written, and let them go on. Raises the error of the check,
        unless it was made before, or of the engine."""
        leave_run_slot()  # the disk takes its time
        try:
            if not checked:
                self._check()
            self.db.execute("COMMIT")
        except BaseException as error:
            with suppress(apsw.Error):
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            self.fail(error)
            raise
        self._release()

    def fail(self, error: BaseException | None) -> None:
        """Let the members go on with an error: what they had written is gone. They get that of the
        disk, where it is one."""
        if is_out_of_space(error, self.db):
            self._error = lambda: apsw.FullError("database or disk is full")
        elif isinstance(error, (apsw.IOError, apsw.ReadOnlyError, apsw.CorruptError)):
            self._error = lambda: type(error)(*error.args)
        elif isinstance(error, StoreError):
            self._error = self._refusal
        else:
            self._error = _undone
        self._release()

    def _refusal(self) -> Exception:
        """Return what the check says now: an error of its own for each member."""
        try:
            self._check()
        except StoreError as error:
            return error
        return _undone()

    def _release(self) -> None:
        for ticket in self._waiting:
            ticket.release()
        self._waiting = []


def join(queue: WaitingLine, group: CommitGroup) -> WriterTurn:
    """Go on with the transaction of a group."""
    turn = WriterTurn(queue, group, joined=True)
    try:
        group.db.execute(f"SAVEPOINT {_SAVEPOINT}")
    except BaseException as error:
        turn.rollback(error)
        raise
    return turn


class WriterTurn:
    """The turn of one writer. Any thread may end it, more than once."""

    def __init__(self, queue: WaitingLine, group: CommitGroup, *, joined: bool = False) -> None:
        self.db = group.db
        self.joined = joined  # others wait for the same commit
        self._queue, self._group = queue, group
        self._mine: list[CommitGroup] = [group]  # empty when the turn has ended

    @property
    def ended(self) -> bool:
        return not self._mine

    def commit(self, *, alone: bool = False, checked: bool = False) -> None:
        """Make durable what was written since the turn began. Others may write before that, unless
        `alone`. `checked`: it may be committed, as was found before it was made known elsewhere."""
        group = self._group
        if self.joined:
            self.db.execute(f"RELEASE {_SAVEPOINT}")
        self._mine.pop()
        group.finish()
        if not alone and self._queue.has_next(group):
            ticket = group.ticket()
            if self._queue.pass_on(group):
                group.wait(ticket)
                return
        try:
            group.commit(checked=checked)
            group.after()
        finally:
            self._queue.leave()

    def rollback(self, error: BaseException | None = None) -> None:
        """Undo what was written since the turn began, and nothing of what others have finished. The
        `error` is theirs if the engine undid everything."""
        with suppress(IndexError):
            self._undo(self._mine.pop(), error)

    def _undo(self, group: CommitGroup, error: BaseException | None) -> None:
        passed = left = False
        try:
            with suppress(apsw.Error):
                if self.joined and self.db.in_transaction:
                    self.db.execute(f"ROLLBACK TO {_SAVEPOINT}")
                    self.db.execute(f"RELEASE {_SAVEPOINT}")
                    left = True
                elif self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            if left:
                passed = self._queue.pass_on(group)
                if not passed:
                    with suppress(apsw.Error, StoreError):  # those who wait for the commit get it
                        group.commit()
            else:
                group.fail(error)
        finally:
            if not passed:
                self._queue.leave()

    def end(self) -> None:
        """End the turn of a writer that has committed by itself, or undone what it wrote."""
        with suppress(IndexError):
            group = self._mine.pop()
            try:
                group.after()
            finally:
                self._queue.leave()
