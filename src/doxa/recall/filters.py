"""Which rows a question may find: the belief filter and the user's filters (project, space, kind,
speaker, thread, trust, time), as masks over a project index.

The population is what may be believed at all (current, not deprecated, visible, valid now; or what
the given tag or time names, valid then); statistics are taken over it. The allowed rows are those
of it that pass the user's filters; only they can become candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.clock import TIME_MAX
from doxa.base.errors import KrefError, NotFoundError
from doxa.recall.indexes.project_index import Believed, ProjectIndex, believed
from doxa.recall.types import Ask
from doxa.store import DYNAMIC, TRUSTS, Node, Reader, int64_array

Mask = NDArray[np.bool_]
_PLACES = frozenset(("Project", "Space", "Thread"))
_NAMED_MAX = 10  # known names that an error about an unknown one lists
_SHOWN_CHARS = 200

# What was current at a system time: by edges and deprecation flags as they were then.
_BELIEVED_THEN = """
WITH chosen(src, dst) AS (
  SELECT src, dst FROM edge WHERE type = ?2 AND since <= ?1 AND (?3 = '' OR props ->> '$.name' = ?3)
  UNION SELECT src, dst FROM edge_past WHERE type = ?2 AND since <= ?1 AND until > ?1
    AND (?3 = '' OR props ->> '$.name' = ?3)),
off(id) AS (
  SELECT id FROM node WHERE since <= ?1 AND props ->> '$.deprecated'
  UNION SELECT id FROM node_past WHERE since <= ?1 AND until > ?1 AND props ->> '$.deprecated')
SELECT dst FROM chosen WHERE src NOT IN (SELECT id FROM off)
"""
_FIRST_OF_BELIEVED = """
SELECT n.id FROM node_label l JOIN node n ON n.id = l.node
  JOIN edge e ON e.dst = n.id AND e.type = 'HAS_REVISION'
WHERE l.label = 'Revision' AND n.props ->> '$.number' = 1 AND n.born <= ?1
  AND e.src NOT IN (SELECT id FROM node WHERE since <= ?1 AND props ->> '$.deprecated'
    UNION SELECT id FROM node_past WHERE since <= ?1 AND until > ?1 AND props ->> '$.deprecated')
"""
_TURNS_THEN = """
SELECT n.id FROM node_label l JOIN node n ON n.id = l.node
WHERE l.label = 'Exchange' AND n.born <= ?1
  AND n.id NOT IN (SELECT id FROM node WHERE since <= ?1 AND props ->> '$.deprecated'
    UNION SELECT id FROM node_past WHERE since <= ?1 AND until > ?1 AND props ->> '$.deprecated')
