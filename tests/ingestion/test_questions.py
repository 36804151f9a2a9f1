"""What grammar does not read is asked about, and never retires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.belief import Revision
from doxa.ingestion.match import REVISE_AT, match
from doxa.ingestion.questions import ASK_AT, ASKED_MAX, asked_about, likely_replaced
from doxa.language.comparison.likeness import LIKENESS, likeness
from doxa.language.tables.reader import language_of
from tests.fixtures_shared import opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None) as one:
        yield one


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("The contract runs until 2026.", "they renewed the contract through 2028"),
        ("I sleep six hours a night.", "I'm getting eight hours of sleep a night lately"),
        ("Unser Hausarzt ist Dr. Kern.", "wir haben den Hausarzt gewechselt"),
        ("Los logs van a Splunk.", "ahora mandamos los logs a Loki"),
        ("Les logs vont dans Splunk.", "on envoie les logs dans Loki maintenant"),
    ],
)
def test_a_change_that_grammar_misses_is_asked_about(memory: Memory, held: str, said: str) -> None:
    first = memory.remember(held)
    made = memory.remember(said)
    assert [one.kref for one in made.may_contradict] == [first.kref]
    assert any(first.kref in text for text in made.warnings)
    held_now = memory.get(first.kref)
    assert isinstance(held_now, Revision) and held_now.status == "current"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("The shop opens at 9.", "the bakery opens at 6"),
        ("The staging server is in Frankfurt.", "the staging server has 64 GB of memory"),
        ("Bruno drives a bus.", "Bruno collects stamps"),
        ("The concert starts at 20:00.", "The concert now ends at 23:00."),
        ("Le vol pour Lisbonne part à 9 h.", "Le vol de Lisbonne part à 17 h."),
        ("Der Laden verkauft Räder.", "gestern hat es den ganzen Tag geregnet"),
    ],
)
def test_what_may_hold_beside_a_belief_raises_no_question(
    memory: Memory, held: str, said: str
) -> None:
    memory.remember(held)
    assert memory.remember(said).may_contradict == ()


@pytest.mark.parametrize(
    ("stays", "goes", "said"),
    [
        ("La prod est chez OVH.", "La prod est en PHP 7.", "on a passé la prod en PHP 8"),
        ("支付项目用Go写。", "支付项目由孙悦负责。", "支付项目现在由何军负责了"),
        (
            "Die Datenbank steht in Frankfurt.",
            "Die Datenbank läuft auf MySQL 5.7.",
            "die Datenbank läuft inzwischen auf MySQL 8",
        ),
    ],
)
def test_a_value_replaces_only_one_of_its_kind(
    memory: Memory, stays: str, goes: str, said: str
) -> None:
    retired = (memory.remember(stays), memory.remember(goes))[1]
    found = match(memory.store, memory.recaller, said)
    assert {one.kref for one in found.proposals if one.score >= REVISE_AT} == {retired.kref}


def test_no_evidence_reaches_what_revises() -> None:
    for names in (LIKENESS, ("change", "covers_held", "covers_new", "change_covered")):
        assert likely_replaced(dict.fromkeys(names, 1.0)) <= ASKED_MAX < REVISE_AT
    assert asked_about([ASK_AT - 0.01, 0.1]) == []
    assert asked_about([0.3, 0.6, 0.58, 0.57]) == [1, 2]


def test_likeness_needs_one_language_and_a_shared_word() -> None:
    assert likeness("The lamp is red now.", "Der Drucker steht im Flur.") is None
    assert likeness("The lamp is red now.", "The printer is in the hall.") is None
    assert likeness("now", "The lamp is red.") is None
    assert likeness("!", "do it now") is None
    found = likeness("The lamp is red now.", "The lamp is green.")
    assert found is not None
    assert found["change"] == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bruno hat am Wochenende geheiratet", "de"),
        ("Hugo a arrêté le piano", "fr"),
        ("cambié el iPhone por un Pixel", "es"),
        ("Ana moved to München", ""),
        ("Ruth's manager is Al.", ""),
        ("We went to the café in Bogotá", ""),
    ],
)
def test_a_language_is_recognised_by_its_words_and_letters(text: str, code: str) -> None:
    found = language_of(text)
    assert (found.code if found else "") == code
