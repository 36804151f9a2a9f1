"""The lane of entities: who said a memory, and whom and what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.words import terms
from doxa.recall import constants
from doxa.recall.lanes.phrases import QUOTED
from doxa.recall.project_index import ProjectIndex
from doxa.store import Reader, int64_array

_ROLE_NAMES = frozenset(("user", "assistant", "system", "tool", "human"))
_WORD = re.compile(r"\w+")

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def extract_speakers(
    reader: Reader, projects: Sequence[ProjectIndex], text: str
) -> tuple[str, frozenset[int]]:
    """Return a question without the names of speakers, and their tokens: a question that names a
    speaker asks about what that person said, so the name becomes a preference."""
    text = text[:QUERY_CHARS_READ]
    named: set[int] = set()
    remove: set[str] = set()
    asked = {word.casefold() for word in _WORD.findall(text)}
    for project in projects:
        for token, name in project.speakers(reader):
            parts = {part.casefold() for part in _WORD.findall(name)} - _ROLE_NAMES
            if parts & asked:
                named.add(token)
                remove |= parts & asked
    if not named:
        return text, frozenset()
    names = "|".join(map(re.escape, sorted(remove)))
    plain = re.sub(
        rf"({QUOTED})|\b(?:{names})\b(?:['’]s\b)?",
        lambda match: match[1] or " ",
        text,
        flags=re.IGNORECASE,
    )
    plain = " ".join(plain.split())
    return plain if _WORD.search(plain) else text, frozenset(named)


def spoken_by(
    project: ProjectIndex, rows: Rows, *, named: frozenset[int], side: frozenset[int]
) -> Floats:
    """Return 1 where the question names the speaker, SIDE where it asks for that side of a chat."""
    found = np.zeros(len(rows), dtype=np.float32)
    for tokens, value in ((side, constants.SIDE), (named, 1.0)):
        if tokens:
            found[np.isin(project["speaker"][rows], list(tokens))] = value
    return found


def mentions(
    reader: Reader,
    project: ProjectIndex,
    rows: Rows,
    *,
    named: frozenset[str],
    nobody: frozenset[int],
) -> Floats:
    """Return 1 where an entity of a belief is named: all its terms are in `named`, those of the
    question and of the speakers that it names. `nobody` are the tokens of no speaker: a row with a
    speaker is a turn, which `spoken_by` covers."""
    found = np.zeros(len(rows), dtype=np.float32)
    places = {
        int(project["node"][rows[place]]): place
        for place in np.flatnonzero(np.isin(project["speaker"][rows], list(nobody))).tolist()
    }
    if not named or not places:
        return found
    sql = (
        f"SELECT n.id, e.value FROM carray(?) f JOIN {reader.sight().table(edge=False)} n ON n.id ="
        " f.value JOIN json_each(n.props, '$.entities') e"
    )
    for node, entity in reader.rows(sql, (int64_array(list(places)),)):
        if isinstance(entity, str) and (wanted := terms(entity)) and named.issuperset(wanted):
            found[places[node]] = 1
    return found
