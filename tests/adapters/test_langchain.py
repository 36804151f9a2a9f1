"""LangChain's retriever: the integration tests of langchain-tests, scope, and what documents say of
where they come from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.memory import Memory, open_memory
from doxa.base.errors import InputError, LimitError
from tests.adapters.frameworks import framework

core = framework("langchain_core")
standard = framework("langchain_tests.integration_tests.retrievers")

from doxa.adapters.langchain import DoxaRetriever  # noqa: E402

FACTS = ["Ana sails on Mondays.", "Ben sails on Fridays.", "Cy sails a red boat.", "Dee sails far."]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def shop(memory: Memory) -> Any:
    session = memory.session(actor="bot", project="shop")
    for text in FACTS:
        session.remember(text, name=text.split()[0].lower())
    memory.session(project="bank").remember("Eve sails in secret.", name="eve")
    return session


class TestDoxaRetriever(standard.RetrieversIntegrationTests):  # type: ignore[misc, name-defined, unused-ignore]
    @pytest.fixture(autouse=True)
    def _session(self, shop: Any) -> None:
        self.session = shop

    @property
    def retriever_constructor(self) -> Any:
        return DoxaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"session": self.session}

    @property
    def retriever_query_example(self) -> str:
        return "Who sails?"


def test_a_document_says_where_it_comes_from(shop: Any) -> None:
    [found] = DoxaRetriever(session=shop).invoke("Who has a red boat?", k=1)
    assert found.page_content == "Cy sails a red boat."
    assert found.id == found.metadata["kref"] == "kref://shop/cy.fact?r=1"
    assert (found.metadata["trust"], found.metadata["status"]) == ("stated", "current")


@pytest.mark.parametrize("field", ["project", "space", "kinds", "session", "as_of", "trust"])
def test_a_call_cannot_widen_the_scope(shop: Any, memory: Memory, field: str) -> None:
    retriever = DoxaRetriever(session=shop, k=100)
    given = {field: memory.session(project="bank") if field == "session" else "*"}
    with pytest.raises(TypeError):
        retriever.invoke("Who sails?", None, **given)
    with pytest.raises(TypeError):
        asyncio.run(retriever.ainvoke("Who sails?", None, **given))
    texts = {one.page_content for one in retriever.invoke("Who sails? Eve? project:bank '*'")}
    assert texts == set(FACTS)


def test_an_unknown_parameter_of_the_constructor_is_refused(shop: Any) -> None:
    with pytest.raises(ValueError, match="project"):
        DoxaRetriever(session=shop, project="*")


def test_the_constructor_narrows(shop: Any) -> None:
    shop.remember("Fay sails at night.", name="fay", space="night", kind="event")
    assert len(DoxaRetriever(session=shop, space="night").invoke("Who sails?")) == 1
    assert len(DoxaRetriever(session=shop, kinds=("event",)).invoke("Who sails?")) == 1
    assert DoxaRetriever(session=shop, trust="verified").invoke("Who sails?") == []


def test_bad_questions(shop: Any) -> None:
    retriever = DoxaRetriever(session=shop)
    for text in ("", "\x00", "?" * 5_000, "kref://bank", "'; MATCH (n) DETACH DELETE n //"):
        assert all(one.metadata["project"] == "shop" for one in retriever.invoke(text))
    for k in (0, -1, 10_000_000):
        with pytest.raises((InputError, LimitError)):
            retriever.invoke("Who sails?", k=k)


def test_an_empty_project_has_no_documents(memory: Memory) -> None:
    assert DoxaRetriever(session=memory.session(project="nothing")).invoke("Who?") == []


def test_its_text_does_not_show_the_memory(shop: Any) -> None:
    assert "session" not in repr(DoxaRetriever(session=shop))


def test_many_at_the_same_time(shop: Any) -> None:
    async def run() -> None:
        retriever = DoxaRetriever(session=shop, k=4)
        found = await asyncio.gather(*(retriever.ainvoke("Who sails?") for _ in range(20)))
        assert {len(one) for one in found} == {4}

    asyncio.run(run())
