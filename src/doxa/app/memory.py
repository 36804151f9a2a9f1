"""The composition root: a Config becomes a Memory, and every interface uses a Session of it.

    with doxa.open("memory.db") as memory:
        memory.remember("We deploy on Thursdays", project="shop")
        memory.recall("when do we deploy?", project="shop").hits

A Session holds an identity (actor, role) and a project. Memory is the opened file with its default
session; `memory.session(...)` makes others. Everything here is synchronous; AsyncMemory runs the
same calls on threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from doxa.app.bound import BoundFile
from doxa.app.care.maintenance import MaintenanceThread
from doxa.app.care.shared import is_shared, shared_place
from doxa.app.checks import deprecated
from doxa.app.config import Config, default_path
from doxa.app.file import SPEND_CAPS, MemoryFile
from doxa.app.retention import Keeping
from doxa.app.session import Session
from doxa.base.errors import InputError, RoleError
from doxa.base.ids import ROLES, Role
from doxa.belief.kref import check_name
from doxa.ingestion import arguments
from doxa.models.spending import Spending, check_purpose, parse_caps
from doxa.store import Identity
from doxa.store.file.engine import closed
from doxa.store.scope.quota import QUOTA, Quota, parse_quota

if TYPE_CHECKING:
    from doxa.app.verbs.options import OpenOptions
    from doxa.query.engine import QueryEngine
    from doxa.transfer.types import Imported


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
        self._bound: dict[tuple[str, ...], BoundFile] = {}  # by projects
        self._binding = threading.Lock()
        Session.__init__(self, self, Identity(config.actor, config.role), config.project)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop background work after its current batch, and close the file.

        What is not embedded yet stays pending.
        """
        self.closing.set()
        with self.following:  # a shift that has begun ends first
            pass
        with self._binding:
            bound = list(self._bound.values())
        try:
            for one in bound:
                one.close()
        finally:
            super().close()

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
        projects: Iterable[str] = (),
        context: Mapping[str, Any] | None = None,
    ) -> Session:
        """Return a session of another identity on the same file.

        It never has more power than the memory was opened with. Queries and policies see
        `context`, such as {"session": "s1", "agent": "planner"}, as $_session and so on. With
        `projects` it is bound to these: everything else is as if it did not exist.
        """
        arguments.check_role(role)
        arguments.text(actor, "actor")
        arguments.project(project)
        named = arguments.texts(projects, "projects")
        if ROLES.index(role) > ROLES.index(self.config.role):
            raise RoleError(
                f"This memory was opened as {self.config.role}; it cannot give a session the role"
                f" {role}.",
                next_step=f"Open it with role={role!r}.",
                role=role,
            )
        identity = Identity(actor or self.identity.actor, role)
        if not named:
            return Session(self, identity, project or self.project, context)
        bound = self._bound_to(named)
        own = check_name(project, what="project") if project else bound.projects[0]
        if own not in bound.projects:
            raise bound.store.bound.refusal(f"to the project {own[:80]!r}")
        return Session(bound, identity, own, context)

    def _bound_to(self, projects: Sequence[str]) -> BoundFile:
        """Return the file as sessions of these projects have it, one for all of them."""
        key = tuple(dict.fromkeys(check_name(name, what="project") for name in projects))
        with self._binding:
            found = self._bound.get(key)
            if found is None:
                self.store.require_open()
                if self.closing.is_set():
                    raise closed(self.store.path)
                found = self._bound[key] = BoundFile(self, key)
        return found

    def quota(
        self,
        *,
        items: int | None = None,
        size_bytes: int | None = None,
        writes_per_minute: int | None = None,
    ) -> Quota:
        """Set how much the file may hold, or tell it.

        What is not given stays; 0 takes a limit away. Operators set it; each commit is checked.
        """
        given = {
            "items": items,
            "size_bytes": size_bytes,
            "writes_per_minute": writes_per_minute,
        }
        for name, value in given.items():
            arguments.whole(value, name, optional=True)
        with self.store.read() as snapshot:
            held = parse_quota(snapshot.catalogue(QUOTA))
        told = {name: value for name, value in given.items() if value is not None}
        if not told:
            return held
        limits = {name: value for name, value in (asdict(held) | told).items() if value}
        with self.store.write(self.identity, op="quota") as tx:
            tx.set_catalogue(QUOTA, limits or None)
        return parse_quota(limits)

    def spend_cap(
        self, purpose: str = "all", *, tokens: int | None = None, calls: int | None = None
    ) -> Spending:
        """Set how much of models a purpose may use in a day, or tell the caps.

        Purposes are embed, recall, consolidate, dream, enrich, doctor, other, and all of them
        together. What is not given stays; 0 takes a cap away. Operators set it. A call that may
        exceed a cap is not sent.
        """
        check_purpose(purpose)
        given = {"tokens": tokens, "calls": calls}
        for name, value in given.items():
            arguments.whole(value, name, optional=True)
        told = {name: value for name, value in given.items() if value is not None}
        if told:
            with self.store.write(self.identity, op="spend_cap") as tx:
                held = dict(tx.catalogue(SPEND_CAPS) or {})
                limits = dict(held.get(purpose) or {}) | told
                held[purpose] = {name: value for name, value in limits.items() if value}
                caps = {name: one for name, one in held.items() if one}
                parse_caps(caps)
                tx.set_catalogue(SPEND_CAPS, caps or None)
        return self.spending(days=1)

    def import_(
        self, path: str | Path, *, dry_run: bool = False, accept_protected: bool = False
    ) -> Imported:
        """Import an export of doxa: all of it into an empty file, into another what it lacks.

        Everything keeps its address; what exists already is skipped. A file that brings verified
        or approved beliefs is refused with ConfirmationError unless `accept_protected`; only an
        operator may accept them. For conversations, use `ingest`.
        """
        return self._import(path, self.identity, dry_run=dry_run, accept_protected=accept_protected)


def _query_engine() -> QueryEngine:
    from doxa.app.procedures import register
    from doxa.query.engine import QueryEngine
    from doxa.query.procedures.builtin import builtin
    from doxa.query.procedures.registry import Registry

    registry = builtin(Registry())
    register(registry)
    return QueryEngine(registry)


def open_memory(path: str | Path | None = None, **options: Unpack[OpenOptions]) -> Memory:
    """Open a memory file, or create it; without a path, the user's own.

    The URL of a shared log, such as `postgresql://host/db`, opens a replica of a tenant of it."""
    given: dict[str, Any] = dict(options)
    if path is not None and is_shared(path):
        place = shared_place(path, given)
    else:
        place = arguments.path(path, "path") if path is not None else default_path()
    if path is None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise arguments.unusable(place.parent, error) from None
    if given.get("csv_folder") is not None:
        given["csv_folder"] = arguments.path(given["csv_folder"], "csv_folder")
    known = [name for name in Config.__dataclass_fields__ if name not in ("path", "shared")]
    unknown = sorted(given.keys() - {*known, "shared"})
    if unknown:
        raise InputError(
            f"open has no option {', '.join(unknown)[:200]}.",
            next_step=f"Use {', '.join(known)}.",
            field=unknown[0],
        )
    return Memory(Config(place, **given))
