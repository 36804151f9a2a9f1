"""Shared by all tests: a clock that stands still, a real store in a temporary folder, a ledger on
it, and the long form of tests (--campaign)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from doxa.base.clock import FakeClock
from doxa.belief import Ledger, declare
from doxa.store import Identity, Store

_REMARK = "remark"

# A busy machine draws slowly: no test depends on a clock.
settings.register_profile("doxa", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("doxa")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--campaign",
        type=int,
        default=1,
        metavar="N",
        help="run only the tests that have a long form: N times the examples, kills and cases",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    factor = config.getoption("--campaign")
    if factor == 1:
        return
    long = [item for item in items if _lengthened(item, factor)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(long)])
    items[:] = long


def _lengthened(item: pytest.Item, factor: int) -> bool:
    """Give a property its examples times the factor. True if the test has a long form: it is a
    property, a state machine, or takes the fixture `campaign`."""
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
    return "campaign" in item.fixturenames


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> int:
    """How many times its short form a test should do: 1, or what `make campaign` asks for."""
    return int(request.config.getoption("--campaign"))


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says something at the end of the run, whether or not the test passes: a seed, above all."""
    return lambda text: request.node.user_properties.append((_REMARK, text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, text in report.user_properties:
                    if name == _REMARK:
                        terminalreporter.write_line(f"{report.nodeid}: {text}")


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
