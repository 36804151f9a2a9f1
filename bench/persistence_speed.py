"""What it costs that every read asks first what is visible: the same queries on the same elements,
without policies and with them, in turn.

A repetition asks all memories the same question, in an order that is drawn each time, so that
whatever else the machine does meets them alike. Noted accesses are written between the rounds,
outside of the clock, and timed by themselves. So is the sweep that follows a change of policies,
while other reads go on.
"""

from __future__ import annotations

import gc
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import doxa
from bench.persistence_load import (
    DIMENSIONS,
    LONG_S,
    SHORT_S,
    VECTORS_MAX,
    Elements,
    build,
    declare,
    elements,
    reopened,
)
from bench.persistence_parts import SECOND_NS, Part, Scale, Tally, ask, fresh
from bench.texts import questions_of, turns_of
from bench.timing import Spread, seconds_of, spread
from doxa.base.clock import FakeClock
from doxa.language.turns import Turn

_RATIO_MAX = 1.2
_WARM = 10
_ROUND = 100
_CHECKED_MAX = 200_000  # up to so many elements every window is recomputed at the end
_RANGE = 100
_AGES_S = 290 * LONG_S  # the longest half-life: what fades ranks lower, and this leaves no trace
_JUDGED = (
    "policy",
    "hiding",
    # these are compared with the plain one; `reading` is `policy` opened to read only, which notes
    # no access
)
_FOUND = "YIELD node, score RETURN node.key, score"
_QUERIES = {
    "lookup": ("lookup by indexed property", "MATCH (n:Memory {key: $key}) RETURN n.key, n.text"),
    "scan": ("label scan, LIMIT 100", "MATCH (n:Memory) RETURN n.key, n.text LIMIT 100"),
    "range": (
        "range index, 100 rows",
        "MATCH (n:Memory) WHERE n.rank >= $low AND n.rank < $low + 100 RETURN n.key, n.text",
    ),
    "one_hop": (
        "one hop, 10 rows",
        "MATCH (:Memory {key: $hub})-[:ABOUT]->(m) RETURN m.key, m.text",
    ),
    "two_hops": (
        "two hops, 100 rows",
        "MATCH (:Memory {key: $hub})-[:ABOUT]->()-[:ABOUT]->(m) RETURN m.key, m.text",
    ),
    "fulltext": (
        "full-text, first ten",
        f"CALL db.index.fulltext.queryNodes('memory_text', $words, {{limit: 10}}) {_FOUND}",
    ),
    "vector": (
        f"vector, first ten of at most {VECTORS_MAX:,}",
        f"CALL db.index.vector.queryNodes('memory_vector', 10, $vector) {_FOUND}",
    ),
}
_OF_TURNS = """
CREATE DECAY PROFILE fading OPTIONS {
  halfLifeSeconds: HALF, function: 'exponential', visibilityThreshold: 0.10, scoreFrom: 'CUSTOM', \
scoreFromProperty: 'time'
}
CREATE DECAY PROFILE turns FOR (n:Exchange) APPLY { DECAY PROFILE 'fading' }
"""
_Ask = Callable[[Any], Sequence[Any]]


class Timed(NamedTuple):
    """One query: its times in each memory, and how many rows it gave in the median."""

    title: str
    spreads: dict[str, Spread]
    rows: dict[str, float]

    def ratio(self, system: str) -> tuple[float, float]:
        """Median and 95th percentile against the memory without policies."""
        return self.spreads[system].p50_ms / self.spreads["plain"].p50_ms, self.spreads[
            system
        ].p95_ms / self.spreads["plain"].p95_ms


def overhead(scale: Scale, seed: int) -> Part:
    """Part 5: what scoring before visibility costs, the sweep after a change of policies, and what
    an access costs to write."""
    part, tally, swept = Part(), Tally(), []
    over_p95: list[str] = []
    for count in scale.elements:
        with tempfile.TemporaryDirectory() as folder:
            timed, row = _of_elements(
                part, tally, Path(folder), elements(count, seed), scale.repetitions
            )
        swept.append(row)
        if count <= scale.exchanges:
            timed["recall"] = _of_recall(tally, count, seed=seed, repetitions=scale.repetitions)
        _tell(part, count, timed, over_p95)
    part.take(tally)
    part.tables.append(
        (
            "Policies declared over elements that are there: the sweep in the background",
            [
                "elements",
                "declared in s",
                "sweep in s",
                "elements a second",
                "lookups during the sweep",
                "of these right",
                "their p50 ms",
                "p95 ms",
                "visible afterwards",
            ],
            swept,
        )
    )
    part.tables.append(_of_accesses(part, min(10_000, max(scale.elements)), seed))
    worst = max(value for key, value in part.figures.items() if key.endswith("p50_ratio"))
    part.summary = f"the highest ratio of medians is {worst:.2f}, wanted at most {_RATIO_MAX}"
    part.notes.append(
        f"Ratios of 95th percentiles above {_RATIO_MAX}: {'; '.join(over_p95) or 'none'}."
    )
    return part


