"""Transactions that read and append to lists: through one server, through two servers and Python
processes on one file, with random kills and policies on, the history is strictly serialisable, few
are refused, and nobody starves.

A run prints its seed; set DOXA_SEED to make the same choices again.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from doxa.store import Store, check, digest, replayed_digest, verify_log
from tests.adversary.list_append import COMMITTED, Done, anomalies
from tests.adversary.list_append_clients import (
    KEYS,
    BoltClient,
    Gone,
    Process,
    Workload,
    history_of,
    prepare,
)

CLIENTS, SECONDS, KILLS = 8, 3.0, 4


def done(began: int, ended: int, *steps: object, state: str = COMMITTED) -> Done:
    return Done(f"c{began}", began, ended, state, list(steps))  # type: ignore[arg-type]


GOOD = (
    done(0, 1, ("append", 1, 11), ("append", 2, 21)),
    done(2, 9, ("read", 1, [11]), ("append", 1, 12)),
    done(3, 8, ("read", 2, [21])),
    done(10, 11, ("read", 1, [11, 12]), ("read", 2, [21])),
)


def test_a_good_history_passes() -> None:
    assert anomalies(GOOD) == []


def test_what_became_of_an_unknown_transaction_is_what_others_read() -> None:
    """Killed before its commit, it may have read its own append, which then never was."""
    lost = done(4, 5, ("append", 1, 99), ("read", 1, [11, 99]), state="unknown")
    kept = done(4, 5, ("read", 1, [11]), ("append", 1, 12), state="unknown")
    assert anomalies([GOOD[0], lost, done(10, 11, ("read", 1, [11]))]) == []
    assert anomalies([GOOD[0], kept, done(10, 11, ("read", 1, [11, 12]))]) == []
    assert anomalies([GOOD[0], kept, done(10, 11, ("read", 1, [11, 12, 99]))])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ([*GOOD, done(12, 13, ("read", 1, [11]))], "cycle"),  # a stale read, which only time shows
        ([*GOOD, done(12, 13, ("read", 1, [12, 11]))], "not of one order"),
        ([*GOOD, done(12, 13, ("read", 1, [11, 12, 99]))], "nobody appended"),
        ([*GOOD, done(12, 13, ("append", 1, 13)), done(14, 15, ("read", 1, [11, 12]))], "cycle"),
        (
            [
                done(0, 1, ("append", 1, 11), state="aborted"),
                done(2, 3, ("read", 1, [11])),
            ],
            "rolled back",
        ),
        (
            [
                done(0, 9, ("append", 1, 11), ("append", 1, 12)),
                done(1, 8, ("read", 1, [11])),
                done(10, 12, ("read", 1, [11, 12])),
            ],
            "half of a transaction",
        ),
        (  # two that both read the empty list and append: a lost update
            [
                done(0, 9, ("read", 1, []), ("append", 1, 11)),
                done(1, 8, ("read", 1, []), ("append", 1, 12)),
                done(10, 12, ("read", 1, [11, 12])),
            ],
            "cycle",
        ),
        (  # each reads what the other is about to write: write skew
            [
                done(0, 9, ("read", 1, []), ("append", 2, 21)),
                done(1, 8, ("read", 2, []), ("append", 1, 11)),
                done(10, 12, ("read", 1, [11]), ("read", 2, [21])),
            ],
            "cycle",
        ),
        ([done(0, 1, ("append", 1, 11), ("read", 1, []))], "appended itself"),
        ([done(0, 1, ("read", 1, [11]), ("read", 1, [])), GOOD[0]], "differently"),
    ],
)
def test_a_broken_history_is_caught(broken: Sequence[Done], said: str) -> None:
    assert any(said in problem for problem in anomalies(broken)), anomalies(broken)


def test_any_swap_of_two_appends_in_a_real_order_is_caught() -> None:
    """A long serial history, and the same with one read that saw two elements the other way."""
    rng = random.Random(5)
    lists: dict[int, list[int]] = {key: [] for key in range(3)}
    history = []
    for number in range(200):
        key = rng.randrange(3)
        seen = list(lists[key])
        lists[key].append(number)
        history.append(
            done(2 * number, 2 * number + 1, ("read", key, seen), ("append", key, number))
        )
    assert anomalies(history) == []
    for _ in range(20):
        at = rng.randrange(100, 200)
        (kind, key, seen), append = history[at].steps
        assert isinstance(seen, list)
        if len(seen) < 2:
            continue
        cut = Done(
            "cut", history[at].began, history[at].ended, COMMITTED, [(kind, key, seen[:-1]), append]
        )
        assert anomalies([*history[:at], cut, *history[at + 1 :]])


class Crew:
    """Bolt clients on threads, for some seconds."""

    def __init__(self, folder: Path, ports: Callable[[int], int], seed: int) -> None:
        self.stop = threading.Event()
        self.workloads: list[Workload] = []
        self.files = [folder / f"bolt-{number}.jsonl" for number in range(CLIENTS)]
        self._ports, self._seed = ports, seed
        self.errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        try:
            with self.files[number].open("a") as out:
                workload = Workload(
                    f"bolt-{number}", number + 1, random.Random(self._seed + number), out
                )
                self.workloads.append(workload)
                while not self.stop.is_set():
                    try:
                        with closing(BoltClient(self._ports(number))) as client:
                            while not self.stop.is_set():
                                workload.transaction(client)
                    except Gone:
                        self.stop.wait(0.05)
        except BaseException as error:
            self.errors.append(error)
            raise

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not self.errors


def finished(path: Path, files: list[Path]) -> list[Done]:
    """The history with a last read of every list; the file proves itself."""
    began = time.monotonic_ns()
    with Store(path, read_only=True) as store, store.read() as snapshot:
        lists = {node.props["k"]: node.props["v"] for node in snapshot.labelled("List")}
    with Store(path, read_only=True) as store:
        assert check(store) == []
        verify_log(store)
        assert digest(store) == replayed_digest(store)
    last = Done("last", began, time.monotonic_ns(), COMMITTED)
    last.steps = [("read", int(key), list(lists[key])) for key in range(KEYS)]
    return [*history_of(files), last]


def figures(history: list[Done]) -> tuple[int, int, int]:
    """How many committed, were refused, are unknown."""
    states = [one.state for one in history]
    return states.count("committed"), states.count("aborted"), states.count("unknown")


@pytest.mark.parametrize("servers", [1, 2])
def test_clients_that_read_and_append_are_serialised_and_rarely_refused(
    tmp_path: Path, servers: int, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    path = tmp_path / "lists.db"
    prepare(path)
    with ExitStack() as running:
        made = [Process("serve", str(path)) for _ in range(servers)]
        for process in made:
            running.callback(process.stop)
        crew = Crew(tmp_path, lambda number: int(made[number % servers].said), seed)
        time.sleep(SECONDS * campaign)
        crew.end()
    history = finished(path, crew.files)
    assert anomalies(history) == []
    committed, refused, unknown = figures(history)
    tally(committed=committed, refused=refused)
    assert not unknown
    assert refused < 0.05 * (committed + refused) + 2, crew.workloads[0].refused
    for number in range(CLIENTS):
        own = [one for one in history if one.client == f"bolt-{number}"]
        assert sum(one.state == COMMITTED for one in own) > committed / CLIENTS / 8, "it starves"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL here")
def test_kills_of_servers_and_writers_leave_a_serialisable_history(
    tmp_path: Path, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    path = tmp_path / "killed.db"
    rng = random.Random(seed)
    prepare(path)
    servers = [Process("serve", str(path)) for _ in range(2)]
    files = [tmp_path / f"python-{number}.jsonl" for number in range(KILLS * campaign + 2)]

    def python(number: int) -> Process:
        told = (f"python-{number}", str(100 + number), str(seed + 100 + number))
        return Process("python", str(path), *told, str(files[number]))

    pythons = [python(0), python(1)]
    crew = Crew(tmp_path, lambda number: int(servers[number % 2].said), seed)
    try:
        for kill in range(KILLS * campaign):
            time.sleep(rng.uniform(0.3, 0.9))
            if kill % 2:
                killed = rng.choice(servers)
                killed.kill()
                killed.start()
            else:
                at = rng.randrange(2)
                pythons[at].kill()
                pythons[at] = python(kill + 2)
        time.sleep(0.5)
    finally:
        crew.end()
        for process in (*pythons, *servers):
            process.stop()
    history = finished(path, crew.files + [file for file in files if file.exists()])
    assert anomalies(history) == []
    committed, refused, unknown = figures(history)
    tally(committed=committed, refused=refused, unknown=unknown)
    tally(kills=KILLS * campaign)
    assert committed > KILLS
