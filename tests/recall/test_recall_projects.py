"""Hits of several projects stand on one scale, whatever each project is about, and with whatever
embedder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.models import Embedder, HashEmbedder, ScriptedCompleter
from tests.fixtures_shared import opened

_THINGS = (
    "harbour ledger orchard violin winter bakery tunnel letter engine garden window copper river"
    " market lantern saddle".split()
)


def varied(count: int) -> list[str]:
    """Sentences that have little in common."""
    return [
        f"the {_THINGS[n % 16]} stood beside the {_THINGS[(5 * n + 3) % 16]} of"
        f" {_THINGS[(n * n + 7) % 16]} number {n}"
        for n in range(count)
    ]


class Crowded:
    """Vectors that all share a direction, so that any two have a cosine near 0.8, as some models
    give."""

    dimensions = 384
    tokens_max = 256
    name = "fake-crowded-384"

    def __init__(self) -> None:
        self._inner = HashEmbedder(dimensions=384)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = self._inner.embed(texts)
        made = 0.45 * made
        made[:, 0] += 0.9
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def test_a_project_of_one_subject_does_not_drown_the_others(
    tmp_path: Path, minilm: Embedder
) -> None:
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        for number in range(60):
            memory.remember(
                f"The ferry of line {number} needs new paint", project="ferries", name=f"f{number}"
            )
        memory.remember("The Oslo boat goes at midnight", project="travel", name="oslo")
        memory.remember("Bread is baked on Fridays", project="travel", name="bread")
        memory.embed()
        hits = memory.recall("When does the Oslo boat go?", project="*").hits
        assert hits[0].text == "The Oslo boat goes at midnight"


def test_a_project_without_vectors_counts_as_average(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=Crowded()) as memory:
        for number, text in enumerate(varied(30)):
            memory.remember(text, project="a", name=f"n{number}")
        memory.embed()
        memory.remember("The ferry leaves from Bergen", project="b", name="ferry")
        assert memory.recall("where does the ferry leave from", project="*").hits[0].project == "b"


def test_nonsense_is_not_answerable_where_all_cosines_are_high(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=Crowded()) as memory:
        for number, text in enumerate(varied(30)):
            memory.remember(text, name=f"n{number}")
        memory.embed()
        known = memory.recall(varied(30)[7]).answerable_score
        unknown = memory.recall("zither quartet rehearsal").answerable_score
        assert unknown < 0.4 < 0.5 < known


def test_what_is_answered_by_words_alone_is_no_doubt(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        for number in range(30):
            memory.remember(f"entry {number} of the harbour log", name=f"n{number}")
        memory.remember("The ferry leaves from Bergen at midnight", name="ferry")
        assert (
            memory.recall("when does the ferry leave Bergen").answerable_score
            > 0.5
            > memory.recall("zither quartet rehearsal log").answerable_score
        )


def test_a_thread_that_is_not_there_yet_is_told(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest([{"text": "the ferry leaves", "speaker": "Bo"}])
        answer = memory.recall("ferry", from_thread="kref://default/nowhere.thread")
        assert len(answer.hits) == 1
        assert any("nowhere.thread" in warning for warning in answer.warnings)


@pytest.mark.parametrize("quote", ['"', "„", "“", "«", "「", "”"])
def test_a_question_of_quotation_marks_is_read_at_once(tmp_path: Path, quote: str) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest([{"text": "the ferry leaves", "speaker": "Bob"}])
        assert not memory.recall("Bob " + quote * 1_000_000).hits


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Müler", "Herr Müller kam an"),
        ("Muller", "Herr Müller kam an"),
        ("Reykjavik", "a trip to Reykjavík"),
        ("Москво", "Мы были в городе Москва"),
        ("Αθινα", "ήταν στην Αθηνα"),
    ],
)
def test_a_misspelt_word_of_any_alphabet_is_found(tmp_path: Path, asked: str, text: str) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("nothing of the kind", name="other")
        memory.remember(text, name="right")
        assert [hit.text for hit in memory.recall(asked).hits] == [text]


def test_a_lane_that_is_off_says_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry leaves from Bergen", name="ferry")
        memory.embed()
        assert set(memory.recall("ferry", lanes=("meaning",)).hits[0].lanes) == {"meaning"}
        assert set(memory.recall("ferry", lanes=("words",)).hits[0].lanes) == {"words"}


def test_strict_takes_what_another_wording_finds_in_a_project_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("The canteen serves food at noon", name="c", project="a")
        memory.remember("Karim must not eat walnuts", name="k", project="b")
        memory.recaller._model = lambda: ScriptedCompleter(["Karim must not eat walnuts"])
        found = memory.recall(
            "which food is dangerous?", project="*", strict=True, reword="model"
        ).hits
        assert "Karim must not eat walnuts" in {hit.text for hit in found}


class Shifted:
    """The vectors of another embedder with a direction added that all of them share: any cosine c
    becomes 0.3 c + 0.7."""

    tokens_max = 256
    name = "fake-shifted"

    def __init__(self) -> None:
        self._inner = HashEmbedder(dimensions=63)
        self.dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = 0.3**0.5 * self._inner.embed(texts)
        return np.column_stack((made, np.full(len(texts), 0.7**0.5, dtype=np.float32)))


def test_what_all_vectors_share_is_not_lent(tmp_path: Path) -> None:
    """Short turns borrow more than long ones, and must not gain by what everything shares."""
    texts = [text if n % 2 else f"{text} " * 6 for n, text in enumerate(varied(400))]
    found: list[dict[str, float]] = []
    for embedder in (HashEmbedder(dimensions=63), Shifted()):
        with opened(tmp_path / f"{embedder.name}.db", embedder=embedder) as memory:
            memory.ingest([{"speaker": "Ana", "text": text} for text in texts], extract=False)
            memory.embed()
            hits = memory.recall("the bakery of the river", lanes=("meaning",), limit=100).hits
            found.append({hit.text: hit.lanes["meaning"] for hit in hits})
    plain, shifted = found
    both = plain.keys() & shifted.keys()
    assert len(both) > 90
    gained = {text: shifted[text] - (0.3 * plain[text] + 0.7) for text in both}
    short, long = (
        np.mean([gain for text, gain in gained.items() if (len(text) > 120) is is_long])
        for is_long in (False, True)
    )
    assert short == pytest.approx(long, abs=0.002)
    assert max(map(abs, gained.values())) < 0.02
