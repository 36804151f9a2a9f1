"""From ranked rows to hits: read on the same snapshot, with status, source, a sentence why, and a
token budget kept exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from doxa.base.clock import TIME_MAX, format_time
from doxa.base.quoting import quoted
from doxa.base.words import terms
from doxa.recall.meaning import field_texts
from doxa.recall.shelf import Shelf
from doxa.recall.types import CHARS_PER_TOKEN, Ask, Hit
from doxa.recall.words import Posting
from doxa.store import (
    FIELDS_FROM,
    Node,
    Reader,
    SearchRule,
    attributes_of,
    entries_of,
    rule_of,
    text_of,
)

_TERMS_IN_WHY = 6
_NEAR = 0.5
_ALWAYS_TOLD = frozenset(("words", "meaning"))


class Ranked(NamedTuple):
    """One row that won a place, and what each lane said of it."""

    shelf: Shelf
    row: int
    score: float
    lanes: Mapping[str, float | None]  # meaning is None where there is no vector
    postings: list[Posting]
    restates: str = ""  # the turn that it was placed above for that
    field: int = 0  # the part of the field by which meaning found it


def tokens_of(text: str) -> int:
    """An estimate that every door shares: a token for every four characters, rounded up, at least
    one."""
    return max(1, -(-len(text) // CHARS_PER_TOKEN))


def read_hits(reader: Reader, ranked: list[Ranked], *, ask: Ask) -> list[Hit]:
    """The hits in their order. A row whose node is gone on this snapshot is left out."""
    identities = [int(item.shelf["node"][item.row]) for item in ranked]
    nodes: dict[int, Node] = {
        node.id: node for node in reader.nodes([i for i in identities if i > 0])
    }
    return [
        _hit(reader, nodes[i], item, ask)
        for i, item in zip(identities, ranked, strict=True)
        if i in nodes
    ]


def _hit(reader: Reader, node: Node, item: Ranked, ask: Ask) -> Hit:
    p = cast("dict[str, Any]", node.props)
    revision = "Revision" in node.labels
    text = str(p.get("summary" if revision else "text", ""))
    if p.get("title"):
        text = f"{p['title']}: {text}"
    status, noted = (
        _status(reader, node, ask)
        if revision
        else ("deprecated" if p.get("deprecated") else "current", "")
    )
    unsupported = _unsupported(reader, node) if revision else ""
    noted += f"; its support is lost: {unsupported}" if unsupported else ""
    rule = rule_of(node.labels, reader.declared().search) if revision else None
    why = _why(
        item,
        p,
        said_in=_said_in(node, item, rule),
        meant_in=_meant_in(node, item, rule),
        noted=noted,
    )
    on = _ALWAYS_TOLD.intersection(ask.lanes)
    told = {
        name: round(value, 4)
        for name, value in item.lanes.items()
        if value is not None and (name in on or _speaks(name, value))
    }
    said = attributes_of(
        p, born=node.born
    )  # what an older file holds in another type must not keep the rest from being found
    return Hit(
        kref=str(p.get("kref", "")),
        type="revision" if revision else "exchange",
        kind=str(p.get("kind", "")),
        status=cast("Any", status),
        text=text,
        score=round(item.score, 4),
        lanes=told,
        why=why,
        time=said.time,
        recorded=node.born,
        valid_from=None if said.valid_from == -TIME_MAX else said.valid_from,
        valid_until=None if said.valid_until == TIME_MAX else said.valid_until,
        trust=p.get("trust", "stated"),
        confidence=p.get("confidence", 1.0),
        project=str(p.get("project", "")),
        space=str(p.get("space", "")),
        speaker=p.get("speaker", p.get("author", "")),
        source=_source(reader, node, p),
        source_id=p.get("source_id", ""),
        number=p.get("number"),
        tokens=tokens_of(text),
        unsupported=unsupported,
    )


def _speaks(name: str, value: float) -> bool:
    """Whether a lane has something to say of a hit."""
    return value < 1 if name == "policy" else value >= 0.005


def _status(reader: Reader, node: Node, ask: Ask) -> tuple[str, str]:
    rows = reader.rows(
        "SELECT (SELECT count(*) FROM edge WHERE dst = ?1 AND type = 'CURRENT'), (SELECT n.props"
        " ->> '$.deprecated' FROM edge e JOIN node n ON n.id = e.src WHERE e.dst = ?1 AND e.type ="
        " 'HAS_REVISION'), (SELECT s.props ->> '$.kref' FROM edge e JOIN node s ON s.id = e.src"
        " WHERE e.dst = ?1 AND e.type = 'SUPERSEDES' ORDER BY e.id DESC LIMIT 1), (SELECT c.props"
        " ->> '$.kref' FROM edge e JOIN node c ON c.id = e.src WHERE e.dst = ?1 AND e.type ="
        " 'CHALLENGER' AND c.props ->> '$.decision' IS NULL LIMIT 1)",
        (node.id,),
    )
    current, deprecated, successor, conflict = rows[0]
    then = f"; believed at {format_time(ask.as_of)}" if ask.as_of is not None else ""
    if conflict:
        return "contested", f"; not believed: {conflict} is to be decided" + then
    if deprecated:
        return "deprecated", "; deprecated since" + then
    if current:
        window = attributes_of(node.props, born=node.born)
        if window.valid_until <= reader.now:
            return "expired", f"; valid until {format_time(window.valid_until)}" + then
        if window.valid_from > reader.now:
            return "not_yet_valid", f"; valid from {format_time(window.valid_from)}" + then
        return "current", then
    if successor:
        return "superseded", f"; superseded by {successor}" + then
    return "detached", then


def _unsupported(reader: Reader, node: Node) -> str:
    sql = (
        "SELECT t.props ->> '$.cause', n.props ->> '$.kref' FROM edge t LEFT JOIN node n ON n.id ="
        " t.props ->> '$.ground' WHERE t.dst = ? AND t.type = 'TAG' AND t.props ->> '$.name' ="
        " 'unsupported'"
    )
    return next(
        (
            f"{cause}: {ground}" if ground else str(cause)
            for cause, ground in reader.rows(sql, (node.id,))
        ),
        "",
    )


def _source(reader: Reader, node: Node, props: dict[str, Any]) -> str:
    """Where it comes from: the thread of an exchange; what a revision was derived from, else who
    wrote it."""
    if "Exchange" in node.labels:
        return str(props.get("thread", ""))
    rows = reader.rows(
        f"SELECT n.props ->> '$.kref' FROM edge e JOIN {reader.sight().table(edge=False)} n ON n.id"
        " = e.dst WHERE e.src = ? AND e.type = 'DERIVED_FROM' ORDER BY e.id LIMIT 1",
        (node.id,),
    )
    return str(rows[0][0]) if rows else f"author:{props.get('author', '')}"


def _said_in(node: Node, item: Ranked, rule: SearchRule | None) -> dict[str, str]:
    """Of the terms that a belief shares with the question, those that no word of its own text has:
    where they are said, such as " in its events"."""
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


def _meant_in(node: Node, item: Ranked, rule: SearchRule | None) -> str:
    """The field of a belief by which meaning found it, such as " by its events"."""
    fields = field_texts(rule, node.props) if rule and item.field else []
    number = item.field - FIELDS_FROM
    return f" by its {fields[number][0]}" if 0 <= number < len(fields) else ""


def _why(
    item: Ranked, props: dict[str, Any], *, said_in: Mapping[str, str], meant_in: str, noted: str
) -> str:
    parts: list[str] = []
    own = [p for p in item.postings if p.holds(item.row)]
    lane = {name: value or 0.0 for name, value in item.lanes.items()}
    if own:
        words: dict[str, list[str]] = {}
        for p in own[:_TERMS_IN_WHY]:
            words.setdefault(said_in.get(p.term, ""), []).append(
                p.asked if p.asked == p.term else f"{p.asked}~{p.term}"
            )
        shared = " and ".join(", ".join(words[place]) + place for place in sorted(words))
        parts.append(f"shares {shared} ({lane['words']:.0%} of the question)")
    elif lane["words"] > 0:
        parts.append(f"the turn beside it shares words ({lane['words']:.0%} of the question)")
    if item.lanes["meaning"] is not None:
        parts.append(f"meaning {lane['meaning']:.2f}{meant_in}")
    if lane["entities"] == 1 and "speaker" not in props:
        parts.append("about what the question names")
    elif lane["entities"] == 1:
        parts.append(f"said by {quoted(str(props.get('speaker')))}, whom the question names")
    elif lane["entities"] > 0:
        parts.append(f"said by {quoted(str(props.get('speaker')))}, whose words are asked for")
    if lane["time"] > _NEAR:
        parts.append("of the time that the question names")
    if lane["graph"] > 0:
        parts.append("linked with better hits")
    if lane["policy"] < 1:
        parts.append(f"faded to {lane['policy']:.0%} by its policy")
    if item.restates:
        parts.append(f"said later and otherwise than {item.restates}, so placed above it")
    return ("; ".join(parts) or "best of what the filters let through") + noted


def fit_budget(hits: list[Hit], tokens_max: int | None) -> tuple[list[Hit], int]:
    """Keep hits in order while they fit; the first that does not is cut to what is left if that is
    worth reading. Never over budget."""
    if tokens_max is None:
        return hits, sum(hit.tokens for hit in hits)
    kept: list[Hit] = []
    left = tokens_max
    for hit in hits:
        if hit.tokens > left:
            room = left * CHARS_PER_TOKEN - 1
            if room >= 40 or (not kept and room > 0):
                text = hit.text[:room] + "…"
                kept.append(replace(hit, text=text, tokens=tokens_of(text), truncated=True))
                left -= tokens_of(text)
            break
        kept.append(hit)
        left -= hit.tokens
    return kept, tokens_max - left
