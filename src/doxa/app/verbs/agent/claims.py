"""The verbs of claims and of their sources."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import (
    Command,
    Parameter,
    Procedure,
    Verb,
    argument,
    parameters,
)
from doxa.app.verbs.options import PROJECT

_AGENT = Parameter("The agent, where it is not the session's actor.", "")
_CLAIM = argument("The address of the claim.", "kref")
_FILES: why.Reasons = {"cypher": "sources are files too, which a query does not read"}
_READ: why.Reasons = {"cypher": why.QUERY, "mcp": why.OPERATOR}
_SOURCED: why.Reasons = {**_FILES, "mcp": why.OPERATOR}
_MISSING = ("InputError", "KrefError", "NotFoundError")

CLAIMS: tuple[Verb, ...] = (
    Verb(
        "claim_propose",
        "change",
        "Keep a claim with the handles of its sources, as a candidate.",
        "A candidate is not believed: recall, consolidation and prompts do not read it. The same"
        " claim with the same sources is kept once.",
        parameters(
            text=argument("One thing, as a sentence."),
            sources=Parameter(
                "Handles: transcript:, tool:, archive:, handoff:, file:, commit:, kref:.",
                kind="texts",
                cli="--source",
            ),
            kind=Parameter(
                "project_state, user_preference, identity, commitment, runtime, interpretation,"
                " summary or configuration.",
                "project_state",
            ),
            policy=Parameter(
                "When it is to be checked again: evergreen, session_bound, verify_before_asserting,"
                " expires_after, user_correction_wins or runtime_check_required.",
                "user_correction_wins",
            ),
            expires_s=Parameter(
                "How long it holds after it was accepted, for expires_after.", 0, kind="integer"
            ),
            agent=_AGENT,
            project=PROJECT,
        ),
        "Record",
        writes=True,
        errors=("InputError", "LimitError", "RoleError"),
        cli=Command(),
        absent=_SOURCED,
    ),
    Verb(
        "claim_produce",
        "care",
        "Make candidates of a session's turns or of a handoff, by rules.",
        "The same source gives the same claims, and stays as it is.",
        parameters(
            session=Parameter("The session whose turns are read.", ""),
            handoff=Parameter("The handoff whose sections are read.", ""),
            agent=_AGENT,
            project=PROJECT,
        ),
        "list[Record]",
        writes=True,
        errors=("InputError", "NotFoundError", "RoleError"),
        cli=Command(),
        absent=_SOURCED,
    ),
    Verb(
        "claim_preview",
        "look",
        "Report what the sources of a claim say now, with the hashes that a decision names.",
        "Verdicts are exact, partial, drifted and missing. Nothing is written.",
        parameters(claim=_CLAIM),
        "ClaimPreview",
        errors=_MISSING,
        cli=Command(),
        absent=_SOURCED,
    ),
    Verb(
        "claim_decide",
        "change",
        "Accept, reject, defer or reverse a claim, as it was previewed.",
        "Needs the operator role, and accepting the mode enforce. An accepted claim becomes a"
        " verified belief, derived from it and its sources; reversing retires that. If the claim or"
        " a source differs from the preview, nothing is decided.",
        parameters(
            claim=_CLAIM,
            decision=argument("accept, reject, defer or reverse."),
            claim_hash=Parameter("The hash of the claim, from the preview."),
            source_hash=Parameter("The hash of its sources, from the preview."),
            reason=Parameter("Why, in a few words."),
        ),
        "Record",
        role="operator",
        writes=True,
        idempotent=False,
        errors=(*_MISSING, "ConflictError", "ConstraintError", "RoleError"),
        cli=Command(),
        absent=_SOURCED,
    ),
    Verb(
        "claims",
        "look",
        "List the claims of an agent.",
        "With `live`, those that may be given to a prompt: accepted, believed still, in the mode"
        " enforce, at most 8, of one kind or type of source at most half, from handoffs alone at"
        " most 3.",
        parameters(
            state=Parameter("candidate, accepted, rejected, deferred or reversed.", ""),
            live=Parameter("Only those that may be given to a prompt.", False, kind="flag"),
            agent=_AGENT,
            project=PROJECT,
            limit=Parameter("The number of entries at most.", 50, kind="integer", short="-n"),
        ),
        "list[Record]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.RECORD),
        absent=why.NO_TOOL,
    ),
    Verb(
        "claim_report",
        "look",
        "Report recurrence, sources, age, tensions and readiness of candidate claims.",
        "In the modes diagnostic and enforce. It promotes and writes nothing.",
        parameters(agent=_AGENT, project=PROJECT),
        "ClaimReport",
        errors=("InputError", "ConstraintError"),
        cli=Command(),
        absent=_READ,
    ),
)
