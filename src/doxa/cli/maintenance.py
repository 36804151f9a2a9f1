"""Commands of files that are not the memory in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import Json, errors_reported, log_entries, stages
from doxa.cli.output import fields_text, show

At = Annotated[
    str | None,
    typer.Option(help="As of this time, by the log of the source.", show_default=False),
]
Change = Annotated[
    int | None,
    typer.Option(help="As of this change, by the log of the source.", show_default=False),
]


def restore_backup(
    source: Annotated[
        Path,
        typer.Argument(help="A backup, or a folder that follows a memory.", show_default=False),
    ],
    target: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    at: At = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    from doxa.app import open_memory
    from doxa.app.care.copies import file_bytes, holds_log_alone, restore_from_log

    with errors_reported(as_json):
        if at is not None or change is not None or holds_log_alone(source):
            with stages(as_json) as begin:
                shown: list[Callable[[int], None]] = []
                made = restore_from_log(
                    source,
                    target,
                    at=at,
                    change=change,
                    expect=lambda total: shown.append(begin("log entries", total)),
                    progress=lambda count: shown[0](count),
                )
        else:
            with (
                open_memory(source, read_only=True, embedder=None) as memory,
                stages(as_json) as begin,
            ):
                memory.verify(progress=begin("log entries", 2 * log_entries(memory)))
                made = memory.backup(
                    target, progress=begin("bytes copied", file_bytes(memory.store))
                )
        show({"path": str(made), "next": f"doxa doctor --db {made}"}, as_json, fields_text)
