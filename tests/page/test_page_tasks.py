"""What a person does on the page, as a person does it: by looking, clicking and typing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from doxa.agent.continuity.metrics import note
from doxa.base.files.places import agents_folder
from tests.page.page_fixtures import DATABASE, Reader, ServedPage, served_folder

Readers = Callable[..., Reader]
MOVE_SLIDER = """step => { const one = document.querySelector('#time-system');
one.value = step; one.dispatchEvent(new Event('input', {bubbles: true})); }"""
HALF_LIFE = "ALTER DECAY PROFILE exchange_retention SET OPTIONS { halfLifeSeconds: %s }"


def test_ask_shows_what_comes_back_why_and_what_does_not(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.page
    page.keyboard.press("/")
    page.keyboard.type("which database does Spoke store its data in")
    page.keyboard.press("Enter")
    mira.see("SQLite, one file for each shop")
    first = page.locator("main ol.rows > li").first
    assert "SQLite" in first.inner_text() and "Why:" in first.inner_text()
    mira.see("Not shown: a newer revision replaced it.")
    assert "MySQL 8" in page.locator("main .row:has-text('Not shown') .text").first.inner_text()


def test_belief_says_since_when_and_why_and_what_it_was(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    mira.see("Around it")
    assert page.locator(".timeline del").first.inner_text().strip() == "MySQL 8"
    assert "SQLite" in page.locator(".timeline ins").first.inner_text()
    mira.see("What depends on it")
    assert "Litestream" in mira.text(".reasons")
    page.click("summary:has-text('Tags moved')")
    assert "approved" in mira.text(".moves")
    nodes = page.locator("svg.graph a.node")
    nodes.first.wait_for()
    few = nodes.count()
    page.click("button:text-is('3 steps')")
    mira.until("few => document.querySelectorAll('svg.graph a.node').length > few", arg=few)
    listed = page.locator(".edges a").count()
    assert listed >= nodes.count() - 1 > few


def test_revise_shows_the_diff_and_what_lacks_support_and_undo_takes_it_back(
    team: ServedPage, reader: Readers
) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    page.click("button:text-is('Revise')")
    page.fill("textarea >> nth=0", "The booking app Spoke stores its data in PostgreSQL")
    page.fill("textarea >> nth=1", "spoke | database | PostgreSQL")
    page.click("button:text-is('Preview')")
    mira.see("This would change")
    assert "PostgreSQL" in mira.text(".preview ins")
    assert "litestream" in mira.text(".preview .unsupported")
    assert "SQLite" in team.memory.get(DATABASE).summary  # type: ignore[union-attr]
    page.click("form.change button.primary")
    mira.see("Now lacks support", ".receipt")
    assert "PostgreSQL" in team.memory.get(DATABASE).summary  # type: ignore[union-attr]
    page.locator("h1").focus()
    page.keyboard.press("u")
    mira.see("is undone", ".notices")
    assert "SQLite" in team.memory.get(DATABASE).summary  # type: ignore[union-attr]


def test_verify_and_retire(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    page.click("button:text-is('Verify')")
    page.wait_for_selector(".belief .chip.good:text-is('verified')")
    assert team.memory.get(DATABASE).trust == "verified"  # type: ignore[union-attr]
    page.click("button:text-is('Retire')")
    page.click("button:text-is('Show what would follow')")
    mira.see("Now lacks support", ".preview")
    page.click("form.change button.primary")
    page.wait_for_selector("button:text-is('Restore')")


def test_three_decisions_in_the_inbox_by_one_key_each(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.page
    page.keyboard.press("2")
    mira.see("Conflicts")
    page.keyboard.press("j")
    page.keyboard.press("x")  # keep the verified belief
    mira.see("Receipt", ".notices")
    mira.until("document.querySelector('section[aria-label=Conflicts] .count').innerText === '1'")
    page.locator("section[aria-label=Candidates] [data-row]").first.focus()
    said = page.locator("section[aria-label=Candidates] [data-row] .text").first.inner_text()
    page.keyboard.press("a")
    mira.see_no_more(said, "section[aria-label=Candidates]")
    page.locator("section[aria-label=Quarantine] [data-row]").first.focus()
    page.keyboard.press("x")
    mira.until("document.querySelector('section[aria-label=Quarantine] .count').innerText === '1'")
    assert len(team.memory.conflicts()) == 1
    ops = {receipt.op for receipt in team.memory.log(limit=6)}
    assert {"resolve", "revise", "deprecate"} <= ops


def test_later_puts_an_entry_off(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("inbox")
    page.locator("section[aria-label=Conflicts] [data-row]").first.focus()
    page.keyboard.press("l")
    mira.until("document.querySelector('section[aria-label=Conflicts] .count').innerText === '1'")
    assert len(team.memory.conflicts()) == 2


def test_today_is_live_and_a_sitting_can_be_undone(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("today")
    mira.see("codex")
    session = team.memory.session(actor="gemini", project="spoke")
    session.remember("Gemini says hello", name="hello")
    session.remember("Gemini says goodbye", name="goodbye")
    mira.see("Gemini says goodbye")
    sitting = page.locator("section.sitting[aria-label^=gemini]")
    sitting.get_by_text("Undo this sitting").click()
    sitting.get_by_text("Undo them").click()
    mira.see("2 of 2 changes of gemini are undone", ".notices")
    assert not team.memory.recall("Gemini says hello", strict=True).hits or all(
        "Gemini" not in hit.text for hit in team.memory.recall("Gemini says hello").hits
    )


def test_browse_leads_to_a_belief_and_a_file_is_checked(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("browse")
    page.click("main .virtual a:has-text('spoke')")
    page.click("main .virtual a:has-text('product')")
    page.click("main .virtual a:has-text('24 euros')")
    mira.see("Since when")
    page = mira.go("browse?show=files")
    page.click(".row:has-text('invoices.csv') button:has-text('Check the hash')")
    mira.see("has the same hash")
    mira.go("browse?show=kinds&kind=preference")
    mira.see("teal on white")
    mira.go("browse?show=tags&tag=approved")
    mira.see("SQLite, one file for each shop")
    mira.go("browse?show=names")
    mira.see("Sykkelhuset")


def test_the_overview_shows_the_spaces_and_leads_to_them(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("browse?show=overview")
    mira.see("spoke/ops")
    assert page.locator("svg.overview a.node").count() == page.locator(".spaces tbody tr").count()
    assert page.locator("svg.overview line").count() > 0  # product depends on support
    row = page.locator("tr:has(th:has-text('spoke/product'))").inner_text()
    assert "decision" in row
    page.locator("svg.overview a.node:has-text('ops')").focus()
    page.keyboard.press("Enter")
    mira.see("entries")
    assert page.evaluate("location.hash.includes(encodeURIComponent('kref://spoke/ops'))")


def test_fading_says_what_goes_and_simulates_a_policy(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    team.memory.flush()  # the start view lists what is recent, which is use
    page = mira.go("fading")
    mira.see("Hidden soon")
    assert page.locator("main section >> nth=0 >> [data-row]").count() > 3
    mira.see("exchange_retention: exponential, hidden after 23 days without use")
    accesses = [one for one in team.memory.log(limit=50) if one.op == "accesses"]
    page.fill("textarea", HALF_LIFE % 6_000)
    page.click("button:text-is('Simulate')")
    mira.see("hidden by then 20", ".preview")
    page.fill(
        "textarea",
        HALF_LIFE % 9_000_000,
    )
    page.click("button:text-is('Simulate')")
    page.click("button:text-is('Put it in force')")
    mira.see("The policy is in force", ".notices")
    mira.until("document.querySelector('main section .count').innerText === '0'")
    team.memory.flush()
    assert len([one for one in team.memory.log(limit=50) if one.op == "accesses"]) == len(accesses)


def test_dream_shows_its_runs_and_dreams_again(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("dream")
    mira.see("Proposed")
    assert page.locator("section.run").count() >= 2
    page.click("button:text-is('Dream now')")
    mira.see("Dreamed:", ".notices")


def test_health_verifies_and_says_who_writes_what(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("health")
    mira.see("all is well")
    mira.see("rerank-model", "main")
    assert "dream" in mira.text("section:has(> h2:text-is('Spending on models'))")
    row = page.locator("tr:has(th:text-is('claude-code'))")
    assert "ingest" in row.inner_text()
    page.click("button:text-is('Verify the log')")
    mira.see("Whole:")


def test_health_says_how_it_grows_how_hooks_do_and_when_it_was_backed_up(
    team: ServedPage, reader: Readers, tmp_path: Path
) -> None:
    mira = reader(team)
    page = mira.go("health")
    mira.see("What would trim it")
    mira.see("a week adds")
    assert "search by words" in mira.text() and "Most by" in mira.text()
    assert "Last backup none" in mira.text().replace("\n", " ")
    mira.see("No hook of an agent was measured yet")
    folder = agents_folder(Path(team.memory.store.path))
    for ms in (3.0, 4.0, 9_000.0):
        note(folder, "prompt", ms, host="claude-code")
    note(folder, "prompt", 2.0, host="codex")
    team.memory.backup(tmp_path / "copy.db")
    mira.go("ask")
    mira.go("health")
    mira.see("its restore was not tested")
    rows = page.locator("[aria-label='How long hooks take'] tbody tr")
    found = {row.split("\t")[0]: row for row in rows.all_inner_texts()}
    assert "over budget" in found["claude-code"] and "healthy" in found["codex"]


def test_cypher_as_a_table_a_graph_and_a_plan(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go("cypher")
    page.press("textarea", "Control+Enter")
    mira.see("rows")
    assert page.locator("main table tbody tr").count() > 5
    page.click("button:text-is('graph')")
    assert page.locator("svg.graph a.node").count() > 5
    page.click("button:text-is('Plan')")
    page.wait_for_selector(".plan li")
    page.fill("textarea", "MATCH (n:Revision RETURN n")
    mira.expects_errors = True
    page.click("main button.primary")
    page.wait_for_selector("[role=alert]")
    page.fill("textarea", "CREATE (:Made) RETURN 1 AS one")
    page.click("main button.primary")
    mira.see("only reads", "[role=alert]")


def test_another_database_is_looked_at_with_its_own_changes(
    tmp_path: Path, reader: Readers
) -> None:
    with served_folder(tmp_path / "data") as served:
        mira = reader(served)
        page = mira.page
        mira.go("ask")
        assert page.locator("#database option").all_inner_texts() == ["doxa", "sales"]
        mira.go("belief?new=1")
        page.fill("textarea", "Tea is at four")
        page.click("button:text-is('Remember')")
        mira.see("Revision 1")
        page.select_option("#database", "sales")
        mira.go("ask")
        mira.see("The price is 24 euros")
        assert "Tea" not in mira.text()
        page.keyboard.press("u")  # the change was made in the other database
        mira.see("Nothing was changed here yet", ".notices")
        page.reload()
        mira.see("The price is 24 euros")
        mira.go("belief?new=1")
        page.fill("textarea", "The price is 26 euros")
        page.click("button:text-is('Remember')")
        mira.see("Revision 1")
        page.select_option("#database", "doxa")
        mira.go("ask")
        mira.see("Tea is at four")
        assert "euros" not in mira.text()


def test_a_server_of_one_database_has_no_switch(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    mira.go("ask")
    assert mira.page.locator("#database").count() == 0


def test_one_slider_shows_the_past_everywhere(team: ServedPage, reader: Readers) -> None:
    mira = reader(team)
    page = mira.go(f"belief?kref={DATABASE}")
    page.keyboard.press("t")
    page.wait_for_selector("#time-system")
    page.wait_for_timeout(200)
    page.evaluate(MOVE_SLIDER, 60)
    mira.see("You look at the past", ".timebar")
    mira.until("document.querySelector('.statement')?.innerText.includes('MySQL 8')")
    mira.go("ask?q=which+database+does+Spoke+store+its+data+in")
    mira.see("in MySQL 8")
    mira.go("browse?at=kref://spoke/ops")
    mira.see("mysqldump")
    assert "Litestream" not in mira.text()
    page.click("button:text-is('Back to now')")
    mira.see("Litestream")


def test_a_first_belief_in_an_empty_memory(empty: ServedPage, reader: Readers) -> None:
    mira = reader(empty)
    for view in ("inbox", "today", "browse", "fading", "dream", "health", "cypher", "ask"):
        mira.go(view)
        assert mira.page.locator("main h1").count() == 1
        assert mira.page.locator("[role=alert]").count() == 0, (view, mira.text())
    mira.see("This memory is empty")
    mira.page.click("main a:text-is('state a first belief')")
    mira.page.fill("textarea", "Tea is at four")
    mira.page.click("button:text-is('Remember')")
    mira.see("Revision 1")
    mira.page.keyboard.press("/")
    mira.page.keyboard.type("when is tea")
    mira.page.keyboard.press("Enter")
    mira.see("Tea is at four")
