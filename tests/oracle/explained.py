"""The differences that are explained to users, each with the heading of the page
`docs/reference/differences-from-neo4j.md` that explains it, and the narrow rule that recognises
it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.oracle.compare import difference
from tests.oracle.sides import Answer, float_text
from tests.oracle.statements import Statement

Rule = Callable[[Statement, Answer, Answer], bool]


class Explained(NamedTuple):
    """`instead` gives the text that, if the explanation holds, Neo4j answers as doxa answers the
    statement: a difference of another cause is not covered by a rule that fits by chance."""

    anchor: str
    rule: Rule
    instead: Callable[[str], str] | None = None


def refused_by_neo4j(said: str, *, text: str = "") -> Rule:
    """doxa has rows, Neo4j's message contains these words, and the statement these."""

    def rule(asked: Statement, ours: Answer, theirs: Answer) -> bool:
        return (
            ours.rows is not None
            and theirs.rows is None
            and re.search(said, theirs.message) is not None
            and re.search(text, asked.text, re.IGNORECASE) is not None
        )

    return rule


def refused_by_doxa(said: str, *, text: str = "") -> Rule:
    def rule(asked: Statement, ours: Answer, theirs: Answer) -> bool:
        return (
            ours.rows is None
            and theirs.rows is not None
            and re.search(said, ours.message) is not None
            and re.search(text, asked.text, re.IGNORECASE) is not None
        )

    return rule


def rows_differ(text: str, test: Callable[[Any, Any], bool]) -> Rule:
    """Both have as many rows; the statement contains these words, and every pair of values that
    differs passes the test."""

    def rule(asked: Statement, ours: Answer, theirs: Answer) -> bool:
        if ours.rows is None or theirs.rows is None or len(ours.rows) != len(theirs.rows):
            return False
        if re.search(text, asked.text, re.IGNORECASE) is None:
            return False
        pairs = [
            (one, other)
            for left, right in zip(ours.rows, theirs.rows, strict=True)
            for one, other in zip(left, right, strict=True)
            if one != other
        ]
        return bool(pairs) and all(test(one, other) for one, other in pairs)

    return rule


def _null_or_nothing(asked: Statement, ours: Answer, theirs: Answer) -> bool:
    """doxa computes nothing with the value of the wrong type: it returns null, or no row."""
    return refused_by_neo4j("^Type mismatch")(asked, ours, theirs) and all(
        value == ("NoneType", None) for row in ours.rows or () for value in row
    )


def _same_number(one: Any, other: Any) -> bool:
    return bool(one[0] == "float" and other[0] == "int" and one[1] == float_text(other[1]))


def _zeros(one: Any, other: Any) -> bool:
    return bool({one, other} == {("float", "0.0"), ("float", "-0.0")})


def _nearly(one: Any, other: Any) -> bool:
    """Equal durations, except for days that became hours and some nanoseconds."""
    if one[0] != "duration" or other[0] != "duration" or one[1] != other[1]:
        return False
    totals = [days * 86_400 * 10**9 + nanos for _, _, days, nanos in (one, other)]
    return bool(abs(totals[0] - totals[1]) < 1_000)


def _trimmed_less(one: Any, other: Any) -> bool:
    """Neo4j left one character that doxa took away."""
    return bool(
        one[0] == other[0] == "str" and one[1] in other[1] and len(other[1]) == len(one[1]) + 1
    )


def _same_items(one: Any, other: Any) -> bool:
    return bool(one[0] == other[0] == "list" and sorted(one[1:]) == sorted(other[1:]))


_RANGE = re.compile(r"\brange\(\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(-?\d+)\s*\)")


def _is_short(found: re.Match[str]) -> bool:
    first, last, size = map(int, found.groups())
    between = last - first
    return between != 0 and abs(between) < abs(size) and (between < 0) != (size < 0)


