"""A served memory and a real Chromium to look at it. `sh scripts/page_suite.sh` installs what is
missing; without it the tests say so and are skipped."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from doxa.app import Memory, open_memory
from doxa.base.ids import Role
from doxa.models import HashEmbedder
from doxa.servers.credentials import Credentials, Principal
from doxa.servers.databases.folder import DatabaseFolder
from doxa.servers.databases.service import FolderService
from doxa.servers.http import HttpServer, running_server
from doxa.servers.http.api.app import ApiOptions
from doxa.servers.memory import MemoryDatabase

CACHE = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache" / "doxa-tests")
SUITE = CACHE / "page-suite"
AXE = SUITE / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WAIT_MS = 15_000
PROJECT = "spoke"
VIEWS = ("ask", "inbox", "today", "browse", "fading", "dream", "health", "cypher")
DATABASE = "kref://spoke/ops/database.decision"
OPTIONS: dict[str, Any] = {"embedder": HashEmbedder(dimensions=384), "background": False}


def chromium() -> str | None:
    """Return the path of Chromium: Debian's, or Playwright's own."""
    found = shutil.which("chromium")
    if found:
        return found
    own = sorted((SUITE / "browsers").glob("chromium-*/chrome-linux*/chrome"))
    return str(own[-1]) if own else None


def missing() -> str:
    """Return why no browser can be started; empty if one can."""
    packages = sorted((SUITE / "venv" / "lib").glob("python3.*/site-packages/playwright"))
    own = f"python3.{sys.version_info.minor}"
    if not packages or packages[0].parents[1].name != own or chromium() is None:
        return "the browser of the tests is absent: run sh scripts/page_suite.sh to install it"
    return ""


def playwright() -> Any:
    """Return Playwright's context manager, from the environment that the script made."""
    folder = next((SUITE / "venv" / "lib").glob("python3.*/site-packages"))
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    from playwright.sync_api import sync_playwright  # type: ignore[import-not-found,unused-ignore]

    return sync_playwright()


def function_of(name: str) -> str:
    """Return a function of JavaScript from a file next to the tests, without its comment."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    code = "\n".join(line for line in lines if not line.startswith("//"))
    return code.rstrip().rstrip(";")


class ServedPage(NamedTuple):
    """A memory and the server that shows it."""

    memory: Memory
    server: HttpServer

    def link(self, role: Role = "operator", projects: tuple[str, ...] = ()) -> str:
        return self.server.session_link(Principal("mira", role, projects))

    def address(self, view: str) -> str:
        return f"{self.server.uri}/ui/#/{view}"


@contextmanager
def served_page(path: Path, *, port: int = 0, project: str = PROJECT) -> Iterator[ServedPage]:
    """Serve a memory file for browsers. Its file of users is empty: links alone let in."""
    users = Credentials(path.with_suffix(".users.json"))
    with open_memory(path, role="operator", actor="mira", project=project, **OPTIONS) as memory:
        database = MemoryDatabase(memory, project=project)
        with running_server(database, users, api=ApiOptions(rate=0), port=port) as server:
            yield ServedPage(memory, server)


@contextmanager
def served_folder(path: Path) -> Iterator[ServedPage]:
    """Serve two databases, doxa and sales; the memory is that of sales, which has a belief."""

    def opened(file: Path) -> Memory:
        return open_memory(file, role="operator", actor="mira", project=PROJECT, **OPTIONS)

    folder = DatabaseFolder(path, opened)
    try:
        folder.create("sales")
        folder.database("sales")  # opens it
        sales = dict(folder.memories())["sales"]
        sales.remember("The price is 24 euros", name="price")
        users = Credentials(path / "users.json")
        with running_server(FolderService(folder), users, api=ApiOptions(rate=0)) as server:
            yield ServedPage(sales, server)
    finally:
        folder.close()


class Reader:
    """A person in front of a page. Errors of scripts and violations of the policy fail the test."""

    def __init__(self, browser: Any, served: ServedPage, **options: Any) -> None:
        role, projects = options.pop("role", "operator"), options.pop("projects", ())
        self.served = served
        self.context = browser.new_context(**{"viewport": WIDE} | options)
        self.context.set_default_timeout(WAIT_MS)
        self.errors: list[str] = []
        self.expects_errors = False
        self.page = self.tab(served.link(role, projects))
        self.page.wait_for_selector("main h1")
        self.settle()  # what the start view asks for is answered, and counted as use

    def tab(self, address: str) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._console)
        page.on("dialog", self._dialog)
        page.goto(address)
        return page

    def _dialog(self, dialog: Any) -> None:
        self.errors.append("a dialog")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        if message.type == "error" and not self.expects_errors:
            self.errors.append(f"{message.text} {message.location.get('url', '')}")

    def go(self, view: str) -> Any:
        """Open a view and wait until it has loaded."""
        self.page.goto(self.served.address(view))
        self.page.wait_for_selector("main h1")
        self.settle()
        return self.page

    def settle(self) -> None:
        self.until("!document.querySelector('main .loading')")
        self.page.wait_for_load_state("load")

    def until(self, expression: str, arg: Any = None) -> None:
        """Wait until an expression is true. Playwright's own waiting evaluates text in the page,
        which the policy of the page refuses."""
        end = time.monotonic() + WAIT_MS / 1000
        while not self.page.evaluate(expression, arg):
            assert time.monotonic() < end, (expression, arg, self.text("body")[:3_000])
            self.page.wait_for_timeout(40)

    def text(self, selector: str = "main") -> str:
        found: str = self.page.inner_text(selector)
        return found

    def see(self, text: str, selector: str = "main") -> None:
        """Wait until a text is shown."""
        self.until(
            "([selector, text]) => document.querySelector(selector)?.innerText.includes(text)",
            arg=[selector, text],
        )

    def see_no_more(self, text: str, selector: str) -> None:
        """Wait until a text is gone."""
        self.until(
            "([selector, text]) => !document.querySelector(selector)?.innerText.includes(text)",
            arg=[selector, text],
        )

    def see_count(self, section: str, count: int) -> None:
        """Wait until a section says how many entries it has."""
        self.see(str(count), f"section[aria-label={section}] .count")

    def close(self) -> None:
        self.context.close()
        assert self.errors == [], self.errors
