"""graphiti-core against the server, without a language model: its indexes, nodes, edges, bulk
imports, searches, rerankers and deletions.

Run by its own environment (`scripts/compat.sh`): `python tool_graphiti.py PORT`.
"""

# ruff: noqa: E402 - the library reads the environment while it is imported
from __future__ import annotations

import logging
import os
import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
os.environ |= {"EMBEDDING_DIM": "8", "GRAPHITI_TELEMETRY_ENABLED": "false"}

from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import CommunityEdge, EntityEdge, EpisodicEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.errors import EdgeNotFoundError, NodeNotFoundError
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodeType, EpisodicNode, SagaNode
from graphiti_core.search import search_utils as search
from graphiti_core.search.search_filters import ComparisonOperator, DateFilter, SearchFilters
from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk
from graphiti_core.utils.maintenance.community_operations import get_community_clusters
from graphiti_core.utils.maintenance.graph_data_operations import clear_data, retrieve_episodes
from tool_steps import ADDRESS, PASSWORD, USER, run_steps, vector

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HELD: dict[str, Any] = {}
ANY = SearchFilters()


def db() -> Neo4jDriver:
    if "driver" not in HELD:
        HELD["driver"] = Neo4jDriver(ADDRESS, USER, PASSWORD)
    return HELD["driver"]


class Letters(EmbedderClient):
    async def create(self, input_data: Any) -> list[float]:
        return vector(input_data if isinstance(input_data, str) else input_data[0])

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        return [vector(text) for text in input_data_list]


def entity(name: str, group: str = "g1", **more: Any) -> EntityNode:
    return EntityNode(
        uuid=f"{group}-{name}", name=name, group_id=group, labels=["Person"], created_at=NOW,
        summary=f"{name} is here", name_embedding=vector(name), attributes={"age": 31}, **more,
    )  # fmt: skip


def fact(source: str, target: str, text: str, group: str = "g1") -> EntityEdge:
    return EntityEdge(
        uuid=f"{group}-{source}-{target}", group_id=group, source_node_uuid=f"{group}-{source}",
        target_node_uuid=f"{group}-{target}", created_at=NOW, valid_at=NOW, name="KNOWS",
        fact=text, fact_embedding=vector(text), episodes=["ep1"],
    )  # fmt: skip


def episode(name: str, at: datetime = NOW, group: str = "g1") -> EpisodicNode:
    return EpisodicNode(
        uuid=name, name=name, group_id=group, source=EpisodeType.message, valid_at=at,
        source_description="chat", content=f"user: {name} says that Alice knows Bob",
        created_at=at, entity_edges=["g1-Alice-Bob"],
    )  # fmt: skip


def names(found: Any) -> list[str]:
    return sorted(one.name for one in found)


async def clear() -> None:
    await clear_data(db())


async def indexes() -> None:
    await db().build_indices_and_constraints()
    await db().build_indices_and_constraints()  # a second time changes nothing
    found = await db().execute_query("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'")
    assert {"entity_uuid", "episode_content", "edge_name_and_fact"} <= {
        record["name"] for record in found.records
    }


async def health() -> None:
    await db().health_check()


async def save_entities() -> None:
    for name in ("Alice", "Bob", "Carol"):
        for _ in range(2):
            await entity(name).save(db())
    await entity("Alice", "g2").save(db())
    assert len(await EntityNode.get_by_group_ids(db(), ["g1"])) == 3


async def read_entity() -> None:
    found = await EntityNode.get_by_uuid(db(), "g1-Alice")
    assert (found.name, found.summary, found.created_at) == ("Alice", "Alice is here", NOW)
    assert found.attributes["age"] == 31
    assert "Person" in found.labels
    try:
        await EntityNode.get_by_uuid(db(), "absent")
    except NodeNotFoundError:
        return
    raise AssertionError("an absent node was found")


async def read_entities() -> None:
    assert names(await EntityNode.get_by_uuids(db(), ["g1-Alice", "g1-Bob"])) == ["Alice", "Bob"]
    found = await EntityNode.get_by_group_ids(db(), ["g1"], limit=2, with_embeddings=True)
    assert len(found) == 2 and all(len(one.name_embedding or []) == 8 for one in found)
    after = await EntityNode.get_by_group_ids(db(), ["g1"], uuid_cursor="g1-Bob")
    assert names(after) == ["Alice"]


async def name_embedding() -> None:
    found = await EntityNode.get_by_uuid(db(), "g1-Alice")
    await found.load_name_embedding(db())
    assert found.name_embedding is not None and len(found.name_embedding) == 8


async def save_facts() -> None:
    for _ in range(2):
        await fact("Alice", "Bob", "Alice knows Bob").save(db())
    await fact("Bob", "Carol", "Bob works with Carol in Oslo").save(db())


async def read_facts() -> None:
    found = await EntityEdge.get_by_uuid(db(), "g1-Alice-Bob")
    assert (found.fact, found.valid_at, found.episodes) == ("Alice knows Bob", NOW, ["ep1"])
    assert names(await EntityEdge.get_by_uuids(db(), ["g1-Alice-Bob"])) == ["KNOWS"]
    assert len(await EntityEdge.get_by_group_ids(db(), ["g1"])) == 2
    assert len(await EntityEdge.get_between_nodes(db(), "g1-Alice", "g1-Bob")) == 1
    assert len(await EntityEdge.get_by_node_uuid(db(), "g1-Bob")) == 2


