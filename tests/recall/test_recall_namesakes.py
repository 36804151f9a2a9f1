"""Namesakes do not stand out, and a question is asked by the other names of what it names too."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.models import Embedder
from doxa.recall.namesakes import name_others, names_in, other_names
from tests.fixtures_shared import opened

WORDS = ("words",)


def filled(memory: Memory, *texts: str) -> None:
    for number, text in enumerate(texts):
        memory.expand(text, name=f"line-{number}")
    memory.embed()


def found(memory: Memory, question: str, **options: object) -> set[str]:
    return {hit.text for hit in memory.recall(question, **options).hits}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yesterday Ana Ferreira met Bo.", ["Ana Ferreira", "Bo"]),
        ("The server atlas-2 is in Graz", ["atlas-2", "Graz"]),
        ("Dr. Okafor rang on Monday in May", ["Dr. Okafor"]),
        ("what is ana allergic to?", []),
        ("We moved. My flat is on the fifth floor.", []),
    ],
)
def test_names_are_read(text: str, names: list[str]) -> None:
    assert [name.text for name in names_in(text)] == names


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("What is Martin Osei allergic to?", "Martin Kowalski is allergic to wasps", True),
        ("What is Martin Osei allergic to?", "Martin Osei is allergic to nuts", False),
        ("What is Martin Osei allergic to?", "Martin is allergic to nuts", False),
        ("What is Martin allergic to?", "Martin Kowalski is allergic to wasps", False),
        ("What is Martin Osei allergic to?", "Martin Kowalski and Martin Osei dance", False),
        ("What is Martin Osei allergic to?", "Bo is allergic to nuts", False),
        ("What runs on atlas-2?", "The mail relay runs on atlas-1", True),
        ("What runs on the server?", "The mail relay runs on atlas-1", False),
        ("Which medicine is Mr Okafor on?", "Mrs Okafor takes ramipril", True),
        ("Where is York House?", "The harbour of New York is large", True),
    ],
)
def test_a_namesake_is_another(question: str, text: str, other: bool) -> None:
    assert name_others(question, [text]) == [other]


@pytest.mark.parametrize(
    ("declared", "questions"),
    [
        ("My cousin Katharina Berg goes by Kit.", ["Where does Kit live?"]),
        ("Kit is short for Katharina", ["Where does Kit live?"]),
        ("Katharina, whom everybody calls Kit, sings", ["Where does Kit live?"]),
        ("Katharina is also known as Kit", ["Where does Kit live?"]),
        ("Katharina's nickname is Kit", ["Where does Kit live?"]),
        ("Katharina's dog is called Kit", []),
        ("Katharina called Kit yesterday", []),
        ("Bo goes by Kit", []),
    ],
)
def test_an_alias_is_what_a_text_declares(declared: str, questions: list[str]) -> None:
    assert other_names("Where does Katharina live?", ["We dance", declared]) == questions
    assert other_names("where do we live?", [declared]) == []


def test_a_greeting_or_number_makes_no_namesake() -> None:
    greeted = ["Hi Jon, how is the studio?", "Hi Gina! I went to the gym."]
    assert name_others("When did Jon go to the gym?", greeted) == [False, False]
    assert name_others("What runs on atlas-2?", ["The backup runs in rack-2"]) == [False]


def test_an_alias_is_not_another() -> None:
    declared = "Martin Osei goes by Martin Small"
    question, text = "What does Martin Osei eat?", "Martin Small eats rice"
    assert name_others(question, [text]) == [True]
    assert name_others(question, [declared, text]) == [False, False]


def test_strict_leaves_a_namesake_out_with_vectors_and_without(
    tmp_path: Path, minilm: Embedder
) -> None:
    texts = (
        "Martin Kowalski is allergic to wasp stings.",
        "Martin Osei is allergic to shellfish.",
        "The accounts close on the last day of the month.",
        "Bicycles are rented out from nine o'clock.",
    )
    question = "What is Martin Osei allergic to?"
    for name, embedder in (("a.db", minilm), ("b.db", None)):
        with opened(tmp_path / name, embedder=embedder) as memory:
            filled(memory, *texts)
            assert found(memory, question, strict=True) == {texts[1]}
            assert texts[0] in found(memory, question)


def test_a_question_finds_what_is_said_by_the_other_name(tmp_path: Path, minilm: Embedder) -> None:
    texts = (
        "My cousin Katharina goes by Kit.",
        "Kit is moving to Bergen in August.",
        "Kate is my neighbour; she waters the plants.",
        "The plants need water twice a week.",
    )
    question = "Where is Katharina moving?"
    with opened(tmp_path / "a.db", embedder=minilm) as memory:
        filled(memory, *texts)
        assert texts[1] in found(memory, question, strict=True)
        assert {hit.text for hit in memory.recall(question).hits[:2]} == {*texts[:2]}
        assert found(memory, "Where is Katharina?", lanes=WORDS) == {*texts[:2]}
        memory.deprecate("kref://default/line-0.fact")  # the alias is not believed any more
        assert found(memory, "Where is Katharina?", lanes=WORDS) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Hello!\nKatharina goes by Kit.",
        "Katharina is just called Kit, \U0001f44b",
        "Katharina, \u017fhort for Kit",
    ],
)
def test_a_wording_counts_in_any_line_and_alphabet(text: str) -> None:
    assert other_names("Where is Katharina moving?", [text]) == ["Where is Kit moving?"]
