"""Text cut into plain sentences, and what a sentence says beside its matter: since when, whether
also, whether at all.

    "Wait, it's now 9090!"   ->  "it is 9090", said to be new
    "I might move to Ulm."   ->  the same words, but nothing is claimed: it says what may be
    > The port is 9090.      ->  quoted, so nothing is claimed either

What stands in quotation marks becomes one word (Q0Q, Q1Q), so that nothing in it is taken for a
part of the sentence.
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
                r"\b(\w+)'s"
                r" (?=(?:now|moved|left|joined|quit|switched|based|working|living|called|allergic|not|no"
                r" longer|been|got|started)\b)"
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
    r"(?:(?:no|yes|wait|no"
    r" wait|sorry|oh|hm+|ok|okay|well|so|and|but|also|then|actually|correction|update|updated|edit|note|fyi|btw|by"
    r" the way|"
    r"news|in fact|turns out|it turns out|as it turns out|please note|please"
    r" remember|remember|reminder|important|attention|heads up|note that|"
    r"it is true|to be clear|for the record|scratch that|good news|bad"
    r" news|unfortunately|luckily|finally|strictly speaking|in the end|after "
    r"all)(?:(?: that)?[,:.!]+\s*| that\s+)|(?:also|and|but|so|then|actually|finally) )+",
    re.IGNORECASE,
)
_NEW = (
    r"from now on|from today(?: on)?|from tomorrow(?: on)?|these days|nowadays|now|any ?more|any"
    r" longer|currently|at present|at the moment|by now|"
    r"as of (?:now|today|\w+day|(?:this|last|next) \w+)|effective immediately|instead|meanwhile|in"
    r" the meantime"
)
_WHEN = (
    r"(?:last|this|earlier this)"
    r" (?:week|month|year|spring|summer|autumn|winter|\w+day|morning|evening|night)|yesterday|recently|lately|just|"
    r"already|finally|after all|again|in fact|actually|officially|eventually|a (?:week|month|year)"
    r" ago|\w+ (?:days|weeks|months|years) ago|too|as "
    r"well|in the end"
)
_FRONT = re.compile(
    rf"(?:(?P<new>{_NEW})|{_WHEN}|since [^,]{{2,30}}|as of [^,]{{2,30}}|starting"
    r" [^,]{2,30}),?\s+(?=\S)",
    re.IGNORECASE,
)
_INSIDE_NEW = re.compile(rf",?\s*\b(?:{_NEW})\b(?!-)", re.IGNORECASE)
_INSIDE_WHEN = re.compile(rf",?\s*\b(?:{_WHEN})\b(?=[\s,.!]|$)", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?\s*$|^(?:should|could|would|is|are|was|were|do|does|did|can|shall|what|where|who|whom|whose|which|why|how|if|unless|whether|suppose|"
    r"supposing|imagine|let us|let's|assuming|in case|provided|please|when(?:ever)?|once|had|may"
    r" (?=[a-z]))\b(?! not only)",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:might|would|could|should|ought|shall|must|maybe|perhaps|possibly|probably|likely|supposedly|apparently|allegedly|presumably|hopefully|"
    r"almost|nearly|if|unless|whether|plan(?:s|ned)? to|planning (?:to|on)|hop(?:es?|ing)"
    r" (?:to|that)|want(?:s|ed)?\b(?=.*\bto\b)|wish(?:es)?|"
    r"intends?|consider(?:s|ed|ing)?|thinking"
    r" (?:of|about)|think|thinks|thought|dreams?|dreamt|dreaming|about"
    r" to|tempted|propos(?:es|ed|ing)|"
    r"suggest(?:s|ed|ing)?|recommend(?:s|ed)?|appl(?:y|ies|ied|ying)"
    r" (?:for|to)|interview(?:s|ed|ing)?|hypothetically|not sure|unsure|guess|"
    r"rumou?rs?|as if|for example|e\.g\.|supposed to|going to|not yet|tried|trying|tries|looking"
    r" (?:for|into|at)|hardly|expects?|expected to|can "
    r"not decide|need(?:s|ed)? to|has to|have to|had to|used to be"
    r" able|pretend(?:s|ed)?|forgot|refused?|offered|asked? for|compar(?:es|ed|ing)|"
    r"evaluat\w+|test(?:s|ed|ing)? (?:out"
    r" )?(?=[A-Z])|toy(?:s|ed|ing)|wonder(?:s|ed|ing)?|fear(?:s|ed)? that|am afraid(?!"
    r" of)|pray\w*|will "
    r"(?:soon|probably|maybe|move|join|leave|switch|become|migrate|start|stop|change|be"
    r" (?:moving|leaving|joining|switching|changing)))\b|\bmay "
    r"(?=[a-z])"
)
_REPORTED = re.compile(
    r"\b(?:said|says?|told|tells?|claim(?:s|ed)?|heard|hear|reports? that|reported|according"
    r" to|ask(?:s|ed)|wrote|writes that|announced that|"
    r"believes?|believed|assum(?:es?|ed)|suspects?|doubts?|doubted|denies|denied|mention(?:s|ed)|insists?|swears?|alleges?|jok(?:es|ed)|replied|"
    r"shouted|quot(?:es|ed)|reads [\"Q]|stated that|warned|argued|read that|in the"
    r" (?:story|novel|film|movie|book|song|play|game|dream|example))\b"
)
_BESIDES = re.compile(
    r"\b(?:also|too|as well|additionally|in addition|besides|another|a second|a third|one"
    r" more|sometimes|occasionally|part-time|temporarily)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """`unasserted` says why it claims nothing, or is empty."""

    text: str
    quotes: tuple[str, ...]
    unasserted: str


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences in plain form: no control characters, no contractions, what stands in quotation
    marks as one word Q0."""
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
            "it quotes what somebody said" if quoting else _unasserted(sentence),
        )


def _unasserted(sentence: str) -> str:
    if _QUESTION.search(sentence):
        return "it asks or supposes"
    if _REPORTED.search(sentence):
        return "it tells what somebody said"
    if _MODAL.search(sentence) or _MODAL.search(sentence[:1].lower() + sentence[1:]):
        return "it says what may be, not what is"
    return ""


def without_times(clause: str) -> tuple[str, bool]:
    """The clause without words that only say since when, and whether they say that something is
    new."""
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
    """Whether a clause says that something holds too, and not instead."""
    return _BESIDES.search(clause) is not None
