"""The file and its log: proof, copies, vectors that are due, what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doxa.cli.frame import Db, Json, app, decay_enabled, errors_told, opened, user
from doxa.cli.text import doctor_text, fields_text, log_text, show


@app.command()
def log(
    limit: Annotated[int, typer.Option("--limit", "-n")] = 20, db: Db = None, as_json: Json = False
) -> None:
    """The latest changes: number, time, who, what."""
    with opened(db, as_json) as memory:
        rows = [
            {
                "change": r.tx,
                "time": r.time,
                "actor": r.actor,
                "role": r.role,
                "op": r.op,
                "entries": r.last_seq - r.first_seq + 1,
                "receipt": r.hash.hex(),
            }
            for r in memory.log(limit=limit)
        ]
        show(rows, as_json, log_text)


@app.command()
def verify(
    expect: Annotated[
        str, typer.Option(help="A head hash noted earlier: the log must still contain it.")
    ] = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Prove that the log is whole and that the state is what the log says."""
    with opened(db, as_json, read_only=True) as memory:
        proof = memory.verify()
        if expect and not memory.has_receipt(expect):
            from doxa.base.errors import CorruptError

            raise CorruptError(
                f"No receipt of this log has the hash {expect[:80]}.",
                next_step="Compare with the backup it was noted from.",
                expected=expect[:80],
            )
        show(
            proof,
            as_json,
            lambda p: (
                f"{p.receipts} receipts and {p.entries} entries verify and replay ({p.erased}"
                f" erased); head {p.head}"
            ),
        )


@app.command()
def doctor(
    models: Annotated[
        bool,
        typer.Option("--models", help="Call each configured model once, also over the network."),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Look at everything that can be wrong. Exit code 1 if something is; a model that is not
    installed is only noted."""
    from doxa.app import open_memory
    from doxa.base.errors import CorruptError
    from doxa.maintenance.doctor import unopened

    with errors_told(as_json):
        try:
            with open_memory(
                db, role="operator", actor=user(), background=False, decay_enabled=decay_enabled()
            ) as memory:
                findings = memory.doctor(models=models)
        except CorruptError as error:  # too damaged to be opened: that is a finding too
            findings = [unopened(error)]
        show(findings, as_json, doctor_text)
        if not all(finding.ok for finding in findings):
            raise typer.Exit(1)


@app.command()
def backup(
    target: Annotated[
        Path, typer.Argument(help="A path that does not exist yet.", show_default=False)
    ],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A verified copy, while others read and write."""
    with opened(db, as_json, read_only=True) as memory:
        made = memory.backup(target)
        show({"path": str(made), "bytes": made.stat().st_size}, as_json, fields_text)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Verify a backup and copy it to a new path; nothing that exists is replaced."""
    from doxa.app import open_memory

    with errors_told(as_json):
        with open_memory(source, read_only=True, embedder=None) as memory:
            memory.verify()
            made = memory.backup(target)
        show({"path": str(made), "next": f"doxa doctor --db {made}"}, as_json, fields_text)


@app.command()
def stats(db: Db = None, as_json: Json = False) -> None:
    """Counts and sizes."""
    with opened(db, as_json) as memory:
        show(memory.stats(), as_json, fields_text)
