"""The verbs of code evolution and the research archive."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.agent.spine import AGENT_NAME, ERRORS, HASH, LIMIT, NO_QUERY, WHY
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_FILES = "it writes files of the machine that serves"

EVOLUTION: tuple[Verb, ...] = (
    Verb(
        "scaffold_propose",
        "change",
        "Propose a change of how the agent works, with evidence, verification and a way back.",
        "Nothing changes by it, whatever is decided about it.",
        parameters(
            change=argument("What would change."),
            change_type=Parameter("tool_hint, workflow_sequence, prompt_rule or parameter_tune."),
            target=Parameter("What it changes, such as a tool."),
            evidence=Parameter("Addresses of two outcomes or turns, or more.", kind="texts"),
            expected_effect=Parameter("What would be better."),
            verification=Parameter("How that is seen."),
            rollback=Parameter("How it is taken back."),
            risk=Parameter("low, medium or high.", "medium"),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "Scaffold",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "scaffolds",
        "look",
        "List the proposals of an agent.",
        parameters=parameters(
            states=Parameter("Only those in these states.", (), "texts", cli="--state"),
            agent=AGENT_NAME,
            project=PROJECT,
            limit=LIMIT,
        ),
        result="list[Scaffold]",
        errors=("InputError", "KrefError"),
        cli=Command(),
        cypher=Procedure((), rows.SCAFFOLD),
        absent=why.NO_TOOL,
    ),
    Verb(
        "scaffold_decide",
        "change",
        "Accept, reject or roll back a proposal, as an operator; an agent may withdraw its own.",
        "Accepting takes the content hash.",
        parameters(
            scaffold=argument("The proposal.", "kref"),
            decision=argument("accept, reject, roll_back or withdraw."),
            content_hash=HASH,
            why=WHY,
        ),
        "Scaffold",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "refine",
        "look",
        "Score how an agent works, from its outcomes, and name the failures that come again.",
        "Without `dry_run`, a proposal is written for each of them.",
        parameters(
            dry_run=Parameter(
                "Only report.",
                True,
                kind="flag",
                changed={"cli": "`--no-dry-run` writes"},
                cli="--dry-run/--no-dry-run",
            ),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "Refined",
        writes=True,
        errors=ERRORS,
        cli=Command(),
        absent=NO_QUERY,
    ),
    Verb(
        "bundle_export",
        "care",
        "Write a redacted research bundle to a new folder, as an operator, with its manifest.",
        "It is not approved for training: `bundle_approve` does that, for one bundle.",
        parameters(
            folder=argument("The folder, which does not exist yet.", "path"),
            kinds=Parameter("Only records of these types.", (), "texts", cli="--kind"),
            agent=AGENT_NAME,
            project=PROJECT,
        ),
        "ResearchBundle",
        role="operator",
        writes=True,
        idempotent=False,
        errors=(*ERRORS, "StoreError"),
        cli=Command(),
        absent={"mcp": _FILES, "cypher": _FILES},
    ),
    Verb(
        "bundle_approve",
        "care",
        "Approve one research bundle for training, as an operator, by its manifest's hash.",
        "With `folder`, the files there are compared with the manifest first.",
        parameters(
            bundle=argument("The bundle.", "kref"),
            manifest_hash=argument("The hash that the export reported."),
            folder=Parameter("The folder of the bundle.", None, "path"),
        ),
        "ResearchBundle",
        role="operator",
        writes=True,
        errors=(*ERRORS, "StoreError"),
        cli=Command(),
        absent=NO_QUERY,
    ),
)
