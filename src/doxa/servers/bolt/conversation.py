"""The state machine of the server side of Bolt: a state, a message, the responses. It has no socket
and runs on one thread.

    NEGOTIATION     --HELLO-->             AUTHENTICATION (before 5.1: READY, HELLO logs on)
    AUTHENTICATION  --LOGON-->             READY
    READY           --RUN-->               STREAMING     --PULL, DISCARD--> READY
    READY           --BEGIN-->             TX_READY
    TX_READY        --RUN-->               TX_STREAMING  --PULL, DISCARD--> TX_READY
    TX_READY, TX_STREAMING  --COMMIT, ROLLBACK-->  READY

    an error                               FAILED: everything is IGNORED until RESET -> READY
    a RESET that has arrived               INTERRUPTED: the running statement is cancelled and
                                           everything is IGNORED until that RESET -> READY
    an unexpected message, a failed login  FAILURE, then DEFUNCT: the connection ends

Only `interrupt`, `hang_up` and `cancel` may be called from other threads. Source: the Bolt
documentation, "Bolt Protocol server state specification".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any, cast

from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import BOLT_LOGIN_MS, QUERY_TIMEOUT_MS
from doxa.servers import codes
from doxa.servers.bolt.failures import BoltError, failure
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.login import authenticated
from doxa.servers.bolt.messages import (
    ALLOWED_IN,
    BEGIN,
    COMMIT,
    DISCARD,
    GOODBYE,
    HELLO,
    KEPT,
    LOGOFF,
    LOGON,
    PULL,
    RESET,
    ROLLBACK,
    ROUTE,
    RUN,
    TELEMETRY,
    BoltState,
    Request,
    decoded,
)
from doxa.servers.bolt.notifications import notification_filter, summary_notifications
from doxa.servers.bolt.packstream import chunked, with_entry
from doxa.servers.bolt.values import packer
from doxa.servers.codes import RequestError, message_of, status_of
from doxa.servers.contract import (
    Database,
    DatabaseSession,
    LastingSession,
    PlanStep,
    StatementNotification,
)
from doxa.servers.credentials import Authenticator, Principal, throttled
from doxa.servers.notifications import ALL_NOTIFICATIONS
from doxa.servers.telemetry.calls import CallRecord
from doxa.servers.telemetry.trace_context import PARENT, STATE
from doxa.servers.unit_of_work import (
    SYSTEM_ALIAS,
    Row,
    Stream,
    UnitOfWork,
    await_bookmarks,
    bookmark,
    resolve,
)

SERVER_AGENT = "Neo4j/5.26.0-doxa"  # drivers derive the edition and language version from it
ROUTING_TTL_S = 300

_LOG = logging.getLogger("doxa.bolt")
_FLUSH_BYTES = 65_536
_TERMINATION_S = 1.0  # how often an idle transaction looks whether it was terminated
_PLAN_DEPTH_MAX = 40  # each level of a plan takes two levels of a message

SUCCESS, IGNORED, FAILURE = 0x70, 0x7E, 0x7F


_BARE_SUCCESS = chunked(bytes((0xB1, SUCCESS, 0xA0)))


# Answers as they were encoded, by what they say
_SAID: dict[tuple[Any, ...], bytes] = {}
_SAID_MAX, _SAID_BYTES, _SAID_MS_MAX = 1_000, 512, 4


_Lasting = tuple[str, Principal, LastingSession]  # of a database, for a user


class RequestInterrupted(Exception):
    """A RESET arrived while a statement was running, or the client is gone."""


class Conversation:
    """The protocol state of one client. `send` takes bytes for the client and may block; `done`
    means that the connection should be closed."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator | None,
        *,
        version: Version,
        send: Callable[[bytes], None],
        connection_id: str = "bolt-0",
        address: str = "127.0.0.1:7687",
        timeout_ms: int = QUERY_TIMEOUT_MS,
        login_ms: int = BOLT_LOGIN_MS,
    ) -> None:
        self.version = version
        self.state = BoltState.NEGOTIATION
        self.principal: Principal | None = None
        self.stopping = False
        self._database, self._throttle = database, throttled(authenticator)
        self._home: str | None = None  # the database of sessions that name none
        self._send, self._connection_id, self._address, self._timeout_ms = (
            send,
            connection_id,
            address,
            timeout_ms,
        )
        self._login_ms = login_ms
        self._login_by = time.monotonic() + login_ms / 1000
        self._utc = version >= (5, 0)
        self._notifications = ALL_NOTIFICATIONS
        self._packer = packer(element_ids=version >= (5, 0), utc=self._utc)
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._work: UnitOfWork | None = None
        # The session of the last unit of work, for the next; and that of the open one, if it lasts
        self._kept: _Lasting | None = None
        self._lasting: _Lasting | None = None
        self._expired: RequestError | None = None
        self._resets_seen = 0  # written by the thread that interrupts
        self._resets_done = 0  # written by the thread of the conversation
        self._gone = False
        self._handlers: dict[Request, Callable[..., None]] = {
            HELLO: self._hello,
            LOGON: self._logon,
            LOGOFF: self._logoff,
            TELEMETRY: self._telemetry,
            ROUTE: self._route,
            RUN: self._run,
            PULL: self._pull,
            DISCARD: self._discard,
            BEGIN: self._begin,
            COMMIT: self._commit,
            ROLLBACK: self._rollback,
        }

    # From any thread

    def interrupt(self) -> None:
        """Record that a RESET has arrived and cancel what precedes it. The RESET itself is handled
        later."""
        self._resets_seen += 1
        self.cancel()

    def hang_up(self) -> None:
        """Record that the client is gone and cancel the running statement."""
        self._gone = True
        self.cancel()

    def cancel(self) -> None:
        """Cancel the running statement. Call this repeatedly until `interrupted` is false, because
        a statement may start right after a call."""
        work = self._work
        if work is not None:
            work.cancel()

    @property
    def interrupted(self) -> bool:
        """Whether a RESET is pending or the client is gone."""
        return self._gone or self._resets_seen != self._resets_done

    # From the conversation's thread

    @property
    def done(self) -> bool:
        """Whether the conversation has ended."""
        return self.state is BoltState.DEFUNCT

    @property
    def idle(self) -> bool:
        """Whether no unit of work is open."""
        return self._work is None

    @property
    def may_be_waited_for(self) -> bool:
        """Whether a transaction is open that may have the write lock."""
        return self._work is not None and not self._work.read_only

    def seconds_left(self) -> float | None:
        """Return after how many seconds without a message to call `expire`; None means never."""
        until = (
            self._login_by
            if self.principal is None
            else None
            if self._work is None
            else min(self._work.deadline, time.monotonic() + _TERMINATION_S)
        )
        return None if until is None else max(0.0, until - time.monotonic())

    def expire(self) -> None:
        """End the conversation of a client that did not log in in time, or roll back a unit of work
        whose deadline has passed; the next message then fails."""
        if self.principal is None:
            if self._login_by <= time.monotonic():
                _LOG.info("%s: no login in time", self._connection_id)
                self.state = BoltState.DEFUNCT
        elif self._work is not None and self._work.deadline <= time.monotonic():
            self._expired = self._work.timed_out()
            self._abandon()
        elif self._work is not None and self._work.session.terminated:
            self._expired = self._work.terminated()
            self._abandon()

    def handle(self, message: bytes) -> None:
        """Respond to one message. Never raises for client input; unexpected errors are logged and
        become a FAILURE."""
        try:
            self._answer(message)
        except RequestInterrupted:
            self._abandon()
            self._ignore()
            if self.state is not BoltState.DEFUNCT:
                self.state = BoltState.INTERRUPTED
        except Exception as error:
            self._abandon(error)
            if self.interrupted and not (isinstance(error, BoltError) and error.fatal):
                self.state = BoltState.INTERRUPTED
                self._ignore()
                return
            if status_of(error).code.startswith("Neo.DatabaseError") and not isinstance(
                error, DoxaError
            ):
                _LOG.exception("%s: an unexpected error", self._connection_id)
            self._fail(error)

    def close(self) -> None:
        """End the conversation and roll back the open unit of work."""
        self._abandon()
        self.state = BoltState.DEFUNCT

    def flush(self) -> None:
        """Send the buffered responses."""
        if self._out:
            data = b"".join(self._out)
            self._out.clear()
            self._out_bytes = 0
            self._send(data)

    def _answer(self, message: bytes) -> None:
        request, fields = KEPT.get(message) or self._decoded(message)
        if request is GOODBYE:
            self.close()
        elif request is RESET:
            self._reset()
        elif self._gone or self._resets_seen != self._resets_done:
            raise RequestInterrupted
        elif self.state is BoltState.FAILED or self.state is BoltState.INTERRUPTED:
            self._ignore()
        elif self._expired is not None:
            expired, self._expired = self._expired, None
            raise expired
        elif self.state not in ALLOWED_IN[request.name]:
            raise BoltError(
                f"{request.name} is not allowed in the state {self.state.value}.",
                status=codes.REQUEST_INVALID,
                next_step="Send messages in the order that the protocol specifies.",
                fatal=True,
            )
        else:
            self._handlers[request](*fields)

    def _decoded(self, message: bytes) -> tuple[Request, list[Any]]:
        """Decode a message. An error is fatal, since the start of the next message is unknown,
        unless it is that of a parameter, which is an error of the statement."""
        wrong: list[InputError] = []
        try:
            request, fields = decoded(
                message, self.version, utc=self._utc, keep=self.principal is not None, wrong=wrong
            )
        except DoxaError as error:
            raise BoltError(
                message_of(error), status=codes.REQUEST_FORMAT, next_step="", fatal=True
            ) from None
        if (
            wrong
            and request is RUN
            and not self.interrupted
            and self.state not in (BoltState.FAILED, BoltState.INTERRUPTED)
        ):
            raise BoltError(
                wrong[0].message, status=status_of(wrong[0]), next_step=wrong[0].next_step
            )
        return request, fields

    # Responses

    def _emit(self, data: bytes) -> None:
        self._out.append(data)
        self._out_bytes += len(data)
        if self._out_bytes >= _FLUSH_BYTES:
            self.flush()

    def _succeed(self, metadata: dict[str, Any] | None = None) -> None:
        self._emit(self._encoded(metadata) if metadata else _BARE_SUCCESS)

    def _encoded(self, metadata: dict[str, Any]) -> bytes:
        return chunked(self._packer.structure(SUCCESS, metadata))

    def _succeed_as(
        self,
        key: tuple[Any, ...],
        metadata: Callable[[], dict[str, Any]],
        entry: tuple[str, str | int] | None = None,
    ) -> None:
        """Answer with what was answered before, or with `metadata`, and with an entry that seldom
        is the same. `key`: equal for metadata that is equal."""
        found = _SAID.get(key)
        if found is None:
            found = self._encoded(metadata())
            if len(found) <= _SAID_BYTES:
                if len(_SAID) >= _SAID_MAX:
                    _SAID.clear()
                _SAID[key] = found
        if entry is not None:
            is_small = len(found) <= _SAID_BYTES
            found = (
                with_entry(found, *entry)
                if is_small
                else self._encoded(metadata() | {entry[0]: entry[1]})
            )
        self._emit(found)

    def _ignore(self) -> None:
        self._emit(chunked(self._packer.structure(IGNORED)))

    def _fail(self, error: Exception) -> None:
        self._emit(chunked(self._packer.structure(FAILURE, failure(error, self.version))))
        fatal = isinstance(error, BoltError) and error.fatal
        self.state = BoltState.DEFUNCT if fatal or self.principal is None else BoltState.FAILED

    def _abandon(self, error: BaseException | None = None) -> None:
        """Roll back the open unit of work, because of an error or because the client wants it."""
        work, self._work = self._work, None
        if work is not None:
            try:
                work.rollback(error)
            except Exception:
                _LOG.exception("%s: rolling back failed", self._connection_id)

    # Authentication

    def _hello(self, extra: Any) -> None:
        extra = _map(extra, "HELLO")
        context = extra.get("routing")
        if isinstance(context, dict) and isinstance(context.get("address"), str):
            self._address = context["address"]
        if isinstance(context, dict) and isinstance(context.get("database"), str):
            self._home = context["database"]  # neo4j://host?database=NAME
        self._notifications = notification_filter(extra, ALL_NOTIFICATIONS)
        hints: dict[str, Any] = {}
        metadata: dict[str, Any] = {
            "server": SERVER_AGENT,
            "connection_id": self._connection_id,
            "hints": hints,
        }
        if self.version >= (5, 4):
            hints["telemetry.enabled"] = False
        patches = extra.get("patch_bolt")
        if patches is not None and not isinstance(patches, list):
            raise _invalid("patch_bolt must be a list of strings.")
        if self.version < (5, 0) and "utc" in (patches or ()):
            self._utc = True
            self._packer = packer(element_ids=False, utc=True)
            metadata["patch_bolt"] = ["utc"]
        if self.version < (5, 1):
            self._login(extra)
            self.state = BoltState.READY
        else:
            self.state = BoltState.AUTHENTICATION
        self._succeed(metadata)

    def _logon(self, auth: Any) -> None:
        self._login(_map(auth, "LOGON"))
        self.state = BoltState.READY
        self._succeed()

    def _logoff(self) -> None:
        self.principal = None
        self._login_by = time.monotonic() + self._login_ms / 1000
        self.state = BoltState.AUTHENTICATION
        self._succeed()

    def _login(self, auth: dict[str, Any]) -> None:
        """Authenticate the client. Raises BoltError, which ends the conversation."""
        self.principal = authenticated(
            self._throttle, auth, connection_id=self._connection_id, gone=lambda: self._gone
        )

    # Outside of statements

    def _reset(self) -> None:
        if self.state is BoltState.NEGOTIATION:
            raise BoltError(
                "RESET was sent before HELLO.",
                status=codes.REQUEST_INVALID,
                next_step="Send HELLO first.",
                fatal=True,
            )
        self._abandon()
        self._expired = None
        if self._resets_done < self._resets_seen:
            self._resets_done += 1
        if self._resets_done == self._resets_seen:
            self.state = BoltState.AUTHENTICATION if self.principal is None else BoltState.READY
        else:
            self.state = BoltState.INTERRUPTED  # another RESET is pending
        self._succeed()

    def _telemetry(self, api: Any) -> None:
        if type(api) is not int:
            raise _invalid("The field of TELEMETRY must be an integer.")
        self._succeed()

    def _route(self, context: Any, bookmarks: Any, extra: Any) -> None:
        extra = _map(extra, "ROUTE")
        _not_another(extra)
        name = extra.get("db") or self._resolve(self._home)
        # the response keeps an alias: drivers look up the table by the name that they requested
        self._resolve(name)
        addresses = [_map(context, "ROUTE").get("address") or self._address]
        servers = [{"addresses": addresses, "role": role} for role in ("WRITE", "READ", "ROUTE")]
        self._succeed({"rt": {"ttl": ROUTING_TTL_S, "db": name, "servers": servers}})

    def _resolve(self, name: Any) -> str:
        assert self.principal is not None, "no state before the login names a database"
        wanted = name if name is None or isinstance(name, str) else str(name)
        return resolve(self._database, self.principal, wanted)

    def _open(self, extra: dict[str, Any], *, explicit: bool) -> UnitOfWork:
        _not_another(extra)
        assert self.principal is not None, "no state before the login opens work"
        name = self._resolve(extra.get("db") or self._home)
        asked = extra.get("tx_timeout")
        if asked is not None and (type(asked) is not int or asked < 0):
            raise _invalid(
                "tx_timeout must be a number of milliseconds; 0 means the server's maximum."
            )
        timeout_ms = min(asked or self._timeout_ms, self._timeout_ms)
        metadata = extra.get("tx_metadata")
        metadata = {} if metadata is None else _map(metadata, "tx_metadata")
        mode = extra.get("mode", "w")
        if mode not in ("r", "w"):
            raise _invalid("mode must be 'r' or 'w'.")
        bookmarks = extra.get("bookmarks")
        if bookmarks is not None and not (
            isinstance(bookmarks, list) and all(isinstance(one, str) for one in bookmarks)
        ):
            raise _invalid("bookmarks must be a list of strings.")
        await_bookmarks(self._database, self.principal, name, bookmarks or (), timeout_ms)
        session = self._session(name, metadata, timeout_ms)
        notifications = notification_filter(extra, self._notifications)
        record = CallRecord(
            "bolt",
            "transaction" if explicit else "query",
            parent=metadata.get(PARENT),
            state=metadata.get(STATE),
        )
        record.login, record.role = self.principal.name, self.principal.role
        return UnitOfWork(
            session,
            database=name,
            explicit=explicit,
            read_only=mode == "r",
            timeout_ms=timeout_ms,
            notifications=notifications,
            record=record,
            catalogue=extra.get("db") == SYSTEM_ALIAS and mode != "r",
        )

    def _session(self, name: str, metadata: dict[str, Any], timeout_ms: int) -> DatabaseSession:
        """Open a session, or go on with that of the last unit of work where it would be the same
        one."""
        principal, kept = self.principal, self._kept
        assert principal is not None, "no state before the login opens work"
        self._kept = self._lasting = None
        if kept is not None and not metadata and kept[:2] == (name, principal):
            kept[2].renew(timeout_ms=timeout_ms)
            self._lasting = kept
            return kept[2]
        session = self._database.open_session(principal, name, metadata, timeout_ms)
        session.connection = self._connection_id
        if not metadata and not principal.projects and _is_lasting(type(session)):
            self._lasting = name, principal, cast(LastingSession, session)
        return session

    def _end_work(self) -> None:
        """Forget the unit of work, which is complete, and keep its session for the next one."""
        self._work = None
        self._kept, self._lasting = self._lasting, None

    # Statements

    def _begin(self, extra: Any) -> None:
        self._work = self._open(_map(extra, "BEGIN"), explicit=True)
        self.state = BoltState.TX_READY
        name = self._work.database
        if self.version >= (5, 8):
            self._succeed_as((BEGIN.name, name), lambda: {"db": name})
        else:
            self._succeed()

    def _run(self, text: Any, params: Any, extra: Any) -> None:
        if not isinstance(text, str):
            raise _invalid("The statement of RUN must be a string.")
        started = time.monotonic()
        work = self._work
        if work is None:
            work = self._work = self._open(_map(extra, "RUN"), explicit=False)
        number, stream = work.run(text, _map(params, "RUN"))
        if self.interrupted:
            raise RequestInterrupted
        first_ms = int((time.monotonic() - started) * 1000)
        more: dict[str, Any] = {}
        if work.explicit:
            more["qid"] = number
        elif self.version >= (5, 8):
            more["db"] = work.database

        self.state = BoltState.TX_STREAMING if work.explicit else BoltState.STREAMING
        usual = {"t_first": first_ms} if first_ms <= _SAID_MS_MAX else {}
        self._succeed_as(
            (stream.columns, *usual.items(), *more.values()),
            lambda: {"fields": list(stream.columns), **usual, **more},
            None if usual else ("t_first", first_ms),
        )

    def _pull(self, extra: Any) -> None:
        self._take(extra, "PULL")

    def _discard(self, extra: Any) -> None:
        self._take(extra, "DISCARD")

    def _take(self, extra: Any, name: str) -> None:
        extra = _map(extra, name)
        wanted, number, work = extra.get("n"), extra.get("qid", -1), self._work
        assert work is not None, "no state without work pulls"
        if type(wanted) is not int or (wanted < 1 and wanted != -1):
            raise _invalid(f"n of {name} must be a number of rows, or -1 for all.")
        number = work.latest if number == -1 else number
        stream = work.streams.get(number) if type(number) is int else None
        if stream is None:
            raise _invalid(f"No result has the number {number!r:.20}.")
        started = time.monotonic()
        work.left_ms()
        if name == "DISCARD" and wanted == -1:
            stream.done = True
        else:
            self._stream(stream, wanted, keep=name == "PULL")
        if not stream.done:
            self._succeed({"has_more": True})
            return
        work.finish(number)
        bookmark = None if work.explicit else self._bookmark(work)
        found = stream.result.notices() if work.notifications.any else ()
        last_ms = int((time.monotonic() - started) * 1000)
        if not work.explicit:
            self._end_work()
            self.state = BoltState.READY
        elif not work.streams:
            self.state = BoltState.TX_READY
        summary = partial(self._summary, work, stream, found, last_ms)
        plan = stream.result.plan
        if found or last_ms > _SAID_MS_MAX or plan is None or plan.statement.mode:
            more = {} if bookmark is None else {"bookmark": bookmark}
            self._succeed(summary() | more)
            return
        counts = tuple(stream.result.counters.items())
        outcome = self.version, bool(stream.columns), bool(stream.count)
        key = work.database, counts, last_ms, plan.checked.writes, plan.steps is None, *outcome
        self._succeed_as(key, summary, None if bookmark is None else ("bookmark", bookmark))

    def _stream(self, stream: Stream, wanted: int, *, keep: bool) -> None:
        width = len(stream.columns)

        def pack(rows: Iterator[Row], count_max: int) -> tuple[bytes, int, bool]:
            return self._packer.records(rows, width, count_max=count_max)

        for data in stream.blocks(wanted, pack if keep else _count):
            self._emit(data)
            if self.interrupted:
                raise RequestInterrupted

    def _summary(
        self,
        work: UnitOfWork,
        stream: Stream,
        found: Sequence[StatementNotification],
        last_ms: int,
    ) -> dict[str, Any]:
        plan = stream.result.plan
        writes = plan is not None and plan.checked.writes
        kind = (
            "s"
            if plan is not None and plan.steps is None and writes
            else ("rw" if stream.columns else "w")
            if writes
            else "r"
        )
        summary: dict[str, Any] = {"type": kind, "db": work.database}
        stats = {
            name.replace("_", "-"): count for name, count in stream.result.counters.items() if count
        }
        if stats:
            summary["stats"] = {**stats, "contains-updates": True}
        described = stream.result.description()
        if described is not None and plan is not None:
            profiled = plan.statement.mode == "PROFILE"
            summary["profile" if profiled else "plan"] = _plan(
                described, rows=stream.count if profiled else None
            )
        summary |= summary_notifications(
            found, work.notifications, self.version, columns=len(stream.columns), rows=stream.count
        )
        summary["t_last"] = last_ms
        return summary

    def _commit(self) -> None:
        work = self._work
        assert work is not None, "no state without work commits"
        work.commit()
        self._end_work()
        self.state = BoltState.READY
        self._emit(with_entry(_BARE_SUCCESS, "bookmark", self._bookmark(work)))

    def _bookmark(self, work: UnitOfWork) -> str:
        assert self.principal is not None, "no state before the login commits"
        return bookmark(self._database, self.principal, work.database, work.written)

    def _rollback(self) -> None:
        self._abandon()
        self.state = BoltState.READY
        self._succeed()


