"""A LangChain retriever over a doxa session's recall.

    retriever = DoxaRetriever(session=memory.session(actor="bot", project="shop"), k=5)
    documents = retriever.invoke("When does the shop open?")

What is recalled is data that somebody said: the `metadata` of each document says where it comes
from and how far it is trusted, for the prompt that it becomes a part of. To write from LangChain or
LangGraph, use `doxa.adapters.langgraph`.
"""

from __future__ import annotations

from typing import Any

from doxa.adapters.framework import require
from doxa.adapters.threads import reading
from doxa.app import Session
from doxa.base.clock import format_time
from doxa.recall import Hit

VERSION = require("langchain-core", extra="langchain", oldest="1.7", below="2")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from pydantic import ConfigDict, Field  # noqa: E402


class DoxaRetriever(BaseRetriever):  # type: ignore[misc, unused-ignore]
    """Recall in the session's project, as documents, the best first.

    `k` is the number of documents at most, here or in a call. The other parameters are those of
    `recall`, and stand for all calls: a call cannot name another project, space or kind. With
    `strict`, weak hits are left out.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    session: Session = Field(exclude=True, repr=False)
    k: int = 4
    space: str = ""
    kinds: tuple[str, ...] = ()
    trust: str = ""
    strict: bool = False
    tokens_max: int | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None
    ) -> list[Document]:
        found = self.session.recall(
            query,
            space=self.space,
            kinds=self.kinds,
            trust=self.trust,
            strict=self.strict,
            tokens_max=self.tokens_max,
            limit=self.k if k is None else k,
        )
        return [_document(hit) for hit in found.hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None
    ) -> list[Document]:
        return await reading(self._get_relevant_documents, query, run_manager=None, k=k)


def _document(hit: Hit) -> Document:
    """A hit as a document. Its id is the address of what was recalled, pinned to the revision."""
    metadata = {
        "kref": hit.kref,
        "kind": hit.kind,
        "status": hit.status,
        "trust": hit.trust,
        "score": hit.score,
        "time": format_time(hit.time),
        "speaker": hit.speaker,
        "source": hit.source,
        "project": hit.project,
        "space": hit.space,
        "why": hit.why,
    }
    return Document(page_content=hit.text, metadata=metadata, id=hit.kref)
