"""One belief over time: its revisions, tags and edges, what it rests on, and how it goes."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.cli.frame import (
    Confidence,
    Db,
    Decisions,
    DryRun,
    EdgeArg,
    EdgeOption,
    Entities,
    Events,
    FactOption,
    Implications,
    Json,
    KrefArg,
    Questions,
    Title,
    Topic,
    Trust,
    ValidFrom,
    ValidUntil,
    app,
    embed_some,
    facts_of,
    given_of,
    opened,
)
from doxa.cli.text import fields_text, forgotten_text, history_text, said_text, show, walk_text


@app.command()
def revise(
    kref: KrefArg,
    text: Annotated[str, typer.Argument(help="What is believed now.")],
    fact: FactOption = None,
    expect: Annotated[int | None, typer.Option(help="The revision that must be current.")] = None,
    title: Title = None,
    topic: Topic = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    confidence: Confidence = None,
    trust: Trust = None,
    event: Events = None,
    implication: Implications = None,
    question: Questions = None,
    decision: Decisions = None,
    entity: Entities = None,
    again: Annotated[bool, typer.Option("--again", help="Also if it says the same.")] = False,
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A new revision of an item; the old one leaves recall and stays in history. What is not given
    is carried over."""
    with opened(db, as_json) as memory:
        given = given_of(
            title=title, topics=topic, facts=facts_of(fact), trust=trust, confidence=confidence
        )
        given |= given_of(valid_from=valid_from, valid_until=valid_until)
        given |= given_of(
            events=event,
            implications=implication,
            questions=question,
            decisions=decision,
            entities=entity,
        )
        change = memory.revise(kref, text, expect=expect, again=again, dry_run=dry_run, **given)
        embed_some(memory)
        show(change, as_json, said_text)


