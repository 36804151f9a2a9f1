"""A plain sentence as a claim: what it is about, which predicate, which value, and whether it says
so at all.

    "The API port is now 9090, not 8080"   ->  key {api}, predicate port, value 9090, gives up 8080,
    says a change
    "The report is due on 3 May 2026"      ->  key {report}, predicate deadline, a date
    "Aiko left Sony"                       ->  key {aiko}, predicate work, value Sony, taken back
    "I might move to Munich"               ->  said of somebody, but nothing is claimed: it says
    what may be

A key is the words of what is spoken of, without articles and without the noun that the predicate
stands for, so that "the deadline of the report" and "the report is due" have one key. Words like
to, from and before stay in it: the flight to Lisbon is not the flight from Lisbon. Rules for
English; what they cannot read is no claim. Text is data: whatever it asks for, it is only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from doxa.base.limits import CLAIMS_PER_TEXT_ITEMS_MAX, STATEMENT_CHARS_READ
from doxa.base.words import stem
from doxa.language.predicates import ANY, BY_NAME, NOUNS, SPELLINGS, VERBS, Verb, is_state
from doxa.language.sentences import says_besides, sentences, without_times
from doxa.language.stated_values import NOTHING, StatedValue, read_value, words_of
from doxa.language.subjects import PROPERTIES, about_of, key_of


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing said. `given_up` is the value that it says holds no more; `scope` bounds it ("for
    orders"); `unasserted` says why nothing is claimed, or is empty; `property` means that of what
    is said there is one at a time (a port, a favourite tea), `settled` that the subject's noun
    alone says so; `besides` that something is said to hold too ("also")."""

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


@dataclass(frozen=True, slots=True)
class _Parts:
    """A clause taken apart, before its words are brought to one form."""

    subject: str
    predicate: str
    value: str
    positive: bool = True
    ends: bool = False
    change: bool = False
    past: bool = False
    given_up: str = ""
    single: bool = True


_TAIL = re.compile(
    r",? (?:because|since|although|though|while|whereas|which|who|so that|starting|effective|as"
    r" (?=an? |of |the )|after (?=all)|due to the|"
    r"thanks to|where|when)\b.*$",
)
_NOT = re.compile(r"\b(?:not|never|no longer|no|neither|nobody|none|without)\b")
_AUXILIARY = (
    r"(?:is|are|was|were|am|be|been|being|has|have|had|do|does|did|will|got|gets|not|never|no"
    r" longer|also|just|really|always|only|still|already|"
    r"officially|both|all|used to|usually|mostly|mainly|normally|(?:stopped|quit)(?="
    r" \w+ing)|now|currently|get|no)"
)
_COPULA = r"is|are|was|were|am|will be|has been|have been|became|becomes|remains|stays|equals"
_FINITE = re.compile(
    rf"(?<=\s)(?P<aux>(?:{_AUXILIARY} )*)(?:"
    + "|".join(f"(?P<v{i}>{text})" for i, (text, _) in enumerate(VERBS))
    + rf"|can(?: not| never)?(?P<able>)(?= [a-z])|(?P<copula>{_COPULA}))(?![\w'-])"
)
_UNKNOWN = re.compile(
    r"(?<=\s)(?P<aux>(?:(?:does|do|did|not|never|no"
    r" longer|also|still|always|only|now|stopped|has|have) )*)(?P<verb>[a-z]{3,})(?= |$)"
)
_FIRST_PERSON = re.compile(r"(?:I|[Ww]e|[Tt]hey|[Yy]ou)\b")
_NO_SUBJECT_END = re.compile(
    r"(?:'s|\b(?:the|a|an|my|our|his|her|their|its|your|of|and|or|to|from|in|on|at|for|with|this|that|first|second|new|old|no|by|every))$",
    re.I,
)
_PRONOUN = re.compile(
    r"(?:he|she|it|they|this|that|these|those|you|him|her|them|one|there|here|everyone|everybody|someone|somebody|nobody|which|who)$",
    re.I,
)
_POSSESSED = re.compile(r"(?:his|her|their|its|your|whose)\b", re.I)
_RENEWED = re.compile(r"(?P<of>\b(?:my|our|his|her|its|their)|'s|\bthe(?= new \w+ of )) new ", re.I)
_NOT_FINITE = re.compile(
    r"\w+(?:ed|ing)\b|(?:run|led|held|kept|written|built|bound|born|set)"
    r" (?:by|at|in|on|for|to|with)\b|(?:held|born)\b|with\b|able\b|allergic\b|"
    r"fond\b|keen\b|familiar\b|fluent\b|part\b|a member\b|members\b|into\b|known\b|been\b"
)
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
_DEFINITE = re.compile(r"(?:the|our|my) [a-z]|[A-Z]\w*'s [a-z]", re.I)
_PLAIN_PREDICATES = frozenset(
    ("is", "are", "=", "==", ":", "value", "has value", "equals", "set to", "state", "status")
)
_RATE = re.compile(
    r"(?:/|\b(?:a|an|per|each|every)) ?(hour|day|week|month|year|night|person|head|kg|km)\b"
)
_DO_FOR = {
    "host": "hosting",
    "deploy": "hosting",
    "run": "hosting",
    "serve": "hosting",
    "keep": "stored",
    "store": "stored",
    "save": "stored",
    "write": "language",
    "build": "language",
    "hold": "when",
    "have": "when",
    "call": "name",
}


