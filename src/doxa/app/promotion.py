"""What a background job may conclude, as far as words go: the store asks at commit."""

from __future__ import annotations

from doxa.belief.graph import enrichments_of
from doxa.store import Node, Transaction

# What is left to do or to answer claims nothing, and is worded accordingly.
_TASKS = frozenset(("it is an order", "it has no subject"))
# A summary records a session in sentences of its turns. It may be headed, and a turn may be short.
_RECORD = frozenset(
    (
        "it is blank",
        "it breaks off",
        "it is a question",
        "it is half a sentence",
        "it is half a sentence: it has no verb",
        "it does not say who or what it is about",
        *_TASKS,
    )
)
_WORDED = {
    "summary": _RECORD,
    "question": frozenset(("it is a question",)),
    "action": _TASKS,
    "commitment": _TASKS,
}


def promotion_problem(_: Transaction, node: Node) -> str:
    """Return why the words of a revision are not to be believed; empty if they may be."""
    from doxa.language.lint.complete import fragment_problem, statement_problem

    said = statement_problem(str(node.props["summary"]))
    if said and said not in _WORDED.get(str(node.props.get("kind")), ()):
        return said
    for name, entries in enrichments_of(node).items():
        for entry in entries:
            said = fragment_problem(entry)
            if said:
                return f"of its {name}: {said}"
    return ""
