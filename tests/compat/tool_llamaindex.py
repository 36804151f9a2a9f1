"""llama-index against the server: its graph store, its property graph store and its vector store.

Run by its own environment (`scripts/compat.sh`): `python tool_llamaindex.py PORT`.
"""

# ruff: noqa: E402 - the libraries warn while they are imported
from __future__ import annotations

import warnings
from functools import cache
from typing import Any

warnings.simplefilter("ignore")

from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.graph_stores.neo4j import Neo4jGraphStore, Neo4jPropertyGraphStore
from llama_index.vector_stores.neo4jvector import Neo4jVectorStore
from tool_steps import ADDRESS, PASSWORD, USER, run_steps, vector

LOGIN: dict[str, Any] = {"url": ADDRESS, "username": USER, "password": PASSWORD}


@cache
def triplets() -> Neo4jGraphStore:
    return Neo4jGraphStore(**LOGIN)


@cache
def properties() -> Neo4jPropertyGraphStore:
    return Neo4jPropertyGraphStore(**LOGIN)


@cache
def chunks() -> Neo4jVectorStore:
    return Neo4jVectorStore(embedding_dimension=8, hybrid_search=True, **LOGIN)


def open_graph_store() -> None:
    assert triplets().client is not None


def put_triplets() -> None:
    for subject, relation, target in (
        ("Ana", "lives in", "Oslo"),
        ("Oslo", "capital of", "Norway"),
        ("Ana", "knows", "Kai"),
    ):
        triplets().upsert_triplet(subject, relation, target)
    assert sorted(triplets().get("Ana")) == [["KNOWS", "Kai"], ["LIVES_IN", "Oslo"]]


def map_of_triplets() -> None:
    found = triplets().get_rel_map(["Ana"], depth=2)
    assert sorted(found) == ["Ana"]
    assert ["LIVES_IN", "Oslo", "CAPITAL_OF", "Norway"] in [sorted_pairs(x) for x in found["Ana"]]


def sorted_pairs(flat: list[str]) -> list[str]:
    """The library collects pairs in a set."""
    pairs = sorted(zip(flat[::2], flat[1::2], strict=True), reverse=True)
    return [item for pair in pairs for item in pair]


def schema_of_triplets() -> None:
    shown = triplets().get_schema(refresh=True)
    assert "(:Entity)-[:KNOWS]->(:Entity)" in shown
    assert "id: STRING" in shown


def query_of_triplets() -> None:
    assert triplets().query("MATCH (n:Entity) RETURN count(n) AS n") == [{"n": 4}]


def delete_triplet() -> None:
    triplets().delete("Ana", "KNOWS", "Kai")
    assert triplets().get("Ana") == [["LIVES_IN", "Oslo"]]


def open_property_store() -> None:
    properties().structured_query("MATCH (n) DETACH DELETE n")


def put_nodes() -> None:
    entities = [
        EntityNode(name=name, label=label, properties={"age": age}, embedding=vector(name))
        for name, label, age in (("Ana", "PERSON", 31), ("Kai", "PERSON", 29), ("Oslo", "CITY", 9))
    ]
    chunk = ChunkNode(text="Ana lives in Oslo.", id_="c1", properties={"page": 1})
    for _ in range(2):
        properties().upsert_nodes([*entities, chunk])
    assert len(properties().get()) == 4


def put_relations() -> None:
    for _ in range(2):
        properties().upsert_relations(
            [
                Relation(source_id="Ana", target_id="Oslo", label="LIVES_IN",
                         properties={"since": 2001}),
                Relation(source_id="Ana", target_id="Kai", label="KNOWS"),
            ]
        )  # fmt: skip
    assert properties().structured_query("MATCH ()-[r]->() RETURN count(r) AS n") == [{"n": 2}]


def read_nodes() -> None:
    (ana,) = properties().get(ids=["Ana"])
    assert (ana.name, ana.label, ana.properties["age"]) == ("Ana", "PERSON", 31)
    assert [node.name for node in properties().get(properties={"age": 29})] == ["Kai"]
    assert properties().get(ids=["c1"])[0].text == "Ana lives in Oslo."


