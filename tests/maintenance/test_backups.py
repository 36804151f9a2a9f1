"""Backups on a schedule: each restored once, kept by a rule."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.base.clock import FakeClock, format_time
from doxa.base.errors import DiskFullError, StoreError
from doxa.cli import app
from doxa.maintenance.backups import (
    LIST,
    Backup,
    KeepRule,
    _append,
    backups_in,
    kept,
    make_backup,
)
from doxa.store import digest
from doxa.store.chain.epochs import epochs_in
from tests.fixtures_shared import largest_file, opened

DAY_NS = 86_400 * 10**9
START = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()) * 10**9


def backup_at(day: float, *, problem: str = "") -> Backup:
    return Backup(f"m-{day}.db", START + int(day * DAY_NS), 1, "00", 1, problem)


def test_the_newest_and_one_of_each_day_and_week_are_kept() -> None:
    many = [backup_at(hour / 6) for hour in range(6 * 60)]  # 60 days, six a day
    rule = KeepRule(last=3, days=5, weeks=4)
    found = sorted((one for one in many if one.path in kept(many, rule)), key=lambda one: -one.time)
    moments = [datetime.fromtimestamp(one.time / 1e9, UTC) for one in found]
    assert [one.path for one in found[:3]] == [one.path for one in reversed(many[-3:])]
    newest = moments[0]
    days = {moment.date() for moment in moments}
    assert {newest.date() - timedelta(days=back) for back in range(5)} <= days
    assert len({moment.isocalendar()[:2] for moment in moments}) == 4
    # the newest of the day is the one that is kept
    for moment in moments[3:]:
        assert not any(
            other > moment and other.date() == moment.date()
            for other in (datetime.fromtimestamp(one.time / 1e9, UTC) for one in many)
            if other.date() != newest.date()
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_good_one_is_always_kept_and_no_rule_loses_what_a_wider_one_keeps(seed: int) -> None:
    choices = random.Random(seed)
    many = [
        backup_at(choices.uniform(0, 100), problem=choices.choice(("", "", "broken")))
        for _ in range(choices.randrange(1, 40))
    ]
    narrow = KeepRule(choices.randrange(1, 4), choices.randrange(4), choices.randrange(4))
    wide = KeepRule(*(value + choices.randrange(3) for value in narrow))
    assert kept(many, narrow) <= kept(many, wide)
    good = [one for one in many if one.passed]
    if good:
        assert max(good, key=lambda one: one.time).path in kept(many, narrow)
    assert len(kept(many, narrow)) <= 1 + sum(narrow)


def test_each_backup_is_restored_and_old_ones_go(tmp_path: Path) -> None:
    clock = FakeClock(START)
    folder = tmp_path / "backups"
    with opened(tmp_path / "m.db", clock=clock, decay_enabled=True) as memory:
        rule, removed = KeepRule(last=2, days=0, weeks=0), list[str]()
        for at in range(4):
            memory.remember(f"Thing {at} is here.")
            made, gone = make_backup(memory.store, folder, rule=rule)
            removed += gone
            assert made.passed and made.change == memory.store.last_transaction()
            assert made.receipt == memory.verify().head
            clock.advance(days=1)
        state = digest(memory.store)
    found = backups_in(folder)
    assert len(found) == 2 and len(removed) == 2
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [LIST, *(one.path for one in found)]
    )
    assert (folder / LIST).stat().st_mode & 0o777 == 0o600
    with opened(folder / found[-1].path, read_only=True) as copy:
        assert digest(copy.store) == state


@pytest.mark.parametrize("names", [("home.db", "work.db"), ("a/m.db", "b/m.db")])
def test_backups_of_two_memories_in_one_folder_do_not_count_for_each_other(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    clock, folder = FakeClock(START), tmp_path / "backups"
    rule = KeepRule(last=2, days=1, weeks=0)
    made: dict[str, list[str]] = {name: [] for name in names}
    removed: dict[str, list[str]] = {name: [] for name in names}
    for name, count in zip(names, (1, 5), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with opened(tmp_path / name, clock=clock) as memory:
            for at in range(count):
                memory.remember(f"Thing {at} of {name} is here.")
                backup, gone = make_backup(memory.store, folder, rule=rule)
                made[name].append(backup.path)
                removed[name] += gone
                clock.advance(seconds=3_600)
    other, own = (made[name] for name in names)
    assert removed == {names[0]: [], names[1]: own[:3]}
    assert [one.path for one in backups_in(folder)] == [*other, *own[3:]]


def test_memories_that_are_backed_up_at_the_same_time_are_all_in_the_list(tmp_path: Path) -> None:
    clock, folder = FakeClock(START), tmp_path / "backups"
    rule, names, rounds = KeepRule(last=2, days=0, weeks=0), "abcd", 4
    made: list[str] = []

    def back_up(name: str) -> None:
        with opened(tmp_path / f"{name}.db", clock=clock) as memory:
            for at in range(rounds):
                memory.remember(f"Thing {at} of {name} is here.")
                made.append(make_backup(memory.store, folder, rule=rule)[0].path)

    threads = [threading.Thread(target=back_up, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    held = [one.path for one in backups_in(folder)]
    assert len(made) == rounds * len(names) and set(held) <= set(made)
    assert sorted(one[0] for one in held) == sorted(names * 2)
    assert {path.name for path in folder.iterdir()} == {LIST, *held}


def test_a_list_of_a_former_version_is_read_and_kept_to(tmp_path: Path) -> None:
    clock, folder = FakeClock(START), tmp_path / "b"
    with opened(tmp_path / "m.db", clock=clock) as memory:
        memory.remember("Ana likes tea.")
        first = make_backup(memory.store, folder)[0]
        lines = (folder / LIST).read_text().splitlines()
        former = {k: v for k, v in json.loads(lines[0]).items() if k != "origin"}
        (folder / LIST).write_text(json.dumps(former) + "\n")
        clock.advance(seconds=3_600)
        rule = KeepRule(last=1, days=0, weeks=0)
        assert make_backup(memory.store, folder, rule=rule)[1] == [first.path]


def test_a_backup_that_fails_its_test_removes_nothing(tmp_path: Path) -> None:
    clock, folder = FakeClock(START), tmp_path / "backups"
    rule = KeepRule(last=1, days=0, weeks=0)
    with opened(tmp_path / "m.db", clock=clock) as memory:
        memory.remember("Ana likes tea.")
        good, _ = make_backup(memory.store, folder, rule=rule)
        clock.advance(days=1)
        # a write outside of transactions: the state is no longer what the log says
        memory.store.connection().execute("UPDATE node SET props = jsonb('{\"x\": 1}')")
        bad, removed = make_backup(memory.store, folder, rule=rule)
        assert not bad.passed and removed == []
        assert [one.path for one in backups_in(folder)] == [good.path, bad.path]
        assert kept(backups_in(folder), rule) == {good.path, bad.path}


def test_two_backups_of_one_second_have_two_names(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", clock=FakeClock(START)) as memory:
        names = {make_backup(memory.store, tmp_path / "b")[0].path for _ in range(3)}
    assert len(names) == 3
    with (tmp_path / "b" / LIST).open("a") as file:
        file.write('{"path": "cut sh')
    assert {one.path for one in backups_in(tmp_path / "b")} == names


def test_memories_of_one_name_share_a_folder_and_a_second(tmp_path: Path) -> None:
    folder, clock = tmp_path / "backups", FakeClock(START)
    made: dict[str, str] = {}
    together = threading.Barrier(3)

    def back_up(name: str) -> None:
        (tmp_path / name).mkdir()
        with opened(tmp_path / name / "m.db", clock=clock) as memory:
            for at in range(50):
                memory.remember(f"Thing {at} of {name} is here.", name=f"{name}-{at}")
            together.wait()
            made[name] = make_backup(memory.store, folder)[0].path

    threads = [threading.Thread(target=back_up, args=(name,)) for name in "abc"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {one.path for one in backups_in(folder) if one.passed} == set(made.values())
    assert {path.name for path in folder.iterdir()} == {LIST, *made.values()}
    for name, path in made.items():
        with opened(folder / path, read_only=True) as memory:
            assert memory.get(f"kref://default/{name}-49.fact").kref


_KILLED = """
import os, signal, sys
from pathlib import Path
from doxa.maintenance.backups import make_backup
from doxa.store import Store

