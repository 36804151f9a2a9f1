"""The light client of the benchmarks, and what is counted of it: against a real server."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import clients
from bench.bolt_echo import echoing
from bench.bolt_lines import Failed, Line, alone, drive, in_transaction
from bench.clients import Work
from bench.peers_serving import served

_MADE = "CREATE (:Made {id: $id})"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("bolt") / "m.db") as uri:
        yield uri


def test_what_was_driven_is_what_the_server_did(address: str) -> None:
    lines = [Line(address) for _ in range(3)]
    operations = [alone(_MADE, {"id": 1}), in_transaction(_MADE, {"id": 2})]
    driven = drive(lines, itertools.cycle(operations), 0.3)
    assert lines[0].rows("MATCH (n:Made) RETURN count(*)") == [[len(driven.times_ms)]]
    rows = lines[1].rows("MATCH (n:Made) RETURN n.id AS id, count(*) ORDER BY id")
    assert abs(rows[0][1] - rows[1][1]) <= 1
    assert len(driven.times_ms) >= 3
    assert min(driven.times_ms) > 0
    for line in lines:
        line.close()


def test_a_failure_is_not_counted_but_raised(address: str) -> None:
    line = Line(address)
    with pytest.raises(Failed, match="Nonsense"):
        line.rows("Nonsense")
    line.close()
    line = Line(address)
    with pytest.raises(Failed):
        drive([line], itertools.cycle([alone("RETURN 1 / 0", {})]), 0.1)
    line.close()


@pytest.mark.parametrize("given", ["x", "x=bolt://here", "x=http://here:1", "=bolt://here:1"])
def test_a_server_needs_a_name_and_an_address(given: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="bolt://HOST:PORT"):
        clients._named(given)
    assert clients._named("x=bolt://a:b@here:1") == ("x", "bolt://a:b@here:1")


def test_the_echo_answers_what_is_asked() -> None:
    with echoing() as uri:
        line = Line(uri)
        assert line.rows("anything") == [[1]]
        line.close()


def test_every_server_is_measured_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(clients, "_PEOPLE", 200)
    monkeypatch.setattr(clients, "_SECONDS", 0.6)
    monkeypatch.setattr(clients, "_WARM_S", 0.1)
    works = (
        clients.FEW_READ,
        clients.MANY_READ,
        Work("mixed", "both", 4),
        Work("updates", "writes", 4),
    )
    monkeypatch.setattr(clients, "WORKS", works)
    figures = clients.run([("other", address)], seed=1, quick=True).figures
    for server in ("doxa_1", "doxa_2", "other", "echo"):
        for work in works:
            key = f"{server}.{work.key}.clients_{work.clients}"
            assert figures[f"{key}.per_s"] > 0
            assert figures[f"{key}.p99_ms"] >= figures[f"{key}.p50_ms"] > 0
    assert [figures[f"{name}.lost"] for name in ("doxa_1", "doxa_2", "other")] == [0, 0, 0]


def test_a_lost_update_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with served(tmp_path / "m.db") as uri:
        clients._fill(uri, 50, 1)
        server = clients.Server("doxa", "doxa", uri)
        clients._measure(server, Work("updates_alone", "", 2), 50, 1, 0.1)
        assert server.updates == clients._counted(uri) > 0
        line = Line(uri)
        line.rows("MATCH (p:BenchReader) WHERE p.seen > 0 WITH p LIMIT 1 SET p.seen = p.seen - 1")
        line.close()
        assert server.updates - clients._counted(uri) == 1