async def fact_embedding() -> None:
    found = await EntityEdge.get_by_uuid(db(), "g1-Alice-Bob")
    await found.load_fact_embedding(db())
    assert found.fact_embedding is not None and len(found.fact_embedding) == 8


async def save_episodes() -> None:
    for at in range(3):
        await episode(f"ep{at + 1}", NOW + timedelta(days=at)).save(db())
    found = await EpisodicNode.get_by_uuid(db(), "ep1")
    assert (found.source, found.valid_at) == (EpisodeType.message, NOW)
    assert len(await EpisodicNode.get_by_group_ids(db(), ["g1"])) == 3


async def mentions() -> None:
    for uuid in ("ep1", "ep2"):
        await EpisodicEdge(
            uuid=f"m-{uuid}", group_id="g1", source_node_uuid=uuid, target_node_uuid="g1-Alice",
            created_at=NOW,
        ).save(db())  # fmt: skip
    assert names(await EpisodicNode.get_by_entity_node_uuid(db(), "g1-Alice")) == ["ep1", "ep2"]
    assert len(await EpisodicEdge.get_by_group_ids(db(), ["g1"])) == 2
    found = await search.get_mentioned_nodes(db(), [await EpisodicNode.get_by_uuid(db(), "ep1")])
    assert names(found) == ["Alice"]


async def episodes_before_a_time() -> None:
    found = await retrieve_episodes(db(), NOW + timedelta(days=1), last_n=5, group_ids=["g1"])
    assert [one.name for one in found] == ["ep1", "ep2"]
    found = await retrieve_episodes(db(), NOW, last_n=1, source=EpisodeType.message)
    assert [one.name for one in found] == ["ep1"]


async def communities() -> None:
    await CommunityNode(
        uuid="c1", name="friends", group_id="g1", created_at=NOW, summary="all",
        name_embedding=vector("friends"),
    ).save(db())  # fmt: skip
    await CommunityEdge(
        uuid="h1", group_id="g1", source_node_uuid="c1", target_node_uuid="g1-Alice", created_at=NOW
    ).save(db())
    alice = await EntityNode.get_by_uuid(db(), "g1-Alice")
    assert names(await search.get_communities_by_nodes(db(), [alice])) == ["friends"]
    assert names(await CommunityNode.get_by_group_ids(db(), ["g1"])) == ["friends"]


async def clusters() -> None:
    found = await get_community_clusters(db(), ["g1"])
    assert names(found[0]) == ["Alice", "Bob", "Carol"]


async def sagas() -> None:
    await SagaNode(uuid="s1", name="trip", group_id="g1", created_at=NOW).save(db())
    assert (await SagaNode.get_by_uuid(db(), "s1")).name == "trip"


async def entities_by_words() -> None:
    assert names(await search.node_fulltext_search(db(), "Alice", ANY, ["g1"])) == ["Alice"]
    # The library asks `group_id:"g1" OR group_id:"g2" AND (Alice)`, without brackets: servers agree
    # only on the last group.
    found = await search.node_fulltext_search(db(), "Alice", ANY, ["g1", "g2"])
    assert "g2-Alice" in {one.uuid for one in found}


async def facts_by_words() -> None:
    found = await search.edge_fulltext_search(db(), "who works in Oslo?", ANY, ["g1"])
    assert [one.uuid for one in found] == ["g1-Bob-Carol"]
    assert await search.edge_fulltext_search(db(), "Oslo", ANY, ["g2"]) == []


async def episodes_by_words() -> None:
    found = await search.episode_fulltext_search(db(), "Alice", ANY, ["g1"])
    assert names(found) == ["ep1", "ep2", "ep3"]


async def communities_by_words() -> None:
    assert names(await search.community_fulltext_search(db(), "friends", ["g1"])) == ["friends"]


async def entities_by_meaning() -> None:
    found = await search.node_similarity_search(db(), vector("Carol"), ANY, ["g1"], limit=1)
    assert names(found) == ["Carol"]


async def facts_by_meaning() -> None:
    found = await search.edge_similarity_search(
        db(), vector("Alice knows Bob"), None, None, ANY, ["g1"], limit=1
    )
    assert [one.uuid for one in found] == ["g1-Alice-Bob"]
    found = await search.edge_similarity_search(
        db(), vector("Alice knows Bob"), "g1-Bob", "g1-Carol", ANY, ["g1"]
    )
    assert [one.uuid for one in found] == ["g1-Bob-Carol"]


async def communities_by_meaning() -> None:
    found = await search.community_similarity_search(db(), vector("friends"), ["g1"])
    assert names(found) == ["friends"]


