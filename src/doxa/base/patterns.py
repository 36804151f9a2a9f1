"""Regular expressions: compiled at their first use, and several looked for at once.

Compiling one takes up to a few milliseconds, and a table of them costs more than opening a memory.
A module that most commands import but few use declares its expressions with `lazy_re`.

    RULES = PatternSet({"asked": _QUESTION, "hedged": _HEDGED, ...})
    may = RULES.candidates("Ana may live in Bonn")   # {"hedged"}: the others need not be tried
    if "hedged" in may and _HEDGED.search(...)

RE2 reads a text once for all patterns of a set, in about a microsecond for a sentence; `re` takes
several for each pattern. The patterns are those of `re`. RE2 has no lookaround, so one is left out
of what it looks for: it then finds more than the pattern, never less, and the pattern itself
decides. What is not among the candidates cannot match.

Letters, digits and spaces mean the same to both in printable ASCII only. Any other text has every
pattern as a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _LazyPattern:
    """Stands for a `re.Pattern`, which it compiles when one of its attributes is first asked for.

    The methods then lie in the object itself, so that later calls cost what those of the pattern
    cost. Two threads may both compile; they get the same pattern, since `re` caches it.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_re({self._source!r}, {self._flags!r})"


def lazy_re(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at its first use; an invalid one raises re.error then.

    It has the methods and attributes of a `re.Pattern`, but `re.sub` and the other functions of
    the module do not take it.
    """
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


Key = TypeVar("Key")
_LOOKAROUNDS = ("(?=", "(?!", "(?<=", "(?<!")
_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
_KNOWN_FLAGS = re.UNICODE | re.IGNORECASE | re.MULTILINE | re.DOTALL


class PatternSet(Generic[Key]):
    """Patterns by their keys: those of `search` may stand anywhere in a text, those of `match`
    only at its beginning. Nothing is compiled before the first text."""

    __slots__ = ("_all", "_match", "_named", "_search", "_set")

    def __init__(
        self,
        search: Mapping[Key, re.Pattern[str]] | None = None,
        match: Mapping[Key, re.Pattern[str]] | None = None,
    ) -> None:
        self._search, self._match = dict(search or {}), dict(match or {})
        self._all = frozenset((*self._search, *self._match))
        self._named: dict[tuple[int, ...], frozenset[Key]] = {}
        self._set: Any = None

    def candidates(self, text: str) -> frozenset[Key]:
        """Return the keys of the patterns that may match; no other one matches."""
        if not text.isascii() or not text.isprintable():
            return self._all
        if self._set is None:
            self._set = self._compiled()
        found = tuple(self._set.Match(text.encode()) or ())
        named = self._named.get(found)
        return self._name(found) if named is None else named

    def _name(self, found: tuple[int, ...]) -> frozenset[Key]:
        keys = (*self._search, *self._match)
        # The last one matches every text. It is missed only by an RE2 that ran out of memory.
        named = (
            frozenset(keys[number] for number in found if number < len(keys))
            if len(keys) in found
            else self._all
        )
        if len(self._named) < _NAMED_MAX:
            self._named[found] = named
        return named

    def _compiled(self) -> Any:
        import re2  # on first use: most commands read no text

        options = re2.Options()
        options.log_errors = False
        made = re2.Set.SearchSet(options)
        sources = [without_lookarounds(pattern) for pattern in self._search.values()]
        sources += [rf"\A(?:{without_lookarounds(one)})" for one in self._match.values()]
        for source in (*sources, ""):
            try:
                made.Add(source)
            except re2.error:
                raise ValueError(f"A set of patterns cannot have {source!r}.") from None
        made.Compile()
        return made


_NAMED_MAX = 1_024


def without_lookarounds(pattern: re.Pattern[str]) -> str:
    """Return an expression for RE2 that is found in every printable ASCII text in which `pattern`
    is. Raises ValueError for what RE2 would read differently: other flags, a back reference,
    `{,3}`, a class such as `[[:alpha:]]`, and a dotless or dotted i, which `re` takes for an i
    where case is ignored."""
    if pattern.flags & ~_KNOWN_FLAGS:
        raise ValueError(f"A set of patterns cannot have the flags of {pattern!r}.")
    if any(part in pattern.pattern for part in ("{,", "\u0130", "\u0131")):
        raise ValueError(f"A set of patterns cannot have {pattern!r}.")
    flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    source, parts, position = pattern.pattern, [f"(?{flags})"] if flags else [], 0
    while position < len(source):
        end = _end_of_part(source, position)
        part = source[position:end]
        if part.startswith(_LOOKAROUNDS):
            end = _end_of_group(source, position)
            part = "(?:)"
        elif part[0] == "\\":
            part = _escape(part)
        elif part[0] == "[":
            part = _class(part)
        parts.append(part)
        position = end
    return "".join(parts)


def _end_of_part(source: str, start: int) -> int:
    """Where one escape, class, opening of a lookaround, or character ends."""
    if source[start] == "\\":
        return _end_of_escape(source, start)
    if source[start] != "[":
        opening = next((one for one in _LOOKAROUNDS if source.startswith(one, start)), "")
        return start + max(1, len(opening))
    end = start + (2 if source[start + 1] == "^" else 1)
    end += source[end] == "]"  # as the first character it is not the end
    while source[end] != "]":
        end = _end_of_escape(source, end) if source[end] == "\\" else end + 1
    return end + 1


def _end_of_escape(source: str, start: int) -> int:
    return start + {"x": 4, "u": 6, "U": 10}.get(source[start + 1], 2)


def _end_of_group(source: str, start: int) -> int:
    depth, position = 0, start
    while True:
        end = _end_of_part(source, position)
        depth += {"(": 1, ")": -1}.get(source[position], 0)
        if not depth:
            return end
        position = end


def _class(part: str) -> str:
    if "[:" in part[1:]:
        raise ValueError(f"A set of patterns cannot have the class {part}.")
    if not re.match(part, "i") and not re.match(part, "I") and re.match(part, "i", re.IGNORECASE):
        raise ValueError(f"A set of patterns cannot have a dotless or dotted i, as in {part}.")
    made, position = "", 0
    while position < len(part):
        end = _end_of_escape(part, position) if part[position] == "\\" else position + 1
        made += _escape(part[position:end]) if part[position] == "\\" else part[position]
        position = end
    return made


def _escape(part: str) -> str:
    if part in ("\\u0130", "\\u0131"):
        raise ValueError("A set of patterns cannot have a dotless or dotted i.")
    if part[1] in "uU":
        return f"\\x{{{part[2:]}}}"
    if part == "\\Z":
        return "\\z"
    if part[1].isdigit():
        raise ValueError(f"A set of patterns cannot have the back reference {part}.")
    return part
