"""A turn that may update another is placed just above it and says so; ties go to the newest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.words import terms
from doxa.recall.constants import UPDATE_HITS
from doxa.recall.slots import read_slots, states_nothing
from doxa.recall.updates import RankedTurn, asks_current_state, differing, reorder
from tests.fixtures_shared import opened

CURRENT = [
    "When is the deadline?",
    "How many cards does the gallery hold?",
    "what time does the class start",
    "How fast is the API?",
    "Which host do we use?",
    "Do we still meet on Thursdays?",
    "What should I install in order to deploy?",
    "Can you tell me how much I pay for rent?",
]
NOT_CURRENT = [
    "What was the original deadline?",
    "What did we plan at first?",
    "How many people did I invite initially?",
    "What was my previous budget?",
    "How has my accuracy improved?",
    "How did the schedule change?",
    "What is the history of the deadline?",
    "Which host did we use before?",
    "What was earlier, the demo or the launch?",
    "Where I used to live, what was the rent?",
    "How many days are there between the two?",
    "What did I bring up, in order?",
    "Summarise what we said",
    "How do I deploy?",
    "How can I help?",
    "Have I deployed?",
    "",
    "42",
]


@pytest.mark.parametrize("question", CURRENT)
def test_a_question_about_the_current_state(question: str) -> None:
    assert asks_current_state(question)


@pytest.mark.parametrize("question", NOT_CURRENT)
def test_a_question_about_the_past_or_about_no_value(question: str) -> None:
    assert not asks_current_state(question)


VALUES = {
    "the deadline is April 5, 2024": [("date", "apr 5")],
    "the deadline is the 5th of May": [("date", "may 5")],
    "the deadline is May 5th": [("date", "may 5")],
    "the deadline is the 5th May 2024": [("date", "may 5")],
    "the deadline is 2024-04-05": [("date", "2024-04-05")],
    "the deadline is on Fridays": [("date", "friday")],
    "the deadline is in September": [("date", "sep")],
    "of all I may say, the deadline is 4 of the 5": [("number", "4"), ("number", "5")],
    "dinner is at seven on Friday": [("clock", "7"), ("date", "friday")],
    "the deadline is at 3 PM": [("clock", "3p")],
    "the deadline is at 3:00 pm": [("clock", "3p")],
    "the deadline is at 15:30": [("clock", "15:30")],
    "past the deadline it costs $1,200": [("money", "1200")],
    "past the deadline it costs 1200 euros": [("money", "1200")],
    "the deadline holds for v5.3": [("version", "5.3")],
    "the deadline holds for 5.3.1": [("version", "5.3.1")],
    "by the deadline 65% was done": [("share", "65")],
    "by the deadline 65 percent was done": [("share", "65")],
    "it went from 65% to 80%": [("share", "80")],
    "the deadline is 250ms": [("number", "250")],
    "the deadline is in twelve weeks": [("number", "12")],
    "we scored 18/20 at the deadline": [("number", "18/20")],
    "the password is heron-lake-77": [("code", "heron-lake-77")],
    "she sits on the fifth floor": [("number", "5.")],
    "we meet in room Kestrel": [("name", "kestrel")],
    "Ask Professor Okafor about it": [("name", "ask professor okafor")],
    "Thanks, Mel! It was great, Ana": [],
    "Staging is slow": [],
    'she shouted "the deadline is April 5"': [],
    "```the deadline is 5```": [],
    "one of them is due": [],
}


@pytest.mark.parametrize("text", VALUES)
def test_values_are_read_as_they_are_meant(text: str) -> None:
    assert [(slot.kind, slot.value) for slot in read_slots(text)] == VALUES[text]


UNASSERTED = [
    "Is the deadline April 5?",
    "can you move the deadline to April 5",
    "I hope to have 5 cards",
    "we might pay 5 euros",
    "I'd like it in 5 seconds",
    "the rent was 5 euros",
    "I used to have 5 cards",
    "I also have 5 cards",
]


@pytest.mark.parametrize("text", UNASSERTED)
def test_a_question_a_plan_the_past_and_an_addition_replace_nothing(text: str) -> None:
    assert not any(slot.asserted for slot in read_slots(text))


IDLE = [
    "Thanks!",
    "Great, thanks. When do you leave?",
    "Does it start at 18:30?",
    "Ok.",
    "Noted, Ana",
    "Thanks...",
    "Ok.\n\nGreat!! \n?",
]
SAYS = [
    "I live in Rome",
    "Noted: 5 cards",
    "Thanks, 20 minutes",
    "京都",
    "We do. When do you?",
    "Ok... I do",
]


@pytest.mark.parametrize("text", IDLE)
def test_a_turn_that_only_asks_or_thanks_states_nothing(text: str) -> None:
    assert states_nothing(text)


@pytest.mark.parametrize("text", ["", *SAYS])
def test_other_turns_state_something(text: str) -> None:
    assert not states_nothing(text)


def turns_of(*texts: str) -> list[RankedTurn]:
    return [RankedTurn(1, (place, place), text, 1.0) for place, text in enumerate(texts)]


def claims(question: str, *texts: str, likeness: float | None = 3.0) -> list[tuple[int, int]]:
    weights = dict.fromkeys(terms(question), 1.0)
    alike = [[likeness] * len(texts) for _ in texts]
    order = reorder(question, weights, turns_of(*texts), alike)
    return [(one.place, one.updates) for one in order if one.updates is not None]


UPDATED = [
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "the new sprint deadline is April 5",
    ),
    (
        "How many cards are in the gallery?",
        "the gallery has 8 cards",
        "I changed the layout, so now the gallery has 10 cards",
    ),
    (
        "What is the response time of the API?",
        "the API response time is 300ms",
        "the API response time improved to 250ms",
    ),
    ("What is my rent?", "my rent is $900", "they raised my rent to $950"),
    ("Where do I work?", "I work at Acme with Bo", "Since May I work at Globex"),
    (
        "In which room do we meet?",
        "on Monday we meet in room Kestrel",
        "it is taken, we meet in room Osprey",
    ),
    ("Who is my doctor?", "my doctor is Dr Boone", "my new doctor is Dr Adler"),
    ("What is the wifi code?", "the wifi code is lake-77", "the wifi code is otter-12"),
]
NOT_UPDATED = [
    ("When is the deadline?", "the deadline is April 1", "the deadline of April 1st is near"),
    ("When is the deadline?", "the deadline is April 1", "the deadline has 5 tasks"),
    ("How many cards has it?", "the gallery has 8 cards", "the gallery has 10 pages"),
    ("When is the deadline?", "the deadline is April 1", "is the deadline April 5?"),
    ("When is the deadline?", "the deadline is April 1", "the deadline might be April 5"),
    ("When is the deadline?", "the deadline is April 1", "the deadline was April 5"),
    ("What do I earn?", "I earn $900", "my brother earns $950"),
    ("When is the meeting with Patel?", "we meet Patel on May 2", "we meet Lee on May 9"),
    ("How much sugar for lemon cake?", "lemon cake: 250 g sugar", "carrot cake: 150 g sugar"),
    ("What port has it?", "the search tool uses port 80", "the mail relay uses port 25"),
    ("Where do I live?", "I live in Rome", "I lived in Oslo as a child"),
    ("What have I read?", "I finished Emma by Jane", "I finished Persuasion by Jane"),
    ("How many eggs?", "the batter needs 3 eggs", "the other batter: no word of eggs"),
]


@pytest.mark.parametrize(("question", "earlier", "later"), UPDATED)
def test_it_may_be_updated(question: str, earlier: str, later: str) -> None:
    assert claims(question, earlier, later) == [(1, 0)]
    assert claims(question, later, earlier) != [(0, 1)]


@pytest.mark.parametrize(("question", "earlier", "later"), NOT_UPDATED)
def test_it_may_not_be_updated(question: str, earlier: str, later: str) -> None:
    assert claims(question, earlier, later) == []


def test_both_conditions_are_needed() -> None:
    """Turns that are not alike, and those without vectors that share few words, claim nothing."""
    question, earlier, later = UPDATED[1]
    assert claims(question, earlier, later, likeness=0.5) == []
    assert claims(question, earlier, later, likeness=None) == [(1, 0)]
    earlier = "the gallery behind the red wooden door has 8 cards"
    later = "the gallery of blue frames and metal holds 10 cards"
    assert claims(question, earlier, later) == [(1, 0)]
    assert claims(question, earlier, later, likeness=None) == []


def deadlines(*days: int, by: object = 1) -> list[RankedTurn]:
    return [
        RankedTurn(by, (day, place), f"the new deadline is April {day}", 1.0)  # type: ignore[arg-type]
        for place, day in enumerate(days)
    ]


def order(said: list[RankedTurn]) -> list[int]:
    alike = [[3.0] * len(said) for _ in said]
    return [one.place for one in reorder("What is the deadline?", {"deadlin": 1.0}, said, alike)]


def test_of_several_the_latest_comes_first() -> None:
    assert order(deadlines(1, 2, 3)) == [2, 1, 0]
    assert order(deadlines(1, 3, 2)) == [1, 2, 0]
    assert order(deadlines(3, 2, 1)) == [0, 1, 2]


def test_only_turns_of_one_speaker_are_compared() -> None:
    mine, other = deadlines(1, 2)
    assert order([mine, other._replace(by=2)]) == [0, 1]
    silent = mine._replace(turn=False, text="Well: the new deadline of all is April 1")
    assert order([silent, other]) == [0, 1]


def test_a_much_better_hit_stays_above() -> None:
    first, later = deadlines(1, 2)
    assert order([first, later._replace(score=0.6)]) == [1, 0]
    assert order([first, later._replace(score=0.2)]) == [0, 1]


def test_what_was_revised_in_the_store_is_moved_whatever_it_says() -> None:
    said = turns_of("I live in Rome", "The boxes are unpacked")
    found = reorder("Where do I live?", {"live": 1.0}, said, [[0.0] * 2] * 2, frozenset({(1, 0)}))
    assert [(one.place, one.updates) for one in found] == [(1, 0), (0, None)]


def test_ties_claim_nothing_and_need_the_names_of_the_question() -> None:
    def first(question: str, *texts: str) -> int:
        weights = dict.fromkeys(terms(question), 1.0)
        said, alike = turns_of(*texts), [[None] * len(texts) for _ in texts]
        return reorder(question, weights, said, alike)[0].place

    two = "Ana is a citizen of Chile", "Ana is a citizen of Peru"
    assert first("What is the citizenship of Ana?", *two) == 1
    assert first("Is Chile the country of Ana?", *two) == 0
    assert first("What is it?", "Ana is a citizen of Peru", "Bo is a citizen of Peru") == 1
    assert first("What is Ana?", "Ana is a citizen of Peru", "Bo is a citizen of Peru") == 0
    assert differing("one two three", "one two three") is None
    assert differing("is it red today", "is it blue today?") is None


ODD = [
    "",
    "5",
    "\ud800",
    "²³ ٣ May ٣",
    "in May",
    "3 a.m",
    "1/2/3 -- $",
    "京都 5月",
    "5th of",
    "$ % v1",
]
TEXTS = st.sampled_from([text for case in UPDATED for text in case[1:]] + ODD) | st.text(
    max_size=80
)
TURNS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), TEXTS, st.booleans()), max_size=8)


@settings(max_examples=200, deadline=None)
@given(TURNS, st.sampled_from(CURRENT) | st.text())
def test_any_turns_are_only_put_above_earlier_ones(
    turns: list[tuple[int, int, str, bool]], question: str
) -> None:
    said = [
        RankedTurn(by, (time, place), text, 10.0 - place, turn)
        for place, (by, time, text, turn) in enumerate(turns)
    ]
    weights = dict.fromkeys(terms(question + " deadline sprint card API latency"), 1.0)
    result = reorder(question, weights, said, [[3.0] * len(said) for _ in said])
    assert sorted(one.place for one in result) == list(range(len(said)))
    for one in result:
        for other in (one.level, one.updates):
            assert other in (None, one.place) or said[other].by == said[one.place].by
        assert one.updates is None or said[one.updates].time < said[one.place].time
    left = [one.place for one in result if one.level == one.place]
    assert left == sorted(left)


# In a memory


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("updates") / "m.db") as memory:
        turns = [
            (
                "Ana",
                "2024-01-01",
                "first",
                "Ferry deadline: the deadline of the ferry timetable is April 1",
            ),
            ("Bo", "2024-01-02", "of-bo", "The deadline of the ferry timetable is now June 9"),
            (
                "Ana",
                "2024-02-01",
                "now",
                "I called them: the deadline of the ferry timetable is April 5",
            ),
        ]
        memory.ingest(
            [
                {"speaker": who, "time": f"{day}T00:00:00Z", "id": name, "text": text}
                for who, day, name, text in turns
            ],
            extract=False,
        )
        pressures = [("user", "3 bar"), ("assistant", "4 bar"), ("assistant", "now 5 bar")]
        memory.ingest(
            [{"role": role, "text": f"The pump pressure is {value}"} for role, value in pressures],
            extract=False,
        )
        memory.embed()
        yield memory


QUESTION = "What is the deadline of the ferry timetable?"


def ids(memory: Memory, question: str, **options: object) -> list[str]:
    return [hit.source_id for hit in memory.recall(question, **options).hits if hit.source_id]  # type: ignore[arg-type]


def test_a_hit_says_that_it_may_update_another(memory: Memory) -> None:
    hits = {hit.source_id: hit for hit in memory.recall(QUESTION).hits}
    first, now = hits["first"], hits["now"]
    assert f"may update {first.kref}" in now.why
    assert [hit.source_id for hit in hits.values() if "may update" in hit.why] == ["now"]
    assert list(hits).index("now") + 1 == list(hits).index("first")
    assert now.score == first.score
    assert all(above.score >= below.score for above, below in pairwise(hits.values()))
    assert now.lanes["words"] < first.lanes["words"]  # what the lanes said stays to be seen


def test_the_first_hits_are_the_same_at_every_limit(memory: Memory) -> None:
    everything = ids(memory, QUESTION)
    assert [ids(memory, QUESTION, limit=limit) for limit in (1, 2, 3)] == [
        everything[:limit] for limit in (1, 2, 3)
    ]
    assert ids(memory, QUESTION, speaker="Ana") == [
        name for name in everything if name in ("first", "now")
    ]


def test_history_and_questions_about_the_past_are_left_alone(memory: Memory) -> None:
    for found in (
        ids(memory, QUESTION, history=True),
        ids(memory, "What was the original deadline of the ferry timetable?"),
    ):
        assert found.index("first") < found.index("now")
    assert ids(memory, QUESTION).index("now") < ids(memory, QUESTION).index("first")


def test_an_assistant_restates_nothing(memory: Memory) -> None:
    assert not any(
        "may update" in hit.why for hit in memory.recall("What is the pump pressure?").hits
    )


def test_words_alone_are_enough_and_meaning_alone_is_not(memory: Memory) -> None:
    assert any("may update" in hit.why for hit in memory.recall(QUESTION, lanes=("words",)).hits)
    assert not any(
        "may update" in hit.why for hit in memory.recall(QUESTION, lanes=("meaning",)).hits
    )


def test_it_comes_into_the_answer_from_behind_it(tmp_path: Path) -> None:
    """The earlier turn is in, a crowd says more of the question's words than the later one."""
    with opened(tmp_path / "m.db") as memory:
        crowd = [
            {"speaker": "Bo", "text": f"ferry timetable deadline note {name}", "thread": name}
            for name in "abcdefghijklm"
        ]
        text = (
            "With a lot of other things to do this week, the ferry people have told me that the"
            " timetable deadline is now April 5"
        )
        first = {
            "speaker": "Ana",
            "text": "The ferry timetable deadline: ferry timetable deadline is April 1",
            "id": "first",
            "thread": "1",
        }
        memory.ingest(
            [first, *crowd, {"speaker": "Ana", "text": text, "id": "now", "thread": "2"}],
            extract=False,
        )
        assert len(crowd) + 2 <= UPDATE_HITS
        assert [
            name
            for name in ids(memory, QUESTION, lanes=("words",), limit=3, history=True)
            if name in ("first", "now")
        ] == ["first"]
        assert [
            name
            for name in ids(memory, QUESTION, lanes=("words",), limit=3)
            if name in ("first", "now")
        ] == ["now", "first"]


