"""Proposals: what a run would change and leaves to somebody else to decide.

    (:Run)-[:HAS_PROPOSAL]->(:Proposal {kref, run, what, state, reason, action, made_ns, said})
                                       -[:CONCERNS]->(what it is about)

state: open | applied | blocked | failed | rejected. `what` is the kind of proposal, `action` the
JSON of what applying it does, `said` why it was blocked, failed or rejected, or why it waits. What
only time or a later call lifts leaves it open: an age, a limit. `decided_in` is the run in whose
name it was decided: a later run may apply what an earlier one proposed. Nothing of what a belief
says is repeated in a proposal but by its address, and what it would write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from doxa.base.errors import InputError, LimitError, NotFoundError
from doxa.base.ids import NodeId
from doxa.base.limits import NOTE_CHARS_MAX, PROPOSAL_ABOUT_ITEMS_MAX, RUN_PROPOSALS_ITEMS_MAX
from doxa.base.values import canonical, decode
from doxa.belief.graph import parse_target, resolve
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.types import PROPOSAL_KIND
from doxa.store import Node, Reader, Transaction

ProposalState = Literal["open", "applied", "blocked", "failed", "rejected"]
PROPOSAL_STATES: tuple[ProposalState, ...] = ("open", "applied", "blocked", "failed", "rejected")
HAS_PROPOSAL, CONCERNS = "HAS_PROPOSAL", "CONCERNS"


@dataclass(frozen=True, slots=True)
class JobProposal:
    """A proposal as it stands: what it would do, why, and what became of it."""

    kref: str
    run: str
    kind: str
    state: ProposalState
    reason: str
    about: tuple[str, ...]
    action: Mapping[str, Any]
    made: int
    decided: int | None = None
    said: str = ""


def write_proposal(
    tx: Transaction,
    run: NodeId,
    run_kref: str,
    *,
    kind: str,
    reason: str,
    about: Sequence[str],
    action: Mapping[str, Any],
    key: str = "",
    state: ProposalState = "open",
    said: str = "",
) -> str:
    """Write a proposal of a run, and return its address. One of the same kind and `key` is found
    again, whatever became of it. `state` blocked, and why: it is noted and cannot be applied now.
    """
    check_name(kind, what="kind of proposal")
    at = parse_kref(run_kref)
    if key:
        kref = proposal_kref(at.project, kind, key)
        if tx.node_by_kref(kref) is not None:
            return kref
    if not isinstance(reason, str) or not reason.strip() or len(reason) > NOTE_CHARS_MAX:
        raise InputError(
            f"A proposal gives its reason in 1 to {NOTE_CHARS_MAX} characters.",
            next_step="Say in a sentence why.",
            field="reason",
        )
    if len(about) > PROPOSAL_ABOUT_ITEMS_MAX:
        raise LimitError(
            f"A proposal concerns at most {PROPOSAL_ABOUT_ITEMS_MAX} addresses, not {len(about)}.",
            next_step="Make several proposals.",
            limit_items=PROPOSAL_ABOUT_ITEMS_MAX,
        )
    made = len(tx.edges_out(run, HAS_PROPOSAL))
    if made >= RUN_PROPOSALS_ITEMS_MAX:
        raise LimitError(
            f"A run makes at most {RUN_PROPOSALS_ITEMS_MAX:,} proposals.",
            next_step="Decide these first.",
            limit_items=RUN_PROPOSALS_ITEMS_MAX,
        )
    if not key:
        kref = str(Kref(at.project, (), f"{at.name}-{made + 1}", PROPOSAL_KIND))
    node = tx.create_node(
        ("Proposal",),
        {
            "kref": kref,
            "project": at.project,
            "space": "",
            "kind": PROPOSAL_KIND,
            "run": run_kref,
            "what": kind,
            "state": state,
            "reason": reason,
            "action": canonical(dict(action)).decode(),
            "made_ns": tx.now,
        }
        | ({"said": said} if said else {}),
    )
    tx.create_edge(HAS_PROPOSAL, run, dst=node)
    for address in dict.fromkeys(about):
        tx.create_edge(CONCERNS, node, dst=resolve(tx, parse_target(address)).id)
    return kref


def proposal_kref(project: str, kind: str, key: str) -> str:
    """Return the address of the proposal of a kind and key."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return str(Kref(project, (), f"{kind}-{digest}", PROPOSAL_KIND))


