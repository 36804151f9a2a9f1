"""What a person who never saw doxa does with the page alone, in at most six clicks or keys from the
start. Typing a text counts as nothing; the key that sends it counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.page.page_fixtures import DATABASE, Reader, ServedPage

STEPS_MAX = 6
QUESTION = "which database does Spoke store its data in"


class Hand:
    """Presses keys and clicks, from the start view on, and counts."""

    def __init__(self, reader: Reader) -> None:
        self.page, self.steps = reader.go("ask"), 0

    def press(self, key: str) -> None:
        self.steps += 1
        self.page.keyboard.press(key)

    def click(self, selector: str) -> None:
        self.steps += 1
        self.page.click(selector)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def ask(self, question: str) -> None:
        self.press("/")
        self.type(question)
        self.press("Enter")


@pytest.fixture
def mira(team: ServedPage, reader: Callable[..., Reader]) -> Reader:
    return reader(team)


@pytest.fixture
def hand(mira: Reader) -> Hand:
    return Hand(mira)


def test_what_is_believed_why_and_since_when(hand: Hand, mira: Reader) -> None:
    hand.ask(QUESTION)
    mira.see("Why:")
    hand.press("j")
    hand.press("Enter")
    mira.see("SQLite, one file for each shop", ".statement")
    mira.see("Since when")
    mira.see("by mira")
    mira.see("What depends on it")
    assert hand.steps <= STEPS_MAX


def test_what_it_was_weeks_ago(hand: Hand, mira: Reader) -> None:
    then = (datetime.now(UTC) - timedelta(days=26)).date().isoformat()
    hand.ask(QUESTION)
    mira.see("SQLite, one file")
    hand.page.locator("h1").focus()
    hand.press("t")
    hand.page.wait_for_selector("#time-system")
    hand.click(".slider >> nth=0 >> input[type=date]")
    hand.page.fill(".slider >> nth=0 >> input[type=date]", then)
    mira.see("You look at the past", ".timebar")
    mira.until("document.querySelector('main ol.rows .text')?.innerText.includes('MySQL 8')")
    assert hand.steps <= STEPS_MAX


def test_correct_it_see_what_lacks_support_and_undo(
    hand: Hand, mira: Reader, team: ServedPage
) -> None:
    hand.ask(QUESTION)
    mira.see("Why:")
    hand.press("j")
    hand.press("r")
    hand.page.wait_for_selector("form.change textarea")
    hand.page.fill("textarea >> nth=0", "The booking app Spoke stores its data in PostgreSQL")
    hand.page.fill("textarea >> nth=1", "spoke | database | PostgreSQL")
    hand.click("form.change button.primary")
    mira.see("Now lacks support", ".preview")
    mira.see("Litestream copies", ".preview .unsupported")
    hand.click("form.change button.primary")
    mira.see("Now lacks support", ".receipt")
    assert hand.steps <= STEPS_MAX
    changed = team.memory.get(DATABASE)
    hand.page.locator("h1").focus()
    hand.press("u")
    mira.see("is undone", ".notices")
    assert "PostgreSQL" in changed.summary  # type: ignore[union-attr]
    assert "SQLite" in team.memory.get(DATABASE).summary  # type: ignore[union-attr]


def test_why_a_fact_did_not_come_back(hand: Hand, mira: Reader) -> None:
    hand.ask(QUESTION)
    mira.see("Not shown: a newer revision replaced it.")
    assert hand.steps <= STEPS_MAX


def test_three_entries_of_the_inbox(hand: Hand, mira: Reader, team: ServedPage) -> None:
    hand.press("2")
    mira.see("Conflicts")
    hand.press("j")
    hand.press("x")
    mira.see_count("Conflicts", 1)
    hand.press("x")
    mira.until("!document.querySelector('section[aria-label=Conflicts]')")
    hand.press("x")
    mira.see_count("Proposals", 7)
    assert hand.steps <= STEPS_MAX
    assert team.memory.conflicts() == []


def test_which_hook_writes_what(hand: Hand, mira: Reader) -> None:
    hand.press("7")
    mira.see("Who writes what")
    row = hand.page.locator("tr:has(th:text-is('claude-code'))").inner_text()
    assert "ingest" in row and "put" in row
    assert hand.steps <= STEPS_MAX
