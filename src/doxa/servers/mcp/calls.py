"""What a call of a tool has besides its arguments: an idempotency key, progress and cancellation,
and the answer of a person that it asked.

A tool is a plain function that runs on a thread. It asks by raising `CallQuestion` before it has
done anything, and is called again with the `Reply`; so the same tool works where a server asks
during a call and where a call returns with its question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doxa.app.verbs import VERBS
from doxa.servers.calling import CallCancelled, CallMeter


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person answered: accept, decline or cancel, with the fields of the form; `bound` is
    what the question was about, as it was when it was asked."""

    action: str
    content: Mapping[str, Any] = field(default_factory=dict)
    bound: str = ""

    def chose(self, name: str) -> object:
        """Return the value of a field; None if the person did not accept."""
        return self.content.get(name) if self.action == "accept" else None


class CallQuestion(Exception):
    """A person is to answer before anything is done. `bound` says exactly what it is about, such
    as the token of a preview: a yes to something else does not count."""

    def __init__(self, message: str, schema: Mapping[str, Any], *, bound: str) -> None:
        super().__init__(message)
        self.message, self.schema, self.bound = message, schema, bound


CONFIRM: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "confirm": {"type": "boolean", "title": "Yes", "description": "Do it", "default": False}
    },
    "required": ["confirm"],
}


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call. `can_ask`: a person can be asked; `local`: the client runs on this machine under
    the same user, so that paths mean the same to both."""

    key: str = ""
    reply: Reply | None = None
    can_ask: bool = False
    local: bool = False
    meter: CallMeter = field(default_factory=CallMeter)

    def keyed(self, verb: str) -> dict[str, Any]:
        """Return the idempotency key as an option of a verb, if it takes one."""
        if self.key == "" or all(one.name != "idempotency_key" for one in VERBS[verb].parameters):
            return {}
        return {"idempotency_key": self.key}

    def confirmed(self, message: str, *, bound: str) -> bool:
        """Return whether a person said yes to exactly this. Raises CallQuestion to ask."""
        if self.reply is None or self.reply.bound != bound:
            raise CallQuestion(message, CONFIRM, bound=bound)
        return self.reply.chose("confirm") is True

    def decided(self, message: str, *, bound: str, choices: Sequence[str]) -> str | None:
        """Return what a person chose; None if they declined. Raises CallQuestion to ask."""
        if self.reply is None or self.reply.bound != bound:
            field_schema = {"type": "string", "title": "Decision", "enum": list(choices)}
            schema = {
                "type": "object",
                "properties": {"decision": field_schema},
                "required": ["decision"],
            }
            raise CallQuestion(message, schema, bound=bound)
        chosen = self.reply.chose("decision")
        return chosen if isinstance(chosen, str) and chosen in choices else None


__all__ = [
    "CONFIRM",
    "CallCancelled",
    "CallContext",
    "CallMeter",
    "CallQuestion",
    "Reply",
]