def read_triplets() -> None:
    found = properties().get_triplets(entity_names=["Ana"])
    assert sorted((a.name, r.label, b.name) for a, r, b in found) == [
        ("Ana", "KNOWS", "Kai"),
        ("Ana", "LIVES_IN", "Oslo"),
    ]
    assert len(properties().get_triplets(relation_names=["KNOWS"])) == 2  # from both ends


def map_of_relations() -> None:
    found = properties().get_rel_map(properties().get(ids=["Kai"]), depth=2)
    assert sorted(relation.label for _, relation, _ in found) == ["KNOWS", "LIVES_IN"]


def schema_of_properties() -> None:
    shown = properties().get_schema(refresh=True)
    assert shown["relationships"]
    assert "(:PERSON)-[:LIVES_IN]->(:CITY)" in properties().get_schema_str()


def nearest_nodes() -> None:
    nodes, scores = properties().vector_query(
        VectorStoreQuery(query_embedding=vector("Kai"), similarity_top_k=1)
    )
    assert ([node.name for node in nodes], round(scores[0], 3)) == (["Kai"], 1.0)


def nearest_nodes_filtered() -> None:
    nodes, _ = properties().vector_query(
        VectorStoreQuery(
            query_embedding=vector("Kai"),
            similarity_top_k=1,
            filters=MetadataFilters(
                filters=[MetadataFilter(key="age", value=30, operator=FilterOperator.GT)]
            ),
        )
    )
    assert [node.name for node in nodes] == ["Ana"]


def delete_nodes() -> None:
    properties().delete(relation_names=["KNOWS"])
    properties().delete(entity_names=["Kai"])
    properties().delete(properties={"age": 9})
    properties().delete(ids=["c1"])
    assert [node.name for node in properties().get()] == ["Ana"]


def open_vector_store() -> None:
    assert chunks().retrieve_existing_index()


def put_chunks() -> None:
    texts = ["the train to Bergen", "a train to Oslo", "apples and pears"]
    nodes = [
        TextNode(
            id_=f"t{at}",
            text=text,
            metadata={"number": at},
            embedding=vector(text),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc{at}")},
        )
        for at, text in enumerate(texts)
    ]
    assert chunks().add(nodes) == ["t0", "t1", "t2"]


def ask(text: str, **more: Any) -> list[str]:
    found = chunks().query(
        VectorStoreQuery(query_embedding=vector(text), query_str=text, similarity_top_k=1, **more)
    )
    return [node.get_content() for node in found.nodes or []]


def nearest_chunks() -> None:
    assert ask("a train to Oslo") == ["a train to Oslo"]


def nearest_chunks_filtered() -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key="number", value=2)])
    plain = Neo4jVectorStore(embedding_dimension=8, **LOGIN)
    found = plain.query(
        VectorStoreQuery(query_embedding=vector("train"), similarity_top_k=1, filters=filters)
    )
    assert [node.get_content() for node in found.nodes or []] == ["apples and pears"]


def delete_chunks() -> None:
    chunks().delete("doc1")
    assert chunks().database_query("MATCH (c:Chunk) RETURN count(c) AS n") == [{"n": 2}]


def end() -> None:
    properties().structured_query("MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS")
    assert properties().get() == []


STEPS = [
    open_graph_store,
    put_triplets,
    map_of_triplets,
    schema_of_triplets,
    query_of_triplets,
    delete_triplet,
    open_property_store,
    put_nodes,
    put_relations,
    read_nodes,
    read_triplets,
    map_of_relations,
    schema_of_properties,
    nearest_nodes,
    nearest_nodes_filtered,
    delete_nodes,
    open_vector_store,
    put_chunks,
    nearest_chunks,
    nearest_chunks_filtered,
    delete_chunks,
    end,
]
run_steps(STEPS)
