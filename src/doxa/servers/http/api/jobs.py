"""Calls that are not waited for: `Prefer: respond-async` answers 202 with the address of a job.

    queued ─► running ─► done | failed
      └──────────┴─ DELETE ─► cancelled

A job is a call in the name of its login, with its progress and in the end its answer. It belongs to
that login: another one does not see it. It lives as long as the server; what it wrote is in the
memory, and a dream leaves its run there.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Literal

from doxa.base.clock import format_time
from doxa.base.errors import NotFoundError
from doxa.base.limits import (
    API_JOBS_ITEMS_MAX,
    API_JOBS_OF_LOGIN_ITEMS_MAX,
    API_JOBS_RUNNING_ITEMS_MAX,
)
from doxa.servers.calling import CallCancelled, CallMeter
from doxa.servers.codes import RATE_LIMIT, STOPPING
from doxa.servers.credentials import ANONYMOUS, Principal
from doxa.servers.http.errors import HttpError, log_unexpected
from doxa.servers.http.thread_pool import ThreadPool
from doxa.servers.sharing import Share

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
_ENDED = ("done", "failed", "cancelled")


class ApiJob:
    """One call. `done` counts what its verb reports, such as turns; `answer` is the result, and
    `problem` the error."""

    def __init__(self, verb: str, principal: Principal, worker: int = 0) -> None:
        self.id = secrets.token_hex(8) + (f"-{worker}" if worker else "")
        self.verb, self.principal = verb, principal
        self.state: JobState = "queued"
        self.meter = CallMeter()
        self.created = time.time_ns()
        self.ended: int | None = None
        self.answer: Any = None
        self.problem: dict[str, Any] | None = None
        self.task: asyncio.Task[None] | None = None

    def as_dict(self, *, answer: bool = True) -> dict[str, Any]:
        """Return it as JSON has it; a list leaves the answers out, which may be long."""
        found: dict[str, Any] = {
            "id": self.id,
            "verb": self.verb,
            "state": self.state,
            "cancelling": self.meter.is_cancelled and self.state not in _ENDED,
            "done": self.meter.done,
            "created": format_time(self.created),
        }
        if self.ended is not None:
            found["ended"] = format_time(self.ended)
        if answer and self.state == "done":
            found["answer"] = self.answer
        if self.problem is not None:
            found["problem"] = self.problem
        return found


class Jobs:
    """The jobs of one process. All methods are called from the event loop."""

    def __init__(self, share: Share) -> None:
        self._threads = ThreadPool("api-job", share.part(API_JOBS_RUNNING_ITEMS_MAX))
        self._items_max, self._worker = share.part(API_JOBS_ITEMS_MAX), share.number
        self._each_max = share.part(API_JOBS_OF_LOGIN_ITEMS_MAX)
        self._held: OrderedDict[str, ApiJob] = OrderedDict()

    def start(
        self,
        verb: str,
        principal: Principal,
        call: Callable[[CallMeter], Any],
        problem: Callable[[BaseException], dict[str, Any]],
    ) -> ApiJob:
        """Begin a job. Raises HttpError if too many are waiting, of this login or of all."""
        self._make_room(principal)
        job = ApiJob(verb, principal, self._worker)
        self._held[job.id] = job
        job.task = asyncio.create_task(self._run(job, call, problem))
        return job

    def of(self, principal: Principal) -> list[ApiJob]:
        """Return the jobs of a login, the newest first."""
        return [one for one in reversed(self._held.values()) if one.principal == principal]

    def get(self, principal: Principal, identity: str) -> ApiJob:
        """Return a job of a login. Raises NotFoundError."""
        found = self._held.get(identity)
        if found is None or found.principal != principal:
            raise unknown_job(identity)
        return found

    def cancel(self, job: ApiJob) -> None:
        """Ask a job to stop: at once if it waits, and else after the batch that it is at. A verb
        that has no batches goes on to its end."""
        job.meter.cancel()
        if job.state == "queued" and job.task is not None:
            job.task.cancel()

    @property
    def busy(self) -> int:
        """The number of jobs that have a thread."""
        return self._threads.busy

    def cancel_all(self) -> None:
        for job in self._held.values():
            if job.state not in _ENDED:
                self.cancel(job)

    def close(self) -> None:
        self._threads.close()

    async def _run(
        self,
        job: ApiJob,
        call: Callable[[CallMeter], Any],
        problem: Callable[[BaseException], dict[str, Any]],
    ) -> None:
        def begin() -> None:
            job.state = "running"

        try:
            name = job.principal.name
            job.answer = await self._threads.run(
                lambda: call(job.meter), began=begin, caller="" if name == ANONYMOUS else name
            )
            job.state = "done"
        except (CallCancelled, asyncio.CancelledError):
            job.state = "cancelled"
        except Exception as error:
            log_unexpected(error)
            job.problem, job.state = problem(error), "failed"
        finally:
            job.ended = time.time_ns()

    def _make_room(self, principal: Principal) -> None:
        """Forget an ended job if there are too many: of a login that has its share one of its own,
        so that it takes no place of others, and else one of the login that has most."""
        own = [one for one in self._held.values() if one.principal.name == principal.name]
        if len(own) >= self._each_max and principal.name != ANONYMOUS:
            self._forget(own, f"{self._each_max} jobs of this login wait or run.", http=429)
        elif len(self._held) >= self._items_max:
            ended = [one for one in self._held.values() if one.state in _ENDED]
            counts = Counter(one.principal.name for one in ended)
            most = max(counts, key=counts.__getitem__, default="")
            self._forget(
                [one for one in ended if one.principal.name == most],
                f"{self._items_max} jobs wait or run.",
                http=503,
            )

    def _forget(self, jobs: list[ApiJob], full: str, *, http: int) -> None:
        """Forget the first of these that has ended. Raises HttpError if none has."""
        old = next((one for one in jobs if one.state in _ENDED), None)
        if old is None:
            status = RATE_LIMIT if http == 429 else STOPPING
            raise HttpError(full, http=http, next_step="Wait until some have ended.", status=status)
        del self._held[old.id]


def unknown_job(identity: str) -> NotFoundError:
    """Build the error for a job that is not there, or not the caller's."""
    return NotFoundError(
        f"There is no job {identity[:40]!r}.",
        next_step="List them with GET /v1/jobs; those of a server that was stopped are gone.",
        job=identity[:80],
    )


def worker_of(identity: str) -> int:
    """Return the worker that has a job, 0 if its id names none."""
    _, dash, number = identity.rpartition("-")
    return int(number) if dash and number.isascii() and number.isdigit() and len(number) < 4 else 0


SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A call that is not waited for.",
    "properties": {
        "id": {"type": "string"},
        "verb": {"type": "string"},
        "state": {"type": "string", "enum": ["queued", "running", "done", "failed", "cancelled"]},
        "cancelling": {"type": "boolean"},
        "done": {"type": "integer", "description": "What the verb counts, such as turns."},
        "created": {"type": "string", "format": "date-time"},
        "ended": {"type": "string", "format": "date-time"},
        "answer": {"description": "Of a job that is done: what the call would have answered."},
        "problem": {"$ref": "#/components/schemas/Problem"},
    },
    "required": ["id", "verb", "state", "cancelling", "done", "created"],
}
