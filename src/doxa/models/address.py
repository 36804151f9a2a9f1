"""Addresses of endpoints and their keys, checked before anything is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from doxa.base.errors import InputError
from doxa.base.hosts import is_loopback
from doxa.base.limits import MODEL_URL_CHARS_MAX

_KEY = re.compile(r"[\x21-\x7e]+")
_URL = re.compile(r"[!#-;=?-\[\]_a-z~]+", re.IGNORECASE)


class Secret:
    """A key that does not appear in a repr, a log, an error or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str, *, source: str) -> None:
        """`source` names the origin of the key, such as a variable, in the error for a key that
        cannot be sent."""
        if not _KEY.fullmatch(value):
            raise InputError(
                f"The key in {source} (not shown) contains a space or an invalid character.",
                next_step=f"Set {source} to the key alone, without quotes or line breaks.",
                field=source,
            )
        self._value = value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a key cannot be pickled")

    def reveal(self) -> str:
        return self._value

    def remove_from(self, text: str) -> str:
        return text.replace(self._value, "[key]")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an endpoint. `text` is the URL without a trailing slash."""

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
        """The same text for the same place, whichever name of this machine the URL uses."""
        scheme = "https" if self.secure else "http"
        host = "loopback" if self.local else self.host
        return f"{scheme}://{host}:{self.port}{self.path}"


def parse_url(text: object, *, field: str) -> Address:
    """Parse http(s)://host[:port][/path]. Raises InputError for anything else and for plain http to
    another machine, without quoting a possible password."""

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
        raise refused("it is not a URL, or contains a character that a URL cannot have")
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise refused("its host or port is malformed") from None
    if parts.scheme not in ("http", "https") or not host:
        raise refused("it does not start with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise refused("it contains a name or password; set the key in the environment")
    if "?" in text or "#" in text:
        raise refused("it has a query or a fragment; give the base URL alone")
    secure = parts.scheme == "https"
    if not secure and not is_loopback(host):
        raise refused("plain http would send keys and memories unencrypted to another machine")
    return Address(
        secure, host, port or (443 if secure else 80), parts.path.rstrip("/"), text.rstrip("/")
    )
