"""Texts of every kind against the parser: each ends in a tree or in a DoxaError, soon, and a
tree is printed and parsed to itself.

    python -m tests.properties.fuzz_cypher --seconds 600 --seed 1

prints what was tried and every text that failed; it ends with 1 if any did. `test_fuzz_cypher.py`
tries a few of the same texts in each run.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType

from bench.gherkin import scenarios
from doxa.base.errors import InputError
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.printer import print_statement
from doxa.cypher.script import statements
from doxa.query.engine import QueryEngine
from tests.cypher.policy_corpus import EVERY as POLICIES
from tests.properties.random_queries import Dialect, query

FEATURES = Path(__file__).resolve().parents[3] / "shared" / "data" / "tck"
SECONDS_MAX, HANG_S = 2.0, 30
SEEDS = (
    (
        "MATCH (n:A {x: 1})-[r:R*1..3 {y: $p}]->(m:B|C&!D) WHERE n.x > 0x1F AND NOT m:A OR r IS"
        " NULL RETURN DISTINCT n.x AS y ORDER BY y DESC SKIP 1 LIMIT 2"
    ),
    (
        "EXPLAIN AS OF SYSTEM TIME $t AS OF VALID TIME date('2024-01-01') MATCH p ="
        " shortestPath((a)-[*..5]-(b)) RETURN nodes(p), length(p)"
    ),
    (
        "CREATE (a:A {x: [1, 2.5, 'c', null]})-[:R]->(b) SET a += {y: 1}, b.z = a.x[0..1] REMOVE"
        " a:A DETACH DELETE b"
    ),
    (
        "MERGE (a:A {x: 1}) ON CREATE SET a.y = 1 ON MATCH SET a.y = a.y + 1 FOREACH (i IN range(1,"
        " 3) | CREATE (:B {i: i}))"
    ),
    (
        "UNWIND [1, 2] AS x CALL (x) { MATCH (n) WHERE n.x = x RETURN count(*) AS c UNION ALL"
        " RETURN 0 AS c } WITH x, c WHERE c > 0 RETURN collect({x: x, c: c})"
    ),
    (
        "MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.x =~ '.*' } AND COUNT { (a)--() } > 1 RETURN"
        " [(a)-[r]->(b) | r.w] AS l, [x IN a.l WHERE x > 1 | x * 2]"
    ),
    "CREATE INDEX i IF NOT EXISTS FOR (a:A) ON (a.x, a.y)",
    "CREATE CONSTRAINT FOR (v:V) REQUIRE (v.k, v.from, v.to) IS TEMPORAL NO OVERLAP",
    "CREATE FULLTEXT INDEX `a b`.c FOR ()-[r:R|S]-() ON EACH [r.x, r.y] OPTIONS {analyser: 'x'}",
    "CREATE VECTOR INDEX $n FOR (a:A) ON a.v",
    "CREATE CONSTRAINT c FOR ()<-[r:BOSS]-() REQUIRE MAX COUNT 1",
    "CREATE CONSTRAINT FOR (:A)-[:OWNS]->(:B) REQUIRE DISALLOWED",
    "CREATE CONSTRAINT c IF NOT EXISTS FOR (a:A) REQUIRE (a.x, a.y) IS NODE KEY",
    "CREATE CONSTRAINT FOR (a:A) REQUIRE a.x IS :: LIST<INTEGER NOT NULL>",
    "CREATE CONSTRAINT FOR (a:A) REQUIRE a.z IN ['red', 3]",
    "SHOW DEFAULT DATABASE YIELD *",
    "SHOW DATABASE `where` WHERE x",
    "DROP CONSTRAINT $c",
    "DROP INDEX i IF EXISTS",
    "SHOW INDEXES YIELD name, type WHERE name STARTS WITH 'i' RETURN name",
    "CALL db.labels() YIELD label AS l RETURN l",
    (
        "RETURN CASE x WHEN 1 THEN 'a' ELSE reduce(t = 0, i IN [1] | t + i) END, all(x IN [] WHERE"
        " x), a.b.c[1]['d'], -1 ^ 2, 1 < 2 <= 3, `a``b`, $`p q`"
    ),
    "MATCH (s) ((a)-[r]->(b) WHERE a.x < b.x){1,3} (t) RETURN a, r, b",
    "LOAD CSV WITH HEADERS FROM 'f.csv' AS row FIELDTERMINATOR ';' RETURN row.x",
    (
        "PROFILE CYPHER 5 runtime=slotted MATCH (n) USING INDEX n:A(x) RETURN n {.*, .x, y: 1} /* c"
        " */ // d"
    ),
)
PIECES = tuple(
    "MATCH OPTIONAL WHERE RETURN WITH UNWIND AS CREATE MERGE ON SET DELETE DETACH REMOVE CALL YIELD"
    " UNION ALL EXISTS COUNT COLLECT CASE WHEN THEN ELSE END NOT AND OR XOR IN IS NULL STARTS ENDS"
    " CONTAINS ORDER BY SKIP LIMIT DESC FOREACH SHOW DROP INDEX CONSTRAINT FOR REQUIRE LOAD CSV"
    " FROM AS OF SYSTEM TIME VALID EXPLAIN PROFILE CYPHER IN TRANSACTIONS OF ROWS shortestPath"
    " allShortestPaths all any none single reduce count date a b n r x _ 'a' \"b\" `c` $d $0 1 0 -1"
    " 0x1F 0o7 1.5e3 .5 1e400 99999999999999999999 9223372036854775808 1_000 012 1.. :: := -> <- --"
    " --> <-- [ ] ( ) { } , . .. : ; | & ! % + - * / ^ = <> <= >= < > =~ += != || // /* */ ~ @ # ?"
    " \\ \n \t \x00 \x1a \ufeff \u2028 \u00a0 \ud800 \udfff é ä 日本 𝒳 \u202e \u0301 \u2212 \u27e8"
    " ² ٣ '\\u0041' '\\uD83D\\uDE00' '\\uD800' '\\x' '\\ ( (( [[ {{ ((( ))) ]] }}".split(" ")
)
NESTS = (
    ("(", ")"),
    ("[", "]"),
    ("{a: ", "}"),
    ("NOT ", ""),
    ("-", ""),
    ("size(", ")"),
    ("[x IN ", " | x]"),
    ("CASE WHEN ", " THEN 1 END"),
    ("(a)-->(", ")"),
    ("EXISTS { MATCH (a) WHERE ", " }"),
    ("CALL { ", " }"),
    ("reduce(t = 0, x IN [1] | ", ")"),
    ("1 + ", ""),
    ("a.", ""),
    ("x[", "]"),
    ("[(a)-->(b) | ", "]"),
    ("a OR ", ""),
    ("'a' + ", ""),
    ("RETURN 1 AS x UNION ", ""),
    ("WITH 1 AS x ", ""),
    ("FOREACH (x IN [1] | ", ")"),
    (":A|", ""),
    ("/*", ""),
    ("x IS NULL = ", ""),
)
HUGE = (
    "9" * 300,
    "9" * 5_000,
    "0x" + "F" * 40,
    "1e" + "9" * 20,
    "1." + "0" * 400,
    "-" * 500,
    "1_" * 200 + "1",
    "2" + "^2" * 150,
    "'" + "a" * 20_000 + "'",
)


@cache
def corpus() -> tuple[str, ...]:
    """Texts to begin with: those above, those of persistence policies, and those of the TCK if its
    files are available."""
    found = [*SEEDS, *POLICIES]
    for path in sorted(FEATURES.rglob("*.feature")) if FEATURES.is_dir() else ():
        found += [
            step.document
            for scenario in scenarios(path)
            for step in scenario.steps
            if step.document
        ]
    return tuple(found)


def text_of(rng: Random) -> str:
    """One text: a query, changed some times, or something that never was one."""
    pick = rng.random()
    if pick < 0.08:
        return bytes(rng.randrange(256) for _ in range(rng.randint(0, 200))).decode(
            "utf-8", "surrogateescape"
        )
    if pick < 0.16:
        return "".join(
            chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000))))
            for _ in range(rng.randint(0, 80))
        )
    if pick < 0.30:
        return rng.choice((" ", "")).join(rng.choices(PIECES, k=rng.randint(1, 60)))
    if pick < 0.40:
        return query(rng, Dialect()).text
    text = rng.choice(corpus())
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        text = changed(rng, text)
    return text


def changed(rng: Random, text: str) -> str:
    """The text with one change, at a place where words begin or anywhere."""
    words = [
        i
        for i, char in enumerate(text)
        if char in " ([{,|:.-" or char.isalnum() != (text[i - 1].isalnum() if i else False)
    ]
    at, end = sorted((rng.choice(words or [0]), rng.choice(words or [0])))
    end = min(end, at + 40)
    match rng.randrange(10):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:end] + text[at:end] * rng.choice((1, 2, 30)) + text[end:]
        case 2:
            return f"{text[:at]} {rng.choice(PIECES)} {text[at:]}"
        case 3:
            return text[:at] + rng.choice(PIECES) + text[end:]
        case 4:
            other = rng.choice(corpus())
            return text[:at] + other[rng.randrange(len(other) + 1) :]
        case 5:
            before, after = rng.choice(NESTS)
            depth = rng.choice((1, 2, 10, 49, 51, 300))
            return text[:at] + before * depth + text[at:end] + after * depth + text[end:]
        case 6:
            return text[:at] + rng.choice(HUGE) + text[end:]
        case 7:
            where = rng.randrange(len(text) + 1)
            return (
                text[:where]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0x110000))))
                + text[where + rng.randrange(2) :]
            )
        case 8:
            return text[: rng.randrange(len(text) + 1)]
        case _:
            return text[:at] + text[at:end].swapcase() + text[end:]


ENGINES = (QueryEngine(), QueryEngine(optimise=False))


def examine(text: str) -> str:
    """What became of the text: "planned" or the error's detail. Raises what must not happen."""
    try:
        tree = parse(text)
    except QueryError as error:
        outcome = error.detail
        offset = error.fields["offset"]
        assert isinstance(offset, int)
        assert 0 <= offset <= len(text), (offset, len(text))
    else:
        outcome = ""
        printed(tree)
    for engine in ENGINES:
        try:
            engine.prepare(text)
        except (QueryError, InputError) as error:
            outcome = getattr(error, "detail", "InputError")
    statements(text)
    return outcome or "planned"


