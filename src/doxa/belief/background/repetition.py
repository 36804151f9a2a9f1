"""What a job concluded does not rise by repetition: anyone who states it again below the role of an
operator states what is `inferred`, unless it comes from a turn in which a person said it and from
which it was not concluded.

`lowered` gives a draft the trust that it may have; `keep_inferred` refuses at the commit what went
around it, such as a query. Sameness is that of the words (gist.py) or of the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from doxa.base.errors import RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.values import canonical
from doxa.base.words import terms
from doxa.belief.background.gist import gist
from doxa.belief.background.sources import Sources, trust_rank_of
from doxa.belief.graph import CURRENT, SUPERSEDES, facts_of
from doxa.belief.kref import parse_kref
from doxa.belief.types import CheckedDraft, Fact
from doxa.logic.sentence import Atom
from doxa.store import RUN_KREF, TRUSTS, Node, Transaction

INFERRED = TRUSTS.index("inferred")
GROUNDS = ("DERIVED_FROM", "EVIDENCES")
_ALIKE_READ = 50
# These restore what was so before, or take over another file.
_RESTORING = frozenset(("undo", "import", "restore", "rollback"))
_HAS_RUNS = "SELECT EXISTS (SELECT 1 FROM node_label WHERE label = 'Run')"


def lowered(
    tx: Transaction, draft: CheckedDraft, project: str, links: Iterable[tuple[str, str]] = ()
) -> tuple[CheckedDraft, str]:
    """Return a draft with the trust that it may have, and the conclusion that it repeats; it is
    returned as it is, with an empty text, if it repeats none. `links`: its edges to be."""
    if TRUSTS.index(draft.trust) <= INFERRED or not _is_watched(tx):
        return draft, ""
    found = _concluded(tx, project, draft.summary, draft.facts)
    krefs = [str(parse_kref(target)) for kind, target in links if kind in GROUNDS]
    if found is None or _is_said(tx, found, tx.nodes_by_kref(krefs)):
        return draft, ""
    return CheckedDraft(replace(draft, trust="inferred")), str(found.props["kref"])


def keep_inferred(tx: Transaction, dirty: Iterable[NodeId]) -> None:
    """Raise RoleError if a revision that this transaction wrote repeats a conclusion with more
    trust, without a person's word for it."""
    if tx.op in _RESTORING:
        return
    made = [identity for identity in dirty if tx.is_made(identity)]
    if not made or not _is_watched(tx):
        return
    for node in tx.nodes(made):
        if (
            "Revision" not in node.labels
            or node.props.get("kref") is None
            or trust_rank_of(node) <= INFERRED
            or _is_rewritten(tx, node)
        ):
            continue
        summary, project = str(node.props.get("summary", "")), str(node.props.get("project", ""))
        found = _concluded(tx, project, summary, facts_of(node), but=node.id)
        ends = [edge.dst for kind in GROUNDS for edge in tx.edges_out(node.id, kind)]
        if found is not None and not _is_said(tx, found, tx.nodes(ends)):
            raise RoleError(
                f"{node.props['kref']} repeats {found.props['kref']}, which a job concluded:"
                " saying it again is not evidence for it.",
                next_step="State it with trust 'inferred', derive it from a turn in which a person"
                " says so, or ask the operator.",
                role=tx.rights,
            )


def _is_watched(tx: Transaction) -> bool:
    """Whether the transaction is one that must not raise anything, in a file with runs."""
    if tx.run is not None or not is_below_operator(tx.rights):
        return False
    return bool(tx.rows(_HAS_RUNS)[0][0])


def _is_rewritten(tx: Transaction, node: Node) -> bool:
    """Whether its item said the same, with as much trust, before: that is where its trust is
    from."""
    before = tx.nodes([edge.dst for edge in tx.edges_out(node.id, SUPERSEDES)])
    item = str(node.props["kref"]).partition("?")[0]
    return any(
        "Revision" in one.labels
        and str(one.props["kref"]).partition("?")[0] == item
        and trust_rank_of(one) >= trust_rank_of(node)
        for one in before
    )


def _concluded(
    tx: Transaction, project: str, summary: str, facts: Iterable[Fact], but: NodeId | None = None
) -> Node | None:
    """Return what a job concluded in the same words or facts, believed or given up; None if there
    is nothing, or if somebody else is believed to have stated it."""
    found = None
    for other in _alike(tx, project, summary, tuple(facts)):
        if other.id == but or "Revision" not in other.labels:
            continue
        if other.props.get(RUN_KREF) is not None:
            found = found or other
        elif (
            trust_rank_of(other) > INFERRED
            and not tx.is_made(other.id)
            and tx.edges_in(other.id, CURRENT)
        ):
            return None
    return found


def _alike(tx: Transaction, project: str, summary: str, facts: tuple[Fact, ...]) -> Iterator[Node]:
    words = terms(summary)
    for live in (True, False) if words else ():
        for node in tx.live_with_terms(
            words, project=project, space=None, kind=None, limit=_ALIKE_READ, live=live
        ):
            if gist(str(node.props.get("summary", ""))) == gist(summary):
                yield node
    if facts:
        stated = {_stored(fact) for fact in facts}
        keys = sorted(Atom(*fact).key for fact in facts)
        for node in tx.nodes(tx.saying(project, keys=keys)[:_ALIKE_READ]):
            if {_stored(fact) for fact in facts_of(node)} & stated:
                yield node


def _stored(fact: Fact) -> bytes:
    return canonical(list(fact.stored()))


def _is_said(tx: Transaction, concluded: Node, grounds: Iterable[Node]) -> bool:
    """Whether a person said it in a turn that is a source now, and from which it was not
    concluded."""
    turns = [node for node in grounds if "Exchange" in node.labels]
    if not turns:
        return False
    known = {edge.dst for kind in GROUNDS for edge in tx.edges_out(concluded.id, kind)}
    sources = Sources(tx)
    return any(
        node.id not in known and node.props.get("role") != "assistant" and not sources.why_not(node)
        for node in turns
    )
