"""The verbs of a memory, awaited. Generated from the verb table by doxa.app.twin.

Each call runs on a thread, so that there is one implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Unpack

from doxa.app.asynchronous.session import AsyncSession
from doxa.app.asynchronous.threads import on_thread
from doxa.app.memory import open_memory

if TYPE_CHECKING:
    from pathlib import Path

    from doxa.app.care.growth import Growth
    from doxa.app.config import Config
    from doxa.app.memory import Memory
    from doxa.app.verbs.options import OpenOptions
    from doxa.base.ids import Role
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.embedding import Reembedding
    from doxa.maintenance.erasure_proof import ErasureProof
    from doxa.maintenance.forget import Forgotten
    from doxa.maintenance.holds import LegalHold
    from doxa.models.meter import Spend
    from doxa.models.spending import Spending
    from doxa.store import LogProof, Receipt
    from doxa.store.retention.dropping import Dropped
    from doxa.store.scope.quota import Quota
    from doxa.transfer.types import Imported

_LINES = 500  # of an export that one thread reads at a time


class AsyncMemory(AsyncSession):
    """A Memory whose verbs are awaited. Close it, or use it as an asynchronous context manager."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._memory = memory

    @classmethod
    async def open(
        cls, path: str | Path | None = None, **options: Unpack[OpenOptions]
    ) -> AsyncMemory:
        """Open a memory file, or create it; without a path, the user's own."""
        return cls(await on_thread(open_memory, path, **options))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def config(self) -> Config:
        return self._memory.config

    async def close(self) -> None:
        """Stop background work after its current batch, and close the file."""
        await on_thread(self._memory.close)

    async def session(
        self,
        *,
        actor: str = "",
        role: Role = "agent",
        project: str = "",
        projects: Iterable[str] = (),
        context: Mapping[str, Any] | None = None,
    ) -> AsyncSession:
        """Return a session of another identity on the same file."""
        made = await on_thread(
            self._memory.session,
            actor=actor,
            role=role,
            project=project,
            projects=projects,
            context=context,
        )
        return AsyncSession(made)

    async def export(self) -> AsyncIterator[bytes]:
        """Yield the whole state as JSON lines: every element, version, time and rule."""
        lines = await on_thread(self._memory.export)
        while found := await on_thread(lambda: list(islice(lines, _LINES))):
            for line in found:
                yield line

    async def log(
        self, *, limit: int = 20, after: int = 0, newest_first: bool = True
    ) -> list[Receipt]:
        """List changes with their numbers, times, actors and operations."""
        return await on_thread(
            self._memory.log, limit=limit, after=after, newest_first=newest_first
        )

    async def doctor(self, *, models: bool = False) -> list[HealthCheck]:
        """Examine everything that can be wrong, and say what to do."""
        return await on_thread(self._memory.doctor, models=models)

    async def verify(self, *, progress: Callable[[int], None] | None = None) -> LogProof:
        """Verify the whole log, and compare the state with a replay of it."""
        return await on_thread(self._memory.verify, progress=progress)

    async def has_receipt(self, head: str) -> bool:
        """Return whether the log contains a receipt with this hash."""
        return await on_thread(self._memory.has_receipt, head)

    async def check(self) -> list[str]:
        """Check every invariant of the file; an empty list means that it is sound."""
        return await on_thread(self._memory.check)

    async def backup(
        self, path: str | Path, *, progress: Callable[[int], None] | None = None
    ) -> Path:
        """Write a consistent, verified copy while others read and write."""
        return await on_thread(self._memory.backup, path, progress=progress)

    async def export_to(self, target: str | Path) -> int:
        """Write an export to a file that does not exist yet; return the number of its lines."""
        return await on_thread(self._memory.export_to, target)

    async def import_(
        self, path: str | Path, *, dry_run: bool = False, accept_protected: bool = False
    ) -> Imported:
        """Import an export of doxa: all of it into an empty file, into another what it lacks."""
        return await on_thread(
            self._memory.import_, path, dry_run=dry_run, accept_protected=accept_protected
        )

    async def stats(self) -> dict[str, object]:
        """Return counts and sizes."""
        return await on_thread(self._memory.stats)

    async def growth(self) -> Growth:
        """Return what of the file grows, how fast, and what would trim it; and the last backup."""
        return await on_thread(self._memory.growth)

    async def quota(
        self,
        *,
        items: int | None = None,
        size_bytes: int | None = None,
        writes_per_minute: int | None = None,
    ) -> Quota:
        """Set how much the file may hold, or tell it."""
        return await on_thread(
            self._memory.quota,
            items=items,
            size_bytes=size_bytes,
            writes_per_minute=writes_per_minute,
        )

    async def embed(
        self,
        *,
        limit: int | None = None,
        anew: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Embed what has no vector yet, and return how many memories were embedded."""
        return await on_thread(self._memory.embed, limit=limit, anew=anew, progress=progress)

    async def pending(self, *, in_use: bool = False) -> int:
        """Return how many memories have no vector yet."""
        return await on_thread(self._memory.pending, in_use=in_use)

    async def reembedding(self) -> Reembedding | None:
        """Return the progress of a rebuild with another model; None if there is none."""
        return await on_thread(self._memory.reembedding)

    async def spend(self, *, process: bool = False) -> Spend:
        """Return what was sent to endpoints: calls, tokens and money."""
        return await on_thread(self._memory.spend, process=process)

    async def spending(self, *, days: int = 7) -> Spending:
        """Return what models were used for: calls and tokens by day, purpose and model."""
        return await on_thread(self._memory.spending, days=days)

    async def spend_cap(
        self, purpose: str = "all", *, tokens: int | None = None, calls: int | None = None
    ) -> Spending:
        """Set how much of models a purpose may use in a day, or tell the caps."""
        return await on_thread(self._memory.spend_cap, purpose, tokens=tokens, calls=calls)

    async def flush(self) -> int:
        """Write pending accesses, and finish what a change of policies left to do."""
        return await on_thread(self._memory.flush)

    async def wake(self) -> None:
        """Start the background embedding, if there may be work."""
        return await on_thread(self._memory.wake)

    async def erase(
        self,
        elements: Iterable[str] = (),
        *,
        properties: Iterable[str] = (),
        text: str = "",
        confirm: str = "",
        preview: bool = False,
    ) -> Forgotten:
        """Erase nodes and relationships by id, single properties, or every occurrence of a text."""
        return await on_thread(
            self._memory.erase,
            elements,
            properties=properties,
            text=text,
            confirm=confirm,
            preview=preview,
        )

    async def verify_erased(self, text: str) -> ErasureProof:
        """Look for a text wherever doxa may have written it, and say where it still is."""
        return await on_thread(self._memory.verify_erased, text)

    async def purge(self, source: str, *, confirm: str = "", preview: bool = False) -> Forgotten:
        """Erase everything that came from one source, and what depends on it alone."""
        return await on_thread(self._memory.purge, source, confirm=confirm, preview=preview)

    async def export_subject(self, subject: str, target: str | Path) -> int:
        """Write all that is about a person, or came from a source, to a new file of JSON lines."""
        return await on_thread(self._memory.export_subject, subject, target)

    async def retain(self, *, preview: bool = False) -> Dropped:
        """Drop what the retention policies do not keep, and overwrite it in the file."""
        return await on_thread(self._memory.retain, preview=preview)

    async def hold(
        self,
        name: str,
        kind: Literal["address", "project", "text", "speaker"],
        value: str,
        *,
        reason: str = "",
    ) -> LegalHold:
        """Put an address, a project, a text or a speaker on legal hold."""
        return await on_thread(self._memory.hold, name, kind, value, reason=reason)

    async def release(self, name: str, *, reason: str = "") -> LegalHold:
        """Release a legal hold. Needs the operator role."""
        return await on_thread(self._memory.release, name, reason=reason)

    async def holds(self) -> list[LegalHold]:
        """List the legal holds in force."""
        return await on_thread(self._memory.holds)
