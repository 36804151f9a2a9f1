"""The everyday questions: the cases are read, and recall by words reaches given rates on them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from bench.questions import CASES, load, play, run

# The share of questions whose wanted text comes first, without a model of meaning.
FIRST = {"vocative": 0.85, "speaker": 0.85, "scope": 0.75, "de question": 0.7, "zh question": 0.9}


def test_the_cases_name_what_is_held_and_every_name_is_used_once() -> None:
    cases = load()
    assert len(cases) >= 150
    names = [(case.category, case.name) for case in cases]
    assert len(set(names)) == len(names)


def test_a_case_wants_something_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text("speaker: x\nAna: I sail.\n> Who sails?\n----\nI row.\n")
    with pytest.raises(AssertionError, match="I row"):
        load(path)


def test_everyday_questions_find_what_is_wanted_first_by_words_and_names() -> None:
    lanes = {"plain": ("words", "entities")}
    found: dict[str, list[bool]] = defaultdict(list)
    for case, ranks in play([one for one in load() if one.category in FIRST], None, lanes):
        found[case.category].append(ranks["plain"] == 1)
    rates = {category: sum(first) / len(first) for category, first in found.items()}
    assert rates.keys() == FIRST.keys()
    assert {name: rate for name, rate in rates.items() if rate < FIRST[name]} == {}


def test_the_report_has_a_row_for_each_category(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(
        "speaker: a\nBo: I like red.\nAna: I like blue.\n"
        "> What does Ana like?\n----\nI like blue.\n\n"
        "fr question: b\nLe chat dort.\n> Qui dort ?\n----\nLe chat dort.\n"
    )
    report = run(path, None, seed=1)
    assert report.figures["fitted.fr_question.doxa.hit_at_1"] == 1
    assert report.figures["fitted.speaker.doxa.hit_at_1"] == 1
    assert CASES.exists()
