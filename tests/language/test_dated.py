"""When something happened does not belong to its value, and what happened long ago is history."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import open_memory
from doxa.base.clock import FakeClock, parse_time
from doxa.language.dated import without_date
from doxa.language.long_ago import is_long_ago
from doxa.language.statement import read_statement

TOLD = parse_time("2026-11-28T10:00:00Z")


@pytest.mark.parametrize(
    ("text", "value", "history"),
    [
        ("Ana moved to Munich in 2010.", "Munich", True),
        ("Back in 2010 Ana moved to Munich.", "Munich", True),
        ("In May 2019, Ana moved to Munich.", "Munich", True),
        ("On 3 March 2020 Ana moved to Munich.", "Munich", True),
        ("Ana moved to Munich two years ago.", "Munich", True),
        ("Ana moved to Munich in the summer of 2015.", "Munich", True),
        ("Ana moved to Munich on 3 November 2026.", "Munich", False),
        ("Ana moved to Munich in October.", "Munich", False),
        ("Ana moved to Munich in May.", "Munich", False),
        ("Ana moved to Munich last month.", "Munich", False),
        ("Ana moved to Munich.", "Munich", False),
        ("The port was changed to 8080 in 2020.", "8080", True),
        ("The deadline was moved to 3 May 2027.", "3 May 2027", False),
        ("The birthday was corrected to 3 May 1990.", "3 May 1990", False),
        ("The launch was postponed to 1 June 2025.", "1 June 2025", False),
        ("The start date was changed from 3 May 2018 to 3 May 2019.", "3 May 2019", False),
        ("İpek moved to Munich in 2010.", "Munich", True),
        ("Ana's new office was moved to Ulm in 2019.", "Ulm", True),
        ("The deadline is in May 2019.", "May 2019", False),
    ],
)
def test_a_value_of_a_change_has_no_date(text: str, value: str, history: bool) -> None:
    (claim,) = read_statement(text, time_ns=TOLD)
    assert (claim.value.text.removeprefix("in "), claim.history) == (value, history)
    assert not claim.unasserted
    if history:
        assert (claim.past, claim.change, claim.ends) == (True, False, False)


def test_without_a_time_of_telling_nothing_is_history() -> None:
    (claim,) = read_statement("Ana moved to Munich in 2010.")
    assert (claim.value.text, claim.change, claim.history) == ("Munich", True, False)


@pytest.mark.parametrize(
    "clause",
    ["", "Ana", "Ana likes Room 2010", "in", "ago", "on A", "the deadline is 3 May 2026"],
)
def test_other_clauses_are_left_as_they_are(clause: str) -> None:
    assert without_date(clause, TOLD) == (clause, None)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana works at Acme.", "Ana left Acme two years ago."),
        ("Ana works at Acme.", "Ana left Acme in 2020."),
        ("We use MySQL.", "We switched from MySQL to Postgres in 2020."),
        ("Ana lives in Berlin.", "Ana moved from Berlin to Munich in 2020."),
        ("Ana's birthday is 1 May 1990.", "Ana's birthday was corrected to 3 May 1990."),
    ],
)
def test_what_is_over_is_over(tmp_path: Path, held: str, said: str) -> None:
    clock = FakeClock(TOLD)
    with open_memory(tmp_path / "m.db", project="p", clock=clock, embedder=None) as memory:
        before = memory.remember(held)
        clock.advance(days=1)
        assert [one.says for one in memory.remember(said).change.losses] == [held]
        assert memory.get(before.kref).status == "superseded"


LONG_AGO = [
    ("Ana lives in Berlin.", "Ana moved to Munich in 2010 for work."),
    ("Ana lives in Berlin.", "Ana moved to Munich in the early 1990s."),
    ("Ana lives in Berlin.", "In May of 2012 Ana moved to Munich with her family."),
    ("Ana lebt in Berlin.", "Ana ist 2010 nach München gezogen."),
    ("Ana lebt in Berlin.", "Ana ist im Mai 2010 nach München gezogen."),
    ("Ana lebt in Berlin.", "Ana ist vor fünf Jahren nach München gezogen."),
    ("Ana vive en Berlín.", "Ana se mudó a Múnich en mayo de 2010."),
    ("Ana vive en Berlín.", "Ana se mudó a Múnich hace cinco años."),
    ("Ana habite à Berlin.", "Ana a déménagé à Munich en 2010."),
    ("Ana habite à Berlin.", "Ana a déménagé à Munich il y a cinq ans."),
    ("安娜住在柏林。", "安娜2010年搬到了慕尼黑。"),
    ("安娜住在柏林。", "安娜五年前搬到了慕尼黑。"),
]
NEWS = [
    ("Ana lives in Berlin.", "Ana moved to 2019 Main Street."),
    ("Ana lives in Berlin.", "Ana moved to Munich in March 2026 with her family."),
    ("The deadline is 3 May 2020.", "The deadline was moved to 15 March 2024."),
    ("We run Windows XP.", "We upgraded to Windows Server 2016."),
    ("Ana lebt in Berlin.", "Ana ist im März 2026 nach München gezogen."),
    ("Ana lebt in Berlin.", "Ana ist nach München gezogen."),
    ("Ana lebt in Berlin.", "Ana ist 2010 von Berlin nach München gezogen."),
    ("Die Frist ist der 3. Mai 2020.", "Die Frist wurde auf den 15. März 2024 verschoben."),
    ("Ana vive en Berlín.", "Ana se mudó de Berlín a Múnich en 2010."),
    ("Ana habite à Berlin.", "Ana a déménagé de Berlin à Munich en 2010."),
    ("安娜住在柏林。", "安娜搬到了慕尼黑。"),
]


NO_TIMES = [
    "The default font was changed to Aptos in Office 2019",
    "The engine was switched to URP in Unity 2021",
    "The meeting was moved to Ulm in room 2010",
    "Ana ist in Zimmer 2010 gezogen",
    "La réunion a été déplacée à Ulm en salle 2010",
    "Ana moved to the house built in 1920",
    "Ana joined the company founded in 1998 by Bob",
    "Ana se mudó a la casa construida en 1920",
    "Ana a déménagé dans la maison construite en 1920",
    "Ana ist in das 1920 gebaute Haus gezogen",
    "安娜搬到了1990年建的房子",
    "Ana se mudó ayer a Ulm, donde vivió hace diez años",
    "Ana moved to Oslo this week, twenty years ago she studied there",
    "The deadline was moved to 2027, in 2019 it was 2020",
    "The deadline was moved to May 2024",
    "截止日期改成2019年",
    "截止日期改成了2019年",
    "截止日期改到了2019年",
    "Die Miete wurde auf 2000 Euro erhöht",
    "We switched to Office 2010",
]


@pytest.mark.parametrize("clause", NO_TIMES)
def test_a_number_or_year_of_something_else_is_no_time(clause: str) -> None:
    assert not is_long_ago(clause, TOLD)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ana moved to Munich in 2010 for work.", "Munich"),
        ("The deadline was changed to the one in June 2027 because of Bob.", "the one in June"),
        ("Ana joined the company founded in 1998 by Bob.", "the company founded in 1998"),
        ("The slot was moved to the one on 3 December 2026 with Ana.", "the one on 3 December"),
    ],
)
def test_a_date_before_more_words_is_cut_only_where_it_tells_of_the_change(
    text: str, value: str
) -> None:
    (claim,) = read_statement(text, time_ns=TOLD)
    assert claim.value.text.startswith(value)


@pytest.mark.parametrize(
    ("held", "said", "replaces"),
    [*((*pair, False) for pair in LONG_AGO), *((*pair, True) for pair in NEWS)],
)
def test_a_year_long_past_anywhere_in_a_clause_is_history(
    tmp_path: Path, held: str, said: str, replaces: bool
) -> None:
    clock = FakeClock(TOLD)
    with open_memory(tmp_path / "m.db", project="p", clock=clock, embedder=None) as memory:
        before = memory.remember(held)
        clock.advance(days=1)
        memory.remember(said)
        assert memory.get(before.kref).status == ("superseded" if replaces else "current")


def test_history_neither_replaces_nor_is_replaced(tmp_path: Path) -> None:
    clock = FakeClock(TOLD)
    with open_memory(tmp_path / "m.db", project="p", clock=clock, embedder=None) as memory:
        berlin = memory.remember("Ana lives in Berlin.")
        munich = memory.remember("Ana moved to Munich in 2010.")
        assert not munich.change.losses
        oslo = memory.remember("Ana moved to Oslo last week.")
        assert [one.says for one in oslo.change.losses] == ["Ana lives in Berlin."]
        assert memory.get(munich.kref).status == "current"
        assert memory.get(berlin.kref).status == "superseded"
