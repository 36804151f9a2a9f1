"""Memory out and in again as JSON lines, in a format that is documented here and carries no database of ours.

    {"type": "doxa-export", "format": 1, "time": ...}
    {"type": "exchange", "kref", "project", "space", "thread", "session", "speaker", "role", "text", "time", "id", "caption"}   a turn, verbatim
    {"type": "revision", "kref", "status", "number", "tags", "project", "space", "name", "kind", "summary", ...}        oldest first of each item
    {"type": "edge", "edge", "source", "target", "metadata"}                                              between revisions and exchanges

Times are ISO 8601 UTC. Exporting an imported file gives the same lines but for the export's own time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from doxa.base.clock import format_time, parse_time
from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_LINE_BYTES_MAX
from doxa.belief import Draft, Ledger, parse_fact, parse_kref, read_exchange, read_revision
from doxa.curation.ingest import Ingest, Ingested
from doxa.curation.turns import Turn
from doxa.store import Identity, Store

FORMAT = 1
_STRUCTURE = ("HAS_SPACE", "HAS_ITEM", "HAS_REVISION", "CURRENT", "TAG", "HAS_ARTIFACT", "MEMBER", "HAS_THREAD", "HAS_EXCHANGE", "NEXT", "SUPERSEDES")


def export_lines(store: Store) -> Iterator[bytes]:
    """Every exchange, revision and typed edge, one JSON object a line, from one snapshot."""
    encode = msgspec.json.encode
    with store.read() as snapshot:
        yield encode({"type": "doxa-export", "format": FORMAT, "time": format_time(snapshot.now)})
        names = {node.props["kref"]: str(node.props.get("name", "")) for node in snapshot.labelled("Thread")}
        for node in snapshot.labelled("Exchange"):
            said = read_exchange(node)
            yield encode(
                {"type": "exchange", "kref": said.kref, "project": said.project, "space": said.space, "thread": names.get(said.thread, ""),
                 "session": said.session, "speaker": said.speaker, "role": said.role, "text": said.text, "time": format_time(said.time),
                 "id": said.source_id, "caption": str(node.props.get("caption", "")), "deprecated": said.deprecated}
            )  # fmt: skip
        for node in snapshot.labelled("Revision"):
            held = read_revision(snapshot, node)
            line = asdict(held) | {"type": "revision", "name": parse_kref(held.item).name, "time": format_time(held.time)}
            line |= {name: format_time(line[name]) for name in ("created", "valid_from", "valid_until") if line[name] is not None}
            yield encode(line)
        marks = ",".join("?" * len(_STRUCTURE))
        for kind, source, target, props in snapshot.rows(
            f"SELECT e.type, s.kref, d.kref, json(e.props) FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst "
            f"WHERE e.type NOT IN ({marks}) ORDER BY e.id",
            _STRUCTURE,
        ):
            yield encode({"type": "edge", "edge": kind, "source": source, "target": target, "metadata": msgspec.json.decode(props)})


def is_export(path: Path) -> bool:
    """Whether a file begins as an export of doxa does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(64).startswith(b'{"type":"doxa-export"')


def import_lines(store: Store, identity: Identity, path: Path) -> tuple[Ingested, int]:
    """Take an export in. Returns what the exchanges gave and how many revisions were stated. Importing twice changes nothing."""
    lines = list(_lines(path))
    results: list[Ingested] = []
    turns: dict[tuple[str, str], list[Turn]] = {}
    for line in lines:
        if line["type"] == "exchange":
            said = (line["thread"], line["session"], line["speaker"], line["role"], line["text"], parse_time(line["time"]))
            turns.setdefault((line["project"], line["space"]), []).append(Turn(*said, line["id"], line["caption"]))
    for (project, space), items in turns.items():
        results.append(Ingest(store, identity, project=project, space=space, extract_candidates=False).run(items))
    stated = _import_revisions(Ledger(store, identity), [line for line in lines if line["type"] == "revision"])
    _import_edges(Ledger(store, identity), store, [line for line in lines if line["type"] == "edge"])
    return _sum(results), stated


def _import_revisions(ledger: Ledger, lines: Iterable[dict[str, Any]]) -> int:
    stated = 0
    for line in lines:
        draft = Draft(
            summary=line["summary"], project=line["project"], space=line["space"], name=line["name"], kind=line["kind"], title=line["title"],
            topics=tuple(line["topics"]), keywords=tuple(line["keywords"]), facts=tuple(parse_fact(f) for f in line["facts"]),
            valid_from=_time(line["valid_from"]), valid_until=_time(line["valid_until"]), confidence=line["confidence"], trust=line["trust"],
            author=line["author"], time=parse_time(line["time"]), metadata=line["metadata"],
        )  # fmt: skip
        if ledger.has_revision(line["item"], line["number"]):
            continue
        change = ledger.put(draft)
        stated += change.action != "unchanged"
        if line["status"] == "deprecated":
            ledger.deprecate(line["item"])
    return stated


def _import_edges(ledger: Ledger, store: Store, lines: Iterable[dict[str, Any]]) -> None:
    for line in lines:
        with store.read() as snapshot:
            held = snapshot.rows(
                "SELECT 1 FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst WHERE e.type = ? AND s.kref = ? AND d.kref = ?",
                (line["edge"], line["source"], line["target"]),
            )
        if not held:
            ledger.link(line["source"], line["target"], kind=line["edge"], metadata=line["metadata"])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if len(line) > IMPORT_LINE_BYTES_MAX:
                raise _bad(path, number, "the line is too long")
            try:
                value = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise _bad(path, number, str(error)) from None
            if not isinstance(value, dict) or value.get("type") not in ("doxa-export", "exchange", "revision", "edge"):
                raise _bad(path, number, "it is of no known type")
            if value["type"] == "doxa-export":
                if value.get("format") != FORMAT:
                    raise _bad(path, number, f"format {value.get('format')} is not {FORMAT}")
                continue
            yield value


def _bad(path: Path, number: int, reason: str) -> InputError:
    return InputError(f"{path} line {number} cannot be read: {reason}.", next_step="Export again, or mend that line.", path=str(path), line=number)


def _time(value: str | None) -> int | None:
    return None if value is None else parse_time(value)


def _sum(results: list[Ingested]) -> Ingested:
    return Ingested(
        sum(r.added for r in results), sum(r.known for r in results), 0, sum(r.redacted for r in results),
        tuple(t for r in results for t in r.threads), tuple(c for r in results for c in r.changes),
    )  # fmt: skip
