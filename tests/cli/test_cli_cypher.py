"""`doxa cypher` with its statements given: what it prints in each format, what it takes, and how it
ends where something is wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from doxa.base import temporal
from doxa.base.spatial import Point
from doxa.cli import app
from doxa.cli.values import cypher_text, plain, plain_text
from doxa.query.core.elements import Edge, Node
from doxa.query.core.elements import Path as GraphPath
from tests.fixtures_shared import opened

Run = Callable[..., Any]
ANN, BOB = (
    Node(1, labels=("Person", "New one"), props={"name": "Ann", "x": 1}),
    Node(2, labels=(), props={}),
)
KNOWS = Edge(3, kind="KNOWS", start=2, end=1, props={"since": temporal.Date(19723)})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`doxa cypher` in this process on a file of its own; what it said on standard output, or of an
    error."""
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_MODELS", str(tmp_path))

    def call(*arguments: object, exit: int = 0, input: str | bytes = "") -> Any:
        result = CliRunner().invoke(app, ["cypher", *map(str, arguments)], input=input)
        assert result.exit_code == exit, (result.output, result.exception)
        assert "\x1b[" not in result.output
        return result.stderr if exit else result.stdout

    return call


def value(run: Run, *arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        (None, "null", None),
        (True, "true", True),
        (1, "1", 1),
        (1.0, "1.0", 1.0),
        (1e300, "1e+300", 1e300),
        (float("nan"), "NaN", "NaN"),
        (float("-inf"), "-Infinity", "-Infinity"),
        ("it's", r"'it\'s'", "it's"),
        ("a\nb\x1b[2J", r"'a\nb\u001B[2J'", "a\nb\x1b[2J"),
        ("\u202eabc", r"'\u202Eabc'", "\u202eabc"),
        ([1, "a", [None]], "[1, 'a', [null]]", [1, "a", [None]]),
        ({}, "{}", {}),
        ({"a b": 1, "c": {"d": []}}, "{`a b`: 1, c: {d: []}}", {"a b": 1, "c": {"d": []}}),
        (b"\x00\x01", "bytes(AAE=)", "AAE="),
        (temporal.Date(19723), "2024-01-01", "2024-01-01"),
        (temporal.Duration(14, 3, 4, 0), "P1Y2M3DT4S", "P1Y2M3DT4S"),
        (
            Point(7203, 1.0, 2.0),
            "point({x: 1.0, y: 2.0, crs: 'cartesian'})",
            {"srid": 7203, "x": 1.0, "y": 2.0},
        ),
        (
            ANN,
            "(:Person:`New one` {name: 'Ann', x: 1})",
            {"id": 1, "labels": ["Person", "New one"], "properties": {"name": "Ann", "x": 1}},
        ),
        (BOB, "()", {"id": 2, "labels": [], "properties": {}}),
        (
            KNOWS,
            "[:KNOWS {since: 2024-01-01}]",
            {"id": 3, "type": "KNOWS", "start": 2, "end": 1, "properties": {"since": "2024-01-01"}},
        ),
        (
            GraphPath([ANN, BOB], [KNOWS]),
            "(:Person:`New one` {name: 'Ann', x: 1})<-[:KNOWS {since: 2024-01-01}]-()",
            {"nodes": [plain(ANN), plain(BOB)], "relationships": [plain(KNOWS)]},
        ),
        (
            GraphPath([BOB, ANN], [KNOWS]),
            "()-[:KNOWS {since: 2024-01-01}]->(:Person:`New one` {name: 'Ann', x: 1})",
            {"nodes": [plain(BOB), plain(ANN)], "relationships": [plain(KNOWS)]},
        ),
    ],
)
def test_values_outside(value: object, text: str, data: object) -> None:
    assert cypher_text(value) == text
    assert plain(value) == data
    assert plain_text(value) == (
        ""
        if value is None
        else value
        if isinstance(value, str)
        else "AAE="
        if isinstance(value, bytes)
        else text
    )


