"""The verbs of standing."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.agent.spine import AGENT_NAME, ERRORS, LIMIT, NO_QUERY
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_PERSON = argument("The person, as the speaker of their turns is named.")

STANDING: tuple[Verb, ...] = (
    Verb(
        "standing",
        "look",
        "Show where a person stands: scores, the trail of what changed them, and the reports.",
        "Empty unless the person opted in. With a high `limit` it is all that is kept of them.",
        parameters(person=_PERSON, agent=AGENT_NAME, project=PROJECT, limit=LIMIT),
        "Standing",
        errors=("InputError", "KrefError"),
        cli=Command(),
        cypher=Procedure(("person",), rows.STANDING),
        absent=why.NO_TOOL,
    ),
    Verb(
        "standing_in",
        "change",
        "Record that a person opted in to standing; an operator does so at their word.",
        "What they say from now on counts, nothing from before.",
        parameters(person=_PERSON, agent=AGENT_NAME, project=PROJECT),
        "dict[str, object]",
        role="operator",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "standing_out",
        "change",
        "End standing for a person: at once, and as an operator erasing all that was kept.",
        "What an agent ends is shown and counted no more; the next time an operator calls this, it"
        " is erased, the consent included.",
        parameters(person=_PERSON, agent=AGENT_NAME, project=PROJECT),
        "dict[str, object]",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "standing_appeal",
        "change",
        "Appeal a piece of evidence: it counts no more until an operator decides.",
        "The operator's `decision` is `remove` or `keep`.",
        parameters(
            evidence=argument("The evidence, from the trail.", "kref"),
            why=Parameter("Why it does not count.", ""),
            decision=Parameter("remove or keep; an operator's alone.", ""),
        ),
        "dict[str, object]",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "standing_update",
        "care",
        "Read the turns of everybody who opted in, and write the report of a day that ended.",
        "A turn counts once, however often it is read. Runs at night, or when it is called.",
        parameters(agent=AGENT_NAME, project=PROJECT),
        "StandingUpdate",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
)
