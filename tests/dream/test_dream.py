"""A dream on small memories: what it finds, what it leaves alone, what it writes, and that it can
be taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa import Config, Memory
from doxa.adapters.documents import Documents, Put, text_of
from doxa.base.clock import FakeClock
from doxa.base.errors import BusyError, InputError
from doxa.belief.graph import CURRENT
from doxa.dream import STAGES, DreamOptions, ModelAssessor, RuleAssessor, Triggers, dream, why_due
from doxa.dream.guards import why_kept
from doxa.dream.nightshift import Shift, follow
from doxa.dream.pipeline import position
from doxa.dream.report import DreamReport
from doxa.jobs import Budget, Caps, lease
from doxa.jobs.digests import beliefs_digest, sources_digest
from doxa.language.turns import Turn
from doxa.models.fakes import ScriptedCompleter

P = "kref://default/"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, role="operator")
    with Memory(config) as opened:
        yield opened


def _later(memory: Memory, days: float = 30) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    clock.advance(days=days)


def _turns(
    memory: Memory, *texts: str, thread: str = "t", role: str = "user", extract: bool = False
) -> None:
    memory.ingest(
        [
            Turn(thread, "s", "Ann", role, text, None, f"{thread}{i}")
            for i, text in enumerate(texts)
        ],  # type: ignore[arg-type]
        extract=extract,
    )


def _twins(memory: Memory, count: int = 1) -> None:
    for number in range(count):
        for name in ("one", "two"):
            memory.expand(f"The lamp {number} is in room {number}.", name=f"{name}-{number}")


def _kinds(report: DreamReport) -> list[str]:
    return sorted(line.finding.kind for line in report.proposed)


def test_duplicates_are_merged_into_the_older(memory: Memory) -> None:
    _twins(memory)
    _later(memory)
    report = memory.dream()
    assert _kinds(report) == ["duplicate"]
    (proposal,) = memory.proposals()
    assert memory.get(f"{P}two-0.fact").status == "current"  # proposed, and no more
    (done,) = memory.apply([proposal.kref])
    assert done.state == "applied"
    assert memory.get(f"{P}two-0.fact").status == "deprecated"
    assert memory.get(f"{P}one-0.fact").status == "current"


def test_what_differs_in_a_word_is_no_duplicate(memory: Memory) -> None:
    memory.expand("The lamp is in room 1.", name="a")
    memory.expand("The lamp is in room 2.", name="b")
    memory.expand("The lamp is not in room 1.", name="c")
    memory.expand("The lamp is in room 1.", name="d", valid_until="2030-01-01")
    assert "duplicate" not in _kinds(memory.dream())


def test_what_holds_something_else_besides_its_words_is_no_duplicate(memory: Memory) -> None:
    memory.expand("The lamp is in room 1.", name="a", metadata={"shelf": 1, "source": "one.md"})
    memory.expand("The lamp is in room 1.", name="b", metadata={"shelf": 2})
    memory.expand("The lamp is in room 1.", name="c", kind="note", metadata={"shelf": 1})
    memory.expand("The lamp is in room 1.", name="d", metadata={"shelf": 1, "source": "two.md"})
    (line,) = memory.dream().proposed
    assert (line.finding.kind, line.finding.ends) == ("duplicate", f"{P}d.fact?r=1")


def test_documents_under_different_keys_are_kept(memory: Memory) -> None:
    session = memory.session(project="default")
    documents = Documents(session, space="langgraph", kind="document", channel="langgraph")
    puts = [
        Put(documents.address(labels, key), (*labels, key), value, text_of(value))
        for labels, key, value in (
            (("users",), "ana", {"tea": "likes green tea"}),
            (("users",), "ben", {"tea": "likes green tea"}),
            (("settings",), "a", {"p": {"x": 1, "y": 2}}),
            (("settings",), "b", {"p": {"x": 1}, "q": {"y": 2}}),
        )
    ]
    documents.write(puts)
    _later(memory)
    assert memory.dream(apply=True, all_kinds=True, share=0.9).lost == ()
    assert [documents.read([put.kref])[put.kref].value for put in puts] == [
        put.value for put in puts
    ]
    with memory.store.read() as reader:
        item = reader.node_by_kref(puts[1].kref)
        assert item is not None
        (current,) = reader.nodes([edge.dst for edge in reader.edges_out(item.id, CURRENT)])
        assert "under a key" in why_kept(reader, current, age_days=7)


def test_facts_that_are_the_same_are_duplicates_in_other_words(memory: Memory) -> None:
    fact = ("Ann", "lives in", "Lisbon")
    memory.expand("Ann lives in Lisbon.", name="a", facts=[fact])
    memory.expand("Lisbon is where Ann lives.", name="b", facts=[fact])
    _later(memory)
    (line,) = memory.dream().proposed
    assert (line.finding.kind, line.finding.ends) == ("duplicate", f"{P}b.fact?r=1")


def test_a_contradiction_is_opened_as_a_conflict(memory: Memory) -> None:
    memory.expand("The API port is 9090.", name="a")
    memory.expand("The API port is 9191.", name="b")
    _later(memory)
    report = memory.dream(all_kinds=True, apply=True)
    assert [line.finding.kind for line in report.applied] == ["contradiction"]
    (conflict,) = memory.conflicts()
    assert conflict.challenger.item == f"{P}b.fact"
    assert [one.item for one in conflict.held] == [f"{P}a.fact"]
    memory.undo_run(report.run)
    assert memory.conflicts() == []
    assert memory.get(f"{P}b.fact").status == "current"


def test_what_has_expired_is_stale(memory: Memory) -> None:
    memory.expand("The sale runs.", name="sale", valid_until="2023-12-01")
    memory.expand("The shop is open.", name="shop", valid_until="2030-01-01")
    memory.dream()
    _later(memory)
    report = memory.dream()
    assert [(one.finding.kind, one.finding.ends) for one in report.proposed] == [
        ("stale", f"{P}sale.fact?r=1")
    ]


def test_what_was_read_from_retired_turns_is_stale(memory: Memory) -> None:
    _turns(memory, "My office is in Porto.", "My office has a garden.")
    with memory.store.read() as reader:
        turns = [str(node.props["kref"]) for node in reader.labelled("Exchange")]
    for name, turn in zip(("gone", "kept"), turns, strict=True):
        memory.expand(f"The {name} is read.", name=name, trust="candidate", derived_from=[turn])
    memory.deprecate(turns[0])
    _later(memory)
    found = {line.finding.ends for line in memory.dream().proposed if line.finding.kind == "stale"}
    assert found == {f"{P}gone.fact?r=1"}


def test_names_and_threads_and_relations(memory: Memory) -> None:
    _turns(
        memory,
        *[f"I met Zorblax number {number} in the park." for number in range(20)],
        extract=True,
    )
    memory.expand("Ann works at Acme.", name="job", facts=[("Ann", "works at", "Acme")])
    memory.expand("Acme is in Bonn.", name="firm", facts=[("Acme", "place", "Bonn")])
    memory.expand(f"The plan is at {P}job.fact, as ever.", name="plan")
    report = memory.dream(all_kinds=True)
    kinds = _kinds(report)
    assert kinds.count("summary") == 1
    assert kinds.count("relation") == 2
    gaps = [line.finding.name for line in report.proposed if line.finding.kind == "gap"]
    assert gaps == ["Zorblax"]
    assert memory.dream(all_kinds=True).proposed == ()


def test_what_lost_its_support_is_to_be_reviewed(memory: Memory) -> None:
    memory.expand("The key is under the mat.", name="ground")
    memory.expand("The house is open.", name="rests", depends_on=[f"{P}ground.fact"])
    memory.dream()
    memory.deprecate(f"{P}ground.fact")
    report = memory.dream()
    assert [(line.finding.kind, line.finding.about) for line in report.proposed] == [
        ("unsupported", (f"{P}rests.fact?r=1",))
    ]


def test_a_dream_reads_neither_tools_nor_its_own_nor_what_is_held(memory: Memory) -> None:
    _turns(memory, *[f"Buy Qwertz {number}." for number in range(25)], role="tool")
    memory.expand("The cellar is wet.", name="u1", trust="untrusted")
    memory.expand("The cellar is wet.", name="u2", trust="untrusted")
    memory.expand("The lease is signed.", name="h1")
    memory.expand("The lease is signed.", name="h2")
    memory.hold("trial", "address", f"{P}h2.fact")
    report = memory.dream()
    assert report.proposed == ()
    assert report.assessed == 1  # h1


def test_guards_keep_what_is_protected_depended_on_and_young(memory: Memory) -> None:
    for number in range(4):
        memory.expand(f"The box {number} is full.", name=f"a{number}")
        memory.expand(f"The box {number} is full.", name=f"b{number}")
    memory.tag(f"{P}b0.fact", "approved")
    memory.tag(f"{P}b1.fact", "published")
    memory.expand("It is heavy.", name="heavy", depends_on=[f"{P}b2.fact"])
    report = memory.dream(apply=True, share=0.9)
    why = {line.finding.ends: line.why for line in report.blocked}
    assert "approved" in why[f"{P}b0.fact?r=1"]
    assert "published" in why[f"{P}b1.fact?r=1"]
    assert "depends on it" in why[f"{P}b2.fact?r=1"]
    (young,) = report.proposed
    assert young.finding.ends == f"{P}b3.fact?r=1"
    assert "younger than 7 days" in young.why
    assert report.lost == ()
    (waits,) = memory.proposals()
    assert (waits.kref, "younger than 7 days" in waits.said) == (young.proposal, True)
    _later(memory)
    (done,) = memory.apply([young.proposal])
    assert done.state == "applied"


def test_the_breaker_holds_back_what_is_too_much(memory: Memory) -> None:
    _twins(memory, 4)
    _later(memory)
    report = memory.dream(apply=True, share=0.25)
    assert len(report.lost) == 2  # of eight
    assert len(report.blocked) == 2
    assert all("circuit breaker" in line.why for line in report.blocked)
    assert "circuit breaker" in report.markdown


def test_a_run_is_taken_back_exactly(memory: Memory) -> None:
    _twins(memory, 3)
    memory.expand("Ann works at Acme.", name="job", facts=[("Ann", "works at", "Acme")])
    memory.expand("Acme is in Bonn.", name="firm", facts=[("Acme", "place", "Bonn")])
    _turns(memory, "Hello.")
    _later(memory)
    with memory.store.read() as reader:
        before = beliefs_digest(reader), sources_digest(reader)
    report = memory.dream(apply=True)
    assert {line.finding.kind for line in report.applied} == {"duplicate", "relation"}
    with memory.store.read() as reader:
        assert sources_digest(reader) == before[1]
        assert beliefs_digest(reader) != before[0]
    memory.undo_run(report.run)
    with memory.store.read() as reader:
        assert (beliefs_digest(reader), sources_digest(reader)) == before
    assert memory.check() == []
    memory.verify()
    assert memory.dream(apply=True).applied == ()  # what was undone is not done again


def test_a_dry_run_writes_nothing(memory: Memory) -> None:
    _twins(memory)
    _later(memory)
    with memory.store.read() as reader:
        before = reader.last_change()
    report = memory.dream(dry_run=True)
    assert (report.run, _kinds(report)) == ("", ["duplicate"])
    with memory.store.read() as reader:
        assert reader.last_change() == before
        assert position(reader, "default") == 0
    with pytest.raises(InputError):
        memory.dream(dry_run=True, apply=True)


def test_the_report_counts_losses_first(memory: Memory) -> None:
    _twins(memory)
    _later(memory)
    report = memory.dream(apply=True)
    assert next(iter(report.counts)) == "lost"
    assert report.markdown.splitlines()[2].startswith("Lost: 1. Blocked: 0. Failed: 0. Applied: 1.")
    (run,) = memory.runs(job="dream")
    assert run.report == report.markdown
    assert dict(run.counts) == report.counts
    assert "lamp" not in report.markdown  # it names addresses, and repeats no belief


def test_a_cursor_says_what_is_new(memory: Memory) -> None:
    _twins(memory)
    first = memory.dream()
    assert first.assessed == 2
    second = memory.dream()
    assert (second.assessed, second.after) == (0, first.seq)
    memory.expand("The lamp 0 is in room 0.", name="three")
    third = memory.dream()
    assert third.assessed == 1
    assert sorted(line.finding.ends for line in third.proposed) == [f"{P}three.fact?r=1"]


def test_one_process_dreams_at_a_time(memory: Memory) -> None:
    with lease(memory.store, "dream"), pytest.raises(BusyError):
        memory.dream()
    assert memory.dream().state == "done"


def test_a_budget_of_time_stops_it_between_pages(memory: Memory) -> None:
    for number in range(300):
        memory.expand(f"The crate {number} stands in row {number}.", name=f"c{number}")
    report = memory.dream(seconds=0)
    assert report.state == "stopped"
    assert 0 < report.assessed < 300
    rest = memory.dream()
    assert rest.after == report.seq
    assert report.assessed + rest.assessed >= 300


def _answer(**found: object) -> str:
    return json.dumps({"duplicates": [], "outdated": [], "related": []} | found)


def test_a_model_proposes_within_its_calls(memory: Memory) -> None:
    for text in ("The car is red.", "The automobile has a red colour.", "The sky is blue."):
        memory.expand(text)
    _later(memory)
    answer = _answer(
        duplicates=[[1, 2], [1, 9], "x"],
        outdated=[{"n": 3, "reason": "short"}, {"n": 3, "reason": "The weather has changed."}],
        related=[{"from": 1, "to": 1, "reason": "the same one"}],
    )
    model = ModelAssessor(ScriptedCompleter([answer]), calls_max=1)
    options = DreamOptions(caps=Caps(20, 0.9), budget=Budget(calls=1))
    report = dream(
        memory.store,
        memory.identity,
        project="default",
        assessors=[RuleAssessor(), model],
        options=options,
    )
    assert _kinds(report) == ["duplicate", "stale"]
    assert report.calls == 1
    assert {line.finding.by for line in report.proposed} == {model.name}
    assert memory.runs()[0].model == report.model


def test_a_model_that_fails_leaves_the_rules(memory: Memory) -> None:
    _twins(memory)
    _later(memory)
    model = ModelAssessor(ScriptedCompleter(["no JSON at all"]))
    report = dream(
        memory.store, memory.identity, project="default", assessors=[RuleAssessor(), model]
    )
    assert _kinds(report) == ["duplicate"]


_KILLED = """
import os, sys
from pathlib import Path
from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.dream import DreamOptions, RuleAssessor, dream
path, stage, start = sys.argv[1], sys.argv[2], int(sys.argv[3])
clock = FakeClock(start)
def at_stage(name):
    if name == stage:
        os._exit(9)
