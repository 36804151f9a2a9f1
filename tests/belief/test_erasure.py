"""Names are content: after an erasure no thread, speaker, kind, space or project that nothing else
uses is readable in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.base.errors import ConflictError, NotFoundError
from doxa.belief import Ledger
from doxa.store import Identity, Store
from tests.fixtures_shared import opened

THREAD = "kref://default/conversations/zqxthread.thread"


def everything(folder: Path) -> bytes:
    return b"".join(
        file.read_bytes() for file in sorted(folder.iterdir()) if not file.name.endswith("-shm")
    ).lower()


def erase(memory: Memory, kref: str) -> None:
    memory.forget(kref, erase=True, confirm=memory.forget(kref, erase=True, preview=True).token)


def talk(memory: Memory) -> None:
    memory.ingest(
        [
            {"speaker": "Zqxspeaker", "text": "the ferry is green"},
            {"speaker": "Ana", "text": "it is"},
        ],
        thread="zqxthread",
    )
    memory.ingest([{"speaker": "Ana", "text": "the ferry is slow"}], thread="other")
    memory.embed()


def sound(memory: Memory) -> None:
    assert memory.check() == []
    memory.verify()


def test_the_names_of_a_thread_and_its_speakers_go_with_it_and_shared_ones_stay(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "m.db") as memory:
        talk(memory)
        assert b"zqxthread" in everything(tmp_path) and b"zqxspeaker" in everything(tmp_path)
        erase(memory, THREAD)
        found = everything(tmp_path)
        assert b"zqxthread" not in found and b"zqxspeaker" not in found
        with pytest.raises(NotFoundError):
            memory.get(THREAD)
        hits = memory.recall("ferry", speaker="Ana").hits
        assert [(hit.text, hit.speaker, hit.source) for hit in hits] == [
            ("the ferry is slow", "Ana", "kref://default/conversations/other.thread")
        ]
        sound(memory)
        talk(memory)  # the same names again are new names
        assert [hit.text for hit in memory.recall("ferry", speaker="Zqxspeaker").hits] == [
            "the ferry is green"
        ]
        sound(memory)


def test_a_thread_goes_with_the_last_of_its_turns_however_they_are_named(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        talk(memory)
        turns = [hit.kref for hit in memory.recall("ferry green it", thread=THREAD, limit=5).hits]
        assert len(turns) == 2
        erase(memory, turns[0])
        assert memory.get(THREAD)
        erase(memory, turns[1])
        assert b"zqxthread" not in everything(tmp_path)
        sound(memory)


def test_a_name_that_an_open_memory_has_read_is_no_speaker_any_more(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory, opened(tmp_path / "m.db") as reader:
        memory.ingest([{"speaker": "Ferry", "text": "zqx"}], thread="zqxthread")
        memory.ingest([{"speaker": "Ana", "text": "the ferry is slow"}], thread="other")
        assert (
            "ferry" not in reader.recall("slow ferry", lanes=("words", "entities")).hits[0].why
        )  # a speaker's name is not a word of the question
        erase(memory, THREAD)
        assert "ferry" in reader.recall("slow ferry", lanes=("words",)).hits[0].why


@pytest.mark.parametrize("target", ["kref://zqxproject", "kref://zqxproject/zqxspace"])
def test_the_place_itself_goes(tmp_path: Path, target: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember(
            "the ferry",
            project="zqxproject",
            space="zqxspace/zqxdeep",
            kind="zqxkind",
            name="zqxname",
        )
        memory.remember("the boat", project="kept", space="here")
        erase(memory, target)
        found = everything(tmp_path)
        for name in (b"zqxspace", b"zqxdeep", b"zqxkind", b"zqxname"):
            assert name not in found
        assert (b"zqxproject" in found) == (target != "kref://zqxproject")
        sound(memory)
        memory.remember("the ferry again", project="zqxproject")
        assert [hit.text for hit in memory.recall("ferry", project="zqxproject").hits] == [
            "the ferry again"
        ]
        assert [hit.text for hit in memory.recall("boat", project="kept").hits] == ["the boat"]
        sound(memory)


def test_an_empty_place_can_be_erased(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("the ferry", project="p", space="zqxspace", name="a")
        erase(memory, "kref://p/zqxspace/a.fact")
        assert b"zqxspace" in everything(tmp_path)
        erase(memory, "kref://p/zqxspace")
        assert b"zqxspace" not in everything(tmp_path)
        sound(memory)


def test_a_place_that_holds_more_than_the_targets_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        talk(memory)
        turn = memory.recall("green", thread=THREAD).hits[0].kref
        with Store(tmp_path / "m.db") as store:
            for place in (THREAD, "kref://default", "kref://default/conversations"):
                with pytest.raises(ConflictError, match="not among"):
                    Ledger(store, Identity("ana", "operator")).erase([turn, place])
        assert memory.recall("green", thread=THREAD).hits
        sound(memory)
