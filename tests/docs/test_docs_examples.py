"""The examples of the tutorial and of the Python guide, run in order in an empty folder: an example that no longer runs is a broken promise.

A `console` block holds `$` commands and what they print. Each printed line must occur in the real output, in the same order; `…` in it stands
for any text, and lines in between may be left out. A `python` block is run as it stands, after all before it. The embedding model is switched
off, so that the examples hold on a machine without it and take seconds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WITHOUT_MODEL = "import sys; sys.modules['onnxruntime'] = None; "
END = "-- end of command "
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in _BLOCK.findall(page.read_text()) if found == language]


def steps(page: Path) -> list[tuple[str, list[str]]]:
    """Each command with the lines that the page says it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                assert found, f"{page.name}: output before any command"
                found[-1][1].append(line)
    return found


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOXA_", "XDG_"))}
    return kept | {"PYTHONPATH": str(ROOT / "src"), "HOME": str(folder), "DOXA_MODELS": str(folder / "models"), "LC_ALL": "C.UTF-8"}


def fits(wanted: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part.rstrip() if i == wanted.count("…") else part) for i, part in enumerate(wanted.split("…")))
    return re.fullmatch(pattern, printed.rstrip()) is not None


def test_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    todo = steps(DOCS / "tutorial.md")
    main = f'{sys.executable} -c "{WITHOUT_MODEL}from doxa.cli import main; main()"'
    script = [f'doxa() {{ {main} "$@"; }}']
    for number, (command, _) in enumerate(todo):
        script += [command, f'echo "{END}{number} $?"']
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    outputs = re.split(rf"^{END}\d+ (\d+)\n", done.stdout, flags=re.MULTILINE)
    assert len(outputs) == 2 * len(todo) + 1, done.stdout
    for (command, wanted), printed, code in zip(todo, outputs[::2], outputs[1::2], strict=False):
        assert code == "0", f"$ {command}\n{printed}"
        lines = iter(printed.splitlines())
        for line in wanted:
            assert any(fits(line, seen) for seen in lines), f"$ {command}\ndid not print: {line}\nbut:\n{printed}"


def test_the_python_guide_runs(tmp_path: Path) -> None:
    found = blocks(DOCS / "guides" / "python.md", "python")
    assert len(found) > 5
    program = tmp_path / "guide.py"
    program.write_text("\n".join([WITHOUT_MODEL, *found]))
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_expected_line_is_matched_strictly() -> None:
    assert fits("head …", "head 12ab")
    assert fits("… of …, fulltext", "1 of 2, fulltext")
    assert not fits("status: current", "status: superseded")
    assert not fits("r=1 … current", "r=2 x current")
