"""The verbs about what is kept: erasures, proofs, purges, retention and legal holds."""

from __future__ import annotations

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Verb, argument, parameters

_CONFIRM = Parameter("The token of the preview.", "")
_PREVIEW = Parameter("Only report what would go.", False, kind="flag")
_REASON = Parameter("Why; kept in the log.", "")
_SOURCE = argument("An address, change:NUMBER, speaker:NAME or file:PATH.")

KEEPING: tuple[Verb, ...] = (
    Verb(
        "erase",
        "care",
        "Erase nodes and relationships by id, single properties, or every occurrence of a text.",
        "Ids are those of elementId(), present or past. A text is erased in upper and lower case,"
        " from beliefs, properties, labels, types and the log. Needs the token of a preview, and"
        " the operator role. Beliefs are erased by address: see `forget`.",
        parameters(
            elements=Parameter("Ids such as n:7 or r:7.", (), kind="texts", positional=True),
            properties=Parameter("Only these properties.", (), kind="texts", cli="--property"),
            text=Parameter("Every occurrence of this text.", ""),
            confirm=_CONFIRM,
            preview=_PREVIEW,
        ),
        "Forgotten",
        owner="Memory",
        role="operator",
        writes=True,
        errors=("InputError", "ConfirmationError", "ConflictError", "NotFoundError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "verify_erased",
        "care",
        "Look for a text wherever doxa may have written it, and say where it still is.",
        "Reads every cell and byte of the file, what lies next to it, and the backups, snapshots"
        " and exports that doxa wrote. Copies that cannot be reached are named. Of a shared log,"
        " also its engine is read, and every replica that has reported is named.",
        parameters(text=argument("The text that was erased.")),
        "ErasureProof",
        owner="Memory",
        errors=("InputError", "StoreError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "purge",
        "care",
        "Erase everything that came from one source, and what depends on it alone.",
        "A source is an address, such as a thread's, change:NUMBER, speaker:NAME or file:PATH."
        " Needs the token of a preview, and the operator role.",
        parameters(source=_SOURCE, confirm=_CONFIRM, preview=_PREVIEW),
        "Forgotten",
        owner="Memory",
        role="operator",
        writes=True,
        errors=("InputError", "ConfirmationError", "ConflictError", "NotFoundError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "export_subject",
        "care",
        "Write all that is about a person, or came from a source, to a new file of JSON lines.",
        "Returns the number of lines. A source is given as `purge` takes it.",
        parameters(
            subject=argument("A name, or a source."),
            target=argument("A path that does not exist yet.", "path"),
        ),
        "int",
        owner="Memory",
        idempotent=False,
        errors=("InputError", "NotFoundError", "StoreError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "retain",
        "care",
        "Drop what the retention policies do not keep, and overwrite it in the file.",
        "CREATE RETENTION POLICY declares one. Needs the operator role. As of a time before what"
        " was dropped, questions are refused.",
        parameters(preview=_PREVIEW),
        "Dropped",
        owner="Memory",
        role="operator",
        writes=True,
        errors=("RoleError",),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "hold",
        "care",
        "Put an address, a project, a text or a speaker on legal hold.",
        "What is on hold is neither erased nor dropped by retention. Needs the operator role.",
        parameters(
            name=argument("A name for the hold."),
            kind=argument(
                "address, project, text or speaker.",
                choices=("address", "project", "text", "speaker"),
            ),
            value=argument("What is held."),
            reason=_REASON,
        ),
        "LegalHold",
        owner="Memory",
        role="operator",
        writes=True,
        errors=("InputError", "ConflictError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "release",
        "care",
        "Release a legal hold. Needs the operator role.",
        "",
        parameters(name=argument("The name of the hold."), reason=_REASON),
        "LegalHold",
        owner="Memory",
        role="operator",
        writes=True,
        errors=("NotFoundError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "holds",
        "care",
        "List the legal holds in force.",
        "",
        (),
        "list[LegalHold]",
        owner="Memory",
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
)
