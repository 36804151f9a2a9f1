"""How a store proves itself: the log's chain, the state against a replay of the log, and every
invariant of its tables.

`verify_log` finds any altered entry, payload or receipt. `digest` is one hash of the whole state in
canonical form; `replayed_digest` is the same hash of a state rebuilt from the log alone, so the two
agree exactly when nothing but transactions has written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConstraintError, CorruptError
from doxa.base.values import decode
from doxa.base.words import ANALYSER
from doxa.store.apply import replay_entry
from doxa.store.chain.epochs import epoch_problems
from doxa.store.constraint import ConstraintChecker, Constraints
from doxa.store.file.damage import damage_reported, findings_of
from doxa.store.guard import End, Guards, misfits
from doxa.store.index import Indexes
from doxa.store.index import problems as index_problems
from doxa.store.indexing.blocks import block_problems
from doxa.store.indexing.packing import problems as vector_problems
from doxa.store.indexing.search_rows import (
    COUNT_MAX,
    RECORD,
    analyser_of,
    attributes_of,
    keys_of,
    rule_of,
    rules_of,
)
from doxa.store.indexing.search_texts import texts_of, words_of
from doxa.store.indexing.vector_tables import INDEXED_PARTS, ids_of
from doxa.store.log_writer import GENESIS, entry_hash, receipt_hash
from doxa.store.migration.schema import FORMAT, MIGRATIONS
from doxa.store.proof.addresses import address_problems
from doxa.store.reader import Reader
from doxa.store.retention.state import is_superseded, rewritten
from doxa.store.stages import Stages, no_stages
from doxa.store.store import Store
from doxa.store.visibility.window_writer import WindowWriter
from doxa.store.visibility.window_writer import problems as window_problems

_STATE = (
    "SELECT 'n', id, labels, json(props), since, born, project FROM node ORDER BY id",
    "SELECT 'e', id, type, src, dst, json(props), since, born, project FROM edge ORDER BY id",
    "SELECT 'np', id, since, until, labels, json(props), born, project FROM node_past ORDER BY"
    " id, since",
    (
        "SELECT 'ep', id, since, until, type, src, dst, json(props), born FROM edge_past"
        " ORDER BY id, since"
    ),
    "SELECT 'a', edge, element, json(data) FROM access ORDER BY edge, element",
    "SELECT 'c', name, json(value) FROM catalogue ORDER BY name",
)


_TOLD_MAX = 100
_REPORTED = 1_000  # entries, after which progress is reported
Progress = Callable[[int], None]


def _quiet(count: int) -> None:
    """Nobody watches."""


class _Interruption(BaseException):
    """Carries what `progress` raised past what takes errors of reading for damage."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@contextmanager
def _interruptible(progress: Progress) -> Iterator[Progress]:
    """Yield a function that calls `progress`. What that raises ends the block, as it is."""

    def report(count: int) -> None:
        try:
            progress(count)
        except Exception as error:
            raise _Interruption(error) from error

    try:
        yield report
    except _Interruption as found:
        raise found.error from None


_WINDOWS = tuple(
    f"SELECT '{table[0]}w', id, vis_from, vis_until, json(fades) FROM {table} ORDER BY id"
    for table in ("node", "edge")
)


class LogProof(NamedTuple):
    """What a verified log says: receipts, entries, entries whose content was erased, and the hash
    to write down elsewhere."""

    receipts: int
    entries: int
    erased: int
    head: str


