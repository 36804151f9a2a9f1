"""`doxa cypher`: statements from the command line, a file or a pipe; on a terminal without any, the
shell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Json, embed_some, errors_reported, opened

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.app.results import GraphSession


Statements = Annotated[
    str | None,
    typer.Argument(
        help="Statements, with ; between them; - reads standard input.", show_default=False
    ),
]
ScriptFile = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="Read the statements from this file.", show_default=False),
]
Parameters = Annotated[
    list[str] | None, typer.Option("--param", help="A parameter: name=JSON value (repeatable).")
]
ParametersFile = Annotated[
    Path | None,
    typer.Option("--params", help="A JSON file with an object of parameters.", show_default=False),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", help="The graph as it was committed at this time (ISO 8601)."),
]
ValidAt = Annotated[str | None, typer.Option("--valid-at", help="Only what is valid at this time.")]
ReadOnly = Annotated[
    bool, typer.Option("--read", help="Open the file read-only and refuse statements that write.")
]
Transaction = Annotated[
    bool,
    typer.Option("--transaction", help="All statements in one transaction, instead of one each."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", help="Seconds that one statement may take.")
]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", help="The folder that LOAD CSV may read.", show_default=False),
]
Format = Annotated[str, typer.Option("--format", help="table, json, jsonl or csv")]


def cypher(
    query: Statements = None,
    file: ScriptFile = None,
    param: Parameters = None,
    params: ParametersFile = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    read: ReadOnly = False,
    transaction: Transaction = False,
    timeout: Timeout = None,
    csv: Csv = None,
    form: Format = "table",
    db: Db = None,
    as_json: Json = False,
) -> None:
    as_json = as_json or form == "json"
    with errors_reported(as_json):
        from doxa.cli.options import (
            check_folder,
            check_form,
            milliseconds,
            moment,
            parameters_of,
            script_of,
        )

        check_form(form, as_json=as_json)
        script = script_of(query, file)
        given = parameters_of(param or [], params)
        times = (moment(as_of, "--as-of"), moment(valid_at, "--valid-at"))
        timeout_ms = milliseconds(timeout)
        folder = check_folder(csv)
        pieces = _cut(script) if script is not None else []
        with (
            opened(db, as_json, read_only=read, csv_folder=folder) as memory,
            memory.graph() as session,
        ):
            session.system_time, session.valid_time = times
            session.timeout_ms = timeout_ms or session.timeout_ms
            form = "json" if as_json else form
            if script is None:
                from doxa.cli.interactive.shell import Shell

                _not_joined(transaction)
                Shell(memory, session, params=given, form=form, reads=read).run()
            else:
                _run(
                    memory,
                    session,
                    script,
                    pieces=pieces,
                    params=given,
                    form=form,
                    transaction=transaction,
                    reads=read,
                )


def _not_joined(transaction: bool) -> None:
    from doxa.base.errors import InputError

    if transaction:
        raise InputError(
            "--transaction joins the statements of a script.",
            next_step="In the shell, begin one with :begin.",
            field="transaction",
        )


def _cut(script: str) -> list[Any]:
    from doxa.base.errors import InputError
    from doxa.cypher.script import statements

    pieces = statements(script)
    if not pieces:
        raise InputError(
            "There is no statement in what was given.",
            next_step='Give one, such as "MATCH (n) RETURN n LIMIT 5".',
            field="query",
        )
    return pieces


def _run(
    memory: Memory,
    session: GraphSession,
    script: str,
    *,
    pieces: list[Any],
    params: dict[str, Any],
    form: str,
    transaction: bool,
    reads: bool,
) -> None:
    """Every statement is read and checked before the first one runs."""
    from doxa.cli.cypher_results import write_result
    from doxa.cli.options import refuse_writing

    plans = []
    for number, piece in enumerate(pieces, 1):
        with _placed(piece, script, number=number, count=len(pieces)):
            plans.append(memory.queries.prepare(piece.text))
            if reads:
                refuse_writing(plans[-1])
    wrote = any(plan.writes for plan in plans)
    if transaction:
        session.begin(read_only=not wrote)
    several = form == "json" and len(pieces) > 1
    for number, piece in enumerate(pieces, 1):
        with (
            _placed(piece, script, number=number, count=len(pieces)),
            session.run(piece.text, params) as result,
        ):
            if several or (number > 1 and form in ("table", "csv")):
                sys.stdout.write(("[" if number == 1 else ",") if several else "\n")
            write_result(result, form)
    if transaction:
        session.commit()
    if form == "json":
        sys.stdout.write("]\n" if several else "\n")
    if wrote and memory.pending():
        embed_some(memory)


@contextmanager
def _placed(piece: Any, script: str, *, number: int, count: int) -> Iterator[None]:
    """Locate an error in the script; without a position, name the statement."""
    from doxa.base.errors import DoxaError
    from doxa.cypher.errors import QueryError, locate
    from doxa.cypher.script import placed

    try:
        yield
    except DoxaError as error:
        if isinstance(error, QueryError) and "offset" in error.fields:
            raise placed(error, piece, script) from None
        if count > 1:
            line = locate(script, piece.at)[0]
            error.message = f"Statement {number} (line {line}): {error.message}"
            error.fields |= {"statement": number, "line": line}
        raise
