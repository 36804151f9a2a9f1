"""Edges, artifacts and bundles by the ledger, and the erasure of artifacts, revisions and items."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError, RoleError
from doxa.belief import (
    Fact,
    Ledger,
    parse_kref,
    require,
    resolve,
)
from doxa.store import Store
from tests.belief.shop import K, draft, read, summaries
from tests.fixtures_shared import opened

pytestmark = pytest.mark.usefixtures("sound")


# Edges, artifacts, bundles


def test_links(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one"))
    ledger.put(draft("two", name="other"), links=[("DEPENDS_ON", K)])
    linked = ledger.link(
        "kref://shop/other.decision", K, kind="REFERENCED", metadata={"why": "said so"}
    )
    assert (linked.action, linked.reason) == ("linked", f"REFERENCED {K}?r=1")
    with believing.read() as snapshot:
        node = resolve(snapshot, parse_kref("kref://shop/other.decision"))
        assert [(edge.type, edge.props) for edge in snapshot.edges_out(node.id)] == [
            ("DEPENDS_ON", {}),
            ("REFERENCED", {"why": "said so"}),
        ]
    assert ledger.unlink("kref://shop/other.decision", K, kind="REFERENCED").action == "unlinked"
    assert ledger.unlink("kref://shop/other.decision", K, kind="REFERENCED").action == "unchanged"
    for bad in ("", "depends_on", "A B", "É", "1A", "A" * 65, None):
        with pytest.raises(InputError, match="edge type"):
            ledger.link("kref://shop/other.decision", K, kind=bad)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        ledger.put(
            draft("three", name="third"), links=[("DEPENDS_ON", "kref://shop/none.decision")]
        )
    with pytest.raises(NotFoundError):
        read(believing, "kref://shop/third.decision")


def test_artifacts(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one"))
    made = ledger.attach(K, "log.txt", location="/data/log.txt", sha256="ab" * 32, size_bytes=5)
    assert made.kref == K + "?r=1&a=log.txt"
    with believing.read() as snapshot:
        node = require(snapshot, parse_kref(made.kref))
        assert node.labels == ("Artifact",)
        assert node.props == {
            "kref": made.kref,
            "name": "log.txt",
            "location": "/data/log.txt",
            "sha256": "ab" * 32,
            "size_bytes": 5,
        }
    undone = ledger.undo(made.change or 0)
    with believing.read() as snapshot:
        assert snapshot.node_by_kref(made.kref) is None
    redone = ledger.undo(undone.change or 0)
    with believing.read() as snapshot:
        again = require(snapshot, parse_kref(made.kref))
        assert (again.id, again.labels, again.props) == (node.id, node.labels, node.props)
        assert [
            edge.dst
            for edge in snapshot.edges_out(resolve(snapshot, parse_kref(K)).id, "HAS_ARTIFACT")
        ] == [node.id]
    undone = ledger.undo(redone.change or 0)
    other = ledger.attach(K, "log.txt", location="/data/other.txt")
    with pytest.raises(ConflictError, match="is there again"):
        ledger.undo(undone.change or 0)
    with believing.read() as snapshot:
        assert require(snapshot, parse_kref(other.kref)).props["location"] == "/data/other.txt"


def test_bundles(ledger: Ledger, believing: Store, clock: FakeClock) -> None:
    bundle = "kref://shop/release.bundle"
    ledger.put(draft("one"))
    ledger.put(draft("two", name="other"))
    made = ledger.bundle(bundle, add=[K, "kref://shop/other.decision", K])
    clock.advance(seconds=1)
    assert ledger.bundle(bundle, add=[K]).action == "unchanged"
    assert ledger.bundle(bundle, remove=[K]).action == "grouped"
    with believing.read() as snapshot:
        node = require(snapshot, parse_kref(bundle))
        assert "Bundle" in node.labels
        names = [
            snapshot.node(edge.dst).props["name"] for edge in snapshot.edges_out(node.id, "MEMBER")
        ]  # type: ignore[union-attr]
        assert names == ["other"]
        assert len(snapshot.edges_as_of(node.id, made.time, kind="MEMBER")) == 2
    with pytest.raises(InputError, match="not a bundle"):
        ledger.bundle(K, add=[])
    with pytest.raises(NotFoundError):
        ledger.bundle(bundle, add=["kref://shop/none.decision"])


def test_a_bundle_has_a_limit(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.belief.ledger.BUNDLE_MEMBERS_MAX", 1)
    ledger.put(draft("one"))
    ledger.put(draft("two", name="other"))
    with pytest.raises(LimitError) as caught:
        ledger.bundle("kref://shop/release.bundle", add=[K, "kref://shop/other.decision"])
    assert caught.value.fields["limit_items"] == 1
    ledger.bundle("kref://shop/release.bundle", add=[K])
    with pytest.raises(LimitError):
        ledger.bundle("kref://shop/release.bundle", add=["kref://shop/other.decision"])
    assert ledger.bundle("kref://shop/release.bundle", add=[K]).action == "unchanged"


# Damage


def test_a_revision_that_a_damaged_file_holds_without_its_item_is_reported(
    tmp_path: Path,
) -> None:
    """No operation takes the item away; what reads such a revision names the remedy."""
    path = tmp_path / "damaged.db"
    with opened(path, embedder=None, project="p") as memory:
        memory.remember("one", name="a", sentences=[["a", "b", 1]])
        memory.attach("kref://p/a.fact", "f", location="x")
    raw = apsw.Connection(str(path))
    raw.execute("DELETE FROM edge WHERE type = 'HAS_REVISION'")
    raw.close()
    with opened(path, embedder=None, project="p") as memory:
        for read_it in (memory.get, memory.explain):
            with pytest.raises(NotFoundError, match="has no item") as caught:
                read_it("kref://p/a.fact")
            assert "doctor" in caught.value.next_step


def test_a_conflict_that_a_damaged_file_holds_without_its_challenger_is_reported(
    tmp_path: Path,
) -> None:
    path = tmp_path / "damaged.db"
    with opened(path, embedder=None, project="p") as memory:
        memory.remember("one", name="a", facts=[("a", "port", 1)], trust="verified")
        memory.remember("two", name="b", facts=[("a", "port", 2)], trust="untrusted")
        kref = memory.conflicts()[0].kref
    raw = apsw.Connection(str(path))
    raw.execute("DELETE FROM edge WHERE type = 'CHALLENGER'")
    raw.close()
    with opened(path, embedder=None, project="p") as memory:
        assert memory.conflicts() == []
        with pytest.raises(NotFoundError, match="has been erased"):
            memory.get(kref)
        with pytest.raises(NotFoundError, match="has been erased"):
            memory.resolve(kref, "accept")


# Erasure


def test_erasing_a_revision_never_frees_its_number(ledger: Ledger, believing: Store) -> None:
    for summary in ("one", "two", "three zqxcanary"):
        ledger.put(draft(summary))
    assert ledger.erase([K + "?r=3"]).reason == "1 elements"
    assert ledger.put(draft("four")).kref == K + "?r=4"
    ledger.tag(K + "?r=2", "old")
    ledger.erase([K + "?t=old"])
    assert summaries(believing) == ["one", "four"]
    ledger.erase([K + "?r=4", K + "?r=1"])
    assert ledger.put(draft("five")).kref == K + "?r=5"
    folder = Path(believing.path)
    assert all(
        b"zqxcanary" not in found.read_bytes() for found in folder.parent.glob(folder.name + "*")
    )


def test_erasing_an_artifact_keeps_its_revision(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one"))
    made = ledger.attach(K, "log.txt", location="/data/zqxcanary")
    ledger.erase([made.kref])
    assert read(believing, K).summary == "one"
    with pytest.raises(NotFoundError):
        ledger.erase([made.kref])


def test_erasing_an_item_takes_all_of_it_and_needs_an_operator(
    ledger: Ledger, agent: Ledger, believing: Store
) -> None:
    change = ledger.put(draft("one zqxcanary", Fact("a", "b", "zqxcanary2")))
    ledger.put(draft("two"))
    with pytest.raises(RoleError):
        agent.erase([K])
    assert read(believing, K).summary == "two"
    assert ledger.erase([K]).reason == "3 elements"
    with pytest.raises(NotFoundError):
        read(believing, K)
    with pytest.raises(ConflictError, match="erased"):
        ledger.undo(change.change or 0)
    path = Path(believing.path)
    assert all(
        b"zqxcanary" not in found.read_bytes() for found in path.parent.glob(path.name + "*")
    )
