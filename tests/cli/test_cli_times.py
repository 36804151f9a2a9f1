"""Timelines and sparklines: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from doxa.base.clock import FakeClock
from doxa.cli.pictures import sparkline as pictures
from doxa.cli.pictures.sparkline import timeline
from doxa.cli.pictures.times import with_days, with_revisions
from tests.fixtures_shared import opened

DAY_NS = 86_400 * 10**9


def on_a_terminal(*arguments: str) -> str:
    """What a command of doxa prints on a terminal."""
    ours, theirs = pty.openpty()
    shown = b""
    command = [sys.executable, "-m", "doxa.cli", *arguments]
    given = os.environ | {"TERM": "xterm", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(command, stdout=theirs, env=given) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return shown.decode()


def elsewhere(*arguments: str) -> str:
    command = [sys.executable, "-m", "doxa.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_pictures_are_for_terminals(tmp_path: Path) -> None:
    db, folder, clock = str(tmp_path / "m.db"), str(tmp_path / "b"), FakeClock()
    with opened(Path(db), clock=clock) as memory:
        kref = memory.remember("Ana likes tea.", name="ana", kind="fact").kref.partition("?")[0]
        for at in range(3):
            clock.advance(seconds=86_400 * (at + 1))
            memory.revise(kref, f"Ana likes drink number {at}.")
    for _ in range(2):
        elsewhere("backups", "run", folder, "--every", "0", "--db", db)
    for command, text in (
        (("history", kref, "--db", db), "  r=4 "),
        (("log", "--db", db), "changes a day from "),
        (("backups", "list", folder), "  size, from "),
    ):
        shown = on_a_terminal(*command)
        assert text in shown and "█" in shown, shown
        plain = elsewhere(*command)
        assert "█" not in plain and plain.strip() in shown.replace("\r\n", "\n")
        assert "█" not in on_a_terminal(*command, "--json")


def test_a_timeline_has_each_span_where_it_was() -> None:
    assert timeline([(0, 5), (5, 10)], 10) == ["█████·····", "·····█████"]
    assert timeline([(0, 0), (0, 100), (100, 100)], 4) == ["█···", "████", "···█"]
    assert timeline([(7, 7)], 3) == ["█··"] and timeline([], 3) == []
    for spans in ([(at, at + 3) for at in range(0, 90, 7)], [(1, 2), (1, 10**18)]):
        assert all(len(line) == 11 and "█" in line for line in timeline(spans, 11))


def test_what_has_no_course_has_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.sys, "stdout", SimpleNamespace(encoding="utf-8", isatty=lambda: 1))
    one = SimpleNamespace(number=1, created=DAY_NS, status="current")
    assert with_revisions("text", SimpleNamespace(revisions=[one])) == "text"
    gone = SimpleNamespace(number=2, created=2 * DAY_NS, status="retired")
    drawn = with_revisions("text", SimpleNamespace(revisions=[gone, one])).splitlines()
    assert drawn[2].split() == ["r=1", "█" * 48] and drawn[3].endswith("·█")
    assert drawn[4].split() == ["1970-01-02", "1970-01-03"]
    rows = [{"time": day * DAY_NS} for day in (1, 1, 4)]
    assert with_days("", rows[:2]) == ""
    assert with_days("", rows).startswith("\n\n█▁▁▅  changes a day from 1970-01-02 to 1970-01-05")
    monkeypatch.setattr(pictures.sys, "stdout", SimpleNamespace(encoding="ascii", isatty=lambda: 1))
    assert with_days("", rows) == ""
