"""Consolidate the units of a thread: queue, produce, validate, store, sum up.

    note in the queue -> ask the producer -> validate -> begin a run -> store in one transaction
    -> end the run        for each unit
    days, weeks and months, in a run of their own -> remove from the queue        for each thread

The order decides what a crash costs. Before the structure is stored, the task is in the queue and
nothing else is there; after it, doing it again finds the digest of the turns and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from doxa.base.errors import DoxaError, LimitError, ModelError
from doxa.base.ids import NodeId
from doxa.base.limits import RUN_TOUCHED_ITEMS_MAX
from doxa.base.stopping import stop_asked
from doxa.consolidation import queue
from doxa.consolidation.drafts import Origin, item_drafts
from doxa.consolidation.keeping import Former, former_of, kept_note, merged
from doxa.consolidation.producers.contract import NOTHING_SPENT, Produced, Producer, SessionCost
from doxa.consolidation.producers.prompt import INSTRUCTION
from doxa.consolidation.rollups import sum_up
from doxa.consolidation.structure import SECTIONS, Structure, read_structure, schema
from doxa.consolidation.transcript import Transcript
from doxa.consolidation.units import Unit, transcript_of, units_of
from doxa.consolidation.validate import Validated, validate
from doxa.consolidation.writer import (
    MentionEntity,
    elements_of,
    is_retired,
    is_stored,
    store_structure,
    summary_of,
)
from doxa.jobs import Caps, begin, end_dead
from doxa.jobs.runs import SHARE_MAX, JobRun
from doxa.store import Reader, Store

JOB = "consolidate"
Status = Literal["done", "unchanged", "empty", "retired", "queued", "input-required", "dry-run"]


@dataclass(frozen=True, slots=True)
class HostRequest:
    """What a host is asked for: the structure of these turns, in this schema. It passes the
    structure with the `digest` in its next call."""

    thread: str
    session: str
    digest: str
    instruction: str
    schema: Mapping[str, Any]
    turns: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class SessionResult:
    """What became of one part of a session. `stored` counts entries by section, `dropped` those
    that the turns do not support by reason; `known` facts were believed already. With the status
    `queued`, `error` says what failed and `due` when it is tried again, in ns. `kept` counts
    entries of the producer `former` that stay; with none, its structure was replaced. `cost` is
    what producing took, `tokens` those of it. With the
    status `retired`, the summary at `kref` was retired, and is not written again until it is
    restored."""

    thread: str
    session: str
    part: int
    status: Status
    kref: str = ""
    producer: str = ""
    model: str = ""
    turns: int = 0
    left_out: int = 0
    stored: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    retired: int = 0
    redacted: int = 0
    tokens: int = 0
    run: str = ""
    change: int | None = None
    error: str = ""
    due: int | None = None
    former: str = ""
    kept: int = 0
    cost: SessionCost = NOTHING_SPENT


@dataclass(frozen=True, slots=True)
class ProducerCost:
    """What the sessions of one producer and model took: calls, tokens, seconds and money (None:
    without a price) of all of them, and on average of one."""

    producer: str
    model: str
    sessions: int
    calls: int
    tokens: int
    seconds: float
    money: float | None
    tokens_per_session: float
    money_per_session: float | None


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The result of a consolidation. `status` is that of the session that needs most attention;
    `pending` counts sessions in the queue. `needs` is what a host has to give, with the status
    `input-required`. `costs` has a row for each model and each program that was asked. `more`: the
    limit of the call was reached, and the next call may find others that wait."""

    status: Status
    sessions: tuple[SessionResult, ...] = ()
    pending: int = 0
    needs: HostRequest | None = None
    costs: tuple[ProducerCost, ...] = ()
    more: bool = False


def costs_of(results: Iterable[SessionResult]) -> tuple[ProducerCost, ...]:
    """Return what the sessions took for which a model or program was asked, by these."""
    held: dict[tuple[str, str], list[SessionCost]] = {}
    for one in results:
        if one.cost.calls:
            held.setdefault((one.producer, one.model), []).append(one.cost)
    found = []
    for (producer, model), costs in sorted(held.items()):
        priced = [one.money for one in costs if one.money is not None]
        tokens, money = sum(one.tokens for one in costs), sum(priced) if priced else None
        found.append(
            ProducerCost(
                producer,
                model,
                len(costs),
                sum(one.calls for one in costs),
                tokens,
                round(sum(one.seconds for one in costs), 3),
                money,
                tokens / len(costs),
                None if money is None else money / len(costs),
            )
        )
    return tuple(found)