def verify_log(store: Store, progress: Progress = _quiet) -> LogProof:
    """Walk the whole chain. Raises CorruptError at the first entry or receipt that does not fit.
    `progress` is called with the number of entries since the last call."""
    with (
        _interruptible(progress) as report,
        damage_reported(store.path, "its log"),
        store.read() as snapshot,
    ):
        entries = _verify_entries(snapshot, report)
        before, receipts, last = GENESIS, 0, 0
        time = -1
        columns = (
            "tx, time, actor, role, op, note, first_seq, last_seq, last_node, last_edge, head, hash"
        )
        for row in snapshot.rows(f"SELECT {columns} FROM receipt ORDER BY tx"):
            tx = row[0]
            sealed = snapshot.rows("SELECT hash FROM log WHERE seq = ?", (row[7],))
            fits = (
                tx == receipts + 1
                and row[6] == last + 1
                and row[1] > time
                and sealed
                and sealed[0][0] == row[10]
            )
            if (
                not fits
                or not _all_bytes(row[10], row[11])
                or receipt_hash(before, row[:10], row[10]) != row[11]
            ):
                raise _broken(store, f"receipt {tx}")
            before, receipts, last, time = row[11], tx, row[7], row[1]
        if last != entries[0]:
            raise _broken(store, f"log entry {last + 1}, which no receipt covers")
        return LogProof(receipts, entries[0], entries[1], before.hex())


def _verify_entries(snapshot: Reader, progress: Progress) -> tuple[int, int]:
    head, expected, erased = GENESIS, 0, 0
    cursor = snapshot._db.execute(
        "SELECT l.seq, l.tx, l.op, l.element, l.payload_hash, l.hash, p.salt, p.payload "
        "FROM log l LEFT JOIN log_payload p ON p.seq = l.seq ORDER BY l.seq"
    )
    for seq, tx, op, element, payload_hash, found, salt, payload in cursor:
        expected += 1
        if not _all_bytes(
            payload_hash, found, salt or b"", payload or b""
        ):  # a changed storage class is a change like any other
            raise _broken_entry(seq)
        if payload is None:
            erased += 1
        elif hashlib.sha256(salt + payload).digest() != payload_hash:
            raise _broken_entry(seq)
        head = entry_hash(head, seq=seq, tx=tx, op=op, element=element, payload_hash=payload_hash)
        if seq != expected or head != found:
            raise _broken_entry(seq)
        if not expected % _REPORTED:
            progress(_REPORTED)
    progress(expected % _REPORTED)
    return expected, erased


def _all_bytes(*values: object) -> bool:
    return all(isinstance(value, bytes) for value in values)


def digest(store: Store) -> str:
    """Return the sha256 of the whole state: elements, past versions, access metadata, catalogue,
    and what is visible when."""
    with damage_reported(store.path, "its elements"), store.read() as snapshot:
        return _digest(snapshot._db, windows=_knows_windows(snapshot))


def _knows_windows(snapshot: Reader) -> bool:
    """Whether windows are as the policies say, and policies can be judged here."""
    evaluator = snapshot.declared().evaluator
    return not snapshot.swept() and (
        evaluator.can_judge or not any(policy.clauses for policy in evaluator.rules.policies)
    )


def replayed_digest(store: Store, progress: Progress = _quiet) -> str:
    """Return the digest of a state built in memory from the log alone. Entries whose payload was
    erased are skipped, as the erasure did. `progress` is called with the number of entries that
    were replayed since the last call."""
    replica = apsw.Connection(":memory:")
    try:
        with (
            _interruptible(progress) as report,
            damage_reported(store.path, "a replay of its log"),
            store.read() as snapshot,
        ):
            windows = _replay(snapshot, replica, report)
            return _digest(replica, windows=windows)
    finally:
        replica.close()


def replay_log(
    source: apsw.Connection, target: apsw.Connection, progress: Progress = _quiet
) -> None:
    """Apply the log of a file to an empty state, which may lie in the same file. Windows and what
    else is derived are not made."""
    cursor = source.execute(
        "SELECT l.op, p.payload, r.time, l.element, l.seq FROM log l JOIN log_payload p ON"
        " p.seq = l.seq JOIN receipt r ON r.tx = l.tx ORDER BY l.seq"
    )
    stated = rewritten(source)
    done = 0
    for op, payload, time, element, seq in cursor:
        if not is_superseded(stated, op, element, seq):
            replay_entry(target, op, body=decode(payload), now=time)
        done += 1
        if not done % _REPORTED:
            progress(_REPORTED)
    progress(done % _REPORTED)


