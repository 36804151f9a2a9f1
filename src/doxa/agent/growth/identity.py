"""The identity of an agent: the lines that passed every gate, by file. Nothing else gets here.

A line is part of it exactly if its candidate is crystallised, an approval that was used names that
candidate and the hash of what it says, by a change in the log of this file, and the item made of it
is believed and says the same. So a belief that somebody stated, tagged, revised, restored or
imported is not a line, and neither is a line whose item was retired.

The text depends on the lines alone, in the order in which they were crystallised: it stays the
same, byte for byte, while they do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from doxa.agent.growth.candidates import CANDIDATE, CRYSTALLISED, FILES
from doxa.agent.records.records import content_hash, list_records
from doxa.agent.records.types import Record
from doxa.base.ids import TxId
from doxa.base.limits import IDENTITY_LINES_ITEMS_MAX
from doxa.base.values import canonical
from doxa.belief.graph import CURRENT
from doxa.belief.kref import Kref
from doxa.belief.verified import VERIFIED
from doxa.store import Reader

APPROVAL = "growth_approval"
KIND = TAG_NAME = "crystallised"
_BROUGHT = ("import", "merge", "ingest")
SPACE = ("agents", "identity")  # the agent's name goes in between
# The tag under which a file goes into a prompt.
BLOCKS = {
    "SOUL": "soul",
    "AGENTS": "operating_instructions",
    "ANCHOR": "anchor",
    "TOOLS": "environment_knowledge",
    "MEMORY": "lasting_memory",
}


@dataclass(frozen=True, slots=True)
class IdentityLine:
    """A line: its file, its text, its candidate and item, when it was crystallised (ns UTC) and by
    whom."""

    file: str
    text: str
    candidate: str
    item: str
    time: int
    approved_by: str


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The identity of an agent. `digest` is the SHA-256, in hexadecimal, of agent and files;
    `left_out` names crystallised candidates that are not lines, with the reason."""

    agent: str
    lines: tuple[IdentityLine, ...]
    files: Mapping[str, str]
    digest: str
    chars: int
    left_out: tuple[str, ...] = ()

    @property
    def block(self) -> str:
        """What goes into a prompt; "" if there is nothing."""
        return "\n".join(
            f"<{BLOCKS[name]}>\n{text.partition(chr(10))[2].strip()}\n</{BLOCKS[name]}>"
            for name, text in self.files.items()
        )


def assemble(reader: Reader, project: str, agent: str) -> AgentIdentity:
    """Return the identity of an agent as of a snapshot."""
    found, left_out = [], []
    for record, problem in _judged(reader, project, agent):
        if problem:
            left_out.append(f"{record.kref}: {problem}")
            continue
        line = IdentityLine(
            str(record.data["file"]),
            record.text,
            record.kref,
            item_kref(record),
            record.moved or 0,
            record.moved_by,
        )
        found.append(line)
    found.sort(key=lambda line: (FILES.index(line.file), line.time, line.candidate))
    files = file_texts([(line.file, line.text) for line in found])
    digest = hashlib.sha256(canonical({"agent": agent, "files": files})).hexdigest()
    return AgentIdentity(
        agent, tuple(found), files, digest, sum(map(len, files.values())), tuple(sorted(left_out))
    )


def principles(reader: Reader, project: str, agent: str) -> tuple[str, ...]:
    """Return the texts of SOUL as its candidates say them, in one read and unproved: enough for a
    diagnosis at the end of each turn. What goes into a prompt comes from `assemble`."""
    prefix = f"{Kref(project, ('agents', agent, CANDIDATE))}/"
    sql = (
        "SELECT n.props ->> '$.text' FROM node n JOIN node_label l ON l.node = n.id AND l.label ="
        " 'Record' WHERE n.kref >= ? AND n.kref < ? AND n.props ->> '$.state' = ? AND n.props ->>"
        " '$.data' ->> '$.file' = 'SOUL' ORDER BY n.kref LIMIT ?"
    )
    given = (prefix, prefix + "\U0010ffff", CRYSTALLISED, IDENTITY_LINES_ITEMS_MAX)
    return tuple(str(row[0]) for row in reader.rows(sql, given))


def file_texts(lines: list[tuple[str, str]]) -> dict[str, str]:
    """Return the texts of the files that lines make, without empty ones."""
    said = {name: [text for file, text in lines if file == name] for name in FILES}
    return {
        name: f"# {name}\n\n" + "".join(f"- {text}\n" for text in texts)
        for name, texts in said.items()
        if texts
    }


def item_kref(record: Record) -> str:
    """Return the address of the item that a candidate becomes."""
    first, last = SPACE
    return str(Kref(record.project, (first, record.agent, last), record.name, KIND))


def line_problem(reader: Reader, record: Record, approved: Mapping[str, Record]) -> str:
    """Return why a crystallised candidate is not a line now, or ""."""
    if record.content_hash != content_hash(record.agent, CANDIDATE, record.text, record.data):
        return "its text is not that of its hash"
    approval = approved.get(record.kref)
    if approval is None or approval.data["content_hash"] != record.content_hash:
        return "no approval that was used names it and its hash"
    if not _is_of_this_file(reader, record, approval):
        return "its approval was not given in this file"
    item = reader.node_by_kref(item_kref(record))
    current = [] if item is None else reader.edges_out(item.id, CURRENT)
    node = reader.node(current[0].dst) if current else None
    if node is None:
        return "its item is not believed"
    if node.props.get("summary") != record.text or node.props.get("trust") != VERIFIED:
        return "its item says something else"
    return ""


def _is_of_this_file(reader: Reader, record: Record, approval: Record) -> bool:
    """Return whether an operator's change in the log of this file used the approval. What an import
    brings was approved elsewhere, by somebody else's word."""
    change = approval.notes.get("change")
    receipt = reader.receipt(TxId(change)) if isinstance(change, int) else None
    nodes = reader.nodes_by_kref([record.kref, approval.kref])
    times = {record.moved, approval.moved, *(node.since for node in nodes)}
    return (
        receipt is not None
        and receipt.role == "operator"
        and receipt.op not in _BROUGHT
        and times == {receipt.time}
    )


def approvals(reader: Reader, project: str, agent: str) -> dict[str, Record]:
    """Return the approvals that were used, by candidate; of several the last."""
    found = list_records(
        reader,
        project=project,
        agent=agent,
        kind=APPROVAL,
        states=("used",),
        limit=IDENTITY_LINES_ITEMS_MAX,
    )
    ordered = sorted(found, key=lambda one: one.moved or 0)
    return {str(one.data["candidate"]): one for one in ordered}


def _judged(reader: Reader, project: str, agent: str) -> Iterator[tuple[Record, str]]:
    held = list_records(
        reader,
        project=project,
        agent=agent,
        kind=CANDIDATE,
        states=(CRYSTALLISED,),
        limit=IDENTITY_LINES_ITEMS_MAX,
    )
    approved = approvals(reader, project, agent) if held else {}
    for record in held:
        yield record, line_problem(reader, record, approved)
