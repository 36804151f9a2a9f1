"""Blocks hold what their rows say, for the vectors in use, and nothing of what was erased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

import doxa
from doxa.app import Memory
from doxa.models import HashEmbedder
from doxa.recall import constants
from doxa.recall.filters import find_scopes
from doxa.store import Identity, code_blocks, doc_blocks, vector_id
from doxa.store.indexing import blocks
from doxa.store.migration import schema
from tests.fixtures_shared import make_some_blocks, opened, small_blocks

OTHER = HashEmbedder(dimensions=128)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    monkeypatch.setattr(constants, "EXACT_VECTORS_MAX", 0)


def fill(memory: Memory, count: int, first: int = 0) -> None:
    said = [{"speaker": "Ana", "text": f"ferry number {n}"} for n in range(first, first + count)]
    memory.ingest(said, extract=False)


def held(memory: Memory) -> tuple[list[int], list[int]]:
    """The first rows of the blocks of rows and of codes that a question reads."""
    with memory.store.read() as reader:
        scope = find_scopes(reader, "")[0]
        rows = [one.start for one, _ in doc_blocks(reader, scope, 10**6)[1]]
        return rows, [one.first for one in code_blocks(reader, scope, (0, 10**6))]


def lying(memory: Memory, sql: str) -> list[tuple[Any, ...]]:
    with memory.store.read() as reader:
        return reader.rows(sql)


def test_whole_blocks_of_a_large_project_are_made_when_it_is_embedded(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 7)
        memory.embed()
        assert held(memory) == ([], [])
        fill(memory, 4, 7)
        assert held(memory) == ([], [])
        memory.embed()
        assert held(memory) == ([0, 4], [0, 4])
        fill(memory, 30, 11)
        memory.embed()
        assert held(memory) == ([*range(0, 40, 4)], [*range(0, 40, 4)])
        assert memory.check() == []
        assert [hit.text for hit in memory.recall("ferry number 17").hits][:1] == [
            "ferry number 17"
        ]


def test_rows_that_wait_for_their_vectors_have_no_block(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 16)
        memory.embed(limit=9)
        assert held(memory) == ([], [])  # what is short makes none
        make_some_blocks(memory)
        assert held(memory) == ([0, 4], [0, 4])


def test_a_text_that_is_erased_takes_its_blocks_along(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 16)
        memory.embed()
        kref = memory.recall("ferry number 5").hits[0].kref
        code = lying(memory, "SELECT code FROM vector_code WHERE doc = 5")[0][0]
        packed = "SELECT count(*) FROM vector_code_block WHERE instr(data, ?) > 0"
        raw = apsw.Connection(str(tmp_path / "m.db"))
        assert raw.execute(packed, (code,)).get == 1
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
        assert held(memory) == ([0, 8, 12], [0, 8, 12])
        assert raw.execute(packed, (code,)).get == 0
        raw.close()
        assert "ferry number 5" not in [hit.text for hit in memory.recall("ferry number 5").hits]
        assert code not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
        memory.embed()
        assert held(memory) == ([0, 4, 8, 12], [0, 4, 8, 12])
        assert memory.check() == []


def test_what_changed_since_is_read_from_its_row(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = [memory.remember(f"Ferry {n} is late.", name=f"f{n}") for n in range(16)]
        memory.embed()
        assert held(memory)[0] == [0, 4, 8, 12]
        former = lying(memory, "SELECT data FROM vector_code_block ORDER BY id")
        memory.deprecate(str(made[5].kref).partition("?")[0])
        assert held(memory)[0] == [0, 4, 8, 12]
        memory.embed()
        changes = lying(memory, "SELECT change FROM block_state ORDER BY id")
        assert len(set(changes)) == 1  # one row is not enough
    with opened(tmp_path / "m.db") as memory:
        texts = [hit.text for hit in memory.recall("Ferry 5 is late.", limit=30).hits]
        assert len(texts) == 15 and "Ferry 5 is late." not in texts
        for one in (0, 1, 6, 7, 4):
            memory.deprecate(str(made[one].kref).partition("?")[0])
        with memory.store.read() as reader:
            scope = find_scopes(reader, "")[0]
            assert doc_blocks(reader, scope, 10) == (0, [])  # so many that rows are read
        memory.embed()
        assert lying(memory, "SELECT DISTINCT change FROM block_state") == lying(
            memory, "SELECT value FROM meta WHERE key = 'change'"
        )
        assert lying(memory, "SELECT data FROM vector_code_block ORDER BY id") == former
        assert held(memory)[0] == [0, 4, 8, 12]
        assert memory.check() == []


def test_blocks_are_made_beside_one_who_writes_all_the_time(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = [memory.remember(f"Ferry {n} is late.", name=f"f{n}") for n in range(40)]
        memory.embed()
        with memory.store.read() as reader:
            scope = find_scopes(reader, "")[0]
        left, rounds = True, 0
        for one in made[:12]:
            memory.deprecate(str(one.kref).partition("?")[0])
        while left:
            rounds += 1
            with memory.store.write(Identity("test", "system"), op="embed") as tx:
                left = tx.make_blocks(scope)
            for one in made[rounds::13]:  # rows of three blocks
                krefs = str(one.kref).partition("?")[0]
                (memory.restore if rounds % 2 else memory.deprecate)(krefs)
            assert rounds < 20
        assert held(memory)[0] == [*range(0, 40, 4)]
        assert memory.check() == []


def test_rows_that_cannot_be_in_a_block_hold_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_LOOKS", 1)
        fill(memory, 60)
        memory.embed()
        raw = apsw.Connection(str(path))
        raw.execute(
            "UPDATE meta SET value = value + 9 WHERE key = 'change';"
            " UPDATE doc SET changed = (SELECT value FROM meta WHERE key = 'change')"
            " WHERE doc > 29 OR doc IN (0, 4, 8, 12);"
            " UPDATE doc SET time = 'x' WHERE doc IN (0, 4, 8, 12);"
            " DELETE FROM doc WHERE doc = 17; DELETE FROM doc_block WHERE id % 16 = 4"
        )
        raw.close()
        with memory.store.read() as reader:
            scope = find_scopes(reader, "")[0]
        for _ in range(20):
            with memory.store.write(Identity("test", "system"), op="embed") as tx:
                if not tx.make_blocks(scope):
                    break
        else:
            raise AssertionError("it does not end")
        assert held(memory)[0] == [*range(20, 60, 4)]
        assert not [one for one in memory.check() if "a block" in one]


def test_a_process_of_the_former_version_takes_blocks_along_too(tmp_path: Path) -> None:
    """It knows nothing of blocks: what it runs is what `_remove` and `put` ran."""
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 16)
        memory.embed()
        raw = apsw.Connection(str(tmp_path / "m.db"))
        raw.execute("UPDATE doc SET vectors = 1, changed = changed + 1 WHERE doc = 2")
        assert held(memory) == ([0, 4, 8, 12], [4, 8, 12])
        raw.execute(
            "DELETE FROM vector WHERE doc = 9; DELETE FROM vector_code WHERE doc = 9;"
            " UPDATE doc SET live = 0, node = -9, vectors = 1 WHERE doc = 9"
        )
        assert held(memory) == ([0, 4, 12], [4, 12])
        raw.execute("UPDATE doc SET live = 0, changed = changed + 1 WHERE doc = 13")
        assert held(memory) == ([0, 4, 12], [4, 12])
        raw.close()


def test_triggers_know_how_blocks_are_numbered() -> None:
    sql = dict(schema.MIGRATIONS)["0012-blocks"]
    assert sql.count(f"(old.scope * {blocks.BLOCKS} + old.doc / {1 << 10})") == 3
    assert vector_id(1, 0) // vector_id(0, 1) == blocks.BLOCKS << 10


def test_an_erasure_proof_looks_into_blocks(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        memory.embed()
        kref = memory.recall("ferry number 5").hits[0].kref
        raw = apsw.Connection(str(path))
        kept = raw.execute("SELECT 'vector_code_block', id, data FROM vector_code_block").fetchall()
        rows = raw.execute("SELECT 'doc_block', id, data FROM doc_block").fetchall()
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
        assert vectors_of(memory) == "gone"
        for table, identity, data in (*kept, *rows):
            raw.execute(f"INSERT OR IGNORE INTO {table} VALUES(?, ?)", (identity, data))
            wanted = "holds" if identity % 4 == 1 else "gone"
            assert vectors_of(memory) == wanted
            if wanted == "holds":
                raw.execute(f"DELETE FROM {table} WHERE id = ?", (identity,))
        raw.close()


def vectors_of(memory: Memory) -> str:
    (trace,) = [
        one for one in memory.verify_erased("ferry number 5").traces if one.place == "vectors"
    ]
    return trace.state


@pytest.mark.parametrize("value", ["'x'", "9e30"])
def test_a_damaged_row_has_no_block(tmp_path: Path, value: str) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        raw = apsw.Connection(str(path))
        raw.execute(f"UPDATE doc SET time = {value} WHERE doc = 5")
        raw.close()
        memory.embed()
        assert held(memory)[0] == [0, 8, 12]
        assert not [one for one in memory.check() if "block" in one]


def test_blocks_of_another_set_of_vectors_are_not_read_and_go(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 30)
        memory.embed()
        former = lying(memory, "SELECT data FROM vector_code_block ORDER BY id")
    with opened(path, embedder=OTHER) as memory:
        memory.embed(anew=True, limit=12)
        assert held(memory)[0] == [*range(0, 28, 4)]  # of the set in use
        with memory.store.read() as reader:
            assert reader.lack_blocks() == []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("doxa.maintenance.embedding._Job.make_blocks", lambda self: None)
            memory.embed()
        assert held(memory) == ([], [])
        assert lying(memory, "SELECT data FROM vector_code_block ORDER BY id") == former
        assert memory.recall("ferry number 11").hits[0].text == "ferry number 11"
        memory.embed()
        assert held(memory) == ([*range(0, 28, 4)], [*range(0, 28, 4)])
        made = lying(memory, "SELECT data FROM vector_code_block ORDER BY id")
        assert len(made) == len(former) and not set(made) & set(former)
        assert memory.check() == []


@pytest.mark.parametrize(
    ("table", "change", "read"),
    [
        ("doc_block", "substr(data, 1, length(data) - 1)", False),
        ("doc_block", "data || x'00'", False),
        ("doc_block", "x''", False),
        ("doc_block", "CAST(x'01' || substr(data, 2) AS BLOB)", False),
        ("vector_code_block", "substr(data, 1, length(data) - 1)", False),
        ("vector_code_block", "x'00'", False),
        ("vector_code_block", "zeroblob(64)", False),
        ("vector_code_block", "x'ffffffff' || data", False),
        ("vector_code_block", "CAST(substr(data, 1, length(data) - 1) || x'5a' AS BLOB)", True),
    ],
)
def test_a_damaged_block_is_named(tmp_path: Path, table: str, change: str, read: bool) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        memory.embed()
    raw = apsw.Connection(str(path))
    raw.execute(f"UPDATE {table} SET data = {change} WHERE id % 4 = 1")
    raw.close()
    with opened(path) as memory:
        (problem,) = memory.check()
        assert problem.startswith("a block of ") and problem.endswith(", 1)")
        if read:
            assert memory.recall("ferry number 5").hits[0].text == "ferry number 5"
        else:
            with pytest.raises(doxa.CorruptError, match="block of this file's search rows"):
                memory.recall("ferry number 5")


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO doc_block VALUES(7, x'00')",
        "INSERT INTO vector_code_block VALUES(7, x'00')",
        "INSERT INTO block_state VALUES(7, 1, 0)",
        "UPDATE block_state SET change = 1000000 WHERE id % 4 = 1",
        "UPDATE block_state SET vector_set = 9 WHERE id % 4 = 1",
    ],
)
def test_damage_beside_blocks_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        memory.embed()
        assert memory.check() == []
        raw = apsw.Connection(str(path))
        raw.execute(damage)
        raw.close()
        (problem,) = memory.check()
        assert "block" in problem and "state" in problem
        assert memory.recall("ferry number 5").hits[0].text == "ferry number 5"


def test_codes_of_unlike_lengths_are_left_to_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("doxa.maintenance.embedding._Job.make_blocks", lambda self: None)
            memory.embed()
        raw = apsw.Connection(str(path))
        raw.execute("UPDATE vector_code SET code = substr(code, 1, 160) WHERE doc = 5")
        raw.close()
        memory.embed()
        assert held(memory) == ([0, 4, 8, 12], [0, 8, 12])
        with pytest.raises(doxa.CorruptError, match="do not fit together"):
            memory.recall("ferry number 3")


def test_a_bound_session_reads_rows(tmp_path: Path) -> None:
    """A block may hold rows about nodes of other projects."""
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 16)
        memory.embed()
        bound = memory.session(projects=["default"])
        with bound._store.read() as reader:
            assert doc_blocks(reader, find_scopes(reader, "")[0], 10**6) == (0, [])
        assert bound.recall("ferry number 5").hits[0].text == "ferry number 5"


def test_what_a_stopped_job_left_is_made_by_the_next(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 30)
        memory.embed(limit=29)
        with memory.store.read() as reader:
            scope = find_scopes(reader, "")[0]
        raw = apsw.Connection(str(tmp_path / "m.db"))
        raw.execute("DELETE FROM doc_block WHERE id % 3 = 0; DELETE FROM vector_code_block")
        raw.close()
        assert held(memory)[1] == []
        with memory.store.write(Identity("test", "system"), op="embed") as tx:
            assert tx.make_blocks(scope)
        assert held(memory)[1] == [0, 4]
        memory.embed()
        assert held(memory) == ([*range(0, 28, 4)], [*range(0, 28, 4)])