def _replay(snapshot: Reader, replica: apsw.Connection, progress: Progress) -> bool:
    """Build the state in an empty database. Returns whether its windows can be compared."""
    for _, sql in MIGRATIONS:
        replica.execute(sql)
    replica.execute("BEGIN")
    replay_log(snapshot._db, replica, progress)
    windows, known = _knows_windows(snapshot), snapshot.declared()
    if windows and (known.evaluator.rules.any or known.suppressing):
        writer = WindowWriter(replica, known.evaluator, lambda: known.search, suppressing=True)
        for kind in ("node", "edge"):
            writer.sweep(kind, 0, -1)
    replica.execute("COMMIT")
    return windows


def _digest(db: apsw.Connection, *, windows: bool) -> str:
    sha = hashlib.sha256()
    for sql in (*_STATE, *(_WINDOWS if windows else ())):
        for row in db.execute(sql):
            sha.update(repr(row).encode())
            sha.update(b"\n")
    return sha.hexdigest()


def check(store: Store, stages: Stages = no_stages) -> list[str]:
    """Check every invariant of the tables. An empty list means sound; otherwise each line names
    what is wrong."""
    problems: list[str] = []
    with damage_reported(store.path, "its beginning"), store.read() as snapshot:
        checks = list(_checks(snapshot))
        advance = stages("invariants", len(checks))
        for place, find in checks:
            problems += findings_of(store.path, place, find)
            advance(1)
    return problems


def _checks(snapshot: Reader) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """Yield each check with the place that it reads. One that cannot read it ends alone."""
    db = snapshot._db
    yield (
        "its pages",
        lambda: [
            f"engine: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"
        ],
    )
    yield "its format", partial(_format_problems, db)
    for text, sql in _INVARIANTS:
        yield f"what shows {text}", partial(_broken_invariant, db, text, sql)
    for end, coming in (("", ""), ("_next", "coming ")):
        yield f"its {coming}vectors", partial(_vector_problems, db, end, coming)
    yield "its blocks of search rows", lambda: list(block_problems(db))
    yield "its edges", lambda: _check_edges(snapshot)
    yield "its addresses", lambda: address_problems(db, snapshot.catalogue_all("guard:"))
    yield "its epochs", lambda: epoch_problems(snapshot)
    yield "its search rows", lambda: _check_search(snapshot)
    yield "its indexes", lambda: _check_schema(snapshot)
    yield (
        "its visibility windows",
        lambda: list(
            islice(
                window_problems(
                    db, snapshot.declared().evaluator, rules_of(snapshot.catalogue_all("search:"))
                ),
                _TOLD_MAX,
            )
        ),
    )


def _format_problems(db: apsw.Connection) -> list[str]:
    """The tables, their indexes and triggers are those that the migrations make."""
    fresh = apsw.Connection(":memory:")
    try:
        for _, sql in MIGRATIONS:
            fresh.execute(sql)
        found, wanted = _shapes(db), _shapes(fresh)
    finally:
        fresh.close()
    problems = [
        f"{name}: not as this format has it" for name in wanted if found.get(name) != wanted[name]
    ]
    done = [row[0] for row in db.execute("SELECT name FROM migration ORDER BY name")]
    if done != sorted(name for name, _ in MIGRATIONS):
        problems.append(f"the migrations that were done: {done}")
    if db.pragma("user_version") != FORMAT:
        problems.append(f"the number of the format: {db.pragma('user_version')}, not {FORMAT}")
    # the rows of leases hold times, those of loads numbers of rows
    ahead = (
        "SELECT name FROM cursor WHERE seq > (SELECT coalesce(max(seq), 0) FROM main.log)"
        " AND name NOT GLOB 'lease/*' AND name NOT GLOB 'load/*'"
    )
    for (name,) in db.execute(ahead):
        problems.append(f"the cursor {name}: it is ahead of the log")
    return problems