def _tell(part: Part, count: int, timed: Mapping[str, Timed], over_p95: list[str]) -> None:
    rows = []
    for name, one in timed.items():
        cells = [
            one.title,
            f"{one.rows['plain']:.0f} / {one.rows['hiding']:.0f}",
            _cell(one.spreads["plain"]),
        ]
        reading = one.ratio("reading")[0]
        part.figures[f"{count}.{name}.reading.p50_over_plain"] = reading
        for system in _JUDGED:
            p50, p95 = one.ratio(system)
            place = f"{count}.{name}.{system}"
            part.figures |= {f"{place}.p50_ratio": p50, f"{place}.p95_ratio": p95}
            if p50 > _RATIO_MAX:
                part.wrong.append(
                    f"{count:,} elements, {one.title}, {system}: the median is {p50:.2f} × plain"
                )
            if p95 > _RATIO_MAX:
                over_p95.append(f"{count:,}, {one.title}, {system} {p95:.2f}")
            cells += [
                _cell(one.spreads[system]),
                _bold(p50),
                _bold(p95),
                *([f"{reading:.2f}"] if system == "policy" else []),
            ]
        for system, found in one.spreads.items():
            part.figures |= {
                f"{count}.{name}.{system}.p50_ms": found.p50_ms,
                f"{count}.{name}.{system}.p95_ms": found.p95_ms,
            }
        rows.append(cells)
    part.tables.append(
        (
            (
                f"{count:,} elements: p50 / p95 in ms and ratios to no policies (wanted: at most"
                f" {_RATIO_MAX})"
            ),
            [
                "query",
                "rows, all / some hidden",
                "no policies",
                "decay, none hidden",
                "p50 ratio",
                "p95 ratio",
                "p50 ratio if no access is noted",
                "decay, a tenth hidden",
                "p50 ratio",
                "p95 ratio",
            ],
            rows,
        )
    )


def _cell(found: Spread) -> str:
    return f"{found.p50_ms:.3f} / {found.p95_ms:.3f}"


