"""Fields of a belief in recall: found by the real model in other words, named in the reason, and
entities in their lane."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from doxa.models import Embedder, HashEmbedder
from tests.fixtures_shared import opened

DAY = "kref://default/day.decision?r=1"
WORDS = ("words",)
LONG = (
    "The committee met again and spoke at length about the parking spaces, the roof and the colour"
    " of the fence. "
)
OTHERS = (
    "The launch is on 10 April",
    "The printer is on the second floor",
    "The budget is 900 euros",
    "The canteen closes at three",
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("on which day may marketing publish the news?", "implications"),
        ("why was the shop unable to take payments?", "events"),
        ("which rule is there about Christmas?", "decisions"),
        ("who replaces people during the summer vacation?", "questions"),
    ],
)
@pytest.mark.parametrize("length", [1, 40])
def test_each_field_is_found_in_other_words_however_long_the_text_is(
    tmp_path: Path, minilm: Embedder, question: str, name: str, length: int
) -> None:
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        for text in OTHERS:
            memory.remember(text)
        memory.remember(
            LONG * (length - 1) + "We deploy on Thursdays",
            name="day",
            kind="decision",
            events=[
                "The Friday release broke the checkout -> no customer could pay until Saturday"
            ],
            implications=[
                "Nobody has to repair production at the weekend",
                "Announcements wait until the end of the week",
            ],
            questions=["Who deploys in August?"],
            decisions=["No release before a public holiday"],
            entities=["checkout"],
        )
        memory.remember(LONG * (length - 1) + "We meet on Thursdays", name="meeting")
        memory.embed()
        hit = memory.recall(question, lanes=("meaning",)).hits[0]
        assert hit.kref == DAY
        assert f"by its {name}" in hit.why


def test_a_field_is_a_reason_only_where_it_says_most(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=384)) as memory:
        memory.remember(
            "The ferry leaves from Bergen", name="ferry", implications=["Pack warm clothes"]
        )
        memory.embed()
        whys = [
            memory.recall(question, lanes=("meaning",)).hits[0].why
            for question in ("The ferry leaves from Bergen", "Pack warm clothes")
        ]
        assert [why.partition(" by its ")[2] for why in whys] == ["", "implications"]
        assert "by its" not in memory.recall("ferry", lanes=WORDS).hits[0].why


def test_what_a_belief_is_about_counts_in_the_lane_of_entities(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("She prefers green tea", name="hers", entities=["Ana Miller", "tea"])
        memory.remember("He prefers green tea", name="his", entities=["Bo", "teapot", "New Delhi"])
        for question, krefs in (
            ("Which green does Ana Miller prefer?", ["hers"]),
            ("Does Ana prefer green?", []),
            ("What does bo prefer?", ["his"]),
            ("green tea", ["hers"]),
            ("Is green new?", []),
            ("green in New Delhi", ["his"]),
        ):
            hits = memory.recall(question).hits
            assert [
                hit.kref.split("/")[-1].split(".")[0] for hit in hits if hit.lanes.get("entities")
            ] == krefs, question
            for hit in hits:
                assert ("about what the question names" in hit.why) == (
                    hit.lanes.get("entities") == 1
                )
            if krefs:
                assert hits[0].kref == f"kref://default/{krefs[0]}.fact?r=1"
        without = memory.recall("What does Bo prefer?", lanes=WORDS).hits
        assert all("entities" not in hit.lanes for hit in without)


def test_a_speaker_who_is_named_brings_beliefs_about_that_person_along(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest(
            [
                {"speaker": "Ana Miller", "text": "I took the early ferry"},
                {"speaker": "Bo", "text": "The ferry is late"},
            ],
            extract=False,
        )
        memory.remember("She hates the ferry", name="hers", entities=["Ana"])
        memory.remember("He hates the ferry", name="his", entities=["Bo"])
        hits = {hit.text: hit for hit in memory.recall("What did Ana say of the ferry?").hits}
        named = {text for text, hit in hits.items() if hit.lanes.get("entities") == 1}
        assert named == {"I took the early ferry", "She hates the ferry"}
        assert 'said by "Ana Miller", whom the question names' in hits["I took the early ferry"].why
        assert "about what the question names" in hits["She hates the ferry"].why
        memory.remember("They saw a glacier", name="theirs")
        likely = memory.recall("What did Ana say of the glacier?").answerable_score
        memory.revise(
            "kref://default/theirs.fact", "They saw a glacier", entities=["glacier"]
        )  # said by nobody whom the question names
        assert memory.recall("What did Ana say of the glacier?").answerable_score == pytest.approx(
            likely, abs=0.02
        )


def test_entities_of_what_is_not_believed_or_hidden_count_for_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("She prefers green tea", name="hers", entities=["Ana"])
        memory.revise("kref://default/hers.fact", "She prefers black tea", entities=["Zoe"])
        assert [
            hit.lanes.get("entities") for hit in memory.recall("What tea does Ana prefer?").hits
        ] == [None]
        assert [
            hit.lanes.get("entities") for hit in memory.recall("What tea does Zoe prefer?").hits
        ] == [1]
        memory.deprecate("kref://default/hers.fact")
        assert memory.recall("What tea does Zoe prefer?").hits == ()


def test_a_fact_that_repeats_the_text_is_not_indexed_again(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana plays the clarinet", name="plain")
        memory.remember(
            "Ana plays the clarinet",
            name="repeated",
            project="other",
            facts=[("Ana", "plays", "the clarinet")],
        )
        memory.remember(
            "Ana plays the clarinet",
            name="added",
            project="third",
            facts=[("Ana", "plays", "clarinet"), ("Ana", "member of", "orchestra")],
        )
        memory.embed()
        held: dict[str, tuple[object, ...]] = {}
        with memory.store.read() as reader:
            for project in ("default", "other", "third"):
                held[project] = tuple(
                    reader.rows(
                        "SELECT d.length, count(*), min(v.data) FROM doc d JOIN vector v ON v.id"
                        " >> 7 = (d.scope << 30) + d.doc JOIN token t ON t.id = d.scope WHERE"
                        " t.text = ? GROUP BY d.scope, d.doc",
                        (f"scope:{project}",),
                    )[0]
                )
        assert held["other"] == held["default"]
        assert held["default"][:2] == (3, 1) and held["third"][0] == 6
        for project, count in (("default", 0), ("other", 0), ("third", 1)):
            assert len(memory.recall("orchestra", project=project, lanes=WORDS).hits) == count
        assert memory.check() == []


def test_a_file_that_indexed_facts_twice_is_indexed_anew_and_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    facts = [("Ana", "plays", "the clarinet")]
    with monkeypatch.context() as before, opened(path) as memory:
        everything = lambda rule, props, name: list(props.get(name) or ())  # noqa: E731
        for module in ("doxa.store.indexing.search_texts", "doxa.recall.lanes.meaning"):
            before.setattr(f"{module}.added_statements", everything)
        memory.remember("Ana plays the clarinet", name="it", facts=facts, events=["A concert"])
        memory.remember("Bo plays the harp", name="other")
        assert memory.embed() == 2
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE meta SET value = 'snowball-english-2' WHERE key = 'analyser'")
    raw.close()
    with opened(path) as memory:
        assert memory.check() == []
        assert memory.embed() == 1  # the belief that held its fact twice
        hit = memory.recall("A concert", lanes=("meaning",)).hits[0]
        assert "by its events" in hit.why and memory.check() == []
