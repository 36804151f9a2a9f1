"""Read plain English sentences as claims: a subject key, a predicate, a value, and whether the
sentence asserts it.

    "The API port is now 9090, not 8080"  ->  key {api}, predicate port, value 9090,
                                              gives up 8080, a change
    "The report is due on 3 May 2026"     ->  key {report}, predicate deadline, a date
    "Aiko left Sony"                      ->  key {aiko}, predicate work, value Sony, negative, ends
    "I might move to Munich"              ->  a claim that is not asserted: it is only possible

A key is the set of words of the subject, without articles and without the noun that the predicate
stands for, so "the deadline of the report" and "the report is due" have the same key. Prepositions
such as to, from and before are part of it: the flight to Lisbon is not the flight from Lisbon. The
rules are English; a sentence that they cannot read yields no claim. Text is data: a sentence that
reads like an instruction is only parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from doxa.base.limits import CLAIMS_PER_TEXT_ITEMS_MAX, STATEMENT_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import stem
from doxa.language.clause_parser import SETTERS, ClauseParts, by_unknown_verb, by_verb, parse_clause
from doxa.language.dated import without_date
from doxa.language.long_ago import NEWS_NS, is_long_ago
from doxa.language.phrases import cut_relative, why_incomplete
from doxa.language.predicates import ANY, BY_NAME, PRODUCTS, SPELLINGS, VERBS
from doxa.language.sentences import says_besides, sentences, without_times
from doxa.language.spelling import corrected
from doxa.language.stated_values import NOTHING, StatedValue, read_value, words_of
from doxa.language.subjects import key_of, parse_subject
from doxa.language.verbs import BASE_FORMS, FINITE, POSSESSIVE, PRONOUN, find_verb, match_verb


@dataclass(frozen=True, slots=True)
class Claim:
    """What one clause states.

    positive    False for a denial or an end
    ends        the value no longer holds ("left", "no longer")
    change      the clause reports a change ("now", "moved to")
    past        the clause is in the past tense and says nothing about now
    given_up    the value that it says no longer holds
    scope       words that limit it ("for orders")
    unasserted  why nothing is asserted, or empty
    property    the subject has one such value at a time (a port, a favourite tea)
    settled     the head noun of the subject alone decides `property`
    besides     the value holds in addition to others ("also")
    unnamed     the subject is a pronoun without an antecedent
    proper      the subject is a proper name
    known       the table lists the predicate; if not, it is open how many values the subject has
    history     a change of long ago (dated.py): past, and it stays true whatever holds now
    """

    subject: str
    key: frozenset[str]
    predicate: str
    value: StatedValue
    positive: bool = True
    ends: bool = False
    change: bool = False
    past: bool = False
    given_up: StatedValue = NOTHING
    scope: frozenset[str] = frozenset()
    unasserted: str = ""
    property: bool = False
    settled: bool = False
    besides: bool = False
    unnamed: bool = False
    proper: bool = False
    known: bool = True
    history: bool = False


_TAIL = lazy_re(
    r",? (?:because|since|although|though|while|whereas|which|who|so that|starting|effective"
    r"|as (?=an? |of |the )|after (?=all)|due to the|thanks to|where|when)\b.*$",
)
_CLAUSE_END = lazy_re(
    r",? (?:and|but|while)(?: also)? (?=\S+ )"
    r"|[,:] (?=(?:the|my|our|his|her|its|their|he|she|it|they|I|we) )"
)
_NEW_THING = lazy_re(
    r"(?P<article>[Tt]he |[Oo]ur |[Mm]y )?[Nn]ew (?P<what>[\w' -]{2,60}?)"
    r"(?::| is| =| ->) (?P<value>\S.*)"
)
_MAKE = lazy_re(
    r"[Mm]ake (?P<what>(?:the|our|my) [a-z][\w' -]{1,60}?) (?P<value>[$€£]?\d[^ ]*(?: [\w%]+)?)"
)
_NOW = lazy_re(r"(?P<what>[\w'.-]+(?: [\w'.-]+){0,4}?) now (?P<value>[\dA-Z$€£].*)")
_SPEAKING = lazy_re(r"(?:I|[Ww]e|[Yy]ou)\b|.*\b(?:I|me|us)$")
_ENDED_UP = lazy_re(r"\bended up (\w+ing)\b")
_CLIPPED_SETTING = lazy_re(
    rf"(?:{SETTERS}) (?:the|our|my|[a-z]+) .*?(?:to|until) \S", re.IGNORECASE
)
_LIKE_COMMANDS = ("set ", "cut ", "put ")  # the past tense is the base form
_GOT = lazy_re(r"\bgot(?= (?:married|divorced|engaged|separated|widowed|pregnant)$)")
_PAST = {stem(verb): verb for verb in SETTERS.split("|") if " " not in verb}
_NEW_OWNED = lazy_re(r"(?P<of>\b(?:my|our|his|her|its|their)|'s|\bthe(?= new \w+ of )) new ", re.I)
_MEASURES = {
    "long": "length",
    "wide": "width",
    "tall": "height",
    "high": "height",
    "deep": "depth",
    "thick": "thickness",
    "heavy": "weight",
    "old": "age",
}
_MEASURE_STEMS = {
    stem(word): SPELLINGS.get(stem(name), stem(name)) for word, name in _MEASURES.items()
}
_DEFINITE = lazy_re(r"(?:the|our|my) [a-z]|[A-Z]\w*'s [a-z]", re.I)
_PLAIN_PREDICATES = frozenset(
    ("is", "are", "=", "==", ":", "value", "has value", "equals", "set to", "state", "status")
)
_RATE = lazy_re(
    r"(?:/|\b(?:a|an|per|each|every)) ?(hour|day|week|month|year|night|person|head|kg|km)\b"
)
_CORRECTED = lazy_re(
    r"(?P<value>.+?),? (?:instead of|rather than|in place of|and not|and no longer|but not|no more"
    r"|up from|down from|no longer) (?P<old>.+)|(?P<value2>.+?), (?:not|was|formerly"
    r"|previously) (?P<old2>.+)|(?P<value3>.+?) \((?:was|not|formerly|previously|before:?"
    r"|instead of|up from|down from) (?P<old3>[^()]+)\)|not (?P<old4>.+?),? but (?P<value4>.+)"
)
_CORRECTING = lazy_re(r"\b(?:instead|rather|place|not|no|up|down|was|formerly|previously|before)\b")
_MARKS_BEFORE = lazy_re(r"\A(?:[ ,:—]|–(?![\d.])|\.(?!\d)|-(?![\w$€£¥.]))+")
_SCOPE = lazy_re(
    r" (?:for|during|in case of|when it comes to) (?P<scope>(?!\w*\d)(?!\S.* and )[a-z][\w' -]*)$"
)


def read_statement(
    text: str, *, speaker: str = "", time_ns: int | None = None
) -> tuple[Claim, ...]:
    """Return the claims of any text in order; empty if none can be read."""
    day = None if time_ns is None else time_ns // 86_400_000_000_000 * 86_400_000_000_000
    return _read(text[:STATEMENT_CHARS_READ], speaker.casefold()[:200], day)


def read_fact(
    subject: str, predicate: str, value: str, *, speaker: str = "", time_ns: int | None = None
) -> Claim:
    """Read a stored triple as a claim. Its predicate may be a verb ("lives in"), a noun
    ("database"), or a copula."""
    verb = FINITE.fullmatch(f" {predicate.strip()}", 1) if predicate.strip() else None
    said = predicate.strip().casefold()
    if said in _PLAIN_PREDICATES:
        parts = ClauseParts(subject, "is", value)
    elif verb is not None or re.match(r"(?:not|no longer) ", said):
        read = by_verb(f"{subject} {predicate.strip()} {value}") or by_verb(
            f"{subject} is {predicate.strip()} {value}"
        )
        parts = read or ClauseParts(
            subject,
            f"to {stem(said.split()[-1])}",
            value,
            positive=not said.startswith("no"),
            single=False,
        )
    else:
        parts = ClauseParts(f"{subject}'s {predicate.strip()}", "is", value)
    return _complete(
        parts, speaker=speaker.casefold(), day_ns=time_ns, quotes=(), about="", change=False
    )


def read_spans(
    text: str, *, speaker: str = "", time_ns: int | None = None
) -> Iterator[tuple[int, int, Claim]]:
    """Yield the claims of the asserted sentences of any text, with the spans of the sentences."""
    day = None if time_ns is None else time_ns // 86_400_000_000_000 * 86_400_000_000_000
    yield from _claims(text, speaker.casefold()[:200], day, asserted=True)


@lru_cache(maxsize=16_384)
def _read(text: str, speaker: str, day_ns: int | None) -> tuple[Claim, ...]:
    found = islice(_claims(text, speaker, day_ns), CLAIMS_PER_TEXT_ITEMS_MAX)
    return tuple(claim for _, _, claim in found)


def _claims(
    text: str, speaker: str, day_ns: int | None, *, asserted: bool = False
) -> Iterator[tuple[int, int, Claim]]:
    """Yield the claims of a text, or only those of sentences that assert something."""
    about = ""
    for sentence in sentences(text):
        about = sentence.label or about
        if asserted and sentence.unasserted:
            continue
        for clause in _split_clauses(sentence.text):
            claim = _claim(
                clause, speaker=speaker, day_ns=day_ns, quotes=sentence.quotes, about=about
            )
            if claim is None:
                continue
            if not claim.unnamed and (claim.value.text or not claim.positive):
                about = claim.subject
            if sentence.unasserted:
                claim = replace(claim, unasserted=sentence.unasserted)
            yield sentence.start, sentence.end, claim


def _split_clauses(sentence: str) -> Iterator[str]:
    """Split a sentence into clauses and give each its subject: "Ana lives in Bonn and works at
    Acme" yields two clauses about Ana."""
    before = ""
    for part in _CLAUSE_END.split(sentence):
        if before:
            bare = f" {part}"
            match = match_verb(bare, 1)
            subject = _subject_end(before)
            if match and _is_coordinate(match, subject, before) and subject and not match["copula"]:
                yield before
                before = f"{subject} {part}"
                continue
            if not (find_verb(part) and (find_verb(before) or by_unknown_verb(before))) or re.match(
                r"(?:in|on|at|for|to|with|of|from) ", part
            ):
                before = f"{before} and {part}"
                continue
            yield before
        before = part
    yield before


