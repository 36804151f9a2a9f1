"""How long a person waits for the page, in Chromium, on 25,000 turns: from an opened link
to the first rows of the start view, and from a sent question to its first hit.

The time to the first hit runs from the submission of the search field to the frame after which the
first row is in the document. Its parts come from the browser's own record of requests. What the
processor of the server needs for the question is measured apart, since on a machine with other work
the times contain its waiting.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import doxa
from bench.report import Report
from bench.texts import questions_of, turns_of
from bench.timing import Spread, spread
from doxa.models import HashEmbedder
from doxa.servers.credentials import Credentials, Principal
from doxa.servers.http import running_server
from doxa.servers.http.api.app import ApiOptions
from doxa.servers.memory import MemoryDatabase
from tests.page.page_fixtures import chromium, missing, playwright

TURNS, QUESTIONS, SIGHTS = 25_000, 40, 10
PROJECT = "p"
_ASK = """async (question) => {
  const field = document.querySelector('#search');
  field.value = question;
  field.dispatchEvent(new Event('input', {bubbles: true}));
  const start = performance.now();
  const asked = new URLSearchParams({q: question}).toString();
  const seen = new Promise((done, failed) => {
    const look = () => {
      const row = location.hash.endsWith(asked) && document.querySelector('main ol.rows > li');
      const late = performance.now() > start + 30000;
      if (late) failed(new Error(`No hit in 30 s: ${location.hash}`));
      else if (row && row.innerText) done(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  });
  field.form.requestSubmit();
  const end = await seen;
  const first = performance.getEntriesByType('resource')
    .find((one) => one.startTime >= start && one.name.endsWith('/v1/recall'));
  return [end - start, first.startTime - start, first.responseEnd - first.startTime];
}"""
_BLANK = "() => { location.hash = '#/ask'; }"


def measure_page(report: Report, *, quick: bool = False) -> None:
    """Put the times; says so in the table's place where there is no browser."""
    if missing():
        report.table("The page in Chromium", ["not measured"], [[missing()]])
        return
    turns = list(turns_of(TURNS // 10 if quick else TURNS, seed=report.seed))
    asked = questions_of(turns, QUESTIONS // 4 if quick else QUESTIONS, seed=report.seed + 1)
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"embedder": HashEmbedder(dimensions=384), "background": False}
        path = Path(folder) / "memory.db"
        with doxa.open(path, role="operator", project=PROJECT, **options) as memory:
            memory.ingest(turns, extract=False)
            memory.embed()
            processor = spread([_processor(memory, text) for text in asked])
            users = Credentials(Path(folder) / "users.json")
            database = MemoryDatabase(memory, project=PROJECT)
            with running_server(database, users, api=ApiOptions(rate=0)) as server:
                sights, hits = _looked(server, asked, 3 if quick else SIGHTS)
    found = {
        "first rows of the start view": spread([one / 1e3 for one in sights]),
        "question to first hit": spread([one[0] / 1e3 for one in hits]),
        "of it until the request is sent": spread([one[1] / 1e3 for one in hits]),
        "of it until the answer is there": spread([one[2] / 1e3 for one in hits]),
        "processor time of the recall in Python": processor,
    }
    _put(report, found, len(turns))


def _put(report: Report, found: dict[str, Spread], count: int) -> None:
    for name, one in found.items():
        key = name.replace(" ", "_")
        report.put(f"page.{key}.p50_ms", one.p50_ms)
        report.put(f"page.{key}.p95_ms", one.p95_ms)
    report.table(
        f"The page in Chromium ({count:,} turns)",
        ["what", "p50 ms", "p95 ms"],
        [[name, f"{one.p50_ms:.0f}", f"{one.p95_ms:.0f}"] for name, one in found.items()],
    )


def _processor(memory: doxa.Memory, text: str) -> float:
    start = time.thread_time()
    memory.recall(text, limit=14)
    return time.thread_time() - start


def _looked(server: Any, asked: list[str], sights: int) -> tuple[list[float], list[list[float]]]:
    """Open the page as often, each time in a browser that has no file of it, and ask."""
    with playwright() as found:
        browser = found.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        times = []
        for _ in range(sights):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(server.session_link(Principal("bench", "operator", ())))
            page.wait_for_selector("main ul.rows li")
            times.append(page.evaluate("performance.now()"))
        hits = []
        for text in asked:
            page.evaluate(_BLANK)
            page.wait_for_timeout(300)
            hits.append(page.evaluate(_ASK, text))
        browser.close()
    return times, hits[1:]
