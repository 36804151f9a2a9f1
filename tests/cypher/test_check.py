"""Checks before a query runs: where an aggregation may stand."""

from __future__ import annotations

import pytest

from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.semantics.check import check

REFUSED = (
    "RETURN [x IN [1, 2] | count(x)] AS found",
    "RETURN [x IN [1, 2] WHERE count(x) > 1] AS found",
    "RETURN [x IN [1, 2] WHERE count(x) > 1 | x] AS found",
    "RETURN [x IN [1, 2] | 1 + sum(x)] AS found",
    "UNWIND [1, 2] AS y RETURN [x IN [1, 2] | collect(y)] AS found",
    "UNWIND [1, 2] AS y RETURN y, [x IN [1, 2] | [z IN [x] | max(y)]] AS found",
    "RETURN all(x IN [1, 2] WHERE count(x) > 1) AS found",
    "RETURN any(x IN [1, 2] WHERE count(*) > 1) AS found",
    "RETURN none(x IN [1, 2] WHERE min(x) = 1) AS found",
    "RETURN single(x IN [1, 2] WHERE avg(x) = 1) AS found",
    "RETURN reduce(s = 0, x IN [1, 2] | s + count(x)) AS found",
    "MATCH (n) RETURN [(n)-->(m) | count(m)] AS found",
    "MATCH (n) RETURN [(n)-->() WHERE count(*) > 1 | 1] AS found",
    "WITH [x IN [1, 2] | count(x)] AS found RETURN found",
)
ACCEPTED = (
    "UNWIND [1, 2] AS y RETURN [x IN collect(y) | x + 1] AS found",
    "UNWIND [1, 2] AS y RETURN any(x IN collect(y) WHERE x > 1) AS found",
    "UNWIND [1, 2] AS y RETURN reduce(s = count(y), x IN collect(y) | s + x) AS found",
    "MATCH (n) RETURN [(n)-->(m) | COUNT { MATCH (m)-->(o) RETURN count(o) AS c }] AS found",
    "RETURN [x IN [1, 2] | COLLECT { UNWIND [1, 2] AS y RETURN count(y) AS c }] AS found",
)


@pytest.mark.parametrize("text", REFUSED)
def test_an_aggregation_inside_a_comprehension_is_refused_before_it_runs(text: str) -> None:
    with pytest.raises(QueryError, match="inside a comprehension") as caught:
        check(parse(text), text)
    error = caught.value
    assert (error.kind, error.detail) == ("SyntaxError", "InvalidAggregation")
    assert error.fields["phase"] == "compile"


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_a_comprehension_goes_through_may_aggregate(text: str) -> None:
    assert check(parse(text), text).columns == ("found",)
