"""What the turns that a claim names say: words, names, numbers, dates, denials, and whether they
assert anything.

    claim    "Ana moved to Berlin on 2 May 2023."         sources: one turn of Ana, 3 May 2023
    turn     "I moved to Berlin yesterday!"
    words    move, berlin: both are in the turn           coverage 1
    date     2023-05-02: "yesterday" of that turn         supported
    clause   "I moved to Berlin yesterday": asserted, not denied, said by Ana

A claim is compared with whole turns for its words, names and numbers, and with the clauses that
share most of its words for what a single clause decides: whether it is denied, asserted, and of
whom it speaks. Pure, no I/O; the rules are English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from doxa.base.dates import DateMention, find_dates
from doxa.base.limits import EXTRACT_CHARS_MAX
from doxa.base.words import STOP_WORDS, stem, terms
from doxa.consolidation.transcript import SourceTurn
from doxa.language.assertion import why_unasserted
from doxa.language.not_names import NOT_NAMES
from doxa.language.sentences import sentences

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_NUMBER = re.compile(r"(?<![\w.])[-$€£]?\d[\d,]*(?:\.\d+)?")
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-Þ][\w&+#]*(?:[.'’-]?\w+)*")
_OPENING = re.compile(r"(?:^|[.!?:;]\s+|[\"“]\s*|\n\s*)$")
_NUMBER_WORDS = dict(
    zip(
        "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen twenty".split(),
        (0, *range(2, 21)),
        strict=True,
    )
) | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
NUMBER_STEMS = frozenset(map(stem, _NUMBER_WORDS))
_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "dozen": 12, "twice": 2}
_IRREGULAR = frozenset(
    "was were had went did got saw met came took made gave told said ran bought found left felt"
    " spent began became brought built broke caught chose drew drank drove ate fell fought forgot"
    " forgave grew heard held hit hurt kept knew led learnt lent let lost meant paid put quit read"
    " rode rose sang sat sent set shot shut slept sold spoke stood stole stuck struck swam swore"
    " taught thought threw understood woke won wore wrote cut cost beat bet burst fed flew froze"
    " hid laid lay lit overcame rang shook shrank sank spread tore".split()
)
# What denies a clause, and what says that it holds no more. Both turn it round.
_DENIAL = re.compile(
    r"\b(?:not|never|no longer|nobody|no one|nothing|nowhere|none|neither|nor|cannot|without"
    r"|no(?= [a-z])|no more|refus\w+|declin\w+|den(?:y|ies|ied)|stop(?:s|ped|ping)?|quit(?:s|ting)?"
    r"|gave up|give up|giving up|against|any ?more|fail(?:s|ed)? to|unable|lack(?:s|ed)?"
    r"|instead of|rather than|former(?:ly)?|cancel\w*|avoid\w*)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:]\s+|\s+[–—-]\s+|\s+that\s+(?=(?:I|we|you|he|she|they)\b)"
    r"|\s+(?=(?:but|although|though|because|while|whereas|so that|which|and"
    r" (?:I|we|he|she|they|it|you|the|my))\b)",
    re.IGNORECASE,
)
_WHOLE = frozenset(("question", "hypothetical", "fiction", "joked", "quoted", "retracted"))
_FIRST = re.compile(r"\b(?:I|my|mine|me|myself|we|our|us|ours)\b")
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_AFFIRMS = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|right|exactly|correct|indeed|absolutely|definitely|of course"
    r"|certainly|true|that is right|that's right|ok|okay|will do|agreed)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TurnClause:
    """A clause of a turn. `unasserted` says in one word why it asserts nothing, or is empty."""

    terms: frozenset[str]
    denied: bool
    unasserted: str
    first_person: bool
    second_person: bool
    turn: str
    speaker: str


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What one turn says."""

    terms: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[float]
    dates: tuple[DateMention, ...]
    clauses: tuple[TurnClause, ...]


def affirms(turn: SourceTurn) -> bool:
    """Return whether a turn begins by agreeing."""
    return _AFFIRMS.match(turn.text.replace("’", "'")) is not None


