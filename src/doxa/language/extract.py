"""Extract names, dates and candidate facts from one turn by rules, without a language model.

    Turn(speaker="Ana", text="We moved from MySQL to PostgreSQL yesterday.", time 2026-03-03)
      entities    MySQL, PostgreSQL
      dates       "yesterday" = 2026-03-02 .. 2026-03-03, precision day
      candidates  decision  Ana | moved to | PostgreSQL, replaces MySQL, certainty 0.8,
                  rule moved-from-to, span of the sentence

Every subject and value is text of the turn, except that a deadline's value is the ISO form of a
date in it. The first person becomes the speaker's name. Uncertain sentences yield no candidate:
questions, hypotheticals, quoted speech and negations. The rules are English. Days are UTC days,
weeks start on Monday, and `end_ns` is exclusive.

Code and links are blanked, then sentences and dates are found. Each sentence is tried against the
rules in order, and the first match wins. All expressions are bounded or anchored at a clause, and
only the first `EXTRACT_CHARS_MAX` characters are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from doxa.base import limits
from doxa.base.calendar_names import (
    MONTH_ABBREVIATIONS,
    MONTHS,
    WEEKDAY_ABBREVIATIONS,
    WEEKDAYS,
)
from doxa.base.dates import DateMention, find_dates
from doxa.language.turns import Turn

EntityKind = Literal["name", "title", "technical", "handle", "host"]
CandidateKind = Literal["preference", "decision", "fact", "correction"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A name as written (apostrophes straight), with the span of its first occurrence."""

    text: str
    kind: EntityKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate fact. `quote` is text[start:end]; `replaces` is the former value, if the sentence
    names it."""

    kind: CandidateKind
    subject: str
    predicate: str
    value: str
    certainty: float
    rule: str
    start: int
    end: int
    quote: str
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    entities: tuple[Entity, ...]
    dates: tuple[DateMention, ...]
    candidates: tuple[Candidate, ...]
    truncated: bool = False


def extract(turn: Turn) -> Extraction:
    """Extract names, dates and candidates of one turn. Spans are character offsets in `turn.text`.
    Never raises."""
    # Straight apostrophes keep every span and halve the number of rules.
    text = turn.text[: limits.EXTRACT_CHARS_MAX].replace("’", "'")
    text, entities = _links(_blank(_FENCE, text) if "```" in text or "~~~" in text else text)
    entities += _names(text)
    dates = find_dates(text, turn.time_ns)
    candidates = _candidates(text, turn, dates=dates)
    return Extraction(
        _distinct(entities), dates, candidates, len(turn.text) > limits.EXTRACT_CHARS_MAX
    )


# -- Entities

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_URL = re.compile(r"(?:https?://|\bwww\.)[^\s<>\"')\]]{1,2000}")
_HOST = re.compile(
    r"(?:https?://)?(?:[^/?#@]{0,200}@)?([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,10})"
    r"(?![A-Za-z0-9-])"
)
_HANDLE = re.compile(r"(?<![\w@./])@[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_])){1,63}")
_TITLE = re.compile(r"[\"“]([A-Z0-9][^\"“”\n]{1,78}?)[,.!?]?[\"”]")
_UPPER = "A-ZÀ-ÖØ-Þ"
_WORD = re.compile(
    rf"[{_UPPER}](?:[\w&#+]|['-](?=\w)|\.(?=[a-z]{{2}}|[{_UPPER}](?:\.|\b))){{0,60}}"
)
_JOIN = re.compile(r" (?:(?:of|of the|de|van|von|der|di|du) )?")
_HONORIFICS = frozenset({"Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Mt"})
_TECHNICAL = re.compile(
    rf"[a-z]{{1,12}}[{_UPPER}]|[{_UPPER}][a-z]+[{_UPPER}]|[{_UPPER}]{{2,}}[a-z]|[A-Za-z]+[-.]?\d"
    r"|[A-Z][a-z]*[+#]|[A-Z][a-z]+\.[a-z]"
)
_CALENDAR = frozenset(
    name.capitalize()
    for name in (
        *MONTHS,
        *MONTH_ABBREVIATIONS,
        *WEEKDAYS,
        *WEEKDAY_ABBREVIATIONS,
        *(f"{name}s" for name in WEEKDAYS),
    )
)
# Words that are not names by themselves and are cut from both ends of a longer run, mostly sentence
# openers in conversations.
_COMMON = frozenset(
    "a about absolutely actually after again agreed ah aha all almost also although always am"
    " amazing an and another any anyone anything anyway apparently appreciate are as at aw awesome"
    " aww basically be beautiful because been before being best better big both bro btw but by bye"
    " call can cannot check cheers clearly come congrats congratulations cool could currently dad"
    " damn dear definitely despite did do does doing done dude during each either else enjoy even"
    " eventually ever every everyone everything exactly excellent fair fantastic fascinating feel"
    " finally fine first follow for from fun fyi get getting girl give glad go god good got gotcha"
    " great guess guys had haha happy hard has have having he heck hello help her here hey hi him"
    " his hm hmm hold honestly hope hopefully how however huge i if imagine impressive in"
    " incredible indeed inspiring instead interesting into is it its jeez just keep know last"
    " lately later let like little lol look looking looks lots love lovely lucky make man many may"
    " maybe me might mine mom more most mostly mum much must my nah nearly need neither never next"
    " nice no nobody none nope normally not note nothing now obviously of off oh ok okay omg on"
    " once one only or other others otherwise ouch our out over perfect perhaps personally phew pic"
    " please plus pretty probably put quite read ready really recently remember right sadly same"
    " say see seeing seems seriously several shall she should similarly since sir so some somebody"
    " someone something sometimes soon sorry sounds speaking still stay stop such super sure sweet"
    " take talk tbh tell thank thanks that the their them then there therefore these they thing"
    " things think this those though thought through thus til till to today together tomorrow"
    " tonight too totally true truly try trying two ugh um unfortunately unless until up upon us"
    " use used usually very via wait wanna want was way we well were what whatever when whenever"
    " where whether which while who whoa whole whose why will wish with without woah wonderful woo"
    " woohoo yikes yay hooray kudos bravo phew welcome wow would wow ya yay yea yeah yep yes"
    " yesterday yet you your yours yup am pm tv ps asap aka faq diy ceo idk imo imho lmao rofl dm"
    " pls plz thx np nvm todo done fixed added updated error warning info debug true false null"
    " none".split()
)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Blank each match and keep the length, so that spans stay valid."""
    return pattern.sub(lambda match: "\n" * len(match[0]), text)


