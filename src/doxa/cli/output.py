"""Results as text for people, and as one JSON value for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

TIMES = frozenset(
    (
        "time",
        "recorded",
        "created",
        "since",
        "until",
        "valid_from",
        "valid_until",
        "opened",
        "decided",
        "first",
        "last",
        "first_seen",
        "last_seen",
        "observed",
        "made",
        "moved",
    )
)


def json_text(value: object) -> str:
    import msgspec

    named = value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value
    data = msgspec.to_builtins(named, enc_hook=str)
    if isinstance(data, dict):  # internal to a result, not a part of its JSON
        data = {name: part for name, part in data.items() if not str(name).startswith("_")}
    return encoded(_with_times(data))


def encoded(value: object) -> str:
    """Encode a value of JSON's types as JSON that standard output can represent."""
    import msgspec

    try:
        text = msgspec.json.encode(value).decode()
        text.encode(sys.stdout.encoding or "utf-8")
        return text
    except (
        UnicodeEncodeError
    ):  # an argument that is not UTF-8, quoted by an error; or an output that is not
        import json

        return json.dumps(value)


def _with_times(value: Any) -> Any:
    """Integer times as ISO 8601, wherever they are."""
    from doxa.base.clock import format_time

    if isinstance(value, dict):
        return {
            k: format_time(v)
            if k in TIMES and isinstance(v, int) and not isinstance(v, bool)
            else _with_times(v)
            for k, v in value.items()
        }
    return [_with_times(item) for item in value] if isinstance(value, (list, tuple)) else value


def show(value: Any, as_json: bool, text: Callable[[Any], str]) -> None:
    sys.stdout.write((json_text(value) if as_json else text(value)) + "\n")


_UNNAMED = {"unchanged": "(nothing)"}  # of a change without an address


def said_text(change: Any, warnings: tuple[str, ...] = ()) -> str:
    lines = [
        f"{change.action}: {change.kref or _UNNAMED.get(change.action, '(several)')}"
        + (f"  (change {change.change})" if change.change else "")
    ]
    lines += [f"  was: {change.previous}"] if change.previous else []
    lines += [f"  + {f.subject} | {f.predicate} | {f.value}" for f in change.gained]
    lines += [f"  - {f.subject} | {f.predicate} | {f.value}" for f in change.lost]
    lines += [f"  retracted: {loss.says} ({loss.kref}): {loss.why}" for loss in change.losses]
    lines += [
        f"  no longer supported: {fallen.kref}: {fallen.cause}" for fallen in change.unsupported
    ]
    lines += [f"  supported again: {risen.kref}" for risen in change.supported]
    lines += [f"  {change.reason}"] if change.reason else []
    return "\n".join([*lines, *(f"  note: {w}" for w in warnings)])


def recall_text(answer: Any) -> str:
    from doxa.base.clock import format_time
    from doxa.base.quoting import one_line, visible

    lines = []
    for number, hit in enumerate(answer.hits, 1):
        status = "" if hit.status == "current" else f" [{hit.status}]"
        if hit.contested:
            status += f" [contested by {', '.join(hit.contested)}]"
        lines.append(
            f"{number:2}. {visible(hit.text)}{status}"
        )  # what others wrote must not steer the terminal
        lines.append(f"    {hit.kref}")
        time = format_time(hit.time)[:16].replace("T", " ")
        lines.append(
            f"    {time}  {hit.trust}  by {one_line(hit.speaker)}  from {one_line(hit.source)}"
        )
        lines.append(f"    why: {one_line(hit.why)}")
    lines.append(
        f"{len(answer.hits)} of {answer.searched} memories, {answer.mode}, answerable:"
        f" {answer.answerable_level}"
        + (f", {answer.pending} not embedded yet" if answer.pending else "")
    )
    return "\n".join([*lines, *(f"note: {w}" for w in answer.warnings)])


def listing_text(found: Any) -> str:
    """Return a listing, two lines for each thing that says something."""
    from doxa.base.quoting import one_line

    lines = []
    for one in found.entries:
        line = one.kref if one.status in ("", "current") else f"{one.kref} ({one.status})"
        # what others wrote must not steer the terminal
        lines.append(f"{line}\n    {one_line(one.text)}" if one.text else line)
    if found.next:
        lines.append(f"{found.count} in all; go on with --after {found.next}")
    return "\n".join(lines) or f"{found.kref or 'this memory'} is empty"


