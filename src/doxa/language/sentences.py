"""Split text into plain sentences, and read what qualifies a sentence: whether it reports a change,
an addition, or asserts nothing.

    "Wait, it's now 9090!"   ->  "it is 9090", a change
    "I might move to Ulm."   ->  not asserted: hedged
    > The port is 9090.      ->  not asserted: quoted

Text in quotation marks becomes one word (Q0Q, Q1Q), so that it is not parsed as part of the
sentence. What opens or closes a sentence without stating anything ("Hi team,", "FYI:", "thanks")
is left out. Initials and abbreviations (T. S. Eliot, Dr., e.g.) end no sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from doxa.base.limits import SENTENCE_CHARS_MAX
from doxa.base.patterns import PatternSet, lazy_re
from doxa.language.assertion import doubts, is_frame, retracts, why_unasserted
from doxa.language.verbs import find_verb

_QUOTED = lazy_re(
    r"[\"“„«»]([^\"“”„«»]{1,400})[\"”“»«]|`([^`\n]{1,400})`"
    r"|(?<![\w'])['‘‚]((?! )(?:[^'‘’\n]|['’](?=\w)){2,400}?)['’](?!\w)"
)
_QUOTATION_MARKS = frozenset("\"“„«»`'‘‚")
_QUOTATION = lazy_re(r"\W*Q\dQ\W*")
_MARKS = "> -*•#"  # of quotations and list items
_LETTER = lazy_re(r"\w")
_APOSTROPHE = lazy_re(r"(?<=\w)[‘’](?=\w)|(?<=s)’")
_IS_BEFORE = (
    r"in|on|at|with|from|back|now|moved|left|joined|quit|switched|based|working|living|called"
    r"|allergic|not|no longer|been|got|gone|started|a|an|the|due|up|down|still|currently|already"
    r"|over|under|running|using|set|married|engaged|born|going|staying|changed|relocated|hosted"
    r"|for (?:\d+|two|three|four|five|six|seven|eight|nine|ten)"
    r"|written|located|open|closed|available|done|fixed|ready|dead|really|actually|also|only|just"
)
_NOUNS_IN_ING = (
    r"(?:build|wedd|meet|paint|cloth|ceil|even|morn|draw|park|hous|train|open|clos|greet|record|r"
    r"|th|str|k|spr|w|sw|offer|rat|warn|find|hear|feel|sett|earn|sav|spend|hold)ing\b"
)
_CHANGED = (
    "migrated|moved|switched|changed|upgraded|updated|renamed|replaced|delayed|postponed|pushed"
    "|extended|shortened|cancelled|canceled|bumped|raised|lowered|cut|promoted|rescheduled"
)
_CONTRACTED = tuple(
    (lazy_re(pattern), words)
    for pattern, words in (
        (r"(?<![^\s(,])i(?= )(?! ?=)", "I"),
        (r"(?<![^\s(,])i(?='(?:m|ve|ll|d)\b)", "I"),
        (r"\b([Cc])annot\b", r"\1an not"),
        (r"\b([Cc])an't\b", r"\1an not"),
        (r"\b([Ww])on't\b", r"\1ill not"),
        (r"\b(\w+)n't\b", r"\1 not"),
        (r"\bI'm\b", "I am"),
        (rf"\bgot (?=(?:{_CHANGED})\b)", "was "),
        (r"\b([Mm]oved|[Ss]witched|[Mm]igrated|[Cc]hanged|[Ww]ent) over (?=to\b)", r"\1 "),
        (r"\bgot married\b(?! to\b)", "is now married"),
        (r"\b([Hh]e|[Ss]he|[Ii]t)'s (?=been |moved |got |gone |left |joined |quit )", r"\1 has "),
        (r"\b([Ii]t|[Tt]hat|[Hh]e|[Ss]he|[Tt]here|[Hh]ere|[Ww]h(?:at|o|ere))'s\b", r"\1 is"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(I|[Yy]ou|[Hh]e|[Ss]he|[Ww]e|[Tt]hey)'d\b", r"\1 would"),
        (rf"\b(\w+)'s (?=(?:{_IS_BEFORE})(?= |$)|\d)(?!(?:back|left) \w+ (?:is|was))", r"\1 is "),
        (rf"\b(\w+)'s (?!{_NOUNS_IN_ING})(?=\w+ing (?:at|in|on|for|with|as|to)\b)", r"\1 is "),
        (r"\bNo\. (?=\d)", "No "),
        (r"\b(Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Mt)\. (?=[A-Z])", r"\1 "),
        (r"\b([A-Z])\. (?=[A-Za-z])", r"\1 "),
        (r"\b([A-Z])\.(?=[A-Z]\b)", r"\1"),
        (r"\b([A-Z]{2,4})\. ?(?=[A-Za-z])", r"\1 "),
        (r"\b[Tt]eh\b", "the"),
    )
)
_MAY_BE_CONTRACTED = PatternSet(dict(enumerate(pattern for pattern, _ in _CONTRACTED)))
_END = lazy_re(
    r"[.!?…]+[\"')\]”’»]*(?:\s+|$)|;\s+|\n\s*|\s(?:[–—]|--)\s+|\s-\s+(?=[a-z])"
    r"|,\s+(?=(?:no,? wait|wait,? no|no,? sorry|sorry,? no|(?:scratch|strike) that|actually,? no"
    r"|just kidding|i mean,? (?:no|it)|never mind|no,? (?:it|that|he|she|they|i|we)\b)\b)",
    re.IGNORECASE,
)
_WORDS_BEFORE_COMMA_MIN = 3  # "Sorry, scratch that" is one sentence
_ABBREVIATION = lazy_re(
    r"(?:(?:^|[\s(\"'.])(?:[A-Za-z]|Dr|Mr|Mrs|Ms|Prof|St|Mt|Jr|Sr|No|Nr|vs|etc|e\.g|i\.e|approx|ca"
    r"|cf|Inc|Ltd|Corp|Co|Dept|Fig|Vol|Rev|Gen|Col|Lt|Capt|Hon|Gov|Sen|Rep|U\.S|U\.K|a\.m|p\.m"
    r"|Ph\.D|(?:[A-Z]\.)+[A-Z]))$"
)
_ENDING_ABBREVIATION = lazy_re(r"(?:[ap]\.m|etc|Inc|Ltd|Corp|Co|Jr|Sr|U\.S|U\.K|Ph\.D)$")
_OPENING = lazy_re(
    r"(?:(?:no|yes|yep|yeah|nope|wait|no wait|sorry|oops|oh|ah|hm+|um+|ok|okay|well|so|and|but"
    r"|also|then|actually|correction|update|updated|edit|note|fyi|btw|by the way|oh by the way"
    r"|news|in fact|turns out|it turns out|as it turns out|please note|please remember|remember"
    r"|reminder|important|attention|heads[ -]up|note that|it is true|to be clear|for the record"
    r"|scratch that|strike that|good news|bad news|unfortunately|luckily|fortunately|sadly|happily"
    r"|thankfully|finally|strictly speaking|in the end|after all|psa|guess what|just so you know"
    r"|for your information|i mean|rather|honestly|personally|basically|anyway|anyways|great|nice"
    r"|wow|hooray|yay|hi|hello|hey|thanks|thank you|today|quick update|small update"
    r")(?:(?: that)?(?:[,:.!]+\s*|\s+-+\s+)| that\s+)|(?:(?:it )?turns out|also|and|but|so|then"
    r"|actually|finally"
    r"|well|fyi|btw) )+",
    re.IGNORECASE,
)
_GREETING = lazy_re(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day|news)|morning|guess what"
    r"|just (?:so"
    r" you|a (?:quick|small|heads|short|reminder|note)|to (?:let|be clear|clarify|confirm))"
    r"|quick|small|short|big|minor|friendly|one (?:more|last) thing|as (?:discussed|agreed"
    r"|announced|mentioned|you (?:may )?know|promised)|for (?:your information|the record|what it"
    r" is worth)|to (?:clarify|confirm|be clear|sum up|correct)|(?:oh )?by the way|long story"
    r" short|believe it or not|surprise|team|folks|everyone|all|guys|here is (?:the|an)"
    r" (?:update|news))\b[^,.:!?]{0,40}(?:[,!:.]+|\s+-+)\s+",
    re.IGNORECASE,
)
_REQUEST = lazy_re(
    r"(?:(?:(?:can|could|would|will) you )?(?:please )?(?:note|remember|record|save|store|keep in"
    r" mind|write down|bear in mind|be aware|be advised|do not forget|make a note|take note|log"
    r"|know)(?: down)?(?: for (?:me|later|the record))? that|(?:I (?:just )?(?:want(?:ed)?|would"
    r" like) (?:you )?to (?:let you know|say|tell you|know|remember|mention|add|share|point out"
    r"|note)|I (?:should|must|have to|can|forgot to|also) (?:also )?(?:mention|say|add|tell you"
    r"|confirm|report|announce)|(?:I am |we are )?(?:happy|glad|excited|proud|pleased|delighted"
    r"|sad|sorry) to (?:say|report|announce|share|tell you)|let me (?:tell you|add|correct that"
    r"|clarify)|you should know|for your information|it is (?:now )?(?:official|confirmed|a fact"
    r"|true)|the (?:good |bad |latest |big )?news is|the (?:fact|truth) is)(?: that)?)[:,]? ",
    re.IGNORECASE,
)
_CLOSING = lazy_re(
    r"(?:[\s,.!;–—-]+(?:fyi|btw|by the way|thanks(?: a lot| so much| everyone| all)?|thank you"
    r"|thx|cheers|please update .{0,40}|please (?:note|take note|adjust|remember)|just so you know"
    r"|just fyi|so you know|in case you (?:wondered|were wondering|wonder|missed it|care|ask|asked"
    r"|did not know|need it)|for (?:your information|the record|what it is worth)|finally|at last"
    r"|as (?:discussed|agreed|you (?:may )?know|announced|mentioned|planned|promised)|ok|okay"
    r"|lol|haha+|hehe|hurray|hooray|yay|woo+|you know"
    r"|actually|indeed|of course|obviously|officially|unfortunately|sadly|luckily|fortunately"
    r"|thankfully)|[,–—!-]+\s*(?:folks|everyone|everybody|team|guys|all|y'all|dear|honey|mate|buddy"
    r"|man|bro|dude)|\s*[:;=]-?[)(DPpO/|]+|\s*<3"
    r"|\s*[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f])+[\s.!…]*$",
    re.IGNORECASE,
)
_LABEL = lazy_re(r"(?P<label>[^:.,!?\"=]{1,60}):\s+(?=\S+ \S)")
_LABEL_CONTENT = lazy_re(
    r"\b(?:update|news|info|information|notice|note|alert|psa|fyi|change|changes|plans?|reminder"
    r"|announcement|correction|fix|edit|status|heads|breaking|summary|tl;?dr|decision|decided"
    r"|outcome|result|mention|say|fact|truth|point|thing|details?|btw|ps|p\.s|nb|hint|tip|new)\b",
    re.IGNORECASE,
)
_TOPIC = lazy_re(
    r"(?:\w+ )?(?:[Uu]pdate|[Nn]ews|[Nn]ote|[Ii]nfo) (?:on|about|for|from) (?P<topic>[A-Z].*)"
    r"|(?P<changed>.+?) (?:has|have|is|was|got)(?: been| just| now)* (?:changed|new|different"
    r"|updated)$"
)
_BY_US = lazy_re(r"(?:I|[Ww]e) [a-z]+|(?:[Ii]t|[Tt]hat|[Tt]his) (?:is|was) (?!a |an |not )")
_NAMED = lazy_re(r"(?:(?:[A-Z][\w.'-]*[a-z][\w.'-]*|[A-Z]\.)\s?){1,3}(?: \([^)]*\))?$")
_PRONOUN = lazy_re(r"(?:it|they|he|she|this|that|these) (?:is|are|was|were|has|have|\w+s)\b")
_NEW = (
    r"for now|for the time being|from now on|from today(?: on)?|from tomorrow(?: on)?|these days"
    r"|nowadays|now|any ?more"
    r"|any longer|currently|at present|at the moment|by now|as of (?:now|today|\w+day|(?:this|last"
    r"|next) \w+)|effective immediately|instead|meanwhile|in the meantime|right now|going forward"
    r"|from here on|henceforth"
)
_WHEN = (
    r"(?:last|this|earlier this) (?:week|month|year|spring|summer|autumn|winter|\w+day|morning"
    r"|evening|night|mon|tues?|wed|thurs?|fri|sat|sun)|yesterday|recently|lately|just|already"
    r"|finally|after all|again|in fact"
    r"|actually|officially|eventually|a (?:week|month|year) ago|\w+ (?:days|weeks|months"
    r"|years) ago|too|as well|in the end|earlier today|today"
)
_DAY = (
    r"(?:next |last |this )?(?:\w+day|week|month|year|spring|summer|autumn|winter|tomorrow|today"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)"
    r"(?: \d{1,4})?"
)
_FRONT = lazy_re(
    rf"(?:(?P<new>{_NEW})|{_WHEN}|(?:since|as of|starting) [^,]{{2,30}}(?=, )"
    rf"|(?:since|as of|starting|from) (?:on |from )?(?:{_DAY})(?: on(?:wards)?)?),?\s+(?=\S)",
    re.IGNORECASE,
)
_INSIDE_NEW = lazy_re(rf",?\s*\b(?:{_NEW})\b(?!-)", re.IGNORECASE)
_INSIDE_WHEN = lazy_re(rf",?\s*\b(?:{_WHEN})\b(?=[\s,.!]|$)", re.IGNORECASE)
_INSTEAD_OF = lazy_re(r"\binstead of\b")
_CORRECTS = lazy_re(r"(?:actually|correction|no|sorry)\b[,:]? (?=make )", re.IGNORECASE)
_BESIDES = lazy_re(
    r"\b(?:also|too|as well|additionally|in addition|besides|another|a second|a third|one more"
    r"|sometimes|occasionally|part-time|temporarily)\b",
    re.I,
)


_OPENINGS = (("request", _REQUEST), ("greeting", _GREETING), ("opening", _OPENING))
_EDGES = PatternSet(search={"closing": _CLOSING}, match={**dict(_OPENINGS), "label": _LABEL})
_TIMES = PatternSet(
    search={"new": _INSIDE_NEW, "when": _INSIDE_WHEN},
    match={"front": _FRONT},
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain sentence with its quotations and its span in the text. `unasserted` says in one word
    why it asserts nothing, or is empty; `label` is what stands before a colon and may be the
    subject."""

    text: str
    quotes: tuple[str, ...]
    unasserted: str
    start: int
    end: int
    label: str = ""


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text without control characters and contractions, each quotation
    replaced by one word such as Q0Q."""
    held: Sentence | None = None
    framed = ""
    for start, end in sentence_spans(text):
        if end - start > SENTENCE_CHARS_MAX:
            continue
        written = text[start:end]
        plain, quotes = _plain(written)
        one = _sentence(written, plain, quotes, start=start, end=end)
        if one is None:
            continue
        if held is not None:
            back = retracts(plain)
            if back:
                held = replace(held, unasserted=held.unasserted or "retracted")
            alternative = one.text[:3].casefold() == "or " and one.unasserted
            if alternative or doubts(one.text):
                held = replace(held, unasserted=held.unasserted or "hedged")
            if back == "whole":
                one = replace(one, unasserted=one.unasserted or "retracted")
            elif _is_attribution(text, held.end, one):
                held, one = replace(held, unasserted="quoted"), replace(one, unasserted="quoted")
            yield held
        if framed and not one.unasserted:
            one = replace(one, unasserted=framed)
        if is_frame(one.text):
            framed = "fiction"
        held = one
    if held is not None:
        yield held


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a text begin and end. No sentence ends within quotation
    marks."""
    quoted = [match.span() for match in _QUOTED.finditer(text)] if _has_quotes(text) else []
    at = number = 0
    for match in _END.finditer(text):
        while number < len(quoted) and quoted[number][1] <= match.start():
            number += 1
        if number < len(quoted) and quoted[number][0] < match.start() < quoted[number][1] - 1:
            continue
        if match[0][0] == "." and match[0].strip() == "." and not _ends_here(text, match):
            continue
        if match[0][0] == "," and len(text[at : match.start()].split()) < _WORDS_BEFORE_COMMA_MIN:
            continue
        if text[at : match.start()].strip():
            yield at, match.end()
        at = match.end()
    if text[at:].strip():
        yield at, len(text)


