"""Changed bytes anywhere in the file or its write-ahead log: opening, `verify` and `doctor` find
them, each with its place and a next step, or the change is harmless. None leads to a traceback.

A run prints its seed; set DOXA_SEED to make the same choices again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from typer.testing import CliRunner

from doxa.app import open_memory
from doxa.cli import app
from doxa.store import Store, check
from tests.adversary.damage import KINDS, build, change, examine, rows

CHANGES, LOG_CHANGES, COMMANDS = 70, 30, 7
# A number of a vector is stored once, and derived from the text: it can be made again, not checked.
# A block as of an earlier change, or of another set of vectors, is not used and made again.
DERIVED = ("vector", "block_state")


def write(path: Path, data: bytes, log: bytes = b"") -> None:
    for end in ("-wal", "-shm", "-queue"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.write_bytes(data)
    if log:
        Path(f"{path}-wal").write_bytes(log)


def test_changes_of_the_file_are_found_or_harmless(
    tmp_path: Path, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    good, changed = tmp_path / "good.db", tmp_path / "changed.db"
    build(good)
    data, before = good.read_bytes(), rows(good)
    write(changed, data)
    assert examine(changed, before).name == "harmless"
    counts: Counter[str] = Counter()
    for number in range(CHANGES * campaign):
        rng = random.Random(seed + number)
        now = bytearray(data)
        where = change(now, rng, KINDS[number % len(KINDS)])
        write(changed, bytes(now))
        outcome = examine(changed, before)
        counts[outcome.name] += 1
        assert outcome.name != "missed" or outcome.said in DERIVED, (seed + number, where, outcome)
    tally(changes=sum(counts.values()), **counts)
    assert counts["found"] > CHANGES * campaign / 4


@pytest.mark.parametrize(
    "change",
    [
        "type = CAST('index' AS BLOB) WHERE name = 'edge_past_in'",
        "type = CAST('table' AS BLOB) WHERE name = 'doc'",
        "tbl_name = CAST(tbl_name AS BLOB) WHERE name = 'edge_past_in'",
        "sql = replace(sql, 'the log', 'the\"log') WHERE name = 'log_is_kept'",
        "sql = replace(sql, 'append-only', 'append_next-only') WHERE name = 'log_is_kept'",
        "sql = replace(sql, 'append-only', 'append -only') WHERE name = 'log_is_kept'",
    ],
)
def test_a_changed_entry_of_the_schema_is_found(tmp_path: Path, change: str) -> None:
    """The engine opens a file with these as if nothing was."""
    path = tmp_path / "a.db"
    build(path)
    before = rows(path)
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "delete")
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.pragma("writable_schema", 1)
    db.execute(f"UPDATE sqlite_schema SET {change}")
    assert db.changes() == 1
    db.close()
    outcome = examine(path, before)
    assert outcome.name == "found", outcome


def test_changes_of_the_log_leave_an_earlier_commit_or_are_found(
    tmp_path: Path, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    """The engine ends a write-ahead log at the first frame that does not fit its checksum, as after
    a crash: what is read then is the state of an earlier commit, whole."""
    good, changed = tmp_path / "good.db", tmp_path / "changed.db"
    build(good)
    heads, data, log = [], b"", b""
    with open_memory(good, role="operator", embedder=None, background=False) as memory:
        data = good.read_bytes()
        heads.append(memory.verify().head)
        for number in range(5):
            memory.remember(f"what is still in the log {number}", name=f"late-{number}")
            heads.append(memory.verify().head)
        log = Path(f"{good}-wal").read_bytes()
    assert len(log) > 20_000
    for number in range(LOG_CHANGES * campaign):
        rng = random.Random(seed + number)
        now = bytearray(log)
        where = change(now, rng, ("bit", "byte", "run", "zeros")[number % 4])
        write(changed, data, bytes(now))
        with open_memory(changed, read_only=True, embedder=None, background=False) as memory:
            wrong = [one for one in memory.doctor() if not one.ok]
            assert [one.name for one in wrong if one.name not in ("vectors", "file")] == [], where
            assert memory.verify().head in heads, (seed + number, where)
    tally(changes_of_the_log=LOG_CHANGES * campaign)


@pytest.mark.parametrize("command", ["verify", "doctor"])
def test_the_commands_end_without_a_traceback(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    good, changed = tmp_path / "good.db", tmp_path / "changed.db"
    build(good)
    data, before = good.read_bytes(), rows(good)
    for number in range(COMMANDS * 3):
        now = bytearray(data)
        where = change(now, random.Random(number), KINDS[number % len(KINDS)])
        write(changed, bytes(now))
        found = examine(changed, before).name == "found"
        write(changed, bytes(now))
        result = CliRunner().invoke(app, [command, "--db", str(changed)])
        assert result.exception is None or isinstance(result.exception, SystemExit), where
        assert changed.read_bytes() == bytes(now), f"{command} changed the file it examines"
        if found and command == "doctor":
            assert result.exit_code, (where, result.output)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE node SET labels = 'no list' WHERE id = (SELECT max(id) FROM node)",
        "UPDATE catalogue SET value = x'ff' WHERE name LIKE 'guard:%'",
        "UPDATE catalogue SET value = jsonb('7') WHERE name LIKE 'search:%'",
        "UPDATE token SET text = CAST(x'ff' AS TEXT) WHERE id = (SELECT max(id) FROM token)",
        "UPDATE receipt SET time = 'noon'",
        "UPDATE posting_new SET data = x'01'",
        "DELETE FROM meta",
        "UPDATE migration SET name = 'other' WHERE name = (SELECT max(name) FROM migration)",
        "INSERT INTO cursor VALUES('agent/*/x', 1000000000)",  # beyond the end of the log
        "ALTER TABLE edge_past RENAME COLUMN until TO ended",
    ],
)
def test_planted_damage_is_a_finding_with_a_place(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "a.db"
    build(path)
    before = rows(path)
    db = apsw.Connection(str(path))
    db.execute(sql)
    db.close()
    outcome = examine(path, before)
    assert outcome.name == "found", outcome


def test_each_check_that_cannot_read_ends_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    build(path)
    db = apsw.Connection(str(path))
    db.execute("UPDATE node SET labels = 'no list' WHERE id = (SELECT max(id) FROM node)")
    db.execute("UPDATE doc SET live = 1 - live")
    db.execute("UPDATE receipt SET time = 1 WHERE tx = 3")
    db.close()
    with Store(path, read_only=True) as store:
        problems = check(store)
    assert any("cannot be read at" in problem for problem in problems)
    assert any("out of time" in problem for problem in problems)
