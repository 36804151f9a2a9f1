"""Records exchanges with an endpoint and replays them, so that tests need no endpoint, key or
money.

    {"url": base URL, "recordings": [{"path": "/embeddings", "request": {...}, "answer": {...} or
    text}, ...]}

A cassette contains requests and answers without their headers, and so without the key. Only a
request that equals a recorded one is answered; any other raises, since a test that silently got
another answer would prove nothing.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doxa.base.errors import ModelError
from doxa.base.limits import CASSETTE_BYTES_MAX
from doxa.models.http import Endpoint
from doxa.models.meter import Watch


class Recording(msgspec.Struct):
    """One exchange. `answer` is JSON, or text if the answer was not JSON."""

    path: str
    request: dict[str, Any]
    answer: Any


class Cassette(msgspec.Struct):
    """All exchanges with one endpoint, in recorded order."""

    url: str
    recordings: list[Recording] = []  # msgspec gives every instance a list of its own


def read_cassette(path: Path) -> Cassette:
    """Read a cassette. Raises ModelError for a file that is not one."""
    try:
        with path.open("rb") as file:
            content = file.read(CASSETTE_BYTES_MAX + 1)
        if len(content) <= CASSETTE_BYTES_MAX:
            return msgspec.json.decode(content, type=Cassette)
        reason = f"it is longer than {CASSETTE_BYTES_MAX:,} bytes"
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
    raise ModelError(
        f"{path} is not a cassette: {reason}.",
        next_step="Record one with RecordingEndpoint.",
        path=str(path),
    )


class RecordedEndpoint:
    """Fake: replays a cassette. Equal requests get their answers in recorded order, and then the
    last one again."""

    def __init__(self, cassette: Cassette | Path) -> None:
        self._cassette = read_cassette(cassette) if isinstance(cassette, Path) else cassette
        self.url = self._cassette.url
        self._answers: dict[bytes, list[bytes]] = {}
        for recording in self._cassette.recordings:
            answer = (
                recording.answer.encode()
                if isinstance(recording.answer, str)
                else msgspec.json.encode(recording.answer)
            )
            self._answers.setdefault(_key(recording.path, recording.request), []).append(answer)
        self._lock = threading.Lock()

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        """Implement `Endpoint.post`. Raises ModelError for a request that was not recorded."""
        watch.attempt()
        with self._lock:
            answers = self._answers.get(_key(path, body))
            if answers:
                return answers.pop(0) if len(answers) > 1 else answers[0]
        watch.free()
        raise ModelError(
            f"This request to {self.url}{path} was not recorded.",
            next_step="Record it again with RecordingEndpoint, or send the recorded request.",
            url=self.url,
        )


class RecordingEndpoint:
    """An endpoint that records what passes through it. The file is complete after every
    exchange."""

    def __init__(self, inner: Endpoint, path: Path) -> None:
        self.url = inner.url
        self._inner = inner
        self._path = path
        self._cassette = Cassette(inner.url)
        self._lock = threading.Lock()

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        """Implement `Endpoint.post`; a call that fails is not recorded."""
        answer = self._inner.post(path, body, time_ms=time_ms, watch=watch)
        try:
            decoded = msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decoded = answer.decode("utf-8", "replace")
        with self._lock:
            self._cassette.recordings.append(Recording(path, dict(body), decoded))
            content = msgspec.json.format(msgspec.json.encode(self._cassette), indent=1)
            with tempfile.NamedTemporaryFile(
                dir=self._path.parent, prefix=self._path.name, delete=False
            ) as file:
                file.write(content)
            Path(file.name).replace(self._path)
        return answer


def _key(path: str, request: Mapping[str, object]) -> bytes:
    return msgspec.json.encode([path, request], order="deterministic")