"""


_TAGS = (
    "SELECT props ->> '$.name' FROM edge WHERE type = 'TAG' UNION SELECT props ->> '$.name' FROM"
    " edge_past WHERE type = 'TAG'"
)


_INFERRED = TRUSTS.index("inferred")
_GROUNDS = (
    "SELECT e.src, e.dst FROM carray(?) f CROSS JOIN edge e ON e.src = f.value AND e.type ="
    " 'DERIVED_FROM'"
)


class Eligible(NamedTuple):
    """`population` is what may be believed, `allowed` those of it that pass the filters. `faded`
    is how many more would be allowed if no policy hid them. Masks may be shared: never write to
    them."""

    population: Believed
    allowed: Mask
    faded: int = 0


def find_scopes(reader: Reader, project: str) -> list[int]:
    """Return the search scopes of one project, or of all."""
    if project:
        rows = reader.rows("SELECT id FROM token WHERE text = ?", ("scope:" + project,))
    else:
        rows = reader.rows(
            "SELECT id FROM token WHERE text >= 'scope:' AND text < 'scope;' ORDER BY id"
        )
    return [row[0] for row in rows]


def eligible_rows(reader: Reader, project: ProjectIndex, ask: Ask) -> Eligible:
    """Apply the belief filter and the filters of a question."""
    population = _believed(reader, project, ask)
    allowed = _filtered(reader, project, ask, population.mask)
    faded = _faded(reader, project, ask, population)
    if faded is None:
        return Eligible(population, allowed)
    return Eligible(
        population, allowed, int(np.count_nonzero(_filtered(reader, project, ask, faded)))
    )


def _filtered(reader: Reader, project: ProjectIndex, ask: Ask, rows: Mask) -> Mask:
    """Those of the rows that pass the filters of a question."""
    allowed = rows
    if (
        ask.space
        or ask.kinds
        or ask.speaker
        or ask.thread
        or ask.trust
        or ask.since is not None
        or ask.until is not None
        or ask.valid_at is not None
    ):
        allowed = rows.copy()
    if ask.space:
        allowed &= _is_one_of(project, "space", _spaces(reader, ask.space))
    if ask.kinds:
        allowed &= _is_one_of(
            project, "kind", [t for kind in ask.kinds for t in _tokens(reader, "kind:" + kind)]
        )
    for column, value in (("speaker", ask.speaker), ("thread", ask.thread)):
        if value:
            allowed &= _is_one_of(project, column, _tokens(reader, f"{column}:{value}"))
    if ask.trust:
        allowed &= project["trust"] >= TRUSTS.index(ask.trust)
    elif not ask.kinds:
        allowed = allowed & ~_repeating(reader, project, rows)
    if ask.since is not None:
        allowed &= project["time"] >= ask.since
    if ask.until is not None:
        allowed &= project["time"] < ask.until
    if ask.valid_at is not None:
        allowed &= _valid_at(project, ask.valid_at)
    return allowed


def _repeating(reader: Reader, project: ProjectIndex, rows: Mask) -> Mask:
    """The conclusions of background jobs that some eligible turn or belief still grounds. Next to
    their grounds they only take places: see docs/guides/ripening.md for what they cost."""
    inferred: Mask = rows & (project["trust"] == _INFERRED)
    found = np.flatnonzero(inferred)
    if not len(found):
        return inferred
    nodes = project["node"]
    edges = list(reader.rows(_GROUNDS, (int64_array(nodes[found].tolist()),)))
    grounds = np.array([dst for _, dst in edges], dtype=np.int64)
    eligible = nodes[rows & ~inferred]
    standing = {edges[place][0] for place in np.flatnonzero(np.isin(grounds, eligible))}
    inferred[found] = [int(node) in standing for node in nodes[found]]
    return inferred


def _visible(reader: Reader, project: ProjectIndex, rows: Any = slice(None)) -> Mask:
    """What the policies show, by the windows stored with the rows; rows that no window decides
    count as shown until they are candidates (`hidden_rows`)."""
    exists: Mask = project["node"][rows] > 0
    if not reader.sight().tests:
        return exists
    windows: Mask = (project["vis_from"][rows] <= reader.scored_at) & (
        reader.scored_at < project["vis_until"][rows]
    )
    swept = reader.swept().get("node")
    return exists & (windows if swept is None else windows | (project["node"][rows] > swept))


def _faded(reader: Reader, project: ProjectIndex, ask: Ask, population: Believed) -> Mask | None:
    """What only the policies keep from being believed, by the stored windows; None where nothing is
    hidden. Of a tag or a time, which show other revisions, nothing counts as faded."""
    if not reader.sight().tests or ask.as_of is not None or ask.tag != "current":
        return None
    if not ask.history and ask.valid_at is None:  # then as long as what is believed
        return project.hidden(population, partial(_hidden, reader, project, ask))
    return _hidden(reader, project, ask)


def _hidden(reader: Reader, project: ProjectIndex, ask: Ask) -> Mask | None:
    faded: Mask = (project["node"] > 0) & ~_visible(reader, project)
    if not ask.history:
        faded &= project["live"]
        if ask.valid_at is None:
            faded &= _valid_at(project, reader.now)
    return faded if faded.any() else None


def hidden_rows(
    reader: Reader, project: ProjectIndex, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return those of the rows that a policy hides although no stored window says so. They are
    tested one by one, where policies read the clock or have just changed."""
    unsure = reader.sight().unsure(edge=False)
    if unsure is None:
        return rows[:0]
    beyond, dynamic = unsure
    nodes = project["node"][rows]
    doubtful = rows[
        (nodes > beyond) | ((project["vis_from"][rows] == DYNAMIC) if dynamic else False)
    ]
    hidden = [
        row for row in doubtful.tolist() if not reader.is_seen(False, int(project["node"][row]))
    ]
    return np.array(hidden, dtype=np.int64)


def _believed(reader: Reader, project: ProjectIndex, ask: Ask) -> Believed:
    if ask.as_of is None and ask.tag == "current" and not ask.history and ask.valid_at is None:
        return believed_now(reader, project)
    return believed(project["length"], _believed_otherwise(reader, project, ask))


def believed_now(reader: Reader, project: ProjectIndex) -> Believed:
    """Return what is believed by default: current, visible, valid now. The index caches it."""

    def test(rows: Any) -> Mask:
        mask: Mask = (
            _visible(reader, project, rows)
            & project["live"][rows]
            & _valid_at(project, reader.now, rows)
        )
        return mask

    moment = None if reader.scored_at == reader.now else reader.scored_at
    return project.believed(
        reader.now, (moment, reader.swept().get("node")) if reader.sight().tests else None, test
    )


def _believed_otherwise(reader: Reader, project: ProjectIndex, ask: Ask) -> Mask:
    visible = _visible(reader, project)
    if ask.as_of is not None or ask.tag != "current":
        then = _believed_then(reader, project, ask) & (
            (project["node"] > 0) if ask.as_of is not None else visible
        )
        unasked = (
            ask.as_of is not None
            and ask.tag == "current"
            and not ask.history
            and ask.valid_at is None
        )
        return then & _valid_at(project, ask.as_of) if unasked else then
    if ask.history:
        return visible
    live: Mask = visible & project["live"]
    return live


