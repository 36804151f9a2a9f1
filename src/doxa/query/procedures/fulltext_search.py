"""Full-text search over declared indexes: BM25 over the elements that the query may see.

BM25 (`base/bm25.py`) is computed with k1 = 1.2 and b = 0.75, the median length in place of
the mean, and the terms of doxa's analyser. `fulltext_query.py` parses the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from doxa.base.bm25 import inverse_document_frequency, length_norm, term_frequency, term_score
from doxa.base.values import decode_properties
from doxa.base.words import has_phrase, may_be_stem, terms, words_of
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.procedures.fulltext_query import (
    Group,
    Part,
    matches_wildcards,
    parse_fulltext_query,
)
from doxa.query.procedures.index_entries import (
    COUNTED_MAX,
    Entries,
    declared_index,
    index_entries,
    visible_element,
    visible_elements,
)
from doxa.store import IndexRule, after_key, int64_array

_K1, _B = 1.2, 0.75
_PREFIX_TERMS_MAX = 1_000
_STEM_CHARS = 2  # at least, of a word that is not shorter
# the size of the sample if more elements contain a word: testing all would take longer than the
# search
_SAMPLED = 32


def fulltext(
    run: Any, name: str, query: str, options: Any, *, edge: bool
) -> Iterator[tuple[Any, ...]]:
    """Implement db.index.fulltext.queryNodes and queryRelationships: (element, score), best first.

    Options: skip, limit, and history, which includes retracted beliefs and turns.
    """
    rule = declared_index(run, name, "fulltext", edge=edge)
    if not isinstance(query, str):
        fail(f"A full-text query is text, not {shown(query)}.")
    skip, limit, history = _options(options)
    scores = _score_elements(
        run, rule, index_entries(run, rule), parse_fulltext_query(query, rule.properties)
    )
    ranked = sorted(scores, key=lambda identity: (-scores[identity], identity))
    skip = min(skip or 0, len(ranked))
    most = None if limit is None else min(skip + limit, len(ranked))
    found = visible_elements(run, rule, ranked, most=most, history=history)
    for element in islice(found, skip, most):
        yield element, scores[element.id]


def _options(options: Any) -> tuple[int | None, int | None, bool]:
    """Return skip, limit and history. Raises QueryError for other values and other keys."""
    given = dict(options.properties if isinstance(options, (Node, Edge)) else options or {})
    history = given.pop("history", None)
    if history is not None and type(history) is not bool:
        fail(
            f"history is true or false, not {shown(history)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    found = [given.pop(key, None) for key in ("skip", "limit")]
    for value in found:
        if value is not None and (type(value) is not int or value < 0):
            fail(
                f"skip and limit are whole numbers from 0, not {shown(value)}.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
            )
    if given:
        other = str(next(iter(given)))[:40]
        fail(
            f"Unknown option {other!r}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Options are skip, limit and history.",
        )
    return found[0], found[1], bool(history)


def _score_elements(run: Any, rule: IndexRule, entries: Entries, query: Group) -> dict[int, float]:
    count, typical = _statistics(entries)
    parts = list(query.parts())
    gathered = [[_postings(run, entries, term, part=part) for term in part.terms] for part in parts]
    holding_at_all = sum(len(one) for found in gathered for one in found)
    seen = _seen_of(run, rule, [one for found in gathered for one in found])
    if count > COUNTED_MAX and holding_at_all:
        count = max(1, round(count * sum(seen) / holding_at_all))
    _forget_faded(run, rule, parts, gathered)
    shares = iter(seen)
    scores: dict[int, dict[int, float]] = {}  # of each part, by its identity
    for part, found in zip(parts, gathered, strict=True):
        holding = [min(count, next(shares)) for _ in found]
        held = set.intersection(*[set(one) for one in found])
        if part.phrase or part.field or part.prefix:
            held = {identity for identity in held if _holds(run, part, rule, identity)}
        total = scores[id(part)] = dict.fromkeys(held, 0.0)
        for one, holds in zip(found, holding, strict=True):
            weight = (_K1 + 1) * inverse_document_frequency(count, holds)
            for identity in held:
                times, length = one[identity]
                frequency = term_frequency(times, length_norm(length, mean=typical, b=_B))
                total[identity] += term_score(weight, frequency, k1=_K1)
    return _matching(query, scores)


def _matching(group: Group, scores: dict[int, dict[int, float]]) -> dict[int, float]:
    """Return the elements that match the group, each with the sum of the scores of the parts that
    it holds."""
    must: list[dict[int, float]] = []
    may: list[dict[int, float]] = []
    never: set[int] = set()
    for clause in group.clauses:
        found = scores[id(clause)] if isinstance(clause, Part) else _matching(clause, scores)
        if clause.need == "not":
            never |= found.keys()
        else:
            (must if clause.need == "must" else may).append(found)
    total: dict[int, float] = {}
    for found in (*must, *may):
        for identity, score in found.items():
            total[identity] = total.get(identity, 0.0) + score
    return {
        identity: score
        for identity, score in total.items()
        if identity not in never and all(identity in one for one in must)
    }


def _seen_of(run: Any, rule: IndexRule, postings: list[dict[int, tuple[int, int]]]) -> list[int]:
    """Count the visible elements that contain each word, so that hidden elements do not make a rare
    word common.

    Few elements are all tested, and hidden ones removed from the postings; of many an evenly spaced
    sample is tested. Every result is tested in any case.
    """
    sight = run.graph.sight
    test = "" if sight is None or run.revealing else sight.test("n", edge=rule.edge)
    if not test:
        return [len(one) for one in postings]
    samples = [list(one)[:: max(1, -(-len(one) // _SAMPLED))] for one in postings]
    asked = set().union(*samples)
    sql = (
        f"SELECT n.id FROM carray(?) c CROSS JOIN {'edge' if rule.edge else 'node'} n"
        f" WHERE n.id = c.value AND ({test}) IS NOT TRUE"
    )
    hidden = {identity for (identity,) in run.graph.rows(sql, (int64_array(list(asked)),))}
    if not hidden:
        return [len(one) for one in postings]
    found = []
    for one, sample in zip(postings, samples, strict=True):
        if len(sample) == len(one):
            for identity in sample:
                if identity in hidden:
                    del one[identity]
        found.append(
            round(
                len(one) * sum(identity not in hidden for identity in sample) / max(1, len(sample))
            )
            if len(sample) < len(one)
            else len(one)
        )
    return found


def _forget_faded(
    run: Any, rule: IndexRule, parts: list[Part], gathered: list[list[dict[int, tuple[int, int]]]]
) -> None:
    """Rebuild the postings of elements with faded properties from the remaining properties."""
    sight = run.graph.sight
    if sight is None or run.revealing or not sight.fades(edge=rule.edge):
        return
    candidates = sorted({identity for found in gathered for one in found for identity in one})
    table, raw = sight.table(edge=rule.edge, hidden=True), "edge" if rule.edge else "node"
    sql = "SELECT id, json(props) FROM {} WHERE id IN (SELECT value FROM carray(?))"
    before = dict(run.graph.rows(sql.format(raw), (int64_array(candidates),)))
    for identity, props in run.graph.rows(sql.format(table), (int64_array(candidates),)):
        if props == before[identity]:
            continue
        held = [key for key in rule.keys(decode_properties(props)) if key[:1] == b"\x01"]
        for part, found in zip(parts, gathered, strict=True):
            for term, one in zip(part.terms, found, strict=True):
                low = _lowest(part, term)
                fitting = [
                    key
                    for key in held
                    if key.startswith(low)
                    and (not part.prefix or may_be_stem(key[1:-4].decode(), term))
                ]
                one.pop(identity, None)
                if fitting:
                    one[identity] = (
                        sum(key[-3] for key in fitting),
                        int.from_bytes(fitting[0][-2:], "big"),
                    )


def _statistics(entries: Entries) -> tuple[int, float]:
    """The number of elements and their median length."""
    count, middle = entries.middle(b"\x00", b"\x01")
    return count, 1.0 if middle is None else max(1.0, float(int.from_bytes(middle[1:3], "big")))


def _postings(run: Any, entries: Entries, term: str, *, part: Part) -> dict[int, tuple[int, int]]:
    """The elements that contain a term, or one that begins or is written so: frequency and
    length."""
    low = _lowest(part, term)
    found: dict[int, tuple[int, int]] = {}
    seen: set[bytes] = set()
    for key, identity in entries.between(low, after_key(low)):
        run.tick()
        if part.prefix and not may_be_stem(key[1:-4].decode(), term):
            continue
        seen.add(key[:-4])
        if len(seen) > _PREFIX_TERMS_MAX:
            fail(
                f"{part.pattern or term + '*'!r:.40} stands for more than {_PREFIX_TERMS_MAX:,}"
                " terms.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
                hint="Use more letters.",
            )
        before = found.get(identity, (0, 0))
        found[identity] = (before[0] + key[-3], int.from_bytes(key[-2:], "big"))
    return found


def _lowest(part: Part, term: str) -> bytes:
    """The beginning of the keys of a term. With wildcards, of all stems that words so written may
    have: the words themselves are compared afterwards."""
    return b"\x01" + (term[:_STEM_CHARS].encode() if part.prefix else term.encode() + b"\x00")


def _holds(run: Any, part: Part, rule: IndexRule, identity: int) -> bool:
    """Whether the element contains the phrase, or the part about one property."""
    element = visible_element(run, rule, identity)
    if element is None:
        return False
    values = [
        element.properties.get(name) for name in ((part.field,) if part.field else rule.properties)
    ]
    texts = [
        text
        for value in values
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
    ]
    return any(_inside(part, text) for text in texts)


def _inside(part: Part, text: str) -> bool:
    if part.phrase:
        return not part.terms or has_phrase(terms(text), part.terms)
    if part.prefix:
        pattern = part.pattern or f"{part.terms[0]}*"
        return any(matches_wildcards(one, pattern) for one in words_of(text))
    return set(part.terms) <= set(terms(text))
