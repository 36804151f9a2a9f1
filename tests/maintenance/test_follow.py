"""A log followed over a command: the real one at both ends of real pipes, cut in the middle, given
bad bytes, and refused."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

import doxa
from doxa.app import Memory
from doxa.app.care.copies import Pipe, receive_into, send_log
from doxa.base.limits import FOLLOW_FRAME_BYTES_MAX
from doxa.replication import shipping
from doxa.replication.shipping import Hello, Refused
from doxa.store import digest
from doxa.store.chain.chain_file import ChainFile
from tests.fixtures_shared import opened

SECRET = "xylophone"
DOXA = [sys.executable, "-m", "doxa.cli"]
# Passes on what it reads, at most so many bytes; then it kills the program that gets them.
CUT = """
import os, signal, subprocess, sys
left = int(sys.argv[1])
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
while left:
    found = os.read(0, min(left, 65536))
    if not found:
        child.stdin.close()
        sys.exit(child.wait())
    child.stdin.write(found)
    child.stdin.flush()
    left -= len(found)
child.send_signal(signal.SIGKILL)
sys.exit(child.wait())
"""


def receiving(folder: Path, *before: str) -> str:
    return shlex.join([*before, *DOXA, "follow", "--receive", str(folder)])


def follow(db: Path, command: str, *, exit: int = 0) -> Any:
    """Run `doxa follow --to` once; return its line or its error."""
    done = subprocess.run(
        [*DOXA, "follow", "--to", command, "--once", "--json", "--db", str(db)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == exit, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout if exit == 0 else done.stderr.splitlines()[-1])


def filled(path: Path, *, changes: int = 12, bytes_each: int = 0) -> Memory:
    memory = opened(path)
    for at in range(changes):
        memory.remember(f"Thing {at} is here.", name=f"n{at}", kind="fact")
        if bytes_each:
            memory.run("CREATE (:Big {text: $text})", {"text": f"{at} " * (bytes_each // 2)})
    return memory


def rows_of(db: apsw.Connection) -> list[list[Any]]:
    tables = ("receipt", "log", "log_payload")
    return [db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]


def shipped_rows(path: Path) -> list[list[Any]]:
    with ChainFile(path, read_only=True) as chain:
        return rows_of(chain.db)


def assert_prefix(path: Path, memory: Memory) -> int:
    """What was shipped is the beginning of the log, in whole changes; return how many."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with ChainFile(path) as chain:  # a killed writer leaves a journal, which is rolled back
        if not chain.db.execute("SELECT count(*) FROM sqlite_schema").get:
            return 0
        found = rows_of(chain.db)
        number, _ = chain.last
    for ours, theirs in zip(rows_of(memory.store.connection()), found, strict=True):
        assert theirs == ours[: len(theirs)]
    last = found[0][-1][7] if found[0] else 0
    assert len(found[0]) == number and len(found[1]) == last
    return number


# Over a command


def test_a_log_is_shipped_over_a_command_and_goes_on(tmp_path: Path) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "second"
    with filled(db) as memory:
        first = follow(db, receiving(folder))
        assert first["changes"] == first["change"] == memory.store.last_transaction()
        assert first["path"].endswith(f":{folder / 'm.chain'}")
        assert follow(db, receiving(folder))["changes"] == 0
        kref = memory.remember(f"Ana plays the {SECRET}.", name="music").kref
        assert follow(db, receiving(folder))["changes"] == 1
        assert SECRET.encode() in (folder / "m.chain").read_bytes()
        assert shipped_rows(folder / "m.chain") == rows_of(memory.store.connection())
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
        assert follow(db, receiving(folder))["erased"] > 0
        assert SECRET.encode() not in (folder / "m.chain").read_bytes()
        assert shipped_rows(folder / "m.chain") == rows_of(memory.store.connection())
        proof = memory.verify_erased(text=SECRET)
        (remote,) = [one for one in proof.traces if one.place.startswith("remote ")]
        assert remote.state == "unknown" and not proof.complete and proof.erased
        state = digest(memory.store)
    new = tmp_path / "new.db"
    subprocess.run([*DOXA, "restore-backup", folder, new], check=True, capture_output=True)
    with opened(new, read_only=True) as copy:
        assert digest(copy.store) == state
    assert (folder.stat().st_mode & 0o777) == 0o700
    assert ((folder / "m.chain").stat().st_mode & 0o777) == 0o600


