"""One request of a client, from its beginning to its end: counted, logged and traced.

    record = CallRecord("http", "recall", parent=traceparent)    when it arrives
    with record.on_thread(): ...                                  its work, on any thread
    record.end("ok")                                              once; later calls are ignored

Nothing of what was sent or answered is kept: the verb, the login, how it ended, how long it took,
and the numbers of the changes that it committed, by which the log of the memory has the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from doxa.base.committed import collect, collected
from doxa.servers.telemetry.metrics import MetricRegistry
from doxa.servers.telemetry.trace_context import TraceParent, parsed

Outcome = Literal["ok", "refused", "failed", "cancelled"]
LOG = logging.getLogger("doxa.calls")


class CallSpan(Protocol):
    """The span of a call, where traces are exported."""

    @property
    def trace_id(self) -> str: ...

    def current(self) -> object:
        """Return a context manager that makes it the current span of this thread."""

    def end(self, record: CallRecord) -> None: ...


class Spans(Protocol):
    """Makes spans."""

    def begin(self, record: CallRecord) -> CallSpan: ...


class Telemetry:
    """Where the calls of this process are reported. `spans` is None unless traces are exported."""

    def __init__(self) -> None:
        self.registry = MetricRegistry()
        self.spans: Spans | None = None


TELEMETRY = Telemetry()


class CallRecord:
    """One call. `parent` is the client's trace context, as in the header `traceparent`."""

    __slots__ = (
        "_began",
        "_ended",
        "_span",
        "changes",
        "code",
        "database",
        "interface",
        "login",
        "milliseconds",
        "outcome",
        "parent",
        "role",
        "state",
        "verb",
    )

    def __init__(
        self, interface: str, verb: str, *, parent: object = None, state: object = None
    ) -> None:
        self.interface, self.verb = interface, verb
        self.parent: TraceParent | None = parsed(parent)
        self.state = state if isinstance(state, str) and self.parent is not None else ""
        self.login = self.role = self.database = self.code = ""
        self.changes: list[int] = []
        self.outcome: Outcome = "ok"
        self.milliseconds = 0.0
        self._began, self._ended = time.perf_counter(), False
        TELEMETRY.registry.begin(interface)
        spans = TELEMETRY.spans
        self._span = None if spans is None else spans.begin(self)

    @contextmanager
    def on_thread(self) -> Iterator[None]:
        """Collect the changes that the work of this block commits, as a part of the call's span."""
        with collected(self.changes):
            if self._span is None:
                yield
            else:
                with self._span.current():  # type: ignore[attr-defined]  # of the tracing library
                    yield

    def attach(self) -> None:
        """Collect what this thread commits from now on, until `end` on it."""
        collect(self.changes)

    def end(self, outcome: Outcome = "ok", *, code: str = "") -> None:
        """Count, log and trace the call, once."""
        if self._ended:
            return
        self._ended = True
        seconds = time.perf_counter() - self._began
        self.outcome, self.code, self.milliseconds = outcome, code, round(seconds * 1000, 3)
        TELEMETRY.registry.end(
            self.interface, self.verb, outcome, seconds=seconds, changes=len(self.changes)
        )
        if self._span is not None:
            self._span.end(self)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s %s %s", self.interface, self.verb, outcome, extra={"call": self})

    def detach(self) -> None:
        """Collect no more on this thread."""
        collect(None)

    @property
    def trace_id(self) -> str:
        """The trace that it belongs to, if there is one."""
        if self._span is not None:
            return self._span.trace_id
        return "" if self.parent is None else self.parent.trace_id


def outcome_of(status: int) -> Outcome:
    """Return the outcome that an HTTP status means; 499 is a client that is gone."""
    if status == 499:
        return "cancelled"
    return "ok" if status < 400 else "refused" if status < 500 else "failed"
