"""Other doors that are started here: the MCP server and the demonstration."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.frame import Db, Project, app, decay_enabled, errors_told, must_be_new
from doxa.cli.text import json_text


@app.command()
def mcp(
    project: Project = "default",
    actor: Annotated[str, typer.Option(help="The agent's name in the log.")] = "agent",
    session: Annotated[
        str,
        typer.Option(
            help=(
                "What policies know this conversation by, as $_session (default: a name of its"
                " own)."
            )
        ),
    ] = "",
    config: Annotated[
        bool,
        typer.Option("--config", help="Print the entry for a host's list of servers, and end."),
    ] = False,
    db: Db = None,
) -> None:
    """Serve the seven memory tools over stdio to an MCP host."""
    from doxa.app import open_memory

    if config:
        where = ["--db", str(db.absolute())] if db else []
        sys.stdout.write(
            json_text(
                {
                    "mcpServers": {
                        "memory": {
                            "command": sys.executable,
                            "args": [
                                "-m",
                                "doxa.cli",
                                "mcp",
                                "--project",
                                project,
                                "--actor",
                                actor,
                                *where,
                            ],
                        }
                    }
                }
            )
            + "\n"
        )
        return

    with errors_told(False):
        try:
            from doxa.servers.mcp.server import serve_stdio
        except ImportError:
            from doxa.base.errors import InputError

            raise InputError(
                "The MCP door needs the extra mcp.",
                next_step="Install it where doxa is: pip install 'mcp>=2.3'",
                extra="mcp",
            ) from None
        from doxa import __version__

        memory = open_memory(
            db, role="agent", actor=actor, project=project, decay_enabled=decay_enabled()
        )
        context = {"session": session or str(uuid.uuid4()), "agent": actor}
        serve_stdio(memory, memory.session(context=context), version=__version__)


@app.command()
def demo(
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the demonstration's memory at this new path.", show_default=False),
    ] = None,
) -> None:
    """Show the main job on a real store: five minutes of reading, seconds to run."""
    from doxa.demo import run

    with errors_told(False):
        if keep is not None:
            must_be_new(keep)
        run(keep)
