"""What a question asks for, read from its words alone. Pure.

    talk       words about the conversation itself ("can you list", "across our chats", "did I
               mention") are in no memory: they are removed from the question
    statement  a sentence that asks nothing ("I threw my old shoes away today"): the memories
               related to it are wanted, not those that share its words
    request    a wish for advice now ("can you suggest a hotel", "what should I read"): what the
               user likes and is bound by is wanted, which shares few words with it
    side       in a chat with an assistant, whose words are asked for: "what did I say" the user's,
               "what did you suggest" the assistant's

The patterns are English; a question in another language is left unchanged, and counts as a
question.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import terms
from doxa.recall import constants

_ADVERB = r"(?:please\s+|also\s+|just\s+|again\s+|ever\s+|already\s+|previously\s+|first\s+)?"
_TALK = (
    r"conversations?|chats?|sessions?|discussions?|messages?|questions?|talks?|exchanges?|history"
)
_SAY = (
    r"mention(?:ed)?|discuss(?:ed)?|talk(?:ed)?\s+about|(?:say|said)|(?:tell|told)(?:\s+(?:you|me))?"
    r"|cover(?:ed)?|(?:bring|brought)\s+up"
)
_ABOUT_THE_TALK = (
    rf"(?:^|(?<=[.!?,;])\s*)\W*(?:can|could|would|will)\s+you\s+{_ADVERB}(?:help\s+me\s+(?:to\s+)?)?(?:(?:give|provide|list|explain|describe)\b(?:\s+(?:me|us)\b)?)?",
    r"\b(?:please\s+)?(?:give|provide|tell|show|list|remind|walk)\s+(?:me|us)\s+(?:through\s+|again\s+)?(?:of\s+|about\s+)?",
    r"\bplease\b|\b(?:list|summari[sz]e|recap)\b",
    r"\b(?:a|an|the)?\s*(?:(?:clear|comprehensive|complete|detailed|brief|short|full|quick)\s+)*(?:summary|overview|recap|outline)\s+of\b",
    r"\bthe\s+order\s+in\s+which\b|,?\s*\bin\s+(?:the\s+)?(?:right\s+|chronological\s+)?order(?=\W*$|\s*[.?!,])",
    rf"\b(?:throughout|through|across|in|over|during|from)\s+(?:the\s+course\s+of\s+)?(?:all\s+)?(?:of\s+)?(?:our|my|these|those)\s+(?:\w+\s+)?(?:{_TALK})\b",
    rf"\b(?:I|we|you)(?:['’]ve|\s+have|\s+had)?\s+{_ADVERB}(?:{_SAY})\b",
    rf"\b(?:did|have|had)\s+(?:I|we|you)\s+{_ADVERB}(?:{_SAY})\b",
    r"\b(?:do|can)\s+you\s+(?:remember|recall|know)\b|\bas\s+far\s+as\s+you\s+know\b",
    r"\bdifferent\s+(?:aspects|concepts|points)\s+(?:of|related\s+to)\b",
    r"(?<=[.!?])\s*(?:mention|list|name|answer|give)\s+only\b.*$",
)
_TALKED = lazy_re("|".join(_ABOUT_THE_TALK), re.IGNORECASE | re.DOTALL)
_ASKS = lazy_re(
    r"\?|？|^\W*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|has|have|had|can|could|would|will|should|shall"
    r"|may|might|list|give|tell|show|find|name|describe|explain|summari[sz]e|recall|remind|search|look)\b",
    re.IGNORECASE,
)
_OWN = lazy_re(r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_GAP = lazy_re(r"\s+([.,;:?!])")
_NAME = lazy_re(r"(?<=[^\s.!?:] )[A-Z][\w'’-]+")
_WORDS = lazy_re(r"\w+")
# What the assistant said before. A past form or a perfect is needed: "what would you suggest" asks
# for advice now.
_ADVICE = r"(?:suggestions?|advice|recommendations?|tips?|proposals?)"
_ASSISTANT = lazy_re(
    r"\bdid\s+you\b|\b(?:have|had)\s+you\s+(?:\w+ly\s+|ever\s+)?(?!any\b|got\b|an?\b|some\b|no\b)\w"
    r"|\byou\s+(?:had\s+|have\s+|\w+ly\s+)?(?:recommended|suggested|said|told|gave|given|explained|advised|proposed|mentioned|promised|offered)\b"
    r"|\byou['’](?:ve|d)\s+(?:\w+ly\s+)?(?:recommended|suggested|said|told|given|explained|advised|proposed|mentioned|promised)\b"
    rf"|\b(?:was|were)\s+your\s+(?:\w+\s+)?(?:{_ADVICE}|explanation|answer|reply)\b"
    rf"|\byour\s+(?:earlier|previous|last|first|former|original|old)\s+(?:{_ADVICE}|explanation|answer|reply)\b"
    rf"|\b(?:tried|followed|used|about|from|to|per|after)\s+your\s+(?:{_ADVICE}|explanation|answer|proposal|reply)\b",
    re.IGNORECASE,
)
_REQUEST = lazy_re(
    r"\b(?:can|could|would|will|might|do|what|which)\s+you\s+(?:\w+\s+)?(?:suggest|recommend|advise|propose)\b"
    r"|\b(?:can|could|would|will)\s+you\s+(?:\w+\s+)?(?:help\s+(?:me|us)|think\s+of|come\s+up\s+with)\b"
    r"|(?:^|[.!?,]\s*)(?:please\s+)?(?:suggest|recommend|propose|advise|help\s+(?:me|us))\b"
    rf"|\b(?:any|some|an|your|more|good)\s+(?:\w+\s+)?(?:ideas?|thoughts|{_ADVICE})\b"
    rf"|\b(?:what|which)(?:['’]s|\s+is|\s+are)\s+your\s+{_ADVICE}"
    r"|\b(?:what|which|where|how|who|when)\b[^.?!]{0,40}\bshould\s+(?:I|we)\b|(?:^|[.!?,]\s*)should\s+(?:I|we)\b"
    r"|\b(?:can|could|would)\s+you\s+(?:\w+\s+)?(?:find|pick|choose|plan|write|draft|make|create|put\s+together)\s+(?:me|us|a|an|some|something)\b",
    re.IGNORECASE,
)
_ASKED_FOR = lazy_re(
    r"(?:\b(?:can|could|would|will|might|do)\s+you\s+(?:\w+ly\s+|please\s+)?)?(?:have\s+)?\b(?:suggest|recommend|advise|propose"
    r"|help\s+(?:me|us)(?:\s+to)?(?:\s+(?:choose|find|pick|plan|decide))?"
    rf")\b|,?\s*\b(?:do\s+you\s+have\s+|have\s+you\s+|got\s+)?any\s+(?:good\s+)?(?:ideas?|thoughts|{_ADVICE})(?:\s+(?:for|on|about))?\b",
    re.IGNORECASE,
)
_USER = lazy_re(
    r"\b(?:did|do|have|had|am|was)\s+I\b|\bI['’](?:ve|m|d)\b|\bmy\b"
    r"|\bI\s+(?:\w+ly\s+)?(?:said|have|had|need|mention|told|ask|shar|bring|brought|describ|outlin|want|us|work|plan|decid|wrote|tri|try)\w*",
    re.IGNORECASE,
)


class Question(NamedTuple):
    """`text` is the question without talk about the conversation; `statement` is true where it asks
    nothing; `side` is empty where neither side is meant; `names` are the index terms of the names
    that it writes with capitals; `request` is true where it asks for advice now."""

    text: str
    statement: bool
    side: Literal["user", "assistant", ""]
    names: frozenset[str]
    request: bool = False


def read_question(asked: str) -> Question:
    """Read a question from any text, of which the first QUERY_CHARS_READ characters count."""
    text = asked[:QUERY_CHARS_READ]
    statement = (
        not _ASKS.search(text)
        and _OWN.search(text) is not None
        and len(_WORDS.findall(text)) >= constants.STATEMENT_WORDS_MIN
    )
    if statement:
        return Question(text, True, "", _names(text))
    said = _ASSISTANT.search(text) is not None
    request = not said and _REQUEST.search(text) is not None
    side: Literal["user", "assistant", ""] = (
        "assistant" if said else "user" if request or _USER.search(text) else ""
    )
    rest = _without(_ASKED_FOR, text, least=1) if request else _without_talk(text)
    return Question(rest, False, side, _names(text), request)


def _names(text: str) -> frozenset[str]:
    """The terms of words with a capital inside a sentence. In German and in headings every noun has
    one, and then none of them says much."""
    return frozenset(term for name in _NAME.findall(text) for term in terms(name))


def _without_talk(text: str) -> str:
    return _without(_TALKED, text, least=constants.QUESTION_TERMS_MIN)


def _without(pattern: re.Pattern[str], text: str, *, least: int) -> str:
    """Remove what matches, unless fewer than `least` terms would remain."""
    if not pattern.search(text):
        return text
    rest = _GAP.sub(r"\1", " ".join(pattern.sub(" ", text).split())).strip(" ,.;:")
    return rest if len(terms(rest)) >= least else text
