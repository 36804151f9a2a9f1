"""One belief on one page: what is believed, since when, on what grounds, what it replaced and why,
what depends on it, what contradicts it."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.base.clock import format_time
from doxa.base.errors import InputError
from doxa.base.limits import EXPLAINED_ITEMS_MAX
from doxa.belief.graph import (
    CURRENT,
    SUPERSEDES,
    SUPPORT_EDGES,
    item_of,
    resolve,
)
from doxa.belief.kref import Kref
from doxa.belief.reading.views import (
    conflicts_about,
    read_any,
    read_conflict,
    read_revision,
    sides,
)
from doxa.belief.revising import CONTRADICTS
from doxa.belief.support import would_fall
from doxa.belief.types import ENRICHMENTS, Conflict, Exchange, Revision
from doxa.logic.sentence import parse_sentence, worded
from doxa.store import Node, Reader


@dataclass(frozen=True, slots=True)
class Beside:
    """An element that stands in a relation to the belief that is explained: its address, what it
    says, and how or why."""

    kref: str
    says: str
    how: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that memory knows of one belief. Times are ns UTC; lists are cut at
    `EXPLAINED_ITEMS_MAX`, and `cut` says so."""

    revision: Revision
    since: int | None  # since when it is believed; None if it is not
    until: int | None  # when it ceased to be; None if it is believed, or never was
    grounds: tuple[Beside, ...]
    replaced: tuple[Beside, ...]
    gave_way_to: tuple[Beside, ...]
    dependents: tuple[Beside, ...]
    contradicts: tuple[Beside, ...]
    conflicts: tuple[Conflict, ...]
    cut: bool = False

    def page(self) -> str:
        """Return the same as text for a person to read."""
        r = self.revision
        lines = [
            r.summary,
            "",
            f"  {r.kref}",
            f"  {r.status}{self._when()}, {r.trust}, confidence {r.confidence:g}, {r.kind}",
        ]
        lines.append(f"  stated by {r.author or 'somebody'} at {format_time(r.time)}")
        if r.valid_from is not None or r.valid_until is not None:
            start, end = (
                format_time(time) if time is not None else "ever"
                for time in (r.valid_from, r.valid_until)
            )
            lines.append(f"  holds from {start} until {end}")
        if r.unsupported:
            lines.append(f"  UNSUPPORTED: {r.unsupported}")
        said = [f"{fact.subject} {fact.predicate} {fact.value}" for fact in r.facts] + [
            worded(parse_sentence(text)) for text in r.sentences
        ]
        for title, rows in (
            ("It states", [Beside("", text) for text in said]),
            *(
                (f"Its {name}", [Beside("", text) for text in getattr(r, name)])
                for name in ENRICHMENTS
            ),
            ("Its grounds", self.grounds),
            ("It replaced", self.replaced),
            ("Retracted in favour of", self.gave_way_to),
            ("What depends on it", self.dependents),
            ("It contradicts", self.contradicts),
            ("Open conflicts", [_conflict_row(conflict) for conflict in self.conflicts]),
        ):
            if rows:
                lines += ["", f"{title}:", *(_line(row) for row in rows)]
        if not self.grounds:
            lines += ["", "It stands by itself: nothing is noted that it was derived from."]
        if self.cut:
            lines += ["", f"Lists are cut after {EXPLAINED_ITEMS_MAX} lines."]
        return "\n".join(lines)

    def _when(self) -> str:
        if self.since is not None:
            return f" since {format_time(self.since)}"
        return f" until {format_time(self.until)}" if self.until is not None else ""


def _line(row: Beside) -> str:
    text = " ".join(row.says.split())
    return "  - " + "; ".join(part for part in (text[:200], row.kref, row.how) if part)


def _conflict_row(conflict: Conflict) -> Beside:
    return Beside(
        conflict.kref,
        conflict.challenger.summary,
        f"challenges {', '.join(held.kref for held in conflict.held)}",
    )