with Memory(Config(path=Path(path), clock=clock, embedder=None, role="operator")) as memory:
    report = dream(memory.store, memory.identity, project="default", assessors=[RuleAssessor()],
                   options=DreamOptions(apply=True), at_stage=at_stage)
    print(report.state)
"""


@pytest.mark.parametrize("stage", STAGES)
def test_a_dream_that_is_killed_is_resumed(tmp_path: Path, stage: str) -> None:
    path = tmp_path / "m.doxa"
    clock = FakeClock()
    with Memory(Config(path=path, clock=clock, embedder=None, role="operator")) as memory:
        _twins(memory, 2)
        memory.tag(f"{P}two-1.fact", "approved")
        with memory.store.read() as reader:
            believed, sources = beliefs_digest(reader), sources_digest(reader)
    clock.advance(days=30)
    environment = dict(os.environ)
    command = [sys.executable, "-c", _KILLED, str(path), stage, str(clock.now_ns())]
    died = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert died.returncode == 9, died.stderr
    clock.advance(days=1)
    with Memory(Config(path=path, clock=clock, embedder=None, role="operator")) as memory:
        report = memory.dream(apply=True)
        assert report.state == "done"
        runs = memory.runs(job="dream")
        assert len(runs) == 1  # the one that died, ended now
        assert memory.get(f"{P}two-0.fact").status == "deprecated"
        assert len(memory.proposals(state="")) == 2  # none was made twice
        assert memory.get(f"{P}two-1.fact").status == "current"
        memory.undo_run(runs[0].kref)
        with memory.store.read() as reader:
            assert (beliefs_digest(reader), sources_digest(reader)) == (believed, sources)
        memory.verify()


NIGHT = tuple("index embed retain mentions consolidate contemplate standing dream backup".split())


def test_the_night_shift_does_each_job_by_itself(memory: Memory) -> None:
    _turns(memory, "I met Ana Ferreira in Lisbon.", "Ana Ferreira will send me the contract.")
    _twins(memory)
    done = memory.nightshift()
    assert [(one.job, one.state) for one in done] == [(job, "done") for job in NIGHT]
    counts = {one.job: one.counts for one in done}
    assert counts["mentions"]["sources"] >= 2
    assert counts["consolidate"] == {
        "sessions": 1,
        "stored": 1,
        "queued": 0,
        "tokens": 0,
    }
    assert {run.job for run in memory.runs()} == {*NIGHT, "nightshift"}
    assert all(any(f"{job} ran today" in said for said in memory.stats()["jobs"]) for job in NIGHT)  # type: ignore[attr-defined]
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert check.ok
    assert all(job in check.detail for job in NIGHT)
    agent = memory.session(role="agent")
    states = {one.job: (one.state, one.run) for one in agent.nightshift()}
    assert states.pop("retain") == ("skipped", "")  # an agent may not; that is not a failure
    assert {state for state, _ in states.values()} == {"done"}
    assert memory.nightshift(jobs=["consolidate"])[0].counts["sessions"] == 0
    with pytest.raises(InputError, match="not a job"):
        memory.nightshift(jobs=["sleep"])
    memory.verify()


def test_mentions_of_a_night_are_undone_as_one(memory: Memory) -> None:
    _turns(memory, "I met Ana Ferreira in Lisbon.")
    with memory.store.read() as reader:
        before = beliefs_digest(reader)
    (done,) = memory.nightshift(jobs=["mentions"])
    assert [one.name for one in memory.entities()] == ["Ana Ferreira", "Lisbon"]
    memory.undo_run(done.run)
    assert memory.entities() == []
    with memory.store.read() as reader:
        assert beliefs_digest(reader) == before


def test_a_job_has_one_heartbeat_whoever_starts_it(memory: Memory) -> None:
    memory.nightshift()
    _later(memory, days=9)
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert not check.ok
    assert "retain has not run for 9 days" in check.detail
    memory.retain()
    memory.record_mentions()
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert "retain" not in check.detail
    assert "mentions" not in check.detail
    assert "dream has not run for 9 days" in check.detail


def test_the_night_shift_ends_at_the_limit_of_a_run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.app.sessions.entities.RUN_TOUCHED_ITEMS_MAX", 6)
    monkeypatch.setattr("doxa.app.sessions.entities.NIGHTSHIFT_BATCH_ITEMS_MAX", 2)
    names = ("Ana Ferreira", "Ben Okafor", "Cleo Marsh", "Dov Levin", "Eva Brandt")
    _turns(memory, *(f"I met {name} at the fair." for name in names))
    read = [memory.nightshift(jobs=["mentions"])[0].counts["sources"] for _ in range(3)]
    assert sum(read) == 5
    assert len(memory.entities()) == 5


def test_a_proposal_of_a_summary_consolidates_its_thread(memory: Memory) -> None:
    _turns(memory, *(f"I bought lamp {number} for the kitchen." for number in range(20)))
    memory.dream(all_kinds=True)
    (proposal,) = memory.proposals()
    assert proposal.kind == "summary"
    (done,) = memory.apply([proposal.kref])
    assert (done.state, "1 sessions consolidated" in done.said) == ("applied", True)
    assert memory.proposals(state="applied")[0].said == done.said
    assert [run.job for run in memory.runs()] == ["consolidate", "dream"]
    assert memory.apply([proposal.kref])[0].said == "it was applied before"
    memory.store.save_cursor("background/default/dream", 0, back=True)
    assert "summary" not in _kinds(memory.dream(all_kinds=True))


def test_a_dream_that_applies_consolidates_too(memory: Memory) -> None:
    _turns(memory, *(f"I bought lamp {number} for the kitchen." for number in range(20)))
    report = memory.dream(apply=True, all_kinds=True)
    assert [line.finding.kind for line in report.applied] == ["summary"]
    assert "consolidate" in {run.job for run in memory.runs()}


def test_a_dream_is_due_by_schedule_count_and_idleness(memory: Memory) -> None:
    def due(**given: float | int | None) -> str:
        now = memory.store.clock.now_ns()
        with memory.store.read() as reader:
            triggers = Triggers(**({"every_s": None} | given))  # type: ignore[arg-type]
            return why_due(reader, "default", triggers, now=now)

    _twins(memory)
    assert due(every_s=3_600) == "it has never run"
    assert "are new" in due(entries=5)
    assert due(idle_s=60) == ""
    _later(memory, days=1)
    assert due(idle_s=60) == "nothing was written for a while"
    memory.dream()
    assert due(every_s=3_600) == due(entries=50) == ""
    _later(memory, days=1)
    assert due(every_s=3_600) == "by schedule"
    assert due(idle_s=60) == ""  # nothing is new
    skipped = memory.nightshift(entries=1_000)
    assert [one.state for one in skipped] == ["skipped"] * len(NIGHT)
    memory.expand("The lamp is blue.", name="new")
    _later(memory, days=1)
    memory.nightshift(jobs=["embed", "retain", "mentions"])  # what jobs write is not a change
    shift = memory.nightshift(idle_s=3_600)
    assert shift[-1].state == "done"


def test_a_rejected_proposal_is_not_made_again(memory: Memory) -> None:
    _twins(memory)
    _later(memory)
    memory.dream()
    (proposal,) = memory.proposals()
    assert memory.reject(proposal.kref, reason="both are needed").state == "rejected"
    memory.set_cursor("x")  # of another consumer
    memory.store.save_cursor("background/default/dream", 0, back=True)
    report = memory.dream()
    assert (report.proposed, report.known) == ((), 1)
    assert memory.proposals() == []


def test_limits_of_a_run_hold_while_applying(memory: Memory) -> None:
    _twins(memory, 5)
    _later(memory)
    report = memory.dream(apply=True, number=3, share=0.9)
    assert len(report.lost) == 3
    assert all("limit" in line.why for line in report.proposed)
    assert (len(report.proposed), report.blocked) == (2, ())
    assert len(memory.proposals()) == 2  # they wait for another run
    assert len(memory.dream(apply=True, number=3, share=0.9).lost) == 2
    assert Caps(3, 0.9).number == 3


def test_kinds_that_are_often_wrong_are_proposed_only_on_request(memory: Memory) -> None:
    _turns(memory, *(f"I met Ana Ferreira on day {number}." for number in range(5)), extract=True)
    kinds = {line.finding.kind for line in memory.dream(dry_run=True, all_kinds=True).proposed}
    assert "gap" in kinds
    _turns(memory, *(f"We planted {number} rows of beans." for number in range(20)), thread="long")
    kinds = {line.finding.kind for line in memory.dream(dry_run=True, all_kinds=True).proposed}
    assert "summary" in kinds
    assert not {"gap", "contradiction", "summary"} & set(_kinds(memory.dream()))


def test_the_report_of_a_run_is_found(memory: Memory) -> None:
    _twins(memory)
    report = memory.dream()
    memory.nightshift(jobs=["embed"])  # a later run without a report
    assert memory.run_report() == memory.run_report(report.run) == report.markdown
    assert report.markdown.startswith("# Dream: default")


_LEADER = """
import sys, time
import doxa
from doxa.jobs import lease
with doxa.open(sys.argv[1], embedder=None) as memory:
    with lease(memory.store, "nightshift", ttl_ms=int(sys.argv[2])):
        print("leads", flush=True)
        time.sleep(60)
