"""The operator by which beliefs are retracted for one another, judged on the pure model and then
written to the graph.

`judge` decides what of a project cannot be believed together with an input, in each stretch of time
in which the same beliefs hold. `apply_retractions` writes the answer with minimal change: a
revision that loses some of its sentences gets a successor with the rest, one that loses all is
retired, one that loses a part of its time keeps the rest of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, cast

from doxa.base.clock import format_time
from doxa.base.errors import LimitError
from doxa.base.ids import NodeId
from doxa.base.limits import ADDRESSES_TRIED_ITEMS_MAX
from doxa.belief.graph import (
    STRUCTURE,
    SUPERSEDES,
    SUPPORT_EDGES,
    enrichments_of,
    item_of,
    metadata_of,
)
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.relevant_beliefs import (
    ALWAYS,
    RelevantBeliefs,
    SentenceRef,
    Window,
    node_window,
    sentences_of,
    stated_by,
)
from doxa.belief.removal.retiring import set_deprecated
from doxa.belief.types import Draft, Retracted, parse_fact
from doxa.belief.writes import add_revision, build_draft, create_item
from doxa.logic.revision import Belief, Outcome, conjunction, consolidate, contract, revise
from doxa.logic.sentence import Sentence, atoms, worded
from doxa.store import Node, Transaction

RevisionKind = Literal["revise", "contract", "consolidate"]
CONTRADICTS = "CONTRADICTS"
_ALONE: dict[RevisionKind, str] = {
    "revise": "it contradicts what was stated",
    "contract": "it says what is to be given up",
    "consolidate": "it breaks the rules",
}
GivenUp = dict[
    SentenceRef, tuple[tuple[Window, ...], tuple[SentenceRef, ...]]
]  # when, and what it was retracted for


class RetractionPlan(NamedTuple):
    """What an operation takes away: for each sentence the stretches of time in which it is given
    up, and why. `refusal`: why it cannot be done."""

    holding: RelevantBeliefs
    operation: RevisionKind
    lost: GivenUp
    refusal: str = ""

    @property
    def losers(self) -> list[Node]:
        """The revisions that lose something."""
        return [
            self.holding.nodes[identity]
            for identity in dict.fromkeys(said[0] for said in self.lost)
        ]

    def losses(self) -> tuple[Retracted, ...]:
        """Return every belief that is given up, with the reason."""
        return tuple(_loss(self, said, because) for said, (_, because) in self.lost.items())


def judge(
    operation: RevisionKind,
    holding: RelevantBeliefs,
    sentences: Sequence[Sentence],
    *,
    within: Window = ALWAYS,
) -> RetractionPlan:
    """Return what an operation by these sentences, taken together, takes away. Writes nothing.
    Raises InputError for what cannot be true."""
    holding.gather(atom for sentence in sentences for atom in atoms(sentence))
    lost, refusal = _judged(
        holding,
        holding.sentences.keys(),
        lambda base: _outcome(operation, holding, base, sentences),
        within,
    )
    return RetractionPlan(holding, operation, lost, refusal)


def judge_revision(
    tx: Transaction, node: Node, *, instead_of: Node | None = None
) -> RetractionPlan | None:
    """Decide what is retracted once a revision is believed, perhaps in place of another one. None
    if it states no facts."""
    sentences = sentences_of(node)
    if not sentences:
        return None
    leave_out = frozenset(one.id for one in (node, instead_of) if one is not None)
    return judge(
        "revise",
        RelevantBeliefs(tx, str(node.props["project"]), leave_out=leave_out),
        sentences,
        within=node_window(node),
    )


def judge_all(holding: RelevantBeliefs) -> RetractionPlan:
    """Return what a project must give up for its beliefs to be consistent."""
    lost: GivenUp = {}
    for part in holding.gather_all():
        lost |= _judged(
            holding, part, lambda base: _outcome("consolidate", holding, base, ()), ALWAYS
        )[0]
    return RetractionPlan(holding, "consolidate", lost)


def _judged(
    holding: RelevantBeliefs,
    part: Collection[SentenceRef],
    operate: Callable[[list[Belief]], Outcome],
    within: Window,
) -> tuple[GivenUp, str]:
    lost: dict[SentenceRef, list[tuple[Window, tuple[SentenceRef, ...]]]] = defaultdict(list)
    refusal = ""
    for piece in holding.slices(within, part):
        outcome = operate(holding.beliefs(piece, part))
        refusal = outcome.refusal or refusal
        for loss in outcome.lost:
            lost[cast("SentenceRef", loss.belief.id)].append(
                (piece, tuple(cast("SentenceRef", belief.id) for belief in loss.because))
            )
    return {
        said: (tuple(piece for piece, _ in found), found[0][1]) for said, found in lost.items()
    }, refusal


def _outcome(
    operation: RevisionKind,
    holding: RelevantBeliefs,
    base: list[Belief],
    sentences: Sequence[Sentence],
) -> Outcome:
    constraints, laws = holding.rules.constraints, holding.laws
    match operation:
        case "revise":
            return revise(base, conjunction(sentences), constraints, ground_constraints=laws)
        case "contract":
            return contract(base, conjunction(sentences), constraints, ground_constraints=laws)
        case "consolidate":
            return consolidate(base, constraints, ground_constraints=laws)


def _loss(
    verdict: RetractionPlan, said: SentenceRef, because: tuple[SentenceRef, ...]
) -> Retracted:
    holding = verdict.holding
    kref, says = str(holding.nodes[said[0]].props["kref"]), worded(holding.sentences[said])
    if not because:
        return Retracted(kref, says, _ALONE[verdict.operation], ())
    beside = tuple(dict.fromkeys(str(holding.nodes[other].props["kref"]) for other, _ in because))
    return Retracted(
        kref,
        says,
        f"it contradicts {' and '.join(beside)}: of {beside[-1]},"
        f" {_reason(verdict, said, because)}",
        beside,
    )


def _reason(verdict: RetractionPlan, said: SentenceRef, because: tuple[SentenceRef, ...]) -> str:
    """Why just this one, without the words or addresses of others: they may have to be erased, and
    a reason is kept."""
    if not because:
        return _ALONE[verdict.operation]
    holding, weakest = verdict.holding, because[-1][0]
    if weakest == said[0]:
        return "it comes earlier in the same revision"
    return holding.rules.order.why(holding.standing(weakest), holding.standing(said[0]))


# Writing


class Remainder(NamedTuple):
    """What stays of a revision through one stretch of time."""

    window: Window
    texts: frozenset[str]


def apply_retractions(tx: Transaction, verdict: RetractionPlan, *, by: Node | None) -> None:
    """Write a verdict. `by` is the revision that replaces the losers; None where nothing takes
    their place."""
    lost: dict[NodeId, dict[int, tuple[Window, ...]]] = defaultdict(dict)
    for (identity, place), (windows, _) in verdict.lost.items():
        lost[identity][place] = windows
    reasons = {
        said[0]: _reason(verdict, said, because) for said, (_, because) in verdict.lost.items()
    }
    for identity, places in lost.items():
        node = verdict.holding.nodes[identity]
        stays = split_revision(tx, node, remaining(node, places))
        if by is not None:
            tx.create_edge(CONTRADICTS, by.id, dst=identity, props={"why": reasons[identity]})
            if not stays:
                tx.create_edge(SUPERSEDES, by.id, dst=identity)


def remaining(node: Node, lost: dict[int, tuple[Window, ...]]) -> list[Remainder]:
    """Return what is left of a revision: the sentences that lose nothing through its whole time,
    then what is left of the others, earliest first."""
    whole = node_window(node)
    pieces: dict[Window, set[str]] = defaultdict(set)
    for place, (_, text, _sentence) in enumerate(stated_by(node)):
        for window in minus(whole, lost.get(place, ())):
            pieces[window].add(text)
    ordered = sorted(pieces.items(), key=lambda piece: (piece[0] != whole, piece[0]))
    return [Remainder(window, frozenset(texts)) for window, texts in ordered]


def minus(whole: Window, taken: Iterable[Window]) -> list[Window]:
    found, start = [], whole.start
    for window in sorted(taken):
        if window.start > start:
            found.append(Window(start, window.start))
        start = max(start, window.end)
    if start < whole.end:
        found.append(Window(start, whole.end))
    return found


def split_revision(tx: Transaction, node: Node, pieces: list[Remainder]) -> bool:
    """Write the first piece as the next revision of the item, the others as items of their own.
    False if nothing is left: the item is retired."""
    item = item_of(tx, node.id)
    if not pieces:
        set_deprecated(tx, item, True)
        return False
    for number, piece in enumerate(pieces):
        home = item if number == 0 else create_item(tx, free_address(tx, item, piece.window))
        made = add_revision(
            tx, home, restrict(node, piece), author=str(node.props.get("author", ""))
        )
        carry_edges(tx, node, made)
        if number:
            tx.create_edge(SUPERSEDES, made.id, dst=node.id)
    return True


def restrict(node: Node, piece: Remainder) -> Draft:
    """Write a successor of a revision that says what is left of it, in its own words where it loses
    no sentence."""
    stated = list(stated_by(node))
    facts = tuple(
        parse_fact(text) for name, text, _ in stated if name == "facts" and text in piece.texts
    )
    sentences = tuple(
        sentence for name, text, sentence in stated if name == "sentences" and text in piece.texts
    )
    draft = build_draft(node, facts, sentences)
    if all(text in piece.texts for _, text, _ in stated):
        draft = replace(
            draft,
            summary=str(node.props["summary"]),
            metadata=metadata_of(node),
            **enrichments_of(node),
        )
    start, end = piece.window
    return replace(
        draft,
        valid_from=None if start == ALWAYS.start else start,
        valid_until=None if end == ALWAYS.end else end,
        time=cast("int | None", node.props.get("time")),
    )


def carry_edges(tx: Transaction, old: Node, new: Node, *, grounds_only: bool = False) -> None:
    """Copy the links of a revision to its successor, except those it has already."""
    held = {(edge.type, edge.dst) for edge in tx.edges_out(new.id)}
    for edge in tx.edges_out(old.id):
        carried = (
            edge.type in SUPPORT_EDGES
            if grounds_only
            else edge.type not in STRUCTURE and edge.type not in (SUPERSEDES, CONTRADICTS)
        )
        if carried and (edge.type, edge.dst) not in held:
            tx.create_edge(edge.type, new.id, dst=edge.dst, props=edge.props)


def free_address(tx: Transaction, item: Node, window: Window) -> Kref:
    kref = parse_kref(str(item.props["kref"]))
    day = "first" if window.start == ALWAYS.start else format_time(window.start)[:10]
    for number in range(1, ADDRESSES_TRIED_ITEMS_MAX):
        name = check_name(
            f"{kref.name[:150]}-{day}" + (f"-{number}" if number > 1 else ""),
            what="item",
            dots=True,
        )
        found = replace(kref, name=name)
        if tx.node_by_kref(str(found)) is None:
            return found
    raise LimitError(
        f"{kref} and the addresses derived from it are taken.",
        next_step="Give the belief another name.",
        kref=str(kref),
    )
