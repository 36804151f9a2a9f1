"""Whether what a revision says is believed already: then nothing is gained by believing it again.

It is implied if current beliefs, with the laws of the project, entail every sentence that it
states, for all of its time; or if a current belief of the project is in the same words (gist.py).

What was believed in the same words and given up, because it was retired, replaced or undone, comes
back only with a source that came in later.
"""

from __future__ import annotations

from doxa.base.ids import NodeId
from doxa.belief.background.gist import gist
from doxa.belief.graph import CURRENT, HAS_REVISION, item_of
from doxa.belief.relevant_beliefs import RelevantBeliefs, node_window, sentences_of
from doxa.logic.revision import entails
from doxa.logic.sentence import atoms
from doxa.store import Node, Reader, Transaction

_SAME_WORDS_READ = 50
_LAST_BELIEVED = "SELECT max(until) FROM edge_past WHERE dst = ? AND type = 'CURRENT'"


def implied_by(tx: Transaction, node: Node, *, beside: list[Node]) -> str:
    """Return why a revision says nothing new; empty if it does. `beside`: other revisions that the
    transaction wrote."""
    own = _own_revisions(tx, node)
    if sentences_of(node):
        return "current beliefs imply it" if _is_entailed(tx, node, own) else ""
    same = _in_the_same_words(tx, node, own, beside)
    return f"{same.props['kref']!s} says the same" if same is not None else ""


def given_up(tx: Transaction, node: Node, grounds: list[Node]) -> str:
    """Return which belief in the same words was given up since the newest of these grounds came in;
    empty if there is none."""
    newest = max((ground.born for ground in grounds), default=0)
    said = gist(str(node.props["summary"]))
    words = said[0]
    if not words:
        return ""
    for other in tx.live_with_terms(
        words,
        project=str(node.props["project"]),
        space=None,
        kind=None,
        limit=_SAME_WORDS_READ,
        live=False,
    ):
        if "Revision" not in other.labels or gist(str(other.props.get("summary", ""))) != said:
            continue
        if _is_revised_summary(tx, node, other):
            continue
        until = tx.rows(_LAST_BELIEVED, (other.id,))[0][0]
        if until is not None and until >= newest and not _is_current(tx, other.id):
            return f"{other.props['kref']!s} said the same and was given up since"
    return ""


def _is_revised_summary(tx: Transaction, node: Node, other: Node) -> bool:
    """Whether another summary said the same before it had more to say: of a month what a day says
    by now. That is not given up."""
    if {node.props.get("kind"), other.props.get("kind")} != {"summary"}:
        return False
    return not item_of(tx, other.id).props.get("deprecated")


def _own_revisions(tx: Transaction, node: Node) -> frozenset[NodeId]:
    """Return the revisions of the item: the one before does not make the next one superfluous."""
    held = {node.id}
    for edge in tx.edges_in(node.id, HAS_REVISION):
        held |= {one.dst for one in tx.edges_out(edge.src, HAS_REVISION)}
    return frozenset(held)


def _is_entailed(tx: Transaction, node: Node, own: frozenset[NodeId]) -> bool:
    holding = RelevantBeliefs(tx, str(node.props["project"]), leave_out=own)
    stated, within = sentences_of(node), node_window(node)
    holding.gather(atom for sentence in stated for atom in atoms(sentence))
    rules, part = holding.rules.constraints, holding.sentences.keys()
    if not part and not holding.laws:
        return False
    for piece in holding.slices(within, part):
        base = [belief.sentence for belief in holding.beliefs(piece, part)]
        if not all(entails(base, one, rules, ground_constraints=holding.laws) for one in stated):
            return False
    return True


def _in_the_same_words(
    tx: Transaction, node: Node, own: frozenset[NodeId], beside: list[Node]
) -> Node | None:
    said = gist(str(node.props["summary"]))
    words = said[0]
    if not words:
        return None
    found = tx.live_with_terms(
        words, project=str(node.props["project"]), space=None, kind=None, limit=_SAME_WORDS_READ
    )
    for other in (*found, *beside):
        if (
            other.id not in own
            and "Revision" in other.labels
            and gist(str(other.props.get("summary", ""))) == said
            and _is_current(tx, other.id)
        ):
            return other
    return None


def _is_current(reader: Reader, revision: NodeId) -> bool:
    return bool(reader.edges_in(revision, CURRENT))
