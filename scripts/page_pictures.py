"""Write the pictures of docs/guides/page.md: the page in Chromium, on the demonstration.

sh scripts/page_suite.sh
PYTHONPATH=src:. python scripts/page_pictures.py
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

from doxa.demo import fill
from tests.page.page_fixtures import (
    DATABASE,
    OPTIONS,
    Reader,
    chromium,
    missing,
    playwright,
    served_page,
)

FOLDER = Path(__file__).parents[1] / "docs/guides/pictures"
SIZE = {"width": 1000, "height": 620}
_BACK = """async () => { const state = await import('/ui/state.js');
(await import('/ui/time.js')).timeOpen.value = true;
state.systemTime.value = new Date(Date.now() - 25 * 864e5).toISOString(); }"""
_WEBP = """async (data) => { const image = new Image(); image.src = 'data:image/png;base64,' + data;
await image.decode(); const canvas = document.createElement('canvas');
canvas.width = image.width; canvas.height = image.height;
canvas.getContext('2d').drawImage(image, 0, 0);
return canvas.toDataURL('image/webp', 0.82).split(',')[1]; }"""
# Name, view, and a script to run in it
PICTURES = (
    ("ask", "ask?q=which+database+does+Spoke+store+its+data+in", ""),
    ("belief", f"belief?kref={DATABASE}", ""),
    ("inbox", "inbox", ""),
    ("fading", "fading", ""),
    ("overview", "browse?show=overview", ""),
    ("time", f"belief?kref={DATABASE}", _BACK),
)


def main() -> int:
    reason = missing()
    if reason:
        print(reason, file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.db"
        fill(path, **{name: value for name, value in OPTIONS.items() if name != "background"})
        with playwright() as found, served_page(path) as served:
            browser = found.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            reader = Reader(browser, served, viewport=SIZE, color_scheme="light")
            for name, view, script in PICTURES:
                _take(reader, name, view, script)
            reader.close()
            browser.close()
    return 0


def _take(reader: Reader, name: str, view: str, script: str) -> None:
    page: Any = reader.go(view)
    if script:
        page.evaluate(script)
        reader.see("You look at the past", ".timebar")
    page.wait_for_timeout(700)
    reader.settle()
    path = FOLDER / f"page-{name}.webp"
    blank = reader.context.new_page()  # the policy of the page allows no pictures of data
    path.write_bytes(
        base64.b64decode(blank.evaluate(_WEBP, base64.b64encode(page.screenshot()).decode()))
    )
    blank.close()
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
