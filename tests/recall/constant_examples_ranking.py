"""One example for each constant of fusion, questions, restatements, answerability and hits, worked
out by hand from the documented formulas and rules, never from the constant itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from doxa.models import OverlapReranker
from doxa.recall import answerability, hits
from doxa.recall.budget import fit_budget, tokens_of
from doxa.recall.candidates import Scale
from doxa.recall.diversity import diversify, filter_siblings
from doxa.recall.expansion import split_question
from doxa.recall.framing import framed
from doxa.recall.fusion import LANES, fuse, gate
from doxa.recall.hits import Ranked
from doxa.recall.lanes.words import Posting
from doxa.recall.question import read_question
from doxa.recall.ranking import hits_to_read, merge_expansion
from doxa.recall.rerank import rerank
from doxa.recall.threshold import above_threshold
from doxa.recall.types import Ask, Hit
from doxa.recall.updates import ComparedValue, RankedTurn, reorder, stated_values
from tests.fixtures_shared import opened
from tests.recall.constant_examples import (
    EXAMPLES,
    START,
    CompassEmbedder,
    Floats,
    calibrated,
    example,
    ferries,
    memory_of,
    near,
)

__all__ = ["EXAMPLES"]


# Fusion: the score of one candidate, by one lane at a time


def score(
    *, mode: str = "auto", belief: float = 0, statement: bool = False, **lanes: float
) -> float:
    values = dict.fromkeys(LANES, 0.0) | {"meaning": 0.3, "policy": 1.0} | lanes
    arrays = {name: np.array([value], dtype=np.float32) for name, value in values.items()}
    made = fuse(
        arrays,
        average=0.3,
        spread=0.1,
        belief=np.array([belief], dtype=np.float32),
        mode=mode,
        statement=statement,
    )
    return float(made[0])


@example("MEANING")
def a_deviation_of_meaning_weighs_27_hundredths() -> None:
    near(score(meaning=0.5), 0.54)


@example("WORDS")
def words_weigh_six_tenths_by_their_gate() -> None:
    """Half of the question covered opens the gate to 1/4 / (1/4 + 9/400) = 100/109."""
    near(score(words=0.5), 60 / 109)


@example("C")
def the_gate_is_half_open_at_15_hundredths() -> None:
    near(score(words=0.15), 0.3)
    near(gate(0.3, statement=False), 0.8)


@example("C_STATEMENT")
def the_gate_of_a_statement_is_half_open_at_a_half() -> None:
    near(score(words=0.5, statement=True), 0.3)


@example("ENTITIES")
def entities_weigh_a_third() -> None:
    near(score(entities=1), 1 / 3)


@example("TIME")
def time_weighs_a_quarter() -> None:
    near(score(time=1), 1 / 4)


@example("GRAPH")
def links_weigh_two_fifths() -> None:
    near(score(graph=0.5), 1 / 5)


@example("RECENCY")
def recency_weighs_a_twentieth() -> None:
    near(score(recency=1), 1 / 20, 1e-6)


@example("POLICY")
def what_a_policy_takes_weighs_three_tenths() -> None:
    near(score(policy=0), -3 / 10)


@example("BETA", "BELIEF")
def mode_max_weighs_a_belief_by_its_cosine() -> None:
    near(score(mode="max", meaning=0.8, belief=1), 0.68)


@example("TURN")
def mode_max_weighs_a_turn_nine_tenths() -> None:
    near(score(mode="max", words=0.7), 0.63)


def two_scores(mode: str, *, words: Sequence[float], meaning: Sequence[float]) -> list[float]:
    lanes = {name: np.zeros(2, dtype=np.float32) for name in LANES}
    lanes["words"], lanes["meaning"] = np.float32(words), np.float32(meaning)  # type: ignore[assignment]
    lanes["policy"] = np.ones(2, dtype=np.float32)
    belief = np.zeros(2, dtype=np.float32)
    found = fuse(lanes, average=0, spread=1, belief=belief, mode=mode, statement=False)
    return [float(value) for value in found]


@example("ALPHA")
def mode_convex_gives_meaning_six_tenths() -> None:
    assert two_scores("convex", words=(0.5, 0), meaning=(0, 0.6)) == pytest.approx([0.4, 0.6])


@example("RANKS")
def mode_rrf_adds_sixty_to_a_rank() -> None:
    found = two_scores("rrf", words=(0.5, 0.4), meaning=(0.9, 0.8))
    assert found == pytest.approx([2 / 61, 2 / 62], abs=1e-7)


@example("THREAD")
def a_memory_of_the_asking_thread_counts_nine_fifths() -> None:
    with memory_of("The ferry is late", "The ferry is late", embedder=None) as memory:
        thread = memory.recall("ferry", project="p", lanes=("words",)).hits[1].source
        first, second = memory.recall(
            "ferry", project="p", lanes=("words",), from_thread=thread
        ).hits
        assert first.source == thread
        near(first.score / second.score, 9 / 5, 1e-3)


# Reading a question, expansion


@example("STATEMENT_WORDS_MIN")
def a_statement_has_six_words() -> None:
    assert read_question("I threw my old shoes away").statement
    assert not read_question("I threw my shoes away").statement
    assert read_question("I threw my old shoes away " + "again " * 60).statement


@example("QUESTION_TERMS_MIN")
def two_terms_remain_of_a_question() -> None:
    assert read_question("Can you list the ferry ports?").text == "the ferry ports?"
    assert read_question("Can you list the ferries?").text == "Can you list the ferries?"


@example("PART_TERMS_MIN")
def a_part_of_a_question_has_two_terms() -> None:
    assert split_question("Where is Bo, and who steers?") == []
    assert split_question("Where sails Bo, and who steers boats?") == [
        "Where sails Bo",
        "who steers boats",
    ]


@example("EXPANSIONS_MAX")
def four_expansions_are_searched() -> None:
    parts = [f"boat {number} sails" for number in range(60)]
    assert split_question("; ".join(parts)) == parts[:4]


def ranked(
    *, row: int = 0, score: float = 1.0, postings: Sequence[Posting] = (), **lanes: float | None
) -> Ranked:
    values = dict.fromkeys(LANES, 0.0) | {"meaning": None, "policy": 1.0} | lanes
    project: Any = SimpleNamespace(scope=1)
    return Ranked(project, row, score, values, list(postings))


@example("EXPANSION_WEIGHT")
def what_an_expansion_finds_counts_nine_tenths() -> None:
    others = [ranked(row=1, score=4), ranked(row=2, score=2)]
    merged = merge_expansion([ranked(score=2)], others)
    assert [item.score for item in merged] == pytest.approx([2, 1.8, 0.9])


# Restatements


def overtakes(followers: int) -> bool:
    """Whether a restatement is moved up that so many turns separate from what it restates."""
    question = "What is the deadline of the ferry timetable?"
    first = "The ferry timetable deadline: ferry timetable deadline is April 1"
    later = "The ferry people have told me about other things and that the deadline is now April 5"
    names = "abcdefghijklmnopqrstuvwxyz"[:followers]
    crowd = [{"speaker": "Bo", "text": f"ferry timetable deadline note {x}"} for x in names]
    said = [{"speaker": "Ana", "text": first}, *crowd, {"speaker": "Ana", "text": later}]
    turns = [
        turn | {"thread": str(number), "time": START + number} for number, turn in enumerate(said)
    ]
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        memory.ingest(turns, extract=False)
        plain = memory.recall(question, lanes=("words",), limit=40, history=True).hits
        assert plain[-1].text == later  # the last of them all
        found = memory.recall(question, lanes=("words",), limit=40).hits
        return any("otherwise" in hit.why for hit in found)


@example("UPDATE_HITS")
def a_restatement_is_looked_for_among_twenty_hits() -> None:
    assert overtakes(18) and not overtakes(19)


def moved(question: str, weights: dict[str, float], *texts: str) -> list[int]:
    turns = [RankedTurn(1, (number, number), text) for number, text in enumerate(texts)]
    return [place for place, _ in reorder(question, weights, turns)]


@example("UPDATE_MOVES_MAX")
def three_turns_are_moved_up() -> None:
    texts = [f"the new deadline is April {day}" for day in range(1, 31)]
    assert moved("What is the deadline?", {"deadlin": 1.0}, *texts)[:5] == [3, 2, 1, 0, 4]


def least_share(earlier: str, later: str) -> list[bool]:
    """Whether a later turn that shares 19, 20, 39 and 40 hundredths of a question is moved up."""
    return [
        moved("What is the sprint deadline?", {"deadlin": part, "sprint": 1 - part}, earlier, later)
        == [1, 0]
        for part in (0.19, 0.2, 0.39, 0.4)
    ]


@example("UPDATE_OVERLAP")
def values_share_four_tenths_of_a_question() -> None:
    found = least_share("the sprint deadline is April 1", "one deadline is April 5")
    assert found == [False, False, False, True]


@example("UPDATE_OVERLAP_CHANGED")
def values_share_two_tenths_near_a_word_of_change() -> None:
    found = least_share("the sprint deadline is April 1", "one deadline is now April 5")
    assert found == [False, True, True, True]


@example("UPDATE_OVERLAP_REPLACED")
def a_replacement_without_a_value_shares_four_tenths() -> None:
    found = least_share("the sprint deadline is near", "one deadline was postponed")
    assert found == [False, False, False, True]


def stated(text: str) -> ComparedValue | None:
    """What a text states about the deadline, if anything; "la" is a word of no meaning."""
    from doxa.recall import updates

    topic = updates._topic("What is the deadline?", {"deadlin": 1.0})
    return next(iter(stated_values(text, topic)[:-1]), None)


@example("VALUE_WORDS_BEFORE")
def twenty_words_before_a_value_belong_to_it() -> None:
    assert stated("deadline " + "la " * 19 + "7") and not stated("deadline " + "la " * 20 + "7")


@example("VALUE_WORDS_AFTER")
def twenty_words_after_a_value_belong_to_it() -> None:
    assert stated("7 " + "la " * 19 + "deadline") and not stated("7 " + "la " * 20 + "deadline")


def flags(text: str) -> tuple[bool, bool]:
    found = stated(text)
    assert found is not None
    return found.changed, found.goal


@example("CHANGE_WORDS_BEFORE")
def a_word_of_change_counts_twelve_words_before_a_value() -> None:
    assert flags("now " + "la " * 10 + "deadline 7")[0]
    assert not flags("now " + "la " * 11 + "deadline 7")[0]


@example("CHANGE_WORDS_AFTER")
def a_word_of_change_counts_six_words_after_a_value() -> None:
    assert flags("deadline 7 " + "la " * 5 + "now")[0]
    assert not flags("deadline 7 " + "la " * 6 + "now")[0]


@example("GOAL_WORDS_BEFORE")
def a_word_of_a_goal_counts_eight_words_before_a_value() -> None:
    assert flags("goal " + "la " * 6 + "deadline 7")[1]
    assert not flags("goal " + "la " * 7 + "deadline 7")[1]


@example("UNIT_WORDS")
def three_words_after_a_number_can_be_its_unit() -> None:
    colours = "red green blue black white grey pink " * 6
    found = stated("deadline 7 " + colours)
    assert found is not None and found.units == {"red", "green", "blue"}
    found = stated("deadline 7 la le li lo lu " + "lala " * 30)
    assert found is not None and len(found.units) == 3


# What happens to a ranking


def kept(cosine: float, *, searched: int, words: float = 0.0) -> bool:
    scale = Scale(0.3, 0.1, 0.0)
    item = ranked(meaning=cosine, words=words)
    return bool(above_threshold([item], scale, names=frozenset(), searched=searched))


@example("STRICT_DEVIATIONS")
def a_hit_of_many_memories_lies_two_deviations_above_the_mean() -> None:
    assert [kept(cosine, searched=90_000) for cosine in (0.49, 0.51)] == [False, True]


@example("STRICT_DEVIATIONS_FEW")
def a_hit_of_few_memories_lies_one_deviation_above_the_mean() -> None:
    assert [kept(cosine, searched=20) for cosine in (0.39, 0.41)] == [False, True]


@example("STRICT_MEMORIES_FEW")
def fewer_than_two_thousand_memories_are_few() -> None:
    assert [kept(0.45, searched=searched) for searched in (1_999, 2_000)] == [True, False]


@example("STRICT_COVERAGE")
def a_quarter_of_the_question_is_enough() -> None:
    assert [kept(0, searched=20, words=words) for words in (0.24, 0.25)] == [False, True]


def hit(kref: str = "kref://p/a.fact?r=1", **values: Any) -> Hit:
    usual: dict[str, Any] = dict.fromkeys(Hit.__dataclass_fields__, "")
    usual |= {"time": 0, "recorded": 0, "score": 0.0, "lanes": {}, "tokens": 1, "text": "x"}
    usual |= {"truncated": False, "type": "revision", "status": "current", "kind": "fact"}
    return Hit(**(usual | {"kref": kref, "trust": "stated"} | values))


@example("SIBLING_COSINE")
def a_sibling_stays_from_three_tenths_on() -> None:
    siblings = [
        hit(f"kref://p/a.fact?r={number}", lanes={"meaning": cosine})
        for number, cosine in enumerate((0.5, 0.29, 0.3, 0.31))
    ]
    assert filter_siblings(siblings) == [siblings[0], siblings[2], siblings[3]]


@example("DIVERSITY_HITS")
def diverse_hits_are_chosen_among_fifty() -> None:
    """The last of fifty is unlike the others, and so is each hit after it, with a better score."""
    texts = ["east"] * 49 + ["north"] + ["skyward"] * 451
    with calibrated(*texts, embedder=CompassEmbedder()) as (reader, index, rows):
        values = [1.0] * 49 + [0.9] + [0.95] * 451
        items = [
            Ranked(index, row, value, {}, [])
            for row, value in zip(rows.tolist(), values, strict=True)
        ]
        found = diversify(reader, items, strength=0.5, wanted=2)
        assert [item.row for item in found[:3]] == [0, 49, 1]


@example("RERANKED_HITS")
def thirty_hits_are_reranked() -> None:
    found = rerank([hit(text="boat")] * 400, "boat", OverlapReranker())
    assert sum("rerank" in one.lanes for one in found) == 30


class _Scripted:
    """A reranker that gives scores in the order of the hits."""

    name, texts_max = "fake-scripted", 10

    def __init__(self, *scores: float) -> None:
        self._scores = scores

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        return np.array(self._scores, dtype=np.float32)


@example("RERANK_FUSED")
def a_reranker_has_six_tenths_of_a_score() -> None:
    """4/10 + 6/10 * x against 6/10: a third of the range decides."""
    items = [hit("kref://p/a.fact", score=1.0), hit("kref://p/b.fact"), hit("kref://p/c.fact")]
    for score_of_first, best in ((0.3, "kref://p/b.fact"), (0.36, "kref://p/a.fact")):
        assert rerank(items, "x", _Scripted(score_of_first, 1, 0))[0].kref == best


@example("CLIENT_HITS")
def an_agent_chooses_from_three_times_as_many_hits() -> None:
    found = ferries()[1].recall("ferry", project="p", lanes=("words",), limit=5, rerank="client")
    assert len(found.hits) == 15


@example("SPARE_HITS")
def five_hits_are_read_to_spare() -> None:
    assert hits_to_read(Ask("x", limit=7)) == 12


# Answerability: the log odds of one answer


def log_odds(
    *,
    unknown: int = 0,
    cosines: Sequence[float | None] = (None,),
    words: float = 0.0,
    named: tuple[float, float] | None = None,
    searched: int = 1,
) -> float:
    """`unknown` terms that nothing holds; the hits' cosines, of deviation 0.1 and mean 0.3;
    `named`: the coverage by the speaker who is named, and by another."""
    nothing = np.zeros(0, dtype=np.int64)
    empty = np.zeros(0, dtype=np.float32)
    lacking = [Posting(f"u{n}", f"u{n}", nothing, empty) for n in range(unknown)]
    speakers = frozenset({7}) if named else frozenset()
    query: Any = SimpleNamespace(speakers=speakers, lanes=frozenset({"entities"}))
    one: Any = SimpleNamespace(
        postings=lacking,
        query=query,
        rows=np.arange(2),
        lanes={"words": np.array(named or (0, 0), dtype=np.float32)},
        project={"speaker": np.array([7, 8])},
    )
    items = [ranked(meaning=cosine, words=words) for cosine in cosines]
    p = answerability.answerable([one], items, Scale(0.0, 0.1, 0.3), searched=searched)
    return math.log(p / (1 - p))


@example("ANSWER_BIAS")
def nothing_known_is_slightly_unlikely() -> None:
    near(log_odds(), -0.1)


@example("ANSWER_UNKNOWN")
def an_unknown_term_costs_a_half() -> None:
    near(log_odds(unknown=3) - log_odds(), -1.5)


@example("ANSWER_DENSITY")
def a_deviation_of_meaning_gives_a_half() -> None:
    near(log_odds(cosines=[0.5]) - log_odds(cosines=[0.3]), 1.0)


@example("ANSWER_NAMED")
def the_right_speaker_gives_two() -> None:
    near(log_odds(named=(0.75, 0.25)) - log_odds(), 1.0)
    near(log_odds(named=(0.25, 0.75)) - log_odds(), -1.0)


@example("ANSWER_COVERED")
def words_alone_give_three() -> None:
    near(log_odds(words=0.5) - log_odds(), 1.5)


@example("ANSWER_RANK", "ANSWER_MEMORIES")
def the_tenth_hit_is_read_and_an_earlier_one_of_few_memories() -> None:
    """The first of nineteen memories, the second of twenty, the tenth from 180 on."""
    ranks = {1: 1, 19: 1, 20: 2, 39: 2, 40: 3, 100: 6, 179: 9, 180: 10, 200: 10, 5_000: 10}
    cosines = [0.3 + 0.1 * rank for rank in range(30)]  # the rank, less one, in deviations
    start = log_odds(cosines=[0.3])
    for searched, rank in ranks.items():
        gain = log_odds(cosines=cosines, searched=searched) - start
        near(gain, 0.5 * (rank - 1), 1e-3)
    near(log_odds(cosines=cosines[:4], searched=5_000) - start, 1.5, 1e-3)  # the last of fewer


# What a hit shows


@example("CHARS_PER_TOKEN")
def twenty_characters_are_five_tokens() -> None:
    assert [tokens_of("x" * count) for count in (0, 1, 20, 21)] == [1, 1, 5, 6]


@example("CUT_CHARS_MIN")
def a_text_is_cut_if_forty_characters_remain() -> None:
    """Ten tokens leave 39 characters and the mark of the cut, eleven 43."""
    whole = hit(text="y" * 40, tokens=10)
    long = hit(text="x" * 900, tokens=225)
    assert len(fit_budget([whole, long], 20)[0]) == 1
    assert len(fit_budget([whole, long], 21)[0]) == 2
    frame = len(framed([hit(text="")], None)) - len("> ")
    sizes = [len(framed([long], tokens)) - frame for tokens in range(1, 200)]
    assert min(size for size in sizes if size > 0) in range(41, 46)


@example("WHY_TERMS_MAX")
def a_hit_names_six_shared_terms() -> None:
    words = "amber boat crane dock ferry gale harbour island jetty kayak"
    text = " ".join(f"{word} {word}{word}" for word in words.split())
    for question in (words, text):
        with memory_of(text, embedder=None) as memory:
            (found,) = memory.recall(question, project="p", lanes=("words",)).hits
            assert found.why.count(", ") == 5


@example("WHY_WEIGHT_MIN")
def a_word_of_a_quarter_of_the_largest_weight_is_named() -> None:
    """Of 30 rows 1 holds ferry, 13 dock, 15 boat: idf 3.03, 0.83 (27 %), 0.69 (23 %)."""
    texts = ["dock " * (n < 12) + "boat " * (n < 14) + f"note{n}" for n in range(29)]
    with memory_of(*texts, "ferry boat dock", embedder=None) as memory:
        best = memory.recall("ferry boat dock", project="p", lanes=("words",)).hits[0]
        assert best.why.startswith("shares ferry, dock (")


def why(**lanes: float) -> str:
    node: Any = SimpleNamespace(labels=("Exchange",), props={"speaker": "Ana"})
    reader: Any = None  # an exchange has no fields to look up
    return hits._why(reader, node, ranked(**lanes))


@example("WHY_TIME_MIN")
def a_hit_names_the_time_from_a_half_on() -> None:
    assert "of the time" in why(time=0.51) and "of the time" not in why(time=0.49)


@example("LANE_VALUE_MIN")
def a_lane_is_shown_from_five_thousandths_on() -> None:
    shown = [hits._shown_lanes(ranked(recency=value), Ask("x")) for value in (0.0049, 0.0051)]
    assert ["recency" in one for one in shown] == [False, True]
