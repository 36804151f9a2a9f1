"""The command line: the same verbs as Python, for people and scripts.

Commands are built from the verb table (doxa.app.verbs) when they are asked for. Every command takes
--db and --json; --db, --json and --project may also stand before the command. Exit codes: 0 done; 1
error; 2 the command line or input is wrong; 3 nothing is there; 4 refused (conflict, constraint,
role, confirmation); 5 the file or disk. With --json, results go to standard output and errors to
standard error, each one JSON value. A person at a terminal acts as operator. Imports are inside the
functions: a command pays only for what it uses.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from doxa.cli.application import app
    from doxa.cli.context import EXIT_CODES

__all__ = ["EXIT_CODES", "app", "main"]

# of how many new objects the collector takes notice: importing makes as many, and none is garbage
_OBJECTS = 50_000
_MODULE_OF = {"EXIT_CODES": "doxa.cli.context", "app": "doxa.cli.application"}


def main() -> None:
    """Run the `doxa` command. `doxa hook`, `doxa --version` and command lines that leave nothing to
    decide run without typer: hosts and scripts wait for them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a terminal that knows fewer characters must not make it fail
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        from doxa.hosts.command import main as hook

        _end(hook(sys.argv[2:]))
    if sys.argv[1:] == ["--version"]:
        from doxa import __version__

        sys.stdout.write(f"doxa {__version__}\n")
        return
    collected = gc.get_threshold()
    gc.set_threshold(_OBJECTS)
    from doxa.cli.parsing.plain import plain_call

    plain = plain_call(sys.argv[1:])
    if plain is not None:
        try:
            from doxa.cli.commands import run

            run(*plain)
        except KeyboardInterrupt:  # before or after the verb, which reports its own
            sys.stderr.write("\ndoxa: interrupted.\n")
            raise SystemExit(130) from None
        _end(0)
    gc.set_threshold(*collected)
    from doxa.cli.application import app as application

    application()


def _end(code: int) -> NoReturn:
    """End the process of a command that has closed what it opened. Taking its hundreds of modules
    apart would take a tenth of the time of a short command, so it is left out, where neither a
    thread nor unwritten output needs more than that."""
    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):  # the interpreter reports that better
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)
    raise SystemExit(code)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
