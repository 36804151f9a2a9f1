"""The stage of identity: the lines that a person approved, and nothing else. All of them with their
hash, or none: where a file of it was changed and no receipt says so, or where they do not fit, a
line that says so comes in their place. Files are compared where this machine may be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from doxa.agent.context.phrases import phrases_of
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.growth.files import changed_files
from doxa.agent.growth.identity import assemble
from doxa.base.clock import format_time
from doxa.base.quoting import bare

_DIGEST_CHARS = 16


def identity_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the identity of the agent, a line each, in the order of its files."""
    with situation.store.read() as reader:
        looked = situation.machine
        wrong = changed_files(reader, situation.project, situation.agent) if looked else []
        found = None if wrong else assemble(reader, situation.project, situation.agent)
    if found is None:
        names = ", ".join(sorted({PurePath(one.path).name for one in wrong}))
        said = phrases_of(situation.language).notes["identity_changed"]
        yield ContextLine(
            "identity",
            f"- {said.format(what=bare(names))}",
            "; ".join(f"{one.path} is {one.state}" for one in wrong[:5]),
        )
        return
    for line in found.lines:
        yield ContextLine(
            "identity",
            f"- {bare(line.text)}",
            f"{line.file}, approved by {line.approved_by} on {format_time(line.time)[:10]}; the"
            f" identity has the sha256 {found.digest[:_DIGEST_CHARS]}",
            line.item,
        )
    if found.lines:
        unlooked = phrases_of(situation.language).notes["identity_unchecked"]
        hashed = f"lines {len(found.lines)}, sha256 {found.digest[:_DIGEST_CHARS]}"
        yield ContextLine(
            "identity",
            f"- [{hashed}]" if looked else f"- [{hashed}; {unlooked}]",
            "the hash of the identity, as identity_show gives it",
        )


def identity_instead(situation: Situation, lines: Sequence[ContextLine]) -> ContextLine:
    """Return the line that comes in place of an identity that does not fit whole."""
    said = phrases_of(situation.language).notes["identity_large"]
    what = lines[-1].text.removeprefix("- [").removesuffix("]")  # how many lines, and their hash
    return ContextLine("identity", f"- {said.format(what=what)}", "the budget is too small for it")