def _shapes(db: apsw.Connection) -> dict[str, tuple[object, ...]]:
    """Return what each table, index and trigger is declared as, by name: its type, its table and
    its statement, whatever the blanks. The sets of vectors are renamed when one replaces the other,
    which quotes their names, and declared alike."""
    found: dict[str, tuple[object, ...]] = {}
    for name, kind, table, sql in db.execute("SELECT name, type, tbl_name, sql FROM sqlite_schema"):
        said = " ".join((sql or "").split())
        if name.startswith("vector"):
            said = re.sub(r'"|_next', "", said)
        found[name] = kind, table, said
    return found


def _broken_invariant(db: apsw.Connection, text: str, sql: str) -> list[str]:
    return [f"{text}: {row}" for row in db.execute(sql + " LIMIT 10")]


def _vector_problems(db: apsw.Connection, end: str, coming: str) -> list[str]:
    return list(
        vector_problems(
            db,
            f"vector{end}",
            f"vector_code{end}",
            name=f"{coming}vector",
            code=f"{coming}code",
        )
    )


def _check_schema(snapshot: Reader) -> list[str]:
    """The entries of every index, and every constraint on all that it is about."""
    db, catalogue = snapshot._db, snapshot.catalogue_all()
    found = list(index_problems(db, Indexes(catalogue)))
    constraints = Constraints(catalogue)
    for rule in constraints.rules:
        try:
            ConstraintChecker(db, constraints).verify_all(rule)
        except ConstraintError as error:
            found.append(error.message)
    return found


def _check_edges(snapshot: Reader) -> list[str]:
    """Every edge that a guard is about, against its guard."""
    db, guards = snapshot._db, Guards(snapshot.catalogue_all("guard:"))
    problems: dict[str, None] = {}
    for kind, rule in guards.edges.items():
        if not rule.get("ends") and kind not in guards.judged_last:
            continue
        for identity, src, dst, *ends in db.execute(_EDGES_WITH_ENDS, (kind,)):
            wrong = guards.misplaced(
                kind,
                (
                    End(tuple(decode(ends[0])), bool(ends[1])),
                    End(tuple(decode(ends[2])), bool(ends[3])),
                ),
            )
            if wrong:
                problems[f"edge {identity}: {wrong}"] = None
            elif wrong is None and kind in guards.judged_last:
                problems |= dict.fromkeys(misfits(db, rule, kind=kind, src=src, dst=dst))
    return list(problems)


def _vector_invariants(
    vectors: str, codes: str, name: str, code: str
) -> tuple[tuple[str, str], ...]:
    """Of one set of vectors: rows, codes and search rows fit together, and what has no content any
    more has no vector."""
    return (
        (
            f"a {name} of no search row",
            (
                f"SELECT v.scope, v.doc FROM {vectors} v LEFT JOIN doc d USING(scope, doc) WHERE"
                " d.doc IS NULL"
            ),
        ),
        (
            f"a {name} of a text that is gone",
            (
                f"SELECT d.scope, d.doc FROM doc d CROSS JOIN {vectors} v ON v.id BETWEEN"
                f" {ids_of('d')} WHERE d.node < 0"
            ),
        ),
        (
            f"a {name} without its code",
            (
                f"SELECT v.doc FROM {vectors} v LEFT JOIN {codes} c USING(id) WHERE c.id IS NULL"
                f" AND v.part < {INDEXED_PARTS}"
            ),
        ),
        (
            f"a {code} without its vector",
            f"SELECT c.doc FROM {codes} c LEFT JOIN {vectors} v USING(id) WHERE v.id IS NULL",
        ),
    )


