"""An export as lines holds every kind of memory, not only beliefs and turns: runs of jobs and their
proposals, executions, responses, entities, bundles, files, conflicts and retired beliefs."""

from __future__ import annotations

from pathlib import Path

from doxa.base.clock import FakeClock
from doxa.store import digest, replayed_digest
from tests.fixtures_shared import opened

_LABELS = "MATCH (n) UNWIND labels(n) AS l RETURN l, count(*) AS n ORDER BY l"
_EDGES = "MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS n ORDER BY t"


def test_every_kind_of_memory_comes_back(tmp_path: Path) -> None:
    clock = FakeClock()
    with opened(tmp_path / "a.db", embedder=None, project="p", clock=clock) as first:
        first.constrain({"functional": ["lives in"]})
        home = first.remember(
            "Ana lives in Rome", name="home", facts=[("Ana", "lives in", "Rome")], trust="verified"
        )
        first.session(actor="bot", role="agent").revise(
            ("Ana", "lives in", "Oslo"), "Ana lives in Oslo"
        )
        said = [{"text": "I met Xenia Quorl in Lisbon.", "speaker": "Ana", "role": "user"}]
        first.ingest(said, thread="talk", session="s1")
        first.record_mentions()
        first.store_execution("Tidy up", outcome="done", steps=["swept"], output="Tidied up.")
        first.attach(home.kref, "plan.pdf", location="plans/plan.pdf")
        first.bundle("kref://p/all.bundle", add=["kref://p/home.fact"])
        first.deprecate(first.remember("Old news", name="old").kref)
        clock.advance(days=200)
        first.dream(age_days=0.0, share=0.9)
        labels, edges = first.run(_LABELS).records(), first.run(_EDGES).records()
        kinds = {str(row["l"]) for row in labels}
        wanted = {"Run", "Conflict", "Artifact", "Bundle", "Exchange", "Thread", "Revision"}
        assert wanted <= kinds and kinds & {"Entity", "PendingEntity"}, kinds
        executions = first.executions("Tidy up")
        first.export_to(tmp_path / "a.jsonl")
        before = digest(first.store)
    with opened(tmp_path / "b.db", embedder=None, clock=clock) as second:
        done = second.import_(tmp_path / "a.jsonl", accept_protected=True)
        assert done.restored and digest(second.store) == replayed_digest(second.store) == before
        assert second.run(_LABELS).records() == labels
        assert second.run(_EDGES).records() == edges
        assert second.session(role="operator", project="p").executions("Tidy up") == executions
        second.export_to(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
