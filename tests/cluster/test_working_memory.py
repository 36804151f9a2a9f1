"""Working memory on Redis with Sentinel: its master is cut off, or loses its power."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from tests.cluster.conftest import Play

pytestmark = pytest.mark.skipif(find_spec("redis") is None, reason="redis is not installed")


@pytest.mark.parametrize("how", ["cut off", "killed"])
def test_what_a_fail_over_of_redis_loses(play: Play, how: str, tally: Callable[..., None]) -> None:
    """A client on the side of a master that is cut off; then on the other side. What is held at the
    end is a beginning of what was acknowledged, then what came after."""
    cluster = play.cluster
    cluster.wait_until_safe()
    play.wait_until_redis_is_whole()
    master = play.redis_master()
    play.talk("app1", "ana")
    play.wait_until_busy("ana")
    time.sleep(3)
    cut = time.monotonic()
    if how == "killed":
        cluster.kill(master)
    else:
        cluster.partition(master, "app1")
    time.sleep(25)
    if how == "killed":
        cluster.start(master)
    cluster.heal()
    time.sleep(15)
    play.end()
    lines = play.lines("ana")
    acked = [line["text"] for line in lines if line["state"] == "acked"]
    held = json.loads(play.held("app2", "ana"))
    assert held == [text for text in acked if text in set(held)], "out of order, or twice"
    lost = [line for line in lines if line["state"] == "acked" and line["text"] not in held]
    assert held[-1] == acked[-1]
    after = [line["ended"] - cut for line in lost]
    print(
        f"{how}: {len(acked)} acknowledged, {len(lost)} lost, up to {max(after, default=0):.1f} s"
        f" after the cut"
    )
    assert all(line < 12 for line in after), "a master that was cut off went on for too long"
    tally(fail_overs=1, messages=len(acked), lost=len(lost))
