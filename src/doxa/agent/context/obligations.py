"""Epistemic obligations: a statement about files, processes or configuration may have become false
since it was stored. Such a line carries what a verifier of the operator found just now, or says in
words that nobody looked.

    - "The API listens on port 8080" [fact, stated 2026-11-02; checked just now: /etc/api.toml]
    - "The worker runs on db-2" [fact, stated 2026-10-05; not checked on the machine since: ...]

What a person decided, prefers or asked for is not a statement about the machine, and carries none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from doxa.agent.context.phrases import patterns, phrases_of
from doxa.agent.context.rules import command_of, state_of, verifiers_of
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.records.types import Record
from doxa.base.errors import KrefError
from doxa.base.limits import VERIFIER_COMMAND_MS
from doxa.base.quoting import bare
from doxa.belief import parse_kref

_NORMATIVE = frozenset(
    "decision preference rule constraint commitment task goal question conflict".split()
)


def obligations(
    lines: Iterable[ContextLine], situation: Situation
) -> Callable[[ContextLine], ContextLine]:
    """Return what gives each of these lines its note: what a verifier found, or the gap in words,
    if the line states something that can change on the machine. The verifiers of all lines are read
    together; what they check is looked at when a line is asked for."""
    mutable = [line.kref for line in lines if line.kref and is_mutable(line)]
    with situation.store.read() as reader:
        held = verifiers_of(reader, mutable)

    def obliged(line: ContextLine) -> ContextLine:
        if line.kref not in held:
            return line
        return line.noted(_checked(held[line.kref], situation))

    return obliged


def is_mutable(line: ContextLine) -> bool:
    """Return whether a line states something about files, processes or configuration."""
    try:
        kind = parse_kref(line.kref).kind
    except KrefError:
        return False
    return kind not in _NORMATIVE and patterns().mutable.search(line.text) is not None


def obligation_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield what has to be checked in a turn that is about files, processes or configuration."""
    match = patterns().asks.search(situation.question) or patterns().mutable.search(
        situation.question
    )
    if match is not None:
        said = phrases_of(situation.language).notes["question"]
        yield ContextLine("obligations", said, f"the message names {match.group()!r}")


def _checked(verifiers: Sequence[Record], situation: Situation) -> str:
    notes = phrases_of(situation.language).notes
    found = [_outcome(one, situation) for one in verifiers]
    for outcome in ("changed", "missing", "failed", "waiting", "holds"):  # the worst is said
        what = [named for one, named in found if one == outcome]
        if what:
            return notes[outcome].format(what=", ".join(what))
    return notes["unchecked"]


def _outcome(verifier: Record, situation: Situation) -> tuple[str, str]:
    data = verifier.data
    if data["kind"] == "command":
        named = bare(" ".join(command_of(data)))
        if not (situation.machine and situation.commands):
            return "waiting", named
        return ("holds" if _succeeds(command_of(data)) else "failed"), named
    named = bare(str(data["path"]))
    if not situation.machine:
        return "waiting", named
    try:
        now = state_of(data["kind"], Path(data["path"]))
    except OSError:
        return "missing", named
    return ("holds" if now == data["held"] else "changed"), named


def _succeeds(command: object) -> bool:
    """Whether a command that an operator declared ends with 0, without input, within its time."""
    try:
        done = subprocess.run(  # noqa: S603 - the operator declared it, and no shell reads it
            list(command),  # type: ignore[call-overload]
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=VERIFIER_COMMAND_MS / 1_000,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(done.returncode == 0)
