"""Spellings near a word that nobody wrote: all that occur are found, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.words import stem, stems_of
from doxa.recall.lanes.words import _edits, _occurring, _stems_near
from doxa.store import Reader
from tests.fixtures_shared import opened


class Looks:
    """The two tables of the index in SQLite; counts how often the merged one is looked at."""

    def __init__(self, merged: set[str], new: set[str]) -> None:
        self._db, self.count = apsw.Connection(":memory:"), 0
        for table, terms in (("posting", merged), ("posting_new", new)):
            self._db.execute(f"CREATE TABLE {table}(scope INTEGER, term TEXT)")
            self._db.executemany(f"INSERT INTO {table} VALUES(?, ?)", [(1, one) for one in terms])
            self._db.execute(f"INSERT INTO {table} VALUES(2, 'other')")

    def rows(self, sql: str, given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        self.count += "posting_new" not in sql
        return self._db.execute(sql, given).fetchall()


Terms = st.sets(st.text("abc\u00e4\u4e00", min_size=1, max_size=4))


@settings(deadline=None, max_examples=200)
@given(Terms, Terms, Terms)
def test_what_occurs_is_found_in_few_looks(
    merged: set[str], new: set[str], sought: set[str]
) -> None:
    looks: Any = Looks(merged, new)
    assert _occurring(looks, 1, sorted(sought)) == sorted((merged | new) & sought)
    assert looks.count <= min(len(sought), len(merged) + 1)


@pytest.mark.parametrize("word", ["kubernetes", "photograpjh", "aña", "straße", "москва", "x" * 32])
def test_stems_of_many_are_those_of_each(word: str) -> None:
    edits = [edit for edit in _edits(word) if len(edit) >= 3]
    assert stems_of(edits) == {stem(edit) for edit in edits}
    assert _stems_near(word) == stems_of(edits)
    assert stems_of([]) == frozenset()


def test_both_tables_of_the_index_are_looked_through(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The harbour is closed.", name="a", space="s")
        memory.remember("The lighthouse is open.", name="b", space="s")
        sought = sorted({"harbour", "lighthous", "nothing", "zebra"})

        def occurring(reader: Reader) -> list[str]:
            (scope,) = {row[0] for row in reader.rows("SELECT scope FROM doc")}
            return _occurring(reader, scope, sought)

        with memory.store.read() as reader:
            assert reader.rows("SELECT count(*) FROM posting_new")[0][0] > 0
            assert occurring(reader) == ["harbour", "lighthous"]
            assert _occurring(reader, 1, []) == []
        assert memory.recall("harbuor", lanes=("words",)).hits[0].text == "The harbour is closed."
