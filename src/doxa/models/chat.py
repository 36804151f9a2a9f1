"""Checks that every completer makes before it sends a conversation, and how it reports the
answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from doxa.base.errors import InputError, LimitError, ModelError
from doxa.base.limits import COMPLETE_TOKENS_MAX, MODEL_REQUEST_BYTES_MAX
from doxa.models.contract import Completion, Message
from doxa.models.meter import Meter, MeteredCall
from doxa.models.texts import tokens_at_most, tokens_estimate, well_formed

_ROLES = ("system", "user", "assistant")
Finish = Literal["stop", "length", "other"]


def check_messages(
    messages: Sequence[Message], *, tokens_max: int, temperature: float | None
) -> list[Message]:
    """Return the messages as valid Unicode. Raises InputError or LimitError for what
    `Completer.complete` does not accept."""
    if not messages or messages[-1].role != "user":
        raise InputError(
            "A conversation must end with a message of the user.",
            next_step="Add the question as the last message.",
            field="messages",
        )
    for message in messages:
        if message.role not in _ROLES or not isinstance(message.text, str):
            raise InputError(
                f"A message must have a text and one of the roles {', '.join(_ROLES)}.",
                next_step="Correct the messages.",
                field="messages",
            )
    if not _fits(tokens_max):
        raise LimitError(
            f"tokens_max must be from 1 to {COMPLETE_TOKENS_MAX:,}; it is {tokens_max!r:.40}.",
            next_step="Give tokens_max within that range.",
            limit_tokens=COMPLETE_TOKENS_MAX,
        )
    if temperature is not None and not 0 <= temperature <= 2:
        raise InputError(
            f"temperature must be from 0 to 2; it is {temperature!r:.40}.",
            next_step="Give a number within that range.",
            field="temperature",
        )
    if sum(len(message.text) for message in messages) > MODEL_REQUEST_BYTES_MAX:
        raise LimitError(
            f"The messages exceed the limit of {MODEL_REQUEST_BYTES_MAX:,} bytes per request.",
            next_step="Send less text.",
            limit_bytes=MODEL_REQUEST_BYTES_MAX,
        )
    return [Message(message.role, well_formed(message.text)) for message in messages]


def _fits(tokens_max: object) -> bool:
    return (
        isinstance(tokens_max, int)
        and not isinstance(tokens_max, bool)
        and 1 <= tokens_max <= COMPLETE_TOKENS_MAX
    )


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Estimate the tokens of a conversation, with a few for the delimiters of each message."""
    return tokens_estimate(*(message.text for message in messages)) + 4 * len(messages)


def metered(
    meter: Meter, name: str, messages: Sequence[Message], *, tokens_max: int
) -> MeteredCall:
    """Return the call of a conversation under a meter: it reserves the most that it may cost."""
    estimated = estimate_tokens(messages)
    return meter.call(
        name,
        tokens_in=estimated,
        tokens_in_max=tokens_at_most(estimated),
        tokens_out_max=tokens_max,
    )


def completion(
    call: MeteredCall,
    text: str | None,
    *,
    tokens_in: int | None,
    tokens_out: int | None,
    finish: Finish,
    model: str,
) -> Completion:
    """Return the answer with its usage. The usage is counted first, since an answer without text is
    charged for as well. Raises ModelError for such an answer."""
    usage = call.used(tokens_in, tokens_out, answer_tokens=tokens_estimate(text or ""))
    if not text:
        reason = (
            "it reached the limit of tokens before it"
            if finish == "length"
            else "it may have refused"
        )
        raise ModelError(
            f"The model {model} answered without text: {reason}.",
            next_step="Rephrase the question, or allow more tokens.",
            model=model,
        )
    return Completion(well_formed(text), usage, finish)