def test_a_fork_is_refused_by_name(tmp_path: Path) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "second"
    with filled(db, changes=2) as memory:
        memory.backup(tmp_path / "copy.db")
        memory.remember("Bob likes coffee.")
    follow(db, receiving(folder))
    before = (folder / "m.chain").read_bytes()
    db.unlink()
    (tmp_path / "copy.db").rename(db)
    error = follow(db, receiving(folder), exit=4)["error"]
    assert "does not continue the log" in error["message"] and str(folder) in error["message"]
    assert (folder / "m.chain").read_bytes() == before


@pytest.mark.parametrize("seed", range(3))
def test_a_receiver_killed_anywhere_loses_nothing(tmp_path: Path, seed: int) -> None:
    choices = random.Random(seed)
    db, folder = tmp_path / "m.db", tmp_path / "second"
    (tmp_path / "cut.py").write_text(CUT)
    chain, kept = folder / "m.chain", [0]
    with filled(db, changes=16, bytes_each=300_000) as memory:
        last = memory.store.last_transaction()
        for _ in range(4):
            cut = (sys.executable, str(tmp_path / "cut.py"), str(choices.randrange(2_000_000)))
            with suppress(doxa.UnreachableError):
                send_log(memory.store, receiving(folder, *cut))
            kept.append(assert_prefix(chain, memory))
        assert kept == sorted(kept) and any(0 < one < last for one in kept), kept
        assert follow(db, receiving(folder))["change"] == last
        assert shipped_rows(chain) == rows_of(memory.store.connection())


