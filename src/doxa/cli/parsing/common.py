"""The options that many commands share. Apart from what carries a command out, since they need
typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Db = Annotated[
    Path | None,
    typer.Option(
        "--db",
        help="The memory file (default: as configured, or in the user's data folder).",
        show_default=False,
    ),
]
ProjectOfAll = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        help="The project (default: as configured, or default); auto: that of this folder.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Project = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        help="The project of calls that name none (default: as configured, or default); auto: that"
        " of this folder.",
        show_default=False,
    ),
]
