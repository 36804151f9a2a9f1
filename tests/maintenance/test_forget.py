"""Forgetting: a preview comes first, the token matches exactly its set, retiring can be undone,
erasing leaves no byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConfirmationError, ConflictError, InputError, NotFoundError, RoleError
from tests.fixtures_shared import opened

CANARY = "quokkavelodrome"


def filled(path: Path) -> Memory:
    memory = opened(path)
    memory.remember("The ferry is green", name="a", space="x")
    memory.remember("The ferry is slow", name="b", space="x/y")
    memory.remember("The ferry is old", name="c", space="xy")
    memory.ingest([{"speaker": "Ana", "text": f"ferry {n}"} for n in range(3)], thread="trip")
    memory.embed()
    return memory


@pytest.mark.parametrize(
    ("target", "count"),
    [
        ("kref://default/x/a.fact", 1),
        ("kref://default/x/a.fact?r=1", 1),
        ("kref://default/x", 2),
        ("kref://default/x/y", 1),
        ("kref://default", 6),
        ("kref://default/conversations/trip.thread", 3),
        ("kref://default/conversations", 3),
    ],
)
def test_preview_names_what_would_go_and_changes_nothing(
    tmp_path: Path, target: str, count: int
) -> None:
    with filled(tmp_path / "m.db") as memory:
        before = memory.log(limit=1)
        shown = memory.forget(target, preview=True)
        assert (shown.done, shown.count, shown.mode, len(shown.krefs)) == (
            False,
            count,
            "retire",
            count,
        )
        assert memory.log(limit=1) == before
        if count > 1:
            with pytest.raises(ConfirmationError):
                memory.forget(target)
            with pytest.raises(ConfirmationError):
                memory.forget(target, confirm="0" * 16)
        done = memory.forget(target, confirm=shown.token)
        assert (done.done, done.count) == (True, count)
        assert len(memory.recall("ferry", limit=50).hits) == 6 - count
        for change in reversed(done.changes):
            memory.undo(change)
        assert len(memory.recall("ferry", limit=50).hits) == 6
        assert memory.check() == []


def test_the_token_is_of_this_set_and_mode(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory, filled(tmp_path / "other.db") as other:
        retire = memory.forget("kref://default/x", preview=True)
        erase = memory.forget("kref://default/x", preview=True, erase=True)
        assert (
            len({retire.token, erase.token, other.forget("kref://default/x", preview=True).token})
            == 3
        )
        with pytest.raises(ConfirmationError):
            memory.forget("kref://default/x", erase=True, confirm=retire.token)
        memory.remember("The ferry is loud", space="x")
        with pytest.raises(ConfirmationError, match="changed since the preview"):
            memory.forget("kref://default/x", confirm=retire.token)
        assert len(memory.recall("ferry", limit=50).hits) == 7


def test_forgetting_twice_says_so(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:
        memory.forget("kref://default/x/a.fact")
        again = memory.forget("kref://default/x/a.fact")
        assert (again.done, again.changes, again.note) == (True, (), "it was retired already")


def test_what_is_not_there(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:
        for target in ("kref://default/none.fact", "kref://nowhere", "kref://default/x/a.fact?r=9"):
            with pytest.raises(NotFoundError):
                memory.forget(target)
        shown = memory.forget("kref://default/conversations/trip.thread", preview=True, erase=True)
        memory.forget("kref://default/conversations/trip.thread", erase=True, confirm=shown.token)
        with pytest.raises(NotFoundError):  # the place went with what it held
            memory.forget("kref://default/conversations/trip.thread")


def test_an_agent_retires_and_never_erases(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:
        agent = memory.session(role="agent")
        with pytest.raises(RoleError):
            agent.forget("kref://default/x/a.fact", erase=True)
        token = agent.forget("kref://default/x", erase=True, preview=True).token
        with pytest.raises(RoleError):
            agent.forget("kref://default/x", erase=True, confirm=token)
        assert len(memory.recall("ferry", limit=50).hits) == 6
        assert agent.forget("kref://default/x/a.fact").done


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize("target", ["item", "revision", "exchange", "thread", "project"])
def test_erasing_leaves_no_byte(tmp_path: Path, target: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        item = "kref://default/secret.fact"
        text = f"the word is {CANARY}, told on a walk"
        if target in ("item", "revision", "project"):
            memory.remember(
                text,
                name="secret",
                topics=[CANARY],
                facts=[("word", "is", CANARY)],
                metadata={"note": CANARY},
            )
            memory.attach(item, "file", location=f"/{CANARY}")
            memory.revise(
                item, "the word is another", topics=(), metadata={}
            )  # else they are carried over
            memory.remember("depends on it", name="other", depends_on=[f"{item}?r=1"])
        if target in ("exchange", "thread", "project"):
            memory.ingest(
                [{"speaker": "Ana", "text": text}, {"speaker": "Bo", "text": f"{CANARY}?"}],
                thread="walk",
            )
        memory.embed()
        before = bytes_of(tmp_path)
        assert CANARY.encode() in before
        said = [hit.kref for hit in memory.recall(CANARY, kinds=("exchange",)).hits]
        address = {
            "item": item,
            "revision": f"{item}?r=1",
            "thread": "kref://default/conversations/walk.thread",
            "project": "kref://default",
        }
        targets = said if target == "exchange" else [address[target]]
        for kref in targets:
            shown = memory.forget(kref, erase=True, preview=True)
            done = memory.forget(kref, erase=True, confirm=shown.token)
            assert (done.done, done.mode) == (True, "erase")
        assert CANARY.encode() not in bytes_of(tmp_path)
        assert memory.recall(CANARY, project="*", history=True, lanes=("words",)).hits == ()
        assert memory.check() == []
        assert memory.verify().erased > 0
        with pytest.raises(ConflictError):
            memory.undo(done.changes[0])


def test_erasing_a_turn_erases_what_rules_quoted_from_it(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [
                {
                    "speaker": "Noor",
                    "text": "The launch deadline is 27 March 2026.",
                    "time": "2026-01-01",
                }
            ],
            thread="first",
        )
        later = f"The launch deadline is 10 April 2026, the {CANARY} was late anyway."
        memory.ingest([{"speaker": "Noor", "text": later, "time": "2026-02-01"}], thread="walk")
        memory.ingest(
            [
                {
                    "speaker": "Noor",
                    "text": f"We decided to use {CANARY} paint.",
                    "time": "2026-02-01",
                }
            ],
            thread="walk",
        )
        assert len(memory.recall(CANARY, space="candidates").hits) == 2
        thread = "kref://default/conversations/walk.thread"
        assert memory.forget(thread, preview=True).count == 2  # retiring leaves beliefs alone
        shown = memory.forget(thread, erase=True, preview=True)
        assert shown.count == 4
        memory.forget(thread, erase=True, confirm=shown.token)
        assert CANARY.encode() not in bytes_of(tmp_path)
        assert memory.check() == []
        memory.verify()


def test_forgetting_one_revision_leaves_the_others(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("first", name="n")
        memory.revise("kref://default/n.fact", "second")
        memory.forget("kref://default/n.fact?r=1", erase=True)
        assert [
            revision.number for revision in memory.history("kref://default/n.fact").revisions
        ] == [2]
        assert memory.revise("kref://default/n.fact", "third").kref.endswith("?r=3")


PINS = ("?r=1", "?t=draft", "?at=2023-11-14T22:13:21Z")


@pytest.mark.parametrize("pin", PINS)
@pytest.mark.parametrize("erase", [False, True])
def test_a_pin_means_that_revision(tmp_path: Path, clock: FakeClock, pin: str, erase: bool) -> None:
    item = "kref://default/n.fact"
    with opened(tmp_path / "m.db", clock=clock) as memory:
        memory.remember("first", name="n")
        memory.tag(item, "draft")
        clock.advance(seconds=60)
        memory.revise(item, "second")
        shown = memory.forget(item + pin, preview=True, erase=erase)
        assert (shown.count, shown.krefs) == (1, (f"{item}?r=1",))
        assert memory.forget(item + pin, erase=erase).krefs == shown.krefs
        assert [hit.text for hit in memory.recall("first second", lanes=("words",)).hits] == [
            "second"
        ]
        assert len(memory.history(item).revisions) == (1 if erase else 2)
        assert [move.tag for move in memory.history(item).tags if move.until is None] == ["current"]
        with pytest.raises(NotFoundError):
            memory.forget(item + "?t=draft", erase=erase)
        memory.undo(memory.revise(item, "third").change or 0)
        assert memory.check() == []


@pytest.mark.parametrize("pin", PINS)
def test_a_turn_or_thread_has_no_revision_to_pin(tmp_path: Path, pin: str) -> None:
    with filled(tmp_path / "m.db") as memory:
        said = memory.recall("ferry", kinds=("exchange",)).hits[0].kref
        for kref in (said, "kref://default/conversations/trip.thread"):
            with pytest.raises(NotFoundError):
                memory.forget(kref + pin)
        assert len(memory.recall("ferry", limit=50).hits) == 6


def test_an_artifact_is_erased_alone_and_never_retires_its_revision(tmp_path: Path) -> None:
    item = "kref://default/n.fact"
    with opened(tmp_path / "m.db") as memory:
        memory.remember("first", name="n")
        memory.attach(item, "file", location="somewhere")
        for kref in (f"{item}?a=file", f"{item}?r=1&a=file"):
            with pytest.raises(InputError, match="artifact"):
                memory.forget(kref)
        assert memory.forget(f"{item}?a=file", erase=True).krefs == (f"{item}?r=1&a=file",)
        assert memory.stats()["artifacts"] == 0
        assert memory.recall("first").hits


@pytest.mark.parametrize(
    "target", ["kref://other", "kref://other/s", "kref://other/conversations/default.thread"]
)
def test_erasing_a_container_of_one_thing_takes_the_token(tmp_path: Path, target: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        if target.endswith(".thread"):
            memory.ingest([{"speaker": "Ana", "text": "alone"}], project="other", extract=False)
        else:
            memory.remember("alone", project="other", space="s")
        with pytest.raises(ConfirmationError, match="all contents"):
            memory.forget(target, erase=True)
        for confirm in ("0" * 16, "ö", "\ud800", 5):
            with pytest.raises(ConfirmationError, match="does not match"):
                memory.forget(target, erase=True, confirm=confirm)  # type: ignore[arg-type]
        shown = memory.forget(target, erase=True, preview=True)
        assert shown.count == 1
        assert memory.recall("alone", project="other").hits
        assert memory.forget(target, erase=True, confirm=shown.token).done
