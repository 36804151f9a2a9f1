"""Many configurations over the same open stores: what a lane is worth, and what hangs on a
constant."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import ablation, locomo, locomo_plus, sensitivity
from bench.sensitivity import constant_set, moved, shown, swept_constants
from bench.sets import Sets, opened_sets
from doxa.models import HashEmbedder
from doxa.recall import constants, types
from tests.bench.test_bench_end_to_end import written, written_chat, written_cues

WORDS = HashEmbedder(dimensions=384)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    written(tmp_path)
    written_cues(tmp_path)
    written_chat(tmp_path)
    return tmp_path


def test_the_open_sets_give_what_the_commands_give(data: Path) -> None:
    with opened_sets(data, WORDS) as sets:
        means = sets.ask().means()
    talks = locomo.run(data / "locomo", WORDS, seed=7).figures
    cues = locomo_plus.run(data / "locomo-plus", data / "locomo", WORDS, seed=7).figures
    assert set(means) == {"locomo", "p1", "p2", "beam"}
    assert means["locomo"] == talks["turn.answerable.recall_at_10"]
    assert (means["p1"], means["p2"]) == (cues["p1.hit_at_10"], cues["p2.hit_at_10"])


def test_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    written_chat(tmp_path)
    with opened_sets(tmp_path, WORDS) as sets:
        assert set(sets.asked) == {"beam"}


def test_every_lane_is_switched_off_and_asked_alone(data: Path) -> None:
    found = dict(ablation.configurations())
    assert next(iter(found)) == "default" and found["default"] == {}
    for lane in types.LANES:
        if lane in types.LANES_DEFAULT:
            assert lane not in found[f"without {lane}"]["lanes"]
        else:
            assert lane in found[f"with {lane}"]["lanes"]
        alone = f"{lane} alone" if lane in types.NAMING else f"words, meaning and {lane}"
        assert set(found[alone]["lanes"]) - types.NAMING == {lane} - types.NAMING
    assert {f"mode {mode}" for mode in types.MODES} <= set(found)
    report = ablation.run(data, WORDS, seed=7)
    assert report.figures["default.locomo.at_10"] == 1.0
    assert report.figures["mode_auto.p1.gain.by_question.mean"] == 0  # it is the default
    assert "words_alone.p1.at_10" in report.figures
    assert "without_meaning.beam.gain.by_question.low" in report.figures
    assert "| without words |" in report.text()


def test_a_constant_is_set_everywhere_and_restored(data: Path) -> None:
    before = constants.PREVIOUS
    with opened_sets(data, WORDS) as sets:
        usual = sets.ask()
        with constant_set("PREVIOUS", 0.0):
            assert constants.PREVIOUS == 0
            other = sets.ask()
        assert other.changed(usual) > 0
        assert sets.ask().changed(usual) == 0
        assert before == constants.PREVIOUS
        with opened_sets(data, WORDS) as fresh, constant_set("PREVIOUS", 0.0):
            assert (
                fresh.ask().changed(other) == 0
            )  # an open store keeps nothing of the former value


def test_the_sweep_says_where_constants_go_and_what_they_change(data: Path) -> None:
    report = sensitivity.run(
        data, WORDS, seed=7, only=("PREVIOUS", "FIELD", "BETA"), factors=(0.0, 1.5)
    )
    text = report.text()
    assert (
        f"| `BETA` ({constants.BETA:g}) | 0.5 |" in text
        and "mode `max`" in text
        and "mode `rrf`" not in text
    )
    assert {"mode_max.BETA.1.p1.at_10", "mode_max.chosen.p1.at_10"} <= set(report.figures)
    assert f"| `PREVIOUS` ({constants.PREVIOUS:g}) | 0 |" in text and "| `FIELD`" in text
    assert (
        "as chosen" in text and "| none |" in text
    )  # turns have no fields, so FIELD changes nothing here
    assert report.figures["PREVIOUS.0.locomo.at_10"] >= 0


def test_a_sweep_that_reaches_nothing_is_an_error(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"result": None}

    def frozen(self: Sets, **options: object) -> object:
        usual["result"] = usual["result"] or original(self, **options)
        return usual["result"]

    original = Sets.ask
    monkeypatch.setattr(Sets, "ask", frozen)
    with pytest.raises(AssertionError, match="changed no score"):
        sensitivity.run(data, WORDS, seed=7, only=("PREVIOUS",), factors=(0.5,))


def test_constants_go_down_and_up_but_a_length_has_no_zero() -> None:
    assert moved("C", 0.2) == pytest.approx([0, 0.1, 0.15, 0.25, 0.3])
    assert moved("NEIGHBOUR_LENGTH", 30.0)[0] == 15
    assert moved("NEW", 0.0) == [0.1, 0.25, 0.5]
    assert [shown(value) for value in (0.9, 1 / 3, 30.0, 0.123456)] == [
        "0.9",
        "1/3",
        "30",
        "0.123456",
    ]
    assert {"K1", "B", "C"} <= set(swept_constants())


def test_the_table_stands_between_its_marks(tmp_path: Path) -> None:
    from bench.report import Report

    report = Report("sensitivity", 7, "none")
    report.table("T", ["a"], [["b"]])
    document = tmp_path / "page.md"
    document.write_text("head\n")
    assert "lacks the marks" in sensitivity.write_section(document, report)
    document.write_text(f"head\n{sensitivity.BEGIN}\nold\n{sensitivity.END}\ntail\n")
    sensitivity.write_section(document, report)
    text = document.read_text()
    assert (
        "old" not in text
        and "| b |" in text
        and text.startswith("head\n")
        and text.endswith("tail\n")
    )
