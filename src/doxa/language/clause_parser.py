"""The forms of an English clause, tried in order: "A replaced B", "we moved X to Y", "X is Y",
"key: value". The first that fits divides the clause into subject, predicate and value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doxa.base.calendar_names import MONTHS, WEEKDAYS, alternatives
from doxa.base.patterns import lazy_re
from doxa.base.words import stem
from doxa.language.predicates import ANY, NOUNS, SPELLINGS, VERBS, VerbForm, is_state
from doxa.language.subjects import PROPERTIES
from doxa.language.verbs import (
    BASE_FORMS,
    NO_SUBJECT_END,
    POSSESSIVE,
    PRONOUN,
    find_verb,
    match_verb,
)

_NOT = lazy_re(r"\b(?:not|never|no longer|no|neither|nobody|none|without)\b")
_UNKNOWN = lazy_re(
    r"(?<=\s)(?P<aux>(?:(?:does|do|did|not|never|no longer|also|still|always|only|now|stopped|has"
    r"|have) )*)(?P<verb>[a-z]{3,})(?= |$)"
)
_FIRST_PERSON = lazy_re(r"(?:I|[Ww]e|[Tt]hey|[Yy]ou)\b")
_PREDICATE_OF_VERB = {
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


_ON_PORT = lazy_re(r"on (?:port )?\d{3,5}$")
_ON_PRODUCT = lazy_re(r"on [A-Z][\w.+#-]*(?: [\dv][\w.]*)$|on [A-Z][a-z]*[A-Z]\w*$")
_CALENDAR = lazy_re(
    rf"\b(?:{alternatives(MONTHS, capitals=True)}|{alternatives(WEEKDAYS, capitals=True)})"
)
_REPLACING = lazy_re(r"replac|succeed|swapped|exchanged| over ")
_ANYBODY = lazy_re(r"(?:some|any|every|no)(?:body|one)\b|(?:he|she|they|I|we|you) ", re.I)
_MAKE_THAT = lazy_re(r"(?:[Mm]ake|[Cc]all) (?:that|it) (?P<value>\S*\d.*)")
_OFFICE = lazy_re(r"(?:in )?the (?:position|role|part|rank|office|post) of (?=\S)")
_OF_NAME = lazy_re(r"(?P<by>for|under|against|with|at|in) (?=[A-Z])")
_WENT = lazy_re(r"\b(?:went|gone|goes) to\b")
_SOMEBODY = lazy_re(r"(?:me|us|him|her|them|you)$")
_DONE = (
    r"\w+ed|born|built|made|written|drawn|taken|known|sold|bought|held|kept|led|run|shot|cast"
    r"|found|grown|set|spoken|sung|taught|worn|won|put|told|shown|given|lost|paid|sent"
)
_RELATION = lazy_re(
    rf"(?P<done>{_DONE}) (?P<by>in|by|at|on|from|after|as|with|for|to|into|under|near|of)"
    r" (?P<value>(?:the |an? )?[A-Z\d].*?)(?: (?:by|in|on|at|from|with|for|as) .*)?"
    r"|(?:an?|the) (?P<noun>[a-z]+(?: [a-z]+)?) (?P<of>of|for|at|with|from|to|in) (?P<whom>[A-Z].*)"
)


@dataclass(frozen=True, slots=True)
class ClauseParts:
    """The parts of a clause, before its words are normalised."""

    subject: str
    predicate: str
    value: str
    positive: bool = True
    ends: bool = False
    change: bool = False
    past: bool = False
    given_up: str = ""
    single: bool = True
    unasserted: str = ""
    known: bool = True
    history: bool = False


def parse_clause(clause: str) -> ClauseParts | None:
    for reader in (
        _made_that,
        _resigned,
        _replaced,
        _married_or_divorced,
        _set_to,
        _switched_from,
        _there_is,
        _done_by_us,
        _name_of,
        _has_called,
        _has_new,
        _left_for,
        by_verb,
        _moved_to,
        _key_and_value,
        by_unknown_verb,
    ):
        parts = reader(clause)
        if parts is not None:
            return parts
    return _subject_only(clause)


def _made_that(clause: str) -> ClauseParts | None:
    """Read "make that $150,000" as a new value of what was said before."""
    match = _MAKE_THAT.fullmatch(clause)
    return ClauseParts("it", "is", match["value"], change=True) if match else None


def _resigned(clause: str) -> ClauseParts | None:
    """Read "Bill stepped down as CEO of Initech": Bill no longer holds that office."""
    if " as " not in clause:
        return None
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has |have )?(?:stepped down|resigned|retired|stood down|was removed"
        r"|is out) as (?P<what>.+)",
        clause,
    )
    return (
        ClauseParts(match["what"], "is", match["who"], positive=False, ends=True, change=True)
        if match
        else None
    )


def _replaced(clause: str) -> ClauseParts | None:
    """Read "We replaced A with B in the shop", "B replaced A in the shop", "B took over the team
    from A"."""
    if not _REPLACING.search(clause):
        return None
    match = re.fullmatch(
        r"(?P<who>.+?) (?:have |has )?(?:replaced|swapped|exchanged) (?P<old>.+?) (?:with|by|for)"
        r" (?P<new>.+?)(?: (?:in|on|for|at) (?P<what>.+))?",
        clause,
    )
    if match:
        return ClauseParts(
            match["what"] or match["who"], ANY, match["new"], change=True, given_up=match["old"]
        )
    match = re.fullmatch(
        r"(?P<old>.+?) (?:is|was|has been|have been|got|gets) (?:replaced"
        r"|succeeded) by (?P<new>.+?)(?: as (?P<role>.+?))?(?: (?:in|on|at|of) (?P<what>.+))?",
        clause,
    )
    if match:
        what = " of ".join(part for part in (match["role"], match["what"]) if part)
        return ClauseParts(
            what or match["old"], ANY, match["new"], change=True, given_up=match["old"]
        )
    match = re.fullmatch(
        r"(?P<new>.+?) (?:has |have )?(?:replaced|replaces|succeeded"
        r"|succeeds) (?P<old>.+?)(?: as (?P<role>.+?))?(?: (?:in|on|at|of) (?P<what>.+))?",
        clause,
    )
    if match:
        what = " of ".join(part for part in (match["role"], match["what"]) if part)
        return ClauseParts(
            what or match["new"], ANY, match["new"], change=True, given_up=match["old"]
        )
    match = re.fullmatch(
        r"(?P<new>.+?) (?:has |have )?(?:took|taken|takes) over"
        r" (?:from (?P<old>.+?) )?(?:as )?(?P<what>.+?)(?: from (?P<old2>.+))?",
        clause,
    )
    old = (match["old"] or match["old2"] or "") if match else ""
    return (
        ClauseParts(match["what"], ANY, match["new"], change=True, given_up=old) if match else None
    )


