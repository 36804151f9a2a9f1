"""What may be believed decides before anything is ranked: retired beliefs and other projects have
no part in any lane or statistic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.clock import NS, FakeClock, parse_time
from doxa.base.errors import InputError, KrefError, NotFoundError
from tests.fixtures_shared import opened

QUERIES = [
    "where does the ferry leave",
    "ferry to Bergen",
    "captain",
    "capten",
    "atlas",
    "atlax",
    "the harbour office opens",
    "nothing in common",
]
LONG = "The old ferry book. " + "A page on ropes and knots and sails. " * 80


def on(day: int) -> int:
    """A day after the beginning of 2026."""
    return parse_time("2026-01-01") + day * 86_400 * NS


def shown(memory: Memory, query: str, **options: Any) -> list[tuple[str, float, dict[str, float]]]:
    return [
        (hit.text, hit.score, dict(hit.lanes))
        for hit in memory.recall(query, limit=50, **options).hits
    ]


def texts(memory: Memory, query: str = "ferry", **options: Any) -> set[str]:
    return {hit.text for hit in memory.recall(query, limit=50, **options).hits}


def test_retired_beliefs_leave_no_trace_in_any_score(tmp_path: Path) -> None:
    with opened(tmp_path / "with.db") as full, opened(tmp_path / "without.db") as plain:
        for memory in (full, plain):
            memory.remember("The ferry leaves from Bergen", name="ferry")
            memory.remember("The harbour office opens at nine", name="office")
        gone = full.remember("The captain of the ferry is Atlax", name="captain")
        full.remember(LONG, name="book")
        full.deprecate("kref://default/book.fact")
        full.revise("kref://default/captain.fact", "The captain of the ferry is Atlas")
        plain.remember("The captain of the ferry is Atlas", name="captain")
        full.remember("The ferry was sold to Oslo", name="sold")
        full.contract("kref://default/sold.fact?r=1")
        undone = full.remember("Ferry ferry ferry captain captain", name="undone")
        full.undo(undone.change.change or 0)
        for memory in (full, plain):
            memory.embed()
        assert gone.kref.endswith("?r=1")
        for query in QUERIES:
            for lanes in (("words",), ("meaning",), ("words", "meaning")):
                with_them, without = (
                    shown(full, query, lanes=lanes),
                    shown(plain, query, lanes=lanes),
                )
                assert [hit[0] for hit in with_them] == [hit[0] for hit in without]
                for (_, score, lane), (_, wanted, wanted_lane) in zip(
                    with_them, without, strict=True
                ):
                    assert score == pytest.approx(wanted, abs=2e-4)
                    assert lane == pytest.approx(wanted_lane, abs=2e-4)
        everything = {
            hit.text: hit
            for hit in full.recall("Atlax ferry captain book", history=True, limit=50).hits
        }
        assert everything["The captain of the ferry is Atlax"].status == "superseded"
        assert (
            "superseded by kref://default/captain.fact?r=2"
            in everything["The captain of the ferry is Atlax"].why
        )
        assert everything[LONG].status == "deprecated"
        assert everything[LONG].why.endswith("; deprecated")  # of now, when it began is not said
        assert everything["The ferry was sold to Oslo"].status == "detached"
        assert everything["Ferry ferry ferry captain captain"].status == "deprecated"
        assert everything["The ferry leaves from Bergen"].status == "current"
        assert full.check() == []


def test_a_retired_turn_lends_nothing_to_the_next(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": "The ferry ferry ferry"},
                {"speaker": "Bo", "text": "Yes"},
                {"speaker": "Ana", "text": "Other"},
            ]
        )
        memory.embed()
        before = {hit.text: hit for hit in memory.recall("ferry").hits}
        assert before["Yes"].lanes["meaning"] > before["Other"].lanes["meaning"]
        memory.deprecate(before["The ferry ferry ferry"].kref)
        after = {hit.text: hit for hit in memory.recall("ferry").hits}
        assert "The ferry ferry ferry" not in after
        assert after["Yes"].lanes["words"] == 0
        assert after["Yes"].lanes["meaning"] == pytest.approx(0, abs=0.05)
        assert memory.restore(before["The ferry ferry ferry"].kref).action == "restored"
        assert {hit.text: hit for hit in memory.recall("ferry").hits} == before


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.sampled_from(["ferry", "Bergen ferry ferry", "captain", "a tale of the harbour"])
        | st.text(min_size=1, max_size=20),
        max_size=6,
    )
)
def test_another_projects_writes_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, others: list[str]
) -> None:
    path = tmp_path_factory.mktemp("p") / "m.db"
    with opened(path, project="mine") as memory:
        memory.remember("The ferry leaves from Bergen")
        memory.ingest(
            [
                {"speaker": "Ana", "text": "Who is the captain?"},
                {"speaker": "Bo", "text": "Marit, of the ferry."},
            ]
        )
        memory.embed()
        before = [memory.recall(query).hits for query in QUERIES]
        for number, text in enumerate(others):
            if text.strip() and "\0" not in text:
                memory.remember(text, project="theirs", name=f"n{number}")
                memory.ingest(
                    [{"speaker": "Ana", "text": text}], project="theirs", thread=str(number)
                )
        memory.embed()
        assert [memory.recall(query).hits for query in QUERIES] == before
        with opened(path, project="mine") as fresh:
            assert [fresh.recall(query).hits for query in QUERIES] == before


def test_as_of_is_what_was_believed_then(tmp_path: Path) -> None:
    clock = FakeClock()
    marks: list[int] = []

    def mark() -> None:
        clock.advance(seconds=10)
        marks.append(clock.now_ns())
        clock.advance(seconds=10)

    with opened(tmp_path / "m.db", clock=clock) as memory:
        clock.advance(seconds=1)
        memory.remember("The ferry leaves from Bergen", name="ferry")
        memory.remember("The ferry is green", name="colour")
        mark()
        memory.revise("kref://default/ferry.fact", "The ferry leaves from Oslo")
        memory.deprecate("kref://default/colour.fact")
        memory.ingest([{"speaker": "Ana", "text": "I saw the ferry"}])
        mark()
        memory.restore("kref://default/colour.fact")
        memory.deprecate("kref://default/ferry.fact")
        said = next(hit for hit in memory.recall("ferry", kinds=("exchange",)).hits)
        memory.deprecate(said.kref)
        mark()
        assert texts(memory, as_of="1980-01-01") == set()
        assert texts(memory, as_of=marks[0]) == {
            "The ferry leaves from Bergen",
            "The ferry is green",
        }
        assert texts(memory, as_of=marks[1]) == {"The ferry leaves from Oslo", "I saw the ferry"}
        assert texts(memory, as_of=marks[2]) == {"The ferry is green"} == texts(memory)
        hit = memory.recall("Bergen", as_of=marks[0]).hits[0]
        assert (hit.status, "deprecated since; believed at" in hit.why) == ("deprecated", True)


def test_tags_are_a_surface_of_their_own(tmp_path: Path) -> None:
    with opened(
        tmp_path / "m.db", clock=FakeClock()
    ) as memory:  # a clock that stands still must not hide what was just tagged
        for name, text in (
            ("a", "The ferry is green"),
            ("b", "The ferry is slow"),
            ("c", "The ferry is old"),
        ):
            memory.remember(text, name=name)
        memory.revise("kref://default/a.fact", "The ferry is red")
        memory.tag("kref://default/a.fact?r=1", "approved")
        memory.tag("kref://default/b.fact", "approved")
        assert texts(memory, tag="approved") == {"The ferry is green", "The ferry is slow"}
        assert texts(memory, tag="initial") == {
            "The ferry is green",
            "The ferry is slow",
            "The ferry is old",
        }
        with pytest.raises(
            NotFoundError,
            match=r"no tag 'nobody-set-this'\. Known tags: current, initial, approved",
        ):
            memory.recall("ferry", tag="nobody-set-this")
        memory.deprecate("kref://default/b.fact")
        assert texts(memory, tag="approved") == {"The ferry is green"}
        assert texts(memory, tag="initial") == {"The ferry is green", "The ferry is old"}
        assert texts(memory) == {"The ferry is red", "The ferry is old"}


def test_filters(tmp_path: Path) -> None:
    def found(memory: Memory, **options: Any) -> set[str]:
        return texts(memory, history=True, **options)

    with opened(tmp_path / "m.db") as memory:
        memory.remember(
            "ferry one",
            name="one",
            space="a",
            trust="untrusted",
            valid_from=on(10),
            valid_until=on(20),
        )
        memory.remember(
            "ferry two",
            name="two",
            space="a/b",
            kind="decision",
            trust="verified",
            valid_from=on(20),
        )
        memory.remember("ferry three", name="three", space="ab", valid_until=on(10))
        memory.remember("ferry other", name="other", project="elsewhere")
        memory.ingest(
            [{"speaker": "Ana", "text": "ferry said", "time": "2026-03-02T10:00:00Z"}],
            thread="trip",
        )
        memory.ingest(
            [{"speaker": "Bo", "text": "ferry heard", "time": "2026-03-03T10:00:00Z"}],
            thread="other",
        )
        beliefs = {"ferry one", "ferry two", "ferry three"}
        assert found(memory) == beliefs | {"ferry said", "ferry heard"}
        assert found(memory, project="*") == found(memory) | {"ferry other"}
        assert found(memory, project="elsewhere") == {"ferry other"}
        assert found(memory, space="a") == {"ferry one", "ferry two"}
        assert found(memory, space="a/b") == {"ferry two"}
        for space in ("b", "a/", "a//b", "A"):
            with pytest.raises(
                NotFoundError,
                match=r"no space .* Known spaces: kref://default/a, kref://default/a/b, kref://default/ab",
            ):
                memory.recall("ferry", space=space)
        assert found(memory, kinds=["decision"]) == {"ferry two"}
        assert found(memory, kinds=["decision", "exchange"]) == {
            "ferry two",
            "ferry said",
            "ferry heard",
        }
        assert found(memory, trust="verified") == {"ferry two"}
        assert "ferry one" not in found(memory, trust="stated")
        assert found(memory, speaker="Ana") == {"ferry said"}
        assert found(memory, thread="kref://default/conversations/trip.thread") == {"ferry said"}
        first, second = "2026-03-02T10:00:00Z", "2026-03-03T10:00:00Z"
        assert found(memory, since=first, until=second) == {"ferry said"}
        assert found(memory, since=second, kinds=["exchange"]) == {"ferry heard"}
        assert found(memory, until=first) == set()
        assert found(memory, valid_at=on(10), kinds=["fact", "decision"]) == {"ferry one"}
        assert found(memory, valid_at=on(20), kinds=["fact", "decision"]) == {"ferry two"}
        assert found(memory, valid_at=on(10) - 1, kinds=["fact", "decision"]) == {"ferry three"}
        assert memory.recall("ferry", trust="verified", space="a").filters == {
            "project": "default",
            "space": "a",
            "trust": "verified",
        }
        assert memory.recall("ferry", space="a", history=True).searched == 2


def test_a_candidate_and_its_turn_are_one_answer(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.ingest(
            [
                {"speaker": "Ana", "text": "We decided to use PostgreSQL."},
                {"speaker": "Bo", "text": "Fine with me."},
            ]
        )
        assert made.candidates == 1
        hits = [hit for hit in memory.recall("PostgreSQL decided").hits if "PostgreSQL" in hit.text]
        assert len(hits) == 1
        (candidate,) = memory.recall("PostgreSQL", kinds=("decision",)).hits
        assert candidate.trust == "candidate"
        assert candidate.source.endswith(".exchange")


def test_a_named_speaker_is_preferred(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([{"speaker": "Ana", "text": "the tea is cold"}], thread="1")
        memory.ingest([{"speaker": "Bo", "text": "the tea is hot"}], thread="2")
        memory.embed()
        for name in ("Ana", "Bo"):
            hit = memory.recall(f"What did {name} say about the tea?").hits[0]
            assert (hit.speaker, f'said by "{name}"' in hit.why) == (name, True)


def test_recent_is_newest_first_and_believed(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        for number in range(5):
            memory.remember(f"fact {number}", name=f"n{number}")
        memory.deprecate("kref://default/n4.fact")
        memory.revise("kref://default/n0.fact", "fact zero")
        assert [hit.text for hit in memory.recent(limit=3)] == ["fact zero", "fact 3", "fact 2"]
        assert memory.recent(kinds=["exchange"]) == []


# What holds now


def test_what_holds_no_more_or_not_yet_is_left_out_and_labelled_when_asked_for(
    tmp_path: Path,
) -> None:
    clock = FakeClock(on(100))
    with opened(tmp_path / "m.db", clock=clock) as memory:
        memory.remember("the ferry was red", name="past", valid_until=on(100))
        memory.remember("the ferry is green", name="now", valid_from=on(100), valid_until=on(200))
        memory.remember("the ferry will be blue", name="later", valid_from=on(200))
        memory.ingest([{"speaker": "Ana", "text": "the ferry has no end", "time": "2026-01-02"}])
        memory.embed()
        assert texts(memory) == {"the ferry is green", "the ferry has no end"}
        assert {hit.text for hit in memory.recent()} == texts(memory)
        assert memory.recall("ferry").searched == 2
        assert {hit.text: hit.status for hit in memory.recall("ferry", history=True).hits} == {
            "the ferry was red": "expired",
            "the ferry is green": "current",
            "the ferry will be blue": "not_yet_valid",
            "the ferry has no end": "current",
        }
        why = {hit.status: hit.why for hit in memory.recall("ferry", history=True).hits}
        assert "valid until 2026-04-11" in why["expired"]
        assert "valid from 2026-07-20" in why["not_yet_valid"]
        assert texts(memory, valid_at=on(50)) == {"the ferry was red", "the ferry has no end"}
        assert texts(memory, valid_at=on(250)) == {"the ferry will be blue", "the ferry has no end"}
        clock.advance(days=100)
        assert texts(memory) == {"the ferry will be blue", "the ferry has no end"}
        assert texts(memory, as_of=on(150)) == {"the ferry is green", "the ferry has no end"}
        memory.tag("kref://default/past.fact", "mine")
        assert [(hit.text, hit.status) for hit in memory.recall("ferry", tag="mine").hits] == [
            ("the ferry was red", "expired")
        ]
        assert memory.check() == []


def test_what_holds_no_more_leaves_no_trace_in_any_score(tmp_path: Path) -> None:
    with opened(tmp_path / "with.db") as full, opened(tmp_path / "without.db") as plain:
        for memory in (full, plain):
            memory.remember("The ferry leaves from Bergen", name="ferry")
            memory.remember("The harbour office opens at nine", name="office")
        full.remember("ferry ferry captain", name="gone", valid_until="2020-01-01")
        for memory in (full, plain):
            memory.embed()
        assert shown(full, "ferry captain") == shown(plain, "ferry captain")


# What is not there


def test_what_was_asked_for_and_is_not_there_is_told(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry is red", name="a", space="port")
        memory.ingest([{"speaker": "Ana", "text": "ferry said"}], thread="trip")
        for options, error in (
            ({"space": "prt"}, NotFoundError),
            ({"space": "prt", "project": "*"}, NotFoundError),
            ({"tag": "nope"}, NotFoundError),
            ({"thread": "kref://default/conversations/nope.thread"}, NotFoundError),
            ({"thread": "trip"}, KrefError),
            ({"thread": "kref://default/a.fact"}, NotFoundError),
            ({"project": "nope"}, NotFoundError),
            ({"space": "port", "as_of": "x"}, InputError),
        ):
            with pytest.raises(error) as caught:
                memory.recall("ferry", **options)
            assert caught.value.next_step
        with pytest.raises(NotFoundError):
            memory.recent(project="nope")
        assert memory.recall("ferry", space="port", kinds=["decision"]).hits == ()
        assert memory.recall("ferry", space="port", as_of="1980-01-01").hits == ()
        assert texts(memory, space="port", project="*") == {"The ferry is red"}


def test_how_many_were_searched_is_said_also_when_none_matched(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry is red", name="a")
        memory.remember("The office opens", name="b")
        answer = memory.recall("zebra", lanes=["words"])
        assert (answer.hits, answer.searched) == ((), 2)
        assert answer.warnings == ("Nothing found among 2 memories that the filters let through.",)
