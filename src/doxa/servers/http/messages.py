"""Reading a request and sending a response, on the event loop."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doxa.base.limits import HTTP_BODY_BYTES_MAX, HTTP_BODY_MS
from doxa.servers.http.errors import HttpError
from doxa.servers.http.headers import JSON, too_long
from doxa.servers.http.responses import ResponseData, encode

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# Keys in the scope of a request: whether its body was read, and its share of the memory budget.
READ, SHARE = "doxa.read", "doxa.share"


class Chunked(Response):
    """A response sent in chunks, so that a slow client delays only one chunk at a time."""

    def __init__(self, answer: ResponseData) -> None:
        super().__init__(status_code=answer.status, media_type=answer.media, headers=HEADERS)
        self._chunks = answer.chunks
        self.headers["content-length"] = str(sum(map(len, answer.chunks)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def read_whole_body(request: Request) -> bytes:
    """Read the whole body. Raises HttpError if it is too long or too slow, or if the memory budget
    is exhausted."""
    data, share = bytearray(), request.scope[SHARE]
    try:
        async with asyncio.timeout(HTTP_BODY_MS / 1000):
            while True:
                message = await request.receive()
                if message["type"] != "http.request":
                    raise ClientDisconnect
                share.take(len(message.get("body", b"")))
                data += message.get("body", b"")
                if len(data) > HTTP_BODY_BYTES_MAX:
                    raise too_long()
                if not message.get("more_body", False):
                    request.scope[READ] = True
                    return bytes(data)
    except TimeoutError:
        raise HttpError(
            f"The body did not arrive within {HTTP_BODY_MS / 1000:.0f} seconds.",
            http=408,
            next_step="Send it faster, or less at a time.",
        ) from None


async def until_gone(request: Request) -> None:
    """Wait until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def json_response(status: int, found: object, **headers: str) -> Response:
    return Response(encode(found), status_code=status, media_type=JSON, headers=HEADERS | headers)