_ATTENTION: tuple[Status, ...] = (
    "input-required",
    "queued",
    "dry-run",
    "retired",
    "done",
    "unchanged",
    "empty",
)


def overall(results: Iterable[SessionResult]) -> Status:
    """Return the status that needs most attention; empty if there was nothing to do."""
    found = {one.status for one in results}
    return next((status for status in _ATTENTION if status in found), "empty")


def request_of(transcript: Transcript) -> HostRequest:
    """Return what a host is asked for a transcript."""
    return HostRequest(
        transcript.thread,
        transcript.session,
        transcript.digest,
        INSTRUCTION,
        schema(),
        tuple(turn.as_data() for turn in transcript.turns),
    )


def is_done(reader: Reader, unit: Unit, digest: str, producer: str | None = None) -> bool:
    """Return whether a unit is stored as its turns are now; by this producer if it is named."""
    return is_stored(reader, unit, digest, producer=producer, model=None)


def due_units(reader: Reader, project: str, *, now: int, of: str = "", but: str = "") -> list[Unit]:
    """Return the units in the queue whose next attempt is due: `of` this producer, or of any but
    one."""
    found = []
    for task in queue.pending(reader, project=project):
        if task.due <= now and of in ("", task.producer) and task.producer != but:
            for unit in units_of(reader, task.thread, session=task.session):
                if unit.part == task.part:
                    found.append(unit)
    return found