def _is_coordinate(match: re.Match[str], subject: str, before: str) -> bool:
    """Return whether a part after "and" begins with a second verb of the subject: "lives in Bonn
    and works at Acme", but not "likes climbing and playing games" or "the love and support"."""
    word = match[0].split()[-1] if match["aux"] else match[0].split()[0]
    if word.endswith("ing") and not match["aux"]:
        return False
    plural = subject.casefold() in ("i", "we", "you", "they") or " and " in subject
    return (
        match["copula"] is not None
        or bool(match["aux"])
        or ((plural or word not in BASE_FORMS) and f" {word} " not in f" {before} ")
    )


def _subject_end(clause: str) -> str:
    found = find_verb(clause)
    if found is None and (parts := by_unknown_verb(clause)) is not None:
        return parts.subject
    return clause[: found.start()].strip() if found else ""


def _claim(
    clause: str, *, speaker: str, day_ns: int | None, quotes: tuple[str, ...], about: str
) -> Claim | None:
    said = _in_form(clause.strip(" .,:!?"))
    clause, change = without_times(said)
    parts = _parse(clause, change=change)
    bare, end_ns = without_date(said, day_ns)
    if bare != said or end_ns is not None:
        parts = _dated(parts, bare, None if day_ns is None or end_ns is None else day_ns - end_ns)
    elif parts is not None and parts.change and is_long_ago(said, day_ns):
        parts = _past(parts)
    if parts is None:
        return None
    return _complete(
        parts,
        speaker=speaker,
        day_ns=day_ns,
        quotes=quotes,
        about=about,
        change=change,
        besides=says_besides(said),
    )


