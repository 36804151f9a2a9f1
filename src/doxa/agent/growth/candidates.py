"""Candidates of identity: lines that an agent, a job or a person proposes for one of the identity
files. A candidate is a record; nothing but `identity.py` reads the accepted ones into a prompt.

    text    the line            data    {"file": one of FILES, "origin": one of ORIGINS}
    state   candidate -> crystallised -> taken_back; candidate -> rejected | withdrawn | expired

The name is made from file and text, so that what was rejected is found again and not proposed again
by an agent. An operator may open such a line again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from doxa.agent.growth.wording import form_problem
from doxa.agent.records.records import find_record, move_record, record_kref, write_record
from doxa.agent.records.types import Record
from doxa.base.clock import NS
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import GROWTH_CANDIDATES_ITEMS_MAX
from doxa.belief.kref import name_from
from doxa.redaction.redact import unless_secret
from doxa.store import Identity, Reader, Store, Transaction

CANDIDATE = "growth_candidate"
FILES = ("SOUL", "AGENTS", "ANCHOR", "TOOLS", "MEMORY")
ORIGINS = ("operator", "agent", "contemplation")
OPEN, CRYSTALLISED, TAKEN_BACK = "candidate", "crystallised", "taken_back"
_WAITS_NS = 90 * 86_400 * NS  # as long as a retention class that is warm
CLOSED = ("rejected", "withdrawn", "expired", TAKEN_BACK)


def propose(
    tx: Transaction,
    *,
    project: str,
    agent: str,
    text: str,
    file: str,
    origin: str,
    about: Sequence[str] = (),
    again: bool = False,
) -> Record:
    """Write a candidate, and return it; one of the same words is found again, in whatever state it
    is. With `again`, an operator opens one that was closed. Raises InputError for a text that is
    not a line."""
    if file not in FILES:
        raise InputError(
            f"{file[:40]!r} is not an identity file.",
            next_step=f"Use {', '.join(FILES)}.",
            field="file",
        )
    line = " ".join(text.split())
    problem = form_problem(line)
    if problem:
        raise InputError(
            f"This cannot be a line of identity: {problem}.",
            next_step="Propose one statement of plain text.",
            field="text",
        )
    name = candidate_name(file, line)
    kref = record_kref(project, agent, CANDIDATE, name)
    known = find_record(tx, kref)
    if known is not None:
        return move_record(tx, kref, OPEN) if again and known.state in CLOSED else known
    if open_count(tx, project, agent) >= GROWTH_CANDIDATES_ITEMS_MAX:
        raise LimitError(
            f"{GROWTH_CANDIDATES_ITEMS_MAX} candidates of {agent} wait for a decision.",
            next_step="Decide some of them: list them with growth_list.",
            limit_items=GROWTH_CANDIDATES_ITEMS_MAX,
        )
    return write_record(
        tx,
        project=project,
        agent=agent,
        kind=CANDIDATE,
        name=name,
        state=OPEN,
        text=line,
        data={"file": file, "origin": origin},
        about=about,
    )


def expire_candidates(store: Store, project: str) -> int:
    """Move the candidates of a project that nobody decided about for 90 days to `expired`, and
    return how many. An operator who proposes the same line opens it again."""
    with store.read() as reader:
        rows = reader.rows(
            "SELECT n.kref, n.props ->> '$.agent' FROM node n JOIN node_label l ON l.node = n.id"
            " AND l.label = 'Record' WHERE n.project = ? AND n.props ->> '$.type' = ? AND"
            " n.props ->> '$.state' = ? AND coalesce(n.props ->> '$.moved_ns',"
            " n.props ->> '$.made_ns') < ? ORDER BY n.kref LIMIT ?",
            (project, CANDIDATE, OPEN, reader.now - _WAITS_NS, GROWTH_CANDIDATES_ITEMS_MAX),
        )
    for agent in sorted({agent for _, agent in rows}):
        with store.write(Identity(agent, "agent"), op="growth.expire") as tx:
            for kref in (kref for kref, own in rows if own == agent):
                move_record(tx, kref, "expired", expected=(OPEN,), said="nobody decided about it")
    return len(rows)


def candidate_name(file: str, text: str) -> str:
    """Return the name of the candidate for a file with these words."""
    digest = hashlib.sha256(f"{file}\n{text}".encode()).hexdigest()[:16]
    words = name_from(text)[:40].strip("-.")
    return unless_secret(f"{words}-{digest}".lstrip("-"), digest)


def open_count(reader: Reader, project: str, agent: str) -> int:
    """Return how many candidates of an agent wait."""
    prefix = record_kref(project, agent, CANDIDATE, "x").removesuffix("x.record")
    sql = (
        "SELECT count(*) FROM node n WHERE n.kref >= ? AND n.kref < ? AND n.props ->> '$.state' ="
        f" '{OPEN}'"
    )
    return int(reader.rows(sql, (prefix, prefix + "\U0010ffff"))[0][0])
