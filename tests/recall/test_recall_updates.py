"""A turn that restates another is placed just above it, says so, and nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.words import terms
from doxa.recall import updates
from doxa.recall.constants import UPDATE_HITS, UPDATE_MOVES_MAX
from doxa.recall.updates import (
    RankedTurn,
    Topic,
    asks_current_state,
    reorder,
    restates,
    stated_values,
)
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


def topic(question: str) -> Topic:
    return updates._topic(question, dict.fromkeys(terms(question), 1.0))


VALUES = {
    "the deadline is April 5, 2024": [("date", "apr 5")],
    "the deadline is the 5th of May": [("date", "may 5")],
    "the deadline is May 5th": [("date", "may 5")],
    "of all I may say, the deadline is 4 of the 5": [("number", "4"), ("number", "5")],
    "the deadline is 5 May": [("date", "may 5")],
    "the deadline is the 5th May 2024": [("date", "may 5")],
    "the deadline is 2024-04-05": [("date", "2024-04-05")],
    "the deadline is on Fridays": [("date", "friday")],
    "the deadline is in September": [("date", "sep")],
    "the deadline is at 3 PM": [("clock", "3p")],
    "the deadline is at 3:00 pm": [("clock", "3p")],
    "the deadline is at 15:30": [("clock", "15:30")],
    "past the deadline it costs $1,200": [("money", "1200")],
    "past the deadline it costs 1200 euros": [("money", "1200")],
    "the deadline holds for v5.3": [("version", "5.3")],
    "the deadline holds for 5.3.1": [("version", "5.3.1")],
    "by the deadline 65% was done": [("share", "65")],
    "by the deadline 65 percent was done": [("share", "65")],
    "the deadline is 250ms": [("number", "250")],
    "the deadline is in twelve weeks": [("number", "12")],
    "we scored 18/20 at the deadline": [("number", "18/20")],
    "the deadline was moved": [("replacement", "")],
    "```the deadline is 5```": [],
    "the deadline matters. It took 5 days": [],
    "no word of it, 5 days": [],
}


@pytest.mark.parametrize("text", VALUES)
def test_values_are_read_as_they_are_meant(text: str) -> None:
    found = stated_values(text, topic("What is the deadline?"))
    assert [(stated.kind, stated.value) for stated in found[:-1]] == VALUES[text]
    assert found[-1].kind == "text"


def test_a_question_names_the_kind_of_its_answer() -> None:
    """`how many cards` wants a count of cards, `when` a date or a time of day."""
    text = "the gallery has 8 cards since April 5, and 3 pages"
    for question, values in {
        "How many cards has the gallery?": ["8"],
        "When has the gallery opened?": ["apr 5"],
        "What has the gallery?": ["8", "apr 5", "3"],
    }.items():
        assert [
            statement.value for statement in stated_values(text, topic(question))[:-1]
        ] == values


RESTATED = [
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "the new sprint deadline is April 5",
    ),
    (
        "What is the sprint deadline?",
        "the sprint deadline is on Monday",
        "the sprint deadline is on Friday",
    ),
    (
        "How many cards are in the gallery?",
        "a gallery with 8 cards",
        "I added two projects to the gallery, so now it has a total of 10 cards",
    ),
    (
        "How many commits were merged?",
        "pushed with 150 commits and 12 branches merged",
        "the growth of commits merged has now reached 165",
    ),
    (
        "What is the response time of the API?",
        "the API response time is 300ms",
        "the API response time has recently improved to 250ms",
    ),
    (
        "What latency has the input?",
        "input latency is 520ms, and I want to get it down to 290ms",
        "I reduced the input latency to 290ms",
    ),
    (
        "Which host runs the app?",
        "the app runs on the host Heroku",
        "we moved the app to the host Fly",
    ),
    ("What is my rent?", "my rent is $900", "they raised my rent to $950"),
    (
        "When is the appointment with Patel?",
        "the appointment with Patel is on May 2",
        "the appointment was moved to May 9",
    ),
]
NOT_RESTATED = [
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "the sprint deadline of April 1st is near",
    ),  # the same value
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "the new sprint deadline has 5 tasks",
    ),  # another type
    (
        "How many cards are in the gallery?",
        "a gallery with 8 cards",
        "the gallery now has 10 pages",
    ),  # another unit
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "the party is now on May 1",
    ),  # another matter
    (
        "When is the sprint deadline?",
        "the sprint deadline is April 1",
        "`code` ```deadline = 'April 5' # new sprint deadline```",
    ),
    (
        "When is the appointment with Patel?",
        "the appointment with Patel is on May 2",
        "an appointment with Lee is on May 9",
    ),  # the name differs
    ("What is the deadline?", "the deadline is April 1", "the deadline is near"),
    ("What is the deadline?", "no word of it", "the new deadline is April 5"),
]


@pytest.mark.parametrize(("question", "earlier", "later"), RESTATED)
def test_it_is_restated(question: str, earlier: str, later: str) -> None:
    asked = topic(question)
    assert restates(stated_values(later, asked), stated_values(earlier, asked), asked)


@pytest.mark.parametrize(("question", "earlier", "later"), NOT_RESTATED)
def test_it_is_not_restated(question: str, earlier: str, later: str) -> None:
    asked = topic(question)
    assert not restates(stated_values(later, asked), stated_values(earlier, asked), asked)


def test_weights_decide_what_is_the_same_topic() -> None:
    """The later turn shares one of two terms: enough where that weighs much, too little where it
    weighs little."""
    said = [
        RankedTurn(1, (1, 0), "the sprint deadline is April 1"),
        RankedTurn(1, (2, 1), "one deadline is April 5"),
    ]
    for weight, moved in ((1.0, True), (0.1, False)):
        weights = {"deadlin": weight, "sprint": 1.0}
        assert reorder("What is the sprint deadline?", weights, said) == (
            [(1, 0), (0, None)] if moved else [(0, None), (1, None)]
        )


def deadlines(*days: int, by: object = 1) -> list[RankedTurn]:
    return [
        RankedTurn(by, (day, place), f"the new deadline is April {day}")
        for place, day in enumerate(days)
    ]  # type: ignore[arg-type]


def order(said: list[RankedTurn]) -> list[int]:
    return [place for place, _ in reorder("What is the deadline?", {"deadlin": 1.0}, said)]


def test_of_several_the_latest_comes_first() -> None:
    assert order(deadlines(1, 2, 3)) == [2, 1, 0]
    assert order(deadlines(1, 3, 2)) == [1, 2, 0]
    assert order(deadlines(3, 2, 1)) == [0, 1, 2]
    assert order(deadlines(*range(1, 10))) == [
        UPDATE_MOVES_MAX - place for place in range(UPDATE_MOVES_MAX + 1)
    ] + list(range(UPDATE_MOVES_MAX + 1, 9))


def test_only_turns_of_one_speaker_are_compared() -> None:
    mine, other = deadlines(1, 2)
    assert order([mine, other._replace(by=2)]) == [0, 1]
    assert order([mine._replace(by=None), other]) == [0, 1]
    assert order([mine, mine._replace(by=2, time=(9, 9)), other]) == [2, 0, 1]


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
TEXTS = st.sampled_from([text for case in RESTATED for text in case[1:]] + ODD) | st.text(
    max_size=80
)
TURNS = st.lists(st.tuples(st.none() | st.integers(0, 1), st.integers(0, 3), TEXTS), max_size=8)


@settings(max_examples=200, deadline=None)
@given(TURNS, st.sampled_from(CURRENT) | st.text())
def test_any_turns_are_only_put_above_earlier_ones(
    turns: list[tuple[int | None, int, str]], question: str
) -> None:
    said = [RankedTurn(by, (time, place), text) for place, (by, time, text) in enumerate(turns)]
    result = reorder(
        question, dict.fromkeys(terms(question + " deadline sprint card API latency"), 1.0), said
    )
    assert sorted(place for place, _ in result) == list(range(len(said)))
    assert len([above for _, above in result if above is not None]) <= UPDATE_MOVES_MAX
    for place, above in result:
        assert above is None or (
            said[above].by == said[place].by is not None and said[above].time < said[place].time
        )
    left = [place for place, above in result if above is None]
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
                "I have planned more for the ferry, whose new timetable deadline is April 5",
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


def test_a_hit_says_that_it_restates_another(memory: Memory) -> None:
    hits = {hit.source_id: hit for hit in memory.recall(QUESTION).hits}
    first, now = hits["first"], hits["now"]
    assert f"said later and otherwise than {first.kref}, so placed above it" in now.why
    assert [hit.source_id for hit in hits.values() if "otherwise" in hit.why] == ["now"]
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
        "otherwise" in hit.why for hit in memory.recall("What is the pump pressure?").hits
    )


def test_words_alone_are_enough_and_meaning_alone_is_not(memory: Memory) -> None:
    assert any("otherwise" in hit.why for hit in memory.recall(QUESTION, lanes=("words",)).hits)
    assert not any(
        "otherwise" in hit.why for hit in memory.recall(QUESTION, lanes=("meaning",)).hits
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
            " deadline is now April 5"
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
        assert (left.kref, "otherwise" in left.why) == (second, False)


def test_projects_are_apart(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for day, project in ((1, "one"), (2, "two")):
            text = f"Ferry deadline: the new ferry deadline is April {day}"
            memory.ingest([{"speaker": "Ana", "text": text}], project=project, extract=False)
        assert not any(
            "otherwise" in hit.why
            for hit in memory.recall("When is the ferry deadline?", project="*").hits
        )
        text = "The people of the ferry have a new deadline, April 7"
        memory.ingest(
            [{"speaker": "Ana", "text": text}], project="one", thread="later", extract=False
        )
        hits = [
            (hit.project, hit.text)
            for hit in memory.recall("When is the ferry deadline?", project="*").hits
            if "otherwise" in hit.why
        ]
        assert hits == [("one", text)]
