"""Merge the rest of an export: nodes without an address, and every edge that beliefs do not consist
of.

A node without an address has no identity but its content: one with the same labels and properties
as a node that is here, and in the same project if it lies in one, is that node, each of those here
taken once. So importing a file twice adds nothing. An edge is known here if its ends are, and one
of its type with the same properties joins them; between two beliefs one of its type is enough, as
when they are linked. Past versions, rules and records of agents' runtimes are not merged, nor what
was erased here.

What stands for what is kept in a temporary database on the disk, not in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import apsw

from doxa.base.errors import ConstraintError, InputError, RoleError
from doxa.base.ids import NodeId
from doxa.base.limits import IMPORT_BATCH_ITEMS_MAX, INGEST_BATCH_TURNS
from doxa.base.values import decode, decode_properties
from doxa.belief.graph import ENTITY, SAME_AS, STRUCTURE, SUPERSEDES
from doxa.ingestion.remember import clean_properties
from doxa.redaction.redact import refuse_secret
from doxa.store import (
    EdgeVersion,
    NodeVersion,
    Reader,
    Store,
    Transaction,
    edge_versions,
    node_versions,
)
from doxa.store.intake.chains import root_of
from doxa.transfer.erased_here import ErasedHere
from doxa.transfer.merge import BeliefMerge

_BELIEF = frozenset(
    ("Project", "Space", "Item", "Revision", "Artifact", "Thread", "Exchange", "Conflict")
)
_MAPS = """
CREATE TABLE here(hash BLOB NOT NULL, project TEXT NOT NULL, id INTEGER NOT NULL,
  PRIMARY KEY(hash, project, id)) WITHOUT ROWID;
