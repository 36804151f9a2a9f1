"""`doxa status`, and the small pictures in its lines."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.app.care.growth import WEEKS
from doxa.base.clock import FakeClock
from doxa.cli import app
from doxa.cli.pictures.sparkline import bar, sized, sparkline
from doxa.maintenance.backups import LIST, make_backup
from tests.fixtures_shared import opened


def test_the_parts_are_the_file_and_the_weeks_are_the_log(tmp_path: Path) -> None:
    clock = FakeClock(10**18)
    with opened(tmp_path / "m.db", clock=clock) as memory:
        kref = memory.remember("Ana likes tea.", name="ana", kind="fact").kref.partition("?")[0]
        clock.advance(days=20)
        for at in range(20):
            memory.revise(kref, f"Ana likes drink number {at}.")
        clock.advance(days=8)
        memory.run("CREATE (:A)")
        memory.store.connection().wal_checkpoint()
        found = memory.growth()
        last = memory.stats()["log_entries"]
    assert sum(part.bytes for part in found.parts) + found.free_bytes == found.bytes
    assert len(found.weeks) == WEEKS and sum(found.weeks) == last
    revised, queried = found.weeks[-2:]
    assert revised > queried > 0
    assert found.operations[0][0] == "revise"
    used, entries = found.bytes - found.free_bytes, sum(found.weeks[-4:])
    assert found.bytes_per_week == pytest.approx(used / last * entries / 4, abs=1)
    assert (found.epoch, found.copy_of, found.backup_age_s) == (0, "", None)
    assert found.backup is None


def test_the_command_says_what_grows_and_what_would_trim_it(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    with opened(db) as memory:
        memory.remember("Ana likes tea.")
        memory.backup(tmp_path / "copy.db")
    said = CliRunner().invoke(app, ["status", "--db", str(db)])
    assert said.exit_code == 0, said.output
    for text in (
        "last backup: 0.0 days ago, not tested by a restore",
        "log contents",
        "trim: a retention policy",
        "a week",
    ):
        assert text in said.stdout
    found = json.loads(CliRunner().invoke(app, ["status", "--db", str(db), "--json"]).stdout)
    assert found["stats"]["items"] == 1 and len(found["weeks"]) == WEEKS
    copied = CliRunner().invoke(app, ["status", "--db", str(tmp_path / "copy.db")])
    assert "a copy (backup); its first change begins an epoch" in copied.stdout
    with opened(tmp_path / "copy.db") as memory:
        memory.remember("Bob likes coffee.")
    again = CliRunner().invoke(app, ["status", "--db", str(tmp_path / "copy.db")])
    assert "epoch 1" in again.stdout


def test_the_last_backup_is_told_with_what_its_restore_test_found(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana likes tea.")
        made, _ = make_backup(
            memory.store, folder, note=partial(memory.store.note_copy, kind="backup")
        )
        found = memory.growth().backup
        assert found is not None and (found.name, found.change) == (made.path, made.change)
        assert (found.exists, found.tested, found.problem) == (True, True, "")
        listed = folder / LIST
        listed.write_text(json.dumps(asdict(replace(made, problem="a page is damaged"))))
        failed = memory.growth().backup
        assert failed is not None and failed.problem == "a page is damaged"
        (folder / made.path).unlink()
        gone = memory.growth().backup
        assert gone is not None and not gone.exists and not gone.tested
    said = CliRunner().invoke(app, ["status", "--db", str(tmp_path / "m.db")])
    assert "and is not there any more" in said.stdout


def test_small_pictures() -> None:
    assert sparkline([0, 1, 50, 100]) == "▁▂▅█" and sparkline([]) == "" and sparkline([0]) == "▁"
    assert bar(8, 8, 4) == "████" and bar(1, 16, 4) == "▎" and bar(0, 8, 4) == ""
    assert bar(1, 10**9, 4) == "▏"
    assert [sized(one) for one in (0, 999, 1_000, 2_500_000)] == [
        "0 bytes",
        "999 bytes",
        "1.0 KB",
        "2.5 MB",
    ]
