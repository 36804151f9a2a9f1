"""Embed texts after they are committed: a job takes pending rows, embeds them outside any
transaction, and writes the vectors in small transactions.

The pending state is a column of the search row and is written with it, so a crash loses no work. A
text that cannot be embedded is retried a limited number of times; full-text search still finds it.
Two processes may embed the same rows; the results are equal.

Vectors of another model are built next to those in use (store/indexing/vector_tables.py).
`begin_reembedding` starts this, and every job that has the model continues until one short
transaction switches to the new vectors. Meanwhile, new texts are first embedded by the model in
use, if it is available, so that vector search finds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from doxa.base.errors import BusyError, ModelError
from doxa.base.limits import (
    EMBED_BATCH_DOCS,
    EMBED_FIELDS_PER_DOC_MAX,
    EMBED_PARTS_PER_DOC_MAX,
    EMBED_PASSAGE_CHARS_MAX,
    EMBED_REQUEST_BYTES_MAX,
    EMBED_REQUEST_ITEMS_MAX,
    EMBED_SENTENCES_PER_DOC_MAX,
    JOB_ATTEMPTS_MAX,
)
from doxa.belief.writes import EMBEDDING_TEXT
from doxa.models.contract import Embedder
from doxa.store import (
    FIELDS_FROM,
    INDEXED_PARTS,
    Identity,
    Reader,
    SearchRule,
    Store,
    pack_part,
    text_of,
)

_IDENTITY = Identity("embedding", "system")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE_END = re.compile(r"(?<=[.!?;:])\s+|\n+")
_SENTENCE_CHARS_MIN = 4
_DUE = (
    "SELECT scope, doc, node, 0 FROM doc INDEXED BY doc_unembedded WHERE vectors = 0 ORDER BY"
    " scope, doc LIMIT ?"
)
_DUE_NEXT = """
SELECT q.scope, q.doc, d.node, q.attempts
FROM vector_next_due q JOIN doc d ON d.scope = q.scope AND d.doc = q.doc
WHERE q.attempts < ? ORDER BY q.scope, q.doc LIMIT ?
"""


class Reembedding(NamedTuple):
    """The progress of a second set of vectors: how many memories have theirs, are pending, and
    failed."""

    model: str
    made: int
    due: int
    failed: int


class _PendingDoc(NamedTuple):
    """The texts of one memory by part. `attempts` counts failures and is known for the next set
    only."""

    scope: int
    doc: int
    attempts: int
    texts: dict[int, str]


_Packed = tuple[_PendingDoc, dict[int, tuple[bytes, bytes]]]


def pending(reader: Reader, *, in_use: bool = False) -> int:
    """Count the memories with pending vectors, in the set in use or the next one; with `in_use`, in
    the set in use only."""
    lacking = "SELECT scope, doc FROM doc INDEXED BY doc_unembedded WHERE vectors = 0"
    if in_use or reader.embedder_next() is None:
        return int(reader.rows(f"SELECT count(*) FROM ({lacking})")[0][0])
    coming = "SELECT scope, doc FROM vector_next_due WHERE attempts < ?"
    return int(
        reader.rows(f"SELECT count(*) FROM ({lacking} UNION {coming})", (JOB_ATTEMPTS_MAX,))[0][0]
    )


def failed_embeddings(reader: Reader) -> int:
    """Count the memories that could not be embedded in any attempt."""
    return int(
        reader.rows("SELECT count(*) FROM doc INDEXED BY doc_given_up WHERE vectors < 0")[0][0]
    )


def reembedding(reader: Reader) -> Reembedding | None:
    """Return the progress of the next set of vectors, or None if there is none."""
    model = reader.embedder_next()
    if model is None:
        return None
    total = int(reader.rows("SELECT count(*) FROM doc WHERE node > 0")[0][0])
    counts = "SELECT count(*), coalesce(sum(attempts >= ?), 0) FROM vector_next_due"
    left, failed = reader.rows(counts, (JOB_ATTEMPTS_MAX,))[0]
    return Reembedding(model, total - left, left - failed, failed)


def begin_reembedding(store: Store, model: str) -> None:
    """Start to recompute every vector with this model; recall uses the existing vectors until then.
    If that is already in progress, it continues. The model of the vectors in use cancels a change
    to another model."""
    with store.write(_IDENTITY, op="embed") as tx:
        tx.begin_vectors(model)


def embed_pending(
    store: Store,
    embedder: Embedder,
    *,
    former: Callable[[str], Embedder | None] = lambda name: None,
    limit: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Embed pending texts, oldest first, until none is left, `limit` is reached or `stop` returns
    True. Returns the number of memories embedded; one embedded by two models counts twice. `former`
    returns the model of the vectors in use by name, if it is another one and available. Without a
    limit, the blocks by which large projects are read at once are made in the end. Raises
    ConstraintError if texts are pending and neither set of vectors can be extended."""
    job = _Job(store, stop, progress)
    while not stop() and (limit is None or job.done < limit):
        if job.drop_former():
            continue
        wanted = EMBED_BATCH_DOCS if limit is None else min(EMBED_BATCH_DOCS, limit - job.done)
        with store.read() as snapshot:
            held, coming = snapshot.embedder_name(), snapshot.embedder_next()
        if not job.embed_in_use(held, coming, embedder, former, wanted) and not (
            coming == embedder.name and job.embed_coming(embedder, wanted)
        ):
            break
    if not stop() and job.switch(embedder.name):
        while not stop() and job.drop_former():
            pass
    if limit is None:
        job.make_blocks()
    return job.done


