"""Parse full-text queries. Every text is a query, since programs pass on what a person typed.

    word  "a phrase"  prefix*  property:term  +must  -must not  AND  OR  NOT  && ||

A sign counts before a word, a colon after the name of a property of the index, a star after letters
and digits. Parentheses do not group, but a minus or NOT before one applies to its whole content.
`fox~`, `fox^2` and `"quick fox"~3` are read as fox and "quick fox": proximity and weights are not
supported. All other text is split into words as the index was, each of them optional.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.words import terms

_TOKEN = re.compile(
    r"(?P<sign>(?<![^\s(])[+-])?(?:(?P<open>\()|(?P<field>[^\s:\"()]+):(?=[^\s])(?:\"(?P<within>[^\"]*)\"(?:[~^][0-9.]*)*)?"
    r"|\"(?P<phrase>[^\"]*)\"(?:[~^][0-9.]*)*|(?P<word>[^\s\"()]+))|(?P<close>\))"
)
_PLAIN = re.compile(r"[^\s\"()]+")
_TUNING = re.compile(r"(?:[~^][0-9.]*)+$")
_PREFIX = re.compile(r"[^\w*]*([^\W_]+)\*[^\w*]*")
_JOINS = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT"}


@dataclass(slots=True)
class Part:
    """One part of a query: `need` is must, not or may; `field` names a property."""

    terms: list[str]
    need: str
    field: str | None = None
    phrase: bool = False
    prefix: bool = False


def parse_fulltext_query(text: str, properties: Collection[str]) -> list[Part]:
    """Split any text into parts. Texts are cut at the same length as questions to recall."""
    return _Reading(properties).parts_of(text[:QUERY_CHARS_READ])


class _Reading:
    def __init__(self, properties: Collection[str]) -> None:
        self._properties = properties
        self._parts: list[Part] = []
        self._last: list[Part] = []  # the parts that a following AND makes required
        self._join, self._negate = "", False
        self._groups: list[
            tuple[bool, str | None]
        ] = []  # for each open parenthesis: whether its content is excluded, and its property

    def parts_of(self, text: str) -> list[Part]:
        place, field, sign = 0, None, ""
        while match := _TOKEN.search(text, place):
            place, sign = match.end(), match["sign"] or sign
            if match["field"] in self._properties and match["within"] is None:
                field = match["field"]
                continue  # applies to the text after the colon
            if match["close"]:
                del self._groups[-1:]
            elif match["open"]:
                self._groups.append(
                    (self._negate or sign == "-" or self._unwanted(), field or self._field())
                )
                self._join, self._negate = "", False
            elif match["field"] is not None:
                place = self._named(text, match, sign)
            elif match["phrase"] is not None:
                self._add(
                    [Part(terms(match["phrase"]), "", field or self._field(), phrase=True)], sign
                )
            elif match["word"] in _JOINS and not sign and field is None:
                self._joined(_JOINS[match["word"]])
            else:
                self._add(_words(match["word"], field or self._field()), sign)
            field, sign = None, ""
        return self._parts

    def _named(self, text: str, match: re.Match[str], sign: str) -> int:
        """Parse property:"a phrase", or a colon that follows no property and is text. Returns the
        position after it."""
        field, within = match["field"], match["within"]
        if field in self._properties:
            self._add([Part(terms(within), "", field, phrase=True)], sign)
        elif within is not None:
            self._add(
                [
                    *_words(field, self._field()),
                    Part(terms(within), "", self._field(), phrase=True),
                ],
                sign,
            )
        else:
            whole = _PLAIN.match(text, match.start("field"))
            assert whole is not None
            self._add(_words(whole.group(), self._field()), sign)
            return whole.end()
        return match.end()

    def _unwanted(self) -> bool:
        return bool(self._groups) and self._groups[-1][0]

    def _field(self) -> str | None:
        return self._groups[-1][1] if self._groups else None

    def _joined(self, word: str) -> None:
        if word == "NOT":
            self._negate = True
            return
        self._join = word
        if word == "AND":
            for part in self._last:
                part.need = "must" if part.need == "may" else part.need

    def _add(self, parts: list[Part], sign: str) -> None:
        unwanted = self._negate or sign == "-" or self._unwanted()
        need = "not" if unwanted else "must" if sign == "+" or self._join == "AND" else "may"
        found = [part for part in parts if part.terms]
        if unwanted and len(found) > 1:  # excludes elements that contain all of them
            found = [Part([term for part in found for term in part.terms], need, found[0].field)]
        for part in found:
            part.need = need
        self._parts += found
        self._last = found or self._last
        self._join, self._negate = "", False


def _words(text: str, field: str | None = None) -> list[Part]:
    bare = _TUNING.sub("", text)
    prefix = _PREFIX.fullmatch(bare)
    if prefix:
        return [Part([unicodedata.normalize("NFKC", prefix[1]).casefold()], "", field, prefix=True)]
    return [Part([term], "", field) for term in terms(bare)]