CREATE TABLE place(id INTEGER PRIMARY KEY, kref TEXT NOT NULL, believed INTEGER NOT NULL);
CREATE TABLE same(id INTEGER PRIMARY KEY, here INTEGER NOT NULL);
CREATE TABLE used(id INTEGER PRIMARY KEY);
"""
_SAME = "SELECT project, id FROM here WHERE hash = ? ORDER BY project, id LIMIT 1"
_SAME_PLACED = "SELECT project, id FROM here WHERE hash = ? AND project = ? ORDER BY id LIMIT 1"
_HELD = "SELECT id FROM edge WHERE src = ? AND dst = ? AND type = ? ORDER BY id"
_ALIKE = (
    "SELECT id FROM edge WHERE src = ? AND dst = ? AND type = ? AND json(props) = ? ORDER BY id"
)


class GraphMerge:
    """Merges the graph of one snapshot, of an export, into the store of a merge of beliefs."""

    def __init__(self, elsewhere: Store, erased: ErasedHere) -> None:
        self._elsewhere = elsewhere
        self._erased = erased
        self._maps = apsw.Connection("")  # a temporary file
        self._maps.execute(_MAPS)

    def __call__(self, job: BeliefMerge) -> None:
        try:
            self._maps.execute("BEGIN")
            with self._elsewhere.read() as snapshot:
                self._report_rules(job, snapshot)
                self._note_here(job)
                self._take_nodes(job, snapshot)
                for recording in (False, True):
                    self._take_edges(job, snapshot, recording)
        finally:
            self._maps.close()

    def _report_rules(self, job: BeliefMerge, snapshot: Reader) -> None:
        with job.write() as tx:
            for name, value in snapshot.catalogue_all().items():
                if tx.catalogue(name) != value:
                    job.pass_over(f"rule {name}")
            for conflict in snapshot.labelled("Conflict"):
                kref = str(conflict.props.get("kref", ""))
                if not conflict.props.get("decision") and tx.node_by_kref(kref) is None:
                    job.pass_over(f"conflict {kref}")

    def _note_here(self, job: BeliefMerge) -> None:
        """Note the content of every node of the target that has no address."""
        with job.write() as tx:
            at = 0
            sql = "SELECT id, labels, json(props), project FROM node WHERE id > ? AND kref IS NULL"
            while rows := tx.rows(f"{sql} ORDER BY id LIMIT ?", (at, IMPORT_BATCH_ITEMS_MAX)):
                for identity, labels, props, project in rows:
                    self._maps.execute(
                        "INSERT INTO here VALUES(?, ?, ?)",
                        (_hash(labels, props), project or "", identity),
                    )
                at = rows[-1][0]

    def _take_nodes(self, job: BeliefMerge, snapshot: Reader) -> None:
        live = (node for node in node_versions(snapshot) if node.until is None)
        for batch in _batches(live):
            with job.write() as tx:
                for node in batch:
                    self._take_node(job, tx, node)

    def _take_node(self, job: BeliefMerge, tx: Transaction, node: NodeVersion) -> None:
        labels, props = decode(node.labels), decode_properties(node.props)
        kref = props.get("kref")
        if isinstance(kref, str):
            believed = not _BELIEF.isdisjoint(labels)
            self._maps.execute("INSERT INTO place VALUES(?, ?, ?)", (node.id, kref, believed))
            if believed or tx.node_by_kref(kref) is not None:
                return
            if "Record" in labels:  # what an agent's runtime decided elsewhere holds there
                job.pass_over(f"record {kref}")
                return
        elif node.id not in self._erased.nodes and self._is_here(node):
            return
        if node.id in self._erased.nodes:
            job.pass_over(f"{kref or f'node {node.id}'}: it was erased here")
            return
        kinds: list[str] = []
        for label in labels:
            refuse_secret(label, field="label")
        place = None if node.project is None else refuse_secret(node.project, field="project")
        clean = clean_properties(props, kinds)
        try:
            made = self._checked(
                f"node {node.id}", lambda: tx.create_node(labels, clean, project=place)
            )
        except (ConstraintError, InputError, RoleError):
            if kref is None:
                raise
            job.pass_over(f"node {kref}")  # an address that is not its to have
            return
        self._maps.execute("INSERT INTO same VALUES(?, ?)", (node.id, made))
        job.counts["redacted"] += len(kinds)
        job.counts["nodes"] += 1

    def _is_here(self, node: NodeVersion) -> bool:
        """Whether a node without an address is one of the target that none before it was."""
        content = _hash(node.labels, node.props)
        found = (
            self._maps.execute(_SAME, (content,))
            if node.project is None
            else self._maps.execute(_SAME_PLACED, (content, node.project))
        ).fetchone()
        if found is None:
            return False
        self._maps.execute(
            "DELETE FROM here WHERE hash = ? AND project = ? AND id = ?", (content, *found)
        )
        self._maps.execute("INSERT INTO same VALUES(?, ?)", (node.id, found[1]))
        return True

    def _take_edges(self, job: BeliefMerge, snapshot: Reader, recording: bool) -> None:
        """Take the live edges; those that record what was retired come last."""
        live = (
            edge
            for edge in edge_versions(snapshot)
            if edge.until is None and (edge.type == SUPERSEDES) is recording
        )
        for batch in _batches(live):
            with job.write() as tx:
                for edge in batch:
                    self._take_edge(job, tx, edge)

    def _take_edge(self, job: BeliefMerge, tx: Transaction, edge: EdgeVersion) -> None:
        places = [self._place(end) for end in (edge.src, edge.dst)]
        believed = all(self._believed(end) for end in (edge.src, edge.dst))
        if believed and (edge.type in STRUCTURE or _is_derived(edge, places)):
            return
        ends = [self._here(tx, end) for end in (edge.src, edge.dst)]
        if None in ends or edge.id in self._erased.edges:
            said = (place or f"node {end}" for place, end in zip(places, edge[5:7], strict=True))
            job.pass_over(f" {edge.type} ".join(said))
            return
        src, dst = (NodeId(end) for end in ends if end is not None)
        if believed:
            known = bool(tx.rows(_HELD, (src, dst, edge.type)))
        else:
            known = self._is_known(tx, src, dst, edge)
        if known or (edge.type == SAME_AS and self._is_decided(job, tx, src, dst)):
            return
        kinds: list[str] = []
        kind = refuse_secret(edge.type, field="edge type")
        props = clean_properties(decode_properties(edge.props), kinds)
        try:
            made = self._checked(
                f"edge {edge.id}", lambda: tx.create_edge(kind, src, dst=dst, props=props)
            )
        except (ConstraintError, RoleError):
            if edge.type != SAME_AS:
                raise
            job.pass_over(f"{places[0]} {SAME_AS} {places[1]}")  # it is an operator's to say
            return
        self._maps.execute("INSERT INTO used VALUES(?)", (made,))
        job.counts["redacted"] += len(kinds)
        job.counts["edges"] += 1

    def _is_decided(self, job: BeliefMerge, tx: Transaction, src: NodeId, dst: NodeId) -> bool:
        """Whether it was decided here whom a name means, or the two are one here already."""
        ends = [tx.node(src), tx.node(dst)]
        if any(end is None or ENTITY not in end.labels for end in ends):
            return False
        roots = [root_of(tx, end, SAME_AS) for end in ends if end is not None]
        if roots[0].id == roots[1].id:
            return True
        if tx.edges_out(src, SAME_AS):
            job.pass_over(f"{ends[0].props['kref']!s} {SAME_AS}")  # type: ignore[union-attr]
            return True
        return False

    def _is_known(self, tx: Transaction, src: int, dst: int, edge: EdgeVersion) -> bool:
        for (identity,) in tx.rows(_ALIKE, (src, dst, edge.type, edge.props)):
            if self._maps.execute("SELECT 1 FROM used WHERE id = ?", (identity,)).get is None:
                self._maps.execute("INSERT INTO used VALUES(?)", (identity,))
                return True
        return False

    def _place(self, identity: int) -> str | None:
        found = self._maps.execute("SELECT kref FROM place WHERE id = ?", (identity,)).get
        return None if found is None else str(found)

    def _believed(self, identity: int) -> bool:
        found = self._maps.execute("SELECT believed FROM place WHERE id = ?", (identity,)).get
        return bool(found)

    def _here(self, tx: Transaction, identity: int) -> int | None:
        """The node of the target that a node of the export is."""
        kref = self._place(identity)
        if kref is not None:
            node = tx.node_by_kref(kref)
            return None if node is None else node.id
        return self._maps.execute("SELECT here FROM same WHERE id = ?", (identity,)).get  # type: ignore[no-any-return]

    @staticmethod
    def _checked(what: str, make: Callable[[], int]) -> int:
        try:
            return make()
        except InputError as error:
            raise InputError(
                f"The {what} of the export cannot be imported: {error.message}",
                next_step=error.next_step,
            ) from None


def _is_derived(edge: EdgeVersion, places: list[str | None]) -> bool:
    """Whether an edge between beliefs follows from what was merged already: the order of turns,
    and what a revision of the same item replaced."""
    if edge.type == "NEXT":
        return True
    source, target = (str(place).partition("?")[0] for place in places)
    return edge.type == SUPERSEDES and source == target


def _hash(labels: str, props: str) -> bytes:
    return hashlib.blake2b(f"{labels}\n{props}".encode(), digest_size=16).digest()


def _batches(found: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(found, INGEST_BATCH_TURNS)):
        yield batch
