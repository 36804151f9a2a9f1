"""Standing is off until a person opts in, counts a turn once, shows why, and leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.agent.records import records
from doxa.agent.records.records import note_record, write_record
from doxa.agent.standing.patterns import DELTAS, dimensions, found_in, patterns
from doxa.agent.standing.types import evidence_name
from doxa.base.errors import ConstraintError, DoxaError, LimitError, RoleError
from doxa.base.limits import NAME_CHARS_MAX, RECORD_ABOUT_ITEMS_MAX
from doxa.store import Identity
from tests.agent.test_spine_ledger import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m.doxa")
    with made.memory:
        yield made


OWN = "That was my mistake, I was wrong about the date."


def test_it_is_off_by_default(world: World) -> None:
    world.say(OWN)
    assert world.ana.standing_update().evidence == 0
    found = world.ana.standing("Kim")
    assert (found.state, found.scores, found.trail) == ("never asked", {}, ())
    with pytest.raises(RoleError):
        world.ana.standing_in("Kim")


def test_a_turn_counts_once_and_shows_why(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    turn = world.say(OWN)
    world.say("I was wrong about the color.", speaker="Lee")  # who did not opt in
    world.say("I was wrong, says the agent.", role="assistant", speaker="ana")
    assert world.ana.standing_update().evidence == 1
    for _ in range(3):
        assert world.ana.standing_update().evidence == 0
    found = world.ana.standing("Kim")
    assert found.scores["word"] == pytest.approx(5 + 0.1 * 0.9)
    assert [(one.pattern, one.turn, one.delta) for one in found.trail] == [
        ("owns_mistake", turn, pytest.approx(0.09))
    ]


def test_the_night_shift_reads_what_was_said_for_every_agent(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    world.say(OWN)
    (done,) = world.olga.nightshift(jobs=["standing"])
    assert (done.state, done.counts["agents"], done.counts["evidence"]) == ("done", 1, 1)
    assert world.olga.nightshift(jobs=["standing"])[0].counts["evidence"] == 0
    assert world.ana.standing("Kim").trail[0].pattern == "owns_mistake"


def test_what_was_said_before_does_not_count(world: World) -> None:
    world.say(OWN)
    world.clock.advance(seconds=5)
    world.olga.standing_in("Kim", agent="ana")
    assert world.ana.standing_update().evidence == 0


def test_an_agent_invents_no_evidence(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    turn = world.say("The weather is fine.")
    other = world.say(OWN, speaker="Lee")
    for kref, names, person in (
        (turn, ["owns_mistake"], "Kim"),
        (other, ["owns_mistake"], "Kim"),
        (other, ["owns_mistake"], "Lee"),
        (turn, [], "Kim"),
    ):
        with world.memory.store.read() as snapshot:
            node = snapshot.node_by_kref(kref)
        assert node is not None
        data = {
            "person": person,
            "turn": kref,
            "patterns": names,
            "said_ns": node.props["time"],
        }
        with (
            pytest.raises(ConstraintError),
            world.memory.store.write(Identity("ana"), op="x") as tx,
        ):
            write_record(
                tx,
                project="default",
                agent="ana",
                kind="standing_evidence",
                name=evidence_name(node),
                state="counted",
                data=data,
                about=[kref],
            )


def test_an_appeal_takes_it_out_and_an_operator_decides(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    world.say(OWN)
    world.ana.standing_update()
    kref = world.ana.standing("Kim").trail[0].evidence
    with pytest.raises(ConstraintError):
        world.ana.standing_appeal(kref)
    world.ana.standing_appeal(kref, why="I was quoting my brother.")
    assert world.ana.standing("Kim").scores["word"] == 5
    assert world.ana.standing("Kim").trail[0].state == "appealed"
    for decision in ("keep", "remove"):
        with pytest.raises(RoleError):
            world.ana.standing_appeal(kref, decision=decision)
    world.olga.standing_appeal(kref, decision="keep")
    assert world.ana.standing("Kim").scores["word"] > 5
    world.ana.standing_appeal(kref, why="I was.")
    world.olga.standing_appeal(kref, decision="remove")
    assert world.ana.standing("Kim").scores["word"] == 5


def test_the_report_of_a_day_keeps_its_evidence(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    world.say(OWN)
    assert world.ana.standing_update().reports == 0  # the day goes on
    world.clock.advance(days=1)
    assert world.ana.standing_update().reports == 1
    assert world.ana.standing_update().reports == 0
    found = world.ana.standing("Kim")
    assert len(found.trail) == 1 and len(found.reports) == 1
    assert found.reports[0]["evidence"] == [found.trail[0].evidence]
    assert found.reports[0]["changes"]["word"] == pytest.approx(0.09)  # type: ignore[index]
    world.say("I made a mistake again today.")
    world.clock.advance(days=1)
    world.ana.standing_update()
    found = world.ana.standing("Kim")
    assert [len(one["evidence"]) for one in found.reports] == [1, 1]  # type: ignore[arg-type]
    assert found.scores["word"] == pytest.approx(5.18)


def test_no_agent_counts_what_was_said_before(world: World) -> None:
    """Neither by setting what it noted back, nor by writing the evidence itself."""
    before = world.say(OWN)
    world.clock.advance(seconds=5)
    consent = str(world.olga.standing_in("Kim", agent="ana")["kref"])
    with world.memory.store.write(Identity("ana"), op="x") as tx:
        note_record(tx, consent, {"since": 0, "last": 0})
    assert world.ana.standing_update().evidence == 0
    with world.memory.store.read() as snapshot:
        node = snapshot.node_by_kref(before)
    assert node is not None
    said = {"person": "Kim", "turn": before, "patterns": ["owns_mistake"],
            "said_ns": node.props["time"]}  # fmt: skip
    with (
        pytest.raises(ConstraintError, match="not what the patterns find"),
        world.memory.store.write(Identity("ana"), op="x") as tx,
    ):
        write_record(
            tx, project="default", agent="ana", kind="standing_evidence",
            name=evidence_name(node), state="counted", data=said, about=[before],
        )  # fmt: skip


def test_an_agent_invents_no_report(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    world.say(OWN)
    world.ana.standing_update()
    world.clock.advance(days=1)
    evidence = world.ana.standing("Kim").trail[0].evidence
    for said in (
        {"person": "Kim", "scores": {"word": 1.0}, "evidence": [evidence]},
        {"person": "Lee", "scores": {}, "evidence": []},
        {},
    ):
        with (
            pytest.raises(ConstraintError, match="adds up to"),
            world.memory.store.write(Identity("ana"), op="x") as tx,
        ):
            write_record(
                tx, project="default", agent="ana", kind="standing_synthesis", name="made-up",
                state="written", data=said, about=[evidence],
            )  # fmt: skip
    assert world.ana.standing("Kim").reports == ()


def test_the_night_shift_reports_of_everybody_who_is_in(world: World) -> None:
    (shift,) = world.memory.nightshift(jobs=["standing"])
    assert (shift.state, shift.counts["agents"]) == ("done", 0)
    for person, agent in (("Kim", "ana"), ("Lee", "ana"), ("Kim", "bob")):
        world.olga.standing_in(person, agent=agent)
    world.say(OWN)
    world.say("I was wrong about the color.", speaker="Lee")
    world.clock.advance(days=1)
    (shift,) = world.memory.nightshift(jobs=["standing"])
    assert shift.state == "done"
    assert dict(shift.counts) == {"agents": 2, "turns": 3, "evidence": 3, "reports": 3}
    assert world.olga.standing("Lee", agent="ana").scores["word"] > 5
    (again,) = world.memory.nightshift(jobs=["standing"])
    assert (again.counts["evidence"], again.counts["reports"]) == (0, 0)


def test_a_report_is_written_of_whoever_may_be_in(world: World) -> None:
    long = "K" * NAME_CHARS_MAX
    for person in (long, "Lee"):
        world.olga.standing_in(person, agent="ana")
        world.say(f"{OWN} {person[:1]}", speaker=person)
    world.clock.advance(days=1)
    assert world.ana.standing_update().reports == 2
    assert world.ana.standing_update().reports == 0
    assert len(world.ana.standing(long).reports) == len(world.ana.standing("Lee").reports) == 1


def _say_often(world: World, person: str, count: int) -> None:
    now = world.clock.now_ns()
    world.ana.ingest(
        [
            {"text": OWN, "role": "user", "speaker": person, "id": f"{person}{number}", "time": now}
            for number in range(count)
        ]
    )


def test_a_report_cites_no_more_than_it_can(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    _say_often(world, "Kim", RECORD_ABOUT_ITEMS_MAX + 1)
    world.clock.advance(days=1)
    assert [world.ana.standing_update().reports for _ in range(3)] == [1, 1, 0]
    sizes = [len(one["evidence"]) for one in world.ana.standing("Kim").reports]  # type: ignore[arg-type]
    assert sizes == [RECORD_ABOUT_ITEMS_MAX, 1]


def test_one_who_fails_stops_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for person, agent in (("Ann", "ana"), ("Kim", "ana"), ("Kim", "bob")):
        world.olga.standing_in(person, agent=agent)
    _say_often(world, "Ann", 2)
    _say_often(world, "Kim", 1)
    world.clock.advance(days=1)
    monkeypatch.setattr(records, "RECORD_ABOUT_ITEMS_MAX", 1)  # the report of Ann cites two
    (shift,) = world.memory.nightshift(jobs=["standing"])
    assert shift.state == "failed"
    for agent in ("ana", "bob"):
        assert len(world.olga.standing("Kim", agent=agent).reports) == 1
    with pytest.raises(LimitError):
        world.ana.standing_update()
    monkeypatch.undo()
    assert world.ana.standing_update().reports == 1


def test_opting_out_stops_at_once_and_leaves_no_trace(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    world.say(OWN)
    world.ana.standing_update()
    world.clock.advance(days=1)
    world.ana.standing_update()
    assert world.ana.standing_out("Kim")["erased"] == 0
    assert world.ana.standing("Kim").scores == {}
    world.say("I was wrong again.")
    assert world.ana.standing_update().evidence == 0
    assert world.olga.standing_out("Kim", agent="ana")["erased"] == 3
    with world.memory.store.read() as snapshot:
        assert not snapshot.rows("SELECT 1 FROM node WHERE kref LIKE '%standing%'")
        assert not snapshot.rows("SELECT 1 FROM node_past WHERE props LIKE '%standing%'")
    assert world.memory.verify().erased > 0  # and the chain holds
    assert world.ana.standing("Kim").state == "never asked"
    world.olga.standing_in("Kim", agent="ana")
    assert world.ana.standing("Kim").scores["word"] == 5


def test_erasing_the_turn_erases_what_was_drawn_from_it(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    turn = world.say(OWN)
    world.ana.standing_update()
    world.memory.forget(turn, erase=True)
    assert world.ana.standing("Kim").trail == ()
    assert world.ana.standing("Kim").scores["word"] == 5


def test_no_query_and_no_other_agent_changes_it(world: World) -> None:
    world.olga.standing_in("Kim", agent="ana")
    bob = world.memory.session(actor="bob", role="agent")
    with pytest.raises(DoxaError):
        bob.standing_out("Kim", agent="ana")
    with pytest.raises(DoxaError):
        bob.run("MATCH (r:Record) SET r.state = 'out'")
    assert world.ana.standing("Kim").state == "in"


def test_the_patterns_are_data_that_hold_together() -> None:
    assert len(patterns()) >= 22
    assert dimensions() == ("courage_self", "courage_ground", "word", "brand")
    for one in patterns().values():
        assert one.direction in DELTAS and 0 < one.confidence <= 1 and one.expressions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I\u2019m so ashamed of it.", ["names_feeling"]),
        ("Ich lag falsch.", ["owns_mistake"]),
        ("C'était ma faute.", ["owns_mistake"]),
        ("> I was wrong\nYou wrote that.", []),
        ("I said I would call, but I didn't.", ["honest_about_not_doing"]),
        ("I'm stuck, so I'll call Ana.", ["names_stuckness", "stuck_to_agency"]),
        ("Let's not talk about the deploy.", ["avoids_topic"]),
        ("The deploy is done.", []),
    ],
)
def test_what_the_patterns_find(text: str, names: list[str]) -> None:
    assert found_in(text) == names


@given(st.text(max_size=300))
def test_patterns_answer_for_any_text(text: str) -> None:
    assert set(found_in(text)) <= set(patterns())
