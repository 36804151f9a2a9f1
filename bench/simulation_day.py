"""One day of the simulation, as a process: sessions come in, then comes the night.

    python -m bench.simulation_day MEMORY DAY

It says `session NAME` when a session is acknowledged, and `digest HEX` of all turns before and
after the night. It may be killed at any moment and is run again from its beginning.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import doxa
from bench.corpora import SECOND_NS
from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.limits import JOB_LEASE_MS
from doxa.language.turns import Turn

_HOUR_NS = 3_600 * SECOND_NS
_NIGHT_H = 23
_AT_ONCE = 20
_KILLED_AT_MOST = 50  # processes, in one night


def main(arguments: list[str]) -> int:
    path, planned = Path(arguments[0]), json.loads(Path(arguments[1]).read_text())
    midnight = (
        int(datetime.fromisoformat(f"{planned['day']}T00:00:00+00:00").timestamp()) * SECOND_NS
    )
    clock = FakeClock(midnight + 8 * _HOUR_NS)
    config = Config(path=path, clock=clock, embedder=None, background=False)
    with Memory(config) as memory:
        for session in planned["sessions"]:
            clock.set(max(clock.now_ns(), max(turn["time_ns"] for turn in session["turns"])))
            _take_in(memory, session)
            print(f"session {session['name']}", flush=True)
        clock.set(max(clock.now_ns(), midnight + _NIGHT_H * _HOUR_NS))
        print(f"digest {digest(memory)}", flush=True)
        for project in sorted({session["project"] for session in planned["sessions"]}):
            _night(memory, project, clock)
        print(f"digest {digest(memory)}", flush=True)
    return 0


def _take_in(memory: Memory, session: dict[str, Any]) -> None:
    turns = [
        Turn(**{name: value for name, value in turn.items() if name != "planted"})
        for turn in session["turns"]
    ]
    project = session["project"]
    if session["mode"] == "chat":
        for turn in turns:
            memory.chat_add(
                turn.text,
                role=turn.role,
                session=session["name"],
                project=project,
                idempotency_key=turn.source_id,
            )
        memory.consolidate(session["name"], project=project)
        return
    if session["mode"] == "compacted":
        memory.ingest(turns[: len(turns) // 2], project=project)
    memory.ingest(turns, project=project)


def _night(memory: Memory, project: str, clock: FakeClock) -> None:
    while True:
        done = memory.consolidate(project=project, limit=_AT_ONCE)
        if len(done.sessions) < _AT_ONCE:
            break
    dream = getattr(memory, "dream", None)
    if dream is None:
        return
    for left in reversed(range(_KILLED_AT_MOST)):
        try:
            dream(project=project)
        except doxa.BusyError:  # a process that was killed, later on its clock, has the lease
            if not left:
                raise
            clock.set(clock.now_ns() + JOB_LEASE_MS * 1_000_000 + 1)
        else:
            return


def digest(memory: doxa.Memory) -> str:
    """Return a digest of all turns, with their addresses."""
    rows = memory.run(
        "MATCH (n:Exchange) RETURN n.kref AS kref, n.text AS text, n.deprecated AS deprecated"
        " ORDER BY kref"
    ).records()
    return blake2b(
        json.dumps([list(row.values()) for row in rows]).encode(), digest_size=16
    ).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
