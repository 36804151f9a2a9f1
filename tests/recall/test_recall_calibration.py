"""What the cosines of a project are measured by: a function of what is stored, kept while that
stays, measured again when it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.app import Memory
from doxa.models import HashEmbedder
from doxa.recall.filters import believed_now, find_scopes
from doxa.recall.indexes.project_index import IndexCache, ProjectIndex
from doxa.recall.lanes import calibration
from doxa.recall.lanes.calibration import (
    Calibration,
    Calibrations,
    calibrate,
    calibrated_rows,
    measured_rows,
)
from doxa.store import Reader
from tests.fixtures_shared import opened


class Watched:
    """The calibration of a memory's project, and whether the last look measured it."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.memory, self.indexes, self.calibrations = memory, IndexCache(), Calibrations()
        self.measured = 0
        self.rows: list[int] = []
        monkeypatch.setattr(calibration, "calibrate", self._calibrate)

    def _calibrate(
        self, reader: Reader, project: ProjectIndex, rows: NDArray[np.int64]
    ) -> Calibration:
        self.measured += 1
        self.rows = rows.tolist()
        return calibrate(reader, project, rows)

    def look(self) -> Calibration:
        with self.memory.store.read() as reader:
            project = self.indexes.get(reader, find_scopes(reader, "default")[0])
            return self.calibrations.of(reader, project, believed_now(reader, project).mask)

    def measures(self) -> bool:
        before = self.measured
        self.look()
        return self.measured > before


def fill(memory: Memory, start: int, stop: int) -> None:
    memory.ingest(
        [
            {"speaker": "Ana", "text": f"turn number {number} of many"}
            for number in range(start, stop)
        ],
        extract=False,
    )
    memory.embed()


def fresh(memory: Memory) -> Calibration:
    with memory.store.read() as reader:
        project = IndexCache().get(reader, find_scopes(reader, "default")[0])
        return Calibrations().of(reader, project, believed_now(reader, project).mask)


def same(one: Calibration, other: Calibration) -> bool:
    assert one.centre is not None and other.centre is not None
    return one.spread == other.spread and one.centre.tolist() == other.centre.tolist()


def revised(memory: Memory, items: int, times: int) -> None:
    """So many beliefs, each revised so often: what is believed lies behind what was."""
    for round_ in range(times + 1):
        for item in range(items):
            if round_:
                memory.revise(f"kref://default/n{item}.fact", f"fact {item} as of round {round_}")
            else:
                memory.remember(f"fact {item} as of round 0", name=f"n{item}")
    memory.embed()


def test_it_is_kept_while_others_are_added_and_measured_anew_when_there_are_twice_as_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        fill(memory, 0, 64)
        watched = Watched(memory, monkeypatch)
        first = watched.look()
        assert watched.rows == list(range(64)) and not watched.measures()
        for stop in (65, 100, 127):
            fill(memory, stop - 1, stop)
            assert not watched.measures() and watched.look() is first and same(first, fresh(memory))
        fill(memory, 127, 188)  # to 128 of them
        assert watched.measures() and watched.rows == list(range(128))
        assert same(watched.look(), fresh(memory)) and not same(watched.look(), first)


def test_it_is_measured_anew_when_one_of_its_memories_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        for number in range(40):
            memory.remember(f"fact number {number} of many", name=f"n{number}")
        memory.embed()
        watched = Watched(memory, monkeypatch)
        first = watched.look()
        memory.revise("kref://default/n35.fact", "behind the first 32 nobody measures")
        memory.forget("kref://default/n36.fact")
        assert not watched.measures()
        memory.revise("kref://default/n3.fact", "fact number 3 is another")
        assert watched.measures() and 3 not in watched.rows
        memory.forget("kref://default/n4.fact", erase=True)
        assert watched.measures() and 4 not in watched.rows
        memory.forget("kref://default/n5.fact")
        assert watched.measures() and 5 not in watched.rows and len(watched.rows) == 29
        assert same(watched.look(), fresh(memory)) and not same(watched.look(), first)
        memory.embed(anew=True)
        assert watched.measures() and not watched.measures()


def test_vectors_that_come_later_are_measured_when_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        memory.ingest(
            [{"speaker": "Ana", "text": f"turn number {number} of many"} for number in range(64)],
            extract=False,
        )
        watched = Watched(memory, monkeypatch)
        assert watched.look() == Calibration(0.15, None) and not watched.measures()
        memory.embed(limit=10)
        assert (
            watched.measures()
            and watched.look().spread == 0.15
            and watched.look().centre is not None
        )
        memory.embed()
        assert watched.measures() and watched.look().spread != 0.15 and len(watched.rows) == 64


def test_a_memory_that_revises_much_is_measured_on_all_that_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        revised(memory, items=30, times=2)  # 90 rows; of the first 64 four are believed
        watched = Watched(memory, monkeypatch)
        made = watched.look()
        assert watched.rows == list(range(60, 90))
        assert made.centre is not None and made.spread != 0.15 and same(made, fresh(memory))
        assert not watched.measures()
        fill(memory, 0, 1)  # it is one of all
        assert (
            watched.measures()
            and watched.rows == list(range(60, 91))
            and same(watched.look(), fresh(memory))
        )
        memory.forget("kref://default/n29.fact", erase=True)
        assert watched.measures() and 89 not in watched.rows
        fill(memory, 1, 40)  # 130 rows, of the first 128 enough are believed
        assert watched.measures() and max(watched.rows) == 127
        fill(memory, 40, 42)
        assert not watched.measures()


def test_with_all_rows_and_a_power_of_two_the_next_row_is_measured_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        fill(memory, 0, 16)
        watched = Watched(memory, monkeypatch)
        assert watched.look().spread == 0.15
        fill(memory, 16, 25)
        assert (
            watched.measures() and watched.rows == list(range(25)) and watched.look().spread != 0.15
        )


def test_it_is_of_what_is_believed_and_few_say_little(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        fill(memory, 0, 70)
        with memory.store.read() as reader:
            project = IndexCache().get(reader, find_scopes(reader, "default")[0])
            few = np.zeros(project.count, dtype=bool)
            few[[3, 66, 67]] = True
            rows, everywhere = measured_rows(project, few)
            assert (rows.tolist(), everywhere) == ([3, 66, 67], True)
            assert calibrate(reader, project, rows).spread == 0.15
            assert calibrate(reader, project, rows[:0]).centre is None
            assert (
                0
                < calibrate(
                    reader, project, measured_rows(project, believed_now(reader, project).mask)[0]
                ).spread
                < 1
            )
    assert [calibrated_rows(n) for n in (0, 1, 2, 3, 64, 65, 1_000)] == [0, 1, 2, 2, 64, 64, 512]


@pytest.mark.parametrize("much", [False, True])
def test_another_process_comes_to_the_same(tmp_path: Path, much: bool) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        if much:
            revised(memory, items=30, times=1)
        else:
            fill(memory, 0, 70)
        own = fresh(memory)
    with opened(path) as memory:
        assert same(own, fresh(memory))
    program = (
        "import sys; from pathlib import Path; from tests.fixtures_shared import opened; from"
        " tests.recall.test_recall_calibration import fresh\nwith opened(Path(sys.argv[1])) as"
        " memory: made = fresh(memory); print(repr(made.spread), made.centre.tobytes().hex())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert own.centre is not None
    assert told == [repr(own.spread), own.centre.tobytes().hex()]
