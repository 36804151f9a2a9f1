"""Locate the verb of a clause, which separates its subject from what it states."""

from __future__ import annotations

import re
from functools import lru_cache

from doxa.base.patterns import lazy_re
from doxa.language.predicates import VERBS

_AUXILIARY = (
    r"(?:is|are|was|were|am|be|been|being|has|have|had|do|does|did|will|got|gets|not|never"
    r"|no longer|also|just|really|always|only|still|already|officially|both|all|used to|usually"
    r"|mostly|mainly|normally|(?:stopped|quit)(?= \w+ing)|now|currently|get|no)"
)
_COPULA = r"is|are|was|were|am|will be|has been|have been|became|becomes|remains|stays|equals"
_START = rf"(?<=\s)(?P<aux>(?:{_AUXILIARY} )*)(?:"
_END = rf"can(?: not| never)?(?P<able>)(?= [a-z])|(?P<copula>{_COPULA}))(?![\w'-])"
FINITE = lazy_re(_START + "".join(f"(?P<v{i}>{text})|" for i, (text, _) in enumerate(VERBS)) + _END)
_COPULAR = lazy_re(_START + _END)
_BE_BEFORE = lazy_re(r"(?:^|.* )(?:is|are|was|were|am|be|been)(?: (?:not|also|just|really))* $")
BASE_FORMS = frozenset(
    found for text, _ in VERBS for found in re.findall(r"(?<![a-z|])([a-z]+)s\?", f" {text}")
)
_WORD = lazy_re(r"(?<=\s)[a-z]+")


_FIRST = lazy_re(r"[a-z]+\??")
_NEXT = lazy_re(r"[a-z]+")
_AUXILIARIES = lazy_re(rf"(?:{_AUXILIARY} )*")


def _first_words(text: str) -> frozenset[str]:
    """Return the words that an expression can start with."""
    inner = re.match(r"\(\?:((?:[^()]|\([^()]*\))*)\)", text)
    words: set[str] = set()
    for part in inner[1].split("|") if inner else (text,):
        if found := _FIRST.match(part):
            words.add(found[0].removesuffix("?"))
            if found[0].endswith("?"):
                words.add(found[0][:-2])
    return frozenset(words)


_STARTS = [_first_words(text) for text, _ in VERBS]
_AUXILIARY_WORDS = frozenset(re.findall(r"[a-z]+", f"{_AUXILIARY} {_COPULA} can"))
_OPENINGS = _AUXILIARY_WORDS.union(*_STARTS)
_AMONG_AUXILIARIES = frozenset(i for i, words in enumerate(_STARTS) if words & _AUXILIARY_WORDS)


@lru_cache(maxsize=1_024)
def _finite_before(word: str) -> re.Pattern[str]:
    """Return the expression of `FINITE` with only the verbs that can stand where, after any
    auxiliaries, this word stands."""
    chosen = (
        f"(?P<v{i}>{text})|"
        for i, (text, _) in enumerate(VERBS)
        if word in _STARTS[i] or i in _AMONG_AUXILIARIES
    )
    return re.compile(_START + "".join(chosen) + _END)


def match_verb(clause: str, at: int) -> re.Match[str] | None:
    """Match `FINITE` at a position after whitespace."""
    run = _AUXILIARIES.match(clause, at)
    word = _NEXT.match(clause, run.end() if run else at)
    name = word[0] if word else ""
    return _finite_before(name if name in _OPENINGS else "").match(clause, at)


NO_SUBJECT_END = lazy_re(
    r"(?:'s|\b(?:the|a|an|my|our|his|her|their|its|your|of|and|or|to|from|in|on|at|for|with|this"
    r"|that|first|second|new|old|no|by|every))$",
    re.I,
)
PRONOUN = lazy_re(
    r"(?:he|she|it|they|this|that|these|those|you|him|her|them|one|there|here|everyone|everybody"
    r"|someone|somebody|nobody|which|who)$",
    re.I,
)
POSSESSIVE = lazy_re(r"(?:his|her|their|its|your|whose)\b", re.I)
_NOT_FINITE = lazy_re(
    r"\w+(?:ed|ing)\b|(?:run|led|held|kept|written|built|bound|born|set)"
    r" (?:by|at|in|on|for|to|with)\b|(?:held|born)\b|with\b|able\b|allergic\b|"
    r"fond\b|keen\b|familiar\b|fluent\b|part\b|a member\b|members\b|into\b|known\b|been\b"
)


def find_verb(clause: str) -> re.Match[str] | None:
    """Find the verb of a clause: the first that has a subject before it and no verb directly after
    it."""
    for word in _WORD.finditer(clause):
        if word[0] not in _OPENINGS:
            continue
        match = match_verb(clause, word.start())
        if match is not None and _is_after_be(match):  # "they are like family"
            match = _COPULAR.match(clause, word.start())
        if match is None:
            continue
        subject = clause[: match.start()].strip()
        rest = clause[match.end() :].lstrip()
        followed = _is_adjective(match) or (
            match["copula"] is None
            and re.match(r"(?:is|are|was|were|has|have|will|does|do)\b", rest) is not None
        )
        if (
            subject
            and (PRONOUN.match(subject) or not NO_SUBJECT_END.search(subject))
            and not followed
        ):
            return match
    return None


def _is_after_be(match: re.Match[str]) -> bool:
    """Return whether a form of be stands before a base form, which is then not the verb."""
    if not match["aux"] or match["copula"] or match["able"] is not None:
        return False
    return match[str(match.lastgroup)] in BASE_FORMS and _BE_BEFORE.match(match["aux"]) is not None


def _is_adjective(match: re.Match[str]) -> bool:
    """Return whether the match modifies a noun: "the job scheduled for Monday", "the contract with
    Acme". Such a word is a verb only after an auxiliary."""
    if match["copula"] or match["able"] is not None or match["aux"]:
        return False
    verb = VERBS[int(str(match.lastgroup)[1:])][1]
    return (
        not (verb.change or verb.ends or verb.inverse)
        and _NOT_FINITE.match(match[str(match.lastgroup)]) is not None
    )
