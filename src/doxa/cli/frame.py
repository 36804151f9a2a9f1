"""What is around every command: the app, exit codes, options that several commands take, the opened
memory, and errors told by code.

Imports are inside the functions: a command pays only for what it uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from doxa.cli.text import TIMES, json_text

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.base.errors import DoxaError

_USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


class _Commands(TyperGroup):
    """With --json a wrong command line is one JSON error like any other; without, typer's usage
    text. Both end with 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if not standalone_mode or "--json" not in given:
            return super().main(
                args, prog_name, complete_var, standalone_mode, windows_expand_args, **extra
            )
        try:
            code = super().main(given, prog_name, complete_var, False, windows_expand_args, **extra)
        except _USAGE_ERROR as error:
            said = (
                str(getattr(error, "format_message", error.__str__)()).strip()
                or "No command was given."
            )
            sys.stderr.write(json_text({"error": _usage(said)}) + "\n")
            code = EXIT_CODES["input"]
        sys.exit(code if isinstance(code, int) else 0)


def _usage(message: str) -> dict[str, object]:
    from doxa.base.errors import InputError

    return InputError(
        message,
        next_step="See `doxa --help`, or `doxa COMMAND --help` for one command.",
        field="command line",
    ).as_dict()


app = typer.Typer(
    cls=_Commands,
    name="doxa",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="One memory for AI agents that a person can trust.",
)

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
_REFUSED_QUERIES = frozenset(
    ("ConstraintValidationFailed", "ConstraintVerificationFailed", "SchemaError", "TransientError")
)

Db = Annotated[
    Path | None,
    typer.Option(
        "--db",
        help="The memory file (default: DOXA_DB, or the user's data folder).",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Project = Annotated[str, typer.Option("--project", "-p", help="The project.")]
KrefArg = Annotated[
    str, typer.Argument(help="An address: kref://project/space/name.kind[?r=N]", metavar="KREF")
]
ValidFrom = Annotated[
    str | None, typer.Option(help="Since when it holds (ISO 8601); empty: no bound.")
]
ValidUntil = Annotated[
    str | None, typer.Option(help="Until when it holds (ISO 8601); empty: no bound.")
]
Confidence = Annotated[float | None, typer.Option(help="0 to 1.")]
Trust = Annotated[str | None, typer.Option(help="untrusted, candidate, stated, verified")]
Title = Annotated[str | None, typer.Option(help="A title.")]
Topic = Annotated[list[str] | None, typer.Option(help="A topic (repeatable).")]
EdgeOption = Annotated[list[str] | None, typer.Option(help="Only this edge type (repeatable).")]
EdgeArg = Annotated[str, typer.Argument(help="Such as DEPENDS_ON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would become of it.")]
Events = Annotated[
    list[str] | None, typer.Option("--event", help="What happened, and what followed (repeatable).")
]
Implications = Annotated[
    list[str] | None,
    typer.Option("--implication", help="What may come of it, in other words (repeatable)."),
]
Questions = Annotated[
    list[str] | None, typer.Option("--question", help="What is open about it (repeatable).")
]
Decisions = Annotated[
    list[str] | None, typer.Option("--decision", help="What was settled by it (repeatable).")
]
Entities = Annotated[
    list[str] | None, typer.Option("--entity", help="Who or what it is about (repeatable).")
]
FactOption = Annotated[
    list[str] | None, typer.Option("--fact", help="A fact: 'subject|predicate|value' (repeatable).")
]


@contextmanager
def opened(
    db: Path | None, as_json: bool, *, read_only: bool = False, csv_folder: Path | None = None
) -> Iterator[Memory]:
    from doxa.app import open_memory

    with (
        errors_told(as_json),
        open_memory(
            db,
            role="operator",
            actor=user(),
            background=False,
            read_only=read_only,
            csv_folder=csv_folder,
            decay_enabled=decay_enabled(),
        ) as memory,
    ):
        yield memory


def decay_enabled() -> bool | None:
    """DOXA_DECAY: `on` gives a new file the standard policies, `off` leaves all policies without
    effect; unset, they do what the file says."""
    said = os.environ.get("DOXA_DECAY")
    if not said:
        return None
    if said not in ("on", "off"):
        from doxa.base.errors import InputError

        raise InputError(
            f"DOXA_DECAY is on or off; this is {said[:40]!r}.",
            next_step="Set it to one of them, or not at all.",
            field="DOXA_DECAY",
        )
    return said == "on"


@contextmanager
def errors_told(as_json: bool) -> Iterator[None]:
    """Turn our errors into a line on standard error and an exit code."""
    from doxa.base.errors import DoxaError, StoreError

    try:
        yield
    except DoxaError as error:
        raise SystemExit(fail(error, as_json)) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except (
        OSError
    ) as error:  # of a path that the command line names itself, such as the target of an export
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise SystemExit(
            fail(
                StoreError(
                    f"The system refused {what}.",
                    next_step="Check the path, its folder and permissions.",
                ),
                as_json,
            )
        ) from None


def fail(error: DoxaError, as_json: bool) -> int:
    sys.stderr.write(
        (json_text({"error": error.as_dict()}) if as_json else f"doxa: {error_text(error)}") + "\n"
    )
    return exit_code(error)


def error_text(error: DoxaError) -> str:
    """The message and the next step; under an excerpt with its caret, that is a line of its own."""
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
    """A single belief gets its vector at once if the model is at hand; a backlog waits for `doxa
    embed`."""
    from doxa.base.errors import DoxaError
    from doxa.base.limits import COMMAND_EMBED_DOCS

    due = memory.pending(in_use=True)
    if 0 < due <= COMMAND_EMBED_DOCS:
        with suppress(DoxaError):  # the belief is stored; doctor says why it has no vector
            memory.embed(limit=due)


def facts_of(texts: list[str] | None) -> list[tuple[str, str, str]]:
    found = []
    for text in texts or []:
        parts = [part.strip() for part in text.split("|")]
        if len(parts) != 3 or not all(parts):
            from doxa.base.errors import InputError

            raise InputError(
                f"A fact is 'subject|predicate|value'; this is {text[:80]!r}.",
                next_step="Give three parts with | between them.",
                field="fact",
            )
        found.append((parts[0], parts[1], parts[2]))
    return found


def given_of(**options: Any) -> dict[str, Any]:
    """The options that were given. An empty time takes a bound away."""
    found = {name: value for name, value in options.items() if value is not None and value != []}
    return {name: None if name in TIMES and value == "" else value for name, value in found.items()}


def db_hint(db: Path | None) -> str:
    return f" --db {db}" if db else ""


@contextmanager
def progress(what: str, as_json: bool) -> Iterator[Callable[[int], None]]:
    """A count on standard error while it grows, on a terminal only."""
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.update(task, advance=count)
