"""Repetition is not evidence over any interface: fifty accesses in one conversation count once, two
conversations count twice."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.servers.bolt import running_server as running_bolt
from doxa.servers.memory import MemoryDatabase
from tests.fixtures_shared import own_code
from tests.http.http_fixtures import Client
from tests.servers.bolt_fixtures import Users

POLICY = """
CREATE PROMOTION POLICY wisdom_stability FOR (n:WisdomDirective) APPLY {
  ON ACCESS {
    SET n.crossSessionSupport = CASE WHEN n._lastSessionId <> $_session
      THEN coalesce(n.crossSessionSupport, 0) + 1 ELSE n.crossSessionSupport END
    SET n._lastSessionId = $_session
    WITH KALMAN {q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }
  WHEN n.crossSessionSupport >= 2 AND n.confidenceScore >= 0.75 APPLY PROFILE 'established_wisdom'
}"""
ASKED = "MATCH (n:WisdomDirective) RETURN n.text, $evaluatedConfidence"
Ask = Callable[[str, float], None]  # a conversation's name, and its confidence


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as made:
        made.run(POLICY)
        made.run("CREATE (:WisdomDirective {text: 'Check the theme first'})")
        yield made


def judged(memory: doxa.Memory, ask: Ask) -> None:
    def support() -> Any:
        memory.flush()
        found = memory.run(
            "MATCH (n:WisdomDirective) RETURN policy(n) AS p, decay(n).promotion AS promotion"
        ).records()[0]
        assert found["p"]["lastError"] is None
        return found["p"]["crossSessionSupport"], found["p"]["sessionSupport"], found["promotion"]

    for _ in range(50):
        ask("first", 0.99)
    assert support() == (1, 1, None)
    ask("second", 0.99)
    assert support() == (2, 2, "established_wisdom")


def test_python(memory: doxa.Memory) -> None:
    def ask(name: str, confidence: float) -> None:
        memory.session(role="operator", context={"session": name}).run(
            ASKED, {"evaluatedConfidence": confidence}
        )

    judged(memory, ask)


def test_bolt_by_transaction_metadata(memory: doxa.Memory) -> None:
    neo4j = pytest.importorskip("neo4j", reason="the official driver is not installed")
    with (
        running_bolt(MemoryDatabase(memory), Users()) as server,
        neo4j.GraphDatabase.driver(
            f"bolt://127.0.0.1:{server.port}", auth=("ana", "a-good-secret")
        ) as driver,
        driver.session() as session,
    ):

        def ask(name: str, confidence: float) -> None:
            with session.begin_transaction(metadata={"session": name}) as tx:
                tx.run(ASKED, evaluatedConfidence=confidence, _session="forged").consume()

        judged(memory, ask)


def test_http_by_headers(memory: doxa.Memory) -> None:
    pytest.importorskip("starlette", reason="the http extra is not installed")
    from doxa.servers.http import running_server as running_http

    with (
        running_http(MemoryDatabase(memory), Users(), version="1") as server,
        Client(server.port) as client,
    ):

        def ask(name: str, confidence: float) -> None:
            client.query(
                ASKED, {"evaluatedConfidence": confidence}, headers={"X-Query-Session": name}
            )

        judged(memory, ask)


def test_mcp_by_its_process(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the mcp extra is not installed")
    from mcp import ClientSession, StdioServerParameters, stdio_client

    path = tmp_path / "m.db"
    with doxa.open(path, role="operator", embedder=None, project="p") as memory:
        memory.run(
            "CREATE PROMOTION POLICY d FOR (n:Revision) APPLY { WHEN n.sessionSupport >= 2 APPLY"
            " PROFILE 'established_wisdom' }"
        )
        memory.remember("Check the theme first", kind="directive", name="theme", project="p")

    def ask(times: int) -> None:
        """One conversation: a server process of its own."""

        async def talk() -> None:
            args = ["-m", "doxa.cli", "mcp", "--db", str(path), "--project", "p", "--actor", "bot"]
            server = StdioServerParameters(
                command=sys.executable,
                args=args,
                env={"DOXA_MODELS": str(tmp_path / "models"), **own_code()},
            )
            async with (
                stdio_client(server) as (reading, writing),
                ClientSession(reading, writing, read_timeout_seconds=30) as session,
            ):
                await session.initialize()
                for _ in range(times):
                    assert not (
                        await session.call_tool("memory_recall", {"query": "theme"})
                    ).is_error

        asyncio.run(asyncio.wait_for(talk(), 60))

    def support() -> Any:
        with doxa.open(path, role="operator", embedder=None, background=False) as memory:
            asked = (
                "MATCH (n:Revision) WITH policy(n) AS p, decay(n) AS d RETURN p.accessCount AS c,"
                " p.sessionSupport AS s, p.agentSupport AS a"
            )
            return memory.run(asked + ", d.promotion AS promotion").records()[0]

    ask(10)
    assert support() == {"c": 10, "s": 1, "a": 1, "promotion": None}
    ask(1)
    assert support() == {"c": 11, "s": 2, "a": 1, "promotion": "established_wisdom"}
