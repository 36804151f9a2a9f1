"""Facts that are superseded and never forgotten: the canonical graph ledger of the paper's section
5.1, asked at every window and many moments.

A key's versions are written by the paper's own statements. What an answer should be is counted from
the numbers of the versions alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import doxa
from bench.persistence_parts import DAY_NS, START_NS, Part, Scale, Tally, ask, fresh
from doxa.base.clock import FakeClock

_HOUR_S = 3_600
_BATCH = 10_000
_FIRST_DAY = date(2020, 1, 1)
_EPOCH = date(1970, 1, 1)
_DAYS, _SHIFT = (
    30,
    7,
)  # a version is valid for so many days; the keys of the second group begin so many days later
_MOMENTS_MAX = 6
_SCHEMA = """
CREATE CONSTRAINT fact_key FOR (k:FactKey) REQUIRE k.id IS UNIQUE;
CREATE CONSTRAINT fact_windows FOR (v:FactVersion) REQUIRE (v.key, v.validFrom, v.validUntil) IS \
TEMPORAL NO OVERLAP;
CREATE INDEX fact_of_key FOR (v:FactVersion) ON (v.key)
"""
_CREATE = """
CREATE (k:FactKey {id: row.id})
CREATE (v:FactVersion {key: row.id, value: row.value, number: $number, validFrom: row.day, \
source: row.source})
CREATE (k)-[:CURRENT]->(v)
"""
_SUPERSEDE = """
MATCH (k:FactKey {id: row.id})-[c:CURRENT]->(old:FactVersion)
CREATE (new:FactVersion {key: row.id, value: row.value, number: $number, validFrom: row.day, \
source: row.source})
SET old.validUntil = row.day
DELETE c
CREATE (k)-[:CURRENT]->(new)
CREATE (new)-[:SUPERSEDES]->(old)
"""
_CURRENT = "MATCH (k:FactKey)-[:CURRENT]->(v:FactVersion) RETURN k.id, v.number"
_VALID = "AS OF VALID TIME $at MATCH (v:FactVersion) RETURN v.key, v.number"
_ALL = (
    "MATCH (v:FactVersion) OPTIONAL MATCH (v)-[:SUPERSEDES]->(old) RETURN v.key, v.number, v.value,"
    " v.validFrom, v.validUntil, old.number, COUNT { (:FactKey)-[:CURRENT]->(v) } ORDER BY v.key,"
    " v.number"
)


def day(number: int, version: int) -> date:
    """The first day of a version of the key of this number."""
    return _FIRST_DAY + timedelta(days=_DAYS * (version - 1) + _SHIFT * (number % 2))


def nanos(day: date) -> int:
    return (day - _EPOCH).days * DAY_NS


class Ledger:
    """N keys with K versions each, written round by round, an hour apart."""

    def __init__(self, memory: doxa.Memory, clock: FakeClock, *, keys: int, versions: int) -> None:
        self.memory, self.clock, self.keys, self.versions = memory, clock, keys, versions
        self.committed: list[int] = []  # when round j was, at j - 1
        for command in _SCHEMA.split(";"):
            memory.run(command)

    def write(self, *, batch: int = _BATCH) -> None:
        """All versions; `batch` 1 gives the paper's statements one key at a time."""
        for version in range(1, self.versions + 1):
            self.clock.advance(seconds=_HOUR_S)
            for first in range(0, self.keys, batch):
                numbers = range(first, min(self.keys, first + batch))
                rows = [
                    {
                        "id": key(n),
                        "value": f"{n} at {version}",
                        "day": day(n, version),
                        "source": f"paper_{version}",
                    }
                    for n in numbers
                ]
                self._round(version, rows, single=batch == 1)
            self.committed.append(self.memory.log(limit=1)[0].time)

    def _round(self, version: int, rows: list[dict[str, Any]], *, single: bool) -> None:
        text = _CREATE if version == 1 else _SUPERSEDE
        head, given = (
            ("WITH $row AS row", {"row": rows[0]})
            if single
            else ("UNWIND $rows AS row", {"rows": rows})
        )
        self.memory.run(f"{head} {text}", {**given, "number": version})

    def valid(self, at: int, *, known: int) -> dict[str, int | None]:
        """The version of each key that was valid at a time, when only the first `known` were
        written."""
        found: dict[str, int | None] = {}
        for group in (0, 1):
            begun = (at - nanos(day(group, 1))) // (_DAYS * DAY_NS) + 1
            version = None if begun < 1 else min(known, begun)
            found.update((key(number), version) for number in range(group, self.keys, 2))
        return found

    def all_at(self, version: int | None) -> dict[str, int | None]:
        return dict.fromkeys((key(number) for number in range(self.keys)), version)


def key(number: int) -> str:
    return f"method:{number}:quality"


