"""Posts JSON to an endpoint, with limits on everything that a server could prolong.

    plain http to this machine only     keys and memories do not travel in clear
    no redirects, proxies or cookies    the request goes to the URL and nowhere else
    one deadline per call               all attempts, pauses, headers and content included
    limits of bytes                     counted as they arrive, whatever the server declares
    few attempts, growing pauses        for 408, 425, 429, 5xx and broken connections; `Retry-After`
                                        is honoured up to a limit
    a pause after an outage             calls within it fail at once instead of waiting again

`transport.py` sends one request; this module repeats it and describes failures. A key is held in a
`Secret`, sent in one header, and removed from whatever an error quotes.
"""

from __future__ import annotations

import importlib
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from doxa.base.errors import LimitError, ModelError
from doxa.base.limits import (
    MODEL_ANSWER_BYTES_MAX,
    MODEL_ATTEMPTS_MAX,
    MODEL_BACKOFF_MS,
    MODEL_OUTAGE_MS,
    MODEL_REFUSAL_BYTES_READ,
    MODEL_REQUEST_BYTES_MAX,
    MODEL_RETRY_AFTER_MS_MAX,
    MODEL_SAID_CHARS_MAX,
)
from doxa.models.address import Address, Secret
from doxa.models.meter import Watch

if TYPE_CHECKING:
    from doxa.models.transport import TransportError

_Answer = TypeVar("_Answer")

_RETRIED = frozenset((0, 408, 425, 429))  # 0: no answer at all
_REFUSED = frozenset((400, 413, 422))
# How servers describe a text that is too long; llama.cpp does so with a 500.
_TOO_LONG = re.compile(r"too (?:large|long|big)\b", re.IGNORECASE)


class Endpoint(Protocol):
    """A place to post JSON to; `models/cassette.py` has one that replays recordings."""

    @property
    def url(self) -> str:
        """The base URL, for error texts."""
        ...

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        """Post `body` and return the content of a successful answer.

        Raises ModelError, with the fields `url`, `status` if there is one, `outage` if other
        requests will fail too for now, and `refused` if this request is at fault. Raises LimitError
        for a request that is too large, or from `watch`.
        """
        ...


