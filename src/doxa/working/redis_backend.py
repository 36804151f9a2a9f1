"""Working memory on Redis or Valkey, for servers on several machines.

    redis://[user:password@]host:6379/0?prefix=NAME           one server
    rediss://...                                              the same over TLS
    redis+sentinel://host:26379,host:26379/SERVICE/0?prefix=NAME   the master that Sentinel names

`prefix` keeps memories that share a server apart, and has to be given: two files may well have a
project of the same name. Messages carry a token, so that a request whose answer was lost is
repeated without adding the message twice.

Redis replicates asynchronously. A fail-over loses the writes that the old master acknowledged and
had not sent yet: the newest messages of a session, never one in the middle
(`tests/working/test_sentinel.py`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from doxa.base.errors import DiskFullError, InputError, StoreError, UnreachableError
from doxa.base.limits import (
    WORKING_MESSAGES_ITEMS_MAX,
    WORKING_REDIS_ATTEMPTS_MAX,
    WORKING_REDIS_MS,
    WORKING_SESSIONS_ITEMS_MAX,
)
from doxa.working import redis_scripts as scripts
from doxa.working.sqlite_backend import too_many
from doxa.working.types import ChatKey, Held, Lifetime, Written, new_generation

_SCHEMES = ("redis", "rediss", "redis+sentinel", "rediss+sentinel")
_SECRET_BYTES = 32
_COUNTER_MS = 2 * 86_400_000
_REDIS_PORT = 6_379
_SENTINEL_PORT = 26_379


class RedisBackend:
    """Implements ChatBackend on a Redis client, which pools its connections and is safe after a
    fork. Nothing is connected before the first call."""

    def __init__(self, url: str) -> None:
        parts, prefix = checked_url(url)
        try:
            redis = import_module("redis")
        except ImportError:
            raise InputError(
                "Working memory on Redis needs the package redis, which is not installed.",
                next_step="Install doxa-memory[redis], or leave the URL out: SQLite needs nothing.",
                field="working",
            ) from None
        self._errors = redis.RedisError
        self._silent = (redis.ConnectionError, redis.TimeoutError)
        self._refused = (redis.AuthenticationError, redis.exceptions.NoPermissionError)
        self._full = redis.exceptions.OutOfMemoryError
        self._place = ", ".join(f"{host}:{port}" for host, port in _hosts(parts))
        self._prefix = f"{{doxa:{prefix}}}"
        self._client = _client(redis, parts)
        registered = self._client.register_script
        self._append = registered(scripts.APPEND)
        self._read = registered(scripts.READ)
        self._mark = registered(scripts.MARK)
        self._clear = registered(scripts.CLEAR)
        self._mint = registered(scripts.MINT)

    def place(self) -> str:
        return f"Redis at {self._place}"

    def close(self, now_ms: int) -> None:
        self._client.close()

    def secret(self, known: bytes) -> bytes:
        """Return the key, asked for each time: a server that was started again with nothing would
        otherwise have one for each process that had called before, and one for those that come."""
        name = f"{self._prefix}:secret"
        asked = self._client.pipeline(transaction=False)
        asked.set(name, known or secrets.token_bytes(_SECRET_BYTES), nx=True)
        asked.get(name)
        with self._answering():
            # errors of single commands quote them, and so the key
            _, found = answers = asked.execute(raise_on_error=False)
            if not isinstance(found, bytes):
                raise next((one for one in answers if isinstance(one, Exception)), self._errors())
            return found

    def append(self, key: ChatKey, token: str, message: bytes, life: Lifetime) -> Written:
        keys, digest = self._keys(key)
        with self._answering():
            found = self._append(
                keys=keys,
                args=(
                    *(life.now_ms, life.until_ms, life.ttl_ms, token, message),
                    *(WORKING_MESSAGES_ITEMS_MAX, WORKING_SESSIONS_ITEMS_MAX),
                    *(new_generation(), json.dumps(key), digest, key.session),
                ),
            )
        if found is None:
            raise too_many(key.project)
        number, first, length, generation, last, done, dropped = found
        return Written(
            generation.decode(),
            int(number),
            _split(first)[1] if first else None,
            length,
            int(last),
            int(done),
            int(dropped),
            life.until_ms,
        )

    def read(self, key: ChatKey, life: Lifetime, *, limit: int, touch: bool) -> Held | None:
        keys, digest = self._keys(key)
        ttl_ms = life.ttl_ms if touch else 0
        with self._answering():
            found = self._read(
                keys=keys, args=(life.now_ms, life.until_ms, ttl_ms, limit, digest, key.session)
            )
        if found is None:
            return None
        (generation, since, until, last, done, dropped), length, messages = found
        return Held(
            key,
            generation.decode(),
            tuple(map(_split, messages)),
            length,
            int(last),
            int(done),
            int(dropped),
            int(since),
            int(until),
        )

    def mark(self, key: ChatKey, generation: str, number: int, life: Lifetime) -> int | None:
        keys, _ = self._keys(key)
        with self._answering():
            found = self._mark(keys=keys[:2], args=(life.now_ms, generation, number))
        return None if found is None else int(found)

    def clear(self, key: ChatKey, life: Lifetime) -> int:
        keys, digest = self._keys(key)
        with self._answering():
            return int(self._clear(keys=keys, args=(life.now_ms, digest, key.session)))

    def sessions(self, project: str, life: Lifetime) -> list[Held]:
        with self._answering():
            digests = self._client.zrevrangebyscore(
                self._named("i", project), "+inf", f"({life.now_ms}"
            )
            asked = self._client.pipeline(transaction=False)
            for digest in digests:
                named = digest.decode()
                asked.hmget(
                    f"{self._prefix}:s:{named}",
                    *("key", "generation", "last", "done", "dropped", "since", "until"),
                )
                asked.llen(f"{self._prefix}:m:{named}")
            answers = asked.execute()
        found = []
        for values, length in zip(answers[::2], answers[1::2], strict=True):
            if values[0] is not None and int(values[6]) > life.now_ms:
                own, context, user, session, minted = json.loads(values[0])
                numbers = map(int, values[2:])
                key = ChatKey(own, context, user, session, bool(minted))
                found.append(Held(key, values[1].decode(), (), length, *numbers))
        return found

    def current(
        self, project: str, context: str, user: str, prefix: str, life: Lifetime, *, mint: bool
    ) -> str:
        own = self._named("u", project, context, user)
        with self._answering():
            if mint:
                counter = self._named("n", project, prefix)
                args = (life.now_ms, life.until_ms, life.ttl_ms, prefix, _COUNTER_MS)
                return str(self._mint(keys=(own, counter), args=args).decode())
            name, until = self._client.hmget(own, "name", "until")
        return "" if name is None or int(until) <= life.now_ms else str(name.decode())

    def _keys(self, key: ChatKey) -> tuple[tuple[str, ...], str]:
        digest = _digest(key[:4])
        return (
            *(f"{self._prefix}:{part}:{digest}" for part in "smt"),
            self._named("i", key.project),
            self._named("u", *key[:3]),
        ), digest

    def _named(self, part: str, *names: str) -> str:
        return f"{self._prefix}:{part}:{_digest(names)}"

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            raise self._kind(error)(
                f"Redis at {self._place} did not do what working memory asked for ({said}).",
                next_step=f"{self._step(error)} The memory itself is not concerned.",
                place=self._place,
            ) from None

    def _kind(self, error: Exception) -> type[StoreError]:
        if isinstance(error, self._full):
            return DiskFullError
        is_silent = isinstance(error, self._silent) and not isinstance(error, self._refused)
        return UnreachableError if is_silent else StoreError

    def _step(self, error: Exception) -> str:
        if isinstance(error, self._full):
            return "Raise its maxmemory, or wait until sessions have ended."
        if isinstance(error, self._refused):
            return "Check the user and the password of the URL, and what that user may do."
        return "Check the server; during a fail-over, try again after some seconds."


def checked_url(url: str) -> tuple[SplitResult, str]:
    """Return the parts of a URL without its prefix, and the prefix. Errors never show a password.
    Raises InputError."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        known = parts.scheme in _SCHEMES and bool(_hosts(parts))
    except ValueError:
        known = False
    if not known:
        raise InputError(
            "The URL of working memory is not one of Redis.",
            next_step="Use redis://host:6379/0?prefix=NAME, rediss:// or redis+sentinel://.",
            field="working",
        )
    prefix = options.pop("prefix", "")
    if not prefix or not all(char.isalnum() or char in "-_." for char in prefix):
        raise InputError(
            "The URL of working memory names no prefix, which keeps memories on one server apart.",
            next_step="Add ?prefix=NAME, of letters, digits and - _ .",
            field="working",
        )
    return parts._replace(query=urlencode(options)), prefix


