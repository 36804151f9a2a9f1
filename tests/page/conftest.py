"""A browser for all tests of the page, a month of a team's life, and people who look at it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.demo import fill
from tests.page.page_fixtures import (
    OPTIONS,
    Reader,
    ServedPage,
    chromium,
    missing,
    playwright,
    served_page,
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for one file of tests: its driver runs an event loop on this thread, in which other
    tests could run none."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with playwright() as found:
        made = found.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the demonstration."""
    path = tmp_path_factory.mktemp("month") / "team.db"
    options = {name: value for name, value in OPTIONS.items() if name != "background"}
    fill(path, **options)
    return path


@pytest.fixture
def team(month: Path, tmp_path: Path) -> Iterator[ServedPage]:
    """The month, served from a copy of its own."""
    path = Path(shutil.copy(month, tmp_path / "team.db"))
    shutil.copy(f"{month}.spend", f"{path}.spend")
    with served_page(path) as served:
        yield served


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[ServedPage]:
    with served_page(tmp_path / "empty.db") as served:
        yield served


@pytest.fixture
def reader(browser: Any) -> Iterator[Callable[..., Reader]]:
    """Makes readers; all are closed at the end, which fails for errors of scripts."""
    made: list[Reader] = []

    def make(served: ServedPage, **options: Any) -> Reader:
        made.append(Reader(browser, served, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
