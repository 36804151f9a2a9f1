"""Tests that need a suite of others are skipped without it, and fail where it is required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import required_suite

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("reason", "required", "script"),
    [
        ("absent: run sh scripts/api_suite.sh to install it", "api", "scripts/api_suite.sh"),
        ("run scripts/otel.sh to install OpenTelemetry", "page,otel", "scripts/otel.sh"),
        ("run scripts/otel.sh to install OpenTelemetry", "1", "scripts/otel.sh"),
        ("run scripts/otel.sh to install OpenTelemetry", "api", ""),
        ("run scripts/otel.sh to install OpenTelemetry", "", ""),
        ("no SIGKILL here", "1", ""),
    ],
)
def test_a_suite_is_required_by_its_name(reason: str, required: str, script: str) -> None:
    assert required_suite(reason, required) == script
    assert not script or (ROOT / script).exists()


def test_what_is_required_is_not_skipped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["tests/http/test_api_suite.py", "-k", "openapi"]
    for required, code, said in (("", 0, "skipped"), ("page", 0, "skipped"), ("api", 1, "error")):
        done = subprocess.run(
            [*command, "-o", "addopts=", "--basetemp", str(tmp_path / "base")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=os.environ | {"DOXA_CACHE": str(tmp_path), "DOXA_REQUIRE_SUITES": required},
        )
        assert (done.returncode, said in done.stdout) == (code, True), done.stdout
