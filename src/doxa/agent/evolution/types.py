"""The record types of code evolution and of the research archive, and what the commit checks.

    scaffold_proposal   proposed -> accepted, rejected (operator), withdrawn (agent);
                        accepted -> rolled_back (operator)
    research_bundle     exported -> training_approved -> withdrawn (operator)

Accepting a proposal changes nothing but its state: who changes the scaffold is a person or a
program of theirs. A bundle says `training_approval: false` in its content, which never changes;
only its state says that an operator approved it, by the hash of its manifest.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from doxa.agent.records.records import CONCERNS, read_record
from doxa.agent.records.types import RecordType
from doxa.base.errors import ConstraintError
from doxa.base.limits import SCAFFOLD_EVIDENCE_ITEMS_MIN
from doxa.store import Node, Transaction

SCAFFOLD, BUNDLE = "scaffold_proposal", "research_bundle"
_Words = Annotated[str, msgspec.Meta(min_length=3, max_length=4_000)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class ScaffoldBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a proposal says besides its text, which is the proposed change."""

    change_type: Literal["tool_hint", "workflow_sequence", "prompt_rule", "parameter_tune"]
    target: _Name
    evidence: tuple[_Name, ...]
    expected_effect: _Words
    verification: _Words
    rollback: _Words
    risk: Literal["low", "medium", "high"] = "medium"
    signature: str = ""


class BundleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    rows: Annotated[int, msgspec.Meta(ge=0)]


class BundleBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a bundle. `training_approval` is false in every bundle there is."""

    files: tuple[BundleFile, ...]
    manifest_hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    redactions: Annotated[int, msgspec.Meta(ge=0)]
    excluded: Annotated[int, msgspec.Meta(ge=0)]
    training_approval: Literal[False] = False


def _read(node: Node, form: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.convert(dict(read_record(node).data), form, strict=True)
    except msgspec.ValidationError as error:
        raise ConstraintError(
            f"{node.props['kref']} has not the form of its type: {error}.",
            next_step="Write it with the verb for it.",
        ) from error


def _accepted(before: Node | None, after: Node, state: str, named: str) -> None:
    """Check that who accepts names the content."""
    moved = before is not None and before.props["state"] != state == after.props["state"]
    if moved and not str(after.props.get("said", "")).startswith(named):
        raise ConstraintError(
            f"{after.props['kref']} is accepted by the hash of its content, which was not given.",
            next_step="Read it, and give its hash.",
            kref=str(after.props["kref"]),
        )


def check_scaffold(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check that a proposal has its parts, and evidence that there is."""
    said = _read(after, ScaffoldBody)
    assert isinstance(said, ScaffoldBody)
    _accepted(before, after, "accepted", str(after.props["content_hash"]))
    if before is not None:
        return
    linked = {edge.dst for edge in tx.edges_out(after.id, CONCERNS)}
    nodes = [tx.node_by_kref(kref) for kref in set(said.evidence)]
    if len(nodes) < SCAFFOLD_EVIDENCE_ITEMS_MIN or any(
        one is None or one.id not in linked for one in nodes
    ):
        raise ConstraintError(
            f"{after.props['kref']} lacks evidence.",
            next_step=f"Name {SCAFFOLD_EVIDENCE_ITEMS_MIN} outcomes or turns, or more.",
            kref=str(after.props["kref"]),
        )
    if not str(after.props["text"]).strip():
        raise ConstraintError(
            f"{after.props['kref']} proposes nothing.", next_step="Say what would change."
        )


def check_bundle(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check that a bundle has its manifest, and is approved by the hash of it."""
    said = _read(after, BundleBody)
    assert isinstance(said, BundleBody)
    _accepted(before, after, "training_approved", said.manifest_hash)


EVOLUTION_TYPES = (
    RecordType(
        SCAFFOLD,
        states={"proposed": "agent"},
        moves={
            "proposed": {"accepted": "operator", "rejected": "operator", "withdrawn": "agent"},
            "accepted": {"rolled_back": "operator"},
        },
        check=check_scaffold,
    ),
    RecordType(
        BUNDLE,
        states={"exported": "operator"},
        moves={
            "exported": {"training_approved": "operator", "withdrawn": "operator"},
            "training_approved": {"withdrawn": "operator"},
        },
        check=check_bundle,
    ),
)