def _short_range(asked: Statement, ours: Answer, theirs: Answer) -> bool:
    """range(a, b, step) with b before a by less than a step: Neo4j makes [a] of it."""
    both = ours.rows is not None and theirs.rows is not None
    return both and any(map(_is_short, _RANGE.finditer(asked.text)))


def _without_short_ranges(text: str) -> str:
    return _RANGE.sub(lambda found: "[]" if _is_short(found) else found[0], text)


def _items_of_set(asked: Statement, ours: Answer, theirs: Answer) -> bool:
    """SET n.p = …, n.q = … where the second item reads what the first one sets."""
    both = ours.rows is not None and theirs.rows is not None
    found = re.search(r"\bSET (\w+)\.(\w+) ?=.*?, ?\1\.\w+ ?=.*?\b\1\.\2\b", asked.text)
    return both and asked.writes and found is not None


_ITEM = re.compile(r", ?(?=\w+(?:\.\w+ ?=|(?: \+?=)|:\w))")
_CLAUSE = re.compile(
    r"\b(?:SET|REMOVE|RETURN|WITH|MATCH|OPTIONAL|CREATE|MERGE|DELETE|DETACH|UNWIND|CALL|FOREACH)\b"
)


def _each_item_a_clause(text: str) -> str:
    """Write SET a, b as SET a SET b."""
    parts, start = [], 0
    for clause in re.finditer(r"\bSET\b", text):
        depth, at = 0, clause.end()
        while at < len(text) and depth >= 0:
            if depth == 0 and _CLAUSE.match(text, at) and not text[at - 1].isalnum():
                break
            depth += (text[at] in "([{") - (text[at] in ")]}")
            item = _ITEM.match(text, at) if depth == 0 else None
            if item is not None:
                parts += [text[start:at], " SET "]
                start = at = item.end()
            else:
                at += 1
    return "".join((*parts, text[start:]))


_WRITE = re.compile(r"(?:\b(?:SET|REMOVE)|,) (\w+)(?:\.(\w+)|( \+?= \{)|(:\w))")


def _clauses_that_write(asked: Statement, ours: Answer, theirs: Answer) -> bool:
    """SET or REMOVE clauses that write one property, or labels, through different variables. Their
    order decides the graph and nothing else."""
    if not asked.writes or ours.rows is None or theirs.rows is None:
        return False
    writes = [match.groups() for match in _WRITE.finditer(asked.text)]
    clash = any(
        one[0] != other[0]
        and bool(one[3]) == bool(other[3])
        and (one[1] == other[1] or bool(one[2] or other[2]))
        for at, one in enumerate(writes)
        for other in writes[at + 1 :]
    )
    return clash and sorted(map(repr, ours.rows)) == sorted(map(repr, theirs.rows))


def _optional_count(asked: Statement, ours: Answer, theirs: Answer) -> bool:
    """COUNT in the condition of an OPTIONAL MATCH, whose own condition compares with null."""
    both = ours.rows is not None and theirs.rows is not None
    text = r"\[[^]]*\bnull\b.*OPTIONAL MATCH.*WHERE.*COUNT \{.* [<>]=? ?\w+ \} [<>=]"
    return both and re.search(text, asked.text) is not None


