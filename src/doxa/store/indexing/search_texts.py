"""The texts of a search row: what of a node is indexed and embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from doxa.base.words import run_ends, term_counts, terms


class SearchRule(NamedTuple):
    text: tuple[str, ...]
    live_edge: str
    off: str
    prev_edge: str
    said: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Every property whose words a row holds."""
        return (*self.text, *self.fields)


class SearchRules(dict[str, SearchRule]):
    """Search declarations by label, and what of the graph their rows depend on."""

    def __init__(self, rules: Mapping[str, SearchRule]) -> None:
        super().__init__(rules)
        self.live_edges = frozenset(rule.live_edge for rule in rules.values() if rule.live_edge)
        self.prev_edges = frozenset(rule.prev_edge for rule in rules.values() if rule.prev_edge)
        # by what the node that a live edge leaves is retired
        self.offs = frozenset(rule.off for rule in rules.values() if rule.live_edge)


def text_of(rule: SearchRule, props: Mapping[str, Any]) -> str:
    """Return the text that is indexed and embedded as a whole: each declared property, lists
    joined, without statements that add nothing. Who speaks is a column, not a word of the text."""
    parts: list[str] = []
    for name in rule.text:
        value = props.get(name)
        if name in rule.said and isinstance(value, list):
            value = added_statements(rule, props, name)
        if value is None or value == "" or value == []:
            continue
        parts.append(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return "\n".join(parts)


def added_statements(rule: SearchRule, props: Mapping[str, Any], name: str) -> list[str]:
    """Return the entries of a list of statements that have a word which the text lacks. A fact that
    was read from the text repeats its words; indexed again, they would count twice."""
    value = props.get(name)
    entries = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not entries or name not in rule.said:
        return entries
    rest = text_of(rule._replace(said=(), text=_unsaid(rule)), props)
    own = frozenset(terms(rest))
    return [text for text in entries if not own.issuperset(terms(text))]


def repeats_itself(rule: SearchRule, props: Mapping[str, Any]) -> bool:
    """Return whether a node has statements that add nothing to its text."""
    return any(
        len(added_statements(rule, props, name)) < len(value)
        for name in rule.said
        if isinstance(value := props.get(name), list)
    )


def _unsaid(rule: SearchRule) -> tuple[str, ...]:
    return tuple(name for name in rule.text if name not in rule.said)


def entries_of(rule: SearchRule, props: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the fields of a node say, entry by entry, with the field's name. What an older
    file or a hand has put there otherwise says nothing."""
    lists = ((name, value) for name in rule.fields if isinstance(value := props.get(name), list))
    return [
        (name, text)
        for name, value in lists
        for text in value
        if isinstance(text, str) and text.strip()
    ]


def texts_of(rule: SearchRule | None, props: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all whose words a row holds: its text, then the entries of its fields. Nothing without
    a rule."""
    return (text_of(rule, props), *(text for _, text in entries_of(rule, props))) if rule else ()


def words_of(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Return the terms of a row with their counts, and its length in terms, from what texts_of
    gives.

    All entries count as one: of each term the most that one of them holds, and of their lengths the
    greatest. So what many entries repeat does not count many times, and having many makes no row so
    long that its own words are lost in it.
    """
    texts = tuple(texts) or ("",)
    own, *entries = map(term_counts, texts)
    if not entries and texts[0].isascii():
        return own, own.total()
    most: Counter[str] = Counter()
    for counts in entries:
        most |= counts
    ends = Counter[str]()
    for text in texts:
        ends |= run_ends(text)
    return own + most + ends, own.total() + max((counts.total() for counts in entries), default=0)
