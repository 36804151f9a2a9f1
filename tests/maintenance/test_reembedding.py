"""Vectors of another model are built next to those in use: against a simple model over random work,
with kills, with two processes, in old files."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.app import Memory
from doxa.app import models as app_models
from doxa.base.errors import ConstraintError, ModelError, NewerFileError
from doxa.maintenance.embedding import Reembedding, parts
from doxa.models import HashEmbedder
from doxa.models.cache import CachedEmbedder
from doxa.recall.lanes.noise_texts import TEXTS
from doxa.store import Store, pack_part
from doxa.store.migration.schema import FORMAT, MIGRATIONS
from tests.fixtures_shared import as_format_6, opened

TABLES = ("vector", "vector_code", "vector_next", "vector_code_next", "vector_next_due")


# by these the noise of a model is measured, once in a process
NOISE = frozenset(text for one in TEXTS.values() for texts in one for text in texts)


class Counting(HashEmbedder):
    """Records the texts of a memory and of its questions that it is asked for."""

    def __init__(self, *, dimensions: int = 384) -> None:
        super().__init__(dimensions=dimensions)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not NOISE.issuperset(texts):
            self.calls.append(list(texts))
        return super().embed(texts)

    @property
    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]


OLD, NEW, THIRD = (HashEmbedder(dimensions=dimensions) for dimensions in (384, 128, 40))


def rows(memory: Memory, sql: str) -> list[tuple[Any, ...]]:
    with memory.store.read() as reader:
        return reader.rows(sql)


def held(memory: Memory) -> tuple[str | None, str | None]:
    with memory.store.read() as reader:
        return reader.embedder_name(), reader.embedder_next()


def fill(memory: Memory, count: int) -> None:
    memory.ingest(
        [{"speaker": "Ana", "text": f"turn {n} of the ferry. It is late."} for n in range(count)],
        extract=False,
    )


def wanted(embedder: HashEmbedder, texts: Sequence[str]) -> set[tuple[int, bytes]]:
    """The vectors of these texts, by part."""
    pieces = [piece for text in texts for piece in parts(text).items()]
    vectors = embedder.embed([text for _, text in pieces])
    return {
        (part, pack_part(part, vector)[0])
        for (part, _), vector in zip(pieces, vectors, strict=True)
    }


def stored(memory: Memory, table: str = "vector") -> set[tuple[int, bytes]]:
    return set(rows(memory, f"SELECT part, data FROM {table}"))


def likeness(memory: Memory, turn: int) -> float:
    return (
        memory.recall(f"turn {turn} of the ferry. It is late.", lanes=("meaning",))
        .hits[0]
        .lanes["meaning"]
        or 0.0
    )


class Played:
    """Random work on a file and what the vectors must be after it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.rng = random.Random(seed)
        self.own: HashEmbedder = OLD
        self.memory = opened(path, embedder=self.own)
        self.texts: dict[str, list[str]] = {}  # of each item, of all its revisions
        self.made = 0
        self.held: str | None = None
        self.coming: str | None = None

    def step(self) -> None:
        self.rng.choices(
            (self.write, self.erase, self.forget, self.embed, self.begin, self.reopen),
            (5, 2, 1, 6, 2, 2),
        )[0]()
        self.look()

    def write(self) -> None:
        name = self.rng.choice([*self.texts, f"item{self.made}"][-6:])
        self.made += 1
        text = f"Ferry number {self.made} is here." + " It carries tea." * self.rng.choice(
            (0, 2, 100)
        )
        self.memory.remember(text, name=name)
        self.texts.setdefault(name, []).append(text)

    def erase(self) -> None:
        if self.texts:
            name = self.rng.choice(list(self.texts))
            self.memory.forget(f"kref://default/{name}.fact", erase=True)
            del self.texts[name]

    def forget(self) -> None:
        if self.texts:
            self.memory.forget(f"kref://default/{self.rng.choice(list(self.texts))}.fact")

    def embed(self) -> None:
        limit = self.rng.choice((None, 1, 3))
        if (
            self.memory.pending(in_use=True)
            and self.held not in (None, self.own.name)
            and self.coming != self.own.name
        ):
            with pytest.raises(ConstraintError, match="anew"):
                self.memory.embed(limit=limit)
            return
        self.settle(self.memory.embed(limit=limit), limit)

    def begin(self) -> None:
        limit = self.rng.choice((None, 1, 2))
        if self.held is not None and self.own.name != self.coming:
            self.coming = None if self.coming and self.own.name == self.held else self.own.name
        if self.memory.pending(in_use=True) and self.held not in (None, self.own.name):
            assert self.coming == self.own.name
        self.settle(self.memory.embed(limit=limit, anew=True), limit)

    def settle(self, made: int, limit: int | None) -> None:
        assert limit is None or made <= limit
        if self.held is None and made:
            self.held = self.own.name
        state = self.memory.reembedding()
        if self.coming == self.own.name and (limit is None or state is None):
            self.held, self.coming = self.own.name, None
        if limit is None and self.own.name in (self.held, self.coming):
            assert self.memory.pending() == 0 or self.coming

    def reopen(self) -> None:
        if self.rng.random() < 0.5:
            self.memory.close()
        else:
            self.memory.store._engine.close()  # as a crash leaves it
        self.own = self.rng.choice((OLD, NEW, THIRD))
        self.memory = opened(self.path, embedder=self.own)

    def look(self) -> None:
        assert self.memory.check() == []
        assert held(self.memory) == (self.held, self.coming)
        texts = [text for revisions in self.texts.values() for text in revisions]
        known = {e.name: wanted(e, texts) for e in (OLD, NEW, THIRD)}
        assert stored(self.memory) <= known.get(self.held or "", set())
        assert stored(self.memory, "vector_next") <= set().union(
            *known.values()
        )  # also what is left of one that is not wanted
        live = [
            text
            for name, revisions in self.texts.items()
            for text in revisions[-1:]
            if not self.deprecated(name)
        ]
        if live:
            text = self.rng.choice(live)
            answer = self.memory.recall(text.partition(".")[0])
            assert text in [hit.text for hit in answer.hits]
            if self.held == self.own.name:
                assert not any("Meaning" in warning for warning in answer.warnings)
            elif self.held is not None:
                assert any(self.held in warning for warning in answer.warnings)

    def deprecated(self, name: str) -> bool:
        return bool(
            rows(
                self.memory,
                f"SELECT 1 FROM node WHERE kref = 'kref://default/{name}.fact' AND props ->>"
                " '$.deprecated'",
            )
        )

    def finish(self) -> None:
        self.memory.close()
        self.own = {e.name: e for e in (OLD, NEW, THIRD)}[self.coming or self.held or OLD.name]
        self.memory = opened(self.path, embedder=self.own)
        self.memory.embed()
        self.held, self.coming = (self.own.name if self.texts else held(self.memory)[0]), None
        self.look()
        texts = [text for revisions in self.texts.values() for text in revisions]
        assert stored(self.memory) == wanted(self.own, texts)
        assert [rows(self.memory, f"SELECT count(*) FROM {table}") for table in TABLES[2:]] == [
            [(0,)]
        ] * 3
        assert (self.memory.pending(), self.memory.reembedding()) == (0, None)
        self.memory.close()


