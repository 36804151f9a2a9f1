"""Accesses and sweeps in the background: nothing noted is lost at a clean close, little at a crash,
and readers never wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock
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
        ) == (6, 10, 6, 5)
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
        assert install(memory.store, memory.identity) == 27
        with pytest.raises(ConstraintError):
            install(memory.store, memory.identity)
