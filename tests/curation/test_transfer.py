"""Out and in again: the same lines, the same addresses, the same beliefs; a line that is not of the format names itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from doxa.app import Memory
from doxa.base.errors import InputError
from doxa.curation.transfer import import_lines, is_export
from tests.fixtures_shared import opened

CANARY = "AKIAQ7CANARYQ7CANA2Z"


def export(memory: Memory, path: Path) -> list[bytes]:
    lines = list(memory.export())
    path.write_bytes(b"\n".join(lines) + b"\n")
    return lines[1:]


def fill(memory: Memory) -> None:
    memory.ingest([{"speaker": "Ana", "text": "no time is known"}, {"speaker": "Bo", "text": f"the key is {CANARY} ok"}], thread="Thread / one")
    memory.ingest([{"speaker": "Ana", "text": "We decided to use PostgreSQL.", "time": "2026-02-02", "id": "m1", "caption": "a photo"}], session="s")
    memory.ingest([{"speaker": "Ana", "text": "x" * 1_100_000, "time": "2026-02-03"}], project="other")
    ok = {"speaker": "Ana", "text": "ok"}
    memory.ingest([{"speaker": "Ana", "text": "retired turn", "time": "2026-02-04"}, ok, ok])
    memory.forget(memory.recall("retired turn", kinds=("exchange",)).hits[0].kref)
    source = memory.recall("PostgreSQL", kinds=("exchange",)).hits[0].kref
    memory.remember(
        "The shop runs on MySQL 8", name="db", space="a/b", kind="decision", title="Database", topics=["db"], keywords=["mysql"],
        facts=[("shop", "database", "MySQL 8"), ("shop", "port", 3306), ("shop", "live", True)], valid_from="2026-01-01", valid_until="2026-03-01",
        confidence=0.5, trust="verified", metadata={"ticket": 7, "tags": ["a", "b"]}, derived_from=[source],
    )  # fmt: skip
    db = "kref://default/a/b/db.decision"
    memory.revise(db, "The shop runs on PostgreSQL 16")
    memory.tag(f"{db}?r=1", "approved")
    memory.rollback(f"{db}?r=1")
    memory.revise(db, "The shop runs on PostgreSQL 16")
    memory.rollback(f"{db}?r=2")
    memory.remember("The backup calls mysqldump", name="backup", depends_on=[db])
    memory.remember("It is over", name="over")
    memory.deprecate("kref://default/over.fact")
    memory.remember("never mind", name="mind")
    memory.contract("kref://default/mind.fact?r=1")
    memory.remember("The day is Monday", name="day")
    memory.supersede("kref://default/day.fact", "The date is Tuesday", name="date")
    memory.link("kref://default/backup.fact", "kref://default/date.fact", kind="REFERENCED", metadata={"why": "both"})


def test_export_import_export_gives_the_same_lines(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        fill(first)
        lines = export(first, tmp_path / "a.jsonl")
        assert is_export(tmp_path / "a.jsonl")
        taken, stated = import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        assert (taken.added, taken.known, stated) == (7, 0, first.stats()["revisions"])
        assert export(second, tmp_path / "b.jsonl") == lines
        assert second.check() == []
        before = second.log(limit=1)
        again, restated = import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        assert (again.added, again.known, restated) == (0, 7, 0)
        assert second.log(limit=1) == before
        for query in ("MySQL", "shop PostgreSQL", "ok", "retired turn", "over", "Tuesday"):
            found, wanted = (memory.recall(query, lanes=("words",), limit=50).hits for memory in (second, first))
            assert [(hit.kref, hit.text, hit.status, hit.time) for hit in found] == [(hit.kref, hit.text, hit.status, hit.time) for hit in wanted]
        assert CANARY.encode() not in (tmp_path / "a.jsonl").read_bytes()


def test_the_transcript_read_again_after_an_import_is_known(tmp_path: Path) -> None:
    talk = [{"speaker": "Ana", "text": "no time is known"}, {"speaker": "Bo", "text": f"the key is {CANARY} ok"}]
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.ingest(talk)
        export(first, tmp_path / "a.jsonl")
        import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        assert second.ingest(talk).known == 2


def test_an_erased_revision_leaves_no_gap_and_no_dangling_edge(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("one", name="n")
        first.revise("kref://default/n.fact", "two")
        first.remember("rests", name="m", depends_on=["kref://default/n.fact"])
        first.forget("kref://default/n.fact?r=1", erase=True)
        export(first, tmp_path / "a.jsonl")
        import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        assert [step.kref for step in second.impact("kref://default/n.fact").steps] == ["kref://default/m.fact?r=1"]


def test_importing_does_not_overrule_what_was_decided_since(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("one", name="n")
        export(first, tmp_path / "a.jsonl")
        import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        second.revise("kref://default/n.fact", "two")
        import_lines(second.store, second.identity, tmp_path / "a.jsonl")
        assert second.recall("two").hits[0].number == 2


GOOD = {"type": "exchange", "kref": "kref://p/conversations/0123456789abcdef.exchange", "project": "p", "space": "conversations", "thread": "t",
        "session": "s", "speaker": "Ana", "role": "user", "text": "hello", "time": "2026-01-01T00:00:00Z", "id": "", "caption": ""}  # fmt: skip


@pytest.mark.parametrize("line", [
    b"not json", b"{", b"[]", b"5", b"null", b'{"type":"exchange"}', b'{"type":"revision","kref":"kref://a/b.fact?r=1"}', b'{"type":"edge"}',
    b'{"type":"other"}', b'{"kref":"x"}', b'{"type":"doxa-export","format":99}', b'\xff\xfe', b"[" * 5_000 + b"]" * 5_000,
    msgspec.json.encode(GOOD | {"text": 5}), msgspec.json.encode(GOOD | {"role": "king"}), msgspec.json.encode(GOOD | {"time": "soon"}),
    msgspec.json.encode(GOOD | {"kref": "nonsense"}), msgspec.json.encode(GOOD | {"project": "../etc"}), b'{"type":"exchange","text":"\\ud800"}',
    b'{"type":"edge","edge":"lower","source":"kref://p/a.fact","target":"kref://p/b.fact","metadata":{}}',
])  # fmt: skip
def test_a_hostile_line_is_one_of_our_errors(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"doxa-export","format":1,"time":"2026-01-01T00:00:00Z"}\n' + line + b"\n")
    with opened(tmp_path / "m.db") as memory:
        memory.remember("a", project="p", name="a")
        memory.remember("b", project="p", name="b")
        with pytest.raises(InputError):
            import_lines(memory.store, memory.identity, path)
        assert memory.stats()["exchanges"] == 0
        assert memory.check() == []
