"""opencypher-compliance, a catalogue of openCypher 9 by other authors, through its Bolt adapter.
Skipped unless `scripts/oracles.sh` was run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.compat.conftest import ROOT, ServerProcess

PYTHON = ROOT / ".venv" / "oracles" / "bin" / "python"
TESTS = 133  # of opencypher-compliance 1.0.1


@pytest.mark.skipif(
    not PYTHON.exists(), reason="run scripts/oracles.sh to install opencypher-compliance"
)
def test_every_test_of_the_catalogue_passes(server: ServerProcess) -> None:
    script = Path(__file__).with_name("oracle_compliance.py")
    done = subprocess.run(
        [str(PYTHON), str(script), str(server.port)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    checks = [
        json.loads(line.removeprefix("CHECK "))
        for line in done.stdout.splitlines()
        if line.startswith("CHECK ")
    ]
    assert [check for check in checks if check["problem"]] == []
    assert len(checks) == TESTS