def supersession(scale: Scale, seed: int) -> Part:
    """Part 1: CURRENT is one and the latest; AS OF gives the version of each window, and of each
    moment."""
    part, rows = Part(), []
    for keys in scale.keys:
        for versions in scale.versions:
            clock, tally = FakeClock(START_NS), Tally()
            with fresh(clock=clock) as memory:
                ledger = Ledger(memory, clock, keys=keys, versions=versions)
                began = time.perf_counter()
                ledger.write()
                loaded = time.perf_counter() - began
                _ask_current(ledger, tally)
                _ask_valid(ledger, tally)
                _ask_system(ledger, tally)
                asked = time.perf_counter() - began - loaded
            part.take(tally)
            part.figures |= {
                f"{keys}x{versions}.load_s": loaded,
                f"{keys}x{versions}.rate": tally.rate,
            }
            cells = [
                tally.cell(about)
                for about in (
                    "CURRENT",
                    "chain",
                    "VALID TIME",
                    "one key",
                    "SYSTEM TIME",
                    "both times",
                )
            ]
            rows.append(
                [
                    f"{keys:,} × {versions}",
                    f"{keys * versions:,}",
                    f"{loaded:.1f}",
                    *cells,
                    f"{asked:.1f}",
                    f"{100 * tally.rate:.2f}",
                ]
            )
    part.tables.append(
        (
            "Supersession, N keys × K versions: right answers",
            [
                "N × K",
                "versions",
                "written in s",
                "CURRENT is the latest",
                "SUPERSEDES joins all",
                "AS OF VALID TIME, all keys",
                "one key, by pattern and by procedure",
                "AS OF SYSTEM TIME, all keys",
                "both times",
                "asked in s",
                "% right",
            ],
            rows,
        )
    )
    tally = Tally()
    _batched_alike(tally, keys=min(scale.keys), versions=min(scale.versions[-1], 5))
    _beliefs(tally, items=scale.beliefs, versions=min(scale.versions[-1], 10))
    part.take(tally)
    part.tables.append(
        (
            "Supersession by other ways",
            ["what", "answers", "right"],
            [[about, f"{tally.asked[about]:,}", tally.cell(about)] for about in tally.asked],
        )
    )
    right, answers = part.figures["right"], part.figures["answers"]
    share = f"{100 * right / answers:.4g} %"
    part.summary = (
        f"{right:,.0f} of {answers:,.0f} answers right, {share}; the largest is {rows[-1][1]}"
        f" versions, written in {rows[-1][2]} s"
    )
    return part


def _ask_current(ledger: Ledger, tally: Tally) -> None:
    latest = ledger.all_at(ledger.versions)
    tally.see_each("CURRENT", ask(ledger.memory, _CURRENT), latest)
    open_ended = ask(
        ledger.memory, "MATCH (v:FactVersion) WHERE v.validUntil IS NULL RETURN v.key, v.number"
    )
    tally.see_each("CURRENT", open_ended, latest, of="the version without an end")
    odd = (
        "WHERE new.key <> old.key OR new.number <> old.number + 1 OR new.validFrom <>"
        " old.validUntil"
    )
    links = ledger.keys * (ledger.versions - 1)
    counts = ask(
        ledger.memory, "MATCH (:FactVersion)-[:SUPERSEDES]->(:FactVersion) RETURN count(*)"
    )
    counts += ask(
        ledger.memory,
        f"MATCH (new:FactVersion)-[:SUPERSEDES]->(old:FactVersion) {odd} RETURN count(*)",
    )
    counts += ask(ledger.memory, "MATCH (v:FactVersion) RETURN count(*)")
    tally.see("chain", counts, [(links,), (0,), (ledger.keys * ledger.versions,)])


def points(versions: int) -> Iterable[int]:
    """Times before, at and after every boundary of both groups: each window is asked at its first
    moment, its last, and inside."""
    for version in range(1, versions + 1):
        for group in (0, 1):
            at = nanos(day(group, version))
            yield from (at - 1, at)
    yield nanos(day(1, versions)) + 1_000 * DAY_NS


