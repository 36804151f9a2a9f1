"""Research bundles: packets of an agent as JSON lines in a new folder, redacted, with a manifest.

    FOLDER/TYPE.jsonl        {"id", "type", "state", "made", "source", "retention", "split", "body"}
    FOLDER/manifest.json     files with SHA-256 and rows, counts, training_approval: false

Secrets and personal data are replaced; the agent is a digest. What is excluded from research
(consent, standing, whatever is not named below) is not read at all. A row belongs to train,
validation or test by a digest of its agent and day, so that neighbors are never on both sides.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doxa.agent.evolution.types import BUNDLE, SCAFFOLD
from doxa.agent.records.records import (
    list_records,
    move_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.clock import NS, format_time
from doxa.base.errors import ConflictError, InputError, StoreError
from doxa.base.limits import BUNDLE_ROWS_ITEMS_MAX
from doxa.redaction.redact import redact
from doxa.store import Transaction

# The types that research may see, from where they come. Every other type is excluded.
SOURCES: dict[str, str] = {
    "governor_decision": "governor",
    "outcome_event": "ledger",
    SCAFFOLD: "refiner",
    "maturation_candidate": "maturation",
}
_HOT_DAYS, _WARM_DAYS = 7, 90


@dataclass(frozen=True, slots=True)
class ResearchBundle:
    """A research bundle: where it is, its manifest's hash, and whether an operator approved it for
    training."""

    kref: str
    folder: str
    manifest_hash: str
    rows: int
    redactions: int
    excluded: int
    state: str
    training_approval: bool


def retention_of(kind: str, age_ns: int) -> str:
    """Return the retention class of a record by its type and age: hot for a week, warm for 90 days,
    then cold; excluded from research where its type is not of it."""
    if kind not in SOURCES:
        return "excluded"
    days = age_ns / (86_400 * NS)
    return "hot" if days < _HOT_DAYS else "warm" if days < _WARM_DAYS else "cold"


def export_bundle(
    tx: Transaction, *, project: str, agent: str, folder: Path, kinds: tuple[str, ...]
) -> tuple[ResearchBundle, dict[str, str]]:
    """Write the record of a bundle, and return it with the text of each file, which `write_files`
    writes once the transaction is committed: who may not export gets no file. ConflictError if the
    folder exists.
    """
    if folder.exists():
        raise ConflictError(f"There is something at {folder}.", next_step="Name a new folder.")
    if not os.access(folder.absolute().parent, os.W_OK | os.X_OK):
        raise StoreError(
            f"The folder {folder} cannot be made: nothing can be written above it.",
            next_step="Name another place.",
        )
    chosen = kinds or tuple(SOURCES)
    unknown = [one for one in chosen if one not in SOURCES]
    if unknown:
        raise InputError(
            f"{unknown[0][:60]!r} is not a type for research.",
            next_step=f"Use {', '.join(SOURCES)}.",
            field="kinds",
        )
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    replaced = 0
    for kind in chosen:
        lines = []
        for row, found in _rows(tx, project, agent, kind):
            lines.append(json.dumps(row, ensure_ascii=False, sort_keys=True))
            replaced += found
        texts[f"{kind}.jsonl"] = "".join(f"{line}\n" for line in lines)
        counts[f"{kind}.jsonl"] = len(lines)
    files = [
        {"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest(), "rows": counts[name]}
        for name, text in texts.items()
    ]
    manifest = {
        "version": 1,
        "retention": "research_export",
        "files": files,
        "redactions": replaced,
        "excluded": len(SOURCES) - len(chosen),
        "training_approval": False,
    }
    body = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(body.encode()).hexdigest()
    record = write_record(
        tx,
        project=project,
        agent=agent,
        kind=BUNDLE,
        name=f"{tx.now:019d}",
        state="exported",
        text=folder.name,
        data={
            "files": files,
            "manifest_hash": digest,
            "redactions": replaced,
            "excluded": manifest["excluded"],
            "training_approval": False,
        },
    )
    return bundle_of(record, str(folder)), {**texts, "manifest.json": body}


def approve_bundle(
    tx: Transaction, kref: str, *, manifest_hash: str, folder: Path | None = None
) -> ResearchBundle:
    """Approve one bundle for training, by the hash of its manifest. An operator's alone. With
    `folder`, its files are compared first."""
    if folder is not None and digest_of(folder) != manifest_hash:
        raise ConflictError(
            f"The manifest in {folder} has another hash.", next_step="Export the bundle again."
        )
    record = read_record(require_record(tx, kref))
    if record.type != BUNDLE:
        raise InputError(
            f"{kref} is not a bundle.", next_step="Export one: bundle_export.", field="bundle"
        )
    if manifest_hash != record.data["manifest_hash"]:
        raise ConflictError(
            f"The manifest of {kref} has another hash.",
            next_step="Compare manifest.json with the record.",
            kref=kref,
        )
    return bundle_of(move_record(tx, kref, "training_approved", said=manifest_hash))


def bundle_of(record: Record, folder: str = "") -> ResearchBundle:
    """Return a bundle as it is shown."""
    said = record.data
    return ResearchBundle(
        record.kref,
        folder or record.text,
        said["manifest_hash"],
        sum(one["rows"] for one in said["files"]),
        said["redactions"],
        said["excluded"],
        record.state,
        record.state == "training_approved",
    )


def _rows(
    tx: Transaction, project: str, agent: str, kind: str
) -> Iterator[tuple[dict[str, Any], int]]:
    """Iterate over the rows of a type, each with the number of its replacements."""
    who = hashlib.sha256(f"{project}/{agent}".encode()).hexdigest()[:16]
    for record in list_records(
        tx, project=project, agent=agent, kind=kind, limit=BUNDLE_ROWS_ITEMS_MAX
    ):
        day = format_time(record.made)[:10]
        text, found = _clean(record.text, agent, who)
        body, more = _clean_data(dict(record.data), agent, who)
        yield (
            {
                "id": hashlib.sha256(record.kref.encode()).hexdigest()[:24],
                "agent": who,
                "type": kind,
                "state": record.state,
                "made": day,
                "source": SOURCES[kind],
                "retention": retention_of(kind, tx.now - record.made),
                "split": _split(who, day),
                "text": text,
                "body": body,
            },
            found + more,
        )


def _split(who: str, day: str) -> str:
    """Return train, validation or test in 80, 10 and 10 of a hundred, by agent and day."""
    at = int(hashlib.sha256(f"{who} {day}".encode()).hexdigest(), 16) % 10
    return "test" if at == 0 else "validation" if at == 1 else "train"


def _clean(text: str, agent: str, who: str) -> tuple[str, int]:
    done = redact(text, pii=True)
    return re.sub(rf"(?<!\w){re.escape(agent)}(?!\w)", who, done.text), len(done.findings)


def _clean_data(value: Any, agent: str, who: str) -> tuple[Any, int]:
    """Return data without secrets, personal data and names; addresses become digests."""
    if isinstance(value, str):
        if value.startswith("kref://"):
            return hashlib.sha256(value.encode()).hexdigest()[:24], 0
        return _clean(value, agent, who)
    if isinstance(value, dict):
        pairs = {name: _clean_data(one, agent, who) for name, one in value.items()}
        return {name: one for name, (one, _) in pairs.items()}, sum(n for _, n in pairs.values())
    if isinstance(value, list | tuple):
        parts = [_clean_data(one, agent, who) for one in value]
        return [one for one, _ in parts], sum(n for _, n in parts)
    return value, 0


def write_files(folder: Path, texts: dict[str, str]) -> None:
    """Write the files of a bundle to a new folder, for its owner alone."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ConflictError(
            f"There is something at {folder}.", next_step="Name a new folder."
        ) from None
    except OSError as error:
        raise StoreError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            next_step="Name another place.",
        ) from error
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, "utf-8")
        path.chmod(0o600)


def digest_of(folder: Path) -> str:
    """Return the hash of the manifest in a folder, after comparing each file with it. Raises
    ConflictError if one differs."""
    try:
        body = (folder / "manifest.json").read_bytes()
        found = [
            (one, hashlib.sha256((folder / Path(one["name"]).name).read_bytes()).hexdigest())
            for one in json.loads(body)["files"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"The bundle in {folder} cannot be read: {error}.", next_step="Export the bundle again."
        ) from error
    for one, digest in found:
        if digest != one["sha256"]:
            raise ConflictError(
                f"{one['name']} of {folder} is not what the manifest says.",
                next_step="Export the bundle again.",
            )
    return hashlib.sha256(body).hexdigest()