def _links(text: str) -> tuple[str, list[Entity]]:
    entities: list[Entity] = []
    if "://" in text or "www." in text:
        for match in _URL.finditer(text):
            host = _HOST.match(match[0])
            if host:
                start = match.start() + host.start(1)
                entities.append(Entity(host[1].lower(), "host", start, start + len(host[1])))
        text = _URL.sub(lambda match: " " * len(match[0]), text)
    if "@" in text:
        entities += (
            Entity(match[0], "handle", match.start(), match.end())
            for match in _HANDLE.finditer(text)
        )
    if '"' in text or "“" in text:
        entities += (
            Entity(match[1], "title", match.start(1), match.end(1))
            for match in _TITLE.finditer(text)
            if _is_title(match[1])
        )
    return text, entities


def _is_title(text: str) -> bool:
    """Return whether most longer words are capitalised, as in a title and unlike quoted speech."""
    words = [word for word in text.split() if len(word) > 3 or word[0].isupper()]
    return (
        1 <= len(words) <= 12
        and all(word[0].isupper() or word[0].isdigit() for word in words)
        and words[0].lower() not in _COMMON
    )


def _names(text: str) -> list[Entity]:
    """Find runs of capitalised words. A run at the start of a sentence counts if it looks
    technical, has several words, or also occurs inside a sentence."""
    entities: list[Entity] = []
    doubtful: list[Entity] = []
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while start > 0 and text[start - 1].isalnum() and match.start() - start < 12:
            start -= 1
        if run and (start < run[-1][1] or _joins(text, run, start=start)):
            if start >= run[-1][1]:
                run.append((start, end))
            continue
        _close(text, run, sure=entities, doubtful=doubtful)
        run = [(start, end)]
    _close(text, run, sure=entities, doubtful=doubtful)
    if doubtful:
        known = {entity.text for entity in entities}
        entities += (entity for entity in doubtful if entity.text in known)
    return entities


