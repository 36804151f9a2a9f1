"""A store as sessions that are bound to projects use it: the same file through connections of its
own, which read the views of these projects and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from doxa.base.errors import InputError, RoleError
from doxa.store.declared import declared
from doxa.store.file.engine import Engine
from doxa.store.scope.binding import ProjectBinding
from doxa.store.scope.views import install
from doxa.store.store import Store
from doxa.store.visibility.access import AccessRecord


class BoundStore(Store):
    """Reads and writes of `projects` alone. What concerns the whole file is its `whole`'s to do."""

    def __init__(self, whole: Store, projects: Sequence[str]) -> None:
        if not projects:
            raise InputError(
                "A session is bound to one project or more.",
                next_step="Name a project.",
                field="projects",
            )
        self.whole = whole
        self.bound = self.binding = ProjectBinding(tuple(dict.fromkeys(projects)))
        self.path, self.clock = whole.path, whole.clock
        self.read_only, self.decay_enabled = whole.read_only, whole.decay_enabled
        self._expressions = whole._expressions
        self._check_before_commit = whole._check_before_commit
        self.accesses = whole.accesses
        self.commits = whole.commits
        self._flushing = whole._flushing
        self.shared = whole.shared
        self._engine = Engine(
            self.path,
            read_only=self.read_only,
            prepared=partial(install, projects=self.bound.projects),
        )
        self._engine.synchronous = whole._engine.synchronous
        self._catalogue_version = -1
        self._declared = declared({})
        self._known = {}
        self._local = threading.local()

    @property
    def on_due(self) -> Callable[[bool], None]:  # type: ignore[override]
        return self.whole.on_due

    def require_open(self) -> None:
        self.whole.require_open()
        super().require_open()

    def close(self) -> None:
        """Close the connections; the file stays open for others."""
        self._engine.close()

    def note(self, noted: AccessRecord) -> None:
        self.whole.note(noted)

    def flush_accesses(self, *, stopped: Callable[[], bool] | None = None) -> int:
        return self.whole.flush_accesses(stopped=stopped)

    def sweep(self) -> bool:
        return self.whole.sweep()

    def require_whole(self, what: str) -> NoReturn:
        self._refuse(what)

    def unbound(self) -> Store:
        return self.whole

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Path:
        self._refuse("a backup")

    def compact(self) -> None:
        self._refuse("compacting")

    def scrub(self) -> str:
        return self.whole.scrub()

    def left_to_scrub(self) -> str:
        return ""

    def _refuse(self, what: str) -> NoReturn:
        raise RoleError(
            f"This session is bound to {self.bound.named}; {what} concerns the whole file.",
            next_step="Ask the operator, whose session is not bound.",
            projects=list(self.bound.projects),
        )
