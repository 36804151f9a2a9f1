"""In and out: what is stated or brought in, what is asked and taken out."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.frame import (
    Db,
    Decisions,
    Entities,
    Events,
    FactOption,
    Implications,
    Json,
    KrefArg,
    Project,
    Questions,
    Title,
    Topic,
    app,
    db_hint,
    embed_some,
    facts_of,
    given_of,
    opened,
    progress,
)
from doxa.cli.text import fields_text, recall_text, said_text, show

_WITHOUT_MEANING = (
    "words",
    "entities",
    "time",
    "graph",
    "recency",
    "policy",
)  # named here, since the room of recall takes long to import


@app.command()
def init(db: Db = None, as_json: Json = False) -> None:
    """Create the memory file (or open an old one) and say where it is."""
    with opened(db, as_json) as memory:
        show(memory.stats(), as_json, lambda s: f"memory is at {s['path']}")


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="What is believed, as one sentence.")],
    name: Annotated[str, typer.Option(help="A name under which it can be revised.")] = "",
    kind: Annotated[str, typer.Option(help="fact, decision, preference, ...")] = "fact",
    space: Annotated[str, typer.Option(help="Space within the project, such as a/b.")] = "",
    fact: FactOption = None,
    derived_from: Annotated[
        list[str] | None, typer.Option(help="kref of a source (repeatable).")
    ] = None,
    depends_on: Annotated[
        list[str] | None, typer.Option(help="kref it rests on (repeatable).")
    ] = None,
    valid_from: Annotated[str | None, typer.Option(help="ISO 8601.")] = None,
    valid_until: Annotated[str | None, typer.Option(help="ISO 8601.")] = None,
    confidence: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    trust: Annotated[str, typer.Option(help="untrusted, candidate, stated, verified")] = "stated",
    embedding_text: Annotated[
        str, typer.Option(help="What its vector is made of instead of its own text.")
    ] = "",
    title: Title = None,
    topic: Topic = None,
    event: Events = None,
    implication: Implications = None,
    question: Questions = None,
    decision: Decisions = None,
    entity: Entities = None,
    project: Project = "default",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """State one belief; one that says the same is not stored twice."""
    with opened(db, as_json) as memory:
        made = memory.remember(
            text,
            project=project,
            space=space,
            name=name,
            kind=kind,
            facts=facts_of(fact),
            valid_from=valid_from,
            valid_until=valid_until,
            confidence=confidence,
            trust=trust,
            derived_from=derived_from or (),
            depends_on=depends_on or (),
            embedding_text=embedding_text,
            title=title or "",
            topics=topic or (),
            **given_of(
                events=event,
                implications=implication,
                questions=question,
                decisions=decision,
                entities=entity,
            ),
        )
        embed_some(memory)
        show(made, as_json, lambda m: said_text(m.change, m.warnings))


@app.command()
def recall(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits.")] = 10,
    tokens: Annotated[int | None, typer.Option(help="Token budget of the hits' text.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind (repeatable).")] = None,
    space: Annotated[str, typer.Option(help="Only this space and below.")] = "",
    tag: Annotated[str, typer.Option(help="What carries this tag instead of current.")] = "current",
    trust: Annotated[str, typer.Option(help="At least this trust.")] = "",
    speaker: Annotated[str, typer.Option(help="Only what this speaker said.")] = "",
    since: Annotated[
        str | None, typer.Option(help="Said or stated from this time on (ISO 8601).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Said or stated before this time.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="Only what holds at this time.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="What memory believed at this time.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Retired beliefs too.")] = False,
    words_only: Annotated[
        bool, typer.Option("--words-only", help="Without the meaning lane.")
    ] = False,
    lane: Annotated[list[str] | None, typer.Option(help="Only this lane (repeatable).")] = None,
    mode: Annotated[
        str, typer.Option(help="How lanes are fused: auto, max, rrf, convex.")
    ] = "auto",
    strict: Annotated[bool, typer.Option("--strict", help="Only what stands out.")] = False,
    order: Annotated[str, typer.Option(help="score or time.")] = "score",
    diversity: Annotated[
        float, typer.Option(help="Prefer hits unlike each other, from 0 to below 1.")
    ] = 0.0,
    from_thread: Annotated[str, typer.Option(help="The thread that the question comes from.")] = "",
    rerank: Annotated[
        str, typer.Option(help="A second opinion: none, client, dedicated, auto.")
    ] = "none",
    reword: Annotated[
        str, typer.Option(help="Other wordings too: none, rules, model, auto.")
    ] = "none",
    framed: Annotated[
        bool, typer.Option("--framed", help="As one text for a reader, anchored and quoted.")
    ] = False,
    project: Annotated[
        str, typer.Option("--project", "-p", help="Only this project (default: all).")
    ] = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Find what is believed or was said, with source, status and reason."""
    with opened(db, as_json) as memory:
        answer = memory.recall(
            question,
            project=project,
            space=space,
            kinds=kind or (),
            tag=tag,
            trust=trust,
            speaker=speaker,
            since=since,
            until=until,
            valid_at=valid_at,
            as_of=as_of,
            history=history,
            limit=limit,
            tokens_max=tokens,
            lanes=lane or (_WITHOUT_MEANING if words_only else None),
            mode=mode,
            strict=strict,
            order=order,
            diversity=diversity,
            from_thread=from_thread,
            rerank=rerank,
            reword=reword,
        )
        show(answer, as_json, (lambda found: found.framed(tokens)) if framed else recall_text)


