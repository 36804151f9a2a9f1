"""The command line: the same verbs as Python, for people and scripts.

Every command takes --db and --json. Exit codes: 0 done; 1 error; 2 the command line or input is wrong; 3 nothing is there; 4 refused (conflict,
constraint, role, confirmation); 5 the file or disk. With --json, results go to standard output and errors to standard error, each one JSON
value. Whoever types at a terminal acts as operator. Imports are inside the functions: a command pays only for what it uses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.base.errors import DoxaError

_USAGE_ERROR: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _Commands(TyperGroup):
    """With --json a wrong command line is one JSON error like any other; without, typer's usage text. Both end with 2."""

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
            return super().main(args, prog_name, complete_var, standalone_mode, windows_expand_args, **extra)
        try:
            code = super().main(given, prog_name, complete_var, False, windows_expand_args, **extra)
        except _USAGE_ERROR as error:
            said = str(getattr(error, "format_message", error.__str__)()).strip() or "No command was given."
            sys.stderr.write(_json({"error": _usage(said)}) + "\n")
            code = EXIT_CODES["input"]
        sys.exit(code if isinstance(code, int) else 0)


def _usage(message: str) -> dict[str, object]:
    from doxa.base.errors import InputError

    return InputError(message, next_step="See `doxa --help`, or `doxa COMMAND --help` for one command.", field="command line").as_dict()


app = typer.Typer(
    cls=_Commands, name="doxa", no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
    help="One memory for AI agents that a person can trust.",
)  # fmt: skip

EXIT_CODES = {"input": 2, "kref": 2, "limit": 2, "not_found": 3, "conflict": 4, "constraint": 4, "role": 4, "confirmation": 4}
_STORE_EXIT = 5

Db = Annotated[Path | None, typer.Option("--db", help="The memory file (default: DOXA_DB, or the user's data folder).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Project = Annotated[str, typer.Option("--project", "-p", help="The project.")]
KrefArg = Annotated[str, typer.Argument(help="An address: kref://project/space/name.kind[?r=N]", metavar="KREF")]
ValidFrom = Annotated[str | None, typer.Option(help="Since when it holds (ISO 8601); empty: no bound.")]
ValidUntil = Annotated[str | None, typer.Option(help="Until when it holds (ISO 8601); empty: no bound.")]
Confidence = Annotated[float | None, typer.Option(help="0 to 1.")]
Trust = Annotated[str | None, typer.Option(help="untrusted, candidate, stated, verified")]
Title = Annotated[str | None, typer.Option(help="A title.")]
Topic = Annotated[list[str] | None, typer.Option(help="A topic (repeatable).")]
EdgeOption = Annotated[list[str] | None, typer.Option(help="Only this edge type (repeatable).")]
EdgeArg = Annotated[str, typer.Argument(help="Such as DEPENDS_ON.")]
FactOption = Annotated[list[str] | None, typer.Option("--fact", help="A fact: 'subject|predicate|value' (repeatable).")]


@app.command()
def init(db: Db = None, as_json: Json = False) -> None:
    """Create the memory file (or open an old one) and say where it is."""
    with _memory(db, as_json) as memory:
        _show(memory.stats(), as_json, lambda s: f"memory is at {s['path']}")


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="What is believed, as one sentence.")],
    name: Annotated[str, typer.Option(help="A name under which it can be revised.")] = "",
    kind: Annotated[str, typer.Option(help="fact, decision, preference, ...")] = "fact",
    space: Annotated[str, typer.Option(help="Space within the project, such as a/b.")] = "",
    fact: FactOption = None,
    derived_from: Annotated[list[str] | None, typer.Option(help="kref of a source (repeatable).")] = None,
    depends_on: Annotated[list[str] | None, typer.Option(help="kref it rests on (repeatable).")] = None,
    valid_from: Annotated[str | None, typer.Option(help="ISO 8601.")] = None,
    valid_until: Annotated[str | None, typer.Option(help="ISO 8601.")] = None,
    confidence: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    trust: Annotated[str, typer.Option(help="untrusted, candidate, stated, verified")] = "stated",
    embedding_text: Annotated[str, typer.Option(help="What its vector is made of instead of its own text.")] = "",
    title: Title = None,
    topic: Topic = None,
    project: Project = "default",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """State one belief; one that says the same is not stored twice."""
    with _memory(db, as_json) as memory:
        made = memory.remember(
            text, project=project, space=space, name=name, kind=kind, facts=_facts(fact), valid_from=valid_from, valid_until=valid_until,
            confidence=confidence, trust=trust, derived_from=derived_from or (), depends_on=depends_on or (),
            embedding_text=embedding_text, title=title or "", topics=topic or (),
        )  # fmt: skip
        _embed_some(memory)
        _show(made, as_json, lambda m: _said(m.change, m.warnings))


