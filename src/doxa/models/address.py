"""Where an endpoint is, and the key that it gets: both are checked before anything is sent."""

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
