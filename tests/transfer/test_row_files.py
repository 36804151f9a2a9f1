"""Files of rows that are read in blocks: the rows, their count and the digest of what they stand in
are those of a reader of single lines, wherever a block ends and however many rows are asked for."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doxa.base.errors import InputError
from doxa.transfer import row_files
from doxa.transfer.row_files import RowFile

_MARK = b"\xef\xbb\xbf"
_TEXTS = ("a", "\ufeffb", "é", "x y", "", "\u2028", "1\x0b2", "\x85", "ab" * 9, "0")
_LIMIT = 60


class Read(NamedTuple):
    """What a file gives: rows, the digest after each of them, and the row that is refused."""

    rows: list[dict[str, Any]]
    digests: list[str]
    refused: str


def _csv(rng: random.Random) -> bytes:
    lines = [b"name,id:int\n"]
    for number in range(rng.randrange(12)):
        kind = rng.random()
        name = rng.choice(_TEXTS)
        if kind < 0.15:
            lines.append(b"\n" * rng.randint(1, 3))
        elif kind < 0.3:
            lines.append(f'"{name}\n""{name}",{number}\n'.encode())
        elif kind < 0.34:
            lines.append(b"\xff\xfe,1\n")
        elif kind < 0.38:
            lines.append(b"x,1,y\n")
        elif kind < 0.40:
            lines.append(f"{'l' * _LIMIT},1\n".encode())
        elif kind < 0.42:
            lines.append(b'"never closed,1\n')
        else:
            end = "\r\n" if kind > 0.9 else "\n"
            lines.append(f"{name},{number}{end}".encode())
    return _whole(lines, rng)


def _json(rng: random.Random) -> bytes:
    lines = []
    for number in range(rng.randrange(12)):
        kind = rng.random()
        if kind < 0.2:
            lines.append(b" \n" * rng.randint(1, 3))
        elif kind < 0.24:
            lines.append(b'{"name": "\xff"}\n')
        elif kind < 0.28:
            lines.append(b"[1]\n")
        elif kind < 0.3:
            lines.append(f'{{"name": "{"l" * _LIMIT}"}}\n'.encode())
        else:
            row = {"id": number, "name": rng.choice((*_TEXTS, None))}
            lines.append(json.dumps(row, ensure_ascii=kind < 0.6).encode() + b"\n")
    return _whole(lines, rng)


def _whole(lines: list[bytes], rng: random.Random) -> bytes:
    data = (_MARK if rng.random() < 0.3 else b"") + b"".join(lines)
    return data.removesuffix(b"\n") if rng.random() < 0.3 else data


def _plainly(data: bytes, kind: str) -> Read:
    """Line by line, with nothing read ahead."""
    found = Read([], [], "")
    done = 0

    def lines() -> Iterator[str]:
        nonlocal done
        for number, line in enumerate(_split(data)):
            if len(line) > _LIMIT:
                raise ValueError("longer than")
            try:
                text = line.decode()
            except UnicodeDecodeError:
                raise ValueError("not UTF-8") from None
            done += len(line)
            yield text.removeprefix("\ufeff") if number == 0 else text

    def took(row: dict[str, Any]) -> None:
        found.rows.append(row)
        found.digests.append(sha256(data[:done]).hexdigest())

    try:
        if kind == "csv":
            reader = csv.reader(lines(), strict=True)
            next(reader)
            for values in filter(None, reader):
                if len(values) != 2:
                    raise ValueError(f"it has {len(values)} values")
                row = {"name": values[0], "id": int(values[1])}
                took({name: value for name, value in row.items() if value != ""})
        else:
            for text in lines():
                if text.strip():
                    row = json.loads(text)
                    if not isinstance(row, dict):
                        raise ValueError("not a JSON object")
                    took({name: value for name, value in row.items() if value is not None})
    except (ValueError, csv.Error) as error:
        said = "it is not CSV" if isinstance(error, csv.Error) else str(error)
        return found._replace(refused=f"Row {len(found.rows) + 1:,} of rows.{kind}: |{said}")
    return found


def _split(data: bytes) -> list[bytes]:
    *parts, last = data.split(b"\n")
    return [part + b"\n" for part in parts] + ([last] if last else [])


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_give_what_single_lines_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    monkeypatch.setattr(row_files, "IMPORT_LINE_BYTES_MAX", _LIMIT)
    rng = random.Random(seed)
    path = tmp_path / f"rows.{kind}"
    seen = {"rows": 0, "refused": 0}
    for _ in range(400):
        data = (_csv if kind == "csv" else _json)(rng)
        path.write_bytes(data)
        monkeypatch.setattr(row_files, "_BLOCK_BYTES", rng.choice((1, 7, 30, 1_000)))
        expected = _plainly(data, kind)
        _agrees(path, expected, most=rng.choice((1, 2, 3, 50)), apart=rng.random() < 0.5)
        seen["rows"] += len(expected.rows)
        seen["refused"] += bool(expected.refused)
    assert seen["rows"] > 800
    assert seen["refused"] > 50


def _agrees(path: Path, expected: Read, *, most: int, apart: bool) -> None:
    """Read the file to its end or its first bad row, some rows at a time."""
    file, found, refused = RowFile(path), list[dict[str, Any]](), ""
    try:
        while (columns := file.columns_at_once(most, ("id",) if apart else ())).rest:
            for place, row in enumerate(columns.rest):
                given = {name: values[place] for name, values in columns.values.items()}
                assert set(given) == ({"id"} if apart else set())
                assert not given.keys() & row.keys()
                found.append({n: v for n, v in (given | row).items() if v is not None})
            assert file.count == len(found)
            assert file.digest == expected.digests[len(found) - 1]
    except InputError as error:
        refused = error.message
    finally:
        file.close()
    row, _, reason = expected.refused.partition("|")
    assert refused.startswith(row)
    assert reason in refused
    assert bool(refused) == bool(row)
    lost = len(expected.rows) - len(found)  # rows of the batch that has the bad one
    assert found == expected.rows[: len(found)]
    assert 0 <= lost < most if refused else lost == 0


@pytest.mark.parametrize("most", [1, 3])
def test_a_file_that_grows_has_what_was_read_at_its_beginning(tmp_path: Path, most: int) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id:int\n1\n\n2\n\n\n")
    before = _digest(path, most)
    path.write_bytes(b"id:int\n1\n\n2\n3\n")
    file = RowFile(path)
    assert len(file.rows_at_once(2)) == 2
    assert file.digest == before
    assert [row["id"] for row in file.rows_at_once(9)] == [3]
    file.close()


def _digest(path: Path, most: int) -> str:
    file = RowFile(path)
    while file.rows_at_once(most):
        pass
    file.close()
    return file.digest


def test_a_column_that_stands_apart_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id:int,name\n1,a\n2,b\n")
    file = RowFile(path)
    assert file.columns_at_once(9, ("id", "other")) == (
        {"id": [1, 2], "other": [None, None]},
        [{"name": "a"}, {"name": "b"}],
    )
    assert file.columns_at_once(9, ("id", "other")) == ({"id": [], "other": []}, [])
    file.close()
