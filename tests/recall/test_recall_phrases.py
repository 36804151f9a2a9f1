"""Words in quotation marks are looked for one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.language.turns import Turn
from doxa.recall.constants import PHRASE_ROWS_MAX, PHRASES_MAX
from doxa.recall.lanes.phrases import phrases_of
from tests.fixtures_shared import opened

TEXTS = {
    "apart": "horizon, sea: calm, then blue, blue beyond the horizon",
    "phrase": "we read Blue Horizon together last week",
    "blue": "the sky is blue",
    "sea": "the sea was calm that morning",
}


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('who read "blue horizon"?', [("blue", "horizon")]),
        ("who read “Blue Horizons”?", [("blue", "horizon")]),
        (
            "„blau rot“ «bleu rouge» 「青い海原」",
            [("blau", "rot"), ("bleu", "roug"), ("青い", "い海", "海原")],
        ),
        ('"state of the art" "state of the art"', [("state", "art")]),
        ('"one" and "of the" and "', []),
        ("no quotation", []),
        (
            " ".join(f'"word{n} other{n}"' for n in range(9)),
            [(f"word{n}", f"other{n}") for n in range(PHRASES_MAX)],
        ),
    ],
)
def test_phrases_are_read_from_quotation_marks(text: str, phrases: list[tuple[str, ...]]) -> None:
    assert phrases_of(text) == phrases


def test_what_holds_the_phrase_stands_above_what_holds_its_words(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        krefs = {name: memory.remember(text, kind="fact").kref for name, text in TEXTS.items()}
        plain = memory.recall("blue horizon", lanes=("words",)).hits
        quoted = memory.recall('what is "blue horizon"?', lanes=("words",)).hits
        assert [hit.kref for hit in plain[:2]] == [krefs["apart"], krefs["phrase"]]
        assert [hit.kref for hit in quoted[:2]] == [krefs["phrase"], krefs["apart"]]
        assert '"blue horizon"' in quoted[0].why
        assert '"' not in quoted[1].why
        assert quoted[0].score > 1.5 * quoted[1].score


def test_a_phrase_that_nothing_holds_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for text in TEXTS.values():
            memory.remember(text, kind="fact")
        plain = memory.recall("sea blue", lanes=("words",))
        quoted = memory.recall('"sea blue"', lanes=("words",))
        assert [(hit.kref, hit.score) for hit in plain.hits] == [
            (hit.kref, hit.score) for hit in quoted.hits
        ]
        assert plain.answerable_score == quoted.answerable_score


def test_a_phrase_does_not_run_from_one_field_into_the_next(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember(
            "we sailed until the horizon was blue", kind="fact", topics=("water", "glass sea")
        )
        for text in TEXTS.values():
            memory.remember(text, kind="fact")
        assert '"' not in memory.recall('"blue water"', lanes=("words",)).hits[0].why
        assert '"' not in memory.recall('"water glass"', lanes=("words",)).hits[0].why
        assert '"glass sea"' in memory.recall('"glass sea"', lanes=("words",)).hits[0].why


def test_retired_and_other_projects_hold_no_phrase(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        old = memory.remember("we read Blue Horizon together", kind="fact", project="a")
        memory.remember("horizon of a blue kind", kind="fact", project="a")
        memory.remember("a novel, Blue Horizon", kind="fact", project="b")
        memory.forget(old.kref)
        hits = memory.recall('"blue horizon"', project="a", lanes=("words",)).hits
        assert [hit.text for hit in hits] == ["horizon of a blue kind"]
        assert '"' not in hits[0].why


def test_a_speaker_named_within_a_phrase_stays_in_it(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        said = {"Anna": "I read Anna Karenina twice", "Bo": "I like it"}
        memory.ingest(
            [
                Turn("t", "s", speaker, "person", text, None, speaker)
                for speaker, text in said.items()
            ]
        )
        assert (
            '"anna karenina"'
            in memory.recall('Who read "Anna Karenina"?', lanes=("words",)).hits[0].why
        )


def test_only_the_latest_of_very_many_are_read(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("number 0 red green", kind="fact")
        for number in range(PHRASE_ROWS_MAX):
            memory.remember(
                f"number {number + 1} red, then green"
                if number % 2
                else f"number {number + 1} green red",
                kind="fact",
            )
        hit = memory.recall('"red green"', lanes=("words",), limit=50).hits[0]
        assert hit.kref != first.kref and '"red green"' in hit.why