def read_statement(
    text: str, *, speaker: str = "", time_ns: int | None = None
) -> tuple[Claim, ...]:
    """The claims of a text, in order; none where nothing can be read. Any text can be given."""
    day = None if time_ns is None else time_ns // 86_400_000_000_000 * 86_400_000_000_000
    return _read(text[:STATEMENT_CHARS_READ], speaker.casefold()[:200], day)


def read_fact(
    subject: str, predicate: str, value: str, *, speaker: str = "", time_ns: int | None = None
) -> Claim:
    """A stored triple as a claim: its predicate may be a verb ("lives in"), a noun ("database") or
    only say that something is."""
    verb = _FINITE.fullmatch(f" {predicate.strip()}", 1) if predicate.strip() else None
    said = predicate.strip().casefold()
    if said in _PLAIN_PREDICATES:
        parts = _Parts(subject, "is", value)
    elif verb is not None or re.match(r"(?:not|no longer) ", said):
        read = _by_verb(f"{subject} {predicate.strip()} {value}") or _by_verb(
            f"{subject} is {predicate.strip()} {value}"
        )
        parts = read or _Parts(
            subject,
            f"to {stem(said.split()[-1])}",
            value,
            positive=not said.startswith("no"),
            single=False,
        )
    else:
        parts = _Parts(f"{subject}'s {predicate.strip()}", "is", value)
    return _completed(
        parts, speaker=speaker.casefold(), day_ns=time_ns, quotes=(), about="", change=False
    )


@lru_cache(maxsize=16_384)
def _read(text: str, speaker: str, day_ns: int | None) -> tuple[Claim, ...]:
    found: list[Claim] = []
    about = ""
    for sentence in sentences(text):
        for clause in _clauses(sentence.text):
            claim = _claim(
                clause, speaker=speaker, day_ns=day_ns, quotes=sentence.quotes, about=about
            )
            if claim is None:
                continue
            about = claim.subject if not claim.unnamed else about
            found.append(replace(claim, unasserted=claim.unasserted or sentence.unasserted))
            if len(found) >= CLAIMS_PER_TEXT_ITEMS_MAX:
                return tuple(found)
    return tuple(found)


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence, each with a subject of its own: "Ana lives in Bonn and works at
    Acme" says two things of Ana."""
    before = ""
    for part in re.split(
        r",? (?:and|but|while)(?: also)? (?=\S+ )|[,:]"
        r" (?=(?:the|my|our|his|her|its|their|he|she|it|they|I|we) )",
        sentence,
    ):
        if before:
            bare = f" {part}"
            match = _FINITE.search(bare)
            subject = _subject_end(before)
            if match and match.start() == 1 and subject and not match["copula"]:
                yield before
                before = f"{subject} {part}"
                continue
            if not (_locate(part) and (_locate(before) or _by_unknown_verb(before))) or re.match(
                r"(?:in|on|at|for|to|with|of|from) ", part
            ):
                before = f"{before} and {part}"
                continue
            yield before
        before = part
    yield before


def _subject_end(clause: str) -> str:
    found = _locate(clause)
    return clause[: found.start()].strip() if found else ""


