"""The verbs on the command line: values become arguments, a result becomes text or JSON.

Most verbs need nothing but their entry in the table. Those that do more on a terminal, such as a
preview before something is forgotten, have a function of their own here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.app.verbs import REPEATED, Verb
from doxa.cli.context import (
    db_hint,
    decay_enabled,
    embed_some,
    errors_reported,
    exit_code,
    import_numpy_alone,
    log_entries,
    note_old_name,
    opened,
    progress,
    project_named,
    stages,
    steps,
    user,
)
from doxa.cli.entities import entities_text, entity_text, patterns_text, pending_text
from doxa.cli.growth import (
    approval_text,
    contemplated_text,
    files_text,
    identity_text,
    metabolised_text,
    plan_text,
    records_text,
    signals_text,
)
from doxa.cli.output import (
    applied_text,
    audit_text,
    chat_text,
    chats_text,
    conflicts_text,
    consolidated_text,
    cursors_text,
    doctor_text,
    each_text,
    element_text,
    encoded,
    entries_text,
    erasure_text,
    event_text,
    fields_text,
    forgotten_text,
    history_text,
    holds_text,
    listing_text,
    log_text,
    match_text,
    proposals_text,
    recall_text,
    runs_text,
    said_text,
    shifts_text,
    show,
    spending_text,
    tasks_text,
    waiting_text,
    walk_text,
)
from doxa.cli.parsing.given import converted, mapping, standard_input

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.base.errors import InputError

Given = dict[str, Any]
_READ_ONLY = ("verify", "backup")
_EMBEDDING = ("remember", "tell", "revise", "expand", "supersede")
WITHOUT_MEANING = ("words", "entities", "time", "graph", "recency", "policy")


def run(verb: Verb, values: Mapping[str, Any]) -> None:
    """Carry out one command with the values of its options."""
    rest = dict(values)
    db, as_json = rest.pop("db"), rest.pop("as_json")
    special = _SPECIAL.get(verb.name)
    if verb.name == "doctor":
        _doctor(rest, db, as_json)
        return
    if verb.name == "restore" and _is_backup(rest, as_json):
        return
    if verb.name == "recall":
        import_numpy_alone()
        if not rest["words_only"] and (not rest["lanes"] or "meaning" in rest["lanes"]):
            from doxa.app.models import load_model_ahead

            load_model_ahead()
    read_only = verb.name in _READ_ONLY
    with opened(db, as_json, read_only=read_only, only_reads=not verb.writes) as memory:
        if rest.get("project") == "auto" and verb.name != "ingest":
            rest["project"] = project_named("auto")
        if special is not None:
            special(memory, verb, rest | {"db": db}, as_json)
            return
        result = call(memory, verb, rest)
        if verb.name in _EMBEDDING:
            embed_some(memory)
        text = _rules_text if verb.name == "rules" else _TEXTS.get(verb.result, fields_text)
        show(result, as_json, text)


def call(memory: Memory, verb: Verb, values: Mapping[str, Any], **more: Any) -> Any:
    """Call the verb with what was given, and `more` that a command line cannot give."""
    given: Given = {}
    for parameter in verb.of("cli"):
        value = values.get(parameter.name)
        if value is not None and not (parameter.kind in REPEATED and not value):
            given[parameter.name] = converted(verb, parameter, value)
    placed = [one.name for one in verb.parameters if one.positional and one.name in given]
    return getattr(memory, verb.name)(*[given.pop(name) for name in placed], **given, **more)


# Verbs that do more on a terminal


def _recall(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    if values["words_only"] and not values["lanes"]:
        values["lanes"] = list(WITHOUT_MEANING)
    answer = call(memory, verb, values)
    tokens = values["tokens_max"]
    show(answer, as_json, (lambda a: a.framed(tokens)) if values["framed"] else recall_text)


def _recent(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    found = call(memory, verb, values)
    show(found, as_json, lambda hits: "\n".join(f"{hit.text}\n    {hit.kref}" for hit in hits))


def _ingest(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    from doxa.app.file import is_export, is_vault
    from doxa.base.errors import LimitError
    from doxa.cli.imports import import_path, is_import, summary_text

    path = Path(values["source"])
    if is_export(path) or (values["format"] is None and is_vault(path)):
        summary = _imported(_import_export(memory, path, values, as_json))
        if values["dry_run"]:
            show(summary, as_json, fields_text)
            return
    elif is_import(path, values["format"]):
        summary = import_path(memory, path, values, as_json)
        if values["dry_run"]:
            show(summary, as_json, summary_text)
            return
    else:
        _refuse_dry_run(values)
        values["project"] = project_named(values["project"]) if values["project"] else None
        with progress("turns", as_json) as advance:
            done = call(_Progressing(memory, advance), verb, values)  # type: ignore[arg-type]
        summary = {
            "added": done.added,
            "known": done.known,
            "candidates": done.candidates,
            "redacted": done.redacted,
            "threads": len(done.threads),
            "skipped": done.skipped,
            "cut": done.cut,
            "places": done.places,
            "untrusted": done.untrusted,
            "vouched": done.vouched,
        }
        if done.untrusted:
            summary["note"] = (
                "The origin of these turns is not known: recall lists them last. If you vouch for"
                " it, import again with --trust stated."
            )
    if values["embed"]:
        # what was read is stored; if a cap on spending ends this, `unembedded` counts what is left
        total = memory.pending(in_use=True)
        with suppress(LimitError), progress("vectors", as_json, total=total) as advance:
            memory.embed(progress=advance)
    summary["unembedded"] = memory.pending(in_use=True)
    summary["next"] = f'doxa recall "..."{db_hint(values["db"])}'
    show(summary, as_json, summary_text if "formats" in summary else fields_text)


def _refuse_dry_run(values: Given) -> None:
    from doxa.base.errors import InputError

    if values["dry_run"]:
        raise InputError(
            "A dry run is of an export of doxa, or of a format that names its messages itself.",
            next_step="Import it into another file with --db, and look at that.",
            field="dry_run",
        )


def _import_export(memory: Memory, path: Path, values: Given, as_json: bool) -> Any:
    """Import an export; on a terminal, ask before what is verified or approved in it is taken."""
    import typer

    from doxa.app.file import is_export
    from doxa.base.errors import ConfirmationError

    take = memory.import_ if is_export(path) else memory.import_notes
    try:
        return take(path, dry_run=values["dry_run"], accept_protected=values["accept_protected"])
    except ConfirmationError as error:
        if as_json or not sys.stdin.isatty():
            raise
        if not typer.confirm(f"{error.message} Import them as such?", err=True):
            raise
    return take(path, accept_protected=True)


def _extract(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    with progress("turns", as_json) as advance:
        done = call(_Progressing(memory, advance), verb, values)  # type: ignore[arg-type]
    embed_some(memory)
    show(
        {"turns": done.turns, "candidates": done.candidates, "changes": done.changes},
        as_json,
        fields_text,
    )


class _Progressing:
    """A memory whose ingestion and extraction report their progress."""

    def __init__(self, memory: Memory, advance: Callable[[int], None]) -> None:
        self._memory, self._advance = memory, advance

    def ingest(self, source: Any, **options: Any) -> Any:
        return self._memory.ingest(source, progress=self._advance, **options)

    def extract(self, **options: Any) -> Any:
        return self._memory.extract(progress=self._advance, **options)


def _imported(done: Any) -> dict[str, object]:
    return {
        "added": done.added,
        "known": done.known,
        "revisions": done.revisions,
        "artifacts": done.artifacts,
        "bundles": done.bundles,
        "edges": done.edges,
        "nodes": done.nodes,
        "verified": done.verified,
        "restored": done.restored,
        "digest": done.digest,
        "passed_over": done.passed_over,
        "redacted": done.redacted,
        "threads": len(done.threads),
        "places": done.places,
    }


def _export(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    from dataclasses import asdict

    from doxa.base.errors import InputError

    target, format = values["target"], values["format"]
    if format != "lines":
        if target is None or str(target) == "-":
            raise InputError(
                f"An export as {format} needs a path.", next_step="Give one.", field="target"
            )
        if format == "markdown":
            with steps(as_json, "writing notes"):
                done = memory.export_notes(target, projects=values["projects"] or ())
            show({"path": str(target)} | asdict(done), as_json, fields_text)
        else:
            with steps(as_json, "writing entities and relations"):
                lines = memory.export_memory_json(target, projects=values["projects"] or ())
            show({"path": str(target), "lines": lines}, as_json, fields_text)
        return
    if values["projects"]:
        raise InputError(
            "An export as lines is of the whole file.",
            next_step="Leave --project out, or give --format markdown or memory-json.",
            field="projects",
        )
    if target is None or str(target) == "-":
        with stages(as_json) as begin:
            for line in memory._exported(begin):
                sys.stdout.buffer.write(line + b"\n")
        return
    with stages(as_json) as begin:
        lines = memory._exported_to(target, begin)
    show({"path": str(target), "lines": lines}, as_json, fields_text)


def _embed(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    with progress("vectors", as_json, total=values["limit"] or memory.pending()) as advance:
        made = memory.embed(limit=values["limit"], anew=values["anew"], progress=advance)
    error = memory.embedder_error
    coming = memory.reembedding()
    found: dict[str, object] = {"embedded": made, "pending": memory.pending()}
    if coming is not None:
        found |= {
            "coming": coming.model,
            "coming_made": coming.made,
            "coming_due": coming.due,
        }
    show(found | {"model_error": str(error) if error else ""}, as_json, fields_text)
    if error is not None and (found["pending"] or found.get("coming_due")):
        raise SystemExit(exit_code(error))  # what it left undone is in the output


def _forget(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    kref, erase, confirm = values["kref"], values["erase"], values["confirm"]
    shown = memory.forget(kref, erase=erase, preview=True)
    only_preview = values["preview"] or (not confirm and (erase or shown.count > 1))
    result = shown if only_preview else memory.forget(kref, erase=erase, confirm=confirm)
    show(result, as_json, forgotten_text)


def _erase(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    """Show the preview of an erasure, unless its token is given."""
    confirm = values["confirm"]
    given = values | {"preview": values["preview"] or not confirm}
    show(call(memory, verb, given), as_json, forgotten_text)


def _constrain(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    text = Path(values["file"]).read_text(encoding="utf-8", errors="replace")
    given = mapping(text, "file", of="functional (predicates), exclusions and rules (sentences)")
    whole = given.keys() <= {"constraints", "entrenchment"}
    rules: dict[str, Any] = given if whole else {"constraints": given}
    change = memory.constrain(
        rules.get("constraints"),
        entrenchment=rules.get("entrenchment"),
        project=values["project"],
        dry_run=values["dry_run"],
    )
    show(change, as_json, said_text)


def _log(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
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
        for r in call(memory, verb, values)
    ]
    show(rows, as_json, log_text)


def _events(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    """One line for each event, with --json one JSON value."""
    with call(memory, verb, values) as stream:
        for event in stream:
            sys.stdout.write((encoded(event.as_dict()) if as_json else event_text(event)) + "\n")
            if values["follow"]:
                sys.stdout.flush()


def _nightshift(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    """What became of each job; with --follow of those that were done, as it happens."""
    if not values["follow"]:
        with steps(as_json) as began:
            own = {name: one for name, one in values.items() if name not in ("follow", "project")}
            done = memory._nightshift(values["project"] or memory.project, own, began)
        show(done, as_json, shifts_text)
        return
    given = {name: one for name, one in values.items() if name != "follow"}
    where = given.pop("project") or memory.project
    for done in memory._followed(where, {**given, "project": where}):
        show(done, as_json, shifts_text)
        sys.stdout.flush()


def _consolidate(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    with progress("sessions", as_json) as advance:
        found = call(memory, verb, values, progress=advance)
    show(found, as_json, consolidated_text)


def _record_mentions(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    with progress("sources", as_json) as advance:
        found = call(memory, verb, values, progress=advance)
    show(found, as_json, fields_text)


def _cursors(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    rows = [one._asdict() for one in call(memory, verb, values)]
    show(rows, as_json, cursors_text)


def _set_cursor(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    call(memory, verb, values)
    done = "removed" if values["remove"] else "set"
    show({"cursor": values["name"], "done": done}, as_json, fields_text)


def _verify(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    expect = values["expect"]
    with progress("log entries", as_json, total=2 * log_entries(memory)) as advance:
        proof = memory.verify(progress=advance)
    if expect and not memory.has_receipt(expect):
        from doxa.base.errors import CorruptError

        raise CorruptError(
            f"No receipt of this log has the hash {expect[:80]}.",
            next_step="Compare with the backup it was noted from.",
            expected=expect[:80],
        )
    show(proof, as_json, _proof_text)


def _verify_erased(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    text = standard_input() if values["text"] == "-" else values["text"]
    with stages(as_json) as begin:
        proof = memory._looked_for(text, begin)
    show(proof, as_json, _TEXTS[verb.result])


def _proof_text(proof: Any) -> str:
    return (
        f"{proof.receipts} receipts and {proof.entries} entries verify and replay"
        f" ({proof.erased} erased); head {proof.head}"
    )


def _explain(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    found, svg = call(memory, verb, values), values["svg"]
    if svg is None:
        show(found, as_json, _TEXTS.get(verb.result, fields_text))
        return
    from doxa.cli.pictures.commands import write_svg
    from doxa.cli.pictures.svg import explanation_svg

    show(write_svg(svg, explanation_svg(found)), as_json, fields_text)


def _backup(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    from doxa.app.care.copies import file_bytes

    with progress("bytes copied", as_json, total=file_bytes(memory.store)) as advance:
        made = memory.backup(values["path"], progress=advance)
    _note_backup(memory, made)
    show({"path": str(made), "bytes": made.stat().st_size}, as_json, fields_text)


def _note_backup(memory: Memory, made: Path) -> None:
    """Remember the path where the file can be written, for `verify-erased`: the memory is open for
    reading only."""
    from doxa.app import open_memory
    from doxa.base.errors import DoxaError

    with (
        suppress(DoxaError),
        open_memory(memory.store.path, background=False, embedder=None) as written,
    ):
        written.store.note_copy(made, kind="backup")


def _rules_text(found: Any) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False)


def _doctor(values: Given, db: Path | None, as_json: bool) -> None:
    """Exit code 1 if something is wrong; a model that is not installed is only noted."""
    from doxa.app.file import damaged_file
    from doxa.base.errors import CorruptError

    with errors_reported(as_json):
        try:
            with _to_examine(db) as memory, stages(as_json) as begin:
                findings = memory._examined(models=values["models"], stages=begin)
        except CorruptError as error:  # too damaged to open: that is a finding too
            findings = damaged_file(error)
        show(findings, as_json, doctor_text)
        if not all(finding.ok for finding in findings):
            raise SystemExit(1)


def _to_examine(db: Path | None) -> Memory:
    """Open a file without writing to it; one that does not exist, or is of an older format, as any
    other command opens it."""
    from doxa.app import open_memory
    from doxa.base.errors import CorruptError, StoreError

    opened = partial(
        open_memory,
        db,
        role="operator",
        actor=user(),
        background=False,
        decay_enabled=decay_enabled(),
    )
    try:
        return opened(read_only=True)
    except CorruptError:
        raise
    except StoreError:
        return opened()


def _is_backup(values: Given, as_json: bool) -> bool:
    """`restore BACKUP NEW` was the name of `restore-backup`."""
    target = values.pop("target")
    if target is None:
        return False
    from doxa.cli.maintenance import restore_backup

    if values["kref"].startswith("kref:"):
        with errors_reported(as_json):
            raise _one_address()
    if not as_json:
        note_old_name("restore BACKUP NEW", "restore-backup BACKUP NEW")
    restore_backup(Path(values["kref"]), target, as_json=as_json)
    return True


def _one_address() -> InputError:
    from doxa.base.errors import InputError

    return InputError(
        "restore takes one address.",
        next_step="Give one; to restore a backup, use restore-backup.",
        field="command line",
    )


def _context(memory: Memory, verb: Verb, values: Given, as_json: bool) -> None:
    """The text of a context, or each line with its reason."""
    explain = values.pop("explain")
    found = call(memory, verb, values)
    if as_json:
        from dataclasses import asdict

        parts = {"instructions": found.instructions, "quotations": found.quotations}
        show(asdict(found) | parts, as_json, str)
        return
    empty = f"memory holds nothing for the project {found.project} yet"
    show(found, as_json, lambda one: one.explained() if explain else one.text or empty)


_SPECIAL: dict[str, Callable[[Memory, Verb, Given, bool], None]] = {
    "recall": _recall,
    "recent": _recent,
    "context_assemble": _context,
    "ingest": _ingest,
    "extract": _extract,
    "export": _export,
    "embed": _embed,
    "forget": _forget,
    "erase": _erase,
    "purge": _erase,
    "constrain": _constrain,
    "log": _log,
    "events": _events,
    "consolidate": _consolidate,
    "cursors": _cursors,
    "nightshift": _nightshift,
    "record_mentions": _record_mentions,
    "set_cursor": _set_cursor,
    "verify": _verify,
    "verify_erased": _verify_erased,
    "explain": _explain,
    "backup": _backup,
}
_TEXTS: dict[str, Callable[[Any], str]] = {
    "Change": said_text,
    "Chat": chat_text,
    "list[ChatSummary]": chats_text,
    "list[EntityInfo]": entities_text,
    "EntityPage": entity_text,
    "list[PendingMention]": pending_text,
    "list[PathYield]": patterns_text,
    "Consolidated": consolidated_text,
    "list[Pending]": waiting_text,
    "list[Task]": tasks_text,
    **dict.fromkeys(
        (
            "list[ExchangePair]",
            "list[HookLoad]",
            "list[KnowledgeEntry]",
            "list[SessionInfo]",
            "list[TopicInfo]",
        ),
        entries_text,
    ),
    "HandoffView | None": lambda found: fields_text(found) if found else "There is none.",
    "list[Record]": records_text,
    "CrystallisePlan": plan_text,
    "CrystalliseApproval": approval_text,
    "AgentIdentity": identity_text,
    "list[IdentityFile]": files_text,
    "list[TurnSignals]": signals_text,
    "Metabolised": metabolised_text,
    "Contemplated": contemplated_text,
    "int": str,
    "str": str,
    "Remembered": lambda made: said_text(made.change, made.warnings),
    "Walk": walk_text,
    "MatchResult": match_text,
    "list[Conflict]": conflicts_text,
    "MemoryAudit": audit_text,
    "DreamReport": lambda found: str(found.markdown),
    "list[Shift]": shifts_text,
    "list[RunInfo]": runs_text,
    "list[JobProposal]": proposals_text,
    "list[Applied]": applied_text,
    "ErasureProof": erasure_text,
    "list[LegalHold]": holds_text,
    "Explanation": lambda found: str(found.page()),
    "Spending": spending_text,
    "History": history_text,
    "Listing": listing_text,
    "list[LeaseInfo]": each_text,
    "list[Scaffold]": each_text,
    "list[dict[str, object]]": each_text,
    "Revision | Exchange | Place | Bundle | Conflict": element_text,
}
