"""`doxa demo`: a tour in the terminal, or with `--ui` a month of a team on the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import errors_reported, must_be_new


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the demonstration's memory at this new path.", show_default=False),
    ] = None,
    ui: Annotated[
        bool,
        typer.Option("--ui", help="Show a month of a small team's life on the page, in a browser."),
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="With --ui: print the link, and open no browser.")
    ] = False,
) -> None:
    from doxa.demo import run

    with errors_reported(False):
        if keep is not None:
            must_be_new(keep)
        if ui:
            _show_team(keep, opens=not no_open)
        else:
            run(keep)


def _show_team(keep: Path | None, *, opens: bool) -> None:
    """Fill a memory with a month of a team, in a folder that goes when it ends unless it is kept,
    and show the page."""
    import tempfile

    from doxa.cli.browser.page import show_page
    from doxa.demo import PROJECT, fill

    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder) / "team.db"
        typer.echo("Filling a memory with a month of a small team's life ...")
        fill(path)
        show_page(path, project=PROJECT, port=0, opens=opens)
