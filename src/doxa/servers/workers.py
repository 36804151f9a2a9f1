"""Threads that are kept, one for each connection at a time, because a database transaction belongs
to its thread and opening files costs.

The standard library's executor waits for its threads when the interpreter ends; these are daemons,
so that a statement that does not end cannot keep a process alive. The database undoes what such a
thread left open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class Workers:
    """Runs jobs, each on a thread of its own. The caller bounds how many."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job | None]] = []
        self._made = 0
        self._closed = False

    def start(self, job: Job) -> None:
        """Run a job on a thread that is free, or on a new one."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
            if inbox is None:
                inbox = SimpleQueue()
                self._made += 1
                threading.Thread(
                    target=self._loop, args=(inbox,), name=f"{self._name}-{self._made}", daemon=True
                ).start()
        inbox.put(job)

    def close(self) -> None:
        """Let every thread end when its job has."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _loop(self, inbox: SimpleQueue[Job | None]) -> None:
        while (job := inbox.get()) is not None:
            job()
            del job  # or it would keep the last connection until the next
            with self._lock:
                if self._closed:
                    return
                self._idle.append(inbox)
