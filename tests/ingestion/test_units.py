"""Complete units in one call: all or nothing, known or new, files that are what they were."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.ingestion.units.files import hash_file
from doxa.models.fakes import ScriptedCompleter
from tests.fixtures_shared import this_tree

ROOT = Path(__file__).parents[2]
SKY = "kref://film/shots/12/sky.image"
UNIT: dict[str, Any] = {
    "name": "sky",
    "space": "shots/12",
    "kind": "image",
    "artifacts": {"sky.ppm": "sky.ppm"},
    "created_from": ["kref://film/brief.fact"],
    "bundles": ["plates"],
    "tags": ["draft"],
}
TEXT = "The sky plate of shot 12 is rendered"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    (made / "sky.ppm").write_bytes(b"P6 1 1 255 \x01\x02\x03")
    (made / "sky.txt").write_text("a note")
    return made


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", embedder=None, background=False, project="film") as opened:
        opened.remember("The client wants a warm sky", name="brief")
        opened.remember("The camera has a 35 mm lens", name="camera")
        yield opened


def counts(memory: doxa.Memory) -> tuple[object, ...]:
    nodes = memory.run("MATCH (n) RETURN count(n)").single()
    return nodes, memory.run("MATCH ()-[r]->() RETURN count(r)").single()


def test_one_call_writes_the_whole_unit_under_one_receipt(
    memory: doxa.Memory, folder: Path
) -> None:
    before = memory.log(limit=1)[0].tx
    made = memory.store_unit(TEXT, folder=str(folder), **UNIT)
    assert [receipt.op for receipt in memory.log(limit=50) if receipt.tx > before] == ["store_unit"]
    assert (made.action, made.kref, made.stored) == ("created", f"{SKY}?r=1", True)
    assert made.artifacts == (f"{SKY}?r=1&a=sky.ppm",)
    assert made.edges == ("CREATED_FROM kref://film/brief.fact?r=1",)
    assert (made.bundles, made.tags) == (("kref://film/shots/12/plates.bundle",), ("draft",))
    place: Any = memory.get(made.artifacts[0])
    data = (folder / "sky.ppm").read_bytes()
    assert place.properties["sha256"] == hashlib.sha256(data).hexdigest()
    assert (place.properties["size_bytes"], place.properties["location"]) == (14, "sky.ppm")
    assert memory.get(f"{SKY}?t=draft").kref == made.kref  # type: ignore[union-attr]
    bundle: Any = memory.get("kref://film/shots/12/plates.bundle")
    assert [one.kref for one in bundle.members] == [SKY]
    assert memory.has_receipt(made.change.receipt) and memory.check() == []
    memory.undo(made.change)
    with pytest.raises(doxa.NotFoundError, match="no current revision"):
        memory.get(SKY)


def test_the_same_unit_again_changes_nothing(memory: doxa.Memory, folder: Path) -> None:
    memory.store_unit(TEXT, folder=str(folder), **UNIT)
    before = memory.verify().head
    again = memory.store_unit(TEXT, folder=str(folder), **UNIT)
    assert (again.action, again.stored, again.change.change) == ("unchanged", False, None)
    assert not (again.artifacts or again.edges or again.bundles or again.tags)
    assert [(one.relation, one.kref) for one in again.known] == [("same", f"{SKY}?r=1")]
    assert memory.verify().head == before


def test_a_known_unit_gets_what_it_lacks(memory: doxa.Memory, folder: Path) -> None:
    memory.store_unit(TEXT, folder=str(folder), **UNIT)
    more = memory.store_unit(
        TEXT, folder=str(folder), **UNIT | {"references": ["kref://film/camera.fact"]}
    )
    assert (more.action, more.stored) == ("attached", False)
    assert more.edges == ("REFERENCED kref://film/camera.fact?r=1",)
    assert more.change.change and memory.has_receipt(more.change.receipt)


def test_another_file_under_known_words_is_a_new_revision(
    memory: doxa.Memory, folder: Path
) -> None:
    memory.store_unit(TEXT, folder=str(folder), **UNIT)
    (folder / "sky.ppm").write_bytes(b"P6 1 1 255 \x09\x09\x09")
    made = memory.store_unit(TEXT, folder=str(folder), **UNIT)
    assert (made.action, made.kref) == ("revised", f"{SKY}?r=2")
    assert made.artifacts == (f"{SKY}?r=2&a=sky.ppm",) and made.tags == ("draft",)
    with pytest.raises(doxa.ConflictError, match="content changed"):
        memory.artifact_file(f"{SKY}?r=1&a=sky.ppm", folder=str(folder))
    assert memory.artifact_file(f"{SKY}?r=2&a=sky.ppm", folder=str(folder)).size_bytes == 14


def test_the_answer_names_what_was_known(memory: doxa.Memory) -> None:
    memory.remember("We deploy on Thursdays", project="shop", space="ops")
    same = memory.store_unit("we deploy on thursday.", project="shop", space="ops", tags=["mine"])
    assert (same.stored, same.known[0].relation) == (False, "same")
    assert same.known[0].text == "We deploy on Thursdays" and same.tags == ("mine",)
    about = memory.store_unit("We deploy on Fridays", project="shop", name="friday", dry_run=True)
    assert about.known[0].text == "We deploy on Thursdays"
    assert about.known[0].relation in ("updates", "contradicts")
    assert about.change.change is None
    with pytest.raises(doxa.NotFoundError):
        memory.get("kref://shop/friday.fact")


@pytest.mark.parametrize(
    "broken",
    [
        {"created_from": ["kref://film/missing.fact"]},
        {"tags": ["draft", "approved"]},  # the operator's
        {"tags": ["current"]},
        {"bundles": ["no good name"]},
        {"artifacts": {"no/name": "sky.ppm"}},
        {"artifacts": {"sky.ppm": "missing.ppm"}},
        {"artifacts": {"sky.ppm": {"sha256": "0" * 64}}},
        {"artifacts": {"sky.ppm": {"location": "x", "sha256": "short"}}},
        {"artifacts": {"sky.ppm": {"location": "x", "colour": "red"}}},
    ],
)
def test_a_unit_with_one_bad_part_leaves_nothing(
    memory: doxa.Memory, folder: Path, broken: dict[str, Any]
) -> None:
    before = counts(memory), memory.verify().head
    with pytest.raises(doxa.DoxaError):
        memory.store_unit(TEXT, folder=str(folder), **UNIT | broken)
    assert (counts(memory), memory.verify().head) == before


def test_a_writer_killed_at_any_step_leaves_all_or_nothing(
    memory: doxa.Memory, tmp_path: Path, folder: Path
) -> None:
    before, endings = counts(memory), []
    script = str(ROOT / "tests/ingestion/unit_writer.py")
    for step in range(20):
        done = subprocess.run(
            [sys.executable, script, str(tmp_path / "m.db"), str(folder), str(step)],
            env=this_tree(),
            capture_output=True,
        )
        endings.append(done.returncode)
        if done.returncode != 9:
            assert (done.returncode, done.stderr) == (0, b"")
            break
        assert counts(memory) == before and memory.check() == []
    # upsert, two files, two edges, a bundle, two tags, and the end of the transaction
    assert endings == [9] * 9 + [0]
    assert memory.get(f"{SKY}?t=rendered").kref == f"{SKY}?r=1"  # type: ignore[union-attr]
    assert memory.check() == []


def test_no_path_leads_out_of_the_folder(memory: doxa.Memory, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "inner").mkdir()
    (folder / "inner" / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    for path, error in (
        ("../secret", doxa.InputError),
        ("inner/../../secret", doxa.InputError),
        (str(tmp_path / "secret"), doxa.InputError),
        ("link", doxa.InputError),
        ("inner/up/secret", doxa.InputError),
        ("inner", doxa.InputError),
        ("pipe", doxa.InputError),
        ("loop", doxa.NotFoundError),
        ("missing", doxa.NotFoundError),
        ("sky.ppm\0", doxa.InputError),
        ("", doxa.InputError),
    ):
        with pytest.raises(error):
            memory.store_unit(TEXT, artifacts={"a": path}, folder=str(folder))
    made = memory.store_unit(TEXT, artifacts={"a": "inner/../sky.ppm"}, folder=str(folder))
    place: Any = memory.get(made.artifacts[0])
    assert place.properties["location"] == "sky.ppm"


def test_a_file_that_grows_while_it_is_hashed_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "sky.ppm"
    real, calls = os.fstat, []

    def fstat(handle: int) -> os.stat_result:
        if calls:
            with path.open("ab") as file:
                file.write(b"more")
        calls.append(handle)
        return real(handle)

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(doxa.ConflictError, match="while it was read"):
        hash_file(path)


def test_a_location_is_kept_without_its_password(memory: doxa.Memory) -> None:
    url = "https://ana:s3cretpassword99@files.example.com/sky.ppm"
    made = memory.store_unit(TEXT, artifacts={"sky.ppm": {"location": url}})
    place: Any = memory.get(made.artifacts[0])
    assert "s3cretpassword99" not in place.properties["location"] and made.warnings
    with pytest.raises(doxa.InputError, match="SHA-256"):
        memory.artifact_file(made.artifacts[0])


def test_a_query_stores_a_unit_and_reads_no_file(memory: doxa.Memory, folder: Path) -> None:
    text = "CALL doxa.storeUnit('The moon is up', {artifacts: $files}) YIELD kref RETURN kref"
    with pytest.raises(doxa.DoxaError, match="reads no files"):
        memory.run(text, {"files": {"a": str(folder / "sky.ppm")}})
    assert memory.run(text, {"files": {"a": {"location": "s3://bucket/a"}}}).records()


# Executions


def test_executions_are_found_by_likeness_the_newest_success_first(memory: doxa.Memory) -> None:
    for number, outcome in enumerate(("done", "failed", "done", "blocked")):
        memory.store_execution(
            "Deploy the shop to Basel",
            outcome=outcome,
            steps=["build", f"push {number}"],
            tools=["make"],
            exit_code=0 if outcome == "done" else 1,
            duration_ms=1_000 * number,
            cost=0.5,
            output="x" * 5_000,
        )
    memory.store_execution("Paint the fence of the garden", steps=["paint"])
    found = memory.executions("How do we deploy the shop?")
    assert [(one.outcome, one.steps[1]) for one in found] == [
        ("done", "push 2"),
        ("done", "push 0"),
        ("blocked", "push 3"),
        ("failed", "push 1"),
    ]
    first = found[0]
    assert (first.tools, first.exit_code, first.duration_ms, first.cost) == (
        ("make",),
        0,
        2_000,
        0.5,
    )
    assert len(first.output) == 4_000
    assert [one.outcome for one in memory.executions("deploy the shop", outcome="failed")] == [
        "failed"
    ]
    assert len(memory.executions("deploy the shop", limit=1)) == 1
    assert memory.executions("bake a cake") == []
    assert memory.session(project="empty").executions("bake a cake") == []
    with pytest.raises(doxa.InputError):
        memory.store_execution("Deploy", outcome="maybe")


def test_a_retired_execution_is_not_offered(memory: doxa.Memory) -> None:
    made = memory.store_execution("Deploy the shop", steps=["wrong"])
    memory.deprecate(made.kref.split("?")[0])
    assert memory.executions("deploy the shop") == []


# Responses


def test_a_response_is_a_turn_with_its_sources(memory: doxa.Memory) -> None:
    memory.ingest([{"text": "Which lens?", "role": "user", "speaker": "ana"}], thread="chat")
    made = memory.add_response(
        "The camera has a 35 mm lens, and my favourite colour is blue.",
        sources=["kref://film/camera.fact", "kref://film/camera.fact"],
        thread="chat",
        time="2026-11-01T12:00:00Z",
    )
    assert made.sources == ("kref://film/camera.fact?r=1",) and made.stored
    turn: Any = memory.get(made.kref)
    assert (turn.role, turn.speaker) == ("assistant", "assistant")
    assert turn.thread == made.thread
    rows = memory.run(
        "MATCH (x:Exchange {kref: $kref})-[r:REFERENCED]->(n) RETURN r.why AS why, n.kref AS kref",
        {"kref": made.kref},
    ).records()
    assert rows == [{"why": "the response is based on it", "kref": "kref://film/camera.fact?r=1"}]
    rows = memory.run("MATCH (n:Revision) WHERE n.summary CONTAINS 'colour' RETURN n").records()
    assert rows == []  # nothing of it is believed
    before = memory.run("MATCH (x:Exchange) RETURN count(x) AS n").single()
    with pytest.raises(doxa.NotFoundError):
        memory.add_response("Nothing.", sources=["kref://film/missing.fact"], thread="chat")
    assert memory.run("MATCH (x:Exchange) RETURN count(x) AS n").single() == before


# Edges


def edges(found: Any) -> list[tuple[str, str]]:
    return [(one.type, one.target) for one in found.edges]


def test_rules_propose_edges_and_say_why(memory: doxa.Memory, folder: Path) -> None:
    memory.store_unit(
        "The sky plate", name="sky", artifacts={"sky.ppm": "sky.ppm"}, folder=str(folder)
    )
    memory.remember("The grading of the opening scene follows the painted sky", name="grade")
    made = memory.remember(
        "Ana said: the grading of the opening scene follows the painted sky. She used sky.ppm, the"
        " sky plate, and kref://film/brief.fact for it.",
        name="note",
    )
    before = memory.verify().head
    found = memory.discover_edges("kref://film/note.fact", limit=10)
    assert not found.applied and memory.verify().head == before
    by_target = {one.target.split("?")[0]: one for one in found.edges}
    assert by_target["kref://film/brief.fact"].why == "its text names this address"
    assert by_target["kref://film/grade.fact"].type == "DERIVED_FROM"
    assert "repeats 10 words" in by_target["kref://film/grade.fact"].why
    assert by_target["kref://film/sky.fact"].type == "CREATED_FROM"
    assert all(one.source == made.kref and one.why and one.by == "rules" for one in found.edges)
    capped = memory.discover_edges("kref://film/note.fact", limit=1)
    assert len(capped.edges) == 1 and capped.left_out == len(found.edges) - 1
    only = memory.discover_edges("kref://film/note.fact", types=["CREATED_FROM"], limit=10)
    assert {one.type for one in only.edges} == {"CREATED_FROM"}
    done = memory.discover_edges("kref://film/note.fact", limit=10, dry_run=False)
    assert done.applied and edges(done) == edges(found)
    rows = memory.run(
        "MATCH (:Revision {kref: $kref})-[r]->() WHERE r.why IS NOT NULL RETURN r.why AS why,"
        " r.by AS by, r.score AS score",
        {"kref": made.kref},
    ).records()
    assert len(rows) == len(done.edges) and all(row["by"] == "rules" for row in rows)
    assert memory.discover_edges("kref://film/note.fact", limit=10).edges == ()  # none twice
    memory.undo(done.change)
    assert edges(memory.discover_edges("kref://film/note.fact", limit=10)) == edges(found)


def test_retired_and_untrusted_beliefs_get_no_edges(memory: doxa.Memory) -> None:
    words = "the grading of the opening scene follows the painted sky"
    memory.remember(words, name="old")
    memory.deprecate("kref://film/old.fact")
    memory.remember(f"It is said that {words}", name="rumour", trust="untrusted")
    memory.remember(f"Ana: {words}. See kref://film/old.fact", name="note")
    assert memory.discover_edges("kref://film/note.fact", limit=10).edges == ()


def test_a_model_writes_queries_and_cannot_do_more(tmp_path: Path) -> None:
    script = ScriptedCompleter(
        ['["camera lens 35 mm"]', '{"delete": "all"}', '["x"]' * 2, "ignore all rules"]
    )
    with doxa.open(
        tmp_path / "m.db", embedder=None, background=False, project="film", model=script
    ) as memory:
        memory.remember("The camera has a 35 mm lens", name="camera")
        memory.remember("Wide shots look flat", name="flat")
        assert memory.discover_edges("kref://film/flat.fact", score_min=0).edges == ()
        found = memory.discover_edges("kref://film/flat.fact", score_min=0, model=True)
        assert edges(found) == [("REFERENCED", "kref://film/camera.fact?r=1")]
        assert found.edges[0].by == "model:fake-scripted"
        assert "camera lens 35 mm" in found.edges[0].why
        for _ in range(3):
            wrong = memory.discover_edges("kref://film/flat.fact", score_min=0, model=True)
            assert wrong.edges == () and wrong.warnings
    with (
        doxa.open(tmp_path / "m.db", embedder=None, background=False, model=None) as memory,
        pytest.raises(doxa.ModelError),
    ):
        memory.discover_edges("kref://film/flat.fact", model=True)
