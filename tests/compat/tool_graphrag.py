"""neo4j-graphrag against the server: indexes, vectors put in, and its retrievers. Prints JSON for
each check.

Run by its own environment (`scripts/compat.sh`): `python tool_graphrag.py PORT`.
"""

# ruff: noqa: E402 - the libraries warn while they are imported
from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

warnings.simplefilter("ignore")

import neo4j
from neo4j_graphrag import indexes
from neo4j_graphrag.retrievers import (
    HybridCypherRetriever,
    HybridRetriever,
    VectorCypherRetriever,
    VectorRetriever,
)
from neo4j_graphrag.types import EntityType

DRIVER = neo4j.GraphDatabase.driver(
    f"neo4j://127.0.0.1:{sys.argv[1]}", auth=("ana", "a-good-secret")
)
TEXTS = {
    "the train to Bergen": [1.0, 0.0, 0.0],
    "a train to Oslo": [0.9, 0.1, 0.0],
    "apples and pears": [0.0, 0.0, 1.0],
}


def run(text: str, **params: Any) -> list[neo4j.Record]:
    return DRIVER.execute_query(text, params).records


def make_indexes() -> None:
    run("MATCH (n) DETACH DELETE n")
    indexes.create_vector_index(
        DRIVER,
        "by_meaning",
        label="Chunk",
        embedding_property="vector",
        dimensions=3,
        similarity_fn="cosine",
    )
    indexes.create_vector_index(
        DRIVER,
        "by_meaning",
        label="Chunk",
        embedding_property="vector",
        dimensions=3,
        similarity_fn="cosine",
    )
    indexes.create_fulltext_index(DRIVER, "by_words", label="Chunk", node_properties=["text"])
    assert indexes.retrieve_vector_index_info(DRIVER, "by_meaning", "Chunk", "vector")[
        "labelsOrTypes"
    ] == ["Chunk"]
    assert indexes.retrieve_fulltext_index_info(DRIVER, "by_words", "Chunk", ["text"])[
        "properties"
    ] == ["text"]


def put_in() -> None:
    made = run(
        "UNWIND $texts AS text CREATE (c:Chunk {text: text})-[:OF]->(:Page {number: size(text)})"
        " RETURN elementId(c) AS id",
        texts=list(TEXTS),
    )
    indexes.upsert_vectors(
        DRIVER, [record["id"] for record in made], "vector", list(TEXTS.values())
    )
    edges = [record["id"] for record in run("MATCH (:Chunk)-[r:OF]->() RETURN elementId(r) AS id")]
    indexes.upsert_vectors(
        DRIVER, edges, "vector", list(TEXTS.values()), entity_type=EntityType.RELATIONSHIP
    )
    assert (
        run(
            "MATCH (c:Chunk)-[r:OF]->() WHERE size(c.vector) = 3 AND size(r.vector) = 3 RETURN"
            " count(*) AS n"
        )[0]["n"]
        == 3
    )


def found(retriever: Any, **arguments: Any) -> list[str]:
    return [item.content for item in retriever.search(top_k=2, **arguments).items]


def by_vector() -> None:
    retriever = VectorRetriever(DRIVER, "by_meaning", return_properties=["text"])
    first, second = found(retriever, query_vector=[1.0, 0.0, 0.0])
    assert "Bergen" in first and "Oslo" in second
    (only,) = found(retriever, query_vector=[1.0, 0.0, 0.0], filters={"text": "apples and pears"})
    assert "apples" in only


def by_vector_then_graph() -> None:
    retriever = VectorCypherRetriever(
        DRIVER, "by_meaning", "MATCH (node)-[:OF]->(page) RETURN page.number AS number"
    )
    assert "19" in found(retriever, query_vector=[1.0, 0.0, 0.0])[0]


def by_both() -> None:
    retriever = HybridRetriever(DRIVER, "by_meaning", "by_words", return_properties=["text"])
    assert "Bergen" in found(retriever, query_vector=[1.0, 0.0, 0.0], query_text="Bergen")[0]
    ranked = retriever.search(
        query_vector=[0.0, 0.0, 1.0], query_text="train Oslo", top_k=3, ranker="linear", alpha=0.1
    )
    assert "Oslo" in ranked.items[0].content
    retriever = HybridCypherRetriever(
        DRIVER, "by_meaning", "by_words", "MATCH (node)-[:OF]->(page) RETURN page.number AS number"
    )
    assert "16" in found(retriever, query_vector=[0.0, 0.0, 1.0], query_text="pears")[0]


def drop() -> None:
    for name in ("by_meaning", "by_words", "absent"):
        indexes.drop_index_if_exists(DRIVER, name)
    assert not [
        record for record in run("SHOW INDEXES") if record["name"] in ("by_meaning", "by_words")
    ]


def check(work: Callable[[], Any]) -> None:
    problem = ""
    try:
        work()
    except BaseException:
        problem = traceback.format_exc()
    print("CHECK " + json.dumps({"name": work.__name__, "problem": problem}))


for each in (make_indexes, put_in, by_vector, by_vector_then_graph, by_both, drop):
    check(each)
DRIVER.close()