"""


def test_one_process_leads_the_night_shift_until_it_dies(tmp_path: Path) -> None:
    """While one process leads, the other learns so; when it is killed, its lease ends."""
    path = tmp_path / "m.doxa"
    ttl_ms = 900_000
    leader = subprocess.Popen(
        [sys.executable, "-c", _LEADER, str(path), str(ttl_ms)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert leader.stdout is not None
        assert leader.stdout.readline() == "leads\n"
        clock = FakeClock()
        clock.set(time.time_ns())
        with Memory(Config(path=path, clock=clock, embedder=None, role="operator")) as memory:
            busy = memory.nightshift()
            assert {one.state for one in busy} == {"skipped"}
            assert "Another process runs nightshift" in busy[0].reason
            assert memory.runs() == []
            leader.kill()
            leader.wait()
            assert {one.state for one in memory.nightshift()} == {"skipped"}  # it may still live
            clock.advance(days=1)
            assert {one.state for one in memory.nightshift()} == {"done"}
    finally:
        leader.kill()
        leader.communicate()


def test_a_night_shift_follows_until_it_is_stopped(memory: Memory) -> None:
    stopping, seen = threading.Event(), []

    def shift() -> list[Shift]:
        found = memory.nightshift(every_s=3_600)
        seen.append({one.state for one in found})
        _later(memory, days=0.03)
        if len(seen) == 4:
            stopping.set()
        return found

    done = list(follow(shift, stopping, pause_s=0))
    assert seen == [{"done"}, {"skipped"}, {"done"}, {"skipped"}]
    assert [len(one) for one in done] == [len(NIGHT)] * 2


@pytest.mark.parametrize("tokens", [50, 2_000, 4_000, 5_000])
def test_a_budget_of_tokens_holds(memory: Memory, tokens: int) -> None:
    """A budget of 50 had spent 84: a call was made as long as less was used than the budget."""
    for number in range(60):
        memory.remember(f"The ship number {number} is called {number * 7}", name=f"s{number}")
    _later(memory)
    fake = ScriptedCompleter(lambda _: "x" * 1_500)
    model = ModelAssessor(fake, tokens_max=tokens)
    options = DreamOptions(budget=Budget(tokens=tokens))
    report = dream(
        memory.store, memory.identity, project=memory.project, assessors=[model], options=options
    )
    assert model.tokens <= tokens and report.tokens <= tokens
    assert bool(fake.asked) == (tokens >= 4_000)
    left_out = [one for one in report.warnings if f"budget of {tokens:,} tokens" in one]
    assert len(left_out) == (len(fake.asked) < 3)  # batches; it is said once


def test_a_night_shift_that_follows_ends_when_the_memory_is_closed(memory: Memory) -> None:
    done: list[Shift] = []
    thread = threading.Thread(target=lambda: done.extend(memory.nightshift(follow=True)))
    thread.start()
    while not memory.runs(job="dream"):
        thread.join(0.01)
    memory.close()
    thread.join(60)
    assert not thread.is_alive()
    assert "dream" in {one.job for one in done}
