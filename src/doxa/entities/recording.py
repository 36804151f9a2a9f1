"""Record the mentions of turns and beliefs that are stored: a job apart from ingestion, in batches.

Rules read the names in a turn (language/extract.py). Of a belief it takes the entities that it
lists, and those subjects and values of its facts that are names of entities. A position in the
order of storing says how far it has come; what is read again writes nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from doxa.base.errors import InputError, LimitError
from doxa.base.ids import NodeId
from doxa.base.limits import INGEST_BATCH_TURNS
from doxa.belief import check_name, facts_of
from doxa.belief.graph import CURRENT
from doxa.entities.mentioning import Mentioner
from doxa.entities.names import key_of
from doxa.language.extract import EntityKind, names_in
from doxa.store import Identity, Node, Store, Transaction

RULE_NAMES, RULE_ENTITIES, RULE_FACTS = "rule:names", "rule:entities", "rule:facts"
_KINDS: dict[EntityKind, str] = {"handle": "handle", "host": "host"}

_DUE = """
SELECT n.id FROM node_label l JOIN node n ON n.id = l.node
WHERE l.label = ? AND l.node > ? AND n.kref >= ? AND n.kref < ?
  AND NOT coalesce(n.props ->> '$.deprecated', 0)
ORDER BY l.node LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of recording: how many sources were read, mentions written, entities new, names
    left pending; and the changes. `is_all`: nothing is left to read."""

    sources: int
    mentions: int
    entities: int
    pending: int
    changes: tuple[int, ...]
    is_all: bool = True


def record(
    store: Store,
    identity: Identity,
    project: str,
    *,
    again: bool = False,
    sources_max: int | None = None,
    batch_max: int = INGEST_BATCH_TURNS,
    write: Callable[[], AbstractContextManager[Transaction]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Recorded:
    """Record the mentions of the turns of a project, then of its current beliefs, from where the
    last call came to; with `again`, of all. Each batch is a transaction, that of `write` if given,
    such as of a run of a background job: then it ends early at `sources_max`, or where the run
    reaches its limit after some batches. `progress` is called after a batch with its number of
    sources."""
    begin = write or (lambda: store.write(identity, op="record_mentions"))
    job = _Recording(check_name(project, what="project"), batch_max)
    changes: list[int] = []
    for label in ("Exchange", "Revision"):
        for batch in job.batches(store, label, again=again):
            if sources_max is not None and job.sources >= sources_max:
                return job.recorded(changes, is_all=False)
            before = job.counts()
            try:
                with begin() as tx:
                    mentioner = Mentioner(tx, project)
                    for node in tx.nodes(batch):
                        job.read(mentioner, tx.edges_in, node)
            except LimitError:
                if not changes:
                    raise
                job.sources, job.mentions, job.entities, job.pending = before
                return job.recorded(changes, is_all=False)
            if tx.receipt_made:
                changes.append(tx.tx)
            if not store.is_joined:
                store.save_cursor(job.cursor(label), batch[-1])
            if progress:
                progress(len(batch))
    return job.recorded(changes)


class _Recording:
    def __init__(self, project: str, batch_max: int) -> None:
        self._project = project
        self._batch_max = batch_max
        self.sources = self.mentions = self.entities = self.pending = 0

    def counts(self) -> tuple[int, int, int, int]:
        return self.sources, self.mentions, self.entities, self.pending

    def recorded(self, changes: Sequence[int], *, is_all: bool = True) -> Recorded:
        return Recorded(*self.counts(), tuple(changes), is_all)

    def cursor(self, label: str) -> str:
        """Return the name of the position up to which sources of a label were read."""
        return f"entities/{self._project}/{label}"

    def batches(self, store: Store, label: str, *, again: bool) -> Iterator[list[NodeId]]:
        """Yield the pending sources, in the order in which they were stored."""
        at = 0
        first = f"kref://{self._project}/"
        while True:
            with store.read() as reader:
                if not at and not again:
                    sql = "SELECT seq FROM main.cursor WHERE name = ?"
                    held = reader.rows(sql, (self.cursor(label),))
                    at = held[0][0] if held else 0
                args = (label, at, first, first[:-1] + "0", self._batch_max)
                rows = reader.rows(_DUE, args)
            if not rows:
                return
            found = [NodeId(row[0]) for row in rows]
            yield found
            at = found[-1]

    def read(self, mentioner: Mentioner, edges_in: Callable[..., list[Any]], node: Node) -> None:
        """Record what one source mentions."""
        if "Revision" in node.labels and not edges_in(node.id, CURRENT):
            return
        named = _names(node)
        nearby = [one.name for one in named]
        self.sources += 1
        for one in named:
            if one.known and not mentioner.has(key_of(one.name)):
                continue
            try:
                found = mentioner.mention(
                    one.name, source=node, kind=one.kind, rule=one.rule, nearby=nearby
                )
            except InputError:  # what an older file holds may be no name
                continue
            self.mentions += found.decision in ("exact", "new", "assume")
            self.entities += found.decision == "new"
            self.pending += found.decision in ("defer", "ask")


class _Named(NamedTuple):
    name: str
    kind: str
    rule: str
    known: bool  # counts only if it is the name of an entity already


def _names(node: Node) -> list[_Named]:
    """The names that a source holds, each once."""
    found: list[_Named] = []
    held = node.props.get("entities")
    stated = [name for name in (held if isinstance(held, list) else ()) if isinstance(name, str)]
    if "Exchange" in node.labels:
        read = names_in(str(node.props.get("text", "")))
        found += [_Named(one.text, _KINDS.get(one.kind, ""), RULE_NAMES, False) for one in read]
        found += [_Named(name, "", RULE_NAMES, False) for name in stated]
    else:
        found += [_Named(name, "", RULE_ENTITIES, False) for name in stated]
        for fact in facts_of(node):
            texts = (fact.subject, str(fact.value))
            found += [_Named(text, "", RULE_FACTS, True) for text in texts]
    first: dict[str, _Named] = {}
    for one in found:
        if one.name.strip():
            first.setdefault(key_of(one.name), one)
    return list(first.values())