def test_a_table_says_what_there_is_and_what_was_done(run: Run) -> None:
    text = run(
        "CREATE (a:A {x: 1})-[:R]->(:B {d: date('2024-01-01')}) RETURN a, a.x AS x, null AS none"
    )
    head, line, row, count, done = (part.rstrip() for part in text.splitlines())
    assert (head.split(), row.split("   ")[0], row.split()[-2:]) == (
        ["a", "x", "none"],
        "(:A {x: 1})",
        ["1", "null"],
    )
    assert set(line) <= {"─", " "}
    assert (count, done) == (
        "1 row",
        "nodes created: 2, relationships created: 1, properties set: 2, labels added: 2",
    )
    assert run("MATCH (n) WHERE false RETURN n") == "0 rows\n"
    assert run("MATCH (n) WHERE false SET n.x = 1") == "nothing changed\n"
    assert "(:B {d: 2024-01-01})" in run("MATCH p = (:A)-->() RETURN p")
    long = "x" * 500
    assert long in run(f"RETURN '{long}'")  # a pipe folds nothing
    assert run("UNWIND range(1, 2500) AS x RETURN x").splitlines()[-1] == "2,500 rows"


def test_json_is_one_value_of_columns_rows_and_counters(run: Run) -> None:
    made = value(
        run, "CREATE (a:A {x: 1, t: datetime('2024-01-01T10:00Z')}) RETURN a, [a.x, null] AS l"
    )
    assert made == {
        "columns": ["a", "l"],
        "rows": [
            [
                {"id": 1, "labels": ["A"], "properties": {"x": 1, "t": "2024-01-01T10:00Z"}},
                [1, None],
            ]
        ],
        "counters": {"nodes_created": 1, "properties_set": 2, "labels_added": 1},
    }
    assert value(run, "RETURN {time: 1, since: 2} AS m")["rows"] == [
        [{"time": 1, "since": 2}]
    ]  # numbers stay what they are
    assert [one["rows"] for one in value(run, "RETURN 1; RETURN 2;")] == [[[1]], [[2]]]
    assert json.loads(run("RETURN 1 AS x", "--format", "json"))["rows"] == [[1]]


def test_rows_alone_as_lines_and_csv(run: Run) -> None:
    query = (
        "UNWIND [{a: 'x,\"y', b: null}, {a: 'é\\nz', b: 1.5}] AS m RETURN m.a AS a, m.b AS b, [1,"
        " 'q'] AS l"
    )
    lines = [json.loads(line) for line in run(query, "--format", "jsonl").splitlines()]
    assert lines == [
        {"a": 'x,"y', "b": None, "l": [1, "q"]},
        {"a": "é\nz", "b": 1.5, "l": [1, "q"]},
    ]
    rows = list(csv.reader(io.StringIO(run(query, "--format", "csv"), newline="")))
    assert rows == [["a", "b", "l"], ['x,"y', "", "[1, 'q']"], ["é\nz", "1.5", "[1, 'q']"]]
    result = CliRunner().invoke(app, ["cypher", "CREATE (a:A) RETURN 1 AS x", "--format", "csv"])
    assert (result.stdout, result.stderr) == ("x\n1\n", "nodes created: 1, labels added: 1\n")


def test_plans_are_shown(run: Run) -> None:
    run("CREATE (:A {x: 1})")
    text = run("EXPLAIN MATCH (n:A) RETURN n.x")
    assert text.splitlines()[0] == "Query" and "SELECT" in text and "rows" not in text
    text = run("PROFILE MATCH (n:A) RETURN n.x")
    assert "[1 rows, " in text and text.splitlines()[-1] == "1 row"
    assert value(run, "EXPLAIN MATCH (n:A) RETURN n.x")["plan"]["step"] == "Query"
    assert value(run, "PROFILE MATCH (n:A) RETURN n.x")["plan"]["children"][0]["rows"] == 1


def test_statements_from_files_and_pipes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "query.cypher"
    file.write_text(
        "\ufeff// two; statements\nCREATE (:A {t: 'a;b'});\n\nMATCH (n:A) RETURN n.t /* ; */;\n",
        encoding="utf-8",
    )
    assert [one["rows"] for one in value(run, "--file", file)] == [[], [["a;b"]]]
    assert (
        json.loads(run("--json", input="RETURN 1"))["rows"]
        == json.loads(run("-", "--json", input="RETURN 1"))["rows"]
        == [[1]]
    )
    assert "There is no statement" in run(input=" // nothing\n", exit=2)
    assert "both given" in run("RETURN 1", "--file", file, exit=2)
    file.write_bytes(b"RETURN '\xff'")
    assert "byte 8" in run("--file", file, exit=2)
    assert run("--file", tmp_path / "none.cypher", exit=5)


