"""StateBench's training split through consolidation: does what was superseded return as a
conclusion, is what depended on it flagged, does repetition raise trust?

    talk      the conversation comes in and is consolidated by rules before each query: the share of
              queries to which a superseded value comes back among the first ten hits, unflagged: as
              a claim (fact, event, decision, task), in a summary, or as a turn
    writes    the track `repair_propagation` as named beliefs: what was concluded depends on the
              facts. `flagged` is the share of these that are marked unsupported once the fact is
              corrected, before the timeline itself corrects them
    repeated  every user turn is said in three sessions, each consolidated: `raised` counts
              conclusions that are trusted more than `inferred`, and those that became surer
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import doxa
from bench.metrics import mean
from bench.persistence_parts import fresh
from bench.report import Report, begin, percent
from bench.statebench import load
from doxa.app.session import Session
from doxa.base.clock import FakeClock, parse_time
from doxa.models import Embedder
from doxa.store import TRUSTS

FIRST = 10
_REPAIR = "repair_propagation"
_TIMES = 3
WAYS = ("claim", "summary", "turn")


@dataclass(slots=True)
class Seen:
    """What queries after a supersession brought back, by track."""

    found: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: {way: {} for way in WAYS}
    )
    examples: list[str] = field(default_factory=list)


def run(path: Path, embedder: Embedder | None, *, seed: int, limit: int | None = None) -> Report:
    report = begin("ripening-state", seed=seed, embedder=embedder)
    timelines = load(path)
    changed = [one for one in timelines if _supersedes(one)][:limit]
    _superseded(report, changed, embedder)
    repairs = [one for one in timelines if one["track"] == _REPAIR][:limit]
    _flagged(report, repairs)
    _repeated(report, timelines[:: max(1, len(timelines) // 60)][:limit])
    return report.end()


def _supersedes(timeline: dict[str, Any]) -> bool:
    return any(event["type"] == "supersession" for event in timeline["events"])


def _superseded(
    report: Report, timelines: Sequence[dict[str, Any]], embedder: Embedder | None
) -> None:
    seen = Seen()
    concluded = 0
    for timeline in timelines:
        clock = FakeClock()
        with fresh(clock=clock, embedder=embedder) as memory:
            _play(memory, clock, timeline, seen)
            concluded += memory.audit().derived
    held = seen.found
    asked = sum(map(len, held["turn"].values()))
    report.put("superseded.n", asked)
    report.put("superseded.concluded", concluded)
    rows = []
    for track in [*sorted(held["turn"]), "all"]:
        of = [name for name in held["turn"] if track in (name, "all")]
        values = {way: mean([v for name in of for v in held[way][name]]) for way in WAYS}
        if track == "all":
            for way, value in values.items():
                report.put(f"superseded.{way}", value)
        count = sum(len(held["turn"][name]) for name in of)
        rows.append([track, str(count), *(percent(values[way]) for way in WAYS)])
    report.table(
        "StateBench through consolidation by rules: queries to which a superseded value comes back,"
        f" % (n = {asked}; {concluded} conclusions)",
        ["track", "queries", "as a claim", "in a summary", "as a turn"],
        rows,
    )
    for line in seen.examples[:20]:
        print(line)


def _play(memory: doxa.Memory, clock: FakeClock, timeline: dict[str, Any], seen: Seen) -> None:
    held: dict[str, str] = {
        name: str(fact["value"])
        for fact in timeline["initial_state"]["persistent_facts"]
        for name in (fact["id"], fact["key"])
    }
    superseded: list[str] = []
    waiting: list[dict[str, object]] = []
    for event in timeline["events"]:
        clock.set(parse_time(event["ts"]))
        if event["type"] == "conversation_turn":
            role = "user" if event["speaker"] == "user" else "assistant"
            waiting.append({"role": role, "text": event["text"], "time": event["ts"]})
        elif event["type"] == "query":
            memory.ingest(waiting, thread="talk")
            waiting = []
            memory.consolidate()
            memory.embed()
            current = set(held.values())
            old = [value for value in superseded if value not in current]
            if old:
                _look(memory, event["prompt"], old, timeline, seen)
        else:
            for write in event["writes"]:
                before = held.get(write.get("supersedes") or "")
                if before is not None and before != str(write["value"]):
                    superseded.append(before)
                    for name in [n for n, value in held.items() if value == before]:
                        del held[name]
                held |= dict.fromkeys((write["id"], write["key"]), str(write["value"]))


def _look(
    memory: doxa.Memory, prompt: str, old: Sequence[str], timeline: dict[str, Any], seen: Seen
) -> None:
    hits = memory.recall(prompt, limit=FIRST).hits
    found = dict.fromkeys(WAYS, 0.0)
    for hit in hits:
        flagged = hit.unsupported or hit.contested or hit.status != "current"
        if any(value.casefold() in hit.text.casefold() for value in old) and not flagged:
            way = "turn" if hit.type == "exchange" else "claim"
            way = "summary" if hit.kind == "summary" else way
            found[way] = 1.0
            if way == "claim":
                seen.examples.append(f"{timeline['id']} {hit.kref}: {hit.text[:160]}")
    for way, value in found.items():
        seen.found[way].setdefault(timeline["track"], []).append(value)


def _flagged(report: Report, timelines: Sequence[dict[str, Any]]) -> None:
    flagged = []
    for timeline in timelines:
        clock = FakeClock()
        with fresh(clock=clock, embedder=None) as memory:
            found = _repair(memory, clock, timeline)
            if found is not None:
                flagged.append(found)
    if flagged:
        report.put("dependents.n", len(flagged))
        report.put("dependents.flagged", mean(flagged))
        report.table(
            "StateBench, track repair_propagation: what was concluded from a fact, flagged once the"
            " fact is corrected, %",
            ["conclusions", "flagged"],
            [[str(len(flagged)), percent(mean(flagged))]],
        )


def _repair(memory: Session, clock: FakeClock, timeline: dict[str, Any]) -> float | None:
    """Play up to the correction of the fact; return whether what depends on it is flagged."""
    facts: dict[str, str] = {}
    for fact in timeline["initial_state"]["persistent_facts"]:
        facts[fact["key"]] = _remember(memory, fact)
    conclusions: list[str] = []
    for event in timeline["events"]:
        clock.set(parse_time(event["ts"]))
        for write in event.get("writes") or ():
            if event["type"] == "state_write":
                kref = _remember(memory, write)
                for ground in facts.values():
                    memory.link(kref, ground, kind="DEPENDS_ON")
                conclusions.append(kref)
            elif write.get("supersedes") in facts and conclusions:
                text = f"{str(write['key']).replace('_', ' ')}: {write['value']}"
                memory.supersede(facts[write["supersedes"]].partition("?")[0], text)
                return mean([_is_flagged(memory, kref) for kref in conclusions])
    return None


def _remember(memory: Session, write: dict[str, Any]) -> str:
    text = f"{str(write['key']).replace('_', ' ')}: {write['value']}"
    return memory.remember(text, name=str(write["key"]).replace("_", "-")).kref


def _is_flagged(memory: Session, kref: str) -> float:
    stale = memory.audit(limit=1_000)["stale"].findings
    item = kref.partition("?")[0]
    return float(any(one.kref.partition("?")[0] == item for one in stale))


def _repeated(report: Report, timelines: Sequence[dict[str, Any]]) -> None:
    concluded = raised = surer = 0
    for timeline in timelines:
        clock = FakeClock()
        with fresh(clock=clock, embedder=None) as memory:
            for number in range(_TIMES):
                turns = list(_user_turns(timeline, number))
                if turns:
                    memory.ingest(turns, thread="talk", extract=False)
                    memory.consolidate()
            rows = memory.run(
                "MATCH (i:Item)-[:HAS_REVISION]->(r:Revision) WHERE r.job_run IS NOT NULL RETURN"
                " i.kref AS item, r.number AS number, r.trust AS trust, r.confidence AS confidence"
                " ORDER BY item, number"
            ).records()
        before: dict[str, float] = {}
        for row in rows:
            concluded += 1
            raised += TRUSTS.index(str(row["trust"])) > TRUSTS.index("inferred")
            sure = float(str(row["confidence"]))
            surer += sure > before.get(str(row["item"]), 1.0)
            before[str(row["item"])] = sure
    report.put("repeated.concluded", concluded)
    report.put("repeated.raised", raised)
    report.put("repeated.surer", surer)
    report.table(
        f"StateBench said {_TIMES} times, each time consolidated: conclusions that are trusted or"
        " sure beyond what they were",
        ["revisions concluded", "trusted more than inferred", "surer than before"],
        [[f"{concluded:,}", str(raised), str(surer)]],
    )


def _user_turns(timeline: dict[str, Any], number: int) -> Iterator[dict[str, object]]:
    for place, event in enumerate(timeline["events"]):
        if event["type"] == "conversation_turn":
            yield {
                "role": "user" if event["speaker"] == "user" else "assistant",
                "text": event["text"],
                "time": event["ts"],
                "session": f"time {number}",
                "id": f"{number}:{place}",
            }
