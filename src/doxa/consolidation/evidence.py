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
from doxa.language.assertion import modes
from doxa.language.not_names import NOT_NAMES
from doxa.language.sentences import sentences

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_NUMBER = re.compile(r"(?<![\w.])[-$€£]?\d[\d,]*(?:\.\d+)?")
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-Þ][\w&+#]*(?:[.'’-]\w+)*")
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
_DENIES = (
    r"(?:refus\w+|declin\w+|den(?:y|ies|ied)|stop(?:s|ped|ping)?|quit(?:s|ting)?"
    r"|g(?:ave|ives?|iven|iving) up|against|fail(?:s|ed)? to|unable|lack(?:s|ed)?|cancel\w*"
    r"|avoid\w*)"
)
_DENIAL = re.compile(
    r"\b(?:not|never|no longer|nobody|no one|nothing|nowhere|none|neither|nor|cannot|without"
    rf"|no(?= [a-z])|no more|any ?more|instead of|rather than|former(?:ly)?|{_DENIES})\b",
    re.IGNORECASE,
)
# What denies a denial leaves nothing denied: "won't give up", "never stopped". "Not only" denies
# nothing.
_DENIED_TWICE = re.compile(
    rf"\b(?:not|never|cannot|no longer)(?: \w+)? {_DENIES}\b|\bnot (?:just|only|merely|simply)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:]\s+|\s+[–—-]\s+|\s+that\s+(?=(?:I|we|you|he|she|they)\b)"
    r"|\s+(?=(?:but|although|though|because|while|whereas|so that|which|and"
    r" (?:I|we|he|she|they|it|you|the|my|am|is|are|was|were|has|have|had|will|would|can|could|do"
    r"|does|did|should|must|never|not))\b)",
    re.IGNORECASE,
)
_WHOLE = frozenset(("question", "hypothetical", "fiction", "joked", "quoted", "retracted"))
# A part that a conjunction or a relative pronoun begins asks nothing by it.
_JOINED = re.compile(r"(?:which|who|and|but|because|although|though|while|whereas|so that)\s+")
# Without a question mark an auxiliary asks if its subject follows: "Have been there" does not.
_NO_SUBJECT = re.compile(
    r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|will|would)(?:n't| not)? "
    r"(?:been|be|had|got|gotten|done|seen|gone|not|never|always|also|just|already|only|sleep|feel"
    r"|have|go|get|see|know|make|take|like|want|need|work|think)\b(?!.*\?)",
    re.IGNORECASE,
)
_WISHES = re.compile(r"(?:\bwould|(?<=\w)'d) (?:really )?(?:like|love|prefer) to\b", re.IGNORECASE)
# Who managed to do a thing, or had to, did it.
_IMPLIES = re.compile(
    r"\b(?:had to|got to|managed to|(?:was|were) able to"
    r"|had (?:the|a) (?:chance|opportunity) to)\b",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"\W*(?:let us|let's|shall we|wanna|want to|would you like|do you want to|how about|why not"
    r"|we (?:could|should))\b",
    re.IGNORECASE,
)
# What is asked of the one who is addressed.
_DIRECTS = re.compile(
    r"\b(?:can|could|will|would) you\b|\byou (?:should|must|need to|have to|could)\b|\bplease\b",
    re.IGNORECASE,
)
_COUNT = r"(?P<count>an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3})"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_LASTING = (
    re.compile(rf"(?:\b(?:have|has|been)|'ve|'s)\b[^.!?]{{0,60}}?\bfor {_COUNT} {_UNIT}", re.I),
    re.compile(rf"\b{_COUNT} {_UNIT} (?:already|now)\b", re.I),
)
_FIRST = re.compile(r"\b(?:I|my|mine|me|myself|we|our|us|ours)\b")
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_AFFIRMS = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|right|exactly|correct|indeed|absolutely|definitely|of course"
    r"|certainly|true|that is right|that's right|ok|okay|will do|agreed|deal|great idea|good idea"
    r"|sounds (?:good|great|fun|perfect|lovely|like a plan)|(?:i'd|i would) love to|works for me"
    r"|let's do it)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TurnClause:
    """A clause of a turn. `modes` say in one word each why it asserts nothing; `proposes` to do
    something together, `directs` the one who is addressed."""

    terms: frozenset[str]
    denied: bool
    modes: frozenset[str]
    proposes: bool
    directs: bool
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
        (*find_dates(text, turn.time_ns), *_beginnings(text, turn.time_ns)),
        tuple(_clauses(turn)),
    )


def _beginnings(text: str, time_ns: int) -> Iterator[DateMention]:
    """Yield when what lasts began: "I have known them for 4 years", "five years already"."""
    for pattern in _LASTING:
        for match in pattern.finditer(text):
            yield from find_dates(f"{match['count']} {match['unit']}s ago", time_ns)


def _clauses(turn: SourceTurn) -> Iterator[TurnClause]:
    for sentence in sentences(turn.text[:EXTRACT_CHARS_MAX]):
        text, reason = sentence.text, sentence.unasserted
        is_read = reason in ("question", "hypothetical") and reason not in modes_of(text)
        whole = frozenset((reason,)) if reason in _WHOLE and not is_read else frozenset[str]()
        for number, quote in enumerate(sentence.quotes):
            text = text.replace(f"Q{number}Q", quote)
        for part in _CLAUSE.split(text):
            if part and part.strip():
                yield TurnClause(
                    frozenset(terms(part)),
                    is_denied(part),
                    whole or modes_of(part.strip(" ,.!") + "."),
                    _PROPOSES.match(part) is not None,
                    _directs(part),
                    _FIRST.search(part) is not None,
                    _SECOND.search(part) is not None,
                    turn.id,
                    turn.speaker,
                )


def modes_of(text: str) -> frozenset[str]:
    """Return why a clause asserts nothing. A wish is a plan and no supposition; a part that is
    joined to another asks nothing by the word that joins it."""
    plain = _WISHES.sub("want to", _JOINED.sub("", text.lstrip(), count=1))
    plain = _IMPLIES.sub("did", plain)
    found = modes(plain)
    return found - {"question"} if _NO_SUBJECT.match(plain) else found


def _directs(clause: str) -> bool:
    if _PROPOSES.match(clause):
        return False
    return _DIRECTS.search(clause) is not None or "command" in modes(clause.strip(" ,.!") + ".")


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
    plain = re.sub(r"\bca(?=n't)|\bwo(?=n't)", "will", text, flags=re.I).replace("n't", " not")
    return _DENIAL.search(_DENIED_TWICE.sub(" ", plain)) is not None


def is_past(verb: str) -> bool:
    """Return whether a word is the past form of a verb, by its ending or by a list."""
    return verb in _IRREGULAR or (verb.endswith("ed") and len(verb) > 3 and verb != "need")


class ClaimEvidence:
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
            clause.second_person or clause.directs or clause.proposes
            for one in self._read
            for clause in one.clauses
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

    def modes(self, clause: TurnClause) -> frozenset[str]:
        """Return why a clause asserts nothing; a question that was affirmed asserts, and a proposal
        that was is a plan."""
        if clause.turn in self._answered:
            if clause.proposes:
                return clause.modes - {"question", "command"} | {"planned"}
            return clause.modes - {"question"}
        return clause.modes
