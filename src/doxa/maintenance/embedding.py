"""Vectors come after the commit: a job that takes what has none yet, embeds it outside any
transaction, and writes it in small ones.

What is due is a column of the search row, written with the row itself, so a crash at any moment
loses no work order. A text that cannot be embedded is tried again a limited number of times and
stays findable by its words. Two processes may embed the same rows; the result is equal.

Another model's vectors are made beside those in use (store/indexing/vectors.py): `begin_reembedding` begins, and
every job that has the model goes on until one short transaction puts them into use. Meanwhile what
is new is embedded by the model in use first, if it is at hand, so that meaning finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from doxa.base.errors import ModelError
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
from doxa.recall.meaning import field_texts
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
SELECT q.scope, q.doc, d.node, q.attempts FROM vector_next_due q JOIN doc d ON d.scope = q.scope AND d.doc = q.doc
WHERE q.attempts < ? ORDER BY q.scope, q.doc LIMIT ?
"""


class Reembedding(NamedTuple):
    """How far a second set of vectors is: how many memories have theirs, how many are due, and how
    many were given up."""

    model: str
    made: int
    due: int
    failed: int


class _PendingDoc(NamedTuple):
    """Texts of one memory by part. `attempts` that failed are known of the coming set only."""

    scope: int
    doc: int
    attempts: int
    texts: dict[int, str]


_Packed = tuple[_PendingDoc, dict[int, tuple[bytes, bytes]]]


def pending(reader: Reader, *, in_use: bool = False) -> int:
    """How many memories await vectors of the set in use or of a coming one, and may still get them;
    `in_use`: of the set in use only."""
    lacking = "SELECT scope, doc FROM doc INDEXED BY doc_unembedded WHERE vectors = 0"
    if in_use or reader.embedder_next() is None:
        return int(reader.rows(f"SELECT count(*) FROM ({lacking})")[0][0])
    coming = "SELECT scope, doc FROM vector_next_due WHERE attempts < ?"
    return int(
        reader.rows(f"SELECT count(*) FROM ({lacking} UNION {coming})", (JOB_ATTEMPTS_MAX,))[0][0]
    )


def failed_embeddings(reader: Reader) -> int:
    """How many memories could not be embedded at the last of their attempts."""
    return int(
        reader.rows("SELECT count(*) FROM doc INDEXED BY doc_given_up WHERE vectors < 0")[0][0]
    )


def reembedding(reader: Reader) -> Reembedding | None:
    """How far the coming set of vectors is; None where there is none."""
    model = reader.embedder_next()
    if model is None:
        return None
    total = int(reader.rows("SELECT count(*) FROM doc WHERE node > 0")[0][0])
    counts = "SELECT count(*), coalesce(sum(attempts >= ?), 0) FROM vector_next_due"
    left, failed = reader.rows(counts, (JOB_ATTEMPTS_MAX,))[0]
    return Reembedding(model, total - left, left - failed, failed)


def begin_reembedding(store: Store, model: str) -> None:
    """Begin to make every vector again, by this model; recall goes on with those there are. Where
    that is under way already it goes on. The model of the vectors in use takes a change to another
    one back."""
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
    """Embed what is due, oldest first, until nothing is, `limit` is reached or `stop` says so.
    Returns how many memories got vectors; one that got those of two models counts twice. `former`
    gives the model of the vectors in use by its name, where it is another and at hand. Raises
    ConstraintError where something is due and neither set of vectors can be added to."""
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
    return job.done


class _Job:
    """One run over what is due. A batch that fails as a whole ends it, since then the model is
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
        """One batch for the set in use. False if there is nothing to do, or no model to do it with."""
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
        """One batch for the coming set. False if nothing is left of it, or the model is down. Texts
        that fail again while others do not are tried until they are given up, so that they do not
        hold up the switch."""
        batch = self._due(_DUE_NEXT, (JOB_ATTEMPTS_MAX, count))
        if not batch or embedder.name in self._down:
            return False
        made, failed = self._embed(embedder, batch, coming=True)
        self._made_next = self._made_next or made > 0
        return made > 0 or (self._made_next and failed > 0 and all(work.attempts for work in batch))

    def drop_former(self) -> bool:
        """Delete some of a set that is not wanted any more. True if there is more to do."""
        with self._store.read() as snapshot:
            if not snapshot.has_former_vectors():
                return False
        with self._store.write(_IDENTITY, op="embed") as tx:
            return tx.drop_former_vectors()

    def switch(self, model: str) -> bool:
        """Put the coming set into use if it is of this model and whole."""
        with self._store.read() as snapshot:
            if snapshot.embedder_next() != model or self._due(_DUE_NEXT, (JOB_ATTEMPTS_MAX, 1)):
                return False
        with self._store.write(_IDENTITY, op="embed") as tx:
            return tx.switch_vectors(model)

    def _due(self, sql: str, args: tuple[int, ...]) -> list[_PendingDoc]:
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
        """Group by group, each written before the next, so that little is lost by stopping. Returns
        how many got vectors and how many failed."""
        made, failed = 0, 0
        for group in _groups(batch):
            if self._stop():
                break
            packed: list[_Packed] = []
            bad: list[_PendingDoc] = []
            try:
                _embed_group(embedder, group, packed, bad)
            finally:  # what was made before an interruption is kept
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
    """The texts that get a vector of their own, by the numbers of store/indexing/search.py: the text itself;
    the passages of a long one, since the embedder would cut it off; the sentences of a short one,
    where a question may meet one and not the rest; and what its fields say."""
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
    """Lines, or where a line is too long its sentences, or where a sentence is too long its words
    in runs."""
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
    """The caller's own text for the vector where one was given, else the text that is searched by
    words."""
    override = props.get(EMBEDDING_TEXT)
    return override if isinstance(override, str) and override.strip() else text_of(rule, props)


def _groups(batch: list[_PendingDoc]) -> Iterator[list[_PendingDoc]]:
    """Memories whose texts fill one request to an endpoint."""
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
    """All texts in one call. If that fails each memory is tried alone, so that one text does not
    fail its neighbours."""
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