def _dated(parts: ClauseParts | None, bare: str, age_ns: int | None) -> ClauseParts | None:
    """Return the parts of a dated clause: those of the clause without its date, if it reports
    a change. A change that is no longer news claims nothing of now."""
    clause, change = without_times(bare)
    happened = _parse(clause, change=change)
    if happened is None or not happened.value or not happened.change:
        return parts
    return happened if age_ns is None or age_ns <= NEWS_NS else _past(happened)


def _past(parts: ClauseParts) -> ClauseParts:
    """Return the parts of a clause about long ago; what is over is over, however long ago."""
    if parts.ends or parts.given_up:
        return parts
    return replace(parts, change=False, past=True, history=True)


def _parse(clause: str, *, change: bool) -> ClauseParts | None:
    """Parse a clause; if the table does not know its verb, once more with its spelling
    corrected."""
    parts = parse_clause(clause)
    if (parts is None or not parts.value) and (elided := _with_subject(clause, change=change)):
        return parse_clause(elided)
    if parts is None or not parts.known or not parts.value:
        respelt = corrected(clause)
        return parse_clause(respelt) if respelt != clause else parts
    respelt = corrected(parts.subject)
    return replace(parts, subject=respelt) if respelt != parts.subject else parts


def _with_subject(clause: str, *, change: bool) -> str:
    """Return a clause without a subject as one in the first person: "Moved to Ulm", "Moved the
    office to Ulm"; empty for any other clause."""
    bare = f"{clause[:1].lower()}{clause[1:]}"
    match = match_verb(f" {bare}", 1)
    name = match.lastgroup if match else None
    if _CLIPPED_SETTING.match(bare) and (not bare.startswith(_LIKE_COMMANDS) or change):
        return f"we {bare}"
    if not name or not re.fullmatch(r"v\d+", name):
        return ""
    verb = VERBS[int(name[1:])][1]
    return f"I {bare}" if verb.change else ""


