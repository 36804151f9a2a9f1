"""The page that looks at the past: what it shows is of then or says that it is not, and nothing is
changed from there."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.page.page_fixtures import DATABASE, Reader, ServedPage

Readers = Callable[..., Reader]
ITEM = "kref://spoke/tea.fact"


def now_text() -> str:
    """Return the time of now, and let the next change be later."""
    time.sleep(0.02)
    found = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    time.sleep(0.02)
    return found


def travel(mira: Reader, system: str | None = None, valid: str | None = None) -> None:
    """Set the times of the page without its slider, which has 720 steps."""
    mira.page.evaluate(
        """async ([system, valid]) => { const state = await import('/ui/state.js');
        state.systemTime.value = system; state.validTime.value = valid; }""",
        [system, valid],
    )
    mira.see("You look at the past", ".timebar")
    mira.settle()


def test_the_inbox_is_about_now_and_decides_nothing_from_the_past(
    empty: ServedPage, reader: Readers
) -> None:
    memory = empty.memory
    memory.remember("Tea is at three", name="tea", trust="candidate")
    then = now_text()
    memory.revise(ITEM, "Tea is at four", trust="verified")
    memory.remember("Coffee is at nine", name="coffee", trust="candidate")
    mira = reader(empty)
    travel(mira, then)
    page = mira.page
    page.keyboard.press("2")
    mira.see("Coffee is at nine")  # it waits now, and did not then
    assert "Tea is at three" not in mira.text()  # it waited then, and does no more
    mira.see("about now")
    row = page.locator("section[aria-label=Candidates] [data-row]").first
    assert row.get_by_text("Accept").is_disabled()
    row.focus()
    page.keyboard.press("a")
    page.keyboard.press("x")
    page.wait_for_timeout(200)
    assert memory.get(ITEM).summary == "Tea is at four"  # type: ignore[union-attr]
    assert memory.get("kref://spoke/coffee.fact").trust == "candidate"  # type: ignore[union-attr]


def test_accepting_compares_with_what_was_read(empty: ServedPage, reader: Readers) -> None:
    memory = empty.memory
    memory.remember("Tea is at three", name="tea", trust="candidate")
    mira = reader(empty)
    page = mira.go("inbox")
    mira.see("Tea is at three")
    memory.revise(ITEM, "Tea is at five", trust="candidate")
    mira.expects_errors = True
    page.locator("section[aria-label=Candidates] [data-row]").first.focus()
    page.keyboard.press("a")
    page.wait_for_selector("section[aria-label=Candidates] .problem")
    assert memory.get(ITEM).summary == "Tea is at five"  # type: ignore[union-attr]


def test_nothing_is_changed_from_the_past(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    page.click("button:text-is('Verify')")
    page.wait_for_selector(".receipt")
    before = team.memory.log(limit=1)[0].tx
    travel(mira, now_text())
    page.locator("h1").focus()
    page.keyboard.press("u")  # the change that was just made
    mira.see("nothing is changed from there", ".notices")
    mira.go("today")
    mira.see("about now")
    assert page.locator("button:text-is('Undo this sitting')").first.is_disabled()
    for view, button in (("dream", "Dream now"), ("fading", "Put it in force")):
        mira.go(view)
        mira.see("about now")
        if view == "fading":
            page.click("button:text-is('Simulate')")
            page.wait_for_selector(".preview")
        assert page.is_disabled(f"button:text-is('{button}')")
    mira.go("belief?new=1")
    page.fill("textarea", "Written from the past")
    page.click("button:text-is('Remember')")
    mira.see("nothing is changed from there")
    team.memory.flush()
    ops = [one.op for one in team.memory.log(limit=50) if one.tx > before]
    assert set(ops) <= {"accesses"}


def test_a_belief_of_the_past_was_current_then(empty: ServedPage, reader: Readers) -> None:
    memory = empty.memory
    memory.remember("Tea is at three", name="tea")
    memory.tag(f"{ITEM}?r=1", "approved")
    then = now_text()
    memory.revise(ITEM, "Tea is at four")
    memory.tag(f"{ITEM}?r=2", "approved")
    retired = now_text()
    memory.deprecate(ITEM)
    mira = reader(empty)
    page = mira.go(f"belief?kref={ITEM}")
    mira.see("deprecated", ".belief")
    travel(mira, then)
    mira.see("Tea is at three", ".statement")
    assert "current" in mira.text(".belief .meta") and "approved" in mira.text(".belief .meta")
    assert page.locator("article.belief.gone").count() == 0
    assert "superseded" not in mira.text(".timeline")
    assert "Tea is at four" not in mira.text(".timeline")
    page.click("summary:has-text('Tags moved')")
    assert "until" not in mira.text(".moves")
    mira.see("as they are known today", ".reasons")
    travel(mira, retired)
    mira.see("Tea is at four", ".statement")
    assert "current" in mira.text(".belief .meta")
    travel(mira, now_text())
    mira.see("deprecated", ".belief .meta")


def test_a_belief_says_whether_it_holds_at_the_valid_time(
    empty: ServedPage, reader: Readers
) -> None:
    empty.memory.remember(
        "Tea is at three", name="tea", valid_from="2026-03-01", valid_until="2026-06-01"
    )
    mira = reader(empty)
    mira.go(f"belief?kref={ITEM}")
    for day, said in (("2026-02-01", "not yet valid"), ("2026-07-01", "expired")):
        travel(mira, None, f"{day}T00:00:00Z")
        mira.see(said, ".belief .meta")
    travel(mira, None, "2026-04-01T00:00:00Z")
    mira.see("current", ".belief .meta")


def test_the_drawing_of_the_past_has_what_was_there(empty: ServedPage, reader: Readers) -> None:
    memory = empty.memory
    memory.remember("Tea is at three", name="tea")
    memory.remember("The kettle is filled at two", name="kettle", depends_on=[f"{ITEM}?r=1"])
    then = now_text()
    memory.remember("The cups are blue", name="cups", depends_on=[f"{ITEM}?r=1"])
    mira = reader(empty)
    mira.go(f"belief?kref={ITEM}")
    mira.see("The cups are blue", ".edges")
    travel(mira, then)
    mira.see_no_more("cups", ".neighbourhood")
    mira.see("The kettle is filled at two", ".edges")


@pytest.mark.parametrize("what", ("bundle", "conflict"))
def test_what_has_no_past_says_so(team: ServedPage, reader: Readers, what: str) -> None:
    kref: Any = "kref://spoke/release-1.bundle"
    if what == "conflict":
        kref = team.memory.conflicts()[0].kref
    mira = reader(team)
    mira.go(f"belief?kref={kref}")
    assert "about now" not in mira.text()
    travel(mira, now_text())
    mira.see("about now")
