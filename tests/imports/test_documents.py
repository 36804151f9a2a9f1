"""What other memories keep, and notes and instructions that people write, comes in once, with its
source; what changes there changes here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.imports.registry import detect
from doxa.store import check
from doxa.transfer.memory_json import export_memory_json
from tests.fixtures_shared import opened
from tests.imports.import_files import imported, lines


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert check(made.store) == []


def held(memory: Memory, project: str = "p") -> dict[str, str]:
    """What is believed, by text, with its trust and whether it lacks support."""
    rows = memory.run(
        "MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE r.project = $project"
        " OPTIONAL MATCH (i)-[t:TAG {name: 'unsupported'}]->(r)"
        " RETURN r.summary, r.trust, t.name, r.number",
        {"project": project},
    )
    return {str(r[0]): f"{r[1]}{' ' + str(r[2]) if r[2] else ''} r{r[3]}" for r in rows}


def links(memory: Memory) -> set[tuple[str, str, str]]:
    rows = memory.run(
        "MATCH (a:Revision)-[e:REFERENCED]->(b:Revision) RETURN a.summary, e.relation, b.summary"
    )
    return {(str(r[0]), str(r[1]), str(r[2])) for r in rows}


ENTITIES = (
    {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea"]},
    {"type": "entity", "name": "Acme", "entityType": "firm", "observations": []},
    {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
)


@pytest.mark.parametrize("whole", [False, True])
def test_memory_json(memory: Memory, tmp_path: Path, whole: bool) -> None:
    place = tmp_path / "memory.json"
    if whole:
        bare = [{k: v for k, v in one.items() if k != "type"} for one in ENTITIES]
        place.write_text(json.dumps({"entities": bare[:2], "relations": bare[2:]}))
    else:
        lines(place, *ENTITIES, "{broken", {"type": "entity"}, {"type": "relation", "from": 1})
    dry = imported(memory, place, dry_run=True)
    assert dry.beliefs == 4 and held(memory) == {}
    done = imported(memory, place)
    assert (done.beliefs, done.skipped, done.untrusted) == (4, 0 if whole else 3, 4)
    assert set(held(memory)) == {
        "Ana (person)",
        "Ana: likes tea",
        "Acme (firm)",
        "Ana works at Acme",
    }
    assert set(held(memory).values()) == {"untrusted r1"}
    assert links(memory) == {("Ana (person)", "works_at", "Acme (firm)")}
    assert imported(memory, place).changes == ()
    lines(place, *ENTITIES[1:])
    done = imported(memory, place)
    assert done.absent == 2
    assert "unsupported" in held(memory)["Ana: likes tea"]
    assert imported(memory, place).changes == ()


def test_a_paragraph_that_the_memory_refuses_keeps_no_other_out(
    memory: Memory, tmp_path: Path
) -> None:
    memory.run("CREATE CONSTRAINT FOR (n:Exchange) REQUIRE n.text IS UNIQUE")
    memory.ingest([{"text": "Use soft water.", "speaker": "Ana"}])
    place = tmp_path / "notes" / "CLAUDE.md"
    place.parent.mkdir()
    texts = ["Grind the beans fine.", "Use soft water.", "Serve it hot."]
    place.write_text("# Coffee\n\n" + "\n\n".join(texts) + "\n")
    done = imported(memory, place, trust="stated")
    assert (done.added, done.beliefs, done.skipped) == (2, 2, 1)
    assert any("constraint" in place for place in done.places)
    assert set(held(memory)) == {texts[0], texts[2]}
    assert imported(memory, place, trust="stated").changes == ()


def test_what_is_exported_as_memory_json_is_read_as_such(memory: Memory, tmp_path: Path) -> None:
    one = memory.remember("We deploy on Thursdays.", name="deploy")
    two = memory.remember("CI runs on Linux.", name="ci")
    memory.link(one.kref, two.kref, kind="DEPENDS_ON")
    other = memory.remember("Bo likes gin.", project="other")
    gone = memory.remember("A canary.", name="canary")
    memory.forget(gone.kref, erase=True)
    place = tmp_path / "memory.json"
    assert export_memory_json(memory.store, place, projects=["p"]) == 3
    assert "gin" not in place.read_text() and "canary" not in place.read_text()
    assert place.stat().st_mode & 0o777 == 0o600 and other.kref
    reader = detect(place)
    assert reader is not None and reader.name == "memory-json"
    with opened(tmp_path / "n.db", embedder=None, project="p") as second:
        done = imported(second, place)
        assert (done.skipped, done.beliefs) == (0, 5)
        assert any("We deploy on Thursdays." in text for text in held(second))
        assert {relation for _, relation, _ in links(second)} == {"depends_on"}


def test_mem0(memory: Memory, tmp_path: Path) -> None:
    place = tmp_path / "mem0.json"
    first = {
        "id": "m1",
        "memory": "Ana likes tea",
        "user_id": "ana",
        "created_at": "2026-03-02T14:00:00-08:00",
        "categories": ["food"],
        "metadata": {"source": "chat", "deep": {"x": 1}, "big": 10**30},
        "expiration_date": "2027-06-01",
    }
    relation = {"source": "ana", "relationship": "likes", "target": "tea"}
    bad = [{"id": "m2"}, 5, None, {"id": "m3", "memory": 7}]
    place.write_text(json.dumps({"results": [first, *bad], "relations": [relation, {}]}))
    reader = detect(place)
    assert reader is not None and reader.name == "mem0"
    done = imported(memory, place, trust="stated")
    assert (done.beliefs, done.skipped) == (2, 5)
    assert held(memory) == {"Ana likes tea": "stated r1", "ana likes tea": "stated r1"}
    place.write_text(json.dumps([first | {"memory": "Ana likes gin", "updated_at": "2026-04-01"}]))
    imported(memory, place, trust="stated")
    assert held(memory)["Ana likes gin"] == "stated r2"
    assert imported(memory, place, trust="stated").changes == ()


def test_an_obsidian_vault_and_basic_memory(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "a").mkdir()
    (vault / "a/Coffee.md").write_text(
        "---\ntitle: Coffee brewing\ntags: [brewing, hot]\npermalink: coffee\n---\n# Coffee\n\n"
        "- [decision] Use a burr grinder #gear (since March)\n- requires [[Grinding]]\n"
        "- relates_to [[absent note]]\n\nA paragraph on [[Water|the water]] and [[index]].\n"
    )
    (vault / "Grinding.md").write_text("Grind fine.\n\n```\n- [decision] not one\n```\n")
    (vault / "Water.md").write_text("Soft. See [[coffee]].\n")
    (vault / "index.md").write_text("---\ndeep: " + "[" * 50_000 + "\n---\nFirst index.\n")
    (vault / "a/index.md").write_text("Second index.\n")
    (vault / ".trash").mkdir()
    (vault / ".trash/x.md").write_text("Trash.\n")
    (vault / "own.md").write_text('---\ndoxa: 1\nkref: "kref://p/x.fact"\n---\nMine.\n')
    done = imported(memory, vault)
    assert done.skipped == 0 and done.formats == {"notes": 5}
    texts = held(memory)
    assert "Use a burr grinder #gear (since March)" in texts and "Grind fine." in texts
    assert not {"Trash.", "Mine."} & set(texts)
    assert links(memory) == {
        ("Coffee brewing", "requires", "Grinding"),
        ("Coffee brewing", "links to", "Water"),
        ("Water", "links to", "Coffee brewing"),
    }
    row = memory.run(
        "MATCH (r:Revision {summary: 'Use a burr grinder #gear (since March)'})"
        " RETURN r.kind, r.topics, r.document"
    ).records()[0]
    assert list(row.values()) == ["decision", ["brewing", "hot", "gear"], "a/Coffee.md"]
    assert imported(memory, vault).changes == ()


RULES = (
    "# Build\n\n- Run make test before a commit.\n- Never push to main.\n\n# Style\n\nUse tabs.\n"
)


def test_instructions_keep_their_source(memory: Memory, tmp_path: Path) -> None:
    place = tmp_path / "repo" / "CLAUDE.md"
    place.parent.mkdir()
    place.write_text(f"<!-- hidden\n -->\n{RULES}")
    done = imported(memory, place.parent)
    assert (done.beliefs, done.formats) == (3, {"instructions": 1})
    row = memory.run(
        "MATCH (r:Revision {summary: 'Use tabs.'}) RETURN r.document, r.lines, r.sha256, r.title"
    ).records()[0]
    document, lines_, digest, title = row.values()
    assert (document, lines_, title) == ("CLAUDE.md", "10-10", "Style") and len(str(digest)) == 64
    assert imported(memory, place.parent).changes == ()
    # a changed paragraph is a revision, a deleted one loses its support, a moved one stays
    place.write_text(RULES.replace("commit.", "push.").replace("- Never push to main.\n", ""))
    done = imported(memory, place.parent)
    assert held(memory) == {
        "Run make test before a push.": "untrusted r2",
        "Never push to main.": "untrusted unsupported r1",
        "Use tabs.": "untrusted r1",
    }
    assert imported(memory, place.parent).changes == ()
    place.write_text(RULES)
    imported(memory, place.parent)
    assert held(memory)["Never push to main."] == "untrusted r1"


def test_mempalace(memory: Memory, tmp_path: Path) -> None:
    room = tmp_path / "palace" / "work" / "api.md"
    room.parent.mkdir(parents=True)
    room.write_text(
        "# work / api\n\n## drawer_1\n\n> The port is 8080.\n> ## not a drawer\n\n"
        "| Field | Value |\n|-------|-------|\n| Source | notes.txt |\n"
        "| Filed | 2026-03-02T14:00:00 |\n| Added by | unknown |\n\n---\n\n"
        "## drawer_2\n\n> Ana likes tea.\n\n| Field | Value |\n|---|---|\n| Filed | soon |\n"
    )
    done = imported(memory, tmp_path / "palace")
    assert (done.beliefs, done.formats) == (2, {"mempalace": 1})
    assert set(held(memory)) == {"The port is 8080.\n## not a drawer", "Ana likes tea."}
    assert imported(memory, tmp_path / "palace").changes == ()


HOSTILE = (
    b"",
    b"{",
    b'{"type": "entity", "name": ' + b"[" * 200_000,
    b'{"type": "entity", "name": "\xff\xfe", "observations": []}',
    b'{"entities": [1, null, "x"], "relations": {"a": 1}}',
    b'{"entities": [{"name": ["x"], "observations": "y"}], "relations": [[]]}',
    b'[{"id": "1", "memory": "x"}, ' + b'{"a":' * 100_000,
    b'{"results": {"id": "1", "memory": "x"}}',
    b'{"type": "entity", "name": "\\ud800", "observations": ["\\u0000", "../../etc"]}',
    b"---\n" + b"a: [" * 50_000 + b"\n---\n[[",
    b"---\n" + b"- " * 100_000 + b"\n---\nx",
    b"# a / b\n\n## c\n\n> " + b"## " * 100_000,
    b"[[" * 100_000 + b"]]" * 100_000,
    b"- [x" * 100_000,
)


@pytest.mark.parametrize("format", ["memory-json", "mem0", "notes", "instructions", "mempalace"])
def test_no_file_breaks_a_reader(memory: Memory, tmp_path: Path, format: str) -> None:
    from doxa.base.errors import DoxaError

    for number, data in enumerate(HOSTILE):
        place = tmp_path / f"{number}.md"
        place.write_bytes(data)
        try:
            imported(memory, place, format)
            assert imported(memory, place, format).added == 0
        except DoxaError as error:
            assert error.next_step, data[:40]
