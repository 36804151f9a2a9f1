"""What adapters share: the check of a framework's version, and calls of an asynchronous caller."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from doxa.adapters.framework import FrameworkMissing, require
from doxa.adapters.threads import reading, writing


def test_the_package_imports_no_framework() -> None:
    code = (
        "import sys, doxa.adapters;"
        "print([name for name in ('langgraph','anthropic','agents','langchain_core','pydantic',"
        "'doxa.app') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_absent_framework_names_its_extra() -> None:
    with pytest.raises(FrameworkMissing, match=r"pip install 'doxa-memory\[nothing\]'"):
        require("no-such-framework", extra="nothing", oldest="1", below="2")


@pytest.mark.parametrize(
    ("oldest", "below", "fits"),
    [("1", "99", True), ("99", "100", False), ("1", "1.0.0", False), ("0.0", "99.1", True)],
)
def test_a_version_is_compared_by_its_numbers(oldest: str, below: str, fits: bool) -> None:
    if fits:
        assert require("pytest", extra="x", oldest=oldest, below=below)
    else:
        with pytest.raises(FrameworkMissing, match="is installed"):
            require("pytest", extra="x", oldest=oldest, below=below)


def test_a_cancelled_write_has_ended_when_its_caller_goes_on() -> None:
    begun, let_go, written = threading.Event(), threading.Event(), []

    def write() -> None:
        begun.set()
        let_go.wait()
        written.append(1)

    async def run() -> None:
        task = asyncio.create_task(writing(write))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert written == [1]

    asyncio.run(run())


def test_results_and_errors_come_back() -> None:
    async def run() -> None:
        assert await reading(lambda: 3) == 3
        assert await writing(lambda: 4) == 4
        with pytest.raises(ZeroDivisionError):
            await writing(lambda: 1 // 0)

    asyncio.run(run())
