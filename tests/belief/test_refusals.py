"""Whatever a ledger is given, the answer is a change or one of our errors, and nothing that cannot
be read again is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from doxa.base.clock import TIME_MAX
from doxa.base.errors import DoxaError, InputError, KrefError, RoleError
from doxa.base.limits import KREF_CHARS_MAX, KREF_SEGMENTS_MAX, NAME_CHARS_MAX
from doxa.belief import Draft, Fact, Ledger, Revision, parse_kref, read_at
from doxa.store import Store, digest

K = "kref://shop/db.fact"
GOOD = Draft("we use postgres", project="shop", name="db")

BAD_FIELDS: list[tuple[str, Any]] = [
    ("time", "x"),
    ("time", 1.5),
    ("time", True),
    ("time", TIME_MAX + 1),
    ("valid_from", "2020-01-01"),
    ("valid_until", 1.0),
    ("valid_from", False),
    ("valid_until", -TIME_MAX - 1),
    ("author", 5),
    ("author", None),
    ("author", "\ud800"),
    ("title", 5),
    ("title", None),
    ("project", 5),
    ("space", 5),
    ("space", None),
    ("name", 5),
    ("name", None),
    ("kind", []),
    ("kind", None),
    ("trust", 5),
    ("trust", []),
    ("trust", "x" * 500),
    ("confidence", "1"),
    ("confidence", float("nan")),
    ("topics", "ops"),
    ("topics", [5]),
    ("topics", None),
    ("keywords", 5),
    ("keywords", {"a": 1}),
    ("facts", 5),
    ("facts", None),
    ("facts", [("a", "b", "c")]),
    ("facts", ["abc"]),
    ("facts", (Fact("a", "b", float("inf")),)),
    ("metadata", 5),
    ("metadata", None),
    ("metadata", [("a", 1)]),
    ("metadata", {5: 1}),
    ("metadata", {"time": 1}),
    ("summary", 5),
    ("summary", " "),
]


@pytest.mark.parametrize(("field", "value"), BAD_FIELDS)
def test_every_field_of_a_draft_is_checked(
    believing: Store, ledger: Ledger, field: str, value: Any
) -> None:
    ledger.put(GOOD)
    before = digest(believing)
    bad = replace(GOOD, **({"summary": "other"} | {field: value}))
    for call in (
        lambda: ledger.put(bad),
        lambda: ledger.revise(K, bad),
        lambda: ledger.expand(bad),
        lambda: ledger.supersede(K, bad),
    ):
        with pytest.raises(InputError):
            call()
    assert digest(believing) == before


CALLS: list[Callable[[Any], object]] = [
    lambda at: at.put("text"),
    lambda at: at.revise(5, GOOD),
    lambda at: at.revise(K, None),
    lambda at: at.expand(None),
    lambda at: at.put(replace(GOOD, summary="b"), expect="x"),
    lambda at: at.put(replace(GOOD, summary="b"), expect=True),
    lambda at: at.put(replace(GOOD, summary="b"), links=["DEPENDS_ON"]),
    lambda at: at.put(replace(GOOD, summary="b"), links=[("DEPENDS_ON", 5)]),
    lambda at: at.put(replace(GOOD, summary="b"), links=[(5, K)]),
    lambda at: at.tag(K, 5),
    lambda at: at.tag(K, "x", expect=1.0),
    lambda at: at.untag(K, None),
    lambda at: at.rollback(None),
    lambda at: at.rollback(K, expect="1"),
    lambda at: at.undo("1"),
    lambda at: at.undo(True),
    lambda at: at.undo(-1),
    lambda at: at.undo(2**70),
    lambda at: at.contract(K, fact="x"),
    lambda at: at.contract(K, fact=("db", "is", "x")),
    lambda at: at.link(K, K, kind=5),
    lambda at: at.link(K, K, kind="A", metadata=5),
    lambda at: at.link(K, K, kind="A", metadata={"a": object()}),
    lambda at: at.link(K, None, kind="A"),
    lambda at: at.unlink(K, 5, kind="A"),
    lambda at: at.erase(K),
    lambda at: at.erase(None),
    lambda at: at.erase([5]),
    lambda at: at.bundle(5),
    lambda at: at.create_space(5, ""),
    lambda at: at.create_space("p", 5),
    lambda at: at.create_space("p", "a//b"),
    lambda at: at.deprecate(5),
    lambda at: at.attach(K, 5, location="/f"),
    lambda at: at.attach("kref://shop", "f", location="/f"),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_wrong_types_are_our_errors(believing: Store, ledger: Ledger, number: int) -> None:
    ledger.put(GOOD)
    before = digest(believing)
    with pytest.raises(DoxaError):
        CALLS[number](ledger)
    assert digest(believing) == before


ARTIFACTS: list[dict[str, Any]] = [
    {"location": None},
    {"location": ""},
    {"location": " "},
    {"location": 5},
    {"location": "\ud800"},
    {"sha256": "zz"},
    {"sha256": "AB" * 32},
    {"sha256": None},
    {"sha256": "ab" * 31},
    {"size_bytes": -1},
    {"size_bytes": "1"},
    {"size_bytes": True},
    {"size_bytes": 1.0},
    {"size_bytes": 2**63},
]


@pytest.mark.parametrize("fields", ARTIFACTS)
def test_an_artifact_points_to_a_file(
    believing: Store, ledger: Ledger, fields: dict[str, Any]
) -> None:
    ledger.put(GOOD)
    before = digest(believing)
    with pytest.raises(InputError) as caught:
        ledger.attach(K, "f.txt", **({"location": "/f.txt"} | fields))
    assert caught.value.fields["field"] in fields
    assert digest(believing) == before


def test_what_cannot_be_fetched_is_not_stored(believing: Store, ledger: Ledger) -> None:
    deep = "/".join("s" for _ in range(KREF_SEGMENTS_MAX - 2))
    long = "/".join("l" * 190 for _ in range(10))
    for fits in (
        Draft("x", project="p", space=deep, name="n"),
        Draft("x", project="p", space=long, name="n"),
    ):
        made = ledger.put(fits)
        ledger.attach(made.kref, "f.txt", location="/f")
        with believing.read() as snapshot:
            assert isinstance(read_at(snapshot, parse_kref(made.kref)), Revision)
            assert (
                read_at(snapshot, parse_kref(made.kref + "&a=f.txt")).kref == made.kref + "&a=f.txt"
            )
    before = digest(believing)
    longer = "/".join("l" * NAME_CHARS_MAX for _ in range(KREF_CHARS_MAX // NAME_CHARS_MAX))
    for call in (
        lambda: ledger.put(Draft("x", project="p", space=deep + "/s", name="n")),
        lambda: ledger.put(Draft("x", project="p", space=longer, name="n")),
        lambda: ledger.create_space("p", deep + "/s"),
        lambda: ledger.create_space("p", longer),
        lambda: ledger.bundle(f"kref://p/{longer}/b.bundle"),
        lambda: ledger.attach(f"kref://p/{long}/n.fact", "f" * NAME_CHARS_MAX, location="/f"),
    ):
        with pytest.raises(KrefError, match="at most"):
            call()
    assert digest(believing) == before


def test_a_belief_is_signed_by_who_acts(believing: Store, ledger: Ledger, agent: Ledger) -> None:
    def author(kref: str) -> str:
        with believing.read() as snapshot:
            found = read_at(snapshot, parse_kref(kref))
        assert isinstance(found, Revision)
        return found.author

    for call in (
        agent.put,
        agent.expand,
        lambda d: agent.revise(K, d),
        lambda d: agent.supersede(K, d),
    ):
        with pytest.raises(RoleError, match="cannot be signed"):
            call(replace(GOOD, author="operator:bob"))
    assert author(agent.put(replace(GOOD, author="bot")).kref) == "bot"
    assert author(agent.put(replace(GOOD, summary="two")).kref) == "bot"
    assert author(ledger.put(replace(GOOD, summary="three", author="bob")).kref) == "bob"
    for given, signed in (
        ("rule:likes", "rule:likes"),
        ("operator:bob", "bot"),
    ):  # the steps that ingest and import are made of
        with believing.write(agent.identity, op="import") as tx:
            made = agent.upsert(tx, parse_kref(K), replace(GOOD, summary=given, author=given))
        assert author(made.kref) == signed
