"""Pictures as SVG: well-formed, text alone, and never over a file; progress on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.app.care.copies import file_bytes, make_backup, restore_from_log
from doxa.cli import app
from doxa.cli.context import log_entries
from doxa.cli.pictures.svg import Arrow, Card, cards_svg
from tests.fixtures_shared import StepCounts, opened

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "]]><svg onload='x'>",
    '"><image href="http://x/"/>',
    "&lt;b&gt; &amp; &#x3c;",
    "\x00\x01\x1b[31m",
    "\u202egnitirw\u2066",
    "\ud800 half",
    "a" * 10_000,
    "</text></svg>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]>",
)
ALLOWED = {
    "svg",
    "title",
    "style",
    "rect",
    "g",
    "text",
    "path",
    "defs",
    "marker",
    "polyline",
    "line",
}


def parsed(text: str) -> Xml.Element:
    """The picture, if it has no more than pictures of doxa have."""
    root = Xml.fromstring(text)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        assert not any(name.startswith("on") or "href" in name for name in element.attrib)
    return root


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_memory_says_is_never_markup(text: str) -> None:
    cards = [Card("a", text, text, 0, "self"), Card("b", "plain", "", 1)]
    root = parsed(cards_svg(text, cards, [Arrow("a", "b", text), Arrow("b", "absent", "x")]))
    assert len(root.findall(f"{SVG}g")) == 2
    shown = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert all(len(one) <= 40 for one in shown)
    if text.startswith("<"):
        assert any(one.startswith(text[:8]) for one in shown)


def test_boxes_do_not_overlap_and_lie_in_the_picture() -> None:
    cards = [Card(str(at), str(at), "", at % 4 - 1) for at in range(37)]
    root = parsed(cards_svg("x", cards, []))
    boxes = [
        tuple(float(one.attrib[name]) for name in ("x", "y", "width", "height"))
        for one in root.findall(f"{SVG}g/{SVG}rect")
    ]
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert len(set(boxes)) == len(cards)
    for at, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
        for x2, y2, w2, h2 in boxes[:at]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_the_commands_write_new_files(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    with opened(db, decay_enabled=True) as memory:
        tea = memory.remember("Ana likes tea & <b>cake</b>.", name="tea", kind="fact").kref
        shop = memory.remember("The shop sells tea.", name="shop", kind="fact").kref
        memory.link(tea, shop, kind="DEPENDS_ON")
    for name, arguments in (
        ("explain", ["explain", tea]),
        ("graph", ["graph", tea, "--depth", "1"]),
    ):
        target = tmp_path / f"{name}.svg"
        given = [*arguments, "--svg", str(target), "--db", str(db)]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, done.output
        told = "".join(parsed(target.read_text()).itertext())
        assert "Ana likes tea & <b>cake</b>." in told and "The shop sells tea." in told
        before = target.read_bytes()
        assert CliRunner().invoke(app, given).exit_code == 2
        assert target.read_bytes() == before
    told = CliRunner().invoke(app, ["graph", tea, "--db", str(db)])
    assert "DEPENDS_ON" in told.stdout


def test_a_curve_is_drawn_with_its_threshold(tmp_path: Path) -> None:
    db, target = tmp_path / "m.db", tmp_path / "curve.svg"
    with opened(db, decay_enabled=True) as memory:
        rows = memory.run("SHOW DECAY PROFILES").records()
    name = next(str(row["name"]) for row in rows)
    done = CliRunner().invoke(app, ["policy", "curve", name, "--svg", str(target), "--db", str(db)])
    assert done.exit_code == 0, done.output
    same = [
        CliRunner().invoke(app, ["policy", said, name, "--db", str(db)]).stdout
        for said in ("plot", "curve")
    ]
    assert same[0] == same[1] != ""
    root = parsed(target.read_text())
    lines = root.findall(f"{SVG}polyline")
    count = sum(len(line.attrib["points"].split()) for line in lines)
    assert count == 61 + len(lines) - 1  # the parts meet
    assert root.find(f"{SVG}line").attrib["class"] == "threshold"  # type: ignore[union-attr]


def test_long_work_counts_what_it_does(tmp_path: Path) -> None:
    """Verifying, backups, restores, examining, exports, looking for what was erased: each ends at
    the total that its bar has."""
    begin = StepCounts()

    with opened(tmp_path / "m.db") as memory:
        for at in range(300):
            memory.remember(f"Shelf {at} holds box {at}.")
        memory.store.connection().wal_checkpoint()
        total = 2 * log_entries(memory)
        assert total > 2_000
        memory.verify(progress=begin("verify", total))
        memory.backup(tmp_path / "b.db", progress=begin("backup", file_bytes(memory.store)))
        make_backup(memory.store, tmp_path / "backups", progress=begin)
        made: list[Callable[[int], None]] = []
        restore_from_log(
            memory.store.path,
            tmp_path / "new.db",
            expect=lambda total: made.append(begin("restore", total)),
            progress=lambda count: made[0](count),
        )
        memory._examined(models=False, stages=lambda what, total: begin(f"doctor {what}", total))
        memory._exported_to(
            tmp_path / "e.jsonl", lambda what, total: begin(f"export {what}", total)
        )
        memory._looked_for("a text", lambda what, total: begin(f"erased {what}", total))
    counted = begin.steps
    with (tmp_path / "e.jsonl").open() as file:
        assert len(file.readlines()) == counted["export lines"][1] + 1  # the last one ends it
    assert len(counted) == 12, counted
    for what, (total, done) in counted.items():
        assert total == done > 0, what


def test_a_verification_can_be_stopped(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stopping(at: int) -> Callable[[int], None]:
        calls: list[int] = []

        def stop(count: int) -> None:
            calls.append(count)
            if len(calls) == at:
                raise Stopped

        return stop

    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana likes tea.")
        for at in (1, 2):  # in the log, and in the replay
            with pytest.raises(Stopped):
                memory.verify(progress=stopping(at))
        assert memory.remember("Bob likes coffee.").stored
        memory.verify()


def test_progress_is_for_terminals(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from doxa.cli.context import progress, steps\n"
        "with progress('things', False, total=200) as advance:\n"
        "    for _ in range(20):\n"
        "        advance(10)\n"
        "        time.sleep(float(sys.argv[1]))\n"
        "with steps(False, 'a check'):\n"
        "    time.sleep(20 * float(sys.argv[1]))\n"
    )
    command = [sys.executable, "-c", program]
    quiet = subprocess.run([*command, "0.06"], capture_output=True)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
    assert b"things" not in on_a_terminal([*command, "0"])  # it is done within a second
    shown = on_a_terminal([*command, "0.06"])
    for text in (b"things", b"200/200", b"/s", b"left", b"a check"):
        assert text in shown


def on_a_terminal(command: list[str]) -> bytes:
    """What a program writes to a terminal as its standard error."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        command, stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    ) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return shown