def evidence_of(turn: SourceTurn) -> TurnEvidence:
    """Return what a turn says; of a long one, what its first characters do."""
    text = turn.text[:EXTRACT_CHARS_MAX].replace("’", "'")
    return TurnEvidence(
        frozenset(terms(text)),
        frozenset(words_in(text)),
        frozenset(numbers_in(text)),
        find_dates(text, turn.time_ns),
        tuple(_clauses(turn)),
    )


def _clauses(turn: SourceTurn) -> Iterator[TurnClause]:
    for sentence in sentences(turn.text[:EXTRACT_CHARS_MAX]):
        whole = sentence.unasserted if sentence.unasserted in _WHOLE else ""
        text = sentence.text
        for number, quote in enumerate(sentence.quotes):
            text = text.replace(f"Q{number}Q", quote)
        for part in _CLAUSE.split(text):
            if part and part.strip():
                yield TurnClause(
                    frozenset(terms(part)),
                    is_denied(part),
                    whole or why_unasserted(part.strip(" ,.!") + "."),
                    _FIRST.search(part) is not None,
                    _SECOND.search(part) is not None,
                    turn.id,
                    turn.speaker,
                )


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text, case-folded, without possessive endings."""
    for match in _WORD.finditer(text):
        word = match[0].casefold().replace("’", "'")
        yield word
        if "'" in word:
            yield word.partition("'")[0]


def numbers_in(text: str) -> Iterator[float]:
    """Yield the values of the numbers in a text; 5k is 5 and 5,000."""
    for match in _NUMBER.finditer(text):
        value = float(match[0].lstrip("-$€£").replace(",", "") or 0)
        yield value
        follows = text[match.end() : match.end() + 1].casefold()
        if follows in ("k", "m"):
            yield value * {"k": 1_000, "m": 1_000_000}[follows]
    for word in re.findall(r"[a-z]+", text.casefold()):
        if word in _NUMBER_WORDS:
            yield float(_NUMBER_WORDS[word])
        elif word in _ORDINALS:
            yield float(_ORDINALS[word])


def names_in(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the capitalised words of a text, and whether one opens a sentence: there its capital
    says nothing."""
    for match in _NAME.finditer(text):
        word = match[0].replace("’", "'").removesuffix("'s").strip(".'-")
        low = word.casefold()
        if len(word) < 2 or low in NOT_NAMES or low in STOP_WORDS or low.split("'")[0] == "i":
            continue
        yield word, _OPENING.search(text, 0, match.start()) is not None


def is_denied(text: str) -> bool:
    """Return whether a clause denies what it speaks of, or says that it holds no more."""
    return _DENIAL.search(text.replace("n't", " not")) is not None


def is_past(verb: str) -> bool:
    """Return whether a word is the past form of a verb, by its ending or by a list."""
    return verb in _IRREGULAR or (verb.endswith("ed") and len(verb) > 3 and verb != "need")


class Evidence:
    """What the turns that one claim names say together. `answered` are the turns of the transcript
    whose questions the next one affirms; `read` says what a turn says, and may remember it."""

    def __init__(
        self,
        turns: Iterable[SourceTurn],
        *,
        answered: frozenset[str],
        read: Callable[[SourceTurn], TurnEvidence] = evidence_of,
    ) -> None:
        self.turns = tuple(turns)
        self._read = tuple(map(read, self.turns))
        self.terms = frozenset().union(*(one.terms for one in self._read))
        self.words = frozenset().union(*(one.words for one in self._read))
        self.numbers = frozenset().union(*(one.numbers for one in self._read))
        self._answered = answered
        self.speakers = frozenset(turn.speaker for turn in self.turns)
        self.addresses_somebody = any(
            clause.second_person for one in self._read for clause in one.clauses
        )

    def dates(self) -> Iterator[DateMention]:
        for one in self._read:
            yield from one.dates

    def nearest(self, wanted: frozenset[str]) -> list[TurnClause]:
        """Return the clauses that share most of the wanted terms; none if no clause shares any."""
        scored = [
            (len(wanted & clause.terms), clause) for one in self._read for clause in one.clauses
        ]
        best = max((shared for shared, _ in scored), default=0)
        return [clause for shared, clause in scored if shared == best] if best else []

    def unasserted(self, clause: TurnClause) -> str:
        """Return why a clause asserts nothing; a question that was affirmed asserts."""
        if clause.unasserted == "question" and clause.turn in self._answered:
            return ""
        return clause.unasserted
