"""Accesses and sweeps in the background: nothing noted is lost at a clean close, little at a crash,
and readers never wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock, parse_time
from doxa.base.errors import ConstraintError
from doxa.store import transaction
from doxa.store.visibility import window_writer

COUNTED = "CREATE DECAY PROFILE w FOR (n:P) APPLY { NO DECAY }"
COUNT = "MATCH (n:P) RETURN sum(policy(n).accessCount)"


def test_eight_threads_lose_no_access(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, access_flush_ms=20) as memory:
        memory.run(
            COUNTED + " CREATE PROMOTION POLICY p FOR (n:P) APPLY { ON ACCESS { SET n.seen ="
            " coalesce(n.seen, 0) + 1 } }"
        )
        memory.run("UNWIND range(1, 10) AS i CREATE (:P {i: i})")
        threads = [threading.Thread(target=_read, args=(memory, worker)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None) as memory:
        asked = (
            "MATCH (n:P) WITH n, policy(n) AS p RETURN sum(p.accessCount) AS c, sum(p.seen) AS s,"
            " max(p.sessionSupport) AS d"
        )
        found = memory.run(asked).records()
        assert found == [{"c": 8 * 200, "s": 8 * 200, "d": 8}]
        assert memory.check() == []
        memory.verify()


def _read(memory: doxa.Memory, worker: int) -> None:
    session = memory.session(role="operator", context={"session": f"s{worker}"})
    for number in range(200):
        session.run("MATCH (n:P {i: $i}) RETURN n.i", {"i": number % 10 + 1})


def test_the_background_writes_what_was_noted(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, access_flush_ms=10) as memory:
        memory.run(COUNTED)
        memory.run("CREATE (:P)")
        memory.run("MATCH (n:P) RETURN n")
        deadline = time.monotonic() + 20
        while memory.run(COUNT).single() == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert memory.run(COUNT).single() == 1
        assert memory.maintenance.error is None


def test_a_clean_close_writes_what_was_noted(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        memory.run(COUNTED)
        memory.run("CREATE (:P)")
        for _ in range(7):
            memory.run("MATCH (n:P) RETURN n")
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        assert memory.run(COUNT).single() == 7


_CHILD = """
import sys, time, doxa
memory = doxa.open(sys.argv[1], role="operator", embedder=None, access_flush_ms=50)
memory.run("CREATE DECAY PROFILE w FOR (n:P) APPLY { NO DECAY }")
memory.run("CREATE (:P)")
for _ in range(5): memory.run("MATCH (n:P) RETURN n")
while memory.run("MATCH (n:P) RETURN policy(n).accessCount").single() < 5: time.sleep(0.01)
memory.maintenance.stop()
memory.run("MATCH (n:P) RETURN n")
print("noted", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process")
def test_a_crash_loses_what_was_not_flushed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"noted\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        assert memory.run(COUNT).single() == 5
        assert memory.check() == []
        memory.verify()


def test_a_forked_child_does_not_write_its_parents_notes(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        memory.run(COUNTED)
        memory.run("CREATE (:P)")
        memory.run("MATCH (n:P) RETURN n")
        child = os.fork()
        if not child:
            try:
                memory.store.flush_accesses()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert memory.run(COUNT).single() == 0
        assert memory.flush() == 1


def test_a_large_change_of_policies_goes_on_behind_and_reads_are_right_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_writer, "SWEEP_AT_ONCE_ITEMS_MAX", 10)
    monkeypatch.setattr(transaction, "SWEEP_BATCH_ITEMS_MAX", 7)
    clock = FakeClock()
    path = tmp_path / "m.db"
    with doxa.open(path, role="operator", embedder=None, background=False, clock=clock) as memory:
        memory.run("UNWIND range(1, 50) AS i CREATE (:P {i: i})-[:E]->(:Q {i: i})")
        clock.advance(days=2)
        memory.run(
            "CREATE DECAY PROFILE w FOR (n:P) APPLY { DECAY HALF LIFE 86400 DECAY THRESHOLD 0.5 }"
        )
        status = memory.run("CALL doxa.policy.deindexStatus()").records()
        assert status[0]["status"] == "RUNNING" and status[0]["pending_count"] == 100
        seen = []
        while True:
            seen.append(memory.run("MATCH (n) WHERE n:P OR n:Q RETURN count(n)").single())
            memory.run("CREATE (:P {i: 0})-[:E]->(:Q {i: 0})")
            assert memory.check() == []
            if not memory.store.sweep():
                break
        assert seen[0] == 50 and seen == [50 + 2 * number for number in range(len(seen))]
    with doxa.open(
        path, role="operator", embedder=None, background=False, clock=clock
    ) as memory:  # and in another process
        memory.run("DROP DECAY PROFILE w")
        assert memory.run("MATCH (n:P) RETURN count(n) >= 50").single() is True
        memory.flush()
        assert memory.run("MATCH (n:P) RETURN count(n) >= 50").single() is True
        assert (
            memory.run("CALL doxa.policy.deindexStatus() YIELD status RETURN status").single()
            == "IDLE"
        )
        assert memory.check() == []


def test_a_sweep_that_was_left_goes_on_when_the_file_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_writer, "SWEEP_AT_ONCE_ITEMS_MAX", 0)
    path = tmp_path / "m.db"
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        memory.run("UNWIND range(1, 5) AS i CREATE (:P {i: i})")
        memory.run(
            "CREATE DECAY PROFILE w FOR (n:P) APPLY { DECAY HALF LIFE 86400 DECAY THRESHOLD 0.5 }"
        )
    with doxa.open(path, role="operator", embedder=None) as memory:
        deadline = time.monotonic() + 20
        while (
            memory.run("CALL doxa.policy.deindexStatus() YIELD status RETURN status").single()
            != "IDLE"
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        assert (
            memory.run("CALL doxa.policy.deindexStatus() YIELD status RETURN status").single()
            == "IDLE"
        )


# How a file begins


def test_the_standard_policies_come_with_a_new_file_only_if_asked_for(tmp_path: Path) -> None:
    with doxa.open(
        tmp_path / "plain.db", role="operator", embedder=None, background=False
    ) as memory:
        assert memory.run("SHOW DECAY PROFILES").records() == []
    with doxa.open(
        tmp_path / "plain.db", role="operator", embedder=None, background=False, decay_enabled=True
    ) as memory:
        assert (
            memory.run("SHOW DECAY PROFILES").records() == []
        )  # a file that holds anything is left as it is
    with doxa.open(
        tmp_path / "new.db", role="agent", embedder=None, background=False, decay_enabled=True
    ) as memory:
        info = memory.run("CALL nornicdb.knowledgepolicy.info()").records()[0]
        assert (
            info["decayProfiles"],
            info["decayBindings"],
            info["promotionProfiles"],
            info["promotionPolicies"],
        ) == (7, 11, 6, 5)
        assert memory.check() == []
        memory.verify()


def test_facts_stand_episodes_fade_directives_need_evidence(tmp_path: Path) -> None:
    clock = FakeClock()
    with doxa.open(
        tmp_path / "m.db",
        role="operator",
        embedder=None,
        background=False,
        decay_enabled=True,
        clock=clock,
    ) as memory:
        memory.remember("We deploy on Thursdays", name="deploys", kind="decision")
        memory.remember("Ask before deleting files", name="ask", kind="directive")
        for thread, text in (("t", "The harbour is closed today"), ("u", "Pumpkin soup again")):
            memory.ingest([{"speaker": "Ann", "text": text}], thread=thread, extract=False)
        memory.run(
            "CREATE (:KnowledgeFact {i: 1}), (:MemoryEpisode {i: 2, ephemeralContext: 'x', summary:"
            " 's'}), (:WisdomDirective {i: 3})"
        )
        memory.run(
            "MATCH (a:KnowledgeFact), (b:MemoryEpisode) CREATE (a)-[:EVIDENCES]->(b),"
            " (a)-[:DERIVED_FROM]->(b)"
        )
        clock.advance(days=20)
        assert memory.run("MATCH (n:MemoryEpisode) RETURN n {.*} AS n").single() == {
            "i": 2,
            "summary": "s",
        }
        assert memory.recall("harbour").hits
        memory.flush()
        clock.advance(days=20)
        assert memory.run("MATCH (n) WHERE n.i > 0 RETURN collect(n.i)").single() == [1, 3]
        assert [hit.text for hit in memory.recall("harbour soup deploy").hits] == [
            "We deploy on Thursdays",
            "The harbour is closed today",
        ]
        assert memory.run("MATCH (a:KnowledgeFact)-[r]->() RETURN count(r)").single() == 0
        clock.advance(days=400)
        assert [hit.text for hit in memory.recall("harbour soup deploy").hits] == [
            "We deploy on Thursdays"
        ]
        kref = memory.run(
            "MATCH (x:Exchange) WHERE reveal(x).text STARTS WITH 'Pumpkin' RETURN x.kref"
        ).single()
        with pytest.raises(doxa.NotFoundError, match="a persistence policy hides it"):
            memory.get(kref)
        assert memory.get(kref, reveal=True).text == "Pumpkin soup again"  # type: ignore[union-attr]
        directive = "MATCH (r:Revision {kind: 'directive'}) RETURN decay(r).promotion"
        assert memory.run(directive).single() is None
        for number in range(3):
            session = memory.session(role="operator", context={"session": f"s{number}"})
            for _ in range(5):
                session.recall("deleting files")
        memory.flush()
        assert memory.run(directive).single() == "wisdom_established"
        assert memory.check() == []


def test_decay_off_is_neutral_and_keeps_the_catalogue(tmp_path: Path) -> None:
    clock = FakeClock()
    with doxa.open(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=clock
    ) as memory:
        memory.run(
            "CREATE DECAY PROFILE w FOR (n:P) APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD 0.5\n n.x"
            " DECAY HALF LIFE 60 }"
        )
        memory.run("CREATE (:P {x: 1})")
        clock.advance(days=1)
        assert memory.run("MATCH (n:P) RETURN n.x").records() == []
    with doxa.open(
        tmp_path / "m.db",
        role="operator",
        embedder=None,
        background=False,
        clock=clock,
        decay_enabled=False,
    ) as memory:
        assert memory.run(
            "MATCH (n:P) RETURN n.x AS x, decayScore(n) AS s, decay(n) AS d"
        ).records() == [
            {
                "x": 1,
                "s": 1.0,
                "d": {"score": 1.0, "applies": False, "reason": "decay subsystem disabled"},
            }
        ]
        assert memory.flush() == 0
        assert memory.run(
            "CALL doxa.policy.info() YIELD enabled, decayBindings RETURN enabled, decayBindings"
        ).records() == [{"enabled": False, "decayBindings": 1}]
        memory.run("CREATE (:P {x: 2})")
    with doxa.open(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=clock
    ) as memory:
        assert memory.run("MATCH (n:P) RETURN n.x AS x").records() == [{"x": 2}]
        assert memory.check() == []


def test_the_standard_policies_are_not_installed_over_others(tmp_path: Path) -> None:
    from doxa.app.policies import install

    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        assert install(memory.store, memory.identity) == 29
        with pytest.raises(ConstraintError):
            install(memory.store, memory.identity)


def test_an_imported_history_is_still_found_after_the_policies_are_installed(
    tmp_path: Path,
) -> None:
    """An archive is not an episode of today: it is never hidden, and what is hidden is counted."""
    clock = FakeClock()
    history = tmp_path / "talk.jsonl"
    history.write_text(
        "".join(
            f'{{"thread":"t","session":"s","speaker":"Ana","id":"m{n}","text":"Note {n} is on'
            f' {word}."}}\n'
            for n, word in enumerate(("walnuts", "harbours", "violins"))
        )
    )
    with doxa.open(
        tmp_path / "m.db",
        role="operator",
        embedder=None,
        background=False,
        decay_enabled=True,
        clock=clock,
    ) as memory:
        memory.ingest(history, extract=False)
        memory.ingest([{"speaker": "Ana", "text": "The soup was pumpkin today."}], extract=False)
        for days in (40, 700):
            clock.advance(days=days)
            for word in ("walnuts", "harbours", "violins"):
                assert next(hit.text for hit in memory.recall(word, limit=1).hits).endswith(
                    f"{word}."
                )
            (faded,) = [one for one in memory.doctor() if one.name == "faded"]
            assert faded.ok and "hide 1 turns" in faded.detail and "as-of" in faded.next_step
        assert next(hit.text for hit in memory.recall("pumpkin soup", as_of="now").hits).startswith(
            "The soup"
        )


def test_relative_times_are_read_by_the_clock_of_the_memory(tmp_path: Path) -> None:
    clock = FakeClock(parse_time("2026-03-02T09:00:00Z"))
    with doxa.open(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=clock
    ) as memory:
        memory.remember("The gate is closed on Mondays", name="gate")
        clock.set(parse_time("2026-03-11T09:00:00Z"))
        memory.revise("kref://default/gate.fact", "The gate is closed on Fridays")
        assert len(memory.recall("gate closed", since="last week").hits) == 1
        assert memory.recall("gate closed", until="last month").hits == ()
        then = memory.recall("gate closed", as_of="2 days ago").hits
        assert [hit.text for hit in then] == ["The gate is closed on Mondays"]
        found = memory.as_of("kref://default/gate.fact", "yesterday")
        assert isinstance(found, doxa.Revision) and found.number == 1
        made = memory.remember("The pool is open", name="pool", valid_from="last month")
        pool = memory.get(made.kref)
        assert isinstance(pool, doxa.Revision)
        assert pool.valid_from == parse_time("2026-02-01")
        dated = memory.revise(made.kref, "The pool is open daily", valid_from=date(2026, 1, 1))
        assert memory.get(dated.kref).valid_from == parse_time("2026-01-01")  # type: ignore[union-attr]
        with pytest.raises(doxa.InputError, match="since is not a time"):
            memory.recall("gate", since="soon")


def test_a_place_lists_what_is_in_it(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        for number in range(5):
            memory.remember(f"Person {number} is here", name=f"p{number}", space="people")
        memory.remember("The shop runs on MySQL", name="db")
        memory.deprecate("kref://default/db.fact")
        memory.ingest([{"speaker": "Ana", "text": f"turn {n}"} for n in range(3)], thread="t")
        assert [one.kref for one in memory.contents().entries] == ["kref://default"]
        project = memory.get("kref://default")
        assert isinstance(project, doxa.Place) and project.contents is not None
        assert [(one.kref, one.type, one.status) for one in project.contents.entries] == [
            ("kref://default/conversations", "Space", ""),
            ("kref://default/people", "Space", ""),
            ("kref://default/db.fact", "Item", "retired"),
        ]
        first = memory.contents("kref://default/people", limit=3)
        second = memory.contents("kref://default/people", limit=3, after=first.next)
        assert (first.count, len(first.entries), len(second.entries)) == (5, 3, 2)
        assert (first.next, second.next) == ("kref://default/people/p2.fact", "")
        assert [one.text for one in (*first.entries, *second.entries)] == [
            f"Person {number} is here" for number in range(5)
        ]
        thread = memory.contents("kref://default/conversations/t.thread")
        assert [one.text for one in thread.entries] == ["turn 0", "turn 1", "turn 2"]
        with pytest.raises(doxa.InputError, match="not a project, space or thread"):
            memory.contents("kref://default/people/p0.fact")
        with pytest.raises(doxa.InputError, match="is not in"):
            memory.contents("kref://default/people", after="kref://default/db.fact")
        with pytest.raises(doxa.InputError, match="limit"):
            memory.contents(limit=0)


def test_a_revision_of_a_retired_belief_says_so(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        kref = memory.remember("The shop runs on MySQL", name="db").change
        assert kref is not None
        memory.deprecate("kref://default/db.fact")
        change = memory.revise("kref://default/db.fact", "The shop runs on PostgreSQL")
        assert "it was retired" in change.reason
        assert memory.revise("kref://default/db.fact", "The shop runs on SQLite").reason == ""
