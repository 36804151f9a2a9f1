"""What an index reads of a project in joined form is what a plain reading gives, row by row, and so
are the answers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.clock import TIME_MAX, FakeClock
from doxa.models import HashEmbedder
from doxa.recall import constants
from doxa.recall.filters import find_scopes
from doxa.recall.indexes import reading
from doxa.recall.indexes.project_index import IndexCache, ProjectIndex
from doxa.store import DOC_COLUMNS, INDEXED_PARTS, Reader, unpack_codes, unpack_vectors
from doxa.store.indexing import blocks
from tests.fixtures_shared import make_some_blocks, opened, small_blocks

DAY = 86_400 * 10**9
LONG = "A line of the log, which says little.\n" * 90
PROJECTS = ("north", "south")
MOST = 2**31 - 1
INT32 = st.sampled_from([0, 1, -1, 7, MOST, -MOST]) | st.integers(-MOST, MOST)
INT64 = st.sampled_from([0, 1, -1, TIME_MAX, -TIME_MAX, -TIME_MAX - 1]) | st.integers(
    -(2**63), 2**63 - 1
)


def assert_as_the_store(reader: Reader, index: ProjectIndex) -> None:
    """The arrays of an index are what the rows of the store say, read one by one."""
    names = [name for name, _ in DOC_COLUMNS]
    rows = reader.rows(
        f"SELECT doc, {', '.join(names)} FROM doc WHERE scope = ? ORDER BY doc", (index.scope,)
    )
    assert [row[0] for row in rows] == list(range(index.count))
    for place, (name, kind) in enumerate(DOC_COLUMNS, 1):
        assert index[name].dtype == np.dtype(kind)
        assert index[name].tolist() == [row[place] for row in rows], name
    following = [-1] * index.count
    for row in rows:
        if (previous := row[1 + names.index("prev")]) >= 0:
            following[previous] = row[0]
    assert index.following.tolist() == following
    assert index.pending == sum(row[1] > 0 and row[1 + names.index("vectors")] == 0 for row in rows)
    speakers = {row[1 + names.index("speaker")] for row in rows}
    assert {token for token, _ in index.speakers(reader)} <= speakers
    held = index.vector_index
    entries = [
        row
        for row in reader.rows(
            "SELECT v.doc, v.data, c.code FROM vector v JOIN vector_code c USING(id)"
            f" WHERE v.scope = ? AND v.part < {INDEXED_PARTS} ORDER BY v.id",
            (index.scope,),
        )
    ]
    assert held.count == len(entries)
    assert held._rows[: held.count].tolist() == [row[0] for row in entries]
    if entries:
        assert held._data is not None
        wanted: Any = (
            unpack_vectors([row[1] for row in entries])
            if held.exact
            else unpack_codes([row[2] for row in entries])
        )
        assert np.array_equal(held._data[: held.count], wanted)


def act(memory: Memory, clock: FakeClock, random: np.random.Generator, krefs: list[str]) -> None:
    """One random change of a world of two projects."""
    project, number = PROJECTS[random.integers(2)], int(random.integers(10**9))
    action = int(random.integers(9)) if krefs else 0
    kref = krefs[random.integers(len(krefs))] if krefs else ""
    if action == 0:
        window = {
            "valid_from": clock.now_ns() + int(random.integers(-3, 3)) * DAY,
            "valid_until": clock.now_ns() + int(random.integers(4, 9)) * DAY,
        }
        made = memory.remember(
            f"Fact {number} of {project}. {LONG if random.random() < 0.2 else ''}",
            name=f"n{number}",
            project=project,
            **(window if random.random() < 0.5 else {}),
        )
        krefs.append(str(made.kref).partition("?")[0])
    elif action in (1, 2):
        memory.ingest(
            [
                {"speaker": f"Speaker {random.integers(4)}", "text": f"They said {number + turn}."}
                for turn in range(int(random.integers(1, 6)))
            ],
            project=project,
            thread=f"t{random.integers(3)}",
            extract=False,
        )
    elif action == 3:
        memory.revise(kref, f"other words {number}")
    elif action == 4:
        memory.deprecate(kref)
    elif action == 5:
        memory.restore(kref)
    elif action == 6:
        krefs.remove(kref)
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
    elif action == 7:
        clock.advance(days=int(random.integers(1, 4)))
    else:
        memory.embed(limit=int(random.integers(1, 30)))
        make_some_blocks(memory)


@pytest.mark.parametrize(("exact_max", "blocked"), [(100_000, False), (0, False), (0, True)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_is_what_the_store_holds_whatever_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, exact_max: int, blocked: bool
) -> None:
    if blocked:
        small_blocks(monkeypatch)
    monkeypatch.setattr(constants, "EXACT_VECTORS_MAX", exact_max)
    monkeypatch.setattr("doxa.recall.indexes.project_index._ROWS_AT_ONCE", 11)
    monkeypatch.setattr(reading, "_ROWS_JOINED", 4)
    monkeypatch.setattr(reading, "_ROWS_DECODED", 5)
    clock, random, krefs, seen = FakeClock(), np.random.default_rng(seed), list[str](), 0
    path = tmp_path / "m.db"
    with opened(path, embedder=HashEmbedder(), clock=clock) as memory:
        for step in range(60):
            act(memory, clock, random, krefs)
            if step % 6 == 5:
                with memory.store.read() as reader:
                    for scope in find_scopes(reader, ""):
                        assert_as_the_store(reader, IndexCache().get(reader, scope))
                        seen += len(blocks.doc_blocks(reader, scope, 10**6)[1])
                        seen += len(list(blocks.code_blocks(reader, scope, (0, 10**6))))
                    assert not list(blocks.block_problems(reader._db))
        assert (seen > 9) == blocked
        questions = ("fact of north", "what did Speaker 2 say", "a line of the log", "other words")
        filters: list[dict[str, Any]] = [{}, {"project": "south"}, {"kinds": ("exchange",)}]
        asked = [(text, one) for text in questions for one in filters]
        with opened(path, embedder=HashEmbedder(), clock=clock) as fresh:
            joined = [fresh.recall(text, **one).hits for text, one in asked]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "_read_whole", lambda *_: None)
            patch.setattr(reading, "_ASTRAL", 65_535)  # places that lie before themselves
            patch.setattr(reading, "_ROWS_JOINED", 1)
            with opened(path, embedder=HashEmbedder(), clock=clock) as plain:
                assert joined == [plain.recall(text, **one).hits for text, one in asked]
        assert joined == [memory.recall(text, **one).hits for text, one in asked]
        assert any(joined)


def test_blocks_fit_in_every_snapshot_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    monkeypatch.setattr(constants, "EXACT_VECTORS_MAX", 0)
    path, errors, writing = tmp_path / "m.db", list[BaseException](), threading.Event()
    with opened(path, embedder=HashEmbedder()) as memory:
        act(memory, FakeClock(), np.random.default_rng(0), [])

    def write(seed: int) -> None:
        try:
            random, krefs = np.random.default_rng(seed), list[str]()
            with opened(path, embedder=HashEmbedder()) as memory:
                for _ in range(12):
                    act(memory, FakeClock(), random, krefs)
                    memory.embed(limit=8)
                    make_some_blocks(memory)
        except BaseException as error:
            errors.append(error)
        finally:
            writing.set()

    threads = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    seen = 0
    with opened(path, embedder=HashEmbedder()) as memory:
        while not writing.is_set() or any(thread.is_alive() for thread in threads):
            with memory.store.read() as reader:
                for scope in find_scopes(reader, ""):
                    assert_as_the_store(reader, IndexCache().get(reader, scope))
                    seen += len(blocks.doc_blocks(reader, scope, 10**6)[1])
                assert not list(blocks.block_problems(reader._db))
        for thread in threads:
            thread.join()
        assert not errors and memory.check() == []
    assert seen > 9


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "node": INT64,
                "live": st.integers(0, 1),
                "trust": st.integers(0, 4),
                "vectors": st.integers(-1, 128),
                "length": st.integers(0, 2**24),
                **dict.fromkeys(("kind", "space", "speaker", "thread", "prev"), INT32),
                **dict.fromkeys(("time", "valid_from", "valid_until"), INT64),
                **dict.fromkeys(("vis_from", "vis_until"), INT64),
            },
        ),
        min_size=1,
        max_size=9,
    ),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_a_row_of_any_numbers_is_read_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, int]], always: list[bool]
) -> None:
    path = tmp_path_factory.mktemp("m") / "m.db"
    with opened(path, embedder=None) as memory:
        memory.ingest([{"speaker": "Ana", "text": f"turn {n}"} for n in range(9)], extract=False)
        raw = apsw.Connection(str(path))
        for doc, row in enumerate(rows):
            given = row | (reading._ALWAYS if always[doc] else {})
            names = [name for name in given if name != "node"]  # which is unique
            raw.execute(
                f"UPDATE doc SET {', '.join(f'{name} = ?' for name in names)} WHERE doc = {doc}",
                [given[name] for name in names],
            )
            raw.execute(f"UPDATE OR IGNORE doc SET node = ? WHERE doc = {doc}", (given["node"],))
        raw.close()
        with memory.store.read() as reader:
            scope = find_scopes(reader, "")[0]
            numbers, joined = reading.read_all(reader, scope)
            assert numbers.tolist() == list(range(9))
            plain = reading._read_plain(reader, "", (scope,))[1]
            for name, kind in DOC_COLUMNS:
                assert joined[name].dtype == plain[name].dtype == np.dtype(kind)
                assert joined[name].tolist() == plain[name].tolist(), name


@pytest.mark.parametrize("gone", [(0, 4), (4,), (7,)])
def test_rows_with_a_gap_are_read_too(tmp_path: Path, gone: tuple[int, ...]) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        memory.ingest([{"speaker": "Ana", "text": f"ferry {n}"} for n in range(9)], extract=False)
        memory.embed()
        raw = apsw.Connection(str(tmp_path / "m.db"))
        raw.execute(f"DELETE FROM doc WHERE doc IN ({', '.join(map(str, gone))})")
        raw.close()
        with memory.store.read() as reader:
            index = IndexCache().get(reader, find_scopes(reader, "")[0])
            assert (index["node"] > 0).tolist() == [n not in gone for n in range(9)]
        assert len(memory.recall("ferry").hits) == 9 - len(gone)
