"""The files of the page without a browser: how they are served and confined, where they come from,
and that they use nothing but the public API."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from doxa.app.verbs import ALL
from doxa.app.verbs.resources import PREFIX, resources
from doxa.servers.http.page.files import HEADERS, page_files
from tests.page.page_fixtures import ServedPage, served_page

STATIC = Path(__file__).parents[2] / "src/doxa/servers/http/page/static"
VENDOR = STATIC / "vendor"
OWN = sorted(path for path in STATIC.rglob("*.js") if VENDOR not in path.parents)
BYTES_MAX, LINES_MAX = 1_500_000, 400
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySet", "document.write")
SENDS = re.compile(r"\b(?:fetch|EventSource|XMLHttpRequest|WebSocket|sendBeacon)\b\(?([^,)]*)")
every_script = pytest.mark.parametrize("script", OWN, ids=lambda path: path.name)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedPage]:
    with served_page(tmp_path / "memory.db") as found:
        yield found


class Found(NamedTuple):
    status: int
    headers: dict[str, str]
    data: bytes


def asked(served: ServedPage, path: str, **headers: str) -> Found:
    line = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        line.request("GET", path, headers=sent)
        reply = line.getresponse()
        named = {name.title(): value for name, value in reply.getheaders()}
        return Found(reply.status, named, reply.read())
    finally:
        line.close()


def test_the_files_are_served_confined_and_without_a_login(served: ServedPage) -> None:
    for name, file in page_files().items():
        reply = asked(served, f"/ui/{name}")
        assert reply.status == 200 and reply.data == file.data
        assert reply.headers["Content-Type"] == file.media
        for header, value in HEADERS.items():
            assert reply.headers[header] == value
        tag = reply.headers["Etag"]
        assert asked(served, f"/ui/{name}", If_None_Match=tag).status == 304
    assert asked(served, "/ui/").data == page_files()["index.html"].data
    assert asked(served, "/ui").headers["Location"] == "/ui/"
    for path in ("/ui/none.js", "/ui/../pyproject.toml", "/ui/..%2f__init__.py", "/ui/files.py"):
        assert asked(served, path).status == 404


def test_the_policy_allows_no_inline_script_and_no_other_origin() -> None:
    rules = dict(
        (rule.strip().partition(" ")[0], rule.strip().partition(" ")[2])
        for rule in HEADERS["Content-Security-Policy"].split(";")
    )
    assert rules["default-src"] == "'none'" and rules["script-src"] == "'self'"
    assert rules["connect-src"] == rules["style-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_the_start_of_the_server_leads_a_browser_to_the_page(served: ServedPage) -> None:
    reply = asked(served, "/", Accept="text/html,application/xhtml+xml")
    assert reply.status == 303 and reply.headers["Location"] == "/ui/"
    assert asked(served, "/", Accept="application/json").status == 401
    opened = asked(served, served.link().removeprefix(served.server.uri))
    assert opened.status == 303 and opened.headers["Location"] == "/ui/"


def test_the_libraries_are_what_was_published() -> None:
    manifest = json.loads((VENDOR / "manifest.json").read_text())
    known = {"manifest.json"}
    for entry in manifest["files"]:
        data = (VENDOR / entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["file"]
        text = data.decode()
        for published, here in manifest["imports"].items():
            text = text.replace(here, published)
        assert hashlib.sha256(text.encode()).hexdigest() == entry["published_sha256"]
        licence = (VENDOR / entry["licence_file"]).read_text()
        assert ("Apache License" if entry["licence"] == "Apache-2.0" else "MIT") in licence
        known |= {entry["file"], entry["licence_file"]}
    assert {path.name for path in VENDOR.iterdir()} == known


@every_script
def test_a_script_is_short_and_makes_no_markup(script: Path) -> None:
    text = script.read_text()
    assert text.count("\n") <= LINES_MAX
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "dangerouslySet",
        "document.write",
    ):
        assert word not in text, word
    assert not re.search(r"\beval\(|new Function|javascript:", text)


@every_script
def test_a_script_talks_to_the_public_api_alone(script: Path) -> None:
    """One file has the client, and its addresses begin with the prefix of the API."""
    text = script.read_text()
    calls = re.findall(
        r"\b(?:fetch|EventSource|XMLHttpRequest|WebSocket|sendBeacon)\b\(?([^,)]*)", text
    )
    if script.name == "worker.js":  # passes on what the page itself asks for, below /ui/
        assert "/v1" not in text and "fetch(event.request)" in text and len(calls) == 2
        return
    if script.name != "api.js":
        assert calls == [], script.name
        return
    assert f'PREFIX = "{PREFIX}/"' in text
    assert "? `/db/${encodeURIComponent(database.value)}${PREFIX}` : PREFIX;" in text
    assert calls and all(call.startswith(("base(", "`${base(")) for call in calls), calls


def test_every_verb_that_the_page_calls_is_a_resource() -> None:
    served = {one.path.removeprefix(f"{PREFIX}/"): one for one in resources(ALL)}
    called = set()
    for script in OWN:
        text = script.read_text()
        called |= set(re.findall(r'\b(?:read|write|post|longWork)\("([a-z-]+)"', text))
        called |= set(re.findall(r'\bverb="([a-z-]+)"', text))
    assert called <= served.keys(), called - served.keys()
    assert {"recall", "explain", "history", "revise", "undo", "resolve", "read", "run"} <= called
    block = re.search(r"const KEYED = new Set\((.*?)\);", (STATIC / "api.js").read_text(), re.S)
    assert block is not None
    keyed = set(re.findall(r"[a-z]+", " ".join(re.findall(r'"([^"]*)"', block.group(1)))))
    for name in keyed:
        assert served[name].key, name
    writes = {name for name in called if served[name].verb.writes}
    assert {name for name in writes if served[name].key} <= keyed


def test_everything_together_is_light() -> None:
    assert sum(len(file.data) for file in page_files().values()) < BYTES_MAX / 3
    for script in OWN:  # every import names a file that is there
        for name in re.findall(r'from "(\.[^"]+)"', script.read_text()):
            assert (script.parent / name).is_file(), (script.name, name)


def test_the_pictures_of_the_guide_are_there_and_light() -> None:
    guides = Path(__file__).parents[2] / "docs/guides"
    named = re.findall(
        r"!\[[^\]]+\]\((pictures/page-[a-z]+\.webp)\)", (guides / "page.md").read_text()
    )
    there = sorted(str(path.relative_to(guides)) for path in guides.glob("pictures/page-*"))
    assert sorted(named) == there and len(there) >= 5
    assert sum((guides / name).stat().st_size for name in there) < 400_000
    for name in there:
        data = (guides / name).read_bytes()
        assert data[:4] == b"RIFF" and data[8:12] == b"WEBP", name
