"""Doctor finds planted faults, each in the right check, and says what to do."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType

import apsw
import pytest
from typer.testing import CliRunner

from doxa.app import Memory
from doxa.base.errors import CorruptError, ModelError
from doxa.cli import app
from doxa.maintenance.doctor import examine
from doxa.models import HashEmbedder, minilm
from doxa.store import Store
from tests.fixtures_shared import opened


def findings(memory: Memory) -> dict[str, bool]:
    return {finding.name: finding.ok for finding in memory.doctor()}


def planted(path: Path, sql: str) -> None:
    with opened(path) as memory:
        memory.remember("The ferry is green", name="a")
        memory.remember("The ferry is red", name="a")
        memory.embed()
        assert all(findings(memory).values())
    db = apsw.Connection(str(path))
    db.execute(sql)
    db.close()


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("DELETE FROM node_label WHERE label = 'Item'", {"invariants"}),
        ("DELETE FROM posting_new", {"invariants"}),
        ("UPDATE doc SET live = 1 - live", {"invariants"}),
        ("DELETE FROM vector_code", {"invariants"}),
        (
            (
                "UPDATE node SET props = jsonb_set(props, '$.summary', 'The ferry is gold') WHERE"
                " props ->> '$.number' = 2"
            ),
            {"invariants", "log"},
        ),
        ("DELETE FROM edge WHERE type = 'SUPERSEDES'", {"log"}),
        (
            (
                "UPDATE log_payload SET payload = CAST('{}' AS BLOB) WHERE seq = (SELECT max(seq)"
                " FROM log_payload)"
            ),
            {"log"},
        ),
        ("UPDATE receipt SET actor = 'somebody' WHERE tx = 2", {"log"}),
        ("DELETE FROM receipt WHERE tx = (SELECT max(tx) FROM receipt)", {"log"}),
        ("UPDATE doc SET vectors = 0", {"vectors"}),
        ("UPDATE meta SET value = 'another-model' WHERE key = 'embedder'", {"vectors"}),
    ],
)
def test_a_planted_problem_is_found(tmp_path: Path, sql: str, names: set[str]) -> None:
    planted(tmp_path / "m.db", sql)
    with opened(tmp_path / "m.db") as memory:
        found = {finding.name: finding for finding in memory.doctor()}
        assert {name for name, finding in found.items() if not finding.ok} == names
        assert all(found[name].next_step and found[name].detail for name in names)
        if "log" in names:
            with pytest.raises(CorruptError):
                memory.verify()


def test_a_file_that_others_may_read(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        assert findings(memory) == dict.fromkeys(
            (
                "file",
                "disk",
                "invariants",
                "log",
                "erasures",
                "faded",
                "jobs",
                "vectors",
                "embedder",
                "retention",
                "consolidation",
                "working memory",
                "spending",
                "model",
                "reranker",
                "archives",
            ),
            True,
        )
        (tmp_path / "m.db").chmod(0o644)
        finding = memory.doctor()[0]
        assert (finding.name, finding.ok) == ("file", False)
        assert "chmod 600" in finding.next_step


def test_a_model_that_is_missing_or_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module without a spec: as if the local model was not installed.
    monkeypatch.setitem(sys.modules, minilm.PACKAGE, ModuleType(minilm.PACKAGE))
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("The ferry is green")
        assert findings(memory)["embedder"]
        assert findings(memory)["vectors"]
    with opened(tmp_path / "m.db", embedder="auto", model_folder=tmp_path / "models") as memory:
        assert memory.embed() == 0
        noted = next(finding for finding in memory.doctor() if finding.name == "embedder")
        assert (noted.ok, "not installed" in noted.detail, "pip install" in noted.next_step) == (
            True,
            True,
            True,
        )
        assert all(findings(memory).values())
        assert any(
            "Meaning search is off" in warning for warning in memory.recall("ferry").warnings
        )
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=384)) as memory:
        assert not findings(memory)["vectors"]


def test_a_model_that_is_there_and_does_not_work(tmp_path: Path) -> None:
    path, other = tmp_path / "m.db", HashEmbedder(dimensions=384, tokens_max=128)
    with opened(path) as memory:
        memory.remember("The ferry is green")
        memory.embed()
    broken = ModelError(
        "The model file is cut short.", next_step="Install it again.", path="model.onnx"
    )
    with Store(path) as store:
        found = {finding.name: finding for finding in examine(store, None, broken)}
        assert (found["embedder"].ok, found["embedder"].next_step) == (False, "Install it again.")
    with opened(path, embedder=other, background=True) as memory:
        memory.remember("The ferry is late")
        for _ in range(200):
            if memory.embedder_error is not None:
                break
            threading.Event().wait(0.05)
        stopped = next(finding for finding in memory.doctor() if finding.name == "embedder")
        assert not stopped.ok
        assert "thread stopped" in stopped.detail


def test_advice_on_a_damaged_file_does_not_lead_back_to_doctor(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as memory:
        for number in range(200):
            memory.remember(f"belief {number} " + "x" * 500)
    data = bytearray(path.read_bytes())
    for start in range(8_192, len(data) - 64, 4_096):
        data[start : start + 64] = bytes(64)
    (tmp_path / "pages.db").write_bytes(data)
    (tmp_path / "head.db").write_bytes(b"no database at all" * 1_000)
    for name in ("pages.db", "head.db"):
        result = CliRunner().invoke(app, ["doctor", "--db", str(tmp_path / name)])
        assert result.exit_code == 1, result.output
        assert "doxa restore-backup BACKUP NEW" in result.output
        assert "run `doxa doctor`" not in result.output


def test_what_an_erasure_left_is_a_finding(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("a word to erase", name="word")
        with memory.store.read() as reading:  # keeps the older state
            assert reading.count("Item") == 1
            done: list[str] = []
            thread = threading.Thread(
                target=lambda: done.append(
                    memory.forget("kref://default/word.fact", erase=True).note
                )
            )
            thread.start()
            thread.join()
            assert done and "write-ahead log" in done[0]
        found = {finding.name: finding for finding in memory.doctor()}
        assert not found["erasures"].ok and "reopen it" in found["erasures"].next_step
    with opened(tmp_path / "m.db") as memory:
        assert {finding.name: finding.ok for finding in memory.doctor()}["erasures"]
