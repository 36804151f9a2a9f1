"""Commands to begin with: the file, and the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import Db, Json, errors_reported, must_be_new, opened
from doxa.cli.output import show


def init(db: Db = None, as_json: Json = False) -> None:
    with opened(db, as_json) as memory:
        show(memory.stats(), as_json, lambda s: f"memory is at {s['path']}")


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the demonstration's memory at this new path.", show_default=False),
    ] = None,
) -> None:
    from doxa.demo import run

    with errors_reported(False):
        if keep is not None:
            must_be_new(keep)
        run(keep)