@pytest.mark.parametrize("seed", range(3))
def test_a_sender_killed_anywhere_loses_nothing(tmp_path: Path, seed: int) -> None:
    choices = random.Random(seed)
    db, folder = tmp_path / "m.db", tmp_path / "second"
    with filled(db, changes=20, bytes_each=300_000) as memory:
        for _ in range(4):
            command = [*DOXA, "follow", "--to", receiving(folder), "--every", "1", "--db", str(db)]
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(choices.uniform(0.2, 2.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = None
        until = time.monotonic() + 30
        while done is None and time.monotonic() < until:
            # the receiver of a killed sender may still write what it has read
            with suppress(doxa.ConflictError, doxa.StoreError):
                done = send_log(memory.store, receiving(folder))
        assert done is not None and done.shipped.change == memory.store.last_transaction()
        assert shipped_rows(folder / "m.chain") == rows_of(memory.store.connection())


def test_a_change_larger_than_a_frame_comes_in_pieces(tmp_path: Path) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "second"
    text = "a" * 900_000
    with opened(db) as memory:
        rows = [{"text": text + str(at), "more": text, "other": text} for at in range(4)]
        memory.run("UNWIND $rows AS r CREATE (n:Big) SET n = r", {"rows": rows})
        size = memory.store.connection().execute("SELECT max(length(payload)) FROM log_payload").get
        assert size > 2 * FOLLOW_FRAME_BYTES_MAX
        send_log(memory.store, receiving(folder))
        assert shipped_rows(folder / "m.chain") == rows_of(memory.store.connection())


def test_two_shipments_at_once_leave_one_log(tmp_path: Path) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "second"
    with filled(db, changes=30, bytes_each=100_000) as memory:
        command = [*DOXA, "follow", "--to", receiving(folder), "--once", "--db", str(db)]
        both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
        said = [one.communicate(timeout=120)[1].decode() for one in both]
        codes = sorted(one.returncode for one in both)
        assert codes[0] == 0 and codes[1] in (0, 4), said
        if codes[1]:
            assert any("Another shipment writes" in one for one in said)
        assert shipped_rows(folder / "m.chain") == rows_of(memory.store.connection())


def test_a_machine_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    """A long-running follower outlives a connection that fails."""
    db, folder, up = tmp_path / "m.db", tmp_path / "second", tmp_path / "up"
    script = tmp_path / "line.sh"
    script.write_text(f"#!/bin/sh\n[ -e {up} ] || exit 255\nexec {receiving(folder)}\n")
    script.chmod(0o700)
    with filled(db, changes=3) as memory:
        process = subprocess.Popen(
            [*DOXA, "follow", "--to", str(script), "--every", "1", "--json", "--db", str(db)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr and process.stdout
        error = json.loads(process.stderr.readline())["error"]
        assert error["code"] == "unreachable" and "255" in error["message"]
        up.touch()
        shipped = json.loads(process.stdout.readline())
        while not shipped["change"]:
            shipped = json.loads(process.stdout.readline())
        assert shipped["change"] == memory.store.last_transaction()
        memory.remember("Bob likes coffee.")
        assert json.loads(process.stdout.readline())["changes"] == 1
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 0


# Bad bytes, and what is refused


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("echo Welcome to this machine", 5, "'Welcome to this machine'"),
        ("cat", 5, "cannot be read as a message"),
        ("false", 5, "ended before the shipment did. Its exit code was 1"),
        ("printf 'doxa-follow 1\\n\\377\\377\\377\\377'", 5, "a frame that claims"),
        ("printf 'doxa-follow 1\\n\\200\\000\\000\\000'", 5, "an empty frame"),
        ("printf 'doxa-follow 2\\n'", 5, "'doxa-follow 2'"),
        ("no-such-program-here", 2, "is not there"),
        ("'unclosed", 2, "cannot be split"),
        ("''", 2, "names no program"),
    ],
)
def test_a_command_that_is_not_doxa_gets_a_plain_error(
    tmp_path: Path, command: str, code: int, text: str
) -> None:
    filled(tmp_path / "m.db", changes=1).close()
    error = follow(tmp_path / "m.db", command, exit=code)["error"]
    assert text in error["message"] and error["next_step"]


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    filled(tmp_path / "m.db", changes=1).close()
    made = tmp_path / "made"
    error = follow(tmp_path / "m.db", f"echo $(touch {made}); touch {made}", exit=5)["error"]
    assert "$(touch" in error["message"] and not made.exists()


@pytest.mark.parametrize(
    "given",
    [[], ["f", "--to", "cat"], ["--receive"], ["f", "--receive", "--to", "cat"]],
    ids=["nothing", "both", "no folder", "all"],
)
def test_one_place_is_named(tmp_path: Path, given: list[str]) -> None:
    done = subprocess.run([*DOXA, "follow", *given], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "ships to one place" in done.stderr


def test_silence_ends_a_shipment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "FOLLOW_SILENCE_S", 1)
    monkeypatch.setattr(shipping, "_END_S", 0.2)
    silent = shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])
    with (
        filled(tmp_path / "m.db", changes=1) as memory,
        pytest.raises(doxa.UnreachableError, match="was silent for 1 s"),
    ):
        send_log(memory.store, silent)


def recorded(memory: Memory, folder: Path) -> bytes:
    """What a sender writes to a receiver that has nothing."""
    script = "import subprocess, sys; tee = subprocess.Popen(['tee', sys.argv[1]], stdin=0,"
    script += " stdout=subprocess.PIPE); sys.exit(subprocess.call(sys.argv[2:], stdin=tee.stdout))"
    tee = (sys.executable, "-c", script, str(folder / "stream"))
    send_log(memory.store, receiving(folder / "recorded", *tee))
    return (folder / "stream").read_bytes()


