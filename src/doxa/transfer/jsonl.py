"""Export a memory as JSON lines and import it, in a format that is independent of the database.

    {"type": "doxa-export", "format": 1, "time": ...}
    {"type": "exchange", "kref", "project", "space", "thread", "session", "speaker", "role",
     "text", "time", "id", "caption", ...}                         one turn
    {"type": "revision", "kref", "status", "number", "tags", "project", "space", "name", "kind",
     "summary", ...}                                               item by item, oldest first
    {"type": "artifact", "kref", "location", "sha256", "size_bytes"}
                                                                   directly after its revision
    {"type": "bundle", "kref", "members", "deprecated"}            members in order of joining
    {"type": "edge", "edge", "source", "target", "metadata"}       between revisions and exchanges

Times are ISO 8601 UTC. Exporting an imported file gives the same lines except for the time of the
export. The time at which a file recorded a revision is in its log and is not exported. Each item is
imported in one transaction, so that an interrupted import can be repeated.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import msgspec

from doxa.base.clock import TIME_MAX, format_time, parse_time
from doxa.base.errors import ConfirmationError, DiskFullError, InputError, RoleError
from doxa.base.ids import NodeId, Role
from doxa.base.limits import IMPORT_LINE_BYTES_MAX, INGEST_BATCH_TURNS, SKIPPED_ITEMS_MAX
from doxa.base.lookalikes import reads_as
from doxa.base.values import decode_properties, encode_properties
from doxa.belief import (
    Draft,
    Kref,
    check_name,
    parse_fact,
    parse_kref,
    read_exchange,
    read_revision,
    revisions_of,
)
from doxa.belief.graph import PROTECTED_TAGS, RETIRED_REVISION, UNSUPPORTED
from doxa.belief.retiring import set_deprecated
from doxa.belief.stating import reconcile
from doxa.belief.types import ENRICHMENTS, Retracted
from doxa.belief.writes import (
    add_revision,
    check_edge_type,
    create_item,
    move_tag,
    next_number,
)
from doxa.ingestion.arguments import unusable
from doxa.ingestion.ingest import Ingest, Ingested, PreparedTurn, cleaned
from doxa.ingestion.readers.sources import EXPORT_START, head, lines
from doxa.ingestion.remember import clean_draft, clean_properties
from doxa.language.turns import Turn, TurnRole, readable
from doxa.logic.sentence import parse_sentence
from doxa.redaction.redact import redact, refuse_secret
from doxa.store import Identity, Node, Reader, Store, Transaction

FORMAT = 1
_START_BYTES = 256
_STRUCTURE = (
    "HAS_SPACE",
    "HAS_ITEM",
    "HAS_REVISION",
    "CURRENT",
    "TAG",
    "HAS_ARTIFACT",
    "MEMBER",
    "HAS_THREAD",
    "HAS_EXCHANGE",
    "NEXT",
    "SUPERSEDES",
    "CHALLENGER",
    "HELD",
)
_ITEM = "substr({0}.kref, 1, instr({0}.kref || '?', '?') - 1)"
_EDGES = (
    "SELECT e.type, s.kref, d.kref, json(e.props) FROM edge e JOIN node s ON s.id = e.src JOIN"
    f" node d ON d.id = e.dst WHERE e.type NOT IN ({','.join('?' * len(_STRUCTURE))}) OR (e.type ="
    f" 'SUPERSEDES' AND {_ITEM.format('s')} != {_ITEM.format('d')}) ORDER BY e.id"
)
_BUNDLES = (
    "SELECT i.id, i.kref, coalesce(i.props ->> '$.deprecated', 0) FROM node_label l JOIN node i ON"
    " i.id = l.node WHERE l.label = 'Item' AND (i.id IN (SELECT node FROM node_label WHERE label ="
    " 'Bundle') OR i.id IN (SELECT src FROM edge WHERE type = 'MEMBER')) ORDER BY i.kref"
)
_MEMBERS = (
    "SELECT m.kref FROM edge e JOIN node m ON m.id = e.dst WHERE e.src = ? AND e.type = 'MEMBER'"
    " AND (EXISTS (SELECT 1 FROM edge r WHERE r.src = m.id AND r.type = 'HAS_REVISION') OR m.id IN"
    " (SELECT node FROM node_label WHERE label = 'Bundle')) ORDER BY e.id"
)
_HELD_EDGE = "SELECT 1 FROM edge WHERE src = ? AND dst = ? AND type = ?"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: numbers of new and known exchanges, of revisions, artifacts, bundles
    and edges created, of edges and artifacts skipped because their element is missing here (the
    first are in `places`), and of redacted secrets; the threads and the changes. `losses` are
    beliefs retracted because they contradict more entrenched ones, imported or existing."""

    added: int = 0
    known: int = 0
    revisions: int = 0
    artifacts: int = 0
    bundles: int = 0
    edges: int = 0
    passed_over: int = 0
    redacted: int = 0
    threads: tuple[str, ...] = ()
    changes: tuple[int, ...] = ()
    places: tuple[str, ...] = ()
    losses: tuple[Retracted, ...] = ()


