"""Copies of a memory: backups on a schedule, and a folder or machine that follows its log."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.base.limits import BACKUP_EVERY_S, FOLLOW_EVERY_S
from doxa.cli.context import (
    Db,
    Json,
    errors_reported,
    exit_code,
    fail,
    opened,
    progress,
    stages,
)
from doxa.cli.output import json_text, show
from doxa.cli.pictures.times import with_sizes

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.app.care.copies import Sent

Folder = Annotated[Path, typer.Argument(help="A folder; it is made.", show_default=False)]
FollowFolder = Annotated[
    Path | None, typer.Argument(help="A folder; it is made.", show_default=False)
]
To = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help='Ship to `doxa follow --receive`, which this command starts: "ssh HOST doxa follow'
        ' --receive FOLDER".',
        show_default=False,
    ),
]
Receive = Annotated[
    bool,
    typer.Option("--receive", help="Take what is shipped on standard input into the folder, once."),
]
Once = Annotated[bool, typer.Option("--once", help="Do it once, and end.")]
Every = Annotated[int, typer.Option(min=1, help="Seconds between two looks.")]
Again = Annotated[
    int, typer.Option("--every", min=0, help="Seconds until the next backup; 0: make one, and end.")
]
Last = Annotated[int, typer.Option(min=1, help="Keep this many of the newest.")]
Days = Annotated[int, typer.Option(min=0, help="Keep the newest of each of so many days.")]
Weeks = Annotated[int, typer.Option(min=0, help="Keep the newest of each of so many weeks.")]

backups = typer.Typer(
    name="backups",
    no_args_is_help=True,
    add_completion=False,
    help="Make, test and list backups of a folder.",
    rich_markup_mode=None,
)


@backups.command("run")
def run(
    folder: Folder,
    every: Again = BACKUP_EVERY_S,
    last: Last = 7,
    days: Days = 14,
    weeks: Weeks = 8,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make backups again and again, test each by a restore, and remove old ones by a rule."""
    from doxa.app.care.copies import KeepRule, make_backup
    from doxa.base.errors import CorruptError

    stop = _until_signal() if every else Event()
    while True:
        with opened(db, as_json, read_only=True) as memory, stages(as_json) as begin:
            made, removed = make_backup(
                memory.store,
                folder,
                rule=KeepRule(last, days, weeks),
                note=partial(note_copy, memory, kind="backup"),
                progress=begin,
            )
        _show(
            {
                "path": str(folder / made.path),
                "change": made.change,
                "receipt": made.receipt,
                "bytes": made.size_bytes,
                "removed": removed,
                "problem": made.problem,
            },
            as_json,
            f"{folder / made.path} holds change {made.change} and was restored as a test;"
            f" {len(removed)} removed",
        )
        with errors_reported(as_json):
            if made.problem:
                raise CorruptError(
                    f"The backup {folder / made.path} failed its restore test: {made.problem}",
                    next_step="Run `doxa doctor` on the memory; earlier backups were kept.",
                    path=str(folder / made.path),
                )
        if not every or stop.wait(every):
            return


@backups.command("list")
def list_backups(folder: Folder, as_json: Json = False) -> None:
    """List the backups of a folder, the oldest first, and what their restore tests found."""
    from dataclasses import asdict

    from doxa.app.care.copies import backups_in
    from doxa.base.clock import format_time

    with errors_reported(as_json):
        found = [asdict(one) | {"time": format_time(one.time)} for one in backups_in(folder)]
    show(found, as_json, _listed)


def _listed(found: list[dict[str, Any]]) -> str:
    rows = [
        f"{one['time'][:19]}  change {one['change']:>8}  {one['size_bytes']:>12,} bytes"
        f"  {one['path']}  {one['problem'] or 'restored'}"
        for one in found
    ]
    return with_sizes("\n".join(rows) or "no backups", found)


