"""The GraphQL library of Neo4j, on Node.js: the steps are in graphql_library.mjs. Skipped unless
`scripts/graphql.sh` has installed it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compat.conftest import CLIENTS, ServerProcess

FOLDER = CLIENTS / "graphql"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
@pytest.mark.skipif(
    not (FOLDER / "node_modules" / "@neo4j" / "graphql").is_dir(),
    reason="run scripts/graphql.sh to install the GraphQL library",
)
def test_the_graphql_library(server: ServerProcess) -> None:
    script = Path(__file__).with_name("graphql_library.mjs")
    done = subprocess.run(
        ["node", str(script), str(FOLDER), str(server.port)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(steps) == 14
    assert [step for step in steps if step["problem"]] == []
