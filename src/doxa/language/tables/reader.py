"""Read sentences of the languages in `languages` as claims, by their tables.

    "Ana ist nach München gezogen."   ->  the same claim as "Ana moved to München"
    "安娜的电话是555-0199"             ->  the same claim as "安娜's phone number is 555-0199"
    "¿Vive Ana en Burgos?"            ->  not asserted: a question

A sentence is divided into clauses, words that only say how it is meant are removed and noted, and
the templates of the phrase book find its subject and value. The words that the table translates
become English, so `statement.read_fact` completes the claim with the predicate and key that an
English sentence would have. Names and unknown words stay as they are. A clause that no template
fits yields no claim; `differences` compares it by its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from doxa.base.limits import CLAIMS_PER_TEXT_ITEMS_MAX, STATEMENT_CHARS_READ
from doxa.language.languages import Language
from doxa.language.long_ago import is_long_ago
from doxa.language.sentences import sentences
from doxa.language.stated_values import NOTHING, StatedValue, read_value
from doxa.language.statement import Claim, read_fact, read_statement
from doxa.language.tables.chinese import CHINESE
from doxa.language.tables.french import FRENCH
from doxa.language.tables.german import GERMAN
from doxa.language.tables.recognition import (
    ALSO_ENGLISH,
    ENGLISH,
    LETTER_EVIDENCE,
    LETTERS,
    template_words,
)
from doxa.language.tables.spanish import SPANISH

LANGUAGES = (GERMAN, SPANISH, FRENCH, CHINESE)

_CLAUSE_CHARS_READ = 300
_CHANGED = "了"  # at the end of a Chinese clause
_QUOTED_WORDS_MIN = 3  # a shorter quotation is a name
_OLD_WORDS_MAX = 5
_OWNED = re.compile(r"'s |\b(?:my|our|its|of)\b")
_GENDERED = ("es", "fr")  # a stem would make one of abuelo and abuela
_OF_IS_FROM = ("es", "fr")  # "changé le prix de l'abonnement", "de 10 à 12 euros"
_TIE = "\ue000"  # holds the words of one noun together
_PLACED = "is located in"
_TIMED = frozenset(("opening time", "closing time", "start time", "departure time"))
_INVERSE = frozenset(("leads",))  # the value of the phrase is the subject of the claim
_NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve".split())
_EVIDENCE_MIN = 0.9  # a word that is common in the language and not English
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_OTHER_CJK = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_QUOTES = re.compile(r"[\"“”„«»「」『』‹›]([^\"“”„«»「」『』‹›]{1,400})[\"“”„«»「」『』‹›]")
_SINGLE_QUOTES = re.compile(r"(?<!\w)['‘‚]([^'’‘]{1,400})['’‘](?!\w)")
_CHINESE_DIGITS = "零一二三四五六七八九"
_CHINESE_NUMBER = re.compile(
    "[零一二三四五六七八九两十百千]+(?=[点个月年岁元块天分秒小公斤千米楼层号日万%周级台名位只辆间张本家条]|欧|美)"
)


class _Template(NamedTuple):
    """One way to express a phrase: with the subject before the verb, after it, or without one."""

    phrase: str
    first: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class _Tables:
    """The compiled tables of one language."""

    language: Language
    templates: tuple[_Template, ...]
    words: dict[str, str]
    marks: dict[str, re.Pattern[str]]
    instead: tuple[re.Pattern[str], ...]
    joins: re.Pattern[str]
    rewritten: tuple[tuple[re.Pattern[str], str], ...]
    values: tuple[tuple[re.Pattern[str], str], ...]
    ends: re.Pattern[str]
    known: re.Pattern[str]
    new: re.Pattern[str]
    roles: re.Pattern[str]
    contrast: re.Pattern[str]
    copula: re.Pattern[str]
    phrases: re.Pattern[str]
    english: frozenset[str]
    verbs: frozenset[str]


class Marks(NamedTuple):
    """What the words of a clause say about how it is meant."""

    change: bool
    besides: bool
    ends: bool
    denied: bool


# "server's": the s is not the French word
_ENGLISH_CLITIC = re.compile(r"(?<=\w\w)['’](?:s|m|re|ve|ll|d)\b(?!['’])", re.IGNORECASE)


@lru_cache(maxsize=16_384)
def language_of(text: str) -> Language | None:
    """Return the table language of a text; None for English and any other language."""
    plain = text[:STATEMENT_CHARS_READ]
    if not plain.isascii() and _CJK.search(plain):
        cjk = len(_CJK.findall(plain))
        if _OTHER_CJK.search(plain):
            return None
        return CHINESE if 4 * cjk >= sum(map(str.isalpha, plain)) else None
    plain = _ENGLISH_CLITIC.sub("", plain)
    words = [word.casefold() for word in _WORD.findall(plain)[:200]]
    best, most = (
        None,
        max(
            _EVIDENCE_MIN,
            sum(1.0 if word in ENGLISH else 0.5 * (word in ALSO_ENGLISH) for word in words),
        ),
    )
    for language, common, vocabulary in _common_words():
        count = sum(
            1.0 if word in common and word not in ALSO_ENGLISH else 0.5 * (word in vocabulary)
            for word in words
        ) + (LETTER_EVIDENCE if LETTERS[language.code].search(plain) else 0.0)
        if count > most:
            best, most = language, count
    return best


def likely_language(text: str, fallback: Language | None) -> Language | None:
    """Return the language of a text, or `fallback` if it could be of any."""
    return language_of(text) or (None if _seems_english(text) else fallback)


def _seems_english(text: str) -> bool:
    words = {word.casefold() for word in _WORD.findall(text[:STATEMENT_CHARS_READ])[:200]}
    return bool(words & ENGLISH - ALSO_ENGLISH)


@lru_cache(maxsize=1)
def _common_words() -> tuple[tuple[Language, frozenset[str], frozenset[str]], ...]:
    """Return the languages with their commonest words, and the other words of their tables that
    English does not write alike."""
    found = []
    for language in LANGUAGES:
        if language.spaced:
            tables = tables_of(language.code)
            common = tables.verbs | frozenset(language.common.split())
            vocabulary = common | {word for word, noun in tables.words.items() if word != noun}
            vocabulary |= template_words(language) - ENGLISH
            found.append((language, common, frozenset(vocabulary)))
    return tuple(found)


def read_claims(
    text: str,
    *,
    speaker: str = "",
    time_ns: int | None = None,
    fallback: Language | None = None,
) -> tuple[Claim, ...]:
    """Return the claims of a text in any of the languages, English included. A text that could be
    of any language is read in `fallback`."""
    language = language_of(text)
    if language is None and fallback is not None and not _seems_english(text):
        language = fallback
    if language is None:
        return read_statement(text, speaker=speaker, time_ns=time_ns)
    day = None if time_ns is None else time_ns // 86_400_000_000_000 * 86_400_000_000_000
    return _read(text[:STATEMENT_CHARS_READ], language.code, speaker.casefold()[:200], day)


@lru_cache(maxsize=4_096)
def plain_sentences(text: str) -> tuple[tuple[str, str], ...]:
    """Return the sentences of a text, each with the reason why it asserts nothing, or with an empty
    string."""
    language = language_of(text)
    if language is not None:
        tables = tables_of(language.code)
        return tuple((one, _unasserted(one, tables)) for one in split_sentences(text, language))
    found = []
    for sentence in sentences(text[:STATEMENT_CHARS_READ]):
        plain = sentence.text
        for number, quote in enumerate(sentence.quotes):
            plain = plain.replace(f"Q{number}Q", quote)
        found.append((plain, sentence.unasserted))
    return tuple(found)


@lru_cache(maxsize=4_096)
def _read(text: str, code: str, speaker: str, day_ns: int | None) -> tuple[Claim, ...]:
    tables = tables_of(code)
    found: list[Claim] = []
    about = ""
    for sentence in split_sentences(text, tables.language):
        reason = _unasserted(sentence, tables)
        for clause in _clauses(plain_clause(sentence, code), tables, about=about):
            claim = _claim(clause, tables, speaker=speaker, day_ns=day_ns)
            if claim is None:
                continue
            about = clause.subject if not claim.unnamed else about
            found.append(replace(claim, unasserted=reason))
            if len(found) >= CLAIMS_PER_TEXT_ITEMS_MAX:
                return tuple(found)
    return tuple(found)


def split_sentences(text: str, language: Language) -> Iterator[str]:
    """Yield the sentences of a text. A full stop after a number ends one only before a capital that
    does not open a month."""
    plain = unicodedata.normalize("NFKC", text[:STATEMENT_CHARS_READ])
    ends = r"(?<=[^\d\s][.!?])\s+|(?<=\d[!?])\s+|(?<=[。;!?])(?=[^\s\"”」』])|\n+"
    if language.spaced:
        months = "|".join(w for w, e in tables_of(language.code).words.items() if e in _MONTHS)
        ends += rf"|(?<=\d\.)\s+(?=[A-ZÀ-Þ])(?!(?i:{months})\b)"
    else:
        ends += r"|(?<=[。;!?])\s*"
    for part in re.split(ends, plain):
        sentence = " ".join(part.split())
        if re.search(r"\w", sentence):
            yield sentence


_MONTHS = frozenset(
    "January February March April May June July August September October November December".split()
)


def _unasserted(sentence: str, tables: _Tables) -> str:
    low = sentence.casefold()
    if tables.marks["question"].search(low):
        return "it is a question or a supposition"
    if sentence.startswith(">"):
        return "it is a quotation"
    if tables.marks["report"].search(low):
        return "it reports what somebody said"
    if tables.marks["hedge"].search(low):
        return "it is a possibility, not a fact"
    quoted = max(
        (match[1] for pattern in (_QUOTES, _SINGLE_QUOTES) for match in pattern.finditer(sentence)),
        key=len,
        default="",
    )
    long = len(quoted.split()) >= _QUOTED_WORDS_MIN or len(_CJK.findall(quoted)) > 5
    return "it is a quotation" if long else ""


def plain_clause(sentence: str, code: str) -> str:
    """Return a sentence without its opening, its quotation marks and its contractions."""
    tables = tables_of(code)
    text = _QUOTES.sub(r"\1", sentence.strip(" -*•>"))
    opened = tables.marks["opening"].match(text)
    while opened and opened.end() < len(text):
        text = text[opened.end() :]
        opened = tables.marks["opening"].match(text)
    for pattern, spelled in tables.rewritten:
        text = pattern.sub(spelled, text)
    return text.strip(" .!。,;:").replace("’", "'")


class _Clause(NamedTuple):
    """One clause as a template reads it."""

    phrase: str
    subject: str
    value: str
    old: str
    marks: Marks
    text: str


def _clauses(sentence: str, tables: _Tables, *, about: str) -> Iterator[_Clause]:
    """Yield the clauses of a sentence that a template reads. Parts that do not form clauses belong
    together: "Ulm, Bonn und Köln"."""
    given_up = ""
    parts = tables.joins.split(sentence)
    if len(parts) > 1:
        read = [_fit(part, tables) for part in parts]
        olds = [_given_up(part, tables) for part in parts]
        if read[0] is not None and all(
            one is not None or old for one, old in zip(read[1:], olds[1:], strict=True)
        ):
            subject = ""
            for one, old in zip(read, olds, strict=True):
                given_up = given_up or (old if one is None or not one.subject else "")
            for one, old in zip(read, olds, strict=True):
                if one is None or (old and one is not read[0]):
                    continue
                subject = one.subject or subject or about
                yield one._replace(subject=subject, old=one.old or given_up)
            return
    whole = _fit(sentence, tables)
    if whole is not None:
        yield whole._replace(subject=whole.subject or about)
        return
    for part in parts if len(parts) > 1 else ():
        one = _fit(part, tables)
        if one is not None:
            yield one._replace(subject=one.subject or about)


def _given_up(part: str, tables: _Tables) -> str:
    """Return the value of a part such as "nicht mehr Ulm"."""
    for pattern in tables.instead:
        match = pattern.search(part.strip(" ,."))
        if match and not match.start() and len(match["old"].split()) <= _OLD_WORDS_MAX:
            return match["old"].strip()
    return ""


def _fit(clause: str, tables: _Tables) -> _Clause | None:
    """Divide a clause by the first template that fits it."""
    text, old = clause.strip(" ,.:"), ""
    if not text or len(text) > _CLAUSE_CHARS_READ:
        return None
    contrast = tables.contrast.fullmatch(text)
    if contrast:
        text, old = f"{contrast['before']} {contrast['new']}", contrast["old"]
        text = read_marks(text, tables)[0]
    for pattern in tables.instead:
        match = pattern.search(text)
        if match and match.start():
            old = match["old"]
            text = text[: match.start()].strip(" ,")
            break
    text, marks = read_marks(text, tables)
    if not tables.language.spaced and text.endswith(_CHANGED):
        text, marks = text[: -len(_CHANGED)], marks._replace(change=True)
    words = frozenset(word.casefold() for word in _WORD.findall(text))
    spaced = tables.language.spaced
    text = tables.phrases.sub(lambda found: found[0].replace(" ", _TIE), text)
    implied = _implied(text, tables)
    ending = f"{text} " if spaced else text
    for template in tables.templates:
        if template.first and not (
            template.first & words if spaced else any(one in text for one in template.first)
        ):
            continue
        for pattern in template.patterns:
            match = pattern.fullmatch(ending)
            if match is None or (implied and _inverted(tables.language) in pattern.pattern):
                continue
            parts = {
                name: (part or "").replace(_TIE, " ") for name, part in match.groupdict().items()
            }
            subject = parts.get("s", "").strip(" ,")
            if template.phrase != "is" and tables.copula.search(parts.get("v", "")):
                continue  # the value of another clause
            if not subject and template.first:
                subject = implied
            subject = subject or parts.get("old", "")
            return _Clause(
                template.phrase,
                subject,
                parts.get("v", "").strip(" ,。"),
                (parts.get("old") or old).strip(" ,"),
                marks,
                clause,
            )
    return None


def _implied(text: str, tables: _Tables) -> str:
    """Return the subject that the verb of a clause without one implies."""
    words = [word.casefold() for word in _WORD.findall(text)[:2]]
    for forms, subject in ((tables.language.own, "I"), (tables.language.ours, "we")):
        if any(word in forms.split("|") for word in words):
            return subject
    return ""


def read_marks(text: str, tables: _Tables) -> tuple[str, Marks]:
    """Remove the words that say how a clause is meant; also return what they say."""
    bare, ends = tables.ends.subn(" " if tables.language.spaced else "", text)
    found: dict[str, bool] = {"ends": bool(ends)}
    for name in ("change", "besides", "times", "nots"):
        bare, count = tables.marks[name].subn(" " if tables.language.spaced else "", bare)
        found[name] = bool(count)
    if ends:
        bare = re.sub(r"\b(?:mehr|más|plus|了)\b" if tables.language.spaced else "了$", "", bare)
    shorter = " ".join(bare.split()).strip(" ,")
    return shorter, Marks(found["change"], found["besides"], found["ends"], found["nots"])


def _claim(clause: _Clause, tables: _Tables, *, speaker: str, day_ns: int | None) -> Claim | None:
    """Complete the claim of a clause in English terms."""
    said, renewed = tables.new.subn(" " if tables.language.spaced else "", clause.subject)
    subject = _english_subject(said if renewed else clause.subject, tables)
    value = english_value(clause.value, tables.language.code)
    said_value = clause.value
    if clause.phrase in _INVERSE:
        value, said_value = _english_subject(clause.value, tables), clause.subject
    unnamed, (phrase, _, constant) = not subject, clause.phrase.partition("=")
    value = constant or value
    if phrase in _TIMED and re.fullmatch(r"\d{1,2}", value):
        value = f"{value}:00"  # "macht um 8 auf"
    if phrase == "joined" and re.match(r"(?:the|our|we)\b", subject):
        phrase = "switched to"  # a team does not change its employer
    if phrase == _PLACED and read_value(value, day_ns).type not in ("text", "none"):
        phrase = "is"  # "ist am Dienstag"
    if phrase == "is" and tables.roles.fullmatch(clause.value):
        phrase, value = ("became", value) if clause.marks.change else (phrase, f"a {value}")
    read = read_fact(subject or "it", phrase, value, speaker=speaker, time_ns=day_ns)
    if renewed and not (_OWNED.search(subject) or (phrase == "is" and read.settled)):
        # "the new printer" may be another one
        renewed, subject = 0, _english_subject(clause.subject, tables)
        read = read_fact(subject, phrase, value, speaker=speaker, time_ns=day_ns)
    denied = clause.marks.denied or clause.marks.ends
    old = (
        read_value(english_value(clause.old, tables.language.code), day_ns)
        if clause.old
        else NOTHING
    )
    change = read.change or clause.marks.change or bool(clause.old or renewed or constant)
    ends = read.ends or clause.marks.ends
    history = change and not (ends or clause.old) and is_long_ago(clause.text, day_ns)
    return replace(
        read,
        value=read.value if read.scope else _as_said(read.value, said_value, tables),
        positive=read.positive != denied,
        ends=ends,
        change=change and not history,
        past=read.past or history,
        history=history,
        given_up=_as_said(old, clause.old, tables),
        besides=clause.marks.besides,
        unnamed=read.unnamed or unnamed,
    )


def _as_said(value: StatedValue, text: str, tables: _Tables) -> StatedValue:
    """Return a value with its text as written, except articles, where it is only words."""
    bare = tables.marks["article"].sub("", text)
    return replace(value, text=bare) if value.type == "text" and bare else value


def english_value(text: str, code: str) -> str:
    """Return a value with the words that the table knows in English: "am 3. Mai" is "3 May"."""
    tables = tables_of(code)
    plain = unicodedata.normalize("NFKC", text)
    if not tables.language.spaced:
        plain = _CHINESE_NUMBER.sub(lambda match: str(_chinese_number(match[0])), plain)
    else:
        plain = re.sub(r"(?<=\d)[. ](?=\d{3}(?!\d))", "", plain)
        plain = re.sub(r"(?<=\d),(?=\d{1,2}(?!\d))", ".", plain)
    for pattern, english in tables.values:
        plain = pattern.sub(english, plain)
    plain = re.sub(r"month(\d{1,2}) ", lambda match: f"{_month(int(match[1]))} ", plain)
    if not tables.language.spaced:
        plain = re.sub(r"(\d{4})/(\d{1,2})/(\d{1,2})", _iso, plain)
        known = tables.words.get(plain.strip(" 的"))
        return " ".join((known or plain).split())
    plain = tables.marks["article"].sub("", plain)
    plain = " ".join(_translated(plain, tables).split())
    number, _, counted = plain.partition(" ")
    if tables.language.code == "de" and (number in _NUMBERS or number.isdigit()):
        return f"{number} {counted.lower()}"  # a capital would make a name of what is counted
    return plain


def _iso(match: re.Match[str]) -> str:
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"


def _month(number: int) -> str:
    names = "January February March April May June July August September October November December"
    return names.split()[(number - 1) % 12]


def _translated(text: str, tables: _Tables) -> str:
    """Replace the words that the table knows."""
    return tables.known.sub(lambda match: _word_of(tables, match[0]), text)


def _chinese_number(text: str) -> int:
    """Return the number that Chinese numerals write: 三十五 is 35."""
    total = held = 0
    for char in text.replace("两", "二"):
        if char in "十百千":
            total += (held or 1) * {"十": 10, "百": 100, "千": 1000}[char]
            held = 0
        else:
            held = held * 10 + _CHINESE_DIGITS.index(char)
    return total + held


def _english_subject(text: str, tables: _Tables) -> str:
    """Return a subject with English pronouns, possessives and nouns: "mein Hund" is "my dog", "der
    Port der API" is "the port of the API"."""
    if text in ("I", "we", ""):
        return text
    return _chinese_subject(text, tables) if not tables.language.spaced else _subject(text, tables)


