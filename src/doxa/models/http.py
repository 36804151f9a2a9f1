"""The one way out to an endpoint: a POST of JSON over the standard library's client, with
everything bounded that a server could stretch.

    plain http goes to this machine only     keys and memories do not travel in clear
    no redirect, no proxy, no cookie         what is sent goes where the URL says, and nowhere else
    one time for the whole exchange          a server that sends a byte a minute ends like one that
    sends nothing
    bytes are counted as they come           a length that the server declares is not believed
    few attempts, growing pauses             429, 5xx and broken connections; `Retry-After` is
    honoured up to a limit
    a pause after an outage                  who asks again within it is told at once, instead of
    waiting anew

Keys are held in a `Secret`, sent in one header, and cut out of whatever an error quotes. Decision
record 0015 says why no HTTP library is used.
"""

from __future__ import annotations

import functools
import io
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from doxa.base.errors import InputError, LimitError, ModelError
from doxa.base.hosts import is_loopback
from doxa.base.limits import (
    MODEL_ANSWER_BYTES_MAX,
    MODEL_ATTEMPTS_MAX,
    MODEL_BACKOFF_MS,
    MODEL_CONNECT_MS,
    MODEL_OUTAGE_MS,
    MODEL_REFUSAL_BYTES_READ,
    MODEL_REQUEST_BYTES_MAX,
    MODEL_RETRY_AFTER_MS_MAX,
    MODEL_SAID_CHARS_MAX,
    MODEL_URL_CHARS_MAX,
)
from doxa.models.meter import Watch

_Answer = TypeVar("_Answer")

_CHUNK_BYTES = 65_536
_RETRIED = frozenset((0, 408, 425, 429))  # 0: no answer at all
_REFUSED = frozenset((400, 413, 422))
# What servers say of a text beyond their reach; llama.cpp says it with a 500.
_TOO_LONG = re.compile(r"too (?:large|long|big)\b", re.IGNORECASE)
_KEY = re.compile(r"[\x21-\x7e]+")
_URL = re.compile(r"[!#-;=?-\[\]_a-z~]+", re.IGNORECASE)


class Secret:
    """A key that shows itself to nobody: not in a repr, a log, an error or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str, *, source: str) -> None:
        """`source` names where it comes from, such as the variable, for the error about one that
        cannot be sent."""
        if not _KEY.fullmatch(value):
            raise InputError(
                f"The key in {source} has a blank or a character that no key has; it is not shown"
                " here.",
                next_step=f"Set {source} to the key alone, without quotes or line breaks.",
                field=source,
            )
        self._value = value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a key is not written anywhere")

    def reveal(self) -> str:
        return self._value

    def cut_from(self, text: str) -> str:
        return text.replace(self._value, "[key]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is. `text` is the URL without a slash at its end."""

    secure: bool
    host: str
    port: int
    path: str
    text: str

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return is_loopback(self.host)

    @property
    def id(self) -> str:
        """The same for the same place, however this machine is called in it."""
        return f"{'https' if self.secure else 'http'}://{'loopback' if self.local else self.host}:{self.port}{self.path}"


def parse_url(text: object, *, field: str) -> Address:
    """The address that `text` names. Raises InputError, without quoting what may be a password, for
    anything but http(s)://host[:port][/path]; and for plain http to another machine."""

    def refused(reason: str) -> InputError:
        return InputError(
            f"The URL in {field} cannot be used: {reason}.",
            next_step=(
                "Give https://host/path, or http:// for a server on this machine (127.0.0.1,"
                " localhost)."
            ),
            field=field,
        )

    if (
        not isinstance(text, str)
        or not 0 < len(text) <= MODEL_URL_CHARS_MAX
        or not _URL.fullmatch(text)
    ):
        raise refused("it is not the text of a URL, or holds a character that a URL does not have")
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise refused("its host or port is malformed") from None
    if parts.scheme not in ("http", "https") or not host:
        raise refused("it is not http:// or https:// and a host")
    if "@" in parts.netloc:
        raise refused("it holds a name or password; a key belongs in the environment")
    if "?" in text or "#" in text:
        raise refused("it has a query or a fragment; give the base URL alone")
    secure = parts.scheme == "https"
    if not secure and not is_loopback(host):
        raise refused("plain http would send keys and memories in clear to another machine")
    return Address(
        secure, host, port or (443 if secure else 80), parts.path.rstrip("/"), text.rstrip("/")
    )


