"""An import that is killed at any point, and goes on, ends where one that was not killed ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.errors import BusyError, InputError
from doxa.base.files.places import imports_folder
from doxa.imports import importing
from doxa.imports.cursors import Cursors
from doxa.imports.importing import ImportedFiles, ImportOptions
from doxa.imports.storing import Storing
from doxa.imports.watching import JOB, ImportWatch
from doxa.jobs.lease import lease
from doxa.store import check
from tests.fixtures_shared import opened
from tests.imports.import_files import code_line, imported, lines, said

PROJECTS = {"/srv/shop": "p", "/srv/other": "q"}
PLAN = {"type": "tool_use", "id": "c", "name": "ExitPlanMode", "input": {"plan": "1. Ship."}}
APPROVED = {
    "type": "tool_result",
    "tool_use_id": "c",
    "content": "User has approved your plan. You can now start.",
}


class Killed(BaseException):
    """What a kill is to the code: nothing after it runs."""


@contextmanager
def killed_after(steps: int) -> Iterator[None]:
    """Kill at a step of storing: before or after a commit, before or after a cursor is saved."""
    left = steps
    kept = Storing.messages, Cursors.save

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            step()
            made = call(*args, **named)
            step()
            return made

        return wrapped

    Storing.messages, Cursors.save = map(around, kept)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Storing.messages, Cursors.save = kept  # type: ignore[method-assign]


def content(memory: Memory) -> object:
    """Every turn, its place in its session, and every belief; without when it was stored."""
    turns = memory.run(
        "MATCH (n:Exchange) OPTIONAL MATCH (n)-[:NEXT]->(m) RETURN n.kref, n.text, n.time, m.kref"
        " ORDER BY n.kref, m.kref"
    )
    items = memory.run("MATCH (n:Item)-[:CURRENT]->(r) RETURN n.kref, r.summary ORDER BY n.kref")
    return [tuple(row) for row in turns], [tuple(row) for row in items]


LINES = st.lists(
    st.one_of(
        st.sampled_from(["I live in Berlin.", "Yes.", "We use MySQL.", "ok"]).map(code_line),
        st.integers(0, 9).map(lambda n: code_line(f"Number {n}.", "assistant", at=n)),
        st.integers(0, 9).map(lambda n: code_line(f"Other {n}.", at=n, cwd="/srv/other")),
        st.integers(0, 3).map(lambda n: code_line(f"In {n}.", at=n, session=f"s{n}")),
        st.just(code_line([PLAN], "assistant")),
        st.just(code_line([APPROVED])),
        st.sampled_from(["{broken", "", "[]", '{"type": "user"}']),
    ),
    max_size=14,
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    LINES,
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 12)), max_size=4),
    st.integers(1, 4),
)
def test_killed_at_any_point_it_ends_the_same(
    made: list[object], kills: list[tuple[int, int]], batch: int
) -> None:
    """Kills come while the file grows: each is (lines that are written by then, steps)."""
    kept = importing.INGEST_BATCH_TURNS, importing._COUNTED_EVERY
    importing.INGEST_BATCH_TURNS, importing._COUNTED_EVERY = batch, 3
    first = code_line("Hello.", at=0)
    try:
        with TemporaryDirectory() as folder:
            place = Path(folder) / "h"
            with opened(Path(folder) / "killed.db", embedder=None, project="p") as memory:
                for count, steps in sorted(kills):
                    lines(place / "s1.jsonl", first, *made[:count])
                    with killed_after(steps), suppress(Killed):
                        imported(memory, place, projects=PROJECTS, cursors=True)
                lines(place / "s1.jsonl", first, *made)
                imported(memory, place, projects=PROJECTS, cursors=True)
                found = content(memory)
                last = imported(memory, place, projects=PROJECTS, cursors=True)
                assert (last.changes, content(memory)) == ((), found)
                assert check(memory.store) == []
            with opened(Path(folder) / "whole.db", embedder=None, project="p") as memory:
                imported(memory, place, projects=PROJECTS)
                assert content(memory) == found
    finally:
        importing.INGEST_BATCH_TURNS, importing._COUNTED_EVERY = kept


def test_killed_at_every_step_it_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message a batch; a line with two messages, calls that wait, and lines without any."""
    monkeypatch.setattr(importing, "INGEST_BATCH_TURNS", 1)
    steps = 0
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        while True:
            name = f"s{steps}"
            made = [
                code_line("Hello.", session=name),
                code_line([PLAN], "assistant", session=name),
                "{broken",
                code_line([APPROVED], session=name),
                code_line([{"type": "thinking", "thinking": "x"}], "assistant", session=name),
                code_line("Bye.", "assistant", session=name),
            ]
            file = lines(tmp_path / "h" / f"{name}.jsonl", *made)
            ended = False
            with killed_after(steps), suppress(Killed):
                imported(memory, file, cursors=True)
                ended = True
            imported(memory, file, cursors=True)
            texts = {text for session, _, text in said(memory) if session == name}
            assert texts == {"Hello.", "1. Ship.", "I approve this plan.", "Bye."}, steps
            if ended:
                break
            steps += 1
    assert steps > 10


