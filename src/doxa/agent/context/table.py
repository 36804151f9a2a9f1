"""Every stage of the context in its order: by pool, and within a pool what changes least first.

A part of the runtime that has something to say adds its stage here, and its title to the data files
(`data/*.json`). The gate of each is its own: a stage yields only what may reach a prompt.
"""

from __future__ import annotations

from doxa.agent.context.attached import attachment_lines
from doxa.agent.context.beliefs import index_lines, known_lines, person_lines
from doxa.agent.context.conversation import conversation_lines
from doxa.agent.context.obligations import obligation_lines
from doxa.agent.context.recalled import quote_lines, recall_lines
from doxa.agent.context.runtime import (
    claim_lines,
    continuity_lines,
    current_lines,
)
from doxa.agent.context.stages import Stage
from doxa.agent.context.state import state_lines
from doxa.agent.context.who import identity_instead, identity_lines

STAGES: tuple[Stage, ...] = (
    Stage(
        "identity",
        "essential",
        identity_lines,
        checked=True,
        distinct=True,
        briefed=True,
        instead=identity_instead,
    ),
    Stage("claims", "essential", claim_lines, briefed=True),
    Stage("knowledge", "essential", known_lines, briefed=True),
    Stage("person", "high", person_lines, briefed=True),
    Stage("current", "high", current_lines, briefed=True),
    Stage("state", "high", state_lines, briefed=True),
    Stage("continuity", "high", continuity_lines, quoted=True),
    Stage("recall", "medium", recall_lines),
    Stage("quotes", "medium", quote_lines, quoted=True),
    Stage("conversation", "low", conversation_lines, quoted=True),
    Stage("attachments", "low", attachment_lines, quoted=True, checked=True, distinct=True),
    Stage("obligations", "minimal", obligation_lines),
    Stage("index", "minimal", index_lines),
)
