"""`doxa events` and `doxa on` as processes, and consumers that are killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import doxa

DOXA = [sys.executable, "-m", "doxa.cli"]
COLLECT = """
import json, os, sys
event = json.load(sys.stdin)
assert event["id"] == os.environ["DOXA_EVENT_ID"] and event["name"] == os.environ["DOXA_EVENT"]
assert os.environ["DOXA_KREF"] == event["kref"] and os.environ["DOXA_DB"] == sys.argv[2]
with open(sys.argv[1], "a") as out:
    out.write(event["id"] + chr(10))
"""


def write(path: Path, start: int, count: int) -> None:
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        for number in range(start, start + count):
            memory.remember(f"Statement {number}", project="shop", name=f"s{number}")


def created(path: Path) -> list[str]:
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        return [one.id for one in memory.events(names=["revision.created"])]


def on(path: Path, *command: str, options: tuple[str, ...] = ()) -> list[str]:
    given = ["--db", str(path), "--cursor", "c", "--since", "beginning", *options]
    return [*DOXA, "on", "revision.created", *given, "--", *command]


def until(holds: object, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.02)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_command_is_run_for_each_event_also_for_those_of_other_processes(tmp_path: Path) -> None:
    db, out = tmp_path / "m.db", tmp_path / "out"
    write(db, 0, 2)
    command = on(db, sys.executable, "-c", COLLECT, str(out), str(db))
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        until(lambda: len(lines(out)) == 2, process)
        write(db, 2, 2)
        until(lambda: len(lines(out)) == 4, process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert lines(out) == created(db)


def test_a_failing_command_stops_before_its_event(tmp_path: Path) -> None:
    db, out = tmp_path / "m.db", tmp_path / "out"
    write(db, 0, 3)
    second = created(db)[1]
    script = (
        "import os, sys; event = os.environ['DOXA_EVENT_ID'];"
        f"sys.exit(3) if event == {second!r} else open(sys.argv[1], 'a').write(event + chr(10))"
    )
    once = ("--once", "--retries", "0", "--json")
    done = subprocess.run(
        on(db, sys.executable, "-c", script, str(out), options=once),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert "exited with 3" in error["message"]
    assert f"doxa set-cursor c --after {second}" in error["next_step"]
    assert lines(out) == created(db)[:1]
    skip = [*DOXA, "set-cursor", "c", "--after", second, "--db", str(db)]
    subprocess.run(skip, check=True, capture_output=True)
    subprocess.run(
        on(db, sys.executable, "-c", script, str(out), options=once),
        capture_output=True,
        check=True,
    )
    assert lines(out) == [created(db)[0], created(db)[2]]


def test_nothing_of_an_event_reaches_a_shell(tmp_path: Path) -> None:
    db, out = tmp_path / "m.db", tmp_path / "out"
    write(db, 0, 1)
    command = on(db, "touch", f"{out}; touch {out}2", options=("--once",))
    assert subprocess.run(command, capture_output=True, check=False).returncode in (0, 5)
    assert not (tmp_path / "out2").exists()


CONSUMER = """
import sys, doxa
with doxa.open(sys.argv[1], role="operator", embedder=None, background=False) as memory:
    with memory.events(cursor="c") as stream, open(sys.argv[2], "a") as out:
        for event in stream:
            out.write(event.id + chr(10))
            out.flush()
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_consumer_killed_at_random_points_loses_nothing(tmp_path: Path, seed: int) -> None:
    """With writers of two processes meanwhile."""
    db, out = tmp_path / "m.db", tmp_path / "out"
    write(db, 0, 40)
    draw = random.Random(seed)
    writers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; from pathlib import Path;"
                " from tests.events.test_on_event import write;"
                f" write(Path(sys.argv[1]), {start}, 40)",
                str(db),
            ]
        )
        for start in (1_000, 2_000)
    ]
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", CONSUMER, str(db), str(out)])
        seen = len(lines(out))
        wanted = seen + draw.randrange(1, 60)
        while process.poll() is None and len(lines(out)) < wanted:
            time.sleep(0.001)
        process.kill()
        process.wait()
    for writer in writers:
        assert writer.wait(60) == 0
    subprocess.run([sys.executable, "-c", CONSUMER, str(db), str(out)], check=True)
    with doxa.open(db, role="operator", embedder=None, background=False) as memory:
        whole = [one.id for one in memory.events()]
    found = lines(out)
    assert list(dict.fromkeys(found)) == whole  # all of them, first deliveries in order
    assert len(whole) > 380


def test_the_events_command_prints_a_line_for_each(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    write(db, 0, 2)
    given = [*DOXA, "events", "--name", "revision.*", "--json", "--db", str(db)]
    done = subprocess.run(given, capture_output=True, check=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in found] == ["revision.created", "revision.tagged"] * 2
    assert [one["id"] for one in found if one["name"] == "revision.created"] == created(db)
    follow = subprocess.Popen([*given, "--follow"], stdout=subprocess.PIPE, text=True)
    assert follow.stdout is not None
    try:
        for wanted in found:
            assert json.loads(follow.stdout.readline()) == wanted
        write(db, 2, 1)
        assert json.loads(follow.stdout.readline())["name"] == "revision.created"
    finally:
        follow.send_signal(signal.SIGINT)
        follow.communicate(timeout=30)
