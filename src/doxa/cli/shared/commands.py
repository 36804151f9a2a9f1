"""Commands of shared logs: from a file to an engine and back, and what an engine holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.context import Json, errors_reported, stages, steps
from doxa.cli.output import fields_text, show

Url = Annotated[
    str,
    typer.Argument(help="The URL of the shared log, such as postgresql://host/db?tenant=acme."),
]
Engines = Annotated[
    list[str] | None,
    typer.Option("--engine", help="Another engine of the fleet; repeated, several."),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant, if the URL names none.")]


def replicate(
    file: Annotated[Path, typer.Argument(help="The memory file.", show_default=False)],
    url: Url,
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.care.shared import replicate_file

    with errors_reported(as_json):
        with stages(as_json) as begin:
            done = replicate_file(file, url, tenant, stages=begin)
        show(done, as_json, fields_text)


def pull(
    url: Url,
    file: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.care.shared import pull_file

    with errors_reported(as_json):
        with steps(as_json, "applying the log"):
            done = pull_file(url, file, tenant)
        show(done, as_json, fields_text)


tenants = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@tenants.command("list")
def list_(url: Url, as_json: Json = False) -> None:
    from doxa.app.care.shared import list_tenants

    with errors_reported(as_json):
        show(list_tenants(url), as_json, lambda rows: "\n".join(map(_line, rows)))


@tenants.command("create")
def create(url: Url, engine: Engines = None, tenant: Tenant = "", as_json: Json = False) -> None:
    from doxa.app.care.shared import create_tenant

    with errors_reported(as_json):
        show(create_tenant(url, tenant, engines=engine or ()), as_json, fields_text)


@tenants.command("place")
def place(url: Url, engine: Engines = None, tenant: Tenant = "", as_json: Json = False) -> None:
    from doxa.app.care.shared import place_tenant

    with errors_reported(as_json):
        found = place_tenant(url, tenant, engines=engine or ())
        show({name: value for name, value in found.items() if name != "url"}, as_json, fields_text)


@tenants.command("quota")
def quota(
    url: Url,
    size_bytes: Annotated[int, typer.Argument(min=0, help="Bytes of the log; 0 for no limit.")],
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.care.shared import set_tenant_quota

    with errors_reported(as_json):
        show(set_tenant_quota(url, size_bytes, tenant), as_json, fields_text)


@tenants.command("move")
def move(
    url: Url,
    target: Annotated[str, typer.Argument(help="The URL of the new engine.", show_default=False)],
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.care.shared import move_tenant_to

    with errors_reported(as_json):
        with stages(as_json) as begin:
            moved = move_tenant_to(url, target, tenant, stages=begin)
        show(moved, as_json, fields_text)


@tenants.command("replicas")
def replicas(
    url: Url,
    withdraw: Annotated[str, typer.Option(help="Forget this one, whose file is gone.")] = "",
    tenant: Tenant = "",
    as_json: Json = False,
) -> None:
    from doxa.app.care.shared import list_replicas, withdraw_replica

    with errors_reported(as_json):
        if withdraw:
            withdraw_replica(url, withdraw, tenant)
        rows = list_replicas(url, tenant)
        show(rows, as_json, lambda found: "\n".join(map(_replica_line, found)))


def _line(row: dict[str, object]) -> str:
    quota = f" of {row['quota_bytes']}" if row["quota_bytes"] else ""
    moved = f"  moved to {row['moved_to']}" if row["moved_to"] else ""
    return (
        f"{row['tenant']}  {row['transactions']} transactions  {row['size_bytes']}{quota} bytes "
        f" {row['replicas']} replicas, {row['behind']} behind{moved}"
    )


def _replica_line(row: dict[str, object]) -> str:
    return f"{row['replica']}  {row['behind']} behind, said {row['age_s']} s ago"