class Endpoint(Protocol):
    """Somewhere to post JSON to; `models/cassette.py` has one that replays."""

    @property
    def url(self) -> str:
        """The base URL, for error texts."""
        ...

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        """The content of a successful answer. Raises ModelError (its fields are `url`, `status`
        where there is one, `outage` where others will fail alike for now, `refused` where this
        request is what is wrong), and LimitError for a request beyond the limit or from `watch`."""
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
        """`key_header` is the header's name and what stands before the key; `key_source` names the
        variable, for error texts; `trust` is the system's authorities unless given. `now` and
        `wall` give seconds, monotonic and since 1970."""
        self.url = address.text
        self._address = address
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
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
        """As `Endpoint.post`; `time_ms` is for all attempts and pauses together."""
        content = msgspec.json.encode(body)
        if len(content) > MODEL_REQUEST_BYTES_MAX:
            raise LimitError(
                f"A request of {len(content):,} bytes is beyond the {MODEL_REQUEST_BYTES_MAX:,}"
                " that are sent to a model at once.",
                next_step="Ask with less text.",
                limit_bytes=MODEL_REQUEST_BYTES_MAX,
                size_bytes=len(content),
            )
        self._refuse_during_outage()
        until = self._now() + time_ms / 1_000
        attempt = 0
        while True:
            attempt += 1
            watch.attempt()
            try:
                status, pause, answer = self._exchange(path, content, until)
            except _Broken as broken:
                if not broken.sent:
                    watch.free()
                error, pause = self._connection_error(path, broken), None
                status = 0 if broken.kind != "certificate" else -1
            else:
                if 200 <= status < 300:
                    return answer
                watch.free()
                error = self._status_error(path, status, answer)
            again = status in _RETRIED or (status >= 500 and "refused" not in error.fields)
            wait = self._wait(attempt, pause)
            if (
                not again
                or attempt >= MODEL_ATTEMPTS_MAX
                or wait is None
                or self._now() + wait >= until
            ):
                self._note_outage(error, pause)
                raise error
            self._sleep(wait)

    # One exchange

    def _exchange(self, path: str, content: bytes, until: float) -> tuple[int, float | None, bytes]:
        """Status, the pause that is asked for in seconds, and content. Raises _Broken, ModelError
        for an answer that is too long."""
        sent = False
        connection = self._connection(until)
        try:
            connection.connect()
            self._check_peer(connection)
            connection.sock.settimeout(max(until - self._now(), 0.001))
            sent = True
            connection.request(
                "POST", self._address.path + path, body=content, headers=self._all_headers()
            )
            response = connection.getresponse()
            good = 200 <= response.status < 300
            answer = _read(response, MODEL_ANSWER_BYTES_MAX if good else MODEL_REFUSAL_BYTES_READ)
            if good and len(answer) > MODEL_ANSWER_BYTES_MAX:
                raise self._error(
                    path,
                    f"sent more than {MODEL_ANSWER_BYTES_MAX:,} bytes",
                    "Ask with less text.",
                    status=response.status,
                )
            return response.status, self._asked_pause(response.headers.get("Retry-After")), answer
        except (OSError, HTTPException) as error:
            # Its text may quote what the server sent, and so the key: only its kind is told.
            raise _Broken(error, sent=sent) from None
        finally:
            connection.close()

    def _connection(self, until: float) -> HTTPConnection:
        left = max(min(until - self._now(), MODEL_CONNECT_MS / 1_000), 0.001)
        host, port = self._address.host, self._address.port
        if self._address.secure:
            self._trust = self._trust or ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=left, context=self._trust
            )
        else:
            connection = HTTPConnection(host, port, timeout=left)
        connection.response_class = functools.partial(_Response, until=until, now=self._now)  # type: ignore[assignment]  # called, never subclassed
        return connection

    def _check_peer(self, connection: HTTPConnection) -> None:
        """A name such as localhost is believed only once the connection is there."""
        if not self._address.secure and not is_loopback(str(connection.sock.getpeername()[0])):
            raise ConnectionRefusedError("this name leads to another machine")

    def _all_headers(self) -> dict[str, str]:
        if self._key is None:
            return self._headers
        name, before = self._key_header
        return {**self._headers, name: before + self._key.reveal()}

    # Pauses

    def _asked_pause(self, said: str | None) -> float | None:
        """`Retry-After` in seconds: a number, or a date of the wall clock (RFC 9110, section
        10.2.3)."""
        if said is None:
            return None
        if re.fullmatch(r"[0-9]{1,9}", said.strip()):
            return float(said)
        try:
            return max(parsedate_to_datetime(said.strip()).timestamp() - self._wall(), 0.0)
        except (ValueError, TypeError, OverflowError):
            return None

    @staticmethod
    def _wait(attempt: int, pause: float | None) -> float | None:
        """Seconds before the next attempt; None where a longer pause is asked for than is waited."""
        if pause is not None and pause > MODEL_RETRY_AFTER_MS_MAX / 1_000:
            return None
        return max(pause or 0.0, MODEL_BACKOFF_MS / 1_000 * (1 << (attempt - 1)))

    def _refuse_during_outage(self) -> None:
        with self._lock:
            held = self._outage
        if held is not None and self._now() < held[0]:
            seconds, error = held[0] - self._now(), held[1]
            raise ModelError(
                f"{error.message} It is not asked again for {seconds:.0f} s.",
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

    def _connection_error(self, path: str, broken: _Broken) -> ModelError:
        if broken.kind == "certificate":
            step = (
                "Check the URL and the server's certificate; for an authority of your own set"
                " SSL_CERT_FILE."
            )
            return self._error(path, "has a certificate that cannot be trusted", step, outage=True)
        if broken.kind == "time":
            return self._error(
                path,
                "did not answer in time",
                "Check that the server is well, or try again later.",
                outage=True,
            )
        if broken.sent:
            return self._error(
                path,
                f"broke off before its answer was whole ({broken.kind})",
                "Try again; look at the server's log.",
                outage=True,
            )
        return self._error(
            path,
            f"cannot be reached ({broken.kind})",
            "Start the server, or correct the URL.",
            outage=True,
        )

    def _status_error(self, path: str, status: int, answer: bytes) -> ModelError:
        said = self._said(answer)
        quoted = f' and said: "{said}"' if said else ""
        fields: dict[str, object] = {"status": status}
        if status in _REFUSED or (status == 500 and _TOO_LONG.search(said)):
            fields["refused"] = True
        elif (
            status != 500
        ):  # a 500 may be about this text alone; a wrong key, model or URL fails alike for all
            fields["outage"] = True
        if 300 <= status < 400:
            quoted = ", a redirect, which is not followed"
        return self._error(
            path, f"answered with status {status}{quoted}", self._step(status), **fields
        )

    def _step(self, status: int) -> str:
        if status in (401, 403):
            return f"Check {self._key_source or 'the key'} and what the key is allowed."
        if status == 404:
            return (
                "Check the model's name and the base URL; a model of Ollama must have been pulled."
            )
        if 300 <= status < 400:
            return "Give the URL that it leads to, if you trust it."
        if status == 429:
            return "Wait, ask less often, or raise the account's limit."
        return (
            "Try again later; look at the server's log."
            if status >= 500
            else "Correct what the endpoint names."
        )

    def _said(self, answer: bytes) -> str:
        """What a server says of its refusal: quoted in one line, cut, and without the key."""
        try:
            found = msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ""
        for name in ("error", "message", "detail"):
            if isinstance(found, dict) and found.get(name):
                found = found[name]
        if not isinstance(found, str):
            return ""
        shown = self._key.cut_from(found) if self._key is not None else found
        return " ".join("".join(c if c.isprintable() and c != '"' else " " for c in shown).split())[
            :MODEL_SAID_CHARS_MAX
        ]


def decoded(answer: bytes, shape: type[_Answer], *, url: str, model: str) -> _Answer:
    """An answer as the shape that was expected. Raises ModelError, which names the place and never
    quotes a value."""
    try:
        return msgspec.json.decode(answer, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
        # A page instead of an object comes from something else than the model; an object that
        # cannot be read may be about this text alone.
        outage = {} if answer.lstrip()[:1] == b"{" else {"outage": True}
        raise ModelError(
            f"The answer of {url} for the model {model} is not of the expected shape: {reason}.",
            next_step="Check that the URL leads to the API that the provider's name says.",
            url=url,
            model=model,
            **outage,
        ) from None


class _Broken(Exception):
    """A connection that could not be made or did not last."""

    def __init__(self, error: Exception, *, sent: bool) -> None:
        super().__init__()
        self.sent = sent
        if isinstance(error, TimeoutError):
            self.kind = "time"
        elif isinstance(error, ssl.SSLCertVerificationError):
            self.kind = "certificate"
        elif isinstance(error, socket.gaierror):
            self.kind = "no such host"
        else:
            self.kind = type(error).__name__


class _Response(HTTPResponse):
    """An answer whose every byte, its headers' too, must come before one moment."""

    def __init__(
        self,
        sock: socket.socket,
        *args: Any,
        until: float,
        now: Callable[[], float],
        **options: Any,
    ) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Hurried(self.fp.detach(), sock, until, now))


class _Hurried(io.RawIOBase):
    def __init__(
        self, raw: Any, sock: socket.socket, until: float, now: Callable[[], float]
    ) -> None:
        self._raw, self._sock, self._until, self._now = raw, sock, until, now

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - self._now()
        if left <= 0:
            raise TimeoutError("the time for this answer is over")
        self._sock.settimeout(left)
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def _read(response: HTTPResponse, bytes_max: int) -> bytes:
    """The content, or its first `bytes_max` + 1 bytes."""
    parts: list[bytes] = []
    size = 0
    while size <= bytes_max:
        part = response.read(min(_CHUNK_BYTES, bytes_max + 1 - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    if (
        size <= bytes_max and response.length
    ):  # read(n) does not complain of a declared length that did not come
        raise ConnectionResetError("the answer is shorter than declared")
    return b"".join(parts)
