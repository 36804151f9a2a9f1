"""What trust does to a ranking: nothing planted goes before what is trusted more and says something
about the same.

    repeats   turns of one speaker and thread in nearly the same words are one hit with a count
    leader    the verified belief that most speaks for goes above each less trusted hit that is
              about the same; the stated belief that most speaks for above an assistant's turn
    lanes     untrusted hits come after the trusted ones that stand out, however high their score

Trust does not otherwise change a rank: a verified belief about something else stays where its score
puts it. Two memories are about the same if their vectors are TRUST_ALIKE standard deviations nearer
than memories on average, and at least TRUST_EVIDENCE of what speaks for the one speaks for the
other; without vectors, if the leader covers TRUST_WORDS of what the other covers of the question.
An untrusted source may call itself whatever it likes: all of them count as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from doxa.base.lookalikes import has_lookalike
from doxa.base.patterns import lazy_re
from doxa.base.words import runs_of
from doxa.recall import constants
from doxa.recall.candidates import CandidateSet
from doxa.recall.hits import Ranked
from doxa.recall.threshold import above_threshold
from doxa.recall.types import Hit
from doxa.store import (
    INDEXED_PARTS,
    PARTS,
    UNTRUSTED,
    Reader,
    int64_array,
    row_products,
    unpack_parts,
    unpack_vectors,
    vector_id,
)

_PARTS = f"""
SELECT v.doc, v.part, v.data FROM carray(?) f
  CROSS JOIN vector v ON v.id BETWEEN f.value AND f.value + {PARTS - 1}
"""
_VALUE = lazy_re(r"\w*\d\w*|(?<=[^\s.!?] )[A-Z]\w*")  # a number, code or name


def is_untrusted(item: Ranked) -> bool:
    """Return whether a hit belongs after those that are trusted: its source is not, or its text
    passes off letters of one alphabet as another's and nobody verified it."""
    trust = item.said.trust
    return trust == UNTRUSTED or (trust != "verified" and has_lookalike(item.said.text))


