"""Events: what each log entry becomes, positions, filters, cursors, and delivery at least once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.errors import InputError, NotFoundError
from doxa.events import NAMES, Event
from doxa.store.statements import counted_statements
from doxa.store.stream import commit_signal

ITEM = "kref://shop/deploys.fact"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as opened:
        yield opened


def names(memory: doxa.Session, change: int) -> list[str]:
    return [event.name for event in memory.events() if event.change == change]


def last(memory: doxa.Memory) -> int:
    return memory.log(limit=1)[0].tx


def tell_a_story(memory: doxa.Memory) -> None:
    """Write something of every kind that the verbs write."""
    memory.remember("We deploy on Thursdays", project="shop", name="deploys")
    memory.revise(ITEM, "We deploy on Fridays")
    memory.tag(f"{ITEM}?r=1", "approved")
    memory.untag(ITEM, "approved")
    memory.remember("The build is green", project="shop", name="build", depends_on=[ITEM])
    memory.attach(ITEM, "log", location="s3://bucket/log")
    memory.bundle("kref://shop/all.bundle", add=[ITEM])
    memory.bundle("kref://shop/all.bundle", remove=[ITEM])
    memory.deprecate(ITEM)
    memory.restore(ITEM)
    memory.ingest([{"text": "Hello there", "speaker": "Ana"}], project="shop")
    memory.run("CREATE (:Town {name: 'x'})-[:NEAR]->(:Town {name: 'y'})")
    memory.run("MATCH (a:Town {name: 'x'})-[r]->(b) SET a.size = 1 DELETE r")
    memory.run("MATCH (a:Town {name: 'y'}) DELETE a")
    memory.run("CREATE (a:Town)-[r:NEAR]->(b:Town) DELETE r, a")


def test_each_change_is_told_by_the_events_that_the_table_names(memory: doxa.Memory) -> None:
    memory.remember("We deploy on Thursdays", project="shop", name="deploys")
    assert names(memory, last(memory)) == [
        "project.created",
        "item.created",
        "revision.created",
        "revision.tagged",
    ]
    memory.revise(ITEM, "We deploy on Fridays")
    revised = [one for one in memory.events() if one.change == last(memory)]
    assert [one.name for one in revised] == [
        "revision.created",
        "revision.untagged",
        "revision.tagged",
        "edge.created",
    ]
    made, untagged, tagged, edge = revised
    assert (made.kref, made.previous) == (f"{ITEM}?r=2", f"{ITEM}?r=1")
    assert (untagged.kref, untagged.tag) == (f"{ITEM}?r=1", "current")
    assert (tagged.kref, tagged.previous, tagged.tag) == (f"{ITEM}?r=2", f"{ITEM}?r=1", "current")
    assert (edge.type, edge.source, edge.target) == (
        "SUPERSEDES",
        f"{ITEM}?r=2",
        f"{ITEM}?r=1",
    )
    receipt = memory.log(limit=1)[0]
    assert (made.time, made.actor, made.role, made.op) == (
        receipt.time,
        receipt.actor,
        receipt.role,
        receipt.op,
    )
    assert (made.project, made.kind, made.labels) == ("shop", "fact", ("Revision",))
    memory.tag(f"{ITEM}?r=1", "approved")
    assert names(memory, last(memory)) == ["revision.tagged"]
    memory.deprecate(ITEM)
    assert names(memory, last(memory))[-1] == "item.deprecated"
    memory.restore(ITEM)
    assert "item.restored" in names(memory, last(memory))
    memory.ingest([{"text": "Hello there", "speaker": "Ana"}], project="shop")
    assert names(memory, last(memory))[-1] == "exchange.added"
    memory.run("CREATE (:Town {name: 'x'})-[:NEAR]->(:Town)")
    assert names(memory, last(memory)) == ["node.created", "node.created", "edge.created"]
    memory.run("MATCH (t:Town {name: 'x'})-[r]->() SET t.size = 2 DELETE r, t")
    assert sorted(names(memory, last(memory))) == ["edge.deleted", "node.changed", "node.deleted"]
    memory.constrain({"functional": ["lives in"]}, project="shop")
    assert set(names(memory, last(memory))) <= {"catalogue.changed"}


def test_a_conflict_is_opened_and_decided(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Berlin",
        project="shop",
        facts=[("Ana", "lives in", "Berlin")],
        trust="verified",
    )
    agent = memory.session(actor="agent", project="shop")
    memory.constrain({"functional": ["lives in"]}, project="shop")
    agent.revise([("Ana", "lives in", "Rome")], "Ana lives in Rome")
    opened = [one for one in memory.events(names=["conflict.*"])]
    assert [one.name for one in opened] == ["conflict.opened"]
    memory.resolve(str(opened[0].kref), "reject")
    decided = list(memory.events(names=["conflict.*"]))[-1]
    assert (decided.name, decided.decision) == ("conflict.decided", "reject")
    memory.undo(last(memory))
    assert list(memory.events(names=["conflict.*"]))[-1].name == "conflict.reopened"


def test_an_edge_made_and_removed_in_one_change_is_told_of(memory: doxa.Memory) -> None:
    memory.run("CREATE (a:Town)-[r:NEAR]->(b:Town) DELETE r")
    assert [one.type for one in memory.events(names=["edge.*"])] == ["NEAR", "NEAR"]


def test_replay_from_any_entry_gives_the_same_suffix(
    memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_a_story(memory)
    whole = list(memory.events())
    assert [one.seq for one in whole] == sorted({one.seq for one in whole})
    assert {one.name for one in whole} <= set(NAMES)
    end = memory.stats()["log_entries"]
    assert isinstance(end, int)
    for batch in (1, 7, 1_000):
        monkeypatch.setattr("doxa.events.stream.EVENT_BATCH_ITEMS_MAX", batch)
        for after in range(0, end + 1, 1 if batch == 7 else 5):
            assert list(memory.events(after=after)) == [e for e in whole if e.seq > after], after
    memory.remember("Something else", project="shop")
    assert list(memory.events())[: len(whole)] == whole


def test_a_large_change_entered_in_its_middle_reads_what_it_wrote_before(
    memory: doxa.Memory,
) -> None:
    """The state before an entry may have been written by the same transaction."""
    memory.remember("We deploy on Thursdays", project="shop", name="deploys")
    memory.run("MATCH (i:Item) WHERE i.name = 'deploys' SET i.seen = 1 SET i.seen = 2")
    whole = list(memory.events())
    assert [one.name for one in whole[-2:]] == ["item.changed", "item.changed"]
    assert list(memory.events(after=whole[-2].id)) == whole[-1:]


def test_erased_content_leaves_an_event_without_content(memory: doxa.Memory) -> None:
    memory.remember("A secret plan", project="shop", name="plan")
    before = list(memory.events(names=["revision.created"]))[-1]
    shown = memory.forget("kref://shop/plan.fact", erase=True, preview=True)
    memory.forget("kref://shop/plan.fact", erase=True, confirm=shown.token)
    found = {one.id: one for one in memory.events()}
    assert found[before.id].erased
    assert found[before.id].kref is None
    assert found[before.id].name == "node.created"
    assert "plan" not in repr(list(found.values()))
    assert list(found.values())[-1].name == "element.erased"


def test_hidden_and_restored_memories_are_told_of(memory: doxa.Memory) -> None:
    memory.run("CREATE (:Note {name: 'a'})")
    store = memory.store
    with store.read() as reader:
        (node,) = reader.rows("SELECT node FROM node_label WHERE label = 'Note'")[0]
    for act in ("suppress", "restore"):
        with store.write(memory.identity, op=act) as tx:
            getattr(tx, act)(node)
    found = [one.name for one in memory.events(names=["memory.*"])]
    assert found == ["memory.hidden", "memory.restored"]


def test_reading_makes_no_events(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    end = list(memory.events())[-1]
    memory.recall("deploys", project="shop")
    memory.get(ITEM)
    memory.flush()
    list(memory.events(cursor="reader"))
    assert list(memory.events())[-1] == end


def test_filters(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    memory.remember("Elsewhere", project="other", kind="decision", name="x")
    whole = list(memory.events())

    def expect(kept: list[Event], **options: object) -> None:
        assert kept
        assert list(memory.events(**options)) == kept  # type: ignore[arg-type]

    expect([e for e in whole if e.name.startswith("revision.")], names=["revision.*"])
    expect([e for e in whole if e.name.endswith(".created")], names=["*.created"])
    expect([e for e in whole if e.project == "other"], project="other")
    expect(whole, project="*")
    expect([e for e in whole if e.kind == "decision"], kind="decision")
    expect([e for e in whole if (e.kref or "").startswith("kref://shop/b")], kref="kref://shop/b")
    expect([e for e in whole if "Town" in e.labels], label="Town")
    expect(whole[:3], limit=3)
    middle = whole[len(whole) // 2]
    expect([e for e in whole if e.time >= middle.time], since=middle.time)
    expect([e for e in whole if e.seq > middle.seq], after=middle.id)
    assert list(memory.events(since="now")) == []
    assert list(memory.events(limit=0)) == []


def test_what_is_not_an_event_or_a_position_is_refused(memory: doxa.Memory) -> None:
    with pytest.raises(InputError, match=r"revison\.\*"):
        memory.events(names=["revison.*"])
    for wrong in ("99:1", "7777", "x", "1:", "-1", "9" * 30):
        with pytest.raises(InputError):
            memory.events(after=wrong)
    with pytest.raises(InputError, match="not both"):
        memory.events(after=1, since="now")
    with pytest.raises(InputError, match="ack"):
        memory.events(ack="never")
    with pytest.raises(InputError):
        memory.events(cursor="a/b")


def test_a_cursor_resumes_after_what_was_consumed(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    whole = list(memory.events())
    with memory.events(cursor="c") as stream:
        first = [next(stream) for _ in range(5)]
    assert first == whole[:5]
    # the fifth was delivered, and nobody asked for a sixth: it comes again
    assert list(memory.events(cursor="c")) == whole[4:]
    assert list(memory.events(cursor="c")) == []
    assert [(one.name, one.behind) for one in memory.cursors()] == [("c", 0)]
    memory.remember("More", project="shop")
    assert [one.name for one in memory.events(cursor="c")][-1] == "revision.tagged"


def test_with_manual_acknowledgement_only_ack_moves_the_cursor(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    whole = list(memory.events())
    assert list(memory.events(cursor="c", ack="manual")) == whole
    with memory.events(cursor="c", ack="manual") as stream:
        given = [next(stream) for _ in range(4)]
        stream.ack(given[1])
        with pytest.raises(InputError, match="not delivered"):
            stream.ack(whole[10])
    assert list(memory.events(cursor="c")) == whole[2:]


def test_a_cursor_moves_back_and_is_removed(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    whole = list(memory.events())
    assert list(memory.events(cursor="c")) == whole
    memory.set_cursor("c", after=whole[7].id)
    assert list(memory.events(cursor="c")) == whole[8:]
    memory.set_cursor("c")
    assert list(memory.events(cursor="c")) == whole
    memory.set_cursor("c", remove=True)
    assert memory.cursors() == []
    with pytest.raises(NotFoundError):
        memory.set_cursor("c", remove=True)


def test_a_new_cursor_is_kept_before_the_first_event(memory: doxa.Memory) -> None:
    memory.events(cursor="c", since="now")
    memory.remember("After", project="shop")
    assert [one.name for one in memory.events(cursor="c")][-1] == "revision.tagged"


def test_sessions_of_other_rights_have_cursors_of_their_own(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    list(memory.events(cursor="c"))
    agent = memory.session(actor="a", role="agent")
    bound = memory.session(actor="a", role="operator", projects=["shop"])
    assert agent.cursors() == bound.cursors() == []
    agent.set_cursor("c")
    bound.set_cursor("c")
    assert memory.cursors()[0].behind == 0
    with pytest.raises(NotFoundError):
        memory.session(role="agent", projects=["other"]).set_cursor("c", remove=True)


def test_a_bound_session_sees_the_events_of_its_projects_alone(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    memory.remember("Secret of the other", project="other", name="secret")
    bound = memory.session(projects=["shop"])
    seen = list(bound.events())
    assert {one.project for one in seen} == {"shop"}
    assert "other" not in repr(seen)
    # the views of projects have no row for what one change made and took back
    brief = {one.element for one in memory.events(project="shop") if one.op == "restore"}
    expected = [
        one
        for one in memory.events(project="shop")
        if not (one.op == "restore" and one.element in brief and one.type == "CURRENT")
    ]
    seen = [one for one in seen if not (one.op == "restore" and one.type == "CURRENT")]
    assert [one.id for one in seen] == [one.id for one in expected]
    assert [one.kref for one in seen] == [one.kref for one in expected]
    rows = list(bound.run("CALL doxa.events({}) YIELD project RETURN DISTINCT project"))
    assert [tuple(row) for row in rows] == [("shop",)]


def test_cypher_yields_what_python_does(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    rows = memory.run(
        "CALL doxa.events({names: ['revision.*'], limit: 4}) YIELD id, name, kref, event"
        " RETURN id, name, kref, event.tag"
    )
    wanted = memory.events(names=["revision.*"], limit=4)
    assert [tuple(row) for row in rows] == [(e.id, e.name, e.kref, e.tag) for e in wanted]


def test_a_write_that_is_not_committed_is_not_told_of(memory: doxa.Memory) -> None:
    before = list(memory.events())
    with memory.graph() as graph:
        graph.begin()
        graph.run("CREATE (:Town)").buffer()
        found = graph.run("CALL doxa.events({}) YIELD id RETURN count(*)")
        assert [tuple(row) for row in found] == [(len(before),)]
        graph.rollback()
    assert list(memory.events()) == before


def test_a_follower_is_woken_by_a_commit_of_its_process(
    memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.events.stream.EVENT_POLL_MS", 3_600_000)  # news alone can wake it
    stream = memory.events(since="now", follow=True, names=["revision.created"])
    found: list[Event] = []
    consumer = threading.Thread(target=lambda: found.extend(stream))
    consumer.start()
    for number in range(3):
        memory.remember(f"Statement {number}", project="shop", name=f"s{number}")
        while len(found) <= number:
            consumer.join(0.001)
    stream.close()
    consumer.join(20)
    assert not consumer.is_alive()
    assert [one.kref for one in found] == [f"kref://shop/s{n}.fact?r=1" for n in range(3)]


def test_listeners_end(memory: doxa.Memory) -> None:
    signal = commit_signal.CommitSignal()
    calls: list[int] = []
    end = signal.listen(lambda: calls.append(1))
    signal.notify(1)
    end()
    signal.notify(2)
    assert calls == [1]


def test_the_awaited_stream_gives_the_same(memory: doxa.Memory, tmp_path: Path) -> None:
    tell_a_story(memory)
    whole = list(memory.events())

    async def consume() -> tuple[list[Event], list[Event]]:
        async with await doxa.AsyncMemory.open(
            tmp_path / "m.db", role="operator", embedder=None, background=False
        ) as other:
            found = [event async for event in other.events(cursor="c")]
            followed: list[Event] = []
            async with other.events(since="now", follow=True, names=["item.*"]) as stream:
                writer = asyncio.create_task(_later(other))
                async for event in stream:
                    followed.append(event)
                    if len(followed) == 2:
                        break
                await writer
            return found, followed

    found, followed = asyncio.run(consume())
    assert found == whole
    assert [one.name for one in followed] == ["item.created", "item.created"]
    assert [one.behind > 0 for one in memory.cursors()] == [True]


async def _later(memory: doxa.AsyncMemory) -> None:
    for name in ("one", "two"):
        await asyncio.sleep(0.05)
        await memory.remember(f"Said {name}", project="shop", name=name)


def test_the_file_verifies_with_cursors_in_it(memory: doxa.Memory) -> None:
    tell_a_story(memory)
    list(memory.events(cursor="c"))
    memory.verify()
    assert memory.check() == []
    memory.store.connection().execute("UPDATE cursor SET seq = 1000000")
    assert any("ahead of the log" in problem for problem in memory.check()) or any(
        "ahead of the log" in one.detail for one in memory.doctor()
    )


def test_following_costs_a_commit_no_statement(memory: doxa.Memory) -> None:
    """Nothing is written for an event, with followers or without."""

    def written() -> int:
        with (
            counted_statements(memory.store) as found,
            memory.store.write(memory.identity, op="test") as tx,
        ):
            tx.create_node(("Town",), {"name": "x"})
        return len(found)

    written()
    alone = written()
    with memory.events(since="now", follow=True, cursor="c"):
        assert written() == alone
