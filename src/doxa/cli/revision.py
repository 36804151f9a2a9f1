"""Why something is believed, what waits for a decision, and what beliefs must obey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from doxa.cli.frame import Db, DryRun, Json, KrefArg, Project, ValidFrom, app, embed_some, opened
from doxa.cli.text import conflicts_text, match_text, said_text, show


@app.command()
def explain(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """What is believed, since when, on what grounds, what it replaced and why, what rests on it,
    what contradicts it."""
    with opened(db, as_json) as memory:
        show(memory.explain(kref), as_json, lambda found: found.page())


@app.command()
def conflicts(
    project: Annotated[str, typer.Option("--project", "-p", help="Only this project.")] = "",
    decided: Annotated[
        bool, typer.Option("--decided", help="Those too that were decided.")
    ] = False,
    limit: int = 50,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Statements that contradict what is trusted more, and wait for a decision."""
    with opened(db, as_json) as memory:
        show(
            memory.conflicts(project=project, decided=decided, limit=limit), as_json, conflicts_text
        )


@app.command()
def resolve(
    kref: Annotated[
        str, typer.Argument(help="The conflict's address; see `doxa conflicts`.", metavar="KREF")
    ],
    decision: Annotated[str, typer.Argument(help="accept, reject or both")],
    valid_from: ValidFrom = None,
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Decide a conflict. `both` needs --valid-from: the challenger holds from then on, the other
    until then."""
    with opened(db, as_json) as memory:
        show(
            memory.resolve(kref, decision, valid_from=valid_from, dry_run=dry_run),  # type: ignore[arg-type]
            as_json,
            said_text,
        )


@app.command()
def believe(
    sentence: Annotated[
        str,
        typer.Argument(
            help='[item, predicate, value], or {"if": s, "then": s} and the like, as JSON.'
        ),
    ],
    text: Annotated[
        str, typer.Option(help="The words of the belief; made from the sentence if left out.")
    ] = "",
    project: Project = "default",
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """State a sentence; what cannot be true beside it gives way, wherever it is."""
    with opened(db, as_json) as memory:
        show(
            memory.revise(_parsed(sentence), text, project=project, dry_run=dry_run),
            as_json,
            said_text,
        )


@app.command()
def tell(
    text: Annotated[str, typer.Argument(help="A plain sentence.")],
    project: Project = "default",
    space: Annotated[
        str, typer.Option(help="Where a new belief goes, and where others are looked for.")
    ] = "",
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say something in plain words: it revises the belief that it is about, challenges one that it
    may be about, or is remembered."""
    with opened(db, as_json) as memory:
        change = memory.tell(text, project=project, space=space, dry_run=dry_run)
        embed_some(memory)
        show(change, as_json, said_text)


@app.command()
def match(
    text: Annotated[str, typer.Argument(help="A plain sentence.")],
    project: Project = "default",
    limit: int = 10,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Which beliefs a plain sentence is about, how surely, and what it asks for."""
    with opened(db, as_json) as memory:
        show(memory.match(text, project=project, limit=limit), as_json, match_text)


@app.command()
def disbelieve(
    sentence: Annotated[str, typer.Argument(help="A sentence as JSON.")],
    project: Project = "default",
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Stop believing a sentence: the least entrenched of what says so gives way."""
    with opened(db, as_json) as memory:
        show(
            memory.contract(_parsed(sentence), project=project, dry_run=dry_run), as_json, said_text
        )


@app.command()
def constrain(
    file: Annotated[
        Path,
        typer.Argument(
            help=(
                'JSON: {"constraints": {"functional": [], "exclusions": [], "rules": []},'
                ' "entrenchment": {}}'
            )
        ),
    ],
    project: Project = "default",
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Declare what cannot be true together in a project; what no longer can be believed gives way."""
    with opened(db, as_json) as memory:
        given = _parsed(file.read_text(encoding="utf-8", errors="replace"))
        rules: dict[str, Any] = (
            given
            if isinstance(given, dict) and given.keys() <= {"constraints", "entrenchment"}
            else {"constraints": given}
        )
        change = memory.constrain(
            rules.get("constraints"),
            entrenchment=rules.get("entrenchment"),
            project=project,
            dry_run=dry_run,
        )
        show(change, as_json, said_text)


@app.command()
def rules(project: Project = "default", db: Db = None, as_json: Json = False) -> None:
    """What the beliefs of a project obey, as `constrain` takes it."""
    with opened(db, as_json) as memory:
        show(
            memory.rules(project),
            as_json,
            lambda found: json.dumps(found, indent=2, ensure_ascii=False),
        )


def _parsed(text: str) -> Any:
    from doxa.base.errors import InputError

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"This is no JSON: {text[:80]!r}.",
            next_step='Write a fact as ["Ana", "lives in", "Berlin"].',
            field="sentence",
        ) from None
    if not isinstance(found, (list, dict)):
        raise InputError(
            f"This is no sentence: {text[:80]!r}.",
            next_step='Write a fact as ["Ana", "lives in", "Berlin"].',
            field="sentence",
        )
    return found
