"""Structure by rules, without a model: whole sentences of the turns, found by what they say.

    facts              the complete claims of language/ in what people say
    events             past actions, with the day that is named, and what followed
    decisions          "decided to", "let's use" that is agreed to, with a reason ("because ...")
    commitments        "I will ..."; actions: "can you ...", "Ben has to ...", with a day
    open_questions     questions that nobody answered
    summary            the sentences that together hold most of what was talked about
    topics, entities   what recurs, and what is named

Rules cannot say a thing in other words, so they give no implications. The rules are English; of
other languages they give facts, by the tables of language/, names and topics.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from doxa.base.words import STOP_WORDS, stem, terms
from doxa.consolidation.evidence import affirms, is_past
from doxa.consolidation.producers.contract import Produced
from doxa.consolidation.producers.reading import Utterance, happened, read
from doxa.consolidation.producers.tasks import actions, commitments
from doxa.consolidation.structure import (
    DecisionEntry,
    EntityEntry,
    EventEntry,
    FactEntry,
    QuestionEntry,
    Structure,
    TextEntry,
)
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.language.extract import Candidate, extract
from doxa.language.not_names import NOT_NAMES
from doxa.language.turns import Turn
from doxa.language.verbs import FINITE

_SUMMARY_SENTENCES_MAX = 8
_SUMMARY_TERMS_MIN = 3
_TOPICS_MAX = 6
_TERM_WEIGHTS = 2.0  # a name or number says more than another word

_DECIDED = re.compile(
    r"\b(?:decided|agreed|opted|settled on|resolved|voted|chose|committed) (?:to|on|for|against"
    r"|that|not to|upon|the|a)\b|\bsettled on\b|\b(?:the|our|my|final) decision (?:is|was)\b"
    r"|\b(?:I|[Ww]e) (?:will|are going to|am going to|are|am) (?:now )?(?:go(?:ing)? with"
    r"|switch(?:ing)? to|adopt(?:ing)?|stick(?:ing)? with|drop(?:ping)?|use|using)\b"
    r"|\bwent with\b",
    re.IGNORECASE,
)
_PROPOSED = re.compile(
    r"^(?:let us|let's) (?:go with|use|stick|switch|adopt|move|drop|make|do|take|try)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,\s*)?\b(?:because|since|so that|due to|as (?=we|it|the|they|I)|given that)\b\s*(.+)$",
    re.IGNORECASE,
)
_REASON_AFTER = re.compile(r"(?:because|the reason is|that way)\b,?\s*(.+)", re.IGNORECASE)
_FOLLOWED = re.compile(
    r"(?:so|now|as a result|because of (?:that|this)|therefore|that is why|this means|that means"
    r"|which means|since then|thanks to (?:that|this))\b",
    re.IGNORECASE,
)
_SO = re.compile(r",? (?:so|which (?:meant|means|made|led)|and now|and so) (?=\w+ \w+)")
_NO_ANSWER = re.compile(
    r"\b(?:not sure|do not know|don't know|no idea|let me (?:check|think|see)|get back to you"
    r"|find out|unsure|unclear|good question|to be decided|tbd)\b",
    re.IGNORECASE,
)
_STILL_OPEN = re.compile(
    r"\b(?:(?:still|yet) (?:need|have) to (?:decide|figure out|find out)|open question|tbd"
    r"|to be decided|undecided|not (?:yet )?(?:sure|decided) (?:yet )?(?:whether|if|which|what|who"
    r"|how|where|when))\b",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:how are you|how have you been|what is up|how is it going|how are things|how about you"
    r"|what about you|you know|right|really|is it|are you|do you|did you)\b[^?]{0,12}\?*$",
    re.IGNORECASE,
)
_FILLER = frozenset(map(stem, NOT_NAMES))
_TIMES = frozenset(map(stem, "day week month year hour minute".split()))
_KINDS = {"technical": "technology", "host": "site", "handle": "account", "title": "work"}


class RulesProducer:
    """Implements Producer by rules; deterministic."""

    name = "rules"
    model = ""

    def produce(self, transcript: Transcript) -> Produced:
        """Implement `Producer.produce`; never raises."""
        said = read(transcript)
        topics = tuple(_topics(transcript))
        return Produced(
            Structure(
                title=_title(topics, said),
                summary=tuple(_summary(said)),
                events=tuple(_events(said)),
                facts=tuple(_facts(transcript)),
                decisions=tuple(_decisions(said, transcript)),
                actions=tuple(actions(said, transcript)),
                commitments=tuple(commitments(said, transcript)),
                open_questions=tuple(_open_questions(said, transcript)),
                topics=topics,
                entities=tuple(_entities(transcript)),
            )
        )


def _turn(turn: SourceTurn) -> Turn:
    return Turn("", "", turn.speaker, "person", turn.text, turn.time_ns, "")


# -- Facts


def _facts(transcript: Transcript) -> Iterator[FactEntry]:
    for turn in transcript.turns:
        if not turn.is_persons:
            continue
        for found in extract(_turn(turn)).candidates:
            yield FactEntry(
                claim=_worded(found),
                subject=found.subject,
                predicate=found.predicate,
                value=found.value,
                certainty=found.certainty,
                sources=(turn.id,),
            )


def _worded(found: Candidate) -> str:
    """Return a fact as a sentence: its predicate is a verb, or a noun of the subject."""
    is_verb = FINITE.fullmatch(f" {found.predicate}", 1) or found.predicate.startswith(("no", "is"))
    if is_verb:
        return f"{found.subject} {found.predicate} {found.value}."
    return f"{found.subject}'s {found.predicate} is {found.value}."


# -- Events


def _events(said: Sequence[Utterance]) -> Iterator[EventEntry]:
    for number, one in enumerate(said):
        is_plain = one.unasserted in ("", "unclear") and not one.points_back
        if not is_plain or len(one.terms - _FILLER) < 2 or not happened(one):
            continue
        day = next((date for date in one.dates if date.start_ns <= one.turn.time_ns), None)
        event, consequence = one.told, ""
        inside = _SO.search(event)
        if inside:
            event, consequence = event[: inside.start()], event[inside.end() :]
        following = said[number + 1] if number + 1 < len(said) else None
        if not consequence and following is not None and following.turn.id == one.turn.id:
            opened = _FOLLOWED.match(following.text)
            if opened and not following.unasserted:
                consequence = following.told
        yield EventEntry(
            event=event.rstrip(" ,.") + ".",
            when=day.text if day else "",
            date=day.iso if day else "",
            participants=(one.turn.speaker,),
            consequence=consequence.rstrip(" ,."),
            sources=(one.turn.id,),
        )


# -- Decisions


def _decisions(said: Sequence[Utterance], transcript: Transcript) -> Iterator[DecisionEntry]:
    for number, one in enumerate(said):
        proposed = _PROPOSED.match(one.text) is not None
        if not proposed and not _DECIDED.search(one.text):
            continue
        if one.unasserted not in ("", "command", "planned", "reported", "unclear"):
            continue
        sources = [one.turn.id]
        if proposed:
            agreed = _agreement(one, transcript)
            if agreed is None:
                continue
            sources.append(agreed.id)
        told, reason = one.told, ""
        found = _REASON.search(told)
        if found:
            told, reason = told[: found.start()], found[1]
        elif number + 1 < len(said) and said[number + 1].turn.id == one.turn.id:
            after = _REASON_AFTER.match(said[number + 1].text)
            reason = after[1] if after else ""
        yield DecisionEntry(
            decision=told.rstrip(" ,.") + ".",
            reason=reason.rstrip(" ,."),
            by=one.turn.speaker,
            sources=tuple(sources),
        )


def _agreement(one: Utterance, transcript: Transcript) -> SourceTurn | None:
    """Return the next turn, where somebody else agrees to what was proposed."""
    following = transcript.turns[one.number + 1 : one.number + 2]
    for turn in following:
        if turn.speaker != one.turn.speaker and affirms(turn):
            return turn
    return None


# -- Questions


def _open_questions(said: Sequence[Utterance], transcript: Transcript) -> Iterator[QuestionEntry]:
    for one in said:
        is_asked = one.unasserted == "question" and one.text.endswith("?")
        unanswered = is_asked and not _is_answered(one, said, transcript)
        is_open = (unanswered and not _GREETING.search(one.text)) or _STILL_OPEN.search(one.text)
        if is_open and len(one.terms) >= 2:
            asked = one.text if is_asked else one.told
            yield QuestionEntry(question=asked, by=one.turn.speaker, sources=(one.turn.id,))


def _is_answered(one: Utterance, said: Sequence[Utterance], transcript: Transcript) -> bool:
    """Return whether a later turn of somebody else answers: the next one, unless it says that it
    does not, or one that states something in the words of the question."""
    for turn in transcript.turns[one.number + 1 :]:
        if turn.speaker == one.turn.speaker:
            continue
        own = [other for other in said if other.turn.id == turn.id]
        evades = _NO_ANSWER.search(turn.text) is not None
        states = [other for other in own if other.unasserted != "question"]
        direct = turn is transcript.turns[min(one.number + 1, len(transcript.turns) - 1)]
        if direct and states and not evades:
            return True
        if not evades and any(len(other.terms & one.terms) >= 2 for other in states):
            return True
    return False


# -- Summary


def _summary(said: Sequence[Utterance]) -> Iterator[TextEntry]:
    """Choose the sentences that together hold most of the weight of what was talked about, each
    word counting less the more often it is held already (Lin and Bilmes 2011), by length."""
    plain = [one for one in said if _may_summarise(one)]
    held_by = Counter(term for one in said for term in one.terms)
    weight = {term: math.log1p(count) for term, count in held_by.items()}
    for one in plain:
        for term in _specific(one):
            weight[term] = weight.get(term, 0.0) * _TERM_WEIGHTS
    wanted = min(_SUMMARY_SENTENCES_MAX, math.isqrt(max(1, len(said))) + 1)
    chosen: list[Utterance] = []
    held: Counter[str] = Counter()
    while plain and len(chosen) < wanted:
        best = max(plain, key=lambda one: (_gain(one, held, weight), -one.number))
        plain.remove(best)
        chosen.append(best)
        held.update(best.terms)
    for one in sorted(chosen, key=said.index):
        yield TextEntry(text=one.told.rstrip(" .") + ".", sources=(one.turn.id,))


def _may_summarise(one: Utterance) -> bool:
    return (
        one.unasserted in ("", "planned", "unclear")
        and len(one.terms - _FILLER) >= _SUMMARY_TERMS_MIN
        and not one.points_back
        and len(one.told) <= 400
    )


def _specific(one: Utterance) -> Iterator[str]:
    """Yield the terms of a sentence that are names or numbers."""
    for word in re.findall(r"(?<!^)\b[A-Z]\w+|\d[\w.]*", one.text):
        if word.casefold() not in NOT_NAMES:
            yield stem(word.casefold())


def _gain(one: Utterance, held: Counter[str], weight: dict[str, float]) -> float:
    gain = sum(
        weight[term] * (math.sqrt(held[term] + 1) - math.sqrt(held[term])) for term in one.terms
    )
    return gain / math.sqrt(len(one.terms) + 4)


# -- Topics, title, entities


def _topics(transcript: Transcript) -> Iterator[TextEntry]:
    """Yield what recurs in several turns: pairs of words first, then words."""
    singles: dict[str, list[tuple[str, SourceTurn]]] = {}
    pairs: dict[str, list[tuple[str, SourceTurn]]] = {}
    people = {stem(word) for name in transcript.speakers for word in name.casefold().split()}
    for turn in transcript.turns:
        for part in re.split(r"[.,;:!?\n()]+", turn.text):
            words = [word.strip("\"'“”’*_`") for word in part.split()]
            for word, following in zip(words, (*words[1:], ""), strict=False):
                if not _is_topical(word, people):
                    continue
                singles.setdefault(stem(word.casefold()), []).append((word, turn))
                if _is_topical(following, people):
                    key = f"{stem(word.casefold())} {stem(following.casefold())}"
                    pairs.setdefault(key, []).append((f"{word} {following}", turn))
    taken: set[str] = set()
    count = 0
    for key, found in [*_recurring(pairs), *_recurring(singles)]:
        if count >= _TOPICS_MAX or taken & set(key.split()):
            continue
        taken |= set(key.split())
        count += 1
        name = Counter(text for text, _ in found).most_common(1)[0][0]
        first = dict.fromkeys(turn.id for _, turn in found)
        yield TextEntry(text=name, sources=tuple(first)[:3])


def _is_topical(word: str, people: set[str]) -> bool:
    low = word.casefold()
    return (
        len(word) > 3
        and word.isalpha()
        and low not in STOP_WORDS
        and low not in NOT_NAMES
        and stem(low) not in people | _TIMES
        and not is_past(low)
        and not low.endswith(("ly", "ing"))
    )


def _recurring(
    found: dict[str, list[tuple[str, SourceTurn]]],
) -> list[tuple[str, list[tuple[str, SourceTurn]]]]:
    """Return what occurs in at least two turns, the most frequent first."""
    counted = [(len({turn.id for _, turn in places}), key) for key, places in found.items()]
    return [
        (key, found[key])
        for turns, key in sorted(counted, key=lambda one: -one[0])  # stable: the earliest first
        if turns >= 2
    ]


def _title(topics: Iterable[TextEntry], said: Sequence[Utterance]) -> TextEntry | None:
    named = tuple(topics)[:3]
    if named:
        text = ", ".join(line.text for line in named)
        sources = dict.fromkeys(source for line in named for source in line.sources)
        return TextEntry(text=text[:1].upper() + text[1:], sources=tuple(sources))
    first = next((one for one in said if len(terms(one.told)) >= 2), None)
    if first is None:
        return None
    short = first.told if len(first.told) <= 80 else first.told[:80].rpartition(" ")[0]
    return TextEntry(text=short, sources=(first.turn.id,))


def _entities(transcript: Transcript) -> Iterator[EntityEntry]:
    people = {turn.speaker for turn in transcript.turns if turn.role == "person"}
    kinds: dict[str, str] = dict.fromkeys(people, "person")
    places: dict[str, list[str]] = {}
    for turn in transcript.turns:
        if turn.speaker in people:
            places.setdefault(turn.speaker, []).append(turn.id)
        for entity in extract(_turn(turn)).entities:
            kinds.setdefault(entity.text, _KINDS.get(entity.kind, ""))
            places.setdefault(entity.text, []).append(turn.id)
    for name, turns in places.items():
        yield EntityEntry(name=name, kind=kinds[name], sources=tuple(dict.fromkeys(turns))[:5])
