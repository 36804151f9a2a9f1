"""Charts are well-formed, and a value lies where the axis says."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import pages, results
from bench.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, charts_of, drawn, ticks

SVG = "{http://www.w3.org/2000/svg}"
LINEAR = Chart("a < b & c", "x", "y", (0, 100), (50, 100))
LOGARITHMIC = Chart("t", "x", "y", (1, 10_000), (0.1, 10), x_log=True, y_log=True)


def test_values_map_to_places_with_the_larger_ones_higher() -> None:
    assert [LINEAR.x(value) for value in (0, 50, 100)] == [
        LEFT,
        (LEFT + WIDTH - RIGHT) / 2,
        WIDTH - RIGHT,
    ]
    assert [LINEAR.y(value) for value in (50, 75, 100)] == [
        HEIGHT - BOTTOM,
        (TOP + HEIGHT - BOTTOM) / 2,
        TOP,
    ]
    assert LOGARITHMIC.x(100) == pytest.approx((LEFT + WIDTH - RIGHT) / 2)
    assert LOGARITHMIC.y(1) == pytest.approx((TOP + HEIGHT - BOTTOM) / 2)


def test_ticks_are_round_and_within_the_limits() -> None:
    assert ticks((50, 100), log=False) == [50, 60, 70, 80, 90, 100]
    assert ticks((0.1, 0.35), log=False) == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3, 0.35])
    assert ticks((0.1, 100), log=True) == pytest.approx([0.1, 1, 10, 100])


def test_a_drawing_is_well_formed_and_its_dots_are_the_data() -> None:
    series = {"doxa <us>": [(0.0, 60.0), (100.0, 90.0)], "plain": [(0.0, 50.0), (100.0, 91.0)]}
    root = ElementTree.fromstring(drawn(LINEAR, series))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.iter(f"{SVG}circle")]
    wanted = [(LINEAR.x(x), LINEAR.y(y)) for points in series.values() for x, y in points]
    assert dots == [pytest.approx(place, abs=0.06) for place in wanted]
    lines = [line.attrib["points"].split(" ") for line in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [2, 2]
    texts = {text.text: float(text.attrib["y"]) for text in root.iter(f"{SVG}text")}
    assert {"a < b & c", "doxa <us>", "plain"} <= set(texts)
    assert abs(texts["doxa <us>"] - texts["plain"]) >= 12  # names of near lines stay apart


def test_the_recorded_figures_become_the_charts_of_the_document(tmp_path: Path) -> None:
    figures = {
        "locomo.turn.answerable.recall_in_500_tokens": 0.8,
        "locomo.turn.answerable.recall_in_2000_tokens": 0.9,
        "locomo.baseline.bm25.turn.answerable.recall_in_500_tokens": 0.6,
        "locomo.baseline.bm25.turn.answerable.recall_in_2000_tokens": 0.7,
        "speed.scale.1000.recall.with_embedding.p50_ms": 1.0,
        "speed.scale.10000.recall.with_embedding.p50_ms": 4.0,
        "locomo.gain.turn.answerable.recall_in_500_tokens.by_question.mean": 0.2,
    }
    charts = charts_of(figures, dates={"locomo": "2026-01-02", "speed": "2026-01-03"})
    assert set(charts) == {"recall-by-budget.svg", "latency-by-size.svg"}
    assert (
        "(2026-01-02)" in charts["recall-by-budget.svg"]
        and "(2026-01-03)" in charts["latency-by-size.svg"]
    )
    assert charts["recall-by-budget.svg"].count("<polyline") == 2
    assert not charts_of({}, dates={})
    names = pages.draw(
        {"figures": figures, "date": "2026-01-02", "commands": [{"command": "locomo"}]},
        tmp_path / "plots",
    )
    for name in names:
        ElementTree.parse(tmp_path / "plots" / name)


def test_the_document_shows_every_chart_of_its_folder() -> None:
    text = pages.DOCUMENT.read_text()
    files = sorted((pages.DOCUMENT.parent / pages.PLOTS).glob("*.svg"))
    assert files
    for file in files:
        assert f"]({pages.PLOTS}/{file.name})" in text
        ElementTree.parse(file)
    newest = json.loads(max(results.FOLDER.glob("*.json")).read_text())
    assert set(charts_of(newest["figures"], dates={})) == {file.name for file in files}
