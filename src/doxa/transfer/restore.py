"""Import the whole state of an export into a file that holds nothing: the same elements, versions,
times and rules, in one transaction.

The state is the same as where it came from, so its digest is. The log is the file's own: one
change, whose note names the digest and whose entries hold every version. Such a change cannot be
undone, nor made by an agent, since it states when things were believed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

from doxa.base.clock import format_time
from doxa.base.errors import ConflictError, DoxaError, InputError
from doxa.base.limits import IMPORT_AHEAD_MS, SKIPPED_ITEMS_MAX
from doxa.base.values import Properties, canonical
from doxa.belief import check_rule
from doxa.belief.graph import PROTECTED_TAGS
from doxa.ingestion.remember import clean_value
from doxa.store import Identity, Loader, Store, Times, Transaction, checked_access, is_empty
from doxa.transfer.erased_here import restored_note
from doxa.transfer.lines import (
    AccessLine,
    EdgeLine,
    ExportFile,
    Line,
    NodeLine,
    RuleLine,
    read_properties,
)
from doxa.transfer.merge import refuse_protected
from doxa.transfer.types import Imported

# What an address is made of: another value would contradict it.
_ADDRESS = frozenset(("kref", "project", "space", "name", "kind", "thread"))
_TROUBLE = (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError)
_VERIFIED = (
    "SELECT n.kref FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Revision' AND"
    " (n.props ->> '$.trust' = 'verified' OR EXISTS (SELECT 1 FROM edge e WHERE e.dst = n.id AND"
    " e.type = 'TAG' AND e.props ->> '$.name' IN (SELECT value FROM json_each(?))))"
)
_PROTECTED = (canonical(PROTECTED_TAGS).decode(),)
_COUNTED = {
    "added": "Exchange",
    "revisions": "Revision",
    "artifacts": "Artifact",
    "bundles": "Bundle",
}


class _Previewed(Exception):
    """Ends a transaction whose result was only to be seen."""

    def __init__(self, result: Imported) -> None:
        super().__init__()
        self.result = result


def restore(
    store: Store, identity: Identity, source: ExportFile, *, dry_run: bool, accept_protected: bool
) -> Imported:
    """Write the state of an export into an empty file. Raises InputError naming the line, or
    ConfirmationError for what is verified in it unless `accept_protected`; then nothing is
    written."""
    assert source.header is not None
    check_time(store, source)
    try:
        with store.write(identity, op="import", not_before=source.header.time + 1) as tx:
            result = load(tx, source)
            if not (dry_run or accept_protected):
                refuse_protected([row[0] for row in tx.rows(_VERIFIED, _PROTECTED)])
            tx.note = restored_note(source.digest)
            if dry_run:
                raise _Previewed(result)
    except _Previewed as preview:
        return preview.result
    if not tx.receipt_made:
        return result
    return replace(result, changes=(tx.tx,))


def load(tx: Transaction, source: ExportFile, *, derived: bool = True) -> Imported:
    """Load every line in a transaction on an empty file."""
    header = source.header
    assert header is not None
    if not is_empty(tx):
        raise ConflictError(
            "Somebody else wrote to this file just now; nothing was imported.",
            next_step="Repeat the import: it will merge.",
        )
    loader = Loader(tx, last_node=header.last_node, last_edge=header.last_edge, time=header.time)
    kinds: list[str] = []
    counts: Counter[str] = Counter()
    for number, line in source.elements():
        try:
            _load_line(loader, line, kinds)
        except DoxaError as error:
            raise source.invalid(number, error.message.rstrip(".")) from None
        except _TROUBLE as error:
            raise source.invalid(number, str(error)) from None
        if isinstance(line, NodeLine) and line.until is None:
            counts.update(line.labels)
            counts[""] += 1
        elif isinstance(line, EdgeLine) and line.until is None:
            counts["edge"] += 1
    try:
        loader.finish(derived=derived)
    except DoxaError as error:
        raise InputError(
            f"{source.path} cannot be imported: {error.message}",
            next_step="Export again, or correct it.",
            path=str(source.path),
        ) from None
    kept = loader.kept_rules
    found: dict[str, Any] = {name: counts[label] for name, label in _COUNTED.items()}
    return Imported(
        **found,
        nodes=counts[""],
        verified=len(tx.rows(_VERIFIED, _PROTECTED)),
        edges=counts["edge"],
        redacted=len(kinds),
        passed_over=len(kept),
        places=tuple(f"rule {name}"[:500] for name in kept[:SKIPPED_ITEMS_MAX]),
        restored=True,
        digest=source.digest,
    )


def _load_line(loader: Loader, line: Line, kinds: list[str]) -> None:
    match line:
        case RuleLine():
            check_rule(line.name, line.value)
            loader.rule(line.name, line.value)
        case NodeLine():
            props = read_properties(bytes(line.properties), owner=":".join(line.labels)[:200])
            times = Times(line.born, line.since, line.until)
            loader.node(line.id, line.labels, _clean(props, kinds), times, line.project)
        case EdgeLine():
            props = read_properties(bytes(line.properties), owner=line.edge[:200])
            loader.edge(
                line.id,
                line.edge,
                src=line.source,
                dst=line.target,
                props=_clean(props, kinds),
                times=Times(line.born, line.since, line.until),
                project=line.project,
            )
        case AccessLine():
            loader.access(line.element == "edge", line.id, checked_access(line.data))


def _clean(props: Properties, kinds: list[str]) -> Properties:
    """Remove secrets, which a file from elsewhere may hold."""
    addressed = "kref" in props
    return {
        name: value if addressed and name in _ADDRESS else clean_value(value, kinds)
        for name, value in props.items()
    }


def check_time(store: Store, source: ExportFile) -> None:
    """Refuse a state of the future: every later change would have to be later still."""
    assert source.header is not None
    now = store.clock.now_ns()
    if source.header.time > now + IMPORT_AHEAD_MS * 1_000_000:
        raise InputError(
            f"{source.path}, line 1: its state is of {format_time(source.header.time)}, more than"
            f" {timedelta(milliseconds=IMPORT_AHEAD_MS)} after the clock of this machine"
            f" ({format_time(now)}).",
            next_step="Set the clock, or correct the export.",
            path=str(source.path),
            line=1,
        )
