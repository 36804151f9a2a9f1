"""A real PostgreSQL under Patroni with a synchronous standby: leaders are killed and networks cut
while clients write and read. Nothing acknowledged is lost or twice, and there is one chain."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.cluster.conftest import ASKED, Play

_EVERY_S = 30
_DOWN_S = 10
_KINDS = ("host", "postgresql")
WRITERS = {"store-1": "app1", "verb-1": "app1", "store-2": "app2", "verb-2": "app2"}
READERS = {"reader-1": "app1", "reader-2": "app2"}


def test_leaders_are_killed_every_thirty_seconds(play: Play, tally: Callable[..., None]) -> None:
    """Alternately the power of the whole host, and PostgreSQL alone."""
    _begin(play)
    kills = _kill_leaders(play, float(ASKED))
    play.end()
    _report(play, kills, tally, "leaders")


def test_a_server_that_keeps_its_tenant_loses_its_leader(
    play: Play, tally: Callable[..., None]
) -> None:
    """One server alone writes, so that its writes begin without asking; at the end another one
    writes too."""
    _begin(play, {"store-1": "app1"})
    kills = _kill_leaders(play, max(2.0 * _EVERY_S, float(ASKED) / 4))
    kept = sum(line["kept"] for line in play.lines("store-1") if line["state"] == "acked")
    play.begin("write", "app2", "store-2")
    play.wait_until_busy("store-2")
    play.end()
    counts = _report(play, kills, tally, "leaders_of_a_keeper")
    print(f"{kept} began without asking")
    assert kept > counts["acked"] / 2


def _kill_leaders(play: Play, seconds: float) -> list[tuple[str, float]]:
    """Kill one after the other; return the kind and the time of each kill."""
    rng, cluster = random.Random(int(os.environ.get("DOXA_SEED", 0))), play.cluster
    kills: list[tuple[str, float]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = time.monotonic()
        leader = cluster.wait_until_safe()
        kills.append((_KINDS[len(kills) % 2], time.monotonic()))
        if kills[-1][0] == "host":
            cluster.kill(leader)
            time.sleep(_DOWN_S)
            cluster.start(leader)
        else:
            cluster.kill_postgres(leader)
        time.sleep(max(0.0, before + _EVERY_S + rng.random() - time.monotonic()))
    cluster.wait_until_safe()
    time.sleep(5)
    return kills


def _report(
    play: Play, kills: Sequence[tuple[str, float]], tally: Callable[..., None], what: str
) -> Counter[str]:
    """Account for every write, and tell what the kills cost."""
    counts = _accounted(play, play.judged("app1", *_present(play)))
    gaps = _without_writes(play, kills)
    print(f"{len(kills)} {what} killed; {dict(counts)}; without writes {gaps} s")
    assert counts["acked"] > len(kills) > 0
    longest = {f"longest_gap_{kind}_ms": int(max(gaps[kind]) * 1000) for kind in gaps}
    tally(**{f"{what}_killed": len(kills)}, writes=counts["acked"], **longest)
    return counts


def _present(play: Play) -> list[str]:
    return [name for name in (*WRITERS, *READERS) if play.lines(name)]


def test_a_leader_that_is_cut_off_acknowledges_nothing(
    play: Play, tally: Callable[..., None]
) -> None:
    """The leader and one server on one side; two engines and the other server on the other."""
    cluster = play.cluster
    leader = cluster.wait_until_safe()
    _begin(play)
    cluster.partition(leader, "app1")
    cut = time.monotonic()
    time.sleep(40)
    healed = time.monotonic()
    cluster.heal()
    cluster.wait_until_safe()
    time.sleep(8)
    play.end()
    entries = play.judged("app2", *WRITERS, *READERS)
    counts = _accounted(play, entries)
    inside = [
        one for one in _attempts(play, "app1") if cut < one["began"] and one["ended"] < healed
    ]
    assert inside and not any(one["state"] == "acked" for one in inside)
    late = [one for one in _attempts(play, "app1") if cut < one["ended"] < healed]
    assert not [one for one in late if one["state"] == "acked" and one["ended"] > cut + 0.5]
    others = [
        one for one in _attempts(play, "app2") if cut < one["began"] and one["ended"] < healed
    ]
    assert any(one["state"] == "acked" for one in others)
    stale = [one for one in play.lines("reader-1") if cut + 10 < one["at"] < healed]
    assert stale and not any(one["reachable"] for one in stale)
    assert all(one["age_s"] > 1 for one in stale)
    print(f"{dict(counts)}; refused on the wrong side: {len(inside)}; the others went on")
    tally(partitions=1, refused_on_the_wrong_side=len(inside))


def _begin(play: Play, writers: Mapping[str, str] = WRITERS) -> None:
    for name, host in writers.items():
        play.begin("write", host, name)
    for name, host in READERS.items():
        play.begin("read", host, name)
    play.wait_until_busy(*writers, *READERS)


def _attempts(play: Play, host: str) -> list[dict[str, Any]]:
    names = [name for name, at in WRITERS.items() if at == host]
    return [line for name in names for line in play.lines(name)]


def _accounted(play: Play, entries: Iterable[Sequence[Any]]) -> Counter[str]:
    """Compare every journal with what the engine has; the number of attempts by outcome."""
    held: Counter[str] = Counter()
    for by, n, text in entries:
        if by is not None:
            held[f"{by}/{n}"] += 1
        elif text and str(text).startswith("Entry "):
            _, number, _, name = str(text).split()
            held[f"{name}/{number}"] += 1
    counts: Counter[str] = Counter()
    acked = []
    for name in WRITERS:
        for line in play.lines(name):
            key, state = f"{line['by']}/{line['n']}", line["state"]
            counts[state] += 1
            allowed = {"acked": (1,), "none": (0,), "unknown": (0, 1)}[state]
            assert held.pop(key, 0) in allowed, f"{key} was {state}: {line}"
            if "tx" in line:
                acked.append(line)
    assert not held, f"nobody wrote {list(held)[:5]}"
    acked.sort(key=lambda line: line["tx"])
    for earlier, later in pairwise(acked):
        assert earlier["began"] < later["ended"], "the log has another order than the calls"
        assert earlier["tx"] < later["tx"]
    for name in READERS:
        for one, other in pairwise(play.lines(name)):
            assert one["tx"] <= other["tx"] and one["seen"] <= other["seen"]
    return counts


def _without_writes(play: Play, kills: Sequence[tuple[str, float]]) -> dict[str, list[float]]:
    """The longest time after each kill in which nothing was acknowledged, by the kind of kill."""
    ends = sorted(
        line["ended"] for name in WRITERS for line in play.lines(name) if line["state"] == "acked"
    )
    longest = [0.0] * len(kills)
    for one, other in pairwise(ends):
        last = sum(at < other for _, at in kills) - 1
        if last >= 0:
            longest[last] = max(longest[last], round(other - one, 1))
    found: dict[str, list[float]] = {}
    for (kind, _), gap in zip(kills, longest, strict=True):
        found.setdefault(kind, []).append(gap)
    return found
