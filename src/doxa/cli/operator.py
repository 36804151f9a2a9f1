"""`doxa operator`: changes of what agents may not change, with a plan, a backup and a receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Json, Project, opened
from doxa.cli.output import show

if TYPE_CHECKING:
    from doxa.app.operator import OperatorGate, Wanted

Surface = Annotated[
    str,
    typer.Argument(help="configuration, identity, modes or policies.", show_default=False),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--set", help="KEY=VALUE; an empty value takes it away (repeatable)."),
]
File = Annotated[
    Path | None,
    typer.Option("--file", help="The protected file, of identity or configuration."),
]
Source = Annotated[
    Path | None,
    typer.Option("--from", help="A file with what it is to say, or with policy commands."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without, nothing is changed.")]

operator = typer.Typer(
    name="operator",
    no_args_is_help=True,
    add_completion=False,
    help="Manage what agents may not change: plan, apply, take back.",
    rich_markup_mode=None,
)


@operator.command("key")
def make_key(db: Db = None, as_json: Json = False) -> None:
    """Make the operator's key of a memory: from then on, commands without it are an agent's."""
    with _gate(db, as_json, None) as gate:
        digest = gate.register()
        show(
            {"key": str(gate.key_file), "sha256": digest},
            as_json,
            lambda found: (
                f"The operator's key is {found['key']}. Keep it where no agent can read it:"
                " another user's folder, or a medium of your own."
            ),
        )


@operator.command("plan")
def plan_change(
    surface: Surface,
    given: Given = None,
    file: File = None,
    source: Source = None,
    project: Project = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show what a change would do, and the id of the plan."""
    with _gate(db, as_json, project) as gate:
        plan = gate.plan(_wanted(surface, given, file, source))
        show(asdict(plan), as_json, _plan_text)


@operator.command("apply")
def apply_change(
    surface: Surface,
    plan: Annotated[str, typer.Option("--plan", help="The id of the plan.")],
    given: Given = None,
    file: File = None,
    source: Source = None,
    yes: Yes = False,
    project: Project = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Apply a plan: the same options as those of `plan`, its id, and --yes."""
    with _gate(db, as_json, project) as gate:
        _confirmed(yes, f"applies the plan {plan[:40]}")
        made = gate.apply(_wanted(surface, given, file, source), plan)
        show(_change(made), as_json, _change_text)


@operator.command("rollback")
def roll_back(
    change: Annotated[str, typer.Argument(help="The address of the change.", show_default=False)],
    yes: Yes = False,
    project: Project = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Give back what was there before a change, if it is as the change left it."""
    with _gate(db, as_json, project) as gate:
        _confirmed(yes, f"takes {change[:200]} back")
        show(_change(gate.rollback(change)), as_json, _change_text)


@operator.command("status")
def status(project: Project = None, db: Db = None, as_json: Json = False) -> None:
    """List changes, the newest first, end what a crash left, and test every backup."""
    with _gate(db, as_json, project) as gate:
        found = [_change(made) | {"problem": problem} for made, problem in gate.status()]
        show(
            found,
            as_json,
            lambda rows: "\n".join(map(_change_text, rows)) or "nothing was changed",
        )


@contextmanager
def _gate(db: Path | None, as_json: bool, project: str | None) -> Iterator[OperatorGate]:
    from doxa.app.operator import OperatorGate
    from doxa.cli.context import project_named

    with opened(db, as_json) as memory:
        memory.project = project_named(project)
        yield OperatorGate(memory)


def _wanted(
    surface: str, given: list[str] | None, file: Path | None, source: Path | None
) -> Wanted:
    from doxa.app.operator import SURFACES, Wanted, parse_given
    from doxa.base.errors import InputError

    if surface not in SURFACES:
        raise InputError(
            f"{surface[:40]!r} is not a surface.",
            next_step=f"Use {', '.join(SURFACES)}.",
            field="surface",
        )
    return Wanted(surface, parse_given(given or ()), file, source)


def _confirmed(yes: bool, what: str) -> None:
    from doxa.base.errors import ConfirmationError

    if not yes:
        raise ConfirmationError(
            f"This {what}.", next_step="Read the plan, and give --yes.", field="yes"
        )


def _change(made: Any) -> dict[str, Any]:
    kept = ("surface", "path", "before", "after", "backup", "plan")
    return {"kref": made.kref, "state": made.state, "by": made.made_by} | {
        name: made.data[name] for name in kept if name in made.data
    }


def _plan_text(plan: Mapping[str, Any]) -> str:
    head = f"plan {plan['id']}: {plan['surface']}, {plan['path']}"
    if plan["is_noop"]:
        return f"{head}\nnothing would change"
    return (
        f"{head}\nbefore {plan['before']}\nafter  {plan['after']}\n\n{plan['diff']}\n"
        "Nothing was changed. To do it: the same options with apply --plan"
        f" {plan['id']} --yes"
    )


def _change_text(made: Mapping[str, Any]) -> str:
    problem = f"  PROBLEM: {made['problem']}" if made.get("problem") else ""
    return f"{made['state']}  {made['surface']}  {made['path']}\n  {made['kref']}{problem}"