_EDGES_WITH_ENDS = (
    "SELECT e.id, e.src, e.dst, s.labels, s.kref IS NOT NULL, d.labels, d.kref IS NOT NULL FROM"
    " edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst WHERE e.type = ? ORDER BY e.id"
)
_FIRST = ids_of("d").partition(" AND ")[0]  # the number of the vector of a whole text
_INVARIANTS = (
    (
        "a label row without its node's label",
        (
            "SELECT l.label, l.node FROM node_label l LEFT JOIN node n ON n.id = l.node WHERE n.id"
            " IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(n.labels) j WHERE j.value = l.label)"
        ),
    ),
    (
        "a node label without its row",
        (
            "SELECT n.id, j.value FROM node n, json_each(n.labels) j WHERE NOT EXISTS (SELECT 1"
            " FROM node_label l WHERE l.label = j.value AND l.node = n.id)"
        ),
    ),
    (
        "an edge that leaves nothing",
        "SELECT e.id FROM edge e LEFT JOIN node n ON n.id = e.src WHERE n.id IS NULL",
    ),
    (
        "an edge that reaches nothing",
        "SELECT e.id FROM edge e LEFT JOIN node n ON n.id = e.dst WHERE n.id IS NULL",
    ),
    ("a past version of no length", "SELECT id, since, until FROM node_past WHERE since >= until"),
    ("a past edge of no length", "SELECT id, since, until FROM edge_past WHERE since >= until"),
    (
        "past versions that overlap",
        (
            "SELECT a.id FROM node_past a JOIN node_past b ON a.id = b.id AND a.since < b.since AND"
            " b.since < a.until"
        ),
    ),
    (
        "a past that overlaps the present",
        "SELECT p.id FROM node_past p JOIN node n ON n.id = p.id WHERE p.until > n.since",
    ),
    (
        "a past edge that overlaps the present",
        "SELECT p.id FROM edge_past p JOIN edge e ON e.id = p.id WHERE p.until > e.since",
    ),
    (
        "a receipt out of time",
        "SELECT b.tx FROM receipt a JOIN receipt b ON b.tx = a.tx + 1 AND b.time <= a.time",
    ),
    ("a visibility window that is reversed", "SELECT id FROM node WHERE vis_from > vis_until"),
    (
        "a search row of no node",
        (
            "SELECT d.node FROM doc d LEFT JOIN node n ON n.id = d.node WHERE d.node > 0 AND n.id"
            " IS NULL"
        ),
    ),
    *_vector_invariants("vector", "vector_code", "vector", "code"),
    *_vector_invariants("vector_next", "vector_code_next", "coming vector", "coming code"),
    (
        "a memory that counts as embedded and has no vector",
        (
            f"SELECT d.scope, d.doc FROM doc d LEFT JOIN vector v ON v.id = {_FIRST} WHERE"
            " d.vectors > 0 AND d.node > 0 AND v.id IS NULL"
        ),
    ),
    *(
        (
            f"a block of {what} without its state",
            f"SELECT b.id FROM {table} b LEFT JOIN block_state s USING(id) WHERE s.id IS NULL",
        )
        for table, what in (("doc_block", "rows"), ("vector_code_block", "codes"))
    ),
    # a set that was put into use may have other numbers of vectors: they are counted while the
    # former one is dropped
    (
        "a memory that counts more or fewer vectors than it has",
        "SELECT d.scope, d.doc FROM doc d WHERE d.vectors > 0 AND d.node > 0 AND NOT EXISTS (SELECT"
        " 1 FROM meta WHERE key = 'vectors_former') AND d.vectors <> (SELECT count(*) FROM vector v"
        " WHERE v.id BETWEEN " + ids_of("d") + ")",
    ),
    (
        "a memory that the coming vectors will lack",
        (
            "SELECT d.scope, d.doc FROM meta m CROSS JOIN doc d LEFT JOIN vector_next_due q"
            f" USING(scope, doc) LEFT JOIN vector_next v ON v.id = {_FIRST} WHERE m.key ="
            " 'embedder_next' AND d.node > 0 AND q.doc IS NULL AND v.id IS NULL"
        ),
    ),
    (
        "a pending coming vector of no memory",
        (
            "SELECT q.scope, q.doc FROM vector_next_due q LEFT JOIN doc d ON d.scope = q.scope AND"
            " d.doc = q.doc AND d.node > 0 WHERE d.doc IS NULL"
        ),
    ),
    (
        "coming vectors of no model",
        (
            "SELECT o.scope, o.doc FROM (SELECT scope, doc FROM vector_next UNION ALL SELECT scope,"
            " doc FROM vector_next_due) o WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key IN"
            " ('embedder_next', 'vectors_former'))"
        ),
    ),
)


