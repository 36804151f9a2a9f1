"""The examples of the tutorial and of the guides, run in order in an empty folder: an example that
no longer runs is a broken promise.

A `console` block holds `$` commands and what they print. Each printed line must occur in the real
output, in the same order; `…` in it stands for any text, and lines in between may be left out. A
`python` block is run as it stands, after all before it. A `cypher` block holds statements that end
with a semicolon, and comments that say what is around them:

    // 7 days later                                     time goes by
    // in session s1, by agent kai                      the context of the next statement
    // with $x 1, 2, one after the other                the next statement is run with each of these
    // gives 'a', 1.0                                   a row of the statement before; nothing: it
    has none
    // refused: …                                       the statement before fails, and says this

The embedding model is switched off, so that the examples hold on a machine without it and take
seconds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import open_memory
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.cli.values import cypher_text
from doxa.cypher.script import statements

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
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOXA_", "XDG_"))
    }
    return kept | {
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder),
        "DOXA_MODELS": str(folder / "models"),
        "LC_ALL": "C.UTF-8",
    }


def fits(wanted: str, printed: str) -> bool:
    pattern = ".*".join(
        re.escape(part.rstrip() if i == wanted.count("…") else part)
        for i, part in enumerate(wanted.split("…"))
    )
    return re.fullmatch(pattern, printed.rstrip()) is not None


@pytest.mark.parametrize(
    "page", ["tutorial.md", "guides/policies.md", "guides/revision.md", "guides/identity.md"]
)
def test_commands_print_what_the_page_shows(tmp_path: Path, page: str) -> None:
    todo = steps(DOCS / page)
    main = f'{sys.executable} -c "{WITHOUT_MODEL}from doxa.cli import main; main()"'
    script = [f'doxa() {{ {main} "$@"; }}']
    for number, (command, _) in enumerate(todo):
        script += [command, f'echo "{END}{number} $?"']
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    outputs = re.split(rf"^{END}\d+ (\d+)\n", done.stdout, flags=re.MULTILINE)
    assert len(outputs) == 2 * len(todo) + 1, done.stdout
    for (command, wanted), printed, code in zip(todo, outputs[::2], outputs[1::2], strict=False):
        assert code == "0", f"$ {command}\n{printed}"
        lines = iter(printed.splitlines())
        for line in wanted:
            assert any(fits(line, seen) for seen in lines), (
                f"$ {command}\ndid not print: {line}\nbut:\n{printed}"
            )


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("python.md", 6),
        ("revision.md", 6),
        ("memory-types.md", 3),
        ("pipelines.md", 2),
        ("retries.md", 1),
        ("identity.md", 1),
        ("governor.md", 4),
        ("standing.md", 4),
    ],
)
def test_the_python_of_a_guide_runs(tmp_path: Path, page: str, least: int) -> None:
    found = blocks(DOCS / "guides" / page, "python")
    assert len(found) >= least
    program = tmp_path / "guide.py"
    program.write_text("\n".join([WITHOUT_MODEL, *found]))
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# Cypher

_LATER = re.compile(r"// (\d+) (day|hour)s? later")
_ASKED = re.compile(r"// (?:in session (?P<session>\w+))?(?:, )?(?:by agent (?P<agent>\w+))?")
_GIVEN = re.compile(r"// with \$(\w+) (.+?)(?:, one after the other)?")


class Example:
    """A statement with what its page says around it."""

    def __init__(self) -> None:
        self.text = ""
        self.later_s = 0
        self.context: dict[str, Any] = {}
        self.params: list[dict[str, Any]] = [{}]
        self.rows: list[str] = []
        self.refused = ""

    def take(self, comment: str) -> None:
        """A comment before the statement."""
        if found := _LATER.fullmatch(comment):
            self.later_s += int(found[1]) * (86_400 if found[2] == "day" else 3_600)
        elif found := _GIVEN.fullmatch(comment):
            self.params = [{found[1]: float(number)} for number in found[2].split(", ")]
        else:
            found = _ASKED.fullmatch(comment)
            assert found, f"not understood: {comment}"
            self.context = {name: value for name, value in found.groupdict().items() if value}


def examples(page: Path) -> Iterator[Example]:
    """The statements of the `cypher` blocks in order. What is said after one is about it, what is
    said before, about the next."""
    made: list[Example] = []
    for block in blocks(page, "cypher"):
        one = Example()
        for line in block.splitlines():
            if not one.text and line.startswith("// gives "):
                made[-1].rows.append(line.removeprefix("// gives "))
            elif not one.text and line.startswith("// refused: "):
                made[-1].refused = line.removeprefix("// refused: ")
            elif not one.text and line.startswith("//"):
                one.take(line)
            elif one.text or line.strip():
                one.text += f"{line}\n"
                if line.endswith(";") and statements(one.text)[-1].ended:
                    made.append(one)
                    one = Example()
        assert not one.text, one.text
    yield from made


def rounded(value: Any) -> str:
    return cypher_text(round(value, 4) if isinstance(value, float) else value)


@pytest.mark.parametrize("page", ["guides/policies.md", "guides/revision.md"])
def test_statements_give_what_the_page_shows(tmp_path: Path, page: str) -> None:
    clock = FakeClock()
    with open_memory(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=clock
    ) as memory:
        for example in examples(DOCS / page):
            clock.advance(seconds=example.later_s)
            try:
                for params in example.params:
                    found = memory.session(role="operator", context=example.context).run(
                        example.text.rstrip().removesuffix(";"), params
                    )
                    rows = [", ".join(map(rounded, row)) for row in found]
                    memory.flush()
            except DoxaError as error:
                assert example.refused and example.refused in str(error), (example.text, str(error))
                continue
            assert not example.refused, example.text
            assert not example.rows or rows == [row for row in example.rows if row != "nothing"], (
                example.text
            )
        assert memory.check() == []
        memory.verify()


def test_an_expected_line_is_matched_strictly() -> None:
    assert fits("head …", "head 12ab")
    assert fits("… of …, fulltext", "1 of 2, fulltext")
    assert not fits("status: current", "status: superseded")
    assert not fits("r=1 … current", "r=2 x current")