def _married_or_divorced(clause: str) -> ClauseParts | None:
    if " and " not in clause:
        return None
    match = re.fullmatch(
        r"(?P<one>.+?) and (?P<other>.+?) (?:have |are )?(?:got |been )?(?P<how>divorced|separated"
        r"|split up|broke up|married)",
        clause,
    )
    if match is None:
        return None
    return ClauseParts(
        match["one"],
        "spouse",
        match["other"],
        change=True,
        positive=match["how"] == "married",
        ends=match["how"] != "married",
    )


SETTERS = (
    r"changed|changes|set|sets|increased|raised|lowered|reduced|decreased|bumped|updated|renamed"
    r"|moved|migrated|switched|cut|extended|shortened|pushed back|pushed|shifted|postponed"
    r"|rescheduled|delayed|upgraded|converted|ported|brought forward|brought|reassigned"
    r"|handed over|handed|transferred|painted|repainted|put|slipped|hiked|dropped|slid|advanced"
)
_SET_TO = lazy_re(
    r"(?P<who>(?:(?!\bto\b)\S+ ){0,5}?\S+) (?:have |has |had |just |now "
    rf"|finally )*(?P<verb>{SETTERS}) (?P<what>(?:(?!to\b|from\b|until\b"
    r"|back\b)\S+ ){1,9}?)(?:back |over |forward |up |down )?(?:from (?P<old>.{1,60}?) )?(?:to"
    r"|until) (?P<value>.+)"
)
_WAS_SET = lazy_re(
    rf"(?P<what>.+?) (?:(?:is|are|was|were|has|have|been|got|being) )*(?:{SETTERS}|gone|went|goes"
    r"|rose|fell|grew|switched|changed)(?: back| over| up| down"
    r"| forward)?(?: from (?P<old>.{1,60}?))? (?:to|until) (?P<value>.+)"
)


