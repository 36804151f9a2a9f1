"""Folders of notes that lie or attack: foreign files, links and lists that lead out, notes that
pass for others or bring what they may not, and other projects. All of it is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConfirmationError, DoxaError, RoleError
from doxa.transfer.vault.read import import_notes
from doxa.transfer.vault.write import MANIFEST, export_notes
from tests.fixtures_shared import opened


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


def test_projects_limit_what_is_written_and_removed(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    bound = memory.session(role="operator", projects=["home"]).memory.store
    memory.deprecate("kref://shop/deploy.decision")
    assert export_notes(bound, vault).removed == 0
    assert (vault / "shop/deploy.decision.md").exists()
    with pytest.raises(RoleError):
        export_notes(bound, vault, projects=["shop"])
    export_notes(bound, tmp_path / "w")
    assert set(files(tmp_path / "w")) == {"home/tea.fact.md"}
    assert b"shop" not in b"".join(p.read_bytes() for p in (tmp_path / "w").rglob("*.*"))
    with pytest.raises(RoleError):
        edit(vault / "shop/deploy.decision.md", "Thursdays", "Fridays")
        import_notes(bound, memory.identity, vault)


def test_only_an_operator_who_accepts_it_takes_what_is_verified(
    memory: Memory, tmp_path: Path
) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    edit(vault / "home/tea.fact.md", 'trust: "stated"', 'trust: "verified"')
    with pytest.raises(ConfirmationError):
        load(memory, vault)
    agent = memory.session(role="agent", actor="bot")
    with pytest.raises(RoleError):
        import_notes(memory.store, agent.identity, vault)
    assert memory.get("kref://home/tea.fact").number == 1
    assert load(memory, vault, accept_protected=True).revisions == 1
    export_notes(memory.store, vault)
    edit(vault / "home/tea.fact.md", 'trust: "verified"', 'trust: "stated"')
    edit(vault / "home/tea.fact.md", "tea.\n", "gin.\n")
    with pytest.raises(DoxaError):
        import_notes(memory.store, agent.identity, vault)
    assert memory.get("kref://home/tea.fact").summary == "Ana likes tea."


def test_hostile_notes_are_passed_over(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    outside = tmp_path / "secret.md"
    outside.write_text('---\ndoxa: 1\nkref: "kref://shop/leak.fact"\nrevision: 1\n---\nleak\n')
    (vault / "link.md").symlink_to(outside)
    good = '---\ndoxa: 1\nkref: "kref://shop/x.fact"\nrevision: 1\n'
    bad = {
        "deep": good + "metadata: " + "[" * 100_000 + "\n---\nx\n",
        "blocks": good + "".join(" " * n + "- \n" for n in range(2_000)) + "---\nx\n",
        "blank": good.replace("x.fact", "blank.fact") + "---\n \n",
        "number": good.replace("revision: 1", "revision: many") + "---\nx\n",
        "kref": good.replace("kref://shop/x.fact", "../../etc/passwd") + "---\nx\n",
        "pinned": good.replace("x.fact", "x.fact?r=1") + "---\nx\n",
        "types": good.replace("x.fact", "t.fact") + "tags: {a: 1}\n---\nx\n",
        "confidence": good.replace("x.fact", "c.fact") + "confidence: .inf\n---\nx\n",
        "edges": good.replace("x.fact", "e.fact") + 'CURRENT: ["kref://home/tea.fact"]\n---\nx\n',
        "format": good.replace("doxa: 1", "doxa: 9").replace("x.fact", "f.fact") + "---\nx\n",
        "reserved": good.replace("x.fact", "x.exchange") + "---\nx\n",
    }
    for name, text in bad.items():
        (vault / f"{name}.md").write_text(text)
    (vault / "latin.md").write_bytes(good.encode() + b"---\n\xff\xfe\n")
    (vault / "twin1.md").write_text(good.replace("x.fact", "twin.fact") + "---\none\n")
    (vault / "twin2.md").write_text(good.replace("x.fact", "twin.fact") + "---\ntwo\n")
    done = load(memory, vault)
    written = {str(item.kref) for item in memory.contents("kref://shop").entries}
    assert not {name for name in written if "leak" in name or "twin" in name or "blank" in name}
    assert done.passed_over >= 10 and done.revisions <= 2, done
    assert memory.check() == []


def test_a_list_that_lies_removes_nothing(memory: Memory, tmp_path: Path) -> None:
    vault, victim = tmp_path / "v", tmp_path / "victim.md"
    export_notes(memory.store, vault)
    victim.write_text("keep")
    (vault / "sub").symlink_to(tmp_path)
    import hashlib

    digest = hashlib.sha256(b"keep").hexdigest()
    paths = ("../victim.md", "sub/victim.md", str(victim), "..\\victim.md", "C:victim.md", "")
    with (vault / MANIFEST).open("a") as file:
        for path in paths:
            escaped = path.replace("\\", "\\\\")
            file.write(f'{{"path":"{escaped}","sha256":"{digest}","project":"shop"}}\n')
        file.write("{" * 100_000 + "\nnot json\n[]\n")
    assert export_notes(memory.store, vault).removed == 0
    assert victim.read_text() == "keep"


def test_a_secret_that_is_written_into_a_note_does_not_come_in(
    memory: Memory, tmp_path: Path
) -> None:
    vault = tmp_path / "v"
    export_notes(memory.store, vault)
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    edit(vault / "home/tea.fact.md", "Ana likes tea.", f"Ana's key is {key}.")
    done = load(memory, vault)
    assert done.redacted == 1 and key not in memory.get("kref://home/tea.fact").summary
    assert load(memory, vault).changes == ()
