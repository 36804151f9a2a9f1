"""The official conformance suite against doxa's server class, both sets of requirements, and the
official inspector against the real server over stdio, both eras of the protocol.

Skipped where `sh scripts/mcp_suite.sh` was not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the mcp extra is not installed")

from doxa.servers.listening import running
from doxa.servers.mcp.http import McpServer
from doxa.servers.mcp.tools import PROFILES, profile_of
from tests.servers.mcp_conformance_server import conformance_server

ROOT = Path(__file__).parents[2]
SUITE = Path(os.environ.get("DOXA_MCP_SUITE") or ROOT / ".venv" / "mcp-suite")
NODE = SUITE / "node_modules" / "node" / "bin" / "node"
PACKAGES = SUITE / "node_modules" / "@modelcontextprotocol"
SCENARIOS = {"2026-07-28": 37, "2025-11-25": 30}  # that count, of the pinned version of the suite

pytestmark = pytest.mark.skipif(
    not NODE.exists(), reason=f"{SUITE} has no suite: run sh scripts/mcp_suite.sh"
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(McpServer(conformance_server(), None, port=0)) as server:
        yield server.uri


def required(revision: str) -> set[str]:
    """The server scenarios that a set of requirements scores."""
    lines = (PACKAGES / "conformance" / "requirements" / f"{revision}.yaml").read_text().split("\n")
    start = lines.index("server:") + 1
    listed = [line[4:] for line in lines[start:] if line.startswith("  - ") or not line.strip()]
    return set(listed[: listed.index("")] if "" in listed else listed)


@pytest.mark.parametrize("revision", SCENARIOS)
def test_the_official_suite_passes(url: str, revision: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(str(NODE), str(PACKAGES / "conformance" / "dist" / "index.js"), "server"),
            *("--url", url, "--requirements", revision, "--output-dir", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    wanted = required(revision)
    assert len(wanted) == SCENARIOS[revision]
    failed, ran = [], set()
    for found in tmp_path.glob("*/checks.json"):
        name = found.parent.name.removeprefix("server-").rsplit("-20", 1)[0]
        if name not in wanted:
            continue  # extensions, and what the suite's own server does not pass yet
        checks = json.loads(found.read_text())
        ran.add(name)
        failed += [
            (name, one["id"], one.get("errorMessage"))
            for one in checks
            if one["status"] == "FAILURE"
        ]
        assert any(one["status"] == "SUCCESS" for one in checks), name
    assert failed == []
    assert ran == wanted
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]


def inspect(path: Path, profile: str, era: str, *call: str) -> tuple[int, Any, str]:
    server = [
        *(sys.executable, "-m", "doxa.cli", "mcp", "--db", str(path), "--project", "p"),
        *("--profile", profile),
    ]
    env = [f"{name}={os.environ[name]}" for name in ("PYTHONPATH",) if name in os.environ]
    env.append(f"DOXA_MODELS={path.parent / 'models'}")
    given = [word for one in env for word in ("-e", one)]
    launcher = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"
    done = subprocess.run(
        [
            *(str(NODE), str(launcher), "--cli", *server, *given),
            *("--protocol-era", era, "--format", "json", *call),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(path.parent)},
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_reads_and_calls_over_stdio(tmp_path: Path, era: str) -> None:
    path = tmp_path / "m.db"
    code, found, _ = inspect(
        *(path, "core", era, "--method", "tools/call", "--tool-name", "memory_remember"),
        *("--tool-arg", "text=The shop runs on MySQL", "--tool-arg", "name=db"),
    )
    assert (code, found["result"]["structuredContent"]["action"]) == (0, "created")
    code, found, error = inspect(
        *(path, "core", era, "--method", "tools/call", "--tool-name", "memory_get"),
        *("--tool-arg", "kref=nonsense"),
    )
    assert (code, found["result"]["isError"]) == (5, True), error  # 5: the tool failed
    _, found, _ = inspect(path, "core", era, "--method", "resources/list")
    assert [one["uri"] for one in found["result"]["resources"]] == ["doxa://kref/p/db.fact"]
    _, found, _ = inspect(
        path, "core", era, "--method", "resources/read", "--uri", "doxa://kref/p/db.fact"
    )
    assert "The shop runs on MySQL" in found["result"]["contents"][0]["text"]
    _, found, _ = inspect(path, "core", era, "--method", "prompts/get", "--prompt-name", "brief")
    assert "MySQL" in found["result"]["messages"][0]["content"]["text"]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_inspector_finds_no_fault_with_a_schema(tmp_path: Path, profile: str) -> None:
    call = ("--method", "tools/list", "--strict")
    code, found, error = inspect(tmp_path / "m.db", profile, "modern", *call)
    assert (code, error.strip()) == (0, "")
    names = [one["name"] for one in found["result"]["tools"]]
    assert names == [tool.name for tool in profile_of(profile).tools]
