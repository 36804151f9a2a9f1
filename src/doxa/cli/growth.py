"""How growth and identity are shown on a terminal."""

from __future__ import annotations

from typing import Any


def records_text(found: list[Any]) -> str:
    """Return records of the runtime, a line each."""
    from doxa.base.quoting import one_line

    lines = []
    for one in found:
        said = one.text or one.data.get("question", "")
        lines.append(
            one_line(f"{one.state:12} {one.data.get('file', one.type):8} {said}  {one.kref}")
        )
        for step in one.notes.get("passes", ()):
            lines.append(one_line(f"  {step['goal']}: {step['found']}"))
    return "\n".join(lines) or "There are none."


def plan_text(found: Any) -> str:
    """Return what crystallising a candidate would do."""
    from doxa.base.quoting import one_line

    lines = [
        one_line(f"{found.file}: {found.text}"),
        f"candidate     {found.candidate}",
        f"content hash  {found.content_hash}",
        f"would become  {found.item}",
    ]
    lines += [
        one_line(f"{'open  ' if one.open else 'closed'}  {one.gate}: {one.reason}")
        for one in found.gates
    ]
    lines.append(
        "An approval is all that is missing." if found.ready else "It cannot be approved now."
    )
    return "\n".join(lines)


def approval_text(found: Any) -> str:
    """Return an approval that was issued, with its nonce."""
    from doxa.base.clock import format_time

    return (
        f"Approved {found.candidate}\nfor the hash {found.content_hash}\n"
        f"nonce {found.nonce}, to be used once, until {format_time(found.expires)[:19]}Z"
    )


def identity_text(found: Any) -> str:
    """Return the identity of an agent, and its hash."""
    from doxa.base.quoting import one_line

    parts = list(found.files.values()) or [f"The agent {found.agent} has no lines of identity.\n"]
    parts += [one_line(f"left out: {one}") + "\n" for one in found.left_out]
    return "\n".join((*parts, f"{found.chars:,} characters, sha256 {found.digest}"))


def files_text(found: list[Any]) -> str:
    """Return identity files compared with their receipts, a line each."""
    return (
        "\n".join(f"{one.state:10} {one.path}" for one in found) or "No identity file was exported."
    )


def metabolised_text(found: Any) -> str:
    """Return what became of a turn."""
    kept = f"kept as {found.moment}" if found.moment else "not kept"
    return f"{signals_text([found.turn])}\n{kept}: {found.reason}"


def contemplated_text(found: Any) -> str:
    """Return what a contemplation did, failures first."""
    from doxa.base.clock import format_time
    from doxa.base.quoting import one_line

    lines = [one_line(f"failed: {one}") for one in found.failed]
    lines += [f"begun: {one}" for one in found.begun]
    lines += [f"candidate: {one}" for one in found.proposed]
    due = f"; the next is due {format_time(found.next_due)[:19]}Z" if found.next_due else ""
    return "\n".join((*lines, f"{found.passes} passes done, {found.merged} merged{due}"))


def signals_text(found: list[Any]) -> str:
    """Return the signals of turns, a line each, without those that show nothing."""
    from dataclasses import asdict

    from doxa.base.clock import format_time

    lines = []
    for one in found:
        parts = (
            f"{name} {1 - value if name == 'coherence' else value:.2f}"
            for name, value in asdict(one.signals).items()
            if name != "composite" and value != (name == "coherence")
        )
        rank = "-" if one.percentile is None else f"{one.percentile:.2f}"
        lines.append(
            f"{format_time(one.time)[:19]} composite {one.signals.composite:.2f} surprise {rank}"
            + (" sustained" if one.sustained else "")
            + "".join(f", {part}" for part in parts).replace("coherence", "incoherence")
        )
    return "\n".join(lines) or "No turn of this agent was measured."
