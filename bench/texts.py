"""Text without end for the speed figures: a Zipf vocabulary in topics, or the turns of a real
conversation with words exchanged.

The first two words of a text are its topic; CloudEmbedder puts texts of one topic near each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from doxa.language.turns import Turn

SESSION_TURNS = 20
_VOCABULARY = 20_000
_ZIPF = 1.07
_LENGTH_MEAN = 18
_EXCHANGED = 0.3
_START_NS = 1_700_000_000 * 10**9
_MINUTE_NS = 60 * 10**9
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu".split()
_SPEAKERS = ("Xanthe", "Ysolde")  # no word of the vocabulary, so that no question names one


def turns_of(count: int, *, seed: int, sample: Sequence[Turn] = ()) -> Iterator[Turn]:
    """`count` turns in sessions of twenty; their source ids are 0, 1, 2 ..."""
    rng = np.random.default_rng(seed)
    texts = _perturbed(sample, rng) if sample else _synthetic(rng)
    for number in range(count):
        thread, session = f"thread-{number // 1_000}", f"session-{number // SESSION_TURNS}"
        yield Turn(
            thread,
            session,
            _SPEAKERS[number % 2],
            "person",
            next(texts),
            _START_NS + number * _MINUTE_NS,
            str(number),
        )


def questions_of(turns: Sequence[Turn], count: int, *, seed: int) -> list[str]:
    """Questions made of some words of some turns, distinct, topic first."""
    return list(sources_of(turns, count, seed=seed))


def sources_of(turns: Sequence[Turn], count: int, *, seed: int) -> dict[str, int]:
    """The same questions, each with the place of the turn whose words it has."""
    rng = np.random.default_rng(seed)
    found: dict[str, int] = {}
    while len(found) < count:
        place = int(rng.integers(len(turns)))
        words = turns[place].text.split()
        kept = [word for word in words[2:] if rng.random() < 0.4]
        found.setdefault(" ".join([*words[:2], *kept[:6]]), place)
    return found


def _synthetic(rng: np.random.Generator) -> Iterator[str]:
    words = _words()
    weights = 1 / np.arange(1, len(words) + 1) ** _ZIPF
    weights /= weights.sum()
    topics = max(50, len(words) // 20)
    while True:
        topic = int(rng.integers(topics))
        drawn = rng.choice(len(words), size=int(rng.poisson(_LENGTH_MEAN)) + 3, p=weights)
        yield " ".join([words[-1 - topic], words[-2 - topic], *(words[i] for i in drawn)])


def _perturbed(sample: Sequence[Turn], rng: np.random.Generator) -> Iterator[str]:
    texts = [text for turn in sample if len(text := turn.text.split()) > 3]
    pool = [word for text in texts for word in text]
    while True:
        text = texts[int(rng.integers(len(texts)))]
        exchange = rng.random(len(text)) < _EXCHANGED
        exchange[:2] = False
        others = rng.integers(len(pool), size=len(text))
        yield " ".join(
            pool[other] if change else word
            for word, change, other in zip(text, exchange, others, strict=True)
        )


def _words() -> list[str]:
    """The vocabulary: numbers spelt in syllables, so that no two are near in spelling by chance
    more often than in a language."""
    words = []
    for number in range(_VOCABULARY):
        rest, parts = number + len(_SYLLABLES) ** 3, []
        while rest:
            rest, digit = divmod(rest, len(_SYLLABLES))
            parts.append(_SYLLABLES[digit])
        words.append("".join(parts))
    return words