def take(stream: bytes, folder: Path) -> doxa.DoxaError | None:
    """Give bytes to a receiver, as they would come over a pipe; return its error."""
    (folder.parent / "given").write_bytes(stream)
    reading = os.open(folder.parent / "given", os.O_RDONLY)
    writing = os.open(os.devnull, os.O_WRONLY)
    try:
        receive_into(folder, Pipe(reading, writing, who="The sender"))
    except doxa.DoxaError as error:
        assert error.message and error.next_step
        return error
    finally:
        os.close(reading)
        os.close(writing)
    return None


def test_any_bytes_are_taken_or_refused(tmp_path: Path) -> None:
    """A stream with bytes changed, lost, doubled or cut: what lies in the folder afterwards is
    always a beginning of the log."""
    choices = random.Random(1)
    with filled(tmp_path / "m.db", changes=6) as memory:
        stream = recorded(memory, tmp_path)
        assert take(stream, tmp_path / "whole") is None
        assert shipped_rows(tmp_path / "whole" / "m.chain") == rows_of(memory.store.connection())
        refused = 0
        for at in range(300):
            changed, place = bytearray(stream), choices.randrange(len(stream))
            what = choices.randrange(4)
            if what == 0:
                changed[place] ^= 1 << choices.randrange(8)
            elif what == 1:
                del changed[place : place + choices.randrange(1, 100)]
            elif what == 2:
                changed[place:place] = changed[place : place + choices.randrange(1, 100)]
            else:
                del changed[place:]
            folder = tmp_path / f"f{at}"
            refused += take(bytes(changed), folder) is not None
            for one in folder.glob("*"):
                assert one.suffix in (".chain", ".chain-journal")
                assert_prefix(one, memory)
        assert refused > 250


@pytest.mark.parametrize("name", ["../m", "a/b", "", ".", "..", "a\0b", "x\n", "y" * 300])
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    reading, writing = os.pipe()
    Pipe(-1, writing, who="x").send(Hello(name))
    os.close(writing)
    with pytest.raises(doxa.InputError, match="not the name of a file"):
        receive_into(tmp_path / "second", Pipe(reading, -1, who="The sender"))
    os.close(reading)
    assert not (tmp_path / "second").exists()


def test_what_the_other_end_says_moves_no_cursor(tmp_path: Path) -> None:
    answer = shipping._PREAMBLE
    data = shipping._ENCODER.encode(Refused("conflict", "\x1b[2J\nGone\u202e away.", "\x07Wait."))
    (tmp_path / "answer").write_bytes(answer + len(data).to_bytes(4, "big") + data)
    filled(tmp_path / "m.db", changes=1).close()
    error = follow(tmp_path / "m.db", f"cat {tmp_path / 'answer'}", exit=4)["error"]
    assert error["message"] == "The other end refused: [2J Gone away."
    assert error["next_step"] == "Wait."


# Erasures


def test_an_erasure_whose_shipment_was_cut_comes_with_the_next(tmp_path: Path) -> None:
    """Nothing else has to change in between."""

    def cut(_: int) -> None:
        raise RuntimeError("cut")

    path = tmp_path / "c.chain"
    with filled(tmp_path / "m.db", changes=2) as memory, ChainFile(path) as chain:
        kref = memory.remember(f"Ana plays the {SECRET}.", name="music").kref
        chain.ship(memory.store)
        shown = memory.forget(kref, erase=True, preview=True)
        memory.forget(kref, erase=True, confirm=shown.token)
        with pytest.raises(RuntimeError, match="cut"):
            chain.ship(memory.store, progress=cut)
        assert SECRET.encode() in path.read_bytes()
        assert chain.ship(memory.store).erased > 0
        assert SECRET.encode() not in path.read_bytes()
        assert chain.ship(memory.store)[:3] == (0, 0, 0)