def printed(tree: object) -> None:
    """Print and parse again. A tree at the limit of depth may be printed with more parentheses than
    fit."""
    again = print_statement(tree)  # type: ignore[arg-type]
    try:
        assert parse(again) == tree, again
    except QueryError as error:
        assert error.detail == "NestingTooDeep", (again, error)


class Hang(Exception):
    """The text took too long to wait for."""


def failures(rng: Random, seconds: float, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Tries texts for so long; gives those that fail, with what failed. `counts` takes the outcomes
    and the longest time."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, give_up)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = text_of(rng)
        start = time.process_time()  # of this process alone: the machine may be busy
        try:
            signal.alarm(HANG_S)
            outcome = examine(text)
            signal.alarm(0)
        except BaseException as error:
            signal.alarm(0)
            if isinstance(error, KeyboardInterrupt):
                raise
            outcome = "failed"
            yield text, f"{type(error).__name__}: {error!s:.400}"
        taken = time.process_time() - start
        counts[outcome] += 1
        counts["longest, in ms"] = max(counts["longest, in ms"], int(taken * 1_000))
        if taken > SECONDS_MAX and outcome != "failed":
            yield text, f"{taken:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    found = 0
    for text, problem in failures(Random(given.seed), given.seconds, counts):
        found += 1
        print(f"FAILED {problem}\n  {text!r:.2000}", flush=True)
    longest = counts.pop("longest, in ms", 0)
    print(
        f"{sum(counts.values()):,} texts with seed {given.seed}, {found} failed, the longest took"
        f" {longest:,} ms: {dict(counts.most_common())}"
    )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
