"""A cache of worker threads, one per connection at a time, because a database transaction belongs
to its thread and opening a file is expensive.

The executors of the standard library wait for their threads at interpreter exit. These threads are
daemons, so that a statement that does not end cannot keep the process alive. The database rolls
back what such a thread left open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class Workers:
    """Runs each job on a separate thread. The caller limits their number."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job | None]] = []
        self._made = 0
        self._closed = False

    def start(self, job: Job) -> None:
        """Run a job on an idle thread, or on a new one."""
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
        """Stop every thread after its current job."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _loop(self, inbox: SimpleQueue[Job | None]) -> None:
        while (job := inbox.get()) is not None:
            job()
            del job  # would otherwise keep the last connection alive until the next job
            with self._lock:
                if self._closed:
                    return
                self._idle.append(inbox)