@pytest.mark.parametrize("seed", range(12))
def test_random_work_leaves_just_the_vectors_that_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("doxa.store.indexing.vector_tables.VECTORS_DROPPED_ITEMS_MAX", 3)
    played = Played(tmp_path / "m.db", seed)
    for _ in range(50):
        played.step()
    played.finish()


def test_the_old_vectors_are_used_until_all_new_ones_are_there(tmp_path: Path) -> None:
    path, old, new = tmp_path / "m.db", Counting(), Counting(dimensions=128)
    with opened(path, embedder=old) as here:
        fill(here, 200)
        here.embed()
        with opened(path, embedder=new) as there:
            assert there.embed(limit=100, anew=True) == 100
            assert there.reembedding() == here.reembedding() == Reembedding(new.name, 100, 100, 0)
            assert (there.pending(), there.pending(in_use=True)) == (100, 0)
            assert there.stats()["embedded_next"] == 100 and here.stats()["unembedded"] == 0
            told = {finding.name: finding for finding in there.doctor()}["vectors"]
            assert (
                not told.ok
                and f"100 of 200 memories have vectors of {new.name}" in told.detail
                and told.next_step.startswith("Run `doxa embed`")
            )
            told = {finding.name: finding for finding in here.doctor()}["vectors"]
            assert f"with the embedder {new.name}" in told.next_step
            before = len(old.asked)
            answer = here.recall("turn 150 of the ferry")
            assert (answer.mode, answer.warnings, old.asked[before:]) == (
                "hybrid",
                (),
                ["turn 150 of the ferry"],
            )
            assert any(
                "until the vectors" in warning and "`doxa embed`" in warning
                for warning in there.recall("ferry").warnings
            )
            here.remember("The lighthouse is white", name="light")
            assert here.embed() == 1  # of the model that this process has
            assert (
                here.recall("lighthouse", lanes=("meaning",)).hits[0].text
                == "The lighthouse is white"
            )
            assert there.embed() == 101  # what is new is made for both
            assert held(there) == (new.name, None)
            assert "turn 7 of the ferry" not in new.asked
            assert (
                there.recall("turn 7 of the ferry").mode == "hybrid"
                and new.asked[-1] == "turn 7 of the ferry"
            )
            answer = here.recall("turn 150 of the ferry")
            assert answer.mode == "fulltext" and any(
                "--anew" in warning for warning in answer.warnings
            )
            assert (
                there.recall("lighthouse", lanes=("meaning",)).hits[0].text
                == "The lighthouse is white"
            )
            assert stored(there, "vector_next") == set() and there.check() == []


