"""One example for each constant of the lanes, the index and the candidates, with figures worked out
by hand from the documented formulas and rules, never from the constant itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa import Memory
from doxa.base.clock import FakeClock, parse_time
from doxa.models import HashEmbedder
from doxa.recall import constants
from doxa.recall.candidates import CandidateSet
from doxa.recall.filters import find_scopes
from doxa.recall.indexes import vector_index
from doxa.recall.indexes.project_index import Believed, IndexCache
from doxa.recall.indexes.vector_index import VectorIndex
from doxa.recall.lanes import calibration, entities, graph, phrases, time
from doxa.recall.lanes.calibration import calibrate
from doxa.recall.lanes.meaning import passage_cosine
from doxa.recall.lanes.phrases import phrase_postings, phrases_of
from doxa.recall.lanes.time import TimeRange
from doxa.recall.lanes.words import Coverage, Posting, asked_terms, read_postings
from doxa.recall.types import Ask
from doxa.store import Reader, codes_of
from tests.fixtures_shared import opened

DAY = 86_400 * 10**9
START = parse_time("2020-01-01T00:00:00Z")
Floats = NDArray[np.float32]
EXAMPLES: dict[str, Callable[[], None]] = {}


def example(*names: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def keep(check: Callable[[], None]) -> Callable[[], None]:
        EXAMPLES.update(dict.fromkeys(names, check))
        return check

    return keep


def near(value: float, wanted: float, within: float = 1e-4) -> None:
    assert value == pytest.approx(wanted, abs=within)


class Columns(NamedTuple):
    """What a lane reads of a project index."""

    count: int
    columns: dict[str, Any]
    following: Any
    scope: int = 1

    def __getitem__(self, name: Any) -> Any:
        return self.columns[name]


class CompassEmbedder:
    """Fake: a text points to the directions that it names."""

    name, dimensions, tokens_max = "fake-compass", 4, 256

    def embed(self, texts: Sequence[str]) -> Floats:
        found = np.zeros((len(texts), 4), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            row[:3] = [text.count(word) for word in ("east", "north", "skyward")]
            row[3] = not row.any()
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        made: Floats = found / np.maximum(lengths, 1e-9)
        return made


@contextmanager
def memory_of(*texts: str, project: str = "p", **options: Any) -> Iterator[Memory]:
    """A memory of turns, each in a thread of its own, spoken by Ana one day after the other."""
    turns = [
        {"speaker": "Ana", "text": text, "thread": f"t{number}", "time": START + number * DAY}
        for number, text in enumerate(texts)
    ]
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", **options) as memory:
        memory.ingest(turns, project=project, extract=False)
        memory.embed()
        yield memory


# Words: coverage of a question of one term, over texts of given lengths


def coverage(lengths: Sequence[float], counts: dict[int, float], *, term: str = "a") -> list[float]:
    """How much each row of one conversation covers of a question of one term."""
    size = len(lengths)
    before = np.arange(-1, size - 1, dtype=np.int32)
    following = np.array([*range(1, size), -1], dtype=np.int32)
    columns = {"length": np.array(lengths, dtype=np.float32), "prev": before}
    posting = Posting(
        "a" * len(term),
        term,
        np.array(list(counts), dtype=np.int64),
        np.array(list(counts.values()), dtype=np.float32),
    )
    believed = Believed(np.ones(size, dtype=bool), size, float(np.mean(lengths)))
    index: Any = Columns(size, columns, following)
    return [float(value) for value in Coverage(index, [posting], believed).of(np.arange(size))]


@example("K1")
def a_term_that_occurs_once_in_a_text_of_mean_length() -> None:
    near(coverage([5], {0: 1})[0], 10 / 19)


@example("B")
def a_text_longer_than_the_mean_counts_less() -> None:
    """1 / (1/2 + 1/2 * 90/60) = 4/5; 4/5 / (4/5 + 9/10) = 8/17. The first lends too little to
    matter at the end of the chain."""
    near(coverage([30, 90], {1: 1})[1], 8 / 17)


@example("PREVIOUS")
def a_turn_borrows_half_from_the_turn_before() -> None:
    """At 30 terms half of it: 1/4 / (1/4 + 9/10) = 5/23."""
    near(coverage([30, 30], {0: 1})[1], 5 / 23)


@example("NEXT")
def a_turn_borrows_a_fifth_from_the_turn_after() -> None:
    """At 30 terms half of it: 1/10 / (1/10 + 9/10) = 1/10."""
    near(coverage([30, 30], {1: 1})[0], 1 / 10)


@example("NEIGHBOUR_LENGTH")
def a_longer_turn_borrows_less() -> None:
    """At 60 terms a third: 1/6 / (1/6 + 9/10) = 5/32."""
    near(coverage([60, 60], {0: 1})[1], 5 / 32)


@example("CORRECTION_LOSS")
def a_corrected_term_of_ten_characters_counts_eight_tenths() -> None:
    near(coverage([5], {0: 1}, term="aaaaaaaaab")[0], 0.8 * 10 / 19)


@example("PHRASES_MAX")
def four_phrases_of_a_question_are_read() -> None:
    quoted = " ".join(f'"blue{number} boat{number}"' for number in range(60))
    assert phrases_of(quoted)[-1] == ("blue3", "boat3")


@example("PHRASE_TERMS_MAX")
def sixteen_terms_of_a_phrase_are_read() -> None:
    (found,) = phrases_of('"' + " ".join(f"word{number}" for number in range(300)) + '"')
    assert found[-1] == "word15"


@example("PHRASE_ROWS_MAX")
def the_latest_five_hundred_texts_are_read_for_a_phrase() -> None:
    rows = phrases._holding_all([np.arange(9_000)])
    assert (rows[0], rows[-1]) == (8_500, 8_999)


@example("PHRASE_CHARS_MAX")
def of_texts_of_50_000_characters_four_are_read() -> None:
    """They have 200,000 characters; three texts of 66,667 have one more, and two are read."""
    for length, wanted in ((50_000, [2, 3, 4, 5]), (66_667, [4, 5])):
        text = "red green " + "x" * (length - 10)
        with calibrated(*[text] * 6, embedder=None) as (reader, index, rows):
            everywhere = np.ones(len(rows), dtype=bool)
            asked = asked_terms("red green")
            postings = read_postings(reader, index.scope, asked, eligible=everywhere)
            (found,) = phrase_postings(reader, index, [("red", "green")], postings)
            assert found.docs.tolist() == wanted


# Meaning


@contextmanager
def compass_memory() -> Iterator[Memory]:
    with (
        TemporaryDirectory() as folder,
        opened(Path(folder) / "m.db", embedder=CompassEmbedder()) as memory,
    ):
        yield memory


def cosines(*turns: str) -> list[float]:
    """The lane of meaning of the question "east" for turns of one conversation, in their order."""
    with compass_memory() as memory:
        said = [{"speaker": "Ana", "text": text, "time": START + n} for n, text in enumerate(turns)]
        memory.ingest(said, extract=False)
        memory.embed()
        found = sorted(memory.recall("east").hits, key=lambda hit: hit.time)
        return [hit.lanes["meaning"] for hit in found]


def borrowed(part: float) -> float:
    """The cosine of one of two memories, itself at right angles to the question, that borrows so
    much of the other, which is the question: above what both share with the question, 2 / 52 of
    their mean, and divided by the length of the sum."""
    shared = 2 / (2 + constants.CENTRE_WEIGHT) * 0.5
    return shared + (part * (1 - shared) - shared) / math.sqrt(1 + part**2)


@example("NEXT_MEANING")
def a_turn_borrows_a_tenth_of_the_vector_of_the_turn_after() -> None:
    """A turn of five terms borrows 9/10 of it."""
    near(cosines("north 1 2 3 4", "east 1 2 3 4")[0], borrowed(0.09), 1e-3)


@example("NEIGHBOUR_LENGTH_MEANING")
def a_turn_of_45_terms_borrows_half_of_a_vector() -> None:
    """Half of the half that the turn before lends."""
    short, long = "east 1 2 3 4", "north " + " ".join(f"w{n}" for n in range(44))
    near(cosines(short, long)[1], borrowed(0.25), 1e-3)


@example("SENTENCE")
def the_best_sentence_counts_three_tenths() -> None:
    """Of two directions the whole lies between: 7/10 * sqrt(1/2) + 3/10 * 1."""
    near(cosines("They sailed east. They sailed north.")[0], 0.7 * math.sqrt(0.5) + 0.3, 4e-3)


@example("REQUEST")
def a_quoted_request_counts_half() -> None:
    """The question points north and east, its request east alone: 1/2 of each, made a unit vector,
    lies at 1/2 (1 + sqrt(1/2)) / sqrt((1/2 + 1/2 sqrt(1/2))^2 + (1/2 sqrt(1/2))^2) from east."""
    with compass_memory() as memory:
        memory.remember("They sailed east", name="e")
        memory.embed()
        (hit,) = memory.recall("Ana looked north and said: 'Sail east now.'").hits
        part = math.sqrt(0.5) / 2
        near(hit.lanes["meaning"], (0.5 + part) / math.hypot(0.5 + part, part), 1e-3)


@example("PASSAGE")
def the_best_passage_counts_half() -> None:
    array = np.array([0.2, 0.2], dtype=np.float32), np.array([0.8, 0.8], dtype=np.float32)
    count = np.array([2, 1], dtype=np.float32)
    assert passage_cosine(*array, count=count, spread=0).tolist() == pytest.approx([0.5, 0.2])


@example("FIELD")
def a_field_counts_95_hundredths() -> None:
    with compass_memory() as memory:
        memory.remember("They sailed north", name="n", events=["They sailed east"])
        memory.embed()
        (hit,) = memory.recall("east").hits
        near(hit.lanes["meaning"], 0.95, 1e-3)
        assert "by its events" in hit.why


@contextmanager
def calibrated(*texts: str, **options: Any) -> Iterator[tuple[Reader, Any, NDArray[np.int64]]]:
    with memory_of(*texts, **options) as memory, memory.store.read() as reader:
        index = IndexCache().get(reader, find_scopes(reader, "p")[0])
        yield reader, index, np.arange(index.count, dtype=np.int64)


@example("CALIBRATION_ROWS_MAX")
def of_more_than_2048_memories_every_second_is_measured() -> None:
    measured: list[int] = []

    def counted(scope: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        measured.append(len(rows))
        return rows

    reader: Any = SimpleNamespace(rows=lambda sql, args: [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "vector_id", counted)
        for count in (2_048, 2_049, 4_096):
            calibrate(reader, Columns(count, {}, None), np.arange(count))  # type: ignore[arg-type]
    assert measured == [2_048, 1_025, 2_048]


@example("CALIBRATION_ROWS_MIN", "SPREAD_DEFAULT")
def nineteen_memories_have_no_spread_of_their_own_and_twenty_have() -> None:
    """All point to one side, so that a measured spread is the least there is."""
    with calibrated(*["east"] * 20, embedder=CompassEmbedder()) as (reader, index, rows):
        near(calibrate(reader, index, rows[:19]).spread, 0.15, 1e-6)
        near(calibrate(reader, index, rows).spread, 0.001, 1e-6)


@example("CENTRE_WEIGHT")
def ten_memories_that_are_alike_are_a_sixth_of_their_centre() -> None:
    with calibrated(*["east"] * 10, embedder=CompassEmbedder()) as (reader, index, rows):
        centre = calibrate(reader, index, rows).centre
        assert centre is not None
        near(float(centre[0]), 10 / 60)


@example("CALIBRATION_SHIFTS")
def each_memory_is_compared_with_four_others() -> None:
    """Of 40 memories those that come 9, 17, 25 and 33 places before it, in a circle."""
    texts = ["east " * (number % 7) + "north " * (number % 3) + "x" for number in range(40)]
    vectors = CompassEmbedder().embed(texts)
    wanted = [
        float(vectors[i] @ vectors[i - shift]) for shift in (9, 17, 25, 33) for i in range(40)
    ]
    with calibrated(*texts, embedder=CompassEmbedder()) as (reader, index, rows):
        found = calibrate(reader, index, rows)
        near(found.mean, sum(wanted) / 160, 1e-3)
        near(found.spread, float(np.std(wanted)), 1e-3)


# The vector index


@example("EXACT_VECTORS_MAX")
def a_hundred_thousand_vectors_are_held_exactly_and_one_more_is_not() -> None:
    for held, exact in ((99_999, True), (100_000, False)):
        with memory_of("east", embedder=CompassEmbedder()) as memory:
            cache = IndexCache()
            with memory.store.read() as reader:
                index = cache.get(reader, find_scopes(reader, "p")[0])
            assert index.vector_index.count == 1
            index.vector_index.count = held  # as if it held so many
            memory.ingest([{"speaker": "Ana", "text": "north"}], project="p", extract=False)
            memory.embed()
            with memory.store.read() as reader:
                assert cache.get(reader, index.scope).vector_index.exact is exact


def compared(count: int, *, depth: int) -> list[int]:
    """How many whole codes a scan of so many entries compares: first to rank, then to estimate."""
    lengths: list[int] = []
    products = vector_index.code_products

    def counted(codes: NDArray[np.uint8], vector: Floats) -> Floats:
        lengths.append(len(codes))
        return products(codes, vector)

    random = np.random.default_rng(1)
    vectors = random.standard_normal((count, 64)).astype(np.float32)
    index = VectorIndex(exact=False)
    index.add(list(range(count)), [code.tobytes() for code in codes_of(vectors)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "code_products", counted)
        index.nearest(vectors[0], allowed=np.ones(count, dtype=bool), depth=depth)
    assert index._sample is not None
    return [*lengths, len(index._sample[1])]


@example("SIGN_CANDIDATES_MIN", "CODE_SAMPLE")
def of_five_thousand_entries_two_thousand_are_compared_by_code() -> None:
    """And every second or third is a sample, so that they are no more than 2,000."""
    assert compared(5_000, depth=10) == [2_000, 1_667]
    assert compared(4_000, depth=10) == [2_000, 2_000]
    assert compared(4_002, depth=10) == [2_000, 1_334]


@example("SIGN_CANDIDATES_OF")
def of_very_many_entries_one_in_two_hundred_is_compared_by_code() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "SIGN_CANDIDATES_MIN", 1)
        assert [compared(count, depth=1)[0] for count in (3_999, 4_000)] == [19, 20]


# Candidates


def candidates(memory: Memory, question: str, **options: Any) -> CandidateSet:
    ask, recaller = Ask(question, project="p", limit=1, **options), memory.recaller
    with memory.store.read() as reader:
        index = recaller._indexes.get(reader, find_scopes(reader, "p")[0])
        query = recaller._prepare(
            reader, ask, question, speakers=frozenset(), aside=False, warnings=[]
        )
        return recaller._collect(reader, index, ask, query)


@cache
def ferries() -> Any:
    """900 turns about a ferry, one a day; the shorter the earlier. Kept open for all examples."""
    opened_memory = memory_of(
        *[f"The ferry {number}" + " late" * (number // 300) for number in range(900)],
        embedder=HashEmbedder(dimensions=16),
        clock=FakeClock(START + 900 * DAY),
    )
    return opened_memory, opened_memory.__enter__()


@example("CANDIDATES_BY_WORDS")
def fifty_candidates_share_words() -> None:
    assert len(candidates(ferries()[1], "ferry", lanes=("words",)).rows) == 50


@example("CANDIDATES_BY_MEANING")
def eighty_candidates_are_near() -> None:
    assert len(candidates(ferries()[1], "ferry", lanes=("meaning",)).rows) == 80


@example("CANDIDATES_BY_TIME")
def thirty_more_candidates_are_of_a_time_that_is_named() -> None:
    """Longer texts rank lower, so that none of the fifty best by words is of 2022."""
    found = candidates(ferries()[1], "ferry in 2022", lanes=("words", "time"))
    assert len(found.rows) == 50 + 30


# Time, recency, entities, links


@example("RECENCY_DAYS")
def recency_halves_in_two_weeks() -> None:
    index: Any = Columns(3, {"time": np.array([100 * DAY, 86 * DAY, 72 * DAY])}, None)
    values = time.recency(index, np.arange(3), 100 * DAY + 59 * 10**9).tolist()
    assert values == pytest.approx([1, 0.5, 0.25])


@example("DATED_TEXTS")
def the_texts_of_sixty_candidates_are_searched_for_dates() -> None:
    texts = ["We met on 5 May 2023"] * 80
    with calibrated(*texts, embedder=None) as (reader, index, rows):
        may = TimeRange(parse_time("2023-05-01"), parse_time("2023-06-01"))
        found = time.mentioned_times(reader, index, rows, np.arange(80), (may,))
        assert np.flatnonzero(found == 1).tolist() == list(range(60))


@example("SIDE")
def the_side_that_is_asked_for_counts_six_tenths() -> None:
    index: Any = Columns(2, {"speaker": np.array([7, 8]), "thread": np.array([3, 3])}, None)
    found = entities.spoken_by(index, np.arange(2), named=frozenset({8}), side=frozenset({7, 8}))
    assert found.tolist() == pytest.approx([0.6, 1])


@example("PLACE")
def what_was_said_in_the_thread_that_is_named_counts_nine_tenths() -> None:
    index: Any = Columns(2, {"speaker": np.array([7, 8]), "thread": np.array([3, 4])}, None)
    found = entities.spoken_by(index, np.arange(2), named=frozenset({4}), side=frozenset())
    assert found.tolist() == pytest.approx([0, 0.9])


def reached(statement: str, *, seed: str) -> list[float]:
    """What reaches other nodes from one of value 1, the most first."""
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        memory.run(statement)
        with memory.store.read() as reader:
            (node,) = reader.labelled(seed)
            found = graph.spread(reader, {node.id: 1.0}).values()
            return sorted((link.value for link in found), reverse=True)


@example("GRAPH_HOPS", "GRAPH_DECAY")
def two_hops_pass_on_half_each() -> None:
    """The second node has two edges, of which one leads back: a quarter by the root of two."""
    chain = "CREATE (:A)-[:KNOWS]->(:B)-[:KNOWS]->(:C)-[:KNOWS]->(:D)"
    assert reached(chain, seed="A") == pytest.approx([1 / 2, 1 / 4 / math.sqrt(2)])


@example("GRAPH_EDGES_MAX")
def two_hundred_edges_of_a_node_are_read() -> None:
    star = "CREATE (h:Hub) WITH h UNWIND range(1, 2100) AS i CREATE (h)-[:KNOWS]->(:Leaf)"
    found = reached(star, seed="Hub")
    assert len(found) == 200 and found[0] == pytest.approx(1 / 2 / math.sqrt(200))


@example("GRAPH_SEEDS")
def the_links_of_five_hits_are_followed() -> None:
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        for number in range(60):
            kref = memory.remember(f"The ferry {number}", name=f"f{number}").kref
            memory.remember(f"A crane {number}", name=f"c{number}", depends_on=[kref])
        found = memory.recall("ferry", lanes=("words", "graph"), limit=100).hits
        assert sum("graph" in hit.lanes for hit in found) == 5