def _believed_then(reader: Reader, project: ProjectIndex, ask: Ask) -> Mask:
    """By a tag other than current, or at an earlier time, or both."""
    # now means whatever is in force: a clock that stepped back must not hide it
    time = TIME_MAX if ask.as_of is None else ask.as_of
    kind, name = ("CURRENT", "") if ask.tag == "current" else ("TAG", ask.tag)
    if ask.tag == "initial":
        nodes = [row[0] for row in reader.rows(_FIRST_OF_BELIEVED, (time,))]
    else:
        nodes = [row[0] for row in reader.rows(_BELIEVED_THEN, (time, kind, name))]
    if ask.tag == "current":
        nodes += [row[0] for row in reader.rows(_TURNS_THEN, (time,))]
    return np.isin(project["node"], np.array(nodes, dtype=np.int64))


def _valid_at(project: ProjectIndex, time: int | None, rows: Any = slice(None)) -> Mask:
    """What holds at a time. What was said has no end, so that turns always do."""
    mask: Mask = (project["valid_from"][rows] <= time) & (time < project["valid_until"][rows])
    return mask


def _is_one_of(project: ProjectIndex, column: str, tokens: list[int]) -> Mask:
    return np.isin(project[column], np.array(tokens, dtype=np.int32))


def _tokens(reader: Reader, text: str) -> list[int]:
    return [row[0] for row in reader.rows("SELECT id FROM token WHERE text = ?", (text,))]


def _spaces(reader: Reader, space: str) -> list[int]:
    """A space and all below it, by whole segments: `a` does not match `ab`."""
    rows = reader.rows(
        "SELECT id FROM token WHERE text = ?1 OR (text >= ?1 || '/' AND text < ?1 || '0')",
        ("space:" + space,),
    )
    return [row[0] for row in rows]


def check_project(reader: Reader, project: str) -> None:
    """Raise NotFoundError unless the project exists, which may hold nothing yet."""
    if not _is_place(reader, f"kref://{project}"):
        known = [str(node.props.get("name")) for node in _places(reader, "Project")][:_NAMED_MAX]
        raise _absent(
            "project",
            project,
            known=known,
            next_step="Ask in one of them, or give the project '*' to search all.",
        )


def check_filters(reader: Reader, ask: Ask) -> list[str]:
    """Explain why no row passes the filters: raise NotFoundError for a space, thread or tag that
    does not exist, otherwise return warnings."""
    if ask.space:
        projects = (
            [ask.project]
            if ask.project
            else [str(node.props.get("name")) for node in _places(reader, "Project")]
        )
        if not any(_is_place(reader, f"kref://{project}/{ask.space}") for project in projects):
            near = f"kref://{ask.project}/" if ask.project else "kref://"
            known = [
                kref
                for node in _places(reader, "Space")
                if (kref := str(node.props.get("kref"))).startswith(near)
            ][:_NAMED_MAX]
            raise _absent(
                "space",
                ask.space,
                known=known,
                next_step="Ask in one of them, or leave the space out.",
            )
    if ask.thread and not ask.thread.startswith("kref://"):
        raise KrefError(
            f"A thread is given by its address; this is {ask.thread[:80]!r}.",
            next_step="Give it as kref://project/name.thread.",
            field="thread",
        )
    if ask.thread and not is_thread(reader, ask.thread):
        known = [str(node.props.get("kref")) for node in _places(reader, "Thread")][:_NAMED_MAX]
        raise _absent(
            "thread",
            ask.thread,
            known=known,
            next_step="Ask in one of them, or leave the thread out.",
        )
    if ask.tag not in ("current", "initial"):
        tags = sorted(str(row[0]) for row in reader.rows(_TAGS))
        if ask.tag not in tags:
            raise _absent(
                "tag",
                ask.tag,
                known=["current", "initial", *tags][:_NAMED_MAX],
                next_step="Ask for one of them, or leave the tag out.",
            )
    empty = ask.project and not find_scopes(reader, ask.project)
    return [f"The project {ask.project} holds no memory yet."] if empty else []


def is_thread(reader: Reader, thread: str) -> bool:
    return thread.startswith("kref://") and _is_place(reader, thread)


def _places(reader: Reader, label: str) -> Iterator[Node]:
    return (node for node in reader.labelled(label) if node.props.get("kref") is not None)


def _is_place(reader: Reader, kref: str) -> bool:
    node = reader.node_by_kref(kref)
    return node is not None and not _PLACES.isdisjoint(node.labels)


def _absent(what: str, name: str, *, known: list[str], next_step: str) -> NotFoundError:
    shown = ", ".join(text[:_SHOWN_CHARS] for text in known) or "none"
    return NotFoundError(
        f"There is no {what} {name[:_SHOWN_CHARS]!r}. Known {what}s: {shown}.",
        next_step=next_step,
        **{what: name[:_SHOWN_CHARS]},
    )
