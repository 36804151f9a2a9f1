"""Fields of a belief in recall: found by the real model in other words, named in the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.models import Embedder, HashEmbedder
from tests.fixtures_shared import opened

DAY = "kref://default/day.decision?r=1"
WORDS = ("words",)
LONG = "The committee met again and spoke at length about the parking spaces, the roof and the colour of the fence. "
OTHERS = ("The launch is on 10 April", "The printer is on the second floor", "The budget is 900 euros", "The canteen closes at three")


@pytest.mark.parametrize(("question", "name"), [
    ("on which day may marketing publish the news?", "implications"), ("why was the shop unable to take payments?", "events"),
    ("which rule is there about Christmas?", "decisions"), ("who replaces people during the summer vacation?", "questions"),
])  # fmt: skip
@pytest.mark.parametrize("length", [1, 40])
def test_each_field_is_found_in_other_words_however_long_the_text_is(
    tmp_path: Path, minilm: Embedder, question: str, name: str, length: int
) -> None:
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        for text in OTHERS:
            memory.remember(text)
        memory.remember(
            LONG * (length - 1) + "We deploy on Thursdays", name="day", kind="decision",
            events=["The Friday release broke the checkout -> no customer could pay until Saturday"],
            implications=["Nobody has to repair production at the weekend", "Announcements wait until the end of the week"],
            questions=["Who deploys in August?"], decisions=["No release before a public holiday"], entities=["checkout"],
        )  # fmt: skip
        memory.remember(LONG * (length - 1) + "We meet on Thursdays", name="meeting")
        memory.embed()
        hit = memory.recall(question, lanes=("meaning",)).hits[0]
        assert hit.kref == DAY
        assert f"by its {name}" in hit.why


def test_a_field_is_a_reason_only_where_it_says_most(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=384)) as memory:
        memory.remember("The ferry leaves from Bergen", name="ferry", implications=["Pack warm clothes"])
        memory.embed()
        whys = [memory.recall(question, lanes=("meaning",)).hits[0].why for question in ("The ferry leaves from Bergen", "Pack warm clothes")]
        assert [why.partition(" by its ")[2] for why in whys] == ["", "implications"]
        assert "by its" not in memory.recall("ferry", lanes=WORDS).hits[0].why
