"""Jobs wherever they run: a job belongs to the worker that began it, whose number its id ends with,
and any worker answers for it by asking that one."""

from __future__ import annotations

import json
from typing import Any

from doxa.base.errors import NotFoundError
from doxa.servers.codes import STOPPING
from doxa.servers.credentials import Principal
from doxa.servers.http.api.callers import principal_from
from doxa.servers.http.api.jobs import Jobs, unknown_job, worker_of
from doxa.servers.http.errors import HttpError
from doxa.servers.http.responses import encode
from doxa.servers.prefork.channel import CallFailed
from doxa.servers.sharing import Share


class JobsOfAll:
    """The jobs of all workers, as JSON. All methods are called from the event loop."""

    def __init__(self, jobs: Jobs, share: Share) -> None:
        self._jobs, self._calls, self._number = jobs, share.calls, share.number
        if self._calls is not None:
            self._calls.answers("jobs", self._answer_list)
            self._calls.answers("job", self._answer_one)

    async def listed(self, principal: Principal) -> bytes:
        """Return the jobs of a login, the newest first, without their answers. Those of a worker
        that does not answer are left out."""
        found = [one.as_dict(answer=False) for one in self._jobs.of(principal)]
        if self._calls is not None:
            for text in (await self._calls.ask_others("jobs", principal)).values():
                found += json.loads(text)
            found.sort(key=lambda one: str(one["created"]), reverse=True)
        return encode({"items": found})

    async def get(self, principal: Principal, identity: str) -> bytes:
        """Return a job of a login. Raises NotFoundError."""
        return await self._found(principal, identity, cancels=False)

    async def cancel(self, principal: Principal, identity: str) -> bytes:
        """Ask a job to stop, and return it. Raises NotFoundError."""
        return await self._found(principal, identity, cancels=True)

    async def _found(self, principal: Principal, identity: str, *, cancels: bool) -> bytes:
        worker = worker_of(identity)
        if self._calls is None or worker in (0, self._number):
            return self._here(principal, identity, cancels=cancels)
        try:
            text = await self._calls.ask(worker, "job", principal, identity, cancels)
        except CallFailed as error:
            raise HttpError(
                error.message, http=503, next_step=error.next_step, status=STOPPING
            ) from None
        if text is None:
            raise unknown_job(identity)
        return str(text).encode()

    def _here(self, principal: Principal, identity: str, *, cancels: bool) -> bytes:
        job = self._jobs.get(principal, identity)
        if cancels:
            self._jobs.cancel(job)
        return encode(job.as_dict())

    # What other workers ask

    def _answer_list(self, principal: list[Any]) -> str:
        found = [one.as_dict(answer=False) for one in self._jobs.of(principal_from(principal))]
        return encode(found).decode()

    def _answer_one(self, principal: list[Any], identity: str, cancels: bool) -> str | None:
        try:
            return self._here(principal_from(principal), identity, cancels=cancels).decode()
        except NotFoundError:
            return None
