"""Files of every format that there was, each made by the version of doxa that introduced the next
one: they are migrated, verified, read and written to. A new format adds its file here.

Each holds the same small past, as far as its version could: a belief with three revisions and a
tag, one that was retired, a turn of a conversation, and a graph made by Cypher (not in format 1).
"""

from __future__ import annotations

import gzip
from pathlib import Path

import apsw
import pytest

import doxa
from doxa.app import Memory
from doxa.store.migration.schema import FORMAT
from tests.fixtures_shared import opened

FOLDER = Path(__file__).parent / "formats"
FORMATS = sorted(int(path.name[7:9]) for path in FOLDER.glob("format-*.db.gz"))
BELIEF = "kref://p/deploy.decision"


def unpacked(number: int, folder: Path) -> Path:
    path = folder / "memory.db"
    path.write_bytes(gzip.decompress((FOLDER / f"format-{number:02}.db.gz").read_bytes()))
    return path


def test_every_format_has_a_file() -> None:
    assert list(range(1, FORMAT + 1)) == FORMATS


@pytest.mark.parametrize("number", FORMATS)
def test_a_file_of_a_format_is_migrated_verified_and_read(number: int, tmp_path: Path) -> None:
    path = unpacked(number, tmp_path)
    before = path.read_bytes()
    raw = apsw.Connection(str(path))
    assert raw.pragma("user_version") == number
    receipts = raw.execute("SELECT tx, hash FROM receipt ORDER BY tx").fetchall()
    raw.close()
    with opened(path, project="p") as memory:
        assert memory.store.connection().pragma("user_version") == FORMAT
        assert memory.check() == []
        proof = memory.verify()
        assert proof.receipts >= len(receipts)
        known = memory.log(limit=10_000, newest_first=False)
        assert [(one.tx, one.hash) for one in known][: len(receipts)] == receipts
        read(memory, number)
        memory.revise(BELIEF, "The deploy needs nobody.")
        memory.embed()
        assert memory.recall("what does the deploy need?").hits[0].text.startswith("The deploy")
        memory.verify()
        assert memory.check() == []
    kept = list(tmp_path.glob("memory.db.before-*"))
    assert len(kept) == (number < FORMAT)
    for snapshot in kept:  # the way back: the file as the former version had it
        old = apsw.Connection(str(snapshot), flags=apsw.SQLITE_OPEN_READONLY)
        assert old.pragma("user_version") == number
        assert old.execute("SELECT tx, hash FROM receipt ORDER BY tx").fetchall() == receipts
        old.close()
    assert before[:16] == b"SQLite format 3\0"


def read(memory: Memory, number: int) -> None:
    """What the file holds is answered, now and as of then."""
    assert memory.get(BELIEF).summary == "The deploy needs a review."
    texts = [revision.summary for revision in memory.history(BELIEF).revisions]
    assert sorted(texts) == [
        "The deploy needs a review.",
        "The deploy needs a token and a review.",
        "The deploy needs a token.",
    ]
    assert memory.get(f"{BELIEF}?r=1").summary == "The deploy needs a token."
    hits = memory.recall("where does Ana live?", lanes=["words"]).hits
    assert any("Berlin" in hit.text for hit in hits)
    assert not any("coffee" in hit.text for hit in memory.recall("coffee", lanes=["words"]).hits)
    asked = memory.recall("Madrid", lanes=["words"], project="p").hits
    assert any("Madrid" in hit.text for hit in asked)
    if number > 1:
        rows = memory.run(
            "MATCH (a:City)-[n:NEAR]->(b:City) RETURN a.name AS a, n.km AS km, b.name AS b"
        ).records()
        assert rows == [{"a": "Roma", "km": 230, "b": "Naples"}]


def test_an_old_file_is_not_read_only_until_it_is_migrated(tmp_path: Path) -> None:
    path = unpacked(FORMATS[0], tmp_path)
    with pytest.raises(doxa.StoreError, match="needs a migration first"):
        opened(path, read_only=True)
    assert path.read_bytes() == gzip.decompress((FOLDER / "format-01.db.gz").read_bytes())