async def searches_with_filters() -> None:
    only = SearchFilters(node_labels=["Person"], edge_types=["KNOWS"])
    assert names(await search.node_fulltext_search(db(), "Alice", only, ["g1"])) == ["Alice"]
    none = SearchFilters(
        valid_at=[[DateFilter(date=NOW, comparison_operator=ComparisonOperator.greater_than)]]
    )
    assert await search.edge_fulltext_search(db(), "Oslo", none, ["g1"]) == []
    some = SearchFilters(
        valid_at=[[DateFilter(date=NOW, comparison_operator=ComparisonOperator.less_than_equal)]],
        expired_at=[[DateFilter(comparison_operator=ComparisonOperator.is_null)]],
    )
    assert len(await search.edge_fulltext_search(db(), "Oslo", some, ["g1"])) == 1


async def entities_by_walking() -> None:
    found = await search.node_bfs_search(db(), ["g1-Alice"], ANY, 2, ["g1"])
    assert names(found) == ["Bob", "Carol"]


async def facts_by_walking() -> None:
    found = await search.edge_bfs_search(db(), ["g1-Alice"], 2, ANY, ["g1"])
    assert sorted(one.uuid for one in found) == ["g1-Alice-Bob", "g1-Bob-Carol"]


async def both_searches() -> None:
    found = await search.hybrid_node_search(["Bob"], [vector("Bob")], db(), ANY, ["g1"])
    assert found[0].name == "Bob"


async def relevant_nodes() -> None:
    found = await search.get_relevant_nodes(db(), [entity("Alice")], ANY)
    assert "Alice" in names(found[0])


async def relevant_facts() -> None:
    found = await search.get_relevant_edges(db(), [fact("Alice", "Bob", "Alice knows Bob")], ANY)
    assert [one.uuid for one in found[0]] == ["g1-Alice-Bob"]
    found = await search.get_edge_invalidation_candidates(
        db(), [fact("Alice", "Bob", "Alice knows Bob")], ANY
    )
    assert len(found[0]) == 2


async def rerankers() -> None:
    ranked, _ = await search.node_distance_reranker(db(), ["g1-Carol", "g1-Alice"], "g1-Bob")
    assert sorted(ranked) == ["g1-Alice", "g1-Carol"]
    ranked, scores = await search.episode_mentions_reranker(db(), [["g1-Alice", "g1-Bob"]])
    assert dict(zip(ranked, scores, strict=True))["g1-Alice"] == 2


async def stored_embeddings() -> None:
    alice = await EntityNode.get_by_uuid(db(), "g1-Alice")
    assert set(await search.get_embeddings_for_nodes(db(), [alice])) == {"g1-Alice"}
    edge = await EntityEdge.get_by_uuid(db(), "g1-Alice-Bob")
    assert set(await search.get_embeddings_for_edges(db(), [edge])) == {"g1-Alice-Bob"}


async def bulk() -> None:
    nodes = [entity(f"n{at}", "g3") for at in range(40)]
    edges = [fact(f"n{at}", f"n{at + 1}", f"n{at} follows", "g3") for at in range(39)]
    links = [
        EpisodicEdge(uuid=f"b{at}", group_id="g3", source_node_uuid="ep9",
                     target_node_uuid=f"g3-n{at}", created_at=NOW)
        for at in range(40)
    ]  # fmt: skip
    await add_nodes_and_edges_bulk(
        db(), [episode("ep9", group="g3")], links, nodes, edges, Letters()
    )
    assert len(await EntityNode.get_by_group_ids(db(), ["g3"])) == 40
    assert len(await EntityEdge.get_by_group_ids(db(), ["g3"])) == 39
    assert len(await EpisodicEdge.get_by_group_ids(db(), ["g3"])) == 40


async def delete_some() -> None:
    await (await EntityEdge.get_by_uuid(db(), "g1-Alice-Bob")).delete(db())
    await (await EpisodicNode.get_by_uuid(db(), "ep1")).delete(db())
    await EntityNode.delete_by_uuids(db(), ["g1-Bob"])
    try:
        await EntityEdge.get_by_uuid(db(), "g1-Alice-Bob")
    except EdgeNotFoundError:
        return
    raise AssertionError("a deleted edge was found")


async def delete_groups() -> None:
    await EntityNode.delete_by_group_id(db(), "g3", batch_size=7)
    assert await EntityNode.get_by_group_ids(db(), ["g3"]) == []
    await clear_data(db(), ["g1"])
    assert names(await EntityNode.get_by_group_ids(db(), ["g2"])) == ["Alice"]


async def end() -> None:
    await clear_data(db())
    found = await db().execute_query("MATCH (n) RETURN count(n) AS n")
    assert found.records[0]["n"] == 0
    await db().close()


STEPS = [
    clear, indexes, health, save_entities, read_entity, read_entities, name_embedding, save_facts,
    read_facts, fact_embedding, save_episodes, mentions, episodes_before_a_time, communities,
    clusters, sagas, entities_by_words, facts_by_words, episodes_by_words, communities_by_words,
    entities_by_meaning, facts_by_meaning, communities_by_meaning, searches_with_filters,
    entities_by_walking, facts_by_walking, both_searches, relevant_nodes, relevant_facts,
    rerankers, stored_embeddings, bulk, delete_some, delete_groups, end,
]  # fmt: skip
run_steps(STEPS)
