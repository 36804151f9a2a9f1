"""A question that narrates a scene and quotes what was then said asks for what is quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.models import Embedder
from doxa.recall.request import quoted_request
from tests.fixtures_shared import opened


@pytest.mark.parametrize(
    ("asked", "request_"),
    [
        ("Ana got in late. She told the car: 'My usual light, please.'", "My usual light, please."),
        ("Ana said: \u201cWake me early.\u201d", "Wake me early."),
        ("Ana sagte: \u201eWeck mich bald auf.\u201c", "Weck mich bald auf."),
        ("Ana said: 'No.' Tom told her: 'Then open the window.'", "Then open the window."),
        ("Tom asked: 'Is it late?' Ana closed the door.", "Is it late?' Ana closed the door."),
        ("Where did Ana put the 'blue folder' of the trip?", ""),
        ("Ana said: 'Yes.'", ""),
        ("'Open the window, please.'", ""),
        ("Remember the rule: no calls after nine.", ""),
        ("", ""),
    ],
)
def test_the_request_is_what_follows_the_last_speech_mark(asked: str, request_: str) -> None:
    assert quoted_request(asked) == request_


_SCENES = [
    "We parked at the railway station before the train came in",
    "The station hall was crowded early in the morning",
    "He waited at the station with two heavy bags",
    "The morning train to the coast was late again",
    "They walked from the station to the hotel in the rain",
    "She likes the seat heating on level three",
]


def test_the_quoted_words_outweigh_the_scene(tmp_path: Path, minilm: Embedder) -> None:
    scene = "At 8:00 AM, after the train came in, they left the crowded station hall with two bags."
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        for number, text in enumerate(_SCENES):
            memory.remember(text, name=f"n{number}")
        memory.embed()
        told = memory.recall(f"{scene} She told the car: 'Make my seat as warm as I like it.'").hits
        alone = memory.recall(scene).hits
    assert told[0].text == _SCENES[-1]
    assert alone[0].text != _SCENES[-1]
