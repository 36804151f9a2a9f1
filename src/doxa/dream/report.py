"""What a dream did, losses first: as data, and as Markdown. It names addresses and reasons, and
repeats nothing of what beliefs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from doxa.base.clock import format_time
from doxa.dream.findings import DreamFinding


@dataclass(frozen=True, slots=True)
class DreamLine:
    """One proposal and what became of it: `proposal` is its address (empty in a dry run), `why`
    what blocked it or made it fail."""

    finding: DreamFinding
    proposal: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class DreamReport:
    """A dream. `lost` are the addresses of beliefs that it ended. `proposed` wait for a decision;
    `applied`, `blocked` and `failed` are what was decided in it; `known` counts findings that an
    earlier run had proposed. `stopped` says why it stopped before the end of the log, or is empty.
    `limits` are what it had to keep. `after` and `seq` are the log entries between which it looked.
    In a session that is bound to projects they and `seconds` are 0, since they depend on what
    others write.
    """

    run: str
    project: str
    started: int
    state: str
    dry_run: bool = False
    events: int = 0
    assessed: int = 0
    lost: tuple[str, ...] = ()
    proposed: tuple[DreamLine, ...] = ()
    applied: tuple[DreamLine, ...] = ()
    blocked: tuple[DreamLine, ...] = ()
    failed: tuple[DreamLine, ...] = ()
    known: int = 0
    after: int = 0
    seq: int = 0
    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0
    model: str = "rules"
    stopped: str = ""
    warnings: tuple[str, ...] = ()
    resumed: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Return what is counted, losses first."""
        return {
            "lost": len(self.lost),
            "blocked": len(self.blocked),
            "failed": len(self.failed),
            "applied": len(self.applied),
            "proposed": len(self.proposed),
            "known": self.known,
            "assessed": self.assessed,
            "events": self.events,
        }

    @property
    def markdown(self) -> str:
        """Return the report as Markdown."""
        kind = "Dry run of a dream" if self.dry_run else "Dream"
        lines = [
            f"# {kind}: {self.project}, {format_time(self.started)}",
            "",
            f"Lost: {len(self.lost)}. Blocked: {len(self.blocked)}. Failed: {len(self.failed)}."
            f" Applied: {len(self.applied)}. Proposed: {len(self.proposed)}."
            f" Proposed before: {self.known}.",
            "",
            f"{self.events} events, {self.assessed} beliefs assessed by {self.model},"
            f" {self.calls} calls, {self.tokens} tokens."
            + (" Resumed after an interruption." if self.resumed else ""),
            "",
            *([f"Limits: {_limits(self.limits)}.", ""] if self.limits else []),
        ]
        if self.stopped:
            lines += [f"It stopped early: {self.stopped}", ""]
        lines += [f"Warning: {one}\n" for one in self.warnings]
        lines += _section("Lost", [f"- {kref}" for kref in self.lost])
        for title, rows in (
            ("Blocked", self.blocked),
            ("Failed", self.failed),
            ("Applied", self.applied),
            ("Proposed", self.proposed),
        ):
            lines += _section(title, [_line(row) for row in rows])
        if self.run:
            lines += [f"Run: {self.run}. `doxa undo-run` takes all of it back.", ""]
        return "\n".join(lines)


@dataclass(slots=True)
class Tally:
    """What a dream counts while it runs."""

    events: int = 0
    assessed: int = 0
    known: int = 0
    proposed: list[DreamLine] = field(default_factory=list)
    applied: list[DreamLine] = field(default_factory=list)
    blocked: list[DreamLine] = field(default_factory=list)
    failed: list[DreamLine] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


_LIMITS = {
    "number": "{:g} elements touched",
    "share": "a share of {:g} of the items changed",
    "age_days": "nothing ended that is younger than {:g} days",
    "seconds": "{:g} seconds",
    "calls": "{:g} calls",
    "tokens": "{:g} tokens",
}


def _limits(limits: Mapping[str, float]) -> str:
    return ", ".join(_LIMITS[name].format(most) for name, most in limits.items())


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title} ({len(lines)})", "", *lines, ""] if lines else []


def _line(row: DreamLine) -> str:
    finding = row.finding
    about = ", ".join(finding.about) or finding.name
    why = f" ({row.why})" if row.why else ""
    return f"- {finding.kind}: {about}. {finding.reason}{why}"
