"""Say why a text is not a complete statement, so that nothing else is kept as a conclusion.

    "Ann lives in Lisbon."                    nothing: it is one
    "git push --force origin main"            a command line
    "Candidate: moves to Lisbon (0.82)"       a score
    "because of the new"                      half a sentence
    "She loves it there."                     nobody knows who
    "Moved to Lisbon."                        no subject
    "Does Ann live in Lisbon?"                a question

`completeness` decides on the claim that rules read in a sentence; this looks at the words of a text
that anybody may have written. What it cannot judge it lets pass: verbs and subjects are looked for
in English alone.
"""

from __future__ import annotations

import re

from doxa.language.assertion import why_unasserted
from doxa.language.sentences import sentence_spans
from doxa.language.tables.reader import language_of
from doxa.language.verbs import BASE_FORMS

_PROGRAMS = (
    r"sudo|git|cd|ls|rm|mv|cp|cat|grep|sed|awk|find|curl|wget|ssh|scp|npm|npx|yarn|pnpm|pip|pip3"
    r"|python3?|node|docker|kubectl|make|cargo|go|rustc|brew|apt(?:-get)?|yum|systemctl|chmod|chown"
    r"|export|echo|tar|unzip|psql|mysql|redis-cli|terraform|ansible|helm|poetry|uv|uvx|pytest|tox"
    r"|claude|codex|gemini|doxa|bash|sh|zsh|pwsh|powershell"
)
_COMMAND_LINE = re.compile(
    r"^\s*(?:[$#>%]\s+\S|PS [A-Z]:\\|(?:\w+@[\w.-]+[:~ ]\S*[$#] ))"
    rf"|^\s*`?(?:{_PROGRAMS})\s+(?:-{{1,2}}\w|[./~]\S|(?:[a-z-]+\s+){{1,2}}-{{1,2}}\w|\S+[/=]\S)"
    r"|^\s*`?(?:git|npm|npx|pip3?|docker|kubectl|cargo|brew|apt(?:-get)?|systemctl|make)"
    r"\s+[a-z][\w:-]*\s*`?$"
    rf"|^\s*`?(?:git|npm|pip3?|docker|kubectl|cargo|brew|apt(?:-get)?|systemctl)\s+(?:add|commit"
    r"|push|pull|clone|checkout|install|run|build|exec|apply|start|stop|restart)\b(?! \w+ing\b)"
    r"|\s&&\s|\s\|\|\s|\s\|\s+(?:grep|head|tail|sort|wc|xargs|jq|tee|awk|sed)\b|\s2>&1|^\s*```"
    r"|\s--[a-z][\w-]+(?:[ =]|$)(?=.*\s--[a-z])|^\s*(?:\./|/(?:usr|bin|etc|home|tmp|var)/)\S+",
    re.IGNORECASE,
)
_SCORE = re.compile(
    r"\b(?:confidence|score|relevance|similarity|importance|salience|probability|weight|recalls?"
    r"|rank)\s*(?:score)?\s*[:=(]\s*-?\d*\.?\d+"
    r"|\[(?:confidence|score)?[ :=]*0?\.\d+\]|\((?:0?\.\d{2,}|1\.0+)\)\s*[.!]?\s*$"
    r"|^\s*(?:candidate|promoted?|proposal|assessment|memory|entry|item|result)\s*(?:#?\d+)?\s*:",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"^\s*(?:[{\[<|]|#{1,6}\s|[-*•]\s|\d+[.)]\s|---|===|@@|diff --git\b)|^\s*\w+://\S+$"
)
_UNFINISHED = re.compile(
    r"(?:[,;:(\[{\-–—/&+=]|\.\.\.|…|\b(?:and|or|but|nor|because|although|unless|the|a|an|my|our))"
    r"\s*[.!]?\s*$"
    r"|\b(?:since|though|if|that|which|who|whose|when|while|where|whether|than|of|to|in|on|at|by"
    r"|with|from|into|for|as|is|are|was|were|am|be|been|has|have|had|will|would|can|could|should"
    r"|must|(?-i:may)|might|your|their|its|very|not)\s*$",
    re.IGNORECASE,
)
_BEGINS_INSIDE = re.compile(
    r"^\s*(?:[,;:)\]}…]|\.\.\.|(?:and|but|or|nor|because|which|whose|whom|than|so that|as well as"
    r"|although|though|whereas|of|to|with|by|from|for)\b(?! (?:now|example|instance|the first time"
    r"|this|that|all)\b))"
)
_NOBODY = re.compile(
    r"^\s*(?:(?:now|then|also|today|yesterday|recently|currently|however|so|well),? )?(?:he|she|it"
    r"|they|him|her|them|this|that|these|those|his|hers|their|theirs|its|you|your|yours|one"
    r"|something|everything|the (?:former|latter|same))"
    r"(?:'s|'re|'d|'ll|'ve)?\b(?! (?:\w+ )?(?:year|month|week|project|repository|file|memory)\b)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*[\"')\]”’]*\s*$")
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("«", "»"))
_FINITE = re.compile(
    r"(?:\b(?:is|are|was|were|am|be|been|has|have|had|do|does|did|will|would|can|could|shall"
    r"|should|may|might|must|cannot|ought|used|became|began|bought|brought|built|came|chose|cost"
    r"|cut|did|drove|fell|felt|found|gave|got|grew|heard|held|hit|keep|kept|knew|know|laid|led"
    r"|left|lent|let|lost|made|make|meant|met|own|paid|put|quit|ran|read|rose|run|said|sat|saw"
    r"|say|sent|set|shot|slept|sold|spent|spoke|stood|swam|take|taught|caught|think|thought|threw|told"
    r"|took|understood|want|went|won|wore|write|wrote|'re|'ve|'ll|'m|'d)|n't|'s|’s|\w{2,}(?:ed|es))"
    r"\b"
    r"|\b\w{3,}s\b(?=\s)",
    re.IGNORECASE,
)
_VERB_FIRST = re.compile(r"^\s*([A-Za-z]+)\b(?!['’:,-])")
_MODAL_NEXT = re.compile(
    r"^\s*\w+\s+(?:is|are|was|were|has|have|had|will|would|can|could|must|should|may|might|does|do"
    r"|did|and|of|'s|[a-z]+(?:ed|s)\b)"
)
_IRREGULAR = frozenset(
    "went got made took bought sold left met began became came found gave kept knew lost paid ran"
    " said saw sent spoke told wrote wants needs likes loves hates has had was were is are does did"
    " decided moved started stopped joined quit".split()
)
_WORDS_OF_FRAGMENTS = 8  # what is longer and has no verb that is known has one that is not
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def statement_problem(text: str) -> str:
    """Return why a text is not a complete statement, in words; empty if it is one.

    The first sentence must be one by itself; what follows may refer back to it, and is checked for
    command lines, scores and half sentences alone.
    """
    if not text.strip():
        return "it is blank"
    parts = _parts(text)
    said = fragments_problem(text)
    if said:
        return said
    if _UNFINISHED.search(text):
        return "it breaks off"
    if all(_QUESTION.search(part) for part in parts):
        return "it is a question"
    return _first_problem(parts[0])


