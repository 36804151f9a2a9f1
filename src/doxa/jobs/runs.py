"""A run: one execution of a background job, a node of the graph with what it may do and what it
did.

    (:Run {kref, job, state, started_ns, ended_ns, model, number_max, share_max, items, touched,
           changed, touched_before, changed_before, change, counts, budget})

state: running | done | failed | stopped | undone. `number_max` and `share_max` limit it, `items` is
how many items the project had when it began, `touched` and `changed` count (belief/background/
laws.py); after its end each call that applies its proposals counts from `touched_before` and
`changed_before`. Every transaction that changes something notes its number as `change`, so that the
past of the node lists the changes of the run. `counts` and `budget` are JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from doxa.base.clock import format_time
from doxa.base.errors import ConflictError, InputError, NotFoundError
from doxa.base.ids import NodeId, Role
from doxa.base.limits import (
    JOB_LEASE_MS,
    RUN_REPORT_CHARS_MAX,
    RUN_TOUCHED_ITEMS_DEFAULT,
    RUN_TOUCHED_ITEMS_MAX,
    RUNS_REGULAR_ITEMS_MAX,
)
from doxa.base.values import canonical, decode
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.types import RUN_KIND
from doxa.belief.writes import ensure_place, place_of
from doxa.jobs.proposals import write_proposal
from doxa.store import Identity, Node, Reader, Store, Transaction

SHARE_DEFAULT, SHARE_MIN, SHARE_MAX = 0.5, 0.1, 0.9  # of the items of a project: what a run changes

RunState = Literal["running", "done", "failed", "stopped", "undone"]
_ENDED = ("done", "failed", "stopped")


@dataclass(frozen=True, slots=True)
class Caps:
    """How much a run may touch: `number` elements, and `share` (0.1 to 0.9) of the project's
    items. Raises InputError for other limits."""

    number: int = RUN_TOUCHED_ITEMS_DEFAULT
    share: float = SHARE_DEFAULT

    def __post_init__(self) -> None:
        if (
            isinstance(self.number, bool)
            or not isinstance(self.number, int)
            or not (1 <= self.number <= RUN_TOUCHED_ITEMS_MAX)
        ):
            raise InputError(
                f"A run touches 1 to {RUN_TOUCHED_ITEMS_MAX:,} elements, not {self.number!r:.40}.",
                next_step=f"Leave it out for {RUN_TOUCHED_ITEMS_DEFAULT}.",
                field="number",
            )
        if (
            isinstance(self.share, bool)
            or not isinstance(self.share, (int, float))
            or not (SHARE_MIN <= self.share <= SHARE_MAX)
        ):
            raise InputError(
                f"A run changes a share of {SHARE_MIN:g} to {SHARE_MAX:g} of"
                f" the items, not {self.share!r:.40}.",
                next_step=f"Leave it out for {SHARE_DEFAULT:g}.",
                field="share",
            )


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend; None: no limit. `seconds` of wall time, `calls` and `tokens` of a
    model."""

    seconds: float | None = None
    calls: int | None = None
    tokens: int | None = None

    def stored(self) -> str:
        given = {"seconds": self.seconds, "calls": self.calls, "tokens": self.tokens}
        return canonical({name: one for name, one in given.items() if one is not None}).decode()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as it is noted: what `runs` lists."""

    kref: str
    job: str
    project: str
    state: RunState
    started: int
    ended: int | None
    model: str
    touched: int
    changed: int
    number_max: int
    share_max: float
    items: int
    counts: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    report: str = ""


class JobRun:
    """A run that goes on. `write` gives a transaction in its name, `propose` notes a proposal,
    `finish` ends it; as a context manager it ends as failed when the block raises."""

    def __init__(
        self, store: Store, node: NodeId, info: RunInfo, identity: Identity, rights: Role
    ) -> None:
        self.store, self.node, self.info = store, node, info
        self.identity, self.rights = identity, rights
        self._tx: Transaction | None = None

    @property
    def kref(self) -> str:
        return self.info.kref

    def __enter__(self) -> JobRun:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if kind is not None and self.state() == "running":
            self.finish({}, state="failed", error=str(error) or type(error).__name__)

    @contextmanager
    def write(
        self, op: str = "", *, note: str = "", counted: bool | None = None
    ) -> Iterator[Transaction]:
        """Open a transaction of the run, in which verbs of this thread join. Raises what the laws
        of background work refuse, at the commit; `counted` as for `Store.write`."""
        if self._tx is not None:
            yield self._tx
            return
        with self.store.write(
            self.identity, op=op or self.info.job, note=note, run=self.node, counted=counted
        ) as tx:
            self._tx = tx
            try:
                with self.store.joined(tx):
                    yield tx
            finally:
                self._tx = None

    def propose(
        self,
        kind: str,
        reason: str,
        *,
        about: Sequence[str] = (),
        action: Mapping[str, Any] | None = None,
        key: str = "",
        blocked: str = "",
    ) -> str:
        """Note a proposal and return its address. `about`: addresses of what it concerns;
        `action`: what applying it does, see jobs/applying.py; without one a person acts. `key`
        tells what it is: it is made once, by whichever run. `blocked`: why it cannot be applied.
        """
        with self.write(f"{self.info.job}.propose") as tx:
            return write_proposal(
                tx,
                self.node,
                self.kref,
                kind=kind,
                reason=reason,
                about=about,
                action=action or {},
                key=key,
                state="blocked" if blocked else "open",
                said=blocked,
            )

    def count_from_here(self) -> None:
        """Count the limits of a run that has ended from zero, for a call that applies what it
        proposed. A run that goes on has one count."""
        with self.store.read() as reader:
            run = reader.node(self.node)
        assert run is not None
        stands = {f"{name}_before": run.props[name] for name in ("touched", "changed")}
        before = {name: run.props.get(name, 0) for name in stands}
        if run.props["state"] == "running" or stands == before:
            return
        with self.write("apply.begin", counted=False) as tx:
            run = tx.node(self.node)
            assert run is not None
            tx.set_node(self.node, dict(run.props) | stands)

    def finish(
        self,
        counts: Mapping[str, Any],
        *,
        state: RunState = "done",
        error: str = "",
        report: str = "",
    ) -> RunInfo:
        """End the run with its counts, and its report as Markdown. Raises ConflictError if it has
        ended. No quota refuses the end of what has begun."""
        with self.write(f"{self.info.job}.finish", counted=False) as tx:
            run = tx.node(self.node)
            assert run is not None
            if run.props["state"] != "running":
                raise _ended(run)
            held = dict(run.props) | {
                "state": state,
                "ended_ns": self.store.clock.now_ns(),
                "counts": canonical(dict(counts)).decode(),
            }
            given = {"error": error[:1_000], "report": report[:RUN_REPORT_CHARS_MAX]}
            tx.set_node(self.node, held | {name: text for name, text in given.items() if text})
        with self.store.read() as reader:
            node = reader.node(self.node)
            assert node is not None
            return read_run(node)

    def state(self) -> RunState:
        with self.store.read() as reader:
            node = reader.node(self.node)
        return cast("RunState", node.props["state"]) if node is not None else "undone"


def begin(
    store: Store,
    job: str,
    *,
    project: str,
    caps: Caps | None = None,
    budget: Budget | None = None,
    model: str | None = None,
    actor: str = "",
    regular: bool = False,
    counted: bool = True,
) -> JobRun:
    """Begin a run of a job in a project. `model` names who concludes; None: rules.

    The quota of the file counts the record of the run: raises LimitError if it is full. No quota
    stops one that is not `counted`: that of a thread of doxa itself. `regular`: the job is done
    again and again, and its record takes the place of older ones, so that the last
    RUNS_REGULAR_ITEMS_MAX stay.
    """
    check_name(job, what="job")
    caps, budget = caps or Caps(), budget or Budget()
    place = place_of(project, "")
    who = Identity(actor or f"job:{job}", "system")
    with store.write(who, op=f"{job}.begin", counted=counted) as tx:
        ensure_place(tx, place)
        stamp = format_time(tx.now).translate(dict.fromkeys(map(ord, "-:.")))
        kref = str(Kref(place.project, (), f"{job}-{stamp}", RUN_KIND))
        items = tx.rows(_ITEMS, (place.project,))[0][0]
        props: dict[str, Any] = {
            "kref": kref,
            "project": place.project,
            "space": "",
            "kind": RUN_KIND,
            "job": job,
            "state": "running",
            "started_ns": tx.now,
            "number_max": caps.number,
            "share_max": float(caps.share),
            "items": items,
            "touched": 0,
            "changed": 0,
            "budget": budget.stored(),
            "model": model or "rules",
        }
        node = tx.create_node(("Run",), props)
        if regular:
            _drop_older(tx, job, project=place.project)
    with store.read() as reader:
        made = reader.node(node)
        assert made is not None
        identity = Identity(actor or f"job:{job}", "background")
        return JobRun(store, node, read_run(made), identity, "background")


def _drop_older(tx: Transaction, job: str, *, project: str) -> None:
    """Delete the records of runs that changed nothing, proposed nothing and have ended, or were
    interrupted, except the last ones."""
    silent = tx.now - JOB_LEASE_MS * 1_000_000
    for (identity,) in tx.rows(_OLDER, (job, project, silent, RUNS_REGULAR_ITEMS_MAX)):
        tx.delete_node(NodeId(identity))


_OLDER = (
    "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Run' AND n.props"
    " ->> '$.job' = ?1 AND n.project = ?2 AND n.props ->> '$.change' IS NULL AND (n.props ->>"
    " '$.state' <> 'running' OR n.props ->> '$.started_ns' < ?3) AND NOT EXISTS (SELECT 1 FROM edge"
    " e WHERE e.src = n.id) ORDER BY n.id DESC LIMIT -1 OFFSET ?4 - 1"
)
_ITEMS = (
    "SELECT count(*) FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Item' AND"
    " n.project = ?"
)


def open_run(store: Store, kref: str, *, identity: Identity | None = None) -> JobRun:
    """Return a run by its address: one that goes on, to resume it, or one that has ended, for
    `identity` to apply its proposals. Raises NotFoundError, or ConflictError if it was undone."""
    with store.read() as reader:
        node = require_run(reader, kref)
    info = read_run(node)
    if info.state == "undone":
        raise _ended(node)
    who = identity or Identity(f"job:{info.job}", "background")
    return JobRun(store, node.id, info, who, who.role)


def require_run(reader: Reader, kref: str) -> Node:
    """Return the node of a run, or raise NotFoundError."""
    address = parse_kref(kref)
    node = reader.node_by_kref(str(address))
    if node is None or "Run" not in node.labels:
        raise NotFoundError(
            f"There is no run at {address}.", next_step="List them with runs.", kref=str(address)
        )
    return node


def list_runs(
    reader: Reader, *, project: str | None = None, job: str = "", limit: int = 20
) -> list[RunInfo]:
    """Return runs, the newest first."""
    sql = (
        "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Run' AND"
        " n.kref IS NOT NULL AND (?1 IS NULL OR n.project = ?1) AND (?2 = '' OR n.props ->> '$.job'"
        " = ?2) ORDER BY l.node DESC LIMIT ?3"
    )
    found = [row[0] for row in reader.rows(sql, (project, job, limit))]
    return [read_run(node) for node in sorted(reader.nodes(found), key=lambda n: -n.id)]


def read_run(node: Node) -> RunInfo:
    """Return a run as it is noted on its node."""
    held: dict[str, Any] = dict(node.props)
    return RunInfo(
        held["kref"],
        held["job"],
        held["project"],
        held["state"],
        held["started_ns"],
        held.get("ended_ns"),
        held.get("model", ""),
        held["touched"],
        held["changed"],
        held["number_max"],
        held["share_max"],
        held["items"],
        decode(held["counts"]) if "counts" in held else {},
        decode(held["budget"]) if "budget" in held else {},
        held.get("error", ""),
        held.get("report", ""),
    )


def _ended(run: Node) -> ConflictError:
    return ConflictError(
        f"{run.props['kref']} has ended: it is {run.props['state']}.",
        next_step="Begin another run.",
        kref=str(run.props["kref"]),
    )