_TEMPORAL = r"\b(date|time|localtime|datetime|localdatetime|duration)\b"
EXPLAINED: tuple[Explained, ...] = (
    Explained("types-are-checked-less-before-a-statement-runs", _null_or_nothing),
    Explained(
        "types-are-checked-less-before-a-statement-runs",
        refused_by_neo4j("^Type mismatch: accumulator is", text=r"\breduce\b"),
    ),
    Explained(
        "types-are-checked-less-before-a-statement-runs",
        refused_by_neo4j("^Type mismatch: expected .* but was", text=r"[+-]|\bIS\b"),
    ),
    Explained(
        "functions-that-only-doxa-has",
        refused_by_neo4j("^Unknown function '(cosh|sinh|tanh|coth)'"),
    ),
    Explained("functions-that-only-doxa-has", refused_by_neo4j(r"^Unknown function 'apoc\.")),
    Explained(
        "temporal-functions",
        refused_by_neo4j(
            "^(Invalid call signature|Cannot (select|get) |Unsupported unit|Invalid nanosecond)",
            text=_TEMPORAL,
        ),
    ),
    Explained("temporal-functions", refused_by_doxa("is not smaller than", text=r"\.truncate\(")),
    Explained("temporal-functions", rows_differ(r"\bavg\(", _nearly)),
    Explained("points", refused_by_doxa(r"point\.\w+\(\) takes", text=r"\bpoint\.")),
    Explained("null-arguments", refused_by_neo4j("Invalid normal form", text=r"\bnormalize\(")),
    Explained("null-arguments", refused_by_neo4j("but got: NO_VALUE", text=r"\brange\(")),
    Explained("points", refused_by_neo4j("is not describing a valid point")),
    Explained(
        "whole-numbers-of-32-bits",
        refused_by_neo4j("Expected an integer between -2147483648 and 2147483647"),
    ),
    Explained(
        "types-are-checked-less-before-a-statement-runs",
        refused_by_doxa("takes .*, not a value of type", text=r"\bnull\b|head\(\[\]\)"),
    ),
    Explained(
        "single-values-in-place-of-lists",
        refused_by_doxa("IN needs a list on its right|A list is needed here", text=r"\bIN\b"),
    ),
    Explained("division-by-zero", refused_by_neo4j("^/ by zero", text="/")),
    Explained("the-sign-of-zero", rows_differ(r"-", _zeros)),
    Explained("percentilecont", rows_differ(r"\bpercentileCont\(", _same_number)),
    Explained("sums-beyond-64-bits", refused_by_doxa("does not fit", text=r"\bsum\(")),
    Explained(
        "sums-beyond-64-bits",
        rows_differ(r"\bsum\(", lambda one, other: bool(one[0] == "int" and other[0] == "float")),
    ),
    Explained("lists-that-neo4j-gets-wrong", refused_by_neo4j("'reverse\\(\\)'", text="reverse")),
    Explained("lists-that-neo4j-gets-wrong", _short_range, _without_short_ranges),
    Explained("order-of-keys-and-labels", rows_differ(r"\b(keys|labels)\(", _same_items)),
    Explained("syntax-that-neo4j-refuses", refused_by_neo4j("^WITH is required between", text="")),
    Explained("syntax-that-neo4j-refuses", refused_by_neo4j("^Mixing label expression symbols")),
    Explained("syntax-that-neo4j-refuses", refused_by_neo4j("must be aliased")),
    Explained("syntax-that-neo4j-refuses", refused_by_neo4j("^Invalid input 'IS'", text="IN")),
    Explained(
        "texts", refused_by_doxa("takes no negative number", text=r"\b(left|right|substring)\(")
    ),
    Explained("several-properties-in-one-set", _items_of_set, _each_item_a_clause),
    Explained("writes-of-clauses-that-follow-one-another", _clauses_that_write),
    Explained("subqueries-about-null-in-optional-match", _optional_count),
    Explained("texts", rows_differ(r"\b[rb]Trim\(.+,", _trimmed_less)),
)


def explanation(
    asked: Statement,
    ours: Answer,
    theirs: Answer,
    again: Callable[[Statement], Answer] | None = None,
) -> str | None:
    """The anchor of the first explanation whose rule fits and which holds: `again` asks Neo4j what
    an explanation says that it would answer like doxa."""
    for one in EXPLAINED:
        if not one.rule(asked, ours, theirs):
            continue
        if one.instead is None or again is None:
            return one.anchor
        other = asked._replace(text=one.instead(asked.text))
        if difference(asked, ours, again(other)) is None:
            return one.anchor
    return None
