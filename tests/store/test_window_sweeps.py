"""When policies change, windows follow: at once where elements are few, else batch by batch; and a
window that is not what policies say is reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import doxa
from doxa.app import Memory
from doxa.store import transaction
from doxa.store.visibility import window_writer
from doxa.store.visibility.evaluator import SEEN, Subject
from doxa.store.visibility.window_writer import WindowWriter
from tests.fixtures_shared import opened

AT_ONCE = 5
NODES = (
    "CREATE OR REPLACE DECAY PROFILE e FOR (n:E) APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD 0.5 }"
)
EDGES = (
    "CREATE OR REPLACE DECAY PROFILE t FOR ()-[r:T]-() APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD"
    " 0.5 }"
)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(window_writer, "SWEEP_AT_ONCE_ITEMS_MAX", AT_ONCE)
    monkeypatch.setattr(transaction, "SWEEP_BATCH_ITEMS_MAX", 2)
    with opened(tmp_path / "m.db", embedder=None) as made:
        yield made


def swept(memory: Memory) -> dict[str, int]:
    with memory.store.read() as reader:
        return dict(reader.swept())


def ends(memory: Memory, table: str) -> list[bool]:
    """Whether each element has a window that ends, by id."""
    with memory.store.read() as reader:
        rows = reader.rows(f"SELECT vis_until FROM {table} ORDER BY id")
    return [end != SEEN.end for (end,) in rows]


def nodes(memory: Memory, count: int) -> None:
    memory.run("UNWIND range(1, $n) AS i CREATE (:E {i: i})", {"n": count})


def edges(memory: Memory, count: int) -> None:
    memory.run("CREATE (a:A) WITH a UNWIND range(1, $n) AS i CREATE (a)-[:T]->(a)", {"n": count})


def test_few_are_judged_at_once(memory: Memory) -> None:
    nodes(memory, AT_ONCE)
    memory.run(NODES)
    assert swept(memory) == {} and ends(memory, "node") == [True] * AT_ONCE
    assert not memory.store.sweep()


def test_many_are_judged_batch_by_batch(memory: Memory) -> None:
    nodes(memory, AT_ONCE + 1)
    memory.run(NODES)
    assert swept(memory) == {"node": 0} and not any(ends(memory, "node"))
    assert memory.check() == []  # what a sweep has not come to is judged when it is read
    seen = []
    while memory.store.sweep():
        assert swept(memory)["node"] > 0
        seen.append(ends(memory, "node").count(True))
    assert seen == [2, 4, 6] and swept(memory) == {}
    assert ends(memory, "node") == [True] * (AT_ONCE + 1) and memory.check() == []


@pytest.mark.parametrize(("count", "pending"), [(AT_ONCE, {}), (AT_ONCE + 1, {"edge": 0})])
def test_edges_too(memory: Memory, count: int, pending: dict[str, int]) -> None:
    nodes(memory, AT_ONCE + 4)  # of which no policy speaks
    edges(memory, count)
    memory.run(EDGES)
    assert swept(memory) == pending
    while memory.store.sweep():
        pass
    assert ends(memory, "edge") == [True] * count and not any(ends(memory, "node"))
    assert memory.check() == []


def test_a_second_change_begins_the_sweep_again(memory: Memory) -> None:
    """Also for the kind of which the second policy does not speak."""
    nodes(memory, AT_ONCE + 1)
    edges(memory, 2)
    memory.run(NODES)
    assert memory.store.sweep() and swept(memory)["node"] > 0
    memory.run(EDGES)
    assert swept(memory) == {"node": 0} and ends(memory, "edge") == [True] * 2
    memory.run("MATCH (n:E) WHERE n.i > 2 DELETE n")
    memory.run(EDGES.replace("60", "61"))
    assert swept(memory) == {}  # few are left, and judged at once
    assert ends(memory, "node").count(True) == 2 and memory.check() == []


def test_a_policy_that_goes_takes_its_windows_with_it(memory: Memory) -> None:
    nodes(memory, 3)
    memory.run(NODES)
    assert ends(memory, "node") == [True] * 3
    memory.run("DROP DECAY PROFILE e")
    assert ends(memory, "node") == [False] * 3 and memory.check() == []


def test_search_rows_have_the_window_of_their_node(memory: Memory) -> None:
    kref = memory.remember("The harbour opens at six", name="harbour", project="p").kref
    memory.run(
        "CREATE DECAY PROFILE r FOR (n:Revision) APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD 0.5 }"
    )
    while memory.store.sweep():
        pass
    with memory.store.read() as reader:
        rows = reader.rows(
            "SELECT d.vis_from, d.vis_until, n.vis_from, n.vis_until FROM doc d JOIN node n ON n.id"
            " = d.node"
        )
    assert rows and all(row[:2] == row[2:] for row in rows)
    assert any(row[1] != SEEN.end for row in rows), kref
    assert memory.check() == []


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        ("UPDATE node SET vis_until = 7 WHERE json_extract(labels, '$[0]') = 'E'", "node "),
        ("UPDATE node SET vis_from = 7 WHERE json_extract(labels, '$[0]') = 'E'", "node "),
        ("UPDATE edge SET vis_until = 7 WHERE type = 'T'", "edge "),
        ("UPDATE doc SET vis_until = 7", "the search row of node "),
        ("UPDATE doc SET vis_from = 7", "the search row of node "),
    ],
)
def test_a_wrong_window_is_reported(tmp_path: Path, damage: str, reported: str) -> None:
    path = tmp_path / "d.db"
    with opened(path, embedder=None) as memory:
        memory.remember("The harbour opens at six", name="harbour", project="p")
        nodes(memory, 1)
        edges(memory, 1)
        memory.run(NODES)
        memory.run(EDGES)
        assert memory.check() == []
    raw = apsw.Connection(str(path))
    raw.execute(damage)
    raw.close()
    with doxa.open(path, embedder=None, background=False, role="operator") as memory:
        found = memory.check()
    assert found and any(text.startswith(reported) and "window" in text for text in found)


def test_a_wrong_window_is_reported_however_many_elements_there_are(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with opened(path, embedder=None) as memory:
        nodes(memory, 300)
        memory.run(NODES)
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE node SET vis_until = 7 WHERE id = (SELECT max(id) FROM node)")
    raw.close()
    with doxa.open(path, embedder=None, background=False, role="operator") as memory:
        assert len(memory.check()) == 1


def test_a_decision_that_is_the_same_writes_nothing(memory: Memory) -> None:
    nodes(memory, 1)
    memory.run(NODES)
    with memory.store.write(memory.identity, op="test") as tx:
        writer: WindowWriter = tx._windows
        with memory.store.read() as reader:
            ((number,),) = reader.rows("SELECT id FROM node WHERE vis_until < ?", (SEEN.end,))
        seen = window_writer.load(tx._db, number, edge=False)
        assert seen is not None
        subject, _, decision = seen
        assert isinstance(subject, Subject)
        assert writer.write(subject, decision, before=decision) is False
        assert writer.write(subject, SEEN, before=decision) is True
        assert writer.write(subject, decision, before=SEEN) is True


@pytest.mark.parametrize(("count", "left"), [(AT_ONCE, False), (AT_ONCE + 1, True)])
def test_a_change_of_policies_says_whether_a_sweep_is_left(
    memory: Memory, count: int, left: bool
) -> None:
    """The background job is woken by it."""
    nodes(memory, count)
    with memory.store.write(memory.identity, op="test") as tx:
        assert tx._windows.policies_changed(nodes=True, edges=False) is left


def test_without_policies_a_change_judges_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer in a store without policies is idle; with one, or where something is suppressed, it
    is not."""

    def idle() -> bool:
        with memory.store.write(memory.identity, op="test") as tx:
            return bool(tx._windows.idle)

    nodes(memory, 1)
    assert idle()
    memory.run(NODES)
    assert not idle()
