"""Match a plain sentence with existing beliefs: which belief it is about, how certain that is, and
whether to revise it, open a conflict, or state a new belief.

    text -> claims -> candidates (recall by text, recall by subject) -> claims of each candidate
         -> agreement -> score -> verdict

A score is the probability that the text replaces (or restates) a belief: a logistic regression over
the features of `agreement`. The weights are literals, fitted by `python -m bench updates --fit` on
one half of the cases in tests/cases/updates.txt and evaluated on the other. From REVISE_AT on, a
belief is proposed for revision. From CONFLICT_AT on, the match is uncertain, and both are kept in a
conflict that a user resolves. Below that, the text is a new belief. This module writes nothing; the
caller decides what to do with a proposal.

Two keys that differ in a word on both sides (api-port, api-host) are different subjects, however
similar they look; a spelling variant (colour, color) is the same word. Text is data: a sentence
that reads like an instruction is matched like any other. Questions, suppositions and quotations
assert nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from doxa.base.limits import CLAIMS_PER_TEXT_ITEMS_MAX, STATEMENT_CHARS_READ
from doxa.base.words import terms
from doxa.belief import Fact
from doxa.belief.graph import facts_of
from doxa.ingestion import arguments
from doxa.ingestion.candidates import SearchedPlace, find_candidates
from doxa.ingestion.questions import ASK_AT, asked_about, likely_replaced
from doxa.language.agreement import (
    FEATURES,
    RETIRING,
    SUBJECT_DIFFERS,
    Agreement,
    Relation,
    agreement,
    holds_beside,
)
from doxa.language.comparison.coverage import changed_quantity
from doxa.language.comparison.differences import Difference, difference, says_i
from doxa.language.comparison.likeness import LIKENESS, likeness
from doxa.language.languages import Language
from doxa.language.statement import Claim, read_fact
from doxa.language.tables.reader import (
    language_of,
    likely_language,
    plain_sentences,
    read_claims,
)
from doxa.recall import Recaller
from doxa.store import Node, Store

MatchVerdict = Literal["revise", "conflict", "create", "same", "nothing"]

BIAS = 2.65
WEIGHTS: dict[str, float] = {
    "part_or_relative": -6.77,
    "part_of_name": -3.5,
    "says_less_of_subject": -4.0,
    "other_subject": -8.11,
    "owner_open": -2.0,
    "unnamed": -4.0,
    "near_predicate": -0.87,
    "other_predicate": -5.01,
    "other_kind_of_value": -3.0,
    "unspecific": -2.5,
    "may_be_several": -6.01,
    "may_replace": -4.5,
    "gives_up_held": 2.02,
    "gives_up_another": -4.0,
    "takes_back": 1.08,
    "takes_back_another": -3.03,
    "scope_open": -2.01,
    "other_scope": -5.0,
    "says_more_besides": -4.0,
    "change": 1.26,
    "past": -5.0,
    "other_speaker": -3.0,
    "shared_words": 1.04,
    "unknown_predicate": -4.02,
    "misspelt": -3.0,
    "by_words": -0.5,
    "unsure_words": -3.2,
}
REVISE_AT = 0.8
CONFLICT_AT = 0.15
_UNASSERTED_MAX = 0.04  # a question, supposition or quotation retires nothing
_MISSPELT_MAX = 0.6  # two names may differ in a letter
_MISSPELT = FEATURES.index("misspelt")
_OTHER_KIND = FEATURES.index("other_kind_of_value")
_LIKE_SUBJECT_MAX = 0.1  # if another belief is about exactly the subject
_MATCHING_RELATIONS = RETIRING | {"restates"}
_REPORTED_SCORE_MIN = 0.01  # below this, the text is not about the belief
_WEIGHTS = tuple(WEIGHTS[name] for name in FEATURES)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A belief that the text may be about. `kref` is its revision and `item` its item; `fact` is
    what the text states, in the terms of the belief; `held` is the matching fact of the belief, if
    it has facts."""

    kref: str
    item: str
    predicate: str
    fact: Fact
    score: float
    relation: Relation
    reasons: tuple[str, ...]
    held: Fact | None = None


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match. `verdict` is "revise" if at least one proposal replaces its belief,
    "conflict" if one may, "same" if everything in the text is already believed, "nothing" if the
    text asserts nothing (it asks, supposes or quotes), else "create".
    `proposals` are ordered by score, the highest first."""

    text: str
    verdict: MatchVerdict
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class ScoredProposal:
    """A proposal with the features of its score and the number of its claim."""

    proposal: Proposal
    features: tuple[float, ...]
    claim: int
    unasserted: bool
    asked: bool = False  # by likeness: `features` are those of LIKENESS

    @property
    def exact(self) -> bool:
        """Whether both are about exactly the same subject."""
        return not any(self.features[i] for i in SUBJECT_DIFFERS)


def match(
    store: Store,
    recaller: Recaller,
    text: str,
    *,
    project: str = "",
    space: str = "",
    kinds: Iterable[str] = (),
    speaker: str = "",
    limit: int = 10,
) -> MatchResult:
    """Match a text with existing beliefs. Empty filters match everything; a missing project or
    space contains nothing. `speaker` is the person that "I" refers to; for a belief that is its
    metadata `speaker_name`. Raises InputError or LimitError."""
    arguments.whole(limit, "limit")
    claims, found = score_proposals(
        store, recaller, text, project=project, space=space, kinds=kinds, speaker=speaker
    )
    best: dict[tuple[str, Fact | None], ScoredProposal] = {}
    for one in found:
        at = (one.proposal.kref, one.proposal.held)
        if at not in best or _rank(one) < _rank(best[at]):
            best[at] = one
    verdict = _verdict(text, claims, found)
    ordered = sorted(best.values(), key=_rank)
    return MatchResult(
        text,
        verdict,
        tuple(one.proposal for one in ordered if one.proposal.score >= _REPORTED_SCORE_MIN)[:limit],
    )


def score_proposals(
    store: Store,
    recaller: Recaller,
    text: str,
    *,
    project: str = "",
    space: str = "",
    kinds: Iterable[str] = (),
    speaker: str = "",
    ask_at: float = ASK_AT,
) -> tuple[tuple[Claim, ...], list[ScoredProposal]]:
    """Return the claims of a text and the scored proposals for them, from which `match` decides.
    `ask_at` is the least likeness that raises a question."""
    for name, value in (
        ("text", text),
        ("project", project),
        ("space", space),
        ("speaker", speaker),
    ):
        arguments.text(value, name)
    chosen = arguments.texts(kinds, "kinds")
    now = store.clock.now_ns()
    claims = read_claims(text, speaker=speaker, time_ns=now)
    if not claims and not asserted_sentences(text, claims):
        return (), []
    found: list[ScoredProposal] = []
    with store.read() as reader:
        place = SearchedPlace(project, space, chosen)
        nodes, known = find_candidates(reader, recaller, text, claims, place)
        language = language_of(text) or _language_of_beliefs(text, nodes)
        beliefs = [read_belief(node, fallback=language) for node in nodes]
        if language is not None:  # a fragment may be of any language
            claims = read_claims(text, speaker=speaker, time_ns=now, fallback=language)
        words = frozenset(terms(text[:STATEMENT_CHARS_READ]))
        said = _Said(claims, asserted_sentences(text, claims), words, speaker)
        learnt = frozenset(
            claim.predicate for belief in beliefs if belief.revised for claim, _ in belief.held
        )
        for belief in beliefs:
            found += _score_belief(belief, said, learnt=learnt, known=known)
    found = _exact_first(found)
    if _verdict(text, claims, found) == "create":
        found += _questions(beliefs, said, found, ask_at=ask_at)
    elif is_unplaced(text, claims):
        said = said._replace(sentences=tuple(p for p, why in plain_sentences(text) if not why))
        found += _questions(beliefs, said, found, ask_at=ask_at)
    return claims, found


def _language_of_beliefs(text: str, nodes: list[Node]) -> Language | None:
    """Return the language of the beliefs that share words with a text that could be of any."""
    found = (language_of(str(node.props.get("summary", ""))) for node in nodes[:_LANGUAGE_BELIEFS])
    return likely_language(text, next((one for one in found if one is not None), None))


_LANGUAGE_BELIEFS = 3


def asserted_sentences(text: str, claims: tuple[Claim, ...]) -> tuple[str, ...]:
    """Return the sentences of a text that assert something. If grammar finds a claim that is not
    asserted, the words of the text prove nothing either."""
    if any(claim.unasserted for claim in claims):
        return ()
    return tuple(plain for plain, why in plain_sentences(text) if not why)[:_SENTENCES_READ]


def _exact_first(found: list[ScoredProposal]) -> list[ScoredProposal]:
    """Lower the scores of beliefs with a similar subject, or with a value of another kind, for each
    claim for which a belief has exactly the same subject."""
    exact = {
        one.claim
        for one in found
        if one.proposal.score >= REVISE_AT
        and one.exact
        and one.proposal.relation in _MATCHING_RELATIONS
    }
    return [
        _set_aside(one)
        if one.claim in exact
        and not (one.exact and not one.features[_OTHER_KIND])
        and one.proposal.relation in RETIRING
        else one
        for one in found
    ]


def _set_aside(one: ScoredProposal) -> ScoredProposal:
    reasons = (*one.proposal.reasons, "Another belief is about exactly this subject.")
    return replace(
        one,
        proposal=replace(
            one.proposal,
            relation="beside",
            score=min(one.proposal.score, _LIKE_SUBJECT_MAX),
            reasons=reasons,
        ),
    )


def judge_claims(
    new: Claim,
    held: Claim,
    *,
    several: bool = False,
    same_speaker: bool = True,
    shared: float = 0.0,
    learnt: bool = False,
    known: frozenset[str] = frozenset(),
) -> tuple[Agreement, float]:
    """Compare two claims and score the result. Below the conflict threshold the relation becomes
    `beside`."""
    verdict = agreement(
        new,
        held,
        several=several,
        same_speaker=same_speaker,
        shared_words=shared,
        learnt=learnt,
        known=known,
    )
    score = score_of(verdict.features)
    if verdict.features[_MISSPELT]:
        score = min(score, _MISSPELT_MAX)
    if new.unasserted:
        score = min(score, _UNASSERTED_MAX)
    return (
        replace(verdict, relation="beside")
        if score < CONFLICT_AT and verdict.relation != "names"
        else verdict
    ), score


def score_of(features: tuple[float, ...]) -> float:
    """Return the logistic regression score of a feature vector."""
    total = BIAS + sum(weight * value for weight, value in zip(_WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


class _Said(NamedTuple):
    """What is compared: the claims and sentences of a text, its words, and its speaker."""

    claims: tuple[Claim, ...]
    sentences: tuple[str, ...]
    words: frozenset[str]
    speaker: str


class StoredBelief(NamedTuple):
    """What a revision states: claims, each with its fact if it is one; `several` if its text makes
    several claims; `revised` if it replaced an earlier revision."""

    node: Node
    held: tuple[tuple[Claim, Fact | None], ...]
    facts: tuple[Fact, ...]
    summary: str
    speaker: str
    several: bool
    revised: bool


def read_belief(node: Node, *, fallback: Language | None = None) -> StoredBelief:
    """Read the facts of a revision as claims, and its text if it has at most one fact. A text that
    could be of any language is read in `fallback`."""
    props: dict[str, Any] = node.props
    said_by = str(props.get("speaker_name", "") or "")
    time = props.get("time") if isinstance(props.get("time"), int) else None
    summary = str(props.get("summary", ""))
    facts = facts_of(node)
    held: list[tuple[Claim, Fact | None]] = [
        (
            read_fact(
                fact.subject, fact.predicate, _as_text(fact.value), speaker=said_by, time_ns=time
            ),
            fact,
        )
        for fact in facts[:_FACTS_READ]
    ]
    read = read_claims(summary, speaker=said_by, time_ns=time, fallback=fallback)
    if not facts:
        held = [(claim, None) for claim in read]
        if all(claim.value.type == "none" for claim in read):
            # a value alone; the name of the item is its subject
            name = str(props.get("kref", "")).partition("?")[0].rpartition("/")[2]
            held.append((read_fact(name.rpartition(".")[0], "is", summary, time_ns=time), None))
    elif len(facts) == 1:
        held += [(claim, facts[0]) for claim in read]
    return StoredBelief(
        node,
        tuple(one for one in held if not one[0].unasserted and not one[0].history),
        tuple(facts),
        summary,
        said_by,
        several=not facts and len([claim for claim in read if not claim.unasserted]) > 1,
        revised=int(props.get("number", 1) or 1) > 1,
    )


def _score_belief(
    belief: StoredBelief, said: _Said, *, learnt: frozenset[str], known: frozenset[str]
) -> list[ScoredProposal]:
    """Compare each claim of the text with those of a belief; where grammar decides nothing, compare
    their words."""
    same_speaker = _same_speaker(belief, said)
    other = frozenset(terms(belief.summary[:STATEMENT_CHARS_READ])) | {
        term for fact in belief.facts for part in fact[:2] for term in terms(str(part))
    }
    shared = len(said.words & other) / max(1, len(said.words | other))
    found = []
    decided = False
    for number, new in enumerate(said.claims):
        for claim, fact in belief.held:
            decided = decided or (_is_read(new) and _is_read(claim))
            if not _comparable(new, claim):
                continue
            verdict, score = judge_claims(
                new,
                claim,
                several=belief.several,
                same_speaker=same_speaker,
                shared=shared,
                learnt=claim.predicate in learnt,
                known=known,
            )
            found.append(
                _scored_proposal(
                    belief.node, new, claim, fact=fact, number=number, judged=(verdict, score)
                )
            )
    if not any(one.proposal.score >= REVISE_AT for one in found):
        if not decided:
            found += _by_words(
                belief, said, same_speaker=same_speaker, shared=shared, learnt=learnt
            )
        found += _by_quantity(belief, said, same_speaker=same_speaker, shared=shared)
    return found


def _is_read(claim: Claim) -> bool:
    """Return whether grammar understands a claim: its predicate is known, and it has a value."""
    return (
        claim.value.type != "none"
        and not claim.predicate.startswith("to ")
        and not claim.unnamed
        and bool(claim.key)
    )


def _by_words(
    belief: StoredBelief, said: _Said, *, same_speaker: bool, shared: float, learnt: frozenset[str]
) -> list[ScoredProposal]:
    """Compare the sentences of a text with those of a belief by their words."""
    held = [plain for plain, why in plain_sentences(belief.summary) if not why][:_SENTENCES_READ]
    if len(belief.facts) > 1 or not held:
        return []
    single = any(claim.predicate in learnt for claim, _ in belief.held)
    past = any(claim.past for claim in said.claims)  # an event, after which others may follow
    found = []
    for number, sentence in enumerate(said.sentences, len(said.claims)):
        for other in held:
            differing = difference(sentence, other)
            if differing is None or differing.besides:
                continue
            if not same_speaker and says_i(sentence):
                continue
            values = {
                "by_words": 1.0,
                "shared_words": shared,
                "change": float(differing.change),
                "says_more_besides": float(len(held) > 1),
            }
            relation: Relation = "updates"
            if differing.denied:
                relation, values["takes_back"] = "contradicts", 1.0
            elif not differing.new:
                relation = "restates"
            else:
                sure = (differing.change or differing.measured or single) and not past
                values["unsure_words"] = float(not sure)
            features = tuple(values.get(name, 0.0) for name in FEATURES)
            found.append(_proposed(belief, differing, number, relation, features))
    return found


def _by_quantity(
    belief: StoredBelief, said: _Said, *, same_speaker: bool, shared: float
) -> list[ScoredProposal]:
    """Compare the only quantity of a belief with that of a sentence that names all the rest."""
    held = [plain for plain, why in plain_sentences(belief.summary) if not why]
    if len(belief.facts) > 1 or len(held) != 1:
        return []
    values = {"by_words": 1.0, "shared_words": shared, "change": 1.0}
    features = tuple(values.get(name, 0.0) for name in FEATURES)
    return [
        _proposed(belief, differing, number, "updates", features)
        for number, sentence in enumerate(said.sentences, len(said.claims))
        if (same_speaker or not says_i(sentence))
        and (differing := changed_quantity(sentence, held[0])) is not None
    ]


def _questions(
    beliefs: list[StoredBelief], said: _Said, found: list[ScoredProposal], *, ask_at: float
) -> list[ScoredProposal]:
    """Return the beliefs that the text may replace by how alike they are, for a text that is
    neither known nor replaces anything."""
    apart = {one.proposal.kref for one in found if _is_apart(one)}
    asked: list[ScoredProposal] = []
    for belief in beliefs:
        kref = str(belief.node.props["kref"])
        if any(holds_beside(a.predicate, b.predicate) for a in said.claims for b, _ in belief.held):
            continue
        held = [plain for plain, why in plain_sentences(belief.summary) if not why]
        best: dict[str, float] = {}
        for sentence in said.sentences:
            for other in held[:_SENTENCES_READ]:
                if not _same_speaker(belief, said) and (says_i(sentence) or says_i(other)):
                    continue
                evidence = likeness(sentence, other)
                if evidence is not None:
                    evidence["apart"] = float(kref in apart)
                    best = max(best or evidence, evidence, key=likely_replaced)
        if best:
            asked.append(_asked(belief, kref, best))
    places = asked_about([one.proposal.score for one in asked], ask_at)
    return [asked[place] for place in places]


_APART = FEATURES.index("other_subject")
_NEAR = tuple(
    FEATURES.index(name) for name in ("near_predicate", "other_predicate", "may_be_several")
)


def _is_apart(one: ScoredProposal) -> bool:
    """Return whether grammar reads the same predicate of another subject."""
    return bool(one.features[_APART]) and not any(one.features[place] for place in _NEAR)


def _asked(belief: StoredBelief, kref: str, evidence: dict[str, float]) -> ScoredProposal:
    fact = belief.facts[0] if len(belief.facts) == 1 else None
    claim = belief.held[0][0] if belief.held else None
    subject = fact.subject if fact else claim.subject if claim else ""
    stated = Fact(subject or "it", fact.predicate if fact else "is", True)
    return ScoredProposal(
        Proposal(
            kref=kref,
            item=kref.partition("?")[0],
            predicate=stated.predicate,
            fact=stated,
            score=round(likely_replaced(evidence), 4),
            relation="updates",
            reasons=("The text may be about this; its grammar does not say so.",),
        ),
        tuple(evidence.get(name, 0.0) for name in LIKENESS),
        -1,
        unasserted=False,
        asked=True,
    )


def _same_speaker(belief: StoredBelief, said: _Said) -> bool:
    return (
        not (said.speaker and belief.speaker)
        or said.speaker.casefold() == belief.speaker.casefold()
    )


def _proposed(
    belief: StoredBelief,
    differing: Difference,
    number: int,
    relation: Relation,
    features: tuple[float, ...],
) -> ScoredProposal:
    kref = str(belief.node.props["kref"])
    fact = belief.facts[0] if belief.facts else None
    if fact is not None and str(fact.value).casefold() != differing.old.casefold():
        fact = None
    stated = Fact(
        fact.subject if fact else differing.frame,
        fact.predicate if fact else "is",
        differing.new or True,
    )
    reasons = {
        "updates": f"{differing.new!r} replaces {differing.old!r}, in the same words.",
        "contradicts": "The two differ only in a negation.",
        "restates": "Both say the same.",
    }
    return ScoredProposal(
        Proposal(
            kref=kref,
            item=kref.partition("?")[0],
            predicate=stated.predicate,
            fact=stated,
            score=round(score_of(features), 4),
            relation=relation,
            reasons=(reasons[relation],),
            held=fact,
        ),
        features,
        number,
        unasserted=False,
    )


def _comparable(new: Claim, held: Claim) -> bool:
    """Return whether two claims have anything in common by which they could be about the same."""
    return bool(
        new.predicate == held.predicate
        or new.key & held.key
        or new.unnamed
        or new.given_up.text
        or not new.key
        or not held.key
    )


_SENTENCES_READ = CLAIMS_PER_TEXT_ITEMS_MAX
_FACTS_READ = 4 * CLAIMS_PER_TEXT_ITEMS_MAX


def _scored_proposal(
    node: Node,
    new: Claim,
    held: Claim,
    *,
    fact: Fact | None,
    number: int,
    judged: tuple[Agreement, float],
) -> ScoredProposal:
    verdict, score = judged
    reasons = verdict.reasons + (
        (f"The text asserts nothing: {new.unasserted}.",) if new.unasserted else ()
    )
    kref = str(node.props["kref"])
    proposal = Proposal(
        kref=kref,
        item=kref.partition("?")[0],
        predicate=fact.predicate if fact else held.predicate,
        fact=_stated(new, held, fact),
        score=round(score, 4),
        relation=verdict.relation,
        reasons=reasons,
        held=fact,
    )
    return ScoredProposal(proposal, verdict.features, number, bool(new.unasserted))


def _stated(new: Claim, held: Claim, fact: Fact | None) -> Fact:
    """Return what the text states as a fact in the terms of the belief. A denial has `not` before
    its predicate."""
    subject = fact.subject if fact else held.subject or new.subject or "it"
    predicate = fact.predicate if fact else held.predicate
    value: bool | int | float | str = new.value.text or True
    if fact is not None and isinstance(fact.value, (int, float)) and new.value.type == "amount":
        value = (
            int(new.value.numbers[0]) if new.value.numbers[0].is_integer() else new.value.numbers[0]
        )
    return Fact(subject, predicate if new.positive else f"not {predicate}", value)


def _as_text(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _rank(one: ScoredProposal) -> tuple[bool, float, str, int]:
    return one.proposal.relation == "beside", -one.proposal.score, one.proposal.kref, one.claim


def _verdict(text: str, claims: tuple[Claim, ...], found: list[ScoredProposal]) -> MatchVerdict:
    """Return the strongest verdict of any claim; "same" only if every claim is already believed."""
    retiring = [one.proposal.score for one in found if one.proposal.relation in RETIRING]
    if any(score >= REVISE_AT for score in retiring):
        return "revise"
    if any(score >= CONFLICT_AT for score in retiring):
        return "conflict"
    if asserts_nothing(text, claims):
        return "nothing"
    known = {
        one.claim
        for one in found
        if one.proposal.relation in ("restates", "names") and one.proposal.score >= REVISE_AT
    }
    total = len(claims) or len(asserted_sentences(text, claims))
    return "same" if total and len(known) == total else "create"


def is_unplaced(text: str, claims: tuple[Claim, ...]) -> bool:
    """Return whether a text asserts something that grammar could not take apart: it neither asks
    nor supposes, but words of it have no place in its clauses. It may raise a question."""
    return (
        bool(claims)
        and all(claim.unasserted == "unclear" for claim in claims)
        and any(not why for _, why in plain_sentences(text))
    )


def asserts_nothing(text: str, claims: tuple[Claim, ...]) -> bool:
    """Return whether a text only asks, supposes, quotes and the like."""
    if claims:
        return all(claim.unasserted for claim in claims)
    reasons = [why for _, why in plain_sentences(text)]
    return bool(reasons) and all(reasons)
