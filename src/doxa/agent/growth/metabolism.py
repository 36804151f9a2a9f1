"""Metabolism: what a turn's end keeps for contemplation. No model, no more than one transaction.

A turn is kept as a moment if its composite is COMPOSITE_MIN or more, or the user asks for it
to be kept, and the last moment of the agent is METABOLISM_PAUSE_S old. A moment quotes the turn
only if it names what it quotes (`about`), so that erasing the turn erases the moment.

    moment      open -> contemplated | dropped
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from doxa.agent.records.records import list_records, move_record, write_record
from doxa.agent.signals.log import TurnSignals
from doxa.base.clock import format_time
from doxa.base.limits import (
    METABOLISM_PAUSE_S,
    METABOLISM_QUOTE_CHARS_MAX,
    MOMENTS_OPEN_ITEMS_MAX,
)
from doxa.store import Identity, Store

MOMENT, WAITING = "growth_moment", "open"
COMPOSITE_MIN = 0.6  # of the composite, from which a turn is kept: correction alone, or two others
NS = 10**9


@dataclass(frozen=True, slots=True)
class Metabolised:
    """What became of a turn: its signals, the moment that was kept or "", and why or why not."""

    turn: TurnSignals
    moment: str
    reason: str


def metabolise(
    store: Store,
    *,
    project: str,
    agent: str,
    user: str,
    reply: str,
    turn: TurnSignals,
    marked: bool,
    about: Sequence[str] = (),
) -> Metabolised:
    """Keep a turn as a moment, or not. Written in the agent's own name."""
    if not marked and turn.signals.composite < COMPOSITE_MIN:
        return Metabolised(turn, "", f"the composite is below {COMPOSITE_MIN}")
    with store.write(Identity(agent, "agent"), op="growth.metabolise") as tx:
        newest = list_records(tx, project=project, agent=agent, kind=MOMENT, newest=True, limit=1)
        if newest and tx.now - newest[0].made < METABOLISM_PAUSE_S * NS:
            return Metabolised(turn, "", "the last moment is too new")
        waiting = list_records(
            tx,
            project=project,
            agent=agent,
            kind=MOMENT,
            states=(WAITING,),
            limit=MOMENTS_OPEN_ITEMS_MAX + 1,
        )
        for old in waiting[: max(0, len(waiting) - MOMENTS_OPEN_ITEMS_MAX + 1)]:
            move_record(tx, old.kref, "dropped", said="too many wait")
        stamp = format_time(tx.now).translate(dict.fromkeys(map(ord, "-:.")))
        text = ""
        if about:
            sides = (one[:METABOLISM_QUOTE_CHARS_MAX] for one in (user, reply))
            text = "\n".join(" ".join(side.split()) for side in sides)
        made = write_record(
            tx,
            project=project,
            agent=agent,
            kind=MOMENT,
            name=f"{stamp}-{tx.tx}",
            state=WAITING,
            text=text,
            data={
                "signals": asdict(turn.signals),
                "trigger": "marker" if marked else "composite",
            },
            about=about,
        )
    return Metabolised(turn, made.kref, "the user asked for it" if marked else "the composite")
