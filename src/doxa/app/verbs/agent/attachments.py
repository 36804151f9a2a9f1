"""The verbs of attachments."""

from __future__ import annotations

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_SESSION = Parameter("The conversation.", "")
_FILES: why.Reasons = {
    "cypher": "it looks at files, and who runs a query may be on another machine",
    "mcp": why.OPERATOR,
}
_THREAD = Parameter("The thread.", "")

ATTACHMENTS: tuple[Verb, ...] = (
    Verb(
        "attachment_add",
        "change",
        "Keep the receipt of a file: its hash, what it is, its text, and where it lies.",
        "The file stays where it is. A content that is known has one receipt, in whatever turn and"
        " under whatever name it comes again. Archives, programs and documents with macros are"
        " refused.",
        parameters(
            source=argument("The file; in Python also its content as bytes.", "path"),
            name=Parameter("Its name; without one, that of the file.", ""),
            session=_SESSION,
            thread=_THREAD,
            about=Parameter("Krefs of turns in which it appeared.", (), kind="texts"),
            extract=Parameter("Read its text.", True, kind="flag"),
            project=PROJECT,
        ),
        "Attachment",
        writes=True,
        errors=("InputError", "LimitError", "NotFoundError", "StoreError"),
        cli=Command(),
        absent={"cypher": "it reads a file", "mcp": why.OPERATOR},
    ),
    Verb(
        "attachment_show",
        "look",
        "Return an attachment as it is now: its file is hashed again.",
        "`gap` says in words what cannot be vouched for any more. `capabilities` are those of the"
        " model, by which the route of an image is chosen.",
        parameters(
            kref=argument("The receipt's address."),
            capabilities=Parameter(
                "What the model can do: image_input, image_description.",
                (),
                kind="texts",
                cli="--capability",
            ),
            whole=Parameter("Return the whole text too.", False, kind="flag"),
        ),
        "Attachment",
        errors=("InputError", "NotFoundError", "StoreError"),
        cli=Command(),
        absent=_FILES,
    ),
    Verb(
        "attachment_list",
        "look",
        "List the attachments that were used last, each verified again.",
        "",
        parameters(
            session=_SESSION,
            thread=_THREAD,
            limit=Parameter("The number at most, up to 100.", 6, kind="integer", short="-n"),
            agent=Parameter("Whose; the caller's, if it is not given.", ""),
            project=PROJECT,
        ),
        "list[Attachment]",
        errors=("InputError", "StoreError"),
        cli=Command(),
        absent=_FILES,
    ),
    Verb(
        "attachment_note",
        "change",
        "Keep what was observed of an attachment, in place of the last observation.",
        "Later turns carry it with its date, next to the receipt.",
        parameters(
            kref=argument("The receipt's address."),
            text=argument("What was observed; 1,200 characters are kept."),
        ),
        "Attachment",
        writes=True,
        errors=("InputError", "LimitError", "NotFoundError", "RoleError", "StoreError"),
        cli=Command(),
        absent={"cypher": "an observation is made by a program", "mcp": why.OPERATOR},
    ),
)