_NOTHING = msgspec.Raw(b"{}")
_Number = Annotated[int, msgspec.Meta(ge=1, le=10**15)]


class _Header(msgspec.Struct, tag="doxa-export"):
    format: int


class _ExchangeLine(msgspec.Struct, tag="exchange"):
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
    entities: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()


class _RevisionLine(msgspec.Struct, tag="revision"):
    kref: str
    item: str
    number: _Number
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
    sentences: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: float = 1.0
    trust: str = "stated"
    author: str = ""
    tags: tuple[str, ...] = ()
    metadata: msgspec.Raw = _NOTHING
    events: tuple[str, ...] = ()
    implications: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class _EdgeLine(msgspec.Struct, tag="edge"):
    edge: str
    source: str
    target: str
    metadata: msgspec.Raw = _NOTHING


class _ArtifactLine(msgspec.Struct, tag="artifact"):
    kref: str
    location: str
    sha256: str = ""
    size_bytes: Annotated[int, msgspec.Meta(ge=0)] = 0


class _BundleLine(msgspec.Struct, tag="bundle"):
    kref: str
    members: tuple[str, ...] = ()
    deprecated: bool = False


_ExportLine = _Header | _ExchangeLine | _RevisionLine | _ArtifactLine | _BundleLine | _EdgeLine
_decoder = msgspec.json.Decoder(_ExportLine)


# Export


def export_lines(store: Store) -> Iterator[bytes]:
    """Yield every exchange, revision, artifact, bundle and typed edge of one snapshot, one JSON
    object per line."""
    encode = msgspec.json.encode
    with store.read() as snapshot:
        yield encode({"type": "doxa-export", "format": FORMAT, "time": format_time(snapshot.now)})
        names = {
            node.props["kref"]: str(node.props.get("name", ""))
            for node in snapshot.labelled("Thread")
        }
        for node in snapshot.labelled("Exchange"):
            said = read_exchange(node)
            yield encode(
                {
                    "type": "exchange",
                    "kref": said.kref,
                    "project": said.project,
                    "space": said.space,
                    "thread": names.get(said.thread, ""),
                    "session": said.session,
                    "speaker": said.speaker,
                    "role": said.role,
                    "text": said.text,
                    "time": format_time(said.time),
                    "id": said.source_id,
                    "caption": str(node.props.get("caption", "")),
                    "deprecated": said.deprecated,
                    "entities": said.entities,
                    "dates": said.dates,
                }
            )
        for item in snapshot.labelled("Item"):
            yield from map(encode, _item_lines(snapshot, item.id))
        for bundle, kref, deprecated in snapshot.rows(_BUNDLES):
            members = [row[0] for row in snapshot.rows(_MEMBERS, (bundle,))]
            yield encode(
                {"type": "bundle", "kref": kref, "members": members, "deprecated": bool(deprecated)}
            )
        for kind, source, target, props in snapshot.rows(_EDGES, _STRUCTURE):
            yield encode(
                {
                    "type": "edge",
                    "edge": kind,
                    "source": source,
                    "target": target,
                    "metadata": msgspec.Raw(props.encode()),
                }
            )


