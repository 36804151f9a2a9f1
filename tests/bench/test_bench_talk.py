"""Dialogues with updates are read as they are written, and what recall claims is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import talk
from bench.talk import ALONE, TOGETHER, UPDATE, load, play

WRITTEN = """# a comment

update: rent
[Ana] My rent is 900 euros.
...
[Ana] They raised it, my rent is 950 euros.
...
[Ana] My rent is 980 euros.
? How much is my rent?
first: 3
replaces: 2 > 1, 3 > 2

thing: tea
[user] I drink tea.
[assistant] Good.
? What do I drink?
first: 1
"""


def test_a_dialogue_is_read(tmp_path: Path) -> None:
    (tmp_path / "cases.txt").write_text(WRITTEN)
    rent, tea = load(tmp_path / "cases.txt")
    assert (rent.kind, rent.name, len(rent.turns)) == (UPDATE, "rent", 3)
    assert [thread for thread, *_ in rent.turns] == [0, 1, 2]
    assert rent.replaced == {(2, 1), (3, 2), (3, 1)}
    assert tea.asked[0].first == {1} and not tea.replaced


@pytest.mark.parametrize(
    "text", ["update: x\n[A] b\n? c\nfirst: 1", "thing: x\n[A] b", "thing: x\nb\n? c\nfirst: 1"]
)
def test_what_is_not_a_dialogue_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.txt").write_text(text)
    with pytest.raises(ValueError, match="x: "):
        load(tmp_path / "cases.txt")


def test_claims_are_counted(tmp_path: Path) -> None:
    (tmp_path / "cases.txt").write_text(WRITTEN)
    outcomes = play(load(tmp_path / "cases.txt"), None)
    assert [one.scope for one in outcomes] == [ALONE, TOGETHER] * 2
    rent, _, tea, _ = outcomes
    assert rent.right and rent.claims and all(true for *_, true in rent.claims)
    assert tea.right and not tea.claims


def test_the_dialogues_are_many_and_half_of_them_tempt() -> None:
    dialogues = load(talk.FOLDER / talk.SETS["fitted"])
    updates = sum(dialogue.kind == UPDATE for dialogue in dialogues)
    assert len(dialogues) > 100 and 40 < updates < 60
    assert len({dialogue.kind for dialogue in dialogues}) == 9
