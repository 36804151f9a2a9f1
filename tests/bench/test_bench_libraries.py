"""The benchmark next to other libraries: what they get, a tiny run of doxa alone, and one of each
peer that is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import libraries
from bench.embedders import CloudEmbedder
from bench.libraries_adapters import OWN, PACKAGES, SYSTEMS, WITH_MODEL
from bench.libraries_data import Table, Texts, key_of, load_asked, load_texts, save_table
from bench.libraries_sets import recall_of, scale_trial, vectors_per_turn
from bench.libraries_why import DOXA, HAS
from bench.libraries_work import WARM
from bench.peers_processes import importable
from bench.report import Report
from bench.texts import questions_of, sources_of, turns_of
from doxa.models import HashEmbedder
from tests.bench.test_bench_end_to_end import written

SIZE, QUESTIONS = 80, 12


def given(folder: Path) -> libraries.Trial:
    trial = scale_trial(SIZE, seed=7, sample=(), questions=QUESTIONS)
    trial.save(folder, CloudEmbedder(), own=True)
    return trial


def test_questions_know_the_turn_whose_words_they_have() -> None:
    turns = list(turns_of(300, seed=1))
    sources = sources_of(turns, 50, seed=2)
    assert list(sources) == questions_of(turns, 50, seed=2)
    assert all(
        set(question.split()) <= set(turns[place].text.split())
        for question, place in sources.items()
    )


def test_a_question_lies_near_its_turn_and_the_first_ones_are_not_counted() -> None:
    trial = scale_trial(SIZE, seed=7, sample=(), questions=QUESTIONS)
    assert len(trial.asked.texts) == QUESTIONS + WARM and len(trial.gold) == QUESTIONS
    own = [trial.given.vectors[trial.given.ids.index(min(gold))] for gold in trial.gold]
    cosine = np.sum(np.array(own) * trial.asked.vectors[WARM:], axis=1)
    assert (
        np.allclose(np.linalg.norm(trial.asked.vectors, axis=1), 1, atol=1e-5)
        and 0.29 < cosine.min() < cosine.max() < 0.91
    )
    assert recall_of(trial, [[*sorted(gold)] for gold in trial.gold]) == [1.0] * QUESTIONS
    assert recall_of(trial, [["nobody"]] * QUESTIONS) == [0.0] * QUESTIONS


def test_texts_come_back_scope_by_scope(tmp_path: Path) -> None:
    texts = Texts(["a", "a", "b"], ["1", "2", "1"], ["x", "y", "z"], np.eye(3, dtype=np.float32))
    texts.save(tmp_path, "texts.json", "vectors.npy")
    found = load_texts(tmp_path)
    assert [(scope, found.texts[span]) for scope, span in found.by_scope()] == [
        ("a", ["x", "y"]),
        ("b", ["z"]),
    ]
    assert (found.vectors == texts.vectors).all()


def test_a_table_answers_for_what_it_was_asked_before(tmp_path: Path) -> None:
    vectors = HashEmbedder(dimensions=8).embed(["one", "two\ud800"])
    save_table(
        tmp_path / "table.npz", dict(zip(map(key_of, ["one", "two\ud800"]), vectors, strict=True))
    )
    table = Table.load(tmp_path / "table.npz")
    assert table.dimensions == 8 and (table.of_texts(["two\ud800", "one"]) == vectors[::-1]).all()
    with pytest.raises(KeyError):
        table.of_texts(["three"])


def test_what_doxa_will_embed_is_known_before(tmp_path: Path) -> None:
    trial = given(tmp_path)
    assert vectors_per_turn(tmp_path, trial.turns) >= 1
    table = Table.load(tmp_path / "table.npz")
    assert (table.of_texts(trial.given.texts) == trial.given.vectors).all()
    asked = Table.load(tmp_path / "asked_table.npz")
    assert (
        asked.of_texts(trial.asked.texts) == load_asked(tmp_path).vectors
    ).all()  # these questions have nothing that doxa leaves out


def test_a_tiny_run_of_doxa_alone_finds_the_evidence(tmp_path: Path) -> None:
    systems, model = ("doxa", *PACKAGES), HashEmbedder(dimensions=384)
    report = libraries.run(
        written(tmp_path),
        model,
        seed=7,
        quick=True,
        sizes=(SIZE,),
        python=tmp_path / "nowhere",
        systems=systems,
    )
    figures = report.figures
    assert (
        figures["locomo.doxa.recall_at_10"] == 1.0
        and figures[f"scale.{SIZE}.doxa.recall_at_10"] > 0.9
    )
    for row, *_ in libraries.ROWS:
        assert figures[f"scale.{SIZE}.doxa.{row}"] > 0, row
    text = report.text()
    assert "LoCoMo, 10 turns of 1 conversations, 3 questions" in text
    assert all(f"| {peer} | not installed |" in text for peer in PACKAGES)


def test_without_a_model_only_the_artificial_vectors_are_measured(tmp_path: Path) -> None:
    report = libraries.run(
        None, None, seed=7, quick=True, sizes=(SIZE,), python=tmp_path / "nowhere", systems=OWN
    )
    assert report.embedder == "none" and not any(key.startswith("locomo") for key in report.figures)
    assert "| doxa with model | no embedding model is installed |" in report.text()


@pytest.mark.parametrize("system", PACKAGES)
def test_a_peer_that_is_installed_finds_what_it_was_given(system: str, tmp_path: Path) -> None:
    if not importable(PACKAGES[system], str(libraries.PYTHON)):
        pytest.skip(f"{system} is not installed: scripts/recall_peers.sh does it")
    trial = given(tmp_path)
    told = libraries.measured(system, tmp_path, SIZE, python=str(libraries.PYTHON))
    assert "failed" not in told, told
    told["recall"] = recall_of(trial, told["hits"])
    figures = libraries.figures_of(told)
    assert figures["recall_at_10"] > 0.8 and all(figures[row] > 0 for row, *_ in libraries.ROWS)
    assert all(len(hits) == len(set(hits)) <= 10 for hits in told["hits"])


def test_a_peer_that_fails_is_told_as_such(tmp_path: Path) -> None:
    if importable(PACKAGES["chromadb"], sys.executable):
        pytest.skip("this interpreter has chromadb, so nothing fails")
    given(tmp_path)
    told = libraries.measured("chromadb", tmp_path, SIZE, python=sys.executable)
    assert told == {"failed": "ModuleNotFoundError: No module named 'chromadb'"}
    report = Report("libraries", 7, "none")
    assert (
        libraries.figures_of(told) == {}
        and libraries.behind(
            {"doxa": told, "chromadb": told}, "first_s", more=False, seed=report.seed
        )
        == ""
    )


def told(p50_ms: float, recall: list[float]) -> dict[str, Any]:
    return {
        "ms": [p50_ms],
        "first_s": 1.0,
        "recall": recall,
        "anon_bytes": 1e6,
        "resident_bytes": 2e6,
    }


def test_only_where_a_peer_is_ahead_a_reason_is_given() -> None:
    found = {
        "doxa": told(4.0, [1.0, 1.0]),
        WITH_MODEL: told(1.0, [1.0, 1.0]),
        "bm25s": told(2.0, [1.0, 0.0]),
        "chromadb": told(8.0, [0.0, 0.0]),
    }
    assert (
        libraries.behind(found, "query.p50_ms", more=False, seed=7)
        == f"2.0 × bm25s ({HAS['bm25s']}): {DOXA['query.p50_ms']}"
    )
    both = libraries.behind(
        {**found, "doxa": told(16.0, [1.0, 1.0])}, "query.p50_ms", more=False, seed=7
    )
    assert (
        both == f"8.0 × bm25s ({HAS['bm25s']}), 2.0 × chromadb ({HAS['chromadb']}):"
        f" {DOXA['query.p50_ms']}"
    )
    assert (
        libraries.behind(
            {**found, "doxa": told(1.0, [1.0, 1.0])}, "query.p50_ms", more=False, seed=7
        )
        == ""
    )
    assert libraries.behind(found, "recall_at_10", more=True, seed=7).startswith(
        "doxa minus bm25s, points: +50.0 ["
    )
    assert libraries.behind(
        {**found, "doxa": told(1.0, [0.0, 0.0])}, "recall_at_10", more=True, seed=7
    ).endswith(f": {DOXA['recall_at_10']}")


def test_every_row_and_peer_has_a_reason_and_every_system_says_what_it_is() -> None:
    assert set(DOXA) == {row for row, *_ in libraries.ROWS} and set(HAS) == set(PACKAGES)
    assert all(len(system.about) > 40 for system in SYSTEMS.values())
    assert set(SYSTEMS) == {*OWN, *PACKAGES}