def follow(
    folder: FollowFolder = None,
    to: To = "",
    receive: Receive = False,
    every: Every = FOLLOW_EVERY_S,
    once: Once = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    with errors_reported(as_json):
        _check_follow(folder, to, receive)
    if receive:
        assert folder is not None, "checked above"
        _receive(folder, as_json)
        return
    stop = Event() if once else _until_signal()
    sent: Sent | None = None
    while True:
        with opened(db, as_json, read_only=True) as memory:
            if sent is None or memory.store.last_transaction() != sent.shipped.change:
                new = _shipped(memory, folder, to, as_json, stop=None if once else stop)
                if new is not None:
                    _tell(memory, sent, new, as_json, kind="remote" if to else "follow")
                    sent = new
        if once or stop.wait(every):
            return


def _check_follow(folder: Path | None, to: str, receive: bool) -> None:
    from doxa.base.errors import InputError

    if receive and folder is not None and not to:
        if sys.stdin.isatty():
            raise InputError(
                "`--receive` takes what another machine ships, not what is typed.",
                next_step='Ship to it: doxa follow --to "ssh HOST doxa follow --receive FOLDER".',
                field="receive",
            )
        return
    if receive or (folder is None) == (not to):
        raise InputError(
            "`doxa follow` ships to one place.",
            next_step="Give a FOLDER, or --to COMMAND; at the other end, --receive and a FOLDER.",
            field="folder",
        )


def _shipped(
    memory: Memory, folder: Path | None, to: str, as_json: bool, *, stop: Event | None
) -> Sent | None:
    """Ship once. What does not answer is tried again at the next look if there is one, until
    `stop`: then None."""
    from doxa.app.care.copies import Sent, chain_path, send_log, ship_log
    from doxa.base.errors import UnreachableError

    try:
        with progress("changes", as_json, total=memory.store.last_transaction()) as advance:
            if folder is not None:
                done = ship_log(memory, folder, progress=advance)
                return Sent(done, str(chain_path(folder, memory.store)))
            return send_log(memory.store, to, progress=advance)
    except UnreachableError as error:
        if stop is None:
            raise
        if not stop.is_set():
            fail(error, as_json)
        return None


def _tell(memory: Memory, before: Sent | None, sent: Sent, as_json: bool, *, kind: str) -> None:
    done, place = sent
    if before is None:
        note_copy(memory, place, kind=kind)
    if before is None or done.changes:
        shown = {"path": place, **done._asdict()}
        text = f"{place} holds {done.change} changes (+{done.changes}); head {done.head}"
        _show(shown, as_json, text)


def _receive(folder: Path, as_json: bool) -> None:
    """Take one shipment. An error is sent to the sender, which shows it; here if that fails."""
    from doxa.app.care.copies import Pipe, receive_into
    from doxa.base.errors import DoxaError

    pipe = Pipe(sys.stdin.fileno(), sys.stdout.fileno(), who="The sender")
    with errors_reported(as_json):
        try:
            receive_into(folder, pipe)
        except DoxaError as error:
            if pipe.refuse(error):
                raise SystemExit(exit_code(error)) from None
            raise


def note_copy(memory: Memory, path: Path | str, *, kind: str) -> None:
    """Remember a copy where the file can be written, for `verify-erased`: the memory is open for
    reading only."""
    from doxa.app import open_memory
    from doxa.base.errors import DoxaError

    with (
        suppress(DoxaError),
        open_memory(memory.store.path, background=False, embedder=None) as written,
    ):
        written.store.note_copy(path, kind=kind)


def _until_signal() -> Event:
    from doxa.cli.imports import stop_on_signals

    stop = Event()
    stop_on_signals(stop)
    return stop


def _show(value: Mapping[str, object], as_json: bool, text: str) -> None:
    """Print a line for each round, at once."""
    sys.stdout.write((json_text(dict(value)) if as_json else text) + "\n")
    sys.stdout.flush()
