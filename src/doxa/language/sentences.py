"""Split text into plain sentences, and read what qualifies a sentence: whether it reports a change,
an addition, or asserts nothing.

    "Wait, it's now 9090!"   ->  "it is 9090", a change
    "I might move to Ulm."   ->  not asserted: only possible
    > The port is 9090.      ->  not asserted: quoted

Text in quotation marks becomes one word (Q0Q, Q1Q), so that it is not parsed as part of the
sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{1,400})[\"”»]")
_CONTRACTED = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"[‘’]", "'"),
        (r"\b([Cc])an(?:not|'t)\b", r"\1an not"),
        (r"\b([Ww])on't\b", r"\1ill not"),
        (r"\b(\w+)n't\b", r"\1 not"),
        (r"\bI'm\b", "I am"),
        (r"\b([Ii]t|[Tt]hat|[Hh]e|[Ss]he|[Tt]here|[Hh]ere)'s\b", r"\1 is"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(I|[Yy]ou|[Hh]e|[Ss]he|[Ww]e|[Tt]hey)'d\b", r"\1 would"),
        (
            (
                r"\b(\w+)'s (?=(?:now|moved|left|joined|quit|switched|based|working|living|called"
                r"|allergic|not|no longer|been|got|started)\b)"
            ),
            r"\1 is ",
        ),
        (r"\bNo\. (?=\d)", "No "),
        (r"\b(Dr|Mr|Mrs|Ms|Prof|St)\. (?=[A-Z])", r"\1 "),
        (r"\b([A-Z])\. (?=[a-z])", r"\1 "),
    )
)
_ENDS = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]*[A-Z\d])|\s*;\s+|\s*\n+\s*|\s+[–—]\s+")
_OPENING = re.compile(
    r"(?:(?:no|yes|wait|no wait|sorry|oh|hm+|ok|okay|well|so|and|but|also|then|actually|correction"
    r"|update|updated|edit|note|fyi|btw|by the way|news|in fact|turns out|it turns out"
    r"|as it turns out|please note|please remember|remember|reminder|important|attention|heads up"
    r"|note that|it is true|to be clear|for the record|scratch that|good news|bad news"
    r"|unfortunately|luckily|finally|strictly speaking|in the end"
    r"|after all)(?:(?: that)?[,:.!]+\s*| that\s+)|(?:also|and|but|so|then|actually|finally) )+",
    re.IGNORECASE,
)
_NEW = (
    r"from now on|from today(?: on)?|from tomorrow(?: on)?|these days|nowadays|now|any ?more"
    r"|any longer|currently|at present|at the moment|by now|as of (?:now|today|\w+day|(?:this|last"
    r"|next) \w+)|effective immediately|instead|meanwhile|in the meantime"
)
_WHEN = (
    r"(?:last|this|earlier this) (?:week|month|year|spring|summer|autumn|winter|\w+day|morning"
    r"|evening|night)|yesterday|recently|lately|just|already|finally|after all|again|in fact"
    r"|actually|officially|eventually|a (?:week|month|year) ago|\w+ (?:days|weeks|months"
    r"|years) ago|too|as well|in the end"
)
_FRONT = re.compile(
    rf"(?:(?P<new>{_NEW})|{_WHEN}|since [^,]{{2,30}}|as of [^,]{{2,30}}"
    r"|starting [^,]{2,30}),?\s+(?=\S)",
    re.IGNORECASE,
)
_INSIDE_NEW = re.compile(rf",?\s*\b(?:{_NEW})\b(?!-)", re.IGNORECASE)
_INSIDE_WHEN = re.compile(rf",?\s*\b(?:{_WHEN})\b(?=[\s,.!]|$)", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?\s*$|^(?:should|could|would|is|are|was|were|do|does|did|can|shall|what|where|who|whom"
    r"|whose|which|why|how|if|unless|whether|suppose|supposing|imagine|let us|let's|assuming"
    r"|in case|provided|please|when(?:ever)?|once|had|may (?=[a-z]))\b(?! not only)",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:might|would|could|should|ought|shall|must|maybe|perhaps|possibly|probably|likely"
    r"|supposedly|apparently|allegedly|presumably|hopefully|almost|nearly|if|unless|whether"
    r"|plan(?:s|ned)? to|planning (?:to|on)|hop(?:es?|ing) (?:to|that)|want(?:s|ed)?\b(?=.*\bto\b)"
    r"|wish(?:es)?|intends?|consider(?:s|ed|ing)?|thinking (?:of|about)|think|thinks|thought"
    r"|dreams?|dreamt|dreaming|about to|tempted|propos(?:es|ed|ing)|suggest(?:s|ed|ing)?"
    r"|recommend(?:s|ed)?|appl(?:y|ies|ied|ying) (?:for|to)|interview(?:s|ed|ing)?|hypothetically"
    r"|not sure|unsure|guess|rumou?rs?|as if|for example|e\.g\.|supposed to|going to|not yet|tried"
    r"|trying|tries|looking (?:for|into|at)|hardly|expects?|expected to|can not decide|need(?:s"
    r"|ed)? to|has to|have to|had to|used to be able|pretend(?:s|ed)?|forgot|refused?|offered"
    r"|asked? for|compar(?:es|ed|ing)|evaluat\w+|test(?:s|ed|ing)? (?:out )?(?=[A-Z])|toy(?:s|ed"
    r"|ing)|wonder(?:s|ed|ing)?|fear(?:s|ed)? that|am afraid(?! of)|pray\w*|will (?:soon|probably"
    r"|maybe|move|join|leave|switch|become|migrate|start|stop|change|be (?:moving|leaving|joining"
    r"|switching|changing)))\b|\bmay (?=[a-z])"
)
_REPORTED = re.compile(
    r"\b(?:said|says?|told|tells?|claim(?:s|ed)?|heard|hear|reports? that|reported|according to"
    r"|ask(?:s|ed)|wrote|writes that|announced that|believes?|believed|assum(?:es?|ed)|suspects?"
    r"|doubts?|doubted|denies|denied|mention(?:s|ed)|insists?|swears?|alleges?|jok(?:es|ed)"
    r"|replied|shouted|quot(?:es|ed)|reads [\"Q]|stated that|warned|argued|read that"
    r"|in the (?:story|novel|film|movie|book|song|play|game|dream|example))\b"
)
_BESIDES = re.compile(
    r"\b(?:also|too|as well|additionally|in addition|besides|another|a second|a third|one more"
    r"|sometimes|occasionally|part-time|temporarily)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain sentence with its quotations. `unasserted` says why it asserts nothing, or is
    empty."""

    text: str
    quotes: tuple[str, ...]
    unasserted: str


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text without control characters and contractions, each quotation
    replaced by one word such as Q0Q."""
    plain = "".join(
        " "
        if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Zs") and char != "\n"
        else char
        for char in unicodedata.normalize("NFKC", text)
    )
    for pattern, words in _CONTRACTED:
        plain = pattern.sub(words, plain)
    for part in _ENDS.split(plain):
        sentence = " ".join(part.split())
        if not re.search(r"\w", sentence):
            continue
        quotes: list[str] = []

        def hide(match: re.Match[str], into: list[str] = quotes) -> str:
            into.append(match[1])
            return f"Q{len(into) - 1}Q"

        quoting = sentence.startswith(">")
        sentence = _QUOTED.sub(hide, sentence.lstrip("> -*•"))
        opened = _OPENING.match(sentence)
        sentence = sentence[opened.end() :] if opened and opened.end() < len(sentence) else sentence
        yield Sentence(
            sentence,
            tuple(quotes),
            "it is a quotation" if quoting else _unasserted(sentence),
        )


def _unasserted(sentence: str) -> str:
    if _QUESTION.search(sentence):
        return "it is a question or a supposition"
    if _REPORTED.search(sentence):
        return "it reports what somebody said"
    if _MODAL.search(sentence) or _MODAL.search(sentence[:1].lower() + sentence[1:]):
        return "it is a possibility, not a fact"
    return ""


def without_times(clause: str) -> tuple[str, bool]:
    """Remove words that only say since when; also return whether they indicate a change."""
    change = False
    while match := _FRONT.match(clause):
        change = (
            change
            or bool(match["new"])
            or match[0].lower().startswith(("since", "as of", "starting"))
        )
        clause = clause[match.end() :]
    bare = (
        _INSIDE_NEW.sub("", clause)
        if not re.search(r"\binstead of\b", clause)
        else _INSIDE_NEW.sub(lambda m: m[0] if "instead" in m[0] else "", clause)
    )
    change = change or bare != clause
    shorter = _INSIDE_WHEN.sub("", bare)
    return (shorter.strip(" ,") or clause), change


def says_besides(clause: str) -> bool:
    """Return whether a clause says that something holds in addition, not instead."""
    return _BESIDES.search(clause) is not None
