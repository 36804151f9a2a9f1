"""One agent of the simulated month, as a process: it goes through what its host sends it until it
has done all of it, or until its fuse burns down.

    python -m tests.agent.month_agent MEMORY PLAN

It says in a line of JSON what is acknowledged: what a host knows of it after a crash.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import doxa
from doxa.app import Session
from doxa.base.clock import FakeClock
from doxa.hosts import spool
from doxa.hosts.events import HookEvent
from doxa.hosts.pipeline import Pipeline
from doxa.store import Transaction
from tests.agent.month_runtime import (
    CANDIDATE,
    after_session,
    after_turn,
    attempt,
    before_turn,
    memory_kb,
    night,
)

CRASHED = 9


def main(arguments: list[str]) -> int:
    path, plan = Path(arguments[0]), json.loads(Path(arguments[1]).read_text())
    clock = FakeClock(plan["start"])
    with doxa.open(
        path, actor=plan["agent"], clock=clock, background=False, embedder=None
    ) as memory:
        own = memory.session(actor=plan["agent"], role="agent")
        if plan["fuse"]:
            light(memory.store, plan["fuse"])
        drive = by_hooks if plan["hooks"] else by_verbs
        for number, session in enumerate(plan["sessions"]):
            clock.set(max(clock.now_ns(), session["turns"][0]["time"]))
            drive(own, clock, session, number)
            after_session(own, tell, session["name"], number)
            night(own, tell)
            tell("done", session=session["name"], memory_kb=memory_kb())
    return 0


def tell(what: str, **said: object) -> None:
    print(json.dumps({"what": what, **said}), flush=True)


# Crashes


def light(store: Any, steps: int) -> None:
    """Let this process die after so many steps: statements, beginnings and ends of commits, and
    writes to files, of which half a write stays."""
    left = [steps]

    def step() -> bool:
        left[0] -= 1
        return left[0] == 0

    def statement(*_: object) -> bool:
        if step():
            os._exit(CRASHED)
        return True

    store.connection().exec_trace = statement
    write, finish = os.write, Transaction.finish

    def torn(handle: int, data: Any) -> int:
        if step():
            write(handle, bytes(data)[: len(data) // 2])
            os._exit(CRASHED)
        return write(handle, data)

    def finished(self: Transaction, *given: Any, **named: Any) -> Any:
        statement()
        result = finish(self, *given, **named)
        statement()
        return result

    os.write = torn  # type: ignore[assignment]
    Transaction.finish = finished  # type: ignore[method-assign]


# What an agent does


def by_verbs(own: Session, clock: FakeClock, session: dict[str, Any], number: int) -> None:
    """A host that sends a whole session again if it had no answer."""
    name, thread, mode = session["name"], session["thread"], session["mode"]
    opened = own.session_open(name, thread=thread, mode=mode)
    say_handed(name, opened.mode, opened.handoff)
    tell("opened", session=name, resumed=opened.resumed, history=len(opened.history))
    for place, exchange in enumerate(exchanges(session["turns"])):
        clock.set(max(clock.now_ns(), exchange[-1]["time"]))
        asked = exchange[0]["text"]
        before_turn(own, tell, asked, name, mode, place)
        own.ingest([{**turn, "session": name, "thread": thread} for turn in exchange])
        about = [hit.kref for hit in own.recent(kinds=("exchange",), limit=1)]
        after_turn(own, asked, exchange[-1]["text"], name, about)
        if place % 5 == 4:
            own.handoff_write(name, thread=thread, reason="compaction")
            say_handed(name, mode, own.handoff_show(thread, mode=mode), taken=False)
        else:
            own.handoff_write(name, thread=thread)
    plant(own, thread, number)
    if session["end"]:
        own.handoff_write(name, thread=thread, reason=session["end"])
    if number % 3 == 0:
        own.archive_write()


def by_hooks(own: Session, clock: FakeClock, session: dict[str, Any], number: int) -> None:
    """A host that sends each event once, and goes on after the last one that was answered."""
    spool.time.time_ns = clock.now_ns  # type: ignore[assignment]
    store = own.memory.store
    hooks = Pipeline(own, spool.Spool(Path(f"{store.path}-hooks")))
    name, first = session["name"], session["first"]

    def send(kind: str, text: str = "", source: str = "") -> None:
        event = HookEvent(kind, own.identity.actor, name, "/", text, "browser", source)
        block = hooks.handle(event, own.project).block
        tell("prompt", session=name, text=block)

    send("open", source="resume" if first else "startup")
    say_handed(name, "code", own.handoff_take(name, mode="code"))  # what it began with, again
    for place, turn in enumerate(session["turns"][first:], first):
        clock.set(max(clock.now_ns(), turn["time"]))
        kind = {"user": "prompt", "assistant": "answer"}.get(turn["role"], "tool")
        if kind == "prompt":
            before_turn(own, tell, turn["text"], name, "code", place)
        send(kind, turn["text"])
        tell("stored", session=name, place=place)
        if place % 3 == 2:
            hooks.settle()
        if kind == "answer":
            after_turn(own, session["turns"][place - 1]["text"], turn["text"], name, [])
        if place % 10 == 9:
            send("compaction", f"What {name} said up to {place}.")
            hooks.settle()
            send("open", source="compact")
    if session["end"]:
        send("close")
    hooks.settle()
    plant(own, "", number)


def exchanges(turns: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Turns as they come in: up to each answer."""
    found: list[list[dict[str, Any]]] = [[]]
    for turn in turns:
        found[-1].append(turn)
        if turn["role"] == "assistant":
            found.append([])
    return [one for one in found if one]


def say_handed(session: str, mode: str, found: Any, *, taken: bool = True) -> None:
    if found is not None:
        tell("prompt", session=session, text=found.prose)
        if taken:
            tell("took", session=session, kref=found.kref, mode=mode, of=found.mode)


def plant(own: Session, thread: str, number: int) -> None:
    """State what nobody approved: a candidate belief, and a line of the agent's identity."""
    pairs = own.exchange_list(thread=thread, mode="code" if not thread else "", limit=1)
    own.remember(
        f"It follows that {CANDIDATE} holds ({number}).",
        name=f"conjecture-{own.identity.actor}-{number}",
        trust="candidate",
        derived_from=[pairs[0].turns[0].kref] if pairs else [],
    )
    propose_identity(own, number)


def propose_identity(own: Session, number: int) -> None:
    """What growth offers for that, and every way in which the agent might approve it itself."""
    line = own.growth_propose(f"I hold that {CANDIDATE} is true, for the time {number}.")
    attempt(tell, lambda: own.crystallise_approve(line.kref, line.content_hash))
    attempt(tell, lambda: own.crystallise_apply(line.kref, "0" * 32))
    shown = own.identity_show()
    tell("prompt", session="", text=shown.block)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