def _bold(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio > _RATIO_MAX else f"{ratio:.2f}"


# Queries


def _of_elements(
    part: Part, tally: Tally, folder: Path, held: Elements, repetitions: int
) -> tuple[dict[str, Timed], list[str]]:
    count = held.nodes * 2
    with ExitStack() as stack:
        memories = {}
        for system, half_life_s in (("plain", None), ("policy", LONG_S)):
            began = time.perf_counter()
            memories[system] = stack.enter_context(
                build(folder / f"{system}.db", held, half_life_s=half_life_s)
            )
            part.figures[f"{count}.{system}.load_s"] = time.perf_counter() - began
        memories["hiding"] = stack.enter_context(
            reopened(memories["plain"].backup(folder / "hiding.db"))
        )
        row = _sweep(part, tally, memories["hiding"], held)
        memories["reading"] = stack.enter_context(reopened(folder / "policy.db", read_only=True))
        sessions = {
            system: stack.enter_context(memory.graph()) for system, memory in memories.items()
        }
        seen = held.node_seen()
        timed = {}
        for name, (title, text) in _QUERIES.items():
            asks: dict[str, _Ask] = {
                system: _asking(session, text) for system, session in sessions.items()
            }
            found = in_turn(
                asks,
                _questions(held, repetitions + _WARM),
                settle=[memories[system].flush for system in _JUDGED],
            )
            timed[name] = Timed(title, *found[:2])
            for rows in found[2]:
                tally.see(
                    "answers",
                    rows["policy"],
                    rows["plain"],
                    of=f"{count:,} elements, {title}: decay that hides nothing",
                )
                hidden = [one for one in rows["hiding"] if not seen[one[0]]]
                tally.see(
                    "answers",
                    hidden,
                    [],
                    of=f"{count:,} elements, {title}: hidden ones in the result",
                )
    return timed, row


def _asking(session: Any, text: str) -> _Ask:
    return lambda question: list(session.run(text, question))


def _questions(held: Elements, count: int) -> list[dict[str, Any]]:
    """Parameters for all the queries; two words that some nodes have, a vector, a hub, a place."""
    rng = np.random.default_rng(held.seed + 2)
    words = rng.integers(held.vocabulary, size=(count, 2)).tolist()
    vectors = rng.standard_normal((count, DIMENSIONS)).tolist()
    keys, hubs = (
        rng.integers(held.nodes, size=count).tolist(),
        rng.integers(held.hubs, size=count).tolist(),
    )
    lows = rng.integers(max(1, held.nodes - _RANGE), size=count).tolist()
    return [
        {
            "key": keys[n],
            "hub": hubs[n],
            "low": lows[n],
            "words": f"word{words[n][0]} word{words[n][1]}",
            "vector": vectors[n],
        }
        for n in range(count)
    ]


def in_turn(
    asks: Mapping[str, _Ask], questions: Sequence[Any], *, settle: Sequence[Callable[[], object]]
) -> tuple[dict[str, Spread], dict[str, float], list[dict[str, list[tuple[Any, ...]]]]]:
    """Times and numbers of rows of each system, and some answers to compare. The first few
    questions only warm up."""
    rng = np.random.default_rng(len(questions))
    names = list(asks)
    times: dict[str, list[float]] = {name: [] for name in names}
    sizes: dict[str, list[int]] = {name: [] for name in names}
    samples = []
    gc.collect()
    for number, question in enumerate(questions):
        answers: dict[str, Sequence[Any]] = {}
        for place in rng.permutation(len(names)).tolist():
            name = names[place]
            start = time.perf_counter()
            answers[name] = asks[name](question)
            if number >= _WARM:
                times[name].append(time.perf_counter() - start)
                sizes[name].append(len(answers[name]))
        if number % 20 == 0:
            samples.append({name: [tuple(row) for row in rows] for name, rows in answers.items()})
        if number % _ROUND == _ROUND - 1:
            for one in settle:
                one()
    for one in settle:
        one()
    return (
        {name: spread(found) for name, found in times.items()},
        {name: float(np.median(found)) for name, found in sizes.items()},
        samples,
    )


# The sweep


def _sweep(part: Part, tally: Tally, memory: doxa.Memory, held: Elements) -> list[str]:
    """Policies over what is there: declared, then swept by another thread while this one reads."""
    count, seen = held.nodes * 2, held.node_seen()
    declared_s = seconds_of(lambda: declare(memory, SHORT_S))
    waiting = ask(
        memory,
        "CALL nornicdb.knowledgepolicy.deindexStatus() YIELD status, pending_count RETURN status,"
        " sum(pending_count)",
    )
    ended: list[float] = []
    began = time.perf_counter()

    def settle() -> None:
        memory.flush()
        ended.append(time.perf_counter() - began)

    thread = threading.Thread(target=settle)
    times, right = [], 0
    rng = np.random.default_rng(held.seed + 3)
    with memory.graph() as session:
        thread.start()
        while thread.is_alive() and waiting[0][0] != "IDLE":
            key = int(rng.integers(held.nodes))
            start = time.perf_counter()
            rows = [
                row[0]
                for row in session.run("MATCH (n:Memory {key: $key}) RETURN n.key", {"key": key})
            ]
            times.append(time.perf_counter() - start)
            wanted = [key] if seen[key] else []
            right += tally.see("reads during the sweep", rows, wanted, of=f"key {key}")
            hub = int(rng.integers(held.hubs))
            rows = [
                row[0]
                for row in session.run(
                    "MATCH (:Memory {key: $hub})-[:ABOUT]->(m) RETURN m.key", {"hub": hub}
                )
            ]
            here = slice(*np.searchsorted(held.src, [hub, hub + 1]).tolist())
            tally.see(
                "reads during the sweep",
                sorted(rows),
                sorted(held.dst[here][held.edge_seen()[here]].tolist()),
                of=f"hub {hub}",
            )
            time.sleep(0.01)  # the reader leaves the processor to the sweep most of the time
        thread.join()
    status = ask(memory, "CALL nornicdb.knowledgepolicy.deindexStatus() YIELD status RETURN status")
    tally.see("after the sweep", status, [("IDLE",)])
    shown = ask(memory, "MATCH (n:Memory) RETURN count(*)") + ask(
        memory, "MATCH (:Memory)-[r:ABOUT]->(:Memory) RETURN count(r)"
    )
    tally.see(
        "after the sweep",
        shown,
        [(int(seen.sum()),), (int(held.edge_seen().sum()),)],
        of=f"{count:,} elements",
    )
    if count <= _CHECKED_MAX:
        tally.see("after the sweep", memory.check(), [], of=f"{count:,} elements")
    memory.flush()
    took = ended[0] if ended else 0.0
    part.figures |= {f"{count}.declare_s": declared_s, f"{count}.sweep_s": took}
    found = spread(times) if times else Spread(float("nan"), float("nan"))
    cells = (
        [f"{len(times):,}", f"{right:,}", f"{found.p50_ms:.2f}", f"{found.p95_ms:.2f}"]
        if times
        else ["at once: none", "–", "–", "–"]
    )
    rate = f"{count / took:,.0f}" if times else f"{count / declared_s:,.0f}"
    return [
        f"{count:,}",
        f"{declared_s:.2f}",
        f"{took:.1f}" if times else "at once",
        rate,
        *cells,
        f"{shown[0][0]:,} nodes, {shown[1][0]:,} edges",
    ]


# Recall


def _of_recall(tally: Tally, count: int, *, seed: int, repetitions: int) -> Timed:
    """`recall` among exchanges, by words alone."""
    turns = list(turns_of(count, seed=seed))
    questions = questions_of(turns, min(repetitions, count // 4) + _WARM, seed=seed + 1)
    last, tenth = turns[-1].time_ns, turns[count // 10].time_ns
    assert last is not None and tenth is not None, "turns of the bench have times"
    old_s = (
        (last - tenth) / SECOND_NS / np.log2(10)
    )  # the first tenth is below 0.10 when the last was said
    with ExitStack() as stack:
        memories = {}
        for system, half_life_s in (("plain", None), ("policy", _AGES_S), ("hiding", old_s)):
            memories[system] = stack.enter_context(_told(turns, half_life_s, now=last))
        memories["reading"] = stack.enter_context(
            reopened(memories["policy"].config.path, read_only=True, now=last)
        )
        asks: dict[str, _Ask] = {system: _recalling(memory) for system, memory in memories.items()}
        spreads, sizes, samples = in_turn(
            asks, questions, settle=[memories[system].flush for system in _JUDGED]
        )
    for rows in samples:
        tally.see(
            "answers",
            rows["policy"],
            rows["plain"],
            of=f"recall among {count:,}: decay that hides nothing",
        )
        tally.see(
            "answers",
            [one for one in rows["hiding"] if int(one[0]) < count // 10],
            [],
            of=f"recall among {count:,}: hidden ones",
        )
    return Timed(f"recall among {count:,} exchanges, first ten", spreads, sizes)


def _recalling(memory: doxa.Memory) -> _Ask:
    return lambda question: [(hit.source_id,) for hit in memory.recall(question, limit=10).hits]


@contextmanager
def _told(turns: Sequence[Turn], half_life_s: float | None, *, now: int) -> Iterator[doxa.Memory]:
    with fresh(clock=FakeClock(now)) as memory:
        if half_life_s is not None:
            memory.run(_OF_TURNS.replace("HALF", f"{half_life_s:.0f}"))
        memory.ingest(turns, extract=False)
        yield memory


# Accesses

_USED = """
CREATE PROMOTION POLICY reinforcement FOR (n:Memory) APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()
    WITH KALMAN{q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }
  WHEN n.accessCount >= 3 APPLY PROFILE 'reinforced'
}
"""
_USE = "MATCH (n:Memory {key: $key}) RETURN n, $evaluatedConfidence"


def _of_accesses(part: Part, count: int, seed: int) -> tuple[str, list[str], list[list[str]]]:
    """Lookups, each one access, then the time to write them."""
    held = elements(count, seed)
    lookups = held.nodes // 2
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        build(Path(folder) / "used.db", held, half_life_s=LONG_S) as memory,
        memory.graph() as session,
    ):
        for policy, key in (
            ("decay alone", "decay"),
            ("decay and ON ACCESS with smoothing", "on_access"),
        ):
            if key == "on_access":
                memory.run(_USED)
                memory.flush()
            for keys, what, part_key in (
                (lookups, "each of another node", "apart"),
                (10, "of ten nodes in turn", "same"),
            ):
                for number in range(lookups):
                    list(session.run(_USE, {"key": number % keys, "evaluatedConfidence": 0.6}))
                took = seconds_of(memory.flush)
                part.figures[f"access.{key}.{part_key}_us"] = 1e6 * took / lookups
                rows.append(
                    [
                        f"{policy}: {lookups:,} accesses, {what}",
                        f"{1e6 * took / lookups:.0f}",
                        f"{1e3 * took:.0f}",
                    ]
                )
    return (
        "Accesses, written in the background: outside of all times above",
        ["what", "µs for each access", "ms in all"],
        rows,
    )
