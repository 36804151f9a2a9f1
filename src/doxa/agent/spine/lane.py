"""The narrow lane in which an agent applies a claim by itself: an operator declared it in advance,
the claim quotes a turn, nothing in it is sensitive or an instruction, and a receipt is written with
it. Applying makes the claim eligible in the consumer contracts, no more; `reversed` takes it back.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from doxa.agent.records.records import CONCERNS, find_record, list_records, read_record
from doxa.agent.spine.leases import OUTCOME
from doxa.agent.spine.packets import DeclaredLane, MaturationCandidate, read_body
from doxa.base.clock import NS
from doxa.base.errors import ConstraintError
from doxa.base.limits import LANE_APPLIED_ITEMS_READ
from doxa.redaction.redact import redact
from doxa.store import Node, Reader, Transaction

_WORD = re.compile(r"[^\W_]+")
_DAY_NS = 86_400 * NS


def why_not(reader: Reader, node: Node, said: MaturationCandidate, now_ns: int) -> str:
    """Return why the agent may not apply a candidate by itself, or an empty text."""
    record = read_record(node)
    declared = find_record(reader, said.declared) if said.declared else None
    if said.application != "autonomous" or said.lane != "claim" or declared is None:
        return "no lane was declared for it"
    if declared.type != "declared_lane" or declared.agent != record.agent:
        return "its lane is not declared for this agent"
    lane = read_body(DeclaredLane, declared.data, declared.kref)
    if declared.state != "active" or now_ns >= lane.expires_ns:
        return "its lane is revoked or has expired"
    if said.risk != "low" or said.sensitive or not said.rollback:
        return "it is not of low risk, is sensitive, or names no way back"
    if len(record.text) > lane.chars_max or is_delicate(record.text):
        return "it is long, holds personal data, or reads like an instruction"
    for kref in said.sources:
        turn = reader.node_by_kref(kref)
        if turn is None or "Exchange" not in turn.labels or turn.props.get("deprecated"):
            return f"its source {kref} is not a turn that is believed"
        if turn.props["role"] not in lane.roles:
            return f"its source {kref} was not said by whom the lane names"
        if _plain(record.text) not in _plain(str(turn.props.get("text", ""))):
            return f"its source {kref} does not say it in these words"
    applied = list_records(
        reader,
        project=record.project,
        agent=record.agent,
        kind=record.type,
        states=("applied", "reversed"),
        newest=True,
        limit=LANE_APPLIED_ITEMS_READ,
    )
    today = [
        one
        for one in applied
        if one.kref != record.kref
        and one.data.get("declared") == said.declared
        and one.moved is not None
        and now_ns - one.moved < _DAY_NS
    ]
    return "its lane is used up for today" if len(today) >= lane.a_day_max else ""


def check_applied(tx: Transaction, node: Node, said: MaturationCandidate) -> None:
    """Check at commit that the agent may apply a candidate, and that the receipt is written."""
    kref = str(node.props["kref"])
    problem = why_not(tx, node, said, tx.now)
    if problem:
        raise ConstraintError(
            f"{kref} is not applied by the agent alone: {problem}.",
            next_step="Leave it to the operator.",
            kref=kref,
        )
    require_receipt(tx, node)


def require_receipt(tx: Transaction, node: Node) -> None:
    """Check that an outcome about a candidate is written in the transaction that moves it."""
    kref = str(node.props["kref"])
    written = tx.nodes([edge.src for edge in tx.edges_in(node.id, CONCERNS)])
    if not any(
        one.props.get("type") == OUTCOME and one.props.get("made_ns") == tx.now for one in written
    ):
        raise ConstraintError(
            f"{kref} would be moved without a receipt.",
            next_step="Move it with packet_move, which writes one.",
            kref=kref,
        )


def is_delicate(text: str) -> bool:
    """Return whether a text holds secrets or personal data, or words of an instruction."""
    if redact(text, pii=True).findings:
        return True
    return any(one in _words(text) for one in _instructions())


@cache
def _instructions() -> tuple[str, ...]:
    source = files("doxa.agent.spine").joinpath("data/instructions.json")
    words = json.loads(source.read_text("utf-8"))
    return tuple(_words(one) for language in words.values() for one in language)


def _words(text: str) -> str:
    """Return the words of a text in lower case, with a space around each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _plain(text: str) -> str:
    return " ".join(text.split())
