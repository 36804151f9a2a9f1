"""Embedding for one open memory: on demand, and on a background thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from doxa.app.care.background import BackgroundThread
from doxa.app.models import Interrupted, Job, Models
from doxa.base.errors import BusyError, ClosedError, DoxaError, LimitError, ModelError
from doxa.base.limits import JOB_PAUSE_MS, MODEL_OUTAGE_MS
from doxa.store import Store

if TYPE_CHECKING:
    from doxa.models.contract import Embedder
    from doxa.replication.replica import Replica


class EmbeddingThread(BackgroundThread):
    """Embeds what is pending. The thread starts at the first `wake` and never blocks a caller;
    with `enabled` False there is none."""

    name = "doxa-embedding"

    def __init__(
        self, store: Store, models: Models, *, enabled: bool, replica: Replica | None = None
    ) -> None:
        super().__init__()
        self._replica = replica
        self._store, self._models, self._enabled = store, models, enabled
        self.error: ModelError | None = None  # what ended the last run

    def embed(
        self, *, limit: int | None, anew: bool, progress: Callable[[int], None] | None
    ) -> int:
        """Embed here and now; `anew` begins to rebuild all vectors with another model."""
        from doxa.maintenance.embedding import begin_reembedding, embed_pending

        embedder = self._models.embedder
        if embedder is None:
            return 0
        if anew:
            begin_reembedding(self._store, embedder.name)
        job = Job(embedder, progress)
        with suppress(Interrupted), self._once_for_all(job) as shared:
            embed_pending(
                self._store,
                shared,
                former=self._models.former,
                limit=limit,
                stop=self._stopping.is_set,
                progress=job.written,
            )
        if isinstance(job.error, LimitError):
            raise job.error
        self.error = job.error
        return job.done

    @contextmanager
    def _once_for_all(self, job: Job) -> Iterator[Embedder]:
        """On a replica, take what other replicas have embedded."""
        if self._replica is None:
            yield job
            return
        from doxa.app.care.shared_vectors import SharedEmbedder
        from doxa.replication.protocol import FleetLog

        if not isinstance(self._replica.log, FleetLog):
            yield job
            return

        shared = SharedEmbedder(job, self._replica, stop=self._stopping.is_set)
        try:
            yield shared
        finally:
            shared.end()

    def wake(self) -> None:
        if not self._enabled or not self._models.embeds:
            return
        if not self._due.is_set():  # else a pass is to come, and finds what is new
            self._due.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stopping.is_set():
                    self._start()

    def _embed_all(self) -> ModelError | None:
        """Embed what is pending, and return why some of it is still."""
        try:
            self.embed(limit=None, anew=False, progress=None)
        except DoxaError as error:  # others write, or the shared log is away, busy or moving
            passes = isinstance(error, BusyError) or "moved" in error.fields
            if not (passes or self._replica is not None) or isinstance(error, ClosedError):
                raise
            self.error = ModelError(
                f"What is pending waits: {error.message}", next_step=error.next_step, outage=True
            )
        return self.error or self._models.embedder_error

    def _work(self) -> None:
        pause = 1
        while not self._stopping.is_set():
            self._due.wait()
            self._due.clear()
            self._stopping.wait(JOB_PAUSE_MS / 1_000)  # let a burst of writes finish first
            if self._stopping.is_set():
                return
            try:
                with self._store.read():  # a closed memory raises here
                    pass
                error = self._embed_all()
                if error is not None and "outage" in error.fields:
                    # the endpoint may come back
                    self._stopping.wait(MODEL_OUTAGE_MS / 1_000 * pause)
                    pause = min(2 * pause, 32)
                    self._due.set()
                else:
                    pause = 1
            # the thread must not die silently: doctor shows this, and the work stays pending
            except Exception as error:
                self.error = ModelError(
                    f"The embedding thread stopped: {error}",
                    next_step="Fix what it names, then run `doxa embed`.",
                )
                return