def _word_of(tables: _Tables, found: str) -> str:
    """The English word of one that the table holds, in any case: `casefold` writes ß as ss."""
    return tables.words.get(found.lower(), tables.words.get(found.casefold(), found))


# "le vol de Lisbonne" is another one than "le vol pour Lisbonne"
_TRAVELS = frozenset("flight train bus ferry".split())
_DIRECTIONS = dict.fromkeys("de d desde von ab aus depuis".split(), "from") | dict.fromkeys(
    "a à al para hacia nach pour vers".split(), "to"
)


def _subject(text: str, tables: _Tables) -> str:
    language = tables.language
    found: list[str] = []
    words = tables.phrases.sub(lambda match: _word_of(tables, match[0]), text).split()
    tests = {
        name: frozenset(getattr(language, name).split("|"))
        for name in ("articles", "of", "me", "we", "my", "our", "others")
    }
    lowered = False
    for number, word in enumerate(words):
        low = word.strip(",.").casefold()
        if _TRAVELS & set(found) and low in _DIRECTIONS:
            found.append(_DIRECTIONS[low])
            lowered = True
            continue
        if len(words) == 1 and low in tests["others"]:
            return "it"
        if low in tests["of"] and (low not in tests["articles"] or (number and not lowered)):
            found.append("of")
        elif low in tests["me"]:
            found.append("I")
        elif low in tests["we"]:
            found.append("we")
        elif low in tests["my"]:
            found.append("my")
        elif low in tests["our"]:
            found.append("our")
        elif low in tests["articles"]:
            found.append("the")
        elif low in tests["others"]:
            found.append("its")
        else:
            noun = lowered and language.code == "de"
            last = number == len(words) - 1  # "Jonas wohnt", "Annas Bruder wohnt"
            found.append(_noun(word.strip(","), tables, lower=noun, last=last))
            lowered = False
            continue
        lowered = True
    return re.sub(r"\bof (?:the )?(?=of\b)", "", " ".join(found))