def _parts(text: str) -> list[str]:
    spans = [text[start:end].strip() for start, end in sentence_spans(text)]
    return [part for part in spans if part] or [text.strip()]


def fragments_problem(text: str) -> str:
    """Return why a text, or one of its sentences, says nothing in words; else empty."""
    found = (fragment_problem(part) for part in [text.strip(), *_parts(text)])
    return next(filter(None, found), "")


def fragment_problem(text: str) -> str:
    """Return why a text says nothing in words: a command line, a score, markup; else empty."""
    if _COMMAND_LINE.search(text):
        return "it is a command line"
    if _SCORE.search(text):
        return "it is a score, or the label of one"
    if _MARKUP.search(text):
        return "it is markup or data, not a sentence"
    return ""


def _first_problem(sentence: str) -> str:
    if _CJK.search(sentence):
        return "" if len(_CJK.findall(sentence)) >= 4 else "it is half a sentence"
    words = _WORD.findall(sentence)
    if len(words) < 2:
        return "it is half a sentence"
    if _BEGINS_INSIDE.match(sentence) or any(
        sentence.count(left) != sentence.count(right) for left, right in _PAIRS
    ):
        return "it is half a sentence"
    if _QUESTION.search(sentence):
        return "it is a question"
    if language_of(sentence) is not None or (not sentence.isascii() and not _is_english(words)):
        return ""
    if _NOBODY.match(sentence):
        return "it does not say who or what it is about"
    short = len(words) < _WORDS_OF_FRAGMENTS
    if short and _FINITE.search(sentence) is None and not _has_base_verb(words):
        return "it is half a sentence: it has no verb"
    first = _VERB_FIRST.match(sentence)
    noun = words[1].casefold() in BASE_FORMS or _MODAL_NEXT.match(sentence)
    if first and _is_verb(first[1].casefold()) and not noun:
        return "it has no subject"
    if why_unasserted(sentence) == "command" and not noun:
        return "it is an order"
    return ""


def _is_english(words: list[str]) -> bool:
    return sum(word.casefold() in _ENGLISH for word in words) * 5 >= len(words)


_ENGLISH = frozenset(
    "the a an of to in on at by with from for and or is are was were has have had will not that"
    " this i my we our he she it they".split()
)


def _has_base_verb(words: list[str]) -> bool:
    return any(word.casefold() in BASE_FORMS for word in words[1:])


_ENDINGS = (("s", ""), ("es", ""), ("ed", ""), ("d", ""), ("ing", ""), ("ing", "e"))


def _is_verb(word: str) -> bool:
    """Return whether a word that opens a sentence is a verb: it then orders, or has no subject."""
    if word in _IRREGULAR or word in BASE_FORMS:
        return True
    return any(
        word.endswith(ending) and word[: -len(ending)] + rest in BASE_FORMS
        for ending, rest in (
            ("s", ""),
            ("es", ""),
            ("ed", ""),
            ("d", ""),
            ("ing", ""),
            ("ing", "e"),
        )
    )
