"""The steps of deploy/README.md that change what the engine has: backup and restore."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cluster.conftest import Play


def test_a_restored_engine_is_told_from_replicas_that_know_more(
    play: Play, tmp_path: Path, tally: Callable[..., None]
) -> None:
    """What was written after the backup is gone from the engine, and every replica that has it
    refuses to go on; new replicas agree with what was restored."""
    cluster = play.cluster
    cluster.wait_until_safe()
    play.begin("write", "app1", "store-1")
    play.wait_until_busy("store-1")
    play.end()
    before = len(play.judged("app1", "store-1"))
    cluster.back_up(tmp_path / "base")
    play.begin("write", "app2", "store-2")
    play.wait_until_busy("store-2")
    play.end()
    assert len(play.judged("app2", "store-2")) > before
    cluster.restore(tmp_path / "base")
    assert len(play.judged("app1", "store-1")) == before
    assert "differ at or before" in play.refused("app2", "store-2")
    play.begin("write", "app1", "store-3")
    play.wait_until_busy("store-3")
    play.end()
    assert len(play.judged("app2", "store-3")) > before
    tally(restored=1)
