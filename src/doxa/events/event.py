"""What an event is, and the names that there are."""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.base.clock import format_time

NOUNS = (
    "project",
    "space",
    "item",
    "revision",
    "artifact",
    "thread",
    "exchange",
    "conflict",
    "entity",
    "mention",
)
# What happens to an addressed node beyond being made, changed, deleted or imported.
_OWN = {
    "item": ("item.deprecated", "item.restored"),
    "exchange": ("exchange.deprecated", "exchange.restored"),
    "revision": ("revision.tagged", "revision.untagged"),
    "conflict": ("conflict.decided", "conflict.reopened"),
}
_MADE = {"exchange": "exchange.added", "conflict": "conflict.opened"}


def made_name(noun: str) -> str:
    """Return the name of the event by which something new is announced."""
    return _MADE.get(noun, f"{noun}.created")


NAMES: tuple[str, ...] = (
    *(
        name
        for noun in (*NOUNS, "node", "edge")
        for name in (
            made_name(noun),
            *_OWN.get(noun, ()),
            f"{noun}.changed",
            f"{noun}.deleted",
            f"{noun}.imported",
        )
    ),
    "edge.hidden",
    "edge.restored",
    "bundle.added",
    "bundle.removed",
    "memory.hidden",
    "memory.restored",
    "element.erased",
    "catalogue.changed",
)


class Event(NamedTuple):
    """One thing that a committed transaction did. It holds addresses, and no content: what is to be
    known of an element is read where it is, as far as it is still there.

    `id` is "<change>:<log entry>" and never changes; `seq` is the number of the log entry. `time`
    is in ns UTC, and like `actor`, `role` and `op` that of the transaction. `kref` is the address
    of what the event is about, for an edge that of its source. `previous` is the one before: of a
    new revision the one numbered before it, of a tag the one it pointed to. `erased`: the content
    of the log entry was erased, so that only its kind is known.
    """

    id: str
    seq: int
    change: int
    name: str
    time: int
    actor: str
    role: str
    op: str
    element: int  # the number of the node or edge; 0: neither
    kref: str | None = None
    project: str | None = None
    kind: str | None = None
    labels: tuple[str, ...] = ()
    previous: str | None = None
    tag: str | None = None
    type: str | None = None  # of an edge
    source: str | None = None  # the addresses that an edge or tag joins
    target: str | None = None
    decision: str | None = None  # of a conflict
    rule: str | None = None  # of the catalogue
    erased: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it: times as ISO 8601, and nothing that is not known."""
        found: dict[str, Any] = {
            name: value
            for name, value in zip(self._fields, self, strict=True)
            if value is not None and value != () and value is not False
        }
        if self.labels:
            found["labels"] = list(self.labels)
        return found | {"time": format_time(self.time)}


def kind_of(kref: str | None) -> str | None:
    """Return the kind that an address names; None for a project or space."""
    if kref is None:
        return None
    name = kref.partition("?")[0].rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else None
