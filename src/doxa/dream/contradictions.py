"""Current beliefs that contradict a belief, as `match` sees them: another value of the same thing,
where it would revise."""

from __future__ import annotations

from collections.abc import Sequence

from doxa.dream.rules import Contradicted, Contradicts
from doxa.ingestion.match import REVISE_AT, match
from doxa.language.agreement import RETIRING
from doxa.recall import Recaller
from doxa.store import Node, Store


def contradictions(store: Store, recaller: Recaller) -> Contradicts:
    """Return the function that finds them."""

    def find(node: Node) -> Sequence[Contradicted]:
        found = match(
            store,
            recaller,
            str(node.props["summary"]),
            project=str(node.props["project"]),
            speaker=str(node.props.get("speaker_name") or ""),
        )
        return [
            Contradicted(one.kref, one.reasons)
            for one in found.proposals
            if one.relation in RETIRING and one.score >= REVISE_AT
        ]

    return find