def _in_form(clause: str) -> str:
    """Give a fragment the form of a clause: "New port for the API: 9090", "API port now 9090"."""
    if " got " in clause:
        clause = _GOT.sub("am now", clause) if clause[:2] == "I " else _GOT.sub("is now", clause)
    if "ended up " in clause:
        clause = _ENDED_UP.sub(lambda match: _PAST.get(stem(match[1]), match[0]), clause)
    found = _NEW_THING.fullmatch(clause)
    if found:
        article = "the " if found["article"] else ""
        return f"{article}{found['what']} is now {found['value']}"
    found = _MAKE.fullmatch(clause)
    if found:
        return f"{found['what']} is now {found['value']}"
    found = _NOW.fullmatch(clause)
    if found and find_verb(clause) is None:
        return f"{found['what']} is now {found['value']}"
    return clause


def _complete(
    parts: ClauseParts,
    *,
    speaker: str,
    day_ns: int | None,
    quotes: tuple[str, ...],
    about: str,
    change: bool,
    besides: bool = False,
) -> Claim:
    """Build the claim of a parsed clause: normalise its words and read its value."""
    value, given_up, scope = _split_value(parts.value)
    given_up = parts.given_up or given_up
    subject = parts.subject.strip(" ,:")
    unasserted = parts.unasserted or (
        why_incomplete(subject, f"{value}{_cut_mark(parts.value)}") if parts.positive else ""
    )
    renewed = _NEW_OWNED.sub(r"\g<of> ", subject, count=1)
    change, subject = change or renewed != subject, renewed
    unnamed = bool(PRONOUN.match(subject)) or bool(POSSESSIVE.match(subject))
    if unnamed and _may_mean(subject, about):
        subject = (
            f"{about}'s {POSSESSIVE.sub('', subject).strip()}"
            if POSSESSIVE.match(subject) and " " in subject
            else about
        )
        unnamed = False
    if not unasserted and any(_states_something(quote) for quote in quotes):
        unasserted = "quoted"
    for number, quote in enumerate(quotes):
        value, subject = value.replace(f"Q{number}Q", quote), subject.replace(f"Q{number}Q", quote)
    parsed = parse_subject(subject, parts.predicate, speaker=speaker)
    read = read_value(value, day_ns)
    key, predicate = _refine_by_value(
        parsed.key, parsed.predicate, read, is_property=parsed.property
    )
    if predicate != parsed.predicate and parsed.settled:
        # the head noun does not name the predicate after all: "the gate is 2 m high"
        key |= key_of(subject, speaker=speaker)[0]
    rate = _RATE.search(read.text) if read.type == "amount" else None
    old = read_value(given_up, day_ns)
    if (
        old.type == "amount"
        and old.dimension == "count"
        and read.type == "amount"
        and read.dimension != "count"
    ):  # "from 12 to 15 euros"
        unit = re.sub(r"^\W*[\d.,]+", "", read.text)
        old = read_value(f"{given_up} {unit}", day_ns)
    return Claim(
        subject=subject,
        key=key,
        predicate=predicate,
        value=read,
        positive=parts.positive,
        ends=parts.ends,
        change=(change or parts.change) and not parts.history,
        past=parts.past,
        given_up=old,
        scope=frozenset(words_of(scope)) | ({rate[1]} if rate else set()),
        unnamed=unnamed,
        proper=parsed.proper,
        settled=parsed.settled,
        property=_has_one_value(parts, predicate, read, named=parsed.property),
        unasserted=unasserted,
        known=parts.known or predicate != parts.predicate,
        besides=besides,
        history=parts.history,
    )