def element_text(found: Any) -> str:
    """Return what is at an address; of a project, space or thread also what is in it."""
    contents = getattr(found, "contents", None)
    if contents is None:
        return fields_text(found)
    return f"{fields_text(replace(found, contents=None))}\n\n{listing_text(contents)}"


def fields_text(value: Any) -> str:
    """Return the fields of a result, one on a line; of a list, those of each element."""
    import msgspec

    data = _with_times(msgspec.to_builtins(value, enc_hook=str))
    if isinstance(data, list):
        return "\n\n".join(fields_text(one) for one in data) or "none"
    return "\n".join(
        f"{name}: {_plain(item)}" for name, item in data.items() if item not in (None, "", [], {})
    )


def each_text(values: list[Any]) -> str:
    """Return the fields of each value of a list, with an empty line between two."""
    return "\n\n".join(map(fields_text, values)) or "none"


def _plain(item: Any) -> str:
    if isinstance(item, dict) and "kref" in item:
        if "since" in item:  # a bundle's member
            return f"{item['kref']} from {item['since']} to {item['until'] or 'now'}"
        return "; ".join(
            f"{name}: {_plain(value)}"
            for name, value in item.items()
            if value not in (None, "", [], {})
        )
    if isinstance(item, list) and item and isinstance(item[0], dict):
        return "".join(f"\n  {_plain(part)}" for part in item)
    if isinstance(item, list):
        return "; ".join(
            " | ".join(map(str, part)) if isinstance(part, list) else str(part) for part in item
        )
    return str(item)


def history_text(value: Any) -> str:
    from doxa.base.clock import format_time
    from doxa.cli.pictures.times import with_revisions

    lines = [value.item]
    for revision in value.revisions:
        lines.append(
            f"  r={revision.number} {format_time(revision.created)} {revision.status} by"
            f" {revision.author}: {revision.summary}"
        )
    for move in value.tags:
        until = format_time(move.until) if move.until is not None else "now"
        lines.append(
            f"  {move.tag}: {move.kref.partition('?')[2]} from {format_time(move.since)} to {until}"
        )
    for member in value.members:
        until = format_time(member.until) if member.until is not None else "now"
        lines.append(f"  {member.kref} from {format_time(member.since)} to {until}")
    return with_revisions("\n".join(lines), value)


def walk_text(walk: Any) -> str:
    lines = [walk.start]
    notes = {
        (True, True): " [would lose its support]",
        (False, False): " [retired]",
        (False, True): " [retired]",
    }
    lines += [
        f"{'  ' * s.depth}{s.edge} {s.kref}{notes.get((s.current, s.falls), '')}"
        for s in walk.steps
    ]
    return "\n".join(
        [
            *lines,
            *([f"({walk.cut})"] if walk.cut else []),
            *(["nothing"] if not walk.steps and not walk.cut else []),
        ]
    )


def match_text(found: Any) -> str:
    lines = [found.verdict]
    for one in found.proposals:
        fact = f"{one.fact.subject} | {one.fact.predicate} | {one.fact.value}"
        lines += [
            f"  {one.score:.2f} {one.relation} {one.kref}",
            f"       {fact}",
            *(f"       {reason}" for reason in one.reasons),
        ]
    return "\n".join(lines)


def conflicts_text(found: list[Any]) -> str:
    lines = []
    for conflict in found:
        lines.append(conflict.kref + (f"  [{conflict.decision}]" if conflict.decision else ""))
        lines.append(
            f"  {conflict.challenger.trust}: {conflict.challenger.summary} "
            f" ({conflict.challenger.kref})"
        )
        lines += [
            f"  against {held.trust}: {held.summary}  ({held.kref})" for held in conflict.held
        ]
    return "\n".join(lines) or "Nothing waits for a decision."


def audit_text(found: Any) -> str:
    where = found.project or "all projects"
    lines = [
        f"{where}: {found.beliefs:,} beliefs, {found.derived:,} of them derived;"
        f" {found.exchanges:,} exchanges"
        + ("" if found.seed is None else f"; a sample of {found.examined:,}, seed {found.seed}")
    ]
    for one in found.shares:
        lines.append(f"{one.kind:10} {one.count:>7,} of {one.of:,}  ({100 * one.share:.2f} %)")
        lines += [f"  {belief.kref}  {belief.reason}" for belief in one.findings]
        lines += [f"  … and {one.count - len(one.findings):,} more"] * (
            bool(one.findings) and one.count > len(one.findings)
        )
    return "\n".join(lines)


