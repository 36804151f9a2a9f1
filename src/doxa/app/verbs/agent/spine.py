"""The verbs of leases, decisions and outcomes."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

AGENT_NAME = Parameter("The agent; the session's own actor, if it is not given.", "")
WHY = Parameter("Why, in a few words.", "")
HASH = Parameter("The content hash of what is accepted.", "")
LIMIT = Parameter("The number of entries at most.", 50, kind="integer", short="-n")
NO_QUERY = {**why.NO_TOOL, "cypher": "a program or a person calls it, not a query"}
ERRORS = (
    "ConflictError",
    "ConstraintError",
    "InputError",
    "KrefError",
    "LimitError",
    "NotFoundError",
    "RoleError",
)
_CLASSES = "Classes of actions, such as local_project_edit."

SPINE: tuple[Verb, ...] = (
    Verb(
        "lease_grant",
        "change",
        "Make an agent responsible for something, until a time and within limits.",
        "An operator's lease is active at once; an agent's own is a candidate, which covers nothing"
        " until an operator makes it active with `packet_move`. It lasts a day unless `until` says"
        " more, and stops by itself as its conditions say.",
        parameters(
            objective=argument("What the agent is responsible for."),
            allowed=Parameter(_CLASSES, kind="texts"),
            prohibited=Parameter("Classes that are refused while the lease lasts.", (), "texts"),
            approval_for=Parameter("Classes that need an approval each time.", (), "texts"),
            scope=Parameter("Patterns of targets, such as docs/*; none: any.", (), "texts"),
            until=Parameter("When it ends; a day from now, if it is not given.", None, "time"),
            actions_max=Parameter("The number of actions at most.", 100, "integer"),
            failures_max=Parameter("The failures after which it stops.", 3, "integer"),
            notify=Parameter(
                "What is noted for the owner: stopped, failed, ended, expiring.",
                ("stopped", "ended"),
                "texts",
            ),
            owner=Parameter("The person it is for; the operator, if it is not given.", ""),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "LeaseInfo",
        writes=True,
        idempotent=False,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "leases",
        "look",
        "List the leases of an agent, the newest first, and which are in force.",
        parameters=parameters(agent=AGENT_NAME, project=PROJECT, limit=LIMIT),
        result="list[LeaseInfo]",
        errors=("InputError", "KrefError"),
        cli=Command(),
        cypher=Procedure((), rows.LEASE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "lease_end",
        "change",
        "Pause, complete or cancel a lease; one that is paused an operator makes active again.",
        parameters=parameters(
            lease=argument("The lease.", "kref"),
            state=Parameter("completed, paused, cancelled or expired.", "completed"),
            why=WHY,
        ),
        result="LeaseInfo",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "govern",
        "change",
        "Decide how an action may be done: the least restrictive mode that is safe, on record.",
        "Authority is looked up: a current instruction of a person, or a lease in force. What else"
        " is given can raise the mode and never lowers it. With `decision`, one that an operator"
        " approved for this very action, the approval is used, once.",
        parameters(
            action_class=argument("One of the thirteen classes, such as external_message."),
            action=argument("What is to be done, in a sentence."),
            target=Parameter("What it is done to: a file, a recipient, a device.", ""),
            instruction=Parameter("The turn in which a person asked for it.", "", "kref"),
            lease=Parameter("The lease that covers it.", "", "kref"),
            decision=Parameter("An approved decision about this action, to use.", "", "kref"),
            confirmed=Parameter("Recipient and intent are confirmed.", False, "flag"),
            externality=Parameter("none, local or external.", "none"),
            reversibility=Parameter("reversible, costly or irreversible.", "reversible"),
            sensitivity=Parameter("low, medium or high.", "low"),
            shaping=Parameter("How much it changes later behavior: none, narrow, broad.", "none"),
            evidence=Parameter("What it is based on: fresh, unverified or missing.", "fresh"),
            anomaly=Parameter("Of the agent's own state: none, suspected, confirmed.", "none"),
            boundaries=Parameter("Hard boundaries that it crosses.", (), "texts"),
            floor=Parameter("The least mode that you want.", "proceed"),
            rollback=Parameter("How it is taken back.", ""),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "Decision",
        writes=True,
        idempotent=False,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "outcome",
        "change",
        "Record what an action had as its effect. It is evidence, and allows nothing by itself.",
        "A failure counts for the stop conditions of the lease; two of one class within an hour"
        " stop the agent until an operator records an outcome.",
        parameters(
            status=argument(
                "observed, verified, failed, blocked, interrupted, rolled_back or review_requested."
            ),
            decision=Parameter("The decision about the action.", "", "kref"),
            lease=Parameter("The lease, where there is no decision.", "", "kref"),
            intent=Parameter("What it was for.", ""),
            observed=Parameter("What was observed.", ""),
            verified_by=Parameter("How it was verified, such as a test.", ""),
            evidence=Parameter("Addresses of what shows it.", (), "texts"),
            failure_class=Parameter("The kind of failure, such as timeout.", ""),
            residual_risk=Parameter("What may still go wrong.", ""),
            rollback=Parameter("How it is taken back.", ""),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "dict[str, object]",
        writes=True,
        idempotent=False,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "packet_write",
        "change",
        "Write a state record, a maturation candidate or a declared lane, from its body.",
        "`packets(schema=True)` gives the form of each. What is not an operator's is a candidate,"
        " or a state that the agent observed and that expires within a day.",
        parameters(
            kind=argument("state_record, maturation_candidate or declared_lane."),
            text=argument("What it says.", default=""),
            body=Parameter("The fields of its form.", None, "mapping"),
            state=Parameter("Its first state, where it is not the usual one.", ""),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "dict[str, object]",
        writes=True,
        idempotent=False,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "packet_move",
        "change",
        "Move a packet to another state, such as approved, accepted, applied or retired.",
        "What an operator accepts is named by its content hash. Who may make which move is checked"
        " at commit.",
        parameters(
            packet=argument("The packet.", "kref"),
            state=argument("The state, such as approved."),
            content_hash=HASH,
            why=WHY,
        ),
        "dict[str, object]",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "packets",
        "look",
        "List the packets of an agent as JSON values, the newest first; without `kind`, of all.",
        "With `schema`, the JSON schema of each kind in place of them.",
        parameters(
            kind=argument("Only packets of this kind, such as governor_decision.", default=""),
            states=Parameter("Only those in these states.", (), "texts", cli="--state"),
            schema=Parameter("Give the schemas.", False, "flag"),
            agent=AGENT_NAME,
            project=PROJECT,
            limit=Parameter("The number of packets at most.", 100, "integer", short="-n"),
        ),
        "list[dict[str, object]]",
        errors=("InputError", "KrefError"),
        cli=Command(),
        cypher=Procedure(("kind",), rows.PACKET),
        absent=why.NO_TOOL,
    ),
    Verb(
        "eligibility",
        "look",
        "Say whether a consumer may use a record, with every reason against it.",
        "The consumers are ui_review, recall_search, maturation_router, context_injection,"
        " planning, tool_action_execution, memory_promotion, outcome_ledger,"
        " responsibility_registry, scheduler and governor.",
        parameters(
            kref=argument("The record, or any other address.", "kref"),
            consumer=argument("The consumer."),
            privacy_max=Parameter("The highest tier that may be shown there.", "local_private"),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "Eligibility",
        errors=("InputError", "KrefError", "NotFoundError"),
        cli=Command(),
        cypher=Procedure(("kref", "consumer"), rows.ELIGIBILITY),
        absent=why.NO_TOOL,
    ),
)
