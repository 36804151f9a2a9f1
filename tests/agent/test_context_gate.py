"""The injection gate: what it reads in a message, in several languages."""

from __future__ import annotations

import pytest

from doxa.agent.context.gate import (
    asks_for_the_past,
    denies_memory,
    is_noise,
    proper_nouns,
    question_of,
    requests,
)
from doxa.redaction.stripping import BLOCK


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What did I tell you about the boat?", True),
        ("As we discussed last week, go on.", True),
        ("Weißt du noch, wie der Hund heißt?", True),
        ("¿Te acuerdas de la clave?", True),
        ("Tu te souviens du nom ?", True),
        ("你还记得我的狗叫什么吗", True),
        ("Write a test for the parser.", False),
        ("The earliest date wins.", False),
        ("Schreibe einen Test.", False),
    ],
)
def test_words_that_ask_for_the_past(text: str, asks: bool) -> None:
    assert asks_for_the_past(text) is asks


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where does Anna Weber live?", ["Anna Weber"]),
        ("The boat Albatros lies in Kappeln.", ["Albatros", "Kappeln"]),
        ("We met at the Museum of the Moon yesterday", ["Museum of the Moon"]),
        ("Why is it slow? Because of us.", []),
        ("It works:\n  Berta wrote it. Anna read it (Carla too)", []),
        ("It works\n \n  Berta", []),
        (" Berta, Anna and Berta", ["Berta", "Anna and Berta"]),
        ("write a test", []),
    ],
)
def test_proper_nouns(text: str, names: list[str]) -> None:
    assert proper_nouns(text) == names


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Where does the boat lie?", True),
        ("We are back. Could you book the same table?", True),
        ("Book the table that I like.", True),
        ("Wo liegt das Boot?", True),
        ("你知道船在哪里吗", True),
        ("The boat lies in Kappeln.", False),
        ("I had soup for lunch, and it was good.", False),
    ],
)
def test_who_states_something_requests_nothing(text: str, asks: bool) -> None:
    assert requests(text) is asks


def test_a_message_that_asks_nothing_is_no_question() -> None:
    for text in ("ok", "thanks!", "/compact", "hm, no", f"<{BLOCK}>Where is it kept?</{BLOCK}>"):
        assert question_of(text) == ""
    assert question_of("x" * 50 + " where is it?").endswith("where is it?")


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("Do you remember me?", True),
        ("ok", True),
        ("Do you remember the port? It is 8080, by the way.", False),
        ("The boat lies in Kappeln.", False),
        ("Weißt du noch?", True),
    ],
)
def test_noise(text: str, noise: bool) -> None:
    assert is_noise(text) is noise


def test_an_answer_that_nothing_is_remembered() -> None:
    assert denies_memory("I don't have any memory of earlier conversations.")
    assert denies_memory("Ich erinnere mich nicht daran.")
    assert not denies_memory("The port is 8080, as you said.")
