"""Vector search over declared indexes: an exact comparison with every entry.

The index names the similarity function: cosine as (1 + cos) / 2, euclidean as 1 / (1 + d²).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.procedures.index_entries import declared_index, index_entries, visible_elements
from doxa.store import IndexRule, row_products
from doxa.store.index import FLOAT_MAX


def set_vector(
    run: Any, element: Node | Edge | None, name: str, vector: Any
) -> Iterable[tuple[Any, ...]]:
    """Implement db.create.setNodeVectorProperty and setRelationshipVectorProperty: a property of
    finite numbers. Null is ignored."""
    if element is None or name is None:
        return ()
    if (
        not isinstance(vector, list)
        or not vector
        or not all(type(item) in (int, float) and math.isfinite(item) for item in vector)
    ):
        fail(
            f"A vector is a list of finite numbers, not {shown(vector)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    run.graph.set_properties(
        element,
        {**element.properties, name: [float(item) for item in vector]},
        named=(name,),
    )
    return ()


def vectors(run: Any, name: str, most: int, query: Any, *, edge: bool) -> Iterator[tuple[Any, ...]]:
    """Implement db.index.vector.queryNodes and queryRelationships: the nearest elements with their
    similarity, nearest first."""
    import numpy as np

    rule = declared_index(run, name, "vector", edge=edge)
    if type(most) is not int or most < 1:
        fail(
            f"The number of neighbours is at least 1, not {shown(most)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    if (
        not isinstance(query, list)
        or not query
        or not all(type(item) in (int, float) and abs(item) <= FLOAT_MAX for item in query)
    ):
        fail(
            f"A query vector is a list of finite numbers, not {shown(query)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    if rule.dimensions is not None and len(query) != rule.dimensions:
        fail(
            f"The index {name} has vectors of {rule.dimensions} numbers; the query has"
            f" {len(query)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    sought = np.asarray(query, dtype=np.float32)
    if _similarity_of(rule) == "cosine" and not np.linalg.norm(sought.astype(np.float64)):
        fail(
            "A query vector of zeros has no direction to compare.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Check how it was computed.",
        )
    rows = [
        (key, identity)
        for key, identity in index_entries(run, rule).between(b"", None)
        if len(key) == 4 * len(query)
    ]
    if not rows:
        return
    matrix = (
        np.frombuffer(b"".join(key for key, _ in rows), dtype="<f4")
        .reshape(len(rows), len(query))
        .astype(np.float64)
    )
    similarity = _similarity(rule, matrix, sought.astype(np.float64))
    order = np.lexsort((np.asarray([identity for _, identity in rows]), -similarity))
    places: dict[int, int] = {}  # of the elements so far

    def ranked() -> Iterator[int]:
        for place in order:
            identity = rows[int(place)][1]
            places[identity] = int(place)
            yield identity

    found = visible_elements(run, rule, ranked(), most=most)
    holding = (one for one in found if rule.properties[0] in one.properties)  # it may have faded
    for element in islice(holding, most):
        yield element, float(similarity[places[element.id]])


def _similarity(rule: IndexRule, matrix: Any, sought: Any) -> Any:
    import numpy as np

    if _similarity_of(rule) == "euclidean":
        return 1 / (1 + ((matrix - sought) ** 2).sum(axis=1))
    norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(sought)
    return (
        1
        + np.divide(
            row_products(matrix, sought), norms, out=np.full(len(matrix), -1.0), where=norms > 0
        )
    ) / 2


def _similarity_of(rule: IndexRule) -> str:
    return str(rule.config.get("vector.similarity_function", "cosine")).lower()
