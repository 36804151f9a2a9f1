"""AUROC of answerability and the length of answers, on questions whose figures can be counted by
hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import answerability, beam, compression, locomo, locomo_plus
from bench.baselines import Bm25
from bench.comparison import Answered
from bench.corpora import ABSTENTION, Question, load_beam, load_locomo
from bench.report import Report
from bench.systems import DOXA
from doxa.models import HashEmbedder
from tests.bench.test_bench_end_to_end import written, written_chat, written_cues

WORDS = HashEmbedder(dimensions=384)


def asked(group: str, own: float, plain: float) -> Answered:
    return Answered(
        Question("?", frozenset(), ""),
        group,
        1,
        {},
        signals={"answerable": own, "baseline.bm25": plain},
    )


def test_the_area_of_each_signal_and_the_gain_over_the_best_plain_one() -> None:
    report = Report("locomo", 7, "none")
    answerable = [asked("a", 0.9, 0.5), asked("b", 0.6, 0.4)]
    unanswerable = [asked("a", 0.7, 0.5), asked("b", 0.1, 0.1)]
    answerability.measure(report, "x", "Title", answerable, unanswerable)
    assert report.figures["x.answerable.auroc"] == 0.75  # of four pairs one is not in order
    assert report.figures["x.baseline.bm25.auroc"] == (0.5 + 1 + 0 + 1) / 4
    assert report.figures["gain.x.auroc.by_question.mean"] == pytest.approx(0.75 - 0.625)
    assert "2 answerable, 2 not" in report.text()


def test_without_unanswerable_questions_nothing_is_claimed() -> None:
    report = Report("locomo", 7, "none")
    answerability.measure(report, "x", "Title", [asked("a", 0.9, 0.5)], [])
    assert report.figures == {"x.answerable_n": 1, "x.unanswerable_n": 0} and not report.tables


def test_abstention_stands_apart_from_what_has_evidence(tmp_path: Path) -> None:
    chat = load_beam(written_chat(tmp_path))[0]
    assert [one.category for one in chat.unlabelled] == [ABSTENTION]
    assert ABSTENTION not in {one.category for one in chat.questions}
    report = beam.run(tmp_path / "beam", WORDS, seed=7)
    assert (
        report.figures["answerability.answerable_n"],
        report.figures["answerability.unanswerable_n"],
    ) == (2, 1)
    assert 0 <= report.figures["answerability.answerable.auroc"] <= 1
    assert 0 <= report.figures["answerability.baseline.minilm.auroc"] <= 1
    assert {
        "gain.update.order.by_question.low",
        "gain.contradiction.both_at_10.by_question.low",
    } <= set(report.figures)


def test_questions_without_evidence_have_an_answer_and_no_recall(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert [one.text for one in load_locomo(path)[0].unlabelled] == ["Nobody labelled this"]
    report = locomo.run(path, WORDS, seed=7)
    assert (report.figures["turn.answerable.n"], report.figures["answerability.answerable_n"]) == (
        3,
        4,
    )
    assert {
        "answer.category.2.f1",
        "doxa_always_answering.answer.answerable.f1",
        "baseline.bm25.answer.all.f1",
    } <= set(report.figures)
    assert {
        "gain.session.recall_at_10.by_question.low",
        "gain.answer.all.f1.by_question.low",
    } & set(report.figures)
    assert "no language model" in report.text()


def test_a_share_of_what_bm25_could_give_is_below_one() -> None:
    words = Bm25(["cat dog", "cat", "bird"])
    for question in ("cat", "cat dog", "cat unicorn", "unicorn"):
        assert 0 <= words.scores(question).max() / words.most(question) < 1
    assert words.scores("dog").max() / words.most("dog") > words.scores(
        "dog unicorn"
    ).max() / words.most("dog unicorn")
    assert words.most("") == 1  # a question without words is divided by something


def test_the_length_of_an_answer_stands_beside_its_evidence() -> None:
    settings = {compression.FIRST_HITS: 40, compression.named(20): 20}
    one = Answered(
        Question("?", frozenset("ab"), "4"),
        "g",
        4,
        {DOXA: ["a", "c", "b"]},
        {20: {DOXA: ["a"]}},
        tokens=settings,
        whole=200,
    )
    report = Report("locomo", 7, "none")
    compression.tables(report, "c", "Title", [one], (20,))
    assert report.figures == {
        "c.whole_tokens": 200,
        "c.at_10.tokens": 40,
        "c.at_10.share_of_whole": 0.2,
        "c.at_10.evidence_recall": 1,
        "c.in_20.tokens": 20,
        "c.in_20.share_of_whole": 0.1,
        "c.in_20.evidence_recall": 0.5,
    }
    assert "| budget of 20 tokens | 20 | 200 | 10.0 | 10 | 50.0 |" in report.text()


def test_p2_is_told_as_a_multiple_of_plain_cosine(tmp_path: Path) -> None:
    figures = locomo_plus.run(written_cues(tmp_path), written(tmp_path), WORDS, seed=7).figures
    assert (
        figures["p2.times_plain.hit_at_10"]
        == figures["p2.hit_at_10"] / figures["baseline.minilm.p2.hit_at_10"]
    )
    assert "gain.p2.hit_at_10.by_question.low" in figures