def erasure_text(proof: Any) -> str:
    lines = [
        f"  {trace.state:8} {trace.place}" + (f": {trace.detail}" if trace.detail else "")
        for trace in proof.traces
    ]
    said = (
        "Erased: nothing that doxa knows of holds it."
        if proof.complete
        else "Erased from the file, but not from every copy."
        if proof.erased
        else "Not erased."
    )
    return "\n".join([said, *lines, proof.note])


def holds_text(found: list[Any]) -> str:
    from doxa.base.clock import format_time

    lines = [
        f"{one.name}: {one.kind} {one.value}, since {format_time(one.time)[:19]}"
        + (f" ({one.reason})" if one.reason else "")
        for one in found
    ]
    return "\n".join(lines) or "There is no legal hold."


def forgotten_text(value: Any) -> str:
    if value.done:
        undo = (
            f"; undo with: doxa undo {value.changes[-1]}"
            if value.mode == "retire" and value.changes
            else ""
        )
        return f"{value.mode}d {value.count}{undo}" + (f" ({value.note})" if value.note else "")
    shown = "\n".join(f"  {kref}" for kref in value.krefs)
    return (
        f"This would {value.mode} {value.count}:\n{shown}\n"
        + (f"{value.note}\n" if value.note else "")
        + f"To go on, repeat with --confirm {value.token}"
    )


def chat_text(found: Any) -> str:
    """Return the messages of a session, one paragraph each."""
    from doxa.base.clock import format_time
    from doxa.base.quoting import visible

    lines = [
        f"{one.role} {format_time(one.time)[:19]}: {visible(one.text)}" for one in found.messages
    ]
    left = f", {found.dropped} dropped" if found.dropped else ""
    state = f"{found.session}: {found.pending} not consolidated{left}"
    return "\n".join([*lines, state]) if found.messages else "The session does not exist."


def chats_text(found: list[Any]) -> str:
    """Return a list of sessions, a line each."""
    from doxa.base.clock import format_time

    return (
        "\n".join(
            f"{one.session}  {one.messages} messages, {one.pending} not consolidated, until"
            f" {format_time(one.until)[:19]}"
            for one in found
        )
        or "There are no sessions."
    )


def consolidated_text(found: Any) -> str:
    """Return what became of each session, a line each, and what a host is asked for."""
    from doxa.base.clock import format_time

    lines = []
    for one in found.sessions:
        stored = ", ".join(f"{count} {name}" for name, count in one.stored.items())
        dropped = sum(one.dropped.values())
        said = f"  {one.session} {one.part}: {one.status} by {one.producer}"
        said += f", {stored}" if stored else ""
        said += f"; {dropped} not supported by the turns" if dropped else ""
        said += f"; {one.error}" if one.error else ""
        said += f" Next attempt {format_time(one.due)[:19]}." if one.due is not None else ""
        lines.append(said)
    lines += [
        f"{one.model or one.producer}: {one.calls} calls and {one.tokens:,} tokens for"
        f" {one.sessions} sessions, {one.tokens_per_session:,.0f} tokens a session"
        + ("" if one.money_per_session is None else f" at {one.money_per_session:.4f}")
        for one in found.costs
    ]
    lines.append(f"{found.status}; {found.pending} sessions in the queue")
    if found.more:
        lines.append("Others may wait that are not in the queue: repeat it, or give --limit.")
    if found.needs is not None:
        lines.append("Repeat with --json for the schema and the turns that are asked for.")
    return "\n".join(lines)


def waiting_text(found: list[Any]) -> str:
    """Return the sessions that await consolidation, a line each."""
    from doxa.base.clock import format_time

    lines = (
        f"{one.thread} {one.session} {one.part}: {one.producer}, {one.attempts} attempts, next"
        f" {format_time(one.due)[:19]}" + (f"; {one.error}" if one.error else "")
        for one in found
    )
    return "\n".join(lines) or "No session awaits consolidation."


def entries_text(found: list[Any]) -> str:
    """Return results of several fields each, an empty line between two."""
    return "\n\n".join(map(fields_text, found)) or "There are none."


