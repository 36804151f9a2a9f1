"""Commands of files that are not the memory in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import Json, errors_reported
from doxa.cli.output import fields_text, show


def restore_backup(
    source: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    as_json: Json = False,
) -> None:
    from doxa.app import open_memory

    with errors_reported(as_json):
        with open_memory(source, read_only=True, embedder=None) as memory:
            memory.verify()
            made = memory.backup(target)
        show({"path": str(made), "next": f"doxa doctor --db {made}"}, as_json, fields_text)
