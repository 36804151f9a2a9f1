"""What a question asks for, read from its words alone. Pure.

    talk     words about the conversation itself ("can you list", "across our chats", "did I
    mention") are in no memory: they leave the question
    remark   a sentence that asks nothing ("I threw my old shoes away today"): what it brings to
    mind is wanted, not what shares its words
    side     in a chat with an assistant, whose words are asked for: "what did I say" the user's,
    "what did you suggest" the assistant's

English patterns; a question in another language is left as it is, and counts as a question.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.words import terms

REMARK_WORDS_MIN = 6  # fewer are key words
_TERMS_MIN = 2  # of what is left without the talk

_ADVERB = r"(?:please\s+|also\s+|just\s+|again\s+|ever\s+|already\s+|previously\s+|first\s+)?"
_TALK = (
    r"conversations?|chats?|sessions?|discussions?|messages?|questions?|talks?|exchanges?|history"
)
_SAY = r"mention(?:ed)?|discuss(?:ed)?|talk(?:ed)?\s+about|(?:say|said)|(?:tell|told)(?:\s+(?:you|me))?|cover(?:ed)?|(?:bring|brought)\s+up"
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
_TALKED = re.compile("|".join(_ABOUT_THE_TALK), re.IGNORECASE | re.DOTALL)
_ASKS = re.compile(
    r"\?|？|^\W*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|has|have|had|can|could|would|will|should|shall"
    r"|may|might|list|give|tell|show|find|name|describe|explain|summari[sz]e|recall|remind|search|look)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_GAP = re.compile(r"\s+([.,;:?!])")
_NAME = re.compile(r"(?<=[^\s.!?:] )[A-Z][\w'’-]+")
_WORDS = re.compile(r"\w+")
_ASSISTANT = re.compile(
    r"\b(?:did|have|had)\s+you\b|\byou\s+(?:\w+ly\s+)?(?:recommend|suggest|said|told|gave|explain|advis|propos|mention)\w*"
    r"|\byour\s+(?:suggestion|advice|recommendation|explanation|answer|proposal|reply)",
    re.IGNORECASE,
)
_USER = re.compile(
    r"\b(?:did|do|have|had|am|was)\s+I\b|\bI['’](?:ve|m|d)\b|\bmy\b"
    r"|\bI\s+(?:\w+ly\s+)?(?:said|have|had|need|mention|told|ask|shar|bring|brought|describ|outlin|want|us|work|plan|decid|wrote|tri|try)\w*",
    re.IGNORECASE,
)


class Question(NamedTuple):
    """`text` is the question without talk about the talk; `side` is empty where neither side is
    meant; `names` are the index terms of the names that it writes in capitals."""

    text: str
    remark: bool
    side: Literal["user", "assistant", ""]
    names: frozenset[str]


def read_question(asked: str) -> Question:
    """Works on any text; reads its first QUERY_CHARS_READ characters."""
    text = asked[:QUERY_CHARS_READ]
    remark = (
        not _ASKS.search(text)
        and _OWN.search(text) is not None
        and len(_WORDS.findall(text)) >= REMARK_WORDS_MIN
    )
    if remark:
        return Question(text, True, "", _names(text))
    side: Literal["user", "assistant", ""] = (
        "assistant" if _ASSISTANT.search(text) else "user" if _USER.search(text) else ""
    )
    return Question(_without_talk(text), False, side, _names(text))


def _names(text: str) -> frozenset[str]:
    """Capitals inside a sentence; in German and in headings every noun is one, and then none of
    them says much."""
    return frozenset(term for name in _NAME.findall(text) for term in terms(name))


def _without_talk(text: str) -> str:
    if not _TALKED.search(text):
        return text
    rest = _GAP.sub(r"\1", " ".join(_TALKED.sub(" ", text).split())).strip(" ,.;:")
    return rest if len(terms(rest)) >= _TERMS_MIN else text
