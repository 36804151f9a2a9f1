"""What writing costs: revising a belief durably, stating one, ingesting a conversation. Compared
with a JSON file written whole each time and with bare SQLite in the same run, and counted in SQL
statements, which no clock blurs."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import apsw

import doxa
from bench.report import Report
from bench.texts import turns_of
from bench.timing import per_second
from doxa.language.turns import Turn
from doxa.store.statements import counted_statements

_FILE_ITEMS = 1_000
_WARM = 20
_SYNTHETIC_TURNS = 2_000


def measure_writes(report: Report, sample: Sequence[Turn], *, rounds: int, times: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rates = {
            **_revise(Path(folder), rounds=rounds, times=times),
            **_plain(Path(folder), rounds=rounds, times=times),
        }
    names = {
        "revise.per_s": "doxa: `revise`, durable (history, log, receipt, text index)",
        "revise.with_edge_per_s": "doxa: the same with a DEPENDS_ON edge each time",
        "remember.per_s": "doxa: `remember` without a name, compared with what is there",
        "tell.per_s": "doxa: `tell`, matched with what it may replace",
        "revise.json_file_per_s": (
            f"plain: JSON file of {_FILE_ITEMS:,} items, written whole and synced, no history"
        ),
        "revise.sqlite_row_per_s": (
            "plain: one SQLite row updated, WAL, synchronous=FULL, no history"
        ),
    }
    for key, name in names.items():
        report.put(key, rates[key])
        rows.append([name, f"{rates[key]:,.0f}"])
    report.table("Revisions per second, one process", ["what", "a second"], rows)
    with tempfile.TemporaryDirectory() as folder:
        counts = _statements(Path(folder))
    for name, count in counts.items():
        report.put(f"{name}.statements", count)
    report.table(
        "SQL statements of one change",
        ["what", "statements"],
        [[name, str(count)] for name, count in counts.items()],
    )
    turns = list(sample) or list(turns_of(_SYNTHETIC_TURNS, seed=report.seed))
    for extract in (False, True):
        report.put(
            f"ingest.{'with_rules' if extract else 'text_only'}_turns_per_s",
            _ingest(turns, extract=extract, rounds=rounds),
        )
    report.put("ingest.turns", len(turns))
    report.table(
        f"Taking in {len(turns):,} {'LoCoMo' if sample else 'synthetic'} turns, text only",
        ["what", "turns a second"],
        [
            ["exchanges alone", f"{report.figures['ingest.text_only_turns_per_s']:,.0f}"],
            [
                "with candidate beliefs by rule",
                f"{report.figures['ingest.with_rules_turns_per_s']:,.0f}",
            ],
        ],
    )


def _statements(folder: Path) -> dict[str, int]:
    """The statements of each operation, once caches and search rows are warm."""
    with doxa.open(folder / "count.db", embedder=None, background=False) as memory:
        operations = _operations(memory)
        for operation in operations.values():
            operation(0)
        found = {}
        for name, operation in operations.items():
            with counted_statements(memory.store) as seen:
                operation(1)
            found[name] = len(seen)
    return found


def _operations(memory: doxa.Memory) -> dict[str, Callable[[int], object]]:
    base = memory.remember(
        "The shop runs on one server in Basel", name="server", project="shop"
    ).kref
    item = memory.remember(
        "We deploy the shop on Thursdays", name="deploy-day", project="shop", depends_on=[base]
    ).kref
    target = item.split("?")[0]
    return {
        "revise": lambda n: memory.revise(target, f"We deploy the shop on day {n} of the month"),
        "revise.with_edge": lambda n: memory.remember(
            f"We deploy the shop in week {n}",
            name="deploy-day",
            project="shop",
            depends_on=[base],
        ),
        "remember": lambda n: memory.remember(f"Dog number {n} is brown", project="dogs"),
        "tell": lambda n: memory.tell(f"Horse number {n} eats hay", project="horses"),
    }


def _revise(folder: Path, *, rounds: int, times: int) -> dict[str, float]:
    with doxa.open(folder / "revise.db", embedder=None, background=False) as memory:
        operations = _operations(memory)
        for number in range(_WARM):
            operations["revise"](number)
        return {
            f"{name}{'_' if '.' in name else '.'}per_s": per_second(call, times, rounds=rounds)
            for name, call in operations.items()
        }


def _plain(folder: Path, *, rounds: int, times: int) -> dict[str, float]:
    items = {
        f"item-{number}": f"We deploy the shop on day {number} of the month"
        for number in range(_FILE_ITEMS)
    }
    path, part = folder / "items.json", folder / "items.part"

    def write_file(number: int) -> None:
        items["item-0"] = f"We deploy the shop on day {number} of the month"
        with part.open("w") as file:
            json.dump(items, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    db = apsw.Connection(str(folder / "plain.db"))
    db.execute(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE item(name TEXT PRIMARY KEY,"
        " text TEXT)"
    ).fetchall()
    db.execute("INSERT INTO item VALUES('item-0', '')")

    def write_row(number: int) -> None:
        db.execute(
            "UPDATE item SET text = ? WHERE name = 'item-0'",
            (f"We deploy the shop on day {number} of the month",),
        )

    found = {
        "revise.json_file_per_s": per_second(write_file, times, rounds=rounds),
        "revise.sqlite_row_per_s": per_second(write_row, times, rounds=rounds),
    }
    db.close()
    return found


def _ingest(turns: Sequence[Turn], *, extract: bool, rounds: int) -> float:
    rates = []
    for _ in range(rounds):
        with (
            tempfile.TemporaryDirectory() as folder,
            doxa.open(Path(folder) / "memory.db", embedder=None, background=False) as memory,
        ):
            start = time.perf_counter()
            memory.ingest(turns, extract=extract)
            rates.append(len(turns) / (time.perf_counter() - start))
    return float(median(rates))