def _may_mean(pronoun: str, about: str) -> bool:
    """Return whether a pronoun may stand for the subject of the sentence before: "she" for a name,
    "it" for what is not a person; "this", "there" and the like for nothing certain."""
    word = pronoun.partition(" ")[0].casefold()
    if not about or about[:1].islower() or _SPEAKING.match(about):
        return False
    named = re.match(r"(?:the|a|an|my|our)\b", about, re.IGNORECASE) is None
    if word in ("he", "she", "him", "her", "his"):
        return named
    return word in ("it", "its", "they", "them", "their")


def _states_something(quote: str) -> bool:
    """Return whether a quotation is a statement and not a name or title."""
    return " " in quote and find_verb(quote) is not None


def _cut_mark(value: str) -> str:
    """Return the exclamation or question mark that ends a value and is stripped from it."""
    return "?" if "?" in value[-2:] else ""


def _has_one_value(parts: ClauseParts, predicate: str, value: StatedValue, *, named: bool) -> bool:
    """Return whether the subject has one such value at a time."""
    if value.type == "amount" and not parts.past:
        return True
    found = BY_NAME.get(predicate)
    single = found is not None and found.single and predicate != "kind"
    definite = (
        predicate == "is"
        and _DEFINITE.match(parts.subject) is not None
        and value.type == "text"
        and value.text[:1].isupper()
    )
    return parts.single and (single or definite or (named and predicate in ("is", ANY)))


def _split_value(text: str) -> tuple[str, str, str]:
    """Split a value into the value itself, the value that it replaces, and its scope."""
    value = _bare(text)
    given_up = ""
    match = _CORRECTED.fullmatch(value) if _CORRECTING.search(value) else None
    if match:
        found = [part for part in match.groups() if part]
        value, given_up = (found[1], found[0]) if match["old4"] else (found[0], found[1])
    value = cut_relative(_TAIL.sub("", value))
    scope = ""
    for place in ("value", "given_up"):
        held = value if place == "value" else given_up
        bound = _SCOPE.search(held)
        if bound and bound.start():
            scope = scope or bound["scope"]
            value, given_up = (
                (held[: bound.start()], given_up)
                if place == "value"
                else (value, held[: bound.start()])
            )
    return _bare(value), given_up.strip(" ,.:"), scope


def _bare(text: str) -> str:
    """Return a value without the marks around it. A sign at a number, the dash of an option and the
    point of a fraction belong to it."""
    text = text.rstrip(" ,.:–—")
    while text.endswith(" -"):
        text = text[:-2].rstrip(" ,.:–—")
    return _MARKS_BEFORE.sub("", text)


def _refine_by_value(
    key: frozenset[str], predicate: str, value: StatedValue, *, is_property: bool
) -> tuple[frozenset[str], str]:
    """Refine the key and predicate by the value: "is at 10:00" states a time, "is 2 m long" a
    length; "weighs 3 kg" stays as it is."""
    timed = value.type in ("date", "time", "weekday")
    if predicate in ("where", "is", "home") and timed:
        return key, "when" if predicate != "home" else ANY
    if (
        predicate == "when"
        and value.type == "text"
        and not re.match(r"(?:every|each|daily|weekly|hourly|monthly|once|twice)\b", value.text)
    ):
        return key, "where"
    if predicate == "home" and value.text[:1].isupper() and value.words & PRODUCTS:
        return key, "switched"
    if value.type == "amount":
        measure = next(
            (_MEASURE_STEMS[word] for word in value.unit_words if word in _MEASURE_STEMS), ""
        )
        if measure == "age":
            return key, "age"
        if measure:
            return key | {measure}, "is"
        if predicate == "is" and value.category == "money" and not is_property:
            return key, "price"
        key |= {SPELLINGS.get(word, word) for word in value.unit_words}
        if predicate in ("is", "has", "contains"):
            return key, "is"
        if predicate == "duration" and value.dimension != "duration":
            return key, "takes"
        if predicate == "home":
            return key, ANY
    if predicate == "is" and value.type == "text" and re.match(r"an? ", value.text) and not timed:
        return key, "kind"
    return key, predicate
