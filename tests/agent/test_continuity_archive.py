"""The archive is what was stored, once, verbatim, in a chain; it is rebuilt into a file of an equal
digest; what is erased is out of it, and no change of a byte goes unseen."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.agent.continuity.chain import ArchiveFiles, agent_folder, genesis
from doxa.app import Memory, Session
from doxa.base.clock import FakeClock
from doxa.base.errors import CorruptError, InputError, RoleError
from tests.agent.continuity_help import opened, say


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with opened(tmp_path / "m.doxa", clock) as made:
        yield made


@pytest.fixture
def ana(memory: Memory) -> Session:
    return memory.session(actor="ana", role="agent")


def days(memory: Memory, agent: str = "ana") -> list[Path]:
    return ArchiveFiles(Path(f"{memory.store.path}-agents"), agent).days()


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_day_is_a_private_file_of_verbatim_lines(
    memory: Memory, ana: Session, clock: FakeClock
) -> None:
    say(ana, "one", "Bonjour,  «le» monde 🚀", "Salut\nencore")
    assert ana.archive_write().added == 3  # a thread and two turns
    clock.advance(days=1)
    say(ana, "one", "The next day")
    assert ana.archive_write().added == 1
    first, second = days(memory)
    assert (first.name, second.name) == ("2023-11-14.jsonl", "2023-11-15.jsonl")
    texts = [row["payload"].get("text") for row in rows(first)]  # type: ignore[attr-defined]
    assert texts == [None, "Bonjour,  «le» monde 🚀", "Salut\nencore"]
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    for folder in list(first.parents)[:3]:  # archive, the agent's, and that of all agents
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [row["n"] for path in (first, second) for row in rows(path)] == [1, 2, 3, 4]


def test_again_adds_nothing(ana: Session) -> None:
    say(ana, "one", "a", "b")
    first = ana.archive_write()
    again = ana.archive_write()
    assert (again.added, again.lines, again.head) == (0, first.lines, first.head)


def test_each_agent_has_its_own(memory: Memory, ana: Session) -> None:
    bob = memory.session(actor="bob", role="agent")
    say(ana, "one", "what Ana said", thread="shared")
    say(bob, "two", "what Bob said", thread="shared")
    ana.archive_write()
    bob.archive_write()
    assert "Bob said" not in days(memory)[0].read_text()
    assert "Ana said" not in days(memory, "bob")[0].read_text()
    with pytest.raises(RoleError):
        bob.archive_write(agent="ana")
    for agent in ("ana", "bob"):
        rebuilt = memory.archive_rebuild(Path(memory.store.path).with_name(agent), agent=agent)
        assert (rebuilt.equal, rebuilt.turns) == (True, 1)


def test_odd_names_stay_in_their_folder(tmp_path: Path) -> None:
    for name in ("..", ".", "a/b", "../../x", "C:\\x", "%2E"):
        found = agent_folder(tmp_path, name)
        assert found.parent == tmp_path
        assert found.name not in (".", "..")


# Rebuilding

TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["user", "assistant", "tool", "person"]),
        st.sampled_from(
            [
                "The harbour bridge needs bolts.",
                "Ana lives in Berlin.",
                "I will call Ben tomorrow.",
                "ok",
                "Ana wohnt in München.",
                "password=hunter2secret",
            ]
        ),
        st.integers(0, 5),
    ),
    max_size=25,
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXTS, st.integers(0, 3))
def test_a_rebuilt_file_has_an_equal_digest(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str, int]], erased: int
) -> None:
    folder = tmp_path_factory.mktemp("rebuilt")
    clock = FakeClock()
    with opened(folder / "m.doxa", clock) as memory:
        ana = memory.session(actor="ana", role="agent")
        for number, (name, role, text, wait) in enumerate(said):
            clock.advance(seconds=wait)
            ana.ingest(
                [
                    {
                        "text": text,
                        "role": role,
                        "speaker": role,
                        "thread": name,
                        "session": f"{name}-{wait}",
                    }
                ],
                extract=bool(number % 2),
            )
            if number % 5 == 0:
                ana.session_open(f"{name}-{wait}", thread=name, mode="booth", title="A talk")
                ana.handoff_write(f"{name}-{wait}", thread=name, reason="end")
                ana.archive_write()
        for pair in ana.exchange_list(mode="booth")[:erased]:
            kref = pair.turns[0].kref  # also what was concluded from it alone
            token = memory.forget(kref, erase=True, preview=True).token
            memory.forget(kref, erase=True, confirm=token)
        ana.archive_write()
        proof = ana.archive_verify()
        assert (proof.valid, proof.complete, proof.problems) == (True, True, ())
        rebuilt = memory.archive_rebuild(folder / "n.doxa", agent="ana")
        assert rebuilt.equal
        with opened(folder / "n.doxa", clock) as again:
            one, two = ana.exchange_list(mode="booth"), again.exchange_list(mode="booth")
            assert one == two
            assert [s.title for s in memory.session_list(mode="booth")] == [
                s.title for s in again.session_list(mode="booth")
            ]


def test_another_text_is_another_digest(memory: Memory, ana: Session, tmp_path: Path) -> None:
    say(ana, "one", "a message", "an answer")
    ana.archive_write()
    say(ana, "one", "one more")  # not archived
    rebuilt = memory.archive_rebuild(tmp_path / "n.doxa", agent="ana")
    assert not rebuilt.equal


def test_a_file_that_exists_is_not_touched(memory: Memory, ana: Session, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(InputError):
        memory.archive_rebuild(tmp_path / "there", agent="ana")
    with pytest.raises(RoleError):
        ana.archive_rebuild(tmp_path / "new")
    assert (tmp_path / "there").read_text() == "mine"


# Erasure


def test_what_is_erased_is_out_of_the_archive(memory: Memory, ana: Session) -> None:
    say(ana, "one", "My code word is marzipan.", "I see.", "Something else.")
    before = ana.archive_write()
    memory.forget(ana.exchange_list()[0].turns[0].kref, erase=True)
    (path,) = days(memory)
    assert "marzipan" not in path.read_text()
    gone = [row for row in rows(path) if row["payload"] is None]
    assert len(gone) == 1
    assert gone[0]["salt"] is None
    proof = ana.archive_verify()
    assert (proof.valid, proof.complete, proof.erased, proof.head) == (True, True, 1, before.head)
    assert memory.verify_erased("marzipan").erased
    assert "Something else." in path.read_text()


@pytest.mark.parametrize("way", ["text", "purge"])
def test_every_way_of_erasing_reaches_it(memory: Memory, ana: Session, way: str) -> None:
    say(ana, "one", "My code word is marzipan.", "I see.")
    ana.archive_write()
    if way == "text":
        memory.erase(text="marzipan", confirm=memory.erase(text="marzipan", preview=True).token)
    else:
        thread = ana.exchange_list()[0].thread
        memory.purge(thread, confirm=memory.purge(thread, preview=True).token)
    assert not [path for path in days(memory) if "marzipan" in path.read_text()]
    assert memory.verify_erased("marzipan").erased
    assert ana.archive_verify().valid


def test_an_erasure_that_was_cut_short_is_done_by_the_next_write(
    memory: Memory, ana: Session
) -> None:
    """The process died after the commit and before the archive: verifying says so, writing does
    it."""
    say(ana, "one", "My code word is marzipan.", "I see.")
    ana.archive_write()
    memory.store.on_scrub = str  # as if it had died there
    memory.forget(ana.exchange_list()[0].turns[0].kref, erase=True)
    (path,) = days(memory)
    assert "marzipan" in path.read_text()
    assert not ana.archive_verify().valid
    assert not memory.verify_erased("marzipan").erased
    assert ana.archive_write().erased == 1
    assert "marzipan" not in path.read_text()
    assert ana.archive_verify().valid
    assert memory.verify_erased("marzipan").erased


def test_what_was_erased_before_it_was_archived_never_is(memory: Memory, ana: Session) -> None:
    say(ana, "one", "My code word is marzipan.", "I see.")
    memory.forget(ana.exchange_list()[0].turns[0].kref, erase=True)
    ana.archive_write()
    assert "marzipan" not in days(memory)[0].read_text()
    assert ana.archive_verify().complete


# Damage


def test_an_unfinished_line_is_cut_off(memory: Memory, ana: Session) -> None:
    """A writer is killed anywhere in its write: the next one goes on from the last whole line."""
    say(ana, "one", "a", "b", "c", "d")
    ana.archive_write()
    (path,) = days(memory)
    whole = path.read_bytes()
    random = Random(7)
    for cut in (0, 1, len(whole) - 1, *(random.randrange(len(whole)) for _ in range(12))):
        path.write_bytes(whole[:cut])
        ana.archive_write()
        proof = ana.archive_verify()
        assert (proof.valid, proof.complete, proof.lines) == (True, True, 5)


def test_a_missing_day_is_seen(memory: Memory, ana: Session, clock: FakeClock) -> None:
    for _ in range(3):
        say(ana, "one", "a message of a day", "b")
        ana.archive_write()
        clock.advance(days=1)
    days(memory)[1].unlink()
    proof = ana.archive_verify()
    assert (proof.valid, proof.complete) == (False, False)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_is_seen(
    tmp_path_factory: pytest.TempPathFactory, place: int, flip: int
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    with opened(folder / "m.doxa") as memory:
        ana = memory.session(actor="ana", role="agent")
        say(ana, "one", "My name is Ana.", "Hello.")
        ana.archive_write()
        (path,) = days(memory)
        data = bytearray(path.read_bytes())
        data[place % len(data)] ^= flip
        path.write_bytes(bytes(data))
        try:
            proof = ana.archive_verify()
        except CorruptError:
            return
        assert not (proof.valid and proof.complete)


def test_a_chain_that_was_written_again_is_seen(memory: Memory, ana: Session) -> None:
    """Somebody who can compute hashes makes another chain: the log of the memory knows better."""
    from doxa.agent.continuity.chain import _encoded, make_line

    say(ana, "one", "My name is Ana.", "Hello.")
    ana.archive_write()
    (path,) = days(memory)
    end, lines = (0, genesis("ana")), []
    for row in rows(path):
        body = dict(row["payload"]) | {"text": "My name is Eve."}  # type: ignore[call-overload]
        line = make_line(
            end,
            int(row["seq"]),  # type: ignore[call-overload]
            int(row["element"]),  # type: ignore[call-overload]
            str(row["kind"]),
            int(row["time"]),  # type: ignore[call-overload]
            body,
        )
        end = line.n, line.hash
        lines.append(_encoded(line))
    path.write_bytes(b"".join(lines))
    proof = ana.archive_verify()
    assert not proof.valid
    assert "than the log" in proof.problems[0]


def test_a_broken_archive_is_not_rebuilt(memory: Memory, ana: Session, tmp_path: Path) -> None:
    say(ana, "one", "My name is Ana.", "Hello.")
    ana.archive_write()
    (path,) = days(memory)
    path.write_text(path.read_text().replace("is Ana", "is Eve"))
    with pytest.raises(CorruptError):
        memory.archive_rebuild(tmp_path / "n.doxa", agent="ana")


def test_a_long_log_is_archived_in_parts(
    memory: Memory, ana: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host waits for no archive: each call reads a bounded part of the log and goes on from
    there, also where nothing in it is the agent's."""
    from doxa.agent.continuity import archive

    monkeypatch.setattr(archive, "ARCHIVE_BATCH_ITEMS_MAX", 10)
    for number in range(12):
        memory.remember(f"The number {number} is a number.", name=f"n{number}")
    say(ana, "one", "at last", "yes")
    calls = 0
    while not archive.write_archive(memory.store, "ana", batches=1).added:
        calls += 1
        assert calls < 1_000
    assert calls > 5
    archive.write_archive(memory.store, "ana")
    proof = ana.archive_verify()
    assert (proof.valid, proof.complete) == (True, True)
    rebuilt = memory.archive_rebuild(Path(f"{memory.store.path}.new"), agent="ana")
    assert rebuilt.equal


# What doctor says


def _of_doctor(memory: Memory) -> tuple[bool, str]:
    (found,) = [one for one in memory.doctor() if one.name == "archives"]
    return found.ok, found.detail


def test_doctor_names_an_archive_that_fell_behind(
    memory: Memory, ana: Session, clock: FakeClock
) -> None:
    assert _of_doctor(memory) == (True, "0 archives of agents")
    say(ana, "one", "Hello.", "I see.")
    ana.archive_write()
    say(ana, "two", "Hello again.", "I see.")
    assert _of_doctor(memory) == (True, "1 archives of agents")  # it may still be written
    clock.advance(days=3)
    ok, detail = _of_doctor(memory)
    assert (ok, detail) == (False, "3 entries of ana wait")
    ana.archive_write()
    assert _of_doctor(memory)[0]
    (path, *_) = days(memory)
    path.write_bytes(b"no line\n")
    for other in days(memory)[1:]:
        other.unlink()
    ok, detail = _of_doctor(memory)
    assert not ok
    assert "cannot be read" in detail
