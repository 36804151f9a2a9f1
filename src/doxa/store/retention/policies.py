"""Retention policies: how long past versions, log payloads and access notes are kept.

Catalogue entry   retention:<name>  {"edge": bool, "names": [labels or types; empty = all],
                                     "project": name or null, "past": ns or null, "log": ns or null,
                                     "accesses": ns or null}

A policy with a project is about nodes with an address in it, and about edges that leave one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

PREFIX = "retention:"
PARTS = ("past", "log", "accesses")


class RetentionPolicy(NamedTuple):
    """One policy; spans in ns, None forever."""

    name: str
    edge: bool
    names: frozenset[str]
    project: str | None
    past: int | None
    log: int | None
    accesses: int | None

    def covers(self, names: Collection[str], kref: object) -> bool:
        """Return whether a version is covered: its labels, or type, and the address of the node
        or of the edge's first end."""
        fits = not self.names.isdisjoint(names) if self.edge else self.names <= set(names)
        if self.names and not fits:
            return False
        if self.project is None:
            return True
        base = f"kref://{self.project}"
        return isinstance(kref, str) and (kref == base or kref.startswith(base + "/"))


def policies_of(catalogue: Mapping[str, Any]) -> list[RetentionPolicy]:
    """Return the retention policies of a catalogue, by name."""
    return [
        RetentionPolicy(
            name.removeprefix(PREFIX),
            bool(value["edge"]),
            frozenset(value["names"]),
            value["project"],
            value["past"],
            value["log"],
            value["accesses"],
        )
        for name, value in sorted(catalogue.items())
        if name.startswith(PREFIX)
    ]
