"""The cases of `python -m bench updates`: beliefs held, what is said then, and which of the beliefs
a careful reader would retire.

    category: name
    [Ana] I live in Berlin.            a held belief, with its speaker where it matters
    + Ana | home | Berlin              a fact of the belief above, where it has some
    > [Ana] I moved to Munich.         what is said now, several in order
    ----
    [Ana] I live in Berlin.            what is retired by the end: whole beliefs, or facts of one;
    or: nothing
    stored: nothing                    optional: nothing that is said becomes a current belief

A category that starts with a language code ("de update: home by moving") is in that language, any
other in English. updates.txt holds statements as careful writers make them, plain_language.txt what
people say otherwise: asides, questions, jokes, reports, fragments, typing errors.

A case belongs to the half that a hash of its category and name says: constants are fitted on the
one, the other is only judged by.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parents[1] / "tests" / "cases"
CASES = _FOLDER / "updates.txt"
PLAIN_LANGUAGE = {
    "fitted": _FOLDER / "plain_language.txt",
    "fitted, other languages": _FOLDER / "plain_language_languages.txt",
    "fitted, everyday": _FOLDER / "plain_language_everyday.txt",
    "ordinary, seen half": _FOLDER / "plain_language_ordinary.txt",
    "ordinary, unseen half": _FOLDER / "plain_language_ordinary.txt",
    "unseen, indirect": _FOLDER / "plain_language_unseen_indirect.txt",
    "unseen, everyday": _FOLDER / "plain_language_unseen_ordinary.txt",
    "unseen, messages": _FOLDER / "plain_language_talk.txt",
    "unseen, messages in other languages": _FOLDER / "plain_language_talk_languages.txt",
}
LANGUAGES = ("en", "de", "es", "fr", "zh")
_STORED_NOTHING = "stored: nothing"
RULE = "----"
Half = Literal["fitted", "held out"]
HALVES: tuple[Half, Half] = ("fitted", "held out")


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence and who says it, with its facts."""

    text: str
    speaker: str = ""
    facts: tuple[tuple[str, str, str], ...] = ()

    def shown(self) -> str:
        return f"[{self.speaker}] {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class UpdateCase:
    """One case; `retired` are lines of `held` or `said` as they are shown, or their facts.
    With `stored` False nothing that is said may become a current belief."""

    category: str
    name: str
    held: tuple[Line, ...]
    said: tuple[Line, ...]
    retired: frozenset[str]
    stored: bool = True

    @property
    def language(self) -> str:
        """The code that the category starts with, or en."""
        first = self.category.partition(" ")[0]
        return first if first in LANGUAGES else "en"

    @property
    def kind(self) -> str:
        """The first word of the category after the language: update, unasserted, addition …"""
        words = self.category.split()
        return words[1 if words[0] in LANGUAGES and len(words) > 1 else 0]

    @property
    def half(self) -> Half:
        return HALVES[hashlib.sha256(f"{self.category}: {self.name}".encode()).digest()[0] % 2]


def load(path: Path = CASES) -> list[UpdateCase]:
    """The cases of a file, in order."""
    blocks = [
        [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
        for block in path.read_text().split("\n\n")
    ]
    return [_case(lines) for lines in blocks if lines]


def _case(lines: list[str]) -> UpdateCase:
    category, _, name = lines[0].partition(": ")
    rule = lines.index(RULE)
    held: list[Line] = []
    said: list[Line] = []
    for line in lines[1:rule]:
        if line.startswith("+ "):
            subject, predicate, value = (part.strip() for part in line[2:].split("|"))
            into = said if said else held
            into[-1] = Line(
                into[-1].text, into[-1].speaker, (*into[-1].facts, (subject, predicate, value))
            )
        elif line.startswith("> "):
            said.append(_line(line[2:]))
        else:
            held.append(_line(line))
    after = lines[rule + 1 :]
    retired = frozenset(line for line in after if line not in ("nothing", _STORED_NOTHING))
    stored = _STORED_NOTHING not in after
    case = UpdateCase(category, name, tuple(held), tuple(said), retired, stored)
    unknown = retired - {
        shown for line in (*held, *said) for shown in (line.shown(), *map(shown_fact, line.facts))
    }
    assert held and said and not unknown, (
        f"{category}: {name}: {unknown or 'nothing is held or said'}"
    )
    return case


def shown_fact(fact: tuple[str, str, str]) -> str:
    return f"+ {' | '.join(fact)}"


def _line(text: str) -> Line:
    if text.startswith("["):
        speaker, _, rest = text[1:].partition("] ")
        return Line(rest, speaker)
    return Line(text)