class _Job:
    """One run over the pending texts. It ends when a whole batch fails, since then the model is
    down."""

    def __init__(
        self, store: Store, stop: Callable[[], bool], progress: Callable[[int], None] | None
    ) -> None:
        self._store = store
        self._stop = stop
        self._progress = progress
        self.done = 0
        self._down: set[str] = set()  # models that failed a whole batch
        self._made_next = False

    def embed_in_use(
        self,
        held: str | None,
        coming: str | None,
        embedder: Embedder,
        former: Callable[[str], Embedder | None],
        count: int,
    ) -> bool:
        """Embed one batch for the set in use. Returns False if nothing is pending or no model is
        available."""
        batch = self._due(_DUE, (count,))
        if not batch:
            return False
        own = held is None or held == embedder.name
        model = embedder if own else former(held or "")
        if model is None:
            if coming == embedder.name:
                return False
            with self._store.read() as snapshot:
                raise snapshot.another_model(embedder.name)
        if model.name in self._down:
            return False
        made, failed = self._embed(model, batch, coming=False)
        if failed and not made:
            self._down.add(model.name)
        return made > 0

    def embed_coming(self, embedder: Embedder, count: int) -> bool:
        """Embed one batch for the next set. Returns False if nothing is pending or the model is
        down. Texts that keep failing while others succeed are retried up to the limit, so that they
        do not delay the switch."""
        batch = self._due(_DUE_NEXT, (JOB_ATTEMPTS_MAX, count))
        if not batch or embedder.name in self._down:
            return False
        made, failed = self._embed(embedder, batch, coming=True)
        self._made_next = self._made_next or made > 0
        return made > 0 or (self._made_next and failed > 0 and all(work.attempts for work in batch))

    def drop_former(self) -> bool:
        """Delete part of an obsolete set. Returns True if more is left."""
        with self._store.read() as snapshot:
            if not snapshot.has_former_vectors():
                return False
        with self._store.write(_IDENTITY, op="embed") as tx:
            return tx.drop_former_vectors()

    def switch(self, model: str) -> bool:
        """Switch to the next set if it is of this model and complete."""
        with self._store.read() as snapshot:
            if snapshot.embedder_next() != model or self._due(_DUE_NEXT, (JOB_ATTEMPTS_MAX, 1)):
                return False
        with self._store.write(_IDENTITY, op="embed") as tx:
            return tx.switch_vectors(model)

    def make_blocks(self) -> None:
        """Make the blocks by which large projects are read at once. They can wait for others who
        write: the next run makes them."""
        with self._store.read() as snapshot:
            lacking = snapshot.lack_blocks()
        with suppress(BusyError):
            for scope in lacking:
                left = True
                while left and not self._stop():
                    with self._store.write(_IDENTITY, op="embed") as tx:
                        left = tx.make_blocks(scope)

    def _due(self, sql: str, args: tuple[int, ...]) -> list[_PendingDoc]:
        from doxa.recall import field_texts  # with numpy, which who only counts does without

        rules = self._store.search_rules()
        with self._store.read() as snapshot:
            rows = snapshot.rows(sql, args)
            nodes = {node.id: node for node in snapshot.nodes([row[2] for row in rows])}
        found: list[_PendingDoc] = []
        for scope, doc, identity, attempts in rows:
            node = nodes.get(identity)
            rule = (
                next((rules[label] for label in node.labels if label in rules), None)
                if node
                else None
            )
            texts = (
                parts(
                    text_to_embed(rule, node.props),
                    [text for _, text in field_texts(rule, node.props)],
                )
                if node and rule
                else {0: ""}
            )
            found.append(_PendingDoc(scope, doc, attempts, texts))
        return found

    def _embed(
        self, embedder: Embedder, batch: list[_PendingDoc], *, coming: bool
    ) -> tuple[int, int]:
        """Embed group by group and write each before the next, so that stopping loses little.
        Returns the numbers of memories embedded and failed."""
        made, failed = 0, 0
        for group in _groups(batch):
            if self._stop():
                break
            packed: list[_Packed] = []
            bad: list[_PendingDoc] = []
            try:
                _embed_group(embedder, group, packed, bad)
            finally:  # keep the vectors computed before an interruption
                self._write(embedder.name, packed, bad, coming=coming)
            made, failed = made + len(packed), failed + len(bad)
        return made, failed

    def _write(
        self, model: str, packed: list[_Packed], bad: list[_PendingDoc], *, coming: bool
    ) -> None:
        if not packed and not bad:
            return
        with self._store.write(_IDENTITY, op="embed") as tx:
            for work, vectors in packed:
                tx.put_vectors(work.scope, work.doc, model=model, vectors=vectors, coming=coming)
            for work in bad:
                tx.fail_vectors(work.scope, work.doc, coming=coming)
        self.done += len(packed)
        if self._progress:
            self._progress(len(packed))