def _joins(text: str, run: list[tuple[int, int]], *, start: int) -> bool:
    end = run[-1][1]
    if text[end : end + 2] == ". " and text[run[-1][0] : end] in _HONORIFICS:
        return start == end + 2
    return start - end <= 8 and _JOIN.fullmatch(text, end, start) is not None


def _close(
    text: str, run: list[tuple[int, int]], *, sure: list[Entity], doubtful: list[Entity]
) -> None:
    words = [(start, end, text[start:end]) for start, end in run]
    if len(words) > 2 and all(word.isupper() for _, _, word in words):
        return
    opens = bool(words) and _opens_sentence(text, words[0][0])
    while words and _is_common(words[0][2]):
        words.pop(0)
        # "Hey Caroline": the word after an opener is not capitalised by its position.
        opens = False
    while words and _is_common(words[-1][2]):
        words.pop()
    if not words or len(words) > limits.ENTITY_WORDS_MAX or words[-1][2] in _HONORIFICS:
        return
    start, end, last = words[0][0], words[-1][1], words[-1][2]
    if last.endswith("'s"):
        end -= 2
    name = text[start:end]
    technical = len(words) == 1 and _TECHNICAL.match(name) is not None
    if (
        len(name) < 2
        or not name[0].isalpha()
        or ("'" in name and name.partition("'")[0].lower() in _COMMON)
    ):
        return
    entity = Entity(name, "technical" if technical else "name", start, end)
    (
        doubtful if opens and len(words) == 1 and not technical and not name.isupper() else sure
    ).append(entity)


def _is_common(word: str) -> bool:
    base = word.partition("'")[0]
    return base.lower() in _COMMON or base in _CALENDAR or (len(base) == 1 and word != base + "#")


def _opens_sentence(text: str, start: int) -> bool:
    position = start - 1
    while position >= 0 and text[position] in " \t":
        position -= 1
    return position < 0 or not (text[position].isalnum() or text[position] in ",)&-/'%@")


def _distinct(entities: list[Entity]) -> tuple[Entity, ...]:
    first: dict[str, Entity] = {}
    for entity in sorted(entities, key=lambda one: one.start):
        first.setdefault(entity.text, entity)
        if len(first) >= limits.ENTITIES_PER_TURN_MAX:
            break
    return tuple(first.values())


# -- Candidates

_BOUNDARY = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bvs)(?<!\be\.g)"
    r"(?<!\bi\.e)[.!?…]+[\"'”’)\]]{0,3}(?=\s"
    r"|$)|\n+"
)
_CLAUSE = re.compile(
    r";\s+|,?\s(?:and|but|so|because)\s(?=(?:I|we|my|our|I'm|we're)\b)", re.IGNORECASE
)
_UNREAL = re.compile(
    r"\b(?:if|would|might|maybe|perhaps|could|should|unless|wish|suppose|supposing|imagine"
    r"|hypothetically|probably|possibly|potentially|guess|wonder|wondering|whether|seems?|seemed"
    r"|hope|hoping|hopefully|pretend|considering|thinking|think|thought|almost|nearly|said|says"
    r"|told|tells|asked|asks|according|claims?|claimed|heard|wrote|joking|kidding|as though"
    r"|once upon)\b|'d\b|[\"“”«»]|^\s*>",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|none|nor|without|hardly|neither|cannot|nothing|nobody)\b|n't\b",
    re.IGNORECASE,
)
_OPENER = (
    r"(?:(?:ok|okay|so|well|also|and|but|yes|yeah|yep|oh|wow|honestly|personally|btw|fyi|update"
    r"|note|now|thanks|thank you|sure|great|done|actually|correction|right|it is done|it's done"
    r"|by the way|for the record|as of (?:now|today))(?:,\s*|:\s*|\s+)){0,3}"
)
_ADVERB = (
    r"(?:(?:really|absolutely|just|still|also|always|truly|definitely|generally|usually|much"
    r"|strongly|totally|now|finally|recently|both|all) ){0,2}"
)
_NOUN = r"[^\W\d_][\w'/.+#-]{0,30}(?: [\w'/.+#-]{1,30}){0,3}?"
_VALUE = r"(?P<value>\S.{0,200})"
_OWNER = r"(?:(?P<mine>my|our)|the) "


