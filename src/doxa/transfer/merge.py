"""Merge the beliefs and conversations of an export into a file that holds others.

Every element keeps its address. What exists here, or was erased here, is skipped, so that a merge
overrules nothing that was decided here and a second one changes nothing. What comes in is
reconciled with the beliefs that are here, under the same guards and ranks as if it were stated.

The lines are read several times, in the order in which they are needed, instead of being held in
memory. A merge of up to IMPORT_AT_ONCE_LINES_MAX lines is one transaction; beyond that an item is
one, and a merge that was stopped can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import Any, TypeGuard

import msgspec

from doxa.base.clock import parse_time
from doxa.base.errors import ConfirmationError, DoxaError, InputError, RoleError
from doxa.base.ids import NodeId, Role, is_below_operator
from doxa.base.limits import IMPORT_AT_ONCE_LINES_MAX, INGEST_BATCH_TURNS, SKIPPED_ITEMS_MAX
from doxa.base.lookalikes import reads_as
from doxa.belief import Draft, Kref, check_name, parse_fact, parse_kref
from doxa.belief.before_commit import check_before_commit
from doxa.belief.graph import PROTECTED_TAGS, SUPERSEDES
from doxa.belief.removal.retiring import set_deprecated
from doxa.belief.stating import reconcile
from doxa.belief.types import ENRICHMENTS, Retracted
from doxa.belief.writes import (
    add_revision,
    check_edge_type,
    create_item,
    move_tag,
    next_number,
)
from doxa.ingestion.ingest import Ingest, Ingested, PreparedTurn, cleaned
from doxa.ingestion.remember import clean_draft, clean_properties
from doxa.language.turns import Turn, readable
from doxa.logic.sentence import parse_sentence
from doxa.redaction.redact import redact, refuse_secret
from doxa.store import UNTRUSTED, Identity, Node, Store, Transaction
from doxa.transfer.beliefs import (
    ArtifactLine,
    BeliefLine,
    BundleLine,
    ExchangeLine,
    LinkLine,
    RevisionLine,
)
from doxa.transfer.lines import read_properties
from doxa.transfer.types import Imported

_CREATED = ("revisions", "artifacts", "bundles", "edges", "nodes")
_PROTECTED_SHOWN = 5
_HELD_EDGE = "SELECT 1 FROM edge WHERE src = ? AND dst = ? AND type = ?"
_Addressed = ExchangeLine | RevisionLine | ArtifactLine | BundleLine
Source = Callable[[], Iterator[BeliefLine]]  # the lines, from the first, each time it is called


class Previewed(Exception):
    """Ends a transaction whose result was only to be seen."""


def merge(
    store: Store,
    identity: Identity,
    source: Source,
    *,
    rest: Callable[[BeliefMerge], None] = lambda job: None,
    size: int = 0,
    erased: Collection[str] = (),
    dry_run: bool = False,
    accept_protected: bool = False,
) -> Imported:
    """Merge all lines, then what `rest` adds; `size` is how many lines there are, if they are more
    than those of `source`. Lines with one of the addresses `erased` are passed over: it was erased
    here. Raises InputError, RoleError or ConfirmationError before anything is written."""
    passed: list[str] = []
    if erased:
        passed = [line.kref for line in source() if _is_among(line, erased)]
        source = partial(_without, source, erased)
    bundles, count = _survey(identity, source)
    protected = [] if accept_protected else _protected(store, source)
    if not dry_run:
        refuse_protected(protected)
    # what a file says is not what an operator says, unless that was accepted; a dry run shows what
    # accepting it would bring in
    rights: Role = identity.role if accept_protected or protected else "agent"
    job = BeliefMerge(store, identity, bundles=bundles, rights=rights)
    for kref in passed:
        job.pass_over(f"{kref}: it was erased here")
    if not dry_run and (max(count, size) > IMPORT_AT_ONCE_LINES_MAX or store.is_joined):
        job.run(source, rest)
        return job.result()
    try:
        with store.write(identity, op="import", rights=rights) as tx:
            with store.joined(tx):
                job.run(source, rest)
            tx.receipt_made = None
            if dry_run:
                raise Previewed
    except Previewed:
        return replace(job.result(), changes=())
    return replace(job.result(), changes=(tx.tx,) if tx.receipt_made else ())


def _is_among(line: BeliefLine, krefs: Collection[str]) -> TypeGuard[_Addressed]:
    return not isinstance(line, LinkLine) and line.kref in krefs


def _without(source: Source, krefs: Collection[str]) -> Iterator[BeliefLine]:
    return (line for line in source() if not _is_among(line, krefs))


def _survey(identity: Identity, source: Source) -> tuple[set[str], int]:
    """Check what can be checked of each line by itself; return the addresses of bundles and the
    number of lines."""
    bundles: set[str] = set()
    count = 0
    for line in source():
        count += 1
        if isinstance(line, ArtifactLine):
            kref = parse_kref(line.kref)
            if kref.artifact is None or kref.revision is None:
                raise _invalid_line(
                    line.kref,
                    "an artifact's address needs a revision and a name, such as ?r=1&a=report.pdf",
                )
        elif isinstance(line, BundleLine):
            if not _is_bundle(parse_kref(line.kref)):
                raise _invalid_line(line.kref, "a bundle's address must end in .bundle")
            bundles.add(line.kref)
        elif isinstance(line, RevisionLine):
            _check_import_role(identity, line)
    return bundles, count


def _check_import_role(identity: Identity, line: RevisionLine) -> None:
    if is_below_operator(identity.role) and is_verified(line):
        raise RoleError(
            f"{line.kref[:200]} is verified or carries a protected tag: only an operator may"
            " import it.",
            next_step="Ask the operator to import this file.",
            role=identity.role,
            needed="operator",
        )


def is_verified(line: RevisionLine) -> bool:
    """Return whether only an operator may import it."""
    return bool(reads_as(line.trust, ("verified",))) or any(
        reads_as(tag, PROTECTED_TAGS) for tag in line.tags
    )


def _protected(store: Store, source: Source) -> list[str]:
    """Return the addresses of what only an operator may import, in items of which the import writes
    anything."""
    new: set[str] = set()
    found: list[tuple[str, str]] = []
    with store.read() as snapshot:
        for line in source():
            if isinstance(line, RevisionLine):
                if line.item not in new and snapshot.node_by_kref(line.kref) is None:
                    new.add(line.item)
                if is_verified(line):
                    found.append((line.item, line.kref[:200]))
    return [kref for item, kref in found if item in new]


def refuse_protected(found: Sequence[str]) -> None:
    """Raise ConfirmationError if an import brings beliefs that an operator elsewhere verified."""
    if found:
        shown = ", ".join(found[:_PROTECTED_SHOWN])
        raise ConfirmationError(
            f"{len(found)} of the beliefs in this file are verified or approved, by somebody else's"
            f" word: {shown}{', …' if len(found) > _PROTECTED_SHOWN else ''}.",
            next_step=(
                "If you trust where it comes from, import it with accept_protected=True, or with"
                " --accept-protected on the command line. Otherwise export it without them."
            ),
            count=len(found),
            krefs=list(found[:100]),
        )


def _is_bundle(kref: Kref) -> bool:
    return kref.kind == "bundle" and kref == kref.item()


def _together(
    lines: Iterator[BeliefLine],
) -> Iterator[tuple[list[RevisionLine], list[ArtifactLine]]]:
    """Yield the revisions of an item, by number, with the artifacts among them; artifacts that
    stand apart by themselves."""
    stated: list[RevisionLine] = []
    attached: list[ArtifactLine] = []
    for line in lines:
        if isinstance(line, RevisionLine):
            if stated and line.item != stated[0].item:
                yield sorted(stated, key=_number), attached
                stated, attached = [], []
            stated.append(line)
        elif isinstance(line, ArtifactLine):
            attached.append(line)
            if not stated:
                yield [], attached
                attached = []
    if stated:
        yield sorted(stated, key=_number), attached


def _number(line: RevisionLine) -> int:
    return line.number


def _import_exchanges(
    store: Store, identity: Identity, said: Iterator[ExchangeLine]
) -> list[Ingested]:
    """Import exchanges under their addresses, in the order of the lines, without extraction."""
    jobs: dict[tuple[str, str], Ingest] = {}
    results: dict[tuple[str, str], Ingested] = {}
    for place, together in groupby(said, key=lambda line: (line.project, line.space)):
        job = jobs.setdefault(
            place, Ingest(store, identity, project=place[0], space=place[1], extracting=False)
        )
        held = results.get(place)
        made = job.run_prepared(map(_prepared, together))
        results[place] = replace(made, changes=held.changes + made.changes) if held else made
    return list(results.values())


def _prepared(line: ExchangeLine) -> PreparedTurn:
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
    return PreparedTurn(
        identity,
        turn,
        entities,
        dates,
        redacted=redacted,
        retired=line.deprecated,
        untrusted=line.trust == UNTRUSTED,
        imported=line.imported,
    )


class BeliefMerge:
    """Imports items, artifacts, bundles and edges into one store. Each method runs one or a few
    transactions and is idempotent."""

    def __init__(
        self, store: Store, identity: Identity, *, bundles: set[str], rights: Role
    ) -> None:
        self._store = store
        self._rights = rights
        self.identity = identity
        self._bundles = bundles
        self._attached: dict[str, list[ArtifactLine]] = {}
        self.counts: dict[str, Any] = dict.fromkeys(
            (
                "revisions",
                "artifacts",
                "bundles",
                "edges",
                "nodes",
                "verified",
                "passed_over",
                "redacted",
            ),
            0,
        )
        self._changes: list[int] = []
        self._losses: list[Retracted] = []
        self._places: list[str] = []
        self._said: list[Ingested] = []

    def run(self, source: Source, rest: Callable[[BeliefMerge], None]) -> None:
        """Take turns, items, bundles, edges, and what `rest` adds."""
        turns = (line for line in source() if isinstance(line, ExchangeLine))
        self._said = _import_exchanges(self._store, self.identity, turns)
        for stated, attached in _together(source()):
            for line in attached:
                kref = parse_kref(line.kref)
                revision = str(kref.pinned(kref.revision or 1))
                self._attached.setdefault(revision, []).append(line)
            if stated:
                self.take_item(stated[0].item, stated)
            self.attach_rest()
        self.take_bundles([line for line in source() if isinstance(line, BundleLine)])
        self._settle()
        links = (line for line in source() if isinstance(line, LinkLine))
        # those that record what was retired come last: it was decided elsewhere
        self.take_edges(line for line in links if line.edge != SUPERSEDES)
        rest(self)
        self._settle()
        links = (line for line in source() if isinstance(line, LinkLine))
        self.take_edges(line for line in links if line.edge == SUPERSEDES)

    def _settle(self) -> None:
        """Check what must hold at the end of a transaction, in the middle of a joined one."""
        if self._store.is_joined:
            with self.write() as tx:
                check_before_commit(tx)
                tx.drain_dirty()

    def result(self) -> Imported:
        said = self._said
        self.counts["redacted"] += sum(one.redacted for one in said)
        return Imported(
            added=sum(one.added for one in said),
            known=sum(one.known for one in said),
            **self.counts,
            threads=tuple(thread for one in said for thread in one.threads),
            changes=(*(change for one in said for change in one.changes), *self._changes),
            places=tuple(self._places),
            losses=tuple(self._losses),
        )

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a transaction, or a part of the one that the whole merge is."""
        with self._store.write(self.identity, op="import", rights=self._rights) as tx:
            yield tx
        if tx.receipt_made:
            self._changes.append(tx.tx)

    def take_item(self, item: str, stated: list[RevisionLine]) -> None:
        """Import the new revisions of an item under their numbers, then its tags and status, in one
        transaction."""
        kref = parse_kref(item)
        drafts = [(line, self._draft(line, kref)) for line in stated]
        with self.write() as tx:
            node = tx.node_by_kref(item) or create_item(
                tx, kref, labels=("Bundle",) if item in self._bundles else ()
            )
            made: list[RevisionLine] = []
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
                self.counts["verified"] += is_verified(line)
            if made:
                _set_tags(tx, node, stated)
                self._losses += reconcile(tx, node)
        self.counts["revisions"] += len(made)

    def _draft(self, line: RevisionLine, item: Kref) -> Draft:
        if (item.project, "/".join(item.spaces), item.name, item.kind) != (
            line.project,
            line.space,
            line.name,
            line.kind,
        ):
            raise _invalid_line(line.kref, f"it does not match its item {str(item)[:200]}")
        clean, kinds = draft_of(line)
        for tag in line.tags:
            refuse_secret(tag, field="tag")
        self.counts["redacted"] += len(kinds)
        return clean

    def _attach(self, tx: Transaction, revision: NodeId, kref: str) -> None:
        for line in self._attached.pop(kref, ()):
            address = parse_kref(line.kref)
            if tx.node_by_kref(line.kref) is not None:
                continue
            location = redact(line.location)
            self.counts["redacted"] += len(location.findings)
            self.counts["artifacts"] += 1
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
        if not self._attached:
            return
        with self.write() as tx:
            for kref in list(self._attached):
                node = tx.node_by_kref(kref)
                if node is None:
                    for line in self._attached[kref]:
                        self.pass_over(line.kref)
                else:
                    self._attach(tx, node.id, kref)

    def take_bundles(self, bundles: list[BundleLine]) -> None:
        """Create all bundles first, since they may contain each other, then add the members of
        those that never had any here."""
        with self.write() as tx:
            for line in bundles:
                refuse_secret(line.kref, field="bundle")
                if tx.node_by_kref(line.kref) is None:
                    self.counts["bundles"] += 1
                    node = create_item(tx, parse_kref(line.kref), labels=("Bundle",))
                    set_deprecated(tx, node, line.deprecated)
            for line in bundles:
                bundle = tx.node_by_kref(line.kref)
                if bundle is None or tx.edge_history(bundle.id, "MEMBER"):
                    continue
                for kref in dict.fromkeys(line.members):
                    member = tx.node_by_kref(kref)
                    if member is None or "Item" not in member.labels:
                        self.pass_over(f"{kref} in {line.kref}")
                    else:
                        tx.create_edge("MEMBER", bundle.id, dst=member.id)

    def take_edges(self, links: Iterator[LinkLine]) -> None:
        while batch := list(islice(links, INGEST_BATCH_TURNS)):
            with self.write() as tx:
                for line in batch:
                    self._take_edge(tx, line)

    def _take_edge(self, tx: Transaction, line: LinkLine) -> None:
        kind = check_edge_type(refuse_secret(line.edge, field="edge type"))
        source, target = (
            None if kref is None else tx.node_by_kref(kref) for kref in (line.source, line.target)
        )
        if source is None or target is None:
            self.pass_over(f"{line.source or 'a node'} {kind} {line.target or 'a node'}")
        elif not tx.rows(_HELD_EDGE, (source.id, target.id, kind)):
            kinds: list[str] = []
            tx.create_edge(
                kind,
                source.id,
                dst=target.id,
                props=clean_properties(metadata_of(str(line.source), line.metadata), kinds),
            )
            self.counts["redacted"] += len(kinds)
            self.counts["edges"] += 1

    def pass_over(self, place: str) -> None:
        self.counts["passed_over"] += 1
        if len(self._places) < SKIPPED_ITEMS_MAX:
            self._places.append(place[:500])


def _set_tags(tx: Transaction, item: Node, stated: list[RevisionLine]) -> None:
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


def draft_of(line: RevisionLine) -> tuple[Draft, list[str]]:
    """Return what a line states, without secrets, and their kinds."""
    return clean_draft(
        Draft(
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
            metadata=metadata_of(line.kref, line.metadata),
            **{name: getattr(line, name) for name in ENRICHMENTS},
        )
    )


def metadata_of(kref: str, raw: msgspec.Raw) -> dict[str, Any]:
    try:
        return dict(read_properties(bytes(raw), owner="metadata"))
    except DoxaError as error:
        raise _invalid_line(kref, error.message.rstrip(".")) from None


def _invalid_line(kref: str, reason: str) -> InputError:
    return InputError(
        f"The line of {kref[:200]} cannot be imported: {reason}.",
        next_step="Export again, or correct that line.",
        kref=kref[:200],
    )


def _time(value: str | None) -> int | None:
    return None if value is None else parse_time(value)
