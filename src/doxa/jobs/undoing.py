"""A run is undone as one: all of its changes in one transaction, the last one first. One whose
process died has ended."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.base.errors import ConflictError
from doxa.belief.operation import Operation
from doxa.belief.undo import undo
from doxa.jobs.dead import end_in
from doxa.jobs.proposals import HAS_PROPOSAL, applied_in, decide
from doxa.jobs.runs import require_run
from doxa.store import Identity, Node, Reader, Store


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a run did: which changes it reversed, under which change of its own."""

    run: str
    changes: tuple[int, ...]
    change: int | None


def changes_of(reader: Reader, run: Node) -> list[int]:
    """Return the numbers of the changes that a run made, the newest first."""
    held = {node.props.get("change") for node in reader.node_history(run.id)}
    return sorted((one for one in held if isinstance(one, int)), reverse=True)


def undo_run(store: Store, identity: Identity, kref: str) -> Undone:
    """Reverse every change of a run. Raises ConflictError if what it wrote was changed since, and
    then nothing is written; NotFoundError if the run does not exist."""
    with store.write(identity, op="undo") as tx:
        run = end_in(tx, require_run(tx, kref), now=store.clock.now_ns())
        if run.props["state"] in ("undone", "running"):
            raise ConflictError(
                f"{kref} is {run.props['state']}.",
                next_step="Wait until it has ended."
                if run.props["state"] == "running"
                else "There is nothing to undo.",
                kref=kref,
            )
        changes = changes_of(tx, run)
        work = Operation(tx, dry=False)
        for change in changes:
            undo(tx, change)
        work.end()
        ends = [edge.dst for edge in tx.edges_out(run.id, HAS_PROPOSAL)]
        left = [one for one in tx.nodes(ends) if one.props["state"] == "open"]
        for proposal in (*left, *applied_in(tx, kref)):
            decide(tx, proposal, "rejected", "the run was undone")
        tx.set_node(run.id, dict(run.props) | {"state": "undone", "ended_ns": tx.now})
    receipt = tx.receipt_made
    return Undone(kref, tuple(changes), receipt.tx if receipt else None)
