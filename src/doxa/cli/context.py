"""What all commands share: exit codes, common options, the opened memory, and how errors are
reported.

Imports are inside the functions: a command pays only for what it uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from doxa.cli.output import json_text

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.base.errors import DoxaError
    from doxa.cli.parsing.common import Db as Db
    from doxa.cli.parsing.common import Json as Json
    from doxa.cli.parsing.common import Project as Project
    from doxa.cli.parsing.common import ProjectOfAll as ProjectOfAll
    from doxa.hosts.projects import ProjectTable

EXIT_CODES = {
    "input": 2,
    "kref": 2,
    "limit": 2,
    "not_found": 3,
    "conflict": 4,
    "constraint": 4,
    "role": 4,
    "confirmation": 4,
}
_STORE_EXIT = 5
_INTERRUPTED_EXIT = 130  # what shells report for SIGINT
_REFUSED_QUERIES = frozenset(
    ("ConstraintValidationFailed", "ConstraintVerificationFailed", "SchemaError", "TransientError")
)

_QUIET_S = 1.0  # before progress is shown
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_COMMON_OPTIONS = frozenset(("Db", "Json", "Project", "ProjectOfAll"))


def __getattr__(name: str) -> object:
    """Import a common option when a command that typer parses asks for it."""
    if name not in _COMMON_OPTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("doxa.cli.parsing.common"), name)


def note_old_name(old: str, new: str) -> None:
    """Report on standard error that a command has another name now."""
    sys.stderr.write(f"doxa: `{old}` is deprecated; use `{new}`\n")


@contextmanager
def opened(
    db: Path | None,
    as_json: bool,
    *,
    read_only: bool = False,
    only_reads: bool = False,
    csv_folder: Path | None = None,
) -> Iterator[Memory]:
    """Open the memory as its operator; if it has an operator key that this process cannot read, as
    an agent. A command that `only_reads` notes what it returned, and does without where the file
    cannot be written."""
    from doxa.app import open_memory
    from doxa.app.operator import may_operate

    with errors_reported(as_json):
        given: dict[str, Any] = {
            "actor": user(),
            "background": False,
            "read_only": read_only or (only_reads and _is_protected(db)),
            "csv_folder": csv_folder,
            "decay_enabled": decay_enabled(),
            "project": project_named(None),
        }
        with open_memory(db, role="operator", **given) as memory:
            _note_age(memory)
            if may_operate(memory):
                yield memory
                return
        with open_memory(db, role="agent", **given) as memory:
            yield memory


def _is_protected(db: Path | None) -> bool:
    """Whether the memory file is there and may not be written by this user."""
    from doxa.settings import memory_path

    path = db or memory_path()
    try:
        return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    except (OSError, ValueError):  # opening says what is wrong with it
        return False


def _note_age(memory: Memory) -> None:
    """Say on standard error how old the answers of a replica are whose engine does not answer."""
    found = None if memory.replica is None else memory.replica.status
    if found is not None and not found.reachable:
        age = "an unknown time" if found.age_s is None else f"{found.age_s:.0f} s"
        sys.stderr.write(f"doxa: {found.problem} Answers are of {age} ago; writes are refused.\n")


def project_said(project: str | None) -> str:
    """Return the value of an option, without one the setting `project`, else `default`."""
    from doxa.settings import configuration

    return project or configuration().text("project") or "default"


def project_named(project: str | None) -> str:
    """Return the project that an option means; `auto` is that of the current folder."""
    project = project_said(project)
    if project != "auto":
        return project
    return project_here()


def table() -> ProjectTable:
    """Return the user's table of projects."""
    from doxa.base.files.places import config_folder
    from doxa.hosts.projects import ProjectTable

    return ProjectTable(config_folder(os.environ) / "projects.toml")


def project_here(folder: Path | None = None) -> str:
    """Return what `--project auto` means in a folder; by default in that of the host, or this."""
    from doxa.hosts.projects import project_of

    place = folder or Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    return project_of(place, table()).project


def decay_enabled() -> bool | None:
    """Read the setting `policies.decay`: `on` gives a new file the standard policies, `off`
    disables all policies; unset, the file decides."""
    from doxa.settings import configuration

    said = configuration().get("policies.decay")
    if said is None:
        return None
    if said.text not in ("on", "off"):
        from doxa.base.errors import InputError

        raise InputError(
            f"{said.name} is on or off; this is {said.text[:40]!r}.",
            next_step="Set it to one of them, or not at all.",
            field=said.name,
        )
    return said.text == "on"


