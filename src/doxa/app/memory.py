"""The composition root: a Config becomes a Memory, and every interface uses a Session of it.

    with doxa.open("memory.db") as memory:
        memory.remember("We deploy on Thursdays", project="shop")
        memory.recall("when do we deploy?", project="shop").hits

A Session holds an identity (actor, role) and a project. Memory is the opened file with its default
session; `memory.session(...)` makes others. Everything here is synchronous; AsyncMemory runs the
same calls on threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from doxa.app.checks import deprecated
from doxa.app.config import Config, default_path
from doxa.app.file import MemoryFile
from doxa.app.maintenance import MaintenanceThread
from doxa.app.retention import Keeping
from doxa.app.session import Session
from doxa.base.errors import InputError, RoleError
from doxa.base.ids import ROLES, Role
from doxa.ingestion import arguments
from doxa.store import Identity

if TYPE_CHECKING:
    from doxa.app.verbs.options import OpenOptions
    from doxa.query.engine import QueryEngine
    from doxa.transfer.jsonl import Imported


class Memory(Keeping, MemoryFile, Session):
    """An opened memory file with its default session. Close it, or use it as a context manager.
    Safe to share between threads."""

    def __init__(self, config: Config) -> None:
        if not isinstance(config, Config):
            raise InputError(
                f"A memory is opened from a Config; this is {type(config).__name__}.",
                next_step="Use doxa.open(path).",
                field="config",
            )
        MemoryFile.__init__(self, config, _query_engine)
        Session.__init__(self, self, Identity(config.actor, config.role), config.project)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def memory(self) -> Memory:
        return self

    @property
    def upkeep(self) -> MaintenanceThread:
        """Deprecated name of `maintenance`."""
        deprecated("upkeep", "maintenance")
        return self.maintenance

    def session(
        self,
        *,
        actor: str = "",
        role: Role = "agent",
        project: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> Session:
        """Return a session of another identity on the same file.

        It never has more power than the memory was opened with. Queries and policies see
        `context`, such as {"session": "s1", "agent": "planner"}, as $_session and so on.
        """
        arguments.check_role(role)
        arguments.text(actor, "actor")
        arguments.project(project)
        if ROLES.index(role) > ROLES.index(self.config.role):
            raise RoleError(
                f"This memory was opened as {self.config.role}; it cannot give a session the role"
                f" {role}.",
                next_step=f"Open it with role={role!r}.",
                role=role,
            )
        return Session(
            self, Identity(actor or self.identity.actor, role), project or self.project, context
        )

    def import_(self, path: str | Path) -> Imported:
        """Import an export of doxa, each thing under the address it had.

        What exists already is skipped. For conversations, use `ingest`.
        """
        return self._import(path, self.identity)


def _query_engine() -> QueryEngine:
    from doxa.app.procedures import register
    from doxa.query.engine import QueryEngine
    from doxa.query.procedures.builtin import builtin
    from doxa.query.procedures.registry import Registry

    registry = builtin(Registry())
    register(registry)
    return QueryEngine(registry)


def open_memory(path: str | Path | None = None, **options: Unpack[OpenOptions]) -> Memory:
    """Open a memory file, or create it; without a path, the user's own."""
    place = arguments.path(path, "path") if path is not None else default_path()
    if path is None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise arguments.unusable(place.parent, error) from None
    given: dict[str, Any] = dict(options)
    if given.get("csv_folder") is not None:
        given["csv_folder"] = arguments.path(given["csv_folder"], "csv_folder")
    known = [name for name in Config.__dataclass_fields__ if name != "path"]
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise InputError(
            f"open has no option {', '.join(unknown)[:200]}.",
            next_step=f"Use {', '.join(known)}.",
            field=unknown[0],
        )
    return Memory(Config(place, **given))