@dataclass(frozen=True, slots=True)
class _ExtractionRule:
    """A sentence pattern. Its named groups are value and optionally old, subject, predicate, mine;
    `predicate` may refer to groups in braces."""

    name: str
    kind: CandidateKind
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    predicate: str
    certainty: float
    check: Literal["any", "object", "concrete", "place", "date", "choice"] = "any"
    negated: bool = False


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(_OPENER + pattern, re.IGNORECASE)


_IS = r"(?:is|are)"
_RULES: tuple[_ExtractionRule, ...] = (
    _ExtractionRule(
        "actually-not",
        "correction",
        (" not ",),
        _form(
            r"(?:actually|no|correction|sorry)[,:]? +(?:it|that|(?:(?P<mine>my|our)|the)"
            rf" (?P<subject>{_NOUN}))(?: (?:is|was|are)|'s)"
            rf" (?P<value>[^,;]{{1,80}}),? (?:and )?not (?P<old>[^,;]{{1,80}})"
        ),
        "is",
        0.8,
        negated=True,
    ),
    _ExtractionRule(
        "no-longer-does",
        "correction",
        ("no longer",),
        _form(
            r"(?:(?P<mine>my|our) |the )?(?P<subject>(?!(?:i|we|it|that|this|they|he|she|you"
            rf"|there)\b){_NOUN}) no longer (?P<predicate>works at|works for|lives in|runs on|uses"
            rf"|depends on|supports) {_VALUE}"
        ),
        "no longer {predicate}",
        0.75,
        negated=True,
    ),
    _ExtractionRule(
        "no-longer-is",
        "correction",
        ("no longer",),
        _form(
            r"(?:(?P<mine>my|our) |the )?(?P<subject>(?!(?:i|we|it|that|this|they|he|she|you"
            rf"|there)\b){_NOUN}) (?P<predicate>is|are|runs on|lives in|works at|uses"
            rf"|depends on)? ?no longer {_VALUE}"
        ),
        "no longer {predicate}",
        0.75,
        negated=True,
    ),
    _ExtractionRule(
        "no-longer-do",
        "correction",
        ("no longer",),
        _form(
            r"(?:I|we)(?: am| are|'m|'re)? no longer (?P<predicate>use|using|work at|work for"
            rf"|work with|live in|like|want|need|support|have|own|drink|eat|play) {_VALUE}"
        ),
        "no longer {predicate}",
        0.8,
        negated=True,
    ),
    _ExtractionRule(
        "instead-of",
        "correction",
        (" instead of ",),
        _form(
            r"(?:I|we|let's)(?: are|'re|'ll| will| now)? (?:now )?(?P<predicate>use|using|prefer"
            r"|chose|picked|run|running|take|drink|eat|deploy to"
            r"|deploying to) (?P<value>[^,;]{1,80}?) instead of (?P<old>[^,;]{1,80})"
        ),
        "{predicate}",
        0.75,
    ),
    _ExtractionRule(
        "favourite",
        "preference",
        ("favo",),
        _form(rf"my (?:all[- ]time )?(?P<predicate>favou?rite {_NOUN}) {_IS} {_VALUE}"),
        "{predicate}",
        0.9,
        "object",
    ),
    _ExtractionRule(
        "prefers",
        "preference",
        ("prefer", "love", "like", "hate", "enjoy", "adore"),
        _form(rf"I {_ADVERB}(?P<predicate>prefer|love|like|hate|enjoy|dislike|adore) {_VALUE}"),
        "{predicate}",
        0.8,
        "object",
    ),
    _ExtractionRule(
        "moved-from-to",
        "decision",
        (" from ",),
        _form(
            rf"(?:I|we)(?:'ve| have)? {_ADVERB}(?P<predicate>moved|switched|migrated"
            rf"|changed) (?:[\w ]{{1,40}} )?from (?P<old>[^,;]{{1,60}}?) to {_VALUE}"
        ),
        "{predicate} to",
        0.8,
        "object",
    ),
    _ExtractionRule(
        "switched-to",
        "decision",
        ("switched to", "migrated to", "moved to"),
        _form(
            rf"(?:I|we)(?:'ve| have)? {_ADVERB}(?P<predicate>switched to|migrated to|moved to)"
            rf" {_VALUE}"
        ),
        "{predicate}",
        0.75,
        "object",
    ),
    _ExtractionRule(
        "decided",
        "decision",
        ("decided", "agreed", "chose", "going with", "went with", "settled on"),
        _form(
            rf"(?:I|we)(?:'ve| have| are|'re)? {_ADVERB}(?P<predicate>decided to|decided on"
            rf"|agreed to|agreed on|chose|are going with|going with|went with|settled on) {_VALUE}"
        ),
        "{predicate}",
        0.85,
        "object",
    ),
    _ExtractionRule(
        "will",
        "decision",
        ("will", "'ll", "let's"),
        _form(
            rf"(?:we(?: will|'ll)|let's) {_ADVERB}(?P<predicate>use|switch to|move to|adopt"
            r"|go with|ship|release|launch|deploy to|migrate to|replace|drop"
            rf"|standardi[sz]e on) {_VALUE}"
        ),
        "will {predicate}",
        0.7,
        "choice",
    ),
    _ExtractionRule(
        "deadline",
        "fact",
        ("deadline", "due date"),
        _form(
            rf"{_OWNER}(?P<subject>(?:{_NOUN} )?(?:deadline|due date)(?: for (?:the |my "
            rf"|our )?{_NOUN})?) (?:is|was moved to|has moved to|moved to|is set for"
            rf"|remains)(?: now)?(?: on| by)? {_VALUE}"
        ),
        "is",
        0.85,
        "date",
    ),
    _ExtractionRule(
        "lives",
        "fact",
        ("i live", "i work", "we live"),
        _form(rf"(?:I|we) {_ADVERB}(?P<predicate>live in|work at|work for) {_VALUE}"),
        "{predicate}",
        0.85,
        "place",
    ),
    _ExtractionRule(
        "runs-on",
        "fact",
        ("runs ", "lives ", "hosted ", "depends ", "written in", "works ", "based in", "listens "),
        _form(
            r"(?:(?P<mine>my|our) |the )?(?P<subject>(?!(?:i|we|it|that|this|they|he|she|you"
            rf"|there|what|who|which)\b){_NOUN}) (?:now )?(?P<predicate>runs on|runs in|lives in"
            r"|is hosted on|is hosted at|depends on|is written in|works at|works for|is based in"
            rf"|listens on) {_VALUE}"
        ),
        "{predicate}",
        0.75,
        "place",
    ),
    _ExtractionRule(
        "is-of",
        "fact",
        (" of ", " for "),
        _form(
            rf"the (?P<predicate>{_NOUN}) (?:of|for) (?:the |my |our )?(?P<subject>{_NOUN})"
            rf" {_IS}(?: now)? {_VALUE}"
        ),
        "{predicate}",
        0.75,
        "concrete",
    ),
    _ExtractionRule(
        "is-not",
        "fact",
        (" not ", "n't"),
        _form(rf"{_OWNER}(?P<subject>{_NOUN}) (?P<predicate>{_IS})(?: not|n't) {_VALUE}"),
        "not {predicate}",
        0.6,
        "concrete",
        True,
    ),
    _ExtractionRule(
        "mine-is",
        "fact",
        ("my ", "our "),
        _form(rf"(?:my|our) (?P<predicate>{_NOUN}) {_IS}(?: now)? {_VALUE}"),
        "{predicate}",
        0.75,
        "concrete",
    ),
    _ExtractionRule(
        "the-is",
        "fact",
        ("the ",),
        _form(rf"the (?P<subject>{_NOUN}) (?P<predicate>{_IS})(?: now)? {_VALUE}"),
        "{predicate}",
        0.65,
        "concrete",
    ),
)