def test_the_local_model_answers_and_embeds_while_another_one_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, new = Counting(), Counting(dimensions=128)
    with opened(tmp_path / "m.db") as memory:
        fill(memory, 100)
        memory.embed()
    monkeypatch.setattr(app_models, "MINILM", local.name)
    monkeypatch.setattr(app_models.Models, "_build_local", lambda self: CachedEmbedder(local))
    with opened(tmp_path / "m.db", embedder=new) as memory:
        answer = memory.recall("turn 5 of the ferry")
        assert answer.mode == "hybrid" and local.asked == ["turn 5 of the ferry"]
        assert any("--anew" in warning for warning in answer.warnings)
        assert memory.embed(limit=10, anew=True) == 10
        assert memory.recall("turn 6 of the ferry").warnings == ()
        assert memory.recall("turn 5 of the ferry").mode == "hybrid" and local.asked[1:] == [
            "turn 6 of the ferry"
        ]
        memory.remember("The lighthouse is white")
        assert memory.embed(limit=1) == 1
        assert (
            memory.recall("lighthouse", lanes=("meaning",)).hits[0].text
            == "The lighthouse is white"
        )
        asked = len(local.calls)
        assert memory.embed() == 91
        assert (
            memory.recall("turn 5 of the ferry").mode == "hybrid"
            and len(local.calls) == asked
            and new.asked[-1] == "turn 5 of the ferry"
        )
    with opened(tmp_path / "m.db", embedder=None) as memory:
        assert memory.recall("ferry").mode == "fulltext" and len(local.calls) == asked


def test_a_third_model_replaces_the_one_under_way_and_the_old_one_takes_it_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.db"
    with opened(path, embedder=OLD) as memory:
        fill(memory, 30)
        memory.embed()
        before = stored(memory)
    for embedder, now in (
        (NEW, NEW.name),
        (THIRD, THIRD.name),
        (OLD, None),
        (THIRD, THIRD.name),
        (NEW, NEW.name),
    ):
        with opened(path, embedder=embedder) as memory:
            memory.embed(limit=5, anew=True)
            assert (
                held(memory) == (OLD.name, now)
                and stored(memory) == before
                and memory.check() == []
            )
            assert len(rows(memory, "SELECT DISTINCT scope, doc FROM vector_next")) == (
                5 if now else 0
            )
    with opened(path, embedder=THIRD) as memory:
        memory.embed()  # nothing is due for it
        memory.remember("The pier is closed")
        with pytest.raises(ConstraintError, match="are being made") as caught:
            memory.embed()
        assert caught.value.fields["coming"] == NEW.name


def test_the_same_model_makes_all_again_and_recall_sees_the_new_ones(tmp_path: Path) -> None:
    class Shifted(HashEmbedder):
        shift = 0

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.roll(super().embed(texts), self.shift, axis=1)

    embedder = Shifted(dimensions=384)
    with (
        opened(tmp_path / "m.db", embedder=embedder) as memory,
        opened(tmp_path / "m.db", embedder=embedder) as other,
    ):
        fill(memory, 20)
        memory.embed()
        assert likeness(other, 3) > 0.9
        embedder.shift = 5
    with (
        opened(tmp_path / "m.db", embedder=embedder) as memory,
        opened(tmp_path / "m.db", embedder=embedder) as other,
    ):
        assert likeness(other, 3) < 0.5
        assert memory.embed(anew=True) == 20
        assert likeness(other, 4) > 0.9