@app.command()
def supersede(
    kref: KrefArg,
    text: Annotated[str, typer.Argument(help="What replaces it.")],
    name: Annotated[
        str, typer.Option(help="A new name; without one the item keeps its address.")
    ] = "",
    kind: Annotated[str | None, typer.Option(help="The new item's kind.")] = None,
    space: Annotated[str | None, typer.Option(help="The new item's space.")] = None,
    fact: FactOption = None,
    title: Title = None,
    topic: Topic = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    confidence: Confidence = None,
    trust: Trust = None,
    event: Events = None,
    implication: Implications = None,
    question: Questions = None,
    decision: Decisions = None,
    entity: Entities = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Replace a belief, under its own address or a new one. What is not given is carried over."""
    with opened(db, as_json) as memory:
        given = given_of(
            title=title, topics=topic, facts=facts_of(fact), trust=trust, confidence=confidence
        )
        given |= given_of(valid_from=valid_from, valid_until=valid_until)
        given |= given_of(
            events=event,
            implications=implication,
            questions=question,
            decisions=decision,
            entities=entity,
        )
        change = memory.supersede(
            kref, text, **given, **given_of(name=name or None, kind=kind, space=space)
        )
        embed_some(memory)
        show(change, as_json, said_text)


@app.command()
def contract(
    kref: KrefArg,
    fact: Annotated[
        str | None, typer.Option("--fact", help="Only this fact: 'subject|predicate|value'.")
    ] = None,
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Stop believing an item, a pinned revision, or one fact."""
    with opened(db, as_json) as memory:
        show(
            memory.contract(kref, fact=facts_of([fact])[0] if fact else None, dry_run=dry_run),
            as_json,
            said_text,
        )


@app.command("restore-item")
def restore_item(
    kref: KrefArg, dry_run: DryRun = False, db: Db = None, as_json: Json = False
) -> None:
    """Bring a deprecated item or turn back into recall."""
    with opened(db, as_json) as memory:
        show(memory.restore(kref, dry_run=dry_run), as_json, said_text)


@app.command()
def history(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """Every revision of an item and every move of its tags."""
    with opened(db, as_json) as memory:
        show(memory.history(kref), as_json, history_text)


@app.command("as-of")
def as_of(
    kref: KrefArg,
    time: Annotated[str, typer.Argument(help="ISO 8601.")],
    tag: str = "current",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """What a tag of an item pointed to at a time."""
    with opened(db, as_json) as memory:
        show(memory.as_of(kref, time, tag=tag), as_json, fields_text)


@app.command()
def tag(
    kref: KrefArg,
    name: Annotated[str, typer.Argument(help="The tag.")],
    expect: int | None = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Point a tag at the revision that the address means."""
    with opened(db, as_json) as memory:
        show(memory.tag(kref, name, expect=expect), as_json, said_text)


@app.command()
def untag(
    kref: KrefArg,
    name: Annotated[str, typer.Argument(help="The tag.")],
    expect: int | None = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Take a tag off an item."""
    with opened(db, as_json) as memory:
        show(memory.untag(kref, name, expect=expect), as_json, said_text)


@app.command()
def rollback(kref: KrefArg, dry_run: DryRun = False, db: Db = None, as_json: Json = False) -> None:
    """Make the pinned revision (?r=N) current again."""
    with opened(db, as_json) as memory:
        show(memory.rollback(kref, dry_run=dry_run), as_json, said_text)


@app.command()
def undo(
    change: Annotated[int, typer.Argument(help="The number of a change; see `doxa log`.")],
    dry_run: DryRun = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Reverse one change. Undoing an undo redoes."""
    with opened(db, as_json) as memory:
        show(memory.undo(change, dry_run=dry_run), as_json, said_text)


@app.command()
def impact(
    kref: KrefArg,
    depth: Annotated[int | None, typer.Option(help="Only so many edges away.")] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """What rests on a belief, directly or not, and what would lose its support without it."""
    with opened(db, as_json) as memory:
        show(memory.impact(kref, depth=depth), as_json, walk_text)


@app.command()
def provenance(kref: KrefArg, depth: int = 10, db: Db = None, as_json: Json = False) -> None:
    """What a belief rests on, down to the conversation it came from."""
    with opened(db, as_json) as memory:
        show(memory.provenance(kref, depth=depth), as_json, walk_text)


@app.command()
def path(
    start: KrefArg,
    end: Annotated[str, typer.Argument(help="kref")],
    depth: int = 10,
    edge: EdgeOption = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """The fewest typed edges between two addresses, in either direction."""
    with opened(db, as_json) as memory:
        show(memory.shortest_path(start, end, depth=depth, types=edge or ()), as_json, walk_text)


@app.command()
def traverse(
    kref: KrefArg,
    direction: Annotated[str, typer.Option(help="out, in or both")] = "out",
    depth: int = 10,
    edge: EdgeOption = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """What is reached over typed edges."""
    with opened(db, as_json) as memory:
        show(
            memory.traverse(kref, direction=direction, depth=depth, types=edge or ()),  # type: ignore[arg-type]
            as_json,
            walk_text,
        )


@app.command()
def link(
    source: KrefArg,
    edge: EdgeArg,
    target: Annotated[str, typer.Argument(help="kref")],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A typed edge between two beliefs."""
    with opened(db, as_json) as memory:
        show(memory.link(source, target, kind=edge), as_json, said_text)


@app.command()
def unlink(
    source: KrefArg,
    edge: EdgeArg,
    target: Annotated[str, typer.Argument(help="kref")],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Take a typed edge away."""
    with opened(db, as_json) as memory:
        show(memory.unlink(source, target, kind=edge), as_json, said_text)


@app.command()
def attach(
    kref: KrefArg,
    name: Annotated[str, typer.Argument(help="The artifact's name, such as report.pdf.")],
    location: Annotated[str, typer.Argument(help="Where the file is; it is not read.")],
    sha256: Annotated[str, typer.Option("--hash", help="Its SHA-256.")] = "",
    size: Annotated[int, typer.Option(help="Its size in bytes.")] = 0,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Name a file that belongs to a revision."""
    with opened(db, as_json) as memory:
        show(
            memory.attach(kref, name, location=location, sha256=sha256, size_bytes=size),
            as_json,
            said_text,
        )


@app.command()
def bundle(
    kref: Annotated[str, typer.Argument(help="kref://project/name.bundle", metavar="KREF")],
    add: Annotated[
        list[str] | None, typer.Option(help="kref of an item to put in (repeatable).")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="kref of an item to take out (repeatable).")
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Group items; `get` shows them, `as-of` shows them as they were."""
    with opened(db, as_json) as memory:
        show(memory.bundle(kref, add=add or (), remove=remove or ()), as_json, said_text)


@app.command()
def forget(
    kref: KrefArg,
    erase: Annotated[
        bool, typer.Option("--erase", help="Destroy the content for good instead of retiring it.")
    ] = False,
    confirm: Annotated[str, typer.Option(help="The token of the preview.")] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would go.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Retire (undoable) or erase an item, revision, turn, thread, space or project."""
    with opened(db, as_json) as memory:
        shown = memory.forget(kref, erase=erase, preview=True)
        only_preview = preview or (not confirm and (erase or shown.count > 1))
        result = shown if only_preview else memory.forget(kref, erase=erase, confirm=confirm)
        show(result, as_json, forgotten_text)
