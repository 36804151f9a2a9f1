"""A server of the API that kills itself (SIGKILL) at the Nth Python call of one request: between
any two statements, before and after the commit, and before the answer is sent.

    python api_server.py DATABASE USERS

Everything is imported once; each line of JSON on standard input forks a server, and each answer is
a line on standard output:

    {"request": "k", "at": 1200}    serve, and die at call 1,200 after the request with the
                                    header X-Kill: k began
    {"request": "", "at": 0}        serve, and count instead
    {"port": 40123, "pid": 17}              it listens
    {"request": "k", "calls": 5210}         when counting: what a request took
    {"ended": -9}                           the server is gone
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from doxa.servers.credentials import Credentials
from doxa.servers.http import running_server
from doxa.servers.http.api.app import ApiOptions, VerbApi
from doxa.servers.http.api.operations import operations
from doxa.servers.memory import MemoryDatabase
from tests.fixtures_shared import opened

CALLED = ("call", "c_call")


class Counter:
    """Counts what the threads of this process call while a request is answered, and after it; at
    `at` the process ends."""

    def __init__(self, request: str, at: int) -> None:
        self.request, self.at, self.calls, self.armed = request, at, 0, False

    def seen(self, frame: FrameType, event: str, argument: object) -> None:
        if self.armed and event in CALLED:
            self.calls += 1
            if self.calls == self.at:
                os.kill(os.getpid(), signal.SIGKILL)


def say(**told: object) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


def counted(counter: Counter) -> None:
    """Let the requests of the API arm a counter."""
    answer = VerbApi.answer

    async def armed(self: VerbApi, request: Request) -> Response:
        name = request.headers.get("x-kill", "")
        if name and (not counter.at or name == counter.request):
            counter.calls, counter.armed = 0, True
        try:
            return await answer(self, request)
        finally:
            if name and not counter.at:
                counter.armed = False
                say(request=name, calls=counter.calls)

    VerbApi.answer = armed  # type: ignore[method-assign]


def serve(path: Path, users: Path, life: Mapping[str, Any]) -> None:
    """Serve until somebody kills this process."""
    counter = Counter(life["request"], life["at"])
    counted(counter)
    threading.setprofile(counter.seen)
    with opened(path, embedder=None, project="p") as memory:
        database = MemoryDatabase(memory, project="p")
        options = ApiOptions(rate=0)
        with running_server(database, Credentials(users), api=options) as server:
            say(port=server.port, pid=os.getpid())
            threading.Event().wait()


def main(path: Path, users: Path) -> None:
    operations()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                serve(path, users, json.loads(line))
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        say(ended=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
