"""Libraries that people use with Neo4j, unchanged: their checks are in tool_*.py. Skipped unless
`scripts/compat.sh` has installed them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.compat.conftest import CLIENTS, ServerProcess

PYTHON = CLIENTS / "python" / "bin" / "python"


@pytest.mark.skipif(
    not PYTHON.exists(),
    reason="run scripts/compat.sh to install neomodel, neo4j-graphrag and langchain-neo4j",
)
@pytest.mark.parametrize(("tool", "count"), [("neomodel", 8), ("langchain", 3), ("graphrag", 6)])
def test_a_tool_works_unchanged(server: ServerProcess, tool: str, count: int) -> None:
    script = Path(__file__).with_name(f"tool_{tool}.py")
    done = subprocess.run(
        [str(PYTHON), str(script), str(server.port)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    checks = [
        json.loads(line.removeprefix("CHECK "))
        for line in done.stdout.splitlines()
        if line.startswith("CHECK ")
    ]
    assert len(checks) == count
    assert [check for check in checks if check["problem"]] == []
