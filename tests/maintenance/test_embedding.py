"""Vectors after the commit: parts of a text, retries, another model, and a job that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from doxa.base.errors import ConstraintError, InputError, ModelError
from doxa.base.limits import (
    EMBED_BATCH_DOCS,
    EMBED_FIELDS_PER_DOC_MAX,
    EMBED_PARTS_PER_DOC_MAX,
    EMBED_PASSAGE_CHARS_MAX,
    EMBED_SENTENCES_PER_DOC_MAX,
    JOB_ATTEMPTS_MAX,
)
from doxa.maintenance.embedding import parts
from doxa.models import FailingEmbedder, HashEmbedder
from doxa.store import FIELDS_FROM, INDEXED_PARTS
from tests.fixtures_shared import opened


class PickyEmbedder(HashEmbedder):
    """Refuses texts that hold `poison`."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            raise ModelError("Refused.", next_step="Nothing.")
        return super().embed(texts)


@given(
    st.text(max_size=300) | st.text(alphabet="ab .\n", min_size=1_000, max_size=6_000),
    st.lists(st.text(min_size=1, max_size=9), max_size=30),
)
def test_parts_hold_the_text_its_passages_or_sentences_and_its_fields(
    text: str, fields: list[str]
) -> None:
    found = parts(text, fields)
    passages = [found[number] for number in sorted(found) if 0 < number < FIELDS_FROM]
    sentences = [found[number] for number in sorted(found) if number >= INDEXED_PARTS]
    assert found[0] == text
    assert [
        found[number] for number in sorted(found) if FIELDS_FROM <= number < INDEXED_PARTS
    ] == fields[:EMBED_FIELDS_PER_DOC_MAX]
    assert (
        len(passages) <= EMBED_PARTS_PER_DOC_MAX < FIELDS_FROM
        and len(sentences) <= EMBED_SENTENCES_PER_DOC_MAX
    )
    assert all(0 < len(passage) <= EMBED_PASSAGE_CHARS_MAX for passage in passages)
    assert not (passages and sentences) and len(sentences) != 1
    assert bool(passages) <= (len(text) > EMBED_PASSAGE_CHARS_MAX)
    if 1 < len(passages) < EMBED_PARTS_PER_DOC_MAX:
        assert "".join("".join(passages).split()) == "".join(text.split())
    assert all(sentence in text for sentence in sentences)


def test_sentences_of_a_short_text_have_vectors_of_their_own() -> None:
    found = parts("Thanks! I moved to Oslo: it was time.\nA photo of a harbour")
    assert list(found.values())[1:] == [
        "Thanks!",
        "I moved to Oslo:",
        "it was time.",
        "A photo of a harbour",
    ]
    assert parts("Only one sentence.") == {0: "Only one sentence."}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000,
        "word " * 1_000,
        "A sentence. " * 400,
        "line\n" * 1_000,
        "\n" * 3_000,
        " " * 3_000,
    ],
)
def test_every_shape_of_long_text_is_cut(text: str) -> None:
    found = parts(text)
    assert all(len(found[number]) <= EMBED_PASSAGE_CHARS_MAX for number in found if number)
    assert max(found) <= EMBED_PARTS_PER_DOC_MAX


def test_progress_limit_and_pending(tmp_path: Path) -> None:
    seen: list[int] = []
    with opened(tmp_path / "m.db") as memory:
        count = EMBED_BATCH_DOCS + 20
        memory.ingest(
            [{"speaker": "Ana", "text": f"turn {n}"} for n in range(count)], extract=False
        )
        assert memory.pending() == count
        assert memory.embed(limit=5) == 5
        assert memory.embed(progress=seen.append) == count - 5
        assert (sum(seen), memory.pending(), memory.embed()) == (count - 5, 0, 0)
        assert memory.check() == []


def test_a_text_that_cannot_be_embedded_is_given_up_and_stays_findable(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=PickyEmbedder(dimensions=384)) as memory:
        memory.remember("the poison is here")
        memory.remember("the ferry is here")
        assert memory.embed() == 1
        for _ in range(JOB_ATTEMPTS_MAX + 1):
            memory.embed()
        assert memory.pending() == 0
        assert memory.recall("poison").hits[0].text == "the poison is here"
        assert memory.recall("poison").pending == 0
        finding = next(finding for finding in memory.doctor() if finding.name == "vectors")
        assert (finding.ok, "1 memories could not" in finding.detail) == (False, True)
    with opened(tmp_path / "m.db") as memory:
        assert memory.embed(anew=True) == 1 + 1


