"""Check the headers of a request before its body is read: origin, host, content types and length.

Any web page in a browser can send requests to this machine. Three checks reject them: a page of
another origin is identified by Origin; a domain that is pointed at this machine (DNS rebinding) is
not one of the server's names in Host; and a request without a CORS preflight cannot be JSON
(Content-Type). The server sends no CORS headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from doxa.base.hosts import is_loopback
from doxa.base.limits import HTTP_BODY_BYTES_MAX
from doxa.servers import codes
from doxa.servers.http.errors import HttpError
from doxa.servers.unit_of_work import DEFAULT_ALIAS

JSON = "application/json"
TYPED = (
    "application/vnd.neo4j.query",
    "application/vnd.neo4j.query.v1.0",
    "application/vnd.neo4j.query.v1.1",
)
_ANY = ("", "*/*", "application/*", JSON)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(?::[0-9]{1,5})?")


class OriginCheck:
    """The host and origin rules of one address. A loopback address accepts only loopback names."""

    def __init__(self, host: str) -> None:
        own = f"[{host}]" if ":" in host else host
        self._names = (
            frozenset(("localhost", "127.0.0.1", "[::1]", own.lower()))
            if is_loopback(host)
            else None
        )

    def check(self, headers: Mapping[str, str], scheme: str) -> None:
        """Raise HttpError for a request to another host name or from another origin."""
        host = headers.get("host", "").lower()
        found = _HOST.fullmatch(host)
        if self._names is not None and (found is None or found.group(1) not in self._names):
            raise HttpError(
                f"The request is for the host {host[:80]!r}, which is not this server.",
                http=421,
                next_step=f"Use one of the names {', '.join(sorted(self._names))}.",
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{scheme}://{host}":
            raise HttpError(
                f"The request comes from a page of another origin, {origin[:80]!r}.",
                http=403,
                next_step="Call the server from a program, or from a page that it serves itself.",
                status=codes.FORBIDDEN,
            )


def content_type(headers: Mapping[str, str]) -> bool:
    """Return whether the content type is typed JSON. Raises HttpError if it is not JSON."""
    kind, charset = _media(headers.get("content-type", ""))
    if (kind != JSON and kind not in TYPED) or charset not in ("", "utf-8", "utf8"):
        raise HttpError(
            f"The content type {headers.get('content-type', '')[:80]!r} is not supported.",
            http=415,
            next_step=f"Send Content-Type: {JSON}, in UTF-8.",
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise HttpError(
            "The body is compressed.",
            http=415,
            next_step="Send it uncompressed, without Content-Encoding.",
        )
    return kind in TYPED


def accepted(headers: Mapping[str, str]) -> str:
    """Return the content type of the response: the first supported one that the client accepts.
    Raises HttpError if there is none."""
    for part in headers.get("accept", "").split(","):
        kind, _ = _media(part)
        if kind in _ANY:
            return JSON
        if kind in TYPED:
            return kind
    raise HttpError(
        "None of the accepted content types is supported.",
        http=406,
        next_step=f"Send Accept: {JSON}, or {TYPED[0]}.",
    )


def check_length(headers: Mapping[str, str]) -> None:
    """Raise HttpError if the declared length of the body exceeds the limit."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 15 or int(length) > HTTP_BODY_BYTES_MAX:
        raise too_long()


def too_long() -> HttpError:
    """Build the error for a body that exceeds the limit."""
    return HttpError(
        f"The body is longer than {HTTP_BODY_BYTES_MAX:,} bytes.",
        http=413,
        next_step="Send the parameters in several requests, or use Bolt.",
    )


def _media(text: str) -> tuple[str, str]:
    """Return a media type and its charset in lower case."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    charset = next(
        (
            part.removeprefix("charset=").strip('"')
            for part in parameters
            if part.startswith("charset=")
        ),
        "",
    )
    return kind, charset


def chosen_database(path_name: str, given: Sequence[str]) -> str:
    """Return the database that a request is for: `?database=` names it where the path leaves the
    choice with `neo4j`, and otherwise the same. Raises HttpError where they differ, so that no
    statement runs on another database than its sender thinks."""
    if not given:
        return path_name
    name = given[0] if len(given) == 1 else ""
    if name and path_name.lower() in (DEFAULT_ALIAS, name.lower()):
        return name
    raise HttpError(
        f"The path names the database {path_name[:80]!r}, and ?database= names"
        f" {', '.join(map(repr, given))[:200]}.",
        http=400,
        next_step=f"Leave one of them out, or use the path /db/{DEFAULT_ALIAS}/.",
        status=codes.REQUEST_INVALID,
    )
