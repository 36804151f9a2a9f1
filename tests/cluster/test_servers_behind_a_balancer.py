"""Two doxa servers behind a balancer, each killed at any time: sessions go on, on the other one."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

from tests.cluster.conftest import ASKED, Play

_CHATS = ("ana", "bob")


def test_servers_are_killed_while_sessions_go_on(play: Play, tally: Callable[..., None]) -> None:
    rng, cluster = random.Random(int(os.environ.get("DOXA_SEED", 0))), play.cluster
    cluster.wait_until_safe()
    cluster.start_servers()
    for name in _CHATS:
        play.chat(name)
    play.wait_until_busy(*_CHATS)
    kills, end = 0, time.monotonic() + min(float(ASKED), 90)
    while time.monotonic() < end:
        time.sleep(3 + 4 * rng.random())
        cluster.kill_server(rng.choice(("app1", "app2")))
        kills += 1
        time.sleep(rng.random())
        cluster.start_servers()
    play.end()
    lines = [line for name in _CHATS for line in play.lines(name)]
    assert len(lines) > kills > 0
    assert all(line["state"] == "acked" for line in lines)
    again = sum(line["tries"] for line in lines)
    late = sum(line["missed"] for line in lines)
    print(
        f"{kills} servers killed, {len(lines)} sentences kept, {again} calls repeated, {late} late"
    )
    tally(servers_killed=kills, calls=len(lines))