def _ask_valid(ledger: Ledger, tally: Tally) -> None:
    for at in points(ledger.versions):
        wanted = ledger.valid(at, known=ledger.versions)
        tally.see_each("VALID TIME", ask(ledger.memory, _VALID, {"at": at}), wanted, of=f"at {at}")
    step = max(1, ledger.keys // 10)
    for at in list(points(ledger.versions))[:: max(1, ledger.versions // 3)]:
        wanted = ledger.valid(at, known=ledger.versions)
        for number in range(0, ledger.keys, step):
            given = {"at": at, "key": key(number)}
            held = [] if wanted[key(number)] is None else [(wanted[key(number)],)]
            tally.see(
                "one key",
                ask(
                    ledger.memory,
                    "AS OF VALID TIME $at MATCH (v:FactVersion {key: $key}) RETURN v.number",
                    given,
                ),
                held,
            )
            call = (
                "CALL db.temporal.asOf('FactVersion', 'key', $key, 'validFrom', 'validUntil', $at)"
                " YIELD node RETURN node.number"
            )
            tally.see("one key", ask(ledger.memory, call, given), held)


def _ask_system(ledger: Ledger, tally: Tally) -> None:
    rounds = sorted(
        {1 + (ledger.versions - 1) * part // (_MOMENTS_MAX - 1) for part in range(_MOMENTS_MAX)}
    )
    text = f"AS OF SYSTEM TIME $then {_CURRENT}"
    for version in rounds:
        then = ledger.committed[version - 1]
        for moment, wanted in (
            (then, version),
            (then - 1, version - 1 or None),
            (then + 1, version),
        ):
            tally.see_each(
                "SYSTEM TIME",
                ask(ledger.memory, text, {"then": moment}),
                ledger.all_at(wanted),
                of=f"round {version}",
            )
        for at in (
            nanos(day(0, version)),
            nanos(day(1, version)) - 1,
            nanos(day(1, ledger.versions)) + DAY_NS,
        ):
            rows = ask(ledger.memory, f"AS OF SYSTEM TIME $then {_VALID}", {"then": then, "at": at})
            tally.see_each(
                "both times", rows, ledger.valid(at, known=version), of=f"round {version} at {at}"
            )


def _batched_alike(tally: Tally, *, keys: int, versions: int) -> None:
    """The paper's statements, one transaction for each key and version, give the graph that batches
    give."""
    found = []
    for batch in (1, _BATCH):
        clock = FakeClock(START_NS)
        with fresh(clock=clock) as memory:
            ledger = Ledger(memory, clock, keys=keys, versions=versions)
            ledger.write(batch=batch)
            found.append(ask(memory, _ALL))
    tally.see("one key at a time and in batches: the same graph", found[0], found[1])
    tally.see("one key at a time and in batches: the same graph", len(found[0]), keys * versions)


def _beliefs(tally: Tally, *, items: int, versions: int) -> None:
    """The same of beliefs, by the verbs: remember, then revise and supersede in turn."""
    clock = FakeClock(START_NS)
    with fresh(clock=clock) as memory:
        told: dict[str, list[int]] = {}
        for version in range(1, versions + 1):
            clock.advance(days=1)
            begins, ends = clock.now_ns(), clock.now_ns() + DAY_NS if version < versions else None
            for item in range(items):
                address, text = (
                    f"kref://shop/limit-{item}.fact",
                    f"The limit of shelf {item} is {version} boxes",
                )
                clock.advance(seconds=1)
                if version == 1:
                    change = memory.remember(
                        text,
                        name=f"limit-{item}",
                        project="shop",
                        valid_from=begins,
                        valid_until=ends,
                    ).change
                else:
                    verb = memory.supersede if version % 2 else memory.revise
                    change = verb(address, text, valid_from=begins, valid_until=ends)
                assert change is not None, "a new text is a change"
                told.setdefault(address, []).append(change.time)
        for number, (address, times) in enumerate(told.items()):
            _ask_belief(tally, memory, address, times, shelf=number)


def _ask_belief(
    tally: Tally, memory: doxa.Memory, address: str, times: list[int], *, shelf: int
) -> None:
    def text(version: int) -> str:
        return f"The limit of shelf {shelf} is {version} boxes"

    latest, given = text(len(times)), {"kref": address}
    current = ask(memory, "MATCH (i:Item {kref: $kref})-[:CURRENT]->(r) RETURN r.summary", given)
    tally.see("beliefs: CURRENT is one and the latest", current, [(latest,)], of=address)
    tally.see(
        "beliefs: `get` and `history`",
        [r.summary for r in memory.history(address).revisions],
        [text(1 + n) for n in range(len(times))],
    )
    tally.see("beliefs: `get` and `history`", getattr(memory.get(address), "summary", ""), latest)
    chain = ask(
        memory,
        "MATCH (:Item {kref: $kref})-[:CURRENT]->()-[:SUPERSEDES*0..]->(r) RETURN count(r)",
        given,
    )
    tally.see("beliefs: SUPERSEDES joins all", chain, [(len(times),)], of=address)
    hits = [
        hit.text
        for hit in memory.recall(f"limit of shelf {shelf}", project="shop").hits
        if f"shelf {shelf} " in hit.text
    ]
    tally.see("beliefs: recall gives the latest alone", hits, [latest], of=address)
    for version, then in enumerate(times, 1):
        about = "beliefs: `as_of`, AS OF SYSTEM TIME and AS OF VALID TIME"
        tally.see(
            about, getattr(memory.as_of(address, then), "summary", ""), text(version), of=address
        )
        if version > 1:
            tally.see(
                about,
                getattr(memory.as_of(address, then - 1), "summary", ""),
                text(version - 1),
                of=address,
            )
        asked = (
            "AS OF SYSTEM TIME $then MATCH (:Item {kref: $kref})-[:CURRENT]->(r) RETURN r.summary"
        )
        tally.see(
            about, ask(memory, asked, {**given, "then": then}), [(text(version),)], of=address
        )
        asked = (
            "AS OF VALID TIME $then MATCH (:Item {kref: $kref})-[:HAS_REVISION]->(r) RETURN"
            " r.summary"
        )
        tally.see(
            about, ask(memory, asked, {**given, "then": then}), [(text(version),)], of=address
        )
