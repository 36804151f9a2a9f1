"""Full-text and vector search over declared indexes: the procedures under Neo4j's names. Only what
the query may see takes a place.

Full text is BM25 (`base/bm25.py`; k1 = 1.2, b = 0.75, the median length for the mean), over the terms of doxa's analyser; how a query is read, `fulltext.py` says. Vectors are compared
exactly, by the index's similarity function: cosine as (1 + cos) / 2, euclidean as 1 / (1 + d²).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from doxa.base.bm25 import inverse_document_frequency, term_frequency, term_score
from doxa.base.values import decode_properties
from doxa.base.words import has_phrase, terms
from doxa.query.adjacency import ALL, edge_source, edge_tests
from doxa.query.errors import fail, shown
from doxa.query.fulltext import Part, parse_query
from doxa.query.held import Held
from doxa.query.values import Edge, Node
from doxa.store import IndexRule, after_key, int64_array
from doxa.store.index import FLOAT_MAX

_K1, _B = 1.2, 0.75
_PREFIX_TERMS_MAX = 1_000
# in a larger index how many elements are seen is estimated from those that hold a word that is
# asked for
_COUNTED_MAX = 100
# of more elements that hold a word, so many are asked which of them are seen: asking all would take
# longer than the search
_SAMPLED = 32


class Entries(Protocol):
    """The keys of one index, in order, each with its element."""

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]: ...

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        """How many keys lie there, and the one in the middle."""


def entries_of(run: Any, rule: IndexRule) -> Entries:
    """The stored keys; as of a past time those that the elements of that time would have, worked
    out from each of them."""
    return _Stored(run.graph, rule) if run.graph.as_of is None else _Past(run, rule)


class _Stored:
    def __init__(self, graph: Any, rule: IndexRule) -> None:
        self._graph, self._id = graph, rule.id
        self._seen = (
            graph.sight.table(edge=rule.edge)
            if graph.sight is not None and graph.sight.test("n", edge=rule.edge)
            else ""
        )

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]:
        until, given = ("", ()) if high is None else (" AND key < ?", (high,))
        sql = f"SELECT key, element FROM entry WHERE idx = ? AND key >= ?{until}"
        found: Iterable[tuple[bytes, int]] = self._graph.rows(sql, (self._id, low, *given))
        return found

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        sql = "SELECT {what} FROM entry WHERE idx = ? AND key >= ? AND key < ?"
        bounds = (self._id, low, high)
        count = next(iter(self._graph.rows(sql.format(what="count(*)"), bounds)))[0]
        if self._seen and count <= _COUNTED_MAX:
            sql += f" AND element IN (SELECT id FROM {self._seen})"
            count = next(iter(self._graph.rows(sql.format(what="count(*)"), bounds)))[0]
        keys = self._graph.rows(
            f"{sql.format(what='key')} ORDER BY key LIMIT 1 OFFSET ?", (*bounds, count // 2)
        )
        return count, next((key for (key,) in keys), None)


class _Past:
    def __init__(self, run: Any, rule: IndexRule) -> None:
        held = Held("keys of a past index")
        self._rows: list[tuple[bytes, int]] = []
        for identity, props in _members(run.graph, rule):
            for key in rule.keys(props):
                run.tick()
                held.row((key, identity))
                self._rows.append((key, identity))
        self._rows.sort()

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]:
        return self._rows[
            bisect_left(self._rows, (low,)) : len(self._rows)
            if high is None
            else bisect_left(self._rows, (high,))
        ]

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        rows = list(self.between(low, high))
        return len(rows), rows[len(rows) // 2][0] if rows else None


def _members(graph: Any, rule: IndexRule) -> Iterator[tuple[int, dict[str, Any]]]:
    """The elements that a rule is about, each once, with their properties."""
    marks = ", ".join("?" * len(rule.names))
    if rule.edge:
        sql = f"SELECT id, json(props) FROM {graph.edge_table()} WHERE type IN ({marks})"
    else:
        about = f"SELECT node FROM {graph.label_table()} WHERE label IN ({marks})"
        sql = f"SELECT id, json(props) FROM {graph.node_table()} WHERE id IN ({about})"
    for identity, props in graph.rows(sql, tuple(rule.names)):
        yield identity, decode_properties(props)


def fulltext(
    run: Any, name: str, query: str, options: Any, *, edge: bool
) -> Iterator[tuple[Any, ...]]:
    """db.index.fulltext.queryNodes and queryRelationships: (element, score), the best first.
    Options: skip, limit, and history: beliefs and turns too that are not believed any more."""
    rule = _rule(run, name, "fulltext", edge=edge)
    if not isinstance(query, str):
        fail(f"A full-text query is text, not {shown(query)}.")
    skip, limit, history = _options(options)
    scores = _scores(run, rule, entries_of(run, rule), parse_query(query, rule.properties))
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    passed = 0
    for identity, score in ranked:
        run.tick()
        element = _element(run, rule, identity, history=history)
        if element is None:
            continue
        passed += 1
        if skip is not None and passed <= skip:
            continue
        if limit is not None and passed > limit + (skip or 0):
            return
        yield element, score


def _options(options: Any) -> tuple[int | None, int | None, bool]:
    """skip, limit and history. Raises QueryError for what is none of these, and for other keys:
    what is meant by them would be missed."""
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
            f"There is no option {other!r}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Options are skip, limit and history.",
        )
    return found[0], found[1], bool(history)


def _scores(run: Any, rule: IndexRule, entries: Entries, parts: list[Part]) -> dict[int, float]:
    count, typical = _statistics(entries)
    total: dict[int, float] = {}
    must: list[set[int]] = []
    never: set[int] = set()
    gathered = [
        [_postings(run, entries, term, prefix=part.prefix) for term in part.terms] for part in parts
    ]
    holding_at_all = sum(len(one) for found in gathered for one in found)
    seen = _seen_of(run, rule, [one for found in gathered for one in found])
    if count > _COUNTED_MAX and holding_at_all:
        count = max(1, round(count * sum(seen) / holding_at_all))
    _forget_faded(run, rule, parts, gathered)
    shares = iter(seen)
    for part, found in zip(parts, gathered, strict=True):
        holding = [min(count, next(shares)) for _ in found]
        held = set.intersection(*[set(one) for one in found])
        if part.phrase or part.field:
            held = {identity for identity in held if _holds(run, part, rule, identity)}
        if part.need == "not":
            never |= held
            continue
        if part.need == "must":
            must.append(held)
        for one, holds in zip(found, holding, strict=True):
            weight = (_K1 + 1) * inverse_document_frequency(count, holds)
            for identity in held:
                times, length = one[identity]
                frequency = term_frequency(times, length, mean=typical, b=_B)
                score = term_score(weight, frequency, k1=_K1)
                total[identity] = total.get(identity, 0.0) + score
    return {
        identity: score
        for identity, score in total.items()
        if identity not in never and all(identity in held for held in must)
    }


def _seen_of(run: Any, rule: IndexRule, postings: list[dict[int, tuple[int, int]]]) -> list[int]:
    """How many elements hold each word, of those that policies show: a rare word is not made common
    by what nobody sees. Of few elements all are asked, and the hidden ones left out of the
    postings; of many a sample, evenly spaced. What is returned is tested by itself in any case."""
    sight = run.graph.sight
    if sight is None or run.revealing or not sight.test("n", edge=rule.edge):
        return [len(one) for one in postings]
    samples = [list(one)[:: max(1, -(-len(one) // _SAMPLED))] for one in postings]
    asked = sorted({identity for sample in samples for identity in sample})
    sql = f"SELECT id FROM {sight.table(edge=rule.edge)} WHERE id IN (SELECT value FROM carray(?))"
    shown = {row[0] for row in run.graph.rows(sql, (int64_array(asked),))}
    found = []
    for one, sample in zip(postings, samples, strict=True):
        if len(sample) == len(one):
            for identity in sample:
                if identity not in shown:
                    del one[identity]
        found.append(
            round(len(one) * sum(identity in shown for identity in sample) / max(1, len(sample)))
            if len(sample) < len(one)
            else len(one)
        )
    return found


def _forget_faded(
    run: Any, rule: IndexRule, parts: list[Part], gathered: list[list[dict[int, tuple[int, int]]]]
) -> None:
    """Words of properties that have faded are not found: the postings of elements with such
    properties are those of what is left."""
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
                low = b"\x01" + term.encode() + (b"" if part.prefix else b"\x00")
                fitting = [key for key in held if key.startswith(low)]
                one.pop(identity, None)
                if fitting:
                    one[identity] = (
                        sum(key[-3] for key in fitting),
                        int.from_bytes(fitting[0][-2:], "big"),
                    )


def _statistics(entries: Entries) -> tuple[int, float]:
    """How many elements, and their median length."""
    count, middle = entries.middle(b"\x00", b"\x01")
    return count, 1.0 if middle is None else max(1.0, float(int.from_bytes(middle[1:3], "big")))


def _postings(run: Any, entries: Entries, term: str, *, prefix: bool) -> dict[int, tuple[int, int]]:
    """The elements that hold a term, or one that begins with it: times and length."""
    low = b"\x01" + term.encode() + (b"" if prefix else b"\x00")
    found: dict[int, tuple[int, int]] = {}
    seen: set[bytes] = set()
    for key, identity in entries.between(low, after_key(low)):
        run.tick()
        seen.add(key[:-4])
        if len(seen) > _PREFIX_TERMS_MAX:
            fail(
                f"{term!r:.40}* begins more than {_PREFIX_TERMS_MAX:,} terms.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
                hint="Lengthen it.",
            )
        before = found.get(identity, (0, 0))
        found[identity] = (before[0] + key[-3], int.from_bytes(key[-2:], "big"))
    return found


def _holds(run: Any, part: Part, rule: IndexRule, identity: int) -> bool:
    """Whether a phrase, or a part about one property, is really there."""
    element = _element(run, rule, identity)
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
    return any(_inside(part, terms(text)) for text in texts)


def _inside(part: Part, held: list[str]) -> bool:
    if part.phrase:
        return not part.terms or has_phrase(held, part.terms)
    if part.prefix:
        return any(one.startswith(part.terms[0]) for one in held)
    return set(part.terms) <= set(held)


def set_vector(
    run: Any, element: Node | Edge | None, name: str, vector: Any
) -> Iterable[tuple[Any, ...]]:
    """db.create.setNodeVectorProperty and setRelationshipVectorProperty: a property of finite
    numbers. Null is passed over."""
    if element is None or name is None:
        return ()
    if (
        not isinstance(vector, list)
        or not vector
        or not all(type(item) in (int, float) and math.isfinite(item) for item in vector)
    ):
        fail(
            f"A vector is a list of finite numbers, not {shown(vector)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    run.graph.set_properties(
        element, {**element.properties, name: [float(item) for item in vector]}
    )
    return ()


def vectors(run: Any, name: str, most: int, query: Any, *, edge: bool) -> Iterator[tuple[Any, ...]]:
    """db.index.vector.queryNodes and queryRelationships: the nearest elements with their
    similarity, the nearest first."""
    import numpy as np

    rule = _rule(run, name, "vector", edge=edge)
    if type(most) is not int or most < 1:
        fail(
            f"The number of neighbours is at least 1, not {shown(most)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    if (
        not isinstance(query, list)
        or not query
        or not all(type(item) in (int, float) and abs(item) <= FLOAT_MAX for item in query)
    ):
        fail(
            f"A query vector is a list of finite numbers, not {shown(query)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    if rule.dimensions is not None and len(query) != rule.dimensions:
        fail(
            f"The index {name} has vectors of {rule.dimensions} numbers; the query has"
            f" {len(query)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    sought = np.asarray(query, dtype=np.float32)
    if _similarity_of(rule) == "cosine" and not np.linalg.norm(sought.astype(np.float64)):
        fail(
            "A query vector of zeros has no direction.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Look at how it was made.",
        )
    rows = [
        (key, identity)
        for key, identity in entries_of(run, rule).between(b"", None)
        if len(key) == 4 * len(query)
    ]
    if not rows:
        return
    matrix = (
        np.frombuffer(b"".join(key for key, _ in rows), dtype="<f4")
        .reshape(len(rows), len(query))
        .astype(np.float64)
    )
    similarity = _similarity(rule, matrix, sought.astype(np.float64))
    order = np.lexsort((np.asarray([identity for _, identity in rows]), -similarity))
    found = 0
    for place in order:
        element = _element(run, rule, rows[int(place)][1])
        if element is not None and rule.properties[0] in element.properties:  # it may have faded
            yield element, float(similarity[int(place)])
            found += 1
            if found >= most:
                return


def _similarity(rule: IndexRule, matrix: Any, sought: Any) -> Any:
    import numpy as np

    if _similarity_of(rule) == "euclidean":
        return 1 / (1 + ((matrix - sought) ** 2).sum(axis=1))
    norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(sought)
    return (
        1 + np.divide(matrix @ sought, norms, out=np.full(len(matrix), -1.0), where=norms > 0)
    ) / 2


def _similarity_of(rule: IndexRule) -> str:
    return str(rule.config.get("vector.similarity_function", "cosine")).lower()


def _rule(run: Any, name: str, kind: str, *, edge: bool) -> IndexRule:
    rule: IndexRule | None = run.graph.reader.declared().indexes.by_name.get(name)
    if rule is None or rule.kind != kind or rule.edge != edge:
        what = f"{kind} index on {'relationships' if edge else 'nodes'}"
        fail(
            f"There is no {what} named {name!r:.40}.",
            kind="ProcedureError",
            detail="IndexNotFound",
            hint="SHOW INDEXES lists them.",
            name=name,
        )
    return rule


def _element(
    run: Any, rule: IndexRule, identity: int, *, history: bool = False
) -> Node | Edge | None:
    """The element, if the query may see it. What recall leaves out, since it is not believed any
    more, is no answer to a search either."""
    graph = run.graph
    if rule.edge:
        tests = "".join(
            dict.fromkeys(
                edge_tests(run, None, end, revealed=ALL if run.revealing else 0)
                for end in ("src", "dst")
            )
        )
        sql = (
            "SELECT id, type, src, dst, json(props) FROM"
            f" {edge_source(run, revealed=ALL if run.revealing else 0)} e WHERE id = ?{tests}"
        )
        return next((graph.edge_of(*row) for row in graph.rows(sql, (identity,))), None)
    test = graph.valid.node("n") if graph.valid is not None else ""
    table = graph.raw_table(edge=False) if run.revealing else graph.node_table()
    live = (
        ""
        if history or graph.as_of is not None
        else " AND NOT EXISTS (SELECT 1 FROM doc d WHERE d.node = n.id AND d.live = 0)"
    )
    sql = (
        f"SELECT id, labels, json(props) FROM {table} n WHERE id ="
        f" ?{' AND ' + test if test else ''}{live}"
    )
    return next((graph.node_of(*row) for row in graph.rows(sql, (identity,))), None)
