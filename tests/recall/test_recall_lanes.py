"""What each lane other than words and meaning finds, reports and changes; modes; what happens to a
ranking before it is an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa import InputError, Memory
from doxa.base.clock import FakeClock, parse_time
from doxa.models import Completion, HashEmbedder, Message, OverlapReranker, ScriptedCompleter
from doxa.recall.expansion import split_question
from doxa.recall.fusion import fuse
from doxa.recall.lane_names import LANES, MODES
from doxa.recall.lanes.time import TimeRange, nearness
from doxa.recall.types import RERANKS, REWORDS
from tests.fixtures_shared import opened

WORDS = ("words",)
DAY = 86_400 * 10**9


def texts(memory: Memory, question: str, **options: object) -> list[str]:
    return [hit.text for hit in memory.recall(question, **options).hits]  # type: ignore[arg-type]


def test_a_time_that_is_named_is_found_by_when_it_was_said_and_by_what_it_tells(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        said = (
            ("2023-05-08", "The walk was long"),
            ("2023-07-02", "The walk was short"),
            ("2023-09-20", "I recall our walk of 5 May 2023"),
        )
        for day, text in said:
            memory.ingest(
                [{"speaker": "Ana", "text": text, "time": f"{day}T10:00:00Z"}],
                thread=day,
                extract=False,
            )
        lanes = ("words", "time")
        hits = memory.recall("How was the walk in May 2023?", lanes=lanes).hits
        assert {hit.text for hit in hits[:2]} == {
            "The walk was long",
            "I recall our walk of 5 May 2023",
        }
        assert all(
            "of the time that the question names" in hit.why and hit.lanes["time"] > 0.5
            for hit in hits[:2]
        )
        assert "time" not in memory.recall("How was the walk?", lanes=lanes).hits[0].lanes


def test_a_time_names_candidates_that_share_nothing_else(tmp_path: Path) -> None:
    clock = FakeClock(parse_time("2026-03-12T12:00:00Z"))
    with opened(tmp_path / "m.db", embedder=HashEmbedder(), clock=clock) as memory:
        for number in range(400):
            time = "2026-03-03T09:00:00Z" if number == 7 else "2025-01-01T09:00:00Z"
            memory.ingest(
                [{"speaker": "Ana", "text": f"note {number} of things", "time": time}],
                thread=str(number),
                extract=False,
            )
        memory.embed()
        assert "note 7 of things" in texts(memory, "zyx last week", limit=40)
        assert "note 7 of things" not in texts(
            memory, "zyx last week", limit=40, lanes=("words", "meaning")
        )


@given(st.integers(-(10**18), 10**18), st.integers(1, 10**17), st.integers(-(10**18), 10**18))
def test_nearness_to_a_time_is_one_inside_and_falls_outside(
    start: int, length: int, time: int
) -> None:
    named = TimeRange(start, start + length)
    value = float(nearness(np.array([time]), [named])[0])
    assert (value == 1) == (start <= time < start + length) or 1 - value < 1e-6
    assert (
        float(nearness(np.array([time - 10**15 if time < start else time + 10**15]), [named])[0])
        <= value
        or start <= time < start + length
    )


def test_what_is_linked_with_the_best_hits_comes_along(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        base = memory.remember("The shop keeps its orders in PostgreSQL", name="db")
        backup = memory.remember("pg_dump runs at three", name="backup", depends_on=[base.kref])
        memory.remember("Nightly reports go to Bo", name="report", depends_on=[backup.kref])
        memory.remember("The canteen has soup", name="soup")
        found = memory.recall("Where are orders kept?").hits
        assert [hit.text for hit in found] == [
            "The shop keeps its orders in PostgreSQL",
            "pg_dump runs at three",
            "Nightly reports go to Bo",
        ]
        assert found[1].lanes["graph"] == pytest.approx(0.5, abs=0.01) and found[2].lanes[
            "graph"
        ] == pytest.approx(0.25 / 2**0.5, abs=0.01)
        assert f"depends on {base.kref}" in found[1].why
        assert f"linked with {base.kref} by DEPENDS_ON and DEPENDS_ON" in found[2].why
        assert texts(memory, "Where are orders kept?", lanes=WORDS) == [
            "The shop keeps its orders in PostgreSQL"
        ]
        memory.revise("kref://default/db.fact", "The shop keeps its orders in MySQL")
        assert "pg_dump runs at three" in texts(
            memory, "Where are orders kept?"
        )  # linked with a revision that was superseded
        memory.deprecate("kref://default/backup.fact")
        assert texts(memory, "Where are orders kept?") == ["The shop keeps its orders in MySQL"]
        assert "pg_dump runs at three" not in texts(
            memory, "Where are orders kept?", kinds=["decision"]
        )


def test_why_names_the_hit_and_the_edge_by_which_a_memory_came(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        said = {"speaker": "Ana", "text": "Bo signs every invoice", "id": "t1"}
        memory.ingest([said], thread="office", extract=False)
        (turn,) = memory.recall("who signs invoices?").hits
        rule = memory.remember("Payments need approval", name="rule", derived_from=[turn.kref])
        found = {hit.kref: hit.why for hit in memory.recall("who signs invoices?").hits}
        assert f"derived from {turn.kref}" in found[rule.kref]
        found = {hit.kref: hit.why for hit in memory.recall("payments need approval").hits}
        assert f"{rule.kref} is derived from it" in found[turn.kref]
        held = memory.remember("The bank closes at noon", name="bank")
        slot = memory.remember("Wires go out early", name="slot", depends_on=[held.kref])
        found = {hit.kref: hit.why for hit in memory.recall("when do wires go out?").hits}
        assert f"{slot.kref} depends on it" in found[held.kref]
        memory.remember("Desk chairs are blue", name="chair")
        memory.link("kref://default/slot.fact", "kref://default/chair.fact", kind="REFERENCED")
        found = {hit.text: hit.why for hit in memory.recall("when do wires go out?").hits}
        assert f"linked with {slot.kref} by REFERENCED" in found["Desk chairs are blue"]


def test_newer_wins_where_all_else_is_equal_and_policies_lower_what_fades(tmp_path: Path) -> None:
    clock = FakeClock(parse_time("2026-03-12T12:00:00Z"))
    with opened(tmp_path / "m.db", embedder=None, clock=clock) as memory:
        for thread, day in (("one", "2026-01-01"), ("two", "2026-03-11")):
            said = {
                "speaker": "Ana",
                "text": f"the ferry is late at pier {thread}",
                "time": f"{day}T10:00:00Z",
            }
            memory.ingest([said], thread=thread, extract=False)
        assert (
            texts(memory, "ferry", lanes=("words", "recency"))[0] == "the ferry is late at pier two"
        )
        assert texts(memory, "ferry", lanes=WORDS)[0] == "the ferry is late at pier two"
        memory.run(
            "CREATE DECAY PROFILE slow FOR (n:Exchange) APPLY { DECAY HALF LIFE 864000 DECAY"
            " THRESHOLD 0.01 }"
        )
        clock.advance(days=20)
        hit = memory.recall("ferry", lanes=("words", "policy")).hits[0]
        assert hit.lanes["policy"] == pytest.approx(0.25, abs=0.02)
        assert "faded to 25% by its policy" in hit.why
        assert "policy" not in memory.recall("ferry", lanes=WORDS).hits[0].lanes


def test_the_side_that_is_asked_for_is_preferred(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        for role, colour in (("assistant", "red"), ("user", "blue")):
            memory.ingest(
                [{"speaker": role, "role": role, "text": f"Paint the roof {colour}."}],
                thread=colour,
                extract=False,
            )
        assert (
            texts(memory, "What did I say about paint for the roof?")[0] == "Paint the roof blue."
        )
        assert (
            texts(memory, "What did you suggest as paint for the roof?")[0] == "Paint the roof red."
        )
        assert (
            "whose words are asked for"
            in memory.recall("What did I say about paint for the roof?").hits[0].why
        )


@pytest.fixture
def boats(tmp_path: Path) -> Memory:
    memory = opened(tmp_path / "m.db", embedder=HashEmbedder())
    for thread in ("one", "two"):
        said = [f"boat {number} of thread {thread} has a sail" for number in range(9)]
        turns = [
            {"speaker": "Ana", "text": text, "time": f"2026-01-{number + 10}T10:00:00Z"}
            for number, text in enumerate(said)
        ]
        memory.ingest(turns, thread=thread, extract=False)
    memory.embed()
    return memory


def test_the_thread_that_a_question_comes_from_counts_more(boats: Memory) -> None:
    thread = boats.recall("boat sail", limit=1, thread="").hits[0].source.replace("one", "two")
    assert thread.endswith("two.thread")
    hits = boats.recall("boat sail", from_thread=thread).hits
    assert all(hit.source == thread for hit in hits[:9])
    assert hits[0].score == pytest.approx(
        1.8 * boats.recall("boat sail", thread=thread).hits[0].score, rel=0.05
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "lanes", [LANES, WORDS, ("meaning",), ("words", "meaning"), ("meaning", "recency")]
)
def test_every_mode_and_lane_answers(boats: Memory, mode: str, lanes: tuple[str, ...]) -> None:
    hits = boats.recall("boat 3 of thread two has a sail", mode=mode, lanes=lanes, limit=18).hits
    assert len(hits) == 18
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    if mode != "rrf":
        assert hits[0].text == "boat 3 of thread two has a sail"


@pytest.mark.parametrize("mode", MODES)
def test_a_better_value_in_any_lane_never_lowers_a_score(mode: str) -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        lanes = {name: random.random(6).astype(np.float32) for name in LANES}
        belief = np.zeros(6, dtype=np.float32)
        scores = fuse(lanes, average=0.3, spread=0.1, belief=belief, mode=mode, statement=False)
        for name in LANES:
            better = {**lanes, name: lanes[name].copy()}
            better[name][2] = min(1.0, better[name][2] + 0.2)
            after = fuse(better, average=0.3, spread=0.1, belief=belief, mode=mode, statement=False)
            assert np.argsort(-after, kind="stable").tolist().index(2) <= np.argsort(
                -scores, kind="stable"
            ).tolist().index(2)


def test_strict_leaves_out_what_does_not_stand_out(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        for number in range(60):
            memory.remember(
                f"entry {number} tells of the harbour master and his dog", name=f"n{number}"
            )
        memory.remember("a parcel with a foreign stamp came for Okafor", name="p")
        memory.embed()
        assert len(texts(memory, "quantum flux zzz", limit=70)) == 61
        nothing = memory.recall("quantum flux zzz", strict=True, limit=70)
        assert not nothing.hits and "without strict" in nothing.warnings[-1]
        asked = "which parcel came for Okafor"
        assert texts(memory, asked, strict=True) == [
            "a parcel with a foreign stamp came for Okafor"
        ]
        assert len(texts(memory, asked, limit=70)) == 61
        # without vectors what covers as good as nothing is left out all the same
        assert len(texts(memory, "what does entry 7 tell of the dog", lanes=WORDS)) == 10
        by_words = texts(memory, "which parcel came for his dog", strict=True, lanes=WORDS)
        assert by_words[0].startswith("a parcel")


def test_a_link_carries_nothing_unrelated_past_strict(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        memory.remember("the turbine supplier is Kestrel", name="a")
        memory.remember("lunch is served at noon", name="b", derived_from=["kref://default/a.fact"])
        memory.remember("the turbine supplier of the old plant was Merlin", name="c")
        memory.embed()
        asked = "who is the turbine supplier"
        linked = next(h for h in memory.recall(asked).hits if h.text.startswith("lunch"))
        assert linked.lanes["graph"] > 0
        assert "lunch is served at noon" not in texts(memory, asked, strict=True)


def test_diverse_hits_are_unlike_each_other(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        for number in range(5):
            memory.remember(f"the ferry to Bergen leaves at noon, note {number}", name=f"f{number}")
        memory.remember("the ferry carries cars and a crane", name="c")
        memory.embed()
        assert "the ferry carries cars and a crane" not in texts(
            memory, "when does the ferry to Bergen leave", limit=3
        )
        assert "the ferry carries cars and a crane" in texts(
            memory, "when does the ferry to Bergen leave", limit=3, diversity=0.7
        )


def test_hits_in_the_order_of_time(boats: Memory) -> None:
    hits = boats.recall("boat sail", order="time").hits
    assert [hit.time for hit in hits] == sorted(hit.time for hit in hits)
    assert {hit.kref for hit in hits} == {hit.kref for hit in boats.recall("boat sail").hits}


def test_far_siblings_fall_out_of_an_answer_with_history(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        memory.remember("the ferry leaves at noon from Bergen", name="ferry")
        memory.revise("kref://default/ferry.fact", "the ferry leaves at one from Bergen")
        memory.revise("kref://default/ferry.fact", "completely unrelated umbrellas")
        memory.embed()
        found = texts(memory, "when does the ferry leave from Bergen", history=True)
        assert set(found) == {
            "the ferry leaves at noon from Bergen",
            "the ferry leaves at one from Bergen",
        }
        assert (
            len(texts(memory, "when does the ferry leave from Bergen", history=True, lanes=WORDS))
            == 2
        )


def test_how_likely_memory_holds_the_answer(boats: Memory) -> None:
    known, unknown = (
        boats.recall("does boat 3 have a sail?").answerable_score,
        boats.recall("which zeppelin had torn curtains?").answerable_score,
    )
    assert 0 < unknown < known < 1
    assert boats.recall("sail", kinds=["decision"]).answerable_score == 0


def test_one_who_did_not_say_it_makes_an_answer_less_likely(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": "I bought a red kayak"},
                {"speaker": "Bo", "text": "Nice weather today"},
            ],
            extract=False,
        )
        assert (
            memory.recall("When did Ana buy a red kayak?").answerable_score
            > memory.recall("When did Bo buy a red kayak?").answerable_score
        )
        ana, bo = (
            memory.recall(f"When did {name} buy a red kayak?", lanes=WORDS).answerable_score
            for name in ("Ana", "Bo")
        )
        assert (
            ana
            == bo
            == memory.recall("When was it to buy a red kayak?", lanes=WORDS).answerable_score
        )  # the lane that knows who is off


def test_an_expansion_loses_the_names_of_speakers_too(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": "A red kayak"},
                {"speaker": "Bo", "text": "Ana again, Ana, Ana"},
            ],
            extract=False,
        )
        memory.recaller._model = lambda: ScriptedCompleter(["Ana owns a red kayak"])
        assert texts(memory, "what is there?", reword="model", lanes=WORDS)[0] == "A red kayak"


def test_reranking_changes_the_order_and_is_reported(boats: Memory) -> None:
    boats.recaller._reranker = OverlapReranker  # type: ignore[assignment]
    plain, second = (
        boats.recall("boat 7 of thread one", limit=4),
        boats.recall("boat 7 of thread one", limit=4, rerank="dedicated"),
    )
    assert all("rerank" in hit.lanes for hit in second.hits) and not any(
        "rerank" in hit.lanes for hit in plain.hits
    )
    assert second.hits[0].text == "boat 7 of thread one has a sail"
    assert boats.recall("boat 7 of thread one", limit=4, rerank="auto").hits == second.hits


def test_without_a_reranker_the_agent_chooses(boats: Memory) -> None:
    answer = boats.recall("boat sail", limit=3, rerank="dedicated")
    assert len(answer.hits) == 3 and "No reranker is configured" in answer.warnings[0]
    for how in ("client", "auto"):
        more = boats.recall("boat sail", limit=3, rerank=how)
        assert len(more.hits) == 9
        krefs = [hit.kref for hit in more.hits]
        chosen = more.chosen([krefs[5], "kref://default/nothing.fact", krefs[2], krefs[5]])
        assert [hit.kref for hit in chosen.hits] == [krefs[5], krefs[2]]
        assert chosen.tokens == sum(hit.tokens for hit in chosen.hits)


@pytest.mark.parametrize(
    "scores",
    [
        [1.0],
        [1.0] * 99,
        [float("nan")] * 8,
        [1.0, float("inf"), *[0.0] * 6],
        ["best"] * 8,
        [[1.0]] * 8,
        None,
        3.0,
    ],
)
def test_scores_that_cannot_be_used_are_a_warning_and_the_order_stays(
    boats: Memory, scores: object
) -> None:
    class Odd:
        name, texts_max = "odd", 8

        def score(self, _query: str, _texts: list[str]) -> object:
            return scores

    boats.recaller._reranker = Odd  # type: ignore[assignment]
    plain, second = (
        boats.recall("boat sail", limit=8),
        boats.recall("boat sail", limit=8, rerank="dedicated"),
    )
    assert [hit.kref for hit in second.hits] == [hit.kref for hit in plain.hits] and len(
        plain.hits
    ) == 8
    assert "The reranker failed" in second.warnings[0] and "odd" in second.warnings[0]


@pytest.mark.parametrize(
    "krefs", ["kref://default/a.fact?r=1", None, 5, [None], [b"a"], {"a": 1, 2: 3}]
)
def test_what_is_no_list_of_addresses_cannot_be_chosen(boats: Memory, krefs: object) -> None:
    with pytest.raises(InputError) as caught:
        boats.recall("boat").chosen(krefs)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == "krefs" and caught.value.next_step
    answer = boats.recall("boat", limit=3)
    assert answer.chosen(tuple(hit.kref for hit in answer.hits)) == answer.chosen(
        hit.kref for hit in answer.hits
    )  # type: ignore[arg-type]
    assert answer.chosen([]).hits == ()


def test_a_model_that_expands_a_query_is_asked_without_a_temperature(tmp_path: Path) -> None:
    class Picky(ScriptedCompleter):
        def complete(
            self,
            messages: Sequence[Message],
            *,
            tokens_max: int = 1_000,
            temperature: float | None = None,
        ) -> Completion:
            assert temperature is None
            return super().complete(messages, tokens_max=tokens_max)

    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("Karim must not eat walnuts", name="k")
        memory.recaller._model = lambda: Picky(["Karim must not eat walnuts"])
        assert texts(memory, "which food is dangerous?", reword="model") == [
            "Karim must not eat walnuts"
        ]


def test_an_expansion_finds_what_the_question_does_not(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("Karim must not eat walnuts", name="k")
        memory.remember("The canteen serves food at noon", name="c")
        script = ScriptedCompleter(["- Karim must not eat walnuts\n\n" + "x" * 900])
        memory.recaller._model = lambda: script
        assert "Karim must not eat walnuts" in texts(
            memory, "which food is dangerous?", reword="model"
        )
        assert "Karim must not eat walnuts" not in texts(
            memory, "which food is dangerous?", reword="none"
        )
        assert (
            memory.recall("which food is dangerous?", reword="model")
            .warnings[0]
            .startswith("The query was not expanded")
        )
        memory.recaller._model = lambda: None
        assert (
            "No language model is configured"
            in memory.recall("which food?", reword="model").warnings[0]
        )
        assert texts(memory, "is there food at noon, and who must not eat walnuts?", reword="auto")


def test_a_compound_question_has_parts() -> None:
    assert split_question("Where does the ferry leave, and who steers the old boat?") == [
        "Where does the ferry leave",
        "who steers the old boat",
    ]
    assert split_question("Where does the ferry leave?") == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"mode": "best"}, "mode"),
        ({"order": "random"}, "order"),
        ({"rerank": "always"}, "rerank"),
        ({"reword": "yes"}, "reword"),
        ({"diversity": 1}, "diversity"),
        ({"diversity": True}, "diversity"),
        ({"lanes": ("graph",)}, "lanes"),
        ({"lanes": ("smell",)}, "lanes"),
        ({"from_thread": 3}, "from_thread"),
        ({"strict": 1}, "strict"),
    ],
)
def test_what_cannot_be_asked_names_its_field(
    boats: Memory, options: dict[str, object], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        boats.recall("boat", **options)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == field
    assert set(RERANKS) & set(REWORDS) == {"none", "auto"}
