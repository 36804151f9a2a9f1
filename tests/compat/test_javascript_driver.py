"""The official JavaScript driver, on Node.js: the checks are in javascript_driver.mjs. Skipped
unless `scripts/compat.sh` has installed it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compat.conftest import CLIENTS, ServerProcess

FOLDER = CLIENTS / "javascript"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
@pytest.mark.skipif(
    not (FOLDER / "node_modules" / "neo4j-driver").is_dir(),
    reason="run scripts/compat.sh to install the JavaScript driver",
)
def test_the_javascript_driver(server: ServerProcess) -> None:
    script = Path(__file__).with_name("javascript_driver.mjs")
    done = subprocess.run(
        ["node", str(script), str(FOLDER), str(server.port)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(checks) == 12
    assert [check for check in checks if check["problem"]] == []