@lru_cache(maxsize=8)
def _stemmer(name: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(name)


def _noun(word: str, tables: _Tables, *, lower: bool, last: bool = False) -> str:
    """Return a noun in English if the table knows it, else its stem; names stay as they are."""
    low = word.casefold()
    language = tables.language
    if low in tables.words:
        return tables.words[low]
    if low in tables.english:
        return low
    if language.favourite and low.startswith(language.favourite) and len(low) > 10:
        return f"favorite {_noun(low.removeprefix(language.favourite), tables, lower=True)}"
    genitive = not (lower or last) and word[:1].isupper() and low.endswith("s")
    if language.code == "de" and genitive:
        return f"{word[:-1]}'s"
    if re.search(r"\d", word) or word.isupper() or (word[:1].isupper() and not lower):
        return word
    return table_stem(low, language.code)


def table_stem(word: str, code: str) -> str:
    """Return the stem of a lower-case word of a language."""
    if code in _GENDERED:
        return re.sub(r"(?<=\w{3})(?:s|x)$", "", word)
    stem: str = _stemmer(tables_of(code).language.stemmer).stemWord(word)
    return stem


def verbs_of(code: str) -> frozenset[str]:
    """Return the verbs that begin a template of a language."""
    return tables_of(code).verbs


_ROLE_NOUNS = (" leader", " manager", " owner")


def _chinese_subject(text: str, tables: _Tables) -> str:
    """Return a Chinese subject with its known words in English, apart from each other."""
    plain = re.sub(f"^(?:{tables.language.articles})(?=.)", "", text.strip())
    if re.fullmatch(tables.language.others, plain):
        return "it"
    for pronoun, english in (
        (tables.language.our, "our "),
        (tables.language.my, "my "),
    ):
        plain = re.sub(f"^(?:{pronoun})", english, plain)
    plain = re.sub(rf"^(?:{tables.language.we})(?=$)", "we", plain)
    plain = re.sub(rf"^(?:{tables.language.me})(?=$)", "I", plain)
    plain = re.sub(rf"^(?:{tables.language.we})", "our ", plain)
    plain = re.sub(rf"^(?:{tables.language.me})", "my ", plain)
    plain = re.sub(f"^(?:{tables.language.others})的?", "its ", plain)
    plain = tables.known.sub(lambda match: f" {tables.words[match[0]]} ", plain)
    parts = [" ".join(part.split()) for part in plain.split("的") if part.strip()]
    read = " ".join([*(_owner(part) for part in parts[:-1]), *parts[-1:]])
    # "team lead" alone would be a sentence
    return f"the {read}" if len(parts) == 1 and read.endswith(_ROLE_NOUNS) else read


def _owner(part: str) -> str:
    return part if part in ("my", "our", "its") or part.startswith("favorite") else f"{part}'s"


# Compiling the tables


@lru_cache(maxsize=8)
def tables_of(code: str) -> _Tables:
    """Return the compiled tables of a language."""
    language = next(one for one in LANGUAGES if one.code == code)
    words = _word_table(language)
    marks = {
        name: _marked(getattr(language, name), language)
        for name in ("change", "besides", "times", "nots", "hedge", "report")
    }
    marks["question"] = re.compile(language.question)
    marks["opening"] = re.compile(rf"(?:{language.opening})\s*[,:.!-]+\s*", re.IGNORECASE)
    marks["article"] = re.compile(rf"^(?:(?:{language.articles}) )+(?=\S)", re.IGNORECASE)
    edge = r"\b" if language.spaced else ""
    known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    templates = _templates(language)
    return _Tables(
        language=language,
        templates=templates,
        verbs=frozenset(word for one in templates for word in one.first),
        words=words,
        marks=marks,
        instead=tuple(_instead(one, language) for one in language.instead.split("|")),
        joins=re.compile(
            rf",\s*(?:(?:{language.joins})\s+)?|\s+(?:{language.joins})\s+"
            if language.spaced
            else rf"[,、]\s*(?:{language.joins})?"
        ),
        rewritten=tuple((re.compile(p, re.IGNORECASE), to) for p, to in language.rewritten),
        values=tuple((re.compile(p, re.IGNORECASE), to) for p, to in language.values),
        ends=_marked(language.ends, language),
        roles=re.compile(language.roles, re.IGNORECASE),
        contrast=_contrast(language),
        copula=re.compile(
            rf"\b(?:{_COPULAS[language.code]})\b" if language.spaced else _COPULAS[language.code],
            re.IGNORECASE,
        ),
        new=re.compile(
            rf"\b(?:{language.new})\s+(?=\w)"
            if language.spaced
            else rf"(?<=的)(?:{language.new})(?=.)|^(?:{language.new})(?=.)",
            re.IGNORECASE,
        ),
        known=re.compile(rf"{edge}(?:{known}){edge}", re.IGNORECASE),
        phrases=re.compile(
            rf"\b(?:{'|'.join(word for word in words if ' ' in word) or '(?!)'})\b", re.IGNORECASE
        ),
        english=frozenset(word for one in words.values() for word in one.split()),
    )


_COPULAS = {"de": "ist|sind", "es": "es|son|está", "fr": "est|sont", "zh": "是"}


def _contrast(language: Language) -> re.Pattern[str]:
    """Return the pattern of "not OLD but NEW"."""
    space = r"\s+" if language.spaced else r"\s*"
    no = rf"(?:{language.ends}|{language.nots})"
    if language.spaced:
        no = rf"\b{no}(?!\w)(?:\s+(?:mehr|más|plus))?"
    return re.compile(
        rf"(?P<before>.+?){space}?{no}{space}(?P<old>[^,]+?),?{space}(?:{language.contrast})"
        rf"{space}(?P<new>.+)",
        re.IGNORECASE,
    )


def _instead(template: str, language: Language) -> re.Pattern[str]:
    """Return the pattern of a clause's end that says what is replaced."""
    before = r"(?:^|[,(]\s*)" if template[0] == "," else r"(?:^|[ ,(]+)"
    if not language.spaced:
        before = before.replace(" ,", ",*")
    old = r"(?:auf |bei |in |à |a |en |chez )?(?P<old>[^,()]+)"
    return re.compile(before + template.lstrip(",").replace("{old}", old) + r"\)?$", re.IGNORECASE)


def _marked(words: str, language: Language) -> re.Pattern[str]:
    return re.compile(rf",?\s*\b(?:{words})(?!\w)" if language.spaced else f"(?:{words})", re.I)


def _word_table(language: Language) -> dict[str, str]:
    """Return the translations of a language. The English side may be two words."""
    found: dict[str, str] = {}
    for local, english in re.findall(r"(\S+?)=((?:[^\s=]+(?: (?!\S+=))?)+)", language.words):
        found[local.replace("_", " ")] = english.strip().replace("_", " ")
    return found


def _templates(language: Language) -> tuple[_Template, ...]:
    found = []
    for line in re.sub(r"\n +(\|?)", _unwrapped, language.phrases.strip()).split("\n"):
        phrase, _, texts = line.partition(": ")
        found += [_template(phrase, text, language) for text in re.split(r" / ", texts)]
    return tuple(found)


def _unwrapped(match: re.Match[str]) -> str:
    return match[1] or " "


def _template(phrase: str, text: str, language: Language) -> _Template:
    tokens = text.split()
    space = r"\s+" if language.spaced else r"\s*"
    pieces = [_piece(token, space, language) for token in tokens]
    body = "".join(pieces)
    subject = rf"(?P<s>.+?){space}"
    if "{s}" in text:
        agent = r"(?:[^\s,]+\s+){0,2}?" if language.spaced else ".{0,6}?"
        patterns = [body if tokens[0] == "{s}" else agent + body]
    else:
        patterns = [subject + body, body]
        if language.spaced and not tokens[0].startswith("{"):
            patterns.insert(1, pieces[0] + _inverted(language) + "".join(pieces[1:]))
    return _Template(
        phrase,
        _first_words(tokens),
        tuple(re.compile(one, re.IGNORECASE) for one in patterns),
    )


@lru_cache(maxsize=8)
def _inverted(language: Language) -> str:
    return _INVERTED.replace("ARTICLES", f"{language.articles}|{language.my}|{language.our}")


def _first_words(tokens: list[str]) -> frozenset[str]:
    """Return words one of which a clause of the template has; none if its start is a pattern."""
    found: set[str] = set()
    for token in tokens:
        found.update(
            token.rstrip("?").replace("_", " ").split(" ")[0] for token in token.split("|")
        )
        if not token.endswith("?"):
            break
    plain = all(re.fullmatch(r"[^\W\d_]+(?:['-][^\W\d_]+)*", word) for word in found)
    return frozenset(found) if plain else frozenset()


# a subject after the verb, which begins with no preposition
_INVERTED = (
    r"(?P<s>(?!(?:von|vom|zu|zum|zur|auf|in|im|bei|mit|nach|de|en|con|por|para|à|au|chez|dans)\b)"
    r"(?:(?:ARTICLES)\s+)?\S+\s+(?:\S+\s+){0,4}?)"
)
_VALUE_PATTERNS = {
    "{t}": (
        "(?<![A-Za-z\\d])(?:早上|上午|下午|晚上|中午|凌晨|周|星期|礼拜|每"
        "|[\\d一二三四五六七八九十两])[^,]*?"
    ),
    "{c}": (
        "坏|正常|单身|结婚|退休|怀孕|打开|关闭|解决|修复|修好|完成|启用|禁用|停用|开放|离异|生病|康复|批准"
    ),
    "{p}": "[^是,]+?",
    "{n}": "[\\d一二三四五六七八九十两]+",
}  # values that only their form sets apart from the subject


def _piece(part: str, space: str, language: Language) -> str:
    """Return the pattern of one part of a template."""
    if part == "*":
        return rf"(?:[^\s,]+{space}){{0,5}}?"
    if part in _VALUE_PATTERNS:
        return rf"(?P<v>{_VALUE_PATTERNS[part]}){space}"
    if part == "{latin}":  # a name, where any other word would be the subject
        return rf"(?P<old>[A-Za-z][\w .+-]*){space}"
    if part.startswith("{"):
        name = part.strip("{}?")
        if name == "old" and language.code in _OF_IS_FROM:
            return rf"(?P<old>(?!(?:{language.articles})\b).+?){space}"
        return rf"(?P<{name}>.+?){space}"
    optional = part.endswith("?")
    body = f"(?:{part.rstrip('?').replace('_', ' ')}){space}"
    return f"(?:{body})?" if optional else body
