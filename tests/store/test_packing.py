"""Vectors as they lie in the file: `check` names each that does not fit, in both sets, and recall
that meets one says that the file is damaged."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.errors import CorruptError, LimitError
from doxa.maintenance.doctor import examine
from doxa.models import HashEmbedder
from doxa.recall import constants
from doxa.store import (
    INDEXED_PARTS,
    PARTS,
    Identity,
    check,
    code_levels,
    code_products,
    code_signs,
    codes_of,
    pack_part,
    unpack_codes,
    unpack_parts,
    unpack_vectors,
    vector_id,
)
from doxa.store.migration.schema import VECTORS_NUMBERED
from tests.fixtures_shared import as_format_6, opened

ONE, TWO, LONG = (
    "The ferry leaves at noon.",
    "The harbour is full. The rope is wet.",
    "A line of the log.\n" * 120,
)
NEXT = HashEmbedder(dimensions=128)
ENDS = ("", "_next", "_code_next", "_code")

# What is done to the tables, and how `check` begins to report it. {v} and {c} are the tables of
# one set.
DAMAGE = {
    "all codes are zero": (
        "UPDATE {c} SET code = zeroblob(length(code))",
        "code that is not that of its {n}",
    ),
    "a code is of another": (
        "UPDATE {c} SET code = (SELECT code FROM {c} WHERE doc = 0) WHERE doc = 1 AND part = 0",
        "is not that of its {n}",
    ),
    "a code is cut": (
        "UPDATE {c} SET code = substr(code, 1, 7) WHERE doc = 0",
        "code that is not that of its {n}",
    ),
    "a code is no text either": (
        "UPDATE {c} SET code = CAST(code AS TEXT) WHERE doc = 1",
        "code that is not that of its {n}",
    ),
    "a code is text": (
        "UPDATE {c} SET code = 'steps' WHERE doc = 0",
        "code that is not that of its {n}",
    ),
    "a passage has no code": ("DELETE FROM {c} WHERE doc = 2 AND part = 1", "{n} without its code"),
    "a vector is cut": (
        "UPDATE {v} SET data = substr(data, 1, 7) WHERE doc = 0 AND part = 0",
        "{n} of a wrong length",
    ),
    "a vector is of another model": (
        "UPDATE {v} SET data = substr(data, 1, 80) WHERE doc = 1 AND part = 0",
        "{n} of a wrong length",
    ),
    "a vector is empty": ("UPDATE {v} SET data = X'' WHERE doc = 0", "{n} of a wrong length"),
    "all vectors are empty": ("UPDATE {v} SET data = X''", "{n} of a wrong length"),
    "a vector is a number": ("UPDATE {v} SET data = 5 WHERE doc = 0", "{n} of a wrong length"),
    "a vector is text": ("UPDATE {v} SET data = 'numbers' WHERE doc = 0", "{n} of a wrong length"),
    "a vector is of another memory": (
        "UPDATE {v} SET data = (SELECT data FROM {v} WHERE doc = 0) WHERE doc = 1 AND part = 0",
        "not that of its {n}",
    ),
    "a sentence is cut": (
        f"UPDATE {{v}} SET data = substr(data, 1, 7) WHERE part = {INDEXED_PARTS}",
        "{n} of a wrong length",
    ),
    "a sentence is whole": (
        (
            "UPDATE {v} SET data = (SELECT data FROM {v} WHERE doc = 0) WHERE part ="
            f" {INDEXED_PARTS}"
        ),
        "of a wrong length",
    ),
}
COUNTED = {
    "a sentence is gone": f"DELETE FROM vector WHERE part = {INDEXED_PARTS + 1}",
    "a passage is gone": (
        "DELETE FROM vector WHERE part = 1; DELETE FROM vector_code WHERE part = 1"
    ),
    "one too many": (
        "INSERT INTO vector(id, data) SELECT id - 64 + 70, data FROM vector WHERE part = 64"
    ),
    "the count": "UPDATE doc SET vectors = vectors + 1 WHERE doc = 0",
}


def made(path: Path, *, coming: bool = False) -> Memory:
    """A turn without sentences, one with two and one with passages; `coming`: with most vectors of
    another model as well."""
    memory = opened(path)
    memory.ingest([{"speaker": "Ana", "text": text} for text in (ONE, TWO, LONG)], extract=False)
    memory.embed()
    if not coming:
        return memory
    memory.remember("A belief that is embedded later", name="later")
    memory.embed()
    memory.close()
    memory = opened(path, embedder=NEXT)
    memory.embed(anew=True, limit=3)
    return memory


def plant(memory: Memory, *statements: str) -> None:
    raw = apsw.Connection(str(memory.store.path))
    for statement in statements:
        raw.execute(statement)
    raw.close()


@pytest.mark.parametrize("coming", [False, True])
@pytest.mark.parametrize("what", DAMAGE)
def test_check_names_a_vector_that_does_not_fit(tmp_path: Path, what: str, coming: bool) -> None:
    sql, named = DAMAGE[what]
    end, name = ("_next", "coming vector") if coming else ("", "vector")
    with made(tmp_path / "m.db", coming=coming) as memory:
        assert check(memory.store) == []
        plant(memory, sql.format(v=f"vector{end}", c=f"vector_code{end}"))
        problems = check(memory.store)
        assert any(named.format(n=name) in problem for problem in problems), problems
        assert all(("coming " in problem) is coming for problem in problems)
        found = {finding.name: finding for finding in examine(memory.store, None, None)}
        assert (found["invariants"].ok, bool(found["invariants"].next_step)) == (False, True)
        assert len(problems) <= 10


@pytest.mark.parametrize("what", COUNTED)
def test_check_counts_the_vectors_of_a_memory(tmp_path: Path, what: str) -> None:
    with made(tmp_path / "m.db") as memory:
        plant(memory, COUNTED[what])
        assert [problem.partition(":")[0] for problem in check(memory.store)] == [
            "a memory that counts more or fewer vectors than it has"
        ]


def test_a_file_without_sentences_or_vectors_is_sound(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        assert check(memory.store) == []
        memory.ingest([{"speaker": "Ana", "text": ONE}], extract=False)
        assert check(memory.store) == []
        memory.embed()
        assert check(memory.store) == []
        plant(memory, "UPDATE vector SET data = X'00'; UPDATE vector_code SET code = X'00'")
        assert [problem.partition(":")[0] for problem in check(memory.store)] == [
            "a vector of a wrong length"
        ]


@pytest.mark.parametrize(
    "damage",
    [
        "",
        (
            "UPDATE {v} SET data = substr(data, 1, 7) WHERE doc = 0; UPDATE {v} SET data ="
            " 'numbers' WHERE doc = 1"
        ),
    ],
)
@pytest.mark.parametrize("coming", [False, True])
def test_a_file_of_format_6_keeps_its_vectors_and_gets_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coming: bool, damage: str
) -> None:
    monkeypatch.setattr("doxa.store.indexing.packing._BATCH", 2)
    path = tmp_path / "m.db"
    with made(path, coming=coming) as memory, memory.store.read() as reader:
        before = [reader.rows(f"SELECT * FROM vector{end} ORDER BY id") for end in ENDS]
        assert all(before) if coming else before[0] and not any(before[1:3])
    end = "_next" if coming else ""
    as_format_6(path)
    raw = apsw.Connection(str(path))
    raw.execute(damage.format(v=f"vector{end}"))
    raw.close()
    with opened(path, embedder=NEXT if coming else None) as memory, memory.store.read() as reader:
        problems = check(memory.store)
        if damage:
            assert {problem.partition(":")[0] for problem in problems} == {
                f"a {'coming ' if coming else ''}vector of a wrong length"
            }
        else:
            assert problems == []
            assert [reader.rows(f"SELECT * FROM vector{end} ORDER BY id") for end in ENDS] == before
        assert reader.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'vector_former%'") == []
    assert len(list(tmp_path.glob(f"m.db.before-{VECTORS_NUMBERED}-*"))) == 1


def test_a_stray_vector_does_not_keep_a_file_of_format_6_closed(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with made(path) as memory, memory.store.read() as reader:
        before = reader.rows("SELECT * FROM vector ORDER BY id")
    as_format_6(path)
    raw = apsw.Connection(str(path))
    for key in (
        "scope, doc + (1 << 30), part",
        "scope + (1 << 26), doc, part",
        "scope, doc, part + 128",
        "scope, -1 - doc, part",
        "scope, 77, part",
        "scope, doc, 'x'",
    ):
        raw.execute(f"INSERT INTO vector SELECT {key}, data FROM vector WHERE doc = 0 AND part = 0")
    raw.close()
    with opened(path) as memory, memory.store.read() as reader:
        assert check(memory.store) == []
        assert reader.rows("SELECT * FROM vector ORDER BY id") == before


def test_a_code_is_of_the_numbers_as_they_are_stored(tmp_path: Path) -> None:
    step = 6 / 16 / np.sqrt(384)
    with made(tmp_path / "m.db") as memory:
        vector = np.zeros(384, dtype=np.float32)
        vector[:6] = 1e-9, -1e-9, 0.6, -0.6, 1.5 * step, -1.5 * step
        vector[192:194] = np.nan, np.inf
        data, code = pack_part(0, vector)
        assert [byte >> 4 for byte in code[:7]] == [
            8,
            8,
            15,
            0,
            9,
            6,
            8,
        ]  # half precision makes the second one zero
        assert [byte & 15 for byte in code[:3]] == [8, 15, 8]
        plant(
            memory,
            f"UPDATE vector SET data = X'{data.hex()}' WHERE doc = 0; UPDATE vector_code SET code ="
            f" X'{code.hex()}' WHERE doc = 0",
        )
        assert check(memory.store) == []
        plant(
            memory,
            "UPDATE vector_code SET code = CAST(X'98' || substr(code, 2) AS BLOB) WHERE doc = 0",
        )
        assert len(check(memory.store)) == 1


def test_levels_are_those_of_zero_unless_vectors_have_much_in_common() -> None:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((2_000, 100)).astype(np.float32)
    for common, least in ((0.0, 8), (0.3, 8), (1.5, 10)):
        there = vectors + np.float32(common) * np.where(np.arange(100) < 50, 1, -1)
        there /= np.linalg.norm(there, axis=1, keepdims=True)
        levels = code_levels(codes_of(there.astype(np.float32)))
        held = codes_of(there.astype(np.float32))
        steps = np.concatenate((held >> 4, held & 15), axis=1)
        assert levels.shape == (128,)
        assert (
            (levels[100:] == 8).all()
            and (levels[:50] >= least).all()
            and (levels[50:100] <= 16 - least).all()
        )
        if least > 8:
            assert 0.4 < (steps >= levels)[:, :100].mean() < 0.6  # about as many on each side


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**32))
def test_a_code_tells_signs_and_products(dimensions: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((7, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes = codes_of(vectors)
    assert codes.shape == (7, -(-dimensions // 64) * 32)
    zero = np.full(2 * codes.shape[1], 8, dtype=np.uint8)
    signs, none = (
        code_signs(codes, zero),
        code_signs(codes_of(np.zeros((1, dimensions), dtype=np.float32)), zero),
    )
    below = np.bitwise_count(signs ^ none).sum(
        axis=1
    )  # whatever lies where there is no number is the same in all
    assert below.tolist() == (vectors < 0).sum(axis=1).tolist()
    step = 6 / 16 / np.sqrt(dimensions)
    near = np.clip((np.floor(vectors / step) + 0.5) * step, -7.5 * step, 7.5 * step)
    assert np.abs(code_products(codes, vectors[0]) - near @ vectors[0]).max() < 1e-4


def test_numbers_of_vectors_end_somewhere(tmp_path: Path) -> None:
    with made(tmp_path / "m.db") as memory:
        packed = {0: pack_part(0, np.ones(384, dtype=np.float32))}
        for scope, row in ((1, 1 << 30), (1 << 26, 0)):
            with (
                pytest.raises(LimitError),
                memory.store.write(Identity("doxa", "system"), op="vectors") as tx,
            ):
                tx.put_vectors(scope, row, model="m", vectors=packed)
        last = vector_id((1 << 26) - 1, (1 << 30) - 1, PARTS - 1)
        assert last == 2**63 - 1 and vector_id(0, 0) == 0
        plant(memory, f"INSERT INTO vector(id, data) VALUES({last}, X'00')")
        with memory.store.read() as reader:
            assert reader.rows(f"SELECT scope, doc, part FROM vector WHERE id = {last}") == [
                ((1 << 26) - 1, (1 << 30) - 1, PARTS - 1)
            ]


def test_vectors_that_another_version_cut_otherwise_are_counted_after_a_switch(
    tmp_path: Path,
) -> None:
    with made(tmp_path / "m.db") as memory:  # as a version left it that knew no sentences
        plant(
            memory,
            f"DELETE FROM vector WHERE part >= {INDEXED_PARTS}; UPDATE doc SET vectors = 1 WHERE"
            " doc < 2",
        )
        assert check(memory.store) == []
        memory.embed(anew=True)
        with memory.store.read() as reader:
            assert reader.rows("SELECT vectors FROM doc WHERE doc < 2") == [(1,), (3,)]
        assert check(memory.store) == []
        assert memory.recall(TWO).mode == "hybrid"


def test_all_made_anew_mends_what_was_damaged(tmp_path: Path) -> None:
    with made(tmp_path / "m.db") as memory:
        plant(
            memory,
            "UPDATE vector_code SET code = zeroblob(192)",
            COUNTED["a sentence is gone"],
            DAMAGE["a vector is cut"][0].format(v="vector"),
        )
        assert len(check(memory.store)) > 3
        memory.embed(anew=True)
        assert check(memory.store) == []
        assert memory.recall(ONE).hits[0].text == ONE


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE vector SET data = substr(data, 1, 7) WHERE doc = 0",
        "UPDATE vector SET data = substr(data, 1, 766) WHERE part < 64",
        "UPDATE vector SET data = substr(data, 1, 384) WHERE doc < 2 AND part = 0",
        f"UPDATE vector SET data = substr(data, 1, 7) WHERE part >= {INDEXED_PARTS}",
        "UPDATE vector SET data = X''",
        "UPDATE vector SET data = 'numbers'",
        "UPDATE vector SET data = 5",
    ],
)
def test_recall_that_meets_such_a_vector_says_that_it_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, exact: bool
) -> None:
    monkeypatch.setattr(constants, "EXACT_VECTORS_MAX", 100 if exact else 0)
    with made(tmp_path / "m.db") as memory:
        assert memory.recall(TWO).mode == "hybrid"
        plant(memory, sql)
        with pytest.raises(CorruptError, match="doxa doctor"):  # the index was read before
            memory.recall(TWO)
    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(CorruptError, match="doxa doctor"):
            memory.recall(TWO)
        with pytest.raises(CorruptError):  # and the next question too
            memory.recall("a rope")


def test_codes_of_a_wrong_length_are_damage_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "EXACT_VECTORS_MAX", 0)
    for sql in (
        "UPDATE vector_code SET code = substr(code, 1, 160) WHERE doc = 1",
        "UPDATE vector_code SET code = substr(code, 1, 160)",
    ):
        with made(tmp_path / f"{len(sql)}.db") as memory:
            plant(memory, sql)
            with pytest.raises(CorruptError, match="doxa embed --anew"):
                memory.recall(TWO)


def test_unpacking_gives_what_was_packed_and_refuses_the_rest() -> None:
    vectors = np.random.default_rng(0).standard_normal((3, 70)).astype(np.float32)
    packed = [pack_part(0, vector) for vector in vectors]
    data, codes = [row[0] for row in packed], [row[1] for row in packed]
    assert np.abs(unpack_vectors(data) - vectors).max() < 0.01
    assert unpack_codes(codes).tolist() == codes_of(unpack_vectors(data)).tolist()
    assert unpack_vectors([], 70).shape == (0, 70)
    sentences = [pack_part(INDEXED_PARTS, vector)[0] for vector in vectors]
    for wrong in ([*data[:2], data[2][:-2], data[2] + b"xx"], [data[0][:-1]], [b""], [*data, b""]):
        with pytest.raises(CorruptError):
            unpack_vectors(wrong)
    with pytest.raises(CorruptError):
        unpack_vectors(data, 71)
    with pytest.raises(CorruptError):
        unpack_parts([*sentences, data[0]], 70)
    with pytest.raises(CorruptError):
        unpack_codes([codes[0][:-1]])
    with pytest.raises(CorruptError):
        unpack_codes(codes, 96)