def _count(rows: Iterator[Row], count_max: int) -> tuple[bytes, int, bool]:
    """Consume rows without encoding them."""
    count = sum(1 for _ in islice(rows, count_max))
    return b"", count, count < count_max


def _plan(step: PlanStep, *, rows: int | None, depth: int = _PLAN_DEPTH_MAX) -> dict[str, Any]:
    """Return a step with its children for a summary; steps too deep for a message are omitted.
    `rows` is the count for a step that has none."""
    found: dict[str, Any] = {
        "operatorType": step.name,
        "args": {"Details": step.detail},
        "identifiers": [],
    }
    found["children"] = (
        [_plan(child, rows=None if rows is None else 0, depth=depth - 1) for child in step.children]
        if depth
        else []
    )
    if rows is not None:
        given = rows if step.rows is None else step.rows
        found |= {"rows": given, "dbHits": 0, "time": int((step.milliseconds or 0.0) * 1_000_000)}
    return found


@lru_cache
def _is_lasting(kind: type) -> bool:
    return hasattr(kind, "renew")


def _map(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _invalid(f"A field of {name} must be a map.")
    return value


def _invalid(message: str) -> BoltError:
    return BoltError(
        message,
        status=codes.REQUEST_INVALID,
        next_step="Send it as the protocol specifies.",
        fatal=True,
    )


def _not_another(extra: dict[str, Any]) -> None:
    if extra.get("imp_user") is not None:
        raise BoltError(
            "Impersonation is not supported.",
            status=codes.FORBIDDEN,
            next_step="Log in as that user instead.",
        )
