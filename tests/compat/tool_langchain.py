"""langchain-neo4j and neo4j-graphrag against the server: graph, schema, imported documents, vector
stores, chat history, questions turned into Cypher.

Run by its own environment (`scripts/compat.sh`): `python tool_langchain.py PORT`.
"""

# ruff: noqa: E402 - the libraries warn while they are imported
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

warnings.simplefilter("ignore")

import neo4j
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_neo4j import (
    GraphCypherQAChain,
    Neo4jChatMessageHistory,
    Neo4jGraph,
    Neo4jVector,
)
from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship
from langchain_neo4j.vectorstores.neo4j_vector import SearchType
from neo4j_graphrag.experimental.components.resolver import SinglePropertyExactMatchResolver
from neo4j_graphrag.llm import LLMInterface
from neo4j_graphrag.llm.types import LLMResponse
from neo4j_graphrag.retrievers import Text2CypherRetriever
from tool_steps import ADDRESS, PASSWORD, USER, run_steps, vector

LOGIN = {"url": ADDRESS, "username": USER, "password": PASSWORD}
TEXTS = ["the train to Bergen leaves at nine", "a train to Oslo", "apples and pears"]


class Letters(Embeddings):
    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:  # type: ignore[override]
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return vector(text)


def store(**more: Any) -> Neo4jVector:
    return Neo4jVector.from_texts(
        TEXTS,
        Letters(),
        metadatas=[{"number": at, "kind": "note"} for at in range(len(TEXTS))],
        **LOGIN,
        **more,
    )


def graph() -> None:
    made = Neo4jGraph(**LOGIN, refresh_schema=False)
    made.query("MATCH (n) DETACH DELETE n")
    assert made.query(
        "CREATE (:M {x: $x})-[:R {y: 2}]->(:N) RETURN 1 AS one", params={"x": [1, 2]}
    ) == [{"one": 1}]
    assert made.query("MATCH (m:M)-[r]->(n) RETURN m, type(r) AS t") == [
        {"m": {"x": [1, 2]}, "t": "R"}
    ]


def schema() -> None:
    made = Neo4jGraph(**LOGIN)
    assert made.structured_schema["node_props"]["M"] == [{"property": "x", "type": "LIST"}]
    assert made.structured_schema["rel_props"]["R"] == [{"property": "y", "type": "INTEGER"}]
    assert {"start": "M", "type": "R", "end": "N"} in made.structured_schema["relationships"]
    assert "(:M)-[:R]->(:N)" in made.schema


def schema_with_values() -> None:
    made = Neo4jGraph(**LOGIN, enhanced_schema=True)
    assert "(:M)-[:R]->(:N)" in made.schema
    assert "Min Size: 2" in made.schema


def schema_after_changes() -> None:
    made = Neo4jGraph(**LOGIN)
    made.query("CREATE (:Fresh {since: date('2020-01-01')})")
    made.refresh_schema()
    assert made.structured_schema["node_props"]["Fresh"] == [{"property": "since", "type": "DATE"}]


def people() -> GraphDocument:
    ana, oslo = Node(id="Ana", type="Person", properties={"age": 31}), Node(id="Oslo", type="City")
    return GraphDocument(
        nodes=[ana, oslo],
        relationships=[
            Relationship(source=ana, target=oslo, type="lives in", properties={"since": 2001})
        ],
        source=Document(page_content="Ana lives in Oslo.", metadata={"id": "d1"}),
    )


def documents() -> None:
    made = Neo4jGraph(**LOGIN)
    for _ in range(2):  # a second import changes nothing
        made.add_graph_documents([people()])
    assert made.query(
        "MATCH (p:Person {id: 'Ana'})-[r:LIVES_IN]->(c:City) RETURN p.age AS age, r.since AS since"
    ) == [{"age": 31, "since": 2001}]


def documents_with_their_source() -> None:
    made = Neo4jGraph(**LOGIN)
    made.query("MATCH (n) DETACH DELETE n")
    for _ in range(2):
        made.add_graph_documents([people()], include_source=True, baseEntityLabel=True)
    assert made.query("MATCH (d:Document)-[:MENTIONS]->(e:__Entity__) RETURN count(e) AS n") == [
        {"n": 2}
    ]
    assert made.query("MATCH (e:__Entity__)-[r]->() RETURN type(r) AS t") == [{"t": "LIVES_IN"}]


def vectors() -> None:
    found = store().similarity_search("the train to Bergen leaves at nine", k=2)
    assert found[0].page_content == TEXTS[0]
    assert {"number": 0, "kind": "note"}.items() <= found[0].metadata.items()


def vectors_with_scores() -> None:
    ((best, score),) = store().similarity_search_with_score(TEXTS[2], k=1)
    assert (best.page_content, round(score, 3)) == (TEXTS[2], 1.0)


def vectors_with_filters() -> None:
    made = store()
    for wanted, given in (
        ([1], {"number": 1}),
        ([1, 2], {"number": {"$gte": 1}}),
        ([0, 2], {"$or": [{"number": 0}, {"number": {"$in": [2]}}]}),
        ([0, 1, 2], {"kind": {"$like": "no"}}),
    ):
        found = made.similarity_search("train", k=3, filter=given)
        assert sorted(one.metadata["number"] for one in found) == wanted


def more_vectors() -> None:
    made = store()
    made.add_texts(["a boat to Tromsø"], ids=["boat"], metadatas=[{"number": 9}])
    assert made.similarity_search("a boat to Tromsø", k=1)[0].metadata["number"] == 9
    made.add_documents([Document(page_content="a bus", metadata={"number": 10}, id="bus")])
    made.query("MATCH (c:Chunk) WHERE c.number >= 9 DETACH DELETE c")
    assert made.similarity_search("a boat to Tromsø", k=1)[0].metadata["number"] < 9


