"""A real cluster in network namespaces. It costs minutes, so it runs when it is asked for:

DOXA_TEST_CLUSTER=120 python -m pytest tests/cluster      (seconds of the longest play)
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.replication.postgres import FOLDER

ROOT = Path(__file__).parent.parent.parent
ASKED = os.environ.get("DOXA_TEST_CLUSTER", "")
_JUDGE_S = 300


def _script() -> ModuleType:
    found = importlib.util.spec_from_file_location(
        "cluster_script", ROOT / "scripts" / "cluster.py"
    )
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["cluster_script"] = module
    found.loader.exec_module(module)
    return module


script = _script()


class Play:
    """A cluster with clients on its hosts, and the journals that they keep."""

    def __init__(self, cluster: Any, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.tenant = folder.name
        self.stop = folder / "stop"
        self._clients: list[subprocess.Popen[bytes]] = []

    def begin(self, verb: str, host: str, name: str) -> None:
        journal = self.folder / f"{name}.jsonl"
        given = [
            self.cluster.url(self.tenant),
            self._replica(name),
            name,
            str(journal),
            str(self.stop),
        ]
        self._clients.append(self._python(host, verb, *given))

    def wait_until_busy(self, *names: str) -> None:
        """Until each of these clients has written some lines."""
        until = time.monotonic() + _JUDGE_S
        while any(len(self.lines(name)) < 3 for name in names):
            assert time.monotonic() < until, "a client does not begin"
            assert all(one.poll() is None for one in self._clients), self._said()
            time.sleep(0.2)

    def _said(self) -> str:
        return (self.folder / "clients.log").read_text()[-2_000:]

    def end(self) -> None:
        """Let every client finish its call."""
        self.stop.touch()
        codes = [client.wait(timeout=120) for client in self._clients]
        self._clients.clear()
        assert not any(codes), self._said()
        self.stop.unlink()

    def abandon(self) -> None:
        for client in self._clients:
            client.kill()
            client.wait()

    def lines(self, name: str) -> list[dict[str, Any]]:
        journal = self.folder / f"{name}.jsonl"
        if not journal.exists():
            return []
        return [json.loads(line) for line in journal.read_text().splitlines()]

    def judged(self, host: str, *names: str) -> list[Any]:
        """Prove the replicas of these clients and a new one; the entries that all have."""
        folders = [
            self._replica(name) for name in (*names, f"new-{len(list(self.folder.iterdir()))}")
        ]
        asked = self._python(host, "judge", self.cluster.url(self.tenant), *folders, answer=True)
        told, _ = asked.communicate(timeout=_JUDGE_S)
        assert asked.returncode == 0
        found = json.loads(told)
        assert found["proofs"] == 1, "replicas differ"
        return list(found["entries"])

    def talk(self, host: str, name: str) -> None:
        """A client that adds to working memory on Redis."""
        journal = self.folder / f"{name}.jsonl"
        given = [self.cluster.working_url(), self.tenant, name, str(journal), str(self.stop)]
        self._clients.append(self._python(host, "talk", *given))

    def held(self, host: str, name: str) -> str:
        """What working memory has of a client."""
        asked = self._python(
            host, "held", self.cluster.working_url(), self.tenant, name, answer=True
        )
        told, _ = asked.communicate(timeout=_JUDGE_S)
        assert asked.returncode == 0, self._said()
        return told.decode()

    def redis_master(self) -> str:
        """The host that two Sentinels name, once every Redis follows it."""
        told = self.cluster.redis("db2", 26379, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "doxa")
        return next(host for host, at in script.ENGINES.items() if at == told.split()[0])

    def wait_until_redis_is_whole(self) -> None:
        until = time.monotonic() + _JUDGE_S
        while True:
            told = self.cluster.redis(self.redis_master(), 6379, "INFO", "replication")
            if "connected_slaves:2" in told:
                return
            assert time.monotonic() < until, told
            time.sleep(0.5)

    def refused(self, host: str, name: str) -> str:
        """What a replica says that may not go on."""
        asked = self._python(
            host, "refuse", self.cluster.url(self.tenant), self._replica(name), answer=True
        )
        told, _ = asked.communicate(timeout=_JUDGE_S)
        return told.decode()

    def chat(self, name: str) -> None:
        """A client that talks to whichever server the balancer chooses."""
        journal = self.folder / f"{name}.jsonl"
        balancer = f"http://{script.CLIENT['client']}:8040"
        given = [balancer, self.cluster.token, name, str(journal), str(self.stop)]
        self._clients.append(self._python("client", "chat", *given))

    def _replica(self, name: str) -> str:
        return str(self.folder / f"replica-{name}")

    def _python(self, host: str, *given: str, answer: bool = False) -> subprocess.Popen[bytes]:
        paths = [str(ROOT / "src"), str(ROOT), str(FOLDER / "site")]
        at = ["ip", "netns", "exec", self.cluster.namespace(host)]
        with (self.folder / "clients.log").open("ab") as log:
            return subprocess.Popen(
                [*at, sys.executable, "-m", "tests.cluster.clients", *given],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                stdout=subprocess.PIPE if answer else log,
                stderr=log,
            )


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    if not ASKED:
        pytest.skip("a cluster is started when DOXA_TEST_CLUSTER=SECONDS asks for it")
    if problem := script.missing():
        pytest.skip(problem)
    found = script.Cluster("doxalane")
    found.down()
    try:
        found.up()
        yield found
    finally:
        found.down()


@pytest.fixture
def play(cluster: Any, tmp_path: Path) -> Iterator[Play]:
    found = Play(cluster, tmp_path)
    faulthandler.cancel_dump_traceback_later()  # a play is long; each wait in it is bounded
    try:
        yield found
    finally:
        found.abandon()
        found.cluster.heal()