_TAIL = re.compile(
    r"[,;:()–—]|\s-\s|\s(?:because|since|when|while|but|so|and I|and we|which|who|that|as|after"
    r"|before|until|where|though|although|even|too|anyway|please|for now|now|again|here|there"
    r"|these days|right now|lately|recently|instead)(?=[\s.!]|$)",
    re.IGNORECASE,
)
_VAGUE_WORD = re.compile(
    r"\b(?:it|this|that|these|those|you|your|yours|you're|them|him|her|here|there|something"
    r"|anything|everything|stuff|things?|one|ones|way|idea)\b",
    re.IGNORECASE,
)
_VAGUE_START = re.compile(
    r"(?:how|what|when|why|who|where|to (?:see|hear|say|think|know|admit|tell|ask|be)|being|(?:the"
    r"|a|an) (?:best|worst|reason|same|bit|lot|few|great|good|nice|huge|big|real|key|only|most"
    r"|first|next|last|whole|whole lot|fact|feeling|vibe|vibes|sound|look|point|problem|thought"
    r"|blast|mess|must|part)\b|so\b|very\b|really\b|too\b|just\b|all\b|always\b|also\b|still\b"
    r"|quite\b|pretty\b|such\b|like\b|about\b|my everything|more\b|less\b)",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"(?:name|birthday|email|e-mail|phone|number|address|job|role|version|age|height|timezone"
    r"|time zone|language|editor|color|colour|deadline|budget|port|username|handle|city|country"
    r"|database|branch|host|hostname|url|repo|repository|framework|nationality|owner|manager"
    r"|capital)s?$",
    re.IGNORECASE,
)
_EMPTY = frozenset(
    {
        "to",
        "the",
        "an",
        "on",
        "in",
        "at",
        "by",
        "of",
        "so",
        "too",
        "more",
        "most",
        "both",
        "all",
        "yes",
        "no",
        "not",
    }
)
_FILLER = frozenset(
    "thing point problem truth fact question issue best worst idea plan goal rest key trick thought"
    " way other one same only first last next".split()
)