def _locate(clause: str) -> re.Match[str] | None:
    """The verb of a clause: the first that has a subject before it and no verb right behind."""
    at = 0
    while match := _FINITE.search(clause, at):
        subject = clause[: match.start()].strip()
        rest = clause[match.end() :].lstrip()
        followed = _is_adjective(match) or (
            match["copula"] is None
            and re.match(r"(?:is|are|was|were|has|have|will|does|do)\b", rest) is not None
        )
        if (
            subject
            and (_PRONOUN.match(subject) or not _NO_SUBJECT_END.search(subject))
            and not followed
        ):
            return match
        at = match.start() + 1
    return None


def _is_adjective(match: re.Match[str]) -> bool:
    """ "the job scheduled for Monday", "the contract with Acme": no verb without an auxiliary before
    it."""
    if match["copula"] or match["able"] is not None or match["aux"]:
        return False
    verb = VERBS[int(str(match.lastgroup)[1:])][1]
    return (
        not (verb.change or verb.ends or verb.inverse)
        and _NOT_FINITE.match(match[str(match.lastgroup)]) is not None
    )


def _claim(
    clause: str, *, speaker: str, day_ns: int | None, quotes: tuple[str, ...], about: str
) -> Claim | None:
    said = clause.strip(" .,:!?")
    clause, change = without_times(said)
    parts = _take_apart(clause)
    if parts is None:
        return None
    found = _completed(
        parts, speaker=speaker, day_ns=day_ns, quotes=quotes, about=about, change=change
    )
    return replace(found, besides=says_besides(said))


def _completed(
    parts: _Parts,
    *,
    speaker: str,
    day_ns: int | None,
    quotes: tuple[str, ...],
    about: str,
    change: bool,
) -> Claim:
    """A clause taken apart as a claim: its words in one form, its value read."""
    value, given_up, scope = _value_parts(parts.value)
    given_up = parts.given_up or given_up
    subject = parts.subject.strip(" ,:")
    renewed = _RENEWED.sub(r"\g<of> ", subject, count=1)
    change, subject = change or renewed != subject, renewed
    unnamed = bool(_PRONOUN.match(subject)) or bool(_POSSESSED.match(subject))
    if unnamed and about and not about[:1].islower():
        subject = (
            f"{about}'s {_POSSESSED.sub('', subject).strip()}"
            if _POSSESSED.match(subject) and " " in subject
            else about
        )
        unnamed = False
    for number, quote in enumerate(quotes):
        value, subject = value.replace(f"Q{number}Q", quote), subject.replace(f"Q{number}Q", quote)
    about_it = about_of(subject, parts.predicate, speaker=speaker)
    read = read_value(value, day_ns)
    key, predicate = _by_value(
        about_it.key, about_it.predicate, read, is_property=about_it.property
    )
    if (
        predicate != about_it.predicate and about_it.settled
    ):  # the noun was no predicate after all: "the gate is 2 m high"
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
        change=change or parts.change,
        past=parts.past,
        given_up=old,
        scope=frozenset(words_of(scope)) | ({rate[1]} if rate else set()),
        unnamed=unnamed,
        proper=about_it.proper,
        settled=about_it.settled,
        property=_is_one(parts, predicate, read, named=about_it.property),
    )


def _is_one(parts: _Parts, predicate: str, value: StatedValue, *, named: bool) -> bool:
    """Whether of what is said there is one at a time."""
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


def _take_apart(clause: str) -> _Parts | None:
    for reader in (
        _stepped_down,
        _replaced,
        _parted,
        _set_to,
        _switched,
        _counted,
        _kept_by,
        _name_of,
        _has_called,
        _by_verb,
        _pair,
        _by_unknown_verb,
    ):
        parts = reader(clause)
        if parts is not None:
            return parts
    return _named_only(clause)


def _stepped_down(clause: str) -> _Parts | None:
    """ "Bill stepped down as CEO of Initech": that office is his no more."""
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has |have )?(?:stepped down|resigned|retired|stood down|was removed|is"
        r" out) as (?P<what>.+)",
        clause,
    )
    return (
        _Parts(match["what"], "is", match["who"], positive=False, ends=True, change=True)
        if match
        else None
    )


