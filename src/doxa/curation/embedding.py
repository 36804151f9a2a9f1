"""Vectors come after the commit: a job that takes what has none yet, embeds it outside any transaction, and writes it in small ones.

What is due is a column of the search row, written with the row itself, so a crash at any moment loses no work order. A text that cannot be
embedded is tried again a limited number of times and stays findable by its words. Two processes may embed the same rows; the result is equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from doxa.base.errors import ModelError
from doxa.base.limits import (
    EMBED_BATCH_DOCS,
    EMBED_FIELDS_PER_DOC_MAX,
    EMBED_PARTS_PER_DOC_MAX,
    EMBED_PASSAGE_CHARS_MAX,
    EMBED_SENTENCES_PER_DOC_MAX,
)
from doxa.belief.writes import EMBEDDING_TEXT
from doxa.models.contract import Embedder
from doxa.recall import pack_part
from doxa.store import FIELDS_FROM, INDEXED_PARTS, Identity, Reader, SearchRule, Store, text_of

_IDENTITY = Identity("embedding", "system")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE_END = re.compile(r"(?<=[.!?;:])\s+|\n+")
_SENTENCE_CHARS_MIN = 4
_FIELDS = ("facts", "events", "implications")  # each of their texts is found by itself


def pending(reader: Reader) -> int:
    """How many memories await their vectors and may still get them."""
    return int(reader.rows("SELECT count(*) FROM doc INDEXED BY doc_unembedded WHERE vectors = 0")[0][0])


def given_up(reader: Reader) -> int:
    """How many memories could not be embedded at the last of their attempts."""
    return int(reader.rows("SELECT count(*) FROM doc WHERE vectors < 0")[0][0])


def embed_pending(
    store: Store,
    embedder: Embedder,
    *,
    limit: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Embed what is due, oldest first, until nothing is, `limit` is reached or `stop` says so. Returns how many memories got vectors."""
    done = 0
    while not stop() and (limit is None or done < limit):
        batch = _due(store, EMBED_BATCH_DOCS if limit is None else min(EMBED_BATCH_DOCS, limit - done))
        if not batch:
            break
        made, failed = _embed(embedder, batch, stop)
        _write(store, embedder.name, made=made, failed=failed)
        done += len(made)
        if progress:
            progress(len(made))
        if failed and not made:
            break  # the embedder itself is down: leave the rest due
    return done


def embed_anew(store: Store) -> None:
    """Forget every vector, so that another model makes them; recall goes by words meanwhile."""
    with store.write(_IDENTITY, op="embed") as tx:
        tx.drop_vectors()


def parts(text: str, fields: Sequence[str] = ()) -> dict[int, str]:
    """The texts that get a vector of their own, by the numbers of store/search.py: the text itself; the passages of a long one, since the embedder
    would cut it off; the sentences of a short one, where a question may meet one and not the rest; and what its fields say."""
    found = {0: text}
    if len(text) > EMBED_PASSAGE_CHARS_MAX:
        found |= dict(enumerate(islice(_passages(text), EMBED_PARTS_PER_DOC_MAX), 1))
    else:
        sentences = [piece.strip() for piece in _CLAUSE_END.split(text) if len(piece.strip()) >= _SENTENCE_CHARS_MIN]
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
    """Lines, or where a line is too long its sentences, or where a sentence is too long its words in runs."""
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


def _due(store: Store, count: int) -> list[tuple[int, int, dict[int, str]]]:
    rules = store.search_rules()
    with store.read() as snapshot:
        rows = snapshot.rows(
            "SELECT scope, doc, node FROM doc INDEXED BY doc_unembedded WHERE vectors = 0 ORDER BY scope, doc LIMIT ?", (count,)
        )
        nodes = {node.id: node for node in snapshot.nodes([row[2] for row in rows])}
    found: list[tuple[int, int, dict[int, str]]] = []
    for scope, doc, identity in rows:
        node = nodes.get(identity)
        rule = next((rules[label] for label in node.labels if label in rules), None) if node else None
        found.append((scope, doc, parts(text_to_embed(rule, node.props), _field_texts(node.props)) if node and rule else {0: ""}))
    return found


def _field_texts(props: Mapping[str, Any]) -> list[str]:
    """What the fields of a belief say, one text for each of their entries; a field that an older file holds in another form says nothing."""
    lists = (value for name in _FIELDS if isinstance(value := props.get(name), list))
    return [text for value in lists for text in value if isinstance(text, str) and text.strip()]


def text_to_embed(rule: SearchRule, props: Mapping[str, Any]) -> str:
    """The caller's own text for the vector where one was given, else the text that is searched by words."""
    override = props.get(EMBEDDING_TEXT)
    return override if isinstance(override, str) and override.strip() else text_of(rule, props)


def _embed(
    embedder: Embedder, batch: list[tuple[int, int, dict[int, str]]], stop: Callable[[], bool]
) -> tuple[list[Any], list[tuple[int, int]]]:
    made: list[tuple[int, int, dict[int, tuple[bytes, bytes]]]] = []
    failed: list[tuple[int, int]] = []
    for scope, doc, texts in batch:
        if stop():
            break
        try:
            vectors = embedder.embed(list(texts.values()))
            made.append((scope, doc, {part: pack_part(part, vector) for part, vector in zip(texts, vectors, strict=True)}))
        except ModelError:
            failed.append((scope, doc))
    return made, failed


def _write(store: Store, model: str, *, made: list[Any], failed: list[tuple[int, int]]) -> None:
    if not made and not failed:
        return
    with store.write(_IDENTITY, op="embed") as tx:
        for scope, doc, vectors in made:
            tx.put_vectors(scope, doc, model=model, vectors=vectors)
        for scope, doc in failed:
            tx.fail_vectors(scope, doc)