def test_a_cursor_goes_on_only_in_the_same_file_and_memory(tmp_path: Path) -> None:
    place = tmp_path / "h"
    said_first = [code_line(f"Number {n}.", at=n) for n in range(9)]
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        file = lines(place / "s1.jsonl", *said_first)
        imported(memory, place, cursors=True)
        backup = memory.backup(tmp_path / "early.db")
        lines(file, *said_first, code_line("Later.", at=10))
        assert imported(memory, place, cursors=True).added == 1
        # cut at the front, replaced by another of the same size, emptied
        for text in (file.read_bytes()[5:], b"x" * file.stat().st_size, b""):
            file.write_bytes(text)
            with suppress(InputError):  # nothing of a history is left
                assert imported(memory, place, cursors=True).added == 0
        # it is as it was: there is nothing more in it
        lines(file, *said_first, code_line("Later.", at=10))
        assert imported(memory, place, cursors=True).added == 0
        # a cursor that was damaged or forged is none
        for cursor in imports_folder(Path(memory.store.path)).glob("*.json"):
            for damage in (b"x", b"[]", b"{}", b'{"path": 5}', b"[" * 10_000, b"\xff"):
                cursor.write_bytes(damage)
                assert imported(memory, place, cursors=True).known == 10
    # the file of the memory is replaced by an earlier one: its cursors are of a later one
    (tmp_path / "m.db").unlink()
    for extra in tmp_path.glob("m.db-*"):
        if extra.is_file():
            extra.unlink()
    backup.rename(tmp_path / "m.db")
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        assert imported(memory, place, cursors=True).added == 1


def watching(
    memory: Memory, place: Path, done: list[ImportedFiles], said_: list[str]
) -> ImportWatch:
    return ImportWatch(
        memory.store,
        memory.identity,
        ImportOptions(project_of=lambda _: "p"),
        cursors=Cursors(imports_folder(Path(memory.store.path)), {}),
        places=[place],
        stop=Event(),
        every_s=0.01,
        report=done.append,
        failed=said_.append,
    )


def test_watch_imports_what_is_appended_replaced_and_new(tmp_path: Path) -> None:
    place = tmp_path / "h"
    done: list[ImportedFiles] = []
    failed: list[str] = []
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        watch = watching(memory, place, done, failed)
        watch.once()
        watch.once()
        assert len(failed) == 1 and "not" in failed[0] and not done
        file = lines(place / "s1.jsonl", code_line("One."), code_line("Two."))
        (place / "notes.jsonl").write_text("nothing\n")
        watch.once()
        with file.open("a") as more:
            more.write(json.dumps(code_line("Three.")) + "\n")
        watch.once()
        lines(file, code_line("Of another session.", session="s9"))
        lines(place / "s2.jsonl", code_line("New.", session="s2"))
        watch.once()
        watch.once()
        assert [one.added for one in done] == [2, 1, 2]
        # what was undone meanwhile is not done again
        for change in reversed([change for one in done for change in one.changes]):
            memory.undo(change)
        watch.once()
        assert said(memory) == [] and len(done) == 3


def test_one_process_watches_and_stops_when_it_is_asked(tmp_path: Path) -> None:
    place = tmp_path / "h"
    lines(place / "s1.jsonl", code_line("One."))
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        done: list[ImportedFiles] = []
        failed: list[str] = []
        watch = watching(memory, place, done, failed)
        with lease(memory.store, JOB):
            with pytest.raises(BusyError):
                watch.once()
            thread = Thread(target=watch.run)
            thread.start()
            while not failed:  # it waits for the lease
                time.sleep(0.01)
            assert not done
        while not done:
            time.sleep(0.01)
        watch._stop.set()
        thread.join()
        with lease(memory.store, JOB):  # it gave the lease back
            pass


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_watch_loses_nothing_and_sigterm_ends_it(tmp_path: Path) -> None:
    place, db = tmp_path / "h", tmp_path / "m.db"
    many = 3_000  # six batches, so that the first is killed long before the last
    lines(place / "s1.jsonl", *(code_line(f"Number {n}.", at=n) for n in range(many)))
    words = ("watch", str(place), "-p", "p", "--every", "0.1", "--db", str(db), "--json")
    environ = {**os.environ, "DOXA_EMBEDDER": "none", "XDG_CONFIG_HOME": str(tmp_path)}

    def started() -> subprocess.Popen[str]:
        return subprocess.Popen(
            (sys.executable, "-m", "doxa.cli", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )

    first = started()
    cursors = imports_folder(db)
    while not any(cursors.glob("*.json")):  # it is in the middle
        assert first.poll() is None, first.communicate()
        time.sleep(0.005)
    first.kill()
    assert first.communicate()[0] == "", "it had read everything before it was killed"
    with opened(db, embedder=None, project="p") as memory:
        memory.store.save_cursor(f"lease/{JOB}", 1, back=True)  # as if its time had passed
    second = started()
    assert second.stdout is not None
    found = json.loads(second.stdout.readline())
    with (place / "s1.jsonl").open("a") as file:
        file.write(json.dumps(code_line("The last.")) + "\n")
    assert json.loads(second.stdout.readline())["added"] == 1
    second.terminate()
    out, err = second.communicate(timeout=60)
    assert (second.returncode, out) == (0, ""), err
    assert 0 < found["added"] < many and "Traceback" not in err
    with opened(db, embedder=None, project="p") as memory:
        assert len(said(memory)) == many + 1
        assert check(memory.store) == []
        with lease(memory.store, JOB):
            pass