def list_proposals(
    reader: Reader,
    *,
    project: str | None = None,
    run: str = "",
    state: str = "open",
    limit: int = 100,
) -> list[JobProposal]:
    """Return proposals, the oldest first; `state` empty: of every state."""
    if state and state not in PROPOSAL_STATES:
        raise InputError(
            f"{state[:40]!r} is not a state of a proposal.",
            next_step=f"Use one of {', '.join(PROPOSAL_STATES)}.",
            field="state",
        )
    sql = (
        "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Proposal' AND"
        " n.kref IS NOT NULL AND (?1 IS NULL OR n.project = ?1) AND (?2 = '' OR n.props ->> '$.run'"
        " = ?2) AND (?3 = '' OR n.props ->> '$.state' = ?3) ORDER BY l.node LIMIT ?4"
    )
    found = [row[0] for row in reader.rows(sql, (project, run, state, limit))]
    return [read_proposal(reader, node) for node in sorted(reader.nodes(found), key=lambda n: n.id)]


def read_proposal(reader: Reader, node: Node) -> JobProposal:
    """Return a proposal as it is noted on its node."""
    held: dict[str, Any] = dict(node.props)
    ends = reader.nodes([edge.dst for edge in reader.edges_out(node.id, CONCERNS)])
    about = tuple(str(end.props["kref"]) for end in ends if end.props.get("kref") is not None)
    return JobProposal(
        held["kref"],
        held["run"],
        held["what"],
        cast("ProposalState", held["state"]),
        held["reason"],
        about,
        decode(held["action"]),
        held["made_ns"],
        held.get("decided_ns"),
        held.get("said", ""),
    )


def require_proposal(reader: Reader, kref: str) -> Node:
    """Return the node of a proposal, or raise NotFoundError."""
    address = parse_kref(kref)
    node = reader.node_by_kref(str(address))
    if node is None or "Proposal" not in node.labels:
        raise NotFoundError(
            f"There is no proposal at {address}.",
            next_step="List them with proposals.",
            kref=str(address),
        )
    return node


def decide(
    tx: Transaction, node: Node, state: ProposalState, said: str = "", *, run: str = ""
) -> None:
    """Note what became of a proposal, and in the name of which run."""
    props: dict[str, Any] = dict(node.props) | {
        "state": state,
        "decided_ns": tx.now,
        "decided_by": tx.identity.actor,
    }
    props.pop("said", None)  # why it waited
    given = {"said": said[:NOTE_CHARS_MAX], "decided_in": run}
    tx.set_node(node.id, props | {name: text for name, text in given.items() if text})


def wait(tx: Transaction, node: Node, said: str) -> None:
    """Note why a proposal cannot be applied yet. It stays open."""
    tx.set_node(node.id, dict(node.props) | {"state": "open", "said": said[:NOTE_CHARS_MAX]})


def waiting(reader: Reader, project: str, kinds: Sequence[str]) -> list[str]:
    """Return the addresses of the open proposals of these kinds that have an action, the oldest
    first."""
    sql = (
        "SELECT n.kref FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Proposal'"
        " AND n.kref IS NOT NULL AND n.project = ?1 AND n.props ->> '$.state' = 'open' AND n.props"
        " ->> '$.action' <> '{}' AND n.props ->> '$.what' IN (SELECT value FROM json_each(?2))"
        " ORDER BY l.node"
    )
    return [str(kref) for (kref,) in reader.rows(sql, (project, json.dumps([*kinds])))]


def applied_in(reader: Reader, run: str) -> list[Node]:
    """Return the proposals that were applied in the name of a run, whichever run made them."""
    sql = (
        "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Proposal' AND"
        " n.kref IS NOT NULL AND n.props ->> '$.state' = 'applied' AND coalesce(n.props ->>"
        " '$.decided_in', n.props ->> '$.run') = ?1 ORDER BY l.node"
    )
    return reader.nodes([row[0] for row in reader.rows(sql, (run,))])