def write_export(store: Store, target: Path) -> int:
    """Write an export to a new file, readable by its owner only, as the memory itself is. The file
    appears under its name when it is complete. Returns the number of lines. Raises InputError if
    the path exists, StoreError or DiskFullError if writing fails."""
    if target.exists() or target.is_symlink():
        raise InputError(
            f"{target} exists already.",
            next_step="Give a path that does not exist yet.",
            path=str(target),
        )
    part = None
    try:
        handle, part = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part"
        )  # mode 600
        count = 0
        with os.fdopen(handle, "wb") as file:
            for line in export_lines(store):
                file.write(line + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            raise InputError(
                f"{target} exists already.",
                next_step="Give a path that does not exist yet.",
                path=str(target),
            )
        Path(part).rename(target)
        part = None
        return count
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskFullError(
                f"There is no room for the export {target}: {error.strerror}.",
                next_step="Free some space, or give a path on another disk.",
                path=str(target),
            ) from None
        raise unusable(target, error) from None
    finally:
        if part is not None:
            with suppress(OSError):
                Path(part).unlink()


def _item_lines(reader: Reader, item: NodeId) -> Iterator[dict[str, object]]:
    owner = reader.node(item)
    for node in revisions_of(reader, item):
        held = read_revision(reader, node)
        tags = [tag for tag in held.tags if tag != UNSUPPORTED]  # derived from the edges
        if owner is not None and owner.props.get(RETIRED_REVISION) == held.number:
            tags.append("current")  # it was current when the item was retired
        line = asdict(held) | {
            "type": "revision",
            "name": parse_kref(held.item).name,
            "time": format_time(held.time),
        }
        line["tags"] = sorted(tags)
        del line["created"], line["unsupported"]
        line["metadata"] = msgspec.Raw(encode_properties(dict(held.metadata), owner="Revision"))
        yield line | {
            name: format_time(line[name])
            for name in ("valid_from", "valid_until")
            if line[name] is not None
        }
        for artifact in reader.nodes(
            [edge.dst for edge in reader.edges_out(node.id, "HAS_ARTIFACT")]
        ):
            props = artifact.props
            yield {
                "type": "artifact",
                "kref": props["kref"],
                "location": props["location"],
                "sha256": props.get("sha256", ""),
                "size_bytes": props.get("size_bytes", 0),
            }


# Import


def is_export(path: Path) -> bool:
    """Return whether a file starts like an export of doxa."""
    try:
        return path.is_file() and EXPORT_START.match(head(path, _START_BYTES)) is not None
    except (InputError, ValueError):
        return False


def import_lines(
    store: Store, identity: Identity, path: Path, *, accept_protected: bool = False
) -> Imported:
    """Import an export; every element keeps its address. Elements that exist here or were erased
    here are skipped, so importing twice changes nothing. Raises InputError naming the line,
    RoleError, or ConfirmationError for what is verified or approved in it unless
    `accept_protected`, before anything is written."""
    if EXPORT_START.match(head(path, _START_BYTES)) is None:
        raise InputError(
            f"{path} is not an export of doxa.",
            next_step="Read a conversation with ingest or `doxa import`.",
            path=str(path),
        )
    found = list(_lines(path))
    stated = [line for line in found if isinstance(line, _RevisionLine)]
    attached: dict[str, list[_ArtifactLine]] = {}
    for line in found:
        if isinstance(line, _ArtifactLine):
            kref = parse_kref(line.kref)
            if kref.artifact is None or kref.revision is None:
                raise _invalid_line(
                    line.kref,
                    "an artifact's address needs a revision and a name, such as ?r=1&a=report.pdf",
                )
            attached.setdefault(str(kref.pinned(kref.revision)), []).append(line)
        elif isinstance(line, _BundleLine) and not _is_bundle(parse_kref(line.kref)):
            raise _invalid_line(line.kref, "a bundle's address must end in .bundle")
    _check_protected(store, identity, stated, accepted=accept_protected)
    said = _import_exchanges(
        store, identity, [line for line in found if isinstance(line, _ExchangeLine)]
    )
    bundles = [line for line in found if isinstance(line, _BundleLine)]
    job = _Import(store, identity, bundles={line.kref for line in bundles}, attached=attached)
    if not accept_protected:  # what a file says is not what an operator says
        job.rights = "agent"
    for item, together in _by_item(stated):
        job.take_item(item, together)
    job.attach_rest()
    job.take_bundles(bundles)
    job.take_edges([line for line in found if isinstance(line, _EdgeLine)])
    return job.result(said)


def _check_protected(
    store: Store, identity: Identity, stated: list[_RevisionLine], *, accepted: bool
) -> None:
    """Raise RoleError or ConfirmationError for what is verified or carries a protected tag in
    items of which the import writes anything."""
    with store.read() as snapshot:
        new = {line.item for line in stated if snapshot.node_by_kref(line.kref) is None}
    found = [
        line.kref[:200]
        for line in stated
        if (line.item in new or identity.role == "agent")
        and (
            reads_as(line.trust, ("verified",))
            or any(reads_as(tag, PROTECTED_TAGS) for tag in line.tags)
        )
    ]
    if found and identity.role == "agent":
        raise RoleError(
            f"{found[0]} is verified or carries a protected tag: only an operator may import it.",
            next_step="Ask the operator to import this file.",
            role=identity.role,
            needed="operator",
        )
    if found and not accepted:
        shown = ", ".join(found[:_PROTECTED_SHOWN])
        raise ConfirmationError(
            f"{len(found)} of the beliefs in this file are verified or approved, by somebody else's"
            f" word: {shown}{', …' if len(found) > _PROTECTED_SHOWN else ''}.",
            next_step=(
                "If you trust where it comes from, import it with accept_protected=True, or with"
                " --accept-protected on the command line. Otherwise export it without them."
            ),
            count=len(found),
            krefs=found[:100],
        )


_PROTECTED_SHOWN = 5


def _is_bundle(kref: Kref) -> bool:
    return kref.kind == "bundle" and kref == kref.item()


def _by_item(stated: list[_RevisionLine]) -> list[tuple[str, list[_RevisionLine]]]:
    items: dict[str, list[_RevisionLine]] = {}
    for line in stated:
        items.setdefault(line.item, []).append(line)
    return [
        (item, sorted(together, key=lambda line: line.number)) for item, together in items.items()
    ]


def _import_exchanges(
    store: Store, identity: Identity, said: list[_ExchangeLine]
) -> list[Ingested]:
    """Import exchanges under their addresses, in the order of the lines, without extraction."""
    jobs: dict[tuple[str, str], Ingest] = {}
    results: dict[tuple[str, str], Ingested] = {}
    for place, together in groupby(said, key=lambda line: (line.project, line.space)):
        job = jobs.setdefault(
            place, Ingest(store, identity, project=place[0], space=place[1], extracting=False)
        )
        held = results.get(place)
        made = job.run_prepared([_prepared(line) for line in together])
        results[place] = replace(made, changes=held.changes + made.changes) if held else made
    return list(results.values())


def _prepared(line: _ExchangeLine) -> PreparedTurn:
    texts = (
        readable(text)
        for text in (line.thread, line.session, line.speaker, line.text, line.id, line.caption)
    )
    thread, session, speaker, text, source_id, caption = texts
    turn, redacted = cleaned(
        Turn(thread, session, speaker, line.role, text, parse_time(line.time), source_id, caption)
    )
    entities, dates = (
        tuple(redact(one).text for one in ones) for ones in (line.entities, line.dates)
    )
    identity = refuse_secret(parse_kref(line.kref).name, field="id")
    return PreparedTurn(identity, turn, entities, dates, redacted=redacted, retired=line.deprecated)


class _Import:
    """Imports items, artifacts, bundles and edges into one store. Each method runs one or a few
    transactions and is idempotent."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        *,
        bundles: set[str],
        attached: dict[str, list[_ArtifactLine]],
    ) -> None:
        self._store = store
        self._identity = identity
        self.rights: Role = identity.role
        self._bundles = bundles
        self._attached = attached
        self._counts = dict.fromkeys(
            ("revisions", "artifacts", "bundles", "edges", "passed_over", "redacted"), 0
        )
        self._changes: list[int] = []
        self._losses: list[Retracted] = []
        self._places: list[str] = []

    def result(self, said: list[Ingested]) -> Imported:
        self._counts["redacted"] += sum(one.redacted for one in said)
        return Imported(
            sum(one.added for one in said),
            sum(one.known for one in said),
            **self._counts,
            threads=tuple(thread for one in said for thread in one.threads),
            changes=(*(change for one in said for change in one.changes), *self._changes),
            places=tuple(self._places),
            losses=tuple(self._losses),
        )

    def take_item(self, item: str, stated: list[_RevisionLine]) -> None:
        """Import the new revisions of an item under their numbers, then its tags and status, in one
        transaction."""
        kref = parse_kref(item)
        drafts = [(line, self._draft(line, kref)) for line in stated]
        with self._store.write(self._identity, op="import", rights=self.rights) as tx:
            node = tx.node_by_kref(item) or create_item(
                tx, kref, labels=("Bundle",) if item in self._bundles else ()
            )
            made: list[_RevisionLine] = []
            for line, draft in drafts:
                following = next_number(tx, node)
                if line.number < following:
                    continue  # it exists here, or was erased here
                if line.number > following:
                    tx.set_node(node.id, node.props | {"next_number": line.number})
                    node = tx.node(node.id) or node
                revision = add_revision(tx, node, draft)
                self._attach(tx, revision.id, str(revision.props["kref"]))
                made.append(line)
            if made:
                _set_tags(tx, node, stated)
                self._losses += reconcile(tx, node)
        self._counts["revisions"] += len(made)
        self._record_change(tx)

    def _draft(self, line: _RevisionLine, item: Kref) -> Draft:
        if (item.project, "/".join(item.spaces), item.name, item.kind) != (
            line.project,
            line.space,
            line.name,
            line.kind,
        ):
            raise _invalid_line(line.kref, f"it does not match its item {str(item)[:200]}")
        draft = Draft(
            summary=line.summary,
            project=line.project,
            space=line.space,
            name=line.name,
            kind=line.kind,
            title=line.title,
            topics=line.topics,
            keywords=line.keywords,
            facts=tuple(parse_fact(f) for f in line.facts),
            sentences=tuple(map(parse_sentence, line.sentences)),
            valid_from=_time(line.valid_from),
            valid_until=_time(line.valid_until),
            confidence=line.confidence,
            trust=line.trust,
            author=line.author,
            time=parse_time(line.time),
            metadata=_metadata(line.kref, line.metadata),
            **{name: getattr(line, name) for name in ENRICHMENTS},
        )
        clean, kinds = clean_draft(draft)
        for tag in line.tags:
            refuse_secret(tag, field="tag")
        self._counts["redacted"] += len(kinds)
        return clean

    def _attach(self, tx: Transaction, revision: NodeId, kref: str) -> None:
        for line in self._attached.pop(kref, ()):
            address = parse_kref(line.kref)
            if tx.node_by_kref(line.kref) is not None:
                continue
            location = redact(line.location)
            self._counts["redacted"] += len(location.findings)
            self._counts["artifacts"] += 1
            props = {
                "kref": line.kref,
                "name": refuse_secret(address.artifact or "", field="artifact"),
                "location": location.text,
                "sha256": line.sha256 or None,
                "size_bytes": line.size_bytes or None,
            }
            tx.create_edge("HAS_ARTIFACT", revision, dst=tx.create_node(("Artifact",), props))

    def attach_rest(self) -> None:
        """Attach the artifacts of revisions that already existed here."""
        with self._store.write(self._identity, op="import", rights=self.rights) as tx:
            for kref in list(self._attached):
                node = tx.node_by_kref(kref)
                if node is None:
                    for line in self._attached[kref]:
                        self._pass_over(line.kref)
                else:
                    self._attach(tx, node.id, kref)
        self._record_change(tx)

    def take_bundles(self, bundles: list[_BundleLine]) -> None:
        """Create all bundles first, since they may contain each other, then add the members of
        those that never had any here."""
        with self._store.write(self._identity, op="import", rights=self.rights) as tx:
            for line in bundles:
                refuse_secret(line.kref, field="bundle")
                if tx.node_by_kref(line.kref) is None:
                    self._counts["bundles"] += 1
                    node = create_item(tx, parse_kref(line.kref), labels=("Bundle",))
                    set_deprecated(tx, node, line.deprecated)
            for line in bundles:
                bundle = tx.node_by_kref(line.kref)
                if bundle is None or tx.edge_history(bundle.id, "MEMBER"):
                    continue
                for kref in dict.fromkeys(line.members):
                    member = tx.node_by_kref(kref)
                    if member is None or "Item" not in member.labels:
                        self._pass_over(f"{kref} in {line.kref}")
                    else:
                        tx.create_edge("MEMBER", bundle.id, dst=member.id)
        self._record_change(tx)

    def take_edges(self, links: list[_EdgeLine]) -> None:
        for first in range(0, len(links), INGEST_BATCH_TURNS):
            with self._store.write(self._identity, op="import", rights=self.rights) as tx:
                for line in links[first : first + INGEST_BATCH_TURNS]:
                    self._take_edge(tx, line)
            self._record_change(tx)

    def _take_edge(self, tx: Transaction, line: _EdgeLine) -> None:
        kind = check_edge_type(refuse_secret(line.edge, field="edge type"))
        source, target = tx.node_by_kref(line.source), tx.node_by_kref(line.target)
        if source is None or target is None:
            self._pass_over(f"{line.source} {kind} {line.target}")
        elif not tx.rows(_HELD_EDGE, (source.id, target.id, kind)):
            kinds: list[str] = []
            tx.create_edge(
                kind,
                source.id,
                dst=target.id,
                props=clean_properties(_metadata(line.source, line.metadata), kinds),
            )
            self._counts["redacted"] += len(kinds)
            self._counts["edges"] += 1

    def _pass_over(self, place: str) -> None:
        self._counts["passed_over"] += 1
        if len(self._places) < SKIPPED_ITEMS_MAX:
            self._places.append(place[:500])

    def _record_change(self, tx: Transaction) -> None:
        if tx.receipt_made:
            self._changes.append(tx.tx)


def _set_tags(tx: Transaction, item: Node, stated: list[_RevisionLine]) -> None:
    """Set every tag as in the export. Tags that it does not name, and tags of missing revisions,
    stay unchanged."""
    for line in stated:
        revision = tx.node_by_kref(f"{item.props['kref']}?r={line.number}")
        for tag in line.tags:
            if tag != "initial" and revision is not None:
                move_tag(tx, item, tag=check_name(tag, what="tag"), revision=revision)
    if not any("current" in line.tags for line in stated):
        move_tag(tx, item, tag="current", revision=None)
    node = tx.node(item.id)
    assert node is not None
    set_deprecated(tx, node, stated[-1].status == "deprecated")


def _lines(
    path: Path,
) -> Iterator[_ExchangeLine | _RevisionLine | _ArtifactLine | _BundleLine | _EdgeLine]:
    for number, line in lines(path):
        if line is None:
            raise _unreadable_line(
                path, number, f"the line is longer than {IMPORT_LINE_BYTES_MAX:,} bytes"
            )
        try:
            value = _decoder.decode(line)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise _unreadable_line(path, number, str(error)) from None
        if isinstance(value, _Header) != (number == 1):
            raise _unreadable_line(path, number, "an export has one header, in its first line")
        if not isinstance(value, _Header):
            yield value
        elif value.format != FORMAT:
            raise _unreadable_line(path, number, f"format {value.format} is not {FORMAT}")


def _metadata(kref: str, raw: msgspec.Raw) -> dict[str, Any]:
    """Decode properties in the stored form, in which a date, a point or bytes is an object with one
    key (base/values.py)."""
    try:
        values = decode_properties(bytes(raw).decode())
        for value in values.values():
            str(value)  # a value that cannot be printed is invalid
            if isinstance(value, msgspec.Struct) and any(
                isinstance(p, int) and abs(p) > TIME_MAX for p in msgspec.structs.astuple(value)
            ):
                raise ValueError("a number beyond 64 bits")
        return dict(values)
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise _invalid_line(kref, f"its metadata is unreadable ({str(error)[:200]})") from None


def _unreadable_line(path: Path, number: int, reason: str) -> InputError:
    return InputError(
        f"{path}, line {number}, cannot be read: {reason}.",
        next_step="Export again, or correct that line.",
        path=str(path),
        line=number,
    )


def _invalid_line(kref: str, reason: str) -> InputError:
    return InputError(
        f"The line of {kref[:200]} cannot be imported: {reason}.",
        next_step="Export again, or correct that line.",
        kref=kref[:200],
    )


def _time(value: str | None) -> int | None:
    return None if value is None else parse_time(value)
