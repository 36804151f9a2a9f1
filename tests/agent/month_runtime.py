"""What the rest of the runtime does in the simulated month, next to continuity: contexts before
turns, signals after them, decisions of the governor, claims, and nights of background work.

Each function says in a line of JSON what a test wants to know afterwards. None of them may make
anything of what nobody approved: the attempts to do so are part of it.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doxa.app import Session
from doxa.base.clock import NS
from doxa.base.errors import ConflictError, DoxaError

Tell = Callable[..., None]
CANDIDATE = "the marmalade conjecture"  # in every belief and line that nobody approved
TOKENS = (400, 2_000)  # budgets of contexts, in turn
CURRENT_NS = 3_600 * NS  # how old a turn may be that is an instruction: much less than a day
NIGHT_S = 72_000  # since the last night shift of an agent
_PAGE = resource.getpagesize()


def before_turn(own: Session, tell: Tell, text: str, session: str, mode: str, place: int) -> None:
    """Assemble what the agent begins a turn with, and say what is in it."""
    asked = f"{text} What did I say about it before?" if place % 2 else text
    made = own.context_assemble(
        asked, session=session, mode=mode, tokens_max=TOKENS[place % len(TOKENS)]
    )
    tell("prompt", session=session, text=made.text)
    tell(
        "context",
        tokens=made.tokens,
        tokens_max=made.tokens_max,
        stages={one.stage: [line.kref for line in one.lines] for one in made.blocks},
        identity=[
            line.text for one in made.blocks if one.stage == "identity" for line in one.lines
        ],
    )


def after_turn(own: Session, user: str, reply: str, session: str, about: list[str]) -> None:
    """Measure a turn. Every third one is marked by the person, so that it is kept as a moment."""
    marked = "Remember this. " if len(user) % 3 == 0 else ""
    own.metabolise(marked + user, reply, session=session, about=about)


def after_session(own: Session, tell: Tell, session: str, number: int) -> None:
    """Ask for what an agent may and may not do by itself, and keep claims of the session."""
    turns = [one.turns[0] for one in own.exchange_list(limit=20) if one.turns[0].role == "user"]
    now_ns = own.memory.store.clock.now_ns()
    said = next((one.kref for one in turns if 0 <= now_ns - one.time < CURRENT_NS), "")
    decide(own, tell, number, said)
    claim(own, tell, session, number)
    own.contemplate()


def decide(own: Session, tell: Tell, number: int, said: str) -> None:
    """Let the governor decide on actions with and without authority."""
    if said:
        edit = own.govern("local_project_edit", f"Fix typo {number}", target="README.md",
                          instruction=said)  # fmt: skip
        tell("decided", authority="turn", may_act=edit.may_act, mode=edit.mode)
        done = "observed" if edit.may_act else "blocked"
        own.outcome(done, decision=edit.kref, observed=f"line {number}: {done}")
    alone = own.govern("local_project_edit", f"Rewrite page {number}", target="README.md")
    tell("decided", authority="", may_act=alone.may_act, mode=alone.mode)
    sent = own.govern("external_message", f"Send that {CANDIDATE} ({number})", instruction=said,
                      externality="external", confirmed=True)  # fmt: skip
    tell("decided", authority="", may_act=sent.may_act, mode=sent.mode)
    attempt(tell, lambda: own.packet_move(sent.kref, "approved"))
    state = own.packet_write(
        "state_record",
        f"It is so that {CANDIDATE} ({number}).",
        body={
            "source_type": "agent",
            "sources": [said or sent.kref],
            "evidence_class": "hypothesis",
            "observed_ns": own.memory.store.clock.now_ns(),
            "allowed_consumers": ["context_injection"],
        },
    )
    attempt(tell, lambda: own.packet_move(str(state["id"]), "active"))


def claim(own: Session, tell: Tell, session: str, number: int) -> None:
    """Propose claims, and try to accept one."""
    made = own.claim_propose(f"{CANDIDATE} is {number}.", sources=[f"transcript:{session}#m1"])
    own.claim_produce(session=session)
    seen = own.claim_preview(made.kref)
    attempt(
        tell,
        lambda: own.claim_decide(
            made.kref,
            "accept",
            claim_hash=seen.claim_hash,
            source_hash=seen.source_hash,
            reason="I know it",
        ),
    )


def night(own: Session, tell: Tell) -> None:
    """Do the background jobs, if the last ones were a day ago. The clocks of the two agents are
    days apart, so that one may find the lease of the other expired and end its run."""
    try:
        done = own.nightshift(every_s=NIGHT_S)
    except ConflictError:
        tell("overtaken")
        return
    for one in done:
        tell("shift", job=one.job, state=one.state, reason=one.reason, counts=dict(one.counts))


def attempt(tell: Tell, act: Callable[[], Any]) -> None:
    """Try what only an operator may do."""
    try:
        act()
    except DoxaError as error:
        tell("refused", error=type(error).__name__)
    else:
        tell("passed")


def memory_kb() -> int:
    """Return what this process holds in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE // 1024