def _set_to(clause: str) -> ClauseParts | None:
    """Read "We moved the launch from Monday to Friday", "they raised the rent to 960 euros", "Ana
    renamed her cat to Miso"."""
    if " to " not in clause and " until " not in clause:
        return None
    match = _SET_TO.fullmatch(clause)
    if match is None or NO_SUBJECT_END.search(match["who"]):
        return None
    denied = _NOT.search(match["who"].casefold())
    if denied is None and _NOT.search(match[0]):
        return None
    predicate = (
        "name"
        if match["verb"] == "renamed"
        else "assignee"
        if match["verb"] in ("reassigned", "handed over")
        else ANY
    )
    what = match["what"].strip()
    if _SOMEBODY.match(what):
        return None
    owner = match["who"].removesuffix(" have").removesuffix(" has")
    if (
        re.match(r"(?:my|our|his|her|their|its)\b", what, re.I)
        and not PRONOUN.match(owner)
        and owner not in ("I", "We", "we")
    ):
        what = f"{owner}'s {POSSESSIVE.sub('', what).strip()}"
    return ClauseParts(
        what,
        predicate,
        match["value"],
        change=True,
        given_up=match["old"] or "",
        unasserted="denied" if denied else "",
    )


def _switched_from(clause: str) -> ClauseParts | None:
    """Read "We switched from A to B", "the meeting was moved from Monday to Friday": the subject
    before the verb has a new value."""
    if " from " not in clause:
        return None
    match = _WAS_SET.fullmatch(clause)
    if match is None or not match["old"] or _NOT.search(match[0]):
        back = re.fullmatch(
            rf"(?P<what>.+?) (?:(?:has|have|was|were|got) )*(?:{SETTERS}|gone|went)(?: back|"
            r" over)? to (?P<value>.+?) from (?P<old>.+)",
            clause,
        )
        return (
            ClauseParts(
                back["what"],
                _moved(clause, back["what"]),
                back["value"],
                change=True,
                given_up=back["old"],
            )
            if back and not _NOT.search(clause)
            else None
        )
    return ClauseParts(
        match["what"],
        _moved(clause, match["what"]),
        match["value"],
        change=True,
        given_up=match["old"],
    )


def _moved(clause: str, who: str) -> str:
    """Return the predicate of a move: "I moved from Bonn to Ulm" states a home, "we moved the
    launch from Monday to Friday" the new value of anything."""
    person = _FIRST_PERSON.match(who) is not None and " moved " in clause
    return "home" if person else ANY


def _moved_to(clause: str) -> ClauseParts | None:
    """Read "the launch slipped to Friday": a change whose verb the table does not list."""
    match = _WAS_SET.fullmatch(clause) if " to " in clause or " until " in clause else None
    if match is None or _NOT.search(clause) or NO_SUBJECT_END.search(match["what"]):
        return None
    if _WENT.search(clause):
        return None
    return ClauseParts(match["what"], ANY, match["value"], change=True)


