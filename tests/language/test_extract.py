"""Extraction: tables of what is extracted and, longer, of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base import limits
from doxa.base.clock import format_time, parse_time
from doxa.base.dates import find_dates
from doxa.language.extract import extract
from doxa.language.turns import Turn
from tests.effort import assert_ends

# A Thursday.
NOW = parse_time("2023-05-11T15:30:00Z")


def turn(text: str, time_ns: int | None = NOW) -> Turn:
    return Turn(
        thread="t",
        session="s",
        speaker="Ana",
        role="person",
        text=text,
        time_ns=time_ns,
        source_id="",
    )


def dates(text: str, time_ns: int | None = NOW) -> list[tuple[str, str, str, str]]:
    found = find_dates(text, time_ns)
    return [
        (one.text, format_time(one.start_ns)[:10], format_time(one.end_ns)[:10], one.precision)
        for one in found
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See you today.", ("today", "2023-05-11", "2023-05-12", "day")),
        ("I went yesterday.", ("yesterday", "2023-05-10", "2023-05-11", "day")),
        (
            "The day before yesterday",
            ("The day before yesterday", "2023-05-09", "2023-05-10", "day"),
        ),
        ("tomorrow!", ("tomorrow", "2023-05-12", "2023-05-13", "day")),
        ("about 10 days ago", ("10 days ago", "2023-05-01", "2023-05-02", "day")),
        ("two weeks ago", ("two weeks ago", "2023-04-24", "2023-05-01", "week")),
        ("six months ago", ("six months ago", "2022-11-01", "2022-12-01", "month")),
        ("a year ago", ("a year ago", "2022-01-01", "2023-01-01", "year")),
        ("last week", ("last week", "2023-05-01", "2023-05-08", "week")),
        ("next month", ("next month", "2023-06-01", "2023-07-01", "month")),
        ("this year", ("this year", "2023-01-01", "2024-01-01", "year")),
        ("last weekend", ("last weekend", "2023-05-06", "2023-05-08", "day")),
        ("last Friday", ("last Friday", "2023-05-05", "2023-05-06", "day")),
        ("last Fri", ("last Fri", "2023-05-05", "2023-05-06", "day")),
        ("next Tues", ("next Tues", "2023-05-16", "2023-05-17", "day")),
        ("this past weekend", ("this past weekend", "2023-05-06", "2023-05-08", "day")),
        ("this past Monday", ("this past Monday", "2023-05-08", "2023-05-09", "day")),
        ("last Thursday", ("last Thursday", "2023-05-04", "2023-05-05", "day")),
        ("next Monday", ("next Monday", "2023-05-15", "2023-05-16", "day")),
        ("this Saturday", ("this Saturday", "2023-05-13", "2023-05-14", "day")),
        ("We met on Tuesday.", ("Tuesday", "2023-05-09", "2023-05-10", "day")),
        ("We will meet on Tuesday.", ("Tuesday", "2023-05-16", "2023-05-17", "day")),
        ("We went the week before.", ("the week before", "2023-05-01", "2023-05-08", "week")),
        ("the week before last", ("the week before last", "2023-04-24", "2023-05-01", "week")),
        ("on 2022-02-28 we", ("2022-02-28", "2022-02-28", "2022-03-01", "day")),
        ("7 May 2023", ("7 May 2023", "2023-05-07", "2023-05-08", "day")),
        ("the 7th of May, 2021", ("the 7th of May, 2021", "2021-05-07", "2021-05-08", "day")),
        ("May 7, 2020 was", ("May 7, 2020", "2020-05-07", "2020-05-08", "day")),
        ("on May 7th I", ("May 7th", "2023-05-07", "2023-05-08", "day")),
        ("on Feb. 3", ("Feb. 3", "2023-02-03", "2023-02-04", "day")),
        ("on Dec 28 we", ("Dec 28", "2022-12-28", "2022-12-29", "day")),
        ("May 2021", ("May 2021", "2021-05-01", "2021-06-01", "month")),
        ("in June", ("June", "2023-06-01", "2023-07-01", "month")),
        ("last June", ("last June", "2022-06-01", "2022-07-01", "month")),
        ("in 2022.", ("2022", "2022-01-01", "2023-01-01", "year")),
        ("since 2019 we", ("2019", "2019-01-01", "2020-01-01", "year")),
        ("Q3 2024", ("Q3 2024", "2024-07-01", "2024-10-01", "month")),
        ("on 25/12/2022", ("25/12/2022", "2022-12-25", "2022-12-26", "day")),
        ("on 12/25/2022", ("12/25/2022", "2022-12-25", "2022-12-26", "day")),
    ],
)
def test_dates(text: str, expected: tuple[str, str, str, str]) -> None:
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "03/04/2024",
        "13/14/2024",
        "31 June 2023",
        "2023-02-30",
        "a few days ago",
        "two or three weeks ago",
        "the week before the wedding",
        "today's youth",
        "it feels like yesterday",
        "Friday nights",
        "every Monday we met",
        "Is Friday fine?",
        "it may rain, this may take long",
        "May I?",
        "in March step",
        "in 2000 words",
        "version 2023.1 and 1.2.2023.4",
        "10.0.2022-rc1",
        "9999 years ago",
        "in November",
    ],
)
def test_dates_left_out(text: str) -> None:
    assert [one for one in dates(text) if one[0] != "March"] == []


def test_without_a_time_only_full_dates_are_resolved() -> None:
    assert [one[0] for one in dates("yesterday, in June, on 7 May 2023 and on May 8", None)] == [
        "7 May 2023"
    ]
    assert dates("yesterday", 2**70) == [] == dates("yesterday", -(2**70))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hey Caroline! How are you?", {"Caroline": "name"}),
        (
            "I read Becoming Nicole by Amy Ellis Nutt.",
            {"Becoming Nicole": "name", "Amy Ellis Nutt": "name"},
        ),
        ('I finished "Charlotte\'s Web" today.', {"Charlotte's Web": "title"}),
        (
            "We moved to PostgreSQL and Node.js from MySQL.",
            {"PostgreSQL": "technical", "Node.js": "technical", "MySQL": "technical"},
        ),
        ("PostgreSQL is fine.", {"PostgreSQL": "technical"}),
        ("my iPhone broke", {"iPhone": "technical"}),
        (
            "thanks @bo_lin, see https://docs.example.org/Big/Path?x=Y",
            {"@bo_lin": "handle", "docs.example.org": "host"},
        ),
        ("I live in New York with Dr. Smith.", {"New York": "name", "Dr. Smith": "name"}),
        ("the University of Porto", {"University of Porto": "name"}),
        ("I saw Anna's house", {"Anna": "name"}),
        ("Yesterday we talked. Then Monday came in June.", {}),
        ("Great! That was fun. Nothing else.", {}),
        ("Swimming is healthy. I'm tired.", {}),
        ("Biscuit barked. I fed Biscuit.", {"Biscuit": "name"}),
        ("WOW THAT IS GREAT NEWS", {}),
        ("```\nclass Foo(Bar): pass\n```\nok", {}),
        ("mail ana@example.org", {}),
    ],
)
def test_entities(text: str, expected: dict[str, str]) -> None:
    found = extract(turn(text)).entities
    assert {one.text: one.kind for one in found} == expected
    assert all(text[one.start : one.end] == one.text for one in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I prefer dark mode.", ("preference", "Ana", "likes", "dark mode")),
        (
            "I really love hiking in the hills because it calms me.",
            ("preference", "Ana", "likes", "hiking in the hills"),
        ),
        ("My favourite book is Dune!", ("preference", "Ana", "favourite book", "Dune")),
        ("We decided to use PostgreSQL.", ("decision", "Ana", "uses", "PostgreSQL")),
        ("We're going with Svelte for now.", ("decision", "Ana", "uses", "Svelte")),
        ("We switched to uv last week.", ("decision", "Ana", "uses", "uv")),
        (
            "We moved from MySQL to PostgreSQL yesterday.",
            ("decision", "Ana", "uses", "PostgreSQL"),
        ),
        ("My sister's name is Clara.", ("fact", "Ana", "sister's name", "Clara")),
        ("The API port is now 8080.", ("fact", "API port", "is", "8080")),
        ("The capital of Portugal is Lisbon.", ("fact", "capital of Portugal", "is", "Lisbon")),
        (
            "The billing service runs on Kubernetes.",
            ("fact", "billing service", "runs on", "Kubernetes"),
        ),
        ("Clara lives in Porto now.", ("fact", "Clara", "lives in", "Porto")),
        ("I work at Acme Robotics.", ("fact", "Ana", "works at", "Acme Robotics")),
        (
            "The project deadline is 20 March 2026.",
            ("fact", "project deadline", "is", "2026-03-20"),
        ),
        (
            "The deadline for the report is next Monday.",
            ("fact", "deadline for the report", "is", "2023-05-15"),
        ),
        ("Actually, the port is 9090, not 8080.", ("correction", "port", "is", "9090")),
        ("We no longer use Redis.", ("correction", "Ana", "no longer uses", "Redis")),
        ("Clara no longer works at Acme.", ("correction", "Clara", "no longer works at", "Acme")),
        ("We use uv instead of pip.", ("correction", "Ana", "uses", "uv")),
        ("The database is not MySQL.", ("correction", "database", "not is", "MySQL")),
    ],
)
def test_candidates(text: str, expected: tuple[str, str, str, str]) -> None:
    found = extract(turn(text)).candidates
    assert [(one.kind, one.subject, one.predicate, one.value) for one in found] == [expected]
    assert found[0].quote == text and 0 < found[0].certainty < 1


def test_what_is_given_up_is_named() -> None:
    texts = (
        "We moved from MySQL to PostgreSQL.",
        "Actually, the port is 9090, not 8080.",
        "We use uv instead of pip.",
    )
    assert [extract(turn(text)).candidates[0].replaces for text in texts] == [
        "MySQL",
        "8080",
        "pip",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Do you think we will use Redis?",
        "If we switched to Redis, the port is 80.",
        "Maybe we decided to use Redis.",
        "I would prefer tea.",
        "I'd like tea.",
        "Let's use msgspec.",
        "We will ship version 2.",
        "Actually it's Tuesday, not Monday.",
        "I never liked tea.",
        'Bo said "I love Berlin".',
        "Bo said the port is 80.",
        "> I prefer tea.",
        "I love it!",
        "I love that you came.",
        "I love your shop.",
        "I like to think so.",
        "I love to.",
        "My kids are so excited!",
        "My life is a mess.",
        "The thing is Bo left.",
        "The best part is Berlin.",
        "We'll get through this!",
        "Let's do it.",
        "It runs on Linux.",
        "My car runs on fumes and hope",
        "I work at home.",
        "The deadline is close.",
        "I chose this.",
        "```\nWe decided to use Redis.\n```",
    ],
)
def test_no_candidate(text: str) -> None:
    assert extract(turn(text)).candidates == ()


def test_the_quote_is_the_sentence_as_written() -> None:
    text = "Hi there! My dog’s name is Bix. Bye."
    (found,) = extract(turn(text)).candidates
    assert text[found.start : found.end] == found.quote == "My dog’s name is Bix."


def test_only_the_first_part_of_a_long_text_is_examined() -> None:
    result = extract(turn("x " * limits.EXTRACT_CHARS_MAX + "I prefer tea."))
    assert result.truncated and result.candidates == ()


WORDS = st.sampled_from(
    [
        *"I we my the is not prefer no longer actually, from to decided deadline Monday May 7 2023"
        " last week ago instead of runs".split(),
        *("Porto", ".", ",", "?", "\n", "```", '"', "’", "@a", "https://a.b"),
    ]
)


@given(
    st.text(max_size=200) | st.lists(WORDS, max_size=30).map(" ".join),
    st.none() | st.integers(-(2**70), 2**70),
)
def test_never_raises_and_spans_lie_within(text: str, time_ns: int | None) -> None:
    result = extract(turn(text, time_ns))
    spans = [(one.start, one.end) for one in result.entities]
    spans += [(one.start, one.end) for one in result.dates]
    spans += [(one.start, one.end) for one in result.candidates]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    for date in result.dates:
        assert date.start_ns < date.end_ns
    for candidate in result.candidates:
        assert candidate.quote == text[candidate.start : candidate.end] and candidate.value
    assert extract(turn(text, time_ns)) == result


MALICE = (
    "a",
    "A",
    "A ",
    "Aa ",
    "a.",
    "I love ",
    "the a is ",
    "my a ",
    "1 ",
    "May ",
    "May 7",
    "last ",
    "on Monday ",
    '"A',
    "```",
    "@a",
    "https://a.",
    "\n",
    " ",
    "no longer ",
    "we moved from ",
    "actually it is ",
    "and I ",
    ", ",
    "iP",
    "A.",
    "of ",
    "A of ",
    "“A",
    "2023-",
    "~~~\n",
    "?!",
)


def extract_malice() -> None:
    for piece in MALICE:
        print(repr(piece), flush=True)
        text = piece * (1_000_000 // len(piece))
        extract(turn(text))
        extract(turn("I love " + text))


def test_a_megabyte_of_malice_ends() -> None:
    assert_ends("tests.language.test_extract", "extract_malice")
