"""Ingestion of conversations: once, in order, without secrets, whole batches or none, with
candidates that follow the latest statement."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import InputError
from doxa.base.limits import INGEST_BATCH_TURNS, TEXT_BYTES_MAX
from doxa.belief import Exchange, Revision
from doxa.language.turns import Turn
from doxa.store import Store
from tests.fixtures_shared import opened

CANARY = "AKIAQ7CANARYQ7CANA2Z"


def turns(count: int, *, session: str = "s") -> list[dict[str, Any]]:
    return [
        {
            "speaker": "Ana" if n % 2 else "Bo",
            "text": f"turn {n} of the talk",
            "time": 1_772 * 10**15 + n,
            "session": session,
            "id": f"m{n}",
        }
        for n in range(count)
    ]


def chain(memory: Memory) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Every exchange, and every NEXT edge, by address."""
    with memory.store.read() as snapshot:
        said = snapshot.rows(
            "SELECT kref, props ->> '$.text' FROM node WHERE kref LIKE '%.exchange' ORDER BY kref"
        )
        edges = snapshot.rows(
            "SELECT s.kref, d.kref FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id ="
            " e.dst WHERE e.type = 'NEXT'"
        )
    return said, sorted(edges)


def test_again_changes_nothing_and_a_grown_transcript_adds_its_end(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as memory, opened(tmp_path / "b.db") as whole:
        first = memory.ingest(turns(7))
        assert (first.added, first.known, len(first.changes)) == (7, 0, 1)
        before = memory.log()
        again = memory.ingest(turns(7))
        assert (again.added, again.known, again.changes) == (0, 7, ())
        assert memory.log() == before
        assert memory.ingest(turns(9)).added == 2
        whole.ingest(turns(9))
        assert chain(memory) == chain(whole)
        assert len(chain(memory)[1]) == 8
        assert memory.check() == []


def test_messages_one_by_one_are_the_transcript_at_once(tmp_path: Path) -> None:
    mixed = [
        turn
        for pair in zip(turns(6, session="x"), turns(6, session="y"), strict=True)
        for turn in pair
    ]
    with opened(tmp_path / "a.db") as memory, opened(tmp_path / "b.db") as whole:
        for turn in mixed:
            memory.ingest([turn], thread="t")
        whole.ingest(mixed, thread="t")
        assert chain(memory) == chain(whole)
        assert len(chain(whole)[1]) == 10


def test_identical_turns_keep_two_ids(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        assert memory.ingest([{"speaker": "Ana", "text": "ok"}] * 3).added == 3
        assert memory.ingest([{"speaker": "Ana", "text": "ok"}] * 3).known == 3


def test_secrets_never_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        made = memory.ingest(
            [
                {
                    "speaker": "Ana",
                    "text": f"We decided to use the key {CANARY} for backups",
                    "caption": f"a note with {CANARY}",
                }
            ]
        )
        assert made.redacted == 2
        memory.embed()
        (hit,) = memory.recall("key backups", kinds=("exchange",)).hits
        assert "[redacted:aws-access-key]" in hit.text
        files = [file for file in tmp_path.iterdir() if file.name.startswith("m.db")]
        assert len(files) >= 2  # the write-ahead log is among them
        assert all(
            CANARY.encode() not in file.read_bytes()
            and CANARY.lower().encode() not in file.read_bytes()
            for file in files
        )


def test_an_oversize_turn_is_cut_and_marked(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.ingest(
            [{"speaker": "Ana", "text": "é" * TEXT_BYTES_MAX}, {"speaker": "Bo", "text": "short"}]
        )
        assert made.added == 2
        exchange = next(
            found
            for kref, _ in chain(memory)[0]
            if isinstance(found := memory.get(kref), Exchange) and found.speaker == "Ana"
        )
        assert exchange.text.endswith("[… cut at the size limit]")
        assert len(exchange.text.encode()) <= TEXT_BYTES_MAX
        assert memory.ingest([{"speaker": "Ana", "text": "é" * TEXT_BYTES_MAX}]).known == 1


def test_a_later_statement_revises_a_candidate_and_an_earlier_one_does_not(tmp_path: Path) -> None:
    said = {
        "first": ("The launch deadline is 27 March 2026.", "2026-02-02"),
        "last": ("The launch deadline is 10 April 2026.", "2026-03-03"),
        "older": ("The launch deadline is 1 March 2026.", "2026-01-05"),
    }
    with opened(tmp_path / "m.db") as memory:
        for thread, (text, time) in said.items():
            memory.ingest([{"speaker": "Noor", "text": text, "time": time}], thread=thread)
        (hit,) = memory.recall("launch deadline", space="candidates").hits
        assert hit.text == said["last"][0]
        assert (hit.trust, hit.number) == ("candidate", 2)
        source = memory.get(hit.source)
        assert isinstance(source, Exchange)
        assert source.text == said["last"][0]
        assert [
            step.edge for step in memory.provenance(hit.kref).steps if step.kref == hit.source
        ] == ["DERIVED_FROM"]
        history = memory.history(hit.kref)
        assert [revision.summary for revision in history.revisions] == [
            said["first"][0],
            said["last"][0],
        ]
        assert (
            memory.ingest(
                [{"speaker": "Noor", "text": said["last"][0], "time": "2026-03-04"}], thread="again"
            ).candidates
            == 0
        )


def test_without_extraction_there_are_no_candidates(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.ingest(
            [{"speaker": "Noor", "text": "We decided to use PostgreSQL."}], extract=False
        )
        assert made.candidates == 0
        assert memory.stats()["items"] == 0


def test_a_failure_leaves_its_batch_out_and_the_ones_before_in(tmp_path: Path) -> None:
    def broken() -> Iterator[Turn]:
        for number in range(INGEST_BATCH_TURNS + 50):
            yield Turn("t", "s", "Ana", "person", f"turn {number}", number, "")
        yield Turn(
            "t", "s", "Ana", "person", "the last", 9_999, "\ud800"
        )  # an id that cannot be stored

    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(InputError):
            memory.ingest(broken())
        assert memory.stats()["exchanges"] == INGEST_BATCH_TURNS
        assert memory.check() == []
        memory.verify()
        mended = [replace(turn, source_id="") for turn in broken()]
        made = memory.ingest(mended)
        assert (made.added, made.known) == (51, INGEST_BATCH_TURNS)
        assert len(chain(memory)[1]) == INGEST_BATCH_TURNS + 50


def test_progress_and_threads_are_told(tmp_path: Path) -> None:
    seen: list[int] = []
    with opened(tmp_path / "m.db") as memory:
        made = memory.ingest(
            turns(INGEST_BATCH_TURNS + 1), thread="Some Thread / ü", progress=seen.append
        )
        assert seen == [INGEST_BATCH_TURNS, 1]
        (thread,) = made.threads
        assert memory.get(thread).kref == thread
        assert len(memory.recall("talk", thread=thread, limit=1_000).hits) == INGEST_BATCH_TURNS + 1


@pytest.mark.parametrize(
    "message",
    [
        5,
        {"text": 5},
        {"speaker": "Ana"},
        {"text": "a", "role": "king"},
        {"text": "a", "time": "soon"},
    ],
)
def test_what_is_no_message_is_refused(tmp_path: Path, message: Any) -> None:
    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(InputError) as caught:
            memory.ingest([message])
        assert caught.value.fields["field"] in ("message", "text", "role", "time")


def test_any_order_of_files_ends_in_the_same_belief(tmp_path: Path) -> None:
    days = enumerate(("Monday", "Tuesday", "Friday"), 1)
    said = [
        {"speaker": "Noor", "text": f"Our deploy day is {day}.", "time": f"2026-0{month}-01"}
        for month, day in days
    ]
    for seed in range(3):
        order = said[:]
        random.Random(seed).shuffle(order)
        with opened(tmp_path / f"{seed}.db") as memory:
            for number, turn in enumerate(order):
                memory.ingest([turn], thread=str(number))
            current = [
                memory.get(hit.kref) for hit in memory.recall("deploy day", space="candidates").hits
            ]
            assert [revision.summary for revision in current if isinstance(revision, Revision)] == [
                "Our deploy day is Friday."
            ]


def test_no_secret_comes_in_by_a_name(tmp_path: Path) -> None:
    talk = [
        {
            "speaker": f"Ana {CANARY}",
            "text": "The launch deadline is 27 March 2026.",
            "thread": CANARY,
            "session": f"s {CANARY}",
            "id": CANARY,
            "caption": CANARY,
        }
    ]
    with opened(tmp_path / "m.db") as memory:
        done = memory.ingest(talk)
        assert (done.added, done.redacted, memory.ingest(talk).known) == (1, 5, 1)
        found = memory.get(memory.recall("launch deadline", kinds=("exchange",)).hits[0].kref)
        assert isinstance(found, Exchange)
        assert found.speaker == "Ana [redacted:aws-access-key]"
        assert (
            memory.ingest([{"text": "another", "thread": CANARY.replace("Q", "K")}]).threads
            == done.threads
        )
    for file in tmp_path.iterdir():
        assert CANARY.lower().encode() not in file.read_bytes().lower()


def test_without_extraction_nothing_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        {
            "speaker": "Ana",
            "text": "The launch deadline is 27 March 2026, says Karim.",
            "time": "2026-01-01",
        }
    ]
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(said, project="read")
        held = memory.get(memory.recent(project="read", kinds=("exchange",))[0].kref)
        assert isinstance(held, Exchange) and held.entities and held.dates

        def never(_: Turn) -> None:
            raise AssertionError("the rules ran")

        monkeypatch.setattr("doxa.ingestion.from_turns.extract", never)
        assert memory.ingest(said, extract=False).candidates == 0
        bare = memory.get(memory.recent(kinds=("exchange",))[0].kref)
        assert isinstance(bare, Exchange) and not bare.entities and not bare.dates
        memory.check()


def test_what_was_skipped_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    shutil.copytree(Path(__file__).parent / "fixtures" / "claude_code", folder)
    (folder / "bad.jsonl").write_bytes("{}".encode("utf-16"))
    with opened(tmp_path / "m.db") as memory:
        made = memory.ingest(folder)
        assert (made.added, made.skipped, len(made.places)) == (4, 2, 2)
        assert any("bad.jsonl is UTF-16" in place for place in made.places) and any(
            "line 12" in place for place in made.places
        )
        assert memory.ingest(folder).known == 4


def test_a_cut_message_is_reported_with_its_size(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        size = 2 * TEXT_BYTES_MAX
        made = memory.ingest([{"speaker": "Ana", "text": "x" * size}, {"text": "short"}])
        assert (made.added, made.cut) == (2, 1)
        (place,) = made.places
        assert f"{size:,} bytes" in place and f"{TEXT_BYTES_MAX:,}" in place
        assert memory.get(place.split(": ")[0]).text.startswith("xxx")  # type: ignore[union-attr]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, InputError])
def test_what_ends_an_ingestion_says_what_is_kept(
    tmp_path: Path, ending: type[BaseException]
) -> None:
    count = 2 * INGEST_BATCH_TURNS + 7

    def until_it_dies() -> Iterator[dict[str, Any]]:
        yield from turns(count)
        raise ending("gone", next_step="Look.") if ending is InputError else ending()

    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(ending) as caught:
            memory.ingest(until_it_dies())
        changes = [row.tx for row in memory.log() if row.op == "ingest"]
        assert len(changes) == 2
        kept = f"{2 * INGEST_BATCH_TURNS:,} turns are stored, in 2 changes"
        if isinstance(caught.value, InputError):
            assert kept in caught.value.next_step
            assert sorted(caught.value.fields["changes"]) == sorted(changes)  # type: ignore[call-overload]
        else:
            assert kept in " ".join(caught.value.__notes__)
        assert memory.ingest(turns(count)).added == 7


def test_an_interrupt_before_anything_was_stored_says_so(tmp_path: Path) -> None:
    def dies() -> Iterator[dict[str, Any]]:
        yield from turns(3)
        raise KeyboardInterrupt

    with opened(tmp_path / "m.db") as memory:
        with pytest.raises(KeyboardInterrupt) as caught:
            memory.ingest(dies())
        assert caught.value.__notes__ == ["Nothing was stored."]


@pytest.mark.parametrize("committed", [True, False])
def test_a_signal_at_a_commit_says_what_is_kept(tmp_path: Path, committed: bool) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        commit = Store._commit

        def interrupted(*given: Any, **more: Any) -> Any:
            if committed:
                commit(*given, **more)
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
            patch.setattr(Store, "_commit", interrupted)
            memory.ingest([{"speaker": "Ana", "text": "The ferry leaves at noon."}])
        (said,) = caught.value.__notes__
        assert said.startswith("1 turns are stored" if committed else "Nothing was stored")
        assert memory.stats()["exchanges"] == int(committed)
