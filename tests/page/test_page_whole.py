"""That nothing is left out in silence: the newest events, lists that are cut, one project in every
view, what replaced what, the rows of every list by keys, and changes whose answer was lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

from doxa.app import Memory
from tests.page.page_fixtures import DATABASE, Reader, ServedPage

Readers = Callable[..., Reader]
FEW = {"MAX": 3, "FACETS_MAX": 2, "NAMES_MAX": 3, "FILES_MAX": 2, "SHOWN": 2, "EVENTS_MAX": 5}


def with_less(mira: Reader, *names: str) -> None:
    """Let the scripts of the views have small limits, so that few rows are cut."""

    def shorten(route: Any) -> None:
        answer = route.fetch()
        text = answer.text()
        for name in names:
            lines = [
                f"const {name} = {FEW[name]};" if line.startswith(f"const {name} =") else line
                for line in text.split("\n")
            ]
            text = "\n".join(lines)
        route.fulfill(response=answer, body=text)

    mira.context.unroute_all()
    mira.context.route("**/ui/views/*.js", shorten)
    mira.page.goto("about:blank")


# The newest


def test_today_shows_the_newest_events(empty: ServedPage, reader: Readers) -> None:
    for number in range(30):
        empty.memory.remember(f"Belief number {number:02}", name=f"b{number}")
    mira = reader(empty)
    page = mira.go("today")
    mira.see("Belief number 29")
    assert "Belief number 00" not in mira.text()
    mira.see("before these")
    page.click("button:text-matches('Show all')")
    mira.see("Belief number 00")
    with_less(mira, "EVENTS_MAX")
    mira.go("today")
    mira.see("The newest 5 events")
    mira.see("Belief number 29")
    assert "Belief number 20" not in mira.text()


# What is cut


def fill(memory: Memory) -> None:
    """More than a few of everything."""
    for number in range(5):
        item = f"kref://spoke/n{number}.k{number}"
        memory.remember(f"Belief {number}", name=f"n{number}", kind=f"k{number}", trust="candidate")
        memory.tag(item, f"t{number}")
        memory.remember(f"Plain {number}", name=f"p{number}")
        memory.tag(f"kref://spoke/p{number}.fact", "same")
        memory.attach(f"{item}?r=1", f"file{number}.txt", location=f"/nowhere/{number}")
        memory.mention(f"Person {number}", source=item)


@pytest.mark.parametrize(
    ("view", "limit", "said"),
    (
        ("inbox", "MAX", "The first 3 entries are shown; there are more."),
        ("browse?show=kinds&kind=fact", "MAX", "The first 3 entries are shown; there are more."),
        ("browse?show=kinds", "FACETS_MAX", "The first 2 kinds are shown; there are more."),
        ("browse?show=tags&tag=same", "MAX", "The first 3 entries are shown; there are more."),
        ("browse?show=tags", "FACETS_MAX", "The first 2 tags are shown; there are more."),
        ("browse?show=names", "NAMES_MAX", "The first 3 names are shown; there are more."),
        ("browse?show=files", "FILES_MAX", "The first 2 files are shown; there are more."),
    ),
)
def test_a_list_that_is_cut_says_so(
    empty: ServedPage, reader: Readers, view: str, limit: str, said: str
) -> None:
    fill(empty.memory)
    mira = reader(empty)
    mira.go(view)
    assert "are shown; there are more" not in mira.text()
    with_less(mira, limit)
    mira.go(view)
    mira.see(said)


def test_a_dream_says_how_many_of_its_proposals_it_shows(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    with_less(mira, "SHOWN")
    mira.go("dream")
    mira.see("The first 2 of ")
    mira.go("fading")
    mira.see("The first 2 of ")


def test_the_past_of_a_place_says_that_it_is_cut(empty: ServedPage, reader: Readers) -> None:
    fill(empty.memory)
    mira = reader(empty)
    with_less(mira, "MAX")
    page = mira.go("browse?at=kref://spoke")
    page.evaluate(
        "async () => { (await import('/ui/state.js')).systemTime.value ="
        " new Date().toISOString(); }"
    )
    mira.see("More than 3 entries")


# One project


def test_every_view_looks_at_the_same_project(empty: ServedPage, reader: Readers) -> None:
    memory = empty.memory
    other = memory.session(actor="ana", role="operator", project="garden")
    for session, word in ((memory, "kettle"), (other, "spade")):
        session.remember(f"The {word} is red", name=word, trust="candidate")
        session.remember(f"A {word} is checked", name="held", trust="verified")
        session.tag(f"kref://{session.project}/held.fact", f"{word}-tag")
        session.attach(
            f"kref://{session.project}/held.fact?r=1", f"{word}.txt", location=f"/nowhere/{word}"
        )
        session.mention(f"{word.title()} Smith", source=f"kref://{session.project}/held.fact")
    views = (
        "ask?q=which+is+red",
        "inbox",
        "today",
        "browse?show=kinds&kind=fact",
        "browse?show=tags",
        "browse?show=names",
        "browse?show=files",
    )
    mira = reader(empty)
    page = mira.page
    assert page.get_attribute("#project", "placeholder") == "spoke"
    for chosen, sees in (("", {"kettle"}), ("garden", {"spade"}), ("*", {"kettle", "spade"})):
        page.fill("#project", chosen)
        page.locator("#project").blur()
        for view in views:
            mira.go(view)
            for word in sees:
                mira.until(
                    "word => document.querySelector('main').innerText.toLowerCase().includes(word)",
                    arg=word,
                )
            for word in {"kettle", "spade"} - sees:
                assert word not in mira.text().lower(), (chosen, view)


# What replaced what


def test_what_was_replaced_leads_to_what_replaced_it(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("ask?q=which+database+does+Spoke+store+its+data+in")
    mira.see("Not shown: a newer revision replaced it.")
    page.locator(".row:has-text('a newer revision replaced it') .successor a").first.click()
    mira.see("SQLite, one file for each shop", ".statement")
    team.memory.tag(f"{DATABASE}?r=1", "first-choice")
    mira.go("browse?show=tags&tag=first-choice")
    mira.see("superseded")
    page.click("main .row .successor a")
    mira.see("SQLite, one file for each shop", ".statement")


# Keys


def test_keys_open_the_rows_of_every_list(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    page.locator(".timeline [data-row]").nth(1).focus()
    page.keyboard.press("Enter")
    mira.until("location.hash.includes(encodeURIComponent('?r=1'))")
    mira.go(f"belief?kref={DATABASE}")
    page.locator(".timeline [data-row]").first.focus()
    page.keyboard.press("r")
    page.wait_for_selector("form.change textarea")
    page.fill("textarea >> nth=0", "The booking app Spoke stores its data in PostgreSQL")
    page.click("button:text-is('Preview')")
    mira.see("This would change")
    for kref in ("kref://spoke/release-1.bundle", "kref://spoke/entities/sykkelhuset.entity"):
        mira.go(f"belief?kref={kref}")
        page.wait_for_selector("main [data-row]")
        page.locator("h1").focus()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        mira.until("kref => !location.hash.includes(encodeURIComponent(kref))", arg=kref)


# Lost answers


def losing(mira: Reader, verb: str) -> list[str]:
    """Carry out the next call of a verb and lose its answer. Returns the keys of all calls."""
    keys: list[str] = []
    page = mira.page
    page.on(
        "request",
        lambda one: (
            keys.append(one.headers.get("idempotency-key", ""))
            if one.url.endswith(f"/v1/{verb}")
            else None
        ),
    )

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route(f"**/v1/{verb}", lose, times=1)
    mira.expects_errors = True
    return keys


def test_a_lost_answer_is_asked_for_again_under_its_key(empty: ServedPage, reader: Readers) -> None:
    mira = reader(empty)
    page = mira.go("belief?new=1")
    keys = losing(mira, "remember")
    page.fill("textarea", "Tea is at four")
    page.click("button:text-is('Remember')")
    mira.see("The server does not answer")
    page.reload()  # what was typed is there, and so is the key
    page.wait_for_selector("main textarea")
    page.click("button:text-is('Remember')")
    mira.see("Revision 1")
    assert len(keys) == 2 and keys[0] == keys[1] != ""
    assert len(empty.memory.recall("when is tea").hits) == 1
    mira.go("belief?new=1")
    page.fill("textarea", "Tea is at four")  # said again, it is another statement
    page.click("button:text-is('Remember')")
    mira.until("location.hash.includes('kref')")
    assert keys[2] != keys[0]


def test_a_lost_decision_of_the_inbox_is_made_once(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("inbox")
    keys = losing(mira, "resolve")
    row = page.locator("section[aria-label=Conflicts] [data-row]").first
    row.focus()
    page.keyboard.press("x")
    mira.see("The server does not answer", "section[aria-label=Conflicts]")
    button = page.locator("section[aria-label=Conflicts] .problem").locator("..")
    button.get_by_text("Keep the old").click()
    mira.see("Receipt", ".notices")
    assert len(keys) == 2 and keys[0] == keys[1] != ""
    assert len(team.memory.conflicts()) == 1


def test_retiring_what_lost_its_support_is_one_change(team: ServedPage, reader: Readers) -> None:
    """Nothing of it is done while the server cannot be reached. Undo brings the belief back; that
    a person has decided stays."""
    mira = reader(team)
    page = mira.go("inbox")
    page.route("**/v1/run", lambda route: route.abort(), times=1)
    mira.expects_errors = True
    row = page.locator("section[aria-label=Proposals] [data-row]:has-text('Retire it')").first
    item = row.locator(".about a").first.get_attribute("href") or ""
    kref = unquote(item.split("kref=")[1]).split("?")[0]
    open_ones = {one.kref for one in team.memory.proposals()}
    last = team.memory.log(limit=1)[0].tx
    row.get_by_text("Retire it").click()
    problem = page.locator("section[aria-label=Proposals] .problem")
    problem.wait_for()
    assert team.memory.log(limit=1)[0].tx == last
    page.wait_for_selector(".connection", state="detached")
    problem.locator("..").get_by_text("Retire it").click()
    mira.see(f"Receipt {last + 1}", ".notices")
    mira.until(
        "kref => !document.querySelector('section[aria-label=Proposals]')?.innerHTML"
        ".includes(encodeURIComponent(kref))",
        arg=kref,
    )
    assert team.memory.history(kref).revisions[-1].status == "deprecated"
    assert len({one.kref for one in team.memory.proposals()}) == len(open_ones) - 1
    page.locator("h1").focus()
    page.keyboard.press("u")
    mira.see("is undone", ".notices")
    assert team.memory.history(kref).revisions[-1].status == "current"


def test_nothing_newer_than_what_was_shown_is_retired(team: ServedPage, reader: Readers) -> None:
    """Somebody else revises a candidate, and a belief, just before they are retired here."""
    mira = reader(team)
    mira.expects_errors = True
    retired: list[str] = []

    def late(route: Any) -> None:
        asked = json.loads(route.request.post_data or "{}")
        if not asked.get("dry_run"):
            retired.append(asked["kref"])
            team.memory.revise(asked["kref"], "It was checked again and holds", again=True)
        route.continue_()

    page = mira.go("inbox")
    page.route("**/v1/deprecate", late)
    row = page.locator("section[aria-label=Candidates] [data-row]").first
    row.focus()
    page.keyboard.press("x")
    mira.see("someone moved it", "section[aria-label=Candidates]")
    page = mira.go(f"belief?kref={DATABASE}")
    page.click("button:text-is('Retire')")
    page.click("button:text-is('Show what would follow')")
    page.click("form.change button.primary")
    mira.see("someone moved it")
    assert len(retired) == 2 and retired[1] == DATABASE
    for kref in retired:
        found = team.memory.get(kref)
        assert found is not None and found.summary == "It was checked again and holds"  # type: ignore[union-attr]


def test_what_is_typed_into_the_search_stays(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("ask")
    page.keyboard.press("/")
    page.keyboard.type("which database")
    mira.expects_errors = True
    page.route("**/v1/**", lambda route: route.abort())
    page.evaluate("async () => { (await import('/ui/state.js')).epoch.value++; }")
    mira.see("The server does not answer", "body")
    page.unroute("**/v1/**")
    page.wait_for_selector(".connection", state="detached")
    page.wait_for_timeout(100)
    assert page.input_value("#search") == "which database"
    page.reload()
    page.wait_for_selector("#search")
    assert page.input_value("#search") == "which database"
    page.focus("#search")
    page.keyboard.press("Enter")
    mira.see("come back")
    assert page.input_value("#search") == "which database"


def test_a_search_sent_in_the_moment_it_is_typed_asks_what_stands_in_the_field(
    team: ServedPage, reader: Readers
) -> None:
    """A program that fills the field and sends it leaves the page no time to draw in between."""
    page = reader(team).go("ask")
    page.evaluate(
        """() => {
          const field = document.querySelector('#search');
          field.value = 'which database';
          field.dispatchEvent(new Event('input', {bubbles: true}));
          field.form.requestSubmit();
        }"""
    )
    page.wait_for_function("location.hash.endsWith('q=which+database')")


# Long work


def test_a_dream_is_a_job_that_can_be_stopped(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("dream")
    asked: list[str] = []

    def hold(route: Any) -> None:
        """Answer that the job goes on, until it is stopped."""
        request = route.request
        asked.append(request.method)
        answer = route.fetch()
        body = answer.json()
        if "DELETE" in asked and request.method == "GET":
            route.fulfill(json=body | {"state": "cancelled"})
        else:
            route.fulfill(json=body | {"state": "running", "done": 1_234})

    page.route("**/v1/jobs/*", hold)
    page.click("button:text-is('Dream now')")
    mira.see("1,234 done", ".long-work")
    page.click("button:text-is('Stop')")
    mira.see("The dream was stopped", ".notices")
    assert asked.count("DELETE") == 1
    page.unroute("**/v1/jobs/*")
    mira.go("health")
    with page.expect_response("**/v1/verify") as first:
        page.click("button:text-is('Verify the log')")
    assert first.value.status == 202  # a job
    mira.see("Whole:")