def parts(text: str, fields: Sequence[str] = ()) -> dict[int, str]:
    """Return the texts that get their own vectors, by the part numbers of
    store/indexing/search_rows.py: the text itself; the passages of a long text, which the embedder
    would truncate; the sentences of a short text, since a question may match one of them; and the
    texts of its fields."""
    found = {0: text}
    if len(text) > EMBED_PASSAGE_CHARS_MAX:
        found |= dict(enumerate(islice(_passages(text), EMBED_PARTS_PER_DOC_MAX), 1))
    else:
        sentences = [
            piece.strip()
            for piece in _CLAUSE_END.split(text)
            if len(piece.strip()) >= _SENTENCE_CHARS_MIN
        ]
        if len(sentences) > 1:
            found |= dict(enumerate(sentences[:EMBED_SENTENCES_PER_DOC_MAX], INDEXED_PARTS))
    return found | dict(enumerate(fields[:EMBED_FIELDS_PER_DOC_MAX], FIELDS_FROM))


def _passages(text: str) -> Iterator[str]:
    held = ""
    for piece in _pieces(text):
        if held and len(held) + 1 + len(piece) > EMBED_PASSAGE_CHARS_MAX:
            yield held
            held = piece
        else:
            held = f"{held}\n{piece}" if held else piece
    if held:
        yield held


def _pieces(text: str) -> Iterator[str]:
    """Yield lines; for a line that is too long its sentences; for a sentence that is too long runs
    of its words."""
    for line in text.split("\n"):
        if len(line) <= EMBED_PASSAGE_CHARS_MAX:
            if line.strip():
                yield line
            continue
        for sentence in _SENTENCE_END.split(line):
            rest = sentence
            while len(rest) > EMBED_PASSAGE_CHARS_MAX:
                cut = rest.rfind(" ", 1, EMBED_PASSAGE_CHARS_MAX)
                cut = cut if cut > 0 else EMBED_PASSAGE_CHARS_MAX
                yield rest[:cut]
                rest = rest[cut:].lstrip()
            if rest:
                yield rest


def text_to_embed(rule: SearchRule, props: Mapping[str, Any]) -> str:
    """Return the caller's embedding text if there is one, else the text of the full-text index."""
    override = props.get(EMBEDDING_TEXT)
    return override if isinstance(override, str) and override.strip() else text_of(rule, props)


def _groups(batch: list[_PendingDoc]) -> Iterator[list[_PendingDoc]]:
    """Group memories whose texts fill one request to an endpoint."""
    group: list[_PendingDoc] = []
    texts, size = 0, 0
    for work in batch:
        added = sum(len(text.encode("utf-8", "surrogatepass")) for text in work.texts.values())
        if group and (
            texts + len(work.texts) > EMBED_REQUEST_ITEMS_MAX
            or size + added > EMBED_REQUEST_BYTES_MAX
        ):
            yield group
            group, texts, size = [], 0, 0
        group.append(work)
        texts, size = texts + len(work.texts), size + added
    if group:
        yield group


def _embed_group(
    embedder: Embedder, group: list[_PendingDoc], packed: list[_Packed], bad: list[_PendingDoc]
) -> None:
    """Embed all texts in one call. If that fails, each memory is embedded separately, so that one
    bad text does not affect the others."""
    try:
        vectors = embedder.embed([text for work in group for text in work.texts.values()])
    except ModelError:
        if len(group) == 1:
            bad += group
            return
        for work in group:
            _embed_group(embedder, [work], packed, bad)
        return
    start = 0
    for work in group:
        own = vectors[start : start + len(work.texts)]
        start += len(own)
        packed.append(
            (
                work,
                {
                    part: pack_part(part, vector)
                    for part, vector in zip(work.texts, own, strict=True)
                },
            )
        )
