"""Feature files of the openCypher TCK: scenarios with their steps, outlines expanded, backgrounds
prepended. Only what the TCK uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_KEYWORDS = ("Given ", "When ", "Then ", "And ", "But ")


@dataclass
class Step:
    text: str
    document: str | None = None
    table: list[list[str]] = field(default_factory=list)


@dataclass
class Scenario:
    feature: str
    name: str
    steps: list[Step]
    tags: tuple[str, ...] = ()


def scenarios(path: Path) -> list[Scenario]:
    """All scenarios of one file; an outline gives one for each row of its examples."""
    parser = _Parser(path.read_text(encoding="utf-8").splitlines(), path.stem)
    return parser.run()


class _Parser:
    def __init__(self, lines: list[str], feature: str) -> None:
        self.lines = lines
        self.feature = feature
        self.at = 0
        self.found: list[Scenario] = []
        self.background: list[Step] = []

    def run(self) -> list[Scenario]:
        tags: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            self.at += 1
            if line.startswith("@"):
                tags += line.split()
            elif line.startswith("Background:"):
                self.background = self._steps()
            elif line.startswith(("Scenario Outline:", "Scenario:")):
                self._scenario(line, tuple(tags))
                tags = []
        return self.found

    def _scenario(self, line: str, tags: tuple[str, ...]) -> None:
        name = line.partition(":")[2].strip()
        steps = self._steps()
        if not line.startswith("Scenario Outline:"):
            self.found.append(Scenario(self.feature, name, [*self.background, *steps], tags))
            return
        number = 0
        while self._next().startswith(("Examples:", "@")):
            self.at += 1
            if self._next().startswith("@") or not self._next().startswith("|"):
                continue
            header, *rows = self._table()
            for row in rows:
                number += 1
                values = dict(zip(header, row, strict=True))
                self.found.append(
                    Scenario(
                        self.feature,
                        f"{name} ({number})",
                        [*self.background, *[_filled(step, values) for step in steps]],
                        tags,
                    )
                )

    def _next(self) -> str:
        """The next line that says something, without taking it."""
        while self.at < len(self.lines) and (
            not self.lines[self.at].strip() or self.lines[self.at].strip().startswith("#")
        ):
            self.at += 1
        return self.lines[self.at].strip() if self.at < len(self.lines) else ""

    def _steps(self) -> list[Step]:
        steps: list[Step] = []
        while True:
            line = self._next()
            if line.startswith(_KEYWORDS):
                self.at += 1
                steps.append(Step(line.partition(" ")[2].strip()))
            elif line.startswith('"""'):
                steps[-1].document = self._document()
            elif line.startswith("|"):
                steps[-1].table = self._table()
            else:
                return steps

    def _document(self) -> str:
        indent = len(self.lines[self.at]) - len(self.lines[self.at].lstrip())
        self.at += 1
        body: list[str] = []
        while not self.lines[self.at].strip().startswith('"""'):
            line = self.lines[self.at]
            body.append(line[indent:] if not line[:indent].strip() else line.lstrip())
            self.at += 1
        self.at += 1
        return "\n".join(body)

    def _table(self) -> list[list[str]]:
        rows: list[list[str]] = []
        while self._next().startswith("|"):
            rows.append(_cells(self.lines[self.at].strip()))
            self.at += 1
        return rows


def _cells(line: str) -> list[str]:
    """Cells between bars; \\| is a bar, \\\\ a backslash, \\n a line end."""
    cells: list[str] = []
    cell = ""
    index = 1
    while index < len(line):
        char = line[index]
        if char == "\\" and index + 1 < len(line) and line[index + 1] in "|\\n":
            cell += {"|": "|", "\\": "\\", "n": "\n"}[line[index + 1]]
            index += 2
            continue
        if char == "|":
            cells.append(cell.strip())
            cell = ""
        else:
            cell += char
        index += 1
    return cells


def _filled(step: Step, values: dict[str, str]) -> Step:
    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"<{name}>", value)
        return text

    document = None if step.document is None else fill(step.document)
    return Step(fill(step.text), document, [[fill(cell) for cell in row] for row in step.table])
