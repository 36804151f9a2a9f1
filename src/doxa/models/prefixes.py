"""Prefixes of texts, for models that were trained to distinguish questions from passages by them.

Endpoints do not add them. The prefixes are those of each model's card; texts of a model that is not
listed here get none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefix of a question and that of a passage."""

    query: str = ""
    passage: str = ""

    @property
    def id(self) -> str:
        """A short id of the prefixes, empty if there are none. It is part of an embedder's name,
        since vectors depend on them."""
        if not (self.query or self.passage):
            return ""
        return blake2b(f"{self.query}\0{self.passage}".encode(), digest_size=3).hexdigest()


_SEARCHING = "Represent this sentence for searching relevant passages: "

# The first match for the model's name, without its owner and in lower case.
_FAMILIES: tuple[tuple[str, Prefixes], ...] = (
    (r"(?:multilingual-)?e5-(?:small|base|large)(?!.*instruct)", Prefixes("query: ", "passage: ")),
    (r"nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    (r"mxbai-embed-large", Prefixes(_SEARCHING, "")),
    (r"snowflake-arctic-embed2|snowflake-arctic-embed-[ml]-v2", Prefixes("query: ", "")),
    (r"snowflake-arctic-embed", Prefixes(_SEARCHING, "")),
    (r"bge-(?:small|base|large)-en", Prefixes(_SEARCHING, "")),
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name, such as `intfloat/multilingual-e5-small` or
    `nomic-embed-text:latest`."""
    name = model.lower().rpartition("/")[2]
    return next(
        (prefixes for pattern, prefixes in _FAMILIES if re.match(pattern, name)), Prefixes()
    )
