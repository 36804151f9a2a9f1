"""What every completer checks before it sends a conversation, and how it reports what came back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from doxa.base.errors import InputError, LimitError, ModelError
from doxa.base.limits import COMPLETE_TOKENS_MAX, MODEL_REQUEST_BYTES_MAX
from doxa.models.contract import Completion, Message
from doxa.models.meter import Call
from doxa.models.texts import tokens_estimate, well_formed

_ROLES = ("system", "user", "assistant")
Finish = Literal["stop", "length", "other"]


def checked(
    messages: Sequence[Message], *, tokens_max: int, temperature: float | None
) -> list[Message]:
    """The same messages as valid Unicode. Raises InputError or LimitError for what
    `Completer.complete` does not take."""
    if not messages or messages[-1].role != "user":
        raise InputError(
            "A conversation for a model ends with a message of the user.",
            next_step="Add what is asked.",
            field="messages",
        )
    for message in messages:
        if message.role not in _ROLES or not isinstance(message.text, str):
            raise InputError(
                f"A message has a role of {', '.join(_ROLES)} and a text.",
                next_step="Correct the messages.",
                field="messages",
            )
    if not _fits(tokens_max):
        raise LimitError(
            f"An answer has 1 to {COMPLETE_TOKENS_MAX:,} tokens; {tokens_max!r:.40} were asked"
            " for.",
            next_step="Give tokens_max within that.",
            limit_tokens=COMPLETE_TOKENS_MAX,
        )
    if temperature is not None and not 0 <= temperature <= 2:
        raise InputError(
            f"temperature lies from 0 to 2; this is {temperature!r:.40}.",
            next_step="Give such a number.",
            field="temperature",
        )
    if sum(len(message.text) for message in messages) > MODEL_REQUEST_BYTES_MAX:
        raise LimitError(
            f"The messages are beyond the {MODEL_REQUEST_BYTES_MAX:,} bytes that are sent to a"
            " model at once.",
            next_step="Ask with less text.",
            limit_bytes=MODEL_REQUEST_BYTES_MAX,
        )
    return [Message(message.role, well_formed(message.text)) for message in messages]


def _fits(tokens_max: object) -> bool:
    return (
        isinstance(tokens_max, int)
        and not isinstance(tokens_max, bool)
        and 1 <= tokens_max <= COMPLETE_TOKENS_MAX
    )


def estimate(messages: Sequence[Message]) -> int:
    """Tokens of a conversation, with a few for the marks around each message."""
    return tokens_estimate(*(message.text for message in messages)) + 4 * len(messages)


def completion(
    call: Call,
    text: str | None,
    *,
    tokens_in: int | None,
    tokens_out: int | None,
    finish: Finish,
    model: str,
) -> Completion:
    """The answer with what it took, which is counted first: an answer without text has been charged
    for too. Raises ModelError for one."""
    usage = call.used(tokens_in, tokens_out, answer_tokens=tokens_estimate(text or ""))
    if not text:
        told = (
            "the limit of tokens was used up before it"
            if finish == "length"
            else "it may have refused"
        )
        raise ModelError(
            f"The model {model} answered without text: {told}.",
            next_step="Ask in other words, or allow more tokens.",
            model=model,
        )
    return Completion(well_formed(text), usage, finish)