def _replaced(clause: str) -> _Parts | None:
    """ "We replaced A with B in the shop", "B replaced A in the shop", "B took over the team from A"."""
    match = re.fullmatch(
        r"(?P<who>.+?) (?:have |has )?(?:replaced|swapped|exchanged) (?P<old>.+?) (?:with|by|for)"
        r" (?P<new>.+?)(?: (?:in|on|for|at) (?P<what>.+))?",
        clause,
    )
    if match:
        return _Parts(
            match["what"] or match["who"], ANY, match["new"], change=True, given_up=match["old"]
        )
    match = re.fullmatch(
        r"(?P<old>.+?) (?:is|was|has been|have been|got|gets) (?:replaced|succeeded) by"
        r" (?P<new>.+?)(?: as (?P<role>.+?))?(?: (?:in|on|at|of) "
        r"(?P<what>.+))?",
        clause,
    )
    if match:
        what = " of ".join(part for part in (match["role"], match["what"]) if part)
        return _Parts(what or match["old"], ANY, match["new"], change=True, given_up=match["old"])
    match = re.fullmatch(
        r"(?P<new>.+?) (?:has |have )?(?:replaced|replaces|succeeded|succeeds) (?P<old>.+?)(?: as"
        r" (?P<role>.+?))?(?: (?:in|on|at|of) "
        r"(?P<what>.+))?",
        clause,
    )
    if match:
        what = " of ".join(part for part in (match["role"], match["what"]) if part)
        return _Parts(what or match["new"], ANY, match["new"], change=True, given_up=match["old"])
    match = re.fullmatch(
        r"(?P<new>.+?) (?:has |have )?(?:took|taken|takes) over (?P<what>.+?)(?: from"
        r" (?P<old>.+))?",
        clause,
    )
    return (
        _Parts(match["what"], ANY, match["new"], change=True, given_up=match["old"] or "")
        if match
        else None
    )


def _parted(clause: str) -> _Parts | None:
    match = re.fullmatch(
        r"(?P<one>.+?) and (?P<other>.+?) (?:have |are )?(?:got |been"
        r" )?(?P<how>divorced|separated|split up|broke up|married)",
        clause,
    )
    if match is None:
        return None
    return _Parts(
        match["one"],
        "spouse",
        match["other"],
        change=True,
        positive=match["how"] == "married",
        ends=match["how"] != "married",
    )


_SETTERS = (
    r"changed|changes|set|sets|increased|raised|lowered|reduced|decreased|bumped|updated|renamed|moved|migrated|switched|cut|extended|shortened|"
    r"pushed back|pushed|shifted|postponed|rescheduled|delayed|upgraded|converted|ported|brought"
    r" forward|brought|reassigned|handed over|handed|"
    r"transferred|painted|repainted"
)
_SET_TO = re.compile(
    r"(?P<who>(?:(?!\bto\b)\S+ ){0,5}?\S+) (?:have |has |had |just |now |finally"
    rf" )*(?P<verb>{_SETTERS}) (?P<what>(?:(?!to\b|from\b|until\b|"
    rf"back\b)\S+ ){{1,9}}?)"
    r"(?:back |over |forward )?(?:from (?P<old>.{1,60}?) )?(?:to|until) (?P<value>.+)"
)
_WAS_SET = re.compile(
    r"(?P<what>.+?) (?:(?:is|are|was|were|has|have|been|got|being)"
    rf" )*(?:{_SETTERS}|gone|went|goes|rose|fell|grew|switched|changed)(?: back| "
    rf"over| up| down| forward)?"
    r"(?: from (?P<old>.{1,60}?))? (?:to|until) (?P<value>.+)"
)


def _set_to(clause: str) -> _Parts | None:
    """ "We moved the launch from Monday to Friday", "they raised the rent to 960 euros", "Ana renamed
    her cat to Miso"."""
    match = _SET_TO.fullmatch(clause)
    if match is None or _NOT.search(match[0]) or _NO_SUBJECT_END.search(match["who"]):
        return None
    predicate = (
        "name"
        if match["verb"] == "renamed"
        else "assignee"
        if match["verb"] in ("reassigned", "handed over")
        else ANY
    )
    what = match["what"].strip()
    owner = match["who"].removesuffix(" have").removesuffix(" has")
    if (
        re.match(r"(?:my|our|his|her|their|its)\b", what, re.I)
        and not _PRONOUN.match(owner)
        and owner not in ("I", "We", "we")
    ):
        what = f"{owner}'s {_POSSESSED.sub('', what).strip()}"
    return _Parts(what, predicate, match["value"], change=True, given_up=match["old"] or "")


