"""What a background job may conclude, as far as words go: the store asks at commit."""

from __future__ import annotations

from doxa.belief.graph import enrichments_of
from doxa.store import Node, Transaction


def promotion_problem(_: Transaction, node: Node) -> str:
    """Return why the words of a revision are not to be believed; empty if they may be."""
    from doxa.language.lint.complete import fragment_problem, statement_problem

    said = statement_problem(str(node.props["summary"]))
    if said:
        return said
    for name, entries in enrichments_of(node).items():
        for entry in entries:
            said = fragment_problem(entry)
            if said:
                return f"of its {name}: {said}"
    return ""
