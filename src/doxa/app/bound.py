"""An opened file as sessions that are bound to projects have it.

It shares the models and the background threads of the whole file, and nothing that is made of its
content: the store reads through the views of these projects, and recall indexes and query plans are
its own. What concerns the whole file is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from doxa.app.file import MemoryFile
from doxa.base.errors import RoleError
from doxa.store.scope.bound_store import BoundStore

if TYPE_CHECKING:
    from doxa.app.care.growth import Growth
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.embedding import Reembedding
    from doxa.models.meter import Spend
    from doxa.models.spending import Spending
    from doxa.store import Identity, LogProof
    from doxa.transfer.jsonl import Imported
    from doxa.working import WorkingMemory


class BoundFile(MemoryFile):
    """The file as far as these projects go. Safe to share between threads."""

    def __init__(self, whole: MemoryFile, projects: Sequence[str]) -> None:
        self.config = whole.config
        self._whole = whole
        self._models = whole._models
        self.ledger = whole.ledger
        self._build_queries = whole._build_queries
        self.maintenance, self._embedding = whole.maintenance, whole._embedding
        self.store: BoundStore = BoundStore(whole.store, projects)
        self.replica = None  # how far it is counts what others wrote
        self._recaller = None
        self._queries = None
        self._building = threading.Lock()
        self.turn_logs = whole.turn_logs  # one learner for each agent and project

    @property
    def projects(self) -> tuple[str, ...]:
        return self.store.bound.projects

    def close(self) -> None:
        """Close its connections; the file stays open."""
        self.store.close()

    def _open_working(self) -> WorkingMemory:
        return self._whole._open_working()

    def wake(self) -> None:
        self._whole.wake()

    def flush(self) -> int:
        """Write pending accesses. Returns 0: how many there were is not these projects' to know."""
        self.store.require_open()
        self._whole.flush()
        return 0

    def pending(self, *, in_use: bool = False) -> int:
        """Return how many memories of these projects have no vector yet."""
        with self.store.read() as snapshot:
            return int(
                snapshot.rows("SELECT count(*) FROM doc WHERE node > 0 AND vectors = 0")[0][0]
            )

    def reembedding(self) -> Reembedding | None:
        """Return None: how far a rebuild has come is counted over the whole file."""
        return None

    def stats(self) -> dict[str, object]:
        """Return the counts of these projects. Sizes are those of the file, and left out."""
        found = super().stats()
        with self.store.read() as snapshot:
            rows = snapshot.rows(
                "SELECT (SELECT count(*) FROM receipt), (SELECT count(*) FROM log)"
            )
        found["changes"], found["log_entries"] = rows[0]
        return {name: value for name, value in found.items() if name not in ("path", "bytes")}

    # What concerns the whole file

    def embed(
        self,
        *,
        limit: int | None = None,
        anew: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        self._refuse("embed")

    def spend(self, *, process: bool = False) -> Spend:
        self._refuse("spend")

    def spending(self, *, days: int = 7) -> Spending:
        self._refuse("spending")

    def growth(self) -> Growth:
        self._refuse("growth")

    def verify(self, *, progress: Callable[[int], None] | None = None) -> LogProof:
        self._refuse("verify")

    def doctor(self, *, models: bool = False) -> list[HealthCheck]:
        self._refuse("doctor")

    def check(self) -> list[str]:
        self._refuse("check")

    def backup(self, path: str | Path, *, progress: Callable[[int], None] | None = None) -> Path:
        self._refuse("backup")

    def export(self) -> Iterator[bytes]:
        self._refuse("export")

    def export_to(self, target: str | Path) -> int:
        self._refuse("export_to")

    def _import(
        self,
        path: str | Path,
        identity: Identity,
        *,
        dry_run: bool = False,
        accept_protected: bool = False,
    ) -> Imported:
        self._refuse("import")

    def _refuse(self, verb: str) -> NoReturn:
        raise RoleError(
            f"This session is bound to {self.store.bound.named}; {verb} concerns the whole file.",
            next_step="Ask the operator, whose session is not bound.",
            projects=list(self.projects),
        )
