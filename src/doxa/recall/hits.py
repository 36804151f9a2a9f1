"""From ranked rows to hits: read on the same snapshot, with status, source and a sentence `why`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from doxa.base.bm25 import inverse_document_frequency
from doxa.base.clock import TIME_MAX, format_time
from doxa.base.quoting import quoted
from doxa.base.words import stem, terms
from doxa.recall import constants
from doxa.recall.budget import tokens_of
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.recall.lanes.meaning import field_texts
from doxa.recall.lanes.words import Posting
from doxa.recall.types import Ask, Hit
from doxa.store import (
    FIELDS_FROM,
    TRUST_DEFAULT,
    Node,
    Reader,
    SearchRule,
    attributes_of,
    entries_of,
    int64_array,
    rule_of,
    text_of,
    trust_of,
)

_CHARS_READ = 20_000  # of a text, for the words as it writes them
_WORD = re.compile(r"[^\W_]+")
_ALWAYS_SHOWN = frozenset(("words", "meaning"))
_RELATED = """
SELECT f.value,
  EXISTS (SELECT 1 FROM edge WHERE dst = f.value AND type = 'CURRENT'),
  (SELECT n.props ->> '$.deprecated' FROM edge e JOIN node n ON n.id = e.src
    WHERE e.dst = f.value AND e.type = 'HAS_REVISION'),
  (SELECT s.props ->> '$.kref' FROM edge e JOIN node s ON s.id = e.src
    WHERE e.dst = f.value AND e.type = 'SUPERSEDES' ORDER BY e.id DESC LIMIT 1),
  (SELECT c.props ->> '$.kref' FROM edge e JOIN node c ON c.id = e.src
    WHERE e.dst = f.value AND e.type = 'CHALLENGER' AND c.props ->> '$.decision' IS NULL LIMIT 1),
  (SELECT json_group_array(DISTINCT n.props ->> '$.kref') FROM edge e
    JOIN node c ON c.id = e.src AND c.props ->> '$.decision' IS NULL
    JOIN edge o ON o.src = c.id AND o.type IN ('CHALLENGER', 'HELD') AND o.type != e.type
    JOIN {visible_node} n ON n.id = o.dst
    WHERE e.dst = f.value AND e.type IN ('CHALLENGER', 'HELD')),
  (SELECT c.props ->> '$.kref' FROM edge e JOIN node c ON c.id = e.src
    WHERE e.dst = f.value AND e.type = 'HELD' AND c.props ->> '$.decision' IS NULL LIMIT 1),
  (SELECT concat(t.props ->> '$.cause', ': ' || (n.props ->> '$.kref'))
    FROM edge t LEFT JOIN node n ON n.id = t.props ->> '$.ground'
    WHERE t.dst = f.value AND t.type = 'TAG' AND t.props ->> '$.name' = 'unsupported'),
  (SELECT n.props ->> '$.kref' FROM edge e JOIN {visible_node} n ON n.id = e.dst
    WHERE e.src = f.value AND e.type = 'DERIVED_FROM' ORDER BY e.id LIMIT 1)