def _switched(clause: str) -> _Parts | None:
    """ "We switched from A to B", "the meeting was moved from Monday to Friday": what is named before
    the verb got another value."""
    match = _WAS_SET.fullmatch(clause)
    if match is None or not match["old"] or _NOT.search(match[0]):
        back = re.fullmatch(
            rf"(?P<what>.+?) (?:(?:has|have|was|were|got) )*(?:{_SETTERS}|gone|went)(?: back|"
            r" over)? to (?P<value>.+?) from (?P<old>.+)",
            clause,
        )
        return (
            _Parts(back["what"], ANY, back["value"], change=True, given_up=back["old"])
            if back and not _NOT.search(clause)
            else None
        )
    return _Parts(match["what"], ANY, match["value"], change=True, given_up=match["old"])


def _counted(clause: str) -> _Parts | None:
    """ "There are five rooms in the house"."""
    match = re.fullmatch(
        r"[Tt]here (?P<verb>is|are|was|were) (?P<not>no longer |not )?(?P<value>.+?)(?:"
        r" (?:in|on|at) (?P<what>.+))?",
        clause,
    )
    if match is None:
        return None
    return _Parts(
        match["what"] or "",
        "has",
        match["value"],
        positive=not match["not"],
        past=match["verb"].startswith("w"),
        ends=bool(match["not"]),
    )


def _kept_by(clause: str) -> _Parts | None:
    """ "We host the shop on Heroku": the shop's hosting."""
    match = re.fullmatch(
        r"(?:We|we|They|they|I) (?P<not>do not |no longer"
        r" )?(?P<verb>host|deploy|run|serve|keep|store|save|write|build|hold|have|call) "
        r"(?P<what>(?:the|our|my|all|their) [^,]+?) (?:(?:on|in|at|with|by|using|from)"
        r" )?(?P<value>(?<=on )\S.*|(?<=in )\S.*|(?<=at )\S.*|"
        r"(?<=with )\S.*|(?<=using )\S.*|Q\dQ)",
        clause,
    )
    if match is None:
        return None
    return _Parts(
        match["what"],
        _DO_FOR[match["verb"]],
        match["value"],
        positive=not match["not"],
        ends=bool(match["not"]),
    )


def _name_of(clause: str) -> _Parts | None:
    """ "Victoria is the name of our server" says the server's name, "Hana is the lead of the team" its
    lead."""
    match = re.fullmatch(
        r"(?P<value>[A-Z0-9][^,]{0,60}?) (?P<verb>is|was|became|remains)(?P<not> not| no longer)?"
        r" (?P<what>(?:(?:the|our|my|[A-Z]\w+'s) )?(?:new "
        r")?(?P<noun>[\w-]+(?: [\w-]+)?)"
        r"(?: (?:of|for) .+)?)",
        clause,
    )
    if match is None or re.match(
        r"(?:The|My|Our|His|Her|Their|It|This|That|He|She|They|There|We|I|You)\b", match["value"]
    ):
        return None
    noun = match["noun"].lower()
    last = SPELLINGS.get(stem(noun.split()[-1]), stem(noun.split()[-1]))
    known = noun in NOUNS or noun.split()[-1] in NOUNS or last in PROPERTIES
    if not known and not re.match(r"(?:our|my) [a-z]+$", match["what"]):
        return None
    became = match["verb"] == "became" or " new " in f" {match['what']}"
    if (
        match["what"][0].islower()
        and not re.match(r"(?:the|our|my)\b", match["what"])
        and (" of " not in match["what"] or not became)
    ):
        return None
    return _Parts(
        match["what"].replace("new ", "", 1),
        "is",
        match["value"],
        positive=not match["not"],
        ends=(match["not"] or "") == " no longer",
        change=became,
        past=match["verb"] == "was",
        single=known,
    )