def many_vectors() -> None:
    made = Neo4jVector.from_texts(
        [f"text {at}" for at in range(2_500)],
        Letters(),
        index_name="many",
        node_label="Many",
        **LOGIN,
    )
    assert made.query("MATCH (m:Many) RETURN count(m) AS n") == [{"n": 2_500}]


def vectors_and_words() -> None:
    made = store(search_type=SearchType.HYBRID, keyword_index_name="words")
    assert made.similarity_search("Oslo", k=1)[0].page_content == TEXTS[1]
    again = Neo4jVector.from_existing_index(
        Letters(),
        index_name="vector",
        keyword_index_name="words",
        search_type=SearchType.HYBRID,
        **LOGIN,
    )
    assert again.similarity_search("pears", k=1)[0].page_content == TEXTS[2]


def vectors_of_an_index_that_is_there() -> None:
    made = Neo4jVector.from_existing_index(Letters(), index_name="vector", **LOGIN)
    assert made.similarity_search(TEXTS[1], k=1)[0].page_content == TEXTS[1]


def diverse_vectors() -> None:
    found = store().max_marginal_relevance_search("train", k=2, fetch_k=3)
    assert len(found) == 2


def vectors_of_a_graph() -> None:
    made = Neo4jGraph(**LOGIN, refresh_schema=False)
    made.query("CREATE (:City {name: 'Bergen', about: 'rain'}), (:City {name: 'Paris'})")
    found = Neo4jVector.from_existing_graph(
        Letters(),
        index_name="cities",
        node_label="City",
        text_node_properties=["name", "about"],
        embedding_node_property="embedding",
        **LOGIN,
    )
    assert "Bergen" in found.similarity_search("\nname: Bergen\nabout: rain", k=1)[0].page_content


def vectors_of_relationships() -> None:
    made = Neo4jGraph(**LOGIN, refresh_schema=False)
    made.query(
        "CREATE VECTOR INDEX said IF NOT EXISTS FOR ()-[r:SAID]-() ON (r.embedding) OPTIONS"
        " {indexConfig: {`vector.dimensions`: 8, `vector.similarity_function`: 'cosine'}}"
    )
    made.query(
        "CREATE (a:P)-[r:SAID {text: 'hello'}]->(b:P) WITH r"
        " CALL db.create.setRelationshipVectorProperty(r, 'embedding', $vector)",
        params={"vector": vector("hello")},
    )
    found = Neo4jVector.from_existing_relationship_index(Letters(), index_name="said", **LOGIN)
    assert found.similarity_search("hello", k=1)[0].page_content == "hello"


def chat_history() -> None:
    history = Neo4jChatMessageHistory(session_id="s", **LOGIN)
    history.add_user_message("hello")
    history.add_ai_message("hi")
    assert [message.content for message in history.messages] == ["hello", "hi"]
    windowed = Neo4jChatMessageHistory(session_id="s", window=1, **LOGIN)
    assert [message.content for message in windowed.messages][-1] == "hi"
    history.clear()
    assert history.messages == []


def question_chain() -> None:
    made = Neo4jGraph(**LOGIN)
    made.query("CREATE (:Fjord {name: 'Geiranger'})")
    chain = GraphCypherQAChain.from_llm(
        FakeListLLM(responses=["MATCH (f:Fjord) RETURN f.name AS name"]),
        qa_llm=FakeListLLM(responses=["Geiranger."]),
        graph=made,
        allow_dangerous_requests=True,
        return_direct=True,
        validate_cypher=True,
    )
    assert chain.invoke({"query": "Which fjord?"})["result"] == [{"name": "Geiranger"}]


class Model(LLMInterface):
    """Always answers with the same query."""

    def __init__(self) -> None:
        super().__init__("fake")

    def invoke(self, *_: Any, **__: Any) -> LLMResponse:
        return LLMResponse(content="MATCH (f:Fjord) RETURN f.name AS name")

    async def ainvoke(self, *_: Any, **__: Any) -> LLMResponse:
        return self.invoke()


def text_to_cypher() -> None:
    """The retriever reads the schema itself."""
    with neo4j.GraphDatabase.driver(ADDRESS, auth=(USER, PASSWORD)) as driver:
        retriever = Text2CypherRetriever(driver, Model())
        assert "Geiranger" in retriever.search(query_text="Which?").items[0].content


async def merged_entities() -> None:
    made = Neo4jGraph(**LOGIN, refresh_schema=False)
    made.query("UNWIND [1, 2] AS i CREATE (:__Entity__:Lake {name: 'Mjosa'})-[:IN]->(:Land {i: i})")
    with neo4j.GraphDatabase.driver(ADDRESS, auth=(USER, PASSWORD)) as driver:
        done = await SinglePropertyExactMatchResolver(driver).run()
    assert done.number_of_created_nodes == 1
    assert made.query("MATCH (:Lake)-[:IN]->(l) RETURN count(l) AS n") == [{"n": 2}]


def end() -> None:
    made = Neo4jGraph(**LOGIN, refresh_schema=False)
    made.query("MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS")
    for name in ("vector", "words", "cities", "said", "many"):
        made.query(f"DROP INDEX {name} IF EXISTS")
    assert made.query("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


STEPS = [
    graph,
    schema,
    schema_with_values,
    schema_after_changes,
    documents,
    documents_with_their_source,
    vectors,
    vectors_with_scores,
    vectors_with_filters,
    more_vectors,
    many_vectors,
    vectors_and_words,
    vectors_of_an_index_that_is_there,
    diverse_vectors,
    vectors_of_a_graph,
    vectors_of_relationships,
    chat_history,
    question_chain,
    text_to_cypher,
    merged_entities,
    end,
]
run_steps(STEPS)
