"""What a memory holds cannot act on the page, and the page shows nobody more than the API does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.page.page_fixtures import Reader, ServedPage, function_of, served_page
from tests.page.page_hostile import MARKS, OF_OTHER_SUITES

Readers = Callable[..., Reader]
WORDS = ("quarterly", "harbour", "lantern", "ferry")
VIEWS = (
    "ask",
    "ask?q=harbour+lantern",
    "inbox",
    "today",
    "browse?at=kref://p/s",
    "browse?show=kinds&kind=fact",
    "browse?show=names",
    "browse?show=files",
    "belief?kref=kref://p/s/main.fact",
    "belief?kref=kref://p/s/main.fact&form=revise",
    "belief?kref=kref://p/all.bundle",
    "belief?kref=kref://p/conversations/others.thread",
    "fading",
    "dream",
    "health",
    "cypher",
)
SMALL = 24


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[ServedPage]:
    """A memory in which every text is hostile."""
    with served_page(tmp_path / "hostile.db", project="p") as served:
        memory, draw = served.memory, random.Random(7)
        marks = [f"{draw.choice(WORDS)} {mark} {draw.choice(WORDS)}" for mark in MARKS]
        memory.remember(marks[0], name="main", space="s", title=MARKS[1], topics=[MARKS[2]])
        memory.revise(
            "kref://p/s/main.fact",
            f"harbour lantern {MARKS[1]}",
            facts=[(MARKS[0], MARKS[1], MARKS[3])],
            metadata={"note": MARKS[0]},
        )
        for number, mark in enumerate(marks):
            memory.remember(mark, name=f"n{number}", space="s", depends_on=["kref://p/s/main.fact"])
            memory.remember(mark, name=f"u{number}", space="s", trust="untrusted")
        memory.remember("harbour lantern checked", name="held", space="s", trust="verified")
        agent = memory.session(actor="<img src=x onerror=window.broken=1>", project="p")
        agent.revise("kref://p/s/held.fact", f"harbour lantern {MARKS[0]}")
        memory.ingest(
            [
                {"text": mark, "speaker": MARKS[1], "thread": "t", "session": MARKS[0]}
                for mark in marks
            ]
        )
        memory.attach("kref://p/s/main.fact?r=1", "b.txt", location=MARKS[1])
        memory.mention(MARKS[1], source="kref://p/s/main.fact")
        memory.bundle(
            "kref://p/all.bundle", add=[f"kref://p/s/n{number}.fact" for number in range(5)]
        )
        memory.ingest(
            [
                {"text": text, "speaker": text[:40], "thread": "others", "session": "s"}
                for text in OF_OTHER_SUITES
            ]
        )
        for number, text in enumerate(OF_OTHER_SUITES[:: len(OF_OTHER_SUITES) // 40]):
            memory.remember(f"harbour {text}", name=f"o{number}", space="s", trust="candidate")
        memory.dream(dry_run=False)
        yield served


def test_hostile_text_is_text_in_every_view(hostile: ServedPage, reader: Readers) -> None:
    mira = reader(hostile, viewport={"width": 390, "height": 844})
    shown = ""
    for view in VIEWS:
        page = mira.go(view)
        if view == "cypher":
            page.fill("textarea", "MATCH (n:Revision) RETURN n, n.summary")
            page.click("main button.primary")
            page.wait_for_selector("main table")
        page.wait_for_timeout(150)
        _check(page, view)
        shown += page.evaluate("document.body.textContent")
    for mark in MARKS[:5]:
        assert mark in shown, mark


def test_hostile_text_is_text_on_every_page_of_an_element(
    hostile: ServedPage, reader: Readers
) -> None:
    """Turns, conflicts, previews, receipts, notices and the past."""
    memory = hostile.memory
    mira = reader(hostile, viewport={"width": 390, "height": 844})
    rows = memory.read(
        "MATCH (n) WHERE n:Exchange OR n:Conflict OR n:Bundle OR n:Entity RETURN n.kref AS kref,"
        " labels(n) AS labels ORDER BY kref"
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(str(row[1]), []).append(str(row[0]))
    assert len(found) >= 4, found.keys()
    for krefs in found.values():
        for kref in krefs[:3]:
            mira.go(f"belief?kref={kref}")
            _check(mira.page, kref)
    page = mira.go("belief?kref=kref://p/s/main.fact&form=revise")
    page.fill("textarea >> nth=0", f"harbour {MARKS[1]} {MARKS[0]} {'W' * 300}")
    page.click("button:text-is('Preview')")
    mira.see("This would change")
    _check(page, "preview")
    page.click("form.change button.primary")
    page.wait_for_selector(".receipt")
    _check(page, "receipt")
    page.evaluate(
        "async (texts) => { const { say } = await import('/ui/state.js');"
        " texts.forEach((text) => say(text, {seconds: 0})); }",
        list(MARKS[:4]),
    )
    assert all(mark in page.inner_text(".notices") for mark in MARKS[:4])
    _check(page, "notices")
    page.evaluate(
        "async () => { (await import('/ui/state.js')).systemTime.value ="
        " new Date().toISOString(); }"
    )
    mira.see("You look at the past", ".timebar")
    _check(page, "past")


def test_ten_thousand_hostile_texts_break_nothing(hostile: ServedPage, reader: Readers) -> None:
    """Parts of the marks put together in ways that nobody thought of, shown by the components of a
    row: no element comes of them, and no row is wider than the window."""
    draw = random.Random(11)
    whole = (*MARKS, *OF_OTHER_SUITES)
    parts = [mark[at : at + 9] for mark in whole for at in range(0, min(len(mark), 60), 5)]
    made = ["".join(draw.choices(parts, k=draw.randint(1, 12))) for _ in range(10_000)]
    texts = [*whole, *made]
    mira = reader(hostile, viewport={"width": 390, "height": 844})
    page = mira.go("ask")
    assert page.evaluate(function_of("hostile_rows.js"), texts) == []
    _check(page, "rows")


def _check(page: Any, view: str) -> None:
    assert page.evaluate("window.broken") is None, view
    made = page.evaluate(
        "document.querySelectorAll('#app script, #app iframe, #app style, #app b,"
        ' main img, .notices img, #app [onerror], #app a[href^="javascript"]\').length'
    )
    assert made == 0, view
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, view
    assert page.locator("nav[aria-label=Views] a").count() == 8 and page.is_visible("main h1"), view


# Rights


def test_a_bound_login_sees_its_projects_alone(team: ServedPage, reader: Readers) -> None:
    kai = reader(team, role="agent", projects=("office",))
    views = (
        "ask",
        "ask?q=which+database",
        "inbox",
        "today",
        "browse",
        "browse?show=kinds",
        "dream",
    )
    for view in (*views, "browse?show=tags", "browse?show=files", "fading", "cypher"):
        page = kai.go(view)
        if view == "today":
            page.click("button:text-is('31 days')")
            kai.settle()
        if view == "cypher":
            page.fill("textarea", "MATCH (n) WHERE n.summary IS NOT NULL RETURN n.summary, n.kref")
            page.click("main button.primary")
            page.wait_for_selector("main table")
        page.wait_for_timeout(200)
        text = kai.text()
        assert "Sykkelhuset" not in text and "SQLite" not in text and "kref://spoke" not in text, (
            view
        )
    kai.go("ask?q=salary+round")
    kai.see("The salary round is closed")
    kai.expects_errors = True
    kai.page.goto(team.address("belief?kref=kref://spoke/ops/database.decision"))
    kai.page.wait_for_selector("[role=alert]")
    assert "SQLite" not in kai.text("body")


def test_an_agent_is_refused_what_operators_do(team: ServedPage, reader: Readers) -> None:
    kai = reader(team, role="agent", projects=("spoke",))
    page = kai.go("belief?kref=kref://spoke/product/audience.decision")
    kai.see("Since when")
    assert page.is_disabled("button:text-is('Verify')")
    kai.expects_errors = True
    kai.go("inbox")
    kai.see("Conflicts")
    page.locator("section[aria-label=Conflicts] [data-row]").first.focus()
    page.keyboard.press("a")
    page.wait_for_selector("section[aria-label=Conflicts] .problem")
    assert len(team.memory.conflicts()) == 2