def _has_called(clause: str) -> _Parts | None:
    """ "Ruth has a son called Max": her son's name, though not of the only one."""
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has|have|had) an? (?P<what>[\w -]{2,40}?) (?:called|named) (?P<value>.+)",
        clause,
    )
    if match is None:
        return None
    owner = {"I": "my", "We": "our", "we": "our"}.get(match["who"], f"{match['who']}'s")
    return _Parts(f"{owner} {match['what']}", "name", match["value"], single=False)


def _by_verb(clause: str) -> _Parts | None:
    match = _locate(clause)
    if match is None:
        return None
    auxiliary = f" {match['aux']}"
    subject, rest = clause[: match.start()].strip(), clause[match.end() :].strip()
    positive = not re.search(r" (?:not|never|no longer|no|stopped|quit) ", auxiliary)
    ends = bool(re.search(r" (?:no longer|stopped|quit|used to) ", auxiliary))
    past = bool(re.search(r" (?:was|were|had|did) ", auxiliary)) and not ends
    positive = positive and " used to " not in auxiliary
    if match["copula"] or match["able"] is not None:
        past = past or match["copula"] in ("was", "were")
        return _by_copula(
            subject,
            rest,
            positive=positive,
            ends=ends,
            past=past,
            able=match["able"] is not None,
            negated="not" in match[0],
        )
    if (
        not rest
        and is_state(match[str(match.lastgroup)])
        and re.search(r"\b(?:is|are|am) ", match["aux"])
    ):  # "is married"
        return _Parts(subject, "is", match[str(match.lastgroup)], positive=positive, ends=ends)
    verb = VERBS[int(str(match.lastgroup)[1:])][1]
    again = re.match(r"(?:not|never|no longer|no|only) ", rest)
    if again and again[0] != "only ":
        positive, rest = not positive, rest[again.end() :]
    if verb.inverse:
        return _Parts(
            rest,
            verb.predicate.name,
            subject,
            positive=positive,
            ends=ends,
            past=past,
            change=verb.change,
        )
    used = verb.predicate.name
    past = (past and used not in ("birthday", "birthplace")) or _is_past(
        match[str(match.lastgroup)], verb
    )
    return _Parts(
        subject,
        used,
        rest,
        positive=positive != verb.ends,
        ends=ends or verb.ends,
        past=past,
        change=verb.change,
    )


def _is_past(text: str, verb: Verb) -> bool:
    """A verb in the past that tells of a habit: it holds no more, or nobody says."""
    return (
        not verb.change
        and not verb.ends
        and re.match(r"(?:lived|worked|used|liked|loved|owned|resided)\b", text) is not None
    )


def _by_copula(
    subject: str, rest: str, *, positive: bool, ends: bool, past: bool, able: bool, negated: bool
) -> _Parts:
    if able:
        return _Parts(subject, "can", rest, positive=not negated, ends=ends)
    while word := re.match(
        r"(?:(?P<not>not|never|no longer|no) |also |only |still |really |always |about |exactly"
        r" |both |back (?=in|at|on))",
        rest,
    ):
        positive, ends = (
            (not positive if word["not"] else positive),
            ends or word["not"] == "no longer",
        )
        rest = rest[word.end() :]
    inner = _FINITE.match(f" {rest}", 1)
    if (
        inner is not None
        and not is_state(rest)
        and inner.lastgroup not in (None, "copula", "able")
        and inner.lastgroup
        and inner.lastgroup.startswith("v")
    ):
        verb = VERBS[int(inner.lastgroup[1:])][1]
        return _Parts(
            subject,
            verb.predicate.name,
            rest[inner.end() - 1 :].strip(),
            positive=positive != verb.ends,
            ends=ends or verb.ends,
            change=verb.change,
            past=past,
        )
    place = re.match(r"(?:in|at|on|by|inside|near|within|under|behind)(?= )", rest)
    if place:
        return _Parts(
            subject,
            "where",
            rest[place.end() :].strip() if place[0] in ("in", "at", "on") else rest,
            positive=positive,
            ends=ends,
            past=past,
        )
    return _Parts(subject, "is", rest, positive=positive, ends=ends, past=past)


