"""The index of vectors and the kept mask against brute force; the best rows by words against all
rows."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from doxa.base.clock import FakeClock
from doxa.models import HashEmbedder
from doxa.recall import constants
from doxa.recall.filters import believed_now, find_scopes
from doxa.recall.indexes import vector_index
from doxa.recall.indexes.arrays import distinct
from doxa.recall.indexes.project_index import Believed, IndexCache, ProjectIndex
from doxa.recall.indexes.vector_index import VectorIndex
from doxa.recall.lanes import words as words_lane
from doxa.recall.lanes.meaning import without_centre
from doxa.recall.lanes.words import Coverage, Posting, asked_terms, read_postings
from doxa.store import DOC_COLUMNS, INDEXED_PARTS, code_products, codes_of, pack_part, unpack_parts
from doxa.store.indexing.packing import pack_vector
from tests.fixtures_shared import opened

DAY = 86_400 * 10**9


@given(values=st.lists(st.integers(-5, 40)), kind=st.sampled_from(["i4", "i8"]))
def test_distinct_values_are_those_of_numpy(values: list[int], kind: str) -> None:
    array: NDArray[Any] = np.array(values, dtype=kind)
    found = distinct(array)
    assert found.dtype == array.dtype and found.tolist() == np.unique(array).tolist()


def unit(random: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    made = random.standard_normal(shape).astype(np.float32)
    return made / np.linalg.norm(made, axis=-1, keepdims=True)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(0, 40), min_size=1, max_size=600),
    depth=st.integers(1, 50),
    seed=st.integers(0, 2**32),
    batches=st.integers(1, 5),
    dimensions=st.sampled_from([1, 7, 64, 384]),
    hidden=st.integers(0, 41),
    signed=st.sampled_from([1, 10, 100, 2_000]),
)
def test_an_index_names_the_nearest_allowed_rows(
    rows: list[int], depth: int, seed: int, batches: int, dimensions: int, hidden: int, signed: int
) -> None:
    random = np.random.default_rng(seed)
    vectors = unit(random, len(rows), dimensions)
    question = unit(random, dimensions)
    allowed = np.ones(41, dtype=bool)
    allowed[random.permutation(41)[:hidden]] = False
    packed = [pack_vector(vector) for vector in vectors]
    seen = np.flatnonzero(allowed[rows])
    for exact in (True, False):
        index = VectorIndex(exact=exact)
        for part in np.array_split(np.arange(len(rows)), batches):
            index.add([rows[i] for i in part], [packed[i][0 if exact else 1] for i in part])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(constants, "SIGN_CANDIDATES_MIN", signed)
            found = index.nearest(question, allowed=allowed, depth=depth)
        assert index.count == len(rows)
        if exact:
            near = vectors.astype(np.float16).astype(np.float32) @ question
        else:
            stored = vectors.astype(np.float16).astype(np.float32)
            differs = ((stored < 0) != (question < 0)).sum(axis=1)
            near = np.full(len(rows), -np.inf)
            named = seen[np.argsort(differs[seen], kind="stable")][: max(signed, depth)]
            near[named] = code_products(codes_of(stored), question)[named]
        order = seen[np.argsort(-near[seen], kind="stable")]
        least = near[order[min(depth, len(order)) - 1]] if len(order) else np.inf
        surely = {rows[i] for i in order if near[i] > least + 1e-5}
        maybe = {rows[i] for i in order if near[i] >= least - 1e-5}
        assert surely <= set(found.rows.tolist()) <= maybe
        assert found.rows.tolist() == sorted(set(found.rows.tolist()))
        if exact and len(order):
            assert found.mean == pytest.approx(float(near[seen].mean()), abs=1e-4)
            assert found.spread == pytest.approx(float(near[seen].std()), abs=1e-4)


def test_the_mean_and_spread_of_codes_are_near_those_of_the_cosines() -> None:
    random = np.random.default_rng(1)
    vectors, question = unit(random, 50_000, 384) + 0.06, unit(random, 384) + 0.02
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question /= np.linalg.norm(question)
    coded = VectorIndex(exact=False)
    coded.add(list(range(50_000)), [code.tobytes() for code in codes_of(vectors)])
    found = coded.nearest(question, allowed=np.ones(50_000, dtype=bool), depth=10)
    cosines = vectors @ question
    assert found.mean == pytest.approx(float(cosines.mean()), abs=0.005)
    assert found.spread == pytest.approx(float(cosines.std()), rel=0.1)


@given(seed=st.integers(0, 2**32), sample=st.integers(1, 9), dimensions=st.sampled_from([7, 64]))
def test_the_sample_of_codes_is_that_of_the_entries_that_are_there(
    seed: int, sample: int, dimensions: int
) -> None:
    """Of an index that grows while it is asked, as of one that was made at once."""
    random = np.random.default_rng(seed)
    vectors = unit(random, 40, dimensions)
    codes, growing = codes_of(vectors), VectorIndex(exact=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "CODE_SAMPLE", sample)
        while growing.count < len(vectors):
            start = growing.count
            stop = min(len(vectors), start + int(random.integers(1, 4)))
            growing.add(np.arange(start, stop), codes[start:stop])
            question = unit(random, dimensions)
            step = -(-stop // sample)
            products = code_products(codes[:stop:step], question)
            found = growing.nearest(question, allowed=np.ones(stop, dtype=bool), depth=1)
            assert found.mean == pytest.approx(float(products.mean()), abs=1e-6)
            assert found.spread == pytest.approx(float(products.std()), abs=1e-6)


@pytest.mark.parametrize("common", [0.0, 1.0, 3.0])
def test_codes_name_the_nearest_of_vectors_that_have_a_direction_in_common(
    monkeypatch: pytest.MonkeyPatch, common: float
) -> None:
    monkeypatch.setattr(constants, "SIGN_CANDIDATES_MIN", 600)
    random = np.random.default_rng(2)
    direction, centres = common * unit(random, 384), unit(random, 300, 384)
    vectors = direction + centres[random.integers(0, 300, 30_000)] + 0.7 * unit(random, 30_000, 384)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index, held = VectorIndex(exact=False), 0
    for part in np.array_split(np.arange(30_000), 3):
        index.add(part.tolist(), [code.tobytes() for code in codes_of(vectors[part])])
    for place in range(40):
        question = vectors[place * 700] + 0.3 * unit(random, 384)
        nearest = np.argsort(-(vectors @ question), kind="stable")[:10]
        held += len(
            set(
                index.nearest(question, allowed=np.ones(30_000, dtype=bool), depth=80).rows.tolist()
            )
            & set(nearest.tolist())
        )
    assert held / 400 >= 0.98


def test_an_empty_index_names_nothing() -> None:
    assert (
        VectorIndex(exact=True)
        .nearest(np.ones(3, dtype=np.float32), allowed=np.ones(2, dtype=bool), depth=3)
        .rows.tolist()
        == []
    )
    index = VectorIndex(exact=False)
    index.add([], [])
    index.add([1], [pack_vector(np.ones(64, dtype=np.float32))[1]])
    assert (
        index.nearest(
            np.ones(64, dtype=np.float32), allowed=np.zeros(2, dtype=bool), depth=3
        ).rows.tolist()
        == []
    )
    assert (
        index.nearest(
            np.ones(64, dtype=np.float32), allowed=np.zeros(1, dtype=bool), depth=3
        ).rows.tolist()
        == []
    )  # a row newer than the mask


@pytest.mark.parametrize("exact", [True, False])
def test_an_index_lends_the_vectors_of_whole_texts(exact: bool) -> None:
    random = np.random.default_rng(5)
    vectors = unit(random, 900, 100).astype(np.float16).astype(np.float32)
    index = VectorIndex(exact=exact)
    assert index.wholes(np.arange(3), 100)[0].tolist() == []
    for start in range(
        0, 900, 300
    ):  # row 2, 12, ...: three entries, of which the first is its whole text
        rows = [10 * (place // 3) + 2 for place in range(start, start + 300)]
        index.add(
            rows,
            [pack_vector(vector)[0 if exact else 1] for vector in vectors[start : start + 300]],
        )
    rows, found = index.wholes(np.array([0, 2, 3, 1_502, 2_992, 5_000_000]), 100)
    assert rows.tolist() == [2, 1_502, 2_992]
    wanted = vectors[[0, 450, 897]]
    assert found.tolist() == wanted.tolist() if exact else (found * wanted).sum(axis=1).min() > 0.98


@pytest.mark.parametrize("words", range(1, 9))
def test_signs_are_compared_by_all_their_words(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    monkeypatch.setattr(vector_index, "_CHUNK", 100)
    random = np.random.default_rng(words)
    asked = random.integers(0, 2**64, words, dtype=np.uint64)
    signs = random.integers(0, 2**64, (words, 300), dtype=np.uint64)
    signs[:, 7], signs[:, 250] = ~asked, asked  # as far and as near as can be
    bits = np.unpackbits((signs ^ asked[:, None]).T.copy().view(np.uint8), axis=1).sum(axis=1)
    for count in (1, 99, 100, 251, 300):
        found = vector_index._differing(asked, signs, count)
        assert found.tolist() == bits[:count].tolist()
    assert (bits[7], bits[250]) == (64 * words, 0)


def test_entries_that_are_alike_are_named_as_far_as_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def counted(codes: NDArray[np.uint8], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        looked_at.append(len(codes))
        return code_products(codes, vector)

    monkeypatch.setattr(vector_index, "code_products", counted)
    random = np.random.default_rng(8)
    same, other = unit(random, 2, 384)
    index = VectorIndex(exact=False)
    index.add(list(range(30_000)), [pack_vector(same)[1]] * 29_990 + [pack_vector(other)[1]] * 10)
    found = index.nearest(other, allowed=np.ones(30_000, dtype=bool), depth=80)
    assert max(looked_at) <= 2_000
    assert len(found.rows) == 80 and set(range(29_990, 30_000)) <= set(found.rows.tolist())


def test_a_question_without_the_mean_is_told_by_signs_from_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "SIGN_CANDIDATES_MIN", 60)
    monkeypatch.setattr(constants, "SIGN_CANDIDATES_OF", 10**9)
    random = np.random.default_rng(6)
    vectors = (
        5 * unit(random, 384)
        + unit(random, 200, 384)[random.integers(0, 200, 20_000)]
        + 0.6 * unit(random, 20_000, 384)
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index, centre, held = VectorIndex(exact=False), vectors.mean(axis=0), {True: 0, False: 0}
    index.add(list(range(20_000)), [code.tobytes() for code in codes_of(vectors)])
    for place in range(30):
        question = without_centre(centre, vectors[place * 600] + 0.2 * unit(random, 384))
        nearest = set(np.argsort(-(vectors @ question), kind="stable")[:10].tolist())
        for centred in held:
            found = index.nearest(
                question, allowed=np.ones(20_000, dtype=bool), depth=30, centred=centred
            )
            held[centred] += len(nearest & set(found.rows.tolist()))
    assert held[True] >= 240 and held[True] > held[False] + 10, held


@pytest.mark.parametrize("exact", [True, False])
def test_who_asks_while_another_adds_gets_whole_entries(exact: bool) -> None:
    random = np.random.default_rng(9)
    vectors = unit(random, 6_000, 64)
    packed = [pack_vector(vector)[0 if exact else 1] for vector in vectors]
    index, failed, done = VectorIndex(exact=exact), [], threading.Event()
    index.add([0], packed[:1])

    def ask() -> None:
        try:
            while not done.is_set():
                count = index.count
                assert (
                    0 in index.nearest(vectors[0], allowed=np.ones(6_000, dtype=bool), depth=5).rows
                )
                rows, _ = index.wholes(np.arange(count), 64)
                assert len(rows) == count
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(1, 6_000, 7):
        part = range(start, min(start + 7, 6_000))
        index.add(list(part), [packed[i] for i in part])
    done.set()
    for thread in threads:
        thread.join()
    assert failed == [] and index.count == 6_000


@pytest.mark.parametrize(
    ("most", "shortest", "sums"), [(5, 1, False), (255, 0, False), (255, 0, True)]
)
def test_the_best_of_very_many_rows_are_those_of_all_rows(
    most: int, shortest: int, sums: bool
) -> None:
    """`most`: the highest count of a term; `sums`: some counts are sums, as a character has."""
    random = np.random.default_rng(4)
    count = 40_000
    linked = random.random(count) < 0.8
    before = np.where(linked, np.arange(count) - 1, -1).astype(np.int32)
    before[0] = -1
    branches = random.choice(np.arange(100, count), 500, replace=False)
    before[branches] = branches - random.integers(2, 90, 500)
    following = np.full(count, -1, dtype=np.int32)
    following[before[before >= 0]] = np.flatnonzero(before >= 0)
    lengths = random.integers(shortest, 60, count).astype(np.float32)
    apart = np.flatnonzero((before >= 0) & (following[before] != np.arange(count)))
    project = FakeIndex(count, {"prev": before, "length": lengths}, following, apart)
    for held in (
        (40, 300, 900),
        (200, 9_000, 20_000),
        (30_000,),
        (20, 35_000, 36_000),
        (5_000, 6_000, 7_000, 8_000),
    ):
        docs = [np.sort(random.choice(count, size, replace=False)) for size in held]
        postings = [
            Posting(
                f"t{i}",
                f"t{i}",
                rows,
                random.integers(1, most + 1, len(rows)).astype(np.uint8)
                if i % 2 or not sums
                else random.integers(1, 900, len(rows)).astype(np.float32),
            )
            for i, rows in enumerate(docs)
        ]
        words = Coverage(
            project, postings, Believed(np.ones(count, dtype=bool), count, float(lengths.mean()))
        )  # type: ignore[arg-type]
        everywhere = words.of(np.arange(count))
        allowed = random.random(count) < 0.9
        for depth in (1, 50, 1_500):
            best = words.best(allowed, depth)
            wanted = np.sort(everywhere[allowed])[::-1][:depth]
            assert np.sort(everywhere[best])[::-1].tolist() == pytest.approx(
                wanted.tolist(), abs=1e-6
            )
            if len(best) == depth:  # of equals the newest, however rows were found
                least = everywhere[best].min()
                equal = np.flatnonzero(allowed & (everywhere == least))
                chosen = best[everywhere[best] == least]
                assert chosen.tolist() == equal[len(equal) - len(chosen) :].tolist()


@pytest.mark.parametrize("lookups", [0, 10**9])  # all looked up; all spread
def test_coverage_is_that_of_the_formula(monkeypatch: pytest.MonkeyPatch, lookups: int) -> None:
    monkeypatch.setattr(words_lane, "_LOOKUPS", lookups)
    random = np.random.default_rng(9)
    count = 60
    before = np.arange(-1, count - 1, dtype=np.int32)
    before[[20, 40]] = -1
    before[50] = 10  # a second answer to the same turn
    following = np.full(count, -1, dtype=np.int32)
    following[before[before >= 0][::-1]] = np.flatnonzero(before >= 0)[::-1]
    lengths = random.integers(1, 60, count).astype(np.float32)
    project = FakeIndex(count, {"prev": before, "length": lengths}, following, np.array([50]))
    postings = []
    for name, most, kind in (("a", 255, np.uint8), ("b", 900, np.float32), ("c", 3, np.uint8)):
        docs = np.sort(random.choice(count, 25, replace=False))
        postings.append(Posting(name, name, docs, random.integers(1, most + 1, 25).astype(kind)))
    believed = Believed(np.ones(count, dtype=bool), count, float(lengths.mean()))
    mean, weight = float(lengths.mean()), math.log1p((count - 25 + 0.5) / (25 + 0.5))

    def scored(row: int) -> float:
        found = 0.0
        share = constants.NEIGHBOUR_LENGTH / (constants.NEIGHBOUR_LENGTH + lengths[row])
        own = [(row, 1.0)]
        own += [(int(before[row]), constants.PREVIOUS * share)] if before[row] >= 0 else []
        after = int(following[row])
        own += [(after, constants.NEXT * share)] if after >= 0 and before[after] == row else []
        for posting in postings:
            times = dict(zip(posting.docs.tolist(), posting.counts.tolist(), strict=True))
            frequency = sum(
                part
                * times.get(at, 0)
                / (1 - constants.B + constants.B * float(lengths[at]) / mean)
                for at, part in own
            )
            found += weight * frequency / (frequency + constants.K1)
        return found / (3 * weight)

    words = Coverage(project, postings, believed)  # type: ignore[arg-type]
    assert words.of(np.arange(count)).tolist() == pytest.approx(
        [scored(row) for row in range(count)], rel=1e-5
    )
    rows = np.array([0, 10, 11, 50, 59])
    for posting in postings:
        assert posting.held_by(rows).tolist() == [row in posting.docs for row in rows]
    assert not Posting("d", "d", rows[:0], rows[:0]).held_by(rows).any()


def test_an_empty_text_counts_where_length_alone_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "B", 1.0)
    alone, lengths = np.full(3, -1, dtype=np.int32), np.array([4, 4, 0], dtype=np.float32)
    project = FakeIndex(3, {"prev": alone, "length": lengths}, alone, np.arange(0))
    posting = Posting("a", "a", np.arange(2), np.array([2, 1], dtype=np.uint8))
    words = Coverage(project, [posting], Believed(np.ones(3, dtype=bool), 3, 8 / 3))  # type: ignore[arg-type]
    first, second, none = words.of(np.arange(3)).tolist()
    assert first > second > 0 == none
    assert words.best(np.ones(3, dtype=bool), 2).tolist() == [0, 1]


@pytest.mark.parametrize("few", [0, 16])  # around rows of a term; around those that score much
@pytest.mark.parametrize("size", [40, 400, 20_000])
def test_of_rows_that_are_equal_the_newest_are_taken(
    monkeypatch: pytest.MonkeyPatch, few: int, size: int
) -> None:
    monkeypatch.setattr(words_lane, "_FEW_OF", few)
    alone, every = np.full(size, -1, dtype=np.int32), np.arange(size)
    lengths = np.full(size, 9, dtype=np.float32)
    project = FakeIndex(size, {"prev": alone, "length": lengths}, alone, every[:0])
    postings = [
        Posting(name, name, docs, np.ones(len(docs), dtype=np.float32))
        for name, docs in (("rare", np.array([1, 20])), ("common", every))
    ]
    words = Coverage(project, postings, Believed(np.ones(size, dtype=bool), size, 9.0))  # type: ignore[arg-type]
    allowed = every != size - 2
    assert words.best(allowed, 5).tolist() == [1, 20, size - 4, size - 3, size - 1]
    assert words.best(allowed, 1).tolist() == [20]
    assert words.best(allowed, size).tolist() == every[allowed].tolist()


class FakeIndex(NamedTuple):
    """What the lane of words reads of a project."""

    count: int
    columns: dict[str, NDArray[Any]]
    following: NDArray[np.int32]
    branches: NDArray[np.int64]

    def __getitem__(self, name: Any) -> Any:
        return self.columns[name]


WORDS = ["ferry", "harbour", "tea", "noon", "port", "rope", "gale", "deck"]


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=60
    ),
    depth=st.integers(1, 12),
    seed=st.integers(0, 2**32),
    few=st.sampled_from([0, 16]),
    high=st.sampled_from([0, 6]),
    promising=st.sampled_from([1, 5, 13, 1_000]),
    tried=st.sampled_from([1, 2, 4, 1_000]),
    tried_max=st.sampled_from([1, 16]),
    groups=st.sampled_from([1, 2, 32]),
)
def test_the_best_by_words_are_those_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[list[str]],
    depth: int,
    seed: int,
    few: int,
    high: int,
    promising: int,
    tried: int,
    tried_max: int,
    groups: int,
) -> None:
    random = np.random.default_rng(seed)
    with opened(tmp_path_factory.mktemp("m") / "m.db", embedder=None) as memory:
        memory.ingest(
            [{"speaker": "Ana", "text": " ".join(words)} for words in texts], extract=False
        )
        with memory.store.read() as reader:
            project = IndexCache().get(reader, find_scopes(reader, "default")[0])
            population = believed_now(reader, project)
            asked = asked_terms(" ".join(random.permutation(WORDS)[: random.integers(1, 9)]))
            words = Coverage(
                project,
                read_postings(reader, project.scope, asked, eligible=population.mask),
                population,
            )
            allowed = population.mask & (random.random(project.count) < 0.8)
            everywhere = words.of(np.arange(project.count))
            held = everywhere[allowed]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(words_lane, "_LOOKUPS", few)  # 0: every row is looked up by itself
                patch.setattr(words_lane, "_FEW_OF", few)  # 0: only rows around a term are read
                patch.setattr(words_lane, "_HIGH_OF", high)  # 0: around those that score much
                patch.setattr(words_lane, "_PROMISING", promising)
                patch.setattr(words_lane, "_MANY", 0)
                patch.setattr(words_lane, "_TRIED", tried)
                patch.setattr(words_lane, "_TRIED_MAX", tried_max)
                patch.setattr(words_lane, "_GROUPS", groups)
                best = words.best(allowed, depth)
                assert words.of(best).tolist() == everywhere[best].tolist()
            wanted = np.sort(held[held > 0])[::-1][:depth]
            assert allowed[best].all() and best.tolist() == sorted(set(best.tolist()))
            assert np.sort(everywhere[best])[::-1].tolist() == pytest.approx(
                wanted.tolist(), abs=1e-6
            )
            if len(best) == depth:  # of equals the newest, however rows were found
                least = everywhere[best].min()
                equal = np.flatnonzero(allowed & (everywhere == least))
                chosen = best[everywhere[best] == least]
                assert chosen.tolist() == equal[len(equal) - len(chosen) :].tolist()


def test_rows_that_share_the_row_before_them_are_known() -> None:
    random = np.random.default_rng(5)
    index = ProjectIndex(1)
    for size in (40, 60, 60, 200):  # some rows are new, others have another row before them
        rows = np.sort(random.choice(size, size // 3 if index.count else size, replace=False))
        columns = {name: np.zeros(len(rows), dtype=kind) for name, kind in DOC_COLUMNS}
        columns["node"][:] = 1
        before = np.where(random.random(len(rows)) < 0.5, rows // 2, rows // 3)
        columns["prev"][:] = np.where(random.random(len(rows)) < 0.2, -1, before)
        index._store_rows(rows, columns)
        index._follow(rows)
        before = index["prev"]
        linked = np.flatnonzero((before >= 0) & (index["node"] > 0))
        apart = linked[index.following[before[linked]] != linked]
        assert len(apart) and set(apart.tolist()) <= set(index.branches.tolist())
    index._replace_rows(rows[:0], columns)
    assert not len(index.branches)


def test_the_kept_mask_is_that_of_a_fresh_shelf_whatever_happens(tmp_path: Path) -> None:
    clock = FakeClock()
    random = np.random.default_rng(3)
    with opened(tmp_path / "m.db", embedder=HashEmbedder(), clock=clock) as memory:
        kept = IndexCache()
        krefs: list[str] = []
        for step in range(120):
            action = random.integers(0, 5)
            if action == 0 or not krefs:
                now = clock.now_ns()
                window = {
                    "valid_from": now + int(random.integers(-3, 3)) * DAY,
                    "valid_until": now + int(random.integers(4, 9)) * DAY,
                }
                krefs.append(
                    str(
                        memory.remember(
                            f"fact number {step}",
                            name=f"n{step}",
                            **(window if random.random() < 0.5 else {}),
                        ).kref
                    )
                )
            elif action == 1:
                memory.revise(
                    krefs[random.integers(len(krefs))].partition("?")[0], f"other words {step}"
                )
            elif action == 2:
                memory.forget(krefs.pop(random.integers(len(krefs))).partition("?")[0])
            elif action == 3:
                clock.advance(days=int(random.integers(1, 4)))
            else:
                memory.embed(limit=2)
            with memory.store.read() as reader:
                scope = find_scopes(reader, "default")[0]
                mine, new = kept.get(reader, scope), IndexCache().get(reader, scope)
                ours, theirs = believed_now(reader, mine), believed_now(reader, new)
                assert ours.mask.tolist() == theirs.mask.tolist()
                assert (ours.total, ours.length_mean) == (
                    theirs.total,
                    pytest.approx(theirs.length_mean),
                )
                assert (mine.pending, mine.vector_index.count >= new.vector_index.count) == (
                    new.pending,
                    True,
                )


def test_without_the_centre_directions_have_length_one() -> None:
    vectors = unit(np.random.default_rng(0), 5, 8)
    centre = vectors[0] * 0.5 + vectors[1] * 0.3
    rest = without_centre(centre, np.vstack([vectors, centre]))
    assert np.linalg.norm(rest[:5], axis=1).tolist() == pytest.approx([1] * 5, abs=1e-5)
    assert rest[5].tolist() == centre.tolist()
    assert without_centre(None, vectors) is vectors


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**32))
def test_a_packed_sentence_is_off_by_a_thousandth(dimensions: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors, question = unit(random, 5, dimensions), unit(random, dimensions)
    packed = [pack_part(INDEXED_PARTS + number, vector) for number, vector in enumerate(vectors)]
    assert all(len(data) == 2 + dimensions and code == b"" for data, code in packed)
    assert (
        np.abs(
            unpack_parts([data for data, _ in packed], dimensions) @ question - vectors @ question
        ).max()
        < 0.02
    )
    assert pack_part(0, vectors[0]) == pack_vector(vectors[0])


@settings(deadline=None, max_examples=80)
@given(
    st.integers(1, 400),
    st.integers(1, 40),
    st.floats(0.0, 1.0),
    st.integers(1, 400),
    st.integers(0, 2**32 - 1),
)
def test_the_lowest_are_those_of_a_stable_sort(
    count: int, values: int, kept: float, wanted: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "_GUESSED_FROM", 16)  # so that few are guessed from fewer
        patch.setattr(vector_index, "_GUESSED_MIN", int(rng.integers(3)))
        distance = rng.integers(values, size=count).astype(np.uint16)
        keep = rng.random(count) < kept
        keep[int(rng.integers(count))] = True
        wanted = min(wanted, int(keep.sum()))
        found = vector_index._lowest(distance, keep, wanted)
    places = np.flatnonzero(keep)
    order = places[np.argsort(distance[places], kind="stable")][:wanted]
    assert found.tolist() == sorted(order.tolist())
