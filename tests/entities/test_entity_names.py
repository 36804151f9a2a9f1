"""How names compare, and how probably one means an entity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.belief.kref import parse_kref
from doxa.entities.names import address_name, compare, key_of, looks_like
from doxa.entities.scoring import ASSUME, NameEvidence, posterior


@pytest.mark.parametrize(
    ("mention", "name", "level"),
    [
        ("ana  FERREIRA", "Ana Ferreira", "exact"),
        ("José", "Jose", "variant"),
        ("O'Neil", "ONeil", "variant"),
        ("Dr. Osei", "Osei", "variant"),
        ("Ana", "Ana Ferreira", "short"),
        ("Ana Ferreira", "Ana", "long"),
        ("A. Ferreira", "Ana Ferreira", "initials"),
        ("IBM", "International Business Machines", "initials"),
        ("Martin Osei", "Martin Kowalski", "other"),
        ("atlas-1", "atlas-2", "other"),
        ("atlas", "atlas-2", "other"),
        ("Ana", "Bob", "other"),
    ],
)
def test_the_levels_of_comparison(mention: str, name: str, level: str) -> None:
    assert compare(key_of(mention), key_of(name)) == level


@pytest.mark.parametrize(
    ("mention", "name", "expected"),
    [
        ("\u0410na Ferreira", "Ana Ferreira", True),  # a Cyrillic А
        ("\u0410na", "Ana Ferreira", True),
        ("atlas-l", "atlas-1", True),
        ("B0b", "Bob", True),
        ("José", "Jose", False),
        ("Ana", "Ana Ferreira", False),
        ("Анна", "Anna", False),  # of one alphabet throughout, and it looks otherwise
        ("Ana", "Bob", False),
    ],
)
def test_what_looks_like_another_name(mention: str, name: str, expected: bool) -> None:
    assert looks_like(mention, name) is expected
    assert looks_like(name, mention) is expected


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_an_address_is_of_one_name(one: str, other: str) -> None:
    first, second = key_of(one), key_of(other)
    for key in (first, second):
        assert parse_kref(f"kref://p/entities/{address_name(key)}.entity").kind == "entity"
    assert (address_name(first) == address_name(second)) == (first == second)


@given(
    st.lists(
        st.builds(
            NameEvidence,
            st.sampled_from(["exact", "variant", "short", "long", "initials"]),
            st.integers(0, 500),
            st.lists(st.integers(0, 20), max_size=4),
            st.lists(st.tuples(st.integers(0, 5), st.floats(0.001, 1)), max_size=4),
            st.sampled_from([None, True, False]),
        ),
        max_size=5,
    ),
    st.integers(1, 50),
    st.integers(1, 500),
    st.integers(1, 5_000),
)
def test_probabilities_are_of_one_whole(
    candidates: list[NameEvidence], sources: int, entities: int, mentions: int
) -> None:
    found = posterior(candidates, sources=sources, entities=entities, mentions=mentions)
    assert len(found) == len(candidates)
    assert all(0 <= one <= 1 for one in found) and sum(found) <= 1 + 1e-9


def _of(*candidates: NameEvidence, sources: int = 1) -> list[float]:
    return posterior(candidates, sources=sources, entities=30, mentions=100)


def test_more_evidence_makes_an_entity_likelier() -> None:
    plain = _of(NameEvidence("short", 5, [0]))[0]
    assert _of(NameEvidence("short", 5, [0], [(3, 0.1)]))[0] > plain
    assert _of(NameEvidence("short", 5, [0], same_kind=True))[0] > plain
    assert _of(NameEvidence("short", 5, [0], same_kind=False))[0] < plain
    assert _of(NameEvidence("short", 5, [9]))[0] < plain, "others have that word too"
    assert _of(NameEvidence("short", 5, [0]), NameEvidence("short", 5, [0]))[0] < 0.5


def test_a_short_form_alone_is_not_enough_and_a_shared_thread_is() -> None:
    assert _of(NameEvidence("short", 3, [0]))[0] < ASSUME
    assert _of(NameEvidence("short", 3, [0], [(3, 0.1)]))[0] > ASSUME


def test_a_name_that_is_used_alone_again_and_again_is_its_own() -> None:
    assert 1 - _of(NameEvidence("short", 1, [0]), sources=12)[0] > ASSUME
