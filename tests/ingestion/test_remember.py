"""Remembering one belief: duplicates are not stored twice, a text that differs in a significant
word is, and secrets are removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import ConflictError, InputError, RoleError
from doxa.belief import Revision
from tests.fixtures_shared import opened

CANARY = "AKIAQ7CANARYQ7CANA2Z"


@pytest.mark.parametrize(
    "again",
    [
        "We deploy on Thursday.",
        "we deploy on thursdays",
        "WE DEPLOY ON THURSDAY!!",
        "  We deploy, on Thursday ",
        "“We deploy on Thursday”",
    ],
)
def test_the_same_belief_is_returned(tmp_path: Path, again: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("We deploy on Thursday")
        assert (first.action, first.stored, first.searchable) == ("created", True, ("words",))
        second = memory.remember(again)
        assert (second.action, second.stored, second.kref, second.duplicate_of) == (
            "unchanged",
            False,
            first.kref,
            first.kref,
        )
        assert second.change.change is None
        assert memory.stats()["revisions"] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The limit is 20 euros", "The limit is 30 euros"),
        ("Ana owns the key", "Bo owns the key"),
        ("We use MySQL", "We do not use MySQL"),
        ("We use MySQL", "We don't use MySQL"),
        ("Ana paid Bo", "Bo paid Ana"),
        ("We can ship", "We cannot ship"),
        ("The lamp is on", "The lamp is off"),
        ("Deploy before the freeze", "Deploy after the freeze"),
        ("We use not MySQL but Postgres", "We use MySQL but not Postgres"),
        ("My dog is ill", "Your dog is ill"),
        ("Trains from Oslo to Rome", "Trains to Oslo from Rome"),
        ("All tests pass", "Some tests pass"),
        ("The shop was open", "The shop is open"),
        ("Reports go up", "Reports go down"),
        ("版本一", "版本二"),
        ("🍎 wins", "🍐 wins"),
    ],
)
def test_one_turning_word_makes_another_belief(tmp_path: Path, first: str, second: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        held = memory.remember(first)
        made = memory.remember(second)
        assert held.stored and made.stored
        assert not memory.remember(second + ".").stored
        if made.action == "created":
            assert not memory.remember(first.upper()).stored
        else:  # a correction: the former text is not believed any more
            assert (made.action, made.change.previous) == ("revised", held.kref)


def test_what_came_with_a_known_belief_is_not_lost_in_silence(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("We use MySQL", facts=[("shop", "database", "MySQL")])
        assert memory.remember("we use mysql", facts=[("shop", "database", "MySQL")]).warnings == ()
        for more in (
            {"facts": [("shop", "port", 3306)]},
            {"valid_from": "2026-01-01"},
            {"depends_on": [first.kref]},
        ):
            again = memory.remember("we use mysql", **more)
            assert (again.stored, len(again.warnings)) == (False, 1)
            assert "kref://default/" in again.warnings[0]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("We deploy on Thursdays", "On Thursdays, we deploy"),
        ("We deploy on Thursdays", "on thursdays we deploy."),
        ("Ana meets Bo after lunch", "After lunch, Ana meets Bo."),
        ("The shop in Oslo is closed since 2020", "Since 2020 the shop in Oslo is closed"),
        ("We do not deploy on Thursdays", "On Thursdays, we don't deploy!"),
    ],
)
def test_a_phrase_may_open_or_end_the_sentence(tmp_path: Path, first: str, again: str) -> None:
    for name, one, other in (("a.db", first, again), ("b.db", again, first)):
        with opened(tmp_path / name) as memory:
            assert memory.remember(one, title="A title").stored
            assert not memory.remember(other).stored


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ana likes Bo", "Bo likes Ana"),
        ("cats chase dogs", "dogs chase cats"),
        ("On Thursdays, we deploy", "We do not deploy on Thursdays"),
        ("On Thursdays, Ana calls Bo", "Bo calls Ana on Thursdays"),
        ("In 2020, we moved", "We moved in 2021"),
        ("Before lunch, we meet", "We meet after lunch"),
        ("We ship not on Monday but on Friday", "We ship not on Friday but on Monday"),
        ("On 2 May, 3 ships left", "On 3 May, 2 ships left"),
        ("On Monday Ana, on Friday Bo", "On Friday Ana, on Monday Bo"),
        ("On Monday we ship and Bo rests", "We ship and Bo rests on Monday"),
        ("To Ana, Bo gave 5 euros", "Ana gave 5 euros to Bo"),
        ("On Mondays, we rest. Bo works", "We rest. Bo works on Mondays"),
    ],
)
def test_another_order_is_another_belief(tmp_path: Path, first: str, second: str) -> None:
    for name, one, other in (("a.db", first, second), ("b.db", second, first)):
        with opened(tmp_path / name) as memory:
            assert memory.remember(one).stored
            assert memory.remember(other).stored


def test_contractions_say_the_same(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for text, again in (
            ("We do not use MySQL", "We don't use MySQL"),
            ("It cannot fly", "It can't fly"),
            ("It will not rain", "It won’t rain"),
        ):
            assert memory.remember(text).stored
            assert not memory.remember(again).stored


def test_another_space_kind_or_project_is_another_belief(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for place in (
            {},
            {"space": "a"},
            {"space": "a/b"},
            {"kind": "decision"},
            {"project": "other"},
        ):
            assert memory.remember("We deploy on Thursday", **place).stored
            assert not memory.remember("we deploy on thursdays", **place).stored


def test_a_retired_belief_is_no_duplicate(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("We deploy on Thursday")
        memory.forget(first.kref.partition("?")[0])
        assert memory.remember("We deploy on Thursdays").stored


def test_a_name_makes_it_revisable(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        assert (
            memory.remember("We deploy on Thursday", name="day").kref
            == "kref://default/day.fact?r=1"
        )
        second = memory.remember("We deploy on Friday", name="day", expect=1)
        assert (second.action, second.kref) == ("revised", "kref://default/day.fact?r=2")
        assert memory.remember("We deploy on Friday", name="day").action == "unchanged"
        with pytest.raises(ConflictError):
            memory.remember("We deploy on Monday", name="day", expect=1)


def test_secrets_are_left_out_of_every_field(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        made = memory.remember(
            f"The key is {CANARY}",
            title=f"t {CANARY}",
            topics=[CANARY],
            keywords=[CANARY],
            facts=[(CANARY, f"key {CANARY}", CANARY)],
            metadata={"note": f"see {CANARY}", "list": [CANARY, "ok"]},
        )
        assert any("aws-access-key" in warning for warning in made.warnings)
        revised = memory.revise(
            made.kref,
            f"The new key is {CANARY}",
            facts=[("backup", "key", CANARY)],
            metadata={"note": CANARY},
        )
        found = memory.get(revised.kref)
        assert isinstance(found, Revision)
        assert found.summary == "The new key is [redacted:aws-access-key]"
        for file in tmp_path.iterdir():
            data = file.read_bytes()
            assert CANARY.encode() not in data
            assert CANARY.lower().encode() not in data


def test_only_an_operator_calls_a_belief_verified(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        agent = memory.session(role="agent", actor="bot")
        made = agent.remember("The limit is 20 euros", name="limit")
        for call in (
            agent.remember,
            lambda text, **o: agent.revise(made.kref, text, **o),
            lambda text, **o: agent.supersede(made.kref, text, **o),
        ):
            with pytest.raises(RoleError):
                call("The limit is 30 euros", trust="verified")
        assert memory.remember("The limit is 30 euros", name="limit", trust="verified").stored


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("project", 5),
        ("space", 5),
        ("kind", 5),
        ("title", 5),
        ("topics", "tea"),
        ("topics", 5),
        ("keywords", [5]),
        ("facts", 5),
        ("facts", "abc"),
        ("facts", [("a", "b")]),
        ("facts", [("a", "b", None)]),
        ("metadata", 5),
        ("metadata", {"kref": "x"}),
        ("confidence", 2),
        ("confidence", "high"),
        ("trust", "sure"),
        ("valid_from", "soon"),
        ("valid_until", 1.5),
        ("derived_from", "kref://a/b.fact"),
        ("depends_on", 5),
        ("title", "\ud800"),
    ],
)
def test_what_no_belief_can_hold_names_its_field(tmp_path: Path, field: str, value: Any) -> None:
    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(InputError) as caught:
            memory.remember("The limit is 20 euros", **{field: value})
        assert caught.value.fields["field"] == field
        assert memory.stats()["items"] == 0


@pytest.mark.parametrize("text", ["", "  \n", "\ud800", 5, None, "x" * 1_100_000])
def test_what_is_no_belief_is_refused(tmp_path: Path, text: Any) -> None:
    with opened(tmp_path / "m.db") as memory, pytest.raises(InputError):
        memory.remember(text)


@pytest.mark.parametrize(
    "text", ["the and of", "?!", "🚀", "\0", "a\0b", "'; DROP TABLE node; --", "x" * 100_000]
)
def test_odd_texts_are_beliefs_too(tmp_path: Path, text: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.remember(text)
        found = memory.get(made.kref)
        assert isinstance(found, Revision)
        assert found.summary == text
        assert memory.remember(text).kref == made.kref
        assert memory.check() == []
        memory.verify()


@pytest.mark.parametrize(
    "place",
    [
        {"project": CANARY},
        {"space": f"a/{CANARY}"},
        {"name": CANARY},
        {"kind": CANARY},
        {"metadata": {CANARY: "x"}},
    ],
)
def test_a_name_that_holds_a_secret_is_refused(tmp_path: Path, place: dict[str, Any]) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The shop is open", name="shop")
        for call in (
            memory.remember,
            lambda text, **o: memory.supersede(
                "kref://default/shop.fact", text, **{"name": "other"} | o
            ),
        ):
            with pytest.raises(InputError, match="aws-access-key") as caught:
                call("The limit is 20 euros", **place)
            assert CANARY not in str(caught.value.as_dict())
        assert memory.stats()["revisions"] == 1


def test_tags_edges_bundles_and_artifacts_keep_no_secret(tmp_path: Path) -> None:
    item = "kref://default/shop.fact"
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The shop is open", name="shop")
        for call in (
            lambda: memory.tag(item, CANARY),
            lambda: memory.link(item, item, kind=CANARY),
            lambda: memory.attach(item, CANARY, location="x"),
            lambda: memory.bundle(f"kref://default/{CANARY}.bundle"),
            lambda: memory.link(item, item, kind="SEES", metadata={CANARY: 1}),
            lambda: memory.ingest([{"text": "hello"}], project=CANARY),
            lambda: memory.ingest([{"text": "hello"}], space=CANARY),
        ):
            with pytest.raises(InputError, match="aws-access-key"):
                call()
        held = memory.attach(item, "dump", location="postgres://ana:Tr0ubador9@db.example/shop")
        assert "url-password" in held.reason
        assert (
            memory.get(f"{item}?a=dump").properties["location"]
            == "postgres://ana:[redacted:url-password]@db.example/shop"
        )  # type: ignore[union-attr]
        linked = memory.link(item, item, kind="SEES", metadata={"why": f"key {CANARY}"})
        assert linked.reason.startswith("SEES kref://default/shop.fact?r=1. A secret")
        assert "aws-access-key" in memory.revise(item, f"The key is {CANARY}").reason
        assert memory.revise(item, "nothing secret").reason == ""
    for file in tmp_path.iterdir():
        data = file.read_bytes()
        assert CANARY.encode() not in data and b"Tr0ubador9" not in data


@pytest.mark.parametrize("kind", ["exchange", "thread"])
def test_kinds_of_conversations_are_kept(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path / "m.db") as memory, pytest.raises(InputError, match="of conversations"):
        memory.remember("x", kind=kind, name="y")


@pytest.mark.parametrize(
    "fields",
    [
        {"location": 5},
        {"location": " "},
        {"location": "x", "sha256": 5},
        {"location": "x", "size_bytes": -1},
        {"location": "x", "size_bytes": "7"},
        {"location": "x", "size_bytes": True},
        {"location": "\ud800"},
        {"location": "x" * 1_100_000},
    ],
)
def test_what_is_no_artifact_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The shop is open", name="shop")
        with pytest.raises(InputError):
            memory.attach("kref://default/shop.fact", "a", **fields)
        assert memory.stats()["artifacts"] == 0
