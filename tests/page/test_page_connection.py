"""The page and its server: a lost one, another tab, no network at all; how much is loaded, and how
many rows a long list has in the document."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.page.page_fixtures import DATABASE, VIEWS, Reader, ServedPage, function_of, served_page

Readers = Callable[..., Reader]
BYTES_MAX, REQUESTS_MAX = 1_500_000, 40
LIST_ITEMS = 100_000


def test_a_lost_server_loses_nothing_that_was_typed(
    month: Path, tmp_path: Path, reader: Readers
) -> None:
    path = Path(shutil.copy(month, tmp_path / "team.db"))
    typed = "The booking app Spoke stores its data in DuckDB"
    with served_page(path) as served:
        port = served.server.port
        mira = reader(served)
        page = mira.go(f"belief?kref={DATABASE}")
        mira.expects_errors = True
        page.click("button:text-is('Revise')")
        page.fill("textarea >> nth=0", typed)
    page.click("button:text-is('Preview')")
    mira.see("The server does not answer", "body")
    assert page.input_value("textarea >> nth=0") == typed
    with served_page(path, port=port) as again:
        mira.see("This browser session is over", "body")  # sessions live as long as a server
        other = mira.tab(again.link())
        other.wait_for_selector("main h1")
        page.wait_for_selector(".connection", state="detached")
        assert page.input_value("textarea >> nth=0") == typed
        page.click("button:text-is('Preview')")
        mira.see("This would change")
        page.click("form.change button.primary")
        mira.see("DuckDB", ".statement")
        assert again.memory.history(DATABASE).revisions[-1].summary == typed


def test_a_draft_outlives_a_reload_and_goes_when_it_is_sent(
    team: ServedPage, reader: Readers
) -> None:
    mira = reader(team)
    page = mira.go("belief?new=1")
    page.fill("textarea", "Half a thought")
    page.reload()
    page.wait_for_selector("textarea")
    assert page.input_value("textarea") == "Half a thought"
    page.click("button:text-is('Remember')")
    mira.see("Revision 1")
    mira.go("belief?new=1")
    assert page.input_value("textarea") == ""


def test_a_server_that_dies_in_a_change_leaves_it_whole(
    month: Path, tmp_path: Path, reader: Readers
) -> None:
    """The answer of a change is lost: the same change again, under the same key, writes once."""
    path = Path(shutil.copy(month, tmp_path / "team.db"))
    with served_page(path) as served:
        mira = reader(served)
        page = mira.go(f"belief?kref={DATABASE}")
        mira.expects_errors = True
        page.click("button:text-is('Revise')")
        page.fill("textarea >> nth=0", "The booking app Spoke stores its data in DuckDB")
        page.click("button:text-is('Preview')")
        mira.see("This would change")
        lost: list[str] = []

        def lose(route: object) -> None:
            lost.append(route.request.headers["idempotency-key"])  # type: ignore[attr-defined]
            route.fetch()  # type: ignore[attr-defined]  # it is carried out, and nobody hears of it
            route.abort()  # type: ignore[attr-defined]

        page.route("**/v1/revise", lose, times=1)
        page.click("form.change button.primary")
        mira.see("The server does not answer", "form.change")
        page.wait_for_selector(".connection", state="detached")
        page.click("form.change button.primary")
        page.wait_for_selector(".receipt")
        assert len(lost) == 1
        assert len(served.memory.history(DATABASE).revisions) == 3


def test_another_tab_sees_what_was_changed_in_this_one(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    other = mira.tab(team.address(f"belief?kref={DATABASE}"))
    other.wait_for_selector("text=Since when")
    page.click("button:text-is('Verify')")
    page.wait_for_selector(".receipt")
    other.wait_for_selector("text=Revision 3")
    other.click("button:text-is('Revise')")
    other.fill("textarea >> nth=0", "Something else entirely")
    team.memory.revise(DATABASE, "Meanwhile an agent was faster")
    mira.expects_errors = True
    other.click("button:text-is('Preview')")
    other.wait_for_selector("form.change [role=alert]")  # what was read is not what is there
    assert other.input_value("textarea >> nth=0") == "Something else entirely"


def test_the_page_opens_without_its_server(month: Path, tmp_path: Path, reader: Readers) -> None:
    path = Path(shutil.copy(month, tmp_path / "team.db"))
    with served_page(path) as served:
        mira = reader(served)
        page = mira.go("ask")
        mira.until("navigator.serviceWorker.ready.then(() => true)")
        mira.until(
            "caches.keys().then(async names => names.length === 1"
            " && (await (await caches.open(names[0])).keys()).length > 20)"
        )
        page.reload()
        kept = page.evaluate(
            "caches.keys().then(async names => (await (await caches.open(names[0])).keys())"
            ".map(one => new URL(one.url).pathname))"
        )
        manifest = page.evaluate("fetch('app.webmanifest').then(one => one.json())")
    assert all(name.startswith("/ui/") for name in kept)  # nothing of the memory
    assert manifest["display"] == "standalone" and manifest["icons"]
    mira.expects_errors = True
    page.reload()
    page.wait_for_selector("main h1")
    mira.see("The server does not answer", "body")
    page.keyboard.press("4")
    page.wait_for_selector("h1:text-is('Browse')")


@pytest.mark.parametrize("view", (*VIEWS, f"belief?kref={DATABASE}", "ask?q=which+database"))
def test_a_view_is_light(team: ServedPage, reader: Readers, view: str) -> None:
    mira = reader(team)
    page = mira.page
    sizes: list[int] = []
    page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
    page.goto("about:blank")
    page.goto(team.address(view))
    page.wait_for_selector("main h1")
    mira.settle()
    page.wait_for_timeout(300)
    assert 5 < len(sizes) <= REQUESTS_MAX
    assert sum(sizes) <= BYTES_MAX


def test_a_list_of_100_000_entries_has_few_rows(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("ask")
    page.evaluate(function_of("long_list.js"), LIST_ITEMS)
    page.wait_for_selector("#long li")
    for share in (0, 0.3, 0.77, 1):
        page.evaluate(
            "share => { const one = document.querySelector('#long .virtual');"
            " one.scrollTop = one.scrollHeight * share; }",
            share,
        )
        page.wait_for_timeout(150)
        assert 5 < page.locator("#long li").count() < 60
    mira.see(f"entry {LIST_ITEMS - 1}", "#long")


def test_a_place_with_many_entries_reads_them_as_they_are_scrolled_to(
    empty: ServedPage, reader: Readers
) -> None:
    for number in range(700):
        empty.memory.remember(f"Entry {number:04}", name=f"e{number:04}", space="many")
    mira = reader(empty)
    page = mira.go("browse?at=kref://spoke/many")
    mira.see("700 entries, 500 read so far")
    assert page.evaluate("document.querySelector('.virtual').scrollHeight") >= 700 * 66
    page.evaluate("document.querySelector('.virtual').scrollTop = 1e7")
    mira.see("Entry 0699")
    assert "read so far" not in mira.text()
    assert page.locator("main .virtual li").count() < 60
