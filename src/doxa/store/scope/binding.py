"""Where a session that is bound to projects may write, checked where each node is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from doxa.base.errors import DoxaError, RoleError
from doxa.base.values import Properties
from doxa.store.apply import project_of

_NAMED = re.compile(r"kref://([^/?\s'\",)\]]+)")
PROJECT_RULES = ("constraints", "entrenchment")  # the catalogue's entries that name a project

# The catalogue's entries of what lies outside of the file and belongs to no project: folders.
WHOLE_ENTRIES = ("claims:roots",)


class ProjectBinding(NamedTuple):
    """The projects that a session sees and writes; its own nodes without an address lie in the
    first."""

    projects: tuple[str, ...]

    def check(self, labels: Iterable[str], props: Properties, searched: Collection[str]) -> None:
        """Refuse a node that would lie in another project. Raises RoleError."""
        kref, named = props.get("kref"), props.get("project")
        if kref is not None and project_of(kref) not in self.projects:
            raise self.refusal(f"the address {str(kref)[:80]}")
        if (
            named is not None
            and named not in self.projects
            and any(label in searched for label in labels)
        ):
            raise self.refusal(f"the project {str(named)[:80]!r}")

    def may_declare(self, name: str) -> bool:
        """Return whether a catalogue entry is about one of these projects alone."""
        kind, _, project = name.partition(":")
        return kind in PROJECT_RULES and project in self.projects

    def is_named_beyond(self, error: DoxaError) -> bool:
        """Return whether an error names an address outside of these projects."""
        said = f"{error} {error.fields}"
        return any(name not in self.projects for name in _NAMED.findall(said))

    def refusal(self, what: str) -> RoleError:
        """Return the error for a write outside of these projects. It says the same whether there is
        anything or not."""
        return RoleError(
            f"This session is bound to {self.named}; it does not write {what}.",
            next_step=f"Write to {self.named}, or ask the operator for another session.",
            projects=list(self.projects),
        )

    @property
    def named(self) -> str:
        many = len(self.projects) > 1
        return f"the project{'s' if many else ''} {', '.join(self.projects)}"


def project_stated(
    binding: ProjectBinding | None,
    labels: Iterable[str],
    props: Properties,
    searched: Collection[str],
) -> str | None:
    """Return the project of a new node that no address names: the first of the session's, or that
    by which its search row is kept. None: the node lies in none."""
    if props.get("kref") is not None:
        return None
    if binding is not None:
        return binding.projects[0]
    named = props.get("project")
    if isinstance(named, str) and any(label in searched for label in labels):
        return named
    return None
