"""Recordings are replayed exactly, and nothing else is; the fakes behave as documented."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from doxa.base.errors import LimitError, ModelError
from doxa.models import (
    Completer,
    Message,
    OverlapReranker,
    RecordedCompleter,
    Reranker,
    ScriptedCompleter,
)
from doxa.models.address import Secret, parse_url
from doxa.models.cassette import (
    Cassette,
    RecordedEndpoint,
    Recording,
    RecordingEndpoint,
    read_cassette,
)
from doxa.models.http import HttpEndpoint
from doxa.models.meter import Meter
from doxa.models.ollama import OllamaCompleter, open_embedder
from tests.models.model_server import KEY, ModelServer, Reply

ASKED = [Message("user", "Is it so?")]


def test_a_real_exchange_is_recorded_and_replayed_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "cassette.json"
    with ModelServer(says="It is.") as server:
        to = RecordingEndpoint(
            HttpEndpoint(parse_url(server.url, field="url"), key=Secret(KEY, source="K")), path
        )
        said = OllamaCompleter(to, "m", Meter()).complete(ASKED)
        made = open_embedder(to, "m", Meter()).embed(["a text"])
    assert KEY not in path.read_text()
    replayed, meter = RecordedEndpoint(path), Meter()
    assert OllamaCompleter(replayed, "m", meter).complete(ASKED) == said
    assert np.array_equal(open_embedder(replayed, "m", meter).embed(["a text"]), made)
    assert meter.spend().calls == 3
    with pytest.raises(ModelError, match="was not recorded"):
        OllamaCompleter(replayed, "m", meter).complete(ASKED, tokens_max=5)
    assert meter.spend().tokens_estimated == 0


def test_equal_requests_get_their_answers_in_turn() -> None:
    request = {"b": 1, "a": [1]}
    tape = RecordedEndpoint(
        Cassette(
            "u",
            [Recording("/p", request, {"n": 1}), Recording("/p", {"a": [1], "b": 1}, "no json")],
        )
    )
    with Meter().call("m", tokens_in=1) as call:
        assert [tape.post("/p", request, time_ms=1, watch=call) for _ in range(3)] == [
            b'{"n":1}',
            b"no json",
            b"no json",
        ]


def test_a_failed_exchange_is_not_recorded(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.replies = [Reply(400)]
        to = RecordingEndpoint(
            HttpEndpoint(parse_url(server.url, field="url")), tmp_path / "c.json"
        )
        with pytest.raises(ModelError):
            OllamaCompleter(to, "m", Meter()).complete(ASKED)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"url": 5}', b'{"url": "u", "recordings": [{}]}', b"\xff"]
)
def test_what_is_no_cassette_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    for name in ("c.json", "none.json"):
        with pytest.raises(ModelError, match="is not a cassette"):
            read_cassette(tmp_path / name)


def test_a_recorded_completer_answers_what_it_knows(tmp_path: Path) -> None:
    fake: Completer = RecordedCompleter({RecordedCompleter.key(ASKED): "It is."})
    assert fake.complete(ASKED).text == "It is."
    path = tmp_path / "recordings.json"
    path.write_text(json.dumps({RecordedCompleter.key(ASKED): "It was."}))
    assert RecordedCompleter.read(path).complete(ASKED).text == "It was."
    for content in (b"[]", b'{"a": 5}', b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="does not contain recordings"):
            RecordedCompleter.read(path)
    with pytest.raises(ModelError, match="No answer is recorded"):
        fake.complete([Message("system", "Is it so?")])


def test_a_scripted_completer_notes_what_it_is_asked() -> None:
    fake = ScriptedCompleter(["one", "two"])
    assert [fake.complete(ASKED).text, fake.complete(ASKED).text] == ["one", "two"]
    assert fake.asked == [tuple(ASKED)] * 2
    with pytest.raises(ModelError, match="script of the fake model has ended"):
        fake.complete(ASKED)


def test_the_fake_reranker_counts_words() -> None:
    fake: Reranker = OverlapReranker()
    assert fake.score("The red car", ["the CAR is red", "nothing", ""]).tolist() == [3.0, 0.0, 0.0]
    with pytest.raises(LimitError):
        fake.score("x", ["y"] * 1_001)
