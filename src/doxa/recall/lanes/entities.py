"""The lane of entities: who said a memory and where, and whom and what it is about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from doxa.base.words import terms
from doxa.recall import constants
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.store import Reader, int64_array

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def spoken_by(
    project: ProjectIndex, rows: Rows, *, named: frozenset[int], side: frozenset[int]
) -> Floats:
    """Return 1 where the question names the speaker, PLACE where it names the project or thread,
    SIDE where it asks for that side of a chat."""
    found = np.zeros(len(rows), dtype=np.float32)
    if side:
        found[np.isin(project["speaker"][rows], list(side))] = constants.SIDE
    if named:
        if project.scope in named:
            found[:] = constants.PLACE
        found[np.isin(project["thread"][rows], list(named))] = constants.PLACE
        found[np.isin(project["speaker"][rows], list(named))] = 1.0
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
