"""Commands of shared logs: from a file to an engine and back, and what an engine holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import Json, errors_reported
from doxa.cli.output import fields_text, show

Url = Annotated[
    str,
    typer.Argument(help="The URL of the shared log, such as postgresql://host/db?tenant=acme."),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant, if the URL names none.")]


def replicate(
    file: Annotated[Path, typer.Argument(help="The memory file.", show_default=False)],
    url: Url,
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.shared import replicate_file

    with errors_reported(as_json):
        show(replicate_file(file, url, tenant), as_json, fields_text)


def pull(
    url: Url,
    file: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.shared import pull_file

    with errors_reported(as_json):
        show(pull_file(url, file, tenant), as_json, fields_text)


def tenants(url: Url, as_json: Json = False) -> None:
    from doxa.app.shared import list_tenants

    with errors_reported(as_json):
        show(list_tenants(url), as_json, lambda rows: "\n".join(map(_line, rows)))


def _line(row: dict[str, object]) -> str:
    return f"{row['tenant']}  {row['transactions']} transactions  {row['size_bytes']} bytes"
