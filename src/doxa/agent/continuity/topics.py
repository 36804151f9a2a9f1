"""Topics of conversations: what people come back to, what is talked about together, and which topic
belongs to which.

A topic is a name, or a word of some length, that people say in at least two exchanges. Its parent
is the topic that is more frequent and goes with most of its exchanges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from doxa.agent.continuity.exchanges import ExchangePair
from doxa.base.limits import CONTINUITY_TURN_CHARS_MAX
from doxa.base.words import STOP_WORDS, stem, words_of
from doxa.store import UNTRUSTED, Node

_WORD_CHARS_MIN = 5
_MENTIONS_MIN = 2
_PARENT_MENTIONS_MIN = 3
_PARENT_SHARE = 0.6  # of a topic's exchanges that its parent is in
_TOGETHER_MAX = 5
_PEOPLE = frozenset(("user", "person"))


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic: in how many exchanges people said it, when first and last, the topic that it belongs
    to, and with which it was said, with the number of exchanges."""

    topic: str
    mentions: int
    first: int
    last: int
    parent: str = ""
    together: tuple[tuple[str, int], ...] = ()


def topics_of(
    pairs: Sequence[ExchangePair], turns: Sequence[Node], *, limit: int
) -> list[TopicInfo]:
    """Return the topics of exchanges, the most frequent first."""
    nodes = {str(node.props["kref"]): node for node in turns}
    said: dict[str, Counter[str]] = {}  # how a topic is written
    held: dict[str, list[int]] = {}  # the pairs that it is in
    for number, pair in enumerate(pairs):
        found: set[str] = set()
        for turn in pair.turns:
            node = nodes.get(turn.kref)
            if node is None or turn.role not in _PEOPLE or node.props.get("trust") == UNTRUSTED:
                continue
            for key, word in _named(node):
                said.setdefault(key, Counter())[word] += 1
                found.add(key)
        for key in found:
            held.setdefault(key, []).append(number)
    kept = {key: numbers for key, numbers in held.items() if len(numbers) >= _MENTIONS_MIN}
    together = _together(kept)
    times = [pair.time for pair in pairs]
    written = {key: min(said[key], key=lambda one: (-said[key][one], one)) for key in kept}
    made = [
        TopicInfo(
            written[key],
            len(numbers),
            times[numbers[0]],
            times[numbers[-1]],
            _parent(key, kept, together[key], written),
            tuple(
                (written[other], count)
                for other, count in sorted(
                    together[key].items(), key=lambda one: (-one[1], written[one[0]])
                )[:_TOGETHER_MAX]
            ),
        )
        for key, numbers in kept.items()
    ]
    return sorted(made, key=lambda one: (-one.mentions, -one.last, one.topic))[:limit]


def _named(node: Node) -> list[tuple[str, str]]:
    """The names and long words of a turn, each as a key and as it is written."""
    names = node.props.get("entities") or ()
    found = [(" ".join(words_of(str(name))), str(name)) for name in names]  # type: ignore[union-attr]
    parts = {part for key, _ in found for part in key.split()}
    for word in words_of(str(node.props["text"])[:CONTINUITY_TURN_CHARS_MAX]):
        if len(word) >= _WORD_CHARS_MIN and word not in STOP_WORDS and word not in parts:
            found.append((stem(word), word))
    return [one for one in found if one[0]]


def _together(held: dict[str, list[int]]) -> dict[str, Counter[str]]:
    by_pair: dict[int, list[str]] = {}
    for key, numbers in held.items():
        for number in numbers:
            by_pair.setdefault(number, []).append(key)
    found: dict[str, Counter[str]] = {key: Counter() for key in held}
    for keys in by_pair.values():
        for one in keys:
            found[one].update(other for other in keys if other != one)
    return found


def _parent(
    key: str, held: dict[str, list[int]], together: Counter[str], written: dict[str, str]
) -> str:
    """The most frequent topic that goes with most of this one's exchanges and has more itself."""
    own = len(held[key])
    able = [
        other
        for other, count in together.items()
        if count > _PARENT_SHARE * own
        and len(held[other]) > own
        and len(held[other]) >= _PARENT_MENTIONS_MIN
    ]
    return written[min(able, key=lambda one: (-len(held[one]), written[one]))] if able else ""
