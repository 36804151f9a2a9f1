"""Enrichments of a belief: stored as given, kept with its text, found by themselves, and erased
with the belief."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.app import Memory
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import EMBED_FIELDS_PER_DOC_MAX, ENRICHMENT_CHARS_MAX, ENRICHMENT_ENTRIES_MAX
from doxa.belief import Draft, Revision, check_draft
from doxa.belief.types import ENRICHMENTS
from doxa.recall.lanes.meaning import field_texts
from doxa.store import FIELDS_FROM, INDEXED_PARTS, SearchRule
from doxa.transfer.beliefs import lines_of_state
from tests.fixtures_shared import opened

CANARY = "AKIAQ7CANARYQ7CANA2Z"
DAY = "kref://default/day.decision"
GIVEN: dict[str, Any] = {
    "events": ["The Friday release broke the checkout -> we repaired it on Saturday"],
    "implications": [
        "Nobody has to repair production at the weekend",
        "Announcements wait until the end of the week",
    ],
    "questions": ["Who deploys in August?"],
    "decisions": ["No release before a holiday"],
    "entities": ["Ana Miller", "checkout"],
    "claims": ["The pager is quiet at night"],
    "actions": ["Ana writes the runbook by May"],
}
WORDS = ("words",)


def held(memory: Memory, kref: str = DAY) -> Revision:
    found = memory.get(kref)
    assert isinstance(found, Revision)
    return found


def given_of(found: Revision) -> dict[str, list[str]]:
    return {name: list(getattr(found, name)) for name in ENRICHMENTS}


def stated(memory: Memory, **more: Any) -> None:
    memory.remember("We deploy on Thursdays", name="day", kind="decision", **GIVEN | more)


def test_they_are_stored_and_shown_as_they_were_given(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        stated(memory)
        assert given_of(held(memory)) == GIVEN
        assert held(memory).metadata == {} and held(memory).summary == "We deploy on Thursdays"
        row = memory.run(
            "MATCH (:Item)-[:CURRENT]->(r:Revision) RETURN r.events AS events, r.entities AS"
            " entities"
        ).records()
        assert row == [{"events": GIVEN["events"], "entities": GIVEN["entities"]}]
        page = memory.explain(DAY).page()
        assert all(f"Its {name}:\n  - {GIVEN[name][0]}" in page for name in ENRICHMENTS)
        assert (
            memory.remember("We deploy on Thursdays", name="day", kind="decision", **GIVEN).action
            == "unchanged"
        )
        assert (
            memory.remember(
                "We deploy on Thursdays", name="day", kind="decision", **GIVEN | {"questions": []}
            ).action
            == "revised"
        )
        assert held(memory).questions == ()
        assert memory.check() == []


def test_they_are_kept_with_their_words_only(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        stated(memory)
        memory.revise(DAY, "We deploy on Thursdays", confidence=0.5)
        assert given_of(held(memory)) == GIVEN
        memory.revise(
            DAY, "We deploy on Thursdays", implications=["Fridays are quiet"], decisions=[]
        )
        assert given_of(held(memory)) == GIVEN | {
            "implications": ["Fridays are quiet"],
            "decisions": [],
        }
        change = memory.revise(DAY, "We deploy on Tuesdays", entities=["Bo"])
        assert given_of(held(memory)) == {name: [] for name in ENRICHMENTS} | {"entities": ["Bo"]}
        assert (
            "Its events, implications, questions, claims, actions belong to the former text"
            in change.reason
        )
        change = memory.supersede(
            DAY, "We deploy every day", name="daily", events=["The pipeline was made quick"]
        )
        assert held(memory, change.kref).events == ("The pipeline was made quick",)
        assert "entities belong to the former text" in change.reason


def test_a_belief_that_gives_way_in_part_keeps_them_while_it_keeps_its_words(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "m.db") as memory:
        oslo = [("Ana", "lives in", "Oslo")]
        memory.remember(
            "Ana lives in Oslo", name="oslo", facts=oslo, implications=["She can ski after work"]
        )
        memory.remember(
            "Ana lives in Rome",
            name="rome",
            facts=[("Ana", "lives in", "Rome")],
            valid_from="2031-01-01",
        )
        found = held(memory, "kref://default/oslo.fact")
        assert (found.number, found.valid_until is not None, found.implications) == (
            2,
            True,
            ("She can ski after work",),
        )
        both = [("Bo", "lives in", "Bonn"), ("Bo", "likes", "tea")]
        memory.remember(
            "Bo lives in Bonn and likes tea",
            name="bo",
            facts=both,
            implications=["He is near the Rhine"],
        )
        memory.remember("Bo lives in Rome", facts=[("Bo", "lives in", "Rome")])
        found = held(memory, "kref://default/bo.fact")
        assert (found.summary, found.implications) == ("Bo likes tea", ())


def test_what_comes_with_a_known_belief_is_named(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("We deploy on Thursdays")
        again = memory.remember("we deploy on thursdays", **GIVEN)
        assert (again.stored, again.kref) == (False, first.kref)
        assert f"not stored: {', '.join(ENRICHMENTS)}." in again.warnings[0]


def test_secrets_stay_out(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for name in ENRICHMENTS:
            made = memory.remember(
                f"About {name}", name=name, **{name: [f"the key {CANARY} was lost"]}
            )
            assert getattr(held(memory, made.kref), name) == (
                "the key [redacted:aws-access-key] was lost",
            )
            assert len(made.warnings) == 1
            change = memory.revise(
                f"kref://default/{name}.fact", f"Again about {name}", **{name: [CANARY]}
            )
            assert "aws-access-key" in change.reason
    assert CANARY.encode() not in (tmp_path / "m.db").read_bytes()


@pytest.mark.parametrize("name", ENRICHMENTS)
@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("a text alone", InputError, "must be a list of texts, not str"),
        (None, InputError, "must be a list of texts, not NoneType"),
        (7, InputError, "must be a list of texts, not int"),
        ([1], InputError, "must contain texts, not int"),
        ([None], InputError, "must contain texts"),
        ([["a"]], InputError, "must contain texts, not list"),
        (["fine", " \n"], InputError, "is blank"),
        (["\ud800"], InputError, "surrogate"),
        (
            ["x" * (ENRICHMENT_CHARS_MAX + 1)],
            LimitError,
            "has 1,001 characters; the limit is 1,000",
        ),
        (["x"] * (ENRICHMENT_ENTRIES_MAX + 1), LimitError, "this has 51"),
    ],
)
def test_what_is_no_list_of_short_texts_is_refused_by_its_name(
    tmp_path: Path, name: str, value: Any, kind: type[Exception], said: str
) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day", kind="decision")
        for call in (
            lambda: memory.remember("Another", **{name: value}),
            lambda: memory.revise(DAY, "We deploy on Thursdays", **{name: value}),
            lambda: memory.supersede(DAY, "Another", name="other", **{name: value}),
            lambda: memory.revise(["Ana", "likes", "tea"], **{name: value}),
        ):
            with pytest.raises(kind, match=said) as caught:
                call()
            assert (
                isinstance(caught.value, InputError)
                and caught.value.next_step
                and caught.value.fields["field"] == name
            )
        assert memory.stats()["revisions"] == 1


def test_a_draft_is_held_to_the_same_and_metadata_may_not_take_their_names() -> None:
    for name in ENRICHMENTS:
        for wrong in ("text", [1], ["\x00\ud800"], [" "]):
            with pytest.raises(InputError):
                check_draft(Draft("x", **{name: wrong}))
        with pytest.raises(InputError, match=f"may not be named {name}"):
            check_draft(Draft("x", metadata={name: "y"}))
    check_draft(
        Draft(
            "x",
            **{
                name: ("y" * ENRICHMENT_CHARS_MAX,) * ENRICHMENT_ENTRIES_MAX for name in ENRICHMENTS
            },
        )
    )


def test_a_file_in_which_they_were_metadata_of_another_form_is_read(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        stated(memory)
        with memory.store.write(memory.identity, op="old") as tx:
            tx.set_catalogue("guard:label:Revision", None)
        with memory.store.write(
            memory.identity, op="old"
        ) as tx:  # as a file could hold them before they had a meaning
            node = tx.node_by_kref(DAY + "?r=1")
            assert node is not None
            tx.set_node(
                node.id,
                node.props | {"events": "a text", "entities": 7, "questions": [3, "Who is it?"]},
            )
    with opened(tmp_path / "m.db") as memory:
        assert given_of(held(memory)) == GIVEN | {
            "events": [],
            "entities": [],
            "questions": ["Who is it?"],
        }
        assert memory.embed() == 1 and memory.check() == []
        assert "in its implications" in memory.recall("Does checkout need a weekend?").hits[0].why
        assert memory.revise(DAY, "We deploy on Thursdays", confidence=0.5).action == "revised"
        assert held(memory).questions == ("Who is it?",)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Saturday", "events"),
        ("weekend", "implications"),
        ("August", "questions"),
        ("holiday", "decisions"),
        ("Miller", "entities"),
    ],
)
def test_each_is_found_by_words_that_it_alone_says(
    tmp_path: Path, question: str, name: str
) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        stated(memory)
        for number in range(20):
            memory.remember(f"The canteen has soup number {number}")
        hits = memory.recall(question, lanes=WORDS).hits
        assert [hit.kref for hit in hits] == [DAY + "?r=1"]
        assert hits[0].text == "We deploy on Thursdays"
        assert f" in its {name} (" in hits[0].why
        memory.revise(DAY, "We deploy on Tuesdays")
        assert memory.recall(question, lanes=WORDS).hits == ()
        assert [hit.status for hit in memory.recall(question, lanes=WORDS, history=True).hits] == [
            "superseded"
        ]


def test_their_words_are_named_apart_from_its_own(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        stated(memory)
        why = (
            memory.recall("Is the checkout in production when we deploy?", lanes=WORDS).hits[0].why
        )
        assert why.startswith(
            "shares deploy and checkout in its events and production in its implications ("
        )


def test_having_many_does_not_make_a_belief_hard_to_find_by_its_own_words(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        things = ("lamp", "boat", "oven", "roof", "garden", "gate")
        entries = [
            f"Then the {thing} will need somebody to look after it in the evening"
            for thing in things
        ]
        memory.remember("The harbour office opens at nine", name="rich", implications=entries * 5)
        memory.remember("The harbour office closes at five", name="plain")
        rich, plain = (
            memory.recall("harbour office", lanes=WORDS).hits[i].lanes["words"] for i in (1, 0)
        )
        assert 0.8 * plain < rich < plain
        repeated = memory.recall("evening", lanes=WORDS).hits[0].lanes["words"]
        memory.remember("In the evening it is cold", name="cold")
        assert repeated < 1 and len(memory.recall("evening", lanes=WORDS).hits) == 2


def test_each_has_vectors_of_its_own_and_the_whole_is_without_them(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        stated(memory, facts=[("shop", "deploy day", "Thursday")])
        memory.embed()
        with memory.store.read() as reader:
            node = reader.node_by_kref(DAY + "?r=1")
            assert node is not None
            texts = [
                text for _, text in field_texts(reader.declared().search["Revision"], node.props)
            ]
            parts = [
                row[0]
                for row in reader.rows(
                    f"SELECT part FROM vector WHERE part BETWEEN {FIELDS_FROM} AND"
                    f" {INDEXED_PARTS - 1} ORDER BY part"
                )
            ]
        assert parts == list(range(FIELDS_FROM, FIELDS_FROM + len(texts)))
        assert (
            texts[:3]
            == ['["shop","deploy day","Thursday"]', GIVEN["events"][0], GIVEN["implications"][0]]
            and len(texts) == 9
        )
        for name, text in (
            ("events", GIVEN["events"][0]),
            ("questions", GIVEN["questions"][0]),
            ("entities", "Ana Miller, checkout"),
        ):
            hit = memory.recall(text, lanes=("meaning",)).hits[0]
            assert hit.kref == DAY + "?r=1" and hit.lanes["meaning"] == pytest.approx(
                0.95, abs=0.01
            )
            assert f"by its {name}" in hit.why
        assert (
            "by its" not in memory.recall("We deploy on Thursdays", lanes=("meaning",)).hits[0].why
        )


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(("facts", *ENRICHMENTS)), st.lists(st.text("ab", min_size=1), max_size=40)
    )
)
def test_no_field_goes_without_a_vector(fields: dict[str, list[str]]) -> None:
    found = field_texts(SearchRule((), "", "", "", (), ENRICHMENTS), fields)
    assert {name for name, _ in found[:EMBED_FIELDS_PER_DOC_MAX]} == {
        name for name, entries in fields.items() if entries
    }
    for name, entries in fields.items():
        own = [text for other, text in found if other == name]
        assert own == ([", ".join(entries)] if name == "entities" and entries else entries)


def test_an_export_brings_them_along(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        stated(first)
        first.remember("Plain")
        lines = list(first.export())
        (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        second.import_(tmp_path / "a.jsonl")
        assert given_of(held(second)) == GIVEN
        assert list(second.export())[1:] == lines[1:]
        assert second.check() == []
        with first.store.read() as snapshot:
            lines = [msgspec.json.encode(line) for line in lines_of_state(snapshot)]
        lines.insert(0, b'{"type":"doxa-export","format":1}')
        older = b"\n".join(line.replace(b'"questions"', b'"unknown"') for line in lines)
        (tmp_path / "old.jsonl").write_bytes(older + b"\n")
    with opened(tmp_path / "c.db") as third:
        third.import_(tmp_path / "old.jsonl")  # a line may lack them
        assert given_of(held(third)) == GIVEN | {"questions": []}
        bad = lines[1].replace(GIVEN["questions"][0].encode(), CANARY.encode())
        bad = bad.replace(b"/day.decision", b"/x.decision").replace(b'"name":"day"', b'"name":"x"')
        (tmp_path / "bad.jsonl").write_bytes(lines[0] + b"\n" + bad + b"\n")
        assert third.import_(tmp_path / "bad.jsonl").redacted == 1


def test_an_erasure_leaves_none_of_their_words(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        stated(memory, implications=["Quetzalcoatl returns"])
        memory.remember("Quiet days", name="quiet")
        memory.embed()
        memory.forget(DAY, erase=True)
        assert memory.check() == []
        assert memory.recall("Quetzalcoatl", lanes=WORDS).hits == ()
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"uetzalcoatl" not in data and b"Saturday" not in data and b"holiday" not in data


def test_every_door_takes_them(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        options = {name: GIVEN[name] for name in ENRICHMENTS}
        memory.run(
            "CALL doxa.remember('We deploy on Thursdays', $options) YIELD kref RETURN kref",
            {"options": options | {"name": "a"}},
        )
        assert given_of(held(memory, "kref://default/a.fact")) == GIVEN
        memory.run(
            "CALL doxa.revise('kref://default/a.fact', 'We deploy daily', {events: ['It was asked"
            " for']}) YIELD kref RETURN kref"
        )
        assert held(memory, "kref://default/a.fact").events == ("It was asked for",)
        made = memory.revise(["Ana", "likes", "tea"], entities=["Ana"])
        assert held(memory, made.kref).entities == ("Ana",)
        with pytest.raises(doxa.InputError, match="has no option implication"):
            memory.revise(made.kref, "Ana likes tea", implication=["x"])  # type: ignore[call-arg]
