"""The cases of `python -m bench precision`; their format is described at the top of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[1] / "tests" / "cases" / "precision.txt"
PROJECT = "main"
KINDS = (
    "scope",
    "alias",
    "superseded",
    "drift",
    "unanswerable",
    "near-miss",
    "attribute",
    "subject",
)
_EVERYTHING_ELSE = "*"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a memory, in its project: a turn where somebody says it, otherwise a belief;
    `former` are the texts that it replaced."""

    text: str
    project: str = PROJECT
    speaker: str = ""
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a memory, with the places of the lines that must come back and of those that
    must not; `retired` are the replaced texts that must not. An empty `project` asks all."""

    kind: str
    memory: str
    project: str
    question: str
    must: frozenset[int]
    must_not: frozenset[int]
    retired: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.memory}: {self.question}"


@dataclass(frozen=True, slots=True)
class Block:
    """One memory and the cases asked of it."""

    name: str
    lines: tuple[Line, ...]
    cases: tuple[Case, ...]


def load(path: Path = CASES) -> list[Block]:
    """The memories of a file, in order, each with its cases."""
    blocks = [
        [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
        for block in path.read_text().split("\n\n")
    ]
    return [_block(lines) for lines in blocks if lines]


def _block(lines: list[str]) -> Block:
    assert lines[0].startswith("= "), f"{lines[0]!r} is not the name of a memory"
    name = lines[0][2:]
    held: list[Line] = []
    asked: list[list[str]] = []
    for line in lines[1:]:
        if line.startswith("? "):
            asked.append([line[2:]])
        elif asked:
            asked[-1].append(line)
        elif line.startswith("> "):
            last = held[-1]
            held[-1] = Line(line[2:], last.project, last.speaker, (*last.former, last.text))
        else:
            held.append(_line(line))
    return Block(name, tuple(held), tuple(_case(name, held, lines) for lines in asked))


def _line(line: str) -> Line:
    if line.startswith("["):
        speaker, _, text = line[1:].partition("] ")
    else:
        assert line.startswith("- "), f"{line!r} is neither a belief nor a turn"
        speaker, text = "", line[2:]
    return Line(*_placed(text), speaker)


def _placed(text: str) -> tuple[str, str]:
    """A text and the project that it names."""
    if not text.startswith("@"):
        return text, PROJECT
    project, _, rest = text[1:].partition(" ")
    return rest, "" if project == "*" else project


def _case(memory: str, held: list[Line], lines: list[str]) -> Case:
    kind, _, rest = lines[0].partition(": ")
    question, project = _placed(rest)
    assert kind in KINDS, f"{kind!r} is not a kind of case"
    must: set[int] = set()
    must_not: set[int] = set()
    retired: set[str] = set()
    for line in lines[1:]:
        what, _, part = line.partition(": ")
        assert what in ("must", "must not"), f"{line!r} says neither what must nor what must not"
        found = {place for place, one in enumerate(held) if part in one.text}
        if what == "must":
            assert len(found) == 1, f"{memory}: {part!r} names {len(found)} lines"
            must |= found
        elif part == _EVERYTHING_ELSE:
            must_not |= set(range(len(held)))
            retired |= {text for one in held for text in one.former}
        else:
            old = {text for one in held for text in one.former if part in text}
            assert found or old, f"{memory}: {part!r} names no line"
            must_not |= found
            retired |= old
    assert must or must_not, f"{memory}: {question!r} demands nothing"
    return Case(
        kind,
        memory,
        project,
        question,
        frozenset(must),
        frozenset(must_not - must),
        frozenset(retired),
    )
