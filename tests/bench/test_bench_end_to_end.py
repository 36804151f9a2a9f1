"""Every quality command from a written file to figures and tables, with a fake model; no data set
is needed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import (
    beam,
    embedding,
    libraries,
    locomo,
    locomo_plus,
    pages,
    results,
    speed,
    speed_graph,
    speed_image,
    speed_recall,
    speed_write,
)
from bench.__main__ import _parser, main
from bench.corpora import DAY_NS, gap_ns, load_cues, load_locomo, numbered, with_cues
from bench.embedders import CloudEmbedder
from bench.report import Report
from bench.texts import questions_of, turns_of
from doxa.base.errors import InputError
from doxa.models import HashEmbedder

WORDS = HashEmbedder(dimensions=384)
FIRST = [
    "I adopted a grey cat named Miso",
    "Lovely, my garden is full of tulips",
    "We hiked up the Rigi on Sunday",
    "I sold the old piano",
    "Good night",
]
SECOND = [
    "My sister moved to Lisbon",
    "I started a pottery class",
    "Miso caught a mouse today",
    "The tulips froze",
    "See you next week",
]


def written(folder: Path) -> Path:
    sample: dict[str, Any] = {"speaker_a": "Bo", "speaker_b": "Ana"}
    for number, (texts, date) in enumerate(((FIRST, "8 May, 2023"), (SECOND, "20 June, 2023")), 1):
        sample[f"session_{number}_date_time"] = f"1:56 pm on {date}"
        sample[f"session_{number}"] = [
            {"speaker": ("Ana", "Bo")[i % 2], "dia_id": f"D{number}:{i + 1}", "text": text}
            for i, text in enumerate(texts)
        ]
    asked = [
        {
            "question": "What is the name of the grey cat?",
            "evidence": ["D1:1; D2:3"],
            "category": 4,
        },
        {"question": "Who moved to Lisbon?", "evidence": ["D2:1"], "category": 2},
        {"question": "What froze in the garden?", "evidence": ["D2:4", "D"], "category": 1},
        {"question": "Did Bo adopt a cat?", "evidence": ["D1:1"], "category": 5},
        {"question": "Nobody labelled this", "evidence": [], "category": 4},
    ]
    path = folder / "locomo" / "locomo.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": sample, "qa": asked}]))
    return path


def written_cues(folder: Path) -> Path:
    cue = {
        "index": 10,
        "relation_type": "causal",
        "cue_dialogue": "A: I joined a choir\nB: Sing for me",
        "trigger_query": "A: my choir sings",
        "time_gap": "about one month later",
    }
    path = folder / "locomo-plus" / "plus.json"
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps([cue, {**cue, "index": 3}])
    )  # the second needs a base that is not there
    return path


def written_chat(folder: Path) -> Path:
    texts = [
        "The response time is 250 ms ->-> 1,1",
        "AccessRecord",
        "The response time is now 90 ms",
        "I never used Flask",
        "I use Flask daily ->-> 2,3",
    ]
    turns = [
        {"id": number, "role": ("user", "assistant")[number % 2], "content": text}
        for number, text in enumerate(texts)
    ]
    turns[0]["time_anchor"] = "March-15-2024"
    chat = folder / "beam" / "1"
    (chat / "probing_questions").mkdir(parents=True)
    (chat / "chat.json").write_text(
        json.dumps([{"batch_number": 1, "turns": [turns], "time_anchor": None}])
    )
    questions = {
        "knowledge_update": [
            {
                "question": "What is the response time?",
                "source_chat_ids": {"original_info": [0], "updated_info": [2]},
            }
        ],
        "contradiction_resolution": [
            {
                "question": "Do I use Flask?",
                "source_chat_ids": {"first_statement": [3], "second_statement": [4]},
            }
        ],
        "abstention": [{"question": "Who?"}],
    }
    (chat / "probing_questions" / "probing_questions.json").write_text(json.dumps(questions))
    return chat.parent


def test_locomo_finds_the_evidence_of_a_written_conversation(tmp_path: Path) -> None:
    report = locomo.run(written(tmp_path), WORDS, seed=7)
    figures = report.figures
    assert figures["turn.answerable.n"] == 3
    assert figures["turn.adversarial.n"] == 1
    assert figures["turn.answerable.recall_at_10"] == 1.0
    assert figures["turn.category.2.recall_at_5"] == 1.0
    assert figures["turn.answerable.recall_in_500_tokens"] == 1.0
    assert {
        "doxa_words.turn.answerable.all_at_10",
        "baseline.rrf.session.answerable.recall_at_5",
    } <= set(figures)
    assert "gain.turn.answerable.recall_at_10.by_question.low" in figures
    assert "| doxa |" in report.text()


def test_locomo_runs_by_words_alone(tmp_path: Path) -> None:
    report = locomo.run(written(tmp_path), None, seed=7)
    assert report.embedder == "none"
    assert report.figures["turn.answerable.recall_at_10"] > 0.5


def test_a_cue_stands_at_its_place_in_time_in_the_voices_of_the_conversation(
    tmp_path: Path,
) -> None:
    base = load_locomo(written(tmp_path))[0]
    cue = load_cues(written_cues(tmp_path))[0]
    turns = with_cues(base, [cue])
    places = [number for number, turn in enumerate(turns) if turn.source_id.startswith("cue-")]
    assert places == [5, 6]  # 28 May: after the session of 8 May, before that of 20 June
    assert [turns[place].speaker for place in places] == [
        "Bo",
        "Ana",
    ]  # A is speaker_a, though Ana speaks first


def test_base_conversations_keep_their_published_numbers(tmp_path: Path) -> None:
    unknown = load_locomo(written(tmp_path))[0]
    assert list(numbered([unknown, replace(unknown, name="conv-42")])) == [0, 3]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("about six weeks later", 42),
        ("a year later", 365),
        ("2 months later", 60),
        ("several months later", 0),
        ("", 0),
    ],
)
def test_gaps_are_read_as_the_official_code_reads_them(text: str, days: int) -> None:
    assert gap_ns(text) == days * DAY_NS


def test_locomo_plus_reports_both_protocols_and_the_control(tmp_path: Path) -> None:
    report = locomo_plus.run(written_cues(tmp_path), written(tmp_path), WORDS, seed=7)
    assert report.figures["p1.n"] == report.figures["p2.n"] == 1
    assert report.figures["p1.hit_at_5"] == report.figures["p2.hit_at_10"] == 1.0
    assert 1 <= report.figures["baseline.unusual.p1.median_rank"] <= 12


def test_beam_reads_updates_and_contradictions(tmp_path: Path) -> None:
    report = beam.run(written_chat(tmp_path), WORDS, seed=7)
    assert report.figures["message.n"] == 2
    assert (
        report.figures["update.updated_at_10"] == report.figures["contradiction.both_at_10"] == 1.0
    )
    assert report.figures["update.order"] in (0.0, 1.0)


def test_small_speed_runs_end_with_figures() -> None:
    report = Report("speed", 7, "none")
    speed_recall.measure_recall(report, None, size=300, sample=(), questions=5)
    speed_write.measure_writes(report, (), rounds=1, times=2)
    speed_graph.measure_graph(report, nodes=50, edges=200, walks=3)
    speed_image.measure_image(report, nodes=60, edges=200, times=2)
    assert all(report.figures[f"image.{row}.right"] == 1.0 for row in speed_image.ROWS)
    speed_recall.summarise(report, [300])
    assert report.figures["scale.300.vector.recall_at_10"] == 1.0
    assert (
        report.figures["scale.300.recall.recall_at_10"] > 0.9
    )  # neighbours lift a few that were not candidates
    assert report.figures["scale.300.disk.bytes_per_exchange"] > 0
    assert report.figures["revise.per_s"] > 0
    assert report.figures["graph.two_hops.reached_mean"] > 0


def test_written_results_become_the_document(tmp_path: Path) -> None:
    report = locomo.run(written(tmp_path), WORDS, seed=7)
    path = results.write(tmp_path / "results", [report])
    record = json.loads(path.read_text())
    assert record["figures"]["locomo.turn.answerable.recall_at_10"] == 1.0
    assert {"date", "machine", "configuration", "commands"} <= set(record)
    document = tmp_path / "docs" / "benchmarks.md"
    page = tmp_path / "docs" / "benchmarks" / "recall.md"
    pages.render(tmp_path / "results", document)
    for path in (document, page):
        path.write_text(path.read_text() + "\nadded by hand\n")
    pages.render(tmp_path / "results", document)
    text = page.read_text()
    assert all(table in text for table in report.tables)
    assert text.endswith("added by hand\n") and document.read_text().endswith("added by hand\n")
    assert "| **100.0** |" in document.read_text()
    assert f"| what | {record['date']} |" in (page.parent / pages.HISTORY).read_text()
    assert not (page.parent / "graph.md").exists()


def test_nothing_is_written_where_a_page_lost_its_marks(tmp_path: Path) -> None:
    results.write(tmp_path / "results", [locomo.run(written(tmp_path), WORDS, seed=7)])
    document = tmp_path / "benchmarks.md"
    pages.render(tmp_path / "results", document)
    before = document.read_text()
    (tmp_path / "benchmarks" / "recall.md").write_text("# Without marks\n")
    assert "nothing was written" in pages.render(tmp_path / "results", document)
    assert document.read_text() == before


def test_every_command_that_is_kept_has_one_page() -> None:
    shown = [command for commands in pages.PAGES.values() for command in commands]
    assert sorted(shown) == sorted({*results.COMMANDS})


def test_the_documents_hold_the_newest_results(tmp_path: Path) -> None:
    copy = tmp_path / "benchmarks.md"
    shutil.copy(pages.DOCUMENT, copy)
    shutil.copytree(pages.DOCUMENT.with_suffix(""), copy.with_suffix(""))
    pages.render(results.FOLDER, copy)
    for path in [pages.DOCUMENT, *pages.DOCUMENT.with_suffix("").glob("*.md")]:
        assert (tmp_path / path.relative_to(pages.DOCUMENT.parent)).read_text() == path.read_text()


def test_the_command_line_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "locomo",
                "--data",
                str(written(tmp_path)),
                "--words-only",
                "--json",
                str(tmp_path / "out.json"),
            ]
        )
        == 0
    )
    assert "LoCoMo, turn evidence" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["figures"]["conversations"] == 1


def test_large_stores_are_the_same_under_the_same_seed_and_their_clouds_are_clouds() -> None:
    turns = list(turns_of(40, seed=1))
    assert turns == list(turns_of(40, seed=1)) != list(turns_of(40, seed=2))
    assert len(set(questions_of(turns, 10, seed=1))) == 10
    near, twin, far = CloudEmbedder().embed(["red apple one", "red apple two", "blue sky one"])
    assert near @ near == pytest.approx(1, abs=1e-5)
    assert near @ twin > near @ far


def test_the_document_describes_every_command() -> None:
    parser = _parser()
    commands = next(
        action.choices for action in parser._actions if isinstance(action.choices, dict)
    )
    text = (pages.DOCUMENT.with_suffix("") / "method.md").read_text()
    assert {"longmemeval", "qa", "ablation", "sensitivity"} <= set(commands)
    assert [name for name in commands if f"python -m bench {name}" not in text] == []


@pytest.mark.parametrize("name", ["speed", "embedding", "libraries", "locomo"])
def test_a_folder_without_conversations_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.txt").write_text("{}")
    runs: dict[str, Callable[[], object]] = {
        "speed": lambda: speed.run(tmp_path, None, seed=7, sizes=(), quick=True),
        "embedding": lambda: embedding.run(tmp_path, None, seed=7, quick=True),
        "libraries": lambda: libraries.run(tmp_path, None, seed=7, quick=True, systems=()),
        "locomo": lambda: locomo.run(tmp_path, None, seed=7),
    }
    with pytest.raises(InputError, match="has no conversation of LoCoMo"):
        runs[name]()
