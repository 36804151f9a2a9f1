"""A result of many lines: written to a temporary file on a thread, then sent. Its status says how
it ended, since all of it is there before the first byte is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doxa.servers.http.thread_pool import ThreadPool

_IN_MEMORY_BYTES = 8_388_608
_CHUNK_BYTES = 262_144


class LinesResponse(Response):
    """The response. `fill` it before it is sent."""

    def __init__(self, threads: ThreadPool, media: str, headers: Mapping[str, str]) -> None:
        super().__init__(media_type=media, headers=dict(headers))
        self._threads = threads
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - closed when it was sent
            max_size=_IN_MEMORY_BYTES
        )

    async def fill(self, write: Callable[[Callable[[bytes], object]], None]) -> None:
        """Let `write` put the lines, on a thread. Raises what it raises."""
        try:
            await self._threads.run(lambda: write(self._file.write))
        except BaseException:
            self._file.close()
            raise
        self.headers["content-length"] = str(self._file.tell())
        self._file.seek(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            while chunk := await self._threads.run(lambda: self._file.read(_CHUNK_BYTES)):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._file.close()
