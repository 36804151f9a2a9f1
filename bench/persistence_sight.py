"""What is hidden is in no result, what reveal() asks for is, and what was erased is in neither:
every way to ask, with the same few elements.

    (a:Start) -NEXT-> (h, faded) -NEXT-> (b:End)          also through u, which was suppressed by
    hand, and g, which was deleted
    (a) -NEXT, faded-> (c) -MADE, suppressed-> (x)            (a) -LONG-> (x) -LONG-> (b)

A row of a form is a query and what it must give, then the same with reveal() and what that must
give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import doxa
from bench.persistence_parts import DAY_NS, START_NS, Part, Scale, Tally, ask, fresh
from doxa.base.clock import FakeClock

_OLD_NS = 30 * DAY_NS
_SCHEMA = (
    "CREATE INDEX memory_key FOR (n:Memory) ON (n.key)",
    "CREATE FULLTEXT INDEX memory_text FOR (n:Memory) ON EACH [n.text]",
    "CREATE FULLTEXT INDEX next_text FOR ()-[r:NEXT]-() ON EACH [r.text]",
    (
        "CREATE VECTOR INDEX memory_vector FOR (n:Memory) ON (n.vector) OPTIONS {indexConfig:"
        " {`vector.dimensions`: 2}}"
    ),
    (
        "CREATE DECAY PROFILE weekly OPTIONS {halfLifeSeconds: 604800, function: 'exponential',"
        " scoreFrom: 'CUSTOM', scoreFromProperty: 'at', visibilityThreshold: 0.10}"
    ),
    "CREATE DECAY PROFILE memories FOR (n:Memory) APPLY { DECAY PROFILE 'weekly' }",
    "CREATE DECAY PROFILE nexts FOR ()-[r:NEXT]-() APPLY { DECAY PROFILE 'weekly' }",
)
_GRAPH = """
CREATE (a:Memory:Start {key: 'a', text: 'red apple', at: $now, vector: [1.0, 0.0]}),
  (b:Memory:End {key: 'b', text: 'blue plum', at: $now, vector: [0.0, 1.0]}),
  (c:Memory {key: 'c', text: 'green plum', at: $now, vector: [0.5, 0.5]}), (x:Memory {key: 'x', \
text: 'red plum', at: $now, vector: [0.4, 0.6]}),
  (h:Memory {key: 'h', text: 'red pear', at: $old, vector: [0.9, 0.1]}), (u:Memory {key: 'u', \
text: 'red rose', at: $now, vector: [0.8, 0.2]}),
  (g:Memory {key: 'g', text: 'red grape', at: $now, vector: [0.95, 0.05]}),
  (a)-[:NEXT {at: $now, text: 'to pear'}]->(h)-[:NEXT {at: $now}]->(b), (a)-[:NEXT {at: \
$now}]->(u)-[:NEXT {at: $now}]->(b),
  (a)-[:NEXT {at: $now, text: 'to grape'}]->(g)-[:NEXT {at: $now}]->(b), (a)-[:NEXT {at: $old, \
text: 'to plum'}]->(c),
  (c)-[:MADE]->(x), (a)-[:LONG]->(x)-[:LONG]->(b)
