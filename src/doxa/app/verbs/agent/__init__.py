"""The verbs of the agent's runtime: a file for each part of the package agent."""

from __future__ import annotations

from doxa.app.verbs.agent.attachments import ATTACHMENTS
from doxa.app.verbs.agent.claims import CLAIMS
from doxa.app.verbs.agent.context import CONTEXT
from doxa.app.verbs.agent.continuity import CONTINUITY
from doxa.app.verbs.agent.evolution import EVOLUTION
from doxa.app.verbs.agent.gate import GATE
from doxa.app.verbs.agent.growth import GROWTH
from doxa.app.verbs.agent.spine import SPINE
from doxa.app.verbs.agent.standing import STANDING

AGENT = (
    *CONTINUITY,
    *GROWTH,
    *CLAIMS,
    *GATE,
    *SPINE,
    *STANDING,
    *EVOLUTION,
    *ATTACHMENTS,
    *CONTEXT,
)

__all__ = ["AGENT"]
