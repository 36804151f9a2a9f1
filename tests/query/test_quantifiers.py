"""all, any, none and single over every short list of true, false and null.

A null stands for a value that nobody knows. So the answer is the one that every way to fill in the
nulls gives, and null where they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

VALUES = (True, False, None)
LISTS = [list(items) for length in range(5) for items in product(VALUES, repeat=length)]
TWO_VALUED = {
    "all": lambda items: all(items),
    "any": lambda items: any(items),
    "none": lambda items: not any(items),
    "single": lambda items: sum(items) == 1,
}


def expected(kind: str, items: list[bool | None]) -> bool | None:
    """The answer that all completions share."""
    completions = product(*[(True, False) if item is None else (item,) for item in items])
    answers = {TWO_VALUED[kind](completion) for completion in completions}
    return answers.pop() if len(answers) == 1 else None


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with Store(tmp_path / "graph.db") as store:
        yield GraphSession(store, QueryEngine(), Identity("test", "operator"))


@pytest.mark.parametrize("kind", TWO_VALUED)
def test_a_quantifier_gives_what_all_completions_give(session: GraphSession, kind: str) -> None:
    rows = session.run(
        f"UNWIND range(0, size($lists) - 1) AS i RETURN {kind}(x IN $lists[i] WHERE x) AS answer",
        {"lists": LISTS},
    )
    answers = [row[0] for row in rows]
    assert len(answers) == len(LISTS) == 121
    wrong = [
        (items, answer, expected(kind, items))
        for items, answer in zip(LISTS, answers, strict=True)
        if answer is not expected(kind, items)
    ]
    assert wrong == []


@pytest.mark.parametrize("kind", TWO_VALUED)
def test_the_condition_may_be_unknown_where_the_item_is_known(
    session: GraphSession, kind: str
) -> None:
    items = [1, None, 2]
    compared = [None if item is None else item > 1 for item in items]
    answer = session.run(f"RETURN {kind}(x IN $items WHERE x > 1)", {"items": items}).single()
    assert answer is expected(kind, compared)
    assert session.run(f"RETURN {kind}(x IN null WHERE x > 1)").single() is None


def test_the_reference_knows_what_is_settled_in_spite_of_a_null() -> None:
    assert expected("single", [True, True, None]) is False
    assert expected("single", [True, None]) is None
    assert expected("all", [False, None]) is False
    assert expected("none", [True, None]) is False
    assert expected("any", [None]) is None
