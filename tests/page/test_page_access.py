"""The page for everybody: no violations that axe finds, in both colour schemes; the keyboard alone;
narrow windows, large text, reduced motion. DOXA_SCREENSHOTS names a folder for pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.page.page_fixtures import AXE, DATABASE, NARROW, VIEWS, WIDE, Reader, ServedPage

Readers = Callable[..., Reader]
PICTURES = os.environ.get("DOXA_SCREENSHOTS")
ADDRESSES = (
    *VIEWS,
    "ask?q=which+database+do+we+use",
    f"belief?kref={DATABASE}",
    "belief?kref=kref://spoke/product/price.decision",
    "belief?kref=kref://spoke/people/vacation.fact",
    "belief?kref=kref://spoke/release-1.bundle",
    "belief?kref=kref://spoke/entities/sykkelhuset.entity",
    f"belief?kref={DATABASE}&form=revise",
    "belief?kref=kref://spoke/none.fact",
    "belief?new=1",
    "browse?at=kref://spoke/ops",
    "browse?show=kinds&kind=decision",
    "browse?show=files",
    "browse?show=overview",
)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def violations(page: Any) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate(f"axe.run(document, {{runOnly: {json.dumps(RULES)}}})")
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found["violations"]]


@pytest.mark.parametrize(("scheme", "size"), (("light", WIDE), ("dark", WIDE), ("light", NARROW)))
def test_axe_finds_nothing_on_any_view(
    team: ServedPage, reader: Readers, scheme: str, size: dict[str, int]
) -> None:
    mira = reader(team, color_scheme=scheme, reduced_motion="reduce", viewport=size)
    mira.expects_errors = True  # one address is not found
    conflict = team.memory.conflicts()[0].kref
    turn = next(team.memory.read("MATCH (n:Exchange) RETURN n.kref AS kref LIMIT 1"))[0]
    found = {}
    for address in (*ADDRESSES, f"belief?kref={conflict}", f"belief?kref={turn}"):
        page = mira.go(address)
        page.wait_for_timeout(150)
        found[address] = violations(page)
        if size is WIDE:
            _picture(page, address, scheme, size)
    page = mira.go("cypher")
    page.click("main button.primary")
    page.wait_for_selector("main table")
    found["table"] = violations(page)
    page.click("button:text-is('graph')")
    found["graph"] = violations(page)
    page.keyboard.press("Escape")
    page.locator("h1").focus()
    page.keyboard.press("t")
    page.wait_for_selector("#time-system")
    found["time"] = violations(page)
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    found["help"] = violations(page)
    page.keyboard.press("Escape")
    found |= _of_a_change(mira)
    assert {address: one for address, one in found.items() if one} == {}


def _of_a_change(mira: Reader) -> dict[str, list[str]]:
    """What there is only while something is changed, undone, looked at in the past, or lost."""
    found = {}
    page = mira.go(f"belief?kref={DATABASE}&form=revise")
    page.fill("textarea >> nth=0", "The booking app Spoke stores its data in PostgreSQL")
    page.click("button:text-is('Preview')")
    mira.see("This would change")
    found["preview"] = violations(page)
    page.click("form.change button.primary")
    page.wait_for_selector(".receipt")
    found["receipt"] = violations(page)
    page.evaluate(
        "async () => { (await import('/ui/state.js')).systemTime.value ="
        " new Date(Date.now() - 864e5).toISOString(); }"
    )
    mira.see("You look at the past", ".timebar")
    mira.settle()
    found["past"] = violations(page)
    page.route("**/v1/**", lambda route: route.abort())
    page.evaluate("async () => { (await import('/ui/state.js')).epoch.value++; }")
    mira.see("The server does not answer", "body")
    found["lost"] = violations(page)
    return found


def test_axe_finds_nothing_in_an_empty_memory(empty: ServedPage, reader: Readers) -> None:
    mira = reader(empty)
    found = {}
    for view in VIEWS:
        page = mira.go(view)
        page.wait_for_timeout(100)
        found[view] = violations(page)
    assert {view: one for view, one in found.items() if one} == {}


def test_axe_sees_what_is_wrong(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("ask")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any("button-name" in one for one in violations(page))


@pytest.mark.parametrize("size", (NARROW, {"width": 320, "height": 640}))
def test_no_view_is_wider_than_the_window(
    team: ServedPage, reader: Readers, size: dict[str, int]
) -> None:
    mira = reader(team, viewport=size)
    for address in ADDRESSES:
        page = mira.go(address)
        page.wait_for_timeout(100)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, address
        _picture(page, address, "light", size)


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(
    team: ServedPage, reader: Readers
) -> None:
    mira = reader(team)
    page = mira.go("inbox")
    page.reload()
    page.wait_for_selector("main h1")
    mira.see("Conflicts")
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => { const one = document.activeElement, style = getComputedStyle(one);
                return [one.innerText || one.getAttribute('aria-label') || one.id,
                        style.outlineStyle !== 'none' && style.outlineWidth !== '0px']; }"""
            )
        )
    names = [str(name) for name, _ in seen]
    assert names[0].startswith("Skip") and "Inbox2" in [name.replace("\n", "") for name in names]
    assert any(name.startswith("Accept the new") for name in names)
    assert all(shown for _, shown in seen), [name for name, shown in seen if not shown]


def test_rows_views_help_and_undo_by_keys(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("browse?at=kref://spoke/ops")
    mira.see("entries")
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    focused = "document.activeElement.querySelector('.mono').innerText"
    assert page.evaluate(focused) == "alerts.preference"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    mira.see("Since when")
    assert "mysqldump" in mira.text() or "backup" in mira.text()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    for at, view in enumerate(VIEWS, 1):
        page.keyboard.press(str(at))
        mira.until("view => location.hash === '#/' + view", arg=view)
    page.keyboard.press("/")
    page.keyboard.type("jk?u1")  # a field takes letters as they are
    assert page.input_value("#search") == "jk?u1"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "search"


def test_colours_can_be_chosen_and_are_kept(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("ask")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    for _ in range(2):
        page.click("button[aria-label^='Colours']")
    assert page.evaluate(colour) != light
    dark = page.evaluate(colour)
    page.reload()
    page.wait_for_selector("main h1")
    assert page.evaluate(colour) == dark


def test_nothing_moves_for_who_asks_for_less_motion(team: ServedPage, reader: Readers) -> None:
    mira = reader(team, reduced_motion="reduce")
    page = mira.go("inbox")
    page.locator("[data-row]").first.focus()
    page.keyboard.press("x")
    page.wait_for_selector(".notice")
    assert page.evaluate("document.getAnimations().length") == 0


def _picture(page: Any, address: str, scheme: str, size: dict[str, int]) -> None:
    if PICTURES:
        name = "".join(one if one.isalnum() else "-" for one in address)
        path = Path(PICTURES) / f"{name}-{size['width']}-{scheme}.png"
        page.screenshot(path=path, full_page=True)