@contextmanager
def errors_reported(as_json: bool) -> Iterator[None]:
    """Turn errors into a line on standard error and an exit code."""
    from doxa.base.errors import NO_SPACE, DiskFullError, DoxaError, StoreError

    try:
        yield
    except DoxaError as error:
        raise SystemExit(fail(error, as_json)) from None
    except KeyboardInterrupt as interrupt:
        notes = " ".join(getattr(interrupt, "__notes__", ()))
        sys.stderr.write(f"\ndoxa: interrupted. {notes}".rstrip() + "\n")
        raise SystemExit(_INTERRUPTED_EXIT) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except (
        OSError
    ) as error:  # of a path that the command line names itself, such as the target of an export
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        found = StoreError(
            f"The system refused {what}.", next_step="Check the path, its folder and permissions."
        )
        if error.errno in NO_SPACE and not error.filename:  # it was open: a file, or the output
            found = DiskFullError(
                "There is no space left for the output of the command, or for a file that it"
                f" writes: {error.strerror}.",
                next_step="Free space there. If the command changes something, look whether it did"
                " before you repeat it.",
            )
        raise SystemExit(fail(found, as_json)) from None


def fail(error: DoxaError, as_json: bool) -> int:
    sys.stderr.write(
        (json_text({"error": error.as_dict()}) if as_json else f"doxa: {error_text(error)}") + "\n"
    )
    return exit_code(error)


def error_text(error: DoxaError) -> str:
    """Return the message and the next step; after an excerpt with its caret, the step is on a line
    of its own."""
    return f"{error.message}{error.next_step}" if error.message.endswith("\n") else str(error)


def exit_code(error: DoxaError) -> int:
    from doxa.base.errors import StoreError

    if error.code == "query":
        return _query_exit(str(error.fields.get("kind")), str(error.fields.get("detail")))
    return EXIT_CODES.get(error.code, _STORE_EXIT if isinstance(error, StoreError) else 1)


def _query_exit(kind: str, detail: str) -> int:
    """A query that is wrong, or whose values are, is input that is wrong; rules and transactions
    refuse."""
    if kind in _REFUSED_QUERIES or detail == "AccessMode":
        return EXIT_CODES["conflict"]
    return (
        1
        if kind == "ProcedureError" or detail in ("Terminated", "TimedOut")
        else EXIT_CODES["input"]
    )


def must_be_new(path: Path) -> None:
    from doxa.base.errors import InputError

    if path.exists():
        raise InputError(
            f"{path} exists already.",
            next_step="Give a path that does not exist yet.",
            path=str(path),
        )


def user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"


def embed_some(memory: Memory) -> None:
    """Embed a few pending memories at once if the model is available; a backlog waits for `doxa
    embed`."""
    from doxa.base.errors import DoxaError
    from doxa.base.limits import COMMAND_EMBED_DOCS

    pending = memory.pending(in_use=True)
    if 0 < pending <= COMMAND_EMBED_DOCS:
        with suppress(DoxaError):  # the belief is stored; doctor says why it has no vector
            memory.embed(limit=pending)


def import_numpy_alone() -> None:
    """Import numpy without the threads of its library, which cost a process that asks one question
    more than they give it. What this process starts is not affected."""
    if _BLAS_THREADS in os.environ or "numpy" in sys.modules:
        return
    os.environ[_BLAS_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_BLAS_THREADS]


def db_hint(db: Path | None) -> str:
    return f" --db {db}" if db else ""


@contextmanager
def progress(
    what: str, as_json: bool, *, total: int | None = None
) -> Iterator[Callable[[int], None]]:
    """Show on standard error how far a long command is, at what rate, and how long it will take
    where `total` is known. On a terminal only."""
    with stages(as_json) as begin:
        yield begin(what, total or 0)


@contextmanager
def stages(as_json: bool) -> Iterator[Callable[[str, int], Callable[[int], None]]]:
    """Show on standard error how far each step of a long command is. What is yielded begins a step
    of a total, 0 where it is not known, and returns what takes the count since its last call. On a
    terminal only, and after a second: what is done by then shows nothing."""
    if as_json or not sys.stderr.isatty():
        yield lambda what, total: lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    with _after_a_second(bar.start, bar.stop):

        def advance(task: TaskID, count: int) -> None:
            bar.update(task, advance=count)
            speed = next(one.speed for one in bar.tasks if one.id == task)
            if speed:
                bar.update(task, rate=f"{speed:,.0f}/s")

        def begin(what: str, total: int) -> Callable[[int], None]:
            left = "left" if total else ""
            return partial(advance, bar.add_task(what, total=total or None, rate="", left=left))

        yield begin


@contextmanager
def _after_a_second(start: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """Start what is shown if the block lasts longer than that, and stop it at its end."""
    timer = Timer(_QUIET_S, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # it may be starting it now
        stop()


def log_entries(memory: Memory) -> int:
    """Return how many entries the log has."""
    with memory.store.read() as reader:
        last = reader.last_receipt()
    return last.last_seq if last else 0


@contextmanager
def steps(as_json: bool, first: str = "") -> Iterator[Callable[[str], None]]:
    """Name the step that goes on, on standard error of a terminal only."""
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    shown = Console(stderr=True).status(f"{first} ...")
    with _after_a_second(shown.start, shown.stop):
        yield lambda name: shown.update(f"{name} ...")