def test_each_statement_is_a_transaction_unless_they_are_joined(run: Run) -> None:
    script = "CREATE (:A); CREATE (:A {x: 1 / 0}); CREATE (:A)"
    assert "An integer is divided by zero. (line 1, column 31)" in run(
        script, exit=2
    )  # the place in the whole script
    assert value(run, "MATCH (n:A) RETURN count(n)")["rows"] == [[1]]
    run("--transaction", script, exit=2)
    assert value(run, "MATCH (n:A) RETURN count(n)")["rows"] == [[1]]
    assert value(run, "--transaction", "CREATE (:A); MATCH (n:A) RETURN count(n)")[1]["rows"] == [
        [2]
    ]
    run("CREATE (:A);\nRETURN (;", exit=2)  # nothing runs where one cannot be read
    assert value(run, "MATCH (n:A) RETURN count(n)")["rows"] == [[2]]
    assert value(run, "--transaction", "MATCH (n:A) RETURN 1; MATCH (n:A) RETURN 2")[1]["rows"] == [
        [2],
        [2],
    ]
    assert "in an implicit transaction" in run(
        "--transaction", "UNWIND [1] AS x CALL (x) { CREATE (:A) } IN TRANSACTIONS", exit=2
    )


def test_parameters(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "params.json"
    file.write_text('{"x": 1, "m": {"l": [1, null, "ü"]}}', encoding="utf-8")
    found = value(
        run,
        "RETURN $x, $m.l AS l, $y, $`a b`",
        "--params",
        file,
        "--param",
        'x="one=1"',
        "--param",
        "$y=2.5",
        "--param",
        "a b=true",
    )
    assert found["rows"] == [["one=1", [1, None, "ü"], 2.5, True]]
    for option in (
        "x",
        "=1",
        "x=one",
        "x=",
        "x=[1",
        "x=NaN",
        "x=9223372036854775808",
        'x="\ud800"',
        "x=" + "[" * 100_000,
    ):
        assert (
            "JSON" in (said := run("RETURN 1", "--param", option, exit=2))
            or "name=value" in said
            or "64 bits" in said
        )
    for text in ("[1]", "{", "", "\xff"):
        file.write_bytes(text.encode("latin-1"))
        assert str(file) in run("RETURN 1", "--params", file, exit=2)
    assert run("RETURN $x", exit=2).startswith("doxa: The parameter $x is missing.")


def test_times(run: Run) -> None:
    run("CREATE (:A)")
    assert value(run, "MATCH (n:A) RETURN count(n)", "--as-of", "2020-01-01")["rows"] == [[0]]
    run("CREATE CONSTRAINT FOR (n:V) REQUIRE (n.k, n.since, n.till) IS TEMPORAL NO OVERLAP")
    run(
        "CREATE (:V {k: 1, v: 'old', since: date('2020-01-01'), till: date('2022-01-01')}), (:V {k:"
        " 1, v: 'new', since: date('2022-01-01')})"
    )
    assert value(run, "MATCH (n:V) RETURN n.v", "--valid-at", "2021-05-05")["rows"] == [["old"]]
    assert value(run, "MATCH (n:V) RETURN n.v", "--valid-at", "2023-05-05")["rows"] == [["new"]]
    assert "cannot write" in run("CREATE (:A)", "--as-of", "2020-01-01", exit=4)
    assert "--as-of is not a time" in run("RETURN 1", "--as-of", "soon", exit=2)


def test_read_lets_no_write_through(run: Run, tmp_path: Path) -> None:
    run("CREATE (:A)")
    before = (tmp_path / "m.db").read_bytes()
    for script in (
        "CREATE (:A)",
        "RETURN 1; MATCH (n) DELETE n",
        "CREATE INDEX FOR (n:A) ON (n.x)",
        "CALL doxa.remember('x')",
    ):
        assert "writes" in run("--read", script, exit=4)
    assert value(run, "--read", "MATCH (n:A) RETURN count(n)")["rows"] == [[1]]
    assert (tmp_path / "m.db").read_bytes() == before
    assert run("--read", "RETURN 1", "--db", tmp_path / "none.db", exit=5)
    assert not (tmp_path / "none.db").exists()


def test_timeouts_and_folders(run: Run, tmp_path: Path) -> None:
    assert "longer than 50 ms" in run(
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000) AS b RETURN count(a + b)",
        "--timeout",
        "0.05",
        exit=1,
    )
    for wrong in ("0", "-1", "nan", "inf", "1e300"):
        assert "--timeout" in run("RETURN 1", f"--timeout={wrong}", exit=2)
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "a.csv").write_text("x\n1\n2\n")
    query = "LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS row RETURN row.x"
    assert value(run, query, "--csv", folder)["rows"] == [["1"], ["2"]]
    assert run(query, exit=2)
    assert "not a folder" in run(query, "--csv", folder / "a.csv", exit=2)


