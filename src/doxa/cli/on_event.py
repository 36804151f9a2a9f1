"""`doxa on EVENT -- COMMAND`: runs a command for each event, in order, at least once.

The event is JSON on the command's standard input; DOXA_DB, DOXA_EVENT, DOXA_EVENT_ID and DOXA_KREF
are in its environment. There is no shell between: the command is an argument list, and nothing of
an event is part of it. The cursor moves when the command has exited with 0. A command that fails is
tried again; when it has failed for the last time the cursor stays before the event, and doxa ends
with an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Json, opened
from doxa.cli.output import encoded

if TYPE_CHECKING:
    from doxa.base.errors import DoxaError

_PAUSE_FIRST_S, _PAUSE_MOST_S = 1.0, 60.0


def on_event(
    event: Annotated[
        str, typer.Argument(help="The event's name; * is a wildcard.", metavar="EVENT")
    ],
    command: Annotated[
        list[str], typer.Argument(help="The command and its arguments.", metavar="-- COMMAND")
    ],
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Only this project.", show_default=False)
    ] = None,
    kind: Annotated[str, typer.Option(help="Only elements of this kind.", show_default=False)] = "",
    kref: Annotated[
        str, typer.Option(help="Only addresses that begin so.", show_default=False)
    ] = "",
    label: Annotated[
        str, typer.Option(help="Only nodes with this label.", show_default=False)
    ] = "",
    cursor: Annotated[
        str,
        typer.Option(
            help="Where the position is kept; without one, a name made of the command line.",
            show_default=False,
        ),
    ] = "",
    since: Annotated[
        str,
        typer.Option(help="Where a new cursor begins: a time, such as 'last week', or beginning."),
    ] = "now",
    retries: Annotated[
        int, typer.Option(min=0, max=100, help="How often a failed command is tried again.")
    ] = 3,
    once: Annotated[bool, typer.Option("--once", help="End at the end of the log.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Run a command for each event, at least once, in order."""
    name = cursor or _name_of(event, command, project, kind, kref, label)
    with opened(db, as_json) as memory:
        stream = memory.events(
            names=[event],
            project=project,
            kind=kind,
            kref=kref,
            label=label,
            cursor=name,
            since=None if since == "beginning" else since,
            follow=not once,
            ack="manual",
        )
        sys.stderr.write(f"doxa: the cursor is {name}\n")
        with stream:
            for found in stream:
                failure = _delivered(found, command, Path(memory.store.path), retries)
                if failure:
                    raise _failed(command, found, failure, retries, name)
                stream.ack(found)


def _delivered(event: Any, command: list[str], db: Path, retries: int) -> str:
    """Run the command until it has taken an event; return why it has not, or nothing."""
    data = (encoded(event.as_dict()) + "\n").encode()
    environment = os.environ | {
        "DOXA_DB": str(db),
        "DOXA_EVENT": event.name,
        "DOXA_EVENT_ID": event.id,
        "DOXA_KREF": event.kref or "",
    }
    pause, failure = _PAUSE_FIRST_S, ""
    for attempt in range(retries + 1):
        if attempt:
            sys.stderr.write(f"doxa: {failure}; trying again in {pause:.0f} s\n")
            time.sleep(pause)
            pause = min(pause * 2, _PAUSE_MOST_S)
        failure = _run(command, data, environment)
        if not failure:
            return ""
    return failure


def _run(command: list[str], data: bytes, environment: dict[str, str]) -> str:
    from doxa.base.limits import EVENT_COMMAND_MS

    try:
        done = subprocess.run(  # noqa: S603 - the person's own command; nothing of an event is in it
            command, input=data, env=environment, check=False, timeout=EVENT_COMMAND_MS / 1000
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {EVENT_COMMAND_MS // 1000} s"
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"{command[0]} was ended by signal {-done.returncode}"
    return f"{command[0]} exited with {done.returncode}"


def _failed(command: list[str], event: Any, failure: str, retries: int, name: str) -> DoxaError:
    from doxa.base.errors import StoreError

    return StoreError(
        f"{failure}, for the event {event.id} ({event.name}), {retries + 1} times; the cursor"
        f" {name} stays before it.",
        next_step=(
            f"Correct the command and start again; to skip the event: doxa set-cursor {name}"
            f" --after {event.id}."
        ),
        event=event.id,
        cursor=name,
    )


def _name_of(event: str, command: list[str], *rest: str | None) -> str:
    """The same command line goes on where it was."""
    import hashlib

    said = "\0".join([event, *command, *(one or "" for one in rest)])
    return f"on-{hashlib.blake2b(said.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"