def test_a_turn_that_is_gone_moves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": f"The new ferry deadline is April {day}", "id": str(day)}
                for day in (1, 5)
            ],
            extract=False,
        )
        first, second = (
            hit.kref
            for hit in sorted(
                memory.recall("When is the ferry deadline?").hits, key=lambda hit: hit.source_id
            )
        )
        assert [hit.kref for hit in memory.recall("When is the ferry deadline?").hits] == [
            second,
            first,
        ]
        memory.deprecate(first)
        (left,) = memory.recall("When is the ferry deadline?").hits
        assert (left.kref, "may update" in left.why) == (second, False)


def test_projects_are_apart(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for day, project in ((1, "one"), (2, "two")):
            text = f"Ferry deadline: the new ferry deadline is April {day}"
            memory.ingest([{"speaker": "Ana", "text": text}], project=project, extract=False)
        assert not any(
            "may update" in hit.why
            for hit in memory.recall("When is the ferry deadline?", project="*").hits
        )
        text = "The people of the ferry have a new deadline, April 7"
        memory.ingest(
            [{"speaker": "Ana", "text": text}], project="one", thread="later", extract=False
        )
        hits = [
            (hit.project, hit.text)
            for hit in memory.recall("When is the ferry deadline?", project="*").hits
            if "may update" in hit.why
        ]
        assert hits == [("one", text)]


def test_a_revision_in_the_store_is_stated_as_a_fact(tmp_path: Path) -> None:
    """Turns from which beliefs were derived, one superseding the other, share no word."""
    with opened(tmp_path / "m.db", embedder=None) as memory:
        said = ["Where I live there are bells of Rome", "I live beside harbour cranes"]
        memory.ingest([{"speaker": "Ana", "text": text} for text in said], extract=False)
        question = "Where do I live?"
        turns = {hit.text: hit.kref for hit in memory.recall(question).hits}
        assert not any("update" in hit.why for hit in memory.recall(question).hits)
        memory.remember("Ana lives in Rome", name="home", derived_from=[turns[said[0]]])
        made = memory.revise("kref://default/home.fact", "Ana lives in Oslo")
        memory.link(made.kref, turns[said[1]], kind="DERIVED_FROM")
        hits = memory.recall(question, kinds=("exchange",)).hits
        assert [hit.text for hit in hits] == [said[1], said[0]]
        assert f"updates {turns[said[0]]}" in hits[0].why and "may update" not in hits[0].why


@pytest.mark.parametrize("options", [{}, {"diversity": 0.4}, {"lanes": ("words",)}])
def test_the_first_hits_are_the_same_whatever_the_limit(
    tmp_path: Path, options: dict[str, object]
) -> None:
    with opened(tmp_path / "m.db") as memory:
        said = [
            f"The {thing} of pier {n % 7} has {n} seats, they say{'?' * (n % 3)}"
            for n in range(120)
            for thing in ("ferry", "boat")
        ]
        memory.ingest([{"speaker": "Ana", "text": text} for text in said], extract=False)
        for n in range(20):
            memory.remember(f"The ferry has {n} seats", name="seats" if n % 2 else f"seats{n}")
        memory.embed()
        for asked in ("How many seats has the ferry?", "ferry pier 3"):
            many = [hit.kref for hit in memory.recall(asked, limit=200, **options).hits]  # type: ignore[arg-type]
            for limit in (1, 5, 10, 50):
                hits = memory.recall(asked, limit=limit, **options).hits  # type: ignore[arg-type]
                assert [hit.kref for hit in hits] == many[:limit]
                assert all(above.score >= below.score for above, below in pairwise(hits)) or options


def test_turns_that_only_ask_rank_below_statements(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        asked = {"speaker": "Ana", "text": "Is the ferry to Oslo late?", "thread": "1"}
        said = {"speaker": "Bo", "text": "The ferry is late again at pier two", "thread": "2"}
        memory.ingest([said, asked], extract=False)
        first, second = memory.recall("ferry late", lanes=("words",)).hits
        assert first.text == said["text"] and "only asks" not in first.why
        assert second.text == asked["text"] and "only asks or acknowledges" in second.why


@pytest.mark.parametrize("strict", [False, True])
def test_a_stored_copy_of_the_question_is_not_its_answer(tmp_path: Path, strict: bool) -> None:
    said = ("We chose Postgres for the shop database", "What did we choose for the database?")
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest([{"speaker": "Ana", "text": text} for text in said], extract=False)
        for asked in (said[1], "What did we choose for the shop's database?"):
            hits = memory.recall(asked, strict=strict).hits
            assert [hit.text for hit in hits] == list(said[: 1 if strict else 2])
        assert strict or "asks the same" in hits[1].why


def test_hits_of_a_conflict_name_the_other_side(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        fact = ("Ana", "lives in", "Oslo")
        held = memory.remember("Ana lives in Oslo", name="ana", facts=[fact], trust="verified")
        made = memory.remember("Ana is in Rome now", facts=[("Ana", "lives in", "Rome")])
        memory.remember("Ana likes tea")
        (conflict,) = memory.conflicts()
        hits = {hit.text: hit for hit in memory.recall("Ana").hits}
        assert hits["Ana lives in Oslo"].contested == (made.kref,)
        assert f"contested by {made.kref}: {conflict.kref}" in hits["Ana lives in Oslo"].why
        assert hits["Ana likes tea"].contested == () and "Ana is in Rome now" not in hits
        assert f"contested by {made.kref}" in memory.recall("Ana").framed()
        both = {hit.text: hit for hit in memory.recall("Ana", history=True).hits}
        assert both["Ana is in Rome now"].contested == (held.kref,)
        assert both["Ana is in Rome now"].status == "contested"
        memory.resolve(conflict.kref, "reject")
        assert all(not hit.contested for hit in memory.recall("Ana", history=True).hits)