def _candidates(text: str, turn: Turn, *, dates: tuple[DateMention, ...]) -> tuple[Candidate, ...]:
    candidates: list[Candidate] = []
    for start, end in _sentences(text):
        lowered = text[start:end].lower()
        rules = [rule for rule in _RULES if any(hint in lowered for hint in rule.hints)]
        if (
            not rules
            or text[end - 1] == "?"
            or "?" in text[end - 3 : end]
            or _UNREAL.search(text, start, end)
        ):
            continue
        negated = _NEGATED.search(text, start, end) is not None
        for clause_start, clause_end in _clauses(text, start=start, end=end):
            candidate = _first_match(
                text,
                (clause_start, clause_end),
                rules=rules,
                negated=negated,
                speaker=turn.speaker,
                dates=dates,
            )
            if candidate is not None:
                fields = (candidate.subject, candidate.predicate, candidate.value)
                candidates.append(
                    Candidate(
                        candidate.kind,
                        *fields,
                        candidate.certainty,
                        candidate.rule,
                        start,
                        end,
                        turn.text[start:end],
                        candidate.replaces,
                    )
                )
        if len(candidates) >= limits.CANDIDATES_PER_TURN_MAX:
            break
    return tuple(candidates[: limits.CANDIDATES_PER_TURN_MAX])


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences with their end marks, without surrounding whitespace."""
    position = 0
    for match in _BOUNDARY.finditer(text):
        yield from _trimmed(text, start=position, end=match.end())
        position = match.end()
    yield from _trimmed(text, start=position, end=len(text))


def _trimmed(text: str, *, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start] in " \t\r\n-*•#":
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        yield start, end


def _clauses(text: str, *, start: int, end: int) -> Iterator[tuple[int, int]]:
    position = start
    for match in _CLAUSE.finditer(text, start, end):
        yield position, match.start()
        position = match.end()
    yield position, end


@dataclass(frozen=True, slots=True)
class _RuleMatch:
    kind: CandidateKind
    subject: str
    predicate: str
    value: str
    certainty: float
    rule: str
    replaces: str


def _first_match(
    text: str,
    span: tuple[int, int],
    *,
    rules: list[_ExtractionRule],
    negated: bool,
    speaker: str,
    dates: tuple[DateMention, ...],
) -> _RuleMatch | None:
    for rule in rules:
        if rule.negated != negated and (negated or rule.name != "actually-not"):
            continue
        match = rule.pattern.match(text, *span)
        if match is None:
            continue
        groups = {name: found for name, found in match.groupdict().items() if found is not None}
        value = _value(text, (match.start("value"), match.end("value")), rule=rule, dates=dates)
        predicate = rule.predicate.format_map({"predicate": "", **groups}).lower().strip()
        subject = groups.get("subject", "")
        if not value or not _acceptable(rule, subject or groups.get("predicate", ""), value=value):
            return None
        if rule.name == "actually-not" and not subject:
            subject = "it"
        return _RuleMatch(
            rule.kind,
            " ".join(subject.split()) or speaker,
            " ".join(predicate.split()),
            value,
            rule.certainty,
            rule.name,
            _plain(groups.get("old", "")),
        )
    return None


def _plain(value: str) -> str:
    return " ".join(value.split()).strip(" .!…'*_`")


def _value(
    text: str, span: tuple[int, int], *, rule: _ExtractionRule, dates: tuple[DateMention, ...]
) -> str:
    """Return the value without what trails it: a subordinate clause, or a date that says when."""
    start, end = span
    if rule.check == "date":
        return next((date.iso for date in dates if date.start == start), "")
    for date in dates:
        if start < date.start < end:
            end = date.start
    tail = _TAIL.search(text, start, end)
    value = re.sub(
        r"\s+(?:on|in|at|since|by|from|until|about|around|the|just|back)$",
        "",
        _plain(text[start : tail.start() if tail else end]),
    )
    return value if len(value) <= limits.CANDIDATE_VALUE_CHARS_MAX else ""


def _acceptable(rule: _ExtractionRule, about: str, *, value: str) -> bool:
    if rule.check == "date":
        return True
    if (
        _VAGUE_WORD.search(value)
        or _VAGUE_START.match(value)
        or len(value) < 2
        or value.lower() in _EMPTY
    ):
        return False
    if rule.check == "choice":
        return len(value.split()) <= 6
    if rule.check == "place":
        return len(value.split()) <= 6 and (
            value[0].isupper() or any(map(str.isdigit, value)) or rule.name == "runs-on"
        )
    if rule.check == "concrete":
        words = about.lower().split()
        if (
            _VAGUE_WORD.search(about)
            or words[0] in _FILLER
            or words[-1] in _FILLER
            or len(value.split()) > 8
        ):
            return False
        return (
            value[0].isupper()
            or any(map(str.isdigit, value))
            or _ATTRIBUTE.search(about) is not None
        )
    return True
