"""Examine the beliefs of a memory, all or a sample, on one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from doxa.audit import checks
from doxa.audit.claims import is_derived
from doxa.audit.reading import count_exchanges, current_beliefs, drawn, grounds_of
from doxa.audit.types import (
    AUDIT_KINDS,
    AuditFinding,
    AuditKind,
    AuditShare,
    CurrentBelief,
    MemoryAudit,
)
from doxa.base.limits import AUDIT_TEXT_CHARS_MAX
from doxa.store import Reader

__all__ = ["MemoryAudit", "audit"]


def audit(
    reader: Reader, project: str, *, sample: int | None, seed: int, limit: int
) -> MemoryAudit:
    """Examine the current beliefs of a project; "": of all. With `sample`, as many of them as that,
    drawn by `seed`: each is still compared with all others. `limit` findings of each kind are
    kept."""
    everything = list(current_beliefs(reader, project))
    beliefs = drawn(everything, sample, seed)
    grounds = grounds_of(reader, beliefs)
    coverage = checks.SourceCoverage(reader)
    twins = checks.Twins(everything)
    tests: dict[AuditKind, Callable[[], Iterator[checks.Fault]]] = {
        "junk": lambda: checks.junk(beliefs),
        "duplicate": lambda: checks.duplicate(beliefs, twins),
        "stale": lambda: checks.stale(reader, beliefs, everything, grounds),
        "echo": lambda: checks.echo(beliefs, twins, grounds, coverage),
        "uncovered": lambda: checks.uncovered(beliefs, grounds, coverage),
    }
    derived = sum(map(is_derived, beliefs))
    return MemoryAudit(
        project,
        count_exchanges(reader, project),
        len(everything),
        sum(map(is_derived, everything)),
        len(beliefs),
        seed if len(beliefs) < len(everything) else None,
        tuple(
            _share(kind, tests[kind](), derived if kind == "uncovered" else len(beliefs), limit)
            for kind in AUDIT_KINDS
        ),
    )


def _share(kind: AuditKind, faults: Iterator[checks.Fault], of: int, limit: int) -> AuditShare:
    count = 0
    findings: list[AuditFinding] = []
    for belief, reason in faults:
        count += 1
        if len(findings) < limit:
            findings.append(AuditFinding(belief.kref, _short(belief), reason))
    return AuditShare(kind, count, of, tuple(findings))


def _short(belief: CurrentBelief) -> str:
    text = " ".join(belief.text.split())
    return text if len(text) <= AUDIT_TEXT_CHARS_MAX else f"{text[: AUDIT_TEXT_CHARS_MAX - 1]}…"
