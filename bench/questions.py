"""Everyday wordings: does a question find what a careful reader would want first, however it is
worded? The cases are those of tests/cases/questions.txt:

    category: name
    user: I've been vegan since January.            a turn, with its speaker
    [apollo/standup] Ana: We took PostgreSQL.       a turn of a project and a thread
    Notre chien s'appelle Bruno.                    a belief, in `fr question` and the like
    > Any ideas for dinner?                         a question of all projects
    > [apollo] When is the release?                 or of one
    ----
    I've been vegan since January.                  what is wanted; any of several

All cases of a category are held in one memory, so each distracts the others; the categories
`de question`, `fr question` and so on share one. `hit_at_1` and `hit_at_10` are the share of
questions with a wanted text among the first hits, by all lanes and by meaning and words alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import doxa
from bench.metrics import mean
from bench.report import Report, begin, percent
from bench.systems import LANES
from doxa.language.turns import Turn, TurnRole
from doxa.models import Embedder

CASES = Path(__file__).parents[1] / "tests" / "cases" / "questions.txt"
UNSEEN = CASES.with_name("questions_unseen.txt")  # written by others when the rules were done
RULE = "----"
_FOREIGN = re.compile(r"\w\w question")
_SAID = re.compile(r"(?:\[([^\]/]+)(?:/([^\]]+))?\] )?([^:.?!]{1,30}): (.+)")
_FIRST_NS = 1_767_225_600 * 10**9  # 2026-01-01
_HOUR_NS = 3_600 * 10**9
_LIMIT = 10
_ROLES: dict[str, TurnRole] = {"user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Line:
    """One text that is held. Without a speaker it is a belief."""

    text: str
    speaker: str = ""
    project: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class QuestionCase:
    """One case: what is held, the question, in which project it is asked (empty: all), and the
    texts that are wanted."""

    category: str
    name: str
    held: tuple[Line, ...]
    question: str
    project: str
    wanted: frozenset[str]

    @property
    def pool(self) -> str:
        """The name of the memory that holds the case."""
        return "languages" if _FOREIGN.fullmatch(self.category) else self.category


def load(path: Path = CASES) -> list[QuestionCase]:
    """The cases of a file, in order."""
    blocks = [
        [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
        for block in path.read_text().split("\n\n")
    ]
    return [_case(lines) for lines in blocks if lines]


def _case(lines: list[str]) -> QuestionCase:
    category, _, name = lines[0].partition(": ")
    rule = lines.index(RULE)
    foreign = _FOREIGN.fullmatch(category) is not None
    held = tuple(
        Line(line) if foreign else _line(line) for line in lines[1:rule] if line[:2] != "> "
    )
    (asked,) = [line[2:] for line in lines[1:rule] if line[:2] == "> "]
    project = ""
    if asked.startswith("["):
        project, _, asked = asked[1:].partition("] ")
    wanted = frozenset(lines[rule + 1 :])
    unknown = wanted - {line.text for line in held}
    assert held and wanted and not unknown, f"{category}: {name}: {unknown or 'nothing is held'}"
    return QuestionCase(category, name, held, asked, project, wanted)


def _line(text: str) -> Line:
    match = _SAID.fullmatch(text)
    assert match is not None
    return Line(match[4], match[3], match[1] or "", match[2] or "")


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("questions", seed=seed, embedder=embedder)
    systems = {name: lanes for name, lanes in LANES.items() if embedder or "meaning" not in name}
    for name, file in {"fitted": path, "unseen": UNSEEN}.items():
        asked = play(load(file), embedder, systems)
        rows = []
        for category in (*sorted({case.category for case, _ in asked}), "all"):
            own = [ranks for case, ranks in asked if category in (case.category, "all")]
            row = [f"{category} (n = {len(own)})"]
            for system in systems:
                first, ten = (
                    mean([float(found[system] <= k) for found in own]) for k in (1, _LIMIT)
                )
                key = f"{name}.{category.replace(' ', '_')}.{system}"
                report.put(f"{key}.hit_at_1", first)
                report.put(f"{key}.hit_at_10", ten)
                row.append(f"{percent(first)} / {percent(ten)}")
            rows.append(row)
        report.table(f"Everyday questions, {name}, hit@1 / hit@10", ["category", *systems], rows)
    return report.end()


def play(
    cases: Iterable[QuestionCase], embedder: Embedder | None, systems: dict[str, tuple[str, ...]]
) -> list[tuple[QuestionCase, dict[str, int]]]:
    """Ask every question, and return the rank of the first wanted hit by system; _LIMIT + 1 where
    none is among the first."""
    pools: dict[str, list[QuestionCase]] = {}
    for case in cases:
        pools.setdefault(case.pool, []).append(case)
    found = []
    for held in pools.values():
        with (
            tempfile.TemporaryDirectory() as folder,
            doxa.open(Path(folder) / "memory.db", embedder=embedder, background=False) as memory,
        ):
            _fill(memory, held)
            found += [
                (case, {name: _rank(memory, case, lanes) for name, lanes in systems.items()})
                for case in held
            ]
    return found


def _fill(memory: doxa.Memory, cases: list[QuestionCase]) -> None:
    hour = 0
    for number, case in enumerate(cases):
        for line in case.held:
            hour += 1
            if not line.speaker:
                memory.remember(line.text)
                continue
            turn = Turn(
                line.thread or f"chat-{number}",
                "",
                line.speaker,
                _ROLES.get(line.speaker, "person"),
                line.text,
                _FIRST_NS + hour * _HOUR_NS,
                f"line-{hour}",
            )
            memory.ingest([turn], project=line.project or None, extract=False)
    memory.embed()


def _rank(memory: doxa.Memory, case: QuestionCase, lanes: tuple[str, ...]) -> int:
    hits = memory.recall(case.question, project=case.project or "*", lanes=lanes, limit=_LIMIT).hits
    return next((n for n, hit in enumerate(hits, 1) if hit.text in case.wanted), _LIMIT + 1)
