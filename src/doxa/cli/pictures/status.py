"""`doxa status`: what a memory holds, what of it grows, how fast, and what would trim it."""

from __future__ import annotations

from typing import Any

from doxa.cli.context import Db, Json, opened
from doxa.cli.output import show
from doxa.cli.pictures.sparkline import bar, sized, sparkline


def status(db: Db = None, as_json: Json = False) -> None:
    with opened(db, as_json, read_only=True) as memory:
        found = memory.growth()
        value = {
            "stats": memory.stats(),
            **found._asdict(),
            "parts": [one._asdict() for one in found.parts],
            "operations": [list(one) for one in found.operations],
            "backup": found.backup._asdict() if found.backup else None,
        }
        show(value, as_json, status_text)


def status_text(value: dict[str, Any]) -> str:
    """Return a status for a terminal."""
    stats, backup = value["stats"], value["backup"]
    lines = [
        f"{stats['path']}: {sized(value['bytes'])}, {sized(value['free_bytes'])} of it free,"
        f" {sized(value['wal_bytes'])} in the write-ahead log",
        f"{stats['items']:,} items, {stats['revisions']:,} revisions, {stats['exchanges']:,} turns,"
        f" {stats['unembedded']:,} without a vector; change {stats['changes']:,}",
        f"last backup: {_backup_text(backup) if backup else 'none; `doxa backups run` makes them'}",
    ]
    if value["epoch"]:
        lines.append(f"epoch {value['epoch']}: the file was copied, and written to since")
    if value["copy_of"]:
        lines.append(f"a copy ({value['copy_of']}); its first change begins an epoch")
    if "replica" in stats:
        lines.append(_replica_text(stats["replica"]))
    weeks = value["weeks"]
    lines += [
        "",
        f"{sparkline(weeks)}  entries of the log in the last {len(weeks)} weeks;"
        f" about {sized(value['bytes_per_week'])} a week",
    ]
    lines += [f"  {entries:>9,}  {op}" for op, entries in value["operations"]]
    lines.append("")
    largest = max((part["bytes"] for part in value["parts"]), default=0)
    for part in value["parts"]:
        if part["bytes"]:
            trim = f"  trim: {part['trim']}" if part["trim"] else ""
            drawn = bar(part["bytes"], largest, 12)
            lines.append(
                f"{part['part']:<20}{sized(part['bytes']):>10}  {drawn:<12}{trim}".rstrip()
            )
    if value["snapshot_bytes"]:
        lines.append(
            f"snapshots before migrations, next to the file: {sized(value['snapshot_bytes'])}"
        )
    return "\n".join(lines)


def _backup_text(backup: dict[str, Any]) -> str:
    ago = f"{backup['age_s'] / 86_400:.1f} days ago"
    if not backup["exists"]:
        return f"{ago}, and is not there any more"
    if backup["problem"]:
        return f"{ago}; its restore test failed: {backup['problem']}"
    return f"{ago}, {'restored as a test' if backup['tested'] else 'not tested by a restore'}"


def _replica_text(found: dict[str, Any]) -> str:
    age = "never heard of" if found["age_s"] is None else f"heard of {found['age_s']:.0f} s ago"
    told = "" if found["reachable"] else f": {found['problem']}"
    return (
        f"a replica of tenant {found['tenant']}: {found['behind']:,} changes behind; the engine was"
        f" {age}{told}"
    )
