"""An export holds the whole state: random graphs, made by verbs and Cypher, are exported, imported
into another file, and are the same there, byte for byte when they are exported again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.app.bound import BoundFile
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, RoleError
from doxa.store import digest, replayed_digest
from doxa.transfer.jsonl import export_lines, import_lines, state_digest, write_export
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph

SEEDS, STEPS = 12, 60
FORMAT_1 = Path(__file__).parent / "fixtures" / "export-format-1.jsonl"


@pytest.mark.parametrize("part", range(4))
def test_a_random_graph_is_the_same_elsewhere(
    tmp_path: Path, part: int, campaign: int, tally: Callable[..., None]
) -> None:
    done: Counter[str] = Counter()
    count = max(1, SEEDS * campaign // 4)
    first = int(os.environ.get("DOXA_SEED", 0)) + part * count
    for seed in range(first, first + count):
        folder = tmp_path / str(seed)
        folder.mkdir()
        done += round_trip(folder, seed)
        for path in folder.iterdir():
            path.unlink()
    tally(graphs=count, operations=sum(done.values()))
    if count >= 25:  # enough that each kind of operation has succeeded somewhere
        wanted = {name for name in vars(RandomGraph) if done[name]}
        assert len(wanted) >= 34, sorted(wanted)


def round_trip(folder: Path, seed: int) -> Counter[str]:
    clock = FakeClock()
    with opened(folder / "a.db", clock=clock) as first:
        graph = RandomGraph(first, clock, seed)
        graph.run(STEPS)
        first.export_to(folder / "a.jsonl")
        data = (folder / "a.jsonl").read_bytes()
        assert not [text for text in graph.erased if text.encode() in data], seed
        wanted = digest(first.store), state_digest(first.store)
        queries = [
            "MATCH (n) RETURN elementId(n) AS id, labels(n) AS l, properties(n) AS p ORDER BY id",
            "MATCH (a)-[r]->(b) RETURN elementId(r) AS id, type(r) AS t, properties(r) AS p,"
            " elementId(a) AS a, elementId(b) AS b ORDER BY id",
        ]
        answers = [repr(first.run(query).records()) for query in queries]
    with opened(folder / "b.db", clock=clock) as second:
        preview = second.import_(folder / "a.jsonl", dry_run=True)
        assert second.log(limit=1)[0].op == "declare"
        made = second.import_(folder / "a.jsonl", accept_protected=True)
        assert made.restored and made.redacted == made.passed_over == 0, seed
        assert (made.digest, made.nodes) == (preview.digest, preview.nodes)
        assert (digest(second.store), state_digest(second.store)) == wanted, seed
        assert replayed_digest(second.store) == digest(second.store), seed
        second.export_to(folder / "b.jsonl")
        assert (folder / "b.jsonl").read_bytes() == data, seed
        assert [repr(second.run(query).records()) for query in queries] == answers, seed
        assert second.check() == [], seed
        with pytest.raises(ConflictError, match="whole file"):
            second.undo(made.changes[0])
        RandomGraph(second, clock, seed + 1).run(5)  # the file can be written to as any other
        assert second.check() == [], seed
        second.verify()
        replay = digest(second.store)
        assert replay == replayed_digest(second.store), seed
    return graph.done


def test_an_edge_that_an_undo_brings_back_is_hidden_as_before(tmp_path: Path) -> None:
    """Found by a random graph, whose windows were other ones elsewhere."""
    with opened(tmp_path / "a.db") as first:
        first.run("CREATE (:A)-[:R]->(:B)")
        first.run("MATCH ()-[r:R]->() CALL doxa.policy.suppress(r) YIELD changed RETURN changed")
        first.run("MATCH ()-[r:R]->() WITH reveal(r) AS r RETURN r")
        with first.store.write(first.identity, op="delete") as tx:
            (edge,) = [row[0] for row in tx.rows("SELECT id FROM edge WHERE type = 'R'")]
            tx.delete_edge(edge)
        first.undo(first.log(limit=1)[0].tx)
        assert first.run("MATCH ()-[r:R]->() RETURN r").records() == []
        assert first.check() == []
        assert digest(first.store) == replayed_digest(first.store)


def test_free_nodes_of_bound_sessions_stay_in_their_project(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as first, opened(tmp_path / "b.db") as second:
        writer = first.session(role="operator", projects=["p", "q"])
        writer.run("CREATE (:Note {text: 'a'})-[:KNOWS]->(:Note {text: 'b'}), (:Note {text: 'c'})")
        writer.run("MATCH (n:Note {text: 'b'}) SET n.text = 'd'")
        writer.run("MATCH (n:Note {text: 'c'}) DELETE n")
        first.run("CREATE (:Note {text: 'free'})")
        first.export_to(tmp_path / "a.jsonl")
        assert second.import_(tmp_path / "a.jsonl").restored
        query = "MATCH (n:Note) RETURN n.text AS t ORDER BY t"
        edges = "MATCH (:Note)-[r:KNOWS]->(:Note) RETURN type(r) AS t"
        for projects, notes, known in (("p", ["a", "d"], 1), ("q", [], 0)):
            reader = second.session(projects=[projects])
            assert [row["t"] for row in reader.run(query).records()] == notes
            assert len(reader.run(edges).records()) == known
        assert state_digest(second.store) == state_digest(first.store)


def test_a_bound_session_neither_exports_nor_imports(tmp_path: Path) -> None:
    """Through a verb or below it: a dump is of the whole file."""
    with opened(tmp_path / "a.db") as memory:
        memory.remember("mine", name="mine", project="p")
        memory.export_to(tmp_path / "a.jsonl")
        session = memory.session(role="operator", projects=["p"])
        file, store = session.memory, session.memory.store
        assert isinstance(file, BoundFile)
        before = digest(memory.store)
        for attempt in (
            file.export,
            lambda: file.export_to(tmp_path / "b.jsonl"),
            lambda: file._import(tmp_path / "a.jsonl", session.identity, accept_protected=True),
            lambda: file._import(tmp_path / "a.jsonl", session.identity, dry_run=True),
            lambda: list(export_lines(store)),
            lambda: write_export(store, tmp_path / "b.jsonl"),
            lambda: state_digest(store),
            lambda: import_lines(store, session.identity, tmp_path / "a.jsonl"),
            lambda: import_lines(store, session.identity, FORMAT_1, accept_protected=True),
        ):
            with pytest.raises(RoleError, match="whole file"):
                attempt()
        assert sorted(each.name for each in tmp_path.glob("*.jsonl*")) == ["a.jsonl"]
        assert digest(memory.store) == before