_ATTRIBUTES = (
    "SELECT s.text, k.text, p.text, w.text, t.text, d.time, d.valid_from, d.valid_until, d.trust"
    " FROM doc d LEFT JOIN token s ON s.id = d.scope LEFT JOIN token k ON k.id = d.kind LEFT JOIN"
    " token p ON p.id = d.space LEFT JOIN token w ON w.id = d.speaker LEFT JOIN token t ON t.id ="
    " d.thread WHERE d.node = ?"
)


_STRAY_ATOMS = (
    "SELECT DISTINCT a.node FROM atom a LEFT JOIN node n ON n.id = a.node WHERE n.id IS NULL"
    " LIMIT 10"
)


def _check_search(snapshot: Reader) -> list[str]:
    """Recompute every search row from the graph."""
    db = snapshot._db
    made_by = analyser_of(db)
    if made_by != ANALYSER:
        return [
            f"the index was made by {made_by}, questions are cut by {ANALYSER}: open the file once"
            " for writing"
        ]
    rules = rules_of(snapshot.catalogue_all("search:"))
    held: dict[tuple[int, int], dict[str, int]] = {}
    for table in ("posting", "posting_new"):
        for scope, term, data in db.execute(
            f"SELECT scope, term, data FROM {table} ORDER BY scope, term, first"
        ):
            for number, count in RECORD.iter_unpack(data):
                held.setdefault((scope, number), {})[term] = count
    problems: list[str] = []
    for label in rules:
        for node in snapshot.labelled(label):
            rule = rule_of(node.labels, rules)
            if rule is None or rule is not rules[label]:
                continue
            row: Any = db.execute(
                "SELECT scope, doc, live, length FROM doc WHERE node = ?", (node.id,)
            ).fetchone()
            if row is None:
                problems.append(f"node {node.id} is not searchable")
                continue
            counts, length = words_of(texts_of(rule, node.props))
            wanted = {term: min(count, COUNT_MAX) for term, count in counts.items()}
            if held.pop((row[0], row[1]), {}) != wanted or row[3] != length:
                problems.append(f"the words of node {node.id} are not those of its text")
            live = not node.props.get(rule.off)
            if live and rule.live_edge:
                owners = snapshot.nodes(
                    [edge.src for edge in snapshot.edges_in(node.id, rule.live_edge)]
                )
                live = any(not owner.props.get(rule.off) for owner in owners)
            if live != bool(row[2]):
                problems.append(
                    f"node {node.id} is {'not ' if live else ''}in recall against the graph"
                )
            keys = keys_of(rule, node.props) if live else set()
            if {
                key for (key,) in db.execute("SELECT key FROM atom WHERE node = ?", (node.id,))
            } != keys:
                problems.append(
                    f"the atoms by which node {node.id} is found are not those it states"
                )
            if db.execute(_ATTRIBUTES, (node.id,)).fetchone() != attributes_of(
                node.props, born=node.born
            ):
                problems.append(f"what recall filters node {node.id} by is not what it says")
    problems += [f"an atom of node {row[0]}, which is gone" for row in db.execute(_STRAY_ATOMS)]
    problems += [f"words of search row {key} that no node has" for key in list(held)[:10]]
    return problems


def _broken(store: Store, what: str) -> CorruptError:
    return CorruptError(
        f"The log of {store.path} does not verify at {what}: it was changed outside a transaction.",
        next_step=(
            "Keep the file as evidence and restore the latest backup that verifies to a new path."
        ),
        path=store.path,
        at=what,
    )


def _broken_entry(seq: int) -> CorruptError:
    return CorruptError(
        f"Log entry {seq} does not verify: it, or one before it, was changed outside a"
        " transaction.",
        next_step=(
            "Keep the file as evidence and restore the latest backup that verifies to a new path."
        ),
        seq=seq,
    )