class Consolidation:
    """Consolidates units with one producer. With `keeping`, what a host or model made of turns
    stays, and the producer adds what is new (keeping.py). `progress` is called with 1 after each
    unit."""

    def __init__(
        self,
        store: Store,
        producer: Producer,
        *,
        mention: MentionEntity | None = None,
        keeping: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._store = store
        self._progress = progress
        self._keeping = keeping
        self._producer = producer
        self._mention = mention

    @property
    def producer(self) -> str:
        return self._producer.name

    def run(self, units: Iterable[Unit], *, dry_run: bool = False) -> list[SessionResult]:
        """Consolidate units one after the other. One that fails stays in the queue, and the others
        go on. The days, weeks and months of each thread are brought up to date once, at the end."""
        units = list(units)
        if not dry_run:
            for project in {unit.project: None for unit in units}:
                end_dead(self._store, JOB, project=project)
        results = []
        stored: dict[str, list[Unit]] = {}
        for unit in units:
            if stop_asked():
                break
            result = self._one(unit, dry_run=dry_run)
            results.append(result)
            if self._progress is not None:
                self._progress(1)
            if not dry_run and result.status in ("done", "unchanged", "empty", "retired"):
                stored.setdefault(unit.thread, []).append(unit)
        for held in stored.values():
            try:
                self._sum_up(held[0])
            except DoxaError as error:
                queue.failed(self._store, held[0], error.message)
                held = held[1:]
            for unit in held:
                queue.done(self._store, unit)
        return results

    def _one(self, unit: Unit, *, dry_run: bool) -> SessionResult:
        with self._store.read() as reader:
            transcript = transcript_of(reader, unit)
            same = is_stored(
                reader,
                unit,
                transcript.digest,
                producer=self._producer.name,
                model=self._producer.model,
            )
            retired = is_retired(reader, unit)
            former, seen = former_of(reader, unit), summary_of(reader, unit)
            if self._keeping and former is not None:
                same = is_done(reader, unit, transcript.digest)
            elif former is not None and self._other(former):
                same = False
        if not transcript.turns or (same and not dry_run):
            status: Status = "unchanged" if transcript.turns else "empty"
            return self._result(unit, transcript, status)
        if retired:
            return self._result(unit, transcript, "retired")
        if not dry_run:
            queue.enqueue(self._store, unit, self._producer.name)
        try:
            produced = self._produced(transcript)
            validated, origin = self._validated(unit, transcript, produced, former)
            cost = produced.cost
            if dry_run:
                return self._rehearsed(origin, validated, cost)
            return self._store_one(origin, validated, cost, former, seen)
        except DoxaError as error:
            if dry_run:
                raise
            return self._failed(unit, transcript, error)

    def _validated(
        self, unit: Unit, transcript: Transcript, produced: Produced, former: Former | None
    ) -> tuple[Validated, Origin]:
        origin = Origin(unit, transcript, self._producer.name, self._producer.model)
        if not self._keeping or former is None or former.structure is None:
            return validate(produced.structure, transcript), origin
        turns = frozenset(turn.id for turn in transcript.turns)
        added, _ = read_structure(produced.structure)
        both, kept = merged(former, added, turns=turns)
        validated = validate(both, transcript)
        note, held = kept_note(former, validated.structure, kept)
        by = (former.producer, former.model)
        return validated, replace(origin, kept=held, kept_by=by, note=note)

    def _produced(self, transcript: Transcript) -> Produced:
        started = time.monotonic()
        try:
            made = self._producer.produce(transcript)
            return replace(made, cost=replace(made.cost, seconds=time.monotonic() - started))
        except DoxaError:
            raise
        except Exception as error:  # a model may be any object: the queue must note how it failed
            raise ModelError(
                f"The producer {self._producer.name} failed: {type(error).__name__}: {error}"[:300],
                next_step="Correct it; the session stays in the queue.",
                model=self._producer.model,
            ) from error

    def _sum_up(self, unit: Unit) -> None:
        with self._store.read() as reader:
            if not sum_up(reader, unit.thread, write=None):
                return
        with self._begin(unit, 1_000) as run:
            summed = sum_up_in(run, unit)
            run.finish({"summed": summed})

    def _begin(self, unit: Unit, elements: int) -> JobRun:
        return begin(
            self._store,
            JOB,
            project=unit.project,
            caps=Caps(number=min(elements, RUN_TOUCHED_ITEMS_MAX), share=SHARE_MAX),
            model=self._producer.model or None,
        )

    def _store_one(
        self,
        origin: Origin,
        validated: Validated,
        cost: SessionCost,
        former: Former | None,
        seen: NodeId | None,
    ) -> SessionResult:
        unit, transcript = origin.unit, origin.transcript
        structure = validated.structure
        with self._begin(unit, elements_of(structure)) as run:
            stored = store_structure(
                run, structure, origin, mention=self._mention, seen=seen, keeping=self._keeping
            )
            dropped = _added(validated.dropped, stored.dropped)
            spent = {"calls": cost.calls, "tokens": cost.tokens} if cost.calls else {}
            run.finish({"stored": dict(stored.counts), "dropped": dropped} | spent)
        if stored.unchanged:
            return self._result(unit, transcript, "unchanged", cost=cost, run=run.kref)
        return self._result(
            unit,
            transcript,
            "done",
            stored=stored.counts,
            dropped=dropped,
            known=stored.known,
            retired=stored.retired,
            redacted=validated.redacted,
            cost=cost,
            run=run.kref,
            change=stored.change,
            former=self._other(former),
            kept=len(origin.kept),
        )

    def _other(self, former: Former | None) -> str:
        """Return the producer whose structure was stored before, if it was another."""
        return "" if former is None or former.producer == self._producer.name else former.producer

    def _rehearsed(self, origin: Origin, validated: Validated, cost: SessionCost) -> SessionResult:
        return self._result(
            origin.unit,
            origin.transcript,
            "dry-run",
            stored=counted(validated.structure, origin),
            kept=len(origin.kept),
            dropped=validated.dropped,
            redacted=validated.redacted,
            cost=cost,
        )

    def _failed(self, unit: Unit, transcript: Transcript, error: DoxaError) -> SessionResult:
        noted = queue.failed(self._store, unit, error.message)
        said = error.message
        if isinstance(error, LimitError):
            said = f"{said} {error.next_step}"
        due = noted.due if noted is not None else None
        return self._result(unit, transcript, "queued", error=said, due=due)

    def _result(
        self,
        unit: Unit,
        transcript: Transcript,
        status: Status,
        *,
        cost: SessionCost = NOTHING_SPENT,
        **rest: Any,
    ) -> SessionResult:
        kref = str(unit.kref) if status in ("done", "unchanged", "retired") else ""
        return SessionResult(
            unit.thread,
            unit.session,
            unit.part,
            status,
            kref,
            self._producer.name,
            self._producer.model,
            len(transcript.turns),
            transcript.left_out,
            tokens=cost.tokens,
            cost=cost,
            **rest,
        )


def counted(structure: Structure, origin: Origin) -> dict[str, int]:
    """Return how many entries of each section would be stored."""
    counts = {section: len(getattr(structure, section)) for section in SECTIONS}
    assert sum(1 for _ in item_drafts(structure, origin)) <= sum(counts.values())
    return {section: count for section, count in counts.items() if count}


def sum_up_in(run: JobRun, unit: Unit) -> int:
    """Write what sums up the sessions of a unit's thread, and return how many nodes changed."""
    with run.write(JOB) as tx:
        return sum_up(tx, unit.thread, write=run)


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
