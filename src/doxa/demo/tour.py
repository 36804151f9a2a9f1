"""The demonstration: one real store, every promise shown by a call that a reader can repeat.

A conversation of six weeks goes in; a question gets the current belief with its reason; a
correction retires the old belief, which stays in history, is what `as_of` returns, and comes back
by undo; impact names what depended on it; the log proves itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from doxa.app import Memory, open_memory

SAMPLES = (("tea-shop", "tea-shop.jsonl"), ("mountains", "mountains.jsonl"))
DATABASE = "kref://tea-shop/database.decision"


def run(keep: Path | None) -> None:
    """Run the demonstration in a temporary folder, or on a new file that is kept."""
    started = time.perf_counter()
    if keep is not None:
        _steps(keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            _steps(Path(folder) / "demo.db")
    _say(
        f"\nDone in {time.perf_counter() - started:.1f} s. No key, no network, no language model"
        " was used."
    )
    where = f" --db {keep}" if keep else ""
    doxa = command()
    _head("Go on with")
    _say(
        f'  {doxa} remember "The launch is on 10 April"{where}\n'
        f'  {doxa} recall "when do we launch?"{where}\n'
        f"  {doxa} import ~/.claude/projects{where}      your own Claude Code history\n"
        f"  {doxa} log{where}\n  {doxa} doctor{where}\n  {doxa} --help\n"
        + (
            ""
            if keep
            else f"  {doxa} demo --keep demo.db      this demonstration, kept to look around in"
        )
    )


def command() -> str:
    """Return what to type for doxa from here: its own name if that is this installation on the
    path, uvx in an environment that uvx made, else this interpreter with the module."""
    interpreter = Path(sys.executable)  # not resolved: in an environment it is a link to another
    found = shutil.which("doxa")
    if found and Path(found).resolve() == interpreter.with_name("doxa").resolve():
        return "doxa"
    if "archive-v0" in interpreter.parts:
        return "uvx doxa-memory"
    return f"{os.path.relpath(sys.executable)} -m doxa.cli"


def _steps(path: Path) -> None:
    with open_memory(path, role="operator", actor="demo", background=False) as memory:
        _ingest(memory)
        database, backup = _state(memory)
        _recall(memory)
        _correct(memory, database)
        _impact(memory, backup)
        _prove(memory)


def _ingest(memory: Memory) -> None:
    _head("1. Six weeks of conversation go in")
    for project, name in SAMPLES:
        with as_file(files("doxa") / "sample" / name) as path:
            result = memory.ingest(path, project=project, trust="stated")
            again = memory.ingest(path, project=project, trust="stated")
        _say(
            f"  {project}: {result.added} turns, {result.candidates} candidate beliefs by rules;"
            f" read again: {again.added} new, {again.known} known"
        )
    for hit in memory.recall(
        "use MySQL 8", project="tea-shop", space="candidates", history=True
    ).hits:
        if hit.status == "deprecated":
            successor = next(
                step.kref
                for step in memory.traverse(hit.kref, direction="in", types=["SUPERSEDES"]).steps
            )
            _say(f"  corrected by the talk itself: {hit.text}\n    by {successor}")
    made = memory.embed()
    note = (
        f"{made} vectors made by {memory.embedder.name}"
        if memory.embedder
        else f"no vectors: {memory.embedder_error}"
    )
    _say(f"  {note}")


def _state(memory: Memory) -> tuple[str, str]:
    _head("2. An agent states what it concluded, with sources")
    source = memory.recall(
        "We decided to use MySQL 8", project="tea-shop", kinds=("exchange",), limit=1
    ).hits[0]
    memory.remember(
        "The tea shop runs on MySQL 8",
        project="tea-shop",
        name="database",
        kind="decision",
        facts=[("tea shop", "database", "MySQL 8")],
        derived_from=[source.kref],
    )
    backup = memory.remember(
        "The nightly backup calls mysqldump",
        project="tea-shop",
        name="backup",
        kind="fact",
        facts=[("backup", "command", "mysqldump")],
        depends_on=[DATABASE],
    )
    memory.remember(
        "The restore drill follows the backup's format",
        project="tea-shop",
        name="drill",
        depends_on=[backup.kref],
    )
    memory.embed()
    _say(f"  {DATABASE}  <- {source.kref} ({source.speaker})")
    return DATABASE, backup.kref


def _recall(memory: Memory) -> None:
    _head('3. recall "which day do we ship?"')
    _hits(memory.recall("which day do we ship?", project="tea-shop", limit=3))
    _head('   recall "what must Karim not eat?" (over both projects)')
    _hits(memory.recall("what must Karim not eat?", project="*", limit=2))


def _correct(memory: Memory, database: str) -> None:
    _head("4. A correction")
    moved = memory.recall(
        "we moved to PostgreSQL", project="tea-shop", kinds=("exchange",), limit=1
    ).hits[0]
    change = memory.revise(
        database,
        "The tea shop runs on PostgreSQL 16",
        facts=[("tea shop", "database", "PostgreSQL 16")],
    )
    memory.link(database, moved.kref, kind="DERIVED_FROM")
    memory.embed()
    question = "what does the tea shop run on?"
    _say(f"  revise -> {change.kref}, change {change.change}")
    _say(f"  recall now      : {_best(memory, question)}")
    for revision in memory.history(database).revisions:
        _say(f"  history         : r={revision.number} {revision.status:10} {revision.summary}")
    _say(f"  --as-of before  : {_best(memory, question, as_of=change.time - 1)}")
    undone = memory.undo(change.change or 0)
    _say(f"  undo {change.change:<4}       : {_best(memory, question)}")
    memory.undo(undone.change or 0)
    _say(f"  undo the undo   : {_best(memory, question)}")


def _impact(memory: Memory, backup: str) -> None:
    _head("5. What depends on the belief that changed?")
    for step in memory.impact(DATABASE).steps:
        _say(f"  {'  ' * (step.depth - 1)}{step.edge} <- {step.kref}")
    _head("   And where does it come from?")
    for step in memory.provenance(DATABASE).steps:
        _say(f"  {step.edge} -> {step.kref}: {getattr(memory.get(step.kref), 'text', '')}")
    assert any(step.kref == backup for step in memory.impact(DATABASE).steps)


def _prove(memory: Memory) -> None:
    _head("6. The log proves itself")
    proof = memory.verify()
    _say(
        f"  {proof.receipts} receipts, {proof.entries} entries: chain and replay agree; head"
        f" {proof.head[:32]}…"
    )
    problems = memory.check()
    _say(f"  invariants: {problems or 'all hold'}")


def _best(memory: Memory, question: str, **options: Any) -> str:
    hits = memory.recall(question, project="tea-shop", kinds=("decision",), limit=1, **options).hits
    return f"{hits[0].text}  [{hits[0].kref.rpartition('/')[2]}]" if hits else "(nothing)"


def _hits(answer: Any) -> None:
    for hit in answer.hits:
        _say(f"  - {hit.text}\n      {hit.kref}  {hit.status}, {hit.trust}\n      why: {hit.why}")
    for warning in answer.warnings:
        _say(f"  note: {warning}")


def _head(text: str) -> None:
    bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    _say(f"\n{bold[0]}{text}{bold[1]}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