"""


class Form(NamedTuple):
    """`plain` gives `shown`; `revealing` gives `revealed`. One column, its values in any order."""

    what: str
    plain: str
    shown: list[Any]
    revealing: str
    revealed: list[Any]


_PLAIN, _ALL = ["a", "b", "c", "x"], ["a", "b", "c", "h", "u", "x"]
_RED = "CALL db.index.fulltext.queryNodes('memory_text', 'red') YIELD node"
_TO = "CALL db.index.fulltext.queryRelationships('next_text', 'plum') YIELD relationship AS r"
_NEAR = "CALL db.index.vector.queryNodes('memory_vector', 4, [1.0, 0.0]) YIELD node"
_FORMS = (
    Form(
        "MATCH by label",
        "MATCH (n:Memory) RETURN n.key",
        _PLAIN,
        "MATCH (n:Memory) RETURN reveal(n).key",
        _ALL,
    ),
    Form(
        "MATCH by indexed property",
        "MATCH (n:Memory {key: 'h'}) RETURN n.key",
        [],
        "MATCH (n:Memory {key: 'h'}) RETURN reveal(n).key",
        ["h"],
    ),
    Form(
        "MATCH by property without index",
        "MATCH (n {text: 'red rose'}) RETURN n.key",
        [],
        "MATCH (n {text: 'red rose'}) RETURN reveal(n).key",
        ["u"],
    ),
    Form(
        "MATCH by id",
        "MATCH (n) WHERE id(n) IN $ids RETURN n.key",
        _PLAIN,
        "MATCH (n) WHERE id(n) IN $ids RETURN reveal(n).key",
        _ALL,
    ),
    Form(
        "WHERE",
        "MATCH (n) WHERE n.text STARTS WITH 'red' RETURN n.key",
        ["a", "x"],
        "MATCH (n) WHERE reveal(n).text STARTS WITH 'red' RETURN n.key",
        ["a", "h", "u", "x"],
    ),
    Form(
        "WHERE over a range",
        "MATCH (n:Memory) WHERE n.key >= 'g' RETURN n.key",
        ["x"],
        "MATCH (n:Memory) WHERE n.key >= 'g' RETURN reveal(n).key",
        ["h", "u", "x"],
    ),
    Form(
        "relationships",
        "MATCH (:Start)-[r:NEXT]->(:Memory {key: 'c'}) RETURN type(r)",
        [],
        "MATCH (:Start)-[r:NEXT]->(:Memory {key: 'c'}) RETURN type(reveal(r))",
        ["NEXT"],
    ),
    Form(
        "relationships suppressed by hand",
        "MATCH (:Memory)-[r:MADE]->(:Memory) RETURN type(r)",
        [],
        "MATCH (:Memory)-[r:MADE]->(:Memory) RETURN type(reveal(r))",
        ["MADE"],
    ),
    Form(
        "count",
        "MATCH (n:Memory) RETURN count(*)",
        [4],
        "MATCH (n:Memory) RETURN count(reveal(n))",
        [6],
    ),
    Form(
        "count of relationships",
        "MATCH ()-[r:NEXT]->() RETURN count(*)",
        [0],
        "MATCH (m)-[r:NEXT]->(n) WHERE reveal(m) IS NOT NULL AND reveal(n) IS NOT NULL RETURN"
        " count(reveal(r))",
        [5],
    ),
    Form(
        "min, max, sum, avg, collect",
        "MATCH (n:Memory) RETURN [size(collect(n)), min(n.key), max(n.key), sum(size(n.key))]",
        [[4, "a", "x", 4]],
        "MATCH (n:Memory) RETURN [size(collect(reveal(n))), min(n.key), max(n.key),"
        " sum(size(n.key))]",
        [[6, "a", "x", 6]],
    ),
    Form(
        "OPTIONAL MATCH",
        "MATCH (a:Start) OPTIONAL MATCH (a)-[:NEXT]->(n) RETURN n.key",
        [None],
        "MATCH (a:Start) OPTIONAL MATCH (a)-[:NEXT]->(n) RETURN reveal(n).key",
        ["h", "u"],
    ),
    Form(
        "one hop",
        "MATCH (:Start)-[r:NEXT]->(n) RETURN n.key",
        [],
        "MATCH (:Start)-[r:NEXT]->(n) WHERE reveal(r) IS NOT NULL RETURN reveal(n).key",
        ["c", "h", "u"],
    ),
    Form(
        "two hops",
        "MATCH (:Start)-[:NEXT]->(n)-[:NEXT]->(b:End) RETURN n.key",
        [],
        "MATCH (:Start)-[:NEXT]->(n)-[:NEXT]->(b:End) RETURN reveal(n).key",
        ["h", "u"],
    ),
    Form(
        "path",
        "MATCH p = (:Start)-[:NEXT]->()-[:NEXT]->(:End) RETURN [n IN nodes(p) | n.key]",
        [],
        "MATCH p = (:Start)-[:NEXT]->()-[:NEXT]->(:End) RETURN [n IN nodes(reveal(p)) | n.key]",
        [["a", "h", "b"], ["a", "u", "b"]],
    ),
    Form(
        "variable length",
        "MATCH p = (:Start)-[:NEXT*1..3]->(:End) RETURN [n IN nodes(p) | n.key]",
        [],
        "MATCH p = (:Start)-[:NEXT*1..3]->(:End) RETURN [n IN nodes(reveal(p)) | n.key]",
        [["a", "h", "b"], ["a", "u", "b"]],
    ),
    Form(
        "variable length, the end",
        "MATCH (:Start)-[:NEXT*1..3]->(n) RETURN n.key",
        [],
        "MATCH (:Start)-[:NEXT*1]->(n) RETURN reveal(n).key",
        ["h", "u"],
    ),
    Form(
        "quantified path",
        "MATCH p = (:Start)(()-[:NEXT]->()){1,3}(:End) RETURN [n IN nodes(p) | n.key]",
        [],
        "MATCH p = (:Start)(()-[:NEXT]->()){1,3}(:End) RETURN [n IN nodes(reveal(p)) | n.key]",
        [["a", "h", "b"], ["a", "u", "b"]],
    ),
    Form(
        "shortestPath",
        "MATCH (a:Start), (b:Memory {key: 'c'}) MATCH p = shortestPath((a)-[*]->(b)) RETURN"
        " length(p)",
        [],
        "MATCH (a:Start), (b:Memory {key: 'c'}) MATCH p = shortestPath((a)-[*]->(b)) RETURN"
        " length(reveal(p))",
        [1],
    ),
    Form(
        "allShortestPaths",
        "MATCH (a:Start), (b:End) MATCH p = allShortestPaths((a)-[*]->(b)) RETURN [n IN nodes(p) |"
        " n.key]",
        [["a", "x", "b"]],
        "MATCH (a:Start), (b:End) MATCH p = allShortestPaths((a)-[*]->(b)) RETURN [n IN"
        " nodes(reveal(p)) | n.key]",
        [["a", "h", "b"], ["a", "u", "b"], ["a", "x", "b"]],
    ),
    Form(
        "pattern comprehension",
        "MATCH (a:Start) UNWIND [(a)-[:NEXT]->(n) | n.key] AS key RETURN key",
        [],
        "MATCH (a:Start) UNWIND [(a)-[:NEXT]->(n) | reveal(n).key] AS key RETURN key",
        ["h", "u"],
    ),
    Form(
        "pattern in WHERE, EXISTS",
        "MATCH (n:Memory) WHERE (n)-[:NEXT]->(:End) OR EXISTS { (n)-[:NEXT]->() } RETURN n.key",
        [],
        "MATCH (n:Start) WHERE EXISTS { MATCH (n)-[:NEXT]->(m) WHERE reveal(m) IS NOT NULL } RETURN"
        " n.key",
        ["a"],
    ),
    Form(
        "COUNT { }",
        "MATCH (a:Start) RETURN COUNT { (a)-[:NEXT]->(n) }",
        [0],
        "MATCH (a:Start) RETURN COUNT { MATCH (a)-[:NEXT]->(n) WHERE reveal(n) IS NOT NULL }",
        [2],
    ),
    Form(
        "COLLECT { }",
        "MATCH (a:Start) UNWIND COLLECT { MATCH (a)-[:NEXT]->(n) RETURN n.key } AS key RETURN key",
        [],
        "MATCH (a:Start) UNWIND COLLECT { MATCH (a)-[:NEXT]->(n) RETURN reveal(n).key } AS key"
        " RETURN key",
        ["h", "u"],
    ),
    Form(
        "CALL { }, UNION",
        "CALL { MATCH (n:Memory {key: 'h'}) RETURN n UNION MATCH (n:Memory {key: 'u'}) RETURN n }"
        " RETURN n.key",
        [],
        "CALL { MATCH (n:Memory {key: 'h'}) RETURN reveal(n) AS n UNION MATCH (n:Memory {key: 'u'})"
        " RETURN reveal(n) AS n } RETURN n.key",
        ["h", "u"],
    ),
    Form(
        "full-text search of nodes",
        f"{_RED} RETURN node.key",
        ["a", "x"],
        f"{_RED} RETURN reveal(node).key",
        ["a", "h", "u", "x"],
    ),
    Form(
        "full-text search of relationships",
        f"{_TO} RETURN r.text",
        [],
        f"{_TO} RETURN reveal(r).text",
        ["to plum"],
    ),
    Form(
        "vector search, the nearest four",
        f"{_NEAR} RETURN node.key",
        _PLAIN,
        f"{_NEAR} RETURN reveal(node).key",
        ["a", "c", "h", "u"],
    ),
)


def sight(scale: Scale, seed: int) -> Part:
    """Part 4: absent by default, present with reveal(), and what was erased in neither."""
    part, tally, rows = Part(), Tally(), []
    with fresh(clock=FakeClock(START_NS)) as memory:
        for command in _SCHEMA:
            memory.run(command)
        memory.run(_GRAPH, {"now": START_NS, "old": START_NS - _OLD_NS})
        identities = [row[0] for row in ask(memory, "MATCH (n) RETURN id(reveal(n))")]
        memory.run(
            "MATCH (n:Memory {key: 'u'}) CALL doxa.policy.suppress(n) YIELD changed RETURN changed"
        )
        memory.run(
            "MATCH ()-[r:MADE]->() CALL doxa.policy.suppress(r) YIELD changed RETURN changed"
        )
        memory.run("MATCH (n:Memory {key: 'g'}) DETACH DELETE n")
        tally.see("the graph", len(identities), 7)
        for form in _FORMS:
            rows.append([form.what, *_asked(tally, memory, form, identities)])
        tally.see("the graph", memory.check(), [])
    part.tables.append(
        (
            "Suppression and reveal in queries: the faded, the suppressed and the deleted",
            [
                "asked by",
                "hidden is absent",
                "present with reveal()",
                "deleted is absent from both",
            ],
            rows,
        )
    )
    part.tables.append(_memories(tally))
    part.take(tally)
    right = f"{sum(tally.right.values())} of {sum(tally.asked.values())} answers right"
    part.summary = f"{len(_FORMS)} forms of queries and {len(part.tables[1][2])} verbs; {right}"
    return part


def _asked(tally: Tally, memory: doxa.Memory, form: Form, identities: list[int]) -> list[str]:
    cells, seen = [], []
    for text, wanted, how in (
        (form.plain, form.shown, "plain"),
        (form.revealing, form.revealed, "with reveal()"),
    ):
        try:
            found = [row[0] for row in ask(memory, text, {"ids": identities})]
        except doxa.DoxaError as error:
            found = [f"{type(error).__name__}: {error}"]
        seen += found
        fits = tally.see(form.what, sorted(found, key=repr), sorted(wanted, key=repr), of=how)
        cells.append("yes" if fits else f"**no: {sorted(found, key=repr)}**")
    deleted = [text for text in _texts(seen) if text == "g" or "grape" in text]
    return [*cells, "yes" if tally.see(form.what, deleted, [], of="what was deleted") else "**no**"]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# Beliefs and turns

_BELIEFS = (
    (
        "CREATE DECAY PROFILE weekly OPTIONS {halfLifeSeconds: 604800, function: 'exponential',"
        " scoreFrom: 'CREATED', visibilityThreshold: 0.10}"
    ),
    "CREATE DECAY PROFILE turns FOR (n:Exchange) APPLY { DECAY PROFILE 'weekly' }",
    "CREATE DECAY PROFILE beliefs FOR (n:Revision) APPLY { DECAY PROFILE 'weekly' }",
)
_GONE, _OLD, _NEW = "gone", "old", "new"
_TEXTS = {
    _GONE: "Tulips were erased from the list",
    _OLD: "Tulips froze in the garden",
    _NEW: "Tulips stand in the hall",
}


def _memories(tally: Tally) -> tuple[str, list[str], list[list[str]]]:
    """A turn and a belief of each sort: faded since, erased since, and new."""
    clock = FakeClock(START_NS)
    with fresh(clock=clock) as memory:
        for command in _BELIEFS:
            memory.run(command)
        _tell(memory, _GONE)
        _tell(memory, _OLD)
        clock.advance(seconds=1)
        then = clock.now_ns()
        clock.advance(days=30)
        _tell(memory, _NEW)
        addresses = {
            row[0]: row[1]
            for row in ask(
                memory,
                "MATCH (n:Exchange|Revision) RETURN reveal(n).kref, coalesce(n.text, n.summary)",
            )
        }
        for address, text in addresses.items():
            if text == _TEXTS[_GONE]:
                memory.forget(address.split("?")[0], erase=True)
        ways = _ways(memory, then, addresses)
        rows = []
        for what, plain, shown, revealing, revealed in ways:
            cells = []
            for how, call, wanted in (
                ("plain", plain, shown),
                ("with reveal", revealing, revealed),
            ):
                if call is None:
                    cells.append("–")
                    continue
                fits = tally.see(
                    what,
                    sorted(call()),
                    sorted(_TEXTS[one] for one in wanted for _ in range(2)),
                    of=how,
                )
                cells.append("yes" if fits else f"**no: {sorted(call())}**")
            rows.append([what, *cells])
        erased = [address for address, text in addresses.items() if text == _TEXTS[_GONE]]
        tally.see(
            "erased for good",
            [memory.verify().erased > 0, memory.check(), len(erased)],
            [True, [], 2],
        )
        raw = b"".join(path.read_bytes() for path in memory.config.path.parent.iterdir())
        tally.see(
            "erased for good", _TEXTS[_GONE].encode() in raw, False, of="its bytes in the file"
        )
    return (
        (
            "Suppression and reveal by verbs: a turn and a belief that faded, two that were erased,"
            " two that are new"
        ),
        [
            "asked by",
            "hidden and erased are absent",
            "hidden is present when revealed, erased is absent",
        ],
        rows,
    )


def _tell(memory: doxa.Memory, sort: str) -> None:
    memory.remember(_TEXTS[sort], name=sort, project="default")
    memory.ingest(
        [{"text": _TEXTS[sort], "speaker": "Ana", "id": sort}], thread=sort, extract=False
    )


_Call = Callable[[], list[str]]


def _ways(
    memory: doxa.Memory, then: int, addresses: dict[str, str]
) -> list[tuple[str, _Call, list[str], _Call | None, list[str]]]:
    def got(*, reveal: bool) -> list[str]:
        found = []
        for address in addresses:
            try:
                one = memory.get(address, reveal=reveal)
            except doxa.NotFoundError:
                continue
            found.append(getattr(one, "text", "") or getattr(one, "summary", ""))
        return found

    def rows(text: str) -> _Call:
        return lambda: [row[0] for row in ask(memory, text)]

    text = "coalesce(n.text, n.summary)"
    return [
        (
            "`recall`; revealed by `as_of`",
            lambda: [hit.text for hit in memory.recall("tulips").hits],
            [_NEW],
            lambda: [hit.text for hit in memory.recall("tulips", as_of=then).hits],
            [_OLD],
        ),
        ("`recent`", lambda: [hit.text for hit in memory.recent()], [_NEW], None, []),
        (
            "`get`; revealed by `reveal=True`",
            lambda: got(reveal=False),
            [_NEW],
            lambda: got(reveal=True),
            [_OLD, _NEW],
        ),
        (
            "`doxa.recall` in a query",
            rows("CALL doxa.recall('tulips') YIELD text RETURN text"),
            [_NEW],
            None,
            [],
        ),
        (
            "MATCH; revealed by reveal()",
            rows(f"MATCH (n:Exchange|Revision) RETURN {text}"),
            [_NEW],
            rows(f"MATCH (n:Exchange|Revision) WHERE reveal(n) IS NOT NULL RETURN {text}"),
            [_OLD, _NEW],
        ),
    ]
