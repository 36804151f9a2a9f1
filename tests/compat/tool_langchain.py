"""langchain-neo4j and neo4j-graphrag against the server, as far as they work without Neo4j's
plug-ins. Prints JSON for each check.

Run by its own environment (`scripts/compat.sh`): `python tool_langchain.py PORT`.
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
from langchain_neo4j import Neo4jChatMessageHistory, Neo4jGraph
from neo4j_graphrag.llm import LLMInterface
from neo4j_graphrag.llm.types import LLMResponse
from neo4j_graphrag.retrievers import Text2CypherRetriever

ADDRESS = {
    "url": f"neo4j://127.0.0.1:{sys.argv[1]}",
    "username": "ana",
    "password": "a-good-secret",
}


def graph() -> None:
    made = Neo4jGraph(**ADDRESS, refresh_schema=False)
    assert made.query(
        "CREATE (:M {x: $x})-[:R {y: 2}]->(:N) RETURN 1 AS one", params={"x": [1, 2]}
    ) == [{"one": 1}]
    assert made.query("MATCH (m:M)-[r]->(n) RETURN m, type(r) AS t") == [
        {"m": {"x": [1, 2]}, "t": "R"}
    ]


def chat_history() -> None:
    history = Neo4jChatMessageHistory(session_id="s", **ADDRESS)
    history.add_user_message("hello")
    history.add_ai_message("hi")
    assert [message.content for message in history.messages] == ["hello", "hi"]
    history.clear()
    assert history.messages == []


class Model(LLMInterface):
    """Always answers with the same query."""

    def __init__(self) -> None:
        super().__init__("fake")

    def invoke(self, *_: Any, **__: Any) -> LLMResponse:
        return LLMResponse(content="MATCH (n:M) RETURN n.x AS x")

    async def ainvoke(self, *_: Any, **__: Any) -> LLMResponse:
        return self.invoke()


def text_to_cypher() -> None:
    with neo4j.GraphDatabase.driver(
        ADDRESS["url"], auth=(ADDRESS["username"], ADDRESS["password"])
    ) as driver:
        retriever = Text2CypherRetriever(driver, Model(), neo4j_schema="(:M {x: LIST})")
        assert "[1, 2]" in retriever.search(query_text="Which?").items[0].content


def check(work: Callable[[], Any]) -> None:
    problem = ""
    try:
        work()
    except BaseException:
        problem = traceback.format_exc()
    print("CHECK " + json.dumps({"name": work.__name__, "problem": problem}))


for each in (graph, chat_history, text_to_cypher):
    check(each)