def _there_is(clause: str) -> ClauseParts | None:
    """Read "There are five chairs in the hall"."""
    if not clause.startswith(("There ", "there ")):
        return None
    match = re.fullmatch(
        r"[Tt]here (?P<verb>is|are|was|were) (?P<not>no longer |not )?(?P<value>.+?)(?: (?:in|on"
        r"|at) (?P<what>.+))?",
        clause,
    )
    if match is None:
        return None
    return ClauseParts(
        match["what"] or "",
        "has",
        match["value"],
        positive=not match["not"],
        past=match["verb"].startswith("w"),
        ends=bool(match["not"]),
    )


def _done_by_us(clause: str) -> ClauseParts | None:
    """Read "We host the shop on Heroku" as a statement about the shop's hosting."""
    match = re.fullmatch(
        r"(?:We|we|They|they|I) (?P<not>do not |no longer )?(?P<verb>host|deploy|run|serve|keep"
        r"|store|save|write|build|hold|have|call) (?P<what>(?:the|our|my|all"
        r"|their) [^,]+?) (?:(?:on|in|at|with|by|using|from) )?(?P<value>(?<=on )\S.*|(?<=in )\S.*"
        r"|(?<=at )\S.*|(?<=with )\S.*|(?<=using )\S.*|Q\dQ)",
        clause,
    )
    if match is None:
        return None
    return ClauseParts(
        match["what"],
        _PREDICATE_OF_VERB[match["verb"]],
        match["value"],
        positive=not match["not"],
        ends=bool(match["not"]),
    )


def _name_of(clause: str) -> ClauseParts | None:
    """Read "Victoria is the name of our server" as the server's name, "Hana is the lead of the
    team" as the team's lead."""
    match = re.fullmatch(
        r"(?P<value>[A-Z0-9][^,]{0,60}?) (?P<verb>is|was|became|remains)(?P<not> not"
        r"| no longer)? (?P<what>(?:(?:the|our|my"
        r"|[A-Z]\w+'s) )?(?:new )?(?P<noun>[\w-]+(?: [\w-]+)?)(?: (?:of|for) .+)?)",
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
    return ClauseParts(
        match["what"].replace("new ", "", 1),
        "is",
        match["value"],
        positive=not match["not"],
        ends=(match["not"] or "") == " no longer",
        change=became,
        past=match["verb"] == "was",
        single=known,
    )


def _has_called(clause: str) -> ClauseParts | None:
    """Read "Ruth has a son called Max" as the name of a son, of whom there may be several."""
    if "called" not in clause and "named" not in clause:
        return None
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has|have|had) an? (?P<what>[\w -]{2,40}?) (?:called|named) (?P<value>.+)",
        clause,
    )
    if match is None:
        return None
    owner = {"I": "my", "We": "our", "we": "our"}.get(match["who"], f"{match['who']}'s")
    return ClauseParts(f"{owner} {match['what']}", "name", match["value"], single=False)


