"""Rows of Parquet files are loaded as those of the same values in other files."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import doxa
from doxa.base.errors import DoxaError, InputError
from doxa.base.temporal import Date
from doxa.store import check, digest, replayed_digest, verify_log
from doxa.transfer import load as loading

WITHOUT = "pyarrow is not installed (doxa-memory[parquet]; it is in requirements/test.txt)"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as opened:
        yield opened


def parquet(path: Path, columns: dict[str, list[Any]], **given: Any) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason=WITHOUT)
    from pyarrow.parquet import write_table

    write_table(pyarrow.table(columns), path, **given)
    return path


def test_values_keep_their_types(memory: doxa.Memory, tmp_path: Path) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    columns: dict[str, list[Any]] = {
        "id": [1, 2, 2**62],
        "f": [1.0, None, float("inf")],
        "s": ["ä", None, ""],
        "b": [True, False, None],
        "d": [datetime.date(2024, 1, 1), None, datetime.date(1, 1, 1)],
        "t": [moment, None, None],
        "z": [moment.replace(tzinfo=zone), None, None],
        "l": [[1, 2], None, []],
        "days": [[datetime.date(2024, 1, 1)], None, None],
        "y": [b"\x00\x01", None, None],
    }
    file = parquet(tmp_path / "a.parquet", columns)
    done = memory.load(file, label="N", key="id")
    assert (done.rows, done.nodes) == (3, 3)
    with memory.store.read() as reader:
        found = reader.rows(
            "SELECT json(props) FROM node WHERE id IN (SELECT node FROM node_label)"
        )
        plain = [json.loads(row[0]) for row in found if '"id"' in row[0]]
    first, second, third = plain[-3:]
    assert first == {
        "id": 1,
        "f": 1.0,
        "s": "ä",
        "b": True,
        "d": {"$date": 19723},
        "t": {"$localdatetime": [1714979289, 123456000]},
        "z": {"$datetime": [1714972089, 123456000, first["z"]["$datetime"][2], *_zone(first)]},
        "l": [1, 2],
        "days": [{"$date": 19723}],
        "y": {"$bytes": "AAE="},
    }
    assert second == {"id": 2, "b": False}
    assert (third["id"], third["f"], third["s"], third["l"]) == (
        2**62,
        {"$float": "Infinity"},
        "",
        [],
    )
    node = memory.run("MATCH (n:N {id: 1}) RETURN n.d AS d").single()
    assert node == Date(19723)


def test_what_a_column_of_times_holds_does_not_depend_on_the_order_of_rows(
    memory: doxa.Memory, tmp_path: Path
) -> None:
    """Its type says what it holds, also where the first rows are empty."""
    day = datetime.date(2024, 1, 1)
    for number, days in enumerate(([[day], [], None], [None, [], [day]])):
        columns: dict[str, list[Any]] = {"id": [0, 1, 2], "days": days}
        file = parquet(tmp_path / f"{number}.parquet", columns)
        memory.load(file, label=f"N{number}", key="id")
        found = memory.run(f"MATCH (n:N{number}) RETURN n.days ORDER BY n.id")
        expected = [None if one is None else [Date(19723) for _ in one] for one in days]
        assert [next(iter(row.values())) for row in found.records()] == expected


def test_lists_of_every_layout_and_dictionaries_hold_times(
    memory: doxa.Memory, tmp_path: Path
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason=WITHOUT)
    day, kind = datetime.date(2024, 1, 1), pyarrow.date32()
    made = (
        pyarrow.array([[], [day]], pyarrow.large_list(kind)),
        pyarrow.array([None, [day]], pyarrow.list_(kind, 1)),
        pyarrow.array([[], [day]], pyarrow.list_view(kind)),
        pyarrow.array([None, day], kind).dictionary_encode(),
    )
    columns: dict[str, Any] = {"id": [0, 1]} | {f"c{at}": one for at, one in enumerate(made)}
    memory.load(parquet(tmp_path / "a.parquet", columns), label="N")
    (row,) = memory.run("MATCH (n:N {id: 1}) RETURN n.c0, n.c1, n.c2, n.c3").records()
    assert list(row.values()) == [[Date(19723)]] * 3 + [Date(19723)]


def _zone(row: dict[str, Any]) -> list[Any]:
    return list(row["z"]["$datetime"][3:])


def test_it_loads_what_json_lines_load(tmp_path: Path) -> None:
    rng, digests = Random(5), []
    rows = [{"id": n, "name": f"n{n}", "x": rng.random()} for n in range(700)]
    pairs = [{"src": rng.randrange(700), "dst": rng.randrange(700), "w": n} for n in range(900)]
    for kind in ("jsonl", "parquet"):
        files = []
        for name, given in (("n", rows), ("e", pairs)):
            path = tmp_path / f"{name}.{kind}"
            files.append(path)
            if kind == "parquet":
                columns = {key: [row[key] for row in given] for key in given[0]}
                parquet(path, columns, row_group_size=100, compression="zstd")
            else:
                path.write_text("".join(json.dumps(row) + "\n" for row in given))
        with doxa.open(tmp_path / f"{kind}.db", embedder=None, background=False) as memory:
            memory.load(files[0], label="P", key="id")
            memory.load(files[1], edge="K", start="src:P.id", end="dst:P.id")
            with memory.store.read() as reader:
                digests.append(
                    [
                        *reader.rows("SELECT id, labels, json(props) FROM node ORDER BY id"),
                        *reader.rows(
                            "SELECT id, type, src, dst, json(props) FROM edge ORDER BY id"
                        ),
                    ]
                )
            verify_log(memory.store)
            assert check(memory.store) == []
            assert digest(memory.store) == replayed_digest(memory.store)
    assert digests[0] == digests[1]
    assert len(digests[0]) == 1_600


def test_an_interrupted_load_goes_on(
    memory: doxa.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading._Nodes, "at_once", 10)
    file = parquet(tmp_path / "a.parquet", {"id": list(range(35))})

    def stop(count: int) -> None:
        if count == 20:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"label": "N", "key": "id"}
    with pytest.raises(KeyboardInterrupt):
        loading.load_rows(memory.store, memory.identity, file, progress=stop, **given)
    done = memory.load(file, **given)
    assert (done.continued, done.nodes) == (20, 15)
    parquet(file, {"id": list(range(40))}, compression="gzip")  # grown, with other bytes
    done = memory.load(file, **given)
    assert (done.continued, done.nodes) == (35, 5)
    parquet(file, {"id": [7, *range(1, 41)]})
    with pytest.raises(InputError, match="no longer begins with these"):
        memory.load(file, **given)


def test_items_come_from_parquet(memory: doxa.Memory, tmp_path: Path) -> None:
    columns = {
        "kref": ["kref://shop/a.fact"] * 2,
        "text": ["one", "two"],
        "topics": [["x"], ["x", "y"]],
        "valid_from": [datetime.date(2024, 1, 1), None],
    }
    done = memory.load(parquet(tmp_path / "a.parquet", columns), item="kref")
    assert (done.items, done.revisions) == (1, 2)
    assert memory.get("kref://shop/a.fact").topics == ("x", "y")


def test_what_is_no_parquet_is_refused(memory: doxa.Memory, tmp_path: Path) -> None:
    whole = parquet(tmp_path / "a.parquet", {"id": list(range(5_000)), "s": ["x" * 50] * 5_000})
    data = whole.read_bytes()
    for text in (b"", b"PAR1", b"id\n1\n", data[: len(data) // 2]):
        file = tmp_path / "b.parquet"
        file.write_bytes(text)
        with pytest.raises(InputError, match=r"b\.parquet is not a Parquet file"):
            memory.load(file, label="N")
    nested = parquet(tmp_path / "c.parquet", {"id": [1], "m": [{"a": 1}]})
    with pytest.raises(DoxaError, match="cannot hold dict"):
        memory.load(nested, label="N")
    assert memory.run("MATCH (n:N) RETURN count(n)").single() == 0


def test_damaged_rows_are_refused_and_nothing_crashes(memory: doxa.Memory, tmp_path: Path) -> None:
    whole = parquet(
        tmp_path / "a.parquet",
        {"id": list(range(400)), "s": [f"text {n}" for n in range(400)]},
        compression="snappy",
    )
    data, rng = whole.read_bytes(), Random(11)
    for number in range(40):
        damaged = bytearray(data)
        for _ in range(3):
            damaged[rng.randrange(4, len(data))] = rng.randrange(256)
        file = tmp_path / f"d{number}.parquet"
        file.write_bytes(damaged)
        try:
            memory.load(file, label="N")
        except DoxaError:
            continue
    assert check(memory.store) == []


def test_without_pyarrow_the_error_says_what_to_install(
    memory: doxa.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    file = tmp_path / "a.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"doxa-memory\[parquet\]"):
        memory.load(file, label="N")
