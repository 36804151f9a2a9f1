"""A real PostgreSQL under Patroni with a synchronous standby: leaders are killed and networks cut
while clients write and read. Nothing acknowledged is lost or twice, and there is one chain."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from tests.cluster.conftest import ASKED, Play

_EVERY_S = 30
_DOWN_S = 10
WRITERS = {"store-1": "app1", "verb-1": "app1", "store-2": "app2", "verb-2": "app2"}
READERS = {"reader-1": "app1", "reader-2": "app2"}


def test_leaders_are_killed_every_thirty_seconds(play: Play, tally: Callable[..., None]) -> None:
    """Alternately the power of the whole host, and PostgreSQL alone."""
    seed = int(os.environ.get("DOXA_SEED", 0))
    rng, cluster = random.Random(seed), play.cluster
    _begin(play)
    kills = 0
    end = time.monotonic() + float(ASKED)
    while time.monotonic() < end:
        before = time.monotonic()
        leader = cluster.wait_until_safe()
        if kills % 2:
            cluster.kill_postgres(leader)
        else:
            cluster.kill(leader)
            time.sleep(_DOWN_S)
            cluster.start(leader)
        kills += 1
        time.sleep(max(0.0, before + _EVERY_S + rng.random() - time.monotonic()))
    cluster.wait_until_safe()
    time.sleep(5)
    play.end()
    entries = play.judged("app1", *WRITERS, *READERS)
    counts = _accounted(play, entries)
    gaps = _without_writes(play)
    print(f"seed {seed}: {kills} leaders killed; {dict(counts)}; without writes {gaps} s")
    assert counts["acked"] > kills > 0
    tally(leaders_killed=kills, writes=counts["acked"], longest_gap_ms=int(max(gaps) * 1000))


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


def _begin(play: Play) -> None:
    for name, host in WRITERS.items():
        play.begin("write", host, name)
    for name, host in READERS.items():
        play.begin("read", host, name)
    play.wait_until_busy(*WRITERS, *READERS)


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


def _without_writes(play: Play) -> list[float]:
    """The times of more than a second in which nothing was acknowledged, the longest first."""
    ends = sorted(
        line["ended"] for name in WRITERS for line in play.lines(name) if line["state"] == "acked"
    )
    return sorted((round(b - a, 1) for a, b in pairwise(ends) if b - a > 1), reverse=True)