class Picky(HashEmbedder):
    """Refuses texts that hold `poison`."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            raise ModelError("Refused.", next_step="Nothing.")
        return super().embed(texts)


def test_a_text_that_cannot_be_embedded_does_not_hold_up_the_switch(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": f"turn {n}" + " poison" * (n % 50 == 9)}
                for n in range(150)
            ],
            extract=False,
        )
        memory.embed()
    with opened(path, embedder=Picky(dimensions=128)) as memory:
        assert memory.embed(anew=True) == 147
        assert (memory.reembedding(), memory.pending(), memory.check()) == (None, 0, [])
        assert memory.stats()["unembedded"] == 3
        told = next(finding for finding in memory.doctor() if finding.name == "vectors")
        assert not told.ok and "3 memories could not be embedded" in told.detail
        assert memory.recall("turn 59 poison").hits[0].text == "turn 59 poison"


def test_a_model_that_fails_leaves_the_old_vectors_in_use(tmp_path: Path) -> None:
    class Gone(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise ModelError("Gone.", next_step="Wait.", outage=True)

    with opened(tmp_path / "m.db") as memory:
        fill(memory, 70)
        memory.embed()
        with opened(tmp_path / "m.db", embedder=Gone(dimensions=128)) as other:
            for _ in range(10):
                assert other.embed(anew=True) == 0
            assert (
                other.reembedding() == Reembedding("fake-hash-128-256", 0, 70, 0)
                and other.embedder_error
            )
        assert (memory.recall("ferry").mode, memory.recall("ferry").warnings) == ("hybrid", ())


def test_texts_are_embedded_in_batches_and_equal_ones_once(tmp_path: Path) -> None:
    embedder = Counting()
    with opened(tmp_path / "m.db", embedder=embedder) as memory:
        memory.ingest(
            [{"speaker": "Ana", "text": f"turn {n // 2}"} for n in range(128)], extract=False
        )
        assert memory.embed() == 128
        assert len(embedder.calls) == 2 and sorted(embedder.asked) == sorted(
            {f"turn {n}" for n in range(64)}
        )
        assert stored(memory) == wanted(OLD, [f"turn {n}" for n in range(64)])


def test_what_is_erased_while_it_is_embedded_gets_no_vector(tmp_path: Path) -> None:
    class Slow(HashEmbedder):
        def __init__(self, act: Callable[[], object], *, dimensions: int) -> None:
            super().__init__(dimensions=dimensions)
            self.act = act

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("canary" in text for text in texts):
                other = threading.Thread(target=self.act)
                other.start()
                other.join()
            return super().embed(texts)

    path = tmp_path / "m.db"
    for dimensions, anew in ((384, False), (128, True)):
        with opened(path) as memory:
            memory.embed()
            memory.remember("The ferry stays", name="stays")
            kref = memory.remember("The canary goes", name="canary").kref.partition("?")[0]
            if anew:
                memory.embed()
            slow = Slow(partial(memory.forget, kref, erase=True), dimensions=dimensions)
            with opened(path, embedder=slow) as other:
                other.embed(anew=anew)
                assert other.check() == []
                assert stored(other) == wanted(
                    HashEmbedder(dimensions=dimensions), ["The ferry stays"]
                )
                assert stored(other, "vector_next") == set()


# Kills and other processes

CHILD = """
import os, signal, sys, time, doxa
from doxa.models import HashEmbedder
from doxa.store.indexing.vector_tables import VectorWriter
how = sys.argv[2]
def kill(): os.kill(os.getpid(), signal.SIGKILL)
if how in ("switch", "drop_former", "begin"):
    real = getattr(VectorWriter, how)
    def killed(self, *args):
        real(self, *args)  # within the transaction, before its end
        kill()
    setattr(VectorWriter, how, killed)
class Slow(HashEmbedder):
    def embed(self, texts):
        time.sleep(0.001 * len(texts))
        return super().embed(texts)
slow = Slow(dimensions=128)
with doxa.open(sys.argv[1], embedder=slow, background=False, role="operator") as memory:
    memory.embed(anew="anew" in sys.argv, progress=lambda n: print(n, flush=True))
