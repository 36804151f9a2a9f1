"""Sentences of a transcript as the rules read them, and in the third person.

    Ana: "I just moved to Berlin with my sister!"
        ->  "Ana just moved to Berlin with their sister"
    Ana: "We should talk to your boss."
        ->  "Ana: We should talk to your boss"

Words of the speaker stay as they are; only the first person becomes the speaker's name, and no
gender is guessed. Where that would leave "we" or "you" without a referent, the sentence is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from doxa.base.dates import DateMention, find_dates
from doxa.base.words import terms
from doxa.consolidation.evidence import is_past
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.language.sentences import sentences

_ADVERB = (
    r"(?:just|also|really|always|never|still|finally|already|recently|actually|usually|often|only"
    r"|even|now|currently|definitely|mostly|mainly|then|almost|lately|not)"
)
_MODAL = frozenset("will would can could shall should may might must used ought did had".split())
_STATES = frozenset(
    "was were had felt thought knew loved wanted seemed liked needed hoped believed guessed"
    " wondered heard used looked sounded tried meant agreed decided".split()
)
_SUBJECT = re.compile(rf"\bI ((?:{_ADVERB} )*)([a-z]+)")
_FORMS = {"am": "is", "have": "has", "do": "does", "are": "is"}
_OWN = ((r"\bmyself\b", "themselves"), (r"\bmy\b", "their"), (r"\bmine\b", "theirs"))
_OPEN = re.compile(r"\b(?:we|us|our|ours|you|your|yours|me)\b", re.IGNORECASE)
_PAST_CLAUSE = re.compile(
    rf"(?:^|, |\band )(?P<subject>I|[Ww]e|(?:[Mm]y|[Oo]ur|[Tt]he) [a-z]+(?: [a-z]+)?"
    rf"|[A-Z]\w+(?: [A-Z]\w+)?)"
    rf" (?P<aux>(?:(?:have|has|{_ADVERB}) )*)(?P<verb>[a-z]+)\b"
)
_POINTS_BACK = re.compile(r"(?:it|this|that|these|those|he|she|they|there|here)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence of a turn: `text` as it was said, in plain form; `told` in the third person."""

    turn: SourceTurn
    number: int  # of the turn
    text: str
    told: str
    unasserted: str
    terms: frozenset[str]
    dates: tuple[DateMention, ...]

    @property
    def points_back(self) -> bool:
        """Whether its subject is in an earlier sentence."""
        return _POINTS_BACK.match(self.text) is not None


def read(transcript: Transcript) -> tuple[Utterance, ...]:
    """Return the sentences of a transcript in order."""
    return tuple(_read(transcript))


def _read(transcript: Transcript) -> Iterator[Utterance]:
    for number, turn in enumerate(transcript.turns):
        for sentence in sentences(turn.text):
            text = sentence.text
            for place, quote in enumerate(sentence.quotes):
                text = text.replace(f"Q{place}Q", f'"{quote}"')
            text = text.strip()
            yield Utterance(
                turn,
                number,
                text,
                tell(text, turn.speaker),
                sentence.unasserted,
                frozenset(terms(text)),
                find_dates(text, turn.time_ns),
            )


def tell(text: str, speaker: str) -> str:
    """Return a sentence of a speaker in the third person, else quoted."""
    text = text.rstrip(" .!…")
    if not re.search(r"\b(?:I|my|mine|myself)\b", text, re.IGNORECASE) and not _OPEN.search(text):
        return text[:1].upper() + text[1:]
    own = _SUBJECT.sub(lambda match: _third(match, speaker), text)
    opens_with_own = re.match(r"my\b", own, re.IGNORECASE)
    if opens_with_own:
        own = f"{speaker}'s{own[opens_with_own.end() :]}"
    for pattern, word in _OWN:
        own = re.sub(pattern, word, own)
    if _OPEN.search(own) or re.search(r"\bI\b", own) or speaker not in own:
        return f"{speaker}: {text}"
    return own[:1].upper() + own[1:]


def _third(match: re.Match[str], speaker: str) -> str:
    verb = match[2]
    if verb in _FORMS:
        verb = _FORMS[verb]
    elif not is_past(verb) and verb not in _MODAL:
        verb = _with_s(verb)
    return f"{speaker} {match[1]}{verb}"


def _with_s(verb: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


def happened(said: Utterance) -> bool:
    """Return whether a sentence says that something was done: a past action, or a dated state."""
    match = _PAST_CLAUSE.search(said.text)
    if match is None or not is_past(match["verb"]):
        return False
    perfect = "have" in match["aux"] or "has" in match["aux"]
    if match["verb"] in _STATES and not perfect:
        past = any(date.end_ns <= said.turn.time_ns + 86_400 * 10**9 for date in said.dates)
        return past and match["verb"] in ("was", "were", "had")
    return not re.search(r"\bnot\b|\bnever\b", match["aux"])
