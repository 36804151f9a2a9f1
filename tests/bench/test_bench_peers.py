"""The benchmark next to graph databases: a tiny run of doxa alone, the comparison of answers, and a
run that is kept with other results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import pages, peers, results
from bench.peers_data import answer, load
from bench.peers_graph import Truth, random_graph, social_graph
from bench.peers_processes import Told
from bench.peers_rows import TITLES, Asked, asked
from bench.peers_work import measured
from bench.report import Report
from bench.timing import spread


@pytest.mark.parametrize("make", [random_graph, social_graph])
def test_graphs_relate_no_two_nodes_twice_and_are_the_same_under_the_same_seed(
    make: Any, tmp_path: Path
) -> None:
    data, again = make(300, 1_500, 3), make(300, 1_500, 3)
    pairs = {frozenset(pair) for pair in zip(data.src.tolist(), data.dst.tolist(), strict=True)}
    assert len(pairs) == data.edges == 1_500 and all(len(pair) == 2 for pair in pairs)
    assert (data.src == again.src).all() and (data.key == again.key).all()
    data.save(tmp_path)
    assert load(tmp_path).node_rows() == data.node_rows()
    assert (tmp_path / "edges.csv").read_text().count("\n") == 1_501


def test_the_social_graph_has_hubs() -> None:
    data = social_graph(5_000, 25_000, 3)
    assert np.bincount(data.dst).max() > 20 * data.edges / data.nodes


def test_the_truth_of_a_small_graph() -> None:
    data = random_graph(4, 3, 1)
    data.src, data.dst = np.array([0, 1, 2]), np.array([1, 2, 0])
    truth = Truth(data)
    assert truth.hops(0, 2).tolist() == [2]
    assert truth.within(0, 4) == 3
    assert truth.distance(0, 2) == 2 and truth.distance(0, 3) is None
    assert truth.triangles() == 3


def test_answers_are_equal_where_rows_are() -> None:
    assert answer([[7]]) == answer([(7.0,)]) == "7"
    assert answer([["a", 1], ["b", 2]]) == answer([("b", 2), ("a", 1.0)]) != answer([["a", 1]])
    assert answer([[1], [2]], ordered=True) != answer([[2], [1]], ordered=True)
    assert answer([]).startswith("0 rows")


def told(
    times: dict[str, list[float]], answers: dict[str, list[str]], durable: str = "yes"
) -> Told:
    return Told(about={"durable": durable}, times_ms=times, answers=answers)


def test_only_a_durable_peer_with_right_answers_is_the_one_to_beat() -> None:
    rows = [Asked("lookup", "", [{}], expected=["1", "2"])]
    found = {
        "doxa": told({"lookup": [5.0]}, {"lookup": ["1"]}),
        "quick": told({"lookup": [1.0]}, {"lookup": ["1", "3"]}),
        "forgetful": told({"lookup": [2.0]}, {"lookup": ["1"]}, durable="no"),
        "sound": told({"lookup": [3.0], "load": [1.0]}, {"lookup": ["1", "2"]}),
    }
    assert [peers.right(one, rows[0]) for one in found.values()] == [True, False, True, True]
    assert peers.fastest(found, "lookup", rows) == "sound"
    assert peers.fastest(found, "load", rows) == "sound"
    assert peers.fastest(found, "top", rows) is None
    report = Report("graph", 7, "none")
    peers._tables(report, "random", random_graph(10, 5, 1), found, rows)
    line = next(line for line in report.tables[0].splitlines() if line.startswith("| lookup"))
    assert "1.00 **wrong**" in line and "1.7 × sound: " in line


def test_a_failing_system_is_told_as_such() -> None:
    class Broken:
        def prepare(self, text: str) -> str:
            raise RuntimeError("no such\nthing")

    plan = {"row": "lookup", "text": "", "params": [{}], "check": "", "ordered": False}
    assert measured(Broken(), plan) == {"failed": "RuntimeError: no such thing"}  # type: ignore[arg-type]


def test_a_tiny_run_of_doxa_alone_gives_right_answers(tmp_path: Path) -> None:
    report = peers.run(tmp_path / "nowhere", seed=7, quick=True, nodes=400)
    for shape in peers.SHAPES:
        for row in asked(random_graph(20, 40, 1), 1, share=0.1):
            assert report.figures[f"{shape}.doxa.{row.row}.right"] == 1.0, row.row
    assert report.figures["time.system.address.lookup.ratio"] > 0
    text = report.text()
    assert all(title in text for title in TITLES.values())
    assert "| kglite | not installed |" in text


def test_a_recorded_command_keeps_the_figures_of_the_others(tmp_path: Path) -> None:
    old = {
        "date": "2001-01-01",
        "configuration": {"doxa": "0"},
        "machine": {},
        "figures": {"locomo.x": 1.0, "graph.x": 1.0},
    }
    commands = [
        {"command": name, "seed": 1, "wall_s": 1.0, "tables": []} for name in ("locomo", "graph")
    ]
    (tmp_path / "2001-01-01.json").write_text(json.dumps({**old, "commands": commands}))
    report = Report("graph", 7, "none")
    report.put("y", spread([0.001]).p50_ms)
    found = json.loads(results.write(tmp_path, [report]).read_text())
    assert found["figures"] == {"locomo.x": 1.0, "graph.y": 1.0}
    assert [(command["command"], command["seed"]) for command in found["commands"]] == [
        ("locomo", 1),
        ("graph", 7),
    ]
    assert found["commands"][0]["date"] == "2001-01-01" and found["configuration"] == {"doxa": "0"}
    pages.render(tmp_path, tmp_path / "page.md")
    assert "Run on 2001-01-01" in (tmp_path / "page" / "recall.md").read_text()
