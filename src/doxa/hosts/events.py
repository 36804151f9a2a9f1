"""The neutral events of an agent host, and what an event is answered with.

    open        a conversation begins, goes on, or was compacted   -> the brief
    prompt      the person has written                             -> what memory holds about it
    tool        a tool was used
    compaction  the host has summarised the conversation
    answer      the agent has answered: the end of a turn
    close       the conversation ends

Every host's hooks become these (`formats.py`); what follows is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass

from doxa.base.ids import digest_of as digest_of

EVENTS = ("open", "prompt", "tool", "compaction", "answer", "close")
CHECK_SESSION = "doxa-setup"  # what `doxa setup HOST --check` runs hooks in: no conversation
EMPTIED = frozenset(("clear", "compact"))  # why the context has lost what was injected before


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event. `session` is the host's id of the conversation, `folder` where it works, `text`
    what was said, `tool` the name of a tool, `source` why a conversation is opened."""

    kind: str
    host: str
    session: str
    folder: str = ""
    text: str = ""
    tool: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Injection:
    """What an event is answered with: `block` goes into the agent's context, `notice` is a line for
    the person. Both may be empty."""

    block: str = ""
    notice: str = ""
