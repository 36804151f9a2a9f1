"""Export and import: the same lines, the same addresses, the same beliefs; an invalid line is named
in the error."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doxa.app import Memory
from doxa.base.errors import DiskFullError, InputError, RoleError, StoreError
from doxa.base.temporal import Date, Duration
from doxa.belief import Draft, Ledger
from doxa.store import digest
from doxa.transfer.jsonl import is_export, write_export
from tests.fixtures_shared import opened

CANARY = "AKIAQ7CANARYQ7CANA2Z"
ODD: dict[str, Any] = {
    "day": Date(20_000),
    "span": Duration(1, 2, 3, 4),
    "bytes": b"\0\xff",
    "days": [Date(1), Date(2)],
    "limit": float("inf"),
}


def export(memory: Memory, path: Path) -> list[bytes]:
    lines = list(memory.export())
    path.write_bytes(b"\n".join(lines) + b"\n")
    return lines[1:]


def fill(memory: Memory) -> None:
    memory.ingest(
        [
            {"speaker": "Ana", "text": "no time is known"},
            {"speaker": "Bo", "text": f"the key is {CANARY} ok"},
        ],
        thread="Thread / one",
    )
    memory.ingest(
        [
            {
                "speaker": "Ana",
                "text": "We decided to use PostgreSQL.",
                "time": "2026-02-02",
                "id": "m1",
                "caption": "a photo",
            }
        ],
        session="s",
    )
    memory.ingest(
        [{"speaker": "Ana", "text": "x" * 1_100_000, "time": "2026-02-03"}], project="other"
    )
    ok = {"speaker": "Ana", "text": "ok"}
    memory.ingest([{"speaker": "Ana", "text": "retired turn", "time": "2026-02-04"}, ok, ok])
    memory.forget(memory.recall("retired turn", kinds=("exchange",)).hits[0].kref)
    source = memory.recall("PostgreSQL", kinds=("exchange",)).hits[0].kref
    memory.remember(
        "The shop runs on MySQL 8",
        name="db",
        space="a/b",
        kind="decision",
        title="Database",
        topics=["db"],
        keywords=["mysql"],
        facts=[("shop", "database", "MySQL 8"), ("shop", "port", 3306), ("shop", "live", True)],
        valid_from="2026-01-01",
        valid_until="2026-03-01",
        confidence=0.5,
        trust="verified",
        metadata={"ticket": 7, "tags": ["a", "b"], **ODD},
        derived_from=[source],
    )
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
    memory.link(
        "kref://default/backup.fact",
        "kref://default/date.fact",
        kind="REFERENCED",
        metadata={"why": "both"} | ODD,
    )
    memory.attach(
        f"{db}?r=1", "schema.sql", location="files/schema.sql", sha256="ab" * 32, size_bytes=7
    )
    memory.attach(f"{db}?r=1", "notes.md", location="files/notes.md")
    memory.attach(db, "schema.sql", location="files/new.sql")
    memory.bundle(
        "kref://default/all.bundle",
        add=["kref://default/backup.fact", db, "kref://default/over.fact"],
    )
    memory.bundle("kref://default/all.bundle", remove=["kref://default/backup.fact"])
    memory.bundle("kref://default/all.bundle", add=["kref://default/backup.fact"])
    Ledger(memory.store, memory.identity).expand(
        Draft("What the shop runs on", kind="bundle", name="shop")
    )  # as older files may hold
    memory.bundle("kref://default/shop.bundle", add=["kref://default/all.bundle", db])
    memory.bundle("kref://default/all.bundle", add=["kref://default/shop.bundle"])
    memory.bundle("kref://other/s/empty.bundle")
    memory.deprecate("kref://other/s/empty.bundle")
    memory.remember("gone", name="gone")
    for text in ("gap one", "gap two", "gap three"):
        memory.remember(text, name="gap", embedding_text="another text")
    memory.attach("kref://default/gap.fact?r=2", "a", location="b")
    memory.link("kref://default/gap.fact?r=3", "kref://default/gap.fact?r=2", kind="REFERENCED")
    memory.bundle("kref://default/all.bundle", add=["kref://default/gone.fact"])
    for kref in ("kref://default/gone.fact?r=1", "kref://default/gap.fact?r=1"):
        memory.forget(kref, erase=True)


def test_export_import_export_gives_the_same_lines(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        fill(first)
        lines = export(first, tmp_path / "a.jsonl")
        assert is_export(tmp_path / "a.jsonl")
        taken = second.import_(tmp_path / "a.jsonl", accept_protected=True)
        assert (taken.added, taken.known, taken.revisions, taken.artifacts, taken.passed_over) == (
            7,
            0,
            first.stats()["revisions"],
            4,
            0,
        )
        assert export(second, tmp_path / "b.jsonl") == lines
        assert second.check() == []
        assert {receipt.tx for receipt in second.log(limit=1_000)} >= set(taken.changes)
        before = second.log(limit=1)
        again = second.import_(tmp_path / "a.jsonl", accept_protected=True)
        assert (
            again.added,
            again.known,
            again.revisions,
            again.artifacts,
            again.bundles,
            again.edges,
            again.changes,
        ) == (0, 7, 0, 0, 0, 0, ())
        assert second.log(limit=1) == before
        artifact = second.get("kref://default/a/b/db.decision?r=1&a=schema.sql")
        assert artifact.properties == first.get(artifact.kref).properties  # type: ignore[union-attr]
        for query in ("MySQL", "shop PostgreSQL", "ok", "retired turn", "over", "Tuesday"):
            found, wanted = (
                memory.recall(query, lanes=("words",), limit=50).hits for memory in (second, first)
            )
            assert [(hit.kref, hit.text, hit.status, hit.time) for hit in found] == [
                (hit.kref, hit.text, hit.status, hit.time) for hit in wanted
            ]
        assert CANARY.encode() not in (tmp_path / "a.jsonl").read_bytes()


def test_the_transcript_read_again_after_an_import_is_known(tmp_path: Path) -> None:
    talk = [
        {"speaker": "Ana", "text": "no time is known"},
        {"speaker": "Bo", "text": f"the key is {CANARY} ok"},
    ]
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.ingest(talk)
        export(first, tmp_path / "a.jsonl")
        second.import_(tmp_path / "a.jsonl")
        assert second.ingest(talk).known == 2


def test_a_gap_that_an_erasure_left_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("one", name="n")
        first.revise("kref://default/n.fact", "two")
        first.remember("rests", name="m", depends_on=["kref://default/n.fact"])
        first.forget("kref://default/n.fact?r=1", erase=True)
        export(first, tmp_path / "a.jsonl")
        second.import_(tmp_path / "a.jsonl")
        assert [
            revision.kref for revision in second.history("kref://default/n.fact").revisions
        ] == ["kref://default/n.fact?r=2"]
        assert [step.kref for step in second.impact("kref://default/n.fact").steps] == [
            "kref://default/m.fact?r=1"
        ]
        assert second.revise("kref://default/n.fact", "three").kref.endswith("?r=3")


def test_what_was_erased_here_does_not_come_back(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as memory:
        memory.remember("one", name="n")
        memory.attach("kref://default/n.fact", "a", location="b")
        memory.revise("kref://default/n.fact", "two")
        memory.link("kref://default/n.fact?r=1", "kref://default/n.fact?r=2", kind="REFERENCED")
        export(memory, tmp_path / "a.jsonl")
        memory.forget("kref://default/n.fact?r=1", erase=True)
        done = memory.import_(tmp_path / "a.jsonl")
        assert (done.revisions, done.artifacts, done.edges, done.passed_over) == (0, 0, 0, 3)
        assert done.places[0] == "kref://default/n.fact?r=1: it was erased here"
        assert [
            revision.number for revision in memory.history("kref://default/n.fact").revisions
        ] == [2]


def erased_of(memory: Memory) -> None:
    """Erase a belief, a turn, a node and an edge of `given`."""
    memory.forget("kref://default/z.fact", erase=True)
    turn = str(memory.run("MATCH (x:Exchange) RETURN x.kref AS kref").records()[0]["kref"])
    memory.forget(turn, erase=True)
    ids = memory.run(
        "MATCH (n:Note {text: 'zebra note'}) MATCH (:Note {text: 'plain'})-[r:KNOWS]->(:Note)"
        " RETURN elementId(n) AS n, elementId(r) AS r"
    ).records()[0]
    for one in (str(ids["n"]), str(ids["r"])):
        memory.erase([one], confirm=memory.erase([one], preview=True).token)


def given(memory: Memory) -> None:
    memory.remember("Secret zebra plan", name="z")
    memory.revise("kref://default/z.fact", "Secret zebra plans")
    memory.attach("kref://default/z.fact", "a", location="b")
    memory.remember("stays", name="s", depends_on=["kref://default/z.fact"])
    memory.ingest([{"text": "a zebra crossed the road", "speaker": "Ana"}], extract=False)
    memory.run(
        "CREATE (:Note {text: 'zebra note'}), (:Note {text: 'plain'})-[:KNOWS]->(:Note {text: 'b'})"
    )


def zebras(memory: Memory) -> list[object]:
    query = "MATCH (n) WHERE any(k IN keys(n) WHERE toString(n[k]) CONTAINS 'zebra') RETURN n"
    return memory.run(query).records()


@pytest.mark.parametrize("how", ["its own", "restored from it", "restored, then its own"])
def test_what_was_erased_here_does_not_come_back_from_an_older_export(
    tmp_path: Path, how: str
) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        given(first)
        export(first, tmp_path / "a.jsonl")
        memory = first
        if how != "its own":
            memory = second
            assert memory.import_(tmp_path / "a.jsonl").restored
        if how == "restored, then its own":
            memory.remember("later", name="later")
            export(memory, tmp_path / "a.jsonl")
        erased_of(memory)
        assert zebras(memory) == []
        before = digest(memory.store)
        for dry_run in (True, False):
            done = memory.import_(tmp_path / "a.jsonl", dry_run=dry_run)
            assert (done.added, done.revisions, done.nodes, done.edges) == (0, 0, 0, 0)
            assert "kref://default/z.fact?r=1: it was erased here" in done.places
            assert "kref://default/z.fact?r=2: it was erased here" in done.places
            assert sum("erased here" in place for place in done.places) == 5
        assert digest(memory.store) == before
        memory.remember("told anew", name="z")
        assert memory.import_(tmp_path / "a.jsonl").revisions == 0
        assert zebras(memory) == []
        export(memory, tmp_path / "new.jsonl")
        memory.forget("kref://default/s.fact", erase=True)
        again = memory.import_(tmp_path / "new.jsonl")
        assert again.revisions == 0
        assert memory.get("kref://default/z.fact").summary == "told anew"


def test_a_file_that_an_erasure_emptied_does_not_get_it_back(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("Secret zebra plan", name="z")
        second.remember("another plan", name="other")
        export(first, tmp_path / "a.jsonl")
        export(second, tmp_path / "b.jsonl")
        token = first.forget("kref://default", erase=True, preview=True).token
        first.forget("kref://default", erase=True, confirm=token)
        done = first.import_(tmp_path / "a.jsonl")
        assert not done.restored and done.revisions == 0 and zebras(first) == []
        assert "kref://default/z.fact?r=1: it was erased here" in done.places
        assert first.import_(tmp_path / "b.jsonl").restored  # nothing of that was here
        assert first.get("kref://default/other.fact").summary == "another plan"


def test_what_was_erased_here_does_not_hide_what_another_file_has(tmp_path: Path) -> None:
    """Elements of another file have the same numbers, and are others."""
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        given(first)
        export(first, tmp_path / "a.jsonl")
        given(second)
        erased_of(second)
        done = second.import_(tmp_path / "a.jsonl")
        assert (done.added, done.revisions, done.nodes) == (1, 2, 1)
        assert not any("erased" in place for place in done.places)


def test_an_agent_imports_what_it_could_have_stated(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "a.db") as first,
        opened(tmp_path / "b.db", role="agent") as second,
        opened(tmp_path / "c.db", role="agent") as third,
    ):
        first.remember("one", name="n")
        export(first, tmp_path / "plain.jsonl")
        assert second.import_(str(tmp_path / "plain.jsonl")).revisions == 1
        first.tag("kref://default/n.fact", "approved")
        export(first, tmp_path / "tagged.jsonl")
        first.remember("two", name="v", trust="verified")
        first.untag("kref://default/n.fact", "approved")
        export(first, tmp_path / "verified.jsonl")
        for name in ("tagged", "verified"):
            with pytest.raises(RoleError):
                third.import_(tmp_path / f"{name}.jsonl")
        assert third.stats()["items"] == 0


def test_no_secret_comes_in_with_an_export(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        fill(first)
        export(first, tmp_path / "a.jsonl")
        data = b"\n".join([*list(first.export())[:-1], b'{"type":"end"}'])
        for word in (
            b"no time is known",
            b"Bo",
            b"a photo",
            b"mysql",
            b"MySQL 8",
            b"Database",
            b"files/notes.md",
            b"both",
            b"another text",
        ):
            assert word in data
            data = data.replace(b'"' + word + b'"', b'"' + CANARY.encode() + b'"')
        (tmp_path / "b.jsonl").write_bytes(data)
        assert second.import_(tmp_path / "b.jsonl", accept_protected=True).redacted >= 9
        assert CANARY.encode() not in b"\n".join(second.export())


@pytest.mark.parametrize(
    "line",
    [
        {
            "kref": f"kref://default/{CANARY}.fact?r=1",
            "item": f"kref://default/{CANARY}.fact",
            "name": CANARY,
        },
        {"metadata": []},
        {"metadata": {"d": {"$date": "soon"}}},
        {"metadata": {"d": {"$duration": [1]}}},
        {"metadata": {"d": {"$bytes": 5}}},
        {"metadata": {"d": {"a": 1}}},
        {"metadata": {"d": {"$date": 10**30}}},
        {"tags": ["current", CANARY]},
        {"metadata": {CANARY: 1}},
        {"kref": "kref://default/a.fact?r=1", "item": "kref://default/b.fact"},
        {"number": 0},
        {"number": 10**18},
        {
            "kind": "thread",
            "item": "kref://default/a.thread",
            "kref": "kref://default/a.thread?r=1",
        },
    ],
)
def test_a_name_that_holds_a_secret_or_lies_is_refused(
    tmp_path: Path, line: dict[str, object]
) -> None:
    good = {
        "type": "revision",
        "kref": "kref://default/a.fact?r=1",
        "item": "kref://default/a.fact",
        "number": 1,
        "status": "current",
        "project": "default",
        "space": "",
        "name": "a",
        "kind": "fact",
        "summary": "x",
        "time": "2026-01-01T00:00:00Z",
        "tags": ["current"],
    }
    path = tmp_path / "x.jsonl"
    with opened(tmp_path / "m.db") as memory:
        for fields in (line, {}):
            path.write_bytes(
                b'{"type": "doxa-export", "format": 1}\n\n'
                + msgspec.json.encode(good | fields)
                + b"\n"
            )
            if fields:
                with pytest.raises(InputError) as caught:
                    memory.import_(path)
                assert CANARY not in str(caught.value) or "name" in fields
                assert memory.stats()["items"] == 0
        assert memory.import_(path).revisions == 1


def test_each_kind_of_file_has_its_verb(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        export(memory, tmp_path / "a.jsonl")
        with pytest.raises(InputError, match="import_"):
            memory.ingest(tmp_path / "a.jsonl")
        (tmp_path / "talk.jsonl").write_text(
            '{"thread": "t", "session": "s", "speaker": "Ana", "text": "hello"}\n'
        )
        for path in (tmp_path / "talk.jsonl", tmp_path / "none.jsonl", tmp_path, "", "a\0b", 5):
            with pytest.raises(InputError):
                memory.import_(path)  # type: ignore[arg-type]


def test_importing_does_not_overrule_what_was_decided_since(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        first.remember("one", name="n")
        export(first, tmp_path / "a.jsonl")
        second.import_(tmp_path / "a.jsonl")
        second.revise("kref://default/n.fact", "two")
        second.import_(tmp_path / "a.jsonl")
        assert second.recall("two").hits[0].number == 2


GOOD = {
    "type": "exchange",
    "kref": "kref://p/conversations/0123456789abcdef.exchange",
    "project": "p",
    "space": "conversations",
    "thread": "t",
    "session": "s",
    "speaker": "Ana",
    "role": "user",
    "text": "hello",
    "time": "2026-01-01T00:00:00Z",
    "id": "",
    "caption": "",
}


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"{",
        b"[]",
        b"5",
        b"null",
        b'{"type":"exchange"}',
        b'{"type":"revision","kref":"kref://a/b.fact?r=1"}',
        b'{"type":"edge"}',
        b'{"type":"other"}',
        b'{"kref":"x"}',
        b'{"type":"doxa-export","format":99}',
        b"\xff\xfe",
        b"[" * 5_000 + b"]" * 5_000,
        msgspec.json.encode(GOOD | {"text": 5}),
        msgspec.json.encode(GOOD | {"role": "king"}),
        msgspec.json.encode(GOOD | {"time": "soon"}),
        msgspec.json.encode(GOOD | {"kref": "nonsense"}),
        msgspec.json.encode(GOOD | {"project": "../etc"}),
        b'{"type":"exchange","text":"\\ud800"}',
        b'{"type":"edge","edge":"lower","source":"kref://p/a.fact","target":"kref://p/b.fact","metadata":{}}',
        b'{"type":"doxa-export","format":1}',
        b'{"type":"artifact","kref":"kref://p/a.fact?r=1","location":"x"}',
        b'{"type":"artifact","kref":"kref://p/a.fact?r=1&a=x","location":"x","size_bytes":-1}',
        b'{"type":"artifact","kref":"x","location":"x"}',
        b'{"type":"bundle","kref":"kref://p/a.fact","members":[]}',
        b'{"type":"bundle","kref":"kref://p/a.bundle?r=1","members":[]}',
        b'{"type":"bundle","kref":"kref://p/a.bundle","members":5}',
    ],
)
def test_a_hostile_line_is_one_of_our_errors(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'{"type":"doxa-export","format":1,"time":"2026-01-01T00:00:00Z"}\n' + line + b"\n"
    )
    with opened(tmp_path / "m.db") as memory:
        memory.remember("a", project="p", name="a")
        memory.remember("b", project="p", name="b")
        with pytest.raises(InputError):
            memory.import_(path)
        assert memory.stats()["exchanges"] == 0
        assert memory.check() == []


def test_an_export_is_private_and_whole_or_not_there(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([{"speaker": "Ana", "text": f"turn {n} " + "x" * 500} for n in range(300)])
        folder = tmp_path / "out"
        folder.mkdir()
        old_mask = os.umask(0)
        try:
            lines = write_export(memory.store, folder / "a.jsonl")
        finally:
            os.umask(old_mask)
        assert (folder / "a.jsonl").read_bytes().count(b"\n") == lines == len(list(memory.export()))
        assert (folder / "a.jsonl").stat().st_mode & 0o777 == 0o600
        with pytest.raises(InputError, match="exists"):
            write_export(memory.store, folder / "a.jsonl")
        with pytest.raises(StoreError, match="No such file"):
            write_export(memory.store, tmp_path / "none" / "a.jsonl")
        with pytest.raises(StoreError, match="Not a directory"):
            write_export(memory.store, folder / "a.jsonl" / "b.jsonl")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        try:
            with pytest.raises(DiskFullError, match="no room"):
                write_export(memory.store, folder / "b.jsonl")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [path.name for path in folder.iterdir()] == ["a.jsonl"]
