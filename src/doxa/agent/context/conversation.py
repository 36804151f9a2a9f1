"""The stage of working memory: the latest messages of the running conversation, quoted."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.agent.context.isolation import channel, readable_channels
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.base.clock import format_time

_MESSAGES = 6
_MESSAGE_CHARS = 300
_ROLES = {"user": "the person", "assistant": "I"}


def conversation_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the latest messages of the person and of the agent, in their order; what tools and
    systems said is not among them."""
    if situation.chat is None or not situation.session:
        return
    own = channel(situation, situation.thread, situation.session)
    with situation.store.read() as reader:
        if own not in readable_channels(situation, reader, [own]):
            return  # it was opened in another mode
    held = [one for one in situation.chat(situation.session) if one[0] in _ROLES]
    for role, text, time_ns in held[-_MESSAGES:]:
        when = format_time(time_ns)[:10]
        line = f"- {_ROLES[role]}: {shown(text, _MESSAGE_CHARS)} [{when}]"
        reason = f"working memory of the session {situation.session}"
        yield ContextLine("conversation", line, reason)
