"""The tests of the adapters, run by the environment that scripts/install_frameworks.py makes: each
`test_ADAPTER.py` of this folder in a process of its own. In an environment that has the frameworks
itself, they run as they are, and this file is skipped."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINNED = {path.stem for path in (HERE / "pins").glob("*.txt")}
FILES = sorted(f"test_{name}.py" for name in PINNED if (HERE / f"test_{name}.py").exists())
SKIPPED = "skipped: run scripts/install_frameworks.py to install the frameworks"


def script() -> object:
    spec = importlib.util.spec_from_file_location(
        "install_frameworks", ROOT / "scripts" / "install_frameworks.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FRAMEWORKS = script()


@pytest.mark.skipif(not FRAMEWORKS.is_current(), reason=SKIPPED)  # type: ignore[attr-defined]
@pytest.mark.skipif(
    Path(sys.prefix) == FRAMEWORKS.folder(),  # type: ignore[attr-defined]
    reason="this environment has the frameworks",
)
@pytest.mark.parametrize("name", FILES)
def test_an_adapter_in_its_framework(name: str) -> None:
    done = subprocess.run(
        [
            str(FRAMEWORKS.interpreter()),  # type: ignore[attr-defined]
            *("-m", "pytest", "-p", "no:cacheprovider", str(HERE / name)),
            *("-o", "asyncio_default_fixture_loop_scope=function", "-o", "asyncio_mode=auto"),
            # what a framework leaves open is found by the collector, in a test or at the end
            *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
            *("-W", "ignore::ResourceWarning"),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert " passed" in done.stdout.splitlines()[-1], done.stdout


def test_every_adapter_has_its_pins() -> None:
    adapters = {path.stem for path in (ROOT / "src" / "doxa" / "adapters").glob("[a-z]*.py")}
    assert adapters - PINNED == {
        "conversation",
        "documents",
        "framework",
        "mem0_filters",
        "mem0_rest",
        "naming",
        "threads",
    }
