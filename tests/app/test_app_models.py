"""Which model fills which role of an opened memory, what that costs and when it is asked, over a
real server on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.app import models as app_models
from doxa.cli import app
from doxa.models import HashEmbedder, Message, OverlapReranker, ScriptedCompleter
from tests.fixtures_shared import opened
from tests.models.model_server import KEY, ModelServer, Reply

VARIABLES = [
    f"DOXA_{name}"
    for name in (
        "EMBEDDER",
        "MODEL",
        "RERANKER",
        "EMBEDDER_URL",
        "MODEL_URL",
        "RERANKER_URL",
        "OPENAI_URL",
        "OLLAMA_URL",
        "ANTHROPIC_URL",
        "MODEL_TOKENS_MAX",
        "MODEL_CALLS_MAX",
    )
]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model from the environment of the run, and pauses that tests can wait for."""
    for name in (*VARIABLES, "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("doxa.models.http.MODEL_BACKOFF_MS", 1)
    monkeypatch.setattr("doxa.models.http.MODEL_OUTAGE_MS", 300)
    monkeypatch.setattr("doxa.app.models.MODEL_OUTAGE_MS", 300)
    monkeypatch.setattr("doxa.app.care.embedding.MODEL_OUTAGE_MS", 300)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


def down(server: ModelServer) -> None:
    server.always = lambda request: Reply(503, {"error": "overloaded"})


def up(server: ModelServer) -> None:
    server.always = lambda request: None


def findings(memory: doxa.Memory, **options: bool) -> dict[str, Any]:
    return {finding.name: finding for finding in memory.doctor(**options)}


def test_opening_asks_nobody_and_recall_goes_by_meaning_then(
    tmp_path: Path, server: ModelServer
) -> None:
    with opened(
        tmp_path / "m.db", embedder="ollama:nomic-embed-text", model_urls={"ollama": server.url}
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        assert server.requests == []
        assert memory.embed() == 1
        assert "meaning" in memory.recall("ferry Bergen").hits[0].lanes
        inputs = [request.body["input"] for request in server.requests]
        assert inputs.count(["search_query: ferry Bergen"]) == 1
        # then the unrelated texts that cosines are compared with, as questions and as memories
        assert {text.partition(": ")[0] for text in inputs[-1]} == {"search_document"}
        assert any(
            text.startswith("search_document: ")
            for request in server.requests
            for text in request.body["input"]
        )
        assert memory.embedder is not None and memory.embedder.name.startswith(
            "ollama:nomic-embed-text-32-at-"
        )


def test_the_environment_names_models_where_no_argument_does(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("EMBEDDER", "openai:e"),
        ("MODEL", "anthropic:m"),
        ("RERANKER", "openai:r"),
        ("OPENAI_URL", f"{server.url}/v1"),
        ("ANTHROPIC_URL", server.url),
        ("RERANKER_URL", f"{server.url}/other"),
    ):
        monkeypatch.setenv(f"DOXA_{name}", value)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "-a")
    with opened(tmp_path / "m.db", embedder="auto") as memory:
        assert memory.embedder and memory.model and memory.reranker
        assert (memory.model.name, memory.reranker.name) == ("anthropic:m", "openai:r")
        memory.model.complete([Message("user", "x")])
        memory.reranker.score("x", ["y"])
        assert [request.path for request in server.requests] == [
            "/v1/embeddings",
            "/v1/messages",
            "/other/rerank",
        ]
        assert [request.headers.get("authorization") for request in server.requests] == [
            f"Bearer {KEY}",
            None,
            f"Bearer {KEY}",
        ]
        assert (
            server.requests[1].headers["x-api-key"] == f"{KEY}-a"
            and server.requests[1].headers["anthropic-version"] == "2023-06-01"
        )
        shown = (
            f"{memory.config!r} {vars(memory)} {vars(memory._models)}"
            f" {[vars(e) for e in memory._models._endpoints.values()]}"
        )
        assert KEY not in shown
    with opened(tmp_path / "n.db", embedder=None, model=None, reranker=OverlapReranker()) as memory:
        assert (
            memory.embedder is None
            and memory.model is None
            and isinstance(memory.reranker, OverlapReranker)
        )
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    with opened(tmp_path / "n.db", embedder="auto", background=True) as memory:
        memory.remember("x is y")
        assert (
            memory.embedder is None
            and memory.embedder_error is None
            and memory._embedding._thread is None
        )


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"embedder": "cohere:x"}, "embedder"),
        ({"model": "gpt"}, "model"),
        ({"reranker": "openai:"}, "reranker"),
        ({"reranker": "model", "model": None}, "reranker"),
        ({"model_urls": {"openai": "http://example.org"}}, "model_urls['openai']"),
        ({"model_urls": {"x": "https://example.org"}}, "model_urls"),
        ({"model_tokens_max": -1}, "model_tokens_max"),
        ({"model_calls_max": 1.5}, "model_calls_max"),
        ({"model_prices": {"openai:x": 5}}, "model_prices"),
        ({"model_prices": {"openai:x": (1, float("nan"))}}, "model_prices"),
        ({"model": HashEmbedder()}, "model"),
        ({"reranker": object()}, "reranker"),
    ],
)
def test_what_is_configured_wrongly_is_refused_at_once(
    tmp_path: Path, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(doxa.InputError) as caught:
        opened(tmp_path / "m.db", **options)
    assert caught.value.fields["field"] == field and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOXA_MODEL", "gpt"),
        ("DOXA_RERANKER", "model"),
        ("DOXA_OLLAMA_URL", "http://10.0.0.5:11434"),
        ("DOXA_MODEL_TOKENS_MAX", "many"),
        ("DOXA_EMBEDDER", "x"),
    ],
)
def test_what_the_environment_says_wrongly_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(doxa.InputError) as caught:
        opened(tmp_path / "m.db", embedder="auto")
    assert caught.value.fields["field"] in (name, "reranker")
    result = CliRunner().invoke(app, ["stats", "--db", str(tmp_path / "m.db")])
    assert result.exit_code == 2