def test_a_model_that_is_down_is_not_asked_again_and_again(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=FailingEmbedder()) as memory:
        memory.ingest(
            [{"speaker": "Ana", "text": f"turn {n}"} for n in range(EMBED_BATCH_DOCS * 2)],
            extract=False,
        )
        assert memory.embed() == 0
        assert memory.pending() == EMBED_BATCH_DOCS * 2


def test_anew_makes_all_vectors_of_another_model(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("the ferry")
        memory.remember("the harbour")
        memory.embed()
        memory.forget(
            "kref://default/the-ferry-"
            + memory.recall("ferry").hits[0].kref.rpartition("-")[2].partition("?")[0]
        )
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=128)) as memory:
        memory.remember("the pier")
        with pytest.raises(ConstraintError, match="anew"):
            memory.embed()
        assert memory.embed(anew=True) == 3
        assert memory.recall("harbour").mode == "hybrid"
        assert memory.check() == []


CHILD = """
import sys, time, doxa
from doxa.models import HashEmbedder
class Slow(HashEmbedder):
    def embed(self, texts):
        time.sleep(0.002 * len(texts))
        return super().embed(texts)
with doxa.open(sys.argv[1], embedder=Slow(dimensions=384), background=False) as memory:
    print("ready", flush=True)
    memory.embed(progress=lambda n: print(n, flush=True))
"""


def test_a_job_that_is_killed_resumes(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        memory.ingest([{"speaker": "Ana", "text": f"turn {n}"} for n in range(400)], extract=False)
    for rounds in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            child.stdout.readline()  # a batch is written: the next one is under way
            time.sleep(0.01 * rounds)
            child.send_signal(signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
    with opened(path) as memory:
        left = memory.pending()
        assert 0 < left <= 400 - 3 * EMBED_BATCH_DOCS
        assert memory.check() == []
        assert memory.embed() == left
        assert (memory.pending(), memory.stats()["embedded"], memory.check()) == (0, 400, [])
        assert memory.recall("turn 399").mode == "hybrid"
        memory.verify()


def test_the_callers_text_is_embedded_and_words_stay_those_of_the_belief(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        made = memory.remember(
            "RFC 7 is in force", name="rfc", embedding_text="how the ferry timetable is decided"
        )
        memory.remember("The cafe is closed", name="cafe")
        memory.embed()
        asked = memory.recall("how the ferry timetable is decided", lanes=("meaning",))
        assert (asked.hits[0].kref, asked.hits[0].text) == (made.kref, "RFC 7 is in force")
        assert asked.hits[0].lanes["meaning"] > 0.99
        assert not memory.recall("timetable", lanes=("words",)).hits
        assert memory.get(made.kref).metadata == {
            "embedding_text": "how the ferry timetable is decided"
        }  # type: ignore[union-attr]
        assert (
            memory.revise("kref://default/rfc.fact", "RFC 7 is in force").action == "unchanged"
        )  # of the same words, so kept
        again = memory.revise("kref://default/rfc.fact", "RFC 7 is in force", embedding_text="")
        assert again.action == "revised"
        memory.embed()
        assert (
            memory.recall("how the ferry timetable is decided", lanes=("meaning",))
            .hits[0]
            .lanes["meaning"]
            < 0.9
        )
        assert (
            memory.supersede(again.kref, "RFC 8 is in force", embedding_text="ferry").action
            == "revised"
        )
        unnamed = memory.remember("The boat is late", embedding_text="vessel")
        assert memory.remember("The boat is late", embedding_text="vessel").warnings == ()
        assert (
            "embedding text"
            in memory.remember("The boat is late", embedding_text="ship").warnings[0]
        )
        assert "AKIA" not in str(
            memory.get(
                memory.revise(unnamed.kref, "late", embedding_text="AKIAQ7CANARYQ7CANA2Z").kref
            )
        )
        for wrong in (5, None, ["x"]):
            with pytest.raises(InputError, match="embedding_text"):
                memory.remember("x", embedding_text=wrong)  # type: ignore[arg-type]
        memory.remember("metadata of that name", metadata={"embedding_text": 7})
        assert memory.embed() > 0
        assert memory.check() == []
