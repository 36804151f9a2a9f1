"""Read what an audit compares, in few statements, on one snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest

from doxa.audit.types import CurrentBelief, Ground, name_of
from doxa.belief.graph import SUPPORT_EDGES
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.store import RUN_KREF, Reader, int64_array

_BATCH = 500
_SESSIONS_HELD = 64
_CURRENT = f"""
SELECT r.id, r.kref, i.id, i.project, r.props ->> '$.kind', r.props ->> '$.summary',
  coalesce(r.props ->> '$.trust', 'stated'), coalesce(r.props ->> '$.author', ''),
  coalesce(r.props ->> '$.time', r.since), r.props -> '$.facts', r.props ->> '$.valid_from',
  r.props ->> '$.valid_until', r.props ->> '$.{RUN_KREF}',
  coalesce(r.props ->> '$.unit', ''), coalesce(r.props ->> '$.thread', '')
FROM node_label l JOIN node i ON i.id = l.node JOIN edge e ON e.src = i.id AND e.type = 'CURRENT'
  JOIN node r ON r.id = e.dst
WHERE l.label = 'Item' AND i.kref IS NOT NULL AND (?1 = '' OR i.project = ?1)
  AND r.props ->> '$.summary' IS NOT NULL
ORDER BY r.id
"""
_GROUNDS = f"""
SELECT e.src, n.id, coalesce(n.kref, ''), EXISTS (SELECT 1 FROM node_label x WHERE x.node = n.id
    AND x.label = 'Exchange'),
  n.props ->> '$.{RUN_KREF}', coalesce(n.props ->> '$.deprecated', 0),
  EXISTS (SELECT 1 FROM edge s WHERE s.dst = n.id AND s.type = 'SUPERSEDES'),
  coalesce(n.props ->> '$.role', ''), coalesce(n.props ->> '$.text', n.props ->> '$.summary', ''),
  coalesce(n.props ->> '$.time', 0), coalesce(n.props ->> '$.thread', ''),
  coalesce(n.props ->> '$.session', '')
FROM edge e JOIN node n ON n.id = e.dst
WHERE e.src IN carray(?1) AND e.type IN ({", ".join(repr(kind) for kind in SUPPORT_EDGES)})
ORDER BY e.src, n.id
"""
_EXCHANGES = (
    "SELECT count(*) FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Exchange' AND"
    " (?1 = '' OR n.project = ?1)"
)
_SESSION = """
SELECT n.id, n.kref, coalesce(n.props ->> '$.speaker', ''), coalesce(n.props ->> '$.role', ''),
  coalesce(n.props ->> '$.text', ''), coalesce(n.props ->> '$.time', 0),
  coalesce(n.props ->> '$.deprecated', 0)
FROM node t JOIN edge e ON e.src = t.id AND e.type = 'HAS_EXCHANGE' JOIN node n ON n.id = e.dst
WHERE t.kref = ?1 AND n.props ->> '$.session' = ?2
ORDER BY n.props ->> '$.time', n.id
"""
_UNSUPPORTED = (
    "SELECT e.src FROM edge e WHERE e.src IN carray(?1) AND e.type = 'TAG' AND e.props ->> '$.name'"
    " = 'unsupported'"
)
_CONTESTED = (
    "SELECT h.dst, c.kref FROM edge h JOIN node c ON c.id = h.src WHERE h.dst IN carray(?1) AND"
    " h.type = 'HELD' AND coalesce(c.props ->> '$.decision', '') = ''"
)


def current_beliefs(reader: Reader, project: str) -> Iterator[CurrentBelief]:
    """Yield the current revisions of a project, or of all, the oldest first."""
    return (CurrentBelief(*row) for row in reader.stream(_CURRENT, (project,)))


def drawn(beliefs: Sequence[CurrentBelief], sample: int | None, seed: int) -> list[CurrentBelief]:
    """Return a sample of beliefs in their order, or all of them: those whose addresses have the
    least digests with this seed, so that the same belief is drawn again from a larger memory."""
    if sample is None or sample >= len(beliefs):
        return list(beliefs)
    salt = str(seed).encode()

    def digest(number: int) -> bytes:
        return blake2b(beliefs[number].kref.encode(), digest_size=8, key=salt[:64]).digest()

    return [beliefs[number] for number in sorted(nsmallest(sample, range(len(beliefs)), digest))]


def count_exchanges(reader: Reader, project: str) -> int:
    return int(reader.rows(_EXCHANGES, (project,))[0][0])


def grounds_of(reader: Reader, beliefs: Sequence[CurrentBelief]) -> dict[int, list[Ground]]:
    """Return what each of these beliefs is derived from, by the node of the belief."""
    found: dict[int, list[Ground]] = {}
    for ids in _batches([one.node for one in beliefs]):
        for row in reader.rows(_GROUNDS, (ids,)):
            ground = Ground(*row)
            found.setdefault(ground.belief, []).append(ground)
    return found


def unsupported_items(reader: Reader, beliefs: Sequence[CurrentBelief]) -> frozenset[int]:
    """Return the items of these beliefs that lost their support."""
    return frozenset(
        row[0]
        for ids in _batches([one.item for one in beliefs])
        for row in reader.rows(_UNSUPPORTED, (ids,))
    )


def contested(reader: Reader, beliefs: Sequence[CurrentBelief]) -> dict[int, str]:
    """Return the open conflicts that challenge these beliefs, by the node of the belief."""
    return {
        row[0]: row[1]
        for ids in _batches([one.node for one in beliefs])
        for row in reader.rows(_CONTESTED, (ids,))
    }


def _batches(ids: list[int]) -> Iterator[object]:
    for start in range(0, len(ids), _BATCH):
        yield int64_array(ids[start : start + _BATCH])


class SessionsOfTurns:
    """The sessions of a snapshot as transcripts; the last ones read are kept."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.transcript = lru_cache(maxsize=_SESSIONS_HELD)(self._transcript)

    def _transcript(self, thread: str, session: str) -> Transcript:
        turns = tuple(
            SourceTurn(
                id=name_of(kref),
                speaker=speaker,
                role=role,
                text=text,
                time_ns=time,
                kref=kref,
                session=session,
            )
            for _, kref, speaker, role, text, time, _ in self._reader.rows(
                _SESSION, (thread, session)
            )
        )
        return Transcript("", thread, session, turns)