def stage(name, total):
    def done(count):
        if name.startswith(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
    return done

with Store(sys.argv[1]) as store:
    make_backup(store, Path(sys.argv[2]), progress=stage)
"""


@pytest.mark.parametrize("stage", ["bytes copied", "bytes restored", "log entries"])
def test_what_a_killed_backup_left_goes_with_the_next(tmp_path: Path, stage: str) -> None:
    folder = tmp_path / "backups"
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana likes tea.")
        first = make_backup(memory.store, folder)[0]
        for _ in range(2):
            command = [sys.executable, "-c", _KILLED, str(tmp_path / "m.db"), str(folder), stage]
            assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
        assert len(list(folder.iterdir())) > 2
        assert [one.path for one in backups_in(folder)] == [first.path]
        second = make_backup(memory.store, folder)[0]
    assert {path.name for path in folder.iterdir()} == {LIST, first.path, second.path}


@pytest.mark.parametrize("stage", ["bytes copied", "bytes restored", "note"])
def test_an_interrupted_backup_leaves_nothing(tmp_path: Path, stage: str) -> None:
    def stages(name: str, total: int) -> Callable[[int], None]:
        if name == stage:
            raise KeyboardInterrupt
        return lambda done: None

    def note(path: Path) -> None:
        if stage == "note":
            raise KeyboardInterrupt

    folder = tmp_path / "backups"
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana lives in Berlin.")
        with pytest.raises(KeyboardInterrupt):
            make_backup(memory.store, folder, note=note, progress=stages)
        assert [path.name for path in folder.iterdir() if path.name != LIST] == []
        made, _ = make_backup(memory.store, folder)
        assert made.passed


def test_a_line_that_was_cut_short_takes_no_other_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    with opened(tmp_path / "m.db", clock=FakeClock(START)) as memory:
        first = make_backup(memory.store, folder)[0]
        with (folder / LIST).open("a") as file:
            file.write('{"path": "cut sh')
        second = make_backup(memory.store, folder)[0]
        assert [one.path for one in backups_in(folder)] == [first.path, second.path]
        before = (folder / LIST).read_bytes()
        with largest_file(len(before) + 20), pytest.raises(DiskFullError, match=LIST):
            _append(folder / LIST, second)
        assert (folder / LIST).read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with opened(tmp_path / "m.db") as memory, pytest.raises(StoreError, match="cannot be used"):
        make_backup(memory.store, tmp_path / "file" / "backups")


def test_a_rule_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "m.db") as memory,
        pytest.raises(doxa.InputError, match="keeps one backup at least"),
    ):
        make_backup(memory.store, tmp_path / "b", rule=KeepRule(last=0))


# On the command line


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    def call(*arguments: str, exit: int = 0) -> Any:
        given = [*map(str, arguments), "--json"]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == exit, result.stderr
        return json.loads(result.stdout if exit == 0 else result.stderr)

    return call


def test_backups_are_made_listed_and_restored(tmp_path: Path, run: Callable[..., Any]) -> None:
    db, folder, new = tmp_path / "m.db", tmp_path / "b", tmp_path / "new.db"
    with opened(db) as memory:
        memory.remember("Ana likes tea.")
    made = run("backups", "run", folder, "--every", "0", "--db", db)
    (listed,) = run("backups", "list", folder)
    assert made["path"] == str(folder / listed["path"]) and listed["problem"] == ""
    assert made["change"] == listed["change"] > 0
    assert run("restore-backup", made["path"], new)["path"] == str(new)
    with opened(new) as copy:
        assert copy.recall("tea").hits
        copy.remember("Bob likes coffee.")
        assert len(epochs_in(copy.store.connection())) == 1
    with opened(db) as memory:
        (known,) = [
            one for one in memory.verify_erased(text="no such text").traces if "b/m-" in str(one)
        ]
        assert known


def test_a_followed_log_is_restored_as_of_a_time(tmp_path: Path, run: Callable[..., Any]) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "second"
    with opened(db) as memory:
        kref = memory.remember("Ana likes tea.", name="ana", kind="fact").kref.partition("?")[0]
        time = memory.log(limit=1)[0].time
        memory.revise(kref, "Ana likes coffee.")
    first = run("follow", folder, "--once", "--db", db)
    assert first["changes"] == first["change"] > 1
    assert run("follow", folder, "--once", "--db", db)["changes"] == 0
    for target, given, text in (
        ("last.db", (), "Ana likes coffee."),
        ("time.db", ("--at", format_time(time)), "Ana likes tea."),
        ("change.db", ("--change", str(first["change"] - 1)), "Ana likes tea."),
    ):
        for source in (folder, db):
            new = tmp_path / f"{source.name}-{target}"
            if source == db and not given:
                continue
            run("restore-backup", source, new, *given)
            with opened(new, read_only=True) as copy:
                assert copy.get(kref).summary == text
                copy.verify()
    refused = run("restore-backup", folder, tmp_path / "x.db", "--change", "999", exit=3)
    assert "There is no change 999" in refused["error"]["message"]
    with opened(tmp_path / "second-time.db") as forked:
        forked.remember("Bob likes coffee.")
    refused = run("follow", folder, "--once", "--db", tmp_path / "second-time.db")
    assert refused["path"].endswith("second-time.chain")  # a log of its own
    (tmp_path / "m2").mkdir()
    (tmp_path / "second-time.db").rename(tmp_path / "m2" / "m.db")
    refused = run("follow", folder, "--once", "--db", tmp_path / "m2" / "m.db", exit=4)
    assert "does not continue the log" in refused["error"]["message"]


def test_a_copy_of_a_followed_folder_is_whole_after_each_shipment(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    """As the guide copies it to another machine: the folder alone, between two shipments."""
    db, folder = tmp_path / "m.db", tmp_path / "second"
    for at in range(2):
        with opened(db) as memory:
            memory.remember(f"Ana likes drink {at}.")
            state = digest(memory.store)
        run("follow", folder, "--once", "--db", db)
        other = tmp_path / f"other-{at}"
        shutil.copytree(folder, other)
        assert [one.suffix for one in other.iterdir()] == [".chain"]
        run("restore-backup", other, tmp_path / f"new-{at}.db")
        with opened(tmp_path / f"new-{at}.db", read_only=True) as copy:
            assert digest(copy.store) == state
