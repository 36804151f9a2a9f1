"""Every verb once, through Memory and AsyncMemory; who may do what; what is wrong is named; the
file is private."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app import AsyncMemory, Memory, default_model_folder, default_path
from doxa.belief import Exchange, Revision
from doxa.models import HashEmbedder
from tests.fixtures_shared import opened

DB = "kref://default/db.fact"


def test_every_verb(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.remember(
            "The shop runs on MySQL", name="db", facts=[("shop", "database", "MySQL")]
        )
        assert made.kref == f"{DB}?r=1"
        memory.remember("The backup calls mysqldump", name="backup", depends_on=[DB])
        assert (
            memory.ingest(
                [
                    {
                        "speaker": "Ana",
                        "text": "We moved to PostgreSQL",
                        "time": datetime(2026, 3, 3, tzinfo=UTC),
                    }
                ]
            ).added
            == 1
        )
        said = memory.recall("moved PostgreSQL", kinds=["exchange"]).hits[0]
        exchange = memory.get(said.kref)
        assert isinstance(exchange, Exchange)
        assert exchange.time == said.time
        before = memory.log(limit=1)[0].time
        change = memory.revise(
            DB, "The shop runs on PostgreSQL", facts=[("shop", "database", "PostgreSQL")], expect=1
        )
        assert (
            change.action,
            [fact.value for fact in change.gained],
            [fact.value for fact in change.lost],
        ) == ("revised", ["PostgreSQL"], ["MySQL"])
        then = memory.as_of(DB, before)
        assert isinstance(then, Revision)
        assert then.number == 1
        assert [revision.number for revision in memory.history(DB).revisions] == [1, 2]
        assert memory.link(DB, said.kref, kind="DERIVED_FROM").action == "linked"
        assert [step.kref for step in memory.provenance(DB).steps] == [said.kref]
        assert [step.kref for step in memory.impact(DB).steps] == ["kref://default/backup.fact?r=1"]
        assert memory.traverse("kref://default/backup.fact", types=["DEPENDS_ON"]).steps
        assert memory.shortest_path("kref://default/backup.fact", said.kref).start
        assert memory.unlink(DB, said.kref, kind="DERIVED_FROM").action == "unlinked"
        assert memory.undo(change.change or 0).action == "undone"
        assert memory.rollback(f"{DB}?r=2").action == "rolled_back"
        assert memory.tag(f"{DB}?r=2", "approved").action == "tagged"
        assert memory.untag(DB, "approved").action == "untagged"
        assert memory.contract(DB, fact=("shop", "database", "PostgreSQL")).action == "contracted"
        assert memory.restore(DB).action == "restored"
        assert memory.deprecate(DB).action == "deprecated"
        assert (
            memory.attach("kref://default/backup.fact", "log.txt", location="logs/log.txt").action
            == "attached"
        )
        assert memory.get("kref://default/backup.fact?r=1&a=log.txt").kref.endswith("a=log.txt")
        assert (
            memory.bundle("kref://default/all.bundle", add=["kref://default/backup.fact"]).action
            == "grouped"
        )
        assert (
            memory.supersede(
                "kref://default/backup.fact", "The backup calls pg_dump", name="dump"
            ).action
            == "superseded"
        )
        assert memory.recent(limit=1)[0].text == "The backup calls pg_dump"
        assert memory.forget("kref://default/dump.fact").done
        assert memory.embed() > 0
        assert (memory.pending(), memory.check()) == (0, [])
        proof = memory.verify()
        assert memory.has_receipt(proof.head)
        assert not memory.has_receipt("00" * 32)
        assert not memory.has_receipt("no hex")
        assert memory.stats()["revisions"] == 5  # two of db and one without its fact, backup, dump
        looked = {
            "file",
            "disk",
            "invariants",
            "log",
            "erasures",
            "archives",
            "faded",
            "jobs",
            "vectors",
            "embedder",
            "retention",
            "consolidation",
            "spending",
            "working memory",
            "model",
            "reranker",
        }
        assert {finding.name for finding in memory.doctor()} == looked
        assert len(list(memory.export())) > 5
        copy = memory.backup(tmp_path / "copy.db")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        with opened(copy, read_only=True) as backup:
            assert backup.verify() == proof


def test_the_same_calls_awaited(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(
            tmp_path / "m.db",
            role="operator",
            embedder=HashEmbedder(dimensions=384),
            background=False,
        ) as memory:
            made = await memory.remember("The ferry leaves from Bergen", name="ferry")
            await memory.ingest([{"speaker": "Ana", "text": "the ferry is late"}])
            assert await memory.embed() == 2
            answers = await asyncio.gather(*(memory.recall("ferry") for _ in range(8)))
            assert all(answer.hits == answers[0].hits for answer in answers)
            await memory.revise(made.kref, "The ferry leaves from Oslo", expect=1)
            assert (await memory.get("kref://default/ferry.fact")).number == 2
            with pytest.raises(doxa.ConflictError):
                await memory.revise(made.kref, "The ferry leaves from Rome", expect=1)
            for name in ("history", "impact", "provenance", "traverse", "deprecate", "restore"):
                await getattr(memory, name)("kref://default/ferry.fact")
            for name in ("log", "verify", "doctor", "check", "stats", "pending", "recent"):
                await getattr(memory, name)()
            with pytest.raises(AttributeError):
                memory.nothing_like_it  # noqa: B018
            assert memory.config.project == memory.project == "default"
            assert memory.identity.role == "operator" and memory.context == {}
            lines = [line async for line in memory.export()]
            assert len(lines) > 3
            agent = await memory.session(actor="bot", project="shop")
            assert (await agent.remember("The shop is open")).kref.startswith("kref://shop/")
            with pytest.raises(doxa.RoleError):
                await agent.constrain()
        with pytest.raises(doxa.ClosedError):
            await memory.recall("ferry")

    asyncio.run(run())


def test_closed_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        session = memory.session(role="agent")
    memory.close()
    verbs = (
        memory.stats,
        memory.check,
        memory.verify,
        memory.recent,
        lambda: memory.recall("x"),
        lambda: memory.get(DB),
        lambda: list(memory.export()),
    )
    for call in (*verbs, lambda: session.remember("y")):
        with pytest.raises(doxa.ClosedError) as caught:
            call()
        assert caught.value.next_step


def test_a_block_that_raises_still_closes(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(tmp_path / "m.db") as memory:
        raise ZeroDivisionError
    with pytest.raises(doxa.ClosedError):
        memory.stats()


def test_read_only_reads(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry leaves from Bergen", name="ferry")
        memory.embed()
    with opened(tmp_path / "m.db", read_only=True, background=True) as memory:
        assert memory.recall("ferry").mode == "hybrid"
        assert memory.verify().receipts > 1
        for call in (
            lambda: memory.remember("x"),
            lambda: memory.deprecate("kref://default/ferry.fact"),
            lambda: memory.ingest([{"text": "a"}]),
        ):
            with pytest.raises(doxa.StoreError):
                call()
    with pytest.raises(doxa.StoreError):
        opened(tmp_path / "none.db", read_only=True)


def test_a_session_has_no_more_power_than_its_memory(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", role="agent") as memory:
        for role in ("operator", "system"):
            with pytest.raises(doxa.RoleError):
                memory.session(role=role)
        memory.remember("x is y", name="x")
        with pytest.raises(doxa.RoleError):
            memory.tag("kref://default/x.fact", "approved")
    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(doxa.InputError):
            memory.session(role="king")  # type: ignore[arg-type]
        agent = memory.session(actor="bot", role="agent", project="shop")
        agent.remember("z is y")
        assert (memory.log(limit=1)[0].actor, memory.log(limit=1)[0].role) == ("bot", "agent")
        assert [hit.project for hit in agent.recall("z").hits] == ["shop"]
        for tag in ("approved", "published", "verified", "crystallised"):
            with pytest.raises(doxa.RoleError):
                agent.tag("kref://default/x.fact", tag)
            assert memory.tag("kref://default/x.fact", tag).action == "tagged"
            with pytest.raises(doxa.RoleError):
                agent.untag("kref://default/x.fact", tag)
        assert agent.tag("kref://default/x.fact", "draft").action == "tagged"
    with pytest.raises(doxa.InputError):
        opened(tmp_path / "m.db", role="king")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.get(5), doxa.InputError),
        (lambda m: m.get("db.fact"), doxa.KrefError),
        (lambda m: m.get("kref://default/no.fact"), doxa.NotFoundError),
        (lambda m: m.history("kref://default"), doxa.InputError),
        (lambda m: m.as_of(DB, "soon"), doxa.InputError),
        (lambda m: m.undo(10**6), doxa.NotFoundError),
        (lambda m: m.undo("one"), doxa.DoxaError),
        (lambda m: m.revise(DB, "x", colour="red"), doxa.InputError),
        (lambda m: m.revise(DB, 5), doxa.InputError),
        (lambda m: m.revise(DB, "x", topics="tea"), doxa.InputError),
        (lambda m: m.revise(DB, "x", valid_from="soon"), doxa.InputError),
        (lambda m: m.contract(DB, fact=("a",)), doxa.InputError),
        (lambda m: m.link(DB, DB, kind="lower"), doxa.InputError),
        (lambda m: m.tag(DB, "initial"), doxa.InputError),
        (lambda m: m.impact(DB, depth=99), doxa.DoxaError),
        (lambda m: m.ingest("/nowhere"), doxa.InputError),
        (lambda m: m.traverse(DB, direction="up"), doxa.InputError),
        (lambda m: m.bundle(DB), doxa.InputError),
        (lambda m: m.recent(limit=0), doxa.LimitError),
    ],
)
def test_what_is_wrong_is_one_of_our_errors(
    tmp_path: Path, call: Any, error: type[doxa.DoxaError]
) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The shop runs on MySQL", name="db")
        with pytest.raises(error) as caught:
            call(memory)
        assert caught.value.next_step
        assert caught.value.as_dict()["code"] == caught.value.code


def waited(memory: Memory) -> int:
    for _ in range(200):
        if memory.pending() == 0:
            break
        threading.Event().wait(0.05)
    return memory.pending()


def test_the_background_job_embeds_by_itself(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", background=True) as memory:
        memory.remember("The ferry leaves from Bergen", name="ferry")
        memory.ingest([{"speaker": "Ana", "text": "it is late"}])
        assert waited(memory) == 0
        memory.revise("kref://default/ferry.fact", "The ferry leaves from Oslo")
        assert waited(memory) == 0
        assert "meaning" in memory.recall("ferry").hits[0].lanes
    assert "doxa-embedding" not in {thread.name for thread in threading.enumerate()}


def test_the_background_job_goes_on_with_what_an_earlier_opening_left(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry leaves from Bergen", name="ferry")
    with opened(tmp_path / "m.db", background=True) as memory:
        assert memory.pending() == 1
        assert memory.recall("ferry").hits
        assert waited(memory) == 0
    other = HashEmbedder(dimensions=128)
    with opened(tmp_path / "m.db", embedder=other) as memory:
        memory.embed(anew=True, limit=0)
        assert memory.reembedding() is not None
    with opened(tmp_path / "m.db", embedder=other, background=True) as memory:
        assert memory.recall("ferry").hits
        until = time.monotonic() + 10
        while memory.reembedding() is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert (memory.reembedding(), memory.pending()) == (None, 0)
        assert memory.recall("ferry").mode == "hybrid"


def test_a_write_does_not_wait_for_a_model_that_loads(tmp_path: Path) -> None:
    loading, loaded = threading.Event(), threading.Event()

    with opened(tmp_path / "m.db", background=True) as memory:

        def load() -> None:
            with (
                memory._models._embedder._lock
            ):  # what the first reader of `embedder` holds while the model is built
                loading.set()
                loaded.wait(20)

        thread = threading.Thread(target=load)
        thread.start()
        assert loading.wait(5)
        done = threading.Event()
        writer = threading.Thread(target=lambda: (memory.remember("The ferry is late"), done.set()))
        writer.start()
        assert done.wait(5)
        loaded.set()
        thread.join()
        writer.join()


def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOXA_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "doxa" / "memory.db"
    with doxa.open(embedder=None) as memory:
        memory.remember("a file of its own")
        assert Path(memory.store.path) == default_path()
        assert (
            len(list(default_path().parent.iterdir())) > 1
        )  # the write-ahead log next to it holds the same texts
        for file in default_path().parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "new" / "mine.db"))
    with doxa.open(embedder=None) as memory:
        assert memory.store.path == str(tmp_path / "new" / "mine.db")
    monkeypatch.delenv("DOXA_DB")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local" / "share" / "doxa" / "memory.db"
    monkeypatch.setenv("DOXA_MODELS", str(tmp_path / "models"))
    assert default_model_folder() == tmp_path / "models"


@pytest.mark.parametrize("make", ["folder", "text", "sqlite", "nowhere"])
def test_what_is_no_memory_file_is_said(tmp_path: Path, make: str) -> None:
    path = tmp_path / "m.db"
    if make == "folder":
        path.mkdir()
    elif make == "text":
        path.write_text("hello " * 2_000)
    elif make == "sqlite":
        import sqlite3

        db = sqlite3.connect(path)
        db.execute("CREATE TABLE t(x)")
        db.commit()
        db.close()
    else:
        path = tmp_path / "no" / "m.db"
    with pytest.raises(doxa.StoreError) as caught:
        opened(path)
    assert caught.value.next_step


def test_opening_imports_no_numpy(tmp_path: Path) -> None:
    said = (
        "import sys, doxa; doxa.open(sys.argv[1], embedder=None).close(); print('numpy' in"
        " sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", said, str(tmp_path / "m.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False"]