def _has_new(clause: str) -> ClauseParts | None:
    """Read "the bakery has a new manager: Paulo", "Rita renamed her dog Max"."""
    if " new " not in clause and "renamed" not in clause:
        return None
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has|have|got|have got|has got|hired|chose|elected|appointed) an? new"
        r" (?P<what>[\w -]{2,40}?)(?::|,| called| named) (?P<value>.+)",
        clause,
    )
    if match:
        owner = {"I": "my", "We": "our", "we": "our"}.get(match["who"], f"{match['who']}'s")
        return ClauseParts(f"{owner} {match['what']}", "is", match["value"], change=True)
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has |have )?renamed (?P<what>(?:his|her|their|my|our|the"
        r"|its) [\w -]{2,40}?)"
        r"(?: as)? (?P<value>[A-Z]\S*)",
        clause,
    )
    if match is None:
        return None
    what = match["what"]
    if re.match(r"(?:his|her|their|its)\b", what):
        what = f"{match['who']}'s {POSSESSIVE.sub('', what).strip()}"
    return ClauseParts(what, "name", match["value"], change=True)


def _left_for(clause: str) -> ClauseParts | None:
    """Read "Marco left Siemens for Bosch" as a new employer."""
    if " left " not in clause and " quit " not in clause:
        return None
    match = re.fullmatch(
        r"(?P<who>.+?) (?:has |have )?(?:left|quit) (?P<old>[A-Z][^,]{1,40}?) (?:for|to join)"
        r" (?P<value>[A-Z].*)",
        clause,
    )
    return (
        ClauseParts(match["who"], "work", match["value"], change=True, given_up=match["old"])
        if match
        else None
    )


def by_verb(clause: str) -> ClauseParts | None:
    match = find_verb(clause)
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
        return ClauseParts(subject, "is", match[str(match.lastgroup)], positive=positive, ends=ends)
    verb = VERBS[int(str(match.lastgroup)[1:])][1]
    again = re.match(r"(?:not|never|no longer|no|only) ", rest)
    if again and again[0] != "only ":
        positive, rest = not positive, rest[again.end() :]
    if verb.inverse:
        return ClauseParts(
            rest,
            verb.predicate.name,
            subject,
            positive=positive,
            ends=ends,
            past=past,
            change=verb.change,
        )
    used = verb.predicate.name
    office, of_name = _OFFICE.match(rest), _OF_NAME.match(rest)
    if office:  # "plays the position of goalkeeper"
        used, rest = "role", rest[office.end() :]
    elif of_name and not verb.predicate.single and not verb.ends:  # "plays for Chelsea"
        return ClauseParts(
            subject,
            f"{used} {of_name['by']}",
            rest[of_name.end() :],
            positive=positive,
            ends=ends,
            past=past,
            single=False,
            known=False,
        )
    used = "work" if used == "holder" and ends else used  # "is no longer with Acme"
    past = (past and used not in ("birthday", "birthplace")) or _is_past(
        match[str(match.lastgroup)], verb
    )
    return ClauseParts(
        subject,
        used,
        rest,
        positive=positive != verb.ends,
        ends=ends or verb.ends,
        past=past,
        change=verb.change,
        unasserted=_denied(clause, verb, positive=positive, ends=ends),
    )


def _denied(clause: str, verb: VerbForm, *, positive: bool, ends: bool) -> str:
    """Return "denied" for a change that did not happen: "has not moved to Ulm" leaves open where
    the subject lives. "after all" takes a change back that was reported."""
    denied = verb.change and not positive and not ends and "after all" not in clause
    return "denied" if denied else ""


def _is_past(text: str, verb: VerbForm) -> bool:
    """Return whether a verb in the past tense describes a habit, which need not hold now."""
    return (
        not verb.change
        and not verb.ends
        and re.match(r"(?:lived|worked|used|liked|loved|owned|resided)\b", text) is not None
    )


def _by_copula(
    subject: str, rest: str, *, positive: bool, ends: bool, past: bool, able: bool, negated: bool
) -> ClauseParts:
    if able:
        return ClauseParts(subject, "can", rest, positive=not negated, ends=ends)
    if rest in ("not", "no longer", "never"):
        return ClauseParts(subject, "is", "", positive=False, past=past, unasserted="denied")
    while word := re.match(
        r"(?:(?P<not>not|never|no longer|no) |also |only |still |really |always |about |exactly "
        r"|both |back (?=in|at|on))",
        rest,
    ):
        positive, ends = (
            (not positive if word["not"] else positive),
            ends or word["not"] == "no longer",
        )
        rest = rest[word.end() :]
    inner = match_verb(f" {rest}", 1)
    if (
        inner is not None
        and not is_state(rest)
        and inner.lastgroup not in (None, "copula", "able")
        and inner.lastgroup
        and inner.lastgroup.startswith("v")
        and inner[inner.lastgroup] not in BASE_FORMS
    ):
        verb = VERBS[int(inner.lastgroup[1:])][1]
        return ClauseParts(
            subject,
            verb.predicate.name,
            rest[inner.end() - 1 :].strip(),
            positive=positive != verb.ends,
            ends=ends or verb.ends,
            change=verb.change,
            past=past,
        )
    if _ON_PORT.match(rest):
        return ClauseParts(subject, "port", rest[3:].removeprefix("port "), positive=positive)
    if _ON_PRODUCT.match(rest) and not _CALENDAR.search(rest):
        return ClauseParts(subject, "runs on", rest[3:], positive=positive, ends=ends, past=past)
    relation = _RELATION.fullmatch(rest)
    if relation:
        return _by_relation(subject, relation, positive=positive, ends=ends, past=past)
    place = re.match(r"(?:in|at|on|by|inside|near|within|under|behind)(?= )", rest)
    if place:
        return ClauseParts(
            subject,
            "where",
            rest[place.end() :].strip() if place[0] in ("in", "at", "on") else rest,
            positive=positive,
            ends=ends,
            past=past,
        )
    return ClauseParts(subject, "is", rest, positive=positive, ends=ends, past=past)


def _by_relation(
    subject: str, relation: re.Match[str], *, positive: bool, ends: bool, past: bool
) -> ClauseParts:
    """Read a relation that the table does not list: "is a citizen of Peru", "was founded in
    1990". What was done once still holds."""
    done = relation["done"]
    name = f"{done or relation['noun']} {relation['by'] if done else relation['of']}"
    return ClauseParts(
        subject,
        name,
        relation["value"] if done else relation["whom"],
        positive=positive,
        ends=ends,
        past=past and not done,
        single=False,
        known=False,
    )


def _key_and_value(clause: str) -> ClauseParts | None:
    """Read "max retries = 5", "api-port: 8081", "host -> kestrel"."""
    if _ANYBODY.match(clause):
        return None
    match = re.fullmatch(
        r"(?P<key>[\w.'\- /]{1,80}?)\s*(?:=|(?<!\d):(?!//)|->|→|:=)\s*(?P<value>\S.*)", clause
    )
    return (
        ClauseParts(match["key"], "is", match["value"])
        if match and len(match["key"].split()) <= 6
        else None
    )


def by_unknown_verb(clause: str) -> ClauseParts | None:
    """Read a clause whose verb is not in the table but is recognised by its form. The subject may
    have several such values."""
    first = _FIRST_PERSON.match(clause)
    for match in _UNKNOWN.finditer(clause):
        subject = clause[: match.start()].strip()
        plural = bool(first) and first is not None and subject == first[0]
        formed = match["verb"].endswith(("s", "ed")) and not match["verb"].endswith(
            ("ss", "us", "is")
        )
        if not (
            plural or ((formed or match["aux"].strip()) and not NO_SUBJECT_END.search(subject))
        ):
            continue
        auxiliary = f" {match['aux']}"
        positive = not re.search(r" (?:not|never|no longer|stopped) ", auxiliary)
        ends = bool(re.search(r" (?:no longer|stopped) ", auxiliary))
        past = match["verb"].endswith("ed") or " did " in auxiliary
        return ClauseParts(
            subject,
            f"to {stem(match['verb'])}",
            clause[match.end() :].strip(),
            positive=positive,
            ends=ends,
            past=past,
            single=False,
            known=False,
        )
    return None


def _subject_only(clause: str) -> ClauseParts | None:
    """Read a subject alone, without a value."""
    words = clause.split()
    return (
        ClauseParts(clause, "is", "")
        if 0 < len(words) <= 6 and re.fullmatch(r"[\w.'\- /]+", clause)
        else None
    )
