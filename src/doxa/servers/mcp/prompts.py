"""The prompts of a server: what a person calls from the menu of a host. Their words are constants;
what memory holds is quoted in them as data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from doxa.app import Session
from doxa.base.errors import DoxaError
from doxa.base.quoting import bare, quoted
from doxa.servers.mcp.core import NOT_INSTRUCTIONS
from doxa.servers.mcp.server import Context, ServedPrompt, SessionOf
from doxa.servers.mcp.tools import call

_REMEMBER = (
    "Look back over this conversation and put into memory what will matter later: decisions with"
    " their reasons, preferences, facts about people and projects, corrections, and what is still"
    " open. Recall first what memory holds of each. Then, one call each: memory_remember for what"
    " is new, as one self-contained sentence with absolute dates and names; memory_update for what"
    " has changed. Leave out what is obvious, secret, or only of use today. Say at the end what you"
    " remembered, in one line each."
)
_REVIEW = (
    "Below are conflicts that memory could not decide: a statement, and what it contradicts, which"
    " is trusted more. For each, tell the user in plain words what speaks for either side, and ask"
    " which holds; do not decide yourself. The operator decides with: doxa resolve KREF accept, or"
    " reject, or both."
)
_Make = Callable[[Session, Mapping[str, str]], str]
_BRIEF = "Begin with what memory holds of this project. Ask before relying on what may be outdated."


@dataclass(frozen=True, slots=True)
class SessionPrompt:
    """A prompt that is made on the session of the caller."""

    listed: Prompt
    sessions: SessionOf
    make: _Make

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        session = self.sessions(context)
        given = params.arguments or {}
        known = [one.name for one in self.listed.arguments or ()]
        if unknown := sorted(given.keys() - set(known)):
            raise MCPError(
                code=INVALID_PARAMS,
                message=f"The prompt {params.name} has no argument {unknown[0][:80]!r}.",
            )
        try:
            text = await asyncio.to_thread(self.make, session, given)
        except DoxaError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
        return GetPromptResult(
            description=self.listed.description,
            messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))],
        )


def _brief(session: Session, given: Mapping[str, str]) -> str:
    tokens = given.get("tokens_max", "800")
    if not tokens.isdecimal() or len(tokens) > 6:
        raise MCPError(code=INVALID_PARAMS, message="tokens_max is a number of tokens.")
    text, _, failed = call(session, "memory_context", {"tokens_max": int(tokens)})
    if failed:
        raise MCPError(code=INVALID_PARAMS, message=text)
    return f"{_BRIEF}\n\n{text}"


def _remember(_: Session, __: Mapping[str, str]) -> str:
    return _REMEMBER


def _review(session: Session, _: Mapping[str, str]) -> str:
    found = session.conflicts(limit=20)
    if not found:
        return "Memory holds no open conflict in this project. Say so, and do nothing else."
    lines = []
    for one in found:
        lines.append(
            f"- {bare(one.kref)}: {quoted(one.challenger.summary)} ({bare(one.challenger.trust)},"
            f" {bare(one.challenger.kref)}) contradicts"
        )
        lines += [
            f"    {quoted(held.summary)} ({bare(held.trust)}, {bare(held.kref)})"
            for held in one.held
        ]
    return "\n".join([_REVIEW, "", NOT_INSTRUCTIONS, *lines])


def memory_prompts(sessions: SessionOf) -> Sequence[ServedPrompt]:
    """Return the prompts of a server, in the order in which they are listed."""
    tokens = PromptArgument(name="tokens_max", description="The budget, 800 tokens by default.")
    made: tuple[tuple[str, str, str, list[PromptArgument], _Make], ...] = (
        ("brief", "Brief", "What memory holds of this project, to begin with.", [tokens], _brief),
        (
            "remember-session",
            "Remember this session",
            "Put what matters of this conversation into memory.",
            [],
            _remember,
        ),
        (
            "review-conflicts",
            "Review conflicts",
            "Go through contradictions that wait for a decision.",
            [],
            _review,
        ),
    )
    return [
        SessionPrompt(
            Prompt(name=name, title=title, description=text, arguments=arguments), sessions, make
        )
        for name, title, text, arguments, make in made
    ]
