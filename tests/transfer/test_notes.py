"""Beliefs as notes: what nobody edits comes back as it was, an edit is one revision, and an export
touches only what doxa wrote."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError, InputError
from doxa.belief import parse_kref
from doxa.ingestion.readers.front_matter import parse, split, written
from doxa.transfer.vault.names import note_path, same_file
from doxa.transfer.vault.read import import_notes, is_vault
from doxa.transfer.vault.write import export_notes
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.md"))
    }


def load(memory: Memory, folder: Path, **options: bool) -> object:
    return import_notes(memory.store, memory.identity, folder, **options)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = opened(tmp_path / "m.db", clock=FakeClock())
    deploy = memory.remember(
        "We deploy on Thursdays.",
        project="shop",
        name="deploy",
        kind="decision",
        valid_from="2026-01-01",
        facts=[("deploys", "run on", "Thursday")],
        metadata={"weight": 1.0},
    )
    port = memory.remember("The port is 8080.", project="shop", space="api", name="Port")
    memory.remember("Ana likes tea.", project="home", name="tea")
    memory.link(deploy.kref, port.kref, kind="DEPENDS_ON")
    memory.tag(deploy.kref, "reviewed")
    memory.bundle("kref://shop/all.bundle", add=["kref://shop/deploy.decision"])
    return memory


@pytest.mark.parametrize("seed", range(4))
def test_a_random_graph_comes_back_from_its_notes(tmp_path: Path, seed: int, campaign: int) -> None:
    for number in range(campaign):
        folder = tmp_path / str(number)
        folder.mkdir()
        clock = FakeClock()
        seeded = int(os.environ.get("DOXA_SEED", 0)) + seed + 4 * number
        with opened(folder / "a.db", clock=clock) as first:
            graph = RandomGraph(first, clock, seeded)
            graph.run(60)
            done = export_notes(first.store, folder / "a")
            notes = files(folder / "a")
            assert done.notes == done.written == len(notes) > 0
            whole = b"".join(notes.values()).decode()
            assert not [text for text in graph.erased if text in whole]
            before = first.store.read_only, first.stats()["changes"]
            assert load(first, folder / "a").changes == ()
            assert (first.store.read_only, first.stats()["changes"]) == before
        with opened(folder / "b.db", clock=clock) as second:
            load(second, folder / "a", accept_protected=True)
            assert load(second, folder / "a", accept_protected=True).changes == ()
            export_notes(second.store, folder / "b")
            again = files(folder / "b")
            lost = {
                name for name in notes if _without_ends(notes[name]) != _without_ends(again[name])
            }
            # a belief that contradicts a more entrenched one does not come back
            assert set(again) <= set(notes) and len(lost) <= len(notes) // 4, (seeded, lost)


def _without_ends(note: bytes) -> list[str]:
    """A note without what names something that notes do not hold: turns and former revisions."""
    return [
        line for line in note.decode().splitlines() if "kref://" not in line and "hash:" not in line
    ]


def test_tags_edges_validity_and_members_come_back(memory: Memory, tmp_path: Path) -> None:
    export_notes(memory.store, tmp_path / "v")
    with opened(tmp_path / "n.db", clock=FakeClock()) as other:
        done = load(other, tmp_path / "v")
        assert (done.revisions, done.edges, done.bundles) == (3, 1, 1)
        old, new = (
            memory.get("kref://shop/deploy.decision"),
            other.get("kref://shop/deploy.decision"),
        )
        for name in ("summary", "tags", "valid_from", "facts", "metadata", "trust", "time"):
            assert getattr(old, name) == getattr(new, name), name
        assert [step.kref for step in other.provenance("kref://shop/deploy.decision").steps] == [
            "kref://shop/api/Port.fact?r=1"
        ]
        assert [m.kref for m in other.get("kref://shop/all.bundle").members]
        export_notes(other.store, tmp_path / "w")
    assert files(tmp_path / "v") == files(tmp_path / "w")


def test_an_edit_of_one_note_is_one_revision(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    edit(vault / "shop/deploy.decision.md", "We deploy on Thursdays.", "We deploy on Fridays.")
    seen = load(memory, vault, dry_run=True)
    assert (seen.revisions, seen.changes) == (1, ())
    done = load(memory, vault)
    assert done.revisions == 1 and len(done.changes) == 1
    held = memory.get("kref://shop/deploy.decision")
    assert (held.number, held.summary) == (2, "We deploy on Fridays.")
    assert "reviewed" in held.tags
    assert memory.provenance("kref://shop/deploy.decision").steps
    assert load(memory, vault).changes == ()
    # the edit is in memory, so the note may be written again
    assert export_notes(memory.store, vault).written == 1
    assert "revision: 2" in (vault / "shop/deploy.decision.md").read_text()
    memory.undo(done.changes[0])
    assert memory.get("kref://shop/deploy.decision").summary == "We deploy on Thursdays."


def test_an_editor_may_rewrite_the_front_matter(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    (vault / "shop/deploy.decision.md").write_text(
        "---\r\ndoxa: 1\r\nkref: kref://shop/deploy.decision\r\nrevision: 1\r\ntags:\r\n"
        "  - reviewed\r\n  - q3\r\ntrust: stated\r\nvalid_from: 2026-01-01T00:00:00Z\r\n"
        "facts:\r\n  - - deploys\r\n    - run on\r\n    - Thursday\r\n"
        "metadata:\r\n  weight: 1.0\r\n"
        'DEPENDS_ON:\r\n  - "[[Port.fact~'
        + note_path(parse_kref("kref://shop/Port.fact"))[15:23]
        + ']]"\r\n---\r\n\r\nWe deploy on Thursdays.\r\n'
    )
    done = load(memory, vault)
    assert done.revisions == 1, done
    held = memory.get("kref://shop/deploy.decision")
    assert set(held.tags) >= {"reviewed", "q3"} and held.summary == "We deploy on Thursdays."
    assert held.facts == (("deploys", "run on", "Thursday"),)
    assert memory.provenance("kref://shop/deploy.decision").steps


def test_an_edit_of_what_was_revised_meanwhile_is_passed_over(
    memory: Memory, tmp_path: Path
) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    memory.revise("kref://shop/api/Port.fact", "The port is 9090.")
    memory.deprecate("kref://home/tea.fact")
    port = vault / note_path(parse_kref("kref://shop/api/Port.fact"))
    edit(port, "8080", "7070")
    edit(vault / "home/tea.fact.md", "likes tea", "likes coffee")
    done = load(memory, vault)
    assert (done.revisions, done.passed_over) == (0, 2)
    assert "revision 2 now" in done.places[1] and "retired" in done.places[0]
    assert memory.get("kref://shop/api/Port.fact").summary == "The port is 9090."


def test_notes_of_ones_own_are_passed_over_and_named_last(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    assert load(memory, vault).passed_over == 0  # nothing that doxa writes is such a note
    (vault / "home" / "walrus.md").write_text("my walrus note\n")
    (vault / "a.md").write_text("---\ntags: [x]\n---\nmine\n")
    (vault / "b.md").write_text('---\ndoxa: 9\nkref: "kref://home/b.fact"\n---\nx\n')
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "hidden.md").write_text("not a note")
    done = load(memory, vault)
    assert (done.known, done.passed_over) == (4, 3)
    assert done.places[0].startswith("b.md: it is of format 9")
    assert [place.partition(":")[0] for place in done.places[1:]] == ["a.md", "home/walrus.md"]
    assert all("--format notes" in place for place in done.places[1:])


def test_an_export_touches_only_what_doxa_wrote(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    (vault / "home").mkdir(parents=True)
    (vault / "home/tea.fact.md").write_text("mine")
    (vault / "diary.md").write_text("mine too")
    done = export_notes(memory.store, vault)
    assert (done.written, done.kept) == (3, 1) and "did not write" in done.places[0]
    assert (vault / "home/tea.fact.md").read_text() == "mine"
    memory.forget("kref://shop/deploy.decision", erase=True)
    memory.deprecate("kref://shop/api/Port.fact")
    port = vault / note_path(parse_kref("kref://shop/api/Port.fact"))
    port.write_text(port.read_text() + "and a remark")
    done = export_notes(memory.store, vault)
    assert done.removed == 1 and not (vault / "shop/deploy.decision.md").exists()
    assert port.exists() and any("it was edited" in place for place in done.places)
    assert (vault / "diary.md").read_text() == "mine too"


def test_a_stopped_export_is_completed(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "v"
    vault.mkdir()
    real, calls = os.replace, []

    def stop(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        export_notes(memory.store, vault)
    monkeypatch.undo()
    memory.revise("kref://shop/deploy.decision", "We deploy on Mondays.", facts=[])
    done = export_notes(memory.store, vault)
    assert done.kept == 0 and done.notes == 4
    assert export_notes(memory.store, vault).unchanged == 4
    assert not list(vault.rglob("*.doxa-part"))


def test_a_new_folder_appears_whole(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(DoxaError):
        export_notes(memory.store, tmp_path / "v")
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == []


def test_what_is_not_a_folder_of_notes_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load(memory, tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert not is_vault(tmp_path / "empty") and not is_vault(tmp_path / "absent")
    with pytest.raises(InputError):
        load(memory, tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError):
        export_notes(memory.store, tmp_path / "file")


NAMES = st.from_regex(r"[A-Za-zßÄéİıſ0-9_~+@][A-Za-zßÄé0-9~.]{0,6}", fullmatch=True).filter(
    lambda name: ".." not in name and not name.endswith(".")
)


@settings(max_examples=200)
@given(st.sets(NAMES, min_size=2, max_size=8))
def test_no_two_items_share_a_file(names: set[str]) -> None:
    import unicodedata

    krefs = {
        f"kref://p/{unicodedata.normalize('NFC', name)}.fact" for name in (*names, "con", "CON.x")
    }
    paths = [note_path(parse_kref(kref)) for kref in krefs]
    assert len({same_file(path) for path in paths}) == len(krefs)
    for path in paths:
        base = path.rpartition("/")[2].split(".")[0].casefold()
        assert base not in {"con", "nul", "aux", "prn", "com1"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), JSON, max_size=5), st.text())
def test_front_matter_comes_back(fields: dict[str, object], body: str) -> None:
    text = written(fields.items()) + body
    found = split(text)
    assert found.body == body and found.fields is not None
    assert parse(found.fields) == fields


@settings(max_examples=300)
@given(st.text(alphabet="ab:-[]{}\"'|># \t\n\\&*", max_size=80))
def test_foreign_front_matter_never_breaks(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(parse(text), dict)