class HttpEndpoint:
    """A server that speaks JSON over HTTP/1.1. Safe to share between threads; every exchange has a
    connection of its own."""

    def __init__(
        self,
        address: Address,
        *,
        headers: Mapping[str, str] | None = None,
        key: Secret | None = None,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
        key_source: str = "",
        trust: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`key_header` is the header's name and the prefix of the key; `key_source` names the
        variable in error texts; `trust` defaults to the system's authorities. `now` and `wall`
        return seconds, monotonic and since 1970."""
        self.url = address.text
        _require_httpx(address)
        self._address = address
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # A compressed answer could unpack to any size.
            "Accept-Encoding": "identity",
            "User-Agent": "doxa",
            "Connection": "close",
            **(headers or {}),
        }
        self._key = key
        self._key_header = key_header
        self._key_source = key_source
        self._trust = trust
        self._now, self._sleep, self._wall = now, sleep, wall
        self._lock = threading.Lock()
        self._outage: tuple[float, ModelError] | None = None

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        """Implement `Endpoint.post`; `time_ms` covers all attempts and pauses."""
        content = msgspec.json.encode(body)
        if len(content) > MODEL_REQUEST_BYTES_MAX:
            raise LimitError(
                f"A request of {len(content):,} bytes exceeds the limit of"
                f" {MODEL_REQUEST_BYTES_MAX:,} bytes.",
                next_step="Send less text.",
                limit_bytes=MODEL_REQUEST_BYTES_MAX,
                size_bytes=len(content),
            )
        from doxa.models.transport import TransportError

        self._refuse_during_outage()
        until = self._now() + time_ms / 1_000
        attempt = 0
        while True:
            attempt += 1
            watch.attempt()
            try:
                status, pause, answer = self._exchange(path, content, until)
            except TransportError as failed:
                if not failed.sent:
                    watch.free()
                error, pause = self._connection_error(path, failed), None
                status = 0 if failed.kind != "certificate" else -1
            else:
                if _succeeded(status):
                    return answer
                watch.free()
                error = self._status_error(path, status, answer)
            retried = status in _RETRIED or (status >= 500 and "refused" not in error.fields)
            wait = self._wait(attempt, pause)
            if (
                not retried
                or attempt >= MODEL_ATTEMPTS_MAX
                or wait is None
                or self._now() + wait >= until
            ):
                self._note_outage(error, pause)
                raise error
            self._sleep(wait)

    def _exchange(self, path: str, content: bytes, until: float) -> tuple[int, float | None, bytes]:
        """Send one request; return the status, the pause that the server asks for in seconds, and
        the content. Raises TransportError, and ModelError for an answer that is too long."""
        from doxa.models.transport import RequestDeadline, post

        if self._address.secure:
            self._trust = self._trust or ssl.create_default_context()
        answer = post(
            self._address.text + path,
            headers=self._all_headers(),
            content=content,
            deadline=RequestDeadline(until, self._now),
            bytes_max=_bytes_max,
            trust=self._trust if self._address.secure else None,
        )
        if _succeeded(answer.status) and len(answer.content) > MODEL_ANSWER_BYTES_MAX:
            raise self._error(
                path,
                f"sent more than {MODEL_ANSWER_BYTES_MAX:,} bytes",
                "Send less text.",
                status=answer.status,
            )
        pause = self._requested_pause(answer.headers.get("Retry-After"))
        return answer.status, pause, answer.content

    def _all_headers(self) -> dict[str, str]:
        if self._key is None:
            return self._headers
        name, before = self._key_header
        return {**self._headers, name: before + self._key.reveal()}

    # Pauses

    def _requested_pause(self, header: str | None) -> float | None:
        """Return the seconds of a `Retry-After` header: a number, or a date of the wall clock (RFC
        9110, section 10.2.3)."""
        if header is None:
            return None
        if re.fullmatch(r"[0-9]{1,9}", header.strip()):
            return float(header)
        try:
            return max(parsedate_to_datetime(header.strip()).timestamp() - self._wall(), 0.0)
        except (ValueError, TypeError, OverflowError):
            return None

    @staticmethod
    def _wait(attempt: int, pause: float | None) -> float | None:
        """Return the seconds before the next attempt; None if the requested pause is too long."""
        if pause is not None and pause > MODEL_RETRY_AFTER_MS_MAX / 1_000:
            return None
        return max(pause or 0.0, MODEL_BACKOFF_MS / 1_000 * (1 << (attempt - 1)))

    def _refuse_during_outage(self) -> None:
        with self._lock:
            outage = self._outage
        if outage is not None and self._now() < outage[0]:
            seconds, error = outage[0] - self._now(), outage[1]
            raise ModelError(
                f"{error.message} It is not called again for {seconds:.0f} s.",
                next_step=error.next_step,
                **error.fields,
            )

    def _note_outage(self, error: ModelError, pause: float | None) -> None:
        if "outage" in error.fields:
            with self._lock:
                self._outage = (
                    self._now() + max(MODEL_OUTAGE_MS / 1_000, min(pause or 0.0, 3_600.0)),
                    error,
                )

    # Errors

    def _error(self, path: str, what: str, step: str, **fields: object) -> ModelError:
        return ModelError(
            f"The endpoint {self.url}{path} {what}.", next_step=step, url=self.url, **fields
        )

    def _connection_error(self, path: str, failed: TransportError) -> ModelError:
        if failed.kind == "certificate":
            step = (
                "Check the URL and the server's certificate; for your own authority, set"
                " SSL_CERT_FILE."
            )
            return self._error(path, "has a certificate that cannot be trusted", step, outage=True)
        if failed.kind == "time":
            return self._error(
                path,
                "did not answer in time",
                "Check the server, or try again later.",
                outage=True,
            )
        if failed.sent:
            return self._error(
                path,
                f"closed the connection before its answer was complete ({failed.kind})",
                "Try again; look at the server's log.",
                outage=True,
            )
        return self._error(
            path,
            f"cannot be reached ({failed.kind})",
            "Start the server, or correct the URL.",
            outage=True,
        )

    def _status_error(self, path: str, status: int, answer: bytes) -> ModelError:
        message = self._message(answer)
        quoted = f' and the message "{message}"' if message else ""
        fields: dict[str, object] = {"status": status}
        if status in _REFUSED or (status == 500 and _TOO_LONG.search(message)):
            fields["refused"] = True
        elif status != 500:
            # A 500 may concern this text only; a wrong key, model or URL fails for all texts.
            fields["outage"] = True
        if 300 <= status < 400:
            quoted = ", a redirect, which is not followed"
        return self._error(
            path, f"answered with status {status}{quoted}", self._step(status), **fields
        )

    def _step(self, status: int) -> str:
        if status in (401, 403):
            return f"Check {self._key_source or 'the key'} and its permissions."
        if status == 404:
            return "Check the model's name and the base URL; pull the model if it is one of Ollama."
        if 300 <= status < 400:
            return "Use the URL of the redirect, if you trust it."
        if status == 429:
            return "Wait, send fewer requests, or raise the account's limit."
        return (
            "Try again later; look at the server's log."
            if status >= 500
            else "Correct the request according to the message."
        )

    def _message(self, answer: bytes) -> str:
        """Return the error message of a server: in one line, truncated and without the key."""
        try:
            found = msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ""
        for name in ("error", "message", "detail"):
            if isinstance(found, dict) and found.get(name):
                found = found[name]
        if not isinstance(found, str):
            return ""
        text = self._key.remove_from(found) if self._key is not None else found
        printable = "".join(c if c.isprintable() and c != '"' else " " for c in text)
        return " ".join(printable.split())[:MODEL_SAID_CHARS_MAX]


def _succeeded(status: int) -> bool:
    return 200 <= status < 300


def _bytes_max(status: int) -> int:
    return MODEL_ANSWER_BYTES_MAX if _succeeded(status) else MODEL_REFUSAL_BYTES_READ


def _require_httpx(address: Address) -> None:
    """Raise ModelError unless httpx2 can be imported, which the extra `endpoints` installs."""
    try:
        importlib.import_module("httpx2")
    except ImportError as error:
        raise ModelError(
            f"The endpoint {address.text} cannot be used: httpx2 cannot be imported ({error}).",
            next_step="Install it: pip install 'doxa-memory[endpoints]'",
            url=address.text,
            package="httpx2",
        ) from error


def decoded(answer: bytes, shape: type[_Answer], *, url: str, model: str) -> _Answer:
    """Decode an answer of the expected shape. Raises ModelError, which names the field at fault and
    never quotes a value."""
    try:
        return msgspec.json.decode(answer, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
        # Anything but a JSON object comes from something else than the model; an object of another
        # shape may concern this text only.
        outage = {} if answer.lstrip()[:1] == b"{" else {"outage": True}
        raise ModelError(
            f"The answer of {url} for the model {model} has an unexpected shape: {reason}.",
            next_step="Check that the URL is that of the provider's API.",
            url=url,
            model=model,
            **outage,
        ) from None
