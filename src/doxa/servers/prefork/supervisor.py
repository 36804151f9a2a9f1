"""The supervisor of a server's workers: it opens the listening sockets, starts a process for each
worker, passes calls between them, and starts one that ended again.

    doxa serve --workers 3 ─ supervisor ┬─ worker 1   the memory file, Bolt, HTTP, MCP
         holds the sockets, the counts  ├─ worker 2   the same file and sockets, without MCP
         and state.py; opens no memory  └─ worker 3

The sockets are inherited: there is one queue of connections for all, so that no client is lost with
a worker that ends, and one that is busy takes none. (With SO_REUSEPORT each process has a queue of
its own: the kernel divides by a hash, and what waits in the queue of a killed process is reset.)
A worker is a new Python process, not a fork, since the libraries that a memory uses have threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from doxa.base.limits import SERVE_STOP_MS, WORKER_RESTARTS_ITEMS_MAX, WORKER_RESTARTS_MS
from doxa.servers.prefork.channel import CallFailed, Channel
from doxa.servers.prefork.counters import CounterTable, counter_file
from doxa.servers.prefork.state import ServerState
from doxa.servers.service.hangups import take_hangups
from doxa.servers.service.notify import ServiceManager

ONE_WORKER_ONLY = frozenset(("mcp",))  # served by the first: its sessions live in a process
_LOG = logging.getLogger("doxa.serve")
_RELAY_S, _RELOAD_S = 2.0, 10.0
_DELAY_FIRST_S, _DELAY_MOST_S = 0.1, 5.0
_STOP_MORE_S = 2.0  # after which a worker that does not end is killed
_OPEN_S = 30.0  # after which those that are ready accept, if one of the others is not


class _Process:
    """A worker as the supervisor sees it."""

    def __init__(self, number: int, process: Process, channel: Channel) -> None:
        self.number, self.process, self.channel = number, process, channel
        self.ready = False
        self.tasks: list[asyncio.Task[None]] = []


class Supervisor:
    """The workers of one server, from the start of the first to the end of the last."""

    def __init__(
        self,
        command: Sequence[str],
        plan: Mapping[str, Any],
        *,
        workers: int,
        listeners: Mapping[str, Sequence[socket.socket]],
        ready: Callable[[dict[str, str], str], None],
        manager: ServiceManager | None = None,
        delay_s: float = _DELAY_FIRST_S,
    ) -> None:
        """`command` starts a worker; it gets the handle of its channel as the last argument.
        `ready` is called with addresses and the path of the memory when all listen. A worker that
        ended is started again after `delay_s`, doubled for each that ended in the last minute."""
        self._delay_s = delay_s
        self._command, self._plan, self._count = list(command), plan, workers
        self._listeners, self._show = listeners, ready
        self._manager = manager or ServiceManager()
        self._table = CounterTable(counter_file())
        self._state = ServerState(http="http" in listeners)
        self._workers: dict[int, _Process] = {}
        self._restarts: deque[float] = deque()
        self._restarted = 0
        self._first_ready: tuple[dict[str, str], str] | None = None
        self._opened = False
        self._code = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked, self._changed = asyncio.Event(), asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal, and return the exit code: 0 if all workers ended in order."""
        self._handle_signals()
        try:
            await self._start(1)  # alone, so that what is wrong is said once, and a file made once
            await self._until(lambda: self._first_ready is not None)
            if not self._asked.is_set():
                for number in range(2, self._count + 1):
                    await self._start(number)
                await self._open()
            if not self._asked.is_set():
                assert self._first_ready is not None
                self._show(*self._first_ready)
                self._manager.ready(f"listening, {self._count} workers")
                take_hangups()  # before, not every worker could be asked
                if self._manager.watchdog_s:
                    self._keep(asyncio.create_task(self._watch()))
            await self._asked.wait()
        finally:
            await self._stop()
        return self._code

    async def _open(self) -> None:
        """Let the workers accept when all are ready, or after a while those that are; return when
        all are."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until(self._all_ready), _OPEN_S)
        self._opened = True
        await self._ask_all("open")
        await self._until(self._all_ready)

    def _all_ready(self) -> bool:
        found = self._workers.values()
        return len(found) == self._count and all(one.ready for one in found)

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not reached() and not self._asked.is_set():
            self._changed.clear()
            await self._changed.wait()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ask_to_stop)
        loop.add_signal_handler(
            signal.SIGHUP, lambda: self._keep(asyncio.create_task(self._reload()))
        )

    def _ask_to_stop(self) -> None:
        self._asked.set()
        self._changed.set()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Processes

    async def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        passed = {
            interface: [one.fileno() for one in sockets]
            for interface, sockets in self._listeners.items()
            if number == 1 or interface not in ONE_WORKER_ONLY
        }
        handles = [
            theirs.fileno(),
            self._table.handle,
            *(n for one in passed.values() for n in one),
        ]
        handle, stdin = str(theirs.fileno()), asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, handle, pass_fds=handles, stdin=stdin
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        worker = _Process(number, process, Channel(partial(self._answer, number)))
        self._workers[number] = worker
        await worker.channel.open(ours)
        with suppress(CallFailed, OSError):
            worker.channel.begin(
                {
                    "number": number,
                    "workers": self._count,
                    "counters": self._table.handle,
                    "listeners": passed,
                    "plan": dict(self._plan),
                }
            )
        worker.tasks = [
            asyncio.create_task(worker.channel.run()),
            asyncio.create_task(self._follow(worker)),
        ]

    async def _follow(self, worker: _Process) -> None:
        code = await worker.process.wait()
        worker.channel.close()
        self._table.clear(worker.number)
        self._workers.pop(worker.number, None)
        self._changed.set()
        if self._asked.is_set():
            early = code == -signal.SIGTERM and not worker.ready  # it had nothing to end yet
            self._code = self._code or int(code != 0 and not early)
            return
        if self._first_ready is None:  # it never served, and has said why
            self._code = code if code > 0 else 1
            self._ask_to_stop()
            return
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        await self._start_again(worker.number, f"ended {how}")

    async def _start_again(self, number: int, why: str) -> None:
        """Start a worker in place of one that ended, until it can be, or too many had to be."""
        while True:
            now = time.monotonic()
            while self._restarts and self._restarts[0] < now - WORKER_RESTARTS_MS / 1000:
                self._restarts.popleft()
            self._restarts.append(now)
            if len(self._restarts) > WORKER_RESTARTS_ITEMS_MAX:
                _LOG.error("worker %d %s; too many have, so the server ends", number, why)
                self._code = 1
                self._ask_to_stop()
                return
            _LOG.error("worker %d %s; it is started again", number, why)
            delay = self._delay_s * 2 ** (len(self._restarts) - 1)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), min(delay, _DELAY_MOST_S))
            if self._asked.is_set():
                return
            self._restarted += 1
            try:
                await self._start(number)
                return
            # such as too little memory, or too many processes, threads or files
            except (OSError, RuntimeError) as error:
                self._restarted -= 1
                why = f"could not be started: {error}"

    async def _stop(self) -> None:
        """Take no more connections, and let every worker end in order."""
        self._asked.set()
        self._manager.stopping()
        for sockets in self._listeners.values():
            for one in sockets:
                one.close()
        left = list(self._workers.values())
        for worker in left:
            with suppress(ProcessLookupError):
                worker.process.terminate()
        ends = [asyncio.create_task(worker.process.wait()) for worker in left]
        if ends:
            _, late = await asyncio.wait(ends, timeout=SERVE_STOP_MS / 1000 + _STOP_MORE_S)
            if late:
                self._code = 1
                for worker in left:
                    with suppress(ProcessLookupError):
                        worker.process.kill()
                await asyncio.wait(late)
            await asyncio.gather(*(worker.tasks[1] for worker in left))
        for task in [*self._tasks, *(worker.tasks[0] for worker in left)]:
            task.cancel()

    # Calls

    async def _answer(self, number: int, name: str, args: list[Any], to: int) -> Any:
        if to:
            other = self._workers.get(to)
            if other is None or not other.ready:
                raise CallFailed(
                    f"Worker {to} has ended, and what it held with it.",
                    next_step="Begin again; another worker serves.",
                )
            return await other.channel.call(name, *args, timeout_s=_RELAY_S)
        if name == "others":
            return await self._ask_all(args[0], *args[1:], but=number)
        if name == "ready":
            self._workers[number].ready = True
            self._first_ready = self._first_ready or (args[0], args[1])
            self._changed.set()
            if self._opened:
                self._keep(asyncio.create_task(self._let_accept(self._workers[number])))
            return None
        if name == "workers":
            return [sum(one.ready for one in self._workers.values()), self._restarted]
        return self._state.answer(name, args)

    async def _let_accept(self, worker: _Process) -> None:
        with suppress(CallFailed, OSError):  # it has ended, and another takes its place
            await worker.channel.call("open", timeout_s=_RELAY_S)

    async def _ask_all(
        self, name: str, *args: Any, but: int = 0, timeout_s: float = _RELAY_S
    ) -> dict[str, Any]:
        """Return the answers of those workers that answer, by number."""
        asked = [one for one in self._workers.values() if one.ready and one.number != but]
        found = await asyncio.gather(
            *(one.channel.call(name, *args, timeout_s=timeout_s) for one in asked),
            return_exceptions=True,
        )
        return {
            str(one.number): answer
            for one, answer in zip(asked, found, strict=True)
            if not isinstance(answer, BaseException)
        }

    async def _reload(self) -> None:
        self._manager.reloading()
        answers = await self._ask_all("reload", timeout_s=_RELOAD_S)
        texts = set(answers.values())
        said = (
            next(iter(texts))
            if len(texts) == 1
            else "; ".join(f"worker {number}: {text}" for number, text in sorted(answers.items()))
        )
        self._manager.ready(said or "no worker answered")

    async def _watch(self) -> None:
        """Say that the server is alive as long as every worker that serves answers."""
        every = self._manager.watchdog_s
        while True:
            asked = {str(one.number) for one in self._workers.values() if one.ready}
            if asked and asked <= (await self._ask_all("ping", timeout_s=every)).keys():
                self._manager.alive()
            await asyncio.sleep(every)


def worker_command() -> list[str]:
    """Return the command of a worker, without the handle."""
    return [sys.executable, "-P", "-m", "doxa.cli.workers"]


def supervise(supervisor: Supervisor) -> int:
    """Run a supervisor on this thread until a signal. Returns the exit code."""
    with suppress(OSError):
        os.set_blocking(sys.stderr.fileno(), True)
    return asyncio.run(supervisor.run())