FROM carray(?) f
"""


class Related(NamedTuple):
    """What the edges of a node state about it. An address is None where the edge is missing."""

    current: bool
    deprecated: bool | None  # its item
    successor: str | None
    conflict: str | None  # the undecided conflict in which it is the challenger
    other_sides: str  # of all its undecided conflicts: a JSON list of addresses
    challenged: str | None  # the undecided conflict in which it is challenged
    unsupported: str | None  # how it lost its support
    derived_from: str | None


class Said(NamedTuple):
    """What a memory says and who says it: whether it is a turn, and one of a person about their own
    affairs; `by` is the role and the speaker of a turn, the author of a belief."""

    kref: str = ""
    text: str = ""
    turn: bool = False
    person: bool = False
    by: tuple[str, str] = ("", "")
    trust: str = TRUST_DEFAULT


class Linked(NamedTuple):
    """The hit that a memory is linked with (empty if it is not among the ranked), and the types of
    the edges from there, each with whether it is followed forwards."""

    kref: str = ""
    path: tuple[tuple[str, bool], ...] = ()


class Ranked(NamedTuple):
    """One row of a ranking, with the value of every lane."""

    project: ProjectIndex
    row: int
    score: float
    lanes: Mapping[str, float | None]  # meaning is None where there is no vector
    postings: list[Posting]
    updates: str = ""  # the turn that it may update
    revised: bool = False  # a belief from it superseded one from that turn
    idle: bool = False  # a turn that only asks or acknowledges
    echo: bool = False  # of these, one that asks in words of the question
    field: int = 0  # the part of the field by which meaning found it
    namesake: bool = False  # names another of a like name than the question does
    evidence: float | None = None  # what speaks for it (threshold.py); None where it has no vector
    said: Said = Said()
    repeated: int = 1  # how many turns of its source say nearly the same, itself included
    leads: str = ""  # the less trusted memory above which it was placed
    linked: Linked = Linked()  # the hit from which links lead here


def read_hits(reader: Reader, ranked: list[Ranked], *, ask: Ask) -> list[Hit]:
    """Read the hits of a ranking, in order. A row whose node does not exist on this snapshot is
    omitted."""
    identities = [int(item.project["node"][item.row]) for item in ranked]
    nodes: dict[int, Node] = {
        node.id: node for node in reader.nodes([i for i in identities if i > 0])
    }
    related = _read_related(reader, nodes)
    return [
        _hit(reader, nodes[i], item, ask, related[i])
        for i, item in zip(identities, ranked, strict=True)
        if i in nodes
    ]


def _read_related(reader: Reader, nodes: Mapping[int, Node]) -> dict[int, Related]:
    """Read the edges of all hits in one statement. An exchange has none of them."""
    related = dict.fromkeys(nodes, Related(False, None, None, None, "[]", None, None, None))
    asked = [node.id for node in nodes.values() if "Exchange" not in node.labels]
    if asked:
        sql = _RELATED.format(visible_node=reader.sight().table(edge=False))
        for identity, *row in reader.rows(sql, (int64_array(asked),)):
            related[identity] = Related(*row)
    return related


def _hit(reader: Reader, node: Node, item: Ranked, ask: Ask, related: Related) -> Hit:
    p = cast("dict[str, Any]", node.props)
    revision = "Revision" in node.labels
    text = _shown_text(p, revision=revision)
    status, note = (
        _status(reader, node, ask, related)
        if revision
        else ("deprecated" if p.get("deprecated") else "current", "")
    )
    unsupported = (related.unsupported or "") if revision else ""
    others = json.loads(related.other_sides) if related.other_sides != "[]" else ()
    contested = tuple(sorted(filter(None, others)))
    if revision and related.challenged:
        note += f"; contested by {', '.join(contested)}: {related.challenged} is to be decided"
    note += f"; its support is lost: {unsupported}" if unsupported else ""
    # a property of the wrong type in an older file must not keep the rest from being found
    attributes = attributes_of(p, born=node.born)
    return Hit(
        kref=str(p.get("kref", "")),
        type="revision" if revision else "exchange",
        kind=str(p.get("kind", "")),
        status=cast("Any", status),
        text=text,
        score=round(item.score, 4),
        lanes=_shown_lanes(item, ask),
        why=_why(reader, node, item) + note,
        time=attributes.time,
        recorded=node.born,
        valid_from=None if attributes.valid_from == -TIME_MAX else attributes.valid_from,
        valid_until=None if attributes.valid_until == TIME_MAX else attributes.valid_until,
        trust=trust_of(p),
        confidence=p.get("confidence", 1.0),
        project=str(p.get("project", "")),
        space=str(p.get("space", "")),
        speaker=p.get("speaker", p.get("author", "")),
        source=_source(node, related),
        source_id=p.get("source_id", ""),
        number=p.get("number"),
        tokens=tokens_of(text),
        unsupported=unsupported,
        contested=contested,
        repeated=item.repeated,
    )


def _shown_text(props: Mapping[str, Any], *, revision: bool) -> str:
    text = str(props.get("summary" if revision else "text", ""))
    return f"{props['title']}: {text}" if props.get("title") else text


def _shown_lanes(item: Ranked, ask: Ask) -> dict[str, float]:
    always = _ALWAYS_SHOWN.intersection(ask.lanes)
    return {
        name: round(value, 4)
        for name, value in item.lanes.items()
        if value is not None and (name in always or _is_notable(name, value))
    }


def _is_notable(name: str, value: float) -> bool:
    return value < 1 if name == "policy" else value >= constants.LANE_VALUE_MIN


def _status(reader: Reader, node: Node, ask: Ask, related: Related) -> tuple[str, str]:
    then = f"; believed at {format_time(ask.as_of)}" if ask.as_of is not None else ""
    if related.conflict:
        return "contested", f"; not believed: {related.conflict} is to be decided" + then
    if related.deprecated:
        return "deprecated", f"; deprecated since{then}" if then else "; deprecated"
    if related.current:
        window = attributes_of(node.props, born=node.born)
        if window.valid_until <= reader.now:
            return "expired", f"; valid until {format_time(window.valid_until)}" + then
        if window.valid_from > reader.now:
            return "not_yet_valid", f"; valid from {format_time(window.valid_from)}" + then
        return "current", then
    if related.successor:
        return "superseded", f"; superseded by {related.successor}" + then
    return "detached", then


def _source(node: Node, related: Related) -> str:
    """Where a memory comes from: the thread of an exchange; what a revision was derived from,
    otherwise its author."""
    if "Exchange" in node.labels:
        return str(node.props.get("thread", ""))
    return related.derived_from or f"author:{node.props.get('author', '')!s}"


def _why(reader: Reader, node: Node, item: Ranked) -> str:
    rule = rule_of(node.labels, reader.declared().search) if "Revision" in node.labels else None
    speaker = node.props.get("speaker")
    lane = {name: value or 0.0 for name, value in item.lanes.items()}
    parts = [_why_words(node, item, rule, lane["words"])]
    if item.lanes["meaning"] is not None:
        parts.append(f"meaning {lane['meaning']:.2f}{_matched_field(node, item, rule)}")
    if lane["entities"] == 1 and "speaker" not in node.props:
        parts.append("about what the question names")
    elif lane["entities"] == 1:
        parts.append(f"said by {quoted(str(speaker))}, whom the question names")
    elif lane["entities"] == np.float32(constants.PLACE):
        parts.append("said where the question asks for")
    elif lane["entities"] > 0:
        parts.append(f"said by {quoted(str(speaker))}, whose words are asked for")
    if lane["time"] > constants.WHY_TIME_MIN:
        parts.append("of the time that the question names")
    if lane["graph"] >= constants.LANE_VALUE_MIN:
        parts.append(_why_linked(item.linked))
    if lane["mentions"] >= constants.LANE_VALUE_MIN:
        parts.append("mentions what better hits mention")
    if lane["policy"] < 1:
        parts.append(f"faded to {lane['policy']:.0%} by its policy")
    if item.idle:
        parts.append("asks the same" if item.echo else "only asks or acknowledges")
    if item.updates:
        parts.append(f"{'updates' if item.revised else 'may update'} {item.updates}")
    if item.leads:
        parts.append(f"trusted more than {item.leads}, which is about the same")
    if item.repeated > 1:
        parts.append(f"said {item.repeated} times in nearly the same words by its source")
    return "; ".join(filter(None, parts)) or "best of what the filters let through"


# Of an edge between a hit and a memory: what the memory is to the hit, by the direction of the edge
# from the hit.
_EDGE_SAYS = {
    ("DERIVED_FROM", True): "{} is derived from it",
    ("DERIVED_FROM", False): "derived from {}",
    ("DEPENDS_ON", True): "{} depends on it",
    ("DEPENDS_ON", False): "depends on {}",
}


def _why_linked(linked: Linked) -> str:
    """Name the hit from which links lead to a memory, and the edges on the way."""
    if not linked.kref:
        return "linked with better hits"
    if len(linked.path) == 1 and linked.path[0] in _EDGE_SAYS:
        return _EDGE_SAYS[linked.path[0]].format(linked.kref)
    return f"linked with {linked.kref} by {' and '.join(kind for kind, _ in linked.path)}"


def _why_words(node: Node, item: Ranked, rule: SearchRule | None, coverage: float) -> str:
    """The words that a memory shares with the question, as it writes them, by where it contains
    them; those of little weight are left out."""
    held = [posting for posting in item.postings if posting.holds(item.row)]
    if not held:
        part = f"the adjacent turn shares words ({coverage:.0%} of the question)"
        return part if coverage >= constants.LANE_VALUE_MIN else ""
    weight = {one.term: inverse_document_frequency(item.project.count, one.held) for one in held}
    least = constants.WHY_WEIGHT_MIN * max(weight.values())
    own = [posting for posting in held if weight[posting.term] >= least]
    own = own[: constants.WHY_TERMS_MAX]
    fields = _field_of_terms(node, item, rule)
    written = _written_words(node, rule, {posting.term for posting in own})
    words: dict[str, list[str]] = {}
    for posting in own:
        word = written.get(posting.term, posting.term)
        words.setdefault(fields.get(posting.term, ""), []).append(
            word if posting.asked == posting.term else f"{posting.asked}~{word}"
        )
    shared = " and ".join(", ".join(words[place]) + place for place in sorted(words))
    return f"shares {shared} ({coverage:.0%} of the question)"


def _written_words(node: Node, rule: SearchRule | None, wanted: set[str]) -> dict[str, str]:
    """By index term of those `wanted`, the first word of a memory that it is the stem of."""
    texts = (
        [text_of(rule, node.props), *(text for _, text in entries_of(rule, node.props))]
        if rule
        else []
    )
    texts.append(str(node.props.get("text", "")))
    found: dict[str, str] = {}
    for text in texts:
        for word in _WORD.findall(text[:_CHARS_READ]):
            term = stem(word.casefold())
            if term in wanted and term not in found:
                found[term] = word
                if len(found) == len(wanted):
                    return found
    return found


def _field_of_terms(node: Node, item: Ranked, rule: SearchRule | None) -> dict[str, str]:
    """Of the terms that a belief shares with the question, those that its own text lacks, each with
    the field that contains it, such as " in its events"."""
    entries = entries_of(rule, node.props) if rule else []
    if rule is None or not entries:
        return {}
    shared = {posting.term for posting in item.postings if posting.holds(item.row)} - set(
        terms(text_of(rule, node.props))
    )
    found: dict[str, str] = {}
    for name, text in entries:
        for term in shared.intersection(terms(text)):
            found.setdefault(term, f" in its {name}")
    return found


def _matched_field(node: Node, item: Ranked, rule: SearchRule | None) -> str:
    """The field of a belief by which meaning found it, such as " by its events"."""
    fields = field_texts(rule, node.props) if rule and item.field else []
    number = item.field - FIELDS_FROM
    return f" by its {fields[number][0]}" if 0 <= number < len(fields) else ""
