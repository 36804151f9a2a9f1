"""Shared by all tests: a clock that stands still, a real store in a temporary folder, a ledger on
it, the long form of tests (--campaign), and seeds and counts of what they try."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from doxa.base.clock import FakeClock
from doxa.belief import Ledger, declare
from doxa.store import Identity, Store
from tests import lane

_REMARK, _FIGURES = "remark", "figures"
_WHOLE = ("tests/adversary/", "tests/redaction/test_labelled.py")  # a campaign runs all of these

os.environ["DOXA_CONFIG"] = os.devnull  # no settings of the person who runs the tests

# A shell's background job ignores SIGINT, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine draws slowly: no test depends on a clock.
settings.register_profile("doxa", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("doxa")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--campaign",
        type=int,
        default=1,
        metavar="N",
        help="run only the tests that have a long form, N times the examples, kills and cases, and"
        " the adversary suite",
    )
    parser.addoption(
        "--record-figures",
        type=Path,
        metavar="FILE",
        help="write what the tests of each file tried and found as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    if lane.LANE:
        lane.begin(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if lane.LANE:
        lane.leave_out(items)
    factor = config.getoption("--campaign")
    if factor == 1:
        return
    long = [item for item in items if _lengthened(item, factor)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(long)])
    items[:] = long


def _lengthened(item: pytest.Item, factor: int) -> bool:
    """Give a property its examples times the factor. True if the test belongs to a campaign: it is
    a property, a state machine, takes the fixture `campaign`, or is of the adversary suite."""
    assert isinstance(item, pytest.Function)
    machine = getattr(item.cls, "settings", None)
    if isinstance(machine, settings):
        if not hasattr(item.cls, "short"):
            item.cls.short = machine
            item.cls.settings = settings(machine, max_examples=machine.max_examples * factor)
        return True
    if is_hypothesis_test(item.obj):
        # Hypothesis has no public way to change the settings of a test that has its own.
        function = getattr(item.obj, "__func__", item.obj)
        short = getattr(function, "_short", None) or function._hypothesis_internal_use_settings
        function._short = short
        function._hypothesis_internal_use_settings = settings(
            short, max_examples=short.max_examples * factor
        )
        return True
    return "campaign" in item.fixturenames or item.nodeid.startswith(_WHOLE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Let a test fail that is skipped for want of a suite, where DOXA_REQUIRE_SUITES names it."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        missing = required_suite(str(report.longrepr[2]), os.environ.get("DOXA_REQUIRE_SUITES", ""))
        if missing:
            report.outcome = "failed"
            report.longrepr = f"DOXA_REQUIRE_SUITES requires what {missing} installs"
    return report


def required_suite(reason: str, required: str) -> str:
    """Return the script that a reason for skipping names if its suite is required: by its name,
    such as `api,page`, or every one by 1; else nothing."""
    found = re.search(r"scripts/(\w+?)(?:_suite)?\.sh", reason)
    names = required.split(",")
    return found[0] if found and (found[1] in names or "1" in names) else ""


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> int:
    """How many times its short form a test should do: 1, or what `make campaign` asks for."""
    return int(request.config.getoption("--campaign"))


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says something at the end of the run, whether or not the test passes: a seed, above all."""
    return lambda text: request.node.user_properties.append((_REMARK, text))


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Counts what a test tried and found, for the end of the run and `--record-figures`."""

    def add(**figures: int) -> None:
        request.node.user_properties.append((_FIGURES, figures))

    return add


@pytest.fixture
def seed(tell: Callable[[str], None]) -> int:
    """The seed of a test that chooses at random: DOXA_SEED, or another in each run."""
    chosen = int(os.environ.get("DOXA_SEED", random.randrange(2**32)))
    tell(f"DOXA_SEED={chosen}")
    return chosen


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    files: dict[str, dict[str, Any]] = {}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if not isinstance(report, pytest.TestReport) or outcome not in ("passed", "failed"):
                continue
            found = files.setdefault(
                report.nodeid.partition("::")[0],
                {"tests": 0, "failed": 0, "seconds": 0.0, "figures": {}},
            )
            found["tests"] += report.when == "call"
            found["failed"] += report.failed
            found["seconds"] = round(found["seconds"] + report.duration, 1)
            for name, told in report.user_properties if report.when == "call" else ():
                if name == _REMARK:
                    terminalreporter.write_line(f"{report.nodeid}: {told}")
                elif name == _FIGURES:
                    words = ", ".join(f"{key} {value:,}" for key, value in told.items())
                    terminalreporter.write_line(f"{report.nodeid}: {words}")
                    for key, value in told.items():
                        found["figures"][key] = found["figures"].get(key, 0) + value
    if path := config.getoption("--record-figures"):
        path.write_text(json.dumps(dict(sorted(files.items())), indent=1) + "\n")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A bare store: no rule declared."""
    with Store(tmp_path / "a.db", clock=clock) as made:
        yield made


@pytest.fixture
def believing(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A store that knows the rules of beliefs."""
    with Store(tmp_path / "beliefs.db", clock=clock) as made:
        declare(made)
        yield made


@pytest.fixture
def ledger(believing: Store) -> Ledger:
    return Ledger(believing, Identity("ana", "operator"))


@pytest.fixture
def agent(believing: Store) -> Ledger:
    return Ledger(believing, Identity("bot", "agent"))
