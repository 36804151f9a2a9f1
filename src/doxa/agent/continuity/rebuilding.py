"""A new file out of an archive: what was stored is stored again, in its order, under its own ids
and times, and everything that is derived from it is derived again."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from doxa.agent.continuity.archive import files_of
from doxa.agent.continuity.chain import ArchiveFiles, ArchiveLine, genesis, problem_of
from doxa.agent.continuity.knowledge import replace_earlier
from doxa.agent.continuity.types import KNOWLEDGE, TYPES
from doxa.agent.records.records import write_record
from doxa.base.errors import CorruptError
from doxa.base.values import decode
from doxa.belief.kref import parse_kref
from doxa.ingestion.from_turns import read_turn
from doxa.ingestion.ingest import Ingest, PreparedTurn
from doxa.language.turns import Turn
from doxa.store import UNTRUSTED, Identity, Store

_FIRST_STATE = {one.name: next(iter(one.states)) for one in TYPES}  # the first named


def rebuild(source: Store, agent: str, target: Store) -> tuple[int, int]:
    """Store what an archive holds in an empty file, in the name of the agent, and return how many
    turns and records. Raises CorruptError if its chain is broken."""
    files = files_of(source, agent)
    check_chain(files)
    identity = Identity(agent, "operator")
    names = dict[str, str]()  # of threads, by their addresses
    ingests = dict[tuple[str, str], Ingest]()
    records = 0
    lines = (line for line in files.lines() if line.payload)
    for key, group in groupby(lines, key=_group):
        if key[0] == "turn":
            project, space = key[1:]
            job = ingests.get((project, space))
            if job is None:
                job = Ingest(target, identity, project=project, space=space, extracting=False)
                ingests[project, space] = job
            job.run_prepared(_prepared(line, names) for line in group)
            continue
        for line in group:
            assert line.payload is not None
            if line.kind == "thread":
                names[line.payload["kref"]] = line.payload["name"]
            elif line.kind == "record":
                _write(target, identity, line.payload)
                records += 1
    return sum(job.counts()["added"] for job in ingests.values()), records


def check_chain(files: ArchiveFiles) -> None:
    """Raise CorruptError unless the chain of an archive holds."""
    end = (0, genesis(files.agent))
    for line in files.lines():
        found = problem_of(line, end)
        if found:
            raise CorruptError(
                f"The archive of {files.agent} is not what was written: {found}.",
                next_step="Look at it with archive_verify.",
                path=str(files.folder),
            )
        end = line.n, line.hash


def _group(line: ArchiveLine) -> tuple[str, str, str]:
    if line.kind != "turn" or line.payload is None:
        return "", "", ""
    kref = parse_kref(line.payload["kref"])
    return "turn", kref.project, "/".join(kref.spaces)


def _prepared(line: ArchiveLine, names: dict[str, str]) -> PreparedTurn:
    held: dict[str, Any] = line.payload or {}
    turn = Turn(
        names.get(held["thread"]) or parse_kref(held["thread"]).name,
        held.get("session", ""),
        held["speaker"],
        held["role"],
        held["text"],
        held["time"],
        held.get("source_id", ""),
        held.get("caption", ""),
    )
    untrusted = held.get("trust") == UNTRUSTED
    return PreparedTurn(
        parse_kref(held["kref"]).name,
        turn,
        tuple(held.get("entities", ())),
        tuple(held.get("dates", ())),
        () if untrusted else read_turn(turn).candidates,
        untrusted=untrusted,
        imported=bool(held.get("imported")),
    )


def _write(target: Store, identity: Identity, held: dict[str, Any]) -> None:
    data = decode(held["data"])
    name = parse_kref(held["kref"]).name
    with target.write(identity, op="archive_rebuild") as tx:
        if held["type"] == KNOWLEDGE:
            replace_earlier(tx, by=held["kref"])
        write_record(
            tx,
            project=held["project"],
            agent=held["agent"],
            kind=held["type"],
            name=name,
            state=_FIRST_STATE[held["type"]],
            text=held["text"],
            data=data,
        )