def _has_quotes(text: str) -> bool:
    return not _QUOTATION_MARKS.isdisjoint(text)


def _ends_here(text: str, match: re.Match[str]) -> bool:
    """Return whether a full stop ends a sentence and not an abbreviation or initial."""
    before = text[max(0, match.start() - 12) : match.start()]
    following = text[match.end() : match.end() + 1]
    if not following:
        return True
    if _ABBREVIATION.search(before) is not None:
        opens = following.isupper() and _ENDING_ABBREVIATION.search(before) is not None
        return opens and not before.endswith(("U.S", "U.K"))
    return True


def _is_attribution(text: str, start: int, one: Sentence) -> bool:
    """Return whether a part after a dash names who said the part before: "... — Tom"."""
    return (
        text[:start].rstrip().endswith(("–", "—", "--"))
        and _NAMED.fullmatch(one.text.strip(" .")) is not None
    )


def _plain(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a sentence without control characters and contractions, and its quotations."""
    if not text.isascii():
        text = "".join(
            " " if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Zs") else char
            for char in unicodedata.normalize("NFKC", text)
        )
        text = _APOSTROPHE.sub("'", text)
    elif not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    quotes: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quotes.append(next(part for part in match.groups() if part is not None))
        return f"Q{len(quotes) - 1}Q"

    if _has_quotes(text):
        text = _QUOTED.sub(hide, text)
    text = text.replace("’", "'").replace("‘", "'")
    may = _MAY_BE_CONTRACTED.candidates(text)
    for number, (pattern, words) in enumerate(_CONTRACTED if may else ()):
        if number in may and (longer := pattern.sub(words, text)) != text:
            text, may = longer, _MAY_BE_CONTRACTED.candidates(longer)
    return " ".join(text.split()), tuple(quotes)


def _sentence(
    written: str, plain: str, quotes: tuple[str, ...], *, start: int, end: int
) -> Sentence | None:
    """Read a sentence as it was written, with what `_plain` makes of it."""
    bare = written.lstrip()
    quoting = bare.startswith(">")
    if bare[:1] in _MARKS:
        plain, quotes = _plain(bare.lstrip(_MARKS))
    if not _LETTER.search(plain):
        return None
    corrects = _CORRECTS.match(plain) is not None
    plain, label, reason = _stripped(plain)
    if quoting or _QUOTATION.fullmatch(plain):
        reason = "quoted"
    return Sentence(
        plain, quotes, reason or why_unasserted(plain, corrects=corrects), start, end, label
    )


def _stripped(sentence: str) -> tuple[str, str, str]:
    """Return a sentence without what opens and closes it, a label that may be its subject, and why
    what opens it makes it unasserted."""
    label = ""
    if retracts(sentence) and (opened := _OPENING.match(sentence)):
        sentence = sentence[opened.end() :] or sentence
    for _ in range(6):
        may = _EDGES.candidates(sentence)
        for name, pattern in _OPENINGS:
            opened = pattern.match(sentence) if name in may else None
            if opened and opened.end() < len(sentence):
                break
        else:
            opened = _LABEL.match(sentence) if "label" in may else None
            if opened is None or find_verb(sentence[opened.end() :]) is None:
                break
            label, reason = _read_label(opened["label"].strip(), sentence[opened.end() :])
            if reason:
                return sentence[opened.end() :], "", reason
        if pattern is _REQUEST and opened:
            sentence = sentence.rstrip("? ")
        assert opened is not None
        sentence = sentence[opened.end() :]
    if "closing" not in _EDGES.candidates(sentence):
        return sentence, label, ""
    closed = _CLOSING.search(sentence, max(0, len(sentence) - 80))
    if closed and closed.start() > 3:
        sentence = sentence[: closed.start()] + ("?" if "?" in closed[0] else "")
    return sentence, label, ""


def _read_label(label: str, rest: str) -> tuple[str, str]:
    """Return the subject that a label before a colon gives to the rest, or why it makes the rest
    unasserted: "Tom: I live in Bonn" quotes Tom."""
    topic = _TOPIC.match(label)
    if topic:
        return topic["topic"] or topic["changed"], ""
    reason = why_unasserted(label) or ("fiction" if is_frame(label) else "")
    if reason:
        return "", reason
    if _LABEL_CONTENT.search(label) or label.isupper() or _BY_US.match(label):
        return "", ""
    if _PRONOUN.match(rest):
        return label, ""
    return "", "quoted" if _NAMED.fullmatch(label) else "unclear"


def without_times(clause: str) -> tuple[str, bool]:
    """Remove words that only say since when; also return whether they indicate a change."""
    may = _TIMES.candidates(clause)
    if not may:
        return clause.strip(" ,") or clause, False
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
        if not _INSTEAD_OF.search(clause)
        else _INSIDE_NEW.sub(lambda m: m[0] if "instead" in m[0] else "", clause)
    )
    change = change or bare != clause
    shorter = _INSIDE_WHEN.sub("", bare)
    return (shorter.strip(" ,") or clause), change


def says_besides(clause: str) -> bool:
    """Return whether a clause says that something holds in addition, not instead."""
    return _BESIDES.search(clause) is not None
