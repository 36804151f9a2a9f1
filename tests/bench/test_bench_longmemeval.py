"""LongMemEval's protocol on an invented file in the official form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import longmemeval
from bench.__main__ import main
from bench.longmemeval import load, mapped, stretched, time_ns
from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.models import HashEmbedder

WORDS = HashEmbedder(dimensions=384)
CAT = [
    {"role": "user", "content": "I adopted a grey cat named Miso", "has_answer": True},
    {"role": "assistant", "content": "What a lovely cat", "has_answer": False},
    {"role": "user", "content": "Yes, a cat is good company", "has_answer": False},
]
GARDEN = [
    {"role": "user", "content": "The tulips of my garden froze"},
    {"role": "assistant", "content": "A pity"},
]
UNLABELLED = [
    {"role": "user", "content": "My cat sleeps", "has_answer": False},
    {"role": "assistant", "content": "Miso?", "has_answer": True},
]
SILENT = [{"role": "assistant", "content": "Anybody there?"}]


def asked(
    name: str, question: str, answers: list[str], kind: str = "single-session-user"
) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": kind,
        "question": question,
        "answer": "Miso",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_dates": [
            "2023/05/20 (Sat) 02:21",
            "2023/05/21 (Sun) 12:00",
            "2023/05/22 (Mon) 12:00",
            "2023/05/23 (Tue) 12:00",
        ],
        "haystack_session_ids": ["answer_1", "sharegpt_2", "answer_3", "ultrachat_4"],
        "haystack_sessions": [CAT, GARDEN, UNLABELLED, SILENT],
        "answer_session_ids": answers,
    }


def written(folder: Path) -> Path:
    path = folder / "longmemeval_s_cleaned.json"
    path.write_text(
        json.dumps(
            [
                asked("q1", "What is the name of the grey cat?", ["answer_1"]),
                asked(
                    "q2", "What happened to the tulips in my garden?", ["answer_1"], "multi-session"
                ),
                asked(
                    "q3", "What does the cat do?", ["answer_3"]
                ),  # its session has no labelled user turn
                asked("q4_abs", "What is the name of my dog?", ["answer_1"]),
            ]
        )
    )
    return path


def test_gold_is_what_a_user_turn_is_labelled_for(tmp_path: Path) -> None:
    first, _, third, fourth = load(written(tmp_path))
    assert (first.gold("session"), first.gold("turn")) == ({"answer_1"}, {"answer_1_1"})
    assert not third.gold("session") and not third.abstains
    assert fourth.abstains


def test_units_are_user_turns_and_sessions_of_them(tmp_path: Path) -> None:
    first = load(written(tmp_path))[0]
    assert [unit.source_id for unit in first.units("turn")] == [
        "answer_1_1",
        "answer_1_3",
        "sharegpt_2_1",
        "answer_3_1",
    ]
    sessions = first.units("session")
    assert [unit.source_id for unit in sessions] == [
        "answer_1",
        "sharegpt_2",
        "answer_3",
    ]  # nobody spoke as user in the fourth
    assert sessions[0].text == "I adopted a grey cat named Miso Yes, a cat is good company"
    assert sessions[0].time_ns == parse_time("2023-05-20T02:21:00Z")
    assert time_ns("yesterday") is None


def test_turns_are_mapped_to_sessions_by_the_label() -> None:
    """s1_3 lies in the session of the answer, and is not the answer."""
    sessions = mapped(["s1_3", "s2_1", "s1_1", "s3_1"], frozenset(["s1_1"]))
    assert sessions == ["s1 unlabelled", "s2", "s1", "s3"]
    assert [stretched(["a", "a", "b", "a", "c"], k) for k in (1, 2, 3, 4)] == [1, 3, 5, 5]


def test_the_protocol_leaves_out_what_the_official_code_leaves_out(tmp_path: Path) -> None:
    report = longmemeval.run(written(tmp_path), WORDS, seed=7)
    figures = report.figures
    assert [
        figures[key]
        for key in ("questions", "abstention_left_out", "unlabelled_left_out", "counted")
    ] == [4, 1, 1, 2]
    assert (
        figures["session.recall_any_at_1"] == figures["session.recall_all_at_1"] == 0.5
    )  # the cat is found, the tulips are elsewhere
    assert (
        figures["session.recall_all_at_3"]
        == figures["turn.recall_all_at_5"]
        == figures["turn.session_of_recall_any_at_5"]
        == 1
    )
    assert 0.5 <= figures["session.ndcg_at_10"] <= 1
    assert {"session.type.multi-session.recall_all_at_5", "baseline.minilm.turn.ndcg_at_50"} <= set(
        figures
    )
    assert "gain.session.recall_all_at_5.by_conversation.low" in figures
    assert figures["session.all_questions.recall_any_at_5"] == 1


def test_what_is_in_no_official_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps([{"question": "Who?"}]))
    with pytest.raises(InputError, match="lacks question_id"):
        load(path)


def test_the_command_takes_a_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "longmemeval",
                "--data",
                str(written(tmp_path)),
                "--words-only",
                "--limit",
                "1",
                "--json",
                str(tmp_path / "out.json"),
            ]
        )
        == 0
    )
    assert "recall_all / NDCG" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["figures"]["questions"] == 1
