"""A background thread of an open memory: it starts with the first work and stops at the close."""

from __future__ import annotations

import atexit
import threading
import weakref
from abc import ABC, abstractmethod

from doxa.base.limits import JOB_STOP_S
from doxa.base.run_slot import use_any_processor


class BackgroundThread(ABC):
    """One thread, `name`, that waits for `_due`. A subclass defines its loop, `_work`, which ends
    when `_stopping` is set."""

    name: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._due = threading.Event()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End the thread after its current batch."""
        self._stopping.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join(timeout=JOB_STOP_S)
            self._thread = None

    def _start(self) -> None:
        # A thread that is within a library of another language when the interpreter ends aborts
        # the process. So threads of memories that nobody closed are ended first.
        atexit.register(_stop, weakref.ref(self))
        self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
        use_any_processor()
        self._thread.start()

    @abstractmethod
    def _work(self) -> None: ...


def _stop(held: weakref.ref[BackgroundThread]) -> None:
    thread = held()
    if thread is not None:
        thread.stop()