def explain(reader: Reader, kref: Kref) -> Explanation:
    """Return everything about what an address means now, or at its pin; of a conflict, about its
    challenger. Raises NotFoundError, or InputError for anything else."""
    node = resolve(reader, kref)
    if "Conflict" in node.labels:
        node, _ = sides(reader, node)
    if "Revision" not in node.labels:
        raise InputError(
            f"{kref} is not a belief.",
            next_step="Explain the address of a belief; read a turn with get.",
            kref=str(kref),
        )
    item = item_of(reader, node.id)
    spans = [
        (edge.since, edge.until)
        for edge in reader.edge_history(item.id, CURRENT)
        if edge.dst == node.id
    ]
    open_since = next((since for since, until in spans if until is None), None)
    last = max((until for _, until in spans if until is not None), default=None)
    parts = [
        part(reader, node) for part in (_grounds, _replaced, _gave_way, _dependents, _contradicts)
    ]
    grounds, replaced, gave_way_to, dependents, contradicts = (
        tuple(part[:EXPLAINED_ITEMS_MAX]) for part in parts
    )
    return Explanation(
        read_revision(reader, node),
        open_since,
        None if open_since is not None else last,
        grounds,
        replaced,
        gave_way_to,
        dependents,
        contradicts,
        tuple(read_conflict(reader, conflict) for conflict in conflicts_about(reader, node.id)),
        cut=any(len(part) > EXPLAINED_ITEMS_MAX for part in parts),
    )


def _beside(reader: Reader, node: Node, how: str) -> Beside:
    found = read_any(reader, node)
    if isinstance(found, Revision):
        state = "" if found.status == "current" else found.status
        return Beside(
            found.kref,
            found.summary,
            ", ".join(
                part for part in (how, state, "unsupported" if found.unsupported else "") if part
            ),
        )
    if isinstance(found, Exchange):
        return Beside(
            found.kref,
            f"{found.speaker}: {found.text}",
            ", ".join(part for part in (how, "retired" if found.deprecated else "") if part),
        )
    return Beside(str(node.props.get("kref", "")), "", how)


def _grounds(reader: Reader, node: Node) -> list[Beside]:
    found = []
    for edge in reader.edges_out(node.id):
        if edge.type in SUPPORT_EDGES and (target := reader.node(edge.dst)) is not None:
            together = f", set {edge.props['set']}" if "set" in edge.props else ""
            found.append(
                _beside(
                    reader,
                    target,
                    ("needed" if edge.type == "DEPENDS_ON" else "derived from") + together,
                )
            )
    return found


def _replaced(reader: Reader, node: Node) -> list[Beside]:
    """What this revision superseded, with the reason where it contradicted it, and what that had
    superseded before it."""
    found: list[Beside] = []
    seen = {node.id}
    due = [node]
    while due and len(found) <= EXPLAINED_ITEMS_MAX:
        at = due.pop(0)
        reasons = {
            edge.dst: str(edge.props.get("why", ""))
            for edge in reader.edges_out(at.id, CONTRADICTS)
        }
        for edge in reader.edges_out(at.id, SUPERSEDES):
            before = reader.node(edge.dst)
            if before is not None and before.id not in seen and "Revision" in before.labels:
                seen.add(before.id)
                due.append(before)
                found.append(
                    _beside(
                        reader,
                        before,
                        f"at {format_time(edge.since)}"
                        + (f": {why}" if (why := reasons.get(before.id)) else ""),
                    )
                )
    return found


def _gave_way(reader: Reader, node: Node) -> list[Beside]:
    found = []
    reasons = {
        edge.src: str(edge.props.get("why", "")) for edge in reader.edges_in(node.id, CONTRADICTS)
    }
    for edge in reader.edges_in(node.id, SUPERSEDES):
        if (after := reader.node(edge.src)) is not None:
            found.append(
                _beside(
                    reader,
                    after,
                    f"at {format_time(edge.since)}"
                    + (f": {why}" if (why := reasons.get(after.id)) else ""),
                )
            )
    return found


def _dependents(reader: Reader, node: Node) -> list[Beside]:
    falls = would_fall(reader, [node.id])
    found: list[Beside] = []
    for edge in reader.edges_in(node.id):
        if (
            edge.type in SUPPORT_EDGES
            and (source := reader.node(edge.src)) is not None
            and len(found) <= EXPLAINED_ITEMS_MAX
        ):
            found.append(
                _beside(
                    reader,
                    source,
                    "would lose its support without it"
                    if source.id in falls
                    else "has other support, or none to lose",
                )
            )
    return found


def _contradicts(reader: Reader, node: Node) -> list[Beside]:
    found = []
    for edge in (*reader.edges_out(node.id, CONTRADICTS), *reader.edges_in(node.id, CONTRADICTS)):
        other = reader.node(edge.dst if edge.src == node.id else edge.src)
        if other is not None:
            found.append(_beside(reader, other, str(edge.props.get("why", ""))))
    return found
