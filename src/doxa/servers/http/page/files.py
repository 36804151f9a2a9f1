"""The files of the page, read once from the package, with the headers that confine them.

    GET /ui/                 index.html
    GET /ui/{file}           a file of the page; any other path is not found
    GET /ui/worker.js        the service worker, with the version of the files in its first line

They need no login: they are the same for everybody and hold nothing of the memory. Nothing inline
runs, nothing comes from another origin, no page frames them, and no text becomes markup (Trusted
Types). A browser asks each time whether a file has changed, so that a new version is seen at once.

Sources: W3C "Content Security Policy Level 3", W3C "Trusted Types".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

HOME = "/ui/"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect", "manifest")),
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types doxa",
    )
)
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_WORKER = "worker.js"


class StaticFile(NamedTuple):
    data: bytes
    media: str
    tag: str


class StaticFiles:
    """Answers requests for the files of the page."""

    async def answer(self, request: Request) -> Response:
        name = request.path_params.get("path") or "index.html"
        found = page_files().get(name)
        if found is None:
            return Response("There is no such file.", status_code=404, headers=dict(HEADERS))
        headers = {**HEADERS, "ETag": found.tag}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.media, headers=headers)

    async def redirect(self, request: Request) -> Response:
        """Lead to the page from its address without the slash."""
        return Response(status_code=308, headers={**HEADERS, "Location": HOME})


@cache
def page_files() -> Mapping[str, StaticFile]:
    """Return the files by path. The worker gets the list of the others, and a version that changes
    with any of them."""
    found = dict(_read(files("doxa.servers.http.page") / "static", ""))
    worker = found.pop(_WORKER)
    shell = sorted(name for name in found if not name.endswith((".txt", "manifest.json")))
    whole = hashlib.sha256(b"".join(found[name].tag.encode() for name in shell)).hexdigest()[:16]
    first = f"const VERSION = '{whole}';\nconst FILES = {shell!r};\n"
    found[_WORKER] = _file(_WORKER, first.encode() + worker.data)
    return found


def _read(folder: Traversable, before: str) -> list[tuple[str, StaticFile]]:
    found: list[tuple[str, StaticFile]] = []
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            found += _read(one, f"{before}{one.name}/")
        elif one.name.rpartition(".")[2] in _TYPES:
            found.append((before + one.name, _file(one.name, one.read_bytes())))
    return found


def _file(name: str, data: bytes) -> StaticFile:
    media = _TYPES[name.rpartition(".")[2]]
    return StaticFile(data, media, f'"{hashlib.sha256(data).hexdigest()[:16]}"')
