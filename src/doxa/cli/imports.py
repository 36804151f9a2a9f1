"""`doxa import` of what other programs keep, and `doxa watch`, which goes on importing it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.base.limits import IMPORT_WATCH_S
from doxa.cli.context import Db, Json, opened, progress
from doxa.cli.output import fields_text, json_text

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.imports.cursors import Cursors
    from doxa.imports.importing import ImportedFiles, ImportOptions

AUTO = "auto"
Places = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files and folders (default: where the known programs keep theirs).",
        show_default=False,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        help="Also read tools, thinking, sidechains or summaries; may be repeated.",
        show_default=False,
    ),
]


def is_import(path: Path, format: str | None) -> bool:
    """Return whether the readers of `imports` take a path."""
    from doxa.app.imports import has_conversations
    from doxa.imports.registry import READERS, detect

    if format is not None:
        return any(one.name == format for one in READERS)
    if path.is_dir() and has_conversations(path):
        return False  # Session.ingest takes a folder with both kinds
    return detect(path) is not None


def import_path(
    memory: Memory, path: Path, values: Mapping[str, Any], as_json: bool
) -> dict[str, object]:
    """Import a file or folder, and return what to show of it."""
    from doxa.imports.importing import Importer

    options, cursors = _options(memory, values["project"], values)
    with progress("messages", as_json) as advance:
        importer = Importer(
            memory.store, memory.identity, options, cursors=cursors, progress=advance
        )
        done = importer.run(path, values["format"])
    memory.wake()
    shown = _shown(done)
    if done.dry_run:
        shown["note"] = "Nothing was written."
    elif done.untrusted:
        shown["note"] = (
            "The origin of what is untrusted is not known: recall lists it last. If you vouch for"
            " it, import again with --trust stated."
        )
    elif values["project"] is None and done.sessions and len(done.projects) == 1:
        shown["note"] = "All went into one project; with -p auto, each into that of its folder."
    return shown


def _options(
    memory: Memory, project: str | None, values: Mapping[str, Any]
) -> tuple[ImportOptions, Cursors]:
    from doxa.base.files.places import imports_folder
    from doxa.imports.cursors import Cursors
    from doxa.imports.importing import ImportOptions

    dry_run = bool(values.get("dry_run"))
    if project in (None, "", AUTO):
        named = memory.project
    else:
        named = str(project)
    of = partial(_project_of, named, record=not dry_run) if project == AUTO else (lambda _: named)
    options = ImportOptions(
        project_of=of,
        trust=values.get("trust") or "",
        include=tuple(values.get("include") or ()),
        extract=values.get("extract", True),
        dry_run=dry_run,
        again=bool(values.get("again")),
        space=values.get("space") or "conversations",
    )
    scope = {
        "project": project or named,
        "trust": options.trust,
        "include": sorted(options.include),
        "extract": options.extract,
        "space": options.space,
    }
    return options, Cursors(imports_folder(Path(memory.store.path)), scope)


def _project_of(otherwise: str, folder: str, *, record: bool) -> str:
    """The project of the folder of a conversation, by the table; another where none is named."""
    if not folder or not Path(folder).is_absolute():
        return otherwise
    from doxa.cli.context import table
    from doxa.hosts.projects import project_of

    return project_of(folder, table(), record=record, exists=False).project


def _shown(done: ImportedFiles) -> dict[str, object]:
    found = asdict(done)
    found["threads"] = len(done.threads)
    found["changes"] = len(done.changes)
    return found


def summary_text(found: Mapping[str, Any]) -> str:
    """Format the counts of an import, without what there was none of."""
    always = ("added", "known", "skipped", "unembedded")
    kept = {name: one for name, one in found.items() if one or name in always}
    for name in ("formats", "projects", "left_out"):
        counts = dict(kept.get(name) or {})
        if counts:
            kept[name] = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    return fields_text(kept)


def watch(
    places: Places = None,
    project: Annotated[
        str, typer.Option("--project", "-p", help="The project; auto: that of each folder.")
    ] = AUTO,
    every: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two rounds.")
    ] = IMPORT_WATCH_S,
    once: Annotated[bool, typer.Option("--once", help="End after one round.")] = False,
    include: Include = None,
    trust: Annotated[
        str, typer.Option(help="stated or untrusted; without it, by the format.")
    ] = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    from doxa.imports.known import known_places
    from doxa.imports.watching import ImportWatch

    stop = Event()
    with opened(db, as_json) as memory:
        named = places or known_places(Path.home(), os.environ)
        options, cursors = _options(memory, project, {"include": include, "trust": trust})
        rounds = ImportWatch(
            memory.store,
            memory.identity,
            options,
            cursors=cursors,
            places=[place.expanduser().absolute() for place in named],
            stop=stop,
            every_s=every,
            report=_reporter(as_json),
            failed=lambda text: print(f"doxa: {text}", file=sys.stderr, flush=True),
        )
        if once:
            rounds.once()
            return
        stop_on_signals(stop)
        names = ", ".join(str(place) for place in named) or "nothing"
        print(f"doxa: watching {names}; Ctrl-C ends it", file=sys.stderr, flush=True)
        rounds.run()


def _reporter(as_json: bool) -> Callable[[ImportedFiles], None]:
    def report(done: ImportedFiles) -> None:
        text = json_text(_shown(done)) if as_json else f"doxa: {done.said()}"
        sys.stdout.write(text + "\n")
        for place in () if as_json else done.places:
            sys.stdout.write(f"    {place}\n")
        sys.stdout.flush()

    return report


def stop_on_signals(stop: Event) -> None:
    """End after the batch that is being stored; a second signal ends at once."""

    def ended(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else _interrupted)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        with suppress(ValueError, OSError):
            if number is not None:
                signal.signal(number, ended)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt
