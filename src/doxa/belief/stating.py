"""How a belief comes to be believed: stated, made current again, or let in by a decision. Each
finds what contradicts it, wherever it is.

What is stated is believed, and what contradicts it is retracted; but nothing retires what is
trusted more than itself: then the statement is kept as the challenger of an open conflict
(conflicts.py). Everything here runs inside a transaction that the caller holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from doxa.base.clock import format_time
from doxa.base.errors import ConflictError, InputError, LimitError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.limits import ADDRESSES_TRIED_ITEMS_MAX
from doxa.base.values import canonical
from doxa.belief.background.repetition import lowered
from doxa.belief.conflicts import close_conflict, open_conflict
from doxa.belief.graph import CURRENT, SUPERSEDES, current_of, facts_of, item_of, last_of
from doxa.belief.kref import Kref, name_from, parse_kref
from doxa.belief.project_rules import laws_of
from doxa.belief.relevant_beliefs import (
    RelevantBeliefs,
    Window,
    node_window,
    sentences_of,
    stated_by,
    trust_rank,
    window_of,
)
from doxa.belief.removal.retiring import may_replace, retire_for, set_deprecated
from doxa.belief.revising import (
    Remainder,
    RetractionPlan,
    apply_retractions,
    carry_edges,
    free_address,
    judge,
    judge_revision,
    minus,
    restrict,
    split_revision,
)
from doxa.belief.types import Change, CheckedDraft, Draft, Fact, Retracted, without
from doxa.belief.writes import (
    Content,
    add_revision,
    create_item,
    draft_kref,
    link,
    set_current,
)
from doxa.logic.sentence import Atom, Sentence, parse_sentence, stored, worded
from doxa.store import TRUSTS, Node, Transaction

Links = Iterable[tuple[str, str]]  # (edge type, kref)


def state(
    tx: Transaction,
    item: Node,
    draft: CheckedDraft,
    *,
    links: Links = (),
    again: bool = False,
    replacing: Node | None = None,
    in_time: bool = False,
    carry: bool = False,
    last: NodeId | None = None,
) -> Change:
    """Write the next revision of an item and retract what contradicts it. Nothing is written if the
    current one says the same, unless it is stated `again`. `replacing`: a belief at another
    address that this one replaces. `in_time`: what contradicts it and was stated later
    persists, and this goes to history. `carry`: the item keeps what it depended on. `last`: the
    revision that was written last, where that is known."""
    links = tuple(links)
    draft, repeats = lowered(tx, draft, str(item.props["project"]), links)
    content = Content.of(draft)
    before, retired = current_of(tx, item.id), bool(item.props.get("deprecated"))
    if before is not None and not again and (same := _same(before, draft, content)):
        same = f"{same}; {_repetition(repeats)}" if repeats else same
        return Change("unchanged", str(before.props["kref"]), None, tx.now, reason=same)
    held = [node for node in (before, replacing) if node is not None]
    verdict = _verdict(tx, draft, project=str(item.props["project"]), leave_out=held)
    higher = [
        node
        for node in (*held, *(verdict.losers if verdict else ()))
        if not may_replace(draft.trust, draft.metadata, node)
    ]
    if higher:
        return _challenge(tx, item, draft, content=content, links=links, held=higher)
    later = [
        node
        for node in (verdict.losers if verdict and in_time else ())
        if _time(node) > (tx.now if draft.time is None else draft.time)
    ]
    if later:
        return _said_otherwise(tx, item, draft, later, content=content)
    former = last_of(tx, item)
    if retired:
        set_deprecated(tx, item, False)
    made = add_revision(tx, item, draft, content=content, last=last)
    for kind, target in _pairs(links):
        link(tx, made, kind=kind, target=target)
    if carry and before is not None:
        carry_edges(tx, before, made, grounds_only=True)
    if replacing is not None:
        retire_for(tx, replacing.id, by=made.id)
    if verdict is not None:
        apply_retractions(tx, verdict, by=made)
    old = tuple(fact for node in held for fact in facts_of(node))
    return Change(
        "revised" if former is not None else "created",
        str(made.props["kref"]),
        tx.tx,
        tx.now,
        previous=str(former.props["kref"]) if former else "",
        reason=_reason(retired, repeats),
        gained=without(draft.facts, old),
        lost=without(old, draft.facts),
        losses=(
            *_replaced(held, draft, str(made.props["kref"])),
            *(verdict.losses() if verdict else ()),
        ),
    )


def _reason(retired: bool, repeats: str) -> str:
    back = "it was retired; this revision makes it current again" if retired else ""
    return "; ".join(filter(None, (back, _repetition(repeats) if repeats else "")))


def _repetition(kref: str) -> str:
    return f"its trust is inferred, since {kref} was concluded by a job and this repeats it"


def _replaced(held: Iterable[Node], draft: Draft, kref: str) -> Iterable[Retracted]:
    """What an item said and does not say any more."""
    again, window = (
        {stored(sentence) for sentence in sentences_in(draft)},
        window_of(draft.valid_from, draft.valid_until),
    )
    for node in held:
        for sentence in sentences_of(node):
            if stored(sentence) not in again:
                left = (
                    " also for the time that it does not speak of"
                    if not node_window(node).within(window)
                    else ""
                )
                yield Retracted(
                    str(node.props["kref"]),
                    worded(sentence),
                    f"its item says something else now{left}",
                    (kref,),
                )


def _time(node: Node) -> int:
    time = node.props.get("time")
    return time if isinstance(time, int) else node.born


def _said_otherwise(
    tx: Transaction, item: Node, draft: Draft, later: Sequence[Node], *, content: Content
) -> Change:
    made = add_revision(tx, item, draft, current=False, content=content)
    for node in later:
        tx.create_edge(SUPERSEDES, node.id, dst=made.id)
    names = ", ".join(str(node.props["kref"]) for node in later)
    return Change(
        "superseded", str(made.props["kref"]), tx.tx, tx.now, reason=f"{names} was said later"
    )


def _same(before: Node, draft: Draft, content: Content) -> str:
    """Why there is nothing to state; empty if there is."""
    if before.props.get("content_hash") == content.hash:
        return "the current revision says the same"
    if trust_rank(before) <= TRUSTS.index(draft.trust):
        return ""
    named = ("summary", "facts", "sentences", "valid_from", "valid_until")
    same = all(before.props.get(name) == content.props.get(name) for name in named)
    return f"the current revision says the same, and is {before.props['trust']}" if same else ""


def _verdict(
    tx: Transaction, draft: Draft, *, project: str, leave_out: Iterable[Node]
) -> RetractionPlan | None:
    sentences = sentences_in(draft)
    if not sentences:
        return None
    holding = RelevantBeliefs(tx, project, leave_out=frozenset(node.id for node in leave_out))
    return judge(
        "revise", holding, sentences, within=window_of(draft.valid_from, draft.valid_until)
    )


def sentences_in(draft: Draft) -> list[Sentence]:
    """Return what a draft states. A fact about what no sentence can be about, such as a blank, is
    left out."""
    found: list[Sentence] = []
    for fact in draft.facts:
        try:
            found.append(parse_sentence(list(fact)))
        except InputError:
            continue
    return [*found, *map(parse_sentence, draft.sentences)]


def stated_facts(sentences: Iterable[Sentence]) -> tuple[tuple[Fact, ...], tuple[Sentence, ...]]:
    """Return sentences as a revision holds them: plain atoms as facts, the rest as sentences."""
    facts, rest = [], []
    for sentence in sentences:
        if isinstance(sentence, Atom):
            facts.append(Fact(*sentence))
        else:
            rest.append(sentence)
    return tuple(facts), tuple(rest)


def _pairs(links: Links) -> Iterable[tuple[str, str]]:
    for pair in links:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(
                f"A link is an edge type and an address; this is {pair!r:.60}.",
                next_step="Give pairs of both.",
                field="links",
            )
        yield pair[0], pair[1]


def _challenge(
    tx: Transaction,
    item: Node,
    draft: CheckedDraft,
    *,
    content: Content,
    links: Links,
    held: Sequence[Node],
) -> Change:
    together = list({node.id: node for node in held}.values())
    made, conflict, new = open_conflict(
        tx, parse_kref(str(item.props["kref"])), draft, together, content=content
    )
    for kind, target in _pairs(links) if new else ():
        link(tx, made, kind=kind, target=target)
    names = ", ".join(str(node.props["kref"]) for node in together)
    reason = (
        f"it is {draft.trust} and contradicts {names}, which {_why_kept(draft, together)}: decide"
        f" the conflict {conflict}"
    )
    if not new:
        return Change(
            "unchanged",
            str(made.props["kref"]),
            None,
            tx.now,
            reason=f"this conflict is open already: {conflict}",
            conflict=conflict,
        )
    return Change(
        "challenged", str(made.props["kref"]), tx.tx, tx.now, reason=reason, conflict=conflict
    )


def _why_kept(draft: Draft, held: Sequence[Node]) -> str:
    higher = any(trust_rank(node) > TRUSTS.index(draft.trust) for node in held)
    return "is trusted more" if higher else "somebody else stated"


def place_for(tx: Transaction, draft: Draft) -> Kref:
    """Return where a statement without an address of its own goes: to the item that said something
    else of just the same, else to a new one."""
    sentences = sentences_in(draft)
    address = _own_address(draft, sentences)
    if not sentences or not all(isinstance(sentence, Atom) for sentence in sentences):
        return address
    topics = {sentence.topic for sentence in sentences if isinstance(sentence, Atom)}
    single = laws_of(tx, draft.project).constraints.is_single
    if len(topics) == 1 and single(
        topic := next(iter(topics))
    ):  # the values come and go, what it is about stays
        digest = hashlib.blake2b(canonical(list(topic)), digest_size=4).hexdigest()
        address = replace(address, name=name_from(" ".join(topic), digest))
    verdict = _verdict(tx, draft, project=draft.project, leave_out=())
    for node in sorted(verdict.losers if verdict else (), key=lambda node: node.id):
        stated = sentences_of(node)
        about = {sentence.topic if isinstance(sentence, Atom) else None for sentence in stated}
        alike = node.props.get("kind") == draft.kind and node_window(node) == window_of(
            draft.valid_from, draft.valid_until
        )
        if alike and about == topics:
            return parse_kref(str(node.props["kref"])).item()
    return _untaken(tx, address, draft, sentences)


def _own_address(draft: Draft, sentences: Sequence[Sentence]) -> Kref:
    """Words of the text and a digest of what is stated, when, so that another statement in the same
    words has another address."""
    address = draft_kref(draft)
    if not sentences:
        return address
    digest = hashlib.blake2b(
        canonical([sorted(map(stored, sentences)), draft.valid_from, draft.valid_until]),
        digest_size=4,
    ).hexdigest()
    return replace(address, name=name_from(draft.title or draft.summary, digest))


def _untaken(tx: Transaction, address: Kref, draft: Draft, sentences: Sequence[Sentence]) -> Kref:
    """The address, or one derived from it: what is believed there and not stated by the draft,
    or not for as long, must not be lost."""
    said, window = (
        {stored(sentence) for sentence in sentences},
        window_of(draft.valid_from, draft.valid_until),
    )
    for number in range(1, ADDRESSES_TRIED_ITEMS_MAX):
        found = address if number == 1 else replace(address, name=f"{address.name}-{number}")
        item = tx.node_by_kref(str(found))
        held = current_of(tx, item.id) if item is not None else None
        if held is None:
            return found
        again = {text for _, text, _ in stated_by(held)}
        if (
            again
            and again <= said
            and node_window(held).within(window)
            and trust_rank(held) <= TRUSTS.index(draft.trust)
        ):
            return found
    raise LimitError(
        f"{address} and the addresses derived from it are taken.",
        next_step="Give the statement a name.",
        kref=str(address),
    )


def make_current(tx: Transaction, item: Node, node: Node) -> RetractionPlan | None:
    """Believe an existing revision again: what contradicts it is retracted. Raises
    ConflictError or RoleError if that is trusted more."""
    before = current_of(tx, item.id)
    verdict = judge_revision(tx, node, instead_of=before)
    _may_take_over(node, verdict.losers if verdict is not None else ())
    if (
        before is not None
        and before.id != node.id
        and trust_rank(before) > trust_rank(node)
        and is_below_operator(tx.identity.role)
    ):
        _may_take_over(node, [before])
    if item.props.get("deprecated"):
        set_deprecated(tx, item, False)
    set_current(tx, item.id, node.id)
    if verdict is not None:
        apply_retractions(tx, verdict, by=node)
    return verdict


def _may_take_over(node: Node, losers: Sequence[Node]) -> None:
    higher = [other for other in losers if trust_rank(other) > trust_rank(node)]
    if higher:
        kref, other = str(node.props["kref"]), str(higher[0].props["kref"])
        raise ConflictError(
            f"{kref} contradicts {other}, which is trusted more.",
            next_step="Ask an operator, or state it again: that opens a conflict.",
            kref=kref,
            held=other,
        )


def decide(
    tx: Transaction,
    conflict: Node,
    decision: str,
    *,
    sides: tuple[Node, list[Node]],
    at: int | None,
) -> tuple[Node, RetractionPlan | None]:
    """Carry a decision out; returns the revision that is believed by it (of a rejection: the
    challenger) and what was retracted."""
    challenger, held = sides
    close_conflict(tx, conflict, decision)
    item, window = item_of(tx, challenger.id), node_window(challenger)
    match decision:
        case "reject":
            return challenger, None
        case "accept":
            before = current_of(tx, item.id)
            if before is None or before.id < challenger.id:  # what it was to replace
                return challenger, _let_in(tx, item, challenger)
            return _beside(
                tx, item, challenger, window=window, held=held, ended=True
            )  # its item has said something since
    if at is None:
        raise InputError(
            "Both can be kept only one after the other.",
            next_step="Give the time from which the challenger holds.",
            field="valid_from",
        )
    if not window.start < at < window.end:
        raise InputError(
            f"The challenger does not hold at {format_time(at)}.",
            next_step="Give a time within its own.",
            field="valid_from",
        )
    return _beside(tx, item, challenger, window=Window(at, window.end), held=held, ended=False)


def _beside(
    tx: Transaction,
    item: Node,
    challenger: Node,
    *,
    window: Window,
    held: Sequence[Node],
    ended: bool,
) -> tuple[Node, RetractionPlan | None]:
    """Believe a challenger for a time without taking away what its item says: at an address of its
    own if that is needed. `ended`: what it challenged is not believed any more; else it keeps the
    rest of its time."""
    home = (
        item if current_of(tx, item.id) is None else create_item(tx, free_address(tx, item, window))
    )
    texts = frozenset(text for _, text, _ in stated_by(challenger))
    made = add_revision(
        tx,
        home,
        restrict(challenger, Remainder(window, texts)),
        author=str(challenger.props.get("author", "")),
    )
    verdict = judge_revision(tx, made)
    if verdict is not None:
        apply_retractions(tx, verdict, by=made)
    for node in tx.nodes([node.id for node in held]):
        _make_room(tx, node, window, ended=ended)
    return made, verdict


def _let_in(tx: Transaction, item: Node, challenger: Node) -> RetractionPlan | None:
    before = current_of(tx, item.id)
    verdict = judge_revision(tx, challenger, instead_of=before)
    if item.props.get("deprecated"):
        set_deprecated(tx, item, False)
    set_current(tx, item.id, challenger.id)
    if before is not None:
        tx.create_edge(SUPERSEDES, challenger.id, dst=before.id)
    if verdict is not None:
        apply_retractions(tx, verdict, by=challenger)
    return verdict


def _make_room(tx: Transaction, node: Node, taken: Window, *, ended: bool) -> None:
    """A belief that nothing has shortened yet, such as one that is only text, holds for what is
    left of its time; or not at all."""
    item = item_of(tx, node.id)
    current = current_of(tx, item.id)
    if current is not None and current.id == node.id:
        texts = frozenset(text for _, text, _ in stated_by(node))
        split_revision(
            tx,
            node,
            []
            if ended
            else [Remainder(window, texts) for window in minus(node_window(node), (taken,))],
        )


def reconcile(tx: Transaction, item: Node) -> tuple[Retracted, ...]:
    """Retract the less entrenched of what an imported item says and what is believed here."""
    current = current_of(tx, item.id)
    sentences = sentences_of(current) if current is not None else ()
    if current is None or not sentences:
        return ()
    verdict = judge("consolidate", RelevantBeliefs(tx, str(current.props["project"])), sentences)
    apply_retractions(tx, verdict, by=None)
    return verdict.losses()


def require_consistent(tx: Transaction, revisions: Iterable[NodeId], change: int) -> None:
    """Check an undo: raise ConflictError if what came back contradicts what has been believed
    since."""
    for node in tx.nodes(list(revisions)):
        verdict = (
            judge_revision(tx, node)
            if "Revision" in node.labels and tx.edges_in(node.id, CURRENT)
            else None
        )
        if verdict is not None and verdict.lost:
            loss, said = verdict.losses()[0], worded(sentences_of(node)[0])
            raise ConflictError(
                f"Change {change} cannot be undone: {said!r:.200} would be believed again"
                f" although {loss.kref} contradicts it.",
                next_step=f"Revise or retire {loss.kref} first.",
                change=change,
                kref=loss.kref,
            )