def merge_repeats(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Keep the best of the turns of one source that say nearly the same, with their number."""
    kept: list[Ranked] = []
    sources: dict[object, list[tuple[int, int]]] = {}  # length and place of kept turns
    words: dict[int, frozenset[str]] = {}  # of kept turns that were compared, by place
    for item in ranked:
        low = is_untrusted(item)
        if not (low or item.said.turn):
            kept.append(item)
            continue
        thread = int(item.project["thread"][item.row])
        source = item.project.scope, *((UNTRUSTED,) if low else (thread, item.said.by))
        own = sources.setdefault(source, [])
        least = constants.REPEATED_UNTRUSTED if low else constants.REPEATED
        length = len(item.said.text)
        near = [at for size, at in own if least * size <= length and least * length <= size]
        same = None
        if near:
            said = _words(item.said.text)
            same = _repeated(item, said, kept, near, words, least=least, loose=low)
            if same is None:
                words[len(kept)] = said
        if same is None:
            own.append((length, len(kept)))
            kept.append(item)
        else:
            kept[same] = kept[same]._replace(repeated=kept[same].repeated + item.repeated)
    return kept


def _repeated(
    item: Ranked,
    own: frozenset[str],
    kept: Sequence[Ranked],
    places: Sequence[int],
    words: dict[int, frozenset[str]],
    *,
    least: float,
    loose: bool,
) -> int | None:
    """The first of these turns with which an item shares so many of its `own` words. What a trusted
    source says twice with another number or name (not `loose`), it did not repeat."""
    for place in places:
        if place not in words:
            words[place] = _words(kept[place].said.text)
        held = words[place]
        shared = len(own & held)
        if shared < least * (len(own) + len(held) - shared):
            continue
        text = kept[place].said.text
        if loose or set(_VALUE.findall(item.said.text)) == set(_VALUE.findall(text)):
            return place
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(runs_of(text.casefold()))


def put_leaders_first(
    reader: Reader, candidates: list[CandidateSet], ranked: list[Ranked], *, side: str
) -> list[Ranked]:
    """Place a verified belief above the first less trusted hit about the same, and a stated one
    above an assistant's turn unless the question asks for the assistant's `side`."""
    ranked = _lead(reader, candidates, ranked, {"verified"}, assistant=False)
    if side == "assistant":
        return ranked
    return _lead(reader, candidates, ranked, {"verified", "stated"}, assistant=True)


def _lead(
    reader: Reader,
    candidates: list[CandidateSet],
    ranked: list[Ranked],
    leading: set[str],
    *,
    assistant: bool,
) -> list[Ranked]:
    """Move the belief of these labels for which most speaks above the first hit that it leads."""
    leaders = [
        place
        for place, item in enumerate(ranked)
        if not item.said.turn and item.said.trust in leading and not is_untrusted(item)
    ]
    if not leaders:
        return ranked
    leader = max(leaders, key=lambda place: (_strength(ranked[place]), -place))
    below = [
        place
        for place, item in enumerate(ranked[: min(leader, constants.UPDATE_HITS)])
        if (item.said.by[0] == "assistant" if assistant else item.said.trust not in leading)
    ]
    if not below:
        return ranked
    best = ranked[leader]
    alike = _likeness(reader, candidates, best, [ranked[place] for place in below])
    for place, near in zip(below, alike, strict=True):
        other = ranked[place]
        if _is_about_the_same(best, other, near):
            led = best._replace(score=other.score, leads=other.said.kref)
            return [*ranked[:place], led, *ranked[place:leader], *ranked[leader + 1 :]]
    return ranked


def _likeness(
    reader: Reader, candidates: list[CandidateSet], leader: Ranked, others: list[Ranked]
) -> list[float | None]:
    """How much nearer the leader is to each other hit, or to the nearest sentence of it, than
    memories on average, in standard deviations; None where one has no vector. A text that first
    repeats the question is no less about the same."""
    found: list[float | None] = [None] * len(others)
    project = leader.project
    (owner,) = (one for one in candidates if one.project is project)
    own = {item.row: place for place, item in enumerate(others) if item.project is project}
    rows = [leader.row, *own]
    data = reader.rows(_PARTS, (int64_array([vector_id(project.scope, row) for row in rows]),))
    whole = next((row[2] for row in data if row[:2] == (leader.row, 0)), None)
    if whole is None or owner.average is None:
        return found
    vector = unpack_vectors([whole])[0]
    for unpacked, parts in (
        (unpack_vectors, [row for row in data if row[1] < INDEXED_PARTS]),
        (unpack_parts, [row for row in data if row[1] >= INDEXED_PARTS]),
    ):
        if not parts:
            continue
        cosines = row_products(unpacked([row[2] for row in parts], len(vector)), vector)
        apart = (cosines - owner.calibration.mean) / owner.calibration.spread
        for (row, *_), value in zip(parts, apart.tolist(), strict=True):
            place = own.get(row)
            if place is not None:
                before = found[place]
                found[place] = value if before is None else max(before, value)
    return found


def _strength(item: Ranked) -> tuple[float, float]:
    """What speaks for a hit; of hits without vectors, what they cover of the question."""
    covered = item.lanes["words"] or 0.0
    return (covered if item.evidence is None else item.evidence), covered


def _is_about_the_same(leader: Ranked, other: Ranked, near: float | None) -> bool:
    if near is None or leader.evidence is None or other.evidence is None:
        held = constants.TRUST_WORDS * (other.lanes["words"] or 0.0)
        return (leader.lanes["words"] or 0.0) >= held > 0
    least = constants.TRUST_EVIDENCE * other.evidence
    return near >= constants.TRUST_ALIKE and leader.evidence >= max(least, 0.0)


def standing_out(ranked: list[Ranked], *, searched: int, trusted: int) -> list[Ranked]:
    """Return the hits that stand out: the trusted ones among the `trusted` memories of those
    searched, so that nothing planted raises their threshold; untrusted ones among all."""
    high = [item for item in ranked if not is_untrusted(item)]
    if len(high) == len(ranked):
        return above_threshold(ranked, searched=trusted)
    kept = {_key(item) for item in above_threshold(high, searched=trusted)}
    everything = {_key(item) for item in above_threshold(ranked, searched=searched)}
    return [item for item in ranked if _key(item) in (everything if is_untrusted(item) else kept)]


def order_by_lane(ranked: list[Ranked], *, searched: int) -> list[Ranked]:
    """Put the trusted hits that stand out among the trusted memories `searched` first; the others,
    untrusted ones among them, follow by score."""
    trusted = [item for item in ranked if not is_untrusted(item)]
    if len(trusted) == len(ranked) or not trusted:
        return ranked
    standing = {_key(item) for item in above_threshold(trusted, searched=searched)}
    first = [item for item in ranked if _key(item) in standing]
    return first + [item for item in ranked if _key(item) not in standing]


def untrusted_last(hits: list[Hit]) -> list[Hit]:
    """Return the hits with those of untrusted sources last, otherwise in order."""
    return sorted(hits, key=lambda hit: hit.trust == UNTRUSTED)


def _key(item: Ranked) -> tuple[int, int]:
    return item.project.scope, item.row
