"""An opened memory file: its store, its models and threads, and the verbs that concern the file.

Memory adds the verbs of a session to it. Packages above belief are imported when they are first
used, so that a command pays only for what it does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.care.embedding import EmbeddingThread
from doxa.app.care.maintenance import MaintenanceThread
from doxa.app.care.shared import open_engine, open_replica, replica_health
from doxa.app.checks import deprecated
from doxa.app.config import (
    Config,
    check_config,
    image_bytes_max,
    retain_every_s,
    working_url,
)
from doxa.app.expressions import LazyExpressions
from doxa.app.models import ModelOptions, Models
from doxa.app.policies import initialise_file
from doxa.app.promotion import promotion_problem
from doxa.base.clock import NS, Clock
from doxa.base.errors import CorruptError, DoxaError, ModelError
from doxa.base.files.places import signals_folder
from doxa.base.files.write_ahead import write_ahead_log_of
from doxa.base.limits import CONSOLIDATED_ATTEMPTS_MAX, SPENDING_DAYS_MAX
from doxa.belief.before_commit import check_before_commit
from doxa.ingestion import arguments
from doxa.models.spending import SpendCap, Spending, SpendLedger, parse_caps, said_spending
from doxa.store import (
    Identity,
    LogProof,
    Node,
    Receipt,
    Store,
    Transaction,
    check,
    damage_reported,
    verify_log,
)
from doxa.store.stages import Stages, no_stages

if TYPE_CHECKING:
    from doxa.agent.signals.log import TurnLog
    from doxa.app.care.growth import Growth
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.embedding import Reembedding
    from doxa.models.contract import Completer, Embedder, Reranker
    from doxa.models.meter import Spend
    from doxa.query.engine import QueryEngine
    from doxa.recall import Recaller
    from doxa.transfer.types import Imported
    from doxa.working import WorkingMemory

_ARCHIVE_LATE_NS = 48 * 3_600 * NS  # hosts write it after each turn, agents at least each night
SPEND_CAPS = "spend_caps"  # in the catalogue: {purpose: {"tokens": n, "calls": n}} of a day
_COUNTED = ("Project", "Space", "Item", "Revision", "Exchange", "Thread", "Artifact")


def _check_record(tx: Transaction, node: Node) -> None:
    """Check a record of the agent's runtime. Its laws are loaded with the first one that a
    transaction changes."""
    from doxa.agent.laws import check_record

    check_record(tx, node)


_CHECK = partial(check_before_commit, promotion=promotion_problem, records=_check_record)


def new_store(path: Path, *, clock: Clock) -> Store:
    """Return the store of a new file, under the laws of every other."""
    made = Store(path, clock=clock, expressions=LazyExpressions(), check_before_commit=_CHECK)
    initialise_file(made, bootstrap=False)
    return made


class MemoryFile:
    """The opened file. Safe to share between threads."""

    def __init__(self, config: Config, build_queries: Callable[[], QueryEngine]) -> None:
        check_config(config)
        self.config = config
        self._models = Models(
            ModelOptions(
                config.embedder,
                config.model,
                config.reranker,
                config.model_urls,
                config.model_prices,
                config.model_calls_max,
                config.model_tokens_max,
                config.model_folder,
            )
        )
        log = open_engine(config)
        try:
            self.store = Store(
                config.path,
                clock=config.clock,
                read_only=config.read_only,
                expressions=LazyExpressions(),
                decay_enabled=config.decay_enabled is not False,
                check_before_commit=_CHECK,
                image_bytes_max=image_bytes_max(config),
            )
        except BaseException:
            if log is not None:
                log.close()
            raise
        self.replica = open_replica(self.store, config, log)
        self.store.on_scrub = self._scrub_beside
        self.ledger = SpendLedger(
            Path(f"{self.store.path}.spend"), clock=self.store.clock, caps=self._spend_caps
        )
        self._models.record_in(self.ledger)
        self.maintenance = MaintenanceThread(
            self.store,
            interval_ms=config.access_flush_ms,
            background=config.background,
            retain_every_s=retain_every_s(config),
            project=config.project,
        )
        self._embedding = EmbeddingThread(
            self.store,
            self._models,
            enabled=config.background and not config.read_only,
            replica=self.replica,
        )
        # called in place of embedding here, where another process of a server embeds for all
        self.embeds_elsewhere: Callable[[], None] | None = None
        self._build_queries = build_queries
        self._recaller: Recaller | None = None
        self._queries: QueryEngine | None = None
        self._working: WorkingMemory | None = None
        self._working_lock = threading.Lock()
        self._building = threading.Lock()
        self.turn_logs: dict[Path, TurnLog] = {}  # of agents that this process observes
        self.closing = threading.Event()
        self.following = threading.Lock()  # held during a shift of `nightshift(follow=True)`
        try:
            with damage_reported(self.store.path, "its catalogue"):
                initialise_file(self.store, bootstrap=config.decay_enabled is True)
            if self.replica is not None and config.background and not config.read_only:
                self.replica.start()
        except BaseException:
            self.store.close()
            if self.replica is not None:
                self.replica.stop()
            raise

    def close(self) -> None:
        """Stop background work after its current batch, and close the file.

        What is not embedded yet stays pending.
        """
        self._embedding.stop()
        self.maintenance.stop()
        with self._working_lock:
            working, self._working = self._working, None
        self.ledger.close()
        if self.replica is not None:
            self.replica.stop_following()
        self.store.close()
        if self.replica is not None:
            self.replica.stop()
        if working is not None:
            working.close()

    def _scrub_beside(self) -> str:
        """Take what was erased out of the archives of agents, and the digests of words out of the
        logs of turns."""
        from doxa.agent.continuity.archive import scrub_archives

        left = [scrub_archives(self.store)]
        if self.replica is not None:
            from doxa.replication.snapshot import remove_left

            remove_left(Path(self.store.path), 0)
        if signals_folder(Path(self.store.path)).exists():
            from doxa.agent.signals.log import blank_traces

            self.turn_logs.clear()  # they hold digests of the last turns
            try:
                blank_traces(self.store.path)
            except OSError as error:
                left.append(f"The log of turns could not be written: {error.strerror}.")
        return " ".join(part for part in left if part)

    def _open_working(self) -> WorkingMemory:
        """Return the working memory, opened at first need."""
        from doxa.working import open_working

        with self._working_lock:
            self.store.require_open()
            if self._working is None:
                self._working = open_working(
                    working_url(self.config),
                    Path(f"{self.store.path}.working"),
                    clock=self.store.clock,
                    ttl_s=self.config.working_ttl_s,
                    read_only=self.config.read_only,
                )
            return self._working

    def flush(self) -> int:
        """Write pending accesses, and finish what a change of policies left to do.

        The background thread does both by itself. Returns how many elements had accesses.
        """
        self.store.require_open()
        return 0 if self.config.read_only else self.maintenance.flush()

    def settle(self) -> int:
        """Call `flush`, of which this is the deprecated name."""
        deprecated("settle", "flush")
        return self.flush()

    # Models and embedding

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model with a cache, loaded at first need; None if there is none
        (`embedder_error` says why)."""
        return self._models.embedder

    @property
    def embedder_error(self) -> ModelError | None:
        return self._embedding.error or self._models.embedder_error

    @property
    def model(self) -> Completer | None:
        """The language model, built at first need; None if none is configured or available
        (`model_error` says why)."""
        return self._models.model

    @property
    def model_error(self) -> ModelError | None:
        return self._models.model_error

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, built at first need; None if none is configured or available
        (`reranker_error` says why)."""
        return self._models.reranker

    @property
    def reranker_error(self) -> ModelError | None:
        return self._models.reranker_error

    def spend(self, *, process: bool = False) -> Spend:
        """Return what was sent to endpoints: calls, tokens and money."""
        arguments.flags(process=process)
        return self._models.spend(process=process)

    def spending(self, *, days: int = 7) -> Spending:
        """Return what models were used for: calls and tokens by day, purpose and model.

        Of the last so many days (UTC), today included, by all processes, with the caps of a day
        and what they leave. `spend` returns that of this opening, with prices.
        """
        arguments.whole(days, "days")
        return self.ledger.spending(min(days, SPENDING_DAYS_MAX))

    def _spend_caps(self) -> dict[str, SpendCap]:
        with self.store.read() as snapshot:
            return parse_caps(snapshot.catalogue(SPEND_CAPS))

    @property
    def queries(self) -> QueryEngine:
        """The Cypher engine with all procedures, built at first need."""
        if self._queries is None:
            with self._building:  # two would not know of each other's running statements
                if self._queries is None:
                    self._queries = self._build_queries()
        return self._queries

    @property
    def recaller(self) -> Recaller:
        """The recall engine, built at first need."""
        if self._recaller is None:
            from doxa.recall import Recaller

            self._recaller = Recaller(
                self.store,
                self._models.asking,
                reranker=lambda: self._models.reranker_for("recall"),
                model=lambda: self._models.completer("recall"),
            )
            # what an earlier opening left; at the first question, so that opening loads no model
            if (
                self.config.background
                and not self.config.read_only
                and (self.pending() or self.reembedding())
            ):
                self.wake()
        return self._recaller

    def pending(self, *, in_use: bool = False) -> int:
        """Return how many memories have no vector yet."""
        from doxa.maintenance.embedding import pending

        arguments.flags(in_use=in_use)
        with self.store.read() as snapshot:
            return pending(snapshot, in_use=in_use)

    def reembedding(self) -> Reembedding | None:
        """Return the progress of a rebuild with another model; None if there is none."""
        from doxa.maintenance.embedding import reembedding

        with self.store.read() as snapshot:
            return reembedding(snapshot)

    def embed(
        self,
        *,
        limit: int | None = None,
        anew: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Embed what has no vector yet, and return how many memories were embedded.

        `anew` begins to rebuild all vectors with another model; recall uses the old ones until all
        are rebuilt, by this call, a later one or the background thread. Without a model: 0. Where
        an endpoint is out of reach, `embedder_error` says why.
        """
        arguments.whole(limit, "limit", optional=True)
        arguments.flags(anew=anew)
        self.store.require_open()
        return self._embedding.embed(limit=limit, anew=anew, progress=progress)

    def wake(self) -> None:
        """Start the background embedding, if there may be work.

        It never blocks the caller.
        """
        if self.embeds_elsewhere is None:
            self._embedding.wake()
        else:
            self.embeds_elsewhere()

    # The log and the file

    def log(self, *, limit: int = 20, after: int = 0, newest_first: bool = True) -> list[Receipt]:
        """List changes with their numbers, times, actors and operations."""
        for name, value in (("limit", limit), ("after", after)):
            arguments.whole(value, name)
        arguments.flags(newest_first=newest_first)
        with self.store.read() as snapshot:
            return snapshot.receipts(after=after, limit=limit, newest_first=newest_first)

    def verify(self, *, progress: Callable[[int], None] | None = None) -> LogProof:
        """Verify the whole log, and compare the state with a replay of it."""
        from doxa.maintenance.doctor import prove

        arguments.function(progress, "progress")
        return prove(self.store) if progress is None else prove(self.store, progress)

    def has_receipt(self, head: str) -> bool:
        """Return whether the log contains a receipt with this hash.

        Compare with one that was noted elsewhere.
        """
        try:
            wanted = bytes.fromhex(head)
        except (ValueError, TypeError):
            return False
        with self.store.read() as snapshot:
            return bool(snapshot.rows("SELECT 1 FROM receipt WHERE hash = ?", (wanted,)))

    def doctor(self, *, models: bool = False) -> list[HealthCheck]:
        """Examine everything that can be wrong, and say what to do.

        No endpoint is called unless `models` is set.
        """
        arguments.flags(models=models)
        return self._examined(models=models)

    def _examined(self, *, models: bool, stages: Stages = no_stages) -> list[HealthCheck]:
        from doxa.maintenance.doctor import examine

        unasked = "" if models else self._models.embedder_unasked
        findings = examine(
            self.store,
            None if unasked else self.embedder,
            self.embedder_error,
            unasked=unasked,
            stages=stages,
        )
        return [
            *findings,
            *([] if self.replica is None else [replica_health(self.replica)]),
            *self._models.findings(ask=models),
            self._spending_health(),
            self._working_health(),
            self._waiting(),
            self._archives(),
        ]

    def _archives(self) -> HealthCheck:
        """Say which archives of agents fell behind: a hook that cannot write one tells nobody."""
        from doxa.agent.continuity.archive import archives_behind
        from doxa.maintenance.doctor import HealthCheck

        number, wrong = archives_behind(self.store, _ARCHIVE_LATE_NS)
        if not wrong:
            return HealthCheck("archives", True, f"{number} archives of agents")
        return HealthCheck(
            "archives",
            False,
            "; ".join(wrong),
            "Run `doxa archive-write --agent NAME` for each, which says what keeps it from that.",
        )

    def _working_health(self) -> HealthCheck:
        """Return what doctor says about working memory. Its backend may be unreachable."""
        from doxa.maintenance.doctor import HealthCheck

        name = "working memory"
        with self.store.read() as snapshot:
            rows = snapshot.rows("SELECT substr(text, 7) FROM token WHERE text LIKE 'scope:%'")
        projects = sorted({self.config.project, *(str(row[0]) for row in rows)})
        try:
            found = self._open_working().health(projects)
        except (DoxaError, OSError) as error:
            step = error.next_step if isinstance(error, DoxaError) else "Check its file."
            said = error.message if isinstance(error, DoxaError) else str(error)
            return HealthCheck(name, False, said, step)
        return HealthCheck(name, not found.crowded, found.detail, found.next_step)

    def _spending_health(self) -> HealthCheck:
        """Return what doctor says about what models were used for today."""
        from doxa.maintenance.doctor import HealthCheck

        name = "spending"
        try:
            found = self.ledger.spending(1)
        except DoxaError as error:
            return HealthCheck(name, False, error.message, error.next_step)
        used = said_spending(found)
        over = [scope for scope, left in found.left.items() if 0 in (left.tokens, left.calls)]
        if not over:
            return HealthCheck(name, True, used)
        return HealthCheck(
            name,
            False,
            f"{used}; the cap of {', '.join(over)} is reached",
            "Wait until tomorrow (UTC), or raise it with `doxa spend-cap`.",
        )

    def _waiting(self) -> HealthCheck:
        """Say which sessions await consolidation, and what keeps them."""
        from doxa.consolidation.queue import pending
        from doxa.maintenance.doctor import HealthCheck

        with self.store.read() as reader:
            held = pending(reader)
        tried = [one for one in held if one.attempts]
        if not tried:
            return HealthCheck("consolidation", True, f"{len(held)} sessions wait")
        worst = max(tried, key=lambda one: one.attempts)
        return HealthCheck(
            "consolidation",
            worst.attempts < CONSOLIDATED_ATTEMPTS_MAX,
            f"{len(held)} sessions wait, {len(tried)} after failures: {worst.error}",
            "`doxa consolidations` lists them; they are tried again, and none is lost.",
        )

    def check(self) -> list[str]:
        """Check every invariant of the file; an empty list means that it is sound."""
        return check(self.store)

    def backup(self, path: str | Path, *, progress: Callable[[int], None] | None = None) -> Path:
        """Write a consistent, verified copy while others read and write."""
        target = arguments.path(path, "path")
        arguments.text(str(target), "path")
        arguments.function(progress, "progress")
        try:
            made = self.store.backup(target, progress=progress or (lambda _: None))
        except OSError as error:
            raise arguments.unusable(target, error) from None
        with Store(made, read_only=True) as copy:
            verify_log(copy)
        return made

    def export(self) -> Iterator[bytes]:
        """Yield the whole state as JSON lines: every element, version, time and rule.

        `import_` reads them.
        """
        return self._exported()

    def _exported(self, stages: Stages = no_stages) -> Iterator[bytes]:
        from doxa.transfer.jsonl import export_lines

        return export_lines(self.store, stages)

    def export_to(self, target: str | Path) -> int:
        """Write an export to a file that does not exist yet; return the number of its lines.

        A name that ends in `.gz` compresses it.
        """
        return self._exported_to(target)

    def _exported_to(self, target: str | Path, stages: Stages = no_stages) -> int:
        from doxa.transfer.jsonl import write_export

        lines = write_export(self.store, arguments.path(target, "target"), stages)
        self.store.note_copy(target, kind="export")
        return lines

    def _import(
        self,
        path: str | Path,
        identity: Identity,
        *,
        dry_run: bool = False,
        accept_protected: bool = False,
    ) -> Imported:
        from doxa.transfer.jsonl import import_lines

        arguments.flags(dry_run=dry_run, accept_protected=accept_protected)
        file = arguments.path(path, "path")
        done = import_lines(
            self.store, identity, file, dry_run=dry_run, accept_protected=accept_protected
        )
        if not dry_run:
            self.wake()
        return done

    def growth(self) -> Growth:
        """Return what of the file grows, how fast, and what would trim it; and the last backup.

        Every page is counted, which takes about a second for a gigabyte.
        """
        from doxa.app.care.growth import growth

        return growth(self)

    def stats(self) -> dict[str, object]:
        """Return counts and sizes.

        While the vectors of another model are made, also how many there are; where background jobs
        have run, how long ago that was.
        """
        from doxa.jobs.heartbeat import described, heartbeats
        from doxa.maintenance.embedding import reembedding

        path = Path(self.store.path)
        log = write_ahead_log_of(path)
        with self.store.read() as snapshot:
            counts: dict[str, object] = {
                label.lower() + "s": snapshot.count(label) for label in _COUNTED
            }
            last = snapshot.last_receipt()
            coming = reembedding(snapshot)
            jobs = described(heartbeats(snapshot, now=snapshot.now))
            rows = snapshot.rows(
                "SELECT count(*), coalesce(sum(vectors > 0), 0), coalesce(sum(live), 0) FROM doc"
                " WHERE node > 0"
            )[0]
        size = sum(f.stat().st_size for f in (path, log) if f.exists())
        return {
            "path": str(path),
            **counts,
            "searchable": rows[2],
            "embedded": rows[1],
            "unembedded": rows[0] - rows[1],
            **({} if coming is None else _coming(coming)),
            **({"jobs": jobs} if jobs else {}),
            "changes": last.tx if last else 0,
            "log_entries": last.last_seq if last else 0,
            "bytes": size,
            **({} if self.replica is None else {"replica": self.replica.status._asdict()}),
        }


def _coming(coming: Reembedding) -> dict[str, object]:
    return {
        "embedder_next": coming.model,
        "embedded_next": coming.made,
        "unembedded_next": coming.due,
    }


def is_export(path: Path) -> bool:
    """Return whether a file begins as an export of doxa does."""
    from doxa.transfer.jsonl import is_export

    return is_export(path)


def is_vault(path: Path) -> bool:
    """Return whether a folder holds the notes of an export."""
    from doxa.transfer.vault.read import is_vault

    return is_vault(path)


def damaged_file(error: CorruptError) -> list[HealthCheck]:
    """Return what `doctor` reports of a file that cannot be opened."""
    from doxa.maintenance.doctor import unopened

    return [unopened(error)]
