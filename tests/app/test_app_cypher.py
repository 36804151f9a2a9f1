"""Beliefs and Cypher are one graph: the verbs as procedures, beliefs as nodes, one transaction, the
same roles."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.errors import DoxaError, InputError, RoleError
from doxa.cypher.errors import QueryError
from tests.fixtures_shared import opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator", project="shop") as made:
        made.remember("We deploy on Thursdays", name="deploys")
        yield made
        assert made.check() == []


KREF = "kref://shop/deploys"


def test_beliefs_are_ordinary_nodes(memory: doxa.Memory) -> None:
    rows = memory.run(
        "MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE i.name = 'deploys' RETURN r.summary AS text,"
        " labels(i) AS labels"
    ).records()
    assert [row["text"] for row in rows] == ["We deploy on Thursdays"]


def test_revising_from_cypher_is_revising(memory: doxa.Memory) -> None:
    kref = memory.recall("when do we deploy?").hits[0].kref.partition("?")[0]
    (row,) = memory.run("CALL doxa.revise($kref, 'We deploy on Fridays')", {"kref": kref}).records()
    assert row["action"] == "revised"
    assert [hit.text for hit in memory.recall("when do we deploy?").hits] == [
        "We deploy on Fridays"
    ]
    assert memory.history(kref).revisions[0].status == "superseded"
    again = memory.run(
        "CALL doxa.revise($kref, 'We deploy on Fridays') YIELD action RETURN action", {"kref": kref}
    ).single()
    assert again == "unchanged"


def test_recall_gives_nodes_to_go_on_from(memory: doxa.Memory) -> None:
    row = memory.run(
        "CALL doxa.recall('when do we deploy?', {limit: 1}) YIELD text, node MATCH"
        " (i)-[:CURRENT]->(node) RETURN text, i.name AS name"
    ).records()[0]
    assert row == {"text": "We deploy on Thursdays", "name": "deploys"}


def test_verbs_and_writes_are_one_transaction(memory: doxa.Memory) -> None:
    before = memory.recall("deploy").hits
    with memory.graph() as graph:
        graph.begin()
        graph.run("CREATE (:Note {text: 'x'})").close()
        graph.run(
            "CALL doxa.remember('The cache is Redis', {project: 'shop', name: 'cache'})"
        ).records()
        assert graph.run("MATCH (i:Item {name: 'cache'}) RETURN count(i)").single() == 1
        graph.rollback()
    assert memory.run("MATCH (i:Item {name: 'cache'}) RETURN count(i)").single() == 0
    assert memory.recall("deploy").hits == before
    with memory.graph() as graph:
        graph.begin()
        graph.run(
            "CALL doxa.remember('The cache is Redis', {project: 'shop', name: 'cache'})"
        ).records()
        graph.run("MATCH (i:Item {name: 'cache'}) CREATE (:Note)-[:ABOUT]->(i)").close()
        graph.commit()
    assert len(memory.log(limit=1)) == 1
    assert memory.log(limit=1)[0].op == "cypher"
    assert memory.recall("which cache?").hits[0].text == "The cache is Redis"


def test_a_failed_statement_takes_its_verbs_with_it(memory: doxa.Memory) -> None:
    with pytest.raises(QueryError):
        memory.run(
            "CALL doxa.remember('The cache is Redis', {project: 'shop', name: 'cache'}) YIELD kref"
            " RETURN 1 / 0"
        )
    assert memory.run("MATCH (i:Item {name: 'cache'}) RETURN count(i)").single() == 0


def test_other_verbs(memory: doxa.Memory) -> None:
    kref = memory.recall("deploy").hits[0].kref.partition("?")[0]
    memory.run(
        "CALL doxa.remember('Deploys need a green build', {project: 'shop', name: 'rule',"
        " depends_on: [$kref]})",
        {"kref": kref},
    )
    assert (
        memory.run("CALL doxa.impact($kref) YIELD kref RETURN count(*)", {"kref": kref}).single()
        == 1
    )
    assert (
        memory.run(
            "CALL doxa.provenance($kref) YIELD kref RETURN count(*)",
            {"kref": memory.recall("green build").hits[0].kref},
        ).single()
        == 1
    )
    assert (
        memory.run(
            "CALL doxa.tag($kref, 'approved') YIELD action RETURN action", {"kref": kref + "?r=1"}
        ).single()
        == "tagged"
    )
    assert (
        memory.run("CALL doxa.contract($kref) YIELD action RETURN action", {"kref": kref}).single()
        == "deprecated"
    )
    assert "We deploy on Thursdays" not in [hit.text for hit in memory.recall("deploy").hits]
    assert memory.run(
        "CALL doxa.history($kref) YIELD status RETURN collect(status)", {"kref": kref}
    ).single() == ["deprecated"]


def test_what_makes_a_belief_is_not_written_by_hand(memory: doxa.Memory) -> None:
    memory.remember("The cache is Redis", name="cache")
    for text in (
        "MATCH (r:Revision) SET r.summary = 'forged'",
        (
            "MATCH (i:Item {name: 'cache'}), (r:Revision {summary: 'We deploy on Thursdays'})"
            " CREATE (i)-[:CURRENT]->(r)"
        ),
        (
            "MATCH (i:Item {name: 'cache'})-[c:CURRENT]->(), (r:Revision {summary: 'We deploy on"
            " Thursdays'}) DELETE c CREATE (i)-[:CURRENT]->(r)"
        ),
        (
            "MATCH (i:Item {name: 'cache'}), (r:Revision {summary: 'We deploy on Thursdays'})"
            " CREATE (i)-[:HAS_REVISION]->(r)"
        ),
        "MATCH (r:Revision) DETACH DELETE r",
        (
            "CREATE (:Item {kref: 'kref://shop/x.fact', project: 'shop', space: '', name: 'x',"
            " kind: 'fact'})"
        ),
        (
            "CREATE (n:Note {kref: 'kref://shop/x.fact?r=1', summary: 'forged', author:"
            " 'operator:bob'}) SET n:Revision"
        ),
        (
            "CREATE (n:Revision {summary: 'forged', author: 'operator:bob'}) SET n.kref ="
            " 'kref://shop/x.fact?r=1'"
        ),
    ):
        with pytest.raises(DoxaError):
            memory.session(role="agent").run(text)
    assert memory.recall("deploy").hits[0].text == "We deploy on Thursdays"


def test_roles_hold(memory: doxa.Memory) -> None:
    with pytest.raises(RoleError):
        memory.session(role="agent").run("CREATE INDEX FOR (a:A) ON (a.x)")


def test_read_refuses_writes(memory: doxa.Memory) -> None:
    assert memory.read("RETURN 1 AS x").records() == [{"x": 1}]
    with pytest.raises(InputError):
        memory.read("CREATE (:A)")
    with pytest.raises(InputError):
        memory.read("CALL doxa.remember('x')")
    assert memory.write("CREATE (a:A) RETURN 1 AS x").single() == 1


def test_csv_only_from_the_allowed_folder(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "a.csv").write_text("name,age\nAda,36\nBob,\n")
    (tmp_path / "secret.csv").write_text("secret\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    query = "LOAD CSV WITH HEADERS FROM $f AS row RETURN row.name AS name, row.age AS age"
    with doxa.open(tmp_path / "m.db", embedder=None, csv_folder=folder) as memory:
        assert memory.run(query, {"f": "a.csv"}).records() == [
            {"name": "Ada", "age": "36"},
            {"name": "Bob", "age": None},
        ]
        assert memory.run(query, {"f": "file:///a.csv"}).records()[0]["name"] == "Ada"
        for name in (
            "../secret.csv",
            "link.csv",
            str(tmp_path / "secret.csv"),
            "http://example.com/a.csv",
            "file://host/a.csv",
            "a\0b",
            "",
            ".",
        ):
            with pytest.raises(QueryError):
                memory.run(query, {"f": name})
    with doxa.open(tmp_path / "m.db", embedder=None) as memory, pytest.raises(QueryError):
        memory.run(query, {"f": "a.csv"})


@pytest.mark.parametrize(
    "content, said",
    [
        (b"a,b\n" + b"x" * (2 * 1024**2) + b",2\n", "field"),
        (b"a,b\n\xff\xfe,2\n", "utf-8"),
        (b'a,b\n"x,2\n' + b"y\n" * 1_000_000, "field"),
    ],
)
def test_a_file_that_is_no_csv_is_an_error_of_the_query(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with doxa.open(tmp_path / "m.db", embedder=None, csv_folder=tmp_path) as memory:
        with pytest.raises(QueryError, match=said) as caught:
            memory.run("LOAD CSV WITH HEADERS FROM 'x.csv' AS row RETURN row.a").records()
        assert caught.value.detail == "InvalidFile"
        assert memory.run("RETURN 1").single() == 1


def test_a_csv_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.query.exec.load_csv.IMPORT_LINE_BYTES_MAX", 100)
    (tmp_path / "x.csv").write_text("a\n" + "x," * 60 + "\n")
    with (
        doxa.open(tmp_path / "m.db", embedder=None, csv_folder=tmp_path) as memory,
        pytest.raises(QueryError, match="longer than 100"),
    ):
        memory.run("LOAD CSV FROM 'x.csv' AS row RETURN row").records()


def test_recall_in_a_query_obeys_as_of(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        memory.remember("We deploy on Thursdays", name="deploy", valid_until="2024-06-01")
        moment = time.time_ns()
        time.sleep(0.001)
        memory.revise("kref://default/deploy.fact", "We deploy on Mondays", valid_until=None)
        recall = "CALL doxa.recall('deploy'{}) YIELD text, node RETURN text, node.summary"
        read = recall.format("")
        assert list(memory.run(read)) == [("We deploy on Mondays",) * 2]
        assert list(
            memory.run(f"AS OF SYSTEM TIME {moment} AS OF VALID TIME date('2024-01-01') {read}")
        ) == [("We deploy on Thursdays",) * 2]
        assert list(memory.run(f"AS OF SYSTEM TIME 0 {read}")) == []
        assert list(memory.run(recall.format(", {as_of: datetime()}"))) == [
            ("We deploy on Mondays",) * 2
        ]
        with pytest.raises(InputError, match="present"):
            memory.run(
                f"AS OF SYSTEM TIME {moment} CALL doxa.history('kref://default/deploy.fact')"
            )


def test_threads_that_ask_first_at_once_share_one_engine(tmp_path: Path) -> None:
    for number in range(5):
        with opened(tmp_path / f"{number}.db") as memory:
            ready = threading.Barrier(4)

            def first(memory: Any = memory, ready: threading.Barrier = ready) -> object:
                ready.wait()
                return memory.queries

            with ThreadPoolExecutor(4) as pool:
                found = [done.result() for done in [pool.submit(first) for _ in range(4)]]
            assert len(set(map(id, found))) == 1