@app.command()
def recall(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits.")] = 10,
    tokens: Annotated[int | None, typer.Option(help="Token budget of the hits' text.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind (repeatable).")] = None,
    space: Annotated[str, typer.Option(help="Only this space and below.")] = "",
    tag: Annotated[str, typer.Option(help="What carries this tag instead of current.")] = "current",
    trust: Annotated[str, typer.Option(help="At least this trust.")] = "",
    speaker: Annotated[str, typer.Option(help="Only what this speaker said.")] = "",
    since: Annotated[str | None, typer.Option(help="Said or stated from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Said or stated before this time.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="Only what holds at this time.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="What memory believed at this time.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Retired beliefs too.")] = False,
    words_only: Annotated[bool, typer.Option("--words-only", help="Without the meaning lane.")] = False,
    project: Annotated[str, typer.Option("--project", "-p", help="Only this project (default: all).")] = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Find what is believed or was said, with source, status and reason."""
    with _memory(db, as_json) as memory:
        answer = memory.recall(
            question, project=project, space=space, kinds=kind or (), tag=tag, trust=trust, speaker=speaker, since=since, until=until,
            valid_at=valid_at, as_of=as_of, history=history, limit=limit, tokens_max=tokens,
            lanes=("words",) if words_only else ("words", "meaning"),
        )  # fmt: skip
        _show(answer, as_json, _recall_text)


@app.command()
def get(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """Show what an address means now."""
    with _memory(db, as_json) as memory:
        _show(memory.get(kref), as_json, _fields_text)


@app.command()
def revise(
    kref: KrefArg,
    text: Annotated[str, typer.Argument(help="What is believed now.")],
    fact: FactOption = None,
    expect: Annotated[int | None, typer.Option(help="The revision that must be current.")] = None,
    title: Title = None,
    topic: Topic = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    confidence: Confidence = None,
    trust: Trust = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A new revision of an item; the old one leaves recall and stays in history. What is not given is carried over."""
    with _memory(db, as_json) as memory:
        given = _given(title=title, topics=topic, facts=_facts(fact), trust=trust, confidence=confidence)
        given |= _given(valid_from=valid_from, valid_until=valid_until)
        change = memory.revise(kref, text, expect=expect, **given)
        _embed_some(memory)
        _show(change, as_json, _said)


@app.command()
def supersede(
    kref: KrefArg,
    text: Annotated[str, typer.Argument(help="What replaces it.")],
    name: Annotated[str, typer.Option(help="A new name; without one the item keeps its address.")] = "",
    kind: Annotated[str | None, typer.Option(help="The new item's kind.")] = None,
    space: Annotated[str | None, typer.Option(help="The new item's space.")] = None,
    fact: FactOption = None,
    title: Title = None,
    topic: Topic = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    confidence: Confidence = None,
    trust: Trust = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Replace a belief, under its own address or a new one. What is not given is carried over."""
    with _memory(db, as_json) as memory:
        given = _given(title=title, topics=topic, facts=_facts(fact), trust=trust, confidence=confidence)
        given |= _given(valid_from=valid_from, valid_until=valid_until)
        change = memory.supersede(kref, text, **given, **_given(name=name or None, kind=kind, space=space))
        _embed_some(memory)
        _show(change, as_json, _said)


@app.command()
def contract(
    kref: KrefArg,
    fact: Annotated[str | None, typer.Option("--fact", help="Only this fact: 'subject|predicate|value'.")] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Stop believing an item, a pinned revision, or one fact."""
    with _memory(db, as_json) as memory:
        _show(memory.contract(kref, fact=_facts([fact])[0] if fact else None), as_json, _said)


@app.command("restore-item")
def restore_item(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """Bring a deprecated item or turn back into recall."""
    with _memory(db, as_json) as memory:
        _show(memory.restore(kref), as_json, _said)


@app.command()
def history(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """Every revision of an item and every move of its tags."""
    with _memory(db, as_json) as memory:
        _show(memory.history(kref), as_json, _history_text)


@app.command("as-of")
def as_of(kref: KrefArg, time: Annotated[str, typer.Argument(help="ISO 8601.")], tag: str = "current", db: Db = None, as_json: Json = False) -> None:
    """What a tag of an item pointed to at a time."""
    with _memory(db, as_json) as memory:
        _show(memory.as_of(kref, time, tag=tag), as_json, _fields_text)


@app.command()
def tag(
    kref: KrefArg, name: Annotated[str, typer.Argument(help="The tag.")], expect: int | None = None, db: Db = None, as_json: Json = False
) -> None:
    """Point a tag at the revision that the address means."""
    with _memory(db, as_json) as memory:
        _show(memory.tag(kref, name, expect=expect), as_json, _said)


@app.command()
def untag(
    kref: KrefArg, name: Annotated[str, typer.Argument(help="The tag.")], expect: int | None = None, db: Db = None, as_json: Json = False
) -> None:
    """Take a tag off an item."""
    with _memory(db, as_json) as memory:
        _show(memory.untag(kref, name, expect=expect), as_json, _said)


@app.command()
def rollback(kref: KrefArg, db: Db = None, as_json: Json = False) -> None:
    """Make the pinned revision (?r=N) current again."""
    with _memory(db, as_json) as memory:
        _show(memory.rollback(kref), as_json, _said)


@app.command()
def undo(change: Annotated[int, typer.Argument(help="The number of a change; see `doxa log`.")], db: Db = None, as_json: Json = False) -> None:
    """Reverse one change. Undoing an undo redoes."""
    with _memory(db, as_json) as memory:
        _show(memory.undo(change), as_json, _said)


@app.command()
def impact(kref: KrefArg, depth: int = 10, db: Db = None, as_json: Json = False) -> None:
    """What rests on a belief, directly or not."""
    with _memory(db, as_json) as memory:
        _show(memory.impact(kref, depth=depth), as_json, _walk_text)


@app.command()
def provenance(kref: KrefArg, depth: int = 10, db: Db = None, as_json: Json = False) -> None:
    """What a belief rests on, down to the conversation it came from."""
    with _memory(db, as_json) as memory:
        _show(memory.provenance(kref, depth=depth), as_json, _walk_text)


@app.command()
def path(
    start: KrefArg,
    end: Annotated[str, typer.Argument(help="kref")],
    depth: int = 10,
    edge: EdgeOption = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """The fewest typed edges between two addresses, in either direction."""
    with _memory(db, as_json) as memory:
        _show(memory.shortest_path(start, end, depth=depth, types=edge or ()), as_json, _walk_text)


@app.command()
def traverse(
    kref: KrefArg,
    direction: Annotated[str, typer.Option(help="out, in or both")] = "out",
    depth: int = 10,
    edge: EdgeOption = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """What is reached over typed edges."""
    with _memory(db, as_json) as memory:
        _show(memory.traverse(kref, direction=direction, depth=depth, types=edge or ()), as_json, _walk_text)  # type: ignore[arg-type]


@app.command()
def link(source: KrefArg, edge: EdgeArg, target: Annotated[str, typer.Argument(help="kref")], db: Db = None, as_json: Json = False) -> None:
    """A typed edge between two beliefs."""
    with _memory(db, as_json) as memory:
        _show(memory.link(source, target, kind=edge), as_json, _said)


@app.command()
def unlink(source: KrefArg, edge: EdgeArg, target: Annotated[str, typer.Argument(help="kref")], db: Db = None, as_json: Json = False) -> None:
    """Take a typed edge away."""
    with _memory(db, as_json) as memory:
        _show(memory.unlink(source, target, kind=edge), as_json, _said)


@app.command()
def attach(
    kref: KrefArg,
    name: Annotated[str, typer.Argument(help="The artifact's name, such as report.pdf.")],
    location: Annotated[str, typer.Argument(help="Where the file is; it is not read.")],
    sha256: Annotated[str, typer.Option("--hash", help="Its SHA-256.")] = "",
    size: Annotated[int, typer.Option(help="Its size in bytes.")] = 0,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Name a file that belongs to a revision."""
    with _memory(db, as_json) as memory:
        _show(memory.attach(kref, name, location=location, sha256=sha256, size_bytes=size), as_json, _said)


@app.command()
def bundle(
    kref: Annotated[str, typer.Argument(help="kref://project/name.bundle", metavar="KREF")],
    add: Annotated[list[str] | None, typer.Option(help="kref of an item to put in (repeatable).")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="kref of an item to take out (repeatable).")] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Group items; `get` shows them, `as-of` shows them as they were."""
    with _memory(db, as_json) as memory:
        _show(memory.bundle(kref, add=add or (), remove=remove or ()), as_json, _said)


@app.command()
def forget(
    kref: KrefArg,
    erase: Annotated[bool, typer.Option("--erase", help="Destroy the content for good instead of retiring it.")] = False,
    confirm: Annotated[str, typer.Option(help="The token of the preview.")] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would go.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Retire (undoable) or erase an item, revision, turn, thread, space or project."""
    with _memory(db, as_json) as memory:
        shown = memory.forget(kref, erase=erase, preview=True)
        only_preview = preview or (not confirm and (erase or shown.count > 1))
        result = shown if only_preview else memory.forget(kref, erase=erase, confirm=confirm)
        _show(result, as_json, _forgotten_text)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A file or folder: doxa JSONL or export, LoCoMo, Claude Code, ChatGPT, Claude.", show_default=False)],
    format: Annotated[str | None, typer.Option(help="Name the format instead of detecting it.")] = None,
    space: Annotated[str, typer.Option(help="Where the turns go.")] = "conversations",
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Make vectors right away (can be stopped; goes on later).")] = True,
    project: Project = "default",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Take histories in. Importing again adds only what is new."""
    from doxa.curation.transfer import is_export

    with _memory(db, as_json) as memory:
        summary: dict[str, object]
        if is_export(path):
            taken = memory.import_(path)
            summary = {
                "added": taken.added, "known": taken.known, "revisions": taken.revisions, "artifacts": taken.artifacts, "bundles": taken.bundles,
                "edges": taken.edges, "passed_over": taken.passed_over, "redacted": taken.redacted, "threads": len(taken.threads),
                "places": taken.places,
            }  # fmt: skip
        else:
            with _progress("turns", as_json) as advance:
                read = memory.ingest(path, project=project, space=space, format=format, progress=advance)
            summary = {
                "added": read.added, "known": read.known, "candidates": read.candidates, "redacted": read.redacted, "threads": len(read.threads),
                "skipped": read.skipped, "places": read.places,
            }  # fmt: skip
        if embed:
            with _progress("vectors", as_json) as advance:
                memory.embed(progress=advance)
        _show(summary | {"unembedded": memory.pending(), "next": f'doxa recall "..."{_db_hint(db)}'}, as_json, _fields_text)


@app.command()
def export(
    target: Annotated[Path | None, typer.Argument(help="A file (default: standard output).", show_default=False)] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Write every turn, revision and edge as JSON lines."""
    with _memory(db, as_json) as memory:
        if target is None:
            for line in memory.export():
                sys.stdout.buffer.write(line + b"\n")
            return
        from doxa.curation.transfer import write_export

        _show({"path": str(target), "lines": write_export(memory.store, target)}, as_json, _fields_text)


@app.command()
def embed(
    anew: Annotated[bool, typer.Option("--anew", help="Make all vectors again, after a change of model.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make the vectors that are due. Can be stopped at any time; what is left stays due."""
    with _memory(db, as_json) as memory:
        with _progress("vectors", as_json) as advance:
            made = memory.embed(anew=anew, progress=advance)
        error = memory.embedder_error
        _show({"embedded": made, "pending": memory.pending(), "model_error": str(error) if error else ""}, as_json, _fields_text)


@app.command()
def log(limit: Annotated[int, typer.Option("--limit", "-n")] = 20, db: Db = None, as_json: Json = False) -> None:
    """The latest changes: number, time, who, what."""
    with _memory(db, as_json) as memory:
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
        _show(rows, as_json, _log_text)


@app.command()
def verify(
    expect: Annotated[str, typer.Option(help="A head hash noted earlier: the log must still contain it.")] = "", db: Db = None, as_json: Json = False
) -> None:
    """Prove that the log is whole and that the state is what the log says."""
    with _memory(db, as_json, read_only=True) as memory:
        proof = memory.verify()
        if expect and not memory.has_receipt(expect):
            from doxa.base.errors import CorruptError

            raise CorruptError(
                f"No receipt of this log has the hash {expect[:80]}.", next_step="Compare with the backup it was noted from.", expected=expect[:80]
            )
        _show(proof, as_json, lambda p: f"{p.receipts} receipts and {p.entries} entries verify and replay ({p.erased} erased); head {p.head}")


@app.command()
def doctor(db: Db = None, as_json: Json = False) -> None:
    """Look at everything that can be wrong. Exit code 1 if something is; a model that is not installed is only noted."""
    from doxa.app import open_memory
    from doxa.base.errors import CorruptError
    from doxa.curation.doctor import unopened

    with _errors(as_json):
        try:
            with open_memory(db, role="operator", actor=_user(), background=False) as memory:
                findings = memory.doctor()
        except CorruptError as error:  # too damaged to be opened: that is a finding too
            findings = [unopened(error)]
        _show(findings, as_json, _doctor_text)
        if not all(finding.ok for finding in findings):
            raise typer.Exit(1)


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="A path that does not exist yet.", show_default=False)], db: Db = None, as_json: Json = False
) -> None:
    """A verified copy, while others read and write."""
    with _memory(db, as_json, read_only=True) as memory:
        made = memory.backup(target)
        _show({"path": str(made), "bytes": made.stat().st_size}, as_json, _fields_text)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="A new path.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Verify a backup and copy it to a new path; nothing that exists is replaced."""
    from doxa.app import open_memory

    with _errors(as_json):
        with open_memory(source, read_only=True, embedder=None) as memory:
            memory.verify()
            made = memory.backup(target)
        _show({"path": str(made), "next": f"doxa doctor --db {made}"}, as_json, _fields_text)


@app.command()
def stats(db: Db = None, as_json: Json = False) -> None:
    """Counts and sizes."""
    with _memory(db, as_json) as memory:
        _show(memory.stats(), as_json, _fields_text)


@app.command()
def mcp(
    project: Project = "default",
    actor: Annotated[str, typer.Option(help="The agent's name in the log.")] = "agent",
    config: Annotated[bool, typer.Option("--config", help="Print the entry for a host's list of servers, and end.")] = False,
    db: Db = None,
) -> None:
    """Serve the seven memory tools over stdio to an MCP host."""
    from doxa.app import open_memory

    if config:
        where = ["--db", str(db.absolute())] if db else []
        sys.stdout.write(_json({"mcpServers": {"memory": {
            "command": sys.executable, "args": ["-m", "doxa.cli", "mcp", "--project", project, "--actor", actor, *where],
        }}}) + "\n")  # fmt: skip
        return

    with _errors(False):
        try:
            from doxa.servers.mcp.server import serve_stdio
        except ImportError:
            from doxa.base.errors import InputError

            raise InputError("The MCP door needs the extra mcp.", next_step="Install it where doxa is: pip install 'mcp>=2.3'", extra="mcp") from None
        from doxa import __version__

        memory = open_memory(db, role="agent", actor=actor, project=project)
        serve_stdio(memory, memory.session(), version=__version__)


@app.command()
def demo(
    keep: Annotated[Path | None, typer.Option(help="Keep the demonstration's memory at this new path.", show_default=False)] = None,
) -> None:
    """Show the main job on a real store: five minutes of reading, seconds to run."""
    from doxa.demo import run

    with _errors(False):
        if keep is not None:
            _must_be_new(keep)
        run(keep)


def main() -> None:
    """The entry point of the `doxa` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows fewer characters is no reason to fail
    app()


# Around every command


@contextmanager
def _memory(db: Path | None, as_json: bool, *, read_only: bool = False) -> Iterator[Memory]:
    from doxa.app import open_memory

    with _errors(as_json), open_memory(db, role="operator", actor=_user(), background=False, read_only=read_only) as memory:
        yield memory


@contextmanager
def _errors(as_json: bool) -> Iterator[None]:
    """Turn our errors into a line on standard error and an exit code."""
    from doxa.base.errors import DoxaError, StoreError

    try:
        yield
    except DoxaError as error:
        raise SystemExit(_fail(error, as_json)) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:  # of a path that the command line names itself, such as the target of an export
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise SystemExit(_fail(StoreError(f"The system refused {what}.", next_step="Check the path, its folder and permissions."), as_json)) from None


def _fail(error: DoxaError, as_json: bool) -> int:
    from doxa.base.errors import StoreError

    sys.stderr.write((_json({"error": error.as_dict()}) if as_json else f"doxa: {error}") + "\n")
    return EXIT_CODES.get(error.code, _STORE_EXIT if isinstance(error, StoreError) else 1)


def _must_be_new(path: Path) -> None:
    from doxa.base.errors import InputError

    if path.exists():
        raise InputError(f"{path} exists already.", next_step="Give a path that does not exist yet.", path=str(path))


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"


def _embed_some(memory: Memory) -> None:
    """A single belief gets its vector at once if the model is at hand; a backlog waits for `doxa embed`."""
    from doxa.base.errors import DoxaError
    from doxa.base.limits import COMMAND_EMBED_DOCS

    if memory.pending() <= COMMAND_EMBED_DOCS:
        with suppress(DoxaError):  # the belief is stored; doctor says why it has no vector
            memory.embed(limit=COMMAND_EMBED_DOCS)


def _facts(texts: list[str] | None) -> list[tuple[str, str, str]]:
    found = []
    for text in texts or []:
        parts = [part.strip() for part in text.split("|")]
        if len(parts) != 3 or not all(parts):
            from doxa.base.errors import InputError

            raise InputError(
                f"A fact is 'subject|predicate|value'; this is {text[:80]!r}.", next_step="Give three parts with | between them.", field="fact"
            )
        found.append((parts[0], parts[1], parts[2]))
    return found


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given. An empty time takes a bound away."""
    found = {name: value for name, value in options.items() if value is not None and value != []}
    return {name: None if name in _TIMES and value == "" else value for name, value in found.items()}


def _db_hint(db: Path | None) -> str:
    return f" --db {db}" if db else ""


@contextmanager
def _progress(what: str, as_json: bool) -> Iterator[Callable[[int], None]]:
    """A count on standard error while it grows, on a terminal only."""
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.update(task, advance=count)


# Printing


def _json(value: object) -> str:
    import msgspec

    named = value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value
    plain = _with_times(msgspec.to_builtins(named, enc_hook=str))
    try:
        text = msgspec.json.encode(plain).decode()
        text.encode(sys.stdout.encoding or "utf-8")
        return text
    except UnicodeEncodeError:  # an argument that is not UTF-8, quoted by an error; or an output that is not
        import json

        return json.dumps(plain)


_TIMES = frozenset(("time", "recorded", "created", "since", "until", "valid_from", "valid_until"))


def _with_times(value: Any) -> Any:
    """Integer times as ISO 8601, wherever they are."""
    from doxa.base.clock import format_time

    if isinstance(value, dict):
        return {k: format_time(v) if k in _TIMES and isinstance(v, int) and not isinstance(v, bool) else _with_times(v) for k, v in value.items()}
    return [_with_times(item) for item in value] if isinstance(value, (list, tuple)) else value


def _show(value: Any, as_json: bool, text: Callable[[Any], str]) -> None:
    sys.stdout.write((_json(value) if as_json else text(value)) + "\n")


def _said(change: Any, warnings: tuple[str, ...] = ()) -> str:
    lines = [f"{change.action}: {change.kref or '(several)'}" + (f"  (change {change.change})" if change.change else "")]
    lines += [f"  was: {change.previous}"] if change.previous else []
    lines += [f"  + {f.subject} | {f.predicate} | {f.value}" for f in change.gained]
    lines += [f"  - {f.subject} | {f.predicate} | {f.value}" for f in change.lost]
    lines += [f"  {change.reason}"] if change.reason else []
    return "\n".join([*lines, *(f"  note: {w}" for w in warnings)])


def _recall_text(answer: Any) -> str:
    from doxa.base.clock import format_time

    lines = []
    for number, hit in enumerate(answer.hits, 1):
        status = "" if hit.status == "current" else f" [{hit.status}]"
        lines.append(f"{number:2}. {hit.text}{status}")
        lines.append(f"    {hit.kref}")
        lines.append(f"    {format_time(hit.time)[:16].replace('T', ' ')}  {hit.trust}  by {hit.speaker}  from {hit.source}")
        lines.append(f"    why: {hit.why}")
    lines.append(
        f"{len(answer.hits)} of {answer.searched} memories, {answer.mode}" + (f", {answer.pending} not embedded yet" if answer.pending else "")
    )
    return "\n".join([*lines, *(f"note: {w}" for w in answer.warnings)])


def _fields_text(value: Any) -> str:
    import msgspec

    data = _with_times(msgspec.to_builtins(value, enc_hook=str))
    return "\n".join(f"{name}: {_plain(item)}" for name, item in data.items() if item not in (None, "", [], {}))


def _plain(item: Any) -> str:
    if isinstance(item, dict) and "kref" in item:  # a bundle's member
        return f"{item['kref']} from {item['since']} to {item['until'] or 'now'}"
    if isinstance(item, list) and item and isinstance(item[0], dict):
        return "".join(f"\n  {_plain(part)}" for part in item)
    if isinstance(item, list):
        return "; ".join(" | ".join(map(str, part)) if isinstance(part, list) else str(part) for part in item)
    return str(item)


def _history_text(value: Any) -> str:
    from doxa.base.clock import format_time

    lines = [value.item]
    for revision in value.revisions:
        lines.append(f"  r={revision.number} {format_time(revision.created)} {revision.status} by {revision.author}: {revision.summary}")
    for move in value.tags:
        until = format_time(move.until) if move.until is not None else "now"
        lines.append(f"  {move.tag}: {move.kref.partition('?')[2]} from {format_time(move.since)} to {until}")
    for member in value.members:
        until = format_time(member.until) if member.until is not None else "now"
        lines.append(f"  {member.kref} from {format_time(member.since)} to {until}")
    return "\n".join(lines)


def _walk_text(walk: Any) -> str:
    lines = [walk.start]
    lines += [f"{'  ' * s.depth}{s.edge} {s.kref}{'' if s.current else ' [retired]'}" for s in walk.steps]
    return "\n".join([*lines, *([f"({walk.cut})"] if walk.cut else []), *(["nothing"] if not walk.steps and not walk.cut else [])])


def _forgotten_text(value: Any) -> str:
    if value.done:
        undo = f"; undo with: doxa undo {value.changes[-1]}" if value.mode == "retire" and value.changes else ""
        return f"{value.mode}d {value.count}{undo}" + (f" ({value.note})" if value.note else "")
    shown = "\n".join(f"  {kref}" for kref in value.krefs)
    return f"This would {value.mode} {value.count}:\n{shown}\nTo go on, repeat with --confirm {value.token}"


def _log_text(rows: list[dict[str, Any]]) -> str:
    from doxa.base.clock import format_time

    return "\n".join(f"{r['change']:6} {format_time(r['time'])[:19]} {r['op']:12} {r['entries']:5} entries  {r['actor']} ({r['role']})" for r in rows)


def _doctor_text(findings: Any) -> str:
    lines = []
    for finding in findings:
        mark = "NOT " if not finding.ok else "note" if finding.next_step else "ok  "
        lines.append(f"{mark} {finding.name:11} {finding.detail}")
        if finding.next_step:
            lines.append(f"                 {finding.next_step}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