def test_a_missing_key_is_said_and_recall_goes_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(
        tmp_path / "m.db", embedder="openai:text-embedding-3-small", model="anthropic:m"
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        assert "meaning" not in memory.recall("ferry").hits[0].lanes
        assert memory.model is None and memory.embedder is None
        assert (
            memory.embedder_error and "OPENAI_API_KEY is not set" in memory.embedder_error.message
        )
        assert memory.model_error and "ANTHROPIC_API_KEY is not set" in memory.model_error.message
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    with opened(tmp_path / "m.db", embedder="openai:e") as memory:
        assert memory.embedder is None and memory.embedder_error
        assert "two words" not in str(memory.embedder_error.as_dict())


def test_an_endpoint_that_is_down_at_first_is_found_again(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "doxa.app.models.MODEL_OUTAGE_MS", 2_000
    )  # longer than what is asked meanwhile may take
    down(server)
    with opened(
        tmp_path / "m.db", embedder="ollama:m", model_urls={"embedder": server.url}
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        assert (
            memory.embed() == 0
            and memory.embedder_error
            and "status 503" in memory.embedder_error.message
        )
        asked = len(server.requests)
        assert memory.recall("ferry").warnings and len(server.requests) == asked
        assert not findings(memory)["embedder"].ok
        up(server)
        time.sleep(2.1)
        assert memory.embed() == 1 and memory.embedder_error is None


def test_an_outage_is_no_fault_of_the_texts_and_loses_nothing(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "doxa.maintenance.embedding.EMBED_REQUEST_ITEMS_MAX", 1
    )  # a request for each memory
    with opened(
        tmp_path / "m.db", embedder="ollama:m#32", model_urls={"ollama": server.url}
    ) as memory:
        for number in range(10):
            memory.remember(f"Ship number {number} is called {number * 7}", name=f"ship-{number}")
        count = 0

        def some(request: Any) -> Reply | None:
            nonlocal count
            count += 1
            return Reply(503) if count > 4 else None

        server.always = some
        assert memory.embed() == 4  # those before the outage are kept
        assert memory.embedder_error and "outage" in memory.embedder_error.fields
        for _ in range(12):  # more often than JOB_ATTEMPTS_MAX
            assert memory.embed() == 0
            time.sleep(0.05)
        assert memory.pending() == 6
        up(server)
        time.sleep(0.35)
        assert memory.embed() == 6 and memory.pending() == 0 and memory.embedder_error is None
        assert findings(memory)["vectors"].ok


@pytest.mark.parametrize(
    "reply", [Reply(401), Reply(404), Reply(302), Reply(200, b"<html>Please log in</html>")]
)
def test_an_endpoint_that_is_set_up_wrongly_costs_no_memory_its_attempts(
    tmp_path: Path, server: ModelServer, reply: Reply
) -> None:
    with opened(
        tmp_path / "m.db", embedder="ollama:m#32", model_urls={"ollama": server.url}
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        server.always = lambda request: reply
        for _ in range(9):  # more often than JOB_ATTEMPTS_MAX
            assert memory.embed() == 0
        assert memory.pending() == 1 and memory.embedder_error
        up(server)
        time.sleep(0.35)
        assert memory.embed() == 1


def test_a_text_that_a_model_cannot_take_holds_no_other_up(
    tmp_path: Path, server: ModelServer
) -> None:
    bad = Reply(500, {"error": "unsupported value: NaN"})
    with opened(
        tmp_path / "m.db", embedder="ollama:m#32", model_urls={"ollama": server.url}
    ) as memory:
        for name in ("first", "poison", "last"):
            memory.remember(f"This is the {name} text", name=name)
        server.always = lambda request: (
            bad if any("poison" in text for text in request.body["input"]) else None
        )
        assert memory.embed() == 2 and memory.pending() == 1
        for _ in range(8):
            memory.embed()
        assert (
            memory.pending() == 0
            and "1 memories could not be embedded" in findings(memory)["vectors"].detail
        )


def test_the_background_job_outlives_an_outage(tmp_path: Path, server: ModelServer) -> None:
    down(server)
    with opened(
        tmp_path / "m.db", embedder="ollama:m", model_urls={"ollama": server.url}, background=True
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        until = time.monotonic() + 10
        while not server.requests and time.monotonic() < until:
            time.sleep(0.02)
        up(server)
        while memory.pending() and time.monotonic() < until:
            time.sleep(0.05)
        assert memory.pending() == 0


class WaitingEmbedder(HashEmbedder):
    """Fake: says when it is asked, and answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked.set()
        assert self.may.wait(30)
        return super().embed(texts)


def test_the_background_job_outlives_a_time_of_other_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.app.care.embedding.MODEL_OUTAGE_MS", 20)
    embedder, until = WaitingEmbedder(), time.monotonic() + 30
    with opened(tmp_path / "m.db", embedder=embedder, background=True) as memory:
        memory.remember("The ferry leaves from Bergen")
        assert embedder.asked.wait(30)
        with memory.store.write(memory.identity, op="hold"):  # a turn that others wait for
            monkeypatch.setattr("doxa.store.file.engine.BUSY_TIMEOUT_MS", 50)
            embedder.may.set()
            while memory.embedder_error is None and time.monotonic() < until:
                time.sleep(0.01)
            assert memory.embedder_error and "busy" in memory.embedder_error.message
        while memory.pending() and time.monotonic() < until:
            time.sleep(0.02)
        assert memory.pending() == 0


def test_a_cap_stops_embedding_and_leaves_recall_to_words(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "doxa.maintenance.embedding.EMBED_REQUEST_ITEMS_MAX", 1
    )  # a request for each memory
    options = {
        "embedder": "ollama:m#32",
        "model_urls": {"ollama": server.url},
        "model_prices": {"ollama:m": (1_000_000, 0)},
    }
    with opened(tmp_path / "m.db", model_calls_max=3, **options) as memory:
        for number in range(5):
            memory.remember(f"Ship number {number} is called {number * 7}", name=f"ship-{number}")
        with pytest.raises(doxa.LimitError, match="cap of 3 model calls"):
            memory.embed()
        assert memory.pending() == 2 and len(server.requests) == 3
        answer = memory.recall("ship number 3")
        assert answer.hits and any("cap of 3" in warning for warning in answer.warnings)
        spend = memory.spend()
        assert (spend.calls, spend.tokens_in, spend.money, spend.calls_max) == (3, 24, 24.0, 3)
    assert memory.spend() == spend and memory.spend(process=True).calls >= 3


def test_the_environments_cap_is_for_the_process(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_models, "PROCESS", app_models.Meter())
    monkeypatch.setenv("DOXA_MODEL_TOKENS_MAX", "60")
    options = {"embedder": None, "model": "ollama:m", "model_urls": {"ollama": server.url}}
    with (
        opened(tmp_path / "a.db", **options) as first,
        opened(tmp_path / "b.db", **options) as second,
    ):
        assert first.model and second.model
        first.model.complete([Message("user", "x")], tokens_max=20)
        with pytest.raises(doxa.LimitError, match="cap of 60 model tokens leaves 22"):
            second.model.complete([Message("user", "x")], tokens_max=20)
        assert (first.spend().calls, second.spend().calls, second.spend(process=True).calls) == (
            1,
            0,
            1,
        )


def test_vectors_of_two_places_are_not_mixed(tmp_path: Path, server: ModelServer) -> None:
    with ModelServer() as other:
        with opened(
            tmp_path / "m.db", embedder="ollama:m", model_urls={"ollama": server.url}
        ) as memory:
            memory.remember("The ferry leaves from Bergen")
            memory.embed()
        with opened(
            tmp_path / "m.db", embedder="ollama:m", model_urls={"ollama": other.url}
        ) as memory:
            assert any(
                "Meaning search is off: the vectors of this file are of ollama:m-32-at-" in w
                for w in memory.recall("ferry").warnings
            )
            assert not findings(memory)["vectors"].ok
            assert memory.embed(anew=True) == 1


def test_the_same_text_is_embedded_once(tmp_path: Path, server: ModelServer) -> None:
    with opened(
        tmp_path / "m.db", embedder="ollama:m#32", model_urls={"ollama": server.url}
    ) as memory:
        memory.remember("The ferry leaves from Bergen")
        memory.embed()
        memory.embed(anew=True)
        assert len(server.requests) == 1


def test_a_model_as_a_reranker(tmp_path: Path, server: ModelServer) -> None:
    server.says = '{"order": [2, 1]}'
    with opened(
        tmp_path / "m.db",
        model="openai:m",
        reranker="model",
        model_urls={"model": f"{server.url}/v1"},
    ) as memory:
        assert memory.reranker and memory.reranker.score("?", ["a", "b"]).tolist() == [0.5, 1.0]
    with opened(
        tmp_path / "m.db", model=ScriptedCompleter(['{"order": [1]}']), reranker="model"
    ) as memory:
        assert memory.reranker and memory.reranker.name == "listwise:fake-scripted"
    with opened(tmp_path / "m.db", model="openai:m", reranker="model") as memory:
        assert (
            memory.reranker is None
            and memory.reranker_error
            and "OPENAI_API_KEY" in memory.reranker_error.message
        )


def test_doctor_asks_an_endpoint_only_when_told_to(tmp_path: Path, server: ModelServer) -> None:
    options = {
        "embedder": "ollama:m",
        "model": "ollama:c",
        "reranker": "openai:r",
        "model_urls": {"ollama": server.url, "openai": server.url},
    }
    with opened(tmp_path / "m.db", **options) as memory:
        found = findings(memory)
        assert server.requests == []
        assert (
            found["embedder"].detail == "ollama:m, not asked"
            and found["embedder"].next_step == "`doxa doctor --models` asks it."
        )
        assert (
            found["model"].detail == "ollama:c, not asked"
            and found["reranker"].detail == "openai:r, not asked"
        )
        memory.remember("x is y")
        assert not findings(memory)["vectors"].ok
        found = findings(memory, models=True)
        assert found["embedder asked"].detail == "ollama:m: it answered with 32 dimensions"
        assert found["model"].detail == "ollama:c: it answered (26 tokens in, 12 out)"
        assert found["reranker"].detail == "openai:r: it put an answer above an unrelated text"
        down(server)
        found = findings(memory, models=True)
        assert (
            not found["embedder asked"].ok
            and not found["model"].ok
            and "status 503" in found["model"].detail
        )
    with opened(
        tmp_path / "m.db",
        embedder=HashEmbedder(),
        model=ScriptedCompleter(["yes"]),
        reranker=OverlapReranker(),
    ) as memory:
        found = findings(memory, models=True)
        assert all(found[name].ok for name in ("embedder asked", "model", "reranker"))
        assert found["reranker"].detail.startswith("fake-overlap: ")


def test_the_command_line_reads_the_environment(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_EMBEDDER", "ollama:m")
    monkeypatch.setenv("DOXA_OLLAMA_URL", server.url)
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    runner = CliRunner()
    assert runner.invoke(app, ["remember", "The ferry leaves from Bergen"]).exit_code == 0
    assert runner.invoke(app, ["embed"]).exit_code == 0
    asked = len(server.requests)
    told = runner.invoke(app, ["doctor"]).output
    assert "note embedder    ollama:m, not asked" in told and len(server.requests) == asked
    assert (
        "ollama:m: it answered with 32 dimensions"
        in runner.invoke(app, ["doctor", "--models"]).output
    )


def test_a_cap_ends_the_vectors_of_an_import_and_not_the_import(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_models, "PROCESS", app_models.Meter())
    monkeypatch.setattr(
        "doxa.maintenance.embedding.EMBED_REQUEST_ITEMS_MAX", 1
    )  # a request for each memory
    for name, value in (
        ("EMBEDDER", "ollama:m#32"),
        ("OLLAMA_URL", server.url),
        ("DB", str(tmp_path / "m.db")),
        ("MODEL_CALLS_MAX", "2"),
    ):
        monkeypatch.setenv(f"DOXA_{name}", value)
    turns = [
        {"thread": "t", "session": "s", "speaker": "Ana", "text": f"Turn {number}"}
        for number in range(5)
    ]
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, turns)))
    runner = CliRunner()
    done = runner.invoke(app, ["import", str(tmp_path / "talk.jsonl"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["added"] == 5 and json.loads(done.stdout)["unembedded"] == 3
    told = runner.invoke(app, ["embed", "--json"])
    assert told.exit_code == 2 and "cap of 2 model calls" in told.output


def test_opening_reads_no_network_library(tmp_path: Path) -> None:
    program = (
        "import sys, doxa; doxa.open(sys.argv[1], embedder=None).close(); print(*{'http.client',"
        " 'ssl', 'onnxruntime'} & sys.modules.keys())"
    )
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m.db")],
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