def _pair(clause: str) -> _Parts | None:
    """ "max retries = 5", "api-port: 8081", "host -> kestrel"."""
    match = re.fullmatch(
        r"(?P<key>[\w.'\- /]{1,80}?)\s*(?:=|(?<!\d):(?!//)|->|→|:=)\s*(?P<value>\S.*)", clause
    )
    return (
        _Parts(match["key"], "is", match["value"])
        if match and len(match["key"].split()) <= 6
        else None
    )


def _by_unknown_verb(clause: str) -> _Parts | None:
    """A verb that the table lacks, found by its form: of what it says there may be several."""
    first = _FIRST_PERSON.match(clause)
    for match in _UNKNOWN.finditer(clause):
        subject = clause[: match.start()].strip()
        plural = bool(first) and first is not None and subject == first[0]
        formed = match["verb"].endswith(("s", "ed")) and not match["verb"].endswith(
            ("ss", "us", "is")
        )
        if not (
            plural or ((formed or match["aux"].strip()) and not _NO_SUBJECT_END.search(subject))
        ):
            continue
        auxiliary = f" {match['aux']}"
        positive = not re.search(r" (?:not|never|no longer|stopped) ", auxiliary)
        ends = bool(re.search(r" (?:no longer|stopped) ", auxiliary))
        past = match["verb"].endswith("ed") or " did " in auxiliary
        return _Parts(
            subject,
            f"to {stem(match['verb'])}",
            clause[match.end() :].strip(),
            positive=positive,
            ends=ends,
            past=past,
            single=False,
        )
    return None


def _named_only(clause: str) -> _Parts | None:
    """A key alone, with nothing said of it."""
    words = clause.split()
    return (
        _Parts(clause, "is", "")
        if 0 < len(words) <= 6 and re.fullmatch(r"[\w.'\- /]+", clause)
        else None
    )


_CORRECTED = re.compile(
    r"(?P<value>.+?),? (?:instead of|rather than|in place of|and not|and no longer|but not|up"
    r" from|down from|no longer) (?P<old>.+)|"
    r"(?P<value2>.+?), (?:not|was|formerly|previously) (?P<old2>.+)|(?P<value3>.+?)"
    r" \((?:was|not|formerly|previously|before:?|instead of|up from|"
    r"down from) (?P<old3>[^()]+)\)|not (?P<old4>.+?),? but (?P<value4>.+)"
)
_SCOPE = re.compile(
    r" (?:for|during|in case of|when it comes to) (?P<scope>(?!\w*\d)(?!\S.* and )[a-z][\w' -]*)$"
)


def _value_parts(text: str) -> tuple[str, str, str]:
    """A value without what it replaces and what it is for."""
    value = text.strip(" ,.:")
    given_up = ""
    match = _CORRECTED.fullmatch(value)
    if match:
        found = [part for part in match.groups() if part]
        value, given_up = (found[1], found[0]) if match["old4"] else (found[0], found[1])
    value = _TAIL.sub("", value)
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
    return value.strip(" ,.:"), given_up.strip(" ,.:"), scope


def _by_value(
    key: frozenset[str], predicate: str, value: StatedValue, *, is_property: bool
) -> tuple[frozenset[str], str]:
    """What a value tells of its predicate: "is at 10:00" says when, "is 2 m long" the length,
    "weighs 3 kg" needs nothing more."""
    timed = value.type in ("date", "time", "weekday")
    if predicate in ("where", "is", "home") and timed:
        return key, "when" if predicate != "home" else ANY
    if (
        predicate == "when"
        and value.type == "text"
        and not re.match(r"(?:every|each|daily|weekly|hourly|monthly|once|twice)\b", value.text)
    ):
        return key, "where"
    if value.type == "amount":
        measure = next(
            (_MEASURE_STEMS[word] for word in value.beside if word in _MEASURE_STEMS), ""
        )
        if measure == "age":
            return key, "age"
        if measure:
            return key | {measure}, "is"
        if predicate == "is" and value.sort == "money" and not is_property:
            return key, "price"
        key |= {SPELLINGS.get(word, word) for word in value.beside}
        if predicate in ("is", "has", "contains"):
            return key, "is"
        if predicate == "duration" and value.dimension != "duration":
            return key, "takes"
        if predicate == "home":
            return key, ANY
    if predicate == "is" and value.type == "text" and re.match(r"an? ", value.text) and not timed:
        return key, "kind"
    return key, predicate
