"""The values of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

AuditKind = Literal["junk", "duplicate", "stale", "echo", "uncovered"]
AUDIT_KINDS: tuple[AuditKind, ...] = get_args(AuditKind)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One belief that is at fault, and why."""

    kref: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class AuditShare:
    """How many of the beliefs examined are at fault in one way. `of` is how many could be: all that
    were examined, for `uncovered` the derived ones. `findings` are the first of them."""

    kind: AuditKind
    count: int
    of: int
    findings: tuple[AuditFinding, ...] = ()

    @property
    def share(self) -> float:
        """From 0 to 1; 0 where there is nothing that could be at fault."""
        return self.count / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class MemoryAudit:
    """What an audit found. `beliefs` are current, `derived` those of them that rules, a model or a
    job read in a conversation; `examined` is the size of the sample, drawn by `seed`, or all.
    `project` is empty for all projects."""

    project: str
    exchanges: int
    beliefs: int
    derived: int
    examined: int
    seed: int | None
    shares: tuple[AuditShare, ...]

    def __getitem__(self, kind: str) -> AuditShare:
        return next(one for one in self.shares if one.kind == kind)


class CurrentBelief(NamedTuple):
    """A current revision, as far as an audit reads it. `run` is the job's run that wrote it, `unit`
    the summary of the session that it was concluded from, in `thread`."""

    node: int
    kref: str
    item: int
    project: str
    kind: str
    text: str
    trust: str
    author: str
    time: int
    facts: str | None
    valid_from: int | None
    valid_until: int | None
    run: str | None
    unit: str
    thread: str


class Ground(NamedTuple):
    """What a belief is derived from: an exchange or a belief."""

    belief: int
    node: int
    kref: str
    is_turn: int  # 1 or 0, as SQLite has it
    run: str | None
    retired: int
    replaced: int
    role: str
    text: str
    time: int
    thread: str
    session: str

    @property
    def name(self) -> str:
        """Of an exchange, the name in its address."""
        return name_of(self.kref)


def name_of(kref: str) -> str:
    """Return the name in the address of an exchange."""
    return kref.rpartition("/")[2].partition(".")[0]