def tasks_text(found: list[Any]) -> str:
    """Return tasks, a line each."""
    from doxa.base.quoting import one_line

    lines = (
        one_line(
            f"{one.due or '-':10} {one.state:9} {one.kind:10} {one.who or '-'}: {one.text}"
            f"  {one.kref}"
        )
        for one in found
    )
    return "\n".join(lines) or "There are none."


def log_text(rows: list[dict[str, Any]]) -> str:
    from doxa.base.clock import format_time
    from doxa.cli.pictures.times import with_days

    text = "\n".join(
        f"{r['change']:6} {format_time(r['time'])[:19]} {r['op']:12} {r['entries']:5} entries "
        f" {r['actor']} ({r['role']})"
        for r in rows
    )
    return with_days(text, rows)


def event_text(event: Any) -> str:
    from doxa.base.clock import format_time
    from doxa.base.quoting import one_line

    about = event.kref or event.rule or (f"element {event.element}" if event.element else "")
    more = f" ({event.tag})" if event.tag else f" {event.type} {event.target}" if event.type else ""
    return one_line(
        f"{event.id:12} {format_time(event.time)[:19]} {event.name:20} {about}{more}"
        f"{' [erased]' if event.erased else ''}  {event.actor} ({event.role})"
    )


def cursors_text(rows: list[dict[str, Any]]) -> str:
    lines = [f"{r['name']}  at {r['seq']}, {r['behind']} log entries behind" for r in rows]
    return "\n".join(lines) or "There are no cursors."


def doctor_text(findings: Any) -> str:
    lines = []
    for finding in findings:
        mark = "NOT " if not finding.ok else "note" if finding.next_step else "ok  "
        lines.append(f"{mark} {finding.name:11} {finding.detail}")
        if finding.next_step:
            lines.append(f"                 {finding.next_step}")
    return "\n".join(lines)


def runs_text(found: Any) -> str:
    """Format runs of background jobs, a line for each."""
    from doxa.base.clock import format_time
    from doxa.base.quoting import visible

    return "\n".join(
        f"{format_time(run.started)} {run.job} {run.state}, touched {run.touched}: {run.kref}"
        + (f" ({visible(run.error)})" if run.error else "")
        for run in found
    )


def proposals_text(found: Any) -> str:
    """Format proposals: what, why and about what."""
    from doxa.base.quoting import visible

    return "\n".join(
        f"{one.kref} {one.kind} {one.state}: {visible(one.reason)}"
        + "".join(f"\n    {kref}" for kref in one.about)
        + (f"\n    {visible(one.said)}" if one.said else "")
        for one in found
    )


def applied_text(found: Any) -> str:
    """Format what became of proposals."""
    from doxa.base.quoting import visible

    return "\n".join(
        f"{one.proposal} {one.state}" + (f": {visible(one.said)}" if one.said else "")
        for one in found
    )


def shifts_text(found: Any) -> str:
    """Format what the night shift did, what failed or was refused first."""
    from doxa.base.quoting import visible

    return "\n".join(
        f"{one.job} {one.state}"
        + "".join(f", {name} {value}" for name, value in one.counts.items())
        + ("; limits" if one.limits else "")
        + "".join(f" {name} {value:g}" for name, value in one.limits.items())
        + (f": {visible(one.reason)}" if one.reason else "")
        for one in sorted(found, key=lambda shift: shift.order)
    )


def spending_text(found: Any) -> str:
    """Return what models were used for as a table, and the caps of a day."""
    lines = []
    for one in found.days:
        rest = [
            f"{number:,} {word}"
            for number, word in (
                (one.tokens_estimated, "estimated"),
                (one.tokens_reserved, "reserved by calls in progress"),
                (one.interrupted, "calls interrupted"),
            )
            if number
        ]
        lines.append(
            f"{one.day}  {one.purpose:<12}{one.model}: {one.calls:,} calls,"
            f" {one.tokens_in:,} tokens in, {one.tokens_out:,} out"
            + (f" ({', '.join(rest)})" if rest else "")
        )
    if not lines:
        lines.append("no model was called on these days")
    for purpose, cap in sorted(found.caps.items()):
        left = found.left[purpose]
        for name in ("tokens", "calls"):
            limit = getattr(cap, name)
            if limit is not None:
                lines.append(
                    f"cap of {purpose}: {limit:,} {name} a day, {getattr(left, name):,} left today"
                )
    return "\n".join(lines)
