"""What rules find, without a model. Few and right rather than many.

duplicate       another current belief of its kind says the same: the same facts, or the same words
                in the same order, with the same metadata, except for what says where it is from;
                the one that is trusted more, then the older one, stays
contradiction   two current beliefs state different values of the same thing (ingestion/match)
stale           its time of validity has ended; or every turn that rules read it from was
                superseded or retired
gap             a name in several new turns of whom nothing is believed
relation        a belief names the address of another, or its value is what another is about
summary         a thread with many turns that no summary covers
unsupported     what it depended on is gone
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from doxa.base.limits import DREAM_ENTITY_TURNS, DREAM_SUMMARY_TURNS
from doxa.base.values import Value, canonical
from doxa.base.words import terms
from doxa.belief.background.sources import trust_rank_of
from doxa.belief.graph import CURRENT, SUPERSEDES, facts_of, metadata_of
from doxa.belief.kref import SCHEME
from doxa.belief.removal.retiring import SPEAKER_ROLE
from doxa.dream.findings import DreamBatch, DreamFinding
from doxa.logic.sentence import Atom, fold
from doxa.store import RUN_KREF, Node, Reader

_ALIKE_READ = 20
# Names of metadata under which readers of turns and files say where a belief is from, and
# consolidation from which unit it was concluded.
_ORIGIN = frozenset((SPEAKER_ROLE, "source", "source_file", "document", "lines", "sha256"))
_CONCLUDED_FROM = frozenset(("unit", "thread", "producer", "model"))
_SUMMARY_KIND = "summary"
_UNCOVERED = (
    "SELECT count(*) FROM node t JOIN edge h ON h.src = t.id AND h.type = 'HAS_EXCHANGE' JOIN node"
    " e ON e.id = h.dst WHERE t.kref = ? AND e.props ->> '$.deprecated' IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM edge d JOIN node s ON s.id = d.src WHERE d.dst = e.id AND d.type ="
    " 'DERIVED_FROM' AND s.props ->> '$.kind' = ?)"
)


class Contradicted(NamedTuple):
    """A current belief that a text contradicts, and why, in words."""

    kref: str
    reasons: tuple[str, ...]


Contradicts = Callable[[Node], Sequence[Contradicted]]


class RuleAssessor:
    """The rules. `contradicts` finds current beliefs that state another value than a belief."""

    name = "rules"

    def __init__(self, contradicts: Contradicts | None = None) -> None:
        self._contradicts = contradicts

    def assess(self, reader: Reader, batch: DreamBatch) -> list[DreamFinding]:
        """Return what the rules find in a batch."""
        found: dict[str, DreamFinding] = {}
        for one in self._findings(reader, batch):
            found.setdefault(one.key, one)
        return list(found.values())

    def _findings(self, reader: Reader, batch: DreamBatch) -> Iterator[DreamFinding]:
        for node in batch.beliefs:
            yield from _duplicates(reader, batch.project, node)
            yield from self._contradictions(reader, node)
            yield from _outdated(reader, node)
            yield from _relations(reader, batch.project, node)
        for node in batch.expired:
            yield DreamFinding(
                "stale",
                "The time for which it was stated has passed.",
                (_kref(node),),
                {"do": "retire", "kref": _kref(node)},
                ends=_kref(node),
            )
        for node in batch.unsupported:
            yield DreamFinding("unsupported", "What it depended on is gone.", (_kref(node),))
        yield from _gaps(reader, batch)
        for thread in batch.threads:
            count = reader.rows(_UNCOVERED, (thread, _SUMMARY_KIND))[0][0]
            if count >= DREAM_SUMMARY_TURNS:
                yield DreamFinding(
                    "summary",
                    f"{count} of its turns are in no summary.",
                    (thread,),
                    {"do": "consolidate", "thread": thread},
                )

    def _contradictions(self, reader: Reader, node: Node) -> Iterator[DreamFinding]:
        for one in self._contradicts(node) if self._contradicts is not None else ():
            other = reader.node_by_kref(one.kref)
            if other is None or other.id == node.id or not _is_readable(reader, other):
                continue
            # the later one is what replaces: it finds the earlier one, and not the other way round
            if (_time(other), other.id) > (_time(node), node.id) or _wording(other) == _wording(
                node
            ):
                continue
            ends, held = sorted((node, other), key=lambda n: (trust_rank_of(n), -_time(n)))
            yield DreamFinding(
                "contradiction",
                f"They state different values: {'; '.join(one.reasons)[:500]}",
                (_kref(node), _kref(other)),
                {"do": "contest", "kref": _kref(ends), "held": [_kref(held)]},
                ends=_kref(ends),
            )


def _kref(node: Node) -> str:
    return str(node.props["kref"])


def _time(node: Node) -> int:
    time = node.props.get("time")
    return time if isinstance(time, int) else node.born


def _is_readable(reader: Reader, node: Node) -> bool:
    """Whether a belief is current, and neither written by a run nor untrusted."""
    return (
        "Revision" in node.labels
        and node.props.get(RUN_KREF) is None
        and trust_rank_of(node) > 0
        and bool(reader.edges_in(node.id, CURRENT))
    )


def _duplicates(reader: Reader, project: str, node: Node) -> Iterator[DreamFinding]:
    """Those that say the same, in the same time: the best of all stays, and nothing is lost."""
    window = ("valid_from", "valid_until", "space", "kind")
    same = [
        other
        for other in _alike(reader, project, node)
        if all(node.props.get(name) == other.props.get(name) for name in window)
        and _held(node) == _held(other)
    ]
    kept, *rest = sorted((node, *same), key=lambda n: (-trust_rank_of(n), n.id))
    for gone in rest:
        yield DreamFinding(
            "duplicate",
            "Both say the same.",
            (_kref(kept), _kref(gone)),
            {"do": "merge", "keep": _kref(kept), "retire": _kref(gone)},
            ends=_kref(gone),
        )


def _held(node: Node) -> dict[str, Value]:
    """What a belief holds besides its text, without where it is from."""
    held = metadata_of(node)
    origin = _ORIGIN | (_CONCLUDED_FROM if "unit" in held else frozenset())
    return {name: value for name, value in held.items() if name not in origin}


def _alike(reader: Reader, project: str, node: Node) -> Iterator[Node]:
    facts = {fact.stored() for fact in facts_of(node)}
    words = terms(str(node.props["summary"]))
    others: list[Node] = []
    if facts:
        keys = sorted(Atom(*fact).key for fact in facts_of(node))
        others = reader.nodes(reader.saying(project, keys=keys)[:_ALIKE_READ])
    elif words:
        others = reader.live_with_terms(
            words, project=project, space=None, kind=None, limit=_ALIKE_READ
        )
    for other in others:
        if "Revision" not in other.labels:  # a turn in the same words is not a belief
            continue
        same = (
            {fact.stored() for fact in facts_of(other)} == facts
            if facts
            else not facts_of(other) and _wording(other) == _wording(node)
        )
        speakers = {one.props.get("speaker_name") for one in (node, other)}
        if (
            same
            and other.id != node.id
            and len(speakers) == 1
            and other.props.get("sentences") == node.props.get("sentences")
            and _is_readable(reader, other)
        ):
            yield other


def _wording(node: Node) -> str:
    """The words of a belief without case, spaces and closing marks; all count, "not" too."""
    return " ".join(str(node.props["summary"]).casefold().split()).strip(" .!…")


def _outdated(reader: Reader, node: Node) -> Iterator[DreamFinding]:
    if node.props.get("trust") != "candidate":
        return
    ends = [edge.dst for edge in reader.edges_out(node.id, "DERIVED_FROM")]
    turns = [one for one in reader.nodes(ends) if "Exchange" in one.labels]
    if turns and all(
        turn.props.get("deprecated") or reader.edges_in(turn.id, SUPERSEDES) for turn in turns
    ):
        yield DreamFinding(
            "stale",
            "Every turn that it was read from was superseded or retired.",
            (_kref(node),),
            {"do": "retire", "kref": _kref(node)},
            ends=_kref(node),
        )


def _relations(reader: Reader, project: str, node: Node) -> Iterator[DreamFinding]:
    for other, why in _related(reader, project, node):
        joined = {edge.dst for edge in reader.edges_out(node.id)} | {
            edge.src for edge in reader.edges_in(node.id)
        }
        if other.id != node.id and other.id not in joined and _is_readable(reader, other):
            yield DreamFinding(
                "relation",
                why,
                (_kref(node), _kref(other)),
                {
                    "do": "relate",
                    "from": _kref(node),
                    "edge": "REFERENCED",
                    "to": _kref(other),
                    "why": why,
                },
            )


def _related(reader: Reader, project: str, node: Node) -> Iterator[tuple[Node, str]]:
    for word in str(node.props["summary"]).split():
        if word.startswith(SCHEME):
            item = reader.node_by_kref(word.rstrip(".,;:!)").partition("?")[0])
            edges = reader.edges_out(item.id, CURRENT) if item is not None else []
            for other in reader.nodes([edge.dst for edge in edges]):
                yield other, "Its text names the address of the other."
    for fact in facts_of(node):
        if isinstance(fact.value, str) and _is_name(fact.value) and fact.value != fact.subject:
            start = canonical([fold(fact.value)]).decode()[:-1] + ","
            for other in reader.nodes(reader.saying(project, starts=[start])[:_ALIKE_READ]):
                yield other, "It names what the other is about."


def _is_name(value: str) -> bool:
    return value[:1].isupper() and any(map(str.islower, value)) and len(value) > 2


def _gaps(reader: Reader, batch: DreamBatch) -> Iterator[DreamFinding]:
    for name, turns in sorted(batch.names.items()):
        count, words = len(turns), terms(name)
        if count < DREAM_ENTITY_TURNS or not words:
            continue
        found = reader.live_with_terms(
            words, project=batch.project, space=None, kind=None, limit=1_000
        )
        if not any("Revision" in node.labels for node in found):
            yield DreamFinding(
                "gap",
                f"{count} new turns name {name[:100]}, of whom or which nothing is believed.",
                tuple(turns[:DREAM_ENTITY_TURNS]),
                name=name[:200],
            )
