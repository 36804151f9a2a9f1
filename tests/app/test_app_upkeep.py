"""Retention and working memory while nobody asks: policies are applied in
the background, and doctor tells when they were, and how the sessions are."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.clock import FakeClock
from doxa.base.errors import InputError
from doxa.maintenance.doctor import HealthCheck

DAY_S = 86_400


def opened(path: Path, clock: FakeClock, **options: Any) -> doxa.Memory:
    return doxa.open(
        path,
        role="operator",
        embedder=None,
        clock=clock,
        **{"background": False} | options,
    )


def due(memory: doxa.Memory, clock: FakeClock) -> None:
    """Make a past version that a policy of one day does not keep any more."""
    memory.run("CREATE OR REPLACE RETENTION POLICY logs FOR (n:Log) KEEP PAST 1 DAY")
    memory.run("MERGE (n:Log) SET n.v = coalesce(n.v, 0) + 1")
    memory.run("MATCH (n:Log) SET n.v = n.v + 1")
    clock.advance(days=2)


def versions(memory: doxa.Memory) -> int:
    sql = (
        "SELECT count(*) FROM node_past p JOIN node_label l ON l.node = p.id WHERE l.label = 'Log'"
    )
    rows = memory.store.connection().execute(sql).fetchone()
    assert rows is not None
    return int(rows[0])


def said(memory: doxa.Memory, name: str) -> HealthCheck:
    (found,) = [one for one in memory.doctor() if one.name == name]
    return found


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if happened():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_doctor_says_when_retention_ran_and_what_is_due(tmp_path: Path, clock: FakeClock) -> None:
    with opened(tmp_path / "m.db", clock) as memory:
        assert said(memory, "retention") == HealthCheck(
            "retention", True, "no policy: everything is kept"
        )
        due(memory, clock)
        found = said(memory, "retention")
        assert not found.ok and "never applied; due are 1 past versions" in found.detail
        assert "doxa retain" in found.next_step
        memory.retain()
        clock.advance(days=1, seconds=7_200)
        found = said(memory, "retention")
        assert found.ok and "last applied 1 days and 2 hours ago; nothing is due" in found.detail
        due(memory, clock)
        assert not said(memory, "retention").ok


def test_the_background_applies_policies_once_in_an_interval(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "m.db"
    with opened(path, clock) as memory:
        due(memory, clock)
        assert versions(memory) == 1
    with opened(path, clock, background=True, access_flush_ms=5) as memory:
        wait_for(lambda: versions(memory) == 0)
        assert {"doxa", "job:retain"} >= {one.actor for one in memory.log(limit=2)}
        wait_for(lambda: "last applied" in said(memory, "retention").detail)
        memory.run("MATCH (n:Log) SET n.v = 0")
        clock.advance(seconds=DAY_S - 60)
        memory.run("MATCH (n:Log) SET n.v = 1")
        memory.flush()
        assert versions(memory) == 2  # applied less than a day ago
        clock.advance(seconds=DAY_S + 120)
        wait_for(lambda: versions(memory) == 0)
    assert not memory.maintenance.error


def test_it_can_be_switched_off(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with opened(path, clock) as memory:
        due(memory, clock)
    with opened(path, clock, background=True, retain_every_s=0) as memory:
        memory.flush()
        assert versions(memory) == 1
    monkeypatch.setenv("DOXA_RETAIN_EVERY_S", "0")
    with opened(path, clock, background=True) as memory:
        memory.flush()
        assert versions(memory) == 1
    monkeypatch.setenv("DOXA_RETAIN_EVERY_S", "often")
    with pytest.raises(InputError, match="DOXA_RETAIN_EVERY_S"):
        opened(path, clock)


def test_the_image_has_the_bound_that_is_configured(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    for given, said, bound in (
        ({}, None, 64 * 1024**2),
        ({}, "1000", 1_000),
        ({}, "0", None),
        ({"image_bytes_max": 5}, "0", 5),
        ({"image_bytes_max": 0}, None, None),
    ):
        if said is None:
            monkeypatch.delenv("DOXA_IMAGE_BYTES_MAX", raising=False)
        else:
            monkeypatch.setenv("DOXA_IMAGE_BYTES_MAX", said)
        with opened(path, clock, **given) as memory:
            images = memory.store.images
            assert (None if images is None else images.bytes_max) == bound
    monkeypatch.setenv("DOXA_IMAGE_BYTES_MAX", "much")
    with pytest.raises(InputError, match="DOXA_IMAGE_BYTES_MAX"):
        opened(path, clock)


def test_doctor_counts_sessions_that_end_soon_are_full_or_lost_messages(
    tmp_path: Path, clock: FakeClock
) -> None:
    with opened(tmp_path / "m.db", clock, project="shop") as memory:
        assert "0 sessions" in said(memory, "working memory").detail
        assert not (tmp_path / "m.db.working").exists()  # looking makes nothing
        memory.chat_add("one", user="ana")
        clock.advance(seconds=3_100)
        for number in range(52):
            memory.chat_add(f"message {number}", user="bo")
        found = said(memory, "working memory")
        assert found.ok and "2 sessions; 1 end within 600 s" in found.detail
        assert "1 are full" in found.detail and "2 messages fell out" in found.detail
        assert "Consolidate" in found.next_step
        clock.advance(seconds=4_000)
        assert said(memory, "working memory").detail.endswith(": 0 sessions")


def test_doctor_names_a_backend_that_cannot_be_reached(tmp_path: Path, clock: FakeClock) -> None:
    pytest.importorskip("redis")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        url = f"redis://user:hunter2-Secret@127.0.0.1:{port}/0?prefix=shop"
        with opened(tmp_path / "m.db", clock, working=url) as memory:
            found = said(memory, "working memory")
    assert not found.ok and str(port) in found.detail and found.next_step
    assert "hunter2" not in found.detail + found.next_step
    assert "\n" not in found.detail


def test_doctor_reads_a_damaged_file_of_sessions(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "m.db.working").write_bytes(b"not a database" * 400)
    with opened(tmp_path / "m.db", clock) as memory:
        found = said(memory, "working memory")
    assert not found.ok and "m.db.working" in found.detail
