"""Memory out and in again as JSON lines, in a format that is documented here and carries no database of ours.

    {"type": "doxa-export", "format": 1, "time": ...}
    {"type": "exchange", "kref", "project", "space", "thread", "session", "speaker", "role", "text", "time", "id", "caption"}   a turn, verbatim
    {"type": "revision", "kref", "status", "number", "tags", "project", "space", "name", "kind", "summary", ...}        oldest first of each item
    {"type": "edge", "edge", "source", "target", "metadata"}                                              between revisions and exchanges

Times are ISO 8601 UTC. Exporting an imported file gives the same lines but for the export's own time; when a file recorded a revision is its
log's to say and is no part of a line. Bundles and artifacts are not exported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from doxa.base.clock import format_time, parse_time
from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_LINE_BYTES_MAX
from doxa.belief import Draft, Ledger, parse_fact, parse_kref, read_exchange, read_revision
from doxa.curation.ingest import Ingest, Ingested
from doxa.curation.turns import Turn, TurnRole, readable
from doxa.store import Identity, Store

FORMAT = 1
_STRUCTURE = ("HAS_SPACE", "HAS_ITEM", "HAS_REVISION", "CURRENT", "TAG", "HAS_ARTIFACT", "MEMBER", "HAS_THREAD", "HAS_EXCHANGE", "NEXT", "SUPERSEDES")
_ITEM = "substr({0}.props ->> '$.kref', 1, instr({0}.props ->> '$.kref', '?') - 1)"


class _Header(msgspec.Struct, tag="doxa-export"):
    format: int


class _Said(msgspec.Struct, tag="exchange"):
    kref: str
    project: str
    space: str
    thread: str
    session: str
    speaker: str
    role: TurnRole
    text: str
    time: str
    id: str = ""
    caption: str = ""
    deprecated: bool = False


class _Stated(msgspec.Struct, tag="revision"):
    kref: str
    item: str
    number: int
    status: str
    project: str
    space: str
    name: str
    kind: str
    summary: str
    time: str
    title: str = ""
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str | bool | int | float], ...] = ()
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: float = 1.0
    trust: str = "stated"
    author: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class _Link(msgspec.Struct, tag="edge"):
    edge: str
    source: str
    target: str
    metadata: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(_Header | _Said | _Stated | _Link)


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
            del line["created"]
            line |= {name: format_time(line[name]) for name in ("valid_from", "valid_until") if line[name] is not None}
            yield encode(line)
        marks = ",".join("?" * len(_STRUCTURE))
        for kind, source, target, props in snapshot.rows(
            f"SELECT e.type, s.kref, d.kref, json(e.props) FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst "
            f"WHERE e.type NOT IN ({marks}) OR (e.type = 'SUPERSEDES' AND {_ITEM.format('s')} != {_ITEM.format('d')}) ORDER BY e.id",
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
    results = _import_said(store, identity, [line for line in lines if isinstance(line, _Said)])
    ledger = Ledger(store, identity)
    moved = _import_stated(ledger, [line for line in lines if isinstance(line, _Stated)])
    _import_edges(ledger, store, [line for line in lines if isinstance(line, _Link)], moved=moved)
    return _sum(results), len(moved)


def _import_said(store: Store, identity: Identity, lines: list[_Said]) -> list[Ingested]:
    """Exchanges under the addresses they had, in the order of the lines; a retired one is retired here too if it is new here."""
    jobs: dict[tuple[str, str], Ingest] = {}
    results: dict[tuple[str, str], Ingested] = {}
    with store.read() as snapshot:
        retired = [line.kref for line in lines if line.deprecated and snapshot.node_by_kref(line.kref) is None]
    for place, together in groupby(lines, key=lambda line: (line.project, line.space)):
        job = jobs.setdefault(place, Ingest(store, identity, project=place[0], space=place[1], extract_candidates=False))
        turns = [(parse_kref(line.kref).name, _turn(line)) for line in together]
        held = results.get(place)
        made = job.run_identified(turns)
        results[place] = replace(made, changes=held.changes + made.changes) if held else made
    for kref in retired:
        Ledger(store, identity).deprecate(kref)
    return list(results.values())


def _turn(line: _Said) -> Turn:
    texts = (readable(text) for text in (line.thread, line.session, line.speaker, line.text, line.id, line.caption))
    thread, session, speaker, text, source_id, caption = texts
    return Turn(thread, session, speaker, line.role, text, parse_time(line.time), source_id, caption)


def _import_stated(ledger: Ledger, lines: list[_Stated]) -> dict[str, str]:
    """The new revisions' addresses there and here: numbers close up where one had been erased."""
    moved: dict[str, str] = {}
    items: dict[str, list[_Stated]] = {}
    for line in lines:
        if ledger.has_revision(line.item, line.number):
            continue
        draft = Draft(
            summary=line.summary, project=line.project, space=line.space, name=line.name, kind=line.kind, title=line.title, topics=line.topics,
            keywords=line.keywords, facts=tuple(parse_fact(f) for f in line.facts), valid_from=_time(line.valid_from),
            valid_until=_time(line.valid_until), confidence=line.confidence, trust=line.trust, author=line.author, time=parse_time(line.time),
            metadata=line.metadata,
        )  # fmt: skip
        change = ledger.put(draft)
        if change.action == "unchanged" and line.item in items:  # said again after a rollback: a revision of its own all the same
            ledger.contract(change.kref)
            change = ledger.put(draft)
        if change.action != "unchanged":
            moved[line.kref] = change.kref
            items.setdefault(line.item, []).append(line)
    for item, stated in items.items():
        _point_tags(ledger, item, stated, moved=moved)
    return moved


def _point_tags(ledger: Ledger, item: str, stated: list[_Stated], *, moved: dict[str, str]) -> None:
    """Every tag where the export says, after the revisions of an item were made and the last of them became current."""
    current = [line for line in stated if "current" in line.tags]
    if current:
        ledger.rollback(moved[current[-1].kref])
    else:
        ledger.contract(moved[stated[-1].kref])
    for line in stated:
        for tag in line.tags:
            if tag not in ("current", "initial"):
                ledger.tag(moved[line.kref], tag)
    if stated[-1].status == "deprecated":
        ledger.deprecate(item)


def _import_edges(ledger: Ledger, store: Store, lines: list[_Link], *, moved: dict[str, str]) -> None:
    for line in lines:
        source, target = moved.get(line.source, line.source), moved.get(line.target, line.target)
        with store.read() as snapshot:
            held = snapshot.rows(
                "SELECT 1 FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst WHERE e.type = ? AND s.kref = ? AND d.kref = ?",
                (line.edge, source, target),
            )
        if not held:
            ledger.link(source, target, kind=line.edge, metadata=line.metadata)


def _lines(path: Path) -> Iterator[_Said | _Stated | _Link]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(IMPORT_LINE_BYTES_MAX + 1):
            number += 1
            if len(line) > IMPORT_LINE_BYTES_MAX:
                raise _bad(path, number, "the line is too long")
            try:
                value = _decoder.decode(line)
            except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
                raise _bad(path, number, str(error)) from None
            if isinstance(value, _Header):
                if value.format != FORMAT:
                    raise _bad(path, number, f"format {value.format} is not {FORMAT}")
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
