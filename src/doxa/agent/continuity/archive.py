"""The archive of an agent, made from the log: what it stored, verbatim, once, in the order in which
it was stored. Which entries are archived already is the last line's to say, so that a writer that
was killed anywhere is continued by the next one.

    archive_write     log entries after the last line -> lines; what was erased -> out of the lines
    archive_verify    the chain, and every line against the log
    archive_rebuild   lines -> turns, sessions and knowledge of a new file, with an equal digest
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from doxa.agent.continuity.chain import (
    ArchiveFiles,
    ArchiveLine,
    genesis,
    make_line,
    problem_of,
    read_lines,
)
from doxa.agent.continuity.exchanges import in_order, pairs_of
from doxa.agent.continuity.topics import topics_of
from doxa.agent.continuity.types import KNOWLEDGE, ROOT, SESSION
from doxa.base.errors import DoxaError
from doxa.base.files.places import agents_folder
from doxa.base.limits import ARCHIVE_BATCH_ITEMS_MAX
from doxa.base.values import canonical, decode
from doxa.store import Node, Reader, Store
from doxa.store.sql_values import int64_array

MARK = "mark"  # a line that only says how far the log was read
_MADE = ("node.create", "node.import")
_MAY_ERASE = frozenset(("erase", "past.drop", "node.rewrite"))
_ARCHIVED = frozenset((SESSION, ROOT, KNOWLEDGE))  # types of record
_TOPICS_MAX = 1_000
_TURN_FIELDS = (
    "kref thread session speaker role text caption time source_id trust entities dates".split()
)
# whether a person in a thread is trusted depends on what else was read at the time
_DIGESTED = [name for name in _TURN_FIELDS if name != "trust"]
_NEW = (
    "SELECT l.seq, l.op, l.element, r.time, r.actor, p.payload FROM log l JOIN receipt r ON r.tx ="
    " l.tx LEFT JOIN log_payload p ON p.seq = l.seq WHERE l.seq > ? ORDER BY l.seq LIMIT ?"
)
_PROBLEMS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ArchiveWritten:
    """What `archive_write` did: lines added, lines whose source was erased, how many lines there
    are, and the hash of the last one."""

    agent: str
    folder: str
    added: int
    erased: int
    lines: int
    head: str


@dataclass(frozen=True, slots=True)
class ArchiveProof:
    """What `archive_verify` found. `valid`: the chain holds and every line says what the log says;
    `complete`: no entry of the log lacks its line. `waiting` entries are newer than the last
    line."""

    agent: str
    valid: bool
    complete: bool
    lines: int
    erased: int
    days: int
    waiting: int
    head: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveRebuilt:
    """What `archive_rebuild` made: turns and records, and the digests of both files over turns,
    pairs, sessions, topics and knowledge. `equal`: they are the same."""

    agent: str
    path: str
    turns: int
    records: int
    digest: str
    equal: bool


def files_of(store: Store, agent: str) -> ArchiveFiles:
    """Return the archive of an agent of a memory file."""
    return ArchiveFiles(agents_folder(Path(store.path)), agent)


def write_archive(store: Store, agent: str, *, batches: int | None = None) -> ArchiveWritten:
    """Archive what an agent stored since the last line, and take out what was erased. `batches`
    bounds how many entries of the log are read: the next call goes on from there."""
    files = files_of(store, agent)
    added = erased = 0
    with files.locked():
        n, head, seq = files.end()
        for _ in count() if batches is None else range(batches):
            with store.read() as reader:
                rows = reader.rows(_NEW, (seq, ARCHIVE_BATCH_ITEMS_MAX))
            if not rows:
                break
            lines = list[ArchiveLine]()
            for entry, op, element, time, actor, payload in rows:
                said = _said(op, payload, actor, agent)
                if said is not None:
                    lines.append(make_line((n, head), entry, element, said[0], time, said[1]))
                    n, head = lines[-1].n, lines[-1].hash
            added += len(lines)
            seq, _, _, time, _, _ = rows[-1]
            is_due = n > 0 and any(row[1] in _MAY_ERASE for row in rows)
            is_far = len(rows) == ARCHIVE_BATCH_ITEMS_MAX
            if (is_due or is_far) and not (lines and lines[-1].seq == seq):
                lines.append(make_line((n, head), seq, 0, MARK, time, {}))
                n, head = lines[-1].n, lines[-1].hash
            if is_due:  # before the mark that says so
                erased += _erase(store, files)
            files.append(lines)
    return ArchiveWritten(agent, str(files.folder), added, erased, n, head)


def scrub_archives(store: Store) -> str:
    """Take out of every archive next to a file what was erased from the file. Returns what could
    not be done, or ""."""
    folder = agents_folder(Path(store.path))
    if not folder.is_dir():
        return ""
    failed = []
    for own in sorted(folder.iterdir()):
        if not (own / "archive").is_dir():
            continue
        files = ArchiveFiles(folder, unquote(own.name))
        try:
            with files.locked():
                files.end()
                _erase(store, files)
        except OSError as error:
            failed.append(f"{own.name} ({error.strerror})")
    if not failed:
        return ""
    return f"The archive of {', '.join(failed)} may still hold it; archive_write tries again."


def _said(op: str, payload: Any, actor: str, agent: str) -> tuple[str, dict[str, Any]] | None:
    """What an entry of the log stores, if it is archived: a turn or a thread that the agent
    stored, or a record of it, which an operator may have made."""
    if payload is None or op not in _MADE:
        return None
    held = decode(payload)
    labels, props = held.get("labels", ()), held.get("props", {})
    if "Exchange" in labels and actor == agent:
        body = {name: props[name] for name in _TURN_FIELDS if props.get(name) is not None}
        return "turn", body | ({"imported": True} if "Imported" in labels else {})
    if "Thread" in labels and actor == agent:
        return "thread", {name: props[name] for name in ("kref", "name")}
    if "Record" in labels and props.get("agent") == agent and props.get("type") in _ARCHIVED:
        kept = ("kref", "project", "agent", "type", "text", "data")
        return "record", {name: props[name] for name in kept}
    return None


def _erase(store: Store, files: ArchiveFiles) -> int:
    """Take out the lines whose entry of the log lost its content, unless the element still says it:
    retention drops entries of what lives on."""
    gone = set[int]()
    batch: list[ArchiveLine] = []
    for line in files.lines():
        if not line.is_erased and line.kind != MARK:
            batch.append(line)
        if len(batch) >= ARCHIVE_BATCH_ITEMS_MAX:
            gone |= _unsaid(store, batch)
            batch = []
    gone |= _unsaid(store, batch)
    return files.erase(gone) if gone else 0


def _unsaid(store: Store, lines: Sequence[ArchiveLine]) -> set[int]:
    with store.read() as reader:
        rows = reader.rows(
            "SELECT seq FROM log_payload WHERE seq IN carray(?)",
            (int64_array([line.seq for line in lines]),),
        )
        held = {row[0] for row in rows}
        doubted = [line for line in lines if line.seq not in held]
        return {line.n for line in doubted if not _still_says(reader, line)}


def _still_says(reader: Reader, line: ArchiveLine) -> bool:
    assert line.payload is not None
    for table in ("node", "node_past"):
        rows = reader.rows(
            f"SELECT props ->> '$.text', props ->> '$.kref' FROM {table} WHERE id = ?",
            (line.element,),
        )
        if any(row == (line.payload.get("text"), line.payload.get("kref")) for row in rows):
            return True
    return False


def verify_archive(store: Store, agent: str) -> ArchiveProof:
    """Check the chain of an archive, and each line against the log of the file."""
    files = files_of(store, agent)
    problems: list[str] = []
    end, last, erased, seqs = (0, genesis(agent)), 0, 0, set[int]()
    if not files.folder.is_dir():
        waiting = len(list(_owed(store, agent, after=0)))
        return ArchiveProof(agent, True, not waiting, 0, 0, 0, waiting, end[1])
    with nullcontext() if store.read_only else files.locked():
        if not store.read_only:
            files.end()
        lines: list[ArchiveLine] = []
        for line in files.lines():
            found = problem_of(line, end)
            if found:
                problems.append(found)
            end, last = (line.n, line.hash), max(last, line.seq)
            erased += line.is_erased
            seqs.add(line.seq)
            if not line.is_erased and line.kind != MARK:
                lines.append(line)
            if len(lines) >= ARCHIVE_BATCH_ITEMS_MAX:
                problems += _against_log(store, lines, agent)
                lines = []
        problems += _against_log(store, lines, agent)
        owed = list(_owed(store, agent, after=0))
    missing = [seq for seq in owed if seq <= last and seq not in seqs]
    problems += [f"entry {seq} of the log has no line" for seq in missing[:_PROBLEMS_SHOWN]]
    waiting = sum(seq > last for seq in owed)
    valid = not [one for one in problems if not one.startswith("entry")]
    return ArchiveProof(
        agent,
        valid,
        not missing and not waiting,
        end[0],
        erased,
        len(files.days()),
        waiting,
        end[1],
        tuple(problems[:_PROBLEMS_SHOWN]),
    )


def archives_behind(store: Store, late_ns: int) -> tuple[int, list[str]]:
    """Return how many archives lie next to a file, and what is wrong with them in words: entries
    of the log that wait longer than `late_ns` for their line, and what cannot be read. Nothing is
    cut or written."""
    folder, wrong, number = agents_folder(Path(store.path)), list[str](), 0
    for own in sorted(folder.glob("*/archive")) if folder.is_dir() else ():
        number += 1
        agent = unquote(own.parent.name)
        try:
            files = ArchiveFiles(folder, agent)
            lines = [line for path in files.days()[-2:] for line in read_lines(path)]
            waiting = list(_owed(store, agent, after=lines[-1].seq if lines else 0))
        except (DoxaError, OSError) as error:
            said = error.message if isinstance(error, DoxaError) else error.strerror
            wrong.append(f"that of {agent} cannot be read: {said}")
            continue
        with store.read() as reader:
            made = _times(reader, waiting[:1]) if waiting else []
            if made and reader.now - made[0] > late_ns:
                wrong.append(f"{len(waiting)} entries of {agent} wait")
    return number, wrong


def _times(reader: Reader, seqs: Sequence[int]) -> list[int]:
    rows = reader.rows(
        "SELECT r.time FROM log l JOIN receipt r ON r.tx = l.tx WHERE l.seq IN carray(?)",
        (int64_array(list(seqs)),),
    )
    return [row[0] for row in rows]


def _owed(store: Store, agent: str, *, after: int) -> Iterator[int]:
    """Yield the entries of the log that an archive of an agent has a line for."""
    while True:
        with store.read() as reader:
            rows = reader.rows(_NEW, (after, ARCHIVE_BATCH_ITEMS_MAX))
        for seq, op, _, _, actor, payload in rows:
            after = seq
            if _said(op, payload, actor, agent) is not None:
                yield seq
        if len(rows) < ARCHIVE_BATCH_ITEMS_MAX:
            return


def _against_log(store: Store, lines: Sequence[ArchiveLine], agent: str) -> list[str]:
    with store.read() as reader:
        rows = reader.rows(
            "SELECT l.seq, l.op, p.payload, r.actor FROM log l JOIN log_payload p ON p.seq = l.seq"
            " JOIN receipt r ON r.tx = l.tx WHERE l.seq IN carray(?)",
            (int64_array([line.seq for line in lines]),),
        )
        said = {seq: _said(op, payload, actor, agent) for seq, op, payload, actor in rows}
        found = []
        for line in lines:
            if line.seq not in said:
                if not _still_says(reader, line):
                    found.append(f"line {line.n} holds what was erased; archive_write takes it out")
            elif said[line.seq] != (line.kind, line.payload):
                found.append(f"line {line.n} says something else than the log")
    return found


# What is derived, and its digest


def own_turns(reader: Reader, agent: str) -> list[Node]:
    """Return the turns that an agent stored and that still say something, by time."""
    rows = reader.rows(
        "SELECT l.element FROM log l JOIN receipt r ON r.tx = l.tx JOIN node_label k ON k.node ="
        " l.element AND k.label = 'Exchange' WHERE r.actor = ? AND l.op IN (?, ?)",
        (agent, *_MADE),
    )
    return in_order(reader.nodes([row[0] for row in rows]))


def continuity_digest(reader: Reader, agent: str) -> str:
    """Return the SHA-256 of what continuity derives from an agent's turns and records: turns,
    pairs, topics, sessions, folders and knowledge. Counters and times of storing are not part of
    it."""
    digest = hashlib.sha256()

    def add(kind: str, value: object) -> None:
        digest.update(hashlib.sha256(canonical([kind, value])).digest())

    turns = own_turns(reader, agent)
    for node in sorted(turns, key=lambda one: str(one.props["kref"])):
        trust = node.props.get("trust") if node.props.get("role") != "person" else None
        add("turn", {name: node.props.get(name) for name in _DIGESTED} | {"trust": trust})
    pairs = pairs_of(turns)
    for pair in pairs:
        add("pair", [pair.id, pair.thread, pair.session, pair.time, pair.content_hash])
    for topic in topics_of(pairs, turns, limit=_TOPICS_MAX):
        together = [list(one) for one in topic.together]
        add("topic", [topic.topic, topic.mentions, topic.first, topic.last, topic.parent, together])
    rows = reader.rows(
        "SELECT n.props ->> '$.kref', n.props ->> '$.content_hash' FROM node_label l JOIN node n ON"
        " n.id = l.node WHERE l.label = 'Record' AND n.props ->> '$.agent' = ? AND"
        " n.props ->> '$.type' IN ('session', 'root', 'knowledge') ORDER BY n.kref",
        (agent,),
    )
    for kref, content in rows:
        add("record", [kref, content])
    return digest.hexdigest()
