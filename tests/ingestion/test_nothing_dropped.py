"""A statement that says something else is never taken for one that memory holds: signs, cases of
paths, units, zones and the way a number is written are part of what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.words import written_marks
from tests.fixtures_shared import opened

DIFFERENT = """
The balance is 20 | The balance is -20
The balance is 20 | The balance is −20
We pin numpy==1.26 | We pin numpy!=1.26
latency > 100 ms | latency < 100 ms
Node must be >= 18 | Node must be < 18
We use C | We use C++
The language is C | The language is C#
The budget is 5€ | The budget is 5$
It is 20 C | It is -20 C
The share is .5 percent | The share is 5 percent
The path is /tmp/Foo | The path is /tmp/foo
Run it with -v | Run it with -V
The version is 1.10 | The version is 1.1
The zip code is 01234 | The zip code is 1234
The meeting is at 10:00 UTC | The meeting is at 10:00 CET
The meeting is at 10:00 | The meeting is at 10:00 on Fridays
The meeting is on Fridays in Berlin | The meeting is on Fridays in Bonn
The call is on April 1, 2026 in Bonn | The call is on April 1, 2026 in Rome
Set x = +1 and y = -1 | Set x = -1 and y = +1
a > b and c < d | a < b and c > d
Copy /tmp/Foo to /tmp/foo | Copy /tmp/foo to /tmp/Foo
Move 5€ to Ana and 5$ to Bo | Move 5$ to Ana and 5€ to Bo
The threshold is > 5 ms | The threshold is < 5 ms
The limit is >= 5 ms | The limit is <= 5 ms
The limit is <= 5 | The limit is < 5
The rule is x → y | The rule is x ↔ y
The oven temperature is 200°C | The oven temperature is 200°F
The power is 5 mW | The power is 5 MW
The link is 5 Mb | The link is 5 MB
The temperature is –5°C | The temperature is 5°C
Ignore build/* in git | Ignore build/** in git
Never commit dist/ | Never commit dist/*
Ignore *.log files | Ignore .log files
Delete tmp* nightly | Delete tmp nightly
Pass *args to it | Pass **args to it
Use _private here | Use private here
Use __init__ here | Use init here
Return [a, b] here | Return (a, b) here
The env variable is $HOME | The env variable is HOME
The config file is Config.yaml | The config file is config.yaml
The blood type is 0+ | The blood type is 0-
Rename Foo.py to foo.py | Rename foo.py to Foo.py
"""
ALIKE = """
We deploy on Thursday. | we deploy on thursdays
On Thursdays, we deploy | We deploy on Thursdays.
We deploy to `prod`. | We deploy to **prod**
The talk lasts 1.5 hours | The talk lasts 90 minutes
The meeting is at 10 am | The meeting is at 10:00
I weigh 1.50 kg | I weigh 1.5 kg
* Use tabs for indentation | Use tabs for indentation
## Use tabs for indentation | > Use tabs for indentation
Nous livrons le vendredi ! | Nous livrons le vendredi.
The meeting is every Friday | The meeting is on Fridays
The meeting is at 10:00 | The meeting is at 10:00 sharp
We deploy to `the prod cluster`. | We deploy to the prod cluster.
The port of the proxy is 8080 | The port of the proxy is 8080.
The grant is 1,000 euros | The grant is 1000 euros
"""


def pairs(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.split(" | ")) for line in text.strip().splitlines()]


@pytest.mark.parametrize(("held", "said"), pairs(DIFFERENT))
def test_what_says_something_else_is_stored(tmp_path: Path, held: str, said: str) -> None:
    for first, second in ((held, said), (said, held)):
        with opened(tmp_path / f"{first == held}.db", embedder=None, project="p") as memory:
            memory.remember(first)
            assert memory.remember(second).stored
            assert second in [hit.text for hit in memory.recent(kinds=("fact",))]


@pytest.mark.parametrize(("held", "said"), pairs(ALIKE))
def test_what_says_the_same_is_stored_once(tmp_path: Path, held: str, said: str) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        memory.remember(held)
        assert not memory.remember(said).stored


@given(st.lists(st.sampled_from("we use the ferry at noon don't e-mail Ana's".split()), min_size=1))
def test_words_have_no_marks(words: list[str]) -> None:
    text = " ".join(words)
    assert written_marks(text) == written_marks(f"“{text}!” *{text}*. {text} !") == []


@given(st.text(max_size=40))
def test_marks_do_not_depend_on_blanks(text: str) -> None:
    assert written_marks(text) == written_marks(f"  {text}\n")