@app.command()
def get(
    kref: KrefArg,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Also what a persistence policy hides.")
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show what an address means now."""
    with opened(db, as_json) as memory:
        show(memory.get(kref, reveal=reveal), as_json, fields_text)


@app.command("import")
def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="A file or folder: doxa JSONL or export, LoCoMo, Claude Code, ChatGPT, Claude.",
            show_default=False,
        ),
    ],
    format: Annotated[
        str | None, typer.Option(help="Name the format instead of detecting it.")
    ] = None,
    space: Annotated[str, typer.Option(help="Where the turns go.")] = "conversations",
    embed: Annotated[
        bool,
        typer.Option(
            "--embed/--no-embed", help="Make vectors right away (can be stopped; goes on later)."
        ),
    ] = True,
    project: Project = "default",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Take histories in. Importing again adds only what is new."""
    from doxa.base.errors import LimitError
    from doxa.transfer.jsonl import is_export

    with opened(db, as_json) as memory:
        summary: dict[str, object]
        if is_export(path):
            taken = memory.import_(path)
            summary = {
                "added": taken.added,
                "known": taken.known,
                "revisions": taken.revisions,
                "artifacts": taken.artifacts,
                "bundles": taken.bundles,
                "edges": taken.edges,
                "passed_over": taken.passed_over,
                "redacted": taken.redacted,
                "threads": len(taken.threads),
                "places": taken.places,
            }
        else:
            with progress("turns", as_json) as advance:
                read = memory.ingest(
                    path, project=project, space=space, format=format, progress=advance
                )
            summary = {
                "added": read.added,
                "known": read.known,
                "candidates": read.candidates,
                "redacted": read.redacted,
                "threads": len(read.threads),
                "skipped": read.skipped,
                "places": read.places,
            }
        if embed:
            # What was read is stored; where a cap on spending ends this, `unembedded` counts what
            # is left and `doxa embed` says why.
            with suppress(LimitError), progress("vectors", as_json) as advance:
                memory.embed(progress=advance)
        show(
            summary
            | {
                "unembedded": memory.pending(in_use=True),
                "next": f'doxa recall "..."{db_hint(db)}',
            },
            as_json,
            fields_text,
        )


@app.command()
def export(
    target: Annotated[
        Path | None, typer.Argument(help="A file (default: standard output).", show_default=False)
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Write every turn, revision and edge as JSON lines."""
    with opened(db, as_json) as memory:
        if target is None:
            for line in memory.export():
                sys.stdout.buffer.write(line + b"\n")
            return
        from doxa.transfer.jsonl import write_export

        show(
            {"path": str(target), "lines": write_export(memory.store, target)}, as_json, fields_text
        )


@app.command()
def embed(
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Make all vectors again, by another model; recall goes on by the old ones.",
        ),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make the vectors that are due. Can be stopped at any time; what is left stays due, also of a
    change of model."""
    with opened(db, as_json) as memory:
        with progress("vectors", as_json) as advance:
            made = memory.embed(anew=anew, progress=advance)
        error = memory.embedder_error
        coming = memory.reembedding()
        more: dict[str, object] = (
            {}
            if coming is None
            else {"coming": coming.model, "coming_made": coming.made, "coming_due": coming.due}
        )
        show(
            {
                "embedded": made,
                "pending": memory.pending(),
                **more,
                "model_error": str(error) if error else "",
            },
            as_json,
            fields_text,
        )
