"""`doxa setup`, `doxa brief` and `doxa hook`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import (
    Db,
    Json,
    ProjectOfAll,
    errors_reported,
    opened,
    project_named,
)
from doxa.cli.output import show

if TYPE_CHECKING:
    from doxa.hosts.setup.engine import Setup

Event = Annotated[
    str,
    typer.Argument(
        help="open, prompt, tool, compaction, answer or close, or the host's name of it.",
        show_default=False,
    ),
]


def brief(
    project: ProjectOfAll = None,
    characters: Annotated[
        int, typer.Option("--characters", min=200, help="The budget of the block.")
    ] = 1_500,
    why: Annotated[bool, typer.Option("--why", help="Add the reason for each line.")] = False,
    host: Annotated[
        str, typer.Option("--host", help="The host, whose mode decides what may be read.")
    ] = "claude-code",
    db: Db = None,
    as_json: Json = False,
) -> None:
    from doxa.base.files.places import hooks_folder
    from doxa.hosts.brief import brief as made_of
    from doxa.hosts.capture import capture
    from doxa.hosts.spool import Spool

    with opened(db, as_json, only_reads=True) as memory:
        session = memory.session(role="agent", project=project_named(project))
        spool = Spool(hooks_folder(Path(memory.store.path)))
        if not memory.store.read_only:
            capture(session, spool)  # as a hook does before it makes the brief
        since_ns = spool.last_conversation(session.project)
        made = made_of(session, host=host, since_ns=since_ns, chars_max=characters)
        found = asdict(made) | {"block": made.block()}
        del found["known"]
        show(found, as_json, lambda one: _text(one, why=why))


def _text(found: Mapping[str, Any], *, why: bool) -> str:
    if not found["block"]:
        return f"memory holds nothing for the project {found['project']} yet"
    text = str(found["block"])
    if why:
        reasons = [f"{line['text']}\n    {line['reason']}" for line in found["lines"]]
        text = "\n".join([text, "", *reasons])
    return f"{text}\n({len(text)} characters, {found['left_out']} lines left out)"


def hook(
    event: Event,
    host: Annotated[str, typer.Option("--host", help="The host.")] = "claude-code",
    project: Annotated[
        str, typer.Option("--project", "-p", help="The project; auto: that of the event's folder.")
    ] = "default",
    db: Db = None,
) -> None:
    from doxa.hosts.command import main

    at = ["--db", str(db)] if db else []
    raise typer.Exit(main([event, "--host", host, "--project", project, *at]))


def setup(
    host: Annotated[
        str,
        typer.Argument(
            help="claude-code, codex, cursor, gemini, opencode, openclaw, copilot or hermes.",
            show_default=False,
        ),
    ],
    project: Annotated[
        str, typer.Option("--project", "-p", help="The project; auto: that of each folder.")
    ] = "auto",
    check: Annotated[
        bool, typer.Option("--check", help="Run each hook as the host would, and report.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take doxa out again.")] = False,
    print_: Annotated[
        bool, typer.Option("--print", help="Show what would be written, and write nothing.")
    ] = False,
    command: Annotated[
        str, typer.Option("--command", help="How hosts start doxa (default: as it runs now).")
    ] = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    from doxa.hosts.setup.checking import check as checked

    with errors_reported(as_json):
        _only_one(check=check, remove=remove, print=print_)
        made, environ, path = _setup(host, project, command, db)
        if check:
            findings = checked(made, environ, path)
            show([asdict(one) for one in findings], as_json, _findings_text)
            raise typer.Exit(0 if all(one.fine for one in findings) else 1)
        if remove:
            changed = [str(one) for one in made.remove()]
            show(
                {"host": host, "changed": changed},
                as_json,
                lambda _: "\n".join([f"changed {one}" for one in changed] or ["nothing to remove"]),
            )
            return
        found = _set_up(made, write=not print_)
        show(found, as_json, _setup_text)
        raise typer.Exit(1 if found["left"] and found["written"] else 0)


def _set_up(made: Setup, *, write: bool) -> dict[str, Any]:
    """Write what is not there yet, or only look at it; return what is shown of it."""
    from doxa.hosts.setup.engine import words_due

    left = made.out_of_reach()
    ran = [" ".join(one.add) for one in made.due() if one not in left]
    left_words = [shlex.join(words) for one in left for words in words_due(one)]
    steps = made.apply() if write else made.shown()
    return {
        "host": made.plan.host,
        "files": [
            {"path": str(one.path), "diff": one.diff()}
            | ({"refused": one.refused} if one.refused else {})
            for one in steps
        ],
        "commands": ran,
        "left": left_words,
        "written": write,
        "notes": list(made.plan.notes),
    }


def _only_one(**flags: bool) -> None:
    from doxa.base.errors import InputError

    if sum(flags.values()) > 1:
        names = ", ".join(f"--{name}" for name, given in flags.items() if given)
        raise InputError(f"{names} are several things.", next_step="Give one.", field="check")


def _setup(
    host: str, project: str, command: str, db: Path | None
) -> tuple[Setup, Mapping[str, str], Path]:
    from doxa.base.errors import InputError
    from doxa.base.files.places import config_folder
    from doxa.hosts.setup.engine import Setup, environment
    from doxa.hosts.setup.launch import launch_words
    from doxa.hosts.setup.plans import SETUP_HOSTS, Folders, Launch, plan_of
    from doxa.settings import configuration, memory_path

    if host not in SETUP_HOSTS:
        raise InputError(
            f"{host[:40]!r} is not a host that doxa knows.",
            next_step=f"Use one of {', '.join(SETUP_HOSTS)}; for another, `doxa mcp --config`.",
            field="host",
        )
    if not command and find_spec("mcp") is None:
        raise InputError(
            "Hosts use the MCP interface, which needs the extra mcp.",
            next_step="Install it where doxa is: pip install 'mcp>=2.3'",
            extra="mcp",
        )
    environ = environment()
    said = configuration(environ).text("database")  # the host's environment may say something else
    named = db or (Path(said) if said else None)
    launch = Launch(launch_words(command), project, str(named.absolute()) if named else "")
    plan = plan_of(host, launch, Folders(Path.home(), environ))
    return Setup(plan, config_folder(environ), environ), environ, named or memory_path(environ)


def _setup_text(found: Mapping[str, Any]) -> str:
    lines = []
    for one in found["files"]:
        if "refused" in one:
            lines.append(f"to be entered by hand: {one['refused']}")
        lines += [one["diff"].rstrip()] if one["diff"] else []
    ran = "ran" if found["written"] else "would run"
    lines += [f"{ran}: {one}" for one in found["commands"]]
    lines += [
        f"run this where {one.partition(' ')[0]} is, since it is not on your path: {one}"
        for one in found["left"]
    ]
    if not lines:
        lines = ["nothing to change: doxa is set up already"]
    elif found["left"] and found["written"]:
        lines.append(
            f"all else is set up for {found['host']}; afterwards see"
            f" `doxa setup {found['host']} --check`"
        )
    elif found["written"]:
        lines.append(
            f"doxa is set up for {found['host']}; see `doxa setup {found['host']} --check`"
        )
    return "\n".join([*lines, *(f"note: {one}" for one in found["notes"])])


def _findings_text(found: list[Mapping[str, Any]]) -> str:
    lines = []
    for one in found:
        step = f". {one['step']}" if one["step"] else ""
        lines.append(f"{'ok ' if one['fine'] else 'NOT'} {one['what']}{step}")
    return "\n".join(lines)
