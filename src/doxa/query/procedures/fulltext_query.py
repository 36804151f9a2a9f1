"""Parse full-text queries. Every text is a query, since programs pass on what a person typed.

    word  "a phrase"  prefix*  wi?dc*d  property:term  property:(a b)  +must  -must not  (a group)
    AND  OR  NOT  && ||

Parentheses group, and AND binds tighter than OR. Words next to one another are optional; AND makes
both its sides required, + the next word or group; NOT and - exclude. Where a level has no AND, a
sign counts for the whole level, as in Lucene. A sign counts before a word or group, a colon after
the name of a property of the index. A star stands for any characters and a question mark within a
word for one; a word between two stars is a word. `fox~`, `fox^2` and `"quick fox"~3` are read as
fox and "quick fox": proximity and weights are not supported. All other text is split into words as
the index was, each of them optional.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.words import terms

_TOKEN = re.compile(
    r"(?P<sign>(?<![^\s(])[+-])?(?:(?P<open>\()|(?P<field>[^\s:\"()]+):(?=[^\s])(?:\"(?P<within>[^\"]*)\"(?:[~^][0-9.]*)*)?"
    r"|\"(?P<phrase>[^\"]*)\"(?:[~^][0-9.]*)*|(?P<word>[^\s\"()]+))|(?P<close>\))"
)
_PLAIN = re.compile(r"[^\s\"()]+")
_TUNING = "~^0123456789."
_WILD = re.compile(r"[^\w*?]*((?:[^\W_]|[*?])*[^\W_]\**)[^\w*]*")
_EMPHASIS = re.compile(r"\*+([^*?]+)\*+")
_JOINS = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT"}
_DEPTH_MAX = 50  # deeper parentheses do not group


@dataclass(slots=True)
class Part:
    """A term, or several of which an element holds all. `need` is must, not or may; `field` names
    a property. With `prefix` the term is the beginning of a word, of which `pattern`, if any, is
    the rest with its wildcards."""

    terms: list[str]
    need: str
    field: str | None = None
    phrase: bool = False
    prefix: bool = False
    pattern: str | None = None


@dataclass(slots=True)
class Group:
    """Clauses in parentheses. An element matches that matches all that must, none that must not
    and, where nothing must, one that may."""

    clauses: list[Part | Group]
    need: str

    def parts(self) -> Iterator[Part]:
        for clause in self.clauses:
            if isinstance(clause, Part):
                yield clause
            else:
                yield from clause.parts()


def parse_fulltext_query(text: str, properties: Collection[str]) -> Group:
    """Parse any text. Texts are cut at the same length as questions to recall."""
    return _Reading(properties).group_of(text[:QUERY_CHARS_READ])


def matches_wildcards(word: str, pattern: str) -> bool:
    """Return whether the whole word is written as the pattern, in which a star stands for any
    characters and a question mark for one."""
    at = place = 0
    star, resumed = -1, 0  # the last star, and where what follows it was last tried
    while at < len(word):
        if place < len(pattern) and pattern[place] == "*":
            star, resumed, place = place, at, place + 1
        elif place < len(pattern) and pattern[place] in ("?", word[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resumed += 1
            at, place = resumed, star + 1
        else:
            return False
    return pattern[place:].strip("*") == ""


class _Level:
    """What was read within one pair of parentheses, before which stand `field` and `sign`."""

    def __init__(self, field: str | None = None, sign: str = "") -> None:
        self.field = field
        self.sign = sign
        self.alternatives: list[list[Part | Group]] = [[]]  # between which OR stood
        self.last: list[Part | Group] = []  # which a following AND requires
        self.join = ""
        self.negate = False
        self.joined = False  # there was an AND

    def join_by(self, word: str) -> None:
        if word == "NOT":
            self.negate = True
            return
        self.join = word
        if word == "AND" and self.last:
            self.joined = True
            for clause in self.last:
                clause.need = "must" if clause.need == "may" else clause.need

    def add(self, clauses: list[Part | Group], sign: str) -> None:
        unwanted = self.negate or sign == "-"
        need = "not" if unwanted else "must" if sign == "+" or self.join == "AND" else "may"
        if self.join == "OR" and clauses:
            self.alternatives.append([])
        for clause in clauses:
            clause.need = need
        self.alternatives[-1] += clauses
        self.last = clauses or self.last
        self.join, self.negate = "", False

    def group(self) -> Group:
        found: list[Part | Group] = []
        if not self.joined:
            found = [clause for one in self.alternatives for clause in _without_negations(one)]
            return Group(found, "may")
        for one in self.alternatives:
            clauses = _without_negations(one)
            if len(self.alternatives) == 1 or len(clauses) == 1:
                found += clauses
            elif clauses:
                found.append(Group(clauses, "may"))
        return Group(found, "may")


def _without_negations(clauses: list[Part | Group]) -> list[Part | Group]:
    """Replace groups that only exclude: a (NOT b) is a NOT b, and a NOT (NOT b) is a AND b."""
    found: list[Part | Group] = []
    for clause in clauses:
        if isinstance(clause, Part) or any(one.need != "not" for one in clause.clauses):
            found.append(clause)
        elif clause.need != "not":
            found += clause.clauses
        else:
            for one in clause.clauses:
                one.need = "may"
            found.append(Group(clause.clauses, "must"))
    return found


class _Reading:
    def __init__(self, properties: Collection[str]) -> None:
        self._properties = properties
        self._levels = [_Level()]
        self._too_deep = 0

    def group_of(self, text: str) -> Group:
        place, field_name, sign = 0, None, ""
        while match := _TOKEN.search(text, place):
            place, sign = match.end(), match["sign"] or sign
            if match["field"] in self._properties and match["within"] is None:
                field_name = match["field"]
                continue  # applies to the text after the colon
            if match["close"]:
                self._close()
            elif match["open"]:
                self._open(field_name, sign)
            elif match["field"] is not None:
                place = self._named(text, match, sign)
            elif match["phrase"] is not None:
                within = field_name or self._level.field
                self._add([Part(terms(match["phrase"]), "", within, phrase=True)], sign)
            elif match["word"] in _JOINS and not sign and field_name is None:
                self._level.join_by(_JOINS[match["word"]])
            else:
                self._add(_words(match["word"], field_name or self._level.field), sign)
            field_name, sign = None, ""
        while len(self._levels) > 1:
            self._close()
        return self._level.group()

    @property
    def _level(self) -> _Level:
        return self._levels[-1]

    def _open(self, field_name: str | None, sign: str) -> None:
        if len(self._levels) > _DEPTH_MAX:
            self._too_deep += 1
        else:
            self._levels.append(_Level(field_name or self._level.field, sign))

    def _close(self) -> None:
        if self._too_deep:
            self._too_deep -= 1
        elif len(self._levels) > 1:
            level = self._levels.pop()
            made = level.group()
            if len(made.clauses) == 1 and made.clauses[0].need != "not":
                self._level.add(made.clauses, level.sign)
            elif made.clauses:
                self._level.add([made], level.sign)

    def _named(self, text: str, match: re.Match[str], sign: str) -> int:
        """Parse property:"a phrase", or a colon that follows no property and is text. Returns the
        position after it."""
        name, within, outer = match["field"], match["within"], self._level.field
        if name in self._properties:
            self._add([Part(terms(within), "", name, phrase=True)], sign)
        elif within is not None:
            self._add(
                [*_words(name, outer), Part(terms(within), "", outer, phrase=True)],
                sign,
            )
        else:
            whole = _PLAIN.match(text, match.start("field"))
            assert whole is not None
            self._add(_words(whole.group(), outer), sign)
            return whole.end()
        return match.end()

    def _add(self, parts: list[Part], sign: str) -> None:
        found = [part for part in parts if part.terms]
        if (self._level.negate or sign == "-") and len(found) > 1:
            # excludes elements that contain all of them
            found = [Part([term for part in found for term in part.terms], "", found[0].field)]
        self._level.add([*found], sign)


def _words(text: str, within: str | None = None) -> list[Part]:
    bare = _without_tuning(text)
    wild = _WILD.fullmatch(bare)
    word = unicodedata.normalize("NFKC", wild[1]).casefold() if wild else ""
    if not {"*", "?"} & set(word) or _EMPHASIS.fullmatch(word):
        return [Part([term], "", within) for term in terms(bare)]
    start = re.match(r"[^*?]*", word)
    assert start is not None
    pattern = None if word == f"{start[0]}*" else word
    return [Part([start[0]], "", within, prefix=True, pattern=pattern)]


def _without_tuning(text: str) -> str:
    """Return a word without the ~ and ^ at its end and their numbers."""
    end = len(text.rstrip(_TUNING))
    marks = [place for mark in "~^" if (place := text.find(mark, end)) >= 0]
    return text[: min(marks, default=len(text))]
