"""Libraries that people use with Neo4j, unchanged: their checks are in tool_*.py. Skipped unless
`scripts/compat.sh` has installed them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.compat.conftest import CLIENTS, ServerProcess


@pytest.mark.parametrize(
    ("tool", "environment", "count"),
    [
        ("neomodel", "neomodel", 8),
        ("graphiti", "graphiti", 35),
        ("langchain", "langchain", 21),
        ("graphrag", "langchain", 6),
        ("llamaindex", "llamaindex", 22),
    ],
)
def test_a_tool_works_unchanged(tmp_path: Path, tool: str, environment: str, count: int) -> None:
    python = CLIENTS / environment / "bin" / "python"
    if not python.exists():
        pytest.skip(f"run scripts/compat.sh to install what tool_{tool}.py needs")
    script = Path(__file__).with_name(f"tool_{tool}.py")
    server = ServerProcess(tmp_path / "graph.db")  # of its own: tools use the same names of indexes
    try:
        done = subprocess.run(
            [str(python), "-W", "ignore", str(script), str(server.port)],
            capture_output=True,
            text=True,
            timeout=240,
        )
    finally:
        assert server.stop() == 0
    assert done.returncode == 0, done.stderr
    checks = [
        json.loads(line.removeprefix("CHECK "))
        for line in done.stdout.splitlines()
        if line.startswith("CHECK ")
    ]
    assert len(checks) == count
    assert [check for check in checks if check["problem"]] == []