def _hosts(parts: SplitResult) -> list[tuple[str, int]]:
    found = []
    port = _SENTINEL_PORT if parts.scheme.endswith("+sentinel") else _REDIS_PORT
    for place in parts.netloc.rpartition("@")[2].split(","):
        one = urlsplit(f"//{place}")
        found.append((one.hostname or "localhost", one.port or port))
    return found


def _client(redis: Any, parts: SplitResult) -> Any:
    backoff = import_module("redis.backoff").ExponentialBackoff(cap=0.5, base=0.05)
    seconds = WORKING_REDIS_MS / 1_000
    settings: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "health_check_interval": 30,
        "retry": import_module("redis.retry").Retry(backoff, WORKING_REDIS_ATTEMPTS_MAX),
    }
    if not parts.scheme.endswith("+sentinel"):
        return _of_one_server(redis, parts, settings)
    service, _, number = parts.path.strip("/").partition("/")
    if not service:
        raise InputError(
            "The URL of working memory names no service of Sentinel.",
            next_step="Write redis+sentinel://host:26379/SERVICE/0?prefix=NAME.",
            field="working",
        )
    if parts.query or not (number.isdigit() or not number):
        raise InputError(
            "The URL of a master that Sentinel names has a number and a prefix, and nothing else.",
            next_step="Write redis+sentinel://host:26379/SERVICE/0?prefix=NAME.",
            field="working",
        )
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    settings |= {
        "username": unquote(user) or None,
        "password": unquote(password) or None,
        "db": int(number or 0),
        "ssl": parts.scheme.startswith("rediss"),
    }
    sentinel = import_module("redis.sentinel").Sentinel(
        _hosts(parts), sentinel_kwargs={"socket_timeout": seconds}, **settings
    )
    return sentinel.master_for(service)


def _of_one_server(redis: Any, parts: SplitResult, settings: dict[str, Any]) -> Any:
    number = parts.path.strip("/")
    try:
        if number and not number.isdigit():
            raise ValueError(f"{number!r} is not the number of a database")
        client = redis.Redis.from_url(parts.geturl(), **settings)
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # nothing is connected
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The URL of working memory cannot be used: {error}.",
            next_step="Write redis://host:6379/0?prefix=NAME, with options of the package redis.",
            field="working",
        ) from None
    return client


def _digest(names: tuple[str, ...]) -> str:
    data = b"".join(b"%d:%s" % (len(one.encode()), one.encode()) for one in names)
    return hashlib.sha256(data).hexdigest()[:40]


def _split(stored: bytes) -> tuple[int, bytes]:
    number, _, data = stored.split(b" ", 2)
    return int(number), data