"""


def child(path: Path, how: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), how, *more], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL here")
def test_killed_in_the_middle_of_it_all_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 300)
        memory.embed()
        before = stored(memory)

    def whole(coming: str | None) -> int:
        with opened(path) as memory:
            assert (memory.check(), held(memory)) == ([], (OLD.name, coming))
            assert (
                stored(memory) == before and memory.recall("turn 250 of the ferry").mode == "hybrid"
            )
            return memory.pending()

    with child(path, "begin", "anew") as killed:
        killed.wait(60)
    assert killed.returncode == -signal.SIGKILL and whole(None) == 0
    left = 301
    for more in (("anew",), (), ("anew",)):
        with child(path, "batch", *more) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline()
            killed.send_signal(signal.SIGKILL)
        now = whole(NEW.name)
        assert 0 < now < left
        left = now
    for _ in range(2):
        with child(path, "switch") as killed:
            killed.wait(60)
        assert killed.returncode == -signal.SIGKILL and whole(NEW.name) == 0
    with child(path, "drop_former") as killed:  # the switch is done, the old set is still there
        killed.wait(60)
    assert killed.returncode == -signal.SIGKILL
    with opened(path, embedder=NEW) as memory:
        assert (memory.check(), held(memory), memory.pending()) == ([], (NEW.name, None), 0)
        assert stored(memory, "vector_next") == before
        assert memory.recall("turn 250 of the ferry").mode == "hybrid"
        assert memory.embed() == 0 and stored(memory, "vector_next") == set()
        memory.verify()


def test_a_process_with_the_old_model_goes_on_while_another_makes_the_new_vectors(
    tmp_path: Path,
) -> None:
    path, old = tmp_path / "m.db", Counting()
    with opened(path, embedder=old) as memory:
        fill(memory, 600)
        memory.embed()
        with child(path, "whole", "anew") as other:
            assert other.stdout is not None and other.stdout.readline()
            number = 0
            while held(memory) == (OLD.name, NEW.name):
                number += 1
                answer = memory.recall(f"turn {number} of the ferry")
                assert answer.mode == "hybrid" or held(memory)[0] == NEW.name
                if number % 5 == 0 and number <= 50:
                    memory.remember(f"The lighthouse is {number}", name=f"light{number}")
                    try:
                        memory.embed()
                    except ConstraintError:
                        assert held(memory)[0] == NEW.name
            assert other.wait(60) == 0 and number > 3
        assert memory.check() == []
        assert memory.recall("ferry").mode == "fulltext"
    with opened(path, embedder=NEW) as memory:
        memory.embed()
        turns = [f"turn {n} of the ferry. It is late." for n in range(600)]
        assert stored(memory) == wanted(
            NEW, turns + [f"The lighthouse is {n}" for n in range(5, min(number, 50) + 1, 5)]
        )


# Old files


def schema_of(db: apsw.Connection) -> set[str]:
    """The statements that made the file, whatever their line breaks."""
    return {" ".join(sql.split()) for (sql,) in db.execute("SELECT sql FROM sqlite_schema") if sql}


def test_a_file_of_the_format_before_opens_with_its_vectors(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        fill(memory, 20)
        memory.remember("The canary goes", name="canary")
        memory.embed()
        before = stored(memory)
        scope, doc = rows(
            memory,
            "SELECT d.scope, d.doc FROM doc d JOIN node n ON n.id = d.node WHERE n.kref LIKE"
            " '%/canary.fact?r=1'",
        )[0]
        memory.forget("kref://default/canary.fact", erase=True)
    Store(tmp_path / "old.db", migrations=MIGRATIONS[:5]).close()
    as_format_6(path)
    raw = apsw.Connection(str(path))
    for statement in (
        *(f"DROP TABLE {table}" for table in TABLES[2:]),
        "DROP INDEX doc_given_up",
        "DELETE FROM migration WHERE name > '0006'",
    ):
        raw.execute(statement)
    raw.execute("PRAGMA user_version = 5")
    assert schema_of(raw) == schema_of(apsw.Connection(str(tmp_path / "old.db")))
    raw.execute(
        "INSERT INTO vector VALUES(?, ?, 0, zeroblob(768)); INSERT INTO vector_code VALUES(?, ?, 0,"
        " zeroblob(48))",
        (scope, doc) * 2,
    )
    raw.close()  # as a job left it that embedded what was erased meanwhile
    with opened(path) as memory:
        assert memory.check() == [] and stored(memory) == before - wanted(OLD, ["The canary goes"])
        assert memory.store.left_to_scrub()
        assert memory.recall("turn 7 of the ferry").mode == "hybrid"
    assert len(list(tmp_path.glob("m.db.before-0006-*"))) == 1
    with opened(path, embedder=NEW) as memory:
        assert not memory.store.left_to_scrub()
        assert memory.embed(anew=True) == 20 and memory.check() == []
        memory.verify()
    raw = apsw.Connection(str(path))
    assert raw.pragma("user_version") == FORMAT
    raw.execute(f"PRAGMA user_version = {FORMAT + 1}")
    raw.close()
    with pytest.raises(NewerFileError):
        opened(path)
