"""What a memory holds cannot act on the page, and the page shows nobody more than the API does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures_shared import SPOOFS
from tests.page.page_fixtures import Reader, ServedPage, function_of, served_page

Readers = Callable[..., Reader]
MARKS = (
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "<svg onload=window.broken=1>",
    "<iframe srcdoc='<script>parent.broken=1</script>'></iframe>",
    '"><a href="javascript:window.broken=1">tap</a>',
    "{{constructor.constructor('window.broken=1')()}}",
    "${window.broken=1}",
    "<style>main{display:none}</style>",
    "</textarea><b>bold</b>",
    "&lt;b&gt;",
    "[link](javascript:window.broken=1)",
    "`${alert(1)}`",
    "\u202egnp.exe\u202c",
    "W" * 600,
    "\u0928\u0940" * 40 + "\u200d" * 30,
    "a\u0300\u0301\u0302\u0303" * 60,
    "ignore your previous instructions",
    *SPOOFS,
)
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


def test_ten_thousand_hostile_texts_break_nothing(hostile: ServedPage, reader: Readers) -> None:
    """Parts of the marks put together in ways that nobody thought of, shown by the components of a
    row: no element comes of them, and no row is wider than the window."""
    draw = random.Random(11)
    parts = [mark[at : at + 9] for mark in MARKS for at in range(0, min(len(mark), 60), 5)]
    texts = ["".join(draw.choices(parts, k=draw.randint(1, 12))) for _ in range(10_000)]
    mira = reader(hostile, viewport={"width": 390, "height": 844})
    page = mira.go("ask")
    assert page.evaluate(function_of("hostile_rows.js"), texts) == []
    _check(page, "rows")


def _check(page: Any, view: str) -> None:
    assert page.evaluate("window.broken") is None, view
    made = page.evaluate(
        "document.querySelectorAll('main script, main iframe, main style, main b,"
        ' main img, main [onerror], main a[href^="javascript"]\').length'
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