@pytest.mark.parametrize(
    ("script", "exit", "place"),
    [
        ("RETURN x", 2, (1, 8)),
        ("RETURN 1;\n\n  MATCH (n) RETURN n.x +;", 2, (3, 25)),
        ("/* ; */ RETURN 'a;b';\nRETURN nothing(1)", 2, (2, 8)),
        ("RETURN 'open; RETURN 1;", 2, (1, 8)),
    ],
)
def test_an_error_has_line_column_and_caret(
    run: Run, script: str, exit: int, place: tuple[int, int]
) -> None:
    said = run(script, exit=exit)
    assert (
        f"(line {place[0]}, column"
        f" {place[1]})\n{script.splitlines()[place[0] - 1]}\n{' ' * (place[1] - 1)}^\n" in said
    )
    fields = json.loads(run(script, "--json", exit=exit))["error"]["fields"]
    assert (fields["line"], fields["column"]) == place


@pytest.mark.parametrize(
    ("script", "exit"),
    [
        ("RETURN 1 / 0", 2),
        ("RETURN toInteger([])", 2),
        ("MATCH (n:A) SET n:Revision", 4),
        ("CREATE (:U {x: 1})", 4),
        ("DROP INDEX none", 4),
        ("MATCH (a:A)-[r]->() DELETE a", 4),
        ("RETURN 1 AS x UNION RETURN 2 AS y", 2),
    ],
)
def test_exit_codes_of_queries(run: Run, script: str, exit: int) -> None:
    run("CREATE CONSTRAINT FOR (n:U) REQUIRE n.x IS UNIQUE; CREATE (:U {x: 1}), (:A)-[:R]->(:B)")
    error = json.loads(run(script, "--json", exit=exit))["error"]
    assert error["message"] and error["next_step"]


def test_formats_that_contradict(run: Run) -> None:
    assert "two formats" in run("RETURN 1", "--json", "--format", "csv", exit=2)
    assert "table, json, jsonl, csv" in run("RETURN 1", "--format", "xml", exit=2)


def test_what_a_query_states_is_found(run: Run, tmp_path: Path) -> None:
    run("CALL doxa.remember('The shop runs on MySQL', {name: 'db'}) YIELD kref RETURN kref")
    with opened(tmp_path / "m.db", embedder=None) as memory:
        assert memory.recall("MySQL").hits[0].kref.startswith("kref://default/db.fact")


@pytest.mark.skipif(os.name == "nt", reason="resource is of POSIX")
def test_rows_are_not_held(tmp_path: Path) -> None:
    code = (
        "import resource, sys; sys.argv = ['doxa', 'cypher', *sys.argv[1:]]\nfrom doxa.cli import"
        " main\ntry: main()\nfinally:"
        " sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    env = os.environ | {"DOXA_DB": str(tmp_path / "m.db"), "DOXA_MODELS": str(tmp_path)}
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.run("UNWIND range(1, 600) AS x CREATE (:N {x: x})")
    peaks = []
    for most in (1_000, 300_000):
        query = f"MATCH (a:N), (b:N) RETURN a.x, b.x, '{'y' * 100}' LIMIT {most}"
        done = subprocess.run(
            [sys.executable, "-c", code, "--format", "jsonl", query],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout.count("\n")) == (0, most)
        peaks.append(int(done.stderr) // (1_024 if sys.platform == "darwin" else 1))
    assert peaks[1] < peaks[0] + 20_000  # kilobytes


@pytest.mark.skipif(os.name == "nt", reason="pipes of a POSIX shell")
def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.run("UNWIND range(1, 3000) AS x CREATE (:N {x: x})")
    for form in ("table", "json", "jsonl", "csv"):
        line = (
            f"{sys.executable} -W error -m doxa.cli cypher --format {form} 'MATCH (a:N), (b:N)"
            " RETURN a.x, b.x' | head -c 100"
        )
        env = os.environ | {"DOXA_DB": str(tmp_path / "m.db"), "DOXA_MODELS": str(tmp_path)}
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stderr, done.returncode, len(done.stdout.encode())) == ("", 0, 100), form


def test_what_is_odd_is_noted(run: Run) -> None:
    assert "note: The provided label is not in the database." in run("MATCH (n:Persson) RETURN n")
    assert value(run, "MATCH (n:Persson) RETURN n")["notices"][0]["column"] == 10
    assert run("MATCH (n:Persson) RETURN n", "--format", "csv") == "n\n"
    assert "notices" not in value(run, "RETURN 1 AS one")
