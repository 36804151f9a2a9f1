"""What a background job may conclude from: sources, and nothing else.

    an exchange            said by the user, a named person or an assistant (trust `stated` at
                           least), not retired, not superseded by a later turn
    a current revision     trust `stated` at least

Neither was written by a run, is hidden by a policy or by hand, or is on legal hold; what was erased
is not there. Jobs read candidates through `eligible`; the commit of a run checks its evidence by
`why_not`, the same test, so that what was a source when it was read must still be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doxa.base.ids import NodeId
from doxa.base.values import canonical, encode_properties
from doxa.belief.graph import CURRENT, SUPERSEDES, is_open, item_of
from doxa.store import RUN_KREF, TRUSTS, Node, Reader, trust_of
from doxa.store.retention.holds import Hold, holds_of

STATED = TRUSTS.index("stated")
_CHALLENGER = "CHALLENGER"


def trust_rank_of(node: Node) -> int:
    """Return how far a belief or turn is trusted, as a position in TRUSTS."""
    return TRUSTS.index(trust_of(node.props))


class Sources:
    """The test of sources on one snapshot, or in one transaction."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._holds: list[Hold] = holds_of(reader.catalogue_all("hold:"))

    def eligible(self, nodes: Iterable[int]) -> Iterator[Node]:
        """Yield those of these nodes that a job may read as sources, in the given order."""
        for node in self._reader.nodes(list(nodes)):
            if not self.why_not(node):
                yield node

    def why_not(self, node: Node) -> str:
        """Return why a node is not a source for background work; empty if it is one."""
        exchange = "Exchange" in node.labels
        if not exchange and "Revision" not in node.labels:
            return "neither a turn nor a belief"
        if node.props.get(RUN_KREF) is not None:
            return "written by a background job"
        if trust_rank_of(node) < STATED:
            return "not trusted as a statement"
        said = self._turn(node) if exchange else self._belief(node)
        if said:
            return said
        if not self._reader.is_seen(False, node.id):
            return "hidden"
        return "on legal hold" if self.is_held(node) else ""

    def _turn(self, node: Node) -> str:
        if node.props.get("deprecated"):
            return "retired"
        later = self._reader.edges_in(node.id, SUPERSEDES)
        return "superseded by a later statement" if later else ""

    def _belief(self, node: Node) -> str:
        if not self._reader.edges_in(node.id, CURRENT):
            return "not current"
        item = item_of(self._reader, node.id)
        if item.props.get(RUN_KREF) is not None:
            return "written by a background job"
        if not self._reader.is_seen(False, item.id):
            return "hidden"
        waiting = self._reader.edges_in(node.id, _CHALLENGER)
        return "contested" if any(is_open(self._reader, edge.src) for edge in waiting) else ""

    def is_held(self, node: Node) -> bool:
        """Return whether a legal hold covers this version of a node."""
        if not self._holds:
            return False
        labels = canonical(list(node.labels)).decode()
        props = encode_properties(node.props, owner="node").decode()
        return any(hold.covers(labels, props) for hold in self._holds)


def eligible(reader: Reader, nodes: Sequence[NodeId]) -> list[Node]:
    """Return those of these nodes that a job may read as sources."""
    return list(Sources(reader).eligible(nodes))
