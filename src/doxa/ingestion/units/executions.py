"""Executions: what was done for a task, with its outcome, steps and cost; and how a task was done
before.

An execution is an item of its own of kind `execution`: it happened, so that a later one neither
revises nor retires it. Its summary says task, outcome and steps, so that recall finds it by any of
them; the fields are properties of the revision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from doxa.base.errors import InputError
from doxa.base.limits import EXECUTION_OUTPUT_CHARS_MAX, RECALL_HITS_MAX
from doxa.base.values import Value, canonical
from doxa.base.words import terms
from doxa.belief import Draft, Revision, name_from, parse_kref, read_revision, resolve
from doxa.recall import Ask, Recaller
from doxa.store import Store

EXECUTION_KIND = "execution"
EXECUTIONS = "executions"  # their space
OUTCOMES = ("done", "failed", "error", "blocked")
_CUT = " [… cut]"
_SEARCHED = 40  # hits of a recall that are compared
_SHARED_MIN = 0.5  # of the words of the rarer text


@dataclass(frozen=True, slots=True)
class Execution:
    """What was done for a task. `likeness` is the share of the words of the shorter task that both
    have, from 0 to 1; `duration_ms` and `cost` are None where they were not given."""

    kref: str
    task: str
    outcome: str
    steps: tuple[str, ...]
    tools: tuple[str, ...]
    exit_code: int | None
    duration_ms: int | None
    cost: float | None
    output: str
    time: int
    likeness: float


def execution_draft(
    task: str,
    *,
    project: str,
    space: str,
    now_ns: int,
    actor: str,
    outcome: str,
    steps: Sequence[str],
    tools: Sequence[str],
    exit_code: int | None,
    duration_ms: int | None,
    cost: float | None,
    output: str,
    topics: tuple[str, ...],
) -> Draft:
    """Return the draft of an execution. Its name is made of the task and a digest of all of it and
    the time."""
    if outcome not in OUTCOMES:
        raise InputError(
            f"{outcome[:40]!r} is not an outcome.",
            next_step=f"Use one of {', '.join(OUTCOMES)}.",
            field="outcome",
        )
    if not task.strip():
        raise InputError(
            "An execution names its task.", next_step="Say what was to be done.", field="task"
        )
    if len(output) > EXECUTION_OUTPUT_CHARS_MAX:
        output = output[: EXECUTION_OUTPUT_CHARS_MAX - len(_CUT)] + _CUT
    fields: dict[str, Value] = {
        "task": task,
        "outcome": outcome,
        "steps": list(steps),
        "tools": list(tools),
        "exit_code": exit_code,
        "duration_ms": duration_ms,
        "cost": None if cost is None else float(cost),
        "output": output,
    }
    given = {name: value for name, value in fields.items() if value not in (None, "", [])}
    digest = hashlib.blake2b(canonical([given, now_ns, actor]), digest_size=4).hexdigest()
    lines = [task, f"Outcome: {outcome}.", *(f"{n}. {step}" for n, step in enumerate(steps, 1))]
    return Draft(
        summary="\n".join(lines),
        title=task[:200],
        project=project,
        space=space,
        name="-".join(filter(None, (name_from(task), digest))),
        kind=EXECUTION_KIND,
        topics=topics,
        metadata=given,
    )


def find_executions(
    store: Store, recaller: Recaller, task: str, *, project: str, outcome: str, limit: int
) -> list[Execution]:
    """Return the executions of tasks like this one: those that succeeded first, of each the newest
    first."""
    if not 1 <= limit <= RECALL_HITS_MAX:
        raise InputError(
            f"limit lies between 1 and {RECALL_HITS_MAX}.",
            next_step="Ask for fewer.",
            field="limit",
        )
    if outcome and outcome not in OUTCOMES:
        raise InputError(
            f"{outcome[:40]!r} is not an outcome.",
            next_step=f"Use one of {', '.join(OUTCOMES)}, or none.",
            field="outcome",
        )
    ask = Ask(task, project=project, kinds=(EXECUTION_KIND,), limit=max(_SEARCHED, limit))
    hits = recaller.recall(ask).hits
    wanted = frozenset(terms(task))
    found: list[Execution] = []
    with store.read() as snapshot:
        for hit in hits:
            one = _read(read_revision(snapshot, resolve(snapshot, parse_kref(hit.kref))), wanted)
            if one.likeness >= _SHARED_MIN and outcome in ("", one.outcome):
                found.append(one)
    found.sort(key=lambda one: (one.outcome != "done", -one.time, one.kref))
    return found[:limit]


def _read(revision: Revision, wanted: frozenset[str]) -> Execution:
    held: dict[str, Any] = dict(revision.metadata)
    task = str(held.get("task", revision.title or revision.summary))
    own = frozenset(terms(task))
    shorter = min(len(own), len(wanted))
    return Execution(
        revision.kref,
        task,
        str(held.get("outcome", "")),
        tuple(held.get("steps", ())),
        tuple(held.get("tools", ())),
        held.get("exit_code"),
        held.get("duration_ms"),
        held.get("cost"),
        str(held.get("output", "")),
        revision.time,
        round(len(own & wanted) / shorter, 3) if shorter else 0.0,
    )
