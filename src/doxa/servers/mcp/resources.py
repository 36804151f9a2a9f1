"""Everything with an address as a resource.

    kref://shop/db/choice.decision?r=2     an address of doxa
    doxa://kref/shop/db/choice.decision?r=2    the same as the URI of a resource

Listed is what is directly in the server's project, in pages; a space or thread is read as a listing
with the URIs of what is in it, and `?after=` continues it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec
from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from doxa.app import Session
from doxa.base.errors import DoxaError, InputError, NotFoundError
from doxa.base.limits import MCP_PAGE_ITEMS_MAX
from doxa.belief import Listing
from doxa.servers.mcp.schemas import encoded
from doxa.servers.mcp.server import Context, SessionOf

PREFIX, _KREF = "doxa://kref/", "kref://"
_SAFE = "/=&"
_JSON = "application/json"


def uri_of(kref: str) -> str:
    """Return the URI of the resource at an address."""
    path, mark, pin = kref.removeprefix(_KREF).partition("?")
    return PREFIX + quote(path, safe=_SAFE) + (mark + quote(pin, safe=_SAFE) if mark else "")


def kref_of(uri: str) -> tuple[str, str] | None:
    """Return the address that a URI stands for, and where a listing goes on; None if it is not
    the URI of an address."""
    if not uri.startswith(PREFIX):
        return None
    parts = urlsplit(uri)
    path = unquote(parts.path.removeprefix("/"))
    given = parse_qs(parts.query, keep_blank_values=True)
    after = given.pop("after", [""])[0]
    pin = "&".join(f"{name}={values[0]}" for name, values in given.items())
    return _KREF + path + (f"?{pin}" if pin else ""), after


class KrefResources:
    """The resources of the caller's session."""

    templates: Sequence[ResourceTemplate] = (
        ResourceTemplate(
            uri_template="doxa://kref/{project}{/path*}{?r,t,at,a}",
            name="kref",
            title="What is at an address",
            description="kref://project/space/name.kind as a resource: a belief, a revision (r), a"
            " tag (t), a time (at), an artifact (a), a turn, or a conflict.",
            mime_type=_JSON,
        ),
        ResourceTemplate(
            uri_template="doxa://kref/{project}{/path*}{?after}",
            name="contents",
            title="What is in a project, space or thread",
            description="A page of what is directly in it; `next` is the URI of the next page.",
            mime_type=_JSON,
        ),
    )

    def __init__(self, sessions: SessionOf) -> None:
        self._sessions = sessions

    async def page(self, context: Context, cursor: str) -> tuple[Sequence[Resource], str]:
        found = await asyncio.to_thread(_page, self._sessions(context), cursor)
        if found is None:
            return (), ""
        return [_listed(one) for one in found.entries], found.next

    async def read(self, context: Context, uri: str) -> ReadResourceResult | None:
        target = kref_of(uri)
        if target is None:
            return None
        session = self._sessions(context)
        data = await asyncio.to_thread(_read, session, *target)
        if data is None:
            return None
        text = msgspec.json.encode(data).decode()
        return ReadResourceResult(
            contents=[TextResourceContents(uri=uri, mime_type=_JSON, text=text)]
        )


def _page(session: Session, after: str) -> Listing | None:
    try:
        return session.contents(f"{_KREF}{session.project}", limit=MCP_PAGE_ITEMS_MAX, after=after)
    except NotFoundError:  # the project begins with the first thing that is stated
        return None


def _read(session: Session, kref: str, after: str) -> dict[str, Any] | None:
    try:
        if after:
            return _contents(session.contents(kref, limit=MCP_PAGE_ITEMS_MAX, after=after))
        found: Any = session.get(kref)
    except (NotFoundError, InputError):
        return None
    except DoxaError as error:
        return {"error": encoded(error.as_dict())}
    listing = getattr(found, "contents", None)
    if isinstance(listing, Listing):
        return {"kref": str(found.kref), "type": found.type, **_contents(listing)}
    data: dict[str, Any] = encoded(found)
    return data


def _contents(listing: Listing) -> dict[str, Any]:
    after = f"{uri_of(listing.kref)}?after={quote(listing.next)}" if listing.next else ""
    return {
        "count": listing.count,
        "entries": [encoded(one) | {"uri": uri_of(one.kref)} for one in listing.entries],
        **({"next": after} if after else {}),
    }


def _listed(entry: Any) -> Resource:
    """An entry of a listing as a resource. Its text is not repeated: what others said belongs to
    contents, not to descriptions."""
    return Resource(
        uri=uri_of(entry.kref),
        name=entry.kref.removeprefix(_KREF)[:200],
        description=entry.type + (f", {entry.status}" if entry.status else ""),
        mime_type=_JSON,
    )
