"""An import into a file that holds something: what is missing comes in, under the guards of this
file, all of it or nothing; a second import changes nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.app import Memory, Session
from doxa.base.clock import FakeClock
from doxa.base.errors import (
    ConfirmationError,
    ConflictError,
    ConstraintError,
    DoxaError,
    InputError,
    RoleError,
)
from doxa.store import digest, replayed_digest
from doxa.transfer import merge
from doxa.transfer.lines import ExportFile
from doxa.transfer.restore import restore
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph
from tests.transfer.test_transfer import fill

FORMAT_1 = Path(__file__).parent / "fixtures" / "export-format-1.jsonl"
NOTES = (
    "MATCH (n:Note) OPTIONAL MATCH (n)-[r:ABOUT]->(i:Item) RETURN n.text AS text, i.name AS item,"
    " r.weight AS weight ORDER BY text, item"
)


def with_notes(memory: Memory) -> None:
    memory.remember("The shop runs on MySQL", name="db")
    memory.run(
        "MATCH (i:Item {name: 'db'}) CREATE (n:Note {text: 'a'})-[:ABOUT {weight: 2}]->(i),"
        " (:Note {text: 'b'}), (:Note {text: 'b'}), (n)-[:CURRENT]->(:Version {no: 1})"
    )


def rows(memory: Session, query: str = NOTES) -> list[object]:
    return [tuple(record.values()) for record in memory.run(query).records()]


def test_a_graph_of_notes_comes_in_once(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        with_notes(first)
        first.export_to(tmp_path / "a.jsonl")
        second.remember("something else", name="other")
        second.run("CREATE (:Note {text: 'b'})")
        seen = second.import_(tmp_path / "a.jsonl", dry_run=True)
        assert (seen.nodes, seen.revisions, seen.changes) == (3, 1, ())
        assert rows(second) == [("b", None, None)]
        done = second.import_(tmp_path / "a.jsonl")
        assert not done.restored and done.nodes == 3 and len(done.changes) == 1
        assert rows(second) == rows(first) == [("a", "db", 2), ("b", None, None), ("b", None, None)]
        assert rows(second, "MATCH (:Note)-[:CURRENT]->(v:Version) RETURN v.no") == [(1,)]
        before = digest(second.store)
        again = second.import_(tmp_path / "a.jsonl")
        assert (again.nodes, again.edges, again.revisions, again.changes) == (0, 0, 0, ())
        assert digest(second.store) == before
        second.undo(done.changes[0])
        assert rows(second) == [("b", None, None)]
        assert second.check() == []
        second.verify()


def test_a_merge_is_whole_or_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        with_notes(first)
        first.export_to(tmp_path / "a.jsonl")
        second.run("CREATE CONSTRAINT one FOR (n:Note) REQUIRE n.text IS UNIQUE")
        second.remember("something else", name="other")
        before, log = digest(second.store), second.log(limit=1)
        with pytest.raises(ConstraintError):
            second.import_(tmp_path / "a.jsonl")
        assert (digest(second.store), second.log(limit=1)) == (before, log)
        assert [path.name for path in tmp_path.iterdir() if ".import-" in path.name] == []


def test_a_large_merge_takes_several_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        opened(tmp_path / "a.db") as first,
        opened(tmp_path / "b.db") as second,
        opened(tmp_path / "c.db") as third,
    ):
        fill(first)
        with_notes(first)
        first.export_to(tmp_path / "a.jsonl")
        for target in (second, third):
            target.remember("something else", name="other")
        whole = third.import_(tmp_path / "a.jsonl", accept_protected=True)
        monkeypatch.setattr(merge, "IMPORT_AT_ONCE_LINES_MAX", 3)
        parts = second.import_(tmp_path / "a.jsonl", accept_protected=True)
        assert len(parts.changes) > 5 and len(whole.changes) == 1
        for name in ("added", "revisions", "artifacts", "bundles", "nodes", "edges", "verified"):
            assert getattr(parts, name) == getattr(whole, name), name
        assert second.import_(tmp_path / "a.jsonl").changes == ()
        assert rows(second) == rows(first)
        assert second.check() == third.check() == []


def test_an_agent_merges_even_into_an_empty_file(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "a.db") as first,
        opened(tmp_path / "b.db", role="agent") as second,
        opened(tmp_path / "c.db", role="agent") as third,
    ):
        with_notes(first)
        first.constrain({"functional": ["runs on"]})
        first.export_to(tmp_path / "a.jsonl")
        done = second.import_(tmp_path / "a.jsonl")
        assert not done.restored and "rule constraints:default" in done.places
        assert rows(second) == rows(first)
        assert second.history("kref://default/db.fact").revisions[0].created > 0
        assert second.rules()["constraints"] != first.rules()["constraints"]
        first.remember("sure", name="sure", trust="verified")
        first.export_to(tmp_path / "b.jsonl")
        with pytest.raises(RoleError):
            third.import_(tmp_path / "b.jsonl")
        assert third.stats()["items"] == 0


@pytest.mark.parametrize("filled", [False, True])
def test_an_export_of_format_1_is_read(tmp_path: Path, filled: bool) -> None:
    with opened(tmp_path / "a.db") as memory:
        if filled:
            memory.remember("something else", name="other")
        done = memory.import_(FORMAT_1, accept_protected=True)
        assert (done.added, done.revisions, done.artifacts, done.passed_over) == (7, 12, 4, 1)
        assert done.places == ("a node ABOUT kref://default/a/b/db.decision",)
        again = memory.import_(FORMAT_1)
        assert (again.known, again.revisions, again.edges, again.changes) == (7, 0, 0, ())
        assert memory.check() == []
        if not filled:  # and what came in by it can go on as any other
            memory.export_to(tmp_path / "a.jsonl")
            with opened(tmp_path / "b.db") as other:
                other.import_(tmp_path / "a.jsonl", accept_protected=True)
                assert digest(other.store) == digest(memory.store)


def test_any_graph_merges_into_any_other(
    tmp_path: Path, tally: Callable[..., None], campaign: int
) -> None:
    """Refused as a whole or taken as a whole; then a second import adds nothing."""
    taken: Counter[bool] = Counter()
    start = int(os.environ.get("DOXA_SEED", 0))
    for seed in range(start, start + 4 * campaign):
        folder = tmp_path / str(seed)
        folder.mkdir()
        clock = FakeClock()
        with (
            opened(folder / "a.db", clock=clock) as first,
            opened(folder / "b.db", clock=clock) as second,
        ):
            RandomGraph(first, clock, 10_000 + seed).run(40)
            RandomGraph(second, clock, 20_000 + seed).run(40)
            first.export_to(folder / "a.jsonl.gz")
            before = digest(second.store)
            try:
                second.import_(folder / "a.jsonl.gz", accept_protected=True)
            except DoxaError:
                taken[False] += 1
                assert digest(second.store) == before, seed
            else:
                taken[True] += 1
                second.flush()
                after = digest(second.store)
                again = second.import_(folder / "a.jsonl.gz", accept_protected=True)
                assert (again.nodes, again.edges, again.revisions) == (0, 0, 0), seed
                assert digest(second.store) == after, seed
            assert second.check() == [], seed
            second.verify()
        for path in folder.iterdir():
            path.unlink()
    tally(merges=taken[True], merges_refused=taken[False])
    assert taken[True] >= taken[False] // 2


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"type": "doxa-export", "format": 3}\n')
    with opened(tmp_path / "m.db") as memory, pytest.raises(InputError, match="format 3"):
        memory.import_(tmp_path / "a.jsonl")


def test_a_file_that_was_empty_a_moment_ago_is_not_restored_into(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        with_notes(first)
        first.export_to(tmp_path / "a.jsonl")
        second.run("CREATE (:Note {text: 'quick'})")
        with pytest.raises(ConflictError, match="Somebody else"):
            restore(
                second.store,
                second.identity,
                ExportFile(tmp_path / "a.jsonl"),
                dry_run=False,
                accept_protected=True,
            )
        assert rows(second) == [("quick", None, None)]


def test_what_a_killed_import_left_goes_after_a_day(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as memory:
        with_notes(memory)
        memory.export_to(tmp_path / "a.jsonl")
        left = [tmp_path / f".a.db.import-{name}" for name in ("old", "new")]
        for folder in left:
            folder.mkdir()
            (folder / "export.db").write_bytes(b"secret")
        os.utime(left[0], (1, 1))
        memory.import_(tmp_path / "a.jsonl")
        assert [folder.exists() for folder in left] == [False, True]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("what", ["a revision", "a ground"])
def test_a_file_overrules_nothing_that_is_verified_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool, what: str
) -> None:
    """What it says has the rights of an agent, in one change or in many."""
    if not at_once:
        monkeypatch.setattr(merge, "IMPORT_AT_ONCE_LINES_MAX", 1)
    home = "kref://default/home.fact"
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("Ana lives in Oslo", name="home")
        first.remember("Ana moved", name="moved")
        if what == "a revision":
            first.revise(home, "Ana lives in Bern")
        else:
            first.link(home, "kref://default/moved.fact", kind="DEPENDS_ON")
        first.export_to(tmp_path / "a.jsonl")
        second.remember("Ana lives in Rome", name="home", trust="verified")
        with pytest.raises(RoleError, match=r"verified"):
            second.import_(tmp_path / "a.jsonl")
        held = second.get(home)
        assert (held.summary, held.status) == ("Ana lives in Rome", "current")  # type: ignore[union-attr]
        assert second.check() == []


@pytest.mark.parametrize("accept", [True, False])
def test_an_agent_merges_no_approval_in_many_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    monkeypatch.setattr(merge, "IMPORT_AT_ONCE_LINES_MAX", 1)
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db", role="agent") as second:
        first.remember("first", name="first")
        first.remember("sure", name="sure")
        first.tag("kref://default/sure.fact", "approved")
        first.export_to(tmp_path / "a.jsonl")
        with pytest.raises(RoleError):
            second.import_(tmp_path / "a.jsonl", accept_protected=accept)
        assert second.stats()["items"] == 0


@pytest.mark.parametrize("how", ["verified", "approved"])
def test_a_dry_run_shows_an_operator_what_accepting_would_bring_in(
    tmp_path: Path, how: str
) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember(
            "The port is 8080", name="p", trust="verified" if how == "verified" else "stated"
        )
        first.remember("plain", name="q")
        if how == "approved":
            first.tag("kref://default/p.fact", "approved")
        first.export_to(tmp_path / "a.jsonl")
        first.export_notes(tmp_path / "notes")
        second.remember("something else", name="other")
        before = digest(second.store)
        seen = second.import_(tmp_path / "a.jsonl", dry_run=True)
        assert (seen.revisions, seen.verified, seen.changes) == (2, 1, ())
        assert second.import_notes(tmp_path / "notes", dry_run=True).verified == 1
        assert digest(second.store) == before
        with pytest.raises(ConfirmationError):
            second.import_(tmp_path / "a.jsonl")
        with pytest.raises(RoleError):
            second.session(role="agent")._memory._import(
                tmp_path / "a.jsonl", second.session(role="agent").identity, dry_run=True
            )
        done = second.import_(tmp_path / "a.jsonl", accept_protected=True)
        assert (done.revisions, done.verified) == (seen.revisions, seen.verified)


def test_a_node_without_an_address_stays_in_its_project(tmp_path: Path) -> None:
    """One of the same content in another project is not taken for it."""
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.session(role="operator", projects=["p"]).run(
            "CREATE (:Note {text: 'b'})-[:KNOWS]->(:Note {text: 'c'})"
        )
        first.export_to(tmp_path / "a.jsonl")
        second.session(role="operator", projects=["q"]).run("CREATE (:Note {text: 'b'})")
        done = second.import_(tmp_path / "a.jsonl")
        assert (done.nodes, done.edges) == (2, 1)
        query = "MATCH (n:Note) OPTIONAL MATCH (n)-[:KNOWS]->(m) RETURN n.text AS n, m.text AS m"
        query += " ORDER BY n"
        assert rows(second.session(projects=["p"]), query) == [("b", "c"), ("c", None)]
        assert rows(second.session(projects=["q"]), query) == [("b", None)]
        assert second.import_(tmp_path / "a.jsonl").changes == ()
        assert digest(second.store) == replayed_digest(second.store)
