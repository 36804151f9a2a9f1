"""Entities as text for people."""

from __future__ import annotations

from typing import Any


def entities_text(found: list[Any]) -> str:
    """Return a list of entities, a line each."""
    from doxa.base.quoting import one_line

    lines = []
    for one in found:
        more = [one.kind] if one.kind else []
        more += [f"also {', '.join(one.aliases[:5])}"] if one.aliases else []
        more += [one.trust] if one.trust else []
        said = f" ({'; '.join(more)})" if more else ""
        lines.append(one_line(f"{one.mentions:6} {one.name}{said}  {one.kref}"))
    return "\n".join(lines) or "No entities are known. Record them with `doxa record-mentions`."


def entity_text(page: Any) -> str:
    """Return the page of an entity."""
    from doxa.base.clock import format_time
    from doxa.base.quoting import one_line

    head = [part for part in (page.kind, page.trust) if part]
    lines = [f"{page.name}  {page.kref}" + (f"  ({', '.join(head)})" if head else "")]
    if page.asked != page.kref:
        lines.append(f"  asked for as {page.asked}")
    if page.first is not None and page.last is not None:
        since, until = format_time(page.first)[:10], format_time(page.last)[:10]
        lines.append(f"  {page.count} mentions, from {since} to {until}")
    lines += [f"  also {one.name}: {one.why} ({one.rule})" for one in page.aliases]
    lines += [f"  related {one.name}: {one.count}  {one.kref}" for one in page.related]
    lines += [
        f"  fact {one.subject} | {one.predicate} | {one.value}  ({one.trust}, {one.confidence:g})"
        f"  {one.kref}"
        for one in page.facts
    ]
    lines += [
        f"  mention {format_time(one.time)[:10]} as {one.name}: {one.why} ({one.rule},"
        f" {one.confidence:g})  {one.kref}"
        for one in page.mentions
    ]
    return "\n".join(map(one_line, lines))


def pending_text(found: list[Any]) -> str:
    """Return the names that wait, with their candidates."""
    from doxa.base.quoting import one_line

    lines = []
    for one in found:
        answer = f": {one.answer}" if one.answer else ""
        lines.append(f"{one.state:8} {one.name}  {one.kref}{answer}")
        lines.append(f"         {one.reason}, {len(one.sources)} sources")
        lines += [
            f"         {candidate.score:.2f} {candidate.name}  {candidate.kref}  ({candidate.why})"
            for candidate in one.candidates
        ]
    return "\n".join(map(one_line, lines)) or "No name waits for an answer."


def patterns_text(found: list[Any]) -> str:
    """Return the traversal patterns as a table."""
    lines = [f"{'yield':>6} {'covers':>6} {'overlap':>7} {'reached':>8}  path"]
    lines += [
        f"{one.yield_score:6.3f} {one.coverage:6.3f} {one.overlap:7.3f} {one.reached:8}  {one.path}"
        for one in found
    ]
    return "\n".join(lines)
