"""Asking a person through the client, in both protocol eras.

    2026-07-28   the call returns with the question (InputRequiredResult); the client asks, and
                 sends the call again with the answer and the state, which is sealed
    before       the server asks during the call (elicitation/create)

A question is about exactly one thing (`bound`), has a nonce, and is answered once: a state that is
sent again, late, or by somebody else is refused. Sealing, expiry and the binding to the caller and
the arguments are the SDK's `RequestStateBoundary`.

The answer comes from the client program and not from the model; a hostile client could make one up.
So a yes replaces no right: roles are checked in the store as ever.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from doxa.base.limits import MCP_QUESTION_MS, MCP_QUESTIONS_ITEMS_MAX
from doxa.servers.mcp.calls import CallQuestion, Reply
from doxa.servers.mcp.server import Context

ANSWER = "answer"  # the key of the one question that a call asks at a time


class Questions:
    """The questions of one server that wait for an answer, by nonce. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: dict[str, float] = {}
        self._lock = threading.Lock()

    def ask(self, question: CallQuestion) -> InputRequiredResult:
        """Return the question as the result of a call, to be sent again with the answer."""
        nonce = secrets.token_urlsafe(16)
        now = time.monotonic()
        with self._lock:
            for old in [one for one, until in self._waiting.items() if until < now]:
                del self._waiting[old]
            while len(self._waiting) >= MCP_QUESTIONS_ITEMS_MAX:
                del self._waiting[next(iter(self._waiting))]
            self._waiting[nonce] = now + MCP_QUESTION_MS / 1000
        return InputRequiredResult(
            input_requests={ANSWER: ElicitRequest(params=form(question))},
            request_state=json.dumps({"nonce": nonce, "bound": question.bound}),
        )

    def reply(self, params: CallToolRequestParams) -> Reply | None:
        """Return the answer that a call brings; None if it is a first call. Raises MCPError for a
        state that was used before."""
        if params.request_state is None:
            return None
        state = json.loads(params.request_state)
        given = (params.input_responses or {}).get(ANSWER)
        if not isinstance(given, ElicitResult):
            return None  # the question is asked again
        with self._lock:
            until = self._waiting.pop(state["nonce"], 0.0)
        if until < time.monotonic():
            raise MCPError(
                code=INVALID_PARAMS,
                message="This question was answered already, or too late. Call again without"
                " requestState.",
            )
        return Reply(given.action, given.content or {}, state["bound"])


def can_ask(context: Context) -> bool:
    """Return whether the client shows forms to a person."""
    known: ClientCapabilities | None = context.session.client_capabilities
    asks = known.elicitation if known is not None else None
    if asks is None:
        return False
    if asks.form is None and asks.url is not None:
        return False
    return is_modern(context) or context.session.can_send_request


def is_modern(context: Context) -> bool:
    """Return whether a request is one of the era without handshakes and sessions."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def ask_now(context: Context, question: CallQuestion) -> Reply:
    """Ask during the call, as versions before 2026-07-28 do."""
    shown: Any = dict(question.schema)
    found = await context.session.elicit_form(
        question.message, shown, related_request_id=context.request_id
    )
    return Reply(found.action, found.content or {}, question.bound)


def form(question: CallQuestion) -> ElicitRequestFormParams:
    return ElicitRequestFormParams(message=question.message, requested_schema=dict(question.schema))
