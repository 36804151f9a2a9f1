"""The graph refines the model of belief revision, and several revisers at once end where one after
the other would."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import doxa
from bench.agm_refinement import RandomSequence
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError
from doxa.belief import declare
from doxa.store import Store, check, digest, replayed_digest, verify_log
from tests.fixtures_shared import opened


def test_random_sequences_are_as_the_model_says(
    tmp_path: Path, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    """Each step, as of each moment, and undone one by one. `python -m bench agm` runs ten
    thousand."""
    clock = FakeClock()
    with Store(tmp_path / "m.db", clock=clock) as store:
        declare(store)
        for number in range(60 * campaign):
            assert RandomSequence(store, clock, seed + number, windows=number % 2 == 1).run(8) == []
        assert check(store) == [] and digest(store) == replayed_digest(store)
        verify_log(store)
    tally(sequences=60 * campaign)


def test_a_wrong_operator_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: an operator that gives up nothing, and one that gives up all."""
    clock = FakeClock()
    with Store(tmp_path / "m.db", clock=clock) as store:
        declare(store)
        monkeypatch.setattr("doxa.belief.stating.apply_retractions", lambda tx, verdict, by: None)
        assert any(
            RandomSequence(store, clock, number, windows=False).run(8) for number in range(30)
        )


def base_of(memory: doxa.Memory) -> set[tuple[str, ...]]:
    rows = memory.run("MATCH (:Item)-[:CURRENT]->(r) UNWIND r.facts AS fact RETURN fact").records()
    return {tuple(json.loads(row["fact"])) for row in rows}


def test_revisers_at_once_lose_nothing_and_end_in_a_base_of_some_order(tmp_path: Path) -> None:
    """Threads state facts about the same few things. In the order of their receipts, one after the
    other, the same base comes out."""
    done: list[tuple[int, list[object]]] = []
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:

        def revise(worker: int) -> None:
            for number in range(25):
                fact = [
                    ("Ana", "Bo")[number % 2],
                    ("lives in", "likes")[number % 3 == 0],
                    f"{worker}-{number}",
                ]
                change = memory.session(actor=f"w{worker}").revise(fact)
                assert change.change is not None
                done.append((change.change, fact))

        threads = [threading.Thread(target=revise, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 150 and len({number for number, _ in done}) == 150
        found = base_of(memory)
        assert memory.stats()["revisions"] == 150 and memory.check() == []
        memory.verify()
    with opened(tmp_path / "again.db", embedder=None, project="p") as serial:
        for _, fact in sorted(done, key=lambda one: one[0]):
            serial.revise(fact)
        assert base_of(serial) == found


def test_compare_and_set_lets_one_of_several_win(tmp_path: Path) -> None:
    """Each revises what it saw: the later one reads again. No revision is lost, and each names
    the one before it."""
    wins: list[str] = []
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        memory.remember("count 0", name="count", facts=[["count", "value", 0]])

        def add(worker: int) -> None:
            for _ in range(10):
                while True:
                    held = memory.get("kref://p/count.fact")
                    assert isinstance(held, doxa.Revision)
                    value = int(held.facts[0].value) + 1
                    try:
                        change = memory.revise(
                            "kref://p/count.fact",
                            f"count {value}",
                            facts=[["count", "value", value]],
                            expect=held.number,
                        )
                    except ConflictError:
                        continue
                    assert change.previous == held.kref
                    wins.append(change.kref)
                    break

        threads = [threading.Thread(target=add, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(wins) == sorted(f"kref://p/count.fact?r={number}" for number in range(2, 42))
        assert base_of(memory) == {("count", "value", 40)}
